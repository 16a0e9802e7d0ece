//! A session as a pure machine: [`Session::step`] takes an input and yields effects. It decides what is asked of a
//! model, which tool runs, what is written and what is told; it does none of it.
//!
//! | file | what |
//! |---|---|
//! | `input`, `effect`, `event`, `settings`, `stored`, `snapshot` | the values that go in and come out |
//! | `state` | where a session stands |
//! | `acceptance` | which command is taken in which state |
//! | `command` | what a command does |
//! | `queue` | commands that wait |
//! | `rewind`, `branch` | what changes the past, and what goes on from it elsewhere |
//! | `task` | a request that waits for another process |
//! | `turn` | our own loop: prompt, answer, tools, again |
//! | `ended` | how a turn ends, and what then stays of it |
//! | `stream` | an answer that is being given |
//! | `summarizer` | the model that sums up, and who is asked where it fails |
//! | `endpoint` | where a model is asked |
//! | `title` | the session's name |
//! | `prefix` | what stands before the messages |
//! | `tools` | calls, decisions, results |
//! | `compaction` | a compaction as a state that waits for a model |
//! | `background` | a summary that is made beside a turn |
//! | `review` | a compaction that waits for its user |
//! | `overflow` | what a provider finds too large, and a turn that comes near its window's end |
//! | `idle` | a session that nobody speaks in |
//! | `pins`, `undo` | the user's hand on the context: pinned, left out, undone, made again, edited |
//! | `breaks` | what breaks the prompt's beginning, and what that costs |
//! | `usage` | what reports of usage taught, and the budget that follows |
//! | `instructions` | instruction files of the workspace: frozen, and what changes told once |
//! | `attach` | what is so now, captured with the request that it first appears in |
//! | `render` | the editor's loop: a history comes in, a prompt goes out (source: 003) |
//! | `reconcile` | an editor's history against ours |
//! | `outside` | a conversation from elsewhere, whole or as a changed copy (source: 001) |
//! | `found` | where it stands when it is opened again |
//! | `part` | what it does while only its newest part is here |
//! | `recall` | what was said, byte for byte |
//! | `ledger` | what the tools did where the prompt does not show it |
//! | `memories` | what its workspace remembers, in its prompts |
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod acceptance;
mod attach;
mod attempts;
mod background;
mod branch;
pub mod breaks;
mod command;
mod compaction;
pub mod effect;
mod ended;
pub mod event;
mod found;
pub mod history_turn;
mod idle;
pub mod input;
mod instructions;
mod learned;
pub mod ledger;
pub mod memories;
mod outside;
mod overflow;
pub mod part;
pub mod pins;
mod prefix;
pub mod queue;
pub mod recall;
pub mod reconcile;
mod render;
mod review;
mod rewind;
pub use render::diagnostics;
pub mod settings;
pub mod snapshot;
pub mod state;
pub mod stored;
mod stream;
mod summarizer;
mod task;
mod title;
mod tools;
mod turn;
pub mod undo;
pub mod usage;
mod warning;

use effect::{Answer, Effect, Refusal};
use engine::compact::record::Status;
use engine::id::{Ordinal, SessionId, Time, TurnId};
use engine::memory::Memory;
use engine::message::{Body, NewMessage, Text};
use engine::prompt::system::Fixed;
use engine::scope::Scope;
use engine::tokens::TokenCount;
use engine::transcript::Transcript;
use event::{EventBody, Ring};
use input::{Input, ModelCallId, Render, ReplyTo, Timer};
use queue::Queue;
use recall::RECALL;
use settings::Settings;
use state::{Background, Rest, State, Titling};
use std::collections::VecDeque;
use std::sync::Arc;
use stored::{Always, Head, Stored, TurnRow, TurnStatus, Write};

