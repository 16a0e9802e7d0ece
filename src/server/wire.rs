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

/// Serializes a value for the wire.
pub(super) fn to_value(value: &impl Serialize) -> Result<Value, ProtocolError> {
    serde_json::to_value(value).map_err(|error| {
        ProtocolError::new(
            ErrorData::InternalError {},
            format!("internal error; the response cannot be written as JSON: {error}"),
        )
    })
}
