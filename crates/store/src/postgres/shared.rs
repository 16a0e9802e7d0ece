//! Rows of a workspace that belong to no session: scopes and standing approvals.

use super::fault::Done;
use super::tx::{Statement, Tx};
use super::value::{boolean, number, text, text_or_null, values};
use crate::error::StoreError;
use crate::patch;
use crate::row::{CHANGED, approval_sum, json, scope_sum};
use engine::scope::{Scope, ScopePatch};
use engine::text::sha256_hex;
use session::stored::Always;
use std::collections::BTreeMap;
use tokio_postgres::Row;

fn ask(tx: &Tx<'_>, workspace: &str, name: &str, lock: &str) -> Statement {
    let sql =
        "SELECT revision, check_sum, scope FROM scopes WHERE tenant = $1 AND workspace = $2 AND name = $3";
    tx.of_tenant(format!("{sql}{lock}"), values![workspace, name])
}

/// Reads a scope. An unreadable one is empty, at its revision.
fn read(workspace: &str, name: &str, row: Option<&Row>) -> Scope {
    let Some(row) = row else { return Scope::default() };
    let read = || -> Result<Scope, String> {
        let scope = text(row, 2)?;
        if scope_sum(workspace, name, number(row, 0)?, &scope) != number::<i64>(row, 1)? {
            return Err(CHANGED.to_owned());
        }
        json(&scope)
    };
    read().unwrap_or_else(|reason| {
        tracing::warn!(reason, workspace, scope = name, "what is shared cannot be read and is set aside");
        Scope { revision: number(row, 0).unwrap_or_default(), ..Scope::default() }
    })
}

/// See [`crate::Store::scope`].
pub(super) async fn scope(tx: &mut Tx<'_>, workspace: &str, name: &str) -> Done<Scope> {
    let asked = vec![ask(tx, workspace, name, "")];
    let rows = tx.queries(asked).await?;
    Ok(read(workspace, name, rows.first().and_then(|rows| rows.first())))
}

/// See [`crate::Store::put_scope`].
pub(super) async fn put_scope(
    tx: &mut Tx<'_>,
    workspace: &str,
    name: &str,
    change: &ScopePatch,
    if_revision: Option<u64>,
) -> Done<Scope> {
    let asked = vec![ask(tx, workspace, name, " FOR UPDATE")];
    let rows = tx.queries(asked).await?;
    let row = rows.first().and_then(|rows| rows.first());
    let mut scope = read(workspace, name, row);
    let before = scope.revision;
    patch(name, &mut scope, change, if_revision)?;
    if scope.revision != before {
        put(tx, workspace, name, &scope, before)?;
    }
    Ok(scope)
}

/// Stores a scope that was at revision `before`. Of two that make it at once, the second one fails, and is tried again.
fn put(tx: &mut Tx<'_>, workspace: &str, name: &str, scope: &Scope, before: u64) -> Done {
    let row = serde_json::to_string(scope)
        .map_err(|error| StoreError::Crashed { reason: format!("scope {name}: {error}") })?;
    let check_sum = scope_sum(workspace, name, scope.revision, &row);
    let values = values![workspace, name, scope.revision, check_sum, row];
    match before {
        0 => tx.push(
            "INSERT INTO scopes (tenant, workspace, name, revision, check_sum, scope) VALUES ($1, $2, $3, $4, $5, $6)",
            values,
        ),
        _ => tx.push(
            "UPDATE scopes SET revision = $4, check_sum = $5, scope = $6
             WHERE tenant = $1 AND workspace = $2 AND name = $3",
            values,
        ),
    }
    Ok(())
}

/// Selects scopes of a session's workspace by their names, and locks them.
pub(super) fn of_session(tx: &Tx<'_>, session: &str, names: &[String]) -> Statement {
    let sql = "SELECT c.revision, c.check_sum, c.scope, c.name FROM scopes c
         JOIN chat_sessions s ON s.tenant = c.tenant AND s.workspace = c.workspace
         WHERE s.tenant = $1 AND s.id = $2 AND c.name = ANY($3) ORDER BY c.name FOR UPDATE OF c";
    tx.of_tenant(sql, values![session, names])
}

