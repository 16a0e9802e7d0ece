//! Recognition of a store whose file lost the marks of its header: the application id and the schema version.
//! A byte-for-byte copy has both; a copy of the tables, such as a dump that was read back, has neither.

use crate::place::Options;
use crate::schema;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;

/// Opens an existing file for reading.
pub(super) fn open(path: &Path, options: &Options) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(options.busy_timeout)?;
    Ok(connection)
}

/// The schema of a file that has exactly its tables and columns and lost a mark. `None` for a file with its
/// marks, another program's, and one that cannot be read.
pub(super) fn lost(path: &Path, options: &Options) -> Option<u32> {
    let look = || -> rusqlite::Result<Option<u32>> {
        let connection = open(path, options)?;
        let owner: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
        let version = schema::version(&connection)?;
        let is_marked = owner == schema::APPLICATION_ID && version != 0;
        if is_marked || ![0, schema::APPLICATION_ID].contains(&owner) || version > schema::newest() {
            return Ok(None);
        }
        let found = shape(&connection)?;
        let empty = Connection::open_in_memory()?;
        for (schema, migration) in (1..).zip(schema::MIGRATIONS) {
            empty.execute_batch(migration)?;
            if found == shape(&empty)? && [0, schema].contains(&version) {
                return Ok(Some(schema));
            }
        }
        Ok(None)
    };
    look().ok().flatten()
}

/// The columns of all tables but SQLite's own, each with its table.
fn shape(connection: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    let mut statement = connection.prepare(
        "SELECT t.name, c.name FROM sqlite_schema AS t JOIN pragma_table_info(t.name) AS c
         WHERE t.type = 'table' AND substr(t.name, 1, 7) <> 'sqlite_' ORDER BY 1, c.cid",
    )?;
    let columns = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    columns.collect()
}
