//! The status of each message of a session in one prompt, derived from the prompt and the compaction record,
//! never by elimination: a message without a status counts as unaccounted.

use super::Prompt;
use super::item::Shown;
use crate::compact::record::Compaction;
use crate::id::Ordinal;
use crate::message::Message;
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

impl Coverage {
    /// Adds messages of this status; `None` for unaccounted ones.
    pub(crate) fn count(&mut self, status: Option<MessageStatus>, messages: u32) {
        let slot = match status {
            Some(MessageStatus::Raw) => &mut self.raw,
            Some(MessageStatus::Shortened) => &mut self.shortened,
            Some(MessageStatus::Hidden) => &mut self.hidden,
            Some(MessageStatus::Covered) => &mut self.covered,
            Some(MessageStatus::Dropped) => &mut self.dropped,
            None => &mut self.unaccounted,
        };
        *slot += messages;
        self.messages += messages;
    }
}

/// Counts the messages by status. Of those that a block covers, it visits only the ones that the prompt speaks of.
pub fn coverage(transcript: &Transcript, record: Option<&Compaction>, prompt: &Prompt) -> Coverage {
    let statuses = Statuses::of(record, prompt);
    let end = Ordinal(u32::try_from(transcript.messages().len()).unwrap_or(u32::MAX));
    let covered = record.and_then(|record| record.covers).map(|span| span.from..span.to.next().min(end));
    let covered = covered.filter(|covered| covered.start < covered.end).unwrap_or(end..end);
    let mut counts = Coverage::default();
    let (before, rest) = transcript.messages().split_at(covered.start.index());
    for message in before.iter().chain(rest.iter().skip((covered.end.0 - covered.start.0) as usize)) {
        counts.count(statuses.of_message(message), 1);
    }
    let (mut visited, mut shown) = (0, 0);
    for message in statuses.named().range(covered.clone()).filter_map(|ord| transcript.message(*ord)) {
        counts.count(statuses.of_message(message), 1);
        visited += 1;
        shown += u32::from(!message.is_hidden());
    }
    let shown =
        transcript.sums().shown_from(covered.start) - transcript.sums().shown_from(covered.end) - shown;
    counts.count(Some(MessageStatus::Covered), shown);
    counts.count(Some(MessageStatus::Hidden), covered.end.0 - covered.start.0 - visited - shown);
    counts
}

/// Returns the status of each of these messages that is there; `None` for one that is unaccounted for.
pub fn message_statuses(
    transcript: &Transcript,
    record: Option<&Compaction>,
    prompt: &Prompt,
    of: impl IntoIterator<Item = Ordinal>,
) -> impl Iterator<Item = (Ordinal, Option<MessageStatus>)> {
    let statuses = Statuses::of(record, prompt);
    let messages = of.into_iter().filter_map(|ord| transcript.message(ord));
    messages.map(move |message| (message.ord, statuses.of_message(message)))
}

/// What a prompt and the record in force tell of messages.
struct Statuses<'a> {
    record: Option<&'a Compaction>,
    shown: BTreeMap<Ordinal, Shown>,
    cut: BTreeSet<Ordinal>,
}

impl<'a> Statuses<'a> {
    fn of(record: Option<&'a Compaction>, prompt: &Prompt) -> Self {
        let mut shown: BTreeMap<Ordinal, Shown> = BTreeMap::new();
        for source in prompt.items.iter().flat_map(|item| &item.sources) {
            // A pin precedes the shortened message and shows it whole.
            shown.entry(source.ord).or_insert(source.shown);
        }
        Self { record, shown, cut: prompt.cuts.iter().filter_map(|cut| cut.ord).collect() }
    }

    /// The messages that the prompt shows or reports, and those that the record leaves out.
    fn named(&self) -> BTreeSet<Ordinal> {
        let excluded = self.record.into_iter().flat_map(|record| &record.excluded);
        self.shown.keys().chain(&self.cut).chain(excluded).copied().collect()
    }

    fn of_message(&self, message: &Message) -> Option<MessageStatus> {
        let ord = message.ord;
        match self.shown.get(&ord) {
            Some(Shown::Raw | Shown::Kept | Shown::Pinned) => Some(MessageStatus::Raw),
            Some(Shown::Shortened) => Some(MessageStatus::Shortened),
            None if message.is_hidden() => Some(MessageStatus::Hidden),
            None if self.record.is_some_and(|r| r.covers(ord) && !r.excluded.contains(&ord)) => {
                Some(MessageStatus::Covered)
            }
            None if self.cut.contains(&ord) => Some(MessageStatus::Dropped),
            None => None,
        }
    }
}