/// Reads the rows of [`of_session`] off.
pub(super) fn by_name(workspace: &str, rows: &[Row]) -> Result<BTreeMap<String, Scope>, String> {
    let scope = |row: &Row| text(row, 3).map(|name| (name.clone(), read(workspace, &name, Some(row))));
    rows.iter().map(scope).collect()
}

/// The own scopes of a session and of its revision or branch.
pub(super) async fn pair(tx: &mut Tx<'_>, workspace: &str, session: &str, to: &str) -> Done<(Scope, Scope)> {
    let asked = vec![ask(tx, workspace, session, ""), ask(tx, workspace, to, " FOR UPDATE")];
    let rows = tx.queries(asked).await?;
    let scope = |at: usize, name| read(workspace, name, rows.get(at).and_then(|rows| rows.first()));
    Ok((scope(0, session), scope(1, to)))
}

/// Copies a session's own scope to its revision or branch, which may have one already.
pub(super) fn copy(tx: &mut Tx<'_>, workspace: &str, own: Scope, (to, mut there): (&str, Scope)) -> Done {
    if own != Scope::default() {
        let before = there.revision;
        patch(to, &mut there, &ScopePatch::from(own), None)?;
        if there.revision != before {
            put(tx, workspace, to, &there, before)?;
        }
    }
    Ok(())
}

/// Removes those of these scopes that no session uses.
pub(super) fn drop_scopes(tx: &mut Tx<'_>, workspace: &str, names: &[Option<&str>]) {
    let names: Vec<String> = names.iter().copied().flatten().map(str::to_owned).collect();
    tx.push(
        "DELETE FROM scopes c WHERE c.tenant = $1 AND c.workspace = $2 AND c.name = ANY($3) AND NOT EXISTS
             (SELECT 1 FROM chat_sessions s WHERE s.tenant = $1 AND s.workspace = $2
              AND (s.id = c.name OR s.work_scope = c.name))",
        values![workspace, &names[..]],
    );
}

/// The key of calls: the tool and the pattern, which may be long.
fn call(always: &Always) -> String {
    let pattern = always.pattern.as_ref().map_or_else(String::new, |pattern| format!("={pattern}"));
    sha256_hex(format!("{}\0{pattern}", always.tool).as_bytes())
}

/// See [`crate::Store::approvals`]. An unreadable approval does not count: the user is asked again.
pub(super) async fn approvals(tx: &mut Tx<'_>, workspace: &str) -> Done<Vec<Always>> {
    let sql = "SELECT tool, pattern, check_sum, rejected FROM approvals WHERE tenant = $1 AND workspace = $2";
    let read = |row: &Row| -> Result<Always, String> {
        let (tool, pattern, rejected) = (text(row, 0)?, text_or_null(row, 1)?, boolean(row, 3)?);
        let always = Always { tool, pattern, rejected };
        let is_same = approval_sum(workspace, &always) == number::<i64>(row, 2)?;
        if is_same { Ok(always) } else { Err(CHANGED.to_owned()) }
    };
    let mut approvals = Vec::new();
    for row in &tx.query(sql, values![workspace]).await? {
        match read(row) {
            Ok(always) => approvals.push(always),
            Err(reason) => tracing::warn!(reason, workspace, "an approval cannot be read and is set aside"),
        }
    }
    approvals.sort();
    Ok(approvals)
}

/// See [`crate::Store::approve`].
pub(super) fn approve(tx: &mut Tx<'_>, workspace: &str, always: &Always) {
    tx.push(
        "INSERT INTO approvals (tenant, workspace, call, tool, pattern, rejected, check_sum)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (tenant, workspace, call) DO UPDATE SET tool = excluded.tool, pattern = excluded.pattern,
             rejected = excluded.rejected, check_sum = excluded.check_sum",
        values![
            workspace,
            call(always),
            &always.tool,
            always.pattern.as_deref(),
            always.rejected,
            approval_sum(workspace, always),
        ],
    );
}

/// See [`crate::Store::revoke`].
pub(super) fn revoke(tx: &mut Tx<'_>, workspace: &str, always: &Always) {
    let gone = "DELETE FROM approvals WHERE tenant = $1 AND workspace = $2 AND call = $3";
    tx.push(gone, values![workspace, call(always)]);
}
