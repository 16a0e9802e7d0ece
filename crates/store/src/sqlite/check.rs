//! What is wrong with a file, and what of it can be put right: what SQLite says of its pages and indexes, rows that
//! belong to nothing, contents and rows that changed since they were written, figures that do not fit what they count.
//! A check changes nothing. A repair loses no word: it takes out what nobody refers to and makes anew what follows from
//! the rest, after a copy was made. What cannot be read stays where it is; those who load it set it aside.

use super::columns::{MESSAGE_COLUMNS, next, place, text};
use super::read::{self, message};
use super::{Fault, is_free, waiting, write};
use crate::error::{StoreError, from_io, from_sqlite};
use crate::lease::{self, Holders};
use crate::place::Options;
use crate::schema;
use engine::id::SessionId;
use engine::text::sha256_hex;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};
use std::fs;
use std::path::{Path, PathBuf};

/// What a check found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// The file.
    pub path: PathBuf,
    /// Its schema.
    pub schema: u32,
    /// Whether that is older than this program's: then only what SQLite knows is looked at.
    pub is_older: bool,
    /// Sessions in it.
    pub sessions: u64,
    /// Messages in it, all versions.
    pub messages: u64,
    /// What is wrong, in the order in which it was found.
    pub faults: Vec<Damage>,
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// What, in words.
    pub what: String,
    /// What would put it right; nothing where nothing here can.
    pub repair: Option<Repair>,
}

/// What puts something right. None of them takes a word that somebody could still read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Repair {
    /// Indexes are made anew from their tables.
    Reindex,
    /// Rows of sessions that are not there are taken out.
    DropOrphans,
    /// Contents that nobody refers to are taken out.
    DropContents,
    /// Figures of a session are counted anew.
    Recount,
    /// What is searched is emptied; the next search fills it.
    EmptySearch,
}

/// The most lines that SQLite's own check gives.
const MOST_FAULTS: u32 = 100;

/// Tables whose rows belong to a session.
const OF_A_SESSION: [&str; 9] = [
    "blob_refs",
    "chat_activity",
    "chat_messages",
    "chat_turns",
    "compactions",
    "chat_queue",
    "chat_keys",
    "chat_drafts",
    "search_sessions",
];

/// What a session's figures are.
const FIGURES: &str = "SELECT s.id FROM chat_sessions AS s LEFT JOIN chat_activity AS a ON a.session = s.id
     WHERE a.session IS NULL
        OR a.messages <> (SELECT count(DISTINCT ord) FROM chat_messages WHERE session = s.id)
        OR a.turns <> (SELECT count(*) FROM chat_turns WHERE session = s.id)
        OR s.summarized_count <> coalesce((SELECT covered FROM compactions
               WHERE session = s.id AND status = 'inForce' ORDER BY n DESC LIMIT 1), 0)
        OR s.summary IS NOT (SELECT nullif(block, '') FROM compactions
               WHERE session = s.id AND status = 'inForce' ORDER BY n DESC LIMIT 1)
     ORDER BY s.id";

/// Looks at the file in a folder, and changes nothing.
///
/// # Errors
/// Where there is no file, or it cannot be opened as a store of this program.
pub fn check(options: &Options) -> Result<Checked, StoreError> {
    let path = file_of(options)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let fault = |error: rusqlite::Error| from_sqlite(&error, &path);
    let mut connection = Connection::open_with_flags(&path, flags).map_err(fault)?;
    connection.busy_timeout(options.busy_timeout).map_err(fault)?;
    let tx = connection.transaction().map_err(fault)?;
    look(&tx, &path).map_err(|fault| fault.in_file(&path))
}

/// Puts right what can be, after a copy of the file as it is; what is wrong after that. Nobody else may use the file.
///
/// # Errors
/// [`StoreError::Held`] where a process holds a session of it; those of [`check`]; the file's own.
pub fn repair(options: &Options) -> Result<(Checked, PathBuf), StoreError> {
    let found = check(options)?;
    let path = file_of(options)?;
    let copy = schema::copy_path(&path, "repair");
    let fault = |error: rusqlite::Error| from_sqlite(&error, &path);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let _opening = lease::opening(&options.folder, options.busy_timeout)?;
    let mut connection = Connection::open_with_flags(&path, flags).map_err(fault)?;
    connection.busy_timeout(options.busy_timeout).map_err(fault)?;
    connection.pragma_update(None, "secure_delete", true).map_err(fault)?;
    let mut repairs: Vec<Repair> = found.faults.iter().filter_map(|damage| damage.repair).collect();
    repairs.sort();
    repairs.dedup();
    let work = |tx: Transaction<'_>| -> Result<(), Fault> {
        is_free(&tx, &Holders::Folder(options.folder.clone()))?;
        // Nobody writes while it is made, and what others move out of the log meanwhile is in both parts.
        copy_bytes(&path, &copy)?;
        repairs.iter().try_for_each(|repair| repair.make(&tx))?;
        tx.commit()?;
        Ok(())
    };
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fault)?;
    work(transaction).map_err(|fault| fault.in_file(&path))?;
    drop(connection);
    Ok((check(options)?, copy))
}

