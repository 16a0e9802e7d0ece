//! A session of which only the newest part is here: enough to show its next prompt, however long it is (P11). What it can
//! do with that is what it would do with all of it; anything else waits for the rest. Where rows come from is the
//! store's, who waits is the server's.
//!
//! A step with a part is tried on a copy, and counts only where nothing that it did could have asked for the front. When
//! the rest is here, the session is made of both, and the steps that counted are taken again: the same inputs give the
//! same effects, so nothing is carried over from the part but its inputs.

use super::effect::{Answer, Effect, Purpose};
use super::event::EventBody;
use super::input::{Command, Input, Open, Render, Summarize};
use super::state::State;
use super::stored::{Part, Rest, Stored, TurnRow, Write};
use super::{Around, Opening, Session};
use engine::compact::record::{Compaction, Mode, Status};
use engine::id::Ordinal;
use engine::message::{Body, Content, Message, cut};
use engine::prompt::order::SystemPrompt;
use engine::prompt::pins::{Pin, Pinned};
use engine::tokens::TokenCount;
use engine::transcript::Transcript;
use std::sync::Arc;

/// What an input is compared with among all that a session ever heard. A part can say nothing about these: the store is
/// asked whether one of them is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claims {
    /// The key of a command.
    pub key: Option<String>,
    /// The editor's id of a request.
    pub external_id: Option<String>,
}

impl Claims {
    /// What this input claims to be new.
    pub fn of(input: &Input) -> Self {
        let Input::Command(_, command) = input else { return Self::default() };
        Self::of_command(command)
    }

    /// The same for a command.
    pub fn of_command(command: &Command) -> Self {
        match command {
            Command::StartTurn(start) => Self { key: start.key.clone(), external_id: None },
            Command::Render(render) => {
                let request = render.current.as_ref().and_then(|turn| turn.messages.first());
                let external_id = request.and_then(|request| request.external_id.clone());
                Self { key: None, external_id }
            }
            _ => Self::default(),
        }
    }

    /// Whether there is nothing to ask.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Messages among which the round is looked for that ends what a compaction covers. It has as many results as calls.
pub const WIDEST_ROUND: usize = 256;

/// How many of the newest messages a part must hold for this command; nothing where no part serves it.
pub fn newest_for(command: &Command) -> Option<u32> {
    match command {
        Command::StartTurn(_) => Some(0),
        Command::Render(render) => is_of_part(render).then_some(0),
        Command::Open(open) => is_look(open).then_some(open.newest?),
        Command::Subscribe { newest, .. } => *newest,
        _ => None,
    }
}

/// Whether the editor relies on our history, and brings no more than a request.
fn is_of_part(render: &Render) -> bool {
    let is_request = render.current.as_ref().is_none_or(|turn| {
        let [request] = &*turn.messages else { return false };
        matches!(request.body, Body::User(_)) && !turn.detailed && turn.metadata.is_empty()
    });
    render.history.is_none() && is_request && render.summarize != Summarize::Force
}

/// Whether a client wants to see the end of a session, and brings nothing.
fn is_look(open: &Open) -> bool {
    open.history.is_none() && open.newest.is_some()
}

impl Session {
    /// A session of which the store gave a part.
    pub fn in_part(opening: Opening, from: Ordinal, counter: &dyn TokenCount) -> Self {
        Self::made(opening, Some(from), counter)
    }

    /// The first message from which on all are here; nothing where all are here anyway.
    pub fn part_from(&self) -> Option<Ordinal> {
        self.part
    }

