//! Applies writes to rows, within the transaction of a step: an error rolls the step back.

use super::blobs::{drop_blob, drop_refs, put, put_for};
use super::columns::{CompactionRow, MESSAGE_COLUMNS, MessageRow, millis, word};
use super::leases::{self, Caller};
use super::{Done, SqliteStore, let_go, read, refused, revisions, search, shared, streamed, waiting};
use crate::blob::{Blob, split};
use crate::error::StoreError;
use crate::{Commit, Deleted, Fence, one_by_one, request_of};
use engine::compact::record::{Compaction, Status};
use engine::id::{CompactionId, Ordinal, SessionId};
use engine::message::Message;
use rusqlite::{OptionalExtension, Transaction, params};
use session::stored::{Head, TurnRow, Write};

/// Owners of blobs, as `blob_refs` names them.
pub(super) const MESSAGE: &str = "message";
pub(super) const COMPACTION: &str = "compaction";

pub(super) fn apply(tx: &Transaction<'_>, session: &SessionId, write: &Write) -> Done {
    if let Write::Head(head) = write {
        return if head.id == *session {
            write_head(tx, head)
        } else {
            Err(refused(session, format!("the head is of session {}", head.id)))
        };
    }
    if !is_there(tx, session)? {
        return Err(refused(session, "unknown session".to_owned()));
    }
    match write {
        Write::Head(_) => Ok(()),
        Write::Message { turn, message } => append(tx, session, *turn, message),
        Write::Turn(turn) => write_turn(tx, session, turn),
        Write::Compaction(compaction) => record(tx, session, compaction),
        Write::CompactionStatus { id, status } => set_status(tx, session, id, *status),
        Write::Revision(revision) => revisions::keep(tx, session, revision),
        Write::LetGo { turn, messages } => {
            messages.iter().try_for_each(|message| let_go::replace(tx, session, *turn, message))
        }
        Write::Truncate { from, turns } => truncate(tx, session, *from, *turns).map(drop),
        Write::Branch { to, writes } => branch(tx, session, to, writes),
        Write::Enqueue(item) => waiting::enqueue(tx, session, item),
        Write::Dequeue(item) => waiting::dequeue(tx, session, item),
        Write::Key { key, accepted } => waiting::remember(tx, session, key, accepted),
        Write::Draft(draft) => waiting::keep_draft(tx, session, draft.as_deref()),
        Write::Streamed(piece) => streamed::keep(tx, session, piece),
        Write::StreamEnded => streamed::forget(tx, session),
    }
}

impl SqliteStore {
    /// See [`crate::Store::commit_all`]: one transaction, with a savepoint for each.
    pub(super) fn commit_group(&mut self, commits: &[Commit]) -> Vec<Result<(), StoreError>> {
        if commits.len() < 2 {
            return one_by_one(self, commits);
        }
        let (me, path) = (self.me(), self.path.clone());
        let group = self.write(|tx| {
            let of_group = |Commit { session, fence, writes }: &Commit| {
                tx.execute_batch("SAVEPOINT one_commit")?;
                let done = commit(tx, (session, *fence, &me), writes);
                if done.is_err() {
                    tx.execute_batch("ROLLBACK TO one_commit")?;
                }
                tx.execute_batch("RELEASE one_commit")?;
                Ok(done.map_err(|fault| fault.in_file(&path)))
            };
            commits.iter().map(of_group).collect::<Done<Vec<_>>>()
        });
        let done = match group {
            Ok(done) => done,
            // Each would wait as long for the same answer.
            Err(
                error @ (StoreError::Locked { .. }
                | StoreError::Moved { .. }
                | StoreError::NewerSchema { .. }
                | StoreError::ReadOnly { .. }
                | StoreError::Closed),
            ) => return vec![Err(error); commits.len()],
            // Nothing of it is stored: each has its own error, or none.
            Err(_) => return one_by_one(self, commits),
        };
        for (commit, _) in commits.iter().zip(&done).filter(|(_, done)| done.is_ok()) {
            self.committed(&commit.session, &commit.writes);
        }
        done
    }

