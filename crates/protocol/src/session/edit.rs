//! Commands that change a session's past, its queue or its draft. None of them loses a message: a revision keeps
//! the previous state of the session.

pub use engine::words::RevisionCause;

use crate::message::Content;
use crate::session::queue::QueueItem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Result of a command that is carried out at once, or queued while a turn runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EditResult {
    /// Id of the turn that runs now; absent if none was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// Id of the message that the command concerns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// Id of the revision that keeps the previous state; absent if the command is queued or cut nothing off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Id in the queue; absent if the command is not queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_id: Option<String>,
    /// Position in the queue, from 1; absent if the command is not queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued_position: Option<u32>,
}

/// Parameters of `turn/retry`. One of `fromMessageId` and `fromIndex` is required.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnRetryParams {
    /// Id of the session.
    pub session_id: String,
    /// Id of the first message to cut off. A result is cut off with the message that called the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_message_id: Option<String>,
    /// Index of the message in the snapshot's `messages`, from 0. Ignored if `fromMessageId` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_index: Option<u32>,
    /// New content of the request. Default: the same request, or for a model's answer another answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// Key of this command: a repeat with the same key gets the first response and has no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// Parameters of `turn/regenerate`: everything after the newest request is cut off, and the model answers again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnRegenerateParams {
    /// Id of the session.
    pub session_id: String,
    /// Key of this command: a repeat with the same key gets the first response and has no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// Parameters of `message/update`. One of `messageId` and `index` is required.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageUpdateParams {
    /// Id of the session.
    pub session_id: String,
    /// Id of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// Index of the message in the snapshot's `messages`, from 0. Ignored if `messageId` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// New content. A model's answer keeps its calls and loses its thinking.
    pub content: Content,
    /// `true` cuts off everything after the message and has the model answer again. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regenerate: Option<bool>,
    /// Key of this command: a repeat with the same key gets the first response and has no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// Parameters of `message/remove`. One of `messageId` and `index` is required.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageRemoveParams {
    /// Id of the session.
    pub session_id: String,
    /// Id of the message. The request that begins a turn is removed with its turn, a model's message with the results
    /// of its calls. A result by itself fails with `InvalidParams`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// Index of the message in the snapshot's `messages`, from 0. Ignored if `messageId` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// Key of this command: a repeat with the same key gets the first response and has no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// Parameters of `message/truncate`. One of `messageId` and `index` is required.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageTruncateParams {
    /// Id of the session.
    pub session_id: String,
    /// Id of the first message to cut off. A result is cut off with the message that called the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// Index of the message in the snapshot's `messages`, from 0. Ignored if `messageId` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// Key of this command: a repeat with the same key gets the first response and has no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// Parameters of `queue/remove`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueRemoveParams {
    /// Id of the session.
    pub session_id: String,
    /// Id of the queued item. Fails with `StaleReference` if it is not in the queue.
    pub item_id: String,
}

/// Result of `queue/remove`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueRemoveResult {
    /// Items removed from the queue, with the user's content.
    pub removed: Vec<QueueItem>,
}

/// Parameters of `session/fork`, which creates another session with ids of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionForkParams {
    /// Id of the session.
    pub session_id: String,
    /// Id of the last message to copy. Without it and `upToIndex` all are copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_to_message_id: Option<String>,
    /// Index of that message in the snapshot's `messages`, from 0. Ignored if `upToMessageId` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_to_index: Option<u32>,
    /// Title of the new session. Default: that of this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Key of this command: a repeat with the same key gets the first response and has no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// Result of `session/fork`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionForkResult {
    /// Id of the new session, for `session/open`.
    pub session_id: String,
}

/// Parameters of `session/reset`, which starts a new chat under the same id. A running turn is cancelled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionResetParams {
    /// Id of the session.
    pub session_id: String,
    /// `true` carries the queue over into the new chat. Default: false; the queue is returned in `removed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_queue: Option<bool>,
    /// Key of this command: a repeat with the same key gets the first response and has no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// Result of `session/reset`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionResetResult {
    /// Id of the revision that keeps the previous state; absent if the session was empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Items removed from the queue, with the user's content.
    pub removed: Vec<QueueItem>,
}

/// Parameters of `session/history`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionHistoryParams {
    /// Id of the session, open or not. Fails with `UnknownSession` if the store does not have it.
    pub session_id: String,
    /// Folder whose store has the session. Default: the store where it was last open, else that of the client's first
    /// folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_folder: Option<String>,
    /// `nextCursor` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Largest number of revisions on the page, at most 500. Default: 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Result of `session/history`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionHistoryResult {
    /// Revisions, the newest first.
    pub revisions: Vec<Revision>,
    /// `cursor` of the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A revision: a session as it was before a rewind. `session/messages` returns its messages; it cannot be opened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Revision {
    /// Id of the revision.
    pub revision_id: String,
    /// Cause of the rewind.
    pub cause: RevisionCause,
    /// Time of the rewind, ISO-8601, UTC.
    pub created_at: String,
    /// Number of messages.
    pub messages: u32,
    /// Beginning of the first text that the rewind removed or replaced; absent if that was no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Parameters of `session/restore`, which restores messages, turns and summaries of a revision. Title, settings, pins, the
/// draft and the queue stay as they are. Fails with `InvalidState` while a turn runs. In the result `revision` is the
/// revision that keeps the present state; absent if both are equal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionRestoreParams {
    /// Id of the session.
    pub session_id: String,
    /// Id of the revision. Fails with `StaleReference` if it is not one of this session.
    pub revision_id: String,
    /// Key of this command: a repeat with the same key gets the first response and has no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// Parameters of `draft/set`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DraftSetParams {
    /// Id of the session.
    pub session_id: String,
    /// User's unsent text, kept across restarts. An empty text clears the draft.
    pub text: String,
}

/// Parameters of `draft/clear`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DraftClearParams {
    /// Id of the session.
    pub session_id: String,
}

/// Result of `draft/set` and `draft/clear`, sent once the change is on disk.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DraftResult {}
