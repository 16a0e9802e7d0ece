//! Revisions: sessions as they were before a rewind, which share rows with them. Deleted with their session, in `delete`.

use super::columns::{millis, number, text, text_or_null, time, variant, word};
use super::segments::{self, is_there};
use super::{Done, Fault, refused, shared};
use crate::error::StoreError;
use crate::list::{RevisionPage, RevisionRow};
use engine::id::SessionId;
use rusqlite::{OptionalExtension, Row, Transaction, params};
use session::stored::{Origin, Revision};

/// Keeps a session as it stands as a revision, with the rows that it has.
pub(super) fn keep(tx: &Transaction<'_>, session: &SessionId, revision: &Revision) -> Done {
    let Revision { id, cause, at, words } = revision;
    if is_there(tx, id)? {
        return Err(refused(session, format!("session {id} exists already")));
    }
    let ids = [session.as_str(), id.as_str()];
    // Nobody lists the summary of a revision.
    const ALIKE: &str = "workspace, title, title_from, driver, kind, work_scope, generation, cuts, settings, prefix, \
                         created_at, first_request, first_request_ord";
    let head = format!(
        "INSERT INTO chat_sessions (id, parent, origin, revision_cause, revised_at, revision_words, segment, {ALIKE})
         SELECT ?2, ?1, ?3, ?4, ?5, ?6, ?7, {ALIKE} FROM chat_sessions WHERE id = ?1"
    );
    let segment = segments::create(tx, id.as_str(), &segments::named(tx, session)?)?;
    let row = params![ids[0], ids[1], word(&Origin::Revision), word(cause), millis(*at), words, segment];
    tx.prepare_cached(&head)?.execute(row)?;
    tx.prepare_cached(
        "INSERT INTO chat_activity (session, workspace, updated_at, messages, turns, accepted, is_revision)
         SELECT ?2, workspace, updated_at, messages, turns, accepted, 1 FROM chat_activity WHERE session = ?1",
    )?
    .execute(ids)?;
    segments::share(tx, session, id, segments::EVERYTHING)?;
    shared::copy_scope(tx, session.as_str(), id.as_str())
}

/// Fails with `IsRevision` for a revision.
pub(super) fn is_own(tx: &Transaction<'_>, session: &SessionId) -> Result<(), Fault> {
    match session_of(tx, session)? {
        None => Ok(()),
        Some(of) => Err(StoreError::IsRevision { session: session.clone(), of }.into()),
    }
}

/// The session of a revision; `None` for a session.
pub(super) fn session_of(tx: &Transaction<'_>, session: &SessionId) -> rusqlite::Result<Option<SessionId>> {
    let of: Option<Option<String>> = tx
        .prepare_cached("SELECT parent FROM chat_sessions WHERE id = ?1 AND origin = 'revision'")?
        .query_row([session.as_str()], |row| row.get(0))
        .optional()?;
    Ok(of.map(|of| of.map_or_else(|| session.clone(), SessionId::new)))
}

pub(super) const REVISIONS: &str =
    "SELECT s.id, s.revision_cause, s.revised_at, s.revision_words, s.cuts, a.messages
     FROM chat_sessions s LEFT JOIN chat_activity a ON a.session = s.id
     WHERE s.parent = ?1 AND s.origin = 'revision' AND s.cuts < ?2 ORDER BY s.cuts DESC LIMIT ?3";

/// See [`crate::Store::revisions`].
pub(super) fn page(
    tx: &Transaction<'_>,
    session: &SessionId,
    before: Option<u32>,
    limit: u32,
) -> rusqlite::Result<Option<RevisionPage>> {
    if !is_there(tx, session)? {
        return Ok(None);
    }
    let mut statement = tx.prepare_cached(REVISIONS)?;
    let before = before.map_or(i64::MAX, i64::from);
    let mut rows = statement.query(params![session.as_str(), before, i64::from(limit) + 1])?;
    // The page ends after as many rows, whether all of them can be read or not.
    let (mut page, mut last) = (RevisionPage::default(), None);
    for n in 0.. {
        let Some(row) = rows.next()? else { break };
        if n == limit {
            page.next = last;
            break;
        }
        last = row.get(4).ok();
        match revision(row) {
            Ok(revision) => page.revisions.push(revision),
            Err(reason) => tracing::warn!(reason, "a revision is left out of a list"),
        }
    }
    Ok(Some(page))
}

fn revision(row: &Row<'_>) -> Result<RevisionRow, String> {
    let revision = Revision {
        id: SessionId::new(text(row, 0)?),
        cause: variant(text(row, 1)?)?,
        at: time(number(row, 2)?),
        words: text_or_null(row, 3)?.map(str::to_owned),
    };
    Ok(RevisionRow { revision, number: number(row, 4)?, messages: number(row, 5)? })
}
