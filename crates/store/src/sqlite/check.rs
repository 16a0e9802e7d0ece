//! Checks a file and repairs it: pages and indexes, orphaned rows, contents and rows that changed since they
//! were written, and wrong counts. A check changes nothing. A repair loses no message: after a backup, it
//! removes what nothing refers to and rebuilds what follows from the rest. Unreadable rows stay; loading a
//! session leaves them out.

mod dropped;
mod repairs;

pub use dropped::{Dropped, drop_session};
pub use repairs::Repair;

use super::columns::{MESSAGE_COLUMNS, next, number, place, text};
use super::leases::is_free;
use super::read::{self, message};
use super::segments::{self, RowKind};
use super::{Fault, identity, streamed, waiting, write};
use crate::error::{StoreError, from_io, from_sqlite};
use crate::lease::{self, Holders};
use crate::place::Options;
use crate::schema;
use engine::id::SessionId;
use engine::text::sha256_hex;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Row, Transaction, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::{fmt, fs};

/// The result of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// The checked file.
    pub path: PathBuf,
    /// The file's schema version.
    pub schema: u32,
    /// `true` if the schema is older than this program's: then only SQLite's own check runs.
    pub is_older: bool,
    /// The workspaces of its sessions, which may have the sessions' own files.
    pub workspaces: Vec<String>,
    /// The number of sessions, without revisions.
    pub sessions: u64,
    /// The number of their revisions.
    pub revisions: u64,
    /// The number of messages, all versions.
    pub messages: u64,
    /// The damage, in the order in which it was found.
    pub faults: Vec<Damage>,
}

/// A damage of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// A description for people.
    pub what: String,
    /// The repair, if there is one.
    pub repair: Option<Repair>,
    /// A session or revision that has it and can be dropped. A branch may have the same row, and is named then.
    pub session: Option<SessionId>,
}

/// The most lines of SQLite's own check.
const MOST_FAULTS: u32 = 100;

/// Tables whose rows belong to a segment.
const OF_A_SEGMENT: [&str; 4] = ["blob_refs", "chat_messages", "chat_turns", "compactions"];

/// Tables whose rows belong to a session.
const OF_A_SESSION: [&str; 8] = [
    "chat_activity",
    "shares",
    "compaction_statuses",
    "chat_queue",
    "chat_keys",
    "chat_drafts",
    "chat_streamed",
    "search_sessions",
];

/// Checks the file in a folder without changing it.
///
/// # Errors
/// Fails if there is no file, or it cannot be opened as a store of this program.
pub fn check(options: &Options) -> Result<Checked, StoreError> {
    let (path, lost) = file_of(options)?;
    let fault = |error: rusqlite::Error| from_sqlite(&error, &path);
    let mut connection = identity::open(&path, options).map_err(fault)?;
    let tx = connection.transaction().map_err(fault)?;
    look(&tx, &path, lost).map_err(|fault| fault.in_file(&path))
}

/// Fails with [`StoreError::Held`] while a process holds a session of the file.
///
/// # Errors
/// Also errors of [`check`].
pub fn is_unused(options: &Options) -> Result<(), StoreError> {
    let (path, _) = file_of(options)?;
    let fault = |error: rusqlite::Error| from_sqlite(&error, &path);
    let mut connection = identity::open(&path, options).map_err(fault)?;
    let tx = connection.transaction().map_err(fault)?;
    is_free(&tx, &Holders::Folder(options.folder.clone())).map_err(|fault| fault.in_file(&path))
}

/// Repairs the file after a backup of it. Returns the damage that is left, and the backup's path. No other
/// process may use the file.
///
/// # Errors
/// [`StoreError::Held`] if a process holds a session of the file; errors of [`check`] and of the file.
pub fn repair(options: &Options) -> Result<(Checked, PathBuf), StoreError> {
    let found = check(options)?;
    let mut repairs: Vec<Repair> = found.faults.iter().filter_map(|damage| damage.repair).collect();
    repairs.sort();
    repairs.dedup();
    let ((), copy) = change(options, |tx| repairs.iter().try_for_each(|repair| repair.make(tx)))?;
    Ok((check(options)?, copy))
}

