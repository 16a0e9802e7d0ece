//! Enumerations shared by the session, its store and the protocol.

use serde::{Deserialize, Serialize};

/// The state of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "State"))]
pub enum StateName {
    /// No turn is running.
    #[default]
    Idle,
    /// A model is generating, its prompt is being prepared, or the editor's loop runs its turn.
    Generating,
    /// Tools are running.
    ExecutingTools,
    /// A call waits for the user's decision.
    Paused,
    /// A call waits for the editor's result, which may come much later.
    WaitingIde,
    /// The turn ended with a question to the user, or waits for agents; a user's message comes first in both.
    WaitingUserInput,
    /// The turn ended with its work done.
    Completed,
    /// The turn ended with an error.
    Error,
}

impl StateName {
    /// Every state, in the order of declaration.
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

    /// Returns the name on a wire.
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

/// The origin of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Origin {
    /// Created empty.
    #[default]
    New,
    /// Made by a rewind, in a store of an earlier version. Holds the part of its parent that the rewind removed.
    Rewind,
    /// Keeps its parent as it was before a rewind. `session/history` of the parent lists it, no other list does.
    Revision,
    /// Forked by a user from a point in its parent (`session/fork`).
    Branch,
    /// Runs in the background for its parent.
    Background,
}

/// The cause of a rewind, which leaves a revision of the session behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum RevisionCause {
    /// A message was edited.
    Edit,
    /// A message was removed.
    Remove,
    /// A request was sent again, or an answer was generated again.
    Retry,
    /// The end of the session was cut off.
    Truncate,
    /// A new chat was started under the same id.
    Reset,
    /// The editor's history differed.
    History,
    /// The session's file in the workspace was changed by another program.
    File,
    /// An earlier revision was restored.
    Restore,
}

/// The side that runs the loop of a session. Fixed for the session's life.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Driver {
    /// The sidecar: it sends requests to the model and has the tools run.
    #[default]
    Sidecar,
    /// The editor: it requests only prompts from the sidecar.
    Editor,
}

/// The status of a turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum TurnStatus {
    /// The turn is running, or its process ended before it did.
    #[default]
    Running,
    /// The model had nothing more to do.
    Completed,
    /// The turn was cancelled.
    Cancelled,
    /// The turn failed.
    Failed,
}

/// The purpose of a request to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ModelPurpose"))]
pub enum Purpose {
    /// The next answer of a turn.
    Turn,
    /// A summary, which is not shown to the user.
    Summary,
    /// A title for the session, if the setting `titles` is `model`.
    Title,
}

/// The phase of a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "CompactionPhase"))]
pub enum Phase {
    /// A prompt is too large, or a compaction was requested.
    Started,
    /// A model is writing a summary.
    Summarizing,
    /// The compaction is stored and in force.
    Accepted,
    /// A model's summary was rejected.
    Refused,
    /// A fallback mode is tried next.
    FellBack,
    /// The user is reviewing the compaction.
    Reviewing,
    /// The compaction was cancelled; nothing changed.
    Cancelled,
    /// No compaction makes the prompt fit; nothing changed.
    CannotFit,
    /// Messages that the compaction replaces were changed or truncated: it is no longer in force.
    Voided,
    /// The user undid the compaction, or replaced it by another one.
    Undone,
}

/// The unit of a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "TriggerMeasure"))]
pub enum Measure {
    /// Tokens of the prompt.
    Tokens,
    /// User turns shown.
    Turns,
    /// Messages shown.
    Messages,
    /// Seconds since the last message.
    Seconds,
}

/// The source of a limit that was learned from a provider's refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum LimitSource {
    /// The provider stated how large a prompt may be.
    Stated,
    /// The provider stated how large prompt and answer may be together; the room for the answer is taken off.
    StatedWithAnswer,
    /// The provider stated no number: a little less than the prompt that it did not take.
    Guessed,
}

/// The reason why a prompt does not begin with the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PrefixBreak"))]
pub enum BreakCause {
    /// A compaction came into force.
    Compaction,
    /// A compaction was undone.
    Undo,
    /// A compaction was redone.
    Redo,
    /// A pin was added.
    Pin,
    /// A pin was removed.
    Unpin,
    /// Messages were excluded.
    Exclude,
    /// A message was edited.
    Edit,
    /// A message was removed.
    Remove,
    /// The transcript was truncated.
    Truncate,
    /// An answer is generated again.
    Retry,
    /// The session was reset.
    Reset,
    /// The editor's history differs.
    History,
    /// Summaries stored by the editor came into force, or a revision was restored.
    Restore,
    /// A result arrived for a call that an earlier prompt showed without one.
    LateResult,
    /// The model changed.
    Model,
    /// The tools changed.
    Tools,
    /// System text or sections changed.
    System,
    /// The system text is rebuilt for each turn, by a setting.
    PerTurn,
    /// Completed turns are shown without their tool rounds, by a setting.
    StripCompletedTurns,
    /// Thinking shown before is left out, because the model accepts it only after the prompt it followed. The
    /// earlier change is reported beside this one.
    Thinking,
    /// No cause was announced: a bug.
    Unknown,
}

/// The source of a session's title if the client sets none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Titles {
    /// The first request.
    #[default]
    Request,
    /// The first request, then the model, asked after the first turn.
    Model,
}

/// The export of a session to a file that people and other programs may read and change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Trajectory {
    /// No file.
    #[default]
    Off,
    /// A file `.threadhold/trajectories/{sessionId}.json` in the session's workspace.
    Workspace,
}

/// The part of a turn that is kept when it is over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum TranscriptKept {
    /// Everything.
    #[default]
    Full,
    /// The user messages and the final answer, with a call that ended the turn, such as a question to the user. Other
    /// tool calls, their results and interrupted answers are deleted when the turn ends, from prompts too, and
    /// `context/recall` reports them as deleted. Sessions whose loop the editor runs keep everything.
    FinalOnly,
}
