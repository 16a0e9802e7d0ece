//! Steps on a session of which only the newest part is loaded, so that its next prompt is ready at once
//! however long it is. A part does exactly what the whole session would do; any other input waits for the
//! rest. Loading rows is the store's job, waiting is the server's.
//!
//! A step is tried on a copy, and counts only if nothing in it can have depended on the missing messages.
//! Once the rest is loaded, the session is built from both and the steps that counted are taken again: the
//! same inputs yield the same effects, so only the inputs are carried over.

pub use crate::values::claims::{Claims, WIDEST_ROUND, newest_for};
use crate::values::claims::{is_look, is_of_part};
use crate::values::effect::{Answer, Effect};
use crate::values::event::EventBody;
use crate::values::input::{Command, Input};
use crate::values::stored::{Part, Rest, Stored, Write};
use crate::{Session, StepContext};
use engine::compact::record::{Compaction, Mode, Status};
use engine::id::{MessageId, Ordinal, SessionId, TurnId};
use engine::message::{Body, Content, Message};
use engine::prompt::order::SystemPrompt;
use engine::prompt::pins::{Pin, Pinned};
use engine::words::Purpose;
use std::collections::BTreeMap;
use std::sync::Arc;

impl Session {
    /// Returns the session after this input with its effects, the same as the whole session would yield, or `None` if
    /// that needs the rest. `self` stays as it is. The caller checks that what the input claims to be new is new.
    pub fn try_step(&self, input: Input, context: StepContext<'_>) -> Option<(Self, Vec<Effect>)> {
        let from = self.part_from()?;
        if !self.may_try(&input, from) {
            return None;
        }
        let brings_nothing = self.brings_no_attachment(&input);
        let mut tried = self.clone();
        let effects = tried.step(input, context);
        let takes_in = |effect: &Effect| matches!(effect, Effect::Emit(event) if matches!(event.body, EventBody::MessageAdded(..)));
        let is_sure = effects.iter().all(|effect| tried.is_plain(effect, from));
        (is_sure && (brings_nothing || effects.iter().any(takes_in))).then_some((tried, effects))
    }

    /// `true` if everything that the input reads is in the part.
    fn may_try(&self, input: &Input, from: Ordinal) -> bool {
        let at_rest = self.state().is_resting();
        let is_idle =
            at_rest && self.components().queue().is_empty() && self.components().renders().is_empty();
        let carried = &self.head().carried;
        let is_begun_here = self.transcript().turns().last().is_some_and(|turn| turn.first >= from);
        // If the newest compaction is an exclusion by hand, the tokens since the one before it count.
        let in_force = self.transcript().in_force();
        let is_made = in_force.is_some_and(|record| record.mode != Mode::Excluded);
        // A render reports each message that is left out without a summary, with its size.
        let reports_front = in_force.is_some_and(|record| record.dropped.is_some());
        let counts_here = carried.restraint.since().is_none_or(|held| held >= from);
        let is_known = match input {
            Input::Command(_, Command::Open(open)) => is_look(open) && self.is_here(open.newest),
            Input::Command(_, Command::Subscribe { newest, .. }) => self.is_here(*newest),
            Input::Command(_, Command::Render(render)) => {
                is_of_part(render) && !reports_front && (render.current.is_none() || is_begun_here)
            }
            Input::Command(_, Command::StartTurn(_)) => {
                // Memories made of older compactions in force are left out of the prompt.
                let settings = self.settings();
                settings.system_prompt == SystemPrompt::Frozen || settings.memory.core.is_none()
            }
            Input::Instructions(_)
            | Input::Attach(_)
            | Input::Scope(_)
            | Input::Approvals(_)
            | Input::SessionApprovals { .. }
            | Input::Memories(_)
            | Input::Agent(_)
            | Input::Ending => true,
            _ => false,
        };
        is_idle && is_made && counts_here && is_known
    }

