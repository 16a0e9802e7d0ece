//! Rows of a workspace that belong to no session: scopes and standing approvals.

use super::Fault;
use super::columns::{CHANGED, json, number, text, text_or_null};
use crate::error::StoreError;
use crate::patch;
use crate::row::{approval_sum, scope_sum};
use engine::scope::{Scope, ScopePatch};
use rusqlite::{OptionalExtension, Row, Transaction, params};
use session::stored::Always;

/// Reads a scope. An unreadable one is empty, at its revision.
pub(super) fn scope(tx: &Transaction<'_>, workspace: &str, name: &str) -> rusqlite::Result<Scope> {
    let read = |row: &Row<'_>| -> Result<Scope, String> {
        let (revision, scope) = (number(row, 0)?, text(row, 2)?);
        if scope_sum(workspace, name, revision, scope) != number::<i64>(row, 1)? {
            return Err(CHANGED.to_owned());
        }
        let mut scope: Scope = json(scope)?;
        // Todos of older versions have no ids.
        scope.number_todos();
        Ok(scope)
    };
    let read = |row: &Row<'_>| {
        Ok(read(row).unwrap_or_else(|reason| {
            tracing::warn!(reason, workspace, scope = name, "what is shared cannot be read and is set aside");
            Scope { revision: number(row, 0).unwrap_or_default(), ..Scope::default() }
        }))
    };
    let mut statement = tx
        .prepare_cached("SELECT revision, check_sum, scope FROM scopes WHERE workspace = ?1 AND name = ?2")?;
    Ok(statement.query_row([workspace, name], read).optional()?.unwrap_or_default())
}

/// See [`crate::Store::put_scope`].
pub(super) fn put_scope(
    tx: &Transaction<'_>,
    workspace: &str,
    name: &str,
    change: &ScopePatch,
    if_revision: Option<u64>,
) -> Result<Scope, Fault> {
    let mut scope = scope(tx, workspace, name)?;
    let before = scope.revision;
    patch(name, &mut scope, change, if_revision)?;
    if scope.revision != before {
        let row = serde_json::to_string(&scope)
            .map_err(|error| StoreError::Crashed { reason: format!("scope {name}: {error}") })?;
        let check_sum = scope_sum(workspace, name, scope.revision, &row);
        tx.prepare_cached(
            "INSERT INTO scopes (workspace, name, revision, check_sum, scope) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (workspace, name) DO UPDATE SET
                 revision = excluded.revision, check_sum = excluded.check_sum, scope = excluded.scope",
        )?
        .execute(params![workspace, name, scope.revision, check_sum, row])?;
    }
    Ok(scope)
}

/// Copies a session's own scope to its revision or branch.
pub(super) fn copy_scope(tx: &Transaction<'_>, session: &str, to: &str) -> Result<(), Fault> {
    let workspace: Option<String> = tx
        .prepare_cached("SELECT workspace FROM chat_sessions WHERE id = ?1")?
        .query_row([session], |row| row.get(0))
        .optional()?;
    let Some(workspace) = workspace else { return Ok(()) };
    let scope = scope(tx, &workspace, session)?;
    if scope != Scope::default() {
        let whole = ScopePatch::from(scope);
        put_scope(tx, &workspace, to, &whole, None)?;
    }
    Ok(())
}

/// Removes those of these scopes that no session uses.
pub(super) fn drop_scopes(
    tx: &Transaction<'_>,
    workspace: &str,
    names: [Option<&str>; 2],
) -> rusqlite::Result<()> {
    tx.execute(
        "DELETE FROM scopes WHERE workspace = ?1 AND name IN (?2, ?3) AND NOT EXISTS
             (SELECT 1 FROM chat_sessions AS s
              WHERE s.workspace = ?1 AND (s.id = scopes.name OR s.work_scope = scopes.name))",
        params![workspace, names[0], names[1]],
    )
    .map(drop)
}

/// See [`crate::Store::approvals`]. An unreadable approval does not count: the user is asked again.
pub(super) fn approvals(tx: &Transaction<'_>, workspace: &str) -> rusqlite::Result<Vec<Always>> {
    let read = |row: &Row<'_>| -> Result<Always, String> {
        let pattern = text_or_null(row, 1)?.map(str::to_owned);
        let rejected = number::<i64>(row, 3)? != 0;
        let always = Always { tool: text(row, 0)?.to_owned(), pattern, rejected };
        let is_same = approval_sum(workspace, &always) == number::<i64>(row, 2)?;
        if is_same { Ok(always) } else { Err(CHANGED.to_owned()) }
    };
    let mut statement =
        tx.prepare_cached("SELECT tool, pattern, check_sum, rejected FROM approvals WHERE workspace = ?1")?;
    let mut rows = statement.query([workspace])?;
    let mut approvals = Vec::new();
    while let Some(row) = rows.next()? {
        match read(row) {
            Ok(always) => approvals.push(always),
            Err(reason) => tracing::warn!(reason, workspace, "an approval cannot be read and is set aside"),
        }
    }
    approvals.sort();
    Ok(approvals)
}

/// See [`crate::Store::approve`].
pub(super) fn approve(tx: &Transaction<'_>, workspace: &str, always: &Always) -> rusqlite::Result<()> {
    // Replaces an unreadable one, and the opposite.
    revoke(tx, workspace, always)?;
    let sum = approval_sum(workspace, always);
    tx.prepare_cached(
        "INSERT INTO approvals (workspace, tool, pattern, check_sum, rejected) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute(params![workspace, always.tool, always.pattern, sum, always.rejected])
    .map(drop)
}

/// See [`crate::Store::revoke`].
pub(super) fn revoke(tx: &Transaction<'_>, workspace: &str, always: &Always) -> rusqlite::Result<()> {
    tx.prepare_cached("DELETE FROM approvals WHERE workspace = ?1 AND tool = ?2 AND pattern IS ?3")?
        .execute(params![workspace, always.tool, always.pattern])
        .map(drop)
}
