//! The schema: its version in a table, its migrations as files. Applied when a connection is opened, in one transaction,
//! by one store at a time.

use super::fault::{Done, Fault};
use super::tx::{Db, Statement, Traffic};
use super::value::number;
use crate::error::StoreError;
use std::path::Path;
use tokio_postgres::error::SqlState;

/// All migrations, the first one from an empty schema.
pub(super) const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001.sql"),
    include_str!("migrations/0002.sql"),
    include_str!("migrations/0003.sql"),
];

/// How often an attempt is repeated that another store disturbed.
const MOST_TRIES: u32 = 10;

/// Makes sure that the schema is the newest; returns its version.
pub(super) async fn migrate(
    db: &mut Db,
    traffic: &mut Traffic,
    place: &Path,
    migrations: &[&'static str],
) -> Done<u32> {
    let known = u32::try_from(migrations.len()).unwrap_or(u32::MAX);
    let (mut tries, mut lock) = (0, ADVISORY_LOCK);
    loop {
        match version(db, traffic).await? {
            found if found == known => return Ok(found),
            found if found > known => {
                return Err(StoreError::NewerSchema { path: place.to_owned(), found, known }.into());
            }
            _ => {}
        }
        let Err(fault) = upgrade(db, traffic, migrations, lock).await else { continue };
        if fault.is_lost() {
            return Err(fault);
        }
        db.trip(&[Statement::batch("ROLLBACK")], traffic).await?;
        tries += 1;
        match fault.code() {
            // The row is locked instead.
            Some(code) if !lock.is_empty() && IS_UNKNOWN.contains(&code.code()) => lock = "",
            _ if is_disturbed(&fault) && tries < MOST_TRIES => {}
            _ => return Err(fault),
        }
    }
}

/// One store at a time changes a schema.
const ADVISORY_LOCK: &str = "SELECT pg_advisory_xact_lock(7311146976342147)";

/// Codes of servers that have no such lock.
const IS_UNKNOWN: [&str; 2] = ["42883", "0A000"];

/// The schema's version; 0 where there is none.
async fn version(db: &mut Db, traffic: &mut Traffic) -> Done<u32> {
    let ask = Statement::new("SELECT version FROM threadhold_schema", Vec::new());
    match db.trip(&[ask], traffic).await {
        Ok(rows) => match rows.first().and_then(|rows| rows.first()) {
            Some(row) => Ok(number(row, 0)?),
            None => Ok(0),
        },
        Err(Fault::Postgres(error)) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => Ok(0),
        Err(fault) => Err(fault),
    }
}

/// Applies what is missing, unless another store did so meanwhile.
async fn upgrade(db: &mut Db, traffic: &mut Traffic, migrations: &[&'static str], lock: &str) -> Done {
    let create = "CREATE TABLE IF NOT EXISTS threadhold_schema (
        only_one boolean PRIMARY KEY DEFAULT true, version bigint NOT NULL)";
    let begin = Statement::batch(format!("BEGIN; {lock}; {create}"));
    let ask = Statement::new("SELECT version FROM threadhold_schema FOR UPDATE", Vec::new());
    let rows = db.trip(&[begin, ask], traffic).await?;
    let found: u32 = match rows.last().and_then(|rows| rows.first()) {
        Some(row) => number(row, 0)?,
        None => 0,
    };
    let missing = migrations.get(found as usize..).unwrap_or_default();
    let mut all: Vec<Statement> = missing.iter().map(|sql| Statement::batch(*sql)).collect();
    if !missing.is_empty() {
        let known = migrations.len();
        all.push(Statement::batch(format!(
            "INSERT INTO threadhold_schema (version) VALUES ({known})
             ON CONFLICT (only_one) DO UPDATE SET version = excluded.version"
        )));
    }
    all.push(Statement::batch("COMMIT"));
    db.trip(&all, traffic).await.map(drop)
}

/// `true` if another store did the same at the same time.
fn is_disturbed(fault: &Fault) -> bool {
    let of_race = [SqlState::UNIQUE_VIOLATION, SqlState::DUPLICATE_TABLE, SqlState::DUPLICATE_OBJECT];
    fault.is_passing() || fault.code().is_some_and(|code| of_race.contains(code))
}