/// Changes the file in one transaction, after a copy of it. Returns the copy's path.
fn change<T>(
    options: &Options,
    work: impl FnOnce(&Transaction<'_>) -> Result<T, Fault>,
) -> Result<(T, PathBuf), StoreError> {
    let path = options.folder.join(schema::FILE);
    let copy = schema::copy_path(&path, "repair");
    let fault = |error: rusqlite::Error| from_sqlite(&error, &path);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let _opening = lease::opening(&options.folder, options.busy_timeout)?;
    let mut connection = Connection::open_with_flags(&path, flags).map_err(fault)?;
    connection.busy_timeout(options.busy_timeout).map_err(fault)?;
    connection.pragma_update(None, "secure_delete", true).map_err(fault)?;
    let work = |tx: Transaction<'_>| -> Result<T, Fault> {
        is_free(&tx, &Holders::Folder(options.folder.clone()))?;
        // The transaction keeps others from writing. Pages that they checkpoint meanwhile are in both copies.
        copy_bytes(&path, &copy)?;
        let done = work(&tx)?;
        tx.commit()?;
        Ok(done)
    };
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fault)?;
    let done = work(transaction).map_err(|fault| fault.in_file(&path))?;
    Ok((done, copy))
}

/// The existing file, of a known schema; also its schema, if the file does not name it any more.
fn file_of(options: &Options) -> Result<(PathBuf, Option<u32>), StoreError> {
    let path = options.folder.join(schema::FILE);
    fs::metadata(&path).map_err(|error| from_io(&error, &path))?;
    let lost = identity::lost(&path, options);
    if lost.is_none() {
        schema::look(&path, schema::newest(), options)?;
    }
    Ok((path, lost))
}

/// Copies the file and its log byte for byte: with damage, no other copy is reliable.
fn copy_bytes(path: &Path, copy: &Path) -> Result<(), StoreError> {
    let put = |from: &Path, to: &Path| -> Result<(), StoreError> {
        schema::make_file(to)?;
        fs::copy(from, to).and_then(|_| fs::File::open(to)?.sync_all()).map_err(|error| from_io(&error, to))
    };
    put(path, copy)?;
    let (log, log_copy) = (schema::beside(path, "-wal"), schema::beside(copy, "-wal"));
    if log.is_file() {
        return put(&log, &log_copy);
    }
    let _ = fs::remove_file(&log_copy);
    Ok(())
}

fn look(tx: &Transaction<'_>, path: &Path, lost: Option<u32>) -> Result<Checked, Fault> {
    let schema = lost.map_or_else(|| schema::version(tx), Ok)?;
    let is_older = schema < schema::newest();
    let mut checked = Checked { path: path.to_owned(), schema, is_older, ..Checked::default() };
    let faults = &mut checked.faults;
    if let Some(schema) = lost {
        let what = format!(
            "the file has the tables of schema {schema} but does not say that it is a store of this program, as after a copy \
             of its tables by another program; it cannot be opened"
        );
        faults.push(Damage::new(what, Repair::Identify(schema)));
    }
    around(tx, faults, pages)?;
    checked.workspaces = around(tx, faults, workspaces)?;
    if is_older {
        return Ok(checked);
    }
    around(tx, faults, references)?;
    around(tx, faults, unused)?;
    around(tx, faults, contents)?;
    checked.messages = around(tx, faults, rows)?;
    (checked.sessions, checked.revisions) = around(tx, faults, sessions)?;
    around(tx, faults, gaps)?;
    around(tx, faults, figures)?;
    Ok(checked)
}

/// Runs one check. If a damaged part of the file ends it, the others still run.
fn around<T: Default>(
    tx: &Transaction<'_>,
    faults: &mut Vec<Damage>,
    look: fn(&Transaction<'_>, &mut Vec<Damage>) -> Result<T, Fault>,
) -> Result<T, Fault> {
    match look(tx, faults) {
        Err(Fault::Sqlite(error)) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
            faults.push(Damage::new(format!("a damaged part of the file: {error}"), None));
            Ok(T::default())
        }
        done => done,
    }
}

