//! Opens the database in a folder with the newest schema: checked before it is touched, created or migrated
//! in one transaction. Independent of the tables' content.

use super::error::{StoreError, from_io, from_sqlite};
use super::place::{Options, Synchronous};
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The database's file name.
pub(super) const FILE: &str = "threadhold.db";

/// The migrations; the one at index n leads to schema n + 1.
pub(super) const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001.sql"),
    include_str!("migrations/0002.sql"),
    include_str!("migrations/0003.sql"),
    include_str!("migrations/0004.sql"),
    include_str!("migrations/0005.sql"),
    include_str!("migrations/0006.sql"),
    include_str!("migrations/0007.sql"),
    include_str!("migrations/0008.sql"),
    include_str!("migrations/0009.sql"),
    include_str!("migrations/0010.sql"),
    include_str!("migrations/0011.sql"),
];

/// The newest schema version.
pub(super) fn newest() -> u32 {
    u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX)
}

/// `THLD` in the file's header marks our databases.
pub(super) const APPLICATION_ID: i32 = 0x5448_4c44;

/// The first bytes of every SQLite file.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Creates the folder, accessible only to its owner: chats hold secrets.
pub(super) fn make_folder(folder: &Path) -> Result<(), StoreError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|error| from_io(&error, folder))
}

/// Opens the database in an existing folder. Only one process may call this at a time.
pub(super) fn open(options: &Options, migrations: &[&str]) -> Result<Connection, StoreError> {
    let path = options.folder.join(FILE);
    let known = u32::try_from(migrations.len()).unwrap_or(u32::MAX);
    look(&path, known, options)?;
    make_file(&path)?;
    let fault = |error: rusqlite::Error| from_sqlite(&error, &path);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(&path, flags).map_err(fault)?;
    if connection.is_readonly("main").map_err(fault)? {
        let reason = "the file is read-only".to_owned();
        return Err(StoreError::ReadOnly { path, reason });
    }
    settle(&connection, options).map_err(fault)?;
    migrate(&mut connection, &path, migrations).map_err(fault)?;
    // Statistics from when the file was small would mislead the planner on tables that are large by now.
    connection
        .execute_batch("DROP TABLE IF EXISTS sqlite_stat1; DROP TABLE IF EXISTS sqlite_stat4")
        .map_err(fault)?;
    Ok(connection)
}

/// Opens the in-memory database of this name. Connections share it; it is dropped with the last of them.
pub(super) fn open_in_memory(name: &str) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    // `:memory:` would be private to one connection.
    let mut connection = Connection::open_with_flags(format!("file:/{name}?vfs=memdb"), flags)?;
    let options = Options { synchronous: Synchronous::Normal, ..Options::in_folder("") };
    settle(&connection, &options)?;
    migrate(&mut connection, Path::new(""), MIGRATIONS)?;
    Ok(connection)
}

/// Checks the file without changing it. Fails for a newer schema, another program's file, and a file that is
/// not a database.
pub(super) fn look(path: &Path, known: u32, options: &Options) -> Result<(), StoreError> {
    let corrupt = |reason: &str| StoreError::Corrupt { path: path.to_owned(), reason: reason.to_owned() };
    let mut header = Vec::new();
    match File::open(path).and_then(|file| file.take(MAGIC.len() as u64).read_to_end(&mut header)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(from_io(&error, path)),
        Ok(0) if fs::metadata(beside(path, "-wal")).is_ok_and(|log| log.len() > 0) => {
            return Err(corrupt("the file is empty, but the log beside it is not"));
        }
        Ok(0) => return Ok(()),
        Ok(_) if header != MAGIC => return Err(corrupt("not a SQLite database")),
        Ok(_) => {}
    }
    let fault = |error: rusqlite::Error| from_sqlite(&error, path);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(fault)?;
    connection.busy_timeout(options.busy_timeout).map_err(fault)?;
    let found: u32 = version(&connection).map_err(fault)?;
    let owner: i32 =
        connection.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(fault)?;
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(fault)?;
    if owner != APPLICATION_ID && (owner != 0 || tables != 0) {
        return Err(corrupt("a database of another program"));
    }
    if found > known {
        return Err(StoreError::NewerSchema { path: path.to_owned(), found, known });
    }
    Ok(())
}

