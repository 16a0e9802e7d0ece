//! Revisions: sessions as they were before a rewind, which share rows with them.

use crate::error::StoreError;
use crate::list::{RevisionPage, RevisionRow};
use crate::postgres::fault::Done;
use crate::postgres::tx::{Statement, Tx};
use crate::postgres::value::{number, text, text_or_null, values};
use crate::row::{time, variant};
use engine::id::SessionId;
use session::stored::Revision;
use tokio_postgres::Row;

pub(in crate::postgres) const IS_THERE: &str =
    "SELECT 1::bigint FROM chat_sessions WHERE tenant = $1 AND id = $2";

/// Selects the session of a revision; nothing for a session.
pub(in crate::postgres) fn session_of(tx: &Tx<'_>, session: &SessionId) -> Statement {
    let sql = "SELECT parent FROM chat_sessions WHERE tenant = $1 AND id = $2 AND origin = 'revision'";
    tx.of_tenant(sql, values![session.as_str()])
}

/// Fails with `IsRevision` if there is a row of [`session_of`].
pub(in crate::postgres) fn is_own(session: &SessionId, row: Option<&Row>) -> Done {
    let Some(row) = row else { return Ok(()) };
    let of = text_or_null(row, 0)?.map_or_else(|| session.clone(), SessionId::new);
    Err(StoreError::IsRevision { session: session.clone(), of }.into())
}

const REVISIONS: &str = "SELECT s.id, s.revision_cause, s.revised_at, s.revision_words, s.cuts, a.messages
     FROM chat_sessions s LEFT JOIN chat_activity a ON a.tenant = s.tenant AND a.session = s.id
     WHERE s.tenant = $1 AND s.parent = $2 AND s.origin = 'revision' AND s.cuts < $3 ORDER BY s.cuts DESC LIMIT $4";

/// See [`crate::Store::revisions`].
pub(in crate::postgres) async fn page(
    tx: &mut Tx<'_>,
    session: &SessionId,
    before: Option<u32>,
    limit: u32,
) -> Done<Option<RevisionPage>> {
    let before = before.map_or(i64::MAX, i64::from);
    let asked = vec![
        tx.of_tenant(IS_THERE, values![session.as_str()]),
        tx.of_tenant(REVISIONS, values![session.as_str(), before, i64::from(limit) + 1]),
    ];
    let found = tx.queries(asked).await?;
    let [there, rows] = &found[..] else { return Ok(None) };
    if there.is_empty() {
        return Ok(None);
    }
    // The page ends after as many rows, whether all of them can be read or not.
    let (mut page, mut last) = (RevisionPage::default(), None);
    for (n, row) in (0..).zip(rows) {
        if n == limit {
            page.next = last;
            break;
        }
        last = number(row, 4).ok();
        match revision(row) {
            Ok(revision) => page.revisions.push(revision),
            Err(reason) => tracing::warn!(reason, "a revision is left out of a list"),
        }
    }
    Ok(Some(page))
}

fn revision(row: &Row) -> Result<RevisionRow, String> {
    let revision = Revision {
        id: SessionId::new(text(row, 0)?),
        cause: variant(&text(row, 1)?)?,
        at: time(number(row, 2)?),
        words: text_or_null(row, 3)?,
    };
    Ok(RevisionRow { revision, number: number(row, 4)?, messages: number(row, 5)? })
}
