//! Our own loop: a request, a prompt, an answer, its tools, and again until the model is done or somebody stops it.

use super::compaction::Begin;
use super::effect::{Answer, AskModel, Effect, Purpose, Refusal};
use super::event::EventBody;
use super::input::{ReplyTo, StartTurn, Timer};
use super::queue::{Accepted, Done};
use super::settings::ModelFacts;
use super::state::{Patience, Rest, State, Streaming, Then};
use super::stored::{Driver, TurnStatus};
use super::usage::{read_exceeded, read_prompt};
use super::{Session, Step};
use engine::compact::record::{Compaction, Fallback, Mode};
use engine::compact::trigger::{self, Next};
use engine::delta::Draft;
use engine::estimate::Scale;
use engine::id::{MessageId, Ordinal, TurnId};
use engine::message::{Body, NewMessage};
use engine::prompt::item::SectionSize;
use engine::prompt::request::{Request, StopReason, ToolChoice};
use engine::prompt::{self, Prompt, Source};
use engine::settings::Budget;
use serde_json::Value;

impl Step<'_> {
    /// A user's request, whose ids may have been promised while it waited. It is stored before anything is done about
    /// it.
    pub(super) fn start(&mut self, start: StartTurn, promised: Option<(TurnId, MessageId)>) -> Done {
        if !self.is_resting() {
            return self.put_in(start, promised);
        }
        self.close_running();
        self.renew_for_turn();
        self.announce_stripped();
        let new = self.request(start);
        let (transcript, counter) = (&mut self.session.transcript, self.around.counter);
        let ord = match promised {
            Some(promised) => transcript.append_promised(new, promised, counter),
            None => transcript.append_turn(new, counter),
        };
        self.took_in(ord);
        self.session.reported = None;
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
            if self.session.settings.model != model {
                self.cancel_background();
            }
            self.session.settings.model = model;
            self.forget_other_limit();
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

    /// Asks the model to go on, after a compaction where one is due. `made` is one that was just made.
    pub(super) fn generate(&mut self, made: Option<&Compaction>) {
        match made {
            Some(record) => self.go_on_with(Before::Made { failed: summary_failed(Some(record)) }),
            None => self.go_on_with(Before::Nothing),
        }
    }

    /// Asks the model to go on with the prompt as it is: a compaction that was due came to nothing.
    pub(super) fn generate_as_it_is(&mut self, was_asked: bool) {
        self.go_on_with(Before::Tried { failed: was_asked });
    }

    fn go_on_with(&mut self, before: Before) {
        let model = self.session.settings.model.clone();
        let scale = self.session.scale(&model);
        let budget = match self.session.budget() {
            Ok(budget) => budget,
            Err(error) => return self.fail(error),
        };
        if !self.session.settings.may_ask(&model) {
            return self.fail(
                "no model can be asked: the setting model.wire names none, and the client did not say that it answers \
                 model/complete"
                    .to_owned(),
            );
        }
        if self.settle_placement(budget).is_some() {
            // What was known of the last prompt is not known of this one.
            return self.go_on_with(before);
        }
        let source = Source { transcript: &self.session.transcript, fixed: &self.session.fixed, budget };
        let next = self.session.next(source, &model);
        let then = Then::Generate;
        match (read_next(next, scale), before) {
            (Next::Send(prompt), before) => self.ask_for_answer(*prompt, scale, !before.failed()),
            (Next::Try(trigger, _), Before::Nothing) => {
                self.begin_compaction(Begin::new(trigger, then));
            }
            (Next::Try(_, prompt), before) => self.ask_for_answer(*prompt, scale, !before.failed()),
            (Next::Must(..), Before::Made { .. }) | (Next::Refuse(_), _) if self.goes_beyond() => {
                self.go_on_with(before);
            }
            (Next::Must(_, exceeded), Before::Made { .. }) | (Next::Refuse(exceeded), _) => {
                self.fail(exceeded)
            }
            (Next::Must(trigger, exceeded), Before::Nothing | Before::Tried { .. }) => {
                self.begin_compaction(Begin { exceeded: Some(exceeded), ..Begin::new(trigger, then) });
            }
        }
    }

    /// Sends a prompt whose figures are raw.
    fn ask_for_answer(&mut self, prompt: Prompt, scale: Scale, breakpoints: bool) {
        let (raw, model) = (prompt.tokens, self.session.settings.model.clone());
        self.goes_out(&prompt, model.name.as_deref());
        let prompt = read_prompt(prompt, scale);
        let call = self.next_call();
        let Some(turn) = self.turn_id() else { return };
        let message = self.session.transcript.next_message_id();
        let settings = &self.session.settings;
        let room = self.session.room(&model, prompt.tokens);
        // A provider that was told nothing and asked too much of itself is told from then on.
        let learned = self.session.most_answer(&model, prompt.tokens);
        let most = settings.model.max_output.into_iter().chain(learned).min().map(|most| most.min(room));
        let request = Request {
            items: prompt.items.clone(),
            tools: prompt.tools.clone(),
            tool_choice: ToolChoice::Auto,
            temperature_zero: false,
            max_output: most,
            room: Some(room),
            cache_breakpoints: if breakpoints { prompt.plan.breakpoints().collect() } else { Vec::new() },
        };
        let tokens = prompt.tokens;
        let deadline = settings.first_word_ms(&model);
        let patience = Patience::with_signs(self.around.now, settings.model_deadline_ms);
        self.enter(State::Streaming(Box::new(Streaming {
            call,
            tokens: raw,
            most,
            message: message.clone(),
            draft: Draft::default(),
            untold: Vec::new(),
            is_told: false,
            patience,
        })));
        self.tell_context(&prompt, raw);
        self.emit(EventBody::StreamStarted { message, turn: turn.clone() });
        let ask = AskModel { call, turn: Some(turn), purpose: Purpose::Turn, model, tokens, request };
        self.remember_model(&ask.model);
        self.effects.push(Effect::AskModel(Box::new(ask)));
        self.effects.push(Effect::Start(Timer::Model(call), deadline));
        self.prepare(raw);
    }

    /// A prompt goes to this model: the next one may have a smaller window.
    pub(super) fn remember_model(&mut self, model: &ModelFacts) {
        if self.session.head.carried.model.as_ref() != Some(model) {
            self.session.head.carried.model = Some(model.clone());
            self.write_head_as_it_was_used();
        }
    }

    /// Who counts the next prompt of this model.
    pub(super) fn estimator(&self, model: &ModelFacts) -> String {
        self.session.scale(model).named(self.around.counter.name(), model.key())
    }

    /// Says what a prompt weighs, in tokens as they are read, and what fits before a compaction.
    pub(super) fn tell_context(&mut self, prompt: &Prompt, raw: u32) {
        let scale = self.session.scale(&self.session.settings.model);
        let until_compaction = self.session.budget().map_or(0, |budget| {
            let budget = Budget { limit: scale.raw_limit(prompt.limit), ..budget };
            let source = Source { transcript: &self.session.transcript, fixed: &self.session.fixed, budget };
            scale.read_part(self.session.tokens_until(source, raw))
        });
        let sections = prompt.plan.sections.iter().map(|section| {
            (section.channel, SectionSize { name: section.name.clone(), tokens: section.tokens })
        });
        let sections = sections.collect();
        let estimator = self.estimator(&self.session.settings.model);
        self.emit(EventBody::ContextUpdated {
            tokens: prompt.tokens,
            limit: prompt.limit,
            until_compaction,
            sections,
            estimator,
        });
    }

    /// Says what the next prompt weighs, where the context changed and no prompt is made now.
    pub(super) fn tell_next_context(&mut self) {
        let Ok(budget) = self.session.budget() else { return };
        let source = Source { transcript: &self.session.transcript, fixed: &self.session.fixed, budget };
        let drafted = prompt::draft(source, self.session.transcript.in_force());
        let raw = drafted.tokens;
        self.tell_context(&read_prompt(drafted, self.session.scale(&self.session.settings.model)), raw);
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
        self.cancel_background();
        match &self.session.state {
            State::Resting(_) | State::Paused(_) | State::Calling(_) => return,
            State::Streaming(_) | State::Compacting(_) | State::Reviewing(_) => {}
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
                let (message, draft) = self.end_stream(*running);
                self.keep_answer(message, draft.said(), Vec::new(), draft.beside, StopReason::Cancelled);
            }
            State::Compacting(running) => self.stop_compacting(*running),
            State::Reviewing(reviewing) => self.stop_reviewing(*reviewing),
            State::Paused(_) => {
                self.emit(EventBody::PauseCleared);
                let calls = self.session.unanswered();
                self.answer_cancelled(calls);
            }
            State::Calling(calling) => self.answer_cancelled(calling.all()),
        }
    }
}

