//! Contents stored under their hash, and the rows that refer to them. A content is locked from the moment at which it is
//! found until the transaction ends: whoever removes it waits, and sees the reference then.

use super::SessionWriter;
use crate::Deleted;
use crate::blob::Blob;
use crate::postgres::fault::Done;
use crate::postgres::tx::{Statement, Tx};
use crate::postgres::value::{number, text, values};

pub(in crate::postgres) const QUEUED: &str = "queued";

/// Selects those of these contents that are stored, and keeps them.
pub(super) fn kept(tx: &Tx<'_>, hashes: &[String]) -> Statement {
    let sql = "SELECT hash FROM blobs WHERE tenant = $1 AND hash = ANY($2) ORDER BY hash FOR KEY SHARE";
    tx.of_tenant(sql, values![hashes])
}

/// Stores a content, unless it is known to be.
pub(super) fn put(writer: &mut SessionWriter<'_, '_>, blob: &Blob) {
    if writer.contents.insert(blob.hash.clone()) {
        let bytes = blob.text.as_bytes();
        writer.tx.push(
            "INSERT INTO blobs (tenant, hash, size, bytes) VALUES ($1, $2, $3, $4)
             ON CONFLICT (tenant, hash) DO UPDATE SET size = excluded.size",
            values![&blob.hash, bytes.len() as u64, bytes],
        );
    }
}

/// Stores contents with references from their owner.
pub(super) fn put_for(
    writer: &mut SessionWriter<'_, '_>,
    segment: &str,
    (owner, n, rev): (&str, u32, u32),
    blobs: &[Blob],
) {
    for blob in blobs {
        put(writer, blob);
        writer.tx.push(
            "INSERT INTO blob_refs (tenant, segment, owner, n, rev, hash) VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT DO NOTHING",
            values![segment, owner, n, rev, &blob.hash],
        );
    }
}

const DROP: &str = "DELETE FROM blobs b WHERE b.tenant = $1 AND b.hash = ANY($2)
     AND NOT EXISTS (SELECT 1 FROM blob_refs r WHERE r.tenant = $1 AND r.hash = b.hash)
     AND NOT EXISTS (SELECT 1 FROM chat_sessions s WHERE s.tenant = $1 AND s.prefix = b.hash) RETURNING size";

/// Locks contents; those who refer to them are seen by the statement behind it.
const LOCK: &str = "SELECT hash FROM blobs WHERE tenant = $1 AND hash = ANY($2) ORDER BY hash FOR UPDATE";

/// Removes those of these contents that nothing refers to.
pub(super) fn drop_unused(writer: &mut SessionWriter<'_, '_>, hashes: &[String]) {
    if !hashes.is_empty() {
        writer.contents.retain(|known| !hashes.contains(known));
        writer.tx.push(LOCK, values![hashes]);
        writer.tx.push(DROP, values![hashes]);
    }
}

/// Removes those of these contents that nothing refers to, and counts them.
pub(super) async fn drop_counted(tx: &mut Tx<'_>, mut hashes: Vec<String>) -> Done<Deleted> {
    hashes.sort();
    hashes.dedup();
    let mut deleted = Deleted::default();
    if hashes.is_empty() {
        return Ok(deleted);
    }
    tx.push(LOCK, values![&hashes[..]]);
    for row in tx.query(DROP, values![&hashes[..]]).await? {
        count(&mut deleted, &row)?;
    }
    Ok(deleted)
}

/// Counts a deleted content by a row with its size.
pub(super) fn count(deleted: &mut Deleted, row: &tokio_postgres::Row) -> Result<(), String> {
    deleted.blobs += 1;
    deleted.blob_bytes += number::<u64>(row, 0)?;
    Ok(())
}

/// The hashes in rows with nothing else.
pub(super) fn hashes(rows: &[tokio_postgres::Row]) -> Result<Vec<String>, String> {
    rows.iter().map(|row| text(row, 0)).collect()
}