/// A session: everything that was said in it, and where it stands.
#[derive(Debug, Clone)]
pub struct Session {
    head: Head,
    settings: Settings,
    transcript: Transcript,
    fixed: Fixed,
    /// How each turn of the transcript ended, by its place.
    turns: Vec<TurnRow>,
    state: State,
    events: Ring,
    /// The name of this numbering of events.
    stream: String,
    /// Calls of a model so far.
    asked: u64,
    /// What waits, and what was accepted.
    queue: Queue,
    /// What the user typed and did not send.
    draft: Option<Text>,
    /// What it shares with other sessions.
    scope: Arc<Scope>,
    /// What was approved once and for all in its workspace.
    approvals: Arc<[Always]>,
    /// A summary that is made, or was, for when it is needed.
    background: Option<Background>,
    /// What the newest request of the running turn used, as its provider reported it, in tokens.
    reported: Option<u32>,
    /// How much users and tools had said when a provider last found a prompt too large, in messages.
    overflowed: Option<usize>,
    /// How often less was asked for the answer of a prompt, with what was heard when that was.
    lowered: Option<(usize, u8)>,
    /// What was heard when a prompt was sent that is larger than what was learned; that is not obeyed meanwhile.
    beyond: Option<usize>,
    /// Since when it is watched whether somebody speaks, and for how many seconds.
    idle_from: Option<(Time, u32)>,
    /// What its workspace remembers, as it is now.
    memories: Arc<[Memory]>,
    /// The call of a model that is to name it, with what it said so far.
    titling: Option<Titling>,
    /// What the user is to see as soon as no answer is being given: the place of that is taken.
    notices: Vec<(&'static str, String)>,
    /// Renders that wait for the one that is being made; one at a time.
    renders: VecDeque<(ReplyTo, Render)>,
    /// Whether its own row was written.
    is_stored: bool,
    /// Whether the store had it.
    was_stored: bool,
    /// Whether somebody asked something of it in this process.
    is_begun: bool,
    /// Rows of the store that could not be read.
    unreadable: Vec<String>,
    /// The first message from which on all are here, where only a part is.
    part: Option<Ordinal>,
}

/// What a step may use and does not have.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    /// The time.
    pub now: Time,
    /// The same, ISO-8601, UTC.
    pub stamp: &'a str,
    /// Who counts.
    pub counter: &'a dyn TokenCount,
}

/// A session before its first step.
#[derive(Debug, Clone)]
pub struct Opening {
    /// Its own row; the store's, where it has one.
    pub head: Head,
    /// What it runs under.
    pub settings: Settings,
    /// What the store has of it.
    pub stored: Option<Stored>,
    /// A name for this numbering of events; another one in every process.
    pub stream: String,
    /// What it shares with other sessions.
    pub scope: Scope,
    /// What was approved once and for all in its workspace.
    pub approvals: Vec<Always>,
    /// What its workspace remembers and prompts may show.
    pub memories: Vec<Memory>,
}

/// One step: the session, what it may use, and what it wants done so far.
struct Step<'a> {
    session: &'a mut Session,
    around: Around<'a>,
    effects: Vec<Effect>,
}

impl Session {
    /// A new session, or one that goes on. Nothing is asked of anybody by itself: calls that had no result when the
    /// process ended wait for the client.
    pub fn new(opening: Opening, counter: &dyn TokenCount) -> Self {
        Self::made(opening, None, counter)
    }

    fn made(opening: Opening, part: Option<Ordinal>, counter: &dyn TokenCount) -> Self {
        let Opening { mut head, settings, stored, stream, scope, approvals, memories } = opening;
        let is_stored = stored.is_some();
        let mut transcript = Transcript::resumed(head.id.clone(), head.generation, head.cuts);
        let (mut turns, mut unreadable) = (Vec::new(), Vec::new());
        let (mut queue, mut draft) = (Queue::default(), None);
        if let Some(stored) = stored {
            unreadable = stored.unreadable;
            if unreadable.is_empty() && part.is_none() {
                unreadable.extend(part::gaps(&stored.messages));
            }
            head.carried.usage.forget_older_counts();
            let is_part = part.is_some();
            turns = part::put_back(&mut transcript, stored.messages, stored.turns, is_part, counter);
            for mut record in stored.compactions {
                if record.status == Status::InForce && !record.is_within(transcript.messages().len()) {
                    // Obeyed, it would hide what is said from now on.
                    record.status = Status::Void;
                    unreadable
                        .push(format!("compaction {}: it speaks of messages that are not here", record.id));
                }
                transcript.record(record);
            }
            // Nothing goes on by itself: what waits is shown, and begins with the next command.
            let is_held = !stored.queue.is_empty();
            queue = Queue { items: stored.queue.into(), keys: stored.keys.into(), is_held };
            draft = stored.draft;
        }
        let mut session = Self {
            head,
            settings,
            transcript,
            fixed: Fixed::default(),
            turns,
            state: State::Resting(Rest::Idle),
            events: Ring::default(),
            stream,
            asked: 0,
            queue,
            draft,
            scope: Arc::new(scope),
            approvals: approvals.into(),
            background: None,
            reported: None,
            overflowed: None,
            lowered: None,
            beyond: None,
            idle_from: None,
            memories: memories.into(),
            titling: None,
            notices: Vec::new(),
            renders: VecDeque::new(),
            is_stored,
            was_stored: is_stored,
            is_begun: false,
            unreadable,
            part,
        };
        session.freeze(counter);
        session.state = session.state_found();
        session
    }

