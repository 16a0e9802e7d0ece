//! Reads lists of sessions.

use crate::list::{ListQuery, Page, PageMaker, SessionRow};
use crate::sqlite::columns::{millis, number, text, text_or_null, time, variant};
use crate::sqlite::leases::{self, Caller};
use engine::id::SessionId;
use engine::words::StateName;
use rusqlite::{Row, Transaction, params};
use std::cmp::Reverse;

/// Selects a workspace's sessions after a cursor, in the order of a list, without revisions.
pub(in crate::sqlite) const LIST: &str =
    "SELECT a.session, a.updated_at, a.messages, a.turns, s.title, s.driver, s.kind, s.parent, s.created_at,
         s.first_request, s.summary, s.summarized_count, a.workspace, s.origin, s.work_scope,
         CASE WHEN json_valid(a.carried) THEN json_extract(a.carried, '$.state') END,
         CASE WHEN json_valid(a.carried) THEN coalesce(json_extract(a.carried, '$.works'), 0) ELSE 0 END
     FROM chat_activity a CROSS JOIN chat_sessions s ON s.id = a.session
     WHERE a.is_revision = 0 AND a.workspace = ?3 AND a.updated_at <= ?1 AND (a.updated_at < ?1 OR a.session > ?2)
     ORDER BY a.updated_at DESC, a.session";

/// Select workspaces in order, one at a time.
pub(in crate::sqlite) const FIRST_WORKSPACE: &str =
    "SELECT min(workspace) FROM chat_activity WHERE is_revision = 0";
pub(in crate::sqlite) const NEXT_WORKSPACE: &str =
    "SELECT min(workspace) FROM chat_activity WHERE is_revision = 0 AND workspace > ?1";

/// See [`crate::Store::list`].
pub(in crate::sqlite) fn list(
    tx: &Transaction<'_>,
    query: &ListQuery,
    me: &Caller,
) -> rusqlite::Result<Page> {
    if let Some(workspace) = &query.workspace {
        return list_of(tx, query, workspace, me);
    }
    // A file usually has one workspace. An order over several would need a sort per list, or an index that
    // each commit maintains.
    let mut all = Page::default();
    let mut workspace: Option<String> =
        tx.prepare_cached(FIRST_WORKSPACE)?.query_row([], |row| row.get(0))?;
    while let Some(one) = workspace {
        let page = list_of(tx, query, &one, me)?;
        all.sessions.extend(page.sessions);
        all.next = all.next.or(page.next);
        workspace = tx.prepare_cached(NEXT_WORKSPACE)?.query_row([&one], |row| row.get(0))?;
        all.sessions.sort_by(|a, b| (Reverse(a.updated_at), &a.id).cmp(&(Reverse(b.updated_at), &b.id)));
        let limit = query.limit as usize;
        if all.sessions.len() > limit || all.next.is_some() {
            all.sessions.truncate(limit);
            all.next = all.sessions.last().map(SessionRow::cursor);
        }
    }
    Ok(all)
}

/// Lists the sessions of one workspace.
fn list_of(tx: &Transaction<'_>, query: &ListQuery, workspace: &str, me: &Caller) -> rusqlite::Result<Page> {
    let (time, id) = match &query.after {
        Some(after) => (millis(after.updated_at), after.id.as_str()),
        None => (i64::MAX, ""),
    };
    let mut statement = tx.prepare_cached(LIST)?;
    let mut rows = statement.query(params![time, id, workspace])?;
    let mut page = PageMaker::new(query);
    while let Some(row) = rows.next()? {
        let is_full = match session_row(row, |id| leases::is_held(tx, id, me)) {
            Ok(row) => !page.take(row),
            Err(reason) => {
                tracing::warn!(reason, "a session is left out of a list");
                false
            }
        };
        if is_full {
            break;
        }
    }
    Ok(page.finish())
}

fn session_row(row: &Row<'_>, is_held: impl FnOnce(&SessionId) -> bool) -> Result<SessionRow, String> {
    let id = SessionId::new(text(row, 0)?);
    let state = text_or_null(row, 15)?.and_then(|word| variant(word).ok());
    let works = number::<u32>(row, 16)? != 0 && is_held(&id);
    let owned = |column| text_or_null(row, column).map(|text| text.map(str::to_owned));
    Ok(SessionRow {
        id,
        updated_at: time(number(row, 1)?),
        messages: number(row, 2)?,
        turns: number(row, 3)?,
        title: owned(4)?,
        driver: variant(text(row, 5)?)?,
        kind: owned(6)?,
        parent: text_or_null(row, 7)?.map(SessionId::new),
        created_at: time(number(row, 8)?),
        first_request: owned(9)?,
        summary: owned(10)?,
        summarized_count: number(row, 11)?,
        workspace: text(row, 12)?.to_owned(),
        origin: variant(text(row, 13)?)?,
        work_scope: owned(14)?,
        // As `Carried::seen` says.
        state: if works { Some(StateName::Generating) } else { state },
    })
}