    /// The session after this input, and what it wants done: all as the whole session would. Nothing where that cannot
    /// be said without the rest; this session is as before then. What the input claims to be new must be new.
    pub fn try_step(&self, input: Input, around: Around<'_>) -> Option<(Self, Vec<Effect>)> {
        let from = self.part?;
        if !self.may_try(&input, from) {
            return None;
        }
        let brings_nothing = self.brings_no_attachment(&input);
        let mut tried = self.clone();
        let effects = tried.step(input, around);
        let takes_in = |effect: &Effect| matches!(effect, Effect::Emit(event) if matches!(event.body, EventBody::MessageAdded(_)));
        let is_sure = effects.iter().all(|effect| is_plain(effect, from));
        (is_sure && (brings_nothing || effects.iter().any(takes_in))).then_some((tried, effects))
    }

    /// Whether what such an input looks at is in the part.
    fn may_try(&self, input: &Input, from: Ordinal) -> bool {
        let at_rest = matches!(self.state, State::Resting(_));
        let is_idle = at_rest && self.queue.items.is_empty() && self.renders.is_empty();
        let carried = &self.head.carried;
        let is_begun_here = self.transcript.turns().last().is_some_and(|turn| turn.first >= from);
        // How far the newest compaction lies back is counted from the one before it, where it is one by hand.
        let in_force = self.transcript.in_force();
        let is_made = in_force.is_some_and(|record| record.mode != Mode::Excluded);
        // A render reports each message that is left out without a summary, and how large it is.
        let reports_front =
            in_force.is_some_and(|record| record.dropped.is_some() || !record.reported_users.is_empty());
        let counts_here = carried.held.max(carried.undone).is_none_or(|held| held >= from);
        let is_known = match input {
            Input::Command(_, Command::Open(open)) => is_look(open) && self.is_here(open.newest),
            Input::Command(_, Command::Subscribe { newest, .. }) => self.is_here(*newest),
            Input::Command(_, Command::Render(render)) => {
                is_of_part(render) && !reports_front && (render.current.is_none() || is_begun_here)
            }
            Input::Command(_, Command::StartTurn(_)) => {
                // Memories of what older compactions in force say are left out.
                let settings = &self.settings;
                settings.system_prompt == SystemPrompt::Frozen || settings.memory.core.is_none()
            }
            Input::Instructions(_)
            | Input::Attach(_)
            | Input::Scope(_)
            | Input::Approvals(_)
            | Input::Memories(_)
            | Input::Ending => true,
            _ => false,
        };
        is_idle && is_made && counts_here && is_known
    }

    /// Whether so many of the newest messages are in the part.
    fn is_here(&self, newest: Option<u32>) -> bool {
        let said = self.next_ord().0;
        newest.zip(self.part).is_some_and(|(newest, from)| said.saturating_sub(newest) >= from.0)
    }

    /// Whether a render says nothing beside its request, which might have been said long ago.
    fn brings_no_attachment(&self, input: &Input) -> bool {
        let Input::Command(_, Command::Render(render)) = input else { return true };
        let request = render.current.iter().flat_map(|turn| &turn.messages).map(|message| &message.body);
        let attached = |body: &Body| match body {
            Body::User(parts) => parts.iter().any(|part| matches!(part, Content::Attachment(_))),
            _ => false,
        };
        let waits = !self.head.carried.attachments.is_empty() || !render.attachments.is_empty();
        !waits && !request.into_iter().any(attached)
    }

    /// Whether nobody could tell this session from the other one, by what they have told and what they are.
    pub fn stands_as(&self, other: &Self) -> bool {
        let newest = |session: &Self| {
            let turn = session.transcript.turns().last().map(|turn| turn.id.clone());
            (session.transcript.messages().len(), session.turns.len(), turn, session.asked)
        };
        self.head == other.head
            && self.state == other.state
            && self.events.last() == other.events.last()
            && self.queue.items == other.queue.items
            && newest(self) == newest(other)
    }