    /// Its id.
    pub fn id(&self) -> &SessionId {
        &self.head.id
    }

    /// Its own row.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The name of this numbering of events.
    pub fn stream(&self) -> &str {
        &self.stream
    }

    /// Whether the store had something of it when it was opened.
    pub fn was_stored(&self) -> bool {
        self.was_stored
    }

    /// Where it stands.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// What was said in it.
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// Whether nothing runs and nothing waits.
    pub fn is_at_rest(&self) -> bool {
        matches!(self.state, State::Resting(_)) && self.queue.items.is_empty()
    }

    /// Whether the answer to this request is still to come out of what runs: of a compaction, or of a render that waits
    /// for what runs.
    pub fn will_answer(&self, reply: ReplyTo) -> bool {
        let is_queued = self.renders.iter().any(|(waiting, _)| *waiting == reply);
        let is_running = self.state.job().and_then(|job| job.then.reply()) == Some(reply);
        !matches!(self.state, State::Resting(_)) && (is_queued || is_running)
    }

    /// What it shares.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// What it runs under.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Takes one input. The same inputs yield the same effects, byte for byte.
    pub fn step(&mut self, input: Input, around: Around<'_>) -> Vec<Effect> {
        let most_result = self.settings.most_result();
        self.transcript.limit_results(Some(most_result));
        self.transcript.limit_thinking(self.settings.thinking);
        self.transcript.name_results(self.fixed.tools.iter().any(|tool| tool.name == RECALL));
        let mut step = Step { session: self, around, effects: Vec::new() };
        match input {
            Input::Command(reply, command) => step.command(reply, command),
            Input::Abandoned(reply) => step.abandoned(reply),
            Input::ModelDelta(call, delta) => step.model_delta(call, delta),
            Input::ModelAlive(call) => step.model_is_alive(call, 0),
            Input::ModelRetries(call, retry) => step.model_retries(call, retry),
            Input::ModelDone(call, outcome) => step.model_done(call, outcome),
            Input::ToolDone(call, outcome) => step.tool_done(call, outcome),
            Input::Permitted(decisions) => step.permitted(decisions),
            Input::Expired(Timer::Model(call)) => step.model_expired(call),
            Input::Expired(Timer::Tool(call)) => step.tool_expired(call),
            Input::Expired(Timer::Deltas(call)) => step.gathered(call),
            Input::Expired(Timer::Review) => step.review_expired(),
            Input::Expired(Timer::Idle) => step.idled(),
            Input::Reviewed(review) => step.reviewed(review),
            Input::Settings(settings) => step.take_settings(*settings),
            Input::Scope(scope) => step.take_scope(scope),
            Input::Instructions(files) => step.take_instructions(files),
            Input::Attach(attachments) => step.attach_later(attachments),
            Input::Approvals(approvals) => step.session.approvals = approvals,
            Input::Memories(memories) => step.take_known(memories),
            Input::Ending => step.ending(),
            Input::NotWritten(failed) => step.not_written(failed),
        }
        step.settle();
        step.effects
    }
}

