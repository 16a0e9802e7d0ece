//! All output to the client, in one order: responses, notifications and requests of ours. Events for a slow
//! client are held back, see [`delivery`].

mod delivery;
pub(super) mod replies;
mod requests;

pub(super) use requests::{PendingRequest, RequestKind, Used};

use super::mailbox::Mailbox;
use super::wire::{Json, event as wire_event};
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

/// Takes the result for the handler that awaits it.
pub(super) type Reply = oneshot::Sender<Result<Json, ProtocolError>>;

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

    /// Sends a notification, also to a slow client.
    pub fn notify(&self, method: &str, params: &impl Serialize) {
        self.outgoing.notification(method, params);
    }

    /// Sends a handler its result, at this place in the order.
    pub fn answer(&self, reply: Reply, value: Result<Json, ProtocolError>) {
        self.outgoing.answer(reply, value);
    }

    /// Registers a request of ours. Returns its number, to send it with [`Client::request`].
    pub fn register(&mut self, session: &SessionId, kind: RequestKind) -> i64 {
        self.requests.insert(session, kind)
    }

    /// Sends a request of ours under its number.
    pub fn request(&self, number: i64, method: &str, params: &impl Serialize) {
        self.outgoing.request(number, method, params);
    }

    /// The session and the call of a request to a model; `None` if its answer is no longer wanted.
    pub fn model_call(&self, number: i64) -> Option<(SessionId, ModelCallId)> {
        match self.requests.get(number)? {
            PendingRequest { session, kind: RequestKind::Model(call, _) } => Some((session.clone(), *call)),
            _ => None,
        }
    }

    /// Removes the request of this number, which the client answered; `None` if it was cancelled or answered before.
    pub fn answered(&mut self, number: i64) -> Option<PendingRequest> {
        self.requests.remove(number)
    }

    /// Number of requests of ours that the client has not answered.
    pub fn requests(&self) -> usize {
        self.requests.len()
    }

    /// Cancels a request of ours. A response that comes all the same is dropped.
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

    /// Sends an event of a session, also to a slow client.
    pub fn send_event(&self, event: &SessionEvent) {
        self.notify(methods::SessionEventSent::NAME, event);
    }

    /// Sends a snapshot of a session.
    pub fn snapshot(&self, snapshot: Snapshot) {
        self.send_event(&SessionEvent {
            session_id: snapshot.session_id.clone(),
            stream: snapshot.stream.clone(),
            seq: snapshot.seq,
            event: Event::Snapshot { snapshot: Box::new(snapshot) },
        });
    }

    /// `true` if an event of this session is held back. A snapshot will replace it.
    pub fn holds_back(&mut self, id: &SessionId) -> bool {
        self.delivery.keeps_back(id, &self.outgoing, &self.mailbox)
    }

    /// Replaces events of this session by a snapshot, due once its steps are stored.
    pub fn owe_snapshot(&mut self, id: &SessionId) {
        self.delivery.owe(id);
    }

    /// `true` if a snapshot of this session is due and the client reads.
    pub fn takes_snapshot(&mut self, id: &SessionId) -> bool {
        self.delivery.is_behind(id) && !self.delivery.holds(&self.outgoing, &self.mailbox)
    }

    /// Stops holding back a session's events, after its snapshot; `None` for a session that is no longer shown.
    pub fn caught_up(&mut self, id: &SessionId, snapshot: Option<Snapshot>) {
        self.delivery.caught_up(id);
        if let Some(snapshot) = snapshot {
            self.snapshot(snapshot);
        }
    }

    /// Reports changes of the session list.
    pub fn sessions_changed(&mut self, changed: SessionsChangedParams) {
        if let Some(changed) = self.delivery.sessions_changed(changed, &self.outgoing, &self.mailbox) {
            self.notify(methods::SessionsChanged::NAME, &changed);
        }
    }

    /// Sends what was held back, now that the client has read. Returns the sessions that are behind, in
    /// order.
    pub fn drained(&mut self) -> Vec<SessionId> {
        let (changed, lines) = self.delivery.drained();
        if let Some(changed) = changed {
            self.notify(methods::SessionsChanged::NAME, &changed);
        }
        if lines > 0 {
            self.log(format!(
                "{lines} lines were dropped here while the client did not read; standard error has them"
            ));
        }
        self.delivery.in_turn()
    }

    /// Reports progress of a request.
    pub fn progress(&self, token: &ProgressToken, value: Value) {
        // Begin and end are always sent: clients show progress until it ends.
        if self.delivery.is_held() && value["kind"] == "report" {
            return;
        }
        self.notify("$/progress", &json!({ "token": token, "value": value }));
    }

    /// Writes to the client's log.
    pub fn log(&mut self, message: String) {
        if self.delivery.keeps_log_back() {
            return tracing::warn!("not told to the client, which does not read: {message}");
        }
        // Type 2 is a warning.
        self.notify("window/logMessage", &json!({ "type": 2, "message": message }));
    }

    /// Writes to the client's log and to ours.
    pub fn warn(&mut self, message: String) {
        tracing::warn!("{message}");
        self.log(message);
    }

    /// Reports the tokens that a model used, with our count by this estimator.
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
