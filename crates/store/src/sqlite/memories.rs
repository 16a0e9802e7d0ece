//! Rows of a workspace's memories, and their search index.

use super::Fault;
use super::columns::{CHANGED, json, number, text};
use crate::error::StoreError;
use crate::row::memory_sum;
use engine::id::Time;
use engine::memory::{Memory, MemoryPage, MemoryPatch, MemoryQuery};
use engine::search::{Words, folded};
use rusqlite::{OptionalExtension, Row, Transaction, params};
use std::collections::BTreeSet;

/// The most runs of a query. More would not change the result: each hit is checked anyway.
const MOST_RUNS: usize = 24;

/// Reads a memory; an unreadable one is logged and left out.
fn memory(workspace: &str, row: &Row<'_>) -> Option<Memory> {
    let read = || -> Result<Memory, String> {
        let whole = text(row, 2)?;
        let memory: Memory = json(whole)?;
        let is_same = memory_sum(workspace, &memory, whole) == number::<i64>(row, 1)?;
        if is_same { Ok(memory) } else { Err(CHANGED.to_owned()) }
    };
    let warn = |reason| tracing::warn!(reason, workspace, "a memory cannot be read and is set aside");
    read().map_err(warn).ok()
}

const COLUMNS: &str = "n, check_sum, memory";

/// See [`crate::Store::memories`].
pub(super) fn memories(
    tx: &Transaction<'_>,
    workspace: &str,
    query: &MemoryQuery,
) -> rusqlite::Result<MemoryPage> {
    let read = |row: &Row<'_>| Ok(memory(workspace, row));
    let asked = query.words.as_ref().and_then(asked);
    let found: Vec<Option<Memory>> = match asked {
        Some(asked) => {
            let sql = format!(
                "SELECT {COLUMNS} FROM memories WHERE workspace = ?1
                 AND n IN (SELECT rowid FROM search_memories WHERE search_memories MATCH ?2)"
            );
            let mut statement = tx.prepare_cached(&sql)?;
            statement.query_map(params![workspace, asked], read)?.collect::<Result<_, _>>()?
        }
        None => {
            let mut statement =
                tx.prepare_cached(&format!("SELECT {COLUMNS} FROM memories WHERE workspace = ?1"))?;
            statement.query_map([workspace], read)?.collect::<Result<_, _>>()?
        }
    };
    Ok(query.page(found.into_iter().flatten()))
}

/// The index query: runs that every match contains. `None` if all words are too short.
fn asked(words: &Words) -> Option<String> {
    let mut runs: BTreeSet<String> = BTreeSet::new();
    for word in words.iter() {
        let chars: Vec<char> = word.chars().collect();
        // Every second run covers the word; the last one reaches its end.
        let starts = (0..chars.len().saturating_sub(2)).step_by(2).chain(chars.len().checked_sub(3));
        runs.extend(starts.filter_map(|at| chars.get(at..at + 3)).map(|run| run.iter().collect()));
    }
    let each: Vec<String> =
        runs.iter().take(MOST_RUNS).map(|run| format!("\"{}\"", run.replace('"', "\"\""))).collect();
    (!each.is_empty()).then(|| each.join(" AND "))
}

/// See [`crate::Store::put_memory`].
pub(super) fn put(
    tx: &Transaction<'_>,
    workspace: &str,
    id: &str,
    patch: MemoryPatch,
    now: Time,
) -> Result<Option<Memory>, Fault> {
    let there: Option<(i64, Option<Memory>)> = tx
        .prepare_cached(&format!("SELECT {COLUMNS} FROM memories WHERE workspace = ?1 AND id = ?2"))?
        .query_row([workspace, id], |row| Ok((row.get(0)?, memory(workspace, row))))
        .optional()?;
    let (n, before) = there.map_or((None, None), |(n, memory)| (Some(n), memory));
    let Some(memory) = Memory::changed(before.clone(), id, patch, now) else { return Ok(None) };
    if before.as_ref() == Some(&memory) {
        return Ok(Some(memory));
    }
    let row = serde_json::to_string(&memory)
        .map_err(|error| StoreError::Crashed { reason: format!("memory {id}: {error}") })?;
    let sum = memory_sum(workspace, &memory, &row);
    let n: i64 = tx
        .prepare_cached(
            "INSERT INTO memories (n, workspace, id, area, active, check_sum, memory)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (workspace, id) DO UPDATE SET
                 area = excluded.area, active = excluded.active, check_sum = excluded.check_sum, memory = excluded.memory
             RETURNING n",
        )?
        .query_row(params![n, workspace, id, memory.area, memory.active, sum, row], |row| row.get(0))?;
    tx.prepare_cached("DELETE FROM search_memories WHERE rowid = ?1")?.execute([n])?;
    tx.prepare_cached("INSERT INTO search_memories (rowid, said) VALUES (?1, ?2)")?
        .execute(params![n, folded(&memory.said())])?;
    Ok(Some(memory))
}

/// See [`crate::Store::delete_memory`].
pub(super) fn delete(tx: &Transaction<'_>, workspace: &str, id: &str) -> rusqlite::Result<bool> {
    let n: Option<i64> = tx
        .prepare_cached("DELETE FROM memories WHERE workspace = ?1 AND id = ?2 RETURNING n")?
        .query_row([workspace, id], |row| row.get(0))
        .optional()?;
    if let Some(n) = n {
        tx.prepare_cached("DELETE FROM search_memories WHERE rowid = ?1")?.execute([n])?;
        // Optimizing removes the deleted entry's bytes; memories are few.
        tx.execute("INSERT INTO search_memories (search_memories) VALUES ('optimize')", [])?;
    }
    Ok(n.is_some())
}
