//! `threadhold store`: copies sessions between storage folders and databases.

use super::files::{absolute, print};
use super::{Failure, SUCCESS, UNFIT};
use crate::server::database;
use clap::{Args, Subcommand};
use engine::id::Time;
use protocol::server::{StorageBackend, StorageOptions};
use std::fmt::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use store::Store;
use store::copy::{Copied, copy};
use store::place::is_store;
use store::postgres::{Opener, Options};
use store::sqlite::SqliteStore;

#[derive(Debug, Args)]
pub(super) struct StoreCommand {
    #[command(subcommand)]
    command: Work,
}

#[derive(Debug, Subcommand)]
enum Work {
    /// Copy all sessions of one store into another one; started again, it continues
    Copy(CopyCommand),
}

#[derive(Debug, Args)]
struct CopyCommand {
    /// The store to read: a storage folder, the URL of a PostgreSQL database, or `postgres` for the one in the settings
    #[arg(value_name = "FROM")]
    from: String,
    /// The store to write, in the same forms; a folder is made if it is missing
    #[arg(value_name = "TO")]
    to: String,
    /// The tenant in a PostgreSQL database, instead of the one in the settings
    #[arg(long, value_name = "NAME")]
    tenant: Option<String>,
}

/// The database that an argument names; `None` for a folder.
pub(super) fn database_of(argument: &str, tenant: Option<&str>) -> Result<Option<Options>, Failure> {
    let is_url = argument.starts_with("postgres://") || argument.starts_with("postgresql://");
    if !is_url && argument != "postgres" {
        return Ok(None);
    }
    let options = StorageOptions {
        backend: Some(StorageBackend::Postgres),
        url: is_url.then(|| argument.to_owned()),
        tenant: tenant.map(str::to_owned),
        ..StorageOptions::default()
    };
    Ok(Some(database(&options)?))
}

/// Opens a store; a folder that is only read must have one.
fn open(argument: &str, tenant: Option<&str>, is_read: bool) -> Result<Box<dyn Store>, Failure> {
    if let Some(options) = database_of(argument, tenant)? {
        return Ok(Box::new(Opener::new(options).open()?));
    }
    let folder = absolute(Path::new(argument))?;
    if is_read && !is_store(&folder) {
        let error = std::io::Error::new(std::io::ErrorKind::NotFound, "there is no store in it");
        return Err(Failure::Read { file: argument.to_owned(), error });
    }
    Ok(Box::new(SqliteStore::open(store::place::Options::in_folder(folder))?))
}

impl StoreCommand {
    pub(super) fn run(&self) -> Result<u8, Failure> {
        let Work::Copy(arguments) = &self.command;
        let tenant = arguments.tenant.as_deref();
        let mut from = open(&arguments.from, tenant, true)?;
        let mut to = open(&arguments.to, tenant, false)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_millis());
        let copied = copy(&mut *from, &mut *to, Time(u64::try_from(now).unwrap_or(u64::MAX)), |_| {});
        let closed = (from.close(), to.close());
        let copied = copied?;
        print(&report(&copied))?;
        closed.0.and(closed.1)?;
        Ok(if copied.left.is_empty() { SUCCESS } else { UNFIT })
    }
}

fn report(copied: &Copied) -> String {
    let Copied { sessions, revisions, messages, versions, known, shared, left } = copied;
    let mut report = format!(
        "copied   {sessions} sessions, {messages} messages, {versions} older versions of these, {revisions} revisions; \
         {shared} scopes, approvals and memories\n\
         known    {known} sessions were there already and equal\n"
    );
    for left in left {
        let _ = writeln!(report, "left     {left}");
    }
    if left.is_empty() {
        report += "ok       every session was read from both stores, and their hashes are equal\n";
    }
    report
}
