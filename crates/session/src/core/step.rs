//! One step on a conversation: its environment, and the effects so far.

use super::conversation::Conversation;
use crate::carried::attachments::WaitingAttachments;
use crate::carried::limits::{LearnedAnswer, LimitOrigin, Limits, SentRequest, Terms, Trial};
use crate::carried::restraint::Restraint;
use crate::carried::spent::Spent;
use crate::carried::told::ScopeTold;
use crate::values::agents::Agent;
use crate::values::effect::{Answer, Effect};
use crate::values::event::{EventBody, TurnEnd};
use crate::values::input::{ModelCallId, ReplyTo, Timer};
use crate::values::refusal::Refusal;
use crate::values::rest::Lasting;
use crate::values::settings::{ModelFacts, Settings};
use crate::values::stored::Write;
use engine::id::Time;
use engine::memory::Memory;
use engine::message::Text;
use engine::prompt::request::Overflow;
use engine::scope::Scope;
use engine::tokens::TokenCount;
use engine::transcript::Transcript;
use engine::words::StateName;
use std::ops::Deref;
use std::sync::Arc;

/// The environment of a step.
#[derive(Clone, Copy)]
pub struct StepContext<'a> {
    /// The current time.
    pub now: Time,
    /// The same as ISO 8601 in UTC.
    pub stamp: &'a str,
    /// Counts tokens.
    pub counter: &'a dyn TokenCount,
}

/// A conversation during one step. Read through `Deref`; all changes and effects go through this type.
pub(crate) struct Core<'a> {
    pub(super) kept: &'a mut Conversation,
    context: StepContext<'a>,
    effects: Vec<Effect>,
}

impl Deref for Core<'_> {
    type Target = Conversation;

    fn deref(&self) -> &Conversation {
        self.kept
    }
}

impl<'a> Core<'a> {
    pub fn new(kept: &'a mut Conversation, context: StepContext<'a>) -> Self {
        Self { kept, context, effects: Vec::new() }
    }

    /// The effects of the step, in order.
    pub fn finish(mut self) -> Vec<Effect> {
        if self.writes() {
            self.write_deferred_head();
        }
        self.effects
    }

    pub fn now(&self) -> Time {
        self.context.now
    }

