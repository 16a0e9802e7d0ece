//! [`Session`]: a conversation, and the components that act on it.

use crate::commands::queue::Queue;
use crate::context::recall;
use crate::core::{self, Conversation, StepContext};
use crate::router::Components;
use crate::state::{State, StateName};
use crate::tools::approvals::Approvals;
use crate::tools::found::{opened, rest_after};
use crate::values::agents::Agent;
use crate::values::effect::{Effect, InvokeTool};
use crate::values::input::{Input, ReplyTo};
use crate::values::recall::{Recall, Recalled};
use crate::values::refusal::Refusal;
use crate::values::settings::Settings;
use crate::values::snapshot::Snapshot;
use crate::values::stored::{Always, Driver, Head, Stored, TurnStatus};
use crate::view::shown;
use engine::id::{Ordinal, PinId, SessionId, TurnId};
use engine::memory::Memory;
use engine::prompt::coverage::MessageStatus;
use engine::prompt::pins::Pin;
use engine::prompt::system::Fixed;
use engine::scope::Scope;
use engine::settings::SettingsError;
use engine::tokens::TokenCount;
use engine::transcript::Transcript;
use std::collections::BTreeMap;

/// A conversation and the components that act on it, advanced by [`Session::step`].
#[derive(Debug, Clone)]
pub struct Session {
    kept: Conversation,
    own: Components,
    /// `true` if the store had rows of the session when it was opened.
    was_stored: bool,
    /// The first message from which on all are loaded; `None` if the session is whole.
    part: Option<Ordinal>,
}

/// A session before its first step.
#[derive(Debug, Clone)]
pub struct Opening {
    /// The session's own row: the stored one if there is one.
    pub head: Head,
    /// The settings in force.
    pub settings: Settings,
    /// The stored rows, if there are any.
    pub stored: Option<Stored>,
    /// Name of this numbering of events, different in every process.
    pub stream: String,
    /// Scope shared with other sessions.
    pub scope: Scope,
    /// Tool calls that the user approved for good in the workspace.
    pub approvals: Vec<Always>,
    /// Memories of the workspace that prompts may show.
    pub memories: Vec<Memory>,
    /// Sessions that run in the background for this one, oldest first.
    pub agents: Vec<Agent>,
}

impl Session {
    /// Opens a new or a stored session. Nothing is started by itself: calls that had no result when the
    /// process ended wait for the client.
    pub fn new(opening: Opening, counter: &dyn TokenCount) -> Self {
        Self::made(opening, None, counter)
    }

    /// Opens a session of which only a part is loaded: all messages from `from` on, and some older ones.
    pub fn in_part(opening: Opening, from: Ordinal, counter: &dyn TokenCount) -> Self {
        Self::made(opening, Some(from), counter)
    }

    fn made(opening: Opening, part: Option<Ordinal>, counter: &dyn TokenCount) -> Self {
        let Opening { head, settings, mut stored, stream, scope, approvals, memories, agents } = opening;
        let waiting = stored
            .as_mut()
            .map(|stored| Queue::stored(std::mem::take(&mut stored.queue), std::mem::take(&mut stored.keys)));
        let streamed = stored.as_mut().map(|stored| std::mem::take(&mut stored.streamed));
        let (was_stored, is_part) = (stored.is_some(), part.is_some());
        let opening = core::Opening { head, settings, stored, is_part, stream, scope, memories, agents };
        let (kept, unreadable) = core::open(opening, counter);
        let approvals = Approvals::from(approvals);
        let state = opened(&kept, &approvals).into();
        let own = Components::new(
            state,
            waiting.unwrap_or_default(),
            approvals,
            unreadable,
            streamed.unwrap_or_default(),
        );
        Self { kept, own, was_stored, part }
    }

    /// Advances the session by one input. The same inputs yield the same effects, byte for byte.
    pub fn step(&mut self, input: Input, context: StepContext<'_>) -> Vec<Effect> {
        self.own.step(&mut self.kept, input, context)
    }

    /// The session's id.
    pub fn id(&self) -> &SessionId {
        self.kept.id()
    }

    /// The session's own row.
    pub fn head(&self) -> &Head {
        self.kept.head()
    }

    /// Name of this numbering of events.
    pub fn stream(&self) -> &str {
        self.kept.stream()
    }

    /// `true` if the store had rows of the session when it was opened.
    pub fn was_stored(&self) -> bool {
        self.was_stored
    }

    /// The current state.
    pub fn state(&self) -> &State {
        self.own.state()
    }

    /// The state as a process shows it that does not write the session; `is_held`: another one does.
    pub fn state_elsewhere(&self, is_held: bool) -> StateName {
        let head = self.head();
        // A row from before the state was kept has only its turn.
        let runs =
            head.carried.state.is_none() && head.driver == Driver::Sidecar && self.kept.is_turn_running();
        let works = is_held && self.state().is_resting() && (head.carried.works || runs);
        if works { StateName::Generating } else { self.state().name() }
    }

