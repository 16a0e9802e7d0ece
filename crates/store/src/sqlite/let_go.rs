//! Messages of which only so much stays: their rows, with all versions and what only these referred to, go in the
//! transaction that puts something in their places. What stays is the session's to say.

use super::blobs::drop_refs;
use super::write::{MESSAGE, append, count_rewrite, follow_requests};
use super::{Fault, refused};
use engine::id::SessionId;
use engine::message::Message;
use rusqlite::{Transaction, params};

/// Puts this message in the place of all versions of the one that stands there.
pub(super) fn replace(
    tx: &Transaction<'_>,
    session: &SessionId,
    turn: u32,
    message: &Message,
) -> Result<(), Fault> {
    let ord = message.ord.0;
    drop_refs(tx, session, MESSAGE, ord..=ord)?;
    let gone = tx
        .prepare_cached("DELETE FROM chat_messages WHERE session = ?1 AND ord = ?2")?
        .execute(params![session.as_str(), ord])?;
    if gone == 0 {
        return Err(refused(session, format!("no message stands at {ord}")));
    }
    // The new one is counted in the old one's place.
    tx.prepare_cached("UPDATE chat_activity SET messages = messages - 1 WHERE session = ?1")?
        .execute([session.as_str()])?;
    append(tx, session, turn, message)?;
    count_rewrite(tx, session)?;
    follow_requests(tx, session, message, true)
}
