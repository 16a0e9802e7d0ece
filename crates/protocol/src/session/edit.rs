//! What changes a session's past or its queue: other words, removals, cuts, another answer, a branch, a new chat, and the
//! text that a user has not sent. Nothing that was said is lost by any of it: a fork keeps the session as it stood.

use crate::message::Content;
use crate::session::queue::QueueItem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Result of a command that is carried out at once, or waits while something runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EditResult {
    /// The turn that runs now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// The message that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// The session that keeps everything as it stood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork: Option<String>,
    /// Where it has to wait: its id in the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
    /// Its place in the queue, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued_position: Option<u32>,
}

/// Parameters of `turn/retry`. One of `fromMessageId` and `fromIndex` must be there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnRetryParams {
    /// The session.
    pub session_id: String,
    /// The message; it and everything after it is cut off. A result goes with the message that called the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_message_id: Option<String>,
    /// The same by its place in the snapshot's `messages`, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_index: Option<u32>,
    /// The request's new words. Without them a request is asked again as it was; a model's answer is given again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// A name for this command: sent again under the same name, it is answered again and not carried out twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// Parameters of `turn/regenerate`: what follows the newest request is cut off, and the model answers again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnRegenerateParams {
    /// The session.
    pub session_id: String,
    /// A name for this command: sent again under the same name, it is answered again and not carried out twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// Parameters of `message/update`. One of `messageId` and `index` must be there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageUpdateParams {
    /// The session.
    pub session_id: String,
    /// The message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// Its place in the snapshot's `messages`, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// Its words from now on. A model's answer keeps its calls and loses its thinking.
    pub content: Content,
    /// Whether what follows it is cut off and the model answers again. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regenerate: Option<bool>,
    /// A name for this command: sent again under the same name, it is answered again and not carried out twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// Parameters of `message/remove`. One of `messageId` and `index` must be there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageRemoveParams {
    /// The session.
    pub session_id: String,
    /// The message. A request that begins a turn leaves with its turn, a model's message with the results of its calls;
    /// a result alone cannot leave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// Its place in the snapshot's `messages`, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// A name for this command: sent again under the same name, it is answered again and not carried out twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// Parameters of `message/truncate`. One of `messageId` and `index` must be there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageTruncateParams {
    /// The session.
    pub session_id: String,
    /// The message; it and everything after it is cut off. A result goes with the message that called the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// Its place in the snapshot's `messages`, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// A name for this command: sent again under the same name, it is answered again and not carried out twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// Parameters of `queue/remove`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueRemoveParams {
    /// The session.
    pub session_id: String,
    /// What waits.
    pub item_id: String,
}

/// Result of `queue/remove`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueRemoveResult {
    /// What waits no longer, with the user's words.
    pub removed: Vec<QueueItem>,
}

/// Parameters of `session/fork`: another session goes on from here, with ids of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionForkParams {
    /// The session.
    pub session_id: String,
    /// The last message that goes along. Without it and `upToIndex` all do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_to_message_id: Option<String>,
    /// The same by its place in the snapshot's `messages`, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_to_index: Option<u32>,
    /// Its title; this session's where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A name for this command: sent again under the same name, it is answered again and not carried out twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// Result of `session/fork`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionForkResult {
    /// The new session; `session/open` opens it.
    pub session_id: String,
}

/// Parameters of `session/reset`: a new chat under the same id. What runs is stopped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionResetParams {
    /// The session.
    pub session_id: String,
    /// Whether what waits goes on in the new chat. Default: false; it is given back then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_queue: Option<bool>,
    /// A name for this command: sent again under the same name, it is answered again and not carried out twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// Result of `session/reset`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionResetResult {
    /// The session that keeps everything as it stood; missing where there was nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork: Option<String>,
    /// What waits no longer, with the user's words.
    pub removed: Vec<QueueItem>,
}

/// Parameters of `draft/set`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DraftSetParams {
    /// The session.
    pub session_id: String,
    /// What the user typed and did not send; it is kept across restarts.
    pub text: String,
}

/// Parameters of `draft/clear`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DraftClearParams {
    /// The session.
    pub session_id: String,
}

/// Result of `draft/set` and `draft/clear`: it is on disk.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DraftResult {}
