//! Words that the session, its store and the protocol share: each is written once.

use serde::{Deserialize, Serialize};

/// A state as clients know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StateName {
    /// Nothing runs; the next turn may begin.
    Idle,
    /// A model answers or sums up.
    Generating,
    /// Our own tools run.
    ExecutingTools,
    /// A user decides about calls.
    Paused,
    /// The editor runs tools.
    WaitingIde,
    /// The model asked its user something.
    WaitingUserInput,
    /// The last turn came to its end.
    Completed,
    /// The last turn failed.
    Error,
}

impl StateName {
    /// All of them, in the order of document 001.
    pub const ALL: [Self; 8] = [
        Self::Idle,
        Self::Generating,
        Self::ExecutingTools,
        Self::Paused,
        Self::WaitingIde,
        Self::WaitingUserInput,
        Self::Completed,
        Self::Error,
    ];

    /// The name on a wire.
    pub fn name(self) -> &'static str {
        match self {
            StateName::Idle => "idle",
            StateName::Generating => "generating",
            StateName::ExecutingTools => "executingTools",
            StateName::Paused => "paused",
            StateName::WaitingIde => "waitingIde",
            StateName::WaitingUserInput => "waitingUserInput",
            StateName::Completed => "completed",
            StateName::Error => "error",
        }
    }
}

/// How a session came to be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Origin {
    /// It began with nothing.
    #[default]
    New,
    /// It keeps what a rewind of its parent cut off.
    Rewind,
    /// A user went on from somewhere in its parent.
    Branch,
    /// It runs for its parent (source: 000).
    Background,
}

/// Who runs the loop of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Driver {
    /// We do: we ask the model and have the tools run.
    #[default]
    Sidecar,
    /// The editor does, and asks for prompts (source: 003).
    Editor,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TurnStatus {
    /// It runs, or the process that ran it is gone.
    #[default]
    Running,
    /// The model had nothing more to do.
    Completed,
    /// Somebody stopped it.
    Cancelled,
    /// It could not go on.
    Failed,
}

/// Why a model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To go on with a turn.
    Turn,
    /// To sum up.
    Summary,
    /// To name the session.
    Title,
}

/// Where a compaction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// It begins.
    Started,
    /// A model is asked.
    Summarizing,
    /// A rung did not serve; the next one is tried.
    FellBack,
    /// The user is asked about the record.
    Reviewing,
    /// There is a record.
    Accepted,
    /// There was nothing to gain, and nothing changed.
    Refused,
    /// It was cancelled.
    Cancelled,
    /// Nothing brings the prompt under its limit.
    CannotFit,
    /// What a record stands for was changed or cut off: it is obeyed no more.
    Voided,
    /// The user took it out of force, or put another one in its place.
    Undone,
}

/// What a trigger counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Tokens of the prompt.
    Tokens,
    /// User turns that are shown.
    Turns,
    /// Messages that are shown.
    Messages,
    /// Seconds since something was said.
    Seconds,
}

/// Why a prompt does not begin with the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum BreakCause {
    /// A compaction came into force.
    Compaction,
    /// One went out of force.
    Undo,
    /// One was made again, or came back.
    Redo,
    /// Something was pinned.
    Pin,
    /// Something is pinned no longer.
    Unpin,
    /// Messages were taken out of sight.
    Exclude,
    /// A message has other words.
    Edit,
    /// A message left.
    Remove,
    /// The end was cut off.
    Truncate,
    /// An answer is given again.
    Retry,
    /// A new chat began.
    Reset,
    /// The editor's history is another one.
    History,
    /// Summaries that the editor kept came into force.
    Restore,
    /// A result came for a call that stood in a prompt without one.
    LateResult,
    /// Another model is asked.
    Model,
    /// The tools are others.
    Tools,
    /// System text or sections are others.
    System,
    /// The system text is made anew in each turn, by a setting (source: 000).
    PerTurn,
    /// Completed turns are shown without their tool rounds, by a setting.
    StripCompletedTurns,
    /// Thinking that was shown before is left out, because the model takes it back only behind the prompt that it followed.
    Thinking,
    /// Nobody announced it: a defect.
    Unknown,
}

/// Who names a session that the client does not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Titles {
    /// Its first request does.
    #[default]
    Request,
    /// Its first request, until a model was asked after the first turn.
    Model,
}

/// Where a session is also written as a file that people and other programs may read and change (source: 001).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Trajectory {
    /// Nowhere.
    #[default]
    Off,
    /// Into `.threadhold/trajectories` of its workspace.
    Workspace,
}

/// What of a turn is kept when it is over, where we run the loop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TranscriptKept {
    /// All of it.
    #[default]
    Full,
    /// What its user said, and the answer that it came to (source: 002).
    FinalOnly,
}
