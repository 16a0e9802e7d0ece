//! Applies writes to rows, within the transaction of a step: an error rolls the step back.

mod let_go;
pub(super) mod messages;

pub(super) use messages::{append, follow_requests, truncate};

use super::blobs::{COMPACTION, drop_blob, put, put_for};
use super::columns::{CompactionRow, millis, word};
use super::leases::{self, Caller};
use super::read::records::STATUS;
use super::segments::{self, RowKind, is_there};
use super::{Done, SqliteStore, read, refused, revisions, search, shared, streamed, waiting};
use crate::blob::Blob;
use crate::error::StoreError;
use crate::{Commit, Fence, one_by_one};
use engine::compact::record::{Compaction, Status};
use engine::id::{CompactionId, SessionId};
use rusqlite::{OptionalExtension, Transaction, params};
use session::stored::{Head, Inherited, TurnRow, Write};

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
        Write::Truncate { from, turns } => truncate(tx, session, *from, *turns),
        Write::Branch { to, inherited, writes } => branch(tx, session, (to, inherited), writes),
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
        // What a revision keeps is deleted with the revision.
        let is_kept = writes.iter().any(|write| matches!(write, Write::Revision(_)));
        if writes.iter().any(|write| match write {
            Write::LetGo { .. } => true,
            Write::Truncate { .. } => !is_kept,
            _ => false,
        }) {
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
    // Followers look for new pieces of an answer by themselves.
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
    let segment = match before {
        Some(_) => None,
        None => Some(segments::create(tx, session, session)?),
    };
    let mut statement = tx.prepare_cached(
        "INSERT INTO chat_sessions
             (id, workspace, title, driver, kind, parent, work_scope, generation, cuts, settings, prefix, created_at,
              title_from, origin, waits, segment)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
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
        segment,
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

fn write_turn(tx: &Transaction<'_>, session: &SessionId, turn: &TurnRow) -> Done {
    let started = turn.started.map(|ord| ord.0);
    let decided =
        serde_json::to_string(&turn.decided).map_err(|error| refused(session, error.to_string()))?;
    let figures =
        serde_json::to_string(&turn.figures).map_err(|error| refused(session, error.to_string()))?;
    let segment = segments::own(tx, session, RowKind::Turns, turn.index)?;
    let values =
        params![segment, turn.index, turn.id.as_str(), word(&turn.status), started, decided, figures];
    let updated = tx
        .prepare_cached(
            "UPDATE chat_turns SET id = ?3, status = ?4, started = ?5, decided = ?6, figures = ?7
             WHERE segment = ?1 AND idx = ?2",
        )?
        .execute(values)?;
    if updated == 0 {
        tx.prepare_cached(
            "INSERT INTO chat_turns (segment, idx, id, status, started, decided, figures)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(values)?;
        tx.prepare_cached("UPDATE chat_activity SET turns = turns + 1 WHERE session = ?1")?
            .execute([session.as_str()])?;
    }
    Ok(())
}

fn record(tx: &Transaction<'_>, session: &SessionId, compaction: &Compaction) -> Done {
    let name = compaction.id.as_str();
    let row = CompactionRow::of(compaction).map_err(|error| refused(session, error.to_string()))?;
    if let Some(there) = read::record(tx, session, &compaction.id)? {
        let other = || refused(session, format!("compaction {name} exists with other content"));
        return if there.check_sum == row.check_sum { Ok(()) } else { Err(other()) };
    }
    let n = segments::end(tx, session, RowKind::Compactions)?;
    let segment = segments::own_segment(tx, session)?;
    tx.prepare_cached(
        "INSERT INTO compactions (segment, n, id, status, covered, created_at, check_sum, block, record)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?
    .execute(params![
        segment,
        n,
        name,
        word(&compaction.status),
        compaction.resume_at().0,
        compaction.created_at.map(millis),
        row.check_sum,
        &*compaction.block,
        row.record,
    ])?;
    put_for(tx, &segment, (COMPACTION, n, 0), &row.blobs)?;
    Ok(sum_up(tx, session)?)
}

fn set_status(tx: &Transaction<'_>, session: &SessionId, record: &CompactionId, status: Status) -> Done {
    let Some(there) = read::record(tx, session, record)? else {
        return Err(refused(session, format!("unknown compaction {record}")));
    };
    let (id, n, status) = (session.as_str(), there.n, word(&status));
    if segments::is_its_alone(tx, session, RowKind::Compactions, n)? {
        tx.prepare_cached("UPDATE compactions SET status = ?3 WHERE segment = ?1 AND n = ?2")?
            .execute(params![segments::own_segment(tx, session)?, n, status])?;
        tx.prepare_cached("DELETE FROM compaction_statuses WHERE session = ?1 AND n = ?2")?
            .execute(params![id, n])?;
    } else {
        tx.prepare_cached(
            "INSERT INTO compaction_statuses (session, n, status) VALUES (?1, ?2, ?3)
             ON CONFLICT (session, n) DO UPDATE SET status = excluded.status",
        )?
        .execute(params![id, n, status])?;
    }
    Ok(sum_up(tx, session)?)
}

/// Updates the session's summary and its count, from the newest compaction in force.
pub(super) fn sum_up(tx: &Transaction<'_>, session: &SessionId) -> rusqlite::Result<()> {
    let (segment, n) = newest_in_force(tx, session)?.unzip();
    tx.prepare_cached(
        "UPDATE chat_sessions SET
             summary = nullif(newest.block, ''), summarized_count = coalesce(newest.covered, 0),
             summary_updated_at = newest.created_at
         FROM (SELECT 1) LEFT JOIN
             (SELECT block, covered, created_at FROM compactions WHERE segment = ?2 AND n = ?3) AS newest
         WHERE id = ?1",
    )?
    .execute(params![session.as_str(), segment, n])
    .map(drop)
}

pub(super) fn newest_in_force_sql() -> String {
    format!(
        "SELECT n FROM compactions c WHERE segment = ?1 AND n >= ?2 AND n < ?3 AND {STATUS} = 'inForce'
         ORDER BY n DESC LIMIT 1"
    )
}

/// Where the newest compaction in force is: its segment and number. `None` for a revision, which is listed without its
/// summary.
fn newest_in_force(tx: &Transaction<'_>, session: &SessionId) -> rusqlite::Result<Option<(String, u32)>> {
    if revisions::session_of(tx, session)?.is_some() {
        return Ok(None);
    }
    segments::newest(tx, (session, RowKind::Compactions, 0..u32::MAX), |span| {
        let of = params![span.segment, span.range.start, span.range.end, session.as_str()];
        let n = tx
            .prepare_cached(&newest_in_force_sql())?
            .query_row(of, |row| row.get::<_, u32>(0))
            .optional()?;
        Ok(n.map(|n| (span.segment.clone(), n)))
    })
}

/// The summary of a session and its count, by its compactions.
pub(super) fn summary(tx: &Transaction<'_>, session: &SessionId) -> rusqlite::Result<(Option<String>, u32)> {
    let Some((segment, n)) = newest_in_force(tx, session)? else { return Ok((None, 0)) };
    let sql = "SELECT nullif(block, ''), covered FROM compactions WHERE segment = ?1 AND n = ?2";
    tx.prepare_cached(sql)?.query_row(params![segment, n], |row| Ok((row.get(0)?, row.get(1)?)))
}

fn branch(
    tx: &Transaction<'_>,
    session: &SessionId,
    (to, inherited): (&SessionId, &Inherited),
    writes: &[Write],
) -> Done {
    if is_there(tx, to)? {
        return Err(refused(session, format!("session {to} exists already")));
    }
    let Some((begin @ Write::Head(_), rest)) = writes.split_first() else {
        return Err(refused(session, format!("the branch {to} does not begin with its head")));
    };
    apply(tx, to, begin)?;
    inherit(tx, session, to, inherited)?;
    rest.iter().try_for_each(|write| apply(tx, to, write))?;
    shared::copy_scope(tx, session.as_str(), to.as_str())
}

/// Gives a new branch what it has of its session.
fn inherit(tx: &Transaction<'_>, session: &SessionId, to: &SessionId, inherited: &Inherited) -> Done {
    let records = match &inherited.compactions {
        Some(last) => match read::record(tx, session, last)? {
            Some(record) => record.n + 1,
            None => {
                // A damaged row: the branch can be summarized anew.
                tracing::warn!(%session, %to, record = %last, "a branch does without the records of its session");
                0
            }
        },
        None => 0,
    };
    segments::share(tx, session, to, [inherited.messages.0, inherited.turns, records])?;
    segments::forget_versions(tx, to)?;
    let messages = messages::number_in(tx, session, 0..inherited.messages.0)?;
    let turns = segments::number_of(tx, to, RowKind::Turns, 0..u32::MAX)?;
    tx.prepare_cached("UPDATE chat_activity SET messages = ?2, turns = ?3 WHERE session = ?1")?
        .execute(params![to.as_str(), messages, turns])?;
    tx.prepare_cached(
        "UPDATE chat_sessions SET (first_request, first_request_ord) =
             (SELECT first_request, first_request_ord FROM chat_sessions WHERE id = ?2 AND first_request_ord < ?3)
         WHERE id = ?1",
    )?
    .execute(params![to.as_str(), session.as_str(), inherited.messages.0])?;
    Ok(sum_up(tx, to)?)
}
