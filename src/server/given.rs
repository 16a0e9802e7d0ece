//! Ids that clients give or that are made here, and a session's own settings as stored.

use engine::id::SessionId;
use protocol::error::ProtocolError;
use protocol::settings::Settings;
use serde_json::Value;
use uuid::Uuid;

/// A session's own layer of settings. Settings that this version cannot read count as not set.
pub(super) fn own_settings(stored: &Value) -> Settings {
    serde_json::from_value(stored.clone()).unwrap_or_default()
}

/// An id for a session that was given none.
pub(super) fn new_id() -> SessionId {
    SessionId::new(Uuid::now_v7().to_string())
}

/// Checks an id that a client gave. It becomes part of other ids and of file names.
pub(super) fn given_id(id: &str) -> Result<SessionId, ProtocolError> {
    let is_good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '~' | ':');
    if (1..=128).contains(&id.len()) && id.chars().all(is_good) {
        return Ok(SessionId::new(id));
    }
    let reason = "must have 1 to 128 characters, only letters, digits and - _ . ~ :";
    Err(ProtocolError::invalid("sessionId", reason))
}
