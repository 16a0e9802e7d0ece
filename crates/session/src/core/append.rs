//! Writes of a step: the session's own row, turns and messages, each with its effect on the last prompt sent.

use super::step::Core;
use crate::carried::continuity::Follows;
use crate::values::event::EventBody;
use crate::values::rest::Lasting;
use crate::values::settings::ModelFacts;
use crate::values::stored::{Decision, TitleFrom, TurnFigures, TurnRow, TurnStatus, Write};
use engine::compact::record::Compaction;
use engine::estimate::Report;
use engine::id::{Generation, MessageId, Ordinal, RoundId, Time, TurnId};
use engine::message::{AssistantPart, Body, Message, NewMessage, is_provider_compaction};
use engine::prompt::Prompt;
use engine::prompt::sent::Sent;
use engine::words::BreakCause;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

impl Core<'_> {
    /// Writes the session's own row, and marks the session as used now.
    pub fn write_head(&mut self) {
        self.kept.head.updated_at = self.now();
        self.write_head_as_it_was_used();
    }

    /// Writes the session's own row; the time of last use stays. Nothing of a session is stored before this row.
    pub fn write_head_as_it_was_used(&mut self) {
        if !std::mem::replace(&mut self.kept.is_stored, true) {
            self.read_memories();
        }
        self.kept.has_deferred_head = false;
        self.kept.head.cuts = self.transcript().cuts();
        let head = Box::new(self.head().clone());
        self.write(Write::Head(head));
    }

    /// Writes the session's own row with whatever is written next, at the latest when the session is closed: what it
    /// tells of the last prompt is not worth a commit, and a process that dies before leaves what it told of an older one.
    fn defer_head(&mut self) {
        self.kept.head.updated_at = self.now();
        match self.is_stored() {
            true => self.kept.has_deferred_head = true,
            false => self.write_head_as_it_was_used(),
        }
    }

    /// Writes the row if that was deferred.
    pub fn write_deferred_head(&mut self) {
        if self.kept.has_deferred_head {
            self.write_head_as_it_was_used();
        }
    }

    /// Keeps the state for other processes. It is written if this step changed it or writes anyway; a session that is
    /// only opened and read writes nothing.
    pub fn keep_state(&mut self, state: Lasting, is_changed: bool) {
        let carried = &mut self.kept.head.carried;
        let known = carried.state;
        if !self.kept.is_stored || (known, carried.works) == (Some(state.found), state.works) {
            return;
        }
        if !is_changed && known.is_none() && !self.writes() {
            return;
        }
        let carried = &mut self.kept.head.carried;
        (carried.state, carried.works) = (Some(state.found), state.works);
        if !self.amend_head(state) {
            self.write_head_as_it_was_used();
        }
    }

    /// Sets the title; the caller writes the row.
    pub fn set_title(&mut self, title: Option<String>, from: Option<TitleFrom>) {
        self.kept.head.title = title;
        self.kept.head.title_from = from;
    }

    /// Sets the session's own layer of settings, as received; the caller writes the row.
    pub fn set_own_settings(&mut self, own: Value) {
        self.kept.head.settings = own;
    }

    /// Sets whether the queue waits for another process; the caller writes the row.
    pub fn set_waits(&mut self, waits: bool) {
        self.kept.head.waits = waits;
    }

    /// Number of the next accepted command; ids are made of it.
    pub fn next_accepted(&mut self) -> u32 {
        self.kept.head.accepted += 1;
        self.kept.head.accepted
    }

    /// Sets the generation of a new chat under the same id; the caller writes the row.
    pub fn set_generation(&mut self, generation: Generation) {
        self.kept.head.generation = generation;
    }

    /// Sets the status of the turn at index `at`, which begins to run or ends now.
    pub fn set_turn(&mut self, at: usize, status: TurnStatus) {
        let Some(row) = self.turns().get(at).filter(|row| row.status != status) else { return };
        let figures = match (row.status, status) {
            (_, TurnStatus::Running) => TurnFigures::running(self.now()),
            (TurnStatus::Running, _) => self.figures_at_end(at, row.figures.began),
            // It was over: neither its duration nor how it stopped is another one now.
            _ => self.figures_of(at, row.figures),
        };
        self.change_turn(at, |row| (row.status, row.figures) = (status, figures));
    }

    /// Adds up again what the answers of an ended turn used, since other answers are there now.
    pub fn add_up_turn(&mut self, at: usize) {
        let Some(row) = self.turns().get(at).filter(|row| row.status != TurnStatus::Running) else { return };
        let figures = self.figures_of(at, row.figures);
        if figures != row.figures {
            self.change_turn(at, |row| row.figures = figures);
        }
    }

    fn figures_of(&self, at: usize, known: TurnFigures) -> TurnFigures {
        let (usage, spent) = self.spent_in(at);
        TurnFigures { usage, spent, ..known }
    }

    fn figures_at_end(&self, at: usize, began: Option<Time>) -> TurnFigures {
        let duration_ms = began.map(|began| self.now().0.saturating_sub(began.0));
        self.figures_of(at, TurnFigures { began, duration_ms, ..TurnFigures::default() })
    }

    /// Ends a turn that was taken in with its messages. It has a duration only if it ran here before.
    pub fn close_turn(&mut self, at: usize) {
        let now = self.now();
        let Some(row) = self.turns().get(at) else { return };
        let figures = self.figures_at_end(at, row.figures.began.filter(|began| *began < now));
        self.change_turn(at, |row| (row.status, row.figures) = (TurnStatus::Completed, figures));
    }

    /// Ends the newest turn, which nobody ended: its process did, or its session is opened again. `began`: `None` if how long
    /// it ran is not known.
    pub fn interrupt_turn(&mut self, status: TurnStatus, began: Option<Time>) {
        let at = self.last_turn();
        let figures = TurnFigures { interrupted: true, ..self.figures_at_end(at, began) };
        self.change_turn(at, |row| (row.status, row.figures) = (status, figures));
    }

    /// Changes and writes the newest turn's row.
    pub fn change_last_turn(&mut self, change: impl FnOnce(&mut TurnRow)) {
        self.change_turn(self.last_turn(), change);
    }

    fn change_turn(&mut self, at: usize, change: impl FnOnce(&mut TurnRow)) {
        let Some(row) = self.kept.turns.get_mut(at) else { return };
        let before = (row.status, row.figures);
        change(row);
        let row = row.clone();
        let is_other = before != (row.status, row.figures);
        self.write(Write::Turn(row));
        if is_other && self.is_turn_shown(at) {
            self.tell_turn(at);
        }
    }

    /// Emits that a turn runs, or how it ended.
    fn tell_turn(&mut self, at: usize) {
        let (Some(row), Some(known)) = (self.turns().get(at), self.transcript().turns().get(at)) else {
            return;
        };
        // The row may be that of a turn which a history replaced.
        let (turn, status, figures) = (known.id.clone(), row.status, row.figures);
        if status == TurnStatus::Running {
            return self.tell_turn_start(at);
        }
        let made =
            self.transcript().compactions().iter().filter(|record| record.turn.as_ref() == Some(&turn));
        let compactions = made.map(|record| record.id.clone()).collect();
        self.emit(EventBody::TurnCompleted { turn, status, figures, compactions });
    }

    fn tell_turn_start(&mut self, at: usize) {
        let Some(turn) = self.transcript().turns().get(at) else { return };
        let first = self.transcript().message(turn.first);
        let external_id = first.and_then(|first| first.external_id.clone());
        let turn = turn.id.clone();
        self.emit(EventBody::TurnStarted { turn, external_id });
    }

    /// Emits the messages of a turn, `told` apart, whose round is another one than `before`.
    pub fn tell_rounds(&mut self, at: usize, before: &BTreeMap<Ordinal, RoundId>, told: &[Ordinal]) {
        let now = self.round_ids(at);
        let known = before.keys().chain(now.keys()).collect::<BTreeSet<_>>();
        let moved = known.into_iter().filter(|ord| before.get(ord) != now.get(ord) && !told.contains(ord));
        let moved: Vec<_> = moved.filter_map(|ord| self.transcript().message(*ord).cloned()).collect();
        for message in moved.into_iter().filter(|message| !message.is_removed()) {
            let round = now.get(&message.ord).cloned();
            self.emit(EventBody::MessageUpdated(message, round));
        }
    }

    /// Notes decisions about calls of the newest turn; the caller writes the row.
    pub fn note_decided(&mut self, decisions: &[Decision]) {
        if let Some(row) = self.kept.turns.last_mut() {
            row.decided.extend_from_slice(decisions);
        }
    }

    /// A message created now.
    pub fn stamped(&self, body: Body) -> NewMessage {
        NewMessage { created_at: Some(self.stamp().to_owned()), ..NewMessage::new(body) }
    }

    /// Appends a message to the running turn; its thinking is bound to the last prompt.
    pub fn append(&mut self, mut new: NewMessage) -> Ordinal {
        self.bind_thinking(self.next_ord(), &mut new);
        let counter = self.counter();
        let ord = self.transcript_mut().append(new, counter);
        self.took_in(ord);
        ord
    }

    /// Appends a message from elsewhere to the running turn.
    pub fn append_as_it_is(&mut self, new: NewMessage) -> Ordinal {
        let counter = self.counter();
        let ord = self.transcript_mut().append(new, counter);
        self.took_in(ord);
        ord
    }

    /// Appends a request that begins a turn, with the ids reserved for it.
    pub fn append_turn(&mut self, new: NewMessage, promised: Option<(TurnId, MessageId)>) -> Ordinal {
        let counter = self.counter();
        let ord = match promised {
            Some(promised) => self.transcript_mut().append_promised(new, promised, counter),
            None => self.transcript_mut().append_turn(new, counter),
        };
        self.took_in(ord);
        ord
    }

    /// Appends a user's message to the running turn, with the ids reserved for it.
    pub fn inject(&mut self, new: NewMessage, promised: Option<(TurnId, MessageId)>) -> Ordinal {
        let counter = self.counter();
        let ord = match promised {
            Some(promised) => self.transcript_mut().inject_promised(new, promised, counter),
            None => self.transcript_mut().inject(new, counter),
        };
        self.took_in(ord);
        ord
    }

    /// Appends a notice for the user that no model sees.
    pub fn notice(&mut self, kind: &str, text: String) {
        let body = Body::Event { kind: kind.to_owned(), text: text.into() };
        let new = NewMessage { visible_to_model: false, ..self.stamped(body) };
        let known = self.turns().len();
        self.append(new);
        if known < self.turns().len() {
            // A notice that comes first in a session opens a turn; that turn does not run.
            self.set_turn(known, TurnStatus::Cancelled);
        }
    }

    /// Stores and emits a message that is in the transcript already.
    pub fn took_in(&mut self, ord: Ordinal) {
        let head = &mut self.kept.head;
        let is_first = head.is_left_behind();
        if is_first {
            // A session left behind by a rewind is kept once it is continued, even if its parent is deleted.
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
                figures: TurnFigures::running(self.now()),
            };
            self.kept.turns.push(row.clone());
            self.write(Write::Turn(row));
        }
        self.write(Write::Message { turn, message: message.clone() });
        if !message.is_removed() {
            // A restored revision brings removed messages back to their positions: no client is told of them.
            self.tell_turn_before(at, ord);
            let round = self.round_id(ord);
            self.emit(EventBody::MessageAdded(message, round));
        }
        self.announce_late_result(ord);
        self.learn_usage(ord);
        self.count_use(ord);
        self.add_up_turn(at);
    }

    /// Adds an answer to the tokens that an agent used: as its provider reported, or else those of the answer alone.
    fn count_use(&mut self, ord: Ordinal) {
        if !self.head().is_agent() {
            return;
        }
        let Some(message) = self.transcript().message(ord) else { return };
        let Body::Assistant { beside, .. } = &message.body else { return };
        let tokens = |tokens: Option<u32>| u64::from(tokens.unwrap_or_default());
        let reported = beside.usage.map(|usage| tokens(usage.input_tokens) + tokens(usage.output_tokens));
        let used = reported.unwrap_or(u64::from(message.tokens));
        let carried = &mut self.kept.head.carried;
        carried.used = carried.used.saturating_add(used);
        self.write_head_as_it_was_used();
    }

    /// Emits the turn of a message that is the only one of it that clients see.
    fn tell_turn_before(&mut self, at: usize, ord: Ordinal) {
        let transcript = self.transcript();
        let Some(first) = transcript.turns().get(at).map(|turn| turn.first) else { return };
        if transcript.range(first, ord).iter().any(|message| message.ord != ord && !message.is_removed()) {
            return;
        }
        self.tell_turn_start(at);
        if self.turns().get(at).is_some_and(|row| row.status != TurnStatus::Running) {
            self.tell_turn(at);
        }
    }

    /// Appends a message of a revision as it was stored.
    pub fn put_back(&mut self, turn: usize, message: Arc<Message>) {
        let ord = message.ord;
        self.transcript_mut().put_back(turn, message);
        self.took_in(ord);
    }

    /// Replaces the row of an existing turn by that of a revision.
    pub fn put_back_turn(&mut self, row: TurnRow) {
        let at = usize::try_from(row.index).unwrap_or(usize::MAX);
        if self.turns().get(at).is_some_and(|known| *known != row) {
            self.change_turn(at, |known| *known = row);
        }
    }

    /// Stores another version of a message; the caller emits it.
    pub fn write_message(&mut self, ord: Ordinal) -> Option<Arc<Message>> {
        let turn = u32::try_from(self.transcript().turn_at(ord).unwrap_or_default()).unwrap_or(u32::MAX);
        let message = self.transcript().message(ord).cloned()?;
        self.write(Write::Message { turn, message: message.clone() });
        Some(message)
    }

    /// Drops turns that the transcript no longer has, and what was started from this message on. Returns how
    /// many stay.
    pub fn cut_turns(&mut self, from: Ordinal) -> u32 {
        let stay = self.transcript().turns().len();
        self.kept.turns.truncate(stay);
        if self.turns().last().is_some_and(|row| row.started >= Some(from)) {
            // Another message may take this position soon.
            self.change_last_turn(|row| {
                row.started = None;
                row.decided.clear();
            });
        }
        let carried = &mut self.kept.head.carried;
        carried.restraint.truncate(from);
        carried.continuity.truncate(from);
        carried.told.take_if(|told| !told.is_before(from));
        u32::try_from(stay).unwrap_or(u32::MAX)
    }

    /// Announces that the next prompt will not extend the last one; reported with that prompt.
    pub fn announce(&mut self, cause: BreakCause) {
        let carried = &mut self.kept.head.carried;
        let Some(is_new) = carried.continuity.announce(cause) else { return };
        carried.usage.forget_baseline();
        if is_new && self.is_stored() {
            self.write_head_as_it_was_used();
        }
    }

    /// Binds the thinking of an answer at this position, and a compaction that the provider made for it, to the last
    /// prompt, if it follows that.
    pub fn bind_thinking(&self, ord: Ordinal, new: &mut NewMessage) {
        let Body::Assistant { parts, beside, .. } = &mut new.body else { return };
        let is_bound = parts.iter().any(|part| match part {
            AssistantPart::Reasoning { .. } => true,
            AssistantPart::Raw(wire) => is_provider_compaction(wire),
            AssistantPart::Text(_) => false,
        });
        let followed = self.head().carried.continuity.followed_at(ord);
        if let Some(prompt) = followed.filter(|_| is_bound) {
            beside.thought.get_or_insert_default().follows = Some(prompt.to_owned());
        }
    }

    /// Leaves all thinking so far out of later prompts: the provider refused it behind something that
    /// changed. Returns `false` if the last prompt showed none: asking again would not help then.
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

    /// Announces that thinking shown during the turn before leaves the prompt when another turn begins.
    pub fn announce_stripped(&mut self) {
        let transcript = self.transcript();
        let Some(last) = transcript.turns().len().checked_sub(1) else { return };
        // A compaction took the earlier part out of prompts before, and was announced.
        let shown = transcript.in_force().map_or(Ordinal(0), Compaction::resume_at);
        let rounds = transcript.rounds_of(last).iter().filter(|round| round.assistant >= shown);
        let answers = rounds.filter_map(|round| transcript.message(round.assistant));
        if answers.filter_map(|message| message.shown).any(|cut| cut.after_turn) {
            self.announce(BreakCause::StripCompletedTurns);
        }
    }

    /// Announces a late result: prompts already showed its call with a placeholder.
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

    /// Learns from the usage reported with an answer, if it follows the last prompt.
    fn learn_usage(&mut self, ord: Ordinal) {
        let Some(sent) = self.head().carried.continuity.sent() else { return };
        let answer = self.transcript().message(ord).map(|message| &message.body);
        let Some(Body::Assistant { beside, .. }) = answer else { return };
        let Some(reported) = beside.usage.and_then(|usage| usage.input_tokens) else { return };
        if sent.messages != ord.0 || sent.compacted_by_provider {
            return;
        }
        let model = sent.model.clone().unwrap_or_else(|| "unnamed".to_owned());
        self.take_report(Report { model, reported, raw: sent.tokens });
    }

    /// Learns from a provider's count of a prompt of so many raw tokens for the model in force.
    pub fn learn_count(&mut self, counted: u32, raw: u32) {
        let model = self.settings().model.key().to_owned();
        self.take_report(Report { model, reported: counted, raw });
    }

    fn take_report(&mut self, report: Report) {
        let model = &self.kept.settings.model;
        let per_thousand = model.per_thousand.filter(|_| report.model == model.key());
        match self.kept.head.carried.usage.take(report, true, per_thousand) {
            Ok(_) => self.write_head_as_it_was_used(),
            Err(implausible) => self.trace(implausible.to_string()),
        }
    }

    /// Records a prompt as sent: keeps its marks, and emits a break if it does not extend the one before.
    pub fn goes_out(&mut self, prompt: &Prompt, model: Option<&str>) {
        let messages = self.transcript().messages().len();
        let next = Sent::of(prompt, self.fixed(), model, messages);
        let carried = &mut self.kept.head.carried;
        match carried.continuity.send(prompt, next) {
            Follows::Nothing | Follows::Extends { is_new: true } => self.defer_head(),
            Follows::Extends { is_new: false } => {}
            Follows::Breaks { mut causes, reused, lost } => {
                carried.usage.forget_baseline();
                if causes.is_empty() {
                    causes.insert(BreakCause::Unknown);
                    self.trace("a prompt does not begin with the one before it, and nobody announced why");
                }
                self.defer_head();
                self.emit(EventBody::PrefixBroken { causes, reused, lost });
            }
        }
    }

    /// Remembers the model of a prompt: the next one may have a smaller window.
    pub fn remember_model(&mut self, model: &ModelFacts) {
        if self.kept.head.carried.continuity.set_model(model) {
            self.write_head_as_it_was_used();
        }
    }
}