    /// `true` if so many of the newest messages are in the part; `false` for `None`.
    fn is_here(&self, newest: Option<u32>) -> bool {
        let said = self.kept().next_ord().0;
        newest.zip(self.part_from()).is_some_and(|(newest, from)| said.saturating_sub(newest) >= from.0)
    }

    /// `false` for a render with attachments, its own or waiting ones: an older message may already have them.
    fn brings_no_attachment(&self, input: &Input) -> bool {
        let Input::Command(_, Command::Render(render)) = input else { return true };
        let request = render.current.iter().flat_map(|turn| &turn.messages).map(|message| &message.body);
        let attached = |body: &Body| match body {
            Body::User(parts) => parts.iter().any(|part| matches!(part, Content::Attachment(_))),
            _ => false,
        };
        let waits = !self.head().carried.attachments.is_empty() || !render.attachments.is_empty();
        !waits && !request.into_iter().any(attached)
    }

    /// `true` if the effect concerns the newest messages alone. Refusals, compactions and everything not listed
    /// here need the rest.
    fn is_plain(&self, effect: &Effect, from: Ordinal) -> bool {
        match effect {
            Effect::Write(Write::Message { message, .. }) => message.ord >= from,
            Effect::Write(Write::Head(_) | Write::Turn(_) | Write::Key { .. }) => true,
            Effect::Emit(event) => match &event.body {
                EventBody::RuntimeUpdated { ended, .. } => ended.is_none(),
                EventBody::TurnStarted { .. }
                | EventBody::MessageAdded(..)
                | EventBody::MessageUpdated(..)
                | EventBody::StreamStarted { .. }
                | EventBody::ContextUpdated { .. }
                | EventBody::ThreadUpdated(_)
                | EventBody::AgentUpdated(_)
                | EventBody::ToolProgress { .. }
                | EventBody::PrefixBroken { .. }
                | EventBody::RestoreReported(_) => true,
                EventBody::TurnCompleted { turn, .. } => self.has_all_of(turn, from),
                _ => false,
            },
            Effect::Reply(_, answer) => match &**answer {
                Ok(Answer::Accepted(_) | Answer::Opened(_) | Answer::Snapshot(_) | Answer::Events(_)) => true,
                Ok(Answer::Rendered(rendered)) => rendered.made.is_none() && rendered.revision.is_none(),
                _ => false,
            },
            Effect::AskModel(ask) => ask.purpose == Purpose::Turn,
            Effect::Start(..) | Effect::Stop(_) | Effect::Trace(_) => true,
            _ => false,
        }
    }

    /// `true` if all answers of a turn are in the part, and no compaction that is not was made in it.
    fn has_all_of(&self, turn: &TurnId, from: Ordinal) -> bool {
        let mut newest_first = self.transcript().turns().iter().rev();
        let begun = newest_first.find(|known| known.id == *turn).map(|turn| turn.first);
        let compacted_in = self.transcript().in_force().and_then(|record| record.turn.as_ref());
        begun > Some(from) && compacted_in.is_some_and(|other| other != turn)
    }

    /// `true` if no client could tell the two sessions apart: same head, state, queue and last event, as many
    /// messages, turns and model calls.
    pub fn stands_as(&self, other: &Self) -> bool {
        let newest = |session: &Self| {
            let turn = session.transcript().turns().last().map(|turn| turn.id.clone());
            (
                session.transcript().messages().len(),
                session.kept().turns().len(),
                turn,
                session.kept().calls(),
            )
        };
        self.head() == other.head()
            && self.state() == other.state()
            && self.kept().last_event() == other.kept().last_event()
            && self.components().queue().items().eq(other.components().queue().items())
            && newest(self) == newest(other)
    }
}

/// Positions of pinned messages, parsed from their ids; `None` if an id was not assigned by this session.
pub fn pinned(session: &SessionId, pins: &[Pin]) -> Option<BTreeMap<Ordinal, MessageId>> {
    let place = |id: &MessageId| {
        let counter = id.as_str().strip_prefix(session.as_str())?.strip_prefix("/m")?;
        counter.split('.').next()?.parse().ok().map(Ordinal)
    };
    let messages = pins.iter().filter_map(|pin| match &pin.what {
        Pinned::Message(id) => Some(id),
        Pinned::Text(_) => None,
    });
    messages.map(|id| Some((place(id)?, id.clone()))).collect()
}