/// Creates an empty file, accessible only to its owner; SQLite copies the permissions to its log.
pub(super) fn make_file(path: &Path) -> Result<(), StoreError> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop).map_err(|error| from_io(&error, path))
}

/// Sets the connection's pragmas; those of the file work only before it has content.
fn settle(connection: &Connection, options: &Options) -> rusqlite::Result<()> {
    connection.busy_timeout(options.busy_timeout)?;
    // Measured: with pages of 8 KiB a small commit that splits pages writes more than twice as much.
    connection.pragma_update(None, "page_size", 4096)?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    let synchronous = match options.synchronous {
        Synchronous::Full => "FULL",
        Synchronous::Normal => "NORMAL",
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    // Checkpoints run when the store is idle, never inside a commit.
    connection.pragma_update_and_check(None, "wal_autocheckpoint", 0, |_| Ok(()))?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // Deleted content is overwritten at once.
    connection.pragma_update(None, "secure_delete", true)?;
    // The log is truncated to this size after a checkpoint.
    connection.pragma_update(None, "journal_size_limit", 16 * 1024 * 1024)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(())
}

/// Migrates to the newest schema in one transaction, after a backup of a file with content.
fn migrate(connection: &mut Connection, path: &Path, migrations: &[&str]) -> rusqlite::Result<()> {
    let found = version(connection)?;
    let missing = migrations.get(found as usize..).unwrap_or_default();
    if missing.is_empty() {
        return Ok(());
    }
    if found > 0 {
        back_up(connection, &back_up_path(path, found))?;
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for migration in missing {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", migrations.len())?;
    transaction.commit()
}

/// Writes a backup, accessible only to its owner. Replaces one of the same name, from a failed attempt.
/// Renamed only when complete.
pub(super) fn back_up(connection: &Connection, copy: &Path) -> rusqlite::Result<()> {
    let unseen = copy.with_extension("new");
    let _ = fs::remove_file(&unseen);
    // SQLite reports errors of the path.
    let _ = make_file(&unseen);
    connection.execute("VACUUM INTO ?1", [unseen.to_string_lossy()])?;
    let put = File::open(&unseen).and_then(|file| file.sync_all()).and_then(|()| fs::rename(&unseen, copy));
    put.map_err(|error| {
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
        rusqlite::Error::SqliteFailure(code, Some(format!("{}: {error}", copy.display())))
    })
}

/// The path of the backup of a file of this schema.
pub(super) fn back_up_path(path: &Path, schema: u32) -> PathBuf {
    copy_path(path, &format!("schema-{schema}"))
}

/// The path of the copy made for this reason.
pub(super) fn copy_path(path: &Path, reason: &str) -> PathBuf {
    beside(path, &format!(".{reason}.bak"))
}

/// The path with this suffix.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Removes backups and copies of the file, in which deleted content would live on. Returns `false` if one
/// stays.
pub(super) fn remove_copies(path: &Path) -> bool {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return true;
    };
    let Ok(entries) = fs::read_dir(folder) else { return false };
    let is_copy = |path: &PathBuf| {
        let ending = path.file_name().and_then(|found| found.to_str()?.strip_prefix(name));
        ending.is_some_and(|ending| {
            [".bak", ".bak-wal", ".bak-shm", ".new"].iter().any(|is| ending.ends_with(is))
        })
    };
    let copies = entries.flatten().map(|entry| entry.path()).filter(is_copy);
    // `count` tries each of them.
    copies.filter(|copy| fs::remove_file(copy).is_err()).count() == 0
}

/// The schema version of an open database.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}
