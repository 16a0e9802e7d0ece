//! Our own loop: a request, a prompt, an answer, its tools, and again until the model is done or somebody stops it.

use super::Step;
use super::compaction::Begin;
use super::effect::{Answer, AskModel, Effect, Purpose, Refusal};
use super::event::EventBody;
use super::input::{ReplyTo, StartTurn, Timer};
use super::queue::{Accepted, Done};
use super::settings::ModelFacts;
use super::state::{Rest, State, Streaming, Then};
use super::stored::{Driver, TurnStatus};
use super::undo::Again;
use super::usage::{read_exceeded, read_prompt};
use crate::engine::compact::record::{Compaction, Mode, Trigger};
use crate::engine::delta::Draft;
use crate::engine::id::{MessageId, Ordinal, TurnId};
use crate::engine::message::{Body, NewMessage};
use crate::engine::prompt::item::SectionSize;
use crate::engine::prompt::request::{Request, StopReason, ToolChoice};
use crate::engine::prompt::{self, Prompt, Source};
use serde_json::Value;

impl Step<'_> {
    /// A user's request, whose ids may have been promised while it waited. It is stored before anything is done about
    /// it.
    pub(super) fn start(&mut self, start: StartTurn, promised: Option<(TurnId, MessageId)>) -> Done {
        if !self.is_resting() {
            return self.put_in(start, promised);
        }
        self.close_running();
        self.background_of_turn();
        let new = self.request(start);
        let (transcript, counter) = (&mut self.session.transcript, self.around.counter);
        let ord = match promised {
            Some(promised) => transcript.append_promised(new, promised, counter),
            None => transcript.append_turn(new, counter),
        };
        self.took_in(ord);
        let last = self.session.turns.len().saturating_sub(1);
        self.set_turn(last, TurnStatus::Running);
        self.name_after(ord);
        self.write_head();
        let generates = self.session.head.driver == Driver::Sidecar;
        Done { accepted: self.about(ord), generates }
    }

    /// A user's word for the turn that runs. An answer that is being given is broken off; what was said of it stays.
    pub(super) fn put_in(&mut self, start: StartTurn, promised: Option<(TurnId, MessageId)>) -> Done {
        self.stop_running();
        let new = self.request(start);
        let (transcript, counter) = (&mut self.session.transcript, self.around.counter);
        let ord = match promised {
            Some(promised) => transcript.inject_promised(new, promised, counter),
            None => transcript.inject(new, counter),
        };
        self.took_in(ord);
        self.write_head();
        Done { accepted: self.about(ord), generates: true }
    }

    /// Takes what a request changes for the session on; the request's message.
    fn request(&mut self, start: StartTurn) -> NewMessage {
        if let Some((model, as_it_came)) = start.model {
            self.session.settings.model = model;
            match &mut self.session.head.settings {
                Value::Object(own) => drop(own.insert("model".to_owned(), as_it_came)),
                own => *own = serde_json::json!({ "model": as_it_came }),
            }
            self.emit_thread();
        }
        self.take_prefix(start.prefix);
        let known = self.knowledge(&start.content);
        let attachments = start.attachments.into_iter().chain(known).collect();
        let content = self.attached(start.content, attachments);
        NewMessage { external_id: start.external_id, ..self.stamped(Body::User(content)) }
    }

    fn about(&self, ord: Ordinal) -> Accepted {
        let message = self.session.transcript.message(ord);
        Accepted {
            turn: message.map(|message| message.turn.clone()),
            message: message.map(|message| message.id.clone()),
            ..Accepted::default()
        }
    }

    /// Asks the model to go on, after a compaction where the prompt is too large. `made` is one that was just made.
    pub(super) fn generate(&mut self, made: Option<&Compaction>) {
        let model = self.session.settings.model.clone();
        let scale = self.session.scale(&model);
        let budget = match self.session.budget_in(scale, &model, None) {
            Ok(budget) => budget,
            Err(error) => return self.fail(error),
        };
        if !self.session.settings.client.completes {
            return self.fail(
                "no model can be asked: the client did not say that it answers model/complete".to_owned(),
            );
        }
        if self.settle_placement(budget).is_some() {
            // What was known of the last prompt is not known of this one.
            return self.generate(made);
        }
        let source = Source { transcript: &self.session.transcript, fixed: &self.session.fixed, budget };
        match prompt::render(source).map_err(|exceeded| read_exceeded(exceeded, scale)) {
            Ok(prompt) => {
                self.goes_out(&prompt, model.name.as_deref());
                self.ask_for_answer(&read_prompt(prompt, scale), !summary_failed(made));
            }
            Err(exceeded) if !self.session.settings.policy.enabled || made.is_some() => {
                self.fail(exceeded);
            }
            Err(exceeded) => self.begin_compaction(Begin {
                trigger: Trigger::BudgetExceeded,
                focus: None,
                again: Again::default(),
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
        self.enter(State::Streaming(Streaming {
            call,
            message: message.clone(),
            draft: Draft::default(),
            untold: Vec::new(),
            is_told: false,
        }));
        self.tell_context(prompt);
        self.emit(EventBody::StreamStarted { message, turn: turn.clone() });
        let ask = AskModel { call, turn: Some(turn), purpose: Purpose::Turn, model, tokens, request };
        self.effects.push(Effect::AskModel(Box::new(ask)));
        self.effects.push(Effect::Start(Timer::Model(call), deadline));
    }

    /// Who counts the next prompt of this model.
    pub(super) fn estimator(&self, model: &ModelFacts) -> String {
        self.session.scale(model).named(self.around.counter.name(), model.key())
    }

    /// Says what a prompt weighs, in tokens as they are read.
    pub(super) fn tell_context(&mut self, prompt: &Prompt) {
        let sections = prompt.plan.sections.iter().map(|section| {
            (section.channel, SectionSize { name: section.name.clone(), tokens: section.tokens })
        });
        let sections = sections.collect();
        let estimator = self.estimator(&self.session.settings.model);
        self.emit(EventBody::ContextUpdated {
            tokens: prompt.tokens,
            limit: prompt.limit,
            sections,
            estimator,
        });
    }

    /// Somebody stops a turn (source: 001). What the user saw is kept, open calls are answered. One that waits is taken
    /// out of the queue.
    pub(super) fn cancel_turn(&mut self, reply: ReplyTo, turn: Option<TurnId>, queued: bool) {
        let newest = self.turn_id();
        let is_newest = turn.is_none() || turn == newest;
        let mut gone = match &turn {
            Some(turn) if !is_newest => self.dequeue(|item| item.is_turn(turn)),
            _ => Vec::new(),
        };
        if let Some(turn) = turn.filter(|_| !is_newest && gone.is_empty()) {
            let id = turn.as_str().to_owned();
            return self.reply(reply, Err(Refusal::Unknown { what: "turnId", id }));
        }
        if queued {
            gone.extend(self.dequeue(|_| true));
        }
        if !is_newest || self.is_resting() {
            return self.reply(reply, Ok(Answer::TurnCancelled(None, gone)));
        }
        let ran = self.runs_turn();
        self.stop_running();
        if ran {
            self.end_turn(TurnStatus::Cancelled, Rest::Idle);
        }
        self.reply(reply, Ok(Answer::TurnCancelled(newest, gone)));
    }

    /// The process is about to end: what a model said so far is kept, for the user saw it. Waits stay as they are.
    pub(super) fn ending(&mut self) {
        self.refuse_renders();
        self.session.queue.is_held = true;
        self.session.titling = None;
        match &self.session.state {
            State::Resting(_) | State::Paused(_) | State::Calling(_) => return,
            State::Streaming(_) | State::Compacting(_) => {}
        }
        let is_turn = self.runs_turn();
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
            State::Streaming(running) => {
                self.effects.push(Effect::CancelModel(running.call));
                let (message, draft) = self.end_stream(running);
                self.keep_answer(message, draft.said(), Vec::new(), draft.beside, StopReason::Cancelled);
            }
            State::Compacting(running) => self.stop_compacting(*running),
            State::Paused(_) => {
                self.emit(EventBody::PauseCleared);
                let calls = self.session.unanswered();
                self.answer_cancelled(calls);
            }
            State::Calling(calling) => self.answer_cancelled(calling.all()),
        }
    }
}

/// Whether a model was asked for a summary in vain: then the answer is asked for without breakpoints (source: 003).
pub(super) fn summary_failed(made: Option<&Compaction>) -> bool {
    let asked = |mode: Mode| matches!(mode, Mode::Full | Mode::Simple);
    made.is_some_and(|record| !asked(record.mode) && record.fallbacks.iter().any(|f| asked(f.mode)))
}
