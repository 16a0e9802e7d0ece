//! The status of each message of a session in one prompt, derived from the prompt and the compaction record,
//! never by elimination: a message without a status counts as unaccounted.

use super::Prompt;
use super::item::Shown;
use crate::compact::record::Compaction;
use crate::id::Ordinal;
use crate::transcript::Transcript;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Numbers of messages by status, in the session as a whole. The other fields add up to `messages`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Coverage {
    /// Messages of the session.
    pub messages: u32,
    /// Shown whole, kept user messages and pins included.
    pub raw: u32,
    /// Shown by head and tail, or folded into a newer copy.
    pub shortened: u32,
    /// Replaced by the compaction block.
    pub covered: u32,
    /// Left out and reported.
    pub dropped: u32,
    /// Not for the model.
    pub hidden: u32,
    /// Missing without a reason. Always zero unless there is a bug.
    pub unaccounted: u32,
}

/// The status of a message in the prompt as it would be sent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "MessageStatus"))]
pub enum MessageStatus {
    /// The message is shown whole.
    Raw,
    /// The message is shown in part.
    Shortened,
    /// The block of the compaction in force replaces the message.
    Covered,
    /// The message is left out and reported.
    Dropped,
    /// The message is not for the model.
    Hidden,
}

/// Counts the messages by status.
pub fn coverage(transcript: &Transcript, record: Option<&Compaction>, prompt: &Prompt) -> Coverage {
    let mut counts = Coverage::default();
    for fate in message_statuses(transcript, record, prompt) {
        counts.messages += 1;
        let slot = match fate {
            Some(MessageStatus::Raw) => &mut counts.raw,
            Some(MessageStatus::Shortened) => &mut counts.shortened,
            Some(MessageStatus::Hidden) => &mut counts.hidden,
            Some(MessageStatus::Covered) => &mut counts.covered,
            Some(MessageStatus::Dropped) => &mut counts.dropped,
            None => &mut counts.unaccounted,
        };
        *slot += 1;
    }
    counts
}

/// Returns the status of each message, in order; `None` for one that is unaccounted for.
pub fn message_statuses(
    transcript: &Transcript,
    record: Option<&Compaction>,
    prompt: &Prompt,
) -> impl Iterator<Item = Option<MessageStatus>> {
    let mut shown: BTreeMap<Ordinal, Shown> = BTreeMap::new();
    for source in prompt.items.iter().flat_map(|item| &item.sources) {
        // A pin precedes the shortened message and shows it whole.
        shown.entry(source.ord).or_insert(source.shown);
    }
    let cut: BTreeSet<Ordinal> = prompt.cuts.iter().filter_map(|cut| cut.ord).collect();
    transcript.messages().iter().map(move |message| match shown.get(&message.ord) {
        Some(Shown::Raw | Shown::Kept | Shown::Pinned) => Some(MessageStatus::Raw),
        Some(Shown::Shortened) => Some(MessageStatus::Shortened),
        None if message.is_hidden() => Some(MessageStatus::Hidden),
        None if record.is_some_and(|r| r.covers(message.ord) && !r.excluded.contains(&message.ord)) => {
            Some(MessageStatus::Covered)
        }
        None if cut.contains(&message.ord) => Some(MessageStatus::Dropped),
        None => None,
    })
}
