//! Rows of a workspace's memories. They are few: a query reads all of them, and the engine chooses.

use super::fault::Done;
use super::tx::Tx;
use super::value::{number, text, values};
use crate::error::StoreError;
use crate::row::{CHANGED, json, memory_sum};
use engine::id::Time;
use engine::memory::{Memory, MemoryPage, MemoryPatch, MemoryQuery};
use tokio_postgres::Row;

/// Reads a memory; an unreadable one is logged and left out.
fn memory(workspace: &str, row: &Row) -> Option<Memory> {
    let read = || -> Result<Memory, String> {
        let whole = text(row, 1)?;
        let memory: Memory = json(&whole)?;
        let is_same = memory_sum(workspace, &memory, &whole) == number::<i64>(row, 0)?;
        if is_same { Ok(memory) } else { Err(CHANGED.to_owned()) }
    };
    let warn = |reason| tracing::warn!(reason, workspace, "a memory cannot be read and is set aside");
    read().map_err(warn).ok()
}

/// See [`crate::Store::memories`].
pub(super) async fn memories(tx: &mut Tx<'_>, workspace: &str, query: &MemoryQuery) -> Done<MemoryPage> {
    let sql = "SELECT check_sum, memory FROM memories WHERE tenant = $1 AND workspace = $2";
    let rows = tx.query(sql, values![workspace]).await?;
    Ok(query.page(rows.iter().filter_map(|row| memory(workspace, row))))
}

/// See [`crate::Store::put_memory`].
pub(super) async fn put(
    tx: &mut Tx<'_>,
    workspace: &str,
    id: &str,
    patch: MemoryPatch,
    now: Time,
) -> Done<Option<Memory>> {
    let sql =
        "SELECT check_sum, memory FROM memories WHERE tenant = $1 AND workspace = $2 AND id = $3 FOR UPDATE";
    let rows = tx.query(sql, values![workspace, id]).await?;
    let before = rows.first().and_then(|row| memory(workspace, row));
    let Some(memory) = Memory::changed(before.clone(), id, patch, now) else { return Ok(None) };
    if before.as_ref() != Some(&memory) {
        let row = serde_json::to_string(&memory)
            .map_err(|error| StoreError::Crashed { reason: format!("memory {id}: {error}") })?;
        let sum = memory_sum(workspace, &memory, &row);
        tx.push(
            "INSERT INTO memories (tenant, workspace, id, check_sum, memory) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (tenant, workspace, id) DO UPDATE SET check_sum = excluded.check_sum, memory = excluded.memory",
            values![workspace, id, sum, row],
        );
    }
    Ok(Some(memory))
}

/// See [`crate::Store::delete_memory`].
pub(super) async fn delete(tx: &mut Tx<'_>, workspace: &str, id: &str) -> Done<bool> {
    let sql = "DELETE FROM memories WHERE tenant = $1 AND workspace = $2 AND id = $3 RETURNING id";
    Ok(!tx.query(sql, values![workspace, id]).await?.is_empty())
}