/// `true` for an answer that a prompt may show: a round begins with it.
pub fn opens_round(message: &Message) -> bool {
    matches!(message.body, Body::Assistant { .. }) && !message.is_hidden()
}

impl Part {
    /// Returns the part with at least `newest` of the newest messages, or `None` if all of the session is needed.
    pub fn of(stored: &Stored, newest: u32) -> Option<Self> {
        let record = stored.compactions.last().filter(|record| record.status == Status::InForce)?;
        let last = stored.messages.last().map(|(_, message)| message.ord.next().0)?;
        let mut older =
            stored.messages.iter().rev().skip_while(|(_, message)| message.ord >= record.resume_at());
        let is_round =
            |message: &Message| matches!(message.body, Body::Assistant { .. }) && !message.is_hidden();
        let (_, round) = older.by_ref().take(WIDEST_ROUND).find(|(_, message)| is_round(message))?;
        let from = round.ord.min(Ordinal(last.saturating_sub(newest)));
        let is_pinned = |message: &Message| {
            let of = |pin: &Pin| matches!(&pin.what, Pinned::Message(id) if *id == message.id);
            stored.head.prefix.pins.iter().any(of)
        };
        let is_kept = |message: &Message| {
            let ord = message.ord;
            let shown = record.kept_users.contains(&ord) || record.open_requests.contains(&ord);
            let told = shown || record.reported_users.contains(&ord);
            ord >= from || told || record.excluded.contains(&ord) || is_pinned(message)
        };
        let kept = stored.messages.iter().filter(|(_, message)| is_kept(message));
        let messages: Vec<_> = kept.cloned().collect();
        let first = messages.iter().find(|(_, message)| message.ord == from).map(|(turn, _)| *turn)?;
        let turns: Vec<_> = stored.turns.iter().filter(|turn| turn.index >= first).cloned().collect();
        let is_here = messages.iter().filter(|(_, message)| message.ord >= from).count()
            == last as usize - from.index();
        let is_known = turns.first().is_some_and(|turn| turn.index == first);
        let is_exact = stored.unreadable.is_empty()
            && from > Ordinal(0)
            && is_here
            && is_known
            && record.is_within(last as usize);
        let (compactions, keys) = (vec![record.clone()], Vec::new());
        is_exact
            .then(|| Self { stored: Stored { messages, turns, compactions, keys, ..stored.clone() }, from })
    }

    /// Joins the part and the rest. `claimed` are keys that were new to the part; the store may have them by now.
    pub fn with(self, rest: Rest, claimed: &[String]) -> Stored {
        let mut stored = self.stored;
        let here: Vec<Ordinal> = stored.messages.iter().map(|(_, message)| message.ord).collect();
        let missing = |(_, message): &(u32, Arc<Message>)| {
            message.ord < self.from && here.binary_search(&message.ord).is_err()
        };
        stored.messages.extend(rest.messages.into_iter().filter(missing));
        stored.messages.sort_by_key(|(_, message)| message.ord);
        let first = stored.turns.first().map_or(u32::MAX, |turn| turn.index);
        let mut turns: Vec<_> = rest.turns.into_iter().filter(|turn| turn.index < first).collect();
        turns.append(&mut stored.turns);
        stored.turns = turns;
        // The part was read first; none of its records has changed since.
        let known =
            |record: &Compaction| stored.compactions.iter().find(|known| known.id == record.id).cloned();
        let records = rest.compactions.into_iter();
        stored.compactions = records.map(|record| known(&record).unwrap_or(record)).collect();
        stored.keys = rest.keys.into_iter().filter(|(key, _)| !claimed.contains(key)).collect();
        stored
    }
}
