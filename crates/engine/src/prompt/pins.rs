//! Pins: content that the user wants in every prompt, byte for byte, whatever happens to the history. They follow the
//! memories, and no rung of the ladder touches them. The session limits who may pin what, and how much.

use super::item::{Channel, Item, ItemPart, ItemSource, Role, Shown};
use super::{KEEP, Prompt};
use crate::compact::record::Compaction;
use crate::id::{MessageId, Ordinal, PinId};
use crate::message::{Body, Message, Text};
use crate::tokens::{PER_MESSAGE, TokenCount};
use crate::transcript::Transcript;
use serde::{Deserialize, Serialize};

/// The name of the section in plans and reports.
pub const PINS: &str = "pins";

/// A pin as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pin {
    /// Unique in the session.
    pub id: PinId,
    /// The pinned content.
    pub what: Pinned,
}

/// The content of a pin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Pinned {
    /// A message of the session in its current version; the pin is void if the message is removed.
    Message(MessageId),
    /// The user's own text.
    Text(Text),
}

/// The pins of a session with their tokens, in the order of creation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pins(Vec<Counted>);

#[derive(Debug, Clone, PartialEq)]
struct Counted {
    id: PinId,
    /// The position of a pinned message; `None` for a text.
    ord: Option<Ordinal>,
    item: Item,
}

impl Pins {
    /// Counts the tokens of pins; one whose message no longer exists is ignored.
    pub fn new(pins: &[Pin], transcript: &Transcript, counter: &dyn TokenCount) -> Self {
        let counted = pins.iter().filter_map(|pin| {
            let (ord, item) = match &pin.what {
                Pinned::Text(text) => (None, plain(text.clone(), counter)),
                Pinned::Message(id) => {
                    let message = transcript.by_id(id)?;
                    (Some(message.ord), shown(message, counter)?)
                }
            };
            Some(Counted { id: pin.id.clone(), ord, item })
        });
        Self(counted.collect())
    }

    /// Returns the tokens of all pins.
    pub fn tokens(&self) -> u32 {
        self.0.iter().map(|pin| pin.item.tokens).sum()
    }

    /// Returns the tokens of the pins whose messages come after `through` and are shown in their position.
    pub fn tokens_after(&self, through: Ordinal) -> u32 {
        let after = self.0.iter().filter(|pin| pin.ord.is_some_and(|ord| ord > through));
        after.map(|pin| pin.item.tokens).sum()
    }

    /// Returns the tokens of this pin; 0 if unknown.
    pub fn tokens_of(&self, id: &PinId) -> u32 {
        self.0.iter().find(|pin| pin.id == *id).map_or(0, |pin| pin.item.tokens)
    }

    /// `true` if this message is pinned.
    pub fn holds(&self, ord: Ordinal) -> bool {
        self.0.iter().any(|pin| pin.ord == Some(ord))
    }

    /// Adds the pins that the prompt does not show in their position, so that each text occurs once, and a
    /// pin moves only with the compaction in force.
    pub(super) fn put(&self, transcript: &Transcript, compaction: Option<&Compaction>, prompt: &mut Prompt) {
        let is_wanted = |pin: &&Counted| match pin.ord.and_then(|ord| transcript.message(ord)) {
            Some(message) => !stands_whole(transcript, compaction, message),
            None => true,
        };
        let items = self.0.iter().filter(is_wanted).map(|pin| pin.item.clone()).collect();
        prompt.push(Channel::Memory, PINS, KEEP, items);
    }
}

/// `true` if a prompt shows the whole message in its position, or among the kept user messages.
fn stands_whole(transcript: &Transcript, compaction: Option<&Compaction>, message: &Message) -> bool {
    let ord = message.ord;
    let is_in_sight = compaction.is_none_or(|record| {
        // Of a refused call only the user's words are kept.
        let is_kept = matches!(message.body, Body::User(_))
            && (record.kept_users.contains(&ord) || record.open_requests.contains(&ord));
        let is_raw = ord >= record.resume_at() && !record.actions.contains_key(&ord);
        (is_kept || is_raw) && !record.excluded.contains(&ord)
    });
    // The words of a user stand whole beside references to what the prompt shows above.
    let is_uncut = message.shown.is_none() || matches!(message.body, Body::User(_));
    is_in_sight && is_uncut && !transcript.is_stray(ord)
}

fn plain(text: Text, counter: &dyn TokenCount) -> Item {
    let tokens = counter.count(&text) + PER_MESSAGE;
    Item::made(Role::User, text, tokens)
}

/// A message as a pin: its content verbatim, after a line that names the author unless that is the user.
fn shown(message: &Message, counter: &dyn TokenCount) -> Option<Item> {
    let says = |label: &str, said: Vec<ItemPart>| {
        let mut item = plain(label.into(), counter);
        item.tokens += said.iter().filter_map(ItemPart::as_text).map(|text| counter.count(text)).sum::<u32>();
        item.parts.extend(said);
        item
    };
    let mut item = match &message.body {
        Body::Event { .. } => return None,
        Body::User(parts) => {
            let mut item = Item::made(Role::User, "", message.tokens);
            item.parts = ItemPart::of(parts);
            item
        }
        Body::Assistant { parts, calls, .. } => {
            let said = parts.iter().map(ItemPart::from);
            let called = calls.iter().map(|call| ItemPart::text(format!("{} {}", call.name, call.arguments)));
            let texts = said.filter(|part| matches!(part, ItemPart::Content(_))).chain(called);
            says("[pinned by the user; the assistant said]", texts.collect())
        }
        Body::Tool(result) => says("[pinned by the user; a tool answered]", ItemPart::of(&result.content)),
    };
    item.sources = vec![ItemSource { ord: message.ord, shown: Shown::Pinned }];
    Some(item)
}
