//! Pins: what the user wants every prompt to show, byte for byte, whatever becomes of the history. They stand behind
//! the memories, and no rung of the ladder touches them. Who may pin what, and how much, is the session's.

use super::item::{Channel, Item, ItemPart, ItemSource, Role, Shown};
use super::{KEEP, Prompt};
use crate::compact::record::Compaction;
use crate::id::{MessageId, Ordinal, PinId};
use crate::message::{Body, Content, Message, Text};
use crate::tokens::{PER_MESSAGE, TokenCount};
use crate::transcript::Transcript;
use serde::{Deserialize, Serialize};

/// The name of the section in plans and reports.
pub const PINS: &str = "pins";

/// A pin, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pin {
    /// Its id.
    pub id: PinId,
    /// What is pinned.
    pub what: Pinned,
}

/// What is pinned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Pinned {
    /// A message of the session, as it says it now; gone with it.
    Message(MessageId),
    /// Words of the user's own.
    Text(Text),
}

/// The pins of a session, counted, in the order in which they were made.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pins(Vec<Counted>);

#[derive(Debug, Clone, PartialEq)]
struct Counted {
    id: PinId,
    /// The message, where it is one.
    ord: Option<Ordinal>,
    item: Item,
}

impl Pins {
    /// Counts pins. One whose message is not there is none.
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

    /// Tokens of all of them.
    pub fn tokens(&self) -> u32 {
        self.0.iter().map(|pin| pin.item.tokens).sum()
    }

    /// Tokens of those whose messages stand after this one, and are shown in their place.
    pub fn tokens_after(&self, through: Ordinal) -> u32 {
        let after = self.0.iter().filter(|pin| pin.ord.is_some_and(|ord| ord > through));
        after.map(|pin| pin.item.tokens).sum()
    }

    /// Tokens of this one.
    pub fn tokens_of(&self, id: &PinId) -> u32 {
        self.0.iter().find(|pin| pin.id == *id).map_or(0, |pin| pin.item.tokens)
    }

    /// Whether this message is pinned.
    pub fn holds(&self, ord: Ordinal) -> bool {
        self.0.iter().any(|pin| pin.ord == Some(ord))
    }

    /// Puts those into a prompt that it does not show in their place: so each text stands there once, and the place of a
    /// pin changes only with the compaction in force.
    pub(super) fn put(&self, transcript: &Transcript, compaction: Option<&Compaction>, prompt: &mut Prompt) {
        let is_wanted = |pin: &&Counted| match pin.ord.and_then(|ord| transcript.message(ord)) {
            Some(message) => !stands_whole(transcript, compaction, message),
            None => true,
        };
        let items = self.0.iter().filter(is_wanted).map(|pin| pin.item.clone()).collect();
        prompt.push(Channel::Memory, PINS, KEEP, items);
    }
}

/// Whether a prompt shows all of a message in its place, or among the kept user messages.
fn stands_whole(transcript: &Transcript, compaction: Option<&Compaction>, message: &Message) -> bool {
    let ord = message.ord;
    let is_in_sight = compaction.is_none_or(|record| {
        let is_kept = record.kept_users.contains(&ord) || record.open_requests.contains(&ord);
        let is_raw = ord >= record.resume_at() && !record.actions.contains_key(&ord);
        (is_kept || is_raw) && !record.excluded.contains(&ord)
    });
    is_in_sight && message.shown.is_none() && !transcript.is_stray(ord)
}

fn plain(text: Text, counter: &dyn TokenCount) -> Item {
    let tokens = counter.count(&text) + PER_MESSAGE;
    Item::made(Role::User, text, tokens)
}

/// A message as a pin shows it: what it says as it is, behind a line that says who said it where that was not the user.
fn shown(message: &Message, counter: &dyn TokenCount) -> Option<Item> {
    let says = |label: &str, said: Vec<ItemPart>| {
        let mut item = plain(label.into(), counter);
        item.tokens += said.iter().filter_map(ItemPart::as_text).map(|text| counter.count(text)).sum::<u32>();
        item.parts.extend(said);
        item
    };
    let contents = |parts: &[Content]| parts.iter().cloned().map(ItemPart::Content).collect::<Vec<_>>();
    let mut item = match &message.body {
        Body::Event { .. } => return None,
        Body::User(parts) => {
            let mut item = Item::made(Role::User, "", message.tokens);
            item.parts = contents(parts);
            item
        }
        Body::Assistant { parts, calls, .. } => {
            let said = parts.iter().map(ItemPart::from);
            let called = calls.iter().map(|call| ItemPart::text(format!("{} {}", call.name, call.arguments)));
            let texts = said.filter(|part| matches!(part, ItemPart::Content(_))).chain(called);
            says("[pinned by the user; the assistant said]", texts.collect())
        }
        Body::Tool(result) => says("[pinned by the user; a tool answered]", contents(&result.content)),
    };
    item.sources = vec![ItemSource { ord: message.ord, shown: Shown::Pinned }];
    Some(item)
}
