//! Deletion of a session with all its rows, of its revisions, and of copies left by its rewinds.

use super::{blobs, segments};
use crate::Deleted;
use crate::postgres::fault::Done;
use crate::postgres::holder::Identity;
use crate::postgres::leases;
use crate::postgres::read::revisions::{self, session_of};
use crate::postgres::shared;
use crate::postgres::tx::Tx;
use crate::postgres::value::{boolean, text, text_or_null, values};
use engine::id::SessionId;
use std::collections::{BTreeMap, BTreeSet};

/// The revisions of a session and the copies left by its rewinds, and those of these: each with `true` for a revision.
/// Clients may reuse ids, so parents can form a cycle; UNION ends it.
const LEFT_BEHIND: &str = "WITH RECURSIVE gone (id, is_revision) AS (
         SELECT $2::text COLLATE \"C\", false UNION
         SELECT s.id, s.origin = 'revision' FROM gone JOIN chat_sessions s ON s.tenant = $1 AND s.parent = gone.id
             JOIN chat_activity a ON a.tenant = s.tenant AND a.session = s.id WHERE a.left_behind)
     SELECT id, is_revision FROM gone WHERE id <> $2 ORDER BY id";

const BRANCHES: &str = "SELECT id FROM chat_sessions
     WHERE tenant = $1 AND parent = ANY($2) AND NOT id = ANY($2) AND origin = 'branch' ORDER BY id";

/// See [`crate::Store::delete`]. What the server's log and its copies have is not known here, so nothing counts as
/// scrubbed.
pub(in crate::postgres) async fn delete(
    tx: &mut Tx<'_>,
    session: &SessionId,
    me: &Identity,
) -> Done<Option<Deleted>> {
    let asked = vec![session_of(tx, session), tx.of_tenant(LEFT_BEHIND, values![session.as_str()])];
    let found = tx.queries(asked).await?;
    let [of, left_behind] = &found[..] else { return Ok(None) };
    revisions::is_own(session, of.first())?;
    let mut left = Vec::new();
    for row in left_behind {
        left.push((SessionId::new(text(row, 0)?), boolean(row, 1)?));
    }
    let all: Vec<SessionId> =
        std::iter::once(session).chain(left.iter().map(|(id, _)| id)).cloned().collect();
    let ids: Vec<String> = all.iter().map(|id| id.as_str().to_owned()).collect();
    let asked = vec![leases::locked(tx, &ids), tx.of_tenant(BRANCHES, values![&ids[..]])];
    let found = tx.queries(asked).await?;
    let [held, branches] = &found[..] else { return Ok(None) };
    let held: BTreeMap<SessionId, _> = held.iter().map(leases::read).collect::<Result<_, _>>()?;
    for id in &all {
        leases::is_free(id, held.get(id), me)?;
    }
    let branches = branches.iter().map(|row| text(row, 0).map(SessionId::new)).collect::<Result<_, _>>()?;
    let mut segments = BTreeSet::new();
    let Some(mut deleted) = delete_one(tx, session, &mut segments).await? else { return Ok(None) };
    for (id, is_revision) in left {
        let Some(more) = delete_one(tx, &id, &mut segments).await? else { continue };
        deleted.add(&more);
        let list = if is_revision { &mut deleted.revisions } else { &mut deleted.copies };
        list.push(id);
    }
    // Once for all of them: they share most.
    for segment in segments {
        deleted.add(&segments::drop_unused(tx, &segment).await?);
    }
    Ok(Some(Deleted { branches, scrubbed: false, ..deleted }))
}

/// Deletes a session with its own rows and its lease; `segments` gets those that it had rows in.
async fn delete_one(
    tx: &mut Tx<'_>,
    session: &SessionId,
    segments: &mut BTreeSet<String>,
) -> Done<Option<Deleted>> {
    let id = session.as_str();
    let row =
        "SELECT prefix, workspace, work_scope, segment FROM chat_sessions WHERE tenant = $1 AND id = $2";
    let rows = tx.query(row, values![id]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let (prefix, workspace) = (text(row, 0)?, text(row, 1)?);
    let (work_scope, segment) = (text_or_null(row, 2)?, text(row, 3)?);
    let queued = "DELETE FROM blob_refs WHERE tenant = $1 AND segment = $2 AND owner = $3 RETURNING hash";
    let mut hashes = blobs::hashes(&tx.query(queued, values![segment, blobs::QUEUED]).await?)?;
    hashes.push(prefix);
    segments.extend(segments::forget(tx, session).await?);
    for table in ["chat_queue", "chat_keys", "chat_drafts", "chat_streamed", "chat_activity", "leases"] {
        tx.push(format!("DELETE FROM {table} WHERE tenant = $1 AND session = $2"), values![id]);
    }
    tx.push("DELETE FROM chat_sessions WHERE tenant = $1 AND id = $2", values![id]);
    shared::drop_scopes(tx, &workspace, &[Some(id), work_scope.as_deref()]);
    let deleted = blobs::drop_counted(tx, hashes).await?;
    Ok(Some(Deleted { workspace, ..deleted }))
}
