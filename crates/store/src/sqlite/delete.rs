//! Deletion of a session with all its rows, and of the copies left by its rewinds. The store overwrites the
//! bytes afterwards.

use super::blobs::{drop_blob, drop_refs};
use super::columns::word;
use super::write::{COMPACTION, count, truncate};
use super::{Done, search, shared, waiting};
use crate::Deleted;
use engine::id::{Ordinal, SessionId};
use rusqlite::{OptionalExtension, Transaction, params};
use session::stored::Origin;

/// The copies left by rewinds of a session, and those of rewinds of these. A copy that was continued is none.
pub(super) fn copies(tx: &Transaction<'_>, session: &SessionId) -> Done<Vec<SessionId>> {
    // Clients may reuse ids, so parents can form a cycle; UNION ends it.
    let mut statement = tx.prepare_cached(
        "WITH RECURSIVE gone (id) AS (
             SELECT ?1 UNION
             SELECT s.id FROM chat_sessions AS s JOIN gone ON s.parent = gone.id
                 LEFT JOIN chat_activity AS a ON a.session = s.id
             WHERE s.origin = ?2
                 AND NOT CASE WHEN json_valid(a.carried) THEN coalesce(a.carried ->> 'continued', 0) ELSE 0 END)
         SELECT id FROM gone WHERE id <> ?1 ORDER BY id",
    )?;
    let rows = statement.query_map(params![session.as_str(), word(&Origin::Rewind)], |row| {
        row.get::<_, String>(0).map(SessionId::new)
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Deletes a session and these copies. `scrubbed` is `false` if a parent or child stays, which may hold the
/// same messages.
pub(super) fn delete_all(
    tx: &Transaction<'_>,
    session: &SessionId,
    copies: Vec<SessionId>,
) -> Done<Option<Deleted>> {
    let mut related = tx.prepare_cached(
        "WITH gone (id) AS (SELECT value FROM json_each(?1))
         SELECT EXISTS (SELECT 1 FROM chat_sessions AS one JOIN chat_sessions AS s ON s.id = one.parent OR s.parent = one.id
                        WHERE one.id IN gone AND s.id NOT IN gone)",
    )?;
    let gone: Vec<&str> = std::iter::once(session).chain(&copies).map(SessionId::as_str).collect();
    let is_related: bool = related.query_row([serde_json::json!(gone).to_string()], |row| row.get(0))?;
    let Some(mut all) = delete(tx, session)? else { return Ok(None) };
    for copy in &copies {
        let Some(deleted) = delete(tx, copy)? else { continue };
        all.messages += deleted.messages;
        all.turns += deleted.turns;
        all.compactions += deleted.compactions;
        all.blobs += deleted.blobs;
        all.blob_bytes += deleted.blob_bytes;
    }
    all.scrubbed = !is_related;
    Ok(Some(Deleted { copies, ..all }))
}

/// Deletes a session with all its rows and its lease.
fn delete(tx: &Transaction<'_>, session: &SessionId) -> Done<Option<Deleted>> {
    let id = [session.as_str()];
    let row: Option<(String, String, Option<String>)> = tx
        .query_row("SELECT prefix, workspace, work_scope FROM chat_sessions WHERE id = ?1", id, |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .optional()?;
    let Some((prefix, workspace, work_scope)) = row else { return Ok(None) };
    let mut deleted = truncate(tx, session, Ordinal(0), 0)?;
    for rest in [drop_refs(tx, session, COMPACTION, 0..=u32::MAX)?, waiting::delete(tx, session)?] {
        deleted.blobs += rest.blobs;
        deleted.blob_bytes += rest.blob_bytes;
    }
    deleted.compactions = count(tx.execute("DELETE FROM compactions WHERE session = ?1", id)?);
    search::forget_all(tx, session)?;
    tx.execute("DELETE FROM chat_activity WHERE session = ?1", id)?;
    tx.execute("DELETE FROM chat_sessions WHERE id = ?1", id)?;
    shared::drop_scopes(tx, &workspace, [Some(session.as_str()), work_scope.as_deref()])?;
    if let Some(bytes) = drop_blob(tx, &prefix)? {
        deleted.blobs += 1;
        deleted.blob_bytes += bytes;
    }
    tx.execute("DELETE FROM leases WHERE session = ?1", id)?;
    Ok(Some(Deleted { workspace, ..deleted }))
}