/// The file that is there, of a schema that is known.
fn file_of(options: &Options) -> Result<PathBuf, StoreError> {
    let path = options.folder.join(schema::FILE);
    fs::metadata(&path).map_err(|error| from_io(&error, &path))?;
    schema::look(&path, schema::newest(), options)?;
    Ok(path)
}

/// The file and its log, byte for byte: in a damaged file nothing else is sure.
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

fn look(tx: &Transaction<'_>, path: &Path) -> Result<Checked, Fault> {
    let schema = schema::version(tx)?;
    let is_older = schema < schema::newest();
    let mut checked = Checked { path: path.to_owned(), schema, is_older, ..Checked::default() };
    let faults = &mut checked.faults;
    around(tx, faults, pages)?;
    if is_older {
        return Ok(checked);
    }
    around(tx, faults, references)?;
    around(tx, faults, unused)?;
    around(tx, faults, contents)?;
    checked.messages = around(tx, faults, rows)?;
    checked.sessions = around(tx, faults, sessions)?;
    around(tx, faults, gaps)?;
    around(tx, faults, figures)?;
    Ok(checked)
}

/// Where a damaged part of the file ends one kind of look, the others still say what they see.
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
        Self { what: what.into(), repair: repair.into() }
    }
}

/// What SQLite says of its pages and indexes.
fn pages(tx: &Transaction<'_>, faults: &mut Vec<Damage>) -> Result<(), Fault> {
    let mut statement = tx.prepare(&format!("PRAGMA integrity_check({MOST_FAULTS})"))?;
    // One by one: what was said before a damaged part ended the look counts too.
    for line in statement.query_map([], |row| row.get::<_, String>(0))? {
        let line = line?;
        if line == "ok" {
            break;
        }
        let of_search = line.contains("search_messages");
        let of_index = line.contains(" missing from index ") || line.contains("wrong # of entries in index");
        let repair = if of_search { Some(Repair::EmptySearch) } else { of_index.then_some(Repair::Reindex) };
        faults.push(Damage::new(format!("the file: {line}"), repair));
    }
    Ok(())
}

/// Rows that name others which are not there.
fn references(tx: &Transaction<'_>, faults: &mut Vec<Damage>) -> Result<(), Fault> {
    let mut statement = tx.prepare(
        "SELECT \"table\", parent, count(*) FROM pragma_foreign_key_check GROUP BY 1, 2 ORDER BY 1, 2",
    )?;
    let mut rows = statement.query([])?;
    let (mut none, mut found) = (Vec::new(), Vec::new());
    while let Some(row) = next(&mut rows, "references", &mut none)? {
        found.push((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, u64>(2)?));
    }
    // Words of a session whose own row is lost are words all the same.
    let has_words =
        found.iter().any(|(table, parent, _)| table == "chat_messages" && parent == "chat_sessions");
    for (table, parent, count) in found {
        let is_orphan = parent == "chat_sessions" && OF_A_SESSION.contains(&table.as_str()) && !has_words;
        let what = format!("{count} rows of {table} name rows of {parent} that are not there");
        faults.push(Damage::new(what, is_orphan.then_some(Repair::DropOrphans)));
    }
    Ok(())
}

const GAPS: &str = "SELECT session, max(ord) + 1 - count(DISTINCT ord) FROM chat_messages
     GROUP BY session HAVING max(ord) + 1 > count(DISTINCT ord) ORDER BY session";

/// Messages that are gone from between others.
fn gaps(tx: &Transaction<'_>, faults: &mut Vec<Damage>) -> Result<(), Fault> {
    let mut statement = tx.prepare(GAPS)?;
    let mut rows = statement.query([])?;
    let mut lost = Vec::new();
    while let Some(row) = next(&mut rows, "messages", &mut lost)? {
        let session = text(row, 0).unwrap_or("of an unknown id");
        let what = format!("session {session}: {} of its messages are not there", row.get::<_, i64>(1)?);
        faults.push(Damage::new(what, None));
    }
    Ok(())
}

