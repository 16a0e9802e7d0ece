//! Results, events and errors as a client reads them, put together from session values that `convert`
//! converts.

pub(super) mod agent;
pub(super) mod answer;
pub(super) mod decided;
pub(super) mod event;
pub(super) mod failure;
pub(super) mod ledger;
pub(super) mod listed;
pub(super) mod notice;
pub(super) mod refused;
pub(super) mod review;
mod turn;

use protocol::error::{ErrorData, ProtocolError};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// The result of a request as it is written: JSON text.
pub(super) type Json = Box<RawValue>;

/// Writes a result.
pub(super) fn to_json(value: &impl Serialize) -> Result<Json, ProtocolError> {
    to_raw_value(value).map_err(|error| unwritable(&error))
}

/// Converts a value that is worked on before it is written.
pub(super) fn to_value(value: &impl Serialize) -> Result<Value, ProtocolError> {
    serde_json::to_value(value).map_err(|error| unwritable(&error))
}

fn unwritable(error: &serde_json::Error) -> ProtocolError {
    let message = format!("internal error; the response cannot be written as JSON: {error}");
    ProtocolError::new(ErrorData::InternalError {}, message)
}
