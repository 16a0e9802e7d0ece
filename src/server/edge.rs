//! Protocol specifics for the transport: the data of errors, the repair of bodies, and the parameters that
//! recordings mask.

pub(super) mod backend;

use engine::text::json;
use protocol::error::{ErrorData, ErrorKind};
use protocol::methods::{ModelKey, Named, SessionOpen};
use rpc::record::{Masked, Secrets};
use serde_json::Value;
use std::borrow::Cow;
use tower_lsp::jsonrpc::Error;

/// The methods whose parameters contain secrets: a model's key, and what a client gives the servers of a session.
pub(super) const MASKED: &[Masked] = &[
    Masked { method: ModelKey::NAME, secrets: Secrets::AllBut("name") },
    Masked {
        method: SessionOpen::NAME,
        secrets: Secrets::Fields { of: "mcpServers", fields: &["env", "headers", "args"] },
    },
];

/// Replaces each unpaired surrogate escape in a body by that of U+FFFD, and counts them. Recordings, keys
/// that are masked in them, and messages are all read from the result.
pub(super) fn well_formed(body: Vec<u8>) -> (Vec<u8>, usize) {
    match std::str::from_utf8(&body).map(json::paired) {
        Ok((Cow::Owned(text), replaced)) => (text.into_bytes(), replaced),
        Ok((Cow::Borrowed(_), _)) | Err(_) => (body, 0),
    }
}

/// Adds data with the kind of an error: every error on the wire has them, but those of the base protocol come
/// without. An error with an unknown code is unchanged.
pub(super) fn typed(error: Error) -> Error {
    if error.data.as_ref().is_some_and(|data| data.get("kind").is_some()) {
        return error;
    }
    let is_of = |kind: ErrorKind| i64::from(kind.code()) == error.code.code();
    let data = if is_of(ErrorKind::ParseError) {
        ErrorData::ParseError {}
    } else if is_of(ErrorKind::InvalidRequest) {
        ErrorData::InvalidRequest {}
    } else if is_of(ErrorKind::MethodNotFound) {
        let method = error.data.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
        ErrorData::MethodNotFound { method }
    } else if is_of(ErrorKind::InvalidParams) {
        ErrorData::InvalidParams { field: String::new(), reason: error.message.clone().into_owned() }
    } else if is_of(ErrorKind::NotInitialized) {
        ErrorData::NotInitialized {}
    } else if is_of(ErrorKind::Cancelled) {
        ErrorData::Cancelled {}
    } else if is_of(ErrorKind::InternalError) {
        ErrorData::InternalError {}
    } else {
        return error;
    };
    Error { data: serde_json::to_value(data).ok(), ..error }
}
