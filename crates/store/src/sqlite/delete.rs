//! Deletion of a session with all its rows, of its revisions, and of copies left by its rewinds. The store
//! overwrites the bytes afterwards.

use super::blobs::drop_blob;
use super::columns::word;
use super::{Done, search, segments, shared, waiting};
use crate::Deleted;
use engine::id::SessionId;
use rusqlite::{OptionalExtension, Row, Transaction, params};
use session::stored::Origin;
use std::collections::BTreeSet;

/// The revisions of a session and the copies left by its rewinds, and those of these: each with `true` for a
/// revision. A copy that was continued is none.
pub(super) fn left_behind(tx: &Transaction<'_>, session: &SessionId) -> Done<Vec<(SessionId, bool)>> {
    // Clients may reuse ids, so parents can form a cycle; UNION ends it.
    let mut statement = tx.prepare_cached(
        "WITH RECURSIVE gone (id, is_revision) AS (
             SELECT ?1, 0 UNION
             SELECT s.id, s.origin = ?3 FROM chat_sessions AS s JOIN gone ON s.parent = gone.id
                 LEFT JOIN chat_activity AS a ON a.session = s.id
             WHERE s.origin = ?3 OR s.origin = ?2
                 AND NOT CASE WHEN json_valid(a.carried) THEN coalesce(a.carried ->> 'continued', 0) ELSE 0 END)
         SELECT id, is_revision FROM gone WHERE id <> ?1 ORDER BY id",
    )?;
    let origins = params![session.as_str(), word(&Origin::Rewind), word(&Origin::Revision)];
    let rows = statement
        .query_map(origins, |row| Ok((SessionId::new(row.get::<_, String>(0)?), row.get::<_, bool>(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Deletes a session and what its rewinds left behind. `scrubbed` is `false` if a parent or child stays, which may
/// hold the same messages.
pub(super) fn delete_all(
    tx: &Transaction<'_>,
    session: &SessionId,
    left_behind: Vec<(SessionId, bool)>,
) -> Done<Option<Deleted>> {
    let mut related = tx.prepare_cached(
        "WITH gone (id) AS (SELECT value FROM json_each(?1))
         SELECT EXISTS (SELECT 1 FROM chat_sessions AS one JOIN chat_sessions AS s ON s.id = one.parent OR s.parent = one.id
                        WHERE one.id IN gone AND s.id NOT IN gone)",
    )?;
    let with_it = left_behind.iter().map(|(id, _)| id);
    let gone: Vec<&str> = std::iter::once(session).chain(with_it).map(SessionId::as_str).collect();
    let gone = serde_json::json!(gone).to_string();
    let is_related: bool = related.query_row([&gone], |row| row.get(0))?;
    let branches = branches(tx, &gone)?;
    let mut segments = BTreeSet::new();
    let Some(mut all) = delete(tx, session, &mut segments)? else { return Ok(None) };
    for (id, is_revision) in left_behind {
        let Some(deleted) = delete(tx, &id, &mut segments)? else { continue };
        all.add(&deleted);
        let list = if is_revision { &mut all.revisions } else { &mut all.copies };
        list.push(id);
    }
    // Once for all of them: they share most.
    for segment in segments {
        all.add(&segments::drop_unused(tx, &segment)?);
    }
    all.scrubbed = !is_related;
    Ok(Some(Deleted { branches, ..all }))
}

/// The branches of deleted sessions, which are given as JSON.
fn branches(tx: &Transaction<'_>, gone: &str) -> Done<Vec<SessionId>> {
    let mut statement = tx.prepare_cached(
        "WITH gone (id) AS (SELECT value FROM json_each(?1))
         SELECT id FROM chat_sessions WHERE parent IN gone AND id NOT IN gone AND origin = ?2 ORDER BY id",
    )?;
    let id = |row: &Row<'_>| row.get::<_, String>(0).map(SessionId::new);
    let rows = statement.query_map(params![gone, word(&Origin::Branch)], id)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Deletes a session with its own rows and its lease; `segments` gets those that it had rows in.
fn delete(
    tx: &Transaction<'_>,
    session: &SessionId,
    segments: &mut BTreeSet<String>,
) -> Done<Option<Deleted>> {
    let id = [session.as_str()];
    let row: Option<(String, String, Option<String>)> = tx
        .query_row("SELECT prefix, workspace, work_scope FROM chat_sessions WHERE id = ?1", id, |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .optional()?;
    let Some((prefix, workspace, work_scope)) = row else { return Ok(None) };
    let mut deleted = waiting::delete(tx, session)?;
    search::forget_all(tx, session)?;
    segments.extend(segments::forget(tx, session)?);
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
