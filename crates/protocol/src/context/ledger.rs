//! The ledger: what the tools did in the messages that a compaction covers or drops, entry by entry.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `context/ledger`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextLedgerParams {
    /// Id of the session.
    pub session_id: String,
    /// `nextCursor` of the previous page. Fails with `InvalidParams` once another compaction is in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Largest number of entries on the page, at most 1,000. Default: 200.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Parameters of `session/ledger`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionLedgerParams {
    /// Id of the session.
    pub session_id: String,
    /// Folder whose store has the session; ignored while the session is open. Default: the folder where it was last
    /// open, or the client's first folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_folder: Option<String>,
    /// `nextCursor` of the previous page. Later pages leave out what was said since the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Largest number of entries on the page, at most 1,000. Default: 200.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Result of `context/ledger`: everything that the tools did in the messages that the compaction in force covers or
/// drops, by name, including what its block only counts. Code reads it from the conversation; no model is involved. A
/// page fills the lists in the order of these fields, each with the newest first. Text that looks like a secret is
/// masked. User messages that are not shown whole are in `cuts` of `context/inspect`. `session/ledger` returns the same
/// of all messages, without `compactionId`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextLedgerResult {
    /// Id of the compaction in force; absent if there is none, and then all lists are empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction_id: Option<String>,
    /// Position of the first message that the compaction covers, or drops if it drops any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_ord: Option<u32>,
    /// Position of the last such message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_ord: Option<u32>,
    /// Number of entries on all pages.
    pub entries: u32,
    /// Files changed, read, or named in a command.
    pub files: Vec<LedgerFile>,
    /// Commands run.
    pub commands: Vec<LedgerCommand>,
    /// Commands that may have changed files which their text does not tell.
    pub unclear: Vec<LedgerUnclear>,
    /// Last test run; absent if there is none or it is on another page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_test: Option<LedgerTest>,
    /// Newest failure of a command that has not ended well since; absent if there is none or it is on another page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<LedgerFailure>,
    /// Open todos of the newest todo list, in its order.
    pub todos: Vec<LedgerTodo>,
    /// User's decisions about calls.
    pub decisions: Vec<LedgerDecision>,
    /// Notebook cells run.
    pub cells: Vec<LedgerCell>,
    /// Calls of tools that change or run something, if their arguments could not be read.
    pub unreadable: Vec<LedgerUnreadable>,
    /// Pictures that no kept message shows.
    pub images: Vec<LedgerImage>,
    /// `cursor` of the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// The outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CallOutcome {
    /// A result without a failure.
    Ok,
    /// A failure, or an exit code other than 0.
    Error,
    /// No result was recorded.
    Unknown,
}

/// A file in the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerFile {
    /// Path, relative to the session's folder if the file is in it, else as the calls first named it.
    pub path: String,
    /// State after all calls that are known to have had their effect.
    pub state: LedgerFileState,
    /// Path before the file was renamed; the first one of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renamed_from: Option<String>,
    /// Later effect that is not certain, because its command failed or depends on a condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perhaps: Option<LedgerPerhaps>,
    /// Number of changes; 0 if the file was only read or named.
    pub changed: u32,
    /// SHA-256 of the content after the last change, in lower-case hexadecimal; absent unless a tool reported it or
    /// wrote the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Id of the message with the last call that concerns the file, for `context/recall`.
    pub message_id: String,
}

/// The state of a file in the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum LedgerFileState {
    /// Read, or named in a command.
    Unchanged,
    /// Made by a call.
    Created,
    /// Written or renamed.
    Changed,
    /// Not there any more.
    Deleted,
}

/// An effect on a file that is not certain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "effect")]
pub enum LedgerPerhaps {
    /// The content may be another.
    Changed,
    /// The file may not be there any more.
    Deleted,
    /// The file may have another path.
    RenamedTo {
        /// That path.
        path: String,
    },
    /// The file may have come from another path.
    RenamedFrom {
        /// That path.
        path: String,
    },
}

/// Part of a command that may have changed files which its text does not tell, such as a script or `git stash pop`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerUnclear {
    /// Part on one line, cut.
    pub part: String,
    /// Id of the message with the last command that has it, for `context/recall`.
    pub message_id: String,
}

/// A command in the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerCommand {
    /// Command on one line, cut after 400 bytes.
    pub command: String,
    /// Outcome of the last run.
    pub outcome: CallOutcome,
    /// Exit code that the tool stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Number of runs, whatever their outcomes.
    pub times: u32,
    /// Id of the message with the last run, for `context/recall`.
    pub message_id: String,
}

/// A test run in the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerTest {
    /// Command on one line, cut after 400 bytes.
    pub command: String,
    /// Outcome of the run.
    pub outcome: CallOutcome,
    /// Exit code that the tool stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Names of the failing tests in the output.
    pub failing: Vec<String>,
    /// Last lines of the output, if it names no failing test.
    pub last_lines: Vec<String>,
    /// `true` if files were changed after the run.
    pub is_outdated: bool,
    /// Id of the message with the run, for `context/recall`.
    pub message_id: String,
}

/// A failed run of a command in the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerFailure {
    /// Command on one line, cut after 400 bytes.
    pub command: String,
    /// Outcome of the run.
    pub outcome: CallOutcome,
    /// Exit code that the tool stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// First lines of the failure's message, at most six.
    pub message: Vec<String>,
    /// `true` if files were changed after the run.
    pub is_outdated: bool,
    /// Id of the message with the run, for `context/recall`.
    pub message_id: String,
}

/// An open todo in the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerTodo {
    /// Text of the todo.
    pub text: String,
    /// Status, in the tool's words.
    pub status: String,
}

/// A user's decision about calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerDecision {
    /// Tool, with the subject of the call.
    pub call: String,
    /// `true` if the calls were approved.
    pub approved: bool,
    /// User's words about the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Number of such decisions.
    pub times: u32,
    /// Id of the message with the last such call, for `context/recall`.
    pub message_id: String,
}

/// A notebook cell in the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerCell {
    /// Name of the cell.
    pub cell: String,
    /// Name of the notebook, if the call had it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notebook: Option<String>,
    /// Outcome of the last run.
    pub outcome: CallOutcome,
    /// Exit code that the tool stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Kinds of output of the last run: `text`, `image`, `file`.
    pub output: Vec<String>,
    /// Number of runs.
    pub times: u32,
    /// Id of the message with the last run, for `context/recall`.
    pub message_id: String,
}

/// Calls of a tool whose arguments could not be read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerUnreadable {
    /// Name of the tool.
    pub tool: String,
    /// Outcome of these calls.
    pub outcome: CallOutcome,
    /// Exit code that the tool stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Number of these calls.
    pub times: u32,
    /// Id of the message with the last of them, for `context/recall`.
    pub message_id: String,
}

/// A picture in the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerImage {
    /// MIME type, such as `image/png`.
    pub mime_type: String,
    /// SHA-256 of the data as given, in lower-case hexadecimal.
    pub sha256: String,
    /// Id of the message that holds the picture, for `context/recall`.
    pub message_id: String,
}
