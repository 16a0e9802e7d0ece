//! All that goes to the client, in the order in which it is said: answers, notifications, requests of ours. To a client
//! that does not read, events are told later, see [`delivery`].

mod delivery;
pub(super) mod replies;
mod requests;

pub(super) use requests::{PendingRequest, Used, What};

use super::mailbox::Mailbox;
use super::wire::event as wire_event;
use delivery::{Delivery, Drained};
use engine::id::SessionId;
use protocol::error::ProtocolError;
use protocol::event::{Event, SessionEvent, SessionsChangedParams};
use protocol::methods::{self, Named};
use protocol::model::{ModelUsageParams, Usage, UsageSource};
use protocol::server::ProgressToken;
use protocol::snapshot::Snapshot;
use requests::Requests;
use rpc::outgoing::Outgoing;
use serde::Serialize;
use serde_json::{Value, json};
use session::Session;
use session::event;
use session::input::ModelCallId;
use tokio::sync::oneshot;

/// Where an answer goes: to the handler that awaits it.
pub(super) type Reply = oneshot::Sender<Result<Value, ProtocolError>>;

/// The client of this process.
pub(super) struct Client {
    outgoing: Outgoing,
    delivery: Delivery,
    requests: Requests,
    mailbox: Mailbox<Drained>,
}

impl Client {
    pub fn new(outgoing: Outgoing, mailbox: Mailbox<Drained>) -> Self {
        Self { outgoing, delivery: Delivery::default(), requests: Requests::default(), mailbox }
    }

    /// Sends a notification, whatever waits.
    pub fn notify(&self, method: &str, params: &impl Serialize) {
        self.outgoing.notification(method, params);
    }

    /// Gives a handler its reply, at this place in the order.
    pub fn answer(&self, reply: Reply, value: Result<Value, ProtocolError>) {
        self.outgoing.answer(reply, value);
    }

    /// The number of a request of ours, which is to be sent with [`Client::request`].
    pub fn number(&mut self, session: &SessionId, what: What) -> i64 {
        self.requests.insert(session, what)
    }

    /// Sends a request of ours under its number.
    pub fn request(&self, number: i64, method: &str, params: &impl Serialize) {
        self.outgoing.request(number, method, params);
    }

    /// The session and the call of a request to a model, if its answer is still wanted.
    pub fn model_call(&self, number: i64) -> Option<(SessionId, ModelCallId)> {
        match self.requests.get(number)? {
            PendingRequest { session, what: What::Model(call, _) } => Some((session.clone(), *call)),
            _ => None,
        }
    }

    /// The request of this number, which is answered now.
    pub fn answered(&mut self, number: i64) -> Option<PendingRequest> {
        self.requests.remove(number)
    }

    /// How many requests of ours wait.
    pub fn requests(&self) -> usize {
        self.requests.len()
    }

    /// Tells the client that an answer is not wanted any more. One that comes all the same is dropped.
    pub fn cancel(&mut self, number: i64) {
        self.requests.remove(number);
        self.outgoing.cancel(number);
    }

    /// Sends an event of a session, unless the client is behind on it.
    pub fn event(&mut self, session: &Session, event: &event::Event) {
        if !self.holds_back(session.id()) {
            self.send_event(&wire_event::event(session, event));
        }
    }

    /// Sends an event of a session, whatever waits.
    pub fn send_event(&self, event: &SessionEvent) {
        self.notify(methods::SessionEventSent::NAME, event);
    }

    /// Sends a session as it stands.
    pub fn snapshot(&self, snapshot: Snapshot) {
        self.send_event(&SessionEvent {
            session_id: snapshot.session_id.clone(),
            stream: snapshot.stream.clone(),
            seq: snapshot.seq,
            event: Event::Snapshot { snapshot: Box::new(snapshot) },
        });
    }

    /// Returns whether an event of this session is not sent now. A snapshot will come in its place.
    pub fn holds_back(&mut self, id: &SessionId) -> bool {
        self.delivery.keeps_back(id, &self.outgoing, &self.mailbox)
    }

    /// A snapshot is due in the place of this session's events, as soon as what it has to store is stored.
    pub fn owe_snapshot(&mut self, id: &SessionId) {
        self.delivery.owe(id);
    }

    /// Returns whether a snapshot of this session is due and the client reads.
    pub fn takes_snapshot(&mut self, id: &SessionId) -> bool {
        self.delivery.is_behind(id) && !self.delivery.holds(&self.outgoing, &self.mailbox)
    }

    /// A session's turn to be caught up; nothing is sent of one that is not shown any more.
    pub fn caught_up(&mut self, id: &SessionId, snapshot: Option<Snapshot>) {
        self.delivery.caught_up(id);
        if let Some(snapshot) = snapshot {
            self.snapshot(snapshot);
        }
    }

    /// Tells what changed in the list of sessions.
    pub fn sessions_changed(&mut self, changed: SessionsChangedParams) {
        if let Some(changed) = self.delivery.sessions_changed(changed, &self.outgoing, &self.mailbox) {
            self.notify(methods::SessionsChanged::NAME, &changed);
        }
    }

    /// The client has read. The sessions that are behind, in the order in which they are caught up.
    pub fn drained(&mut self) -> Vec<SessionId> {
        let (changed, lines) = self.delivery.drained();
        if let Some(changed) = changed {
            self.notify(methods::SessionsChanged::NAME, &changed);
        }
        if lines > 0 {
            self.log(format!("{lines} lines were left out here while nobody read; standard error has them"));
        }
        self.delivery.in_turn()
    }

    /// Tells how far something is that the client waits for.
    pub fn progress(&self, token: &ProgressToken, value: Value) {
        // Where it begins and ends is told whatever waits: clients show it until it ends.
        if self.delivery.is_held() && value["kind"] == "report" {
            return;
        }
        self.notify("$/progress", &json!({ "token": token, "value": value }));
    }

    /// Says something to whoever reads the client's log.
    pub fn log(&mut self, message: String) {
        if self.delivery.keeps_log_back() {
            return tracing::warn!("not told to the client, which does not read: {message}");
        }
        self.notify("window/logMessage", &json!({ "type": 2, "message": message }));
    }

    /// Says something in the client's log and in ours.
    pub fn warn(&mut self, message: String) {
        tracing::warn!("{message}");
        self.log(message);
    }

    /// Tells the tokens that a model used, beside the count of this estimator.
    pub fn usage(&self, id: &SessionId, used: Used, usage: Usage, source: UsageSource, estimator: &str) {
        let params = ModelUsageParams {
            session_id: id.as_str().to_owned(),
            turn_id: used.turn.map(|turn| turn.as_str().to_owned()),
            purpose: used.purpose,
            usage,
            source,
            estimated_tokens: used.tokens,
            estimator: estimator.to_owned(),
        };
        self.notify(methods::ModelUsage::NAME, &params);
    }
}
