//! The compaction record: what replaces what, and how it came to be. Append only; a record is never rewritten, and
//! one that is out of force stays readable. How it is made stands in `plan` and `ladder`, how it is shown in
//! `prompt::history`.

use crate::id::{CompactionId, Generation, Ordinal, RoundId, Time, TurnId};
use crate::message::Text;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A span of a session as a prompt shows it from now on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Compaction {
    /// Its identity.
    pub id: CompactionId,
    /// The session's generation when it was planned; a result for another one is discarded.
    pub generation: Generation,
    /// The round that carries it as `round.summary`.
    pub anchor: Anchor,
    /// The inclusive range that the block stands for.
    pub covers: Option<Span>,
    /// The inclusive range that was dropped without a block, after the covered one.
    pub dropped: Option<Span>,
    /// Hash of what the covered and dropped ranges said when this was made.
    pub source_hash: String,
    /// Where the block stands.
    #[serde(default)]
    pub placement: Placement,
    /// The exact text that is rendered; may be empty where only actions apply.
    pub block: Text,
    /// Tokens of the block as a message.
    pub block_tokens: u32,
    /// The model's part of the block.
    pub narrative: Option<Text>,
    /// What is shown in another form after the covered range.
    pub actions: BTreeMap<Ordinal, Action>,
    /// User messages of the covered range that stay, byte for byte, before the block.
    pub kept_users: Vec<Ordinal>,
    /// User messages of the covered range that stay out: over their budget, and named in the block.
    pub reported_users: Vec<Ordinal>,
    /// The requests of the turn that was cut in its middle; they stand after the block, before the turn's rounds.
    pub open_requests: Vec<Ordinal>,
    /// Messages that the user left out, calls with their results. Newer records carry them on.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub excluded: BTreeSet<Ordinal>,
    /// Tokens of the prompt that was too large.
    pub tokens_before: u32,
    /// Tokens of the same prompt under this record.
    pub tokens_after: u32,
    /// The most that prompt was to weigh, in tokens: the target size, or the limit where the last rung could not reach
    /// that. Nothing where no size was aimed at: by hand, or from a source that does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<u32>,
    /// Who counted.
    pub estimator: String,
    /// What started it.
    pub trigger: Trigger,
    /// What was asked for.
    pub mode_requested: ModeRequested,
    /// The rung that reached the target.
    pub mode: Mode,
    /// How far the deterministic steps went.
    pub strength: Strength,
    /// Why earlier rungs did not serve, in their order.
    pub fallbacks: Vec<Fallback>,
    /// What the summary was to keep in view, in the words of who asked for it.
    #[serde(default)]
    pub focus: Option<String>,
    /// Whether the user was asked about it and said nothing in time.
    #[serde(default)]
    pub unreviewed: bool,
    /// The model that wrote the narrative.
    pub model: Option<String>,
    /// How often that model was asked once more: for another piece, for a shorter one, or in the place of another model.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub asked_again: u32,
    /// Whether the summarizer saw less than all of the span.
    pub input_truncated: bool,
    /// Rounds in the covered range.
    pub num_rounds: u32,
    /// The record that was in force before.
    pub previous: Option<CompactionId>,
    /// The record that the user put this one in the place of; it comes back where this one is undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<CompactionId>,
    /// The turn that ran when it was made; its metadata belongs to that turn.
    #[serde(default)]
    pub turn: Option<TurnId>,
    /// When it was made. Nothing in a replay, which has no clock.
    #[serde(default)]
    pub created_at: Option<Time>,
    /// From the overflow to the acceptance, in milliseconds.
    #[serde(default)]
    pub duration_ms: Option<u64>,
    /// Whether it is obeyed.
    pub status: Status,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// An inclusive range of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The first message.
    pub from: Ordinal,
    /// The last message.
    pub to: Ordinal,
}

/// Where a summary hangs. A turn without rounds is found by its ordinal and the hash of what it said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Anchor {
    /// The round, or a stand-in id made from the turn where it has none.
    pub round_id: RoundId,
    /// The last message at or before the end of the range.
    pub ord: Ordinal,
    /// Hash of that message.
    pub hash: String,
}

/// A message after the covered range that is shown in another form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Action {
    /// A tool result is shown by this many bytes of its head and its tail.
    Shorten {
        /// Bytes of the head.
        head: u32,
        /// Bytes of the tail.
        tail: u32,
        /// Tokens of the message so shown.
        tokens: u32,
        /// Whether it tells the id under which the rest is fetched: a model that can do so was there when this was made.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        named: bool,
    },
    /// A tool result's text stands again in a newer one, which is named.
    Repeat {
        /// The newer message.
        newer: Ordinal,
        /// Tokens of the message so shown.
        tokens: u32,
    },
}

/// Where the block of a compaction stands in the prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Placement {
    /// A user message before the history that it does not stand for.
    #[default]
    UserAtBoundary,
    /// A system message there.
    SystemMessage,
    /// The end of the system message.
    SystemPromptTail,
}

