//! Turns and rounds: how a client starts and ends them, and how it hands over those that are past.

use crate::message::{AssistantInput, Content, MessageInput};
use crate::prompt::section::{Attachment, ContextFile, Notebook, Section, Variable};
use crate::session::queue::QueueItem;
use crate::session::restore::TurnMetadata;
use crate::session::state::State;
use crate::settings::Model;
use crate::tool::{Tool, ToolResult};
pub use engine::words::TurnStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A model's answer with the results of its tool calls, as a client gives it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Round {
    /// The client's id of the round: a summary names it as its `toolCallRoundId`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What the model answered.
    pub assistant: AssistantInput,
    /// The results of its calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<Vec<ToolResult>>,
    /// A summary that stands for this round and everything before it. Metadata of the turn that names the round wins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// A turn of the past, as a client hands it over.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    /// The sidecar's id of the turn, where the client knows it. It is not read: turns are matched by `externalId`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The client's id of the request. Turns are matched by it; without one by their position and content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// What the user asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Content>,
    /// Values that belonged to the request, as they were given when it was rendered first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variables: Option<Vec<Variable>>,
    /// Notebooks as they stood then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notebook: Option<Vec<Notebook>>,
    /// What was attached to the request when it was rendered first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attachments: Option<Vec<Attachment>>,
    /// The rounds that followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<Vec<Round>>,
    /// The final answer, where the client has no rounds; it is not read where there are some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Content>,
    /// The whole turn in its order. Where it is given, `request`, `rounds` and `response` are not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<MessageInput>>,
    /// What the sidecar gave for the turn: hand it back unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TurnMetadata>,
}

/// How a client says that a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TurnOutcome {
    /// The model had nothing more to do.
    Completed,
    /// Somebody stopped it.
    Cancelled,
    /// It could not go on.
    Failed,
}

/// Parameters of `turn/start`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnStartParams {
    /// The session.
    pub session_id: String,
    /// What the user asks.
    pub content: Content,
    /// The client's id of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// Files that are given with the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_files: Option<Vec<ContextFile>>,
    /// What is so now, such as the open files: captured with the request and never changed there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attachments: Option<Vec<Attachment>>,
    /// The tools from now on. A changed list changes the start of the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
    /// The caller's sections from now on. Changed ones change the start of the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sections: Option<Vec<Section>>,
    /// The model from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// Whether it goes before what waits, and into the turn that runs: an answer that is being given is broken off (what
    /// was said stays), a round's calls are waited for. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<bool>,
    /// A name for this request: sent again under the same name, it is answered again and not asked twice. The last 1,000
    /// of a session are remembered, also across restarts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// Result of `turn/start`. It comes as soon as the request is on disk; everything else comes as events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnStartResult {
    /// The turn. A request that waits and goes into a turn that runs belongs to that one: `messageAdded` says so.
    pub turn_id: String,
    /// The user's message.
    pub message_id: String,
    /// Where it has to wait: its id in the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
    /// Its place in the queue, from 1, where it has to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued_position: Option<u32>,
}

/// Parameters of `turn/cancel`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnCancelParams {
    /// The session.
    pub session_id: String,
    /// The turn, running or waiting; the running one where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// Whether what waits is not done either. Default: false; then the next in the queue begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_queued: Option<bool>,
}

/// Result of `turn/cancel`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnCancelResult {
    /// The turn that was cancelled; missing where none ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// The session's state afterwards.
    pub state: State,
    /// What waits no longer, with the user's words.
    pub removed: Vec<QueueItem>,
}

/// Parameters of `turn/end`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnEndParams {
    /// The session.
    pub session_id: String,
    /// The turn; the running one where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// How it ended. Default: `completed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<TurnOutcome>,
}

/// Result of `turn/end`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnEndResult {
    /// The turn.
    pub turn_id: String,
    /// All that is to be persisted with the turn and handed back unchanged.
    pub metadata: TurnMetadata,
}

/// Parameters of `round/append`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoundAppendParams {
    /// The session.
    pub session_id: String,
    /// The turn; the running one where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// What the client's own loop produced.
    pub round: Round,
}

/// Result of `round/append`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoundAppendResult {
    /// The sidecar's id of the round.
    pub round_id: String,
    /// The assistant message, then its results.
    pub message_ids: Vec<String>,
}