impl Damage {
    fn new(what: impl Into<String>, repair: impl Into<Option<Repair>>) -> Self {
        Self { what: what.into(), repair: repair.into(), session: None }
    }

    /// A damage of one session that no repair mends.
    fn of(session: &str, what: impl fmt::Display) -> Self {
        let what = format!("session {session}: {what}");
        Self { session: Some(SessionId::new(session)), ..Self::new(what, None) }
    }
}

/// Runs SQLite's own check of pages and indexes.
fn pages(tx: &Transaction<'_>, faults: &mut Vec<Damage>) -> Result<(), Fault> {
    let mut statement = tx.prepare(&format!("PRAGMA integrity_check({MOST_FAULTS})"))?;
    // Line by line: those before a damaged part count too.
    for line in statement.query_map([], |row| row.get::<_, String>(0))? {
        let line = line?;
        if line == "ok" {
            break;
        }
        let of_search = line.contains("search_pieces");
        let of_index = line.contains(" missing from index ") || line.contains("wrong # of entries in index");
        let repair = if of_search { Some(Repair::EmptySearch) } else { of_index.then_some(Repair::Reindex) };
        faults.push(Damage::new(format!("the file: {line}"), repair));
    }
    Ok(())
}

/// Finds rows that refer to missing rows.
fn references(tx: &Transaction<'_>, faults: &mut Vec<Damage>) -> Result<(), Fault> {
    let mut statement = tx.prepare(
        "SELECT \"table\", parent, count(*) FROM pragma_foreign_key_check GROUP BY 1, 2 ORDER BY 1, 2",
    )?;
    let mut rows = statement.query([])?;
    let (mut none, mut found) = (Vec::new(), Vec::new());
    while let Some(row) = next(&mut rows, "references", &mut none)? {
        found.push((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, u64>(2)?));
    }
    let mut statement = tx.prepare(LOST)?;
    let lost = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, u64>(1)?)))?;
    let lost: Vec<(String, u64)> = lost.collect::<Result<_, _>>()?;
    for (table, parent, count) in found {
        // Messages are kept even if their session's own row is lost.
        let repair = match (parent.as_str(), table.as_str()) {
            ("segments", "chat_sessions" | "shares") => Some(Repair::NameSegments),
            ("segments", of) if OF_A_SEGMENT.contains(&of) => Some(Repair::DropOrphans),
            ("chat_sessions", of) if OF_A_SESSION.contains(&of) => Some(Repair::DropOrphans),
            _ => None,
        };
        let repair = repair.filter(|repair| *repair != Repair::DropOrphans || lost.is_empty());
        faults
            .push(Damage::new(format!("{count} rows of {table} refer to missing rows of {parent}"), repair));
    }
    let left_over: u64 =
        tx.query_row(&format!("SELECT count(*) FROM ({LEFT_OVER})"), [], |row| row.get(0))?;
    if left_over > 0 && lost.is_empty() {
        let what = format!("{left_over} segments that no session has");
        faults.push(Damage::new(what, Repair::DropOrphans));
    }
    for (session, messages) in lost {
        let what = format!("its own row is missing; {messages} rows of messages are left");
        faults.push(Damage::of(&session, what));
    }
    Ok(())
}

/// Selects sessions without a row of their own of which there are messages that no other session has.
const LOST: &str = "SELECT coalesce(g.named, m.segment), count(*) FROM chat_messages m
     LEFT JOIN segments g ON g.id = m.segment
     WHERE NOT EXISTS (SELECT 1 FROM chat_sessions s WHERE s.segment = m.segment)
         AND NOT EXISTS (SELECT 1 FROM shares h JOIN chat_sessions o ON o.id = h.session
             WHERE h.segment = m.segment AND h.kind = 'messages' AND h.until > m.ord AND h.start <= m.ord)
     GROUP BY 1 ORDER BY 1";

