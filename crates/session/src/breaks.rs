//! Byte extension (promise P9): each request's items begin with those of the one before it. Whatever breaks that says
//! so when it happens, and what it costs is told with the next request. A break that nobody announced is a defect.

use super::Step;
use super::event::EventBody;
use super::stored::RefusedThinking;
use engine::compact::record::Compaction;
use engine::id::Ordinal;
use engine::message::{AssistantPart, Body, NewMessage};
use engine::prompt::sent::Sent;
use engine::prompt::{CutReason, Prompt};
pub use engine::words::BreakCause;
use std::collections::BTreeSet;

impl Step<'_> {
    /// What was sent is no longer a prefix of what is sent next. It is told with that.
    pub(super) fn announce(&mut self, cause: BreakCause) {
        let carried = &mut self.session.head.carried;
        if carried.sent.is_none() {
            return;
        }
        carried.usage.forget_baseline();
        if carried.breaks.insert(cause) && self.session.is_stored {
            self.write_head_as_it_was_used();
        }
    }

    /// An answer to the prompt that was sent last comes in at this place: its thinking is bound to that prompt.
    pub(super) fn bind_thinking(&self, ord: Ordinal, new: &mut NewMessage) {
        let Body::Assistant { parts, beside, .. } = &mut new.body else { return };
        let sent = self.session.head.carried.sent.as_ref().filter(|sent| sent.messages == ord.0);
        let thinks = parts.iter().any(|part| matches!(part, AssistantPart::Reasoning { .. }));
        if let Some(prompt) = sent.and_then(Sent::whole).filter(|_| thinks) {
            beside.thought.get_or_insert_default().follows = Some(prompt.to_owned());
        }
    }

    /// The provider refused thinking behind something that changed: from now on it is shown none of what there is. Whether
    /// there was any in the prompt that was sent last; without it, asking again would not help.
    pub(super) fn leave_thinking_out(&mut self) -> bool {
        let carried = &mut self.session.head.carried;
        if carried.sent.as_ref().is_none_or(|sent| sent.thought.is_none()) {
            return false;
        }
        let before = self.session.next_ord();
        let model = self.session.settings.model.name.clone();
        self.session.head.carried.refused_thinking = Some(RefusedThinking { model, before });
        self.announce(BreakCause::Thinking);
        self.trace("the provider refused earlier thinking: it is left out, and the model is asked again");
        self.write_head_as_it_was_used();
        true
    }

    /// A turn begins: thinking that prompts showed while the one before it ran stands in them no longer.
    pub(super) fn announce_stripped(&mut self) {
        let transcript = &self.session.transcript;
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
    pub(super) fn announce_late_result(&mut self, ord: Ordinal) {
        let transcript = &self.session.transcript;
        let Some(sent) = &self.session.head.carried.sent else { return };
        let is_result = matches!(transcript.message(ord).map(|message| &message.body), Some(Body::Tool(_)));
        if !is_result || transcript.is_stray(ord) {
            return;
        }
        let asked = transcript.rounds().last().map(|round| round.assistant);
        if asked.is_some_and(|asked| asked.0 < sent.messages) {
            self.announce(BreakCause::LateResult);
        }
    }

    /// A prompt goes out: tells how it follows the one before it, and keeps its marks.
    pub(super) fn goes_out(&mut self, prompt: &Prompt, model: Option<&str>) {
        let messages = self.session.transcript.messages().len();
        let next = Sent::of(prompt, &self.session.fixed, model, messages);
        let carried = &mut self.session.head.carried;
        let mut causes = std::mem::take(&mut carried.breaks);
        let had_causes = !causes.is_empty();
        let Some(before) = carried.sent.replace(next) else {
            return self.write_head();
        };
        let Some(next) = &carried.sent else { return };
        let follows = before.followed_by(next);
        if follows.extends {
            if had_causes || before != *next {
                self.write_head();
            }
            return;
        }
        let is_other = [
            (BreakCause::Model, before.model != next.model),
            (BreakCause::Tools, before.tools != next.tools),
            (BreakCause::System, before.sections != next.sections),
        ];
        causes.extend(is_other.into_iter().filter(|(_, is_other)| *is_other).map(|(cause, _)| cause));
        if leaves_out_thinking(prompt, &before) {
            causes.insert(BreakCause::Thinking);
        }
        carried.usage.forget_baseline();
        if causes.is_empty() {
            causes.insert(BreakCause::Unknown);
            self.trace("a prompt does not begin with the one before it, and nobody announced why");
        }
        self.write_head();
        let lost = follows.possible.saturating_sub(follows.reused);
        self.emit(EventBody::PrefixBroken { causes, reused: follows.reused, lost });
    }
}

/// Whether a prompt leaves thinking out that the one before it showed, or that was its answer's.
fn leaves_out_thinking(prompt: &Prompt, before: &Sent) -> bool {
    let mut left_out = prompt.cuts.iter().filter(|cut| cut.reason == CutReason::Thinking);
    left_out.any(|cut| {
        let ord = cut.ord.unwrap_or_default();
        before.thought.is_some_and(|thought| ord == thought) || ord.0 == before.messages
    })
}

/// Causes that wait to be told.
pub type Announced = BTreeSet<BreakCause>;
