//! Our own loop: a request, a prompt, an answer, its tools, and again until the model is done or somebody stops it.

use super::Step;
use super::compaction::Begin;
use super::effect::{Answer, AskModel, Effect, Purpose, Refusal};
use super::event::EventBody;
use super::input::{ModelCallId, ReplyTo, StartTurn, Timer};
use super::state::{Rest, State, Streaming, Then};
use super::stored::{Driver, TurnStatus};
use crate::engine::compact::record::{Compaction, Mode, Trigger};
use crate::engine::delta::{Delta, Draft};
use crate::engine::id::MessageId;
use crate::engine::message::{AssistantPart, Beside, Body, NewMessage, ToolCall};
use crate::engine::prompt::item::SectionSize;
use crate::engine::prompt::request::{self, Request, StopReason, ToolChoice};
use crate::engine::prompt::{self, Prompt, Source};
use serde_json::Value;

/// For the log, which repeats no id that a model made up.
const UNKNOWN_CALL: &str = "arguments came for a call that was never set, and were dropped";

impl Step<'_> {
    /// A user's request. It is stored before anything is done about it.
    pub(super) fn start_turn(&mut self, reply: ReplyTo, start: StartTurn) {
        if !self.is_resting() {
            let refusal = self.invalid();
            return self.reply(reply, Err(refusal));
        }
        let body = Body::User(start.content);
        if body.is_empty() {
            return self
                .reply(reply, Err(Refusal::Empty("a turn begins with a request; this one says nothing")));
        }
        let mut settings = self.session.settings.clone();
        let mut own = self.session.head.settings.clone();
        if let Some((model, as_it_came)) = start.model {
            settings.model = model;
            match &mut own {
                Value::Object(own) => drop(own.insert("model".to_owned(), as_it_came)),
                own => *own = serde_json::json!({ "model": as_it_came }),
            }
        }
        if let Err(error) = settings.budget() {
            return self.reply(reply, Err(error.into()));
        }
        self.session.settings = settings;
        self.session.head.settings = own;
        self.take_prefix(start.prefix);
        let is_editors = self.session.head.driver == Driver::Editor;
        let before = self.session.turns.len();
        let new = NewMessage { external_id: start.external_id, ..self.stamped(body) };
        let counter = self.around.counter;
        // An editor says where its turns begin; ours begin where something ran.
        let ord = match is_editors {
            true => self.session.transcript.append_turn(new, counter),
            false => self.session.transcript.append(new, counter),
        };
        self.took_in(ord);
        if self.session.turns.len() > before && before > 0 {
            let was_running = self.session.turns.get(before - 1).map(|row| row.status);
            if was_running == Some(TurnStatus::Running) {
                self.set_turn(before - 1, TurnStatus::Cancelled);
            }
        }
        let last = self.session.turns.len().saturating_sub(1);
        self.set_turn(last, TurnStatus::Running);
        self.write_head();
        let message = self.session.transcript.message(ord).map(|message| message.id.clone());
        if let (Some(turn), Some(message)) = (self.turn_id(), message) {
            self.reply(reply, Ok(Answer::TurnStarted { turn, message }));
        }
        if !is_editors {
            self.generate(None);
        }
    }

    /// Asks the model to go on, after a compaction where the prompt is too large. `made` is one that was just made.
    pub(super) fn generate(&mut self, made: Option<&Compaction>) {
        let budget = match self.session.settings.budget() {
            Ok(budget) => budget,
            Err(error) => return self.fail(error),
        };
        if !self.session.settings.client.completes {
            return self.fail(
                "no model can be asked: the client did not say that it answers model/complete".to_owned(),
            );
        }
        let source = Source { transcript: &self.session.transcript, fixed: &self.session.fixed, budget };
        match prompt::render(source) {
            Ok(prompt) => self.ask_for_answer(&prompt, !summary_failed(made)),
            Err(exceeded) if !self.session.settings.policy.enabled || made.is_some() => {
                self.fail(exceeded);
            }
            Err(exceeded) => self.begin_compaction(Begin {
                trigger: Trigger::BudgetExceeded,
                focus: None,
                exceeded: Some(exceeded),
                then: Then::Generate,
            }),
        }
    }

    fn ask_for_answer(&mut self, prompt: &Prompt, breakpoints: bool) {
        let call = self.next_call();
        let Some(turn) = self.turn_id() else { return };
        let message = self.session.transcript.next_message_id();
        let settings = &self.session.settings;
        let request = Request {
            items: prompt.items.clone(),
            tools: prompt.tools.clone(),
            tool_choice: ToolChoice::Auto,
            temperature_zero: false,
            max_output: settings.model.max_output,
            cache_breakpoints: if breakpoints { prompt.plan.breakpoints().collect() } else { Vec::new() },
        };
        let tokens = prompt.tokens;
        let (model, deadline) = (settings.model.clone(), settings.model_deadline_ms);
        self.enter(State::Streaming(Streaming { call, message: message.clone(), draft: Draft::default() }));
        self.tell_context(prompt);
        self.emit(EventBody::StreamStarted { message, turn: turn.clone() });
        let ask = AskModel { call, turn: Some(turn), purpose: Purpose::Turn, model, tokens, request };
        self.effects.push(Effect::AskModel(Box::new(ask)));
        self.effects.push(Effect::Start(Timer::Model(call), deadline));
    }

    /// Says what a prompt weighs.
    pub(super) fn tell_context(&mut self, prompt: &Prompt) {
        let sections = prompt.plan.sections.iter().map(|section| {
            (section.channel, SectionSize { name: section.name.clone(), tokens: section.tokens })
        });
        let sections = sections.collect();
        self.emit(EventBody::ContextUpdated { tokens: prompt.tokens, limit: prompt.limit, sections });
    }

    pub(super) fn model_delta(&mut self, from: ModelCallId, delta: Delta) {
        let deadline = self.session.settings.model_deadline_ms;
        match &mut self.session.state {
            State::Streaming(Streaming { call, message, draft }) if *call == from => {
                if draft.fold(delta.clone()).is_err() {
                    return self.trace(UNKNOWN_CALL);
                }
                let message = message.clone();
                self.emit(EventBody::StreamDelta { message, delta });
            }
            State::Compacting(running) if running.call == from => {
                if running.draft.fold(delta).is_err() {
                    return self.trace(UNKNOWN_CALL);
                }
            }
            _ => return self.trace(format!("a delta of call {} came late and was dropped", from.0)),
        }
        self.effects.push(Effect::Start(Timer::Model(from), deadline));
    }

    pub(super) fn model_done(&mut self, from: ModelCallId, outcome: Result<request::Answer, String>) {
        match &self.session.state {
            State::Streaming(running) if running.call == from => {
                self.effects.push(Effect::Stop(Timer::Model(from)));
                self.answered(outcome.map_err(Refusal::from));
            }
            State::Compacting(running) if running.call == from => {
                self.effects.push(Effect::Stop(Timer::Model(from)));
                self.summarized(outcome);
            }
            _ => self.trace(format!("the answer of call {} came late and was dropped", from.0)),
        }
    }

    /// The model said nothing for too long.
    pub(super) fn model_expired(&mut self, from: ModelCallId) {
        match &self.session.state {
            State::Streaming(running) if running.call == from => {
                self.effects.push(Effect::CancelModel(from));
                let ms = self.session.settings.model_deadline_ms;
                let why = format!("the model said nothing for {ms} ms");
                self.answered(Err(Refusal::Provider { cause: "timeout", why }));
            }
            State::Compacting(running) if running.call == from => {
                self.effects.push(Effect::CancelModel(from));
                self.summary_expired();
            }
            _ => {}
        }
    }

    /// What a model answered to a turn. What was streamed is kept, whatever became of the call: the user saw it.
    fn answered(&mut self, outcome: Result<request::Answer, Refusal>) {
        let State::Streaming(Streaming { message, draft, .. }) =
            std::mem::replace(&mut self.session.state, State::Resting(Rest::Idle))
        else {
            return;
        };
        let (stop, error) = match &outcome {
            Ok(answer) => (answer.stop, None),
            Err(why) => (StopReason::Failed, Some(why.clone())),
        };
        let (parts, calls, beside) = match outcome {
            Ok(answer) => answer.said(&draft),
            Err(_) => (draft.said(), Vec::new(), draft.beside),
        };
        let calls = self.keep_answer(message, parts, calls, beside, stop);
        match (error, stop) {
            (Some(why), _) => self.fail(why),
            (None, StopReason::Refused) => self.fail("the model refused to answer".to_owned()),
            (None, StopReason::Length) => {
                self.fail("the answer reached its length limit; what was said is kept".to_owned());
            }
            (None, StopReason::Cancelled | StopReason::Failed) => {
                self.fail("the client says that the answer broke off; what was said is kept".to_owned());
            }
            (None, _) if calls => self.run_calls(),
            (None, _) => self.end_turn(TurnStatus::Completed, Rest::Completed),
        }
    }

    /// Stores an answer; whether it asks for tools. A call that may be cut is never run, so it is not kept either.
    fn keep_answer(
        &mut self,
        message: MessageId,
        parts: Vec<AssistantPart>,
        calls: Vec<ToolCall>,
        beside: Beside,
        stop: StopReason,
    ) -> bool {
        // Calls that were streamed are not seen by who reads the answer: without a word of its own it says `end`.
        let stop = if stop == StopReason::End && !calls.is_empty() { StopReason::ToolUse } else { stop };
        self.emit(EventBody::StreamFinished { message, stop });
        let whole = matches!(stop, StopReason::End | StopReason::ToolUse);
        let calls = if whole { calls } else { Vec::new() };
        let has_calls = !calls.is_empty();
        let body = Body::Assistant { parts, calls, beside };
        if !body.is_empty() {
            let new = self.stamped(body);
            self.append(new);
        }
        has_calls
    }

    /// Somebody stops the turn (source: 001). What the user saw is kept, open calls are answered.
    pub(super) fn cancel_turn(&mut self, reply: ReplyTo) {
        if self.is_resting() {
            return self.reply(reply, Ok(Answer::TurnCancelled(None)));
        }
        let turn = self.turn_id();
        let ran =
            !matches!(&self.session.state, State::Compacting(running) if running.job.then != Then::Generate);
        self.stop_running();
        if ran {
            self.end_turn(TurnStatus::Cancelled, Rest::Idle);
        }
        self.reply(reply, Ok(Answer::TurnCancelled(turn)));
    }

    /// The process is about to end: what a model said so far is kept, for the user saw it. Waits stay as they are.
    pub(super) fn ending(&mut self) {
        for (reply, _) in std::mem::take(&mut self.session.renders) {
            self.reply(reply, Err(Refusal::Cancelled));
        }
        let is_turn = match &self.session.state {
            State::Streaming(_) => true,
            State::Compacting(running) => running.job.then == Then::Generate,
            State::Resting(_) | State::Paused(_) | State::WaitingIde(_) => return,
        };
        self.stop_running();
        if is_turn {
            self.end_turn(TurnStatus::Cancelled, Rest::Idle);
        }
    }

    /// Calls back whatever runs and keeps what there is of it. The state is the caller's to set, but where a render or
    /// a report was under way: those are answered, and the session rests.
    pub(super) fn stop_running(&mut self) {
        match std::mem::replace(&mut self.session.state, State::Resting(Rest::Idle)) {
            State::Resting(rest) => self.session.state = State::Resting(rest),
            State::Streaming(Streaming { call, message, draft }) => {
                self.effects.push(Effect::CancelModel(call));
                self.effects.push(Effect::Stop(Timer::Model(call)));
                self.keep_answer(message, draft.said(), Vec::new(), draft.beside, StopReason::Cancelled);
            }
            State::Compacting(running) => self.stop_compacting(*running),
            State::Paused(_) => {
                self.emit(EventBody::PauseCleared);
                let calls = self.session.unanswered();
                self.answer_cancelled(calls);
            }
            State::WaitingIde(open) => self.answer_cancelled(open),
        }
    }
}

/// Whether a model was asked for a summary in vain: then the answer is asked for without breakpoints (source: 003).
pub(super) fn summary_failed(made: Option<&Compaction>) -> bool {
    let asked = |mode: Mode| matches!(mode, Mode::Full | Mode::Simple);
    made.is_some_and(|record| !asked(record.mode) && record.fallbacks.iter().any(|f| asked(f.mode)))
}
