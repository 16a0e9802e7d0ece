//! Lists of sessions, and the session that has some messages.

use crate::list::{Cursor, ListQuery, Page, PageMaker, SessionRow};
use crate::postgres::fault::Done;
use crate::postgres::holder::{Identity, LEASE_COLUMNS, Lease, WITH_HOLDER};
use crate::postgres::tx::Tx;
use crate::postgres::value::{boolean, number, text, text_or_null, values};
use crate::row::{millis, time, variant};
use engine::id::SessionId;
use engine::words::StateName;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use tokio_postgres::Row;

/// Rows that are read at once for a list of a text, which only few of them may have.
const SLICE: u32 = 256;

/// See [`crate::Store::list`].
pub(in crate::postgres) async fn list(tx: &mut Tx<'_>, query: &ListQuery, me: &Identity) -> Done<Page> {
    let of_workspace = if query.workspace.is_some() { "AND a.workspace = $4" } else { "" };
    let sql = format!(
        "SELECT a.session, a.updated_at, a.messages, a.turns, s.title, s.driver, s.kind, s.parent, s.created_at,
             s.first_request, s.summary, s.summarized_count, a.workspace, s.origin, s.work_scope, a.state, a.works,
             {LEASE_COLUMNS}
         FROM chat_activity a JOIN chat_sessions s ON s.tenant = a.tenant AND s.id = a.session
         LEFT JOIN leases l ON a.works AND l.tenant = a.tenant AND l.session = a.session {WITH_HOLDER}
         WHERE a.tenant = $1 AND NOT a.is_revision AND a.updated_at <= $2 AND (a.updated_at < $2 OR a.session > $3)
             {of_workspace}
         ORDER BY a.updated_at DESC, a.session LIMIT "
    );
    let has_text = query.text.as_ref().is_some_and(|text| !text.is_empty());
    let slice = if has_text { SLICE } else { query.limit.saturating_add(1) };
    let sql = format!("{sql}{slice}");
    let mut page = PageMaker::new(query);
    let mut after = query.after.clone();
    loop {
        let (until, id) = match &after {
            Some(Cursor { updated_at, id }) => (millis(*updated_at), id.as_str()),
            None => (i64::MAX, ""),
        };
        let mut of = values![until, id];
        of.extend(query.workspace.as_deref().map(Into::into));
        let rows = tx.query(sql.clone(), of).await?;
        for row in &rows {
            after = Some(Cursor { updated_at: time(number(row, 1)?), id: SessionId::new(text(row, 0)?) });
            let is_full = match session_row(row, me) {
                Ok(row) => !page.take(row),
                Err(reason) => {
                    tracing::warn!(reason, "a session is left out of a list");
                    false
                }
            };
            if is_full {
                return Ok(page.finish());
            }
        }
        if u32::try_from(rows.len()).is_ok_and(|rows| rows < slice) {
            return Ok(page.finish());
        }
    }
}

fn session_row(row: &Row, me: &Identity) -> Result<SessionRow, String> {
    let state = text_or_null(row, 15)?.and_then(|word| variant(&word).ok());
    let works = boolean(row, 16)? && Lease::read(row, 17)?.is_held(me);
    Ok(SessionRow {
        id: SessionId::new(text(row, 0)?),
        updated_at: time(number(row, 1)?),
        messages: number(row, 2)?,
        turns: number(row, 3)?,
        title: text_or_null(row, 4)?,
        driver: variant(&text(row, 5)?)?,
        kind: text_or_null(row, 6)?,
        parent: text_or_null(row, 7)?.map(SessionId::new),
        created_at: time(number(row, 8)?),
        first_request: text_or_null(row, 9)?,
        summary: text_or_null(row, 10)?,
        summarized_count: number(row, 11)?,
        workspace: text(row, 12)?,
        origin: variant(&text(row, 13)?)?,
        work_scope: text_or_null(row, 14)?,
        // As `Carried::seen` says.
        state: if works { Some(StateName::Generating) } else { state },
    })
}

const FIND: &str = "WITH said AS (
         SELECT s.id, m.external_id FROM chat_messages m
         JOIN chat_sessions s ON s.tenant = m.tenant AND s.segment = m.segment
         WHERE m.tenant = $1 AND m.external_id = ANY($2) AND m.role = 'user'
         UNION
         SELECT h.session, m.external_id FROM chat_messages m
         JOIN shares h ON h.tenant = m.tenant AND h.segment = m.segment AND h.kind = 'messages'
             AND h.until > m.ord AND h.start <= m.ord
         WHERE m.tenant = $1 AND m.external_id = ANY($2) AND m.role = 'user')
     SELECT said.id, said.external_id, a.updated_at, s.parent IS NULL
     FROM said JOIN chat_activity a ON a.tenant = $1 AND a.session = said.id
     JOIN chat_sessions s ON s.tenant = $1 AND s.id = said.id
     WHERE a.workspace = $3 AND NOT a.is_revision";

/// See [`crate::Store::find`].
pub(in crate::postgres) async fn find(
    tx: &mut Tx<'_>,
    external_ids: &[String],
    workspace: &str,
) -> Done<Option<SessionId>> {
    let rows = tx.query(FIND, values![external_ids, workspace]).await?;
    let mut held: BTreeMap<String, (BTreeSet<String>, i64, bool)> = BTreeMap::new();
    for row in &rows {
        let of_session = (BTreeSet::new(), number(row, 2)?, boolean(row, 3)?);
        held.entry(text(row, 0)?).or_insert(of_session).0.insert(text(row, 1)?);
    }
    let mut best = None;
    for (session, (ids, updated_at, is_first)) in held {
        let count = external_ids.iter().filter(|id| ids.contains(*id)).count();
        best = best.max(Some((count, updated_at, is_first, Reverse(session))));
    }
    Ok(best.map(|(.., Reverse(session))| SessionId::new(session)))
}