/// The same with the figures of an overflow as they are read; those of a prompt stay raw.
pub(super) fn read_next(next: Next, scale: Scale) -> Next {
    match next {
        Next::Must(trigger, exceeded) => Next::Must(trigger, read_exceeded(exceeded, scale)),
        Next::Refuse(exceeded) => Next::Refuse(read_exceeded(exceeded, scale)),
        other => other,
    }
}

/// What came before a model is asked to go on.
#[derive(Clone, Copy)]
enum Before {
    /// Nothing that matters.
    Nothing,
    /// A compaction; whether its summary failed.
    Made { failed: bool },
    /// The attempt at one, which need not have been; whether a model was asked in vain.
    Tried { failed: bool },
}

impl Before {
    fn failed(self) -> bool {
        match self {
            Before::Nothing => false,
            Before::Made { failed } | Before::Tried { failed } => failed,
        }
    }
}

impl Session {
    /// What the next prompt, for this model, needs before it goes out. What the user took out of force is not made again
    /// by itself where nothing was said since, nor what came to nothing or was refused before as much is new as another
    /// compaction waits for; room that is needed is made all the same.
    pub(super) fn next(&self, source: Source<'_>, model: &ModelFacts) -> Next {
        match trigger::next(source, &self.settings.policy, self.is_smaller(model)) {
            Next::Try(_, prompt) if self.held_back(source) > 0 => Next::Send(prompt),
            next => next,
        }
    }

    /// Whether the model that answers next has a smaller window than the one that answered last.
    fn is_smaller(&self, model: &ModelFacts) -> bool {
        self.head.carried.model.as_ref().is_some_and(|last| last.window > model.window)
    }
}

/// Whether a model was asked for a summary in vain: then the answer is asked for without breakpoints (source: 003).
pub(super) fn summary_failed(made: Option<&Compaction>) -> bool {
    let is_summary = |mode: Mode| matches!(mode, Mode::Full | Mode::Simple);
    let in_vain = |fallback: &Fallback| fallback.asked.is_some_and(|asked| asked > 0);
    made.is_some_and(|record| !is_summary(record.mode) && record.fallbacks.iter().any(in_vain))
}
