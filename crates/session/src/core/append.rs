//! What a step writes: the session's own row, turns and messages, each with what it means for the prompt that was sent
//! last.

use super::step::Core;
use crate::carried::continuity::Follows;
use crate::values::event::EventBody;
use crate::values::settings::ModelFacts;
use crate::values::stored::{Decision, TitleFrom, TurnRow, TurnStatus, Write};
use engine::compact::record::Compaction;
use engine::estimate::Report;
use engine::id::{Generation, MessageId, Ordinal, TurnId};
use engine::message::{AssistantPart, Body, Message, NewMessage};
use engine::prompt::Prompt;
use engine::prompt::sent::Sent;
use engine::words::BreakCause;
use serde_json::Value;
use std::sync::Arc;

impl Core<'_> {
    /// Writes the session's own row, for something is said or done in it.
    pub fn write_head(&mut self) {
        self.kept.head.updated_at = self.now();
        self.write_head_as_it_was_used();
    }

    /// Writes the session's own row; its place in a list of those that were used last is as before. Nothing of a session
    /// is stored before it.
    pub fn write_head_as_it_was_used(&mut self) {
        if !std::mem::replace(&mut self.kept.is_stored, true) {
            self.read_memories();
        }
        self.kept.head.cuts = self.transcript().cuts();
        let head = Box::new(self.head().clone());
        self.write(Write::Head(head));
    }

    /// Another title; the row is the caller's to write.
    pub fn set_title(&mut self, title: Option<String>, from: Option<TitleFrom>) {
        self.kept.head.title = title;
        self.kept.head.title_from = from;
    }

    /// Other settings of the session's own layer, as they came; the row is the caller's to write.
    pub fn set_own_settings(&mut self, own: Value) {
        self.kept.head.settings = own;
    }

    /// Whether what is in the queue waits for another process; the row is the caller's to write.
    pub fn set_waits(&mut self, waits: bool) {
        self.kept.head.waits = waits;
    }

    /// The number of the next command that is accepted; ids are made of it.
    pub fn next_accepted(&mut self) -> u32 {
        self.kept.head.accepted += 1;
        self.kept.head.accepted
    }

    /// A new chat under the same id; the row is the caller's to write.
    pub fn set_generation(&mut self, generation: Generation) {
        self.kept.head.generation = generation;
    }

    /// Sets how the turn at this place ended.
    pub fn set_turn(&mut self, at: usize, status: TurnStatus) {
        if self.turns().get(at).is_some_and(|row| row.status != status) {
            self.change_turn(at, |row| row.status = status);
        }
    }

    /// Changes the newest turn's row.
    pub fn change_last_turn(&mut self, change: impl FnOnce(&mut TurnRow)) {
        self.change_turn(self.last_turn(), change);
    }

    fn change_turn(&mut self, at: usize, change: impl FnOnce(&mut TurnRow)) {
        if let Some(row) = self.kept.turns.get_mut(at) {
            change(row);
            let row = row.clone();
            self.write(Write::Turn(row));
        }
    }

    /// Notes what was decided about calls of the newest turn; the row is the caller's to write.
    pub fn note_decided(&mut self, decisions: &[Decision]) {
        if let Some(row) = self.kept.turns.last_mut() {
            row.decided.extend_from_slice(decisions);
        }
    }

    /// A message that begins now.
    pub fn stamped(&self, body: Body) -> NewMessage {
        NewMessage { created_at: Some(self.stamp().to_owned()), ..NewMessage::new(body) }
    }

    /// Appends a message to the running turn.
    pub fn append(&mut self, mut new: NewMessage) -> Ordinal {
        self.bind_thinking(self.next_ord(), &mut new);
        let counter = self.counter();
        let ord = self.kept.transcript.append(new, counter);
        self.took_in(ord);
        ord
    }

    /// Appends a message that came from elsewhere to the running turn.
    pub fn append_as_it_is(&mut self, new: NewMessage) -> Ordinal {
        let counter = self.counter();
        let ord = self.kept.transcript.append(new, counter);
        self.took_in(ord);
        ord
    }

    /// Appends a request that begins a turn, with the ids that were promised for it.
    pub fn append_turn(&mut self, new: NewMessage, promised: Option<(TurnId, MessageId)>) -> Ordinal {
        let counter = self.counter();
        let ord = match promised {
            Some(promised) => self.kept.transcript.append_promised(new, promised, counter),
            None => self.kept.transcript.append_turn(new, counter),
        };
        self.took_in(ord);
        ord
    }

    /// Appends a user's word to the running turn, with the ids that were promised for it.
    pub fn inject(&mut self, new: NewMessage, promised: Option<(TurnId, MessageId)>) -> Ordinal {
        let counter = self.counter();
        let ord = match promised {
            Some(promised) => self.kept.transcript.inject_promised(new, promised, counter),
            None => self.kept.transcript.inject(new, counter),
        };
        self.took_in(ord);
        ord
    }

    /// Appends something that the user is to see and no model.
    pub fn notice(&mut self, kind: &str, text: String) {
        let body = Body::Event { kind: kind.to_owned(), text: text.into() };
        let new = NewMessage { visible_to_model: false, ..self.stamped(body) };
        let known = self.turns().len();
        self.append(new);
        if known < self.turns().len() {
            // The first thing that is said in a session is in a turn as well; none runs because of it.
            self.set_turn(known, TurnStatus::Cancelled);
        }
    }

    /// Stores and tells a message that the transcript took in.
    pub fn took_in(&mut self, ord: Ordinal) {
        let head = &mut self.kept.head;
        let is_first = head.is_left_behind();
        if is_first {
            // Whoever goes on in what a rewind left behind keeps it: a deletion of its parent leaves it alone.
            head.carried.continued = true;
        }
        if is_first || !self.is_stored() {
            self.write_head();
        }
        let transcript = self.transcript();
        let Some(message) = transcript.message(ord).cloned() else { return };
        let at = transcript.turn_at(ord).unwrap_or_default();
        let turn = u32::try_from(at).unwrap_or(u32::MAX);
        if let Some(known) = transcript.turns().get(at).filter(|_| at >= self.turns().len()) {
            let row = TurnRow {
                index: turn,
                id: known.id.clone(),
                status: TurnStatus::Running,
                started: None,
                decided: Vec::new(),
            };
            self.kept.turns.push(row.clone());
            self.write(Write::Turn(row));
        }
        self.write(Write::Message { turn, message: message.clone() });
        self.emit(EventBody::MessageAdded(message));
        self.announce_late_result(ord);
        self.learn_usage(ord);
    }

    /// Stores another version of a message that is here; it is the caller's to tell.
    pub fn write_message(&mut self, ord: Ordinal) -> Option<Arc<Message>> {
        let turn = u32::try_from(self.transcript().turn_at(ord).unwrap_or_default()).unwrap_or(u32::MAX);
        let message = self.transcript().message(ord).cloned()?;
        self.write(Write::Message { turn, message: message.clone() });
        Some(message)
    }

    /// Turns that the transcript has no longer go, and what was begun behind this message.
    pub fn cut_turns(&mut self, from: Ordinal) -> u32 {
        let stay = self.transcript().turns().len();
        self.kept.turns.truncate(stay);
        if self.turns().last().is_some_and(|row| row.started >= Some(from)) {
            // Its place may be another message's soon.
            self.change_last_turn(|row| {
                row.started = None;
                row.decided.clear();
            });
        }
        let carried = &mut self.kept.head.carried;
        carried.restraint.truncate(from);
        carried.continuity.truncate(from);
        u32::try_from(stay).unwrap_or(u32::MAX)
    }

    /// What was sent is no longer a prefix of what is sent next. It is told with that.
    pub fn announce(&mut self, cause: BreakCause) {
        let carried = &mut self.kept.head.carried;
        let Some(is_new) = carried.continuity.announce(cause) else { return };
        carried.usage.forget_baseline();
        if is_new && self.is_stored() {
            self.write_head_as_it_was_used();
        }
    }

    /// An answer to the prompt that was sent last comes in at this place: its thinking is bound to that prompt.
    pub fn bind_thinking(&self, ord: Ordinal, new: &mut NewMessage) {
        let Body::Assistant { parts, beside, .. } = &mut new.body else { return };
        let thinks = parts.iter().any(|part| matches!(part, AssistantPart::Reasoning { .. }));
        let followed = self.head().carried.continuity.followed_at(ord);
        if let Some(prompt) = followed.filter(|_| thinks) {
            beside.thought.get_or_insert_default().follows = Some(prompt.to_owned());
        }
    }

    /// The provider refused thinking behind something that changed: from now on it is shown none of what there is. Whether
    /// there was any in the prompt that was sent last; without it, asking again would not help.
    pub fn leave_thinking_out(&mut self) -> bool {
        let (before, model) = (self.next_ord(), self.settings().model.name.clone());
        if !self.kept.head.carried.continuity.refuse_thinking(model, before) {
            return false;
        }
        self.announce(BreakCause::Thinking);
        self.trace("the provider refused earlier thinking: it is left out, and the model is asked again");
        self.write_head_as_it_was_used();
        true
    }

    /// A turn begins: thinking that prompts showed while the one before it ran stands in them no longer.
    pub fn announce_stripped(&mut self) {
        let transcript = self.transcript();
        let Some(last) = transcript.turns().len().checked_sub(1) else { return };
        // A compaction took its part out of prompts before, and said so.
        let shown = transcript.in_force().map_or(Ordinal(0), Compaction::resume_at);
        let rounds = transcript.rounds_of(last).iter().filter(|round| round.assistant >= shown);
        let answers = rounds.filter_map(|round| transcript.message(round.assistant));
        if answers.filter_map(|message| message.shown).any(|cut| cut.after_turn) {
            self.announce(BreakCause::StripCompletedTurns);
        }
    }

    /// A result came. Where its call stood in a prompt, something stood there for it.
    fn announce_late_result(&mut self, ord: Ordinal) {
        let transcript = self.transcript();
        let is_result = matches!(transcript.message(ord).map(|message| &message.body), Some(Body::Tool(_)));
        if !is_result || transcript.is_stray(ord) {
            return;
        }
        let asked = transcript.rounds().last().map(|round| round.assistant);
        if asked.is_some_and(|asked| self.head().carried.continuity.was_shown(asked)) {
            self.announce(BreakCause::LateResult);
        }
    }

    /// An answer was taken in. What its provider reported is about the prompt that went out last, where it follows that.
    fn learn_usage(&mut self, ord: Ordinal) {
        let Some(sent) = self.head().carried.continuity.sent() else { return };
        let answer = self.transcript().message(ord).map(|message| &message.body);
        let Some(Body::Assistant { beside, .. }) = answer else { return };
        let Some(reported) = beside.usage.and_then(|usage| usage.input_tokens) else { return };
        if sent.messages != ord.0 {
            return;
        }
        let model = sent.model.clone().unwrap_or_else(|| "unnamed".to_owned());
        let report = Report { model, reported, raw: sent.tokens };
        match self.kept.head.carried.usage.take(report, true) {
            Ok(_) => self.write_head_as_it_was_used(),
            Err(implausible) => self.trace(implausible.to_string()),
        }
    }

    /// A prompt goes out: tells how it follows the one before it, and keeps its marks.
    pub fn goes_out(&mut self, prompt: &Prompt, model: Option<&str>) {
        let messages = self.transcript().messages().len();
        let next = Sent::of(prompt, self.fixed(), model, messages);
        let carried = &mut self.kept.head.carried;
        match carried.continuity.send(prompt, next) {
            Follows::Nothing => self.write_head(),
            Follows::Extends { is_new: true } => self.write_head(),
            Follows::Extends { is_new: false } => {}
            Follows::Breaks { mut causes, reused, lost } => {
                carried.usage.forget_baseline();
                if causes.is_empty() {
                    causes.insert(BreakCause::Unknown);
                    self.trace("a prompt does not begin with the one before it, and nobody announced why");
                }
                self.write_head();
                self.emit(EventBody::PrefixBroken { causes, reused, lost });
            }
        }
    }

    /// A prompt goes to this model: the next one may have a smaller window.
    pub fn remember_model(&mut self, model: &ModelFacts) {
        if self.kept.head.carried.continuity.set_model(model) {
            self.write_head_as_it_was_used();
        }
    }
}
