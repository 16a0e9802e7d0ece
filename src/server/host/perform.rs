//! Effects that concern one session alone: writes go to its store, requests to the client, deadlines to the
//! clock. Also handles the answers of store and client.

use super::calls::Asked;
use super::event::{HostEvent, HostEventKind, ServerSign};
use super::own_tool;
use super::steps::Next;
use super::{Confirmed, ParkedItem, SessionHost};
use crate::server::client::replies::Replies;
use crate::server::client::{Client, RequestKind, Used};
use crate::server::clock::{Clock, Expired};
use crate::server::mailbox::Pending;
use crate::server::stores;
use crate::server::wire::answer;
use engine::id::{CallId, SessionId};
use engine::scope::ScopePatch;
use engine::search::{self, Query, SearchPage};
use mcp::{Caller, Question};
use protocol::error::ProtocolError;
use protocol::snapshot::Snapshot;
use serde_json::Value;
use session::effect::{AskModel, Effect, InvokeTool};
use session::event::{self, EventBody};
use session::input::{Input, ModelCallId, NotWritten, ReplyTo, Timer, ToolOutcome};
use session::state::State;
use session::stored::{Streamed, TurnStatus, Write};
use std::sync::Arc;
use store::Commit;
use store::error::StoreError;
use tokio::task::AbortHandle;
use tower_lsp::jsonrpc::Error;

/// The next action of a session's steps.
pub(in crate::server) enum Advance {
    /// Wait for the store's answer.
    Wait,
    /// Nothing to do.
    Nothing,
    /// Perform these, in order.
    Perform(Vec<Effect>),
}

/// The outcome of a write.
pub(in crate::server) enum Committed {
    /// Stored: these effects are to be performed.
    Done(Vec<Effect>),
    /// Another process writes the session now.
    Lost(StoreError),
    /// A retry that failed again.
    StillLeft,
    /// Not stored.
    NotStored(Box<NotStored>),
}

/// A step that was not stored.
pub(in crate::server) struct NotStored {
    /// The effects that would have followed it.
    pub effects: Vec<Effect>,
    /// The answer to waiting requests.
    pub failure: ProtocolError,
    /// The store's error.
    pub error: StoreError,
    /// `true` if the step completed a turn.
    ended_turn: bool,
}

impl NotStored {
    /// `true` if the store would refuse it again, and all that comes after it.
    pub fn is_final(&self) -> bool {
        matches!(self.error, StoreError::Refused { .. })
    }

    /// The input that informs the machine.
    pub fn input(&self) -> Input {
        let cause = stores::word(&self.failure);
        Input::NotWritten(NotWritten { cause, why: self.error.to_string(), ended_turn: self.ended_turn })
    }
}

/// The next action for a client that has not read events.
pub(in crate::server) enum CatchUp {
    /// Send a snapshot.
    Snapshot(Box<Snapshot>),
    /// Run this input first, so that gathered text is emitted; then try again.
    First(Input),
    /// Try later: something is not stored yet.
    NotYet,
    /// Load the whole session first.
    NeedsRest,
}

/// `true` if the effect reports a completed turn.
fn ends_well(effect: &Effect) -> bool {
    let is_end = |body: &EventBody| matches!(body, EventBody::RuntimeUpdated { ended: Some(end), .. } if end.status == TurnStatus::Completed);
    matches!(effect, Effect::Emit(event) if is_end(&event.body))
}

impl SessionHost {
    /// Takes the next action. A step with writes is sent to the store first.
    pub fn advance(&mut self) -> Advance {
        if self.is_deleting() {
            return Advance::Wait;
        }
        match (self.steps.next(self.store.is_some()), &self.store) {
            (Next::Nothing, _) => Advance::Nothing,
            (Next::Perform(effects), _) => Advance::Perform(effects),
            (Next::Write(writes), Some((store, fence))) => {
                let (fence, mailbox, session) = (*fence, self.mailbox.clone(), self.session.id().clone());
                let answered = session.clone();
                store.commit(Commit { session, fence, writes }, move |done| {
                    mailbox.send(HostEvent { session: answered, what: HostEventKind::Committed(done) })
                });
                Advance::Wait
            }
            (Next::Wait | Next::Write(_), _) => Advance::Wait,
        }
    }

    /// Handles the outcome of the oldest write. If it failed, the step's effects are not performed.
    pub fn committed(&mut self, done: Result<(), StoreError>) -> Committed {
        let error = match done {
            Ok(()) => return Committed::Done(self.steps.written()),
            Err(error @ StoreError::FenceLost { .. }) => {
                self.steps.keep_written();
                return Committed::Lost(error);
            }
            Err(error) => error,
        };
        let failure = stores::error(&error);
        let effects = self.steps.not_written(failure.clone());
        if effects.is_empty() && !matches!(error, StoreError::Refused { .. }) {
            // A mere retry: nothing waits for it, and the error was reported.
            tracing::debug!(session = %self.session.id(), %error, "what is left is still not stored");
            return Committed::StillLeft;
        }
        tracing::warn!(session = %self.session.id(), %error, "a step was not stored");
        let ended_turn = effects.iter().any(ends_well);
        Committed::NotStored(Box::new(NotStored { effects, failure, error, ended_turn }))
    }