/// Contents that nothing refers to.
fn unused(tx: &Transaction<'_>, faults: &mut Vec<Damage>) -> Result<(), Fault> {
    let (contents, bytes): (u64, u64) = tx.query_row(
        &format!("SELECT count(*), coalesce(sum(size), 0) FROM blobs WHERE {UNUSED}"),
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    if contents > 0 {
        let what = format!("{contents} contents of {bytes} bytes that nothing refers to");
        faults.push(Damage::new(what, Repair::DropContents));
    }
    Ok(())
}

const UNUSED: &str = "NOT EXISTS (SELECT 1 FROM blob_refs WHERE blob_refs.hash = blobs.hash)
     AND NOT EXISTS (SELECT 1 FROM chat_sessions WHERE chat_sessions.prefix = blobs.hash)";

/// Contents that are not what their names say.
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

/// Messages, all versions, that cannot be read; how many there are.
fn rows(tx: &Transaction<'_>, faults: &mut Vec<Damage>) -> Result<u64, Fault> {
    let sql = format!("SELECT {MESSAGE_COLUMNS}, session FROM chat_messages ORDER BY session, ord, rev");
    let mut statement = tx.prepare(&sql)?;
    let mut rows = statement.query([])?;
    let (mut lost, mut many) = (Vec::new(), 0);
    while let Some(row) = next(&mut rows, "messages", &mut lost)? {
        many += 1;
        if let Err(reason) = message(tx, row) {
            let session = text(row, 14).unwrap_or("of an unknown id");
            let what = format!("session {session}: message {}: {reason}", place(row));
            faults.push(Damage::new(what, None));
        }
    }
    faults.extend(lost.into_iter().map(|what| Damage::new(what, None)));
    Ok(many)
}

/// What else hangs on each session and cannot be read; how many there are.
fn sessions(tx: &Transaction<'_>, faults: &mut Vec<Damage>) -> Result<u64, Fault> {
    let mut statement = tx.prepare("SELECT id FROM chat_sessions ORDER BY id")?;
    let mut rows = statement.query([])?;
    let (mut lost, mut many) = (Vec::new(), 0);
    while let Some(row) = next(&mut rows, "sessions", &mut lost)? {
        many += 1;
        let session = SessionId::new(text(row, 0).unwrap_or_default());
        let mut unreadable = Vec::new();
        read::head_of(tx, &session, &mut unreadable)?;
        read::turns(tx, &session, 0, &mut unreadable)?;
        read::compactions(tx, &session, &mut unreadable)?;
        waiting::queue(tx, &session, &mut unreadable)?;
        waiting::keys(tx, &session, &mut unreadable)?;
        waiting::draft(tx, &session, &mut unreadable)?;
        faults.extend(
            unreadable.into_iter().map(|what| Damage::new(format!("session {session}: {what}"), None)),
        );
    }
    faults.extend(lost.into_iter().map(|what| Damage::new(what, None)));
    Ok(many)
}

/// Sessions whose figures are not those of their rows.
fn figures(tx: &Transaction<'_>, faults: &mut Vec<Damage>) -> Result<(), Fault> {
    let mut statement = tx.prepare(FIGURES)?;
    let mut rows = statement.query([])?;
    let mut lost = Vec::new();
    while let Some(row) = next(&mut rows, "figures", &mut lost)? {
        let what = format!(
            "session {}: its count of messages or turns or its summary is not that of its rows",
            text(row, 0).unwrap_or("of an unknown id")
        );
        faults.push(Damage::new(what, Repair::Recount));
    }
    Ok(())
}

impl Repair {
    /// What it does, in words.
    pub fn name(self) -> &'static str {
        match self {
            Repair::Reindex => "the indexes are made anew",
            Repair::DropOrphans => "rows of sessions that are not there are taken out",
            Repair::DropContents => "contents that nothing refers to are taken out",
            Repair::Recount => "the figures are counted anew",
            Repair::EmptySearch => "the index for searching is emptied, and filled by the next search",
        }
    }

    fn make(self, tx: &Transaction<'_>) -> Result<(), Fault> {
        match self {
            Repair::Reindex => tx.execute_batch("REINDEX")?,
            Repair::DropOrphans => {
                for table in OF_A_SESSION {
                    tx.execute(
                        &format!("DELETE FROM {table} WHERE session NOT IN (SELECT id FROM chat_sessions)"),
                        [],
                    )?;
                }
                // What only they referred to.
                Repair::DropContents.make(tx)?;
            }
            Repair::DropContents => drop(tx.execute(&format!("DELETE FROM blobs WHERE {UNUSED}"), [])?),
            Repair::Recount => recount(tx)?,
            Repair::EmptySearch => tx.execute_batch(
                "INSERT INTO search_messages (search_messages) VALUES ('delete-all');
                 UPDATE chat_activity SET indexed = 0",
            )?,
        }
        Ok(())
    }
}

fn recount(tx: &Transaction<'_>) -> Result<(), Fault> {
    let mut statement = tx.prepare(FIGURES)?;
    let sessions: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for session in sessions {
        tx.execute(
            "INSERT INTO chat_activity (session, workspace, updated_at)
             SELECT id, workspace, created_at FROM chat_sessions WHERE id = ?1 ON CONFLICT (session) DO NOTHING",
            [&session],
        )?;
        tx.execute(
            "UPDATE chat_activity SET rewrites = rewrites + 1,
                 messages = (SELECT count(DISTINCT ord) FROM chat_messages WHERE session = ?1),
                 turns = (SELECT count(*) FROM chat_turns WHERE session = ?1) WHERE session = ?1",
            [&session],
        )?;
        write::sum_up(tx, &SessionId::new(&session))?;
    }
    Ok(())
}