    /// Indexes some messages that were committed before, of a session that was searched before: most never are, and an
    /// index costs space, and time when text is removed. Returns `true` if more are left.
    pub(super) fn index_more(&mut self) -> bool {
        let Some(session) = self.unindexed.first().cloned() else { return false };
        let indexed = self.without_waiting(|store| {
            if !store.read(|tx| Ok(search::is_searched(tx, &session)?))? {
                return Ok(false);
            }
            store.write(|tx| {
                search::catch_up(tx, &session, search::IDLE_BYTES)?;
                Ok(search::lags(tx, &session)?)
            })
        });
        match indexed {
            Ok(true) => return true,
            Ok(false) => {}
            // It is tried again after the next commit, and a search does without.
            Err(error) => tracing::info!(%session, %error, "the index stays behind"),
        }
        self.unindexed.remove(&session);
        !self.unindexed.is_empty()
    }

    /// Takes note of changes that were committed.
    pub(super) fn committed(&mut self, session: &SessionId, writes: &[Write]) {
        if writes.iter().any(|write| matches!(write, Write::Message { .. })) {
            self.unindexed.insert(session.clone());
        }
        if writes.iter().any(|write| matches!(write, Write::LetGo { .. } | Write::Truncate { .. })) {
            self.erase_later();
        }
    }
}

/// Applies the changes of a session that this caller holds under this fence.
pub(super) fn commit(
    tx: &Transaction<'_>,
    (session, fence, me): (&SessionId, Fence, &Caller),
    writes: &[Write],
) -> Done {
    leases::held(tx, session, fence, me)?;
    revisions::is_own(tx, session)?;
    writes.iter().try_for_each(|write| apply(tx, session, write))?;
    // Followers show whole answers: nothing new is there for them.
    match writes.iter().all(|write| matches!(write, Write::Streamed(_))) {
        true => Ok(()),
        false => count_commit(tx, session),
    }
}

/// Counts a commit, for followers of the session.
pub(super) fn count_commit(tx: &Transaction<'_>, session: &SessionId) -> Done {
    tx.prepare_cached("UPDATE chat_activity SET commits = commits + 1 WHERE session = ?1")?
        .execute([session.as_str()])?;
    Ok(())
}

/// Counts a change of an existing message: followers must read the session again.
pub(super) fn count_rewrite(tx: &Transaction<'_>, session: &SessionId) -> rusqlite::Result<()> {
    tx.prepare_cached("UPDATE chat_activity SET rewrites = rewrites + 1 WHERE session = ?1")?
        .execute([session.as_str()])
        .map(drop)
}

pub(super) fn is_there(tx: &Transaction<'_>, session: &SessionId) -> rusqlite::Result<bool> {
    tx.prepare_cached("SELECT 1 FROM chat_sessions WHERE id = ?1")?.exists([session.as_str()])
}