    /// The state of the session after this turn ended, from how it ended; idle for an unknown turn.
    pub fn state_after(&self, turn: &TurnId) -> StateName {
        let at = self.transcript().turns().iter().rposition(|known| known.id == *turn);
        at.map_or(StateName::Idle, |at| rest_after(&self.kept, at).name())
    }

    /// The status of the newest turn; `None` before the first.
    pub fn newest_turn_status(&self) -> Option<TurnStatus> {
        self.kept.turns().last().map(|row| row.status)
    }

    /// Messages, turns, rounds and compaction records.
    pub fn transcript(&self) -> &Transcript {
        self.kept.transcript()
    }

    /// Scope shared with other sessions.
    pub fn scope(&self) -> &Scope {
        self.kept.scope()
    }

    /// Sessions that run in the background for this one, oldest first.
    pub fn agents(&self) -> &[Agent] {
        self.kept.agents()
    }

    /// The settings in force.
    pub fn settings(&self) -> &Settings {
        self.kept.settings()
    }

    /// What the user approved or rejected for good in the workspace.
    pub fn approvals(&self) -> &[Always] {
        self.own.standing().approvals.for_good()
    }

    /// What the user approved in this session, until it is closed.
    pub fn session_approvals(&self) -> &[Always] {
        self.own.standing().approvals.for_session()
    }

    /// Pins, in the order in which they were made.
    pub fn pins(&self) -> &[Pin] {
        self.kept.pins()
    }

    /// Tokens of a pin; 0 if there is no such pin.
    pub fn pin_tokens(&self, id: &PinId) -> u32 {
        self.kept.fixed().pins.tokens_of(id)
    }

    /// System text, sections and tools, counted: the part of each prompt before the messages.
    pub fn fixed(&self) -> &Fixed {
        self.kept.fixed()
    }

    /// `true` if the turn waits for agents and nothing else runs.
    pub fn waits_for_agents(&self) -> bool {
        matches!(self.state(), State::Calling(calling) if calling.only_waits())
    }

    /// The calls of the sidecar's tools that have no result yet.
    pub fn own_calls(&self) -> Vec<InvokeTool> {
        let (State::Calling(calling), Some(turn)) = (self.state(), self.kept.turn_id()) else {
            return Vec::new();
        };
        let calls = self.kept.newest_calls(calling.own()).into_iter();
        calls.map(|call| InvokeTool::of(call, turn.clone())).collect()
    }

    /// `true` if nothing runs and no command is queued.
    pub fn is_at_rest(&self) -> bool {
        self.own.is_free()
    }

    /// `true` if what runs now will answer this request: it asked for the running compaction, or is a render
    /// that waits for what runs.
    pub fn will_answer(&self, reply: ReplyTo) -> bool {
        let is_queued = self.own.renders().contains(reply);
        let is_running = self.state().job().and_then(|job| job.then.reply()) == Some(reply);
        !self.state().is_resting() && (is_queued || is_running)
    }

    /// Snapshot of the whole session.
    pub fn snapshot(&self) -> Snapshot {
        self.shown(None)
    }

    /// Snapshot with at most `newest` of the newest messages; with all of them if `None`.
    pub fn shown(&self, newest: Option<u32>) -> Snapshot {
        shown(&self.kept, self.own.standing(), newest)
    }

    /// Returns a page of a message's text.
    ///
    /// # Errors
    /// [`Refusal::Unknown`] if the reference names no message, no call with a result and no section of the
    /// caller's; [`Refusal::NotKept`] if the text was dropped at the end of its turn.
    pub fn recall(&self, query: Recall) -> Result<Recalled, Refusal> {
        recall::recall(&self.kept, query)
    }

    /// Returns all text of a message for a model: `None` if there is none or no model may see it, a note if
    /// the text was dropped at the end of its turn.
    pub fn recall_for_model(&self, reference: &str) -> Option<String> {
        recall::recall_for_model(&self.kept, reference)
    }

    /// The status of these messages in the prompt as it would be sent now, without those that are not there.
    ///
    /// # Errors
    /// The settings allow no prompt.
    pub fn message_statuses(
        &self,
        of: &[Ordinal],
    ) -> Result<BTreeMap<Ordinal, MessageStatus>, SettingsError> {
        recall::message_statuses(&self.kept, of)
    }

    /// Adds rows that could not be read when the rest of the session was loaded; the next answer to `open`
    /// reports them.
    pub fn missed(&mut self, unreadable: impl IntoIterator<Item = String>) {
        self.own.missed(unreadable);
    }

    /// `true` if the session's own row changed by what is written with the next commit.
    #[cfg(test)]
    pub(crate) fn has_deferred_head(&self) -> bool {
        self.kept.has_deferred_head()
    }

    pub(crate) fn kept(&self) -> &Conversation {
        &self.kept
    }

    pub(crate) fn components(&self) -> &Components {
        &self.own
    }

    /// The first message from which on all are loaded; `None` if the session is whole.
    pub(crate) fn part_from(&self) -> Option<Ordinal> {
        self.part
    }
}