/// Selects segments that no session writes or has rows in, and that have no messages.
const LEFT_OVER: &str = "SELECT id FROM segments g
     WHERE NOT EXISTS (SELECT 1 FROM chat_sessions s WHERE s.segment = g.id)
         AND NOT EXISTS (SELECT 1 FROM shares h JOIN chat_sessions o ON o.id = h.session WHERE h.segment = g.id)
         AND NOT EXISTS (SELECT 1 FROM chat_messages m WHERE m.segment = g.id)";

/// The workspaces of all sessions.
fn workspaces(tx: &Transaction<'_>, _: &mut Vec<Damage>) -> Result<Vec<String>, Fault> {
    let mut statement = tx.prepare("SELECT DISTINCT workspace FROM chat_sessions ORDER BY workspace")?;
    let mut rows = statement.query([])?;
    let (mut lost, mut found) = (Vec::new(), Vec::new());
    while let Some(row) = next(&mut rows, "sessions", &mut lost)? {
        found.extend(text(row, 0).ok().map(str::to_owned));
    }
    Ok(found)
}

/// Finds gaps between messages.
fn gaps(tx: &Transaction<'_>, faults: &mut Vec<Damage>) -> Result<(), Fault> {
    for session in all_sessions(tx)? {
        let missing = segments::end(tx, &session, RowKind::Messages)?.saturating_sub(segments::number_of(
            tx,
            &session,
            RowKind::Messages,
            0..u32::MAX,
        )?);
        if missing > 0 {
            faults.push(Damage::of(session.as_str(), format!("{missing} of its messages are missing")));
        }
    }
    Ok(())
}

/// The ids of all sessions and revisions that can be read.
fn all_sessions(tx: &Transaction<'_>) -> Result<Vec<SessionId>, Fault> {
    let mut statement = tx.prepare("SELECT id FROM chat_sessions ORDER BY id")?;
    let mut rows = statement.query([])?;
    let (mut lost, mut found) = (Vec::new(), Vec::new());
    while let Some(row) = next(&mut rows, "sessions", &mut lost)? {
        found.extend(text(row, 0).ok().map(SessionId::new));
    }
    Ok(found)
}

