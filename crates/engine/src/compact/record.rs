//! The compaction record: which messages it replaces by what, and how it was made. Append only; a record is never
//! rewritten, and one out of force stays readable. `plan` and `ladder` make records, `prompt::history` renders them.

use crate::cost::Cost;
use crate::id::{CompactionId, Generation, Ordinal, RoundId, Time, TurnId};
use crate::message::Text;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A compaction: the form in which later prompts show a span of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Compaction {
    /// Id of the record.
    pub id: CompactionId,
    /// Generation of the session at the time; a result for another generation is discarded.
    pub generation: Generation,
    /// The round that carries it as `round.summary`.
    pub anchor: Anchor,
    /// The inclusive range that the block replaces.
    pub covers: Option<Span>,
    /// The inclusive range that was dropped without a block, after the covered one.
    pub dropped: Option<Span>,
    /// Hash of the covered and dropped messages at the time.
    pub source_hash: String,
    /// Placement of the block.
    #[serde(default)]
    pub placement: Placement,
    /// The exact text that is rendered; may be empty where only actions apply.
    pub block: Text,
    /// Tokens of the block as a message.
    pub block_tokens: u32,
    /// The narrative in the block, usually a model's.
    pub narrative: Option<Text>,
    /// Messages after the covered range that are shown in another form.
    pub actions: BTreeMap<Ordinal, Action>,
    /// User messages of the covered range that stay, byte for byte, before the block.
    pub kept_users: Vec<Ordinal>,
    /// User messages of the covered range that are over their budget and only named in the block.
    pub reported_users: Vec<Ordinal>,
    /// Requests of a turn that was cut in its middle; shown after the block, before the turn's rounds.
    pub open_requests: Vec<Ordinal>,
    /// Messages that the user excluded, calls with their results. Newer records carry them on.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub excluded: BTreeSet<Ordinal>,
    /// Tokens of the prompt before the compaction.
    pub tokens_before: u32,
    /// Tokens of the same prompt under this record.
    pub tokens_after: u32,
    /// Tokens that the prompt was not to exceed: the target, or the limit if the last rung could not reach that. `None`
    /// for a record without a target: made by hand, or from a source that states none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<u32>,
    /// Name of the token counter.
    pub estimator: String,
    /// The trigger that started it.
    pub trigger: Trigger,
    /// The kind of summary that the policy asked for.
    pub mode_requested: ModeRequested,
    /// The rung that reached the target.
    pub mode: Mode,
    /// Last deterministic step that was applied.
    pub strength: Strength,
    /// Rungs that failed before, in order.
    pub fallbacks: Vec<Fallback>,
    /// Topic that the summary should emphasize, as worded by the requester.
    #[serde(default)]
    pub focus: Option<String>,
    /// `true` if the user was asked about it and did not answer in time.
    #[serde(default)]
    pub unreviewed: bool,
    /// The model that wrote the narrative.
    pub model: Option<String>,
    /// Further requests to that model: for another piece, for a shorter summary, or in place of another model.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub asked_again: u32,
    /// The cost of all requests for it, at failed rungs and ahead of time too, if any is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// `true` if the summarizer saw less than the whole span.
    pub input_truncated: bool,
    /// Rounds in the covered range.
    pub num_rounds: u32,
    /// The record that was in force before.
    pub previous: Option<CompactionId>,
    /// The record that the user replaced by this one; undoing this one puts it back in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<CompactionId>,
    /// The turn that was running at the time; the metadata belongs to that turn.
    #[serde(default)]
    pub turn: Option<TurnId>,
    /// Time of creation; `None` in a replay, which has no clock.
    #[serde(default)]
    pub created_at: Option<Time>,
    /// From the overflow to the acceptance, in milliseconds.
    #[serde(default)]
    pub duration_ms: Option<u64>,
    /// Validity of the record.
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

/// Position of a summary. A turn without rounds is found by ordinal and hash.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Anchor {
    /// Id of the round, or a stand-in made of the turn's id if that has no round.
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
    /// Shows this many bytes of the head and the tail of a tool result, or of each string of an answer's arguments.
    Shorten {
        /// Bytes of the head.
        head: u32,
        /// Bytes of the tail.
        tail: u32,
        /// Tokens of the message in this form.
        tokens: u32,
        /// `true` if the text names the id for fetching the rest, which the model of the time could do.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        named: bool,
    },
    /// Names a newer message that has the same text.
    Repeat {
        /// The newer message.
        newer: Ordinal,
        /// Tokens of the message in this form.
        tokens: u32,
    },
}