fn write_head(tx: &Transaction<'_>, head: &Head) -> Done {
    let session = head.id.as_str();
    let json = |error: serde_json::Error| refused(&head.id, error.to_string());
    let prefix = Blob::new(serde_json::to_string(&head.prefix).map_err(json)?);
    let settings = serde_json::to_string(&head.settings).map_err(json)?;
    let carried = serde_json::to_string(&head.carried).map_err(json)?;
    put(tx, &prefix)?;
    let before: Option<String> = tx
        .prepare_cached("SELECT prefix FROM chat_sessions WHERE id = ?1")?
        .query_row([session], |row| row.get(0))
        .optional()?;
    let mut statement = tx.prepare_cached(
        "INSERT INTO chat_sessions
             (id, workspace, title, driver, kind, parent, work_scope, generation, cuts, settings, prefix, created_at,
              title_from, origin, waits)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
         ON CONFLICT (id) DO UPDATE SET
             workspace = excluded.workspace, title = excluded.title, driver = excluded.driver, kind = excluded.kind,
             parent = excluded.parent, work_scope = excluded.work_scope, generation = excluded.generation,
             cuts = excluded.cuts, settings = excluded.settings, prefix = excluded.prefix,
             created_at = excluded.created_at, title_from = excluded.title_from, origin = excluded.origin,
             waits = excluded.waits
         WHERE (workspace, title, driver, kind, parent, work_scope, generation, cuts, settings, prefix, created_at,
                title_from, origin, waits)
             IS NOT (?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
    )?;
    statement.execute(params![
        session,
        head.workspace,
        head.title,
        word(&head.driver),
        head.kind,
        head.parent.as_ref().map(SessionId::as_str),
        head.work_scope,
        head.generation.0,
        head.cuts,
        settings,
        prefix.hash,
        millis(head.created_at),
        head.title_from.as_ref().map(word),
        word(&head.origin),
        head.waits,
    ])?;
    if let Some(before) = before.filter(|before| *before != prefix.hash) {
        drop_blob(tx, &before)?;
    }
    let mut statement = tx.prepare_cached(
        "INSERT INTO chat_activity (session, workspace, updated_at, accepted, carried) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (session) DO UPDATE SET
             workspace = excluded.workspace, updated_at = excluded.updated_at, accepted = excluded.accepted,
             carried = excluded.carried
         WHERE (workspace, updated_at, accepted, carried) IS NOT (?2, ?3, ?4, ?5)",
    )?;
    let activity = params![session, head.workspace, millis(head.updated_at), head.accepted, carried];
    statement.execute(activity)?;
    Ok(())
}

pub(super) fn append(tx: &Transaction<'_>, session: &SessionId, turn: u32, message: &Message) -> Done {
    let id = session.as_str();
    let (body, blobs) = split(&message.body).map_err(|error| refused(session, error.to_string()))?;
    let row = MessageRow::of(turn, message, &body);
    let mut statement = tx.prepare_cached(
        "INSERT INTO chat_messages
             (session, ord, rev, turn, role, external_id, message_id, turn_id, visible, created_at, tokens, hash,
              check_sum, body, shown)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15) ON CONFLICT DO NOTHING",
    )?;
    let inserted = statement.execute(params![
        id,
        row.ord,
        row.rev,
        row.turn,
        row.role,
        row.external_id,
        row.message_id,
        row.turn_id,
        row.visible,
        row.created_at,
        row.tokens,
        row.hash,
        row.check_sum(),
        row.body,
        row.shown.as_deref(),
    ])?;
    if inserted == 0 {
        let there: i64 = tx
            .prepare_cached(
                "SELECT check_sum FROM chat_messages WHERE session = ?1 AND ord = ?2 AND rev = ?3",
            )?
            .query_row(params![id, row.ord, row.rev], |row| row.get(0))?;
        let same = there == row.check_sum();
        // The editor's id of a message may become known later.
        if !same && row.external_id.is_some() {
            let learned = tx
                .prepare_cached(
                    "UPDATE chat_messages SET external_id = ?4, check_sum = ?5 WHERE session = ?1 AND ord = ?2
                     AND rev = ?3 AND external_id IS NULL AND hash = ?6",
                )?
                .execute(params![id, row.ord, row.rev, row.external_id, row.check_sum(), row.hash])?;
            if learned == 1 {
                return Ok(count_rewrite(tx, session)?);
            }
        }
        let other = || {
            refused(session, format!("message {} (revision {}) exists with other content", row.ord, row.rev))
        };
        return if same { Ok(()) } else { Err(other()) };
    }
    put_for(tx, session, (MESSAGE, row.ord, row.rev), &blobs)?;
    let (versions, newest): (u32, u32) = tx
        .prepare_cached("SELECT count(*), max(rev) FROM chat_messages WHERE session = ?1 AND ord = ?2")?
        .query_row(params![id, row.ord], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if versions > 1 {
        count_rewrite(tx, session)?;
    } else {
        tx.prepare_cached("UPDATE chat_activity SET messages = messages + 1 WHERE session = ?1")?
            .execute([id])?;
    }
    if newest == row.rev {
        search::replace(tx, session, message)?;
        follow_requests(tx, session, message, versions > 1)?;
    }
    Ok(())
}

/// Updates the beginning of the first request, from its newest version.
pub(super) fn follow_requests(
    tx: &Transaction<'_>,
    session: &SessionId,
    message: &Message,
    is_edit: bool,
) -> Done {
    let (id, ord) = (session.as_str(), message.ord.0);
    if let Some(request) = request_of(message) {
        tx.prepare_cached(
            "UPDATE chat_sessions SET first_request = ?2, first_request_ord = ?3
             WHERE id = ?1 AND (first_request_ord IS NULL OR first_request_ord >= ?3)",
        )?
        .execute(params![id, request, ord])?;
        return Ok(());
    }
    let was_first = || -> rusqlite::Result<bool> {
        tx.prepare_cached("SELECT 1 FROM chat_sessions WHERE id = ?1 AND first_request_ord = ?2")?
            .exists(params![id, ord])
    };
    if !is_edit || !was_first()? {
        return Ok(());
    }
    let mut statement = tx.prepare_cached(&later_requests())?;
    let mut rows = statement.query(params![id, ord])?;
    let mut first = None;
    while let Some(row) = rows.next()?
        && first.is_none()
    {
        // An unreadable message cannot be shown.
        first = read::message(tx, row).ok().and_then(|(_, later)| Some((request_of(&later)?, later.ord.0)));
    }
    let (request, ord) = first.unzip();
    tx.prepare_cached("UPDATE chat_sessions SET first_request = ?2, first_request_ord = ?3 WHERE id = ?1")?
        .execute(params![id, request, ord])?;
    Ok(())
}

/// Selects the newest versions of requests after a position.
pub(super) fn later_requests() -> String {
    format!(
        "SELECT {MESSAGE_COLUMNS} FROM chat_messages AS m
         WHERE session = ?1 AND ord > ?2 AND role = 'user' AND visible = 1 AND NOT EXISTS
             (SELECT 1 FROM chat_messages AS newer
              WHERE newer.session = m.session AND newer.ord = m.ord AND newer.rev > m.rev)
         ORDER BY ord"
    )
}

fn write_turn(tx: &Transaction<'_>, session: &SessionId, turn: &TurnRow) -> Done {
    let (id, started) = (session.as_str(), turn.started.map(|ord| ord.0));
    let decided =
        serde_json::to_string(&turn.decided).map_err(|error| refused(session, error.to_string()))?;
    let figures =
        serde_json::to_string(&turn.figures).map_err(|error| refused(session, error.to_string()))?;
    let values = params![id, turn.index, turn.id.as_str(), word(&turn.status), started, decided, figures];
    let updated = tx
        .prepare_cached(
            "UPDATE chat_turns SET id = ?3, status = ?4, started = ?5, decided = ?6, figures = ?7
             WHERE session = ?1 AND idx = ?2",
        )?
        .execute(values)?;
    if updated == 0 {
        tx.prepare_cached(
            "INSERT INTO chat_turns (session, idx, id, status, started, decided, figures)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(values)?;
        tx.prepare_cached("UPDATE chat_activity SET turns = turns + 1 WHERE session = ?1")?.execute([id])?;
    }
    Ok(())
}

fn record(tx: &Transaction<'_>, session: &SessionId, compaction: &Compaction) -> Done {
    let (id, name) = (session.as_str(), compaction.id.as_str());
    let row = CompactionRow::of(compaction).map_err(|error| refused(session, error.to_string()))?;
    let there: Option<i64> = tx
        .prepare_cached("SELECT check_sum FROM compactions WHERE session = ?1 AND id = ?2")?
        .query_row([id, name], |row| row.get(0))
        .optional()?;
    if let Some(there) = there {
        let other = || refused(session, format!("compaction {name} exists with other content"));
        return if there == row.check_sum { Ok(()) } else { Err(other()) };
    }
    let n: u32 = tx
        .prepare_cached("SELECT coalesce(max(n) + 1, 0) FROM compactions WHERE session = ?1")?
        .query_row([id], |row| row.get(0))?;
    tx.prepare_cached(
        "INSERT INTO compactions (session, n, id, status, covered, created_at, check_sum, block, record)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?
    .execute(params![
        id,
        n,
        name,
        word(&compaction.status),
        compaction.resume_at().0,
        compaction.created_at.map(millis),
        row.check_sum,
        &*compaction.block,
        row.record,
    ])?;
    put_for(tx, session, (COMPACTION, n, 0), &row.blobs)?;
    Ok(sum_up(tx, session)?)
}

fn set_status(tx: &Transaction<'_>, session: &SessionId, record: &CompactionId, status: Status) -> Done {
    let updated = tx
        .prepare_cached("UPDATE compactions SET status = ?3 WHERE session = ?1 AND id = ?2")?
        .execute(params![session.as_str(), record.as_str(), word(&status)])?;
    if updated == 0 {
        return Err(refused(session, format!("unknown compaction {record}")));
    }
    Ok(sum_up(tx, session)?)
}

/// Updates the session's summary and its count, from the newest compaction in force.
pub(super) fn sum_up(tx: &Transaction<'_>, session: &SessionId) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "UPDATE chat_sessions SET
             summary = nullif(newest.block, ''), summarized_count = coalesce(newest.covered, 0),
             summary_updated_at = newest.created_at
         FROM (SELECT 1) LEFT JOIN
             (SELECT block, covered, created_at FROM compactions
              WHERE session = ?1 AND status = 'inForce' ORDER BY n DESC LIMIT 1) AS newest
         WHERE id = ?1",
    )?
    .execute([session.as_str()])
    .map(drop)
}

fn branch(tx: &Transaction<'_>, session: &SessionId, to: &SessionId, writes: &[Write]) -> Done {
    if is_there(tx, to)? {
        return Err(refused(session, format!("session {to} exists already")));
    }
    if !matches!(writes.first(), Some(Write::Head(_))) {
        return Err(refused(session, format!("the branch {to} does not begin with its head")));
    }
    writes.iter().try_for_each(|write| apply(tx, to, write))?;
    shared::copy_scope(tx, session.as_str(), to.as_str())
}

/// Deletes messages from `from` on and turns from `turns` on; returns what was deleted.
pub(super) fn truncate(
    tx: &Transaction<'_>,
    session: &SessionId,
    from: Ordinal,
    turns: u32,
) -> Done<Deleted> {
    let id = session.as_str();
    let from = from.0;
    let places: u32 = tx
        .prepare_cached("SELECT count(DISTINCT ord) FROM chat_messages WHERE session = ?1 AND ord >= ?2")?
        .query_row(params![id, from], |row| row.get(0))?;
    let mut deleted = drop_refs(tx, session, MESSAGE, from..=u32::MAX)?;
    deleted.messages = count(
        tx.prepare_cached("DELETE FROM chat_messages WHERE session = ?1 AND ord >= ?2")?
            .execute(params![id, from])?,
    );
    deleted.turns = count(
        tx.prepare_cached("DELETE FROM chat_turns WHERE session = ?1 AND idx >= ?2")?
            .execute(params![id, turns])?,
    );
    tx.prepare_cached(
        "UPDATE chat_activity SET messages = messages - ?2, turns = turns - ?3 WHERE session = ?1",
    )?
    .execute(params![id, places, deleted.turns])?;
    count_rewrite(tx, session)?;
    search::forget(tx, session, Ordinal(from))?;
    tx.prepare_cached(
        "UPDATE chat_sessions SET first_request = NULL, first_request_ord = NULL
         WHERE id = ?1 AND first_request_ord >= ?2",
    )?
    .execute(params![id, from])?;
    Ok(deleted)
}

pub(super) fn count(rows: usize) -> u32 {
    u32::try_from(rows).unwrap_or(u32::MAX)
}