/// Finds contents that nothing refers to.
fn unused(tx: &Transaction<'_>, faults: &mut Vec<Damage>) -> Result<(), Fault> {
    let (contents, bytes): (u64, u64) = tx.query_row(
        &format!("SELECT count(*), coalesce(sum(size), 0) FROM blobs WHERE {UNUSED}"),
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    if contents > 0 {
        let what = format!("{contents} unreferenced contents of {bytes} bytes");
        faults.push(Damage::new(what, Repair::DropContents));
    }
    Ok(())
}

const UNUSED: &str = "NOT EXISTS (SELECT 1 FROM blob_refs WHERE blob_refs.hash = blobs.hash)
     AND NOT EXISTS (SELECT 1 FROM chat_sessions WHERE chat_sessions.prefix = blobs.hash)";

/// Finds contents that do not match their hash.
fn contents(tx: &Transaction<'_>, faults: &mut Vec<Damage>) -> Result<(), Fault> {
    let mut statement = tx.prepare("SELECT hash, bytes FROM blobs")?;
    let mut rows = statement.query([])?;
    let mut lost = Vec::new();
    while let Some(row) = next(&mut rows, "contents", &mut lost)? {
        let hash = text(row, 0).unwrap_or_default();
        let is_whole = row.get_ref(1)?.as_bytes().is_ok_and(|bytes| sha256_hex(bytes) == hash);
        if !is_whole {
            let what = format!("the content {hash} changed since it was written");
            faults.push(Damage::new(what, None));
        }
    }
    faults.extend(lost.into_iter().map(|what| Damage::new(what, None)));
    Ok(())
}

/// Finds unreadable messages; returns the number of messages, all versions.
fn rows(tx: &Transaction<'_>, faults: &mut Vec<Damage>) -> Result<u64, Fault> {
    let sql = format!("SELECT {MESSAGE_COLUMNS}, segment FROM chat_messages ORDER BY segment, ord, rev");
    let mut statement = tx.prepare(&sql)?;
    let mut rows = statement.query([])?;
    let (mut lost, mut many) = (Vec::new(), 0);
    while let Some(row) = next(&mut rows, "messages", &mut lost)? {
        many += 1;
        if let Err(reason) = message(tx, row, None) {
            let segment = text(row, 14).unwrap_or("of an unknown id");
            let at = number(row, 0).unwrap_or_default();
            let session = segments::a_session_with(tx, segment, RowKind::Messages, at)?;
            let session = session.unwrap_or_else(|| segment.to_owned());
            faults.push(Damage::of(&session, format!("message {}: {reason}", place(row))));
        }
    }
    faults.extend(lost.into_iter().map(|what| Damage::new(what, None)));
    Ok(many)
}

/// Finds other unreadable rows of each session; returns the numbers of sessions and of their revisions.
fn sessions(tx: &Transaction<'_>, faults: &mut Vec<Damage>) -> Result<(u64, u64), Fault> {
    let mut statement = tx.prepare("SELECT id, origin IS 'revision' FROM chat_sessions ORDER BY id")?;
    let mut rows = statement.query([])?;
    let (mut lost, mut many, mut revisions) = (Vec::new(), 0, 0);
    while let Some(row) = next(&mut rows, "sessions", &mut lost)? {
        *if row.get(1)? { &mut revisions } else { &mut many } += 1;
        let session = SessionId::new(text(row, 0).unwrap_or_default());
        let mut unreadable = Vec::new();
        read::head_of(tx, &session, &mut unreadable)?;
        read::turns(tx, &session, 0, &mut unreadable)?;
        read::compactions(tx, &session, &mut unreadable)?;
        waiting::queue(tx, &session, &mut unreadable)?;
        waiting::keys(tx, &session, &mut unreadable)?;
        waiting::draft(tx, &session, &mut unreadable)?;
        streamed::pieces(tx, &session, 0, &mut unreadable)?;
        faults.extend(unreadable.into_iter().map(|what| Damage::of(session.as_str(), what)));
    }
    faults.extend(lost.into_iter().map(|what| Damage::new(what, None)));
    Ok((many, revisions))
}

/// Finds sessions whose counts or summary differ from their rows.
fn figures(tx: &Transaction<'_>, faults: &mut Vec<Damage>) -> Result<(), Fault> {
    for session in miscounted(tx)? {
        let what = format!(
            "session {session}: its counts of messages and turns or its summary do not match its rows"
        );
        faults.push(Damage::new(what, Repair::Recount));
    }
    Ok(())
}

/// The numbers of a session's messages and turns.
fn counted(tx: &Transaction<'_>, session: &SessionId) -> rusqlite::Result<(u32, u32)> {
    let number = |kind| segments::number_of(tx, session, kind, 0..u32::MAX);
    Ok((number(RowKind::Messages)?, number(RowKind::Turns)?))
}

/// Sessions whose counts or summary differ from their rows.
fn miscounted(tx: &Transaction<'_>) -> Result<Vec<SessionId>, Fault> {
    let mut found = Vec::new();
    for session in all_sessions(tx)? {
        let stored = tx
            .prepare_cached("SELECT messages, turns FROM chat_activity WHERE session = ?1")?
            .query_row([session.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let summary = "SELECT summary, summarized_count FROM chat_sessions WHERE id = ?1";
        let of = |row: &Row<'_>| Ok((row.get::<_, Option<String>>(0)?, row.get::<_, u32>(1)?));
        let summed = tx.prepare_cached(summary)?.query_row([session.as_str()], of)?;
        if stored != Some(counted(tx, &session)?) || summed != write::summary(tx, &session)? {
            found.push(session);
        }
    }
    Ok(found)
}