/// Placement of a compaction's block in the prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Placement {
    /// A user message before the history that is not covered.
    #[default]
    UserAtBoundary,
    /// A system message at that position.
    SystemMessage,
    /// The end of the system message.
    SystemPromptTail,
}

/// Trigger of a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "CompactionTrigger"))]
pub enum Trigger {
    /// A prompt was over its limit.
    BudgetExceeded,
    /// A provider rejected a prompt as too large.
    ProviderOverflow,
    /// A prompt was near its limit when a turn began.
    PreTurnTokens,
    /// A summary prepared beside a running turn was needed.
    Background,
    /// The next model's window was smaller.
    ModelChanged,
    /// The limit of shown user turns was exceeded.
    UserTurns,
    /// The limit of shown messages was exceeded.
    Messages,
    /// The session was idle for the configured time.
    Idle,
    /// The compaction was requested.
    Manual,
    /// A client's history had a summary with only a round and a text.
    Restored,
    /// The source of an import had compacted at this point.
    Recorded,
}

/// Kind of summary that is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SummaryMode"))]
pub enum ModeRequested {
    /// Full, then simple.
    #[default]
    Auto,
    /// The model reads the conversation as it was sent.
    Full,
    /// The model reads a text made of the conversation.
    Simple,
}

/// Method of a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "CompactionMode"))]
pub enum Mode {
    /// Old tool results were shortened. No model is asked for that.
    LimitHistory,
    /// A model summarized the conversation as it was sent.
    Full,
    /// A model summarized a text made of the conversation.
    Simple,
    /// A list of tool effects and names was made, without a model.
    Ledger,
    /// Whole old rounds were dropped, without a model.
    Dropped,
    /// The user excluded messages.
    Excluded,
    /// The user edited the summary of an accepted compaction.
    Edited,
    /// The program that an imported session comes from made the summary.
    Recorded,
}

/// Last deterministic step that a compaction applied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Strength {
    /// No step was applied.
    #[default]
    Absent,
    /// Repeated content was folded.
    Low,
    /// Old tool results were shortened.
    Medium,
    /// History was limited.
    High,
}

/// A rung that failed, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fallback {
    /// The rung.
    pub mode: Mode,
    /// The reason, for people and logs.
    pub reason: String,
    /// Number of requests to a model at this rung; `None` in a record of a version that did not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<u32>,
}

/// Validity of a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "CompactionStatus"))]
pub enum Status {
    /// Prompts apply it, unless a newer one is in force.
    InForce,
    /// The covered messages are no longer in the session.
    Void,
    /// The user took it out of force.
    Undone,
    /// Found in an import; prompts show the original messages.
    Recorded,
}

impl Compaction {
    /// Returns the first message after the covered and dropped ranges.
    pub fn resume_at(&self) -> Ordinal {
        self.dropped.or(self.covers).map_or(Ordinal(0), |span| span.to.next())
    }

    /// Returns the newest message that it refers to.
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

    /// `true` if its ranges are valid and all that it refers to is among the first `messages`.
    pub fn is_within(&self, messages: usize) -> bool {
        let mut spans = [self.covers, self.dropped].into_iter().flatten();
        spans.all(|span| span.from <= span.to)
            && self.newest_named().is_none_or(|newest| newest.index() < messages)
    }

    /// `true` if it refers to the message.
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

    /// Number of requests to a model for its narrative, without those at failed rungs.
    pub fn asked(&self) -> u32 {
        self.model.as_ref().map_or(0, |_| 1 + self.asked_again)
    }

    /// `true` if the message is in the covered range.
    pub fn covers(&self, ord: Ordinal) -> bool {
        self.covers.is_some_and(|span| span.holds(ord))
    }
}

impl Span {
    /// `true` if the message is in this range.
    pub fn holds(self, ord: Ordinal) -> bool {
        self.from <= ord && ord <= self.to
    }
}

impl Action {
    /// `true` if the text names the id for fetching the rest of the message.
    pub fn is_named(self) -> bool {
        matches!(self, Action::Shorten { named: true, .. })
    }

    /// Returns the tokens of the message under this action.
    pub fn tokens(self) -> u32 {
        match self {
            Action::Shorten { tokens, .. } | Action::Repeat { tokens, .. } => tokens,
        }
    }
}
