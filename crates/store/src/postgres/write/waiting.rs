//! Rows of a session beside its transcript: queued commands, keys of accepted commands, the draft, pieces of an answer in
//! progress. The session decides what a command does, and how many may wait.

use super::blobs::{self, QUEUED};
use super::known::Queued;
use super::{SessionWriter, of};
use crate::blob::{check_sum, split};
use crate::postgres::fault::{Done, refused};
use crate::postgres::value::values;
use crate::row::named_sum;
use engine::id::SessionId;
use session::queue::{Accepted, QueueItem};
use session::stored::{KEPT_KEYS, Streamed};

/// Appends a command to the queue.
pub(super) async fn enqueue(
    writer: &mut SessionWriter<'_, '_>,
    session: &SessionId,
    item: &QueueItem,
) -> Done {
    let (id, name) = (session.as_str(), item.id.as_str());
    let (row, blobs) = split(item).map_err(|error| refused(session, error.to_string()))?;
    let check_sum = named_sum(name, &row);
    let known = of(&mut writer.known, session)?;
    let queued = known.queued(writer.tx, name).await?;
    if let Some(there) = queued {
        let other = || refused(session, format!("queued command {name} exists with other content"));
        return if there.check_sum == check_sum { Ok(()) } else { Err(other()) };
    }
    *queued = Some(Queued { check_sum, refs: blobs.iter().map(|blob| blob.hash.clone()).collect() });
    let segment = known.segment.clone();
    writer.tx.push(
        "INSERT INTO chat_queue (tenant, session, n, id, check_sum, item)
         SELECT $1, $2, coalesce(max(n) + 1, 0), $3, $4, $5 FROM chat_queue WHERE tenant = $1 AND session = $2",
        values![id, name, check_sum, row],
    );
    for blob in &blobs {
        blobs::put(writer, blob);
        writer.tx.push(
            "INSERT INTO blob_refs (tenant, segment, owner, n, rev, hash)
             SELECT $1, $4, $5, n, 0, $6 FROM chat_queue WHERE tenant = $1 AND session = $2 AND id = $3
             ON CONFLICT DO NOTHING",
            values![id, name, &segment, QUEUED, &blob.hash],
        );
    }
    Ok(())
}

/// Removes a command from the queue, if it is there.
pub(super) async fn dequeue(writer: &mut SessionWriter<'_, '_>, session: &SessionId, item: &str) -> Done {
    let known = of(&mut writer.known, session)?;
    let Some(queued) = known.queued(writer.tx, item).await?.take() else { return Ok(()) };
    if !queued.refs.is_empty() {
        writer.tx.push(
            "DELETE FROM blob_refs b USING chat_queue q WHERE b.tenant = $1 AND b.segment = $4 AND b.owner = $5
             AND b.n = q.n AND q.tenant = $1 AND q.session = $2 AND q.id = $3",
            values![session.as_str(), item, &known.segment, QUEUED],
        );
    }
    let gone = "DELETE FROM chat_queue WHERE tenant = $1 AND session = $2 AND id = $3";
    writer.tx.push(gone, values![session.as_str(), item]);
    blobs::drop_unused(writer, &queued.refs);
    Ok(())
}

/// Stores the answer to a key, and removes the oldest keys. An unreadable answer may be replaced.
pub(super) fn remember(
    writer: &mut SessionWriter<'_, '_>,
    session: &SessionId,
    key: &str,
    accepted: &Accepted,
) -> Done {
    let id = session.as_str();
    let row = serde_json::to_string(accepted).map_err(|error| refused(session, error.to_string()))?;
    let check_sum = named_sum(key, &row);
    writer.tx.push(
        "DELETE FROM chat_keys WHERE tenant = $1 AND session = $2 AND key = $3 AND (check_sum, accepted) <> ($4, $5)",
        values![id, key, check_sum, &row],
    );
    writer.tx.push(
        "INSERT INTO chat_keys (tenant, session, n, key, check_sum, accepted)
         SELECT $1, $2, coalesce((SELECT max(n) + 1 FROM chat_keys WHERE tenant = $1 AND session = $2), 0), $3, $4, $5
         ON CONFLICT (tenant, session, key) DO NOTHING",
        values![id, key, check_sum, row],
    );
    writer.tx.push(
        "DELETE FROM chat_keys WHERE tenant = $1 AND session = $2 AND n <=
             (SELECT n FROM chat_keys WHERE tenant = $1 AND session = $2 ORDER BY n DESC LIMIT 1 OFFSET $3)",
        values![id, KEPT_KEYS as u64],
    );
    Ok(())
}

/// Stores or removes the draft.
pub(super) fn keep_draft(writer: &mut SessionWriter<'_, '_>, session: &SessionId, draft: Option<&str>) {
    let id = session.as_str();
    match draft {
        None => writer.tx.push("DELETE FROM chat_drafts WHERE tenant = $1 AND session = $2", values![id]),
        Some(draft) => writer.tx.push(
            "INSERT INTO chat_drafts AS d (tenant, session, check_sum, draft) VALUES ($1, $2, $3, $4)
             ON CONFLICT (tenant, session) DO UPDATE SET check_sum = excluded.check_sum, draft = excluded.draft
             WHERE (d.check_sum, d.draft) <> (excluded.check_sum, excluded.draft)",
            values![id, named_sum("draft", draft), draft],
        ),
    }
}

/// Appends a piece of an answer in progress.
pub(super) fn keep_piece(writer: &mut SessionWriter<'_, '_>, session: &SessionId, piece: &Streamed) -> Done {
    let row = serde_json::to_string(piece).map_err(|error| refused(session, error.to_string()))?;
    writer.tx.push(
        "INSERT INTO chat_streamed (tenant, session, n, check_sum, piece)
         SELECT $1, $2, coalesce(max(n) + 1, 0), $3, $4 FROM chat_streamed WHERE tenant = $1 AND session = $2",
        values![session.as_str(), check_sum(&[row.as_bytes()]), row],
    );
    Ok(())
}

/// Deletes all pieces of an answer in progress.
pub(super) fn forget_pieces(writer: &mut SessionWriter<'_, '_>, session: &SessionId) {
    let gone = "DELETE FROM chat_streamed WHERE tenant = $1 AND session = $2";
    writer.tx.push(gone, values![session.as_str()]);
}
