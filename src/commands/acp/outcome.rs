//! Outcomes as editors are told of them: results of the sidecar, ends of turns, rows of sessions.

use super::agent::result;
use super::failure::invalid;
use super::session::Prompt;
use agent_client_protocol_schema::v1::{PromptResponse, SessionInfo, StopReason};
use protocol::error::ErrorData;
use protocol::event::EventError;
use protocol::methods::{Method, read_result};
use protocol::session::{Driver, Origin, SessionSummary};
use serde_json::{Map, Value, json};
use tower_lsp::jsonrpc::{Error, ErrorCode};

/// The answers to prompts whose turn ended.
pub(super) fn answers(
    prompts: Vec<Prompt>,
    reason: &Result<StopReason, Error>,
    turn: Option<&str>,
) -> Vec<(Prompt, Result<Value, Error>)> {
    let answer = |prompt| (prompt, reason.clone().map(|reason| ended(reason, turn)));
    prompts.into_iter().map(answer).collect()
}

/// `true` for the refusal of a command that was cancelled.
pub(super) fn is_cancelled(error: &Error) -> bool {
    error.data.as_ref().and_then(|data| data.get("kind")).is_some_and(|kind| kind == "Cancelled")
}

/// The result of a request, which the sidecar forms as its method says.
pub(super) fn read<M: Method>(value: Value) -> Result<M::Result, Error> {
    read_result::<M>(value).map_err(|error| invalid(error.message))
}

/// The answer to a prompt.
pub(super) fn ended(reason: StopReason, turn: Option<&str>) -> Value {
    let ours = turn.map(|turn| Map::from_iter([("threadhold".to_owned(), json!({ "turnId": turn }))]));
    result(&PromptResponse::new(reason).meta(ours))
}

/// The answer about a turn that failed: an error, unless the model refused.
pub(super) fn failed(error: Option<&EventError>) -> Result<StopReason, Error> {
    if let Some(ErrorData::ProviderError { cause, .. }) = error.map(|error| &error.data)
        && cause == "refused"
    {
        return Ok(StopReason::Refusal);
    }
    let message = error.map_or("the turn failed", |error| error.message.as_str()).to_owned();
    let data = error.and_then(|error| serde_json::to_value(&error.data).ok());
    Err(Error { code: ErrorCode::InternalError, message: message.into(), data })
}

/// A session's row; `None` for sessions that no user began.
pub(super) fn listed(session: SessionSummary) -> Option<SessionInfo> {
    if session.driver != Driver::Sidecar || !matches!(session.origin, Origin::New | Origin::Branch) {
        return None;
    }
    let info = SessionInfo::new(session.session_id, session.workspace_folder);
    Some(info.title(session.title).updated_at(session.updated_at))
}
