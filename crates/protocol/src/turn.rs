//! Turns and rounds: starting and ending them, and handing over those of the past.

use crate::message::{AssistantInput, Content, MessageInput, Meta};
use crate::prompt::section::{Attachment, ContextFile, Notebook, Section, Variable};
use crate::session::queue::QueueItem;
use crate::session::restore::{Diagnostic, TurnMetadata};
use crate::session::state::State;
use crate::settings::Model;
use crate::tool::{Tool, ToolResult};
pub use engine::words::TurnStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A model's answer with the results of its tool calls, as a client reports it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Round {
    /// Client's id of the round; a summary refers to it as its `toolCallRoundId`. Default: `assistant.externalId`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The model's answer.
    pub assistant: AssistantInput,
    /// Results of the answer's tool calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<Vec<ToolResult>>,
    /// Summary that stands for this round and all before it. Ignored if the turn's metadata has one for the round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// A past turn in a client's history.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    /// Sidecar's id of the turn. Ignored: turns are matched by `externalId`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Client's id of the request. Turns are matched by it, or by position and content if it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// The user's request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Content>,
    /// Named values of the request, as given when it was first rendered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variables: Option<Vec<Variable>>,
    /// State of the notebooks when the request was first rendered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notebook: Option<Vec<Notebook>>,
    /// Attachments of the request, as given when it was first rendered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attachments: Option<Vec<Attachment>>,
    /// Rounds of the turn, in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<Vec<Round>>,
    /// Final answer, for a client without rounds. Ignored if `rounds` is not empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Content>,
    /// The whole turn in order. If given, `request`, `rounds` and `response` are ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<MessageInput>>,
    /// Metadata that the sidecar returned for the turn, unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TurnMetadata>,
    /// Data that a client attached to the request. No model sees it.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// The outcome of a turn, as a client reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TurnOutcome {
    /// The model had nothing more to do.
    Completed,
    /// The turn was stopped.
    Cancelled,
    /// An error ended the turn.
    Failed,
}

/// Parameters of `turn/start`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnStartParams {
    /// Id of the session.
    pub session_id: String,
    /// The user's request. Fails with `InvalidParams` if it is empty.
    pub content: Content,
    /// Client's id of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// Files given with the request as context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_files: Option<Vec<ContextFile>>,
    /// Background of the request, such as the open files. Stored with the request and never changed there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attachments: Option<Vec<Attachment>>,
    /// Tools from now on. A changed list changes the beginning of the prompt. Default: unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
    /// Client's sections from now on. A changed list changes the beginning of the prompt. Default: unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sections: Option<Vec<Section>>,
    /// Model from now on. Default: unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// `true` puts the request before the queue and into the running turn: an answer in progress is interrupted and its
    /// text kept; the calls of a round are awaited. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<bool>,
    /// Key of this request: a repeat with the same key gets the first response and has no effect. A session remembers
    /// its last 1,000 keys, also across restarts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// Data that a client attached. No model sees it.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl TurnStartParams {
    /// Asks for this content and leaves everything else as it is.
    pub fn new(session_id: String, content: Content) -> Self {
        Self {
            session_id,
            content,
            external_id: None,
            context_files: None,
            attachments: None,
            tools: None,
            sections: None,
            model: None,
            priority: None,
            idempotency_key: None,
            meta: None,
        }
    }
}

/// Result of `turn/start`, sent as soon as the request is on disk; everything else follows as events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnStartResult {
    /// Id of the turn. A queued request that enters the running turn belongs to that turn; its `messageAdded` names it.
    pub turn_id: String,
    /// Id of the user's message.
    pub message_id: String,
    /// Id in the queue; absent if the request is not queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
    /// Position in the queue, from 1; absent if the request is not queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued_position: Option<u32>,
}

/// Parameters of `turn/cancel`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnCancelParams {
    /// Id of the session.
    pub session_id: String,
    /// Running or queued turn. Default: the running one. Fails with `StaleReference` if it is neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// `true` also empties the queue. Default: false; the next queued item starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_queued: Option<bool>,
}

/// Result of `turn/cancel`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnCancelResult {
    /// Id of the cancelled turn; absent if none was running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// State of the session afterwards.
    pub state: State,
    /// Items removed from the queue, with the user's content.
    pub removed: Vec<QueueItem>,
}

/// Parameters of `turn/end`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnEndParams {
    /// Id of the session.
    pub session_id: String,
    /// Id of the newest turn, which is the default. Any other fails with `StaleReference`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// Outcome of the turn. Default: `completed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<TurnOutcome>,
}

/// Result of `turn/end`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnEndResult {
    /// Id of the turn.
    pub turn_id: String,
    /// All metadata of the turn: persist it with the turn and hand it back unchanged.
    pub metadata: TurnMetadata,
}

/// Parameters of `round/append`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoundAppendParams {
    /// Id of the session.
    pub session_id: String,
    /// Id of the newest turn, which is the default. Any other fails with `StaleReference`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// Round that the client's loop produced.
    pub round: Round,
}

/// Result of `round/append`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoundAppendResult {
    /// Sidecar's id of the round.
    pub round_id: String,
    /// Ids of the assistant message and then of its results.
    pub message_ids: Vec<String>,
    /// What was repaired in the round. Absent if nothing was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<Diagnostic>,
}