    /// Queues failed writes again, without waiting for the next write. Returns `false` if there are none.
    pub fn retry_writes(&mut self) -> bool {
        self.steps.retry()
    }

    /// `true` if there are failed writes and nothing else is on its way.
    pub fn has_writes_left(&self) -> bool {
        self.steps.has_unwritten() && self.steps.is_empty() && !self.steps.is_writing()
    }

    /// Id of the revision that the writes on their way to the store create.
    pub fn revision_made(&self) -> Option<SessionId> {
        self.steps.writes().find_map(|write| match write {
            Write::Revision(revision) => Some(revision.id.clone()),
            _ => None,
        })
    }

    /// Sends an event, and withdraws the question that it answers.
    pub fn emit(&mut self, client: &mut Client, event: &event::Event) {
        if self.store.is_some() {
            client.event(&self.session, event);
        }
        if matches!(event.body, EventBody::PauseCleared) {
            // Decided, or nothing is left to decide: a client that shows the question can remove it.
            self.calls.cancel_permission(client);
        }
    }

    /// Sends a request to the client's model.
    pub fn ask_model(&mut self, client: &mut Client, ask: AskModel, used: Used, counts: bool) {
        let asked = Asked { purpose: ask.purpose, used, counts };
        self.calls.ask_model(client, &self.session, ask, asked);
    }

    /// Sends the next attempt of a call to the client's model, if its answer is still wanted.
    pub fn ask_again(&mut self, client: &mut Client, call: ModelCallId) {
        self.calls.ask_again(client, &self.session, call);
    }

    /// Notes a call to a model from this process.
    pub fn model_asked(&mut self, call: ModelCallId, task: AbortHandle) {
        self.calls.insert_remote(call, task);
    }

    /// Ends such a call. Returns `false` if its answer is no longer wanted.
    pub fn model_replied(&mut self, call: ModelCallId) -> bool {
        self.calls.end_remote(call)
    }

    /// Notes a call to a tool of a server. Its outcome comes as that of a tool of ours.
    pub fn server_called(&mut self, call: CallId, task: AbortHandle) {
        self.calls.insert_server(call, task);
    }

    /// Sends the outcome of a call of a server's tool through the inbox, from any task.
    pub fn server_outcome(&self, call: CallId) -> impl FnOnce(ToolOutcome) + Send + use<> {
        let (mailbox, session) = (self.mailbox.clone(), self.session.id().clone());
        move |outcome| mailbox.send(HostEvent { session, what: HostEventKind::Ran(call, outcome) })
    }

    /// Sends what a server says about a call through the inbox, from any task.
    pub fn server_says(&self, call: CallId, server: String) -> Caller {
        let (mailbox, id) = (self.mailbox.clone(), self.session.id().clone());
        let session = id.as_str().to_owned();
        let hear = move |sign| {
            let sign = ServerSign { server: server.clone(), sign };
            mailbox.send(HostEvent { session: id.clone(), what: HostEventKind::Said(call.clone(), sign) });
        };
        Caller { session, hear: Arc::new(hear) }
    }

    /// Asks the user what a server wants to know.
    pub fn elicit(
        &mut self,
        (client, clock): (&mut Client, &mut Clock),
        call: CallId,
        server: String,
        question: Question,
    ) {
        self.calls.elicit(client, &self.session, call.clone(), server, question);
        self.pause_while_asked(clock, call);
    }

    /// Withdraws such a question.
    pub fn cancel_question(&mut self, client: &mut Client, clock: &mut Clock, number: i64) {
        let Some(call) = self.calls.asking_call(number) else { return };
        self.calls.cancel_question(client, number);
        self.pause_while_asked(clock, call);
    }

    /// The deadline of a call does not pass while the user is asked within it.
    fn pause_while_asked(&mut self, clock: &mut Clock, call: CallId) {
        let is_asked = self.calls.is_asked_in(&call);
        let timer = Timer::Tool(call);
        match is_asked {
            true => self.timers.pause(&timer),
            false => self.timers.resume(clock, self.session.id(), timer),
        }
    }

    /// Notes that a call of a tool has its outcome.
    pub fn tool_ended(&mut self, client: &mut Client, call: &CallId) {
        self.calls.end_server(client, call);
    }

    /// Performs an effect that needs only session, client and clock. Gives back any other.
    pub fn perform(&mut self, client: &mut Client, clock: &mut Clock, effect: Effect) -> Option<Effect> {
        match effect {
            Effect::CancelModel(call) => self.calls.cancel_model(client, call),
            Effect::InvokeTool(call) => self.calls.invoke(client, &self.session, call),
            Effect::CancelTool(call) => self.calls.cancel_tool(client, &call),
            Effect::AskPermission(asked) => self.calls.ask_permission(client, &self.session, &asked),
            Effect::AskReview(ask) => self.calls.ask_review(client, &self.session, &ask),
            Effect::CancelReview => self.calls.cancel_review(client),
            Effect::Start(timer, ms) => self.timers.start(clock, self.session.id(), timer, ms),
            Effect::Stop(timer) => self.timers.stop(&timer),
            Effect::Journal(piece) => self.journal(piece),
            Effect::Trace(what) => tracing::info!(session = %self.session.id(), "{what}"),
            other => return Some(other),
        }
        None
    }