impl Step<'_> {
    fn emit(&mut self, body: EventBody) {
        let event = self.session.events.push(body);
        self.effects.push(Effect::Emit(event));
    }

    fn write(&mut self, write: Write) {
        self.effects.push(Effect::Write(write));
    }

    fn reply(&mut self, to: ReplyTo, answer: Result<Answer, Refusal>) {
        self.effects.push(Effect::Reply(to, Box::new(answer)));
    }

    fn trace(&mut self, what: impl Into<String>) {
        self.effects.push(Effect::Trace(what.into()));
    }

    /// Writes the session's own row, for something is said or done in it.
    fn write_head(&mut self) {
        self.session.head.updated_at = self.around.now;
        self.write_head_as_it_was_used();
    }

    /// Writes the session's own row; its place in a list of those that were used last is as before. Nothing of a session
    /// is stored before it.
    fn write_head_as_it_was_used(&mut self) {
        if !std::mem::replace(&mut self.session.is_stored, true) {
            self.read_memories();
        }
        self.session.head.cuts = self.session.transcript.cuts();
        self.write(Write::Head(Box::new(self.session.head.clone())));
    }

    /// Does what the new state has time for.
    fn settle(&mut self) {
        if !matches!(self.session.state, State::Streaming(_)) {
            for (kind, text) in std::mem::take(&mut self.session.notices) {
                self.notice(kind, text);
            }
        }
        self.next_in_queue();
        self.watch_task();
        self.watch_idleness();
    }

    fn take_scope(&mut self, scope: Arc<Scope>) {
        if self.session.scope != scope {
            self.session.scope = scope;
            self.emit_thread();
        }
    }

    /// Takes a state on and says so.
    fn enter(&mut self, state: State) {
        self.session.state = state;
        self.tell_state();
    }

    fn tell_state(&mut self) {
        let state = self.session.state.name();
        let turn = self.turn_id();
        self.emit(EventBody::RuntimeUpdated { state, turn, ended: None });
    }

    /// The newest turn.
    fn turn_id(&self) -> Option<TurnId> {
        self.session.transcript.turns().last().map(|turn| turn.id.clone())
    }

    /// The state's refusal of a command.
    fn invalid(&self) -> Refusal {
        let state = self.session.state.name();
        Refusal::InvalidState { state, accepts: acceptance::accepts(state, self.session.head.driver) }
    }

    fn is_resting(&self) -> bool {
        matches!(self.session.state, State::Resting(_))
    }

    /// A message that begins now.
    fn stamped(&self, body: Body) -> NewMessage {
        NewMessage { created_at: Some(self.around.stamp.to_owned()), ..NewMessage::new(body) }
    }

    /// Appends a message to the running turn.
    fn append(&mut self, mut new: NewMessage) -> Ordinal {
        self.bind_thinking(self.session.next_ord(), &mut new);
        let ord = self.session.transcript.append(new, self.around.counter);
        self.took_in(ord);
        ord
    }

    /// Stores and tells a message that the transcript took in.
    fn took_in(&mut self, ord: Ordinal) {
        let head = &mut self.session.head;
        let is_first = head.is_left_behind();
        if is_first {
            // Whoever goes on in what a rewind left behind keeps it: a deletion of its parent leaves it alone.
            head.carried.continued = true;
        }
        if is_first || !self.session.is_stored {
            self.write_head();
        }
        let transcript = &self.session.transcript;
        let Some(message) = transcript.message(ord).cloned() else { return };
        let at = transcript.turn_at(ord).unwrap_or_default();
        let turn = u32::try_from(at).unwrap_or(u32::MAX);
        if let Some(known) = transcript.turns().get(at).filter(|_| at >= self.session.turns.len()) {
            let row = TurnRow {
                index: turn,
                id: known.id.clone(),
                status: TurnStatus::Running,
                started: None,
                decided: Vec::new(),
            };
            self.session.turns.push(row.clone());
            self.write(Write::Turn(row));
        }
        self.write(Write::Message { turn, message: message.clone() });
        self.emit(EventBody::MessageAdded(message));
        self.announce_late_result(ord);
        self.learn_usage(ord);
    }

    /// Sets how the turn at this place ended.
    fn set_turn(&mut self, at: usize, status: TurnStatus) {
        if let Some(row) = self.session.turns.get_mut(at).filter(|row| row.status != status) {
            row.status = status;
            let row = row.clone();
            self.write(Write::Turn(row));
        }
    }

    /// The next call of a model.
    fn next_call(&mut self) -> ModelCallId {
        self.session.asked += 1;
        ModelCallId(self.session.asked)
    }
}
