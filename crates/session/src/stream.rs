//! An answer that is being given: deltas are folded and told, gathered for a moment so that a fast model costs no
//! storm of events; its end, whatever ended it.

use super::effect::{Effect, Refusal};
use super::event::EventBody;
use super::input::{ModelCallId, Retry, Timer};
use super::learned::{Asked, Verdict};
use super::overflow::{Nothing, silent};
use super::state::{Background, Patience, Rest, State, Streaming, Titling};
use super::stored::TurnStatus;
use super::{Session, Step};
use engine::delta::{Delta, Draft};
use engine::id::MessageId;
use engine::message::{AssistantPart, Beside, Body, ToolCall};
use engine::prompt::request::{self, Failure, Overflow, StopReason};

/// For the log, which repeats no id that a model made up.
const UNKNOWN_CALL: &str = "arguments came for a call that was never set, and were dropped";

/// Why a turn has no whole answer.
struct Broken {
    why: Refusal,
    overflow: Option<Overflow>,
    refuses_thinking: bool,
}

impl Step<'_> {
    pub(super) fn model_delta(&mut self, from: ModelCallId, delta: Delta) {
        let (deadline, now) = (self.session.settings.model_deadline_ms, self.around.now);
        let mut next = Some(deadline);
        match &mut self.session.state {
            State::Streaming(running) if running.call == from => {
                if running.draft.fold(delta.clone()).is_err() {
                    return self.trace(UNKNOWN_CALL);
                }
                running.patience = Patience::with_signs(now, deadline);
                join(&mut running.untold, delta);
                if !running.is_told {
                    self.tell_deltas();
                    self.gather();
                }
            }
            State::Compacting(running) if running.call == from => {
                next = running.patience.goes_on(&delta, now, deadline);
                if running.draft.fold(delta).is_err() {
                    return self.trace(UNKNOWN_CALL);
                }
            }
            _ => match (&mut self.session.background, &mut self.session.titling) {
                (Some(Background::Asking(running)), _) if running.call == from => {
                    next = running.patience.goes_on(&delta, now, deadline);
                    if running.draft.fold(delta).is_err() {
                        return self.trace(UNKNOWN_CALL);
                    }
                }
                (_, Some(Titling { call, draft, patience })) if *call == from => {
                    next = patience.goes_on(&delta, now, deadline);
                    drop(draft.fold(delta));
                }
                _ => return self.trace(format!("a delta of call {} came late and was dropped", from.0)),
            },
        }
        match next {
            Some(ms) => self.effects.push(Effect::Start(Timer::Model(from), ms)),
            None => self.model_endless(from),
        }
    }

    /// An answer that nobody reads while it is given does not come to an end.
    fn model_endless(&mut self, from: ModelCallId) {
        self.effects.push(Effect::CancelModel(from));
        self.effects.push(Effect::Stop(Timer::Model(from)));
        match &self.session.state {
            State::Compacting(running) if running.call == from => self.summary_endless(),
            _ if self.session.preparing() == Some(from) => self.preparing_endless(),
            _ => self.session.titling = None,
        }
    }

    /// A model that works is waited for, for as long again and this much longer, but not for ever: signs of life are no
    /// answer.
    pub(super) fn model_is_alive(&mut self, from: ModelCallId, more_ms: u64) {
        let Session { settings, state, background, titling, .. } = &*self.session;
        let (model, draft, patience) = match (state, background, titling) {
            (State::Streaming(running), ..) if running.call == from => {
                (&settings.model, &running.draft, &running.patience)
            }
            (State::Compacting(running), ..) if running.call == from => {
                (&running.model, &running.draft, &running.patience)
            }
            (_, Some(Background::Asking(running)), _) if running.call == from => {
                (&running.model, &running.draft, &running.patience)
            }
            (.., Some(Titling { call, draft, patience })) if *call == from => {
                (&settings.model, draft, patience)
            }
            _ => return,
        };
        let is_begun = *draft != Draft::default();
        let ms = if is_begun { settings.model_deadline_ms } else { settings.first_word_ms(model) };
        match patience.lives_on(self.around.now, ms.saturating_add(more_ms)) {
            Some(ms) => self.effects.push(Effect::Start(Timer::Model(from), ms)),
            None => {
                self.effects.push(Effect::Stop(Timer::Model(from)));
                self.model_expired(from);
            }
        }
    }

    /// A model is asked again after a while: whoever waits for an answer is told.
    pub(super) fn model_retries(&mut self, from: ModelCallId, retry: Retry) {
        self.model_is_alive(from, retry.delay_ms);
        self.begin_again(from);
        let is_awaited = match &self.session.state {
            State::Streaming(running) => running.call == from,
            State::Compacting(running) => running.call == from,
            _ => false,
        };
        if is_awaited {
            let (state, turn) = (self.session.state.name(), self.turn_id());
            self.emit(EventBody::Retrying { state, turn, retry });
        }
    }

    /// What came of a summary or a title so far is no part of the answer that comes now. Of a turn nothing came: what was
    /// shown is not asked for again.
    fn begin_again(&mut self, from: ModelCallId) {
        let draft = match (&mut self.session.state, &mut self.session.background, &mut self.session.titling) {
            (State::Compacting(running), ..) if running.call == from => &mut running.draft,
            (_, Some(Background::Asking(running)), _) if running.call == from => &mut running.draft,
            (.., Some(titling)) if titling.call == from => &mut titling.draft,
            _ => return,
        };
        *draft = Draft::default();
    }

    pub(super) fn model_done(&mut self, from: ModelCallId, outcome: Result<request::Answer, Failure>) {
        match &self.session.state {
            State::Streaming(running) if running.call == from => {
                self.answered(outcome.map_err(|failure| {
                    let Failure { overflow, refuses_thinking, .. } = failure;
                    Broken { overflow, refuses_thinking, why: failure.into() }
                }));
            }
            State::Compacting(running) if running.call == from => {
                self.effects.push(Effect::Stop(Timer::Model(from)));
                self.summarized(outcome);
            }
            _ if self.session.preparing() == Some(from) => {
                self.effects.push(Effect::Stop(Timer::Model(from)));
                self.prepared(outcome);
            }
            _ => match self.session.titling.take() {
                Some(Titling { call, draft, .. }) if call == from => {
                    self.effects.push(Effect::Stop(Timer::Model(from)));
                    self.titled(draft, outcome.map_err(|failure| failure.why));
                }
                other => {
                    self.session.titling = other;
                    self.trace(format!("the answer of call {} came late and was dropped", from.0));
                }
            },
        }
    }

    /// The model said nothing for too long.
    pub(super) fn model_expired(&mut self, from: ModelCallId) {
        match &self.session.state {
            State::Streaming(running) if running.call == from => {
                self.effects.push(Effect::CancelModel(from));
                let settings = &self.session.settings;
                let is_begun = running.draft != Draft::default();
                let ms = if is_begun {
                    settings.model_deadline_ms
                } else {
                    settings.first_word_ms(&settings.model)
                };
                let why = format!("the model said nothing for {ms} ms; modelDeadlineMs says how long it may");
                let why = Refusal::of_model("timeout", why);
                self.answered(Err(Broken { why, overflow: None, refuses_thinking: false }));
            }
            State::Compacting(running) if running.call == from => {
                self.effects.push(Effect::CancelModel(from));
                self.summary_expired();
            }
            _ if self.session.preparing() == Some(from) => {
                self.effects.push(Effect::CancelModel(from));
                self.preparing_expired();
            }
            _ => {
                if self.session.titling.take_if(|titling| titling.call == from).is_some() {
                    self.effects.push(Effect::CancelModel(from));
                }
            }
        }
    }

    /// What a model answered to a turn. What was streamed is kept, whatever became of the call: the user saw it.
    fn answered(&mut self, outcome: Result<request::Answer, Broken>) {
        let running = match std::mem::replace(&mut self.session.state, State::Resting(Rest::Idle)) {
            State::Streaming(running) => *running,
            other => {
                self.session.state = other;
                return;
            }
        };
        let (tokens, most) = (running.tokens, running.most);
        let (message, draft) = self.end_stream(running);
        let window = self.session.settings.model.window;
        let mut refused = false;
        let (stop, error, said, overflow) = match outcome {
            Ok(answer) => {
                let stop = answer.stop;
                let said = answer.said(&draft);
                let is_empty = said.0.is_empty() && said.1.is_empty();
                let again = self.session.was_too_large();
                let limit = self.session.budget().map_or(window, |budget| budget.limit);
                let nothing = Nothing { stop, usage: said.2.usage, tokens, limit, window, again };
                let overflow = is_empty.then(|| silent(nothing)).flatten();
                let is_believed = |overflow: &Overflow| {
                    again || matches!(self.session.judged(*overflow, Asked { tokens, most }), Verdict::Prompt)
                };
                let overflow = overflow.filter(is_believed);
                let is_whole = self.note_usage(said.2.usage.filter(|_| overflow.is_none()), tokens);
                let is_said =
                    !is_empty && matches!(stop, StopReason::End | StopReason::ToolUse | StopReason::Length);
                if is_said && is_whole {
                    self.went_through(tokens);
                }
                let why = || format!("the model said nothing to {tokens} tokens, which are too many for it");
                let why = || Refusal::of_model("contextOverflow", why());
                (stop, None, said, overflow.map(|overflow| (overflow, why())))
            }
            Err(Broken { why, overflow, refuses_thinking }) => {
                refused = refuses_thinking;
                let overflow = overflow.map(|overflow| (overflow, why.clone()));
                (StopReason::Failed, Some(why), (draft.said(), Vec::new(), draft.beside), overflow)
            }
        };
        let (parts, calls, beside) = said;
        let calls = self.keep_answer(message, parts, calls, beside, stop);
        if refused && self.leave_thinking_out() {
            return self.generate(None);
        }
        if let Some((overflow, why)) = overflow {
            return self.overflowed(overflow, Asked { tokens, most }, why);
        }
        match (error, stop) {
            (Some(why), _) => self.fail(why),
            (None, StopReason::Refused) => {
                self.fail(Refusal::of_model("refused", "the model refused to answer"));
            }
            (None, StopReason::Length) => {
                let why = "the answer reached its length limit; what was said is kept";
                self.fail(Refusal::of_model("length", why));
            }
            (None, StopReason::Cancelled | StopReason::Failed) => {
                self.fail("the client says that the answer broke off; what was said is kept".to_owned());
            }
            (None, _) if calls => self.run_calls(),
            (None, _) => self.end_turn(TurnStatus::Completed, Rest::Completed),
        }
    }

    /// Stores an answer; whether it asks for tools. A call that may be cut is never run, so it is not kept either.
    pub(super) fn keep_answer(
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

    /// Tells what was gathered. Whoever is given the session as a whole is told first.
    pub(super) fn tell_deltas(&mut self) {
        let State::Streaming(running) = &mut self.session.state else { return };
        let deltas = std::mem::take(&mut running.untold);
        if !deltas.is_empty() {
            let message = running.message.clone();
            self.emit(EventBody::StreamDelta { message, deltas });
        }
    }

    /// What comes within the next moment is told together.
    fn gather(&mut self) {
        let interval = self.session.settings.delta_interval_ms;
        if let State::Streaming(running) = &mut self.session.state
            && interval > 0
        {
            running.is_told = true;
            let timer = Timer::Deltas(running.call);
            self.effects.push(Effect::Start(timer, interval));
        }
    }

    /// The moment is over.
    pub(super) fn gathered(&mut self, call: ModelCallId) {
        let State::Streaming(running) = &mut self.session.state else { return };
        if running.call != call {
            return;
        }
        running.is_told = false;
        if !running.untold.is_empty() {
            self.tell_deltas();
            self.gather();
        }
    }

    /// Nothing more is said: what was gathered is told, and no timer runs.
    pub(super) fn end_stream(&mut self, running: Streaming) -> (MessageId, Draft) {
        let Streaming { call, message, draft, untold, is_told, .. } = running;
        self.effects.push(Effect::Stop(Timer::Model(call)));
        if is_told {
            self.effects.push(Effect::Stop(Timer::Deltas(call)));
        }
        if !untold.is_empty() {
            self.emit(EventBody::StreamDelta { message: message.clone(), deltas: untold });
        }
        (message, draft)
    }
}

/// Adds a delta to those that are told together. Text that goes on is one delta.
fn join(deltas: &mut Vec<Delta>, delta: Delta) {
    match (deltas.last_mut(), delta) {
        (Some(Delta::AppendContent(text)), Delta::AppendContent(more))
        | (Some(Delta::AppendReasoning(text)), Delta::AppendReasoning(more)) => text.push_str(&more),
        (
            Some(Delta::AppendToolArguments { call, text }),
            Delta::AppendToolArguments { call: same, text: more },
        ) if *call == same => text.push_str(&more),
        (_, delta) => deltas.push(delta),
    }
}
