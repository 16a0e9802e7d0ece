//! What the transport is told of this protocol: the data of its errors, how a body is mended, which parameters no
//! recording holds.

pub(super) mod backend;

use engine::text::json;
use protocol::error::{ErrorData, ErrorKind};
use protocol::methods::{ModelKey, Named};
use rpc::record::Masked;
use serde_json::Value;
use std::borrow::Cow;
use tower_lsp::jsonrpc::Error;

/// The method that gives a model's key.
pub(super) const MASKED: Masked = Masked { method: ModelKey::NAME, shown: "name" };

/// A body in which each unpaired surrogate escape is that of U+FFFD, and how many there were: recordings, keys that are
/// masked in them, and messages are all read from this one.
pub(super) fn well_formed(body: Vec<u8>) -> (Vec<u8>, usize) {
    match std::str::from_utf8(&body).map(json::paired) {
        Ok((Cow::Owned(text), replaced)) => (text.into_bytes(), replaced),
        Ok((Cow::Borrowed(_), _)) | Err(_) => (body, 0),
    }
}

/// The error with data that name its kind: every error on the wire has them, and those that the base protocol makes
/// come without. A code that the table of errors has not is left as it is.
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