    /// What could not be read when the rest came: told with the next answer that tells of such.
    pub fn missed(&mut self, unreadable: impl IntoIterator<Item = String>) {
        self.unreadable.extend(unreadable);
    }
}

/// Places at which no message is, though a later one is there.
pub(super) fn gaps(messages: &[(u32, Arc<Message>)]) -> Vec<String> {
    let places = messages.iter().map(|(_, message)| message.ord.0);
    let expected = std::iter::once(0).chain(places.clone().map(|ord| ord.saturating_add(1)));
    let missing = expected.zip(places).filter(|(expected, found)| expected < found);
    missing
        .map(|(from, until)| format!("messages from {from} to before {until}: they are not there"))
        .collect()
}

/// Puts what a store gave into a transcript; its turns. Where it is a part, places are taken for what it left out.
pub(super) fn put_back(
    transcript: &mut Transcript,
    messages: Vec<(u32, Arc<Message>)>,
    turns: Vec<TurnRow>,
    is_part: bool,
    counter: &dyn TokenCount,
) -> Vec<TurnRow> {
    for (turn, mut message) in messages {
        if is_part {
            transcript.leave_out(message.ord);
        }
        weigh_again(&mut message, counter);
        transcript.put_back(turn as usize, message);
    }
    let missing = turns.first().filter(|_| is_part).map_or(0, |turn| turn.index);
    TurnRow::left_out(missing).chain(turns).collect()
}

/// Signatures and ciphertexts were once counted as text. A message that was stored so is weighed once more whenever it is
/// loaded: its row stays as it was written, check sum and all.
fn weigh_again(message: &mut Arc<Message>, counter: &dyn TokenCount) {
    if !message.body.was_weighed_whole() {
        return;
    }
    let message = Arc::make_mut(message);
    message.body.weigh_thinking(counter);
    message.shown = message.shown.map(|shown| cut::weighed_again(shown, &message.body, counter));
    message.tokens = match message.shown {
        Some(shown) if !shown.after_turn => shown.tokens,
        _ => message.body.tokens(counter),
    };
}

/// Whether what is done is done with the newest messages alone. A refusal, a compaction and whatever is not named here is
/// not: the rest decides.
fn is_plain(effect: &Effect, from: Ordinal) -> bool {
    match effect {
        Effect::Write(Write::Message { message, .. }) => message.ord >= from,
        Effect::Write(Write::Head(_) | Write::Turn(_) | Write::Key { .. }) => true,
        Effect::Emit(event) => match &event.body {
            EventBody::RuntimeUpdated { ended, .. } => ended.is_none(),
            EventBody::MessageAdded(_)
            | EventBody::MessageUpdated(_)
            | EventBody::StreamStarted { .. }
            | EventBody::ContextUpdated { .. }
            | EventBody::ThreadUpdated(_)
            | EventBody::PrefixBroken { .. }
            | EventBody::RestoreReported(_) => true,
            _ => false,
        },
        Effect::Reply(_, answer) => match &**answer {
            Ok(Answer::Accepted(_) | Answer::Opened(_) | Answer::Snapshot(_) | Answer::Events(_)) => true,
            Ok(Answer::Rendered(rendered)) => rendered.made.is_none() && rendered.fork.is_none(),
            _ => false,
        },
        Effect::AskModel(ask) => ask.purpose == Purpose::Turn,
        Effect::Start(..) | Effect::Stop(_) | Effect::Trace(_) => true,
        _ => false,
    }
}

impl Part {
    /// What a part of this session is, with at least so many of its newest messages. Nothing where all of it is needed.
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
            ord >= from || shown || record.excluded.contains(&ord) || is_pinned(message)
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

    /// The session whole. `claimed` are keys that were new to it: the store may have them by now.
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
        // What is here was read first: nothing of it is another one by now.
        let known =
            |record: &Compaction| stored.compactions.iter().find(|known| known.id == record.id).cloned();
        let records = rest.compactions.into_iter();
        stored.compactions = records.map(|record| known(&record).unwrap_or(record)).collect();
        stored.keys = rest.keys.into_iter().filter(|(key, _)| !claimed.contains(key)).collect();
        stored
    }
}
