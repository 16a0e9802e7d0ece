//! Replacement of messages by shortened ones: all versions and their contents are deleted in the same
//! transaction. The session decides what is kept.

use super::{append, count_rewrite, follow_requests};
use crate::sqlite::blobs::{MESSAGE, drop_refs};
use crate::sqlite::segments::{self, RowKind};
use crate::sqlite::{Fault, refused};
use engine::id::SessionId;
use engine::message::Message;
use rusqlite::{Transaction, params};

/// Replaces all versions of the message at this position.
pub(super) fn replace(
    tx: &Transaction<'_>,
    session: &SessionId,
    turn: u32,
    message: &Message,
) -> Result<(), Fault> {
    let ord = message.ord.0;
    let segment = segments::own(tx, session, RowKind::Messages, ord)?;
    drop_refs(tx, &segment, MESSAGE, ord..=ord)?;
    let gone = tx
        .prepare_cached("DELETE FROM chat_messages WHERE segment = ?1 AND ord = ?2")?
        .execute(params![segment, ord])?;
    if gone == 0 {
        return Err(refused(session, format!("no message at position {ord}")));
    }
    // `append` counts the new message.
    tx.prepare_cached("UPDATE chat_activity SET messages = messages - 1 WHERE session = ?1")?
        .execute([session.as_str()])?;
    append(tx, session, turn, message)?;
    count_rewrite(tx, session)?;
    follow_requests(tx, session, message, true)
}