    /// Keeps a piece of an answer in progress. Nothing waits for it: it only matters if the process ends.
    fn journal(&self, piece: Streamed) {
        let Some((store, fence)) = &self.store else { return };
        let (fence, session, of) = (*fence, self.session.id().clone(), self.session.id().clone());
        store.commit(
            Commit { session, fence, writes: Arc::new(vec![Write::Streamed(piece)]) },
            move |kept| match kept {
                Ok(()) => tracing::debug!(session = %of, "streamed text is kept"),
                Err(error) => tracing::debug!(session = %of, %error, "streamed text is not kept"),
            },
        );
    }

    /// Cancels all requests to the client.
    pub fn cancel_requests(&self, client: &mut Client) {
        self.calls.cancel_all(client);
    }

    /// Converts an expired deadline to an input, unless it was moved or stopped. Behind a step on another thread it waits
    /// in line.
    pub fn expired(&mut self, expired: Expired) -> Option<Input> {
        if let Some(waits) = &mut self.offloaded {
            waits.push_back(ParkedItem::Expired(expired));
            return None;
        }
        self.timers.expire(&expired).then_some(Input::Expired(expired.timer))
    }

    /// Converts the client's response to an input; `None` if it needs none.
    pub fn answered(
        &mut self,
        (client, clock, estimator): (&Client, &mut Clock, &str),
        number: i64,
        what: RequestKind,
        outcome: Result<Value, Error>,
    ) -> Option<Input> {
        let asked_in = self.calls.asking_call(number);
        let input = self.calls.answered((client, &self.session, estimator), number, what, outcome);
        if let Some(call) = asked_in {
            self.pause_while_asked(clock, call);
        }
        input
    }

    /// The search that a call of a tool of ours needs before it can run.
    pub fn looks_for(&self, call: &InvokeTool) -> Option<Query> {
        own_tool::looks_for(&self.session, call)
    }

    /// Runs a call of a tool of ours. Without a store, it changes no scope.
    pub fn run_tool(
        &self,
        call: &InvokeTool,
        found: Option<&SearchPage>,
    ) -> (ToolOutcome, Option<ScopePatch>) {
        let (outcome, patch) = own_tool::run(&self.session, call, found);
        (outcome, patch.filter(|_| self.store.is_some()))
    }

    /// Sends the outcome of a tool of ours through the inbox, behind earlier events.
    pub fn tool_ran(&self, call: &InvokeTool, outcome: ToolOutcome) {
        let what = HostEventKind::Ran(call.call.clone(), outcome);
        self.mailbox.send(HostEvent { session: self.session.id().clone(), what });
    }

    /// Registers a request that waits for a job on this session.
    pub fn pending(&self, replies: &mut Replies, to: ReplyTo) -> Pending<HostEvent> {
        replies.pending(to, &self.mailbox)
    }

    /// Searches the session in its store; in memory if it has none.
    pub fn search(
        &self,
        pending: Pending<HostEvent>,
        query: Query,
        told: impl FnOnce(Result<SearchPage, StoreError>) -> HostEventKind + Send + 'static,
    ) {
        let (id, session) = (self.session.id().clone(), self.session.id().clone());
        let send = move |found| pending.send(HostEvent { session, what: told(found) });
        match &self.store {
            Some((store, _)) => store.submit(move |store| store.search(&id, &query), send),
            None => {
                let messages = self.session.transcript().messages().iter().rev();
                send(Ok(search::find(messages.map(|message| &**message), &query)));
            }
        }
    }

    /// Asks the store whether the lease is still ours. Returns `false` if there is no store.
    pub fn confirm(&self, replies: &mut Replies, to: ReplyTo, folder: Option<String>) -> bool {
        let Some((store, fence)) = self.store.clone() else { return false };
        let (pending, asked) = (self.pending(replies, to), self.session.id().clone());
        let session = asked.clone();
        store.submit(
            move |store| store.holds(&asked, fence),
            move |done| {
                let what = HostEventKind::Confirmed(Box::new(Confirmed { fence, to, folder, done }));
                pending.send(HostEvent { session, what });
            },
        );
        true
    }

    /// The next action for a client that has not read events.
    pub fn catch_up(&self) -> CatchUp {
        if let State::Streaming(running) = self.session.state()
            && let Some(gathered) = running.gathered()
            && self.steps.is_empty()
            && self.offloaded.is_none()
        {
            // A snapshot includes gathered text: it is emitted first, as one of the skipped events.
            return CatchUp::First(Input::Expired(gathered));
        }
        if !self.steps.is_empty() || self.offloaded.is_some() {
            return CatchUp::NotYet;
        }
        if self.part.is_some() {
            return CatchUp::NeedsRest;
        }
        CatchUp::Snapshot(Box::new(answer::whole(&self.session, self.session.snapshot())))
    }
}
