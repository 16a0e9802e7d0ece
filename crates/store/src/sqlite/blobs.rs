//! Contents stored under their hash, and the rows that refer to them.

use super::Done;
use crate::Deleted;
use crate::blob::Blob;
use engine::text::sha256_hex;
use rusqlite::{OptionalExtension, Transaction, params};
use std::ops::RangeInclusive;

/// Owners of contents, as `blob_refs` names them; `n` is the position of a message or record, or the number of a queued
/// command.
pub(super) const MESSAGE: &str = "message";
pub(super) const COMPACTION: &str = "compaction";
pub(super) const QUEUED: &str = "queued";

pub(super) const BLOB: &str = "SELECT bytes FROM blobs WHERE hash = ?1";

/// Reads a content and checks its hash.
pub(super) fn content(tx: &Transaction<'_>, hash: &str) -> Result<String, String> {
    let found = tx
        .prepare_cached(BLOB)
        .and_then(|mut statement| statement.query_row([hash], |row| row.get::<_, Vec<u8>>(0)).optional());
    let bytes = found.map_err(|error| error.to_string())?;
    let bytes = bytes.ok_or_else(|| format!("the content {hash} is missing"))?;
    if sha256_hex(&bytes) != hash {
        return Err(format!("the content {hash} changed since it was written"));
    }
    String::from_utf8(bytes).map_err(|error| error.to_string())
}

pub(super) const PUT_BLOB: &str =
    "INSERT INTO blobs (hash, size, bytes) VALUES (?1, ?2, ?3) ON CONFLICT (hash) DO NOTHING";

/// Stores a content unless it exists.
pub(super) fn put(tx: &Transaction<'_>, blob: &Blob) -> rusqlite::Result<()> {
    let bytes = blob.text.as_bytes();
    tx.prepare_cached(PUT_BLOB)?.execute(params![blob.hash, bytes.len(), bytes]).map(drop)
}

/// Stores contents with references from their owner.
pub(super) fn put_for(
    tx: &Transaction<'_>,
    segment: &str,
    (owner, n, rev): (&str, u32, u32),
    blobs: &[Blob],
) -> rusqlite::Result<()> {
    for blob in blobs {
        put(tx, blob)?;
        tx.prepare_cached(
            "INSERT INTO blob_refs (segment, owner, n, rev, hash) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
        )?
        .execute(params![segment, owner, n, rev, blob.hash])?;
    }
    Ok(())
}

pub(super) const DROP_BLOB: &str = "DELETE FROM blobs WHERE hash = ?1
     AND NOT EXISTS (SELECT 1 FROM blob_refs WHERE blob_refs.hash = ?1)
     AND NOT EXISTS (SELECT 1 FROM chat_sessions WHERE prefix = ?1) RETURNING size";

/// Removes a content if nothing refers to it; returns its size in bytes then.
pub(super) fn drop_blob(tx: &Transaction<'_>, hash: &str) -> rusqlite::Result<Option<u64>> {
    tx.prepare_cached(DROP_BLOB)?.query_row([hash], |row| row.get(0)).optional()
}

/// Removes the references of these owners, and contents that nothing else refers to.
pub(super) fn drop_refs(
    tx: &Transaction<'_>,
    segment: &str,
    owner: &str,
    places: RangeInclusive<u32>,
) -> Done<Deleted> {
    let mut statement = tx.prepare_cached(
        "DELETE FROM blob_refs WHERE segment = ?1 AND owner = ?2 AND n BETWEEN ?3 AND ?4 RETURNING hash",
    )?;
    let of = params![segment, owner, places.start(), places.end()];
    let rows = statement.query_map(of, |row| row.get(0))?;
    drop_blobs(tx, rows.collect::<Result<_, _>>()?)
}

/// Removes all references of a segment, and contents that nothing else refers to.
pub(super) fn drop_all_refs(tx: &Transaction<'_>, segment: &str) -> Done<Deleted> {
    let mut statement = tx.prepare_cached("DELETE FROM blob_refs WHERE segment = ?1 RETURNING hash")?;
    let rows = statement.query_map([segment], |row| row.get(0))?;
    drop_blobs(tx, rows.collect::<Result<_, _>>()?)
}

/// Removes those of these contents that nothing refers to.
fn drop_blobs(tx: &Transaction<'_>, mut hashes: Vec<String>) -> Done<Deleted> {
    hashes.sort();
    hashes.dedup();
    let mut deleted = Deleted::default();
    for hash in hashes {
        if let Some(bytes) = drop_blob(tx, &hash)? {
            deleted.blobs += 1;
            deleted.blob_bytes += bytes;
        }
    }
    Ok(deleted)
}