    pub fn stamp(&self) -> &'a str {
        self.context.stamp
    }

    pub fn counter(&self) -> &'a dyn TokenCount {
        self.context.counter
    }

    pub fn push(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    pub fn emit(&mut self, body: EventBody) {
        let event = self.kept.events.push(body);
        self.push(Effect::Emit(event));
    }

    /// Emits the state, and how the newest turn ended, if it did.
    pub fn emit_state(&mut self, state: StateName, ended: Option<TurnEnd>) {
        let turn = self.turn_id();
        self.emit(EventBody::RuntimeUpdated { state, turn, ended });
    }

    /// Emits title, draft, scope and pins.
    pub fn emit_thread(&mut self) {
        let thread = self.thread();
        self.emit(EventBody::ThreadUpdated(Box::new(thread)));
    }

    pub fn write(&mut self, write: Write) {
        self.push(Effect::Write(write));
    }

    /// `true` if the step writes anything.
    pub(super) fn writes(&self) -> bool {
        self.effects.iter().any(|effect| matches!(effect, Effect::Write(_)))
    }

    /// Puts the state into the row that the step writes last; `false` if it writes none.
    pub(super) fn amend_head(&mut self, state: Lasting) -> bool {
        let head = self.effects.iter_mut().rev().find_map(|effect| match effect {
            Effect::Write(Write::Head(head)) => Some(head),
            _ => None,
        });
        let Some(head) = head else { return false };
        (head.carried.state, head.carried.works) = (Some(state.found), state.works);
        true
    }

    pub fn reply(&mut self, to: ReplyTo, answer: Result<Answer, Refusal>) {
        self.push(Effect::Reply(to, Box::new(answer)));
    }

    pub fn trace(&mut self, what: impl Into<String>) {
        self.push(Effect::Trace(what.into()));
    }

    /// Starts a timer of `ms` milliseconds; one of the same name starts again.
    pub fn start(&mut self, timer: Timer, ms: u64) {
        self.push(Effect::Start(timer, ms));
    }

    pub fn stop(&mut self, timer: Timer) {
        self.push(Effect::Stop(timer));
    }

    /// Id of the next model call.
    pub fn next_call(&mut self) -> ModelCallId {
        self.kept.calls += 1;
        ModelCallId(self.kept.calls)
    }

    pub fn transcript_mut(&mut self) -> &mut Transcript {
        Arc::make_mut(&mut self.kept.transcript)
    }

    pub fn limits_mut(&mut self) -> (&mut Limits, &mut Trial) {
        (&mut self.kept.head.carried.limits, &mut self.kept.trial)
    }

    /// Lowers the room for the answer; see [`Limits::lower`].
    pub fn lower_answer(&mut self, learned: LearnedAnswer, asked: SentRequest) -> Option<u32> {
        let (scale, heard) = (self.scale_now(), self.heard());
        let Conversation { head, settings, trial, .. } = &mut *self.kept;
        let terms = Terms { model: &settings.model, settings, scale, heard };
        head.carried.limits.lower(trial, terms, learned, asked)
    }

    /// Records that the prompt of this request was answered; see [`Limits::went_through`].
    pub fn went_through(&mut self, asked: SentRequest) -> Option<u32> {
        let (scale, heard) = (self.scale_now(), self.heard());
        let Conversation { head, settings, trial, .. } = &mut *self.kept;
        let terms = Terms { model: &settings.model, settings, scale, heard };
        head.carried.limits.went_through(trial, terms, asked)
    }

    /// Learns a limit for the model in force; see [`Limits::learn`].
    pub fn learn_limit(&mut self, overflow: Overflow, tokens: u32) -> Option<(u32, LimitOrigin)> {
        let (scale, heard) = (self.scale_now(), self.heard());
        let Conversation { head, settings, trial, .. } = &mut *self.kept;
        let terms = Terms { model: &settings.model, settings, scale, heard };
        head.carried.limits.learn(trial, terms, overflow, tokens)
    }

    /// Records the outcome of a summary request; returns `true` if that changes anything.
    pub fn attempt_ended(&mut self, is_failure: bool) -> bool {
        let Conversation { head, transcript, settings, .. } = &mut *self.kept;
        head.carried.restraint.attempt_ended(transcript, is_failure, &settings.policy)
    }

    pub fn restraint_mut(&mut self) -> &mut Restraint {
        &mut self.kept.head.carried.restraint
    }

    pub fn spent_mut(&mut self) -> &mut Option<Spent> {
        &mut self.kept.head.carried.spent
    }

    pub fn waiting_mut(&mut self) -> &mut WaitingAttachments {
        &mut self.kept.head.carried.attachments
    }

    /// Replaces the settings; returns the old ones.
    pub fn replace_settings(&mut self, settings: Settings) -> Settings {
        std::mem::replace(&mut self.kept.settings, settings)
    }

    /// Sets the model that answers from now on.
    pub fn set_model(&mut self, model: ModelFacts) {
        self.kept.settings.model = model;
    }

    pub fn set_memories(&mut self, memories: Arc<[Memory]>) {
        self.kept.memories = memories;
    }

    /// Sets the shared scope, and emits the thread if it is another one.
    pub fn set_scope(&mut self, scope: Arc<Scope>) {
        if self.kept.scope != scope {
            self.kept.scope = scope;
            self.emit_thread();
        }
    }

    /// Notes what a request shows of the scope; the caller writes the row.
    pub fn set_scope_told(&mut self, told: ScopeTold) {
        self.kept.head.carried.told = Some(told);
    }

    /// Notes a session that runs in the background for this one, and emits it if it is new or changed.
    pub fn set_agent(&mut self, agent: Agent) {
        match self.kept.agents.iter_mut().find(|known| known.session == agent.session) {
            Some(known) if *known == agent => return,
            Some(known) => *known = agent.clone(),
            None => self.kept.agents.push(agent.clone()),
        }
        self.emit(EventBody::AgentUpdated(agent));
    }

    /// Stores what the user typed and did not send, and emits the thread if it is another text.
    pub fn set_draft(&mut self, draft: Option<Text>) {
        let is_new = self.kept.draft != draft;
        self.kept.draft = draft.clone();
        if !self.is_stored() {
            self.write_head();
        }
        // Written even if it is the same: the store may have failed the first time.
        self.write(Write::Draft(draft));
        if is_new {
            self.emit_thread();
        }
    }

    /// Shows a notice to the user as soon as no answer streams.
    pub fn notify_later(&mut self, kind: &'static str, text: String) {
        self.kept.notices.push((kind, text));
    }

    /// Appends the notices that were held back.
    pub fn show_notices(&mut self) {
        for (kind, text) in std::mem::take(&mut self.kept.notices) {
            self.notice(kind, text);
        }
    }
}
