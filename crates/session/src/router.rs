//! Routes inputs to components, and decides what follows from their outcome: the one place that knows all
//! components. Each returns an outcome, and the next one is called here.

mod commands;
mod flow;

use crate::commands::queue::Queue;
use crate::commands::renders::Renders;
use crate::compaction::background::Background;
use crate::compaction::idle::{self, IdleWatch};
use crate::compaction::job::Then;
use crate::compaction::summarizing::Ended;
use crate::context::attach::attach_later;
use crate::context::instructions::take_instructions;
use crate::context::prefix::take_server_tools;
use crate::core::{Conversation, Core, StepContext};
use crate::history::take;
use crate::state::State;
use crate::title::titler::Titler;
use crate::tools::{approvals::Approvals, round};
use crate::turn::{answer::Broken, size};
use crate::values::acceptance;
use crate::values::decision::Decision;
use crate::values::effect::{self, Effect};
use crate::values::event::{EventBody, TurnEnd};
use crate::values::input::{Configure, Input, ModelCallId, NotWritten, ReplyTo, Retry, Timer, ToolOutcome};
use crate::values::refusal::Refusal;
use crate::values::rest::Rest;
use crate::values::settings::Settings;
use crate::values::stored::{Streamed, TitleFrom, TurnStatus};
use crate::view::Standing;
use engine::delta::Delta;
use engine::id::CallId;
use engine::prompt::request::{Answer, Failure};

/// For the log, without ids that a model made up.
const UNKNOWN_CALL: &str = "arguments came for a call that was never set, and were dropped";

/// Components of a session, beside the conversation.
#[derive(Debug, Clone)]
pub(crate) struct Components {
    state: State,
    queue: Queue,
    renders: Renders,
    background: Background,
    titler: Titler,
    idle: IdleWatch,
    approvals: Approvals,
    /// `true` once a client sent a command in this process.
    is_begun: bool,
    /// Stored rows that could not be read and were not reported yet.
    unreadable: Vec<String>,
    /// The pieces of an answer that an earlier process did not end, until the first command.
    streamed: Vec<Streamed>,
}

impl Components {
    pub fn new(
        state: State,
        queue: Queue,
        approvals: Approvals,
        unreadable: Vec<String>,
        streamed: Vec<Streamed>,
    ) -> Self {
        Self {
            state,
            queue,
            renders: Renders::default(),
            background: Background::default(),
            titler: Titler::default(),
            idle: IdleWatch::default(),
            approvals,
            is_begun: false,
            unreadable,
            streamed,
        }
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    pub fn renders(&self) -> &Renders {
        &self.renders
    }

    /// The state of components that a snapshot shows.
    pub fn standing(&self) -> Standing<'_> {
        Standing { state: &self.state, queue: &self.queue, approvals: &self.approvals }
    }

    #[cfg(test)]
    pub fn background(&self) -> &Background {
        &self.background
    }

    /// Adds rows that could not be read when the rest of a session was loaded.
    pub fn missed(&mut self, unreadable: impl IntoIterator<Item = String>) {
        self.unreadable.extend(unreadable);
    }

    /// `true` if nothing runs and no command is queued.
    pub fn is_free(&self) -> bool {
        self.state.is_resting() && self.queue.is_empty()
    }

    /// Runs one step with this input.
    pub fn step(&mut self, kept: &mut Conversation, input: Input, context: StepContext<'_>) -> Vec<Effect> {
        let before = self.state.lasting();
        let mut step = Step { core: Core::new(kept, context), own: self };
        step.core.limit_what_is_shown();
        step.input(input);
        step.settle();
        let state = step.own.state.lasting();
        step.core.keep_state(state, state != before);
        step.core.finish()
    }
}

/// One step: the conversation, and the components.
struct Step<'a> {
    core: Core<'a>,
    own: &'a mut Components,
}

/// The component that waits for a model call.
enum CallOwner {
    Turn,
    Compaction,
    Background,
    Title,
}

