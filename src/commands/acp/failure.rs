//! Errors as the Agent Client Protocol numbers them. Messages name what is wrong; none quotes content.

use serde_json::{Value, json};
use tower_lsp::jsonrpc::{Error, ErrorCode};

/// The number of an error about a resource that is not there.
const NOT_FOUND: i64 = -32002;

fn error(code: ErrorCode, message: impl Into<String>) -> Error {
    Error { code, message: message.into().into(), data: None }
}

/// Parameters that cannot be used.
pub(super) fn invalid(message: impl Into<String>) -> Error {
    error(ErrorCode::InvalidParams, message)
}

/// A request at the wrong time.
pub(super) fn refused(message: impl Into<String>) -> Error {
    error(ErrorCode::InvalidRequest, message)
}

/// A session that is not there.
pub(super) fn unknown_session(id: &str) -> Error {
    Error {
        data: Some(json!({ "sessionId": id })),
        ..error(ErrorCode::ServerError(NOT_FOUND), format!("unknown session {id:?}"))
    }
}

/// A method that is not there.
pub(super) fn unknown_method(method: &str) -> Error {
    error(ErrorCode::MethodNotFound, format!("unknown method {method:?}"))
}

/// A refusal of the sidecar: its message and its data, under a number of this protocol.
pub(super) fn of_sidecar(refusal: Error) -> Error {
    let kind = refusal.data.as_ref().and_then(|data| data.get("kind")).and_then(Value::as_str);
    let code = match kind {
        Some("UnknownSession") => ErrorCode::ServerError(NOT_FOUND),
        Some("InvalidParams" | "StaleReference") => ErrorCode::InvalidParams,
        Some("InvalidState" | "SessionHeldElsewhere" | "QueueFull") => ErrorCode::InvalidRequest,
        _ => ErrorCode::InternalError,
    };
    Error { code, ..refusal }
}
