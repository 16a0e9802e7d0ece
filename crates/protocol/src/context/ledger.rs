//! The ledger of what a compaction keeps out of sight, as clients see it: what the tools did there, entry by entry.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `context/ledger`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextLedgerParams {
    /// The session.
    pub session_id: String,
    /// Where the page begins: `nextCursor` of the one before. It holds while the same compaction is in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// The most entries to answer, from 1 to 1,000. Default: 200.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Result of `context/ledger`: all that the tools did in what the compaction in force covers or has dropped, by name, also
/// what its block only counts. It is read from the conversation itself, by code. A page fills the lists in the order in which
/// they stand here, each with the newest first; what looks like a secret is masked. User messages that are not shown
/// whole are among `cuts` of `context/inspect`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextLedgerResult {
    /// The compaction in force; missing where there is none, and then all lists are empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction_id: Option<String>,
    /// The first message that it covers or has dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_ord: Option<u32>,
    /// The last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_ord: Option<u32>,
    /// Entries on all pages together.
    pub entries: u32,
    /// Files that were changed, read, or named in a command.
    pub files: Vec<LedgerFile>,
    /// Commands that were run.
    pub commands: Vec<LedgerCommand>,
    /// The last run of tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_test: Option<LedgerTest>,
    /// Todos that are open, from the newest list, in its order.
    pub todos: Vec<LedgerTodo>,
    /// What the user decided about calls.
    pub decisions: Vec<LedgerDecision>,
    /// Notebook cells that were run.
    pub cells: Vec<LedgerCell>,
    /// Calls of tools that change or run something, whose arguments could not be read.
    pub unreadable: Vec<LedgerUnreadable>,
    /// Pictures that no kept message shows.
    pub images: Vec<LedgerImage>,
    /// Where the next page begins; missing where this is the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CallOutcome {
    /// It answered, and did not say that it failed.
    Ok,
    /// It said that it failed, or its exit code was not 0.
    Error,
    /// No result was recorded.
    Unknown,
}

/// A file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerFile {
    /// Its path as the calls named it.
    pub path: String,
    /// How often it was changed; 0 for one that was only read or named.
    pub changed: u32,
    /// SHA-256 of what it held after the last change, lower-case hexadecimal: where a tool reported it, or wrote the file as a
    /// whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The message with the last call about it, for `context/recall`.
    pub message_id: String,
}

/// A command, once for each way in which it ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerCommand {
    /// The command on one line, cut behind 400 bytes.
    pub command: String,
    /// How it ended.
    pub outcome: CallOutcome,
    /// The exit code that the tool stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// How often it ran and ended so.
    pub times: u32,
    /// The message with the last such run, for `context/recall`.
    pub message_id: String,
}

/// A run of tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerTest {
    /// The command on one line, cut behind 400 bytes.
    pub command: String,
    /// How it ended.
    pub outcome: CallOutcome,
    /// The exit code that the tool stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The failing tests that its output names.
    pub failing: Vec<String>,
    /// The last lines of an output that names none.
    pub last_lines: Vec<String>,
    /// The message with the run, for `context/recall`.
    pub message_id: String,
}

/// An open todo.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerTodo {
    /// What is to do.
    pub text: String,
    /// How it stands, in the words of the tool.
    pub status: String,
}

/// What the user decided about calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerDecision {
    /// The tool and what it was to do it with.
    pub call: String,
    /// Whether it was allowed.
    pub approved: bool,
    /// What the user said about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// How often.
    pub times: u32,
    /// The message with the last such call, for `context/recall`.
    pub message_id: String,
}

/// A notebook's cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerCell {
    /// The cell.
    pub cell: String,
    /// The notebook, where the call named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notebook: Option<String>,
    /// How its last run ended.
    pub outcome: CallOutcome,
    /// The exit code that the tool stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// What that put out: `text`, `image`, `file`.
    pub output: Vec<String>,
    /// How often it ran.
    pub times: u32,
    /// The message with the last run, for `context/recall`.
    pub message_id: String,
}

/// Calls that could not be read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerUnreadable {
    /// The tool.
    pub tool: String,
    /// How they ended.
    pub outcome: CallOutcome,
    /// The exit code that the tool stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// How many.
    pub times: u32,
    /// The message with the last of them, for `context/recall`.
    pub message_id: String,
}

/// A picture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LedgerImage {
    /// Such as `image/png`.
    pub media_type: String,
    /// SHA-256 of its data as it was given, lower-case hexadecimal.
    pub sha256: String,
    /// The message that holds it, for `context/recall`.
    pub message_id: String,
}