/// What started a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "CompactionTrigger"))]
pub enum Trigger {
    /// A prompt was over its limit.
    BudgetExceeded,
    /// A provider said that a prompt was too large.
    ProviderOverflow,
    /// A prompt was near its limit when a turn began.
    PreTurnTokens,
    /// It was prepared beside a running turn, and then needed.
    Background,
    /// The next model's window was smaller.
    ModelChanged,
    /// So many user turns were shown.
    UserTurns,
    /// So many messages were shown.
    Messages,
    /// Nothing was said for so long.
    Idle,
    /// Somebody asked for it.
    Manual,
    /// A client's history brought a summary that says no more than a round and a text.
    Restored,
    /// The source of an import had compacted here.
    Recorded,
}

/// Which kind of summary is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SummaryMode"))]
pub enum ModeRequested {
    /// Full, then simple.
    #[default]
    Auto,
    /// The model reads the conversation as it was sent.
    Full,
    /// The model reads a text made of it.
    Simple,
}

/// How a compaction was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "CompactionMode"))]
pub enum Mode {
    /// Old tool results were shortened. No model is asked for that.
    LimitHistory,
    /// A model summed up the conversation as it was sent.
    Full,
    /// A model summed up a text made of the conversation.
    Simple,
    /// What was done and which names were used, without a model.
    Ledger,
    /// Whole old rounds were dropped, without a model.
    Dropped,
    /// The user left messages out.
    Excluded,
    /// The user changed the summary of an accepted one.
    Edited,
}

/// How far the deterministic steps of a compaction went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Strength {
    /// They did nothing.
    #[default]
    Absent,
    /// Repeated content was folded.
    Low,
    /// Old tool results were shortened.
    Medium,
    /// History was limited.
    High,
}

/// A rung that did not serve, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fallback {
    /// The rung.
    pub mode: Mode,
    /// Why, in words for people and logs.
    pub reason: String,
    /// How often a model was asked at this rung, in vain. Nothing in a record of a version that did not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<u32>,
}

/// Whether a compaction is obeyed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "CompactionStatus"))]
pub enum Status {
    /// The prompt obeys it, unless a newer one is in force.
    InForce,
    /// What it stands for is no longer in the session.
    Void,
    /// The user took it out of force.
    Undone,
    /// It was found in an import; the prompt starts from the originals.
    Recorded,
}

impl Compaction {
    /// The first message that rendering shows in its place.
    pub fn resume_at(&self) -> Ordinal {
        self.dropped.or(self.covers).map_or(Ordinal(0), |span| span.to.next())
    }

    /// The newest message that it speaks of.
    pub fn newest_named(&self) -> Option<Ordinal> {
        let spans = [self.covers, self.dropped].into_iter().flatten().map(|span| span.to);
        let users = [&self.kept_users, &self.reported_users, &self.open_requests].into_iter().flatten();
        let newer = self.actions.values().filter_map(|action| match action {
            Action::Repeat { newer, .. } => Some(*newer),
            Action::Shorten { .. } => None,
        });
        let named = spans.chain(users.copied()).chain(self.excluded.iter().copied());
        named.chain(self.actions.keys().copied()).chain(newer).max()
    }

    /// Whether all that it speaks of is among so many messages.
    pub fn is_within(&self, messages: usize) -> bool {
        let mut spans = [self.covers, self.dropped].into_iter().flatten();
        spans.all(|span| span.from <= span.to)
            && self.newest_named().is_none_or(|newest| newest.index() < messages)
    }

    /// Whether the message is one that it speaks of.
    pub fn speaks_of(&self, ord: Ordinal) -> bool {
        let spans = [self.covers, self.dropped];
        let mut users = [&self.kept_users, &self.reported_users, &self.open_requests].into_iter().flatten();
        spans.into_iter().flatten().any(|span| span.holds(ord))
            || users.any(|user| *user == ord)
            || self.excluded.contains(&ord)
            || self.actions.contains_key(&ord)
            || self
                .actions
                .values()
                .any(|action| matches!(action, Action::Repeat { newer, .. } if *newer == ord))
    }

    /// How often a model was asked for its narrative, beside what was asked in vain at the rungs before.
    pub fn asked(&self) -> u32 {
        self.model.as_ref().map_or(0, |_| 1 + self.asked_again)
    }

    /// Whether the message is in the covered range.
    pub fn covers(&self, ord: Ordinal) -> bool {
        self.covers.is_some_and(|span| span.holds(ord))
    }
}

impl Span {
    /// Whether the message is in this range.
    pub fn holds(self, ord: Ordinal) -> bool {
        self.from <= ord && ord <= self.to
    }
}

impl Action {
    /// Whether the message so shown tells the id under which the rest of it is fetched.
    pub fn is_named(self) -> bool {
        matches!(self, Action::Shorten { named: true, .. })
    }

    /// Tokens of the message under this action.
    pub fn tokens(self) -> u32 {
        match self {
            Action::Shorten { tokens, .. } | Action::Repeat { tokens, .. } => tokens,
        }
    }
}