impl Step<'_> {
    fn input(&mut self, input: Input) {
        match input {
            Input::Command(reply, command) => self.command(reply, command),
            Input::Abandoned(reply) => self.abandoned(reply),
            Input::ModelDelta(call, delta) => self.model_delta(call, delta),
            Input::ModelAlive(call) => self.model_is_alive(call, 0),
            Input::ModelRetries(call, retry) => self.model_retries(call, retry),
            Input::ModelDone(call, outcome) => self.model_done(call, outcome),
            Input::ToolDone(call, outcome) => self.tool_done(&call, outcome),
            Input::ToolProgress(call, how) => round::progress(&mut self.core, &self.own.state, call, how),
            Input::Permitted(decisions) => self.permitted(&decisions),
            Input::Expired(Timer::Model(call)) => self.model_expired(call),
            Input::Expired(Timer::Tool(call)) => self.tool_expired(call),
            Input::Expired(Timer::Deltas(call)) => self.moment_over(call),
            Input::Expired(Timer::Journal(call)) => self.journal(call),
            Input::Expired(Timer::Review) => self.review_expired(),
            Input::Expired(Timer::Idle) => self.idle_expired(),
            Input::Reviewed(review) => self.reviewed(review),
            Input::Settings(settings) => self.take_settings(*settings),
            Input::ServerTools(tools) => take_server_tools(&mut self.core, tools),
            Input::Scope(scope) => self.core.set_scope(scope),
            Input::Instructions(files) => take_instructions(&mut self.core, files),
            Input::Attach(attachments) => attach_later(&mut self.core, attachments),
            Input::Approvals(approvals) => self.own.approvals.set(approvals),
            Input::SessionApprovals { added, revoked } => self.own.approvals.change_session(added, &revoked),
            Input::Memories(memories) => self.core.set_memories(memories),
            Input::Agent(agent) => self.core.set_agent(*agent),
            Input::Ending => self.ending(),
            Input::Recorded(message) => take::append_recorded(&mut self.core, *message),
            Input::RecordedSummary(summary) => {
                let last = self.core.last_turn();
                take::bring_back(&mut self.core, &[(last, *summary)]);
            }
            Input::NotWritten(failed) => self.not_written(failed),
        }
    }

    /// Does what the new state has room for: notices, queued commands, the idle timer.
    fn settle(&mut self) {
        if !matches!(self.own.state, State::Streaming(_)) {
            self.core.show_notices();
        }
        self.rest_with_editor();
        self.next_in_queue();
        if self.only_waits() {
            // Another process may go on with the turn, should this one end.
            if !self.core.head().waits {
                self.core.set_waits(true);
                self.core.write_head_as_it_was_used();
            }
        } else {
            self.own.queue.watch_task(&mut self.core);
        }
        let is_idle = self.may_compact_idle();
        self.own.idle.watch(&mut self.core, is_idle);
    }

    fn owner(&self, call: ModelCallId) -> Option<CallOwner> {
        match &self.own.state {
            State::Streaming(running) if running.call() == call => Some(CallOwner::Turn),
            State::Compacting(running) if running.call() == call => Some(CallOwner::Compaction),
            _ if self.own.background.is_call(call) => Some(CallOwner::Background),
            _ => self.own.titler.is_call(call).then_some(CallOwner::Title),
        }
    }

    fn model_delta(&mut self, from: ModelCallId, delta: Delta) {
        let heard = match (self.owner(from), &mut self.own.state) {
            (Some(CallOwner::Turn), State::Streaming(running)) => {
                if !running.hear(&mut self.core, delta) {
                    self.core.trace(UNKNOWN_CALL);
                }
                return;
            }
            (Some(CallOwner::Compaction), State::Compacting(running)) => {
                Some(running.hear(&self.core, delta))
            }
            (Some(CallOwner::Background), _) => self.own.background.hear(&self.core, delta),
            (Some(CallOwner::Title), _) => self.own.titler.hear(&self.core, delta),
            _ => None,
        };
        match heard {
            None => self.core.trace(format!("a delta of call {} came late and was dropped", from.0)),
            Some(heard) if !heard.is_known && !self.own.titler.is_call(from) => self.core.trace(UNKNOWN_CALL),
            Some(heard) => match heard.next {
                Some(ms) => self.core.start(Timer::Model(from), ms),
                None => self.model_endless(from),
            },
        }
    }

    /// Stops an answer that is not streamed to clients and does not come to an end.
    fn model_endless(&mut self, from: ModelCallId) {
        self.core.push(Effect::CancelModel(from));
        self.core.stop(Timer::Model(from));
        match self.owner(from) {
            Some(CallOwner::Compaction) => self.summary_ended(Ended::Endless),
            Some(CallOwner::Background) => self.own.background.resume(&mut self.core, Ended::Endless),
            Some(CallOwner::Turn | CallOwner::Title) | None => self.own.titler.forget(&mut self.core),
        }
    }

    /// Extends the deadline of a model that works, by the permitted silence and `more_ms`, up to the answer's own.
    fn model_is_alive(&mut self, from: ModelCallId, more_ms: u64) {
        let ms = match (self.owner(from), &self.own.state) {
            (Some(CallOwner::Turn), State::Streaming(running)) => running.after_sign(&self.core, more_ms),
            (Some(CallOwner::Compaction), State::Compacting(running)) => {
                running.after_sign(&self.core, more_ms)
            }
            (Some(CallOwner::Background), _) => self.own.background.after_sign(&self.core, more_ms),
            (Some(CallOwner::Title), _) => self.own.titler.after_sign(&self.core, more_ms),
            _ => return,
        };
        match ms {
            Some(ms) => self.core.start(Timer::Model(from), ms),
            None => {
                self.core.stop(Timer::Model(from));
                self.model_expired(from);
            }
        }
    }

    /// Extends the deadline of a model that is asked again, and emits that unless it is for a title or a prepared
    /// summary. What it said is void, in a turn once there is something else.
    fn model_retries(&mut self, from: ModelCallId, retry: Retry) {
        self.model_is_alive(from, retry.delay_ms);
        match (self.owner(from), &mut self.own.state) {
            (Some(CallOwner::Turn), State::Streaming(running)) => running.begin_again(&mut self.core, &retry),
            (Some(CallOwner::Compaction), State::Compacting(running)) => running.begin_again(&mut self.core),
            (Some(CallOwner::Background), _) => return self.own.background.begin_again(&mut self.core),
            (Some(CallOwner::Title), _) => return self.own.titler.begin_again(&mut self.core),
            _ => return,
        }
        let (state, turn) = (self.own.state.name(), self.core.turn_id());
        self.core.emit(EventBody::Retrying { state, turn, retry });
    }

    fn model_done(&mut self, from: ModelCallId, outcome: Result<Answer, Failure>) {
        let Some(owner) = self.owner(from) else {
            return self.core.trace(format!("the answer of call {} came late and was dropped", from.0));
        };
        if !matches!(owner, CallOwner::Turn) {
            self.core.stop(Timer::Model(from));
        }
        match owner {
            CallOwner::Turn => self.answered(outcome.map_err(Broken::from)),
            CallOwner::Compaction => self.summary_ended(Ended::Done(outcome)),
            CallOwner::Background => self.own.background.resume(&mut self.core, Ended::Done(outcome)),
            CallOwner::Title => self.own.titler.done(&mut self.core, outcome),
        }
    }

    /// Handles a model that was silent past its deadline.
    fn model_expired(&mut self, from: ModelCallId) {
        let Some(owner) = self.owner(from) else { return };
        self.core.push(Effect::CancelModel(from));
        match (owner, &self.own.state) {
            (CallOwner::Turn, State::Streaming(running)) => {
                let broken = Broken::expired(running.silence(&self.core));
                self.answered(Err(broken));
            }
            (CallOwner::Turn, _) => {}
            (CallOwner::Compaction, _) => self.summary_ended(Ended::Expired),
            (CallOwner::Background, _) => self.own.background.resume(&mut self.core, Ended::Expired),
            (CallOwner::Title, _) => self.own.titler.forget(&mut self.core),
        }
    }

    /// Emits the gathered deltas of an answer.
    fn moment_over(&mut self, call: ModelCallId) {
        if let State::Streaming(running) = &mut self.own.state
            && running.call() == call
        {
            running.moment_over(&mut self.core);
        }
    }

    /// Keeps what an answer in progress added, in case the process ends.
    fn journal(&mut self, call: ModelCallId) {
        if let State::Streaming(running) = &mut self.own.state
            && running.call() == call
        {
            running.journal(&mut self.core);
        }
    }

    fn tool_done(&mut self, call: &CallId, outcome: ToolOutcome) {
        let result = match outcome {
            ToolOutcome::Answered(result) => result,
            ToolOutcome::Failed(why) => round::error(call, format!("[the tool could not be run: {why}]")),
            // The result comes by `tool/result`; the deadline stays.
            ToolOutcome::Pending => return,
            ToolOutcome::Waits => return self.wait_for_agents(call),
        };
        if let Err(refusal) = self.take_result(call, result) {
            let why =
                if matches!(refusal, Refusal::Settled { .. }) { "it has one" } else { "nobody waits for it" };
            self.core.trace(format!("the result of a call came late and was dropped: {why}"));
        }
    }

    fn tool_expired(&mut self, call: CallId) {
        let ms = self.core.settings().tool_deadline_ms;
        let result = round::error(&call, format!("[no result came within {ms} ms]"));
        if self.take_result(&call, result).is_ok() {
            self.core.push(Effect::CancelTool(call));
        }
    }

    /// Lets an own call wait for agents, without a deadline.
    fn wait_for_agents(&mut self, call: &CallId) {
        let before = self.own.state.name();
        let waits = match &mut self.own.state {
            State::Calling(calling) => calling.wait(call),
            _ => false,
        };
        if waits {
            self.core.stop(Timer::Tool(call.clone()));
            if self.own.state.name() != before {
                self.core.emit_state(self.own.state.name(), None);
            }
        }
    }

    /// `true` if the turn waits for agents and nothing else runs.
    fn only_waits(&self) -> bool {
        matches!(&self.own.state, State::Calling(calling) if calling.only_waits())
    }

    /// Ends a wait for agents, and its turn, because a command comes first.
    fn end_wait(&mut self) {
        if let State::Calling(calling) = &self.own.state
            && calling.only_waits()
        {
            round::answer_waiting(&mut self.core, calling.all());
            self.end_turn(TurnStatus::Completed);
        }
    }

    /// Refusal of a command that the state does not accept.
    fn invalid(&self) -> Refusal {
        let (state, driver) = (self.own.state.name(), self.core.head().driver);
        let accepts = if self.core.is_editors_turn_open() {
            acceptance::accepts_in_editors_turn(self.own.state.is_resting())
        } else if self.only_waits() {
            acceptance::accepts_in_wait(driver)
        } else {
            acceptance::accepts(state, driver)
        };
        Refusal::InvalidState { state, accepts }
    }

    fn permitted(&mut self, decisions: &[Decision]) {
        if self.take_decisions(decisions).is_err() {
            self.core.trace("a permission came late and was dropped");
        }
    }

    /// `true` if nothing runs, here or in the editor's loop, and nothing waits.
    fn may_compact_idle(&self) -> bool {
        self.own.is_free() && !self.core.is_editors_turn_open()
    }

    fn idle_expired(&mut self) {
        if self.may_compact_idle()
            && let Some(begin) = idle::expired(&self.core)
        {
            self.compact(begin);
        }
    }

    fn configure(&mut self, reply: ReplyTo, configure: Configure) {
        if let Err(error) = configure.settings.budget() {
            return self.core.reply(reply, Err(error.into()));
        }
        size::forget(&mut self.core, configure.forget_limits);
        self.core.set_own_settings(configure.own);
        if configure.title.is_some() {
            self.core.set_title(configure.title, Some(TitleFrom::Client));
        }
        self.core.write_head();
        self.take_settings(configure.settings);
        self.core.reply(reply, Ok(effect::Answer::Configured));
    }

    /// Applies other settings, and emits the thread.
    fn take_settings(&mut self, settings: Settings) {
        let core = &mut self.core;
        let old = core.replace_settings(settings);
        if old.model != core.settings().model {
            self.own.background.cancel(core);
            size::forget_others(core);
        }
        if old.policy != core.settings().policy && core.restraint_mut().release() {
            core.write_head_as_it_was_used();
        }
        let new = core.settings();
        let text = |of: &Settings| (of.system.clone(), of.policy.order.clone());
        if old.own_tools != new.own_tools || text(&old) != text(new) {
            core.freeze();
        }
        if old.memory.core != core.settings().memory.core && core.is_stored() && core.read_memories() {
            core.write_head_as_it_was_used();
        }
        core.emit_thread();
    }

    /// Handles a failed write: all that runs is stopped, as nobody could find its result. Changes are stored later.
    fn not_written(&mut self, failed: NotWritten) {
        let why = Refusal::NotStored { cause: failed.cause, why: failed.why };
        let ran = self.runs_own_turn();
        self.own.queue.hold();
        // The request for a prepared summary may never have been sent.
        self.own.background.cancel(&mut self.core);
        // Stopping a render begins the next one that waits.
        while !self.own.state.is_resting() {
            self.stop_running();
        }
        if ran {
            return self.fail(why);
        }
        self.own.state = State::Resting(Rest::Failed(why.to_string()));
        if failed.ended_turn {
            // Its end was emitted, and is taken back: its messages are kept.
            self.core.set_turn(self.core.last_turn(), TurnStatus::Failed);
        }
        let (status, summaries) = (TurnStatus::Failed, Vec::new());
        let error = TurnEnd { status, error: Some(why), ended_by: None, summaries };
        self.core.emit_state(self.own.state.name(), failed.ended_turn.then_some(error));
    }

    /// Rests as a turn of the editor's loop begins or ends.
    fn rest_with_editor(&mut self) {
        let State::Resting(rest) = &self.own.state else { return };
        let is_open = self.core.is_editors_turn_open();
        if is_open != (*rest == Rest::EditorsTurn) {
            let rest = if is_open { Rest::EditorsTurn } else { Rest::Idle };
            self.stand_still(State::Resting(rest));
        }
    }

    /// `true` if nothing of ours ran, or what ran was stopped.
    fn is_idle(&self) -> bool {
        matches!(self.own.state, State::Resting(Rest::Idle | Rest::EditorsTurn))
    }

    /// `true` if a turn runs, here or in the editor's loop.
    fn runs_turn(&self) -> bool {
        self.core.is_editors_turn_open() || self.runs_own_turn()
    }

    /// `true` if a turn of ours runs.
    fn runs_own_turn(&self) -> bool {
        match &self.own.state {
            State::Resting(_) => false,
            State::Compacting(_) | State::Reviewing(_) => {
                self.own.state.job().is_some_and(|job| job.then == Then::Generate)
            }
            State::Streaming(_) | State::Paused(_) | State::Calling(_) => true,
        }
    }
}
