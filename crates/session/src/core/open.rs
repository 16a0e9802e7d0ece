//! Opens a conversation: a new one, or from the store.

use super::conversation::Conversation;
use super::frozen::freeze;
use super::ring::Ring;
use crate::carried::limits::Trial;
use crate::values::agents::Agent;
use crate::values::settings::Settings;
use crate::values::stored::{Head, Stored, TurnRow};
use engine::compact::record::Status;
use engine::memory::Memory;
use engine::message::{Message, cut};
use engine::prompt::system::Fixed;
use engine::scope::Scope;
use engine::tokens::TokenCount;
use engine::transcript::Transcript;
use std::sync::Arc;

/// A conversation before its first step.
pub(crate) struct Opening {
    pub head: Head,
    pub settings: Settings,
    /// The stored rows, without the queue and its keys.
    pub stored: Option<Stored>,
    /// `true` if `stored` is only the newest part.
    pub is_part: bool,
    pub stream: String,
    pub scope: Scope,
    pub memories: Vec<Memory>,
    pub agents: Vec<Agent>,
}

/// Opens a conversation; also returns the stored rows that could not be read.
pub(crate) fn open(opening: Opening, counter: &dyn TokenCount) -> (Conversation, Vec<String>) {
    let Opening { mut head, settings, stored, is_part, stream, scope, memories, agents } = opening;
    let is_stored = stored.is_some();
    let mut transcript = Transcript::resumed(head.id.clone(), head.generation, head.cuts);
    let (mut turns, mut unreadable, mut draft) = (Vec::new(), Vec::new(), None);
    if let Some(stored) = stored {
        unreadable = stored.unreadable;
        if unreadable.is_empty() && !is_part {
            unreadable.extend(gaps(&stored.messages));
        }
        head.carried.usage.forget_older_counts();
        turns = put_back(&mut transcript, stored.messages, stored.turns, is_part, counter);
        for mut record in stored.compactions {
            if record.status == Status::InForce && !record.is_within(transcript.messages().len()) {
                // In force, it would hide messages of later turns.
                record.status = Status::Void;
                unreadable.push(format!("compaction {}: it refers to messages that are missing", record.id));
            }
            transcript.record(record);
        }
        draft = stored.draft;
    }
    let mut conversation = Conversation {
        head,
        settings,
        transcript: Arc::new(transcript),
        fixed: Fixed::default(),
        turns,
        memories: memories.into(),
        scope: Arc::new(scope),
        agents,
        draft,
        trial: Trial::default(),
        events: Ring::default(),
        stream,
        calls: 0,
        notices: Vec::new(),
        is_stored,
        has_deferred_head: false,
    };
    freeze(&mut conversation, counter);
    (conversation, unreadable)
}

/// Positions without a message before existing messages, as text.
fn gaps(messages: &[(u32, Arc<Message>)]) -> Vec<String> {
    let places = messages.iter().map(|(_, message)| message.ord.0);
    let expected = std::iter::once(0).chain(places.clone().map(|ord| ord.saturating_add(1)));
    let missing = expected.zip(places).filter(|(expected, found)| expected < found);
    missing.map(|(from, until)| format!("messages from {from} to before {until} are missing")).collect()
}

/// Puts stored messages into a transcript; returns its turns. In a part, placeholders fill the missing positions.
fn put_back(
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

/// Counts a message again if an older version counted signatures and ciphertexts as text. Done on each load:
/// the stored row keeps its bytes and checksum.
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
