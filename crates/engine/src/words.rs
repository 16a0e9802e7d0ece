//! Words that the session, its store and the protocol share: each is written once.

use serde::{Deserialize, Serialize};

/// The state of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "State"))]
pub enum StateName {
    /// Nothing runs.
    #[default]
    Idle,
    /// A model is asked, or a prompt is made for it.
    Generating,
    /// Tools run.
    ExecutingTools,
    /// A call waits for a decision of the user.
    Paused,
    /// A call waits for the editor's result, which may come much later.
    WaitingIde,
    /// The turn ended with a question to the user.
    WaitingUserInput,
    /// The turn ended and its work is done.
    Completed,
    /// The turn ended with an error.
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Origin {
    /// It began with nothing.
    #[default]
    New,
    /// It keeps what an edit, a retry, a cut or a reset of its parent would have lost.
    Rewind,
    /// A user went on from somewhere in its parent (`session/fork`).
    Branch,
    /// It runs for its parent.
    Background,
}

/// Who runs the loop of a session. A session keeps its driver for life.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Driver {
    /// The sidecar: it asks the model and has the tools run.
    #[default]
    Sidecar,
    /// The editor: it asks the sidecar for prompts only.
    Editor,
}

/// How a turn stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

/// What a model is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ModelPurpose"))]
pub enum Purpose {
    /// The next answer of a turn.
    Turn,
    /// A summary. It is not shown to the user.
    Summary,
    /// A name for the session, where the setting `titles` is `model`.
    Title,
}

/// How far a compaction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "CompactionPhase"))]
pub enum Phase {
    /// A prompt is too large, or somebody asked.
    Started,
    /// A model is asked for a summary.
    Summarizing,
    /// It is done, on disk, and the prompt obeys it.
    Accepted,
    /// A model's summary was refused.
    Refused,
    /// The next way is tried.
    FellBack,
    /// The user is asked about it.
    Reviewing,
    /// It was cancelled; everything is as before.
    Cancelled,
    /// Nothing makes the prompt fit; everything is as before.
    CannotFit,
    /// What it stands for was changed or cut off: the prompt obeys it no longer.
    Voided,
    /// The user took it out of force, or put another one in its place.
    Undone,
}

/// What a trigger counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TriggerMeasure"))]
pub enum Measure {
    /// Tokens of the prompt.
    Tokens,
    /// Turns of the user that are shown.
    Turns,
    /// Messages that are shown.
    Messages,
    /// Seconds since something was said.
    Seconds,
}

/// Why a prompt does not begin with the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PrefixBreak"))]
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
    /// The system text is made anew in each turn, by a setting.
    PerTurn,
    /// Completed turns are shown without their tool rounds, by a setting.
    StripCompletedTurns,
    /// Thinking that was shown before is left out, because the model takes it back only behind the prompt that it
    /// followed. What changed before it is told beside this.
    Thinking,
    /// Nobody announced it: a defect.
    Unknown,
}

/// Who names a session that the client does not name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Titles {
    /// Its first request does.
    #[default]
    Request,
    /// Its first request, until the model was asked after the first turn.
    Model,
}

/// Where a session is also written as a file that people and other programs may read and change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Trajectory {
    /// Nowhere.
    #[default]
    Off,
    /// Into `.threadhold/trajectories/{sessionId}.json` of its workspace.
    Workspace,
}

/// What of a turn is kept when it is over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum TranscriptKept {
    /// All of it.
    #[default]
    Full,
    /// What its user said and the answer that it came to; a call that ended the turn belongs to that, such as a question to
    /// the user. Other calls of tools, their results and answers that were broken off go when the turn ends, from prompts
    /// too, and `context/recall` says that they are gone. In sessions whose loop the editor runs nothing goes.
    FinalOnly,
}
