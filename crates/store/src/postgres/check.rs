//! Faults that keep a database from being used, or used well, looked for step by step so that the first is named. Nothing is changed, and no password is shown.

use super::fault::{Fault, connection_words};
use super::link::tls;
use super::migrate::MIGRATIONS;
use super::options::Options;
use std::error::Error as _;
use std::io::ErrorKind;
use std::net::{IpAddr, ToSocketAddrs};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::runtime::Builder;
use tokio::time::timeout;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error, NoTls};

/// The oldest version of PostgreSQL that is supported.
const OLDEST: i32 = 15;
/// A difference of clocks that people should know of.
const CLOCK: i64 = 2_000;
/// The longest wait for a connection and for each answer.
const MOST: Duration = Duration::from_secs(15);

/// Findings about a database.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// Facts, each with a word for what it is about.
    pub facts: Vec<(&'static str, String)>,
    /// Faults, each as a sentence with what to do.
    pub wrong: Vec<String>,
    /// Losses that leave it usable, each as a sentence.
    pub notes: Vec<String>,
}

/// Checks the database of these options.
///
/// # Errors
/// Fails if the system gives no means to connect.
pub fn check(options: &Options) -> std::io::Result<Checked> {
    let mut checked = Checked::default();
    if let Some(wrong) = unresolved(options) {
        checked.wrong.push(wrong);
        return Ok(checked);
    }
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let began = Instant::now();
        match timeout(MOST, connect(options)).await {
            Ok(Ok(client)) => {
                let asked = timeout(MOST, ask(&client, options, began, &mut checked)).await;
                match asked {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => checked.wrong.push(connected_words(&error)),
                    Err(_) => {
                        checked.wrong.push(format!("the server gave no answer in {} s", MOST.as_secs()))
                    }
                }
            }
            Ok(Err(Unconnected::Tls(reason))) => checked.wrong.push(reason),
            Ok(Err(Unconnected::Server(error))) => checked.wrong.push(unconnected_words(&error, options)),
            Err(_) => checked.wrong.push(format!(
                "no connection in {} s: the address is wrong, or a firewall drops what is sent",
                MOST.as_secs()
            )),
        }
    });
    Ok(checked)
}

/// Why there is no connection.
enum Unconnected {
    Tls(String),
    Server(Error),
}

/// The host that has no address.
fn unresolved(options: &Options) -> Option<String> {
    let hosts = options.config.get_hosts().iter().filter_map(|host| match host {
        Host::Tcp(name) if name.parse::<IpAddr>().is_err() => Some(name),
        _ => None,
    });
    hosts.filter(|name| (name.as_str(), 0).to_socket_addrs().is_err()).map(|name| {
        format!("the name {name:?} of the server has no address; check the url, or the network that knows the name")
    }).next()
}

async fn connect(options: &Options) -> Result<Client, Unconnected> {
    let config = &options.config;
    if config.get_ssl_mode() == SslMode::Disable {
        let (client, connection) = config.connect(NoTls).await.map_err(Unconnected::Server)?;
        tokio::spawn(connection);
        return Ok(client);
    }
    let tls = tls().map_err(|fault| match fault {
        Fault::Unavailable(reason) => Unconnected::Tls(reason),
        other => Unconnected::Tls(format!("TLS cannot be set up: {other:?}")),
    })?;
    let (client, connection) = config.connect(tls).await.map_err(Unconnected::Server)?;
    tokio::spawn(connection);
    Ok(client)
}

/// The meaning of a failed connection.
fn unconnected_words(error: &Error, options: &Options) -> String {
    let user = options.config.get_user().unwrap_or_default();
    let database = options.config.get_dbname().unwrap_or_default();
    if let Some(said) = error.as_db_error() {
        let says = said.message();
        return match said.code() {
            code if *code == SqlState::INVALID_PASSWORD => format!(
                "the server refuses the password of {user:?}; set the right one in the variable that storage.passwordEnv \
                 names, PGPASSWORD by default"
            ),
            code if *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
                format!(
                    "the server does not let {user:?} in: {says}; see its pg_hba.conf, and whether it demands TLS"
                )
            }
            code if *code == SqlState::INVALID_CATALOG_NAME => {
                format!(
                    "the server has no database {database:?}; make it with CREATE DATABASE, or correct the url"
                )
            }
            code if *code == SqlState::INSUFFICIENT_PRIVILEGE => {
                format!(
                    "{user:?} may not connect to {database:?}: {says}; GRANT CONNECT ON DATABASE gives the right"
                )
            }
            code if *code == SqlState::TOO_MANY_CONNECTIONS => {
                format!(
                    "the server has no connection left: {says}; raise max_connections, or put a pooler before it"
                )
            }
            code => format!("the server refuses the connection: {says} ({})", code.code()),
        };
    }
    let reason = connection_words(error);
    let kind =
        error.source().and_then(|cause| cause.downcast_ref::<std::io::Error>()).map(std::io::Error::kind);
    if reason.contains("password missing") {
        return format!(
            "the server asks {user:?} for a password and none is given; set it in the variable that storage.passwordEnv \
             names, PGPASSWORD by default"
        );
    }
    if reason.contains("TLS") || reason.contains("certificate") {
        let without = "; sslmode=disable in the url does without, on a network that you trust";
        return format!("TLS failed: {reason}{}", if reason.contains("sslmode") { "" } else { without });
    }
    match kind {
        Some(ErrorKind::ConnectionRefused) => {
            format!(
                "nothing listens at the address: {reason}; check host and port, and whether the server runs"
            )
        }
        Some(ErrorKind::NotFound) => {
            format!(
                "the socket is not there: {reason}; check the folder in the url, and whether the server runs"
            )
        }
        _ => {
            format!("no connection: {reason}; check host and port, the network, and whether the server runs")
        }
    }
}

/// The meaning of a failed question.
fn connected_words(error: &Error) -> String {
    match error.as_db_error() {
        Some(said) => format!("the server refuses a question: {} ({})", said.message(), said.code().code()),
        None => format!("the connection ended: {error}"),
    }
}

async fn ask(client: &Client, options: &Options, began: Instant, checked: &mut Checked) -> Result<(), Error> {
    let row = client
        .query_one(
            "SELECT current_setting('server_version'), current_setting('server_version_num')::int / 10000,
                    current_setting('server_encoding'), current_schema()::text, current_user::text,
                    (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
                    coalesce((SELECT (extract(epoch FROM clock_timestamp() - backend_start) * 1000)::bigint
                     FROM pg_stat_activity WHERE pid = pg_backend_pid()), 0),
                    (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user),
                    pg_is_in_recovery()",
            &[],
        )
        .await?;
    let (version, major, encoding): (String, i32, String) = (row.get(0), row.get(1), row.get(2));
    let (schema, user): (Option<String>, String) = (row.get(3), row.get(4));
    let (clock, age): (i64, i64) = (row.get(5), row.get(6));
    let (is_above, is_standby): (Option<bool>, bool) = (row.get(7), row.get(8));
    checked.facts.push(("server", format!("PostgreSQL {version}, as {user:?}")));
    if major < OLDEST {
        checked.wrong.push(format!("the server is PostgreSQL {version}; {OLDEST} or newer is needed"));
    }
    if encoding != "UTF8" {
        checked.wrong.push(format!("the encoding of the database is {encoding}; it must be UTF8"));
    }
    if is_standby {
        checked
            .wrong
            .push("the server is a standby and takes no writes; name the primary in the url".to_owned());
    }
    let Some(schema) = schema else {
        checked
            .wrong
            .push(format!("{user:?} has no schema to put tables in; GRANT USAGE ON SCHEMA gives the right"));
        return Ok(());
    };
    tables(client, &schema, &user, checked).await?;
    if is_above == Some(true) {
        checked.notes.push(format!(
            "{user:?} is above row-level security: the tenant {:?} is kept apart from others by this program alone; use a \
             role that is no superuser and has no BYPASSRLS",
            options.tenant
        ));
    }
    listening(
        client,
        options,
        age > i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX) + 50,
        checked,
    )
    .await;
    let own = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_millis());
    let ahead = clock - i64::try_from(own).unwrap_or(i64::MAX);
    if ahead.abs() > CLOCK {
        let direction = if ahead > 0 { "ahead of" } else { "behind" };
        checked.notes.push(format!(
            "the server's clock is {} s {direction} this machine's; who holds a session is decided by the server's, but \
             times of messages come from each machine",
            ahead.abs() / 1000
        ));
    }
    Ok(())
}

/// How this machine learns what others write.
async fn listening(client: &Client, options: &Options, is_pooled: bool, checked: &mut Checked) {
    const LOOKS: &str = "what other machines write is looked for several times a second";
    if !options.hears {
        checked.notes.push(format!("LISTEN is not used, for storage.notifications is \"off\": {LOOKS}"));
    } else if is_pooled {
        checked.notes.push(format!(
            "a pooler is between this machine and the server: LISTEN is not relied on there, and {LOOKS}"
        ));
    } else if let Err(error) =
        client.batch_execute("LISTEN threadhold_doctor; UNLISTEN threadhold_doctor").await
    {
        checked.notes.push(format!("LISTEN is not available ({error}): {LOOKS}"));
    }
}

/// The schema's version, and the rights on its tables.
async fn tables(client: &Client, schema: &str, user: &str, checked: &mut Checked) -> Result<(), Error> {
    let known = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    let row = client
        .query_one(
            "SELECT to_regclass('threadhold_schema') IS NOT NULL, has_schema_privilege($1, 'CREATE'),
                    has_database_privilege(current_database(), 'CREATE')",
            &[&schema],
        )
        .await?;
    let (is_there, may_create): (bool, bool) = (row.get(0), row.get(1));
    if !is_there {
        checked.facts.push(("schema", format!("none in {schema:?} yet; it is made on the first start")));
        if !may_create {
            checked.wrong.push(format!(
                "{user:?} may not make tables in {schema:?}; GRANT CREATE ON SCHEMA {schema} gives the right, or a role that \
                 has it starts the program once"
            ));
        }
        return Ok(());
    }
    let missing = client
        .query(
            "SELECT c.relname::text, p.privilege FROM pg_class c
             CROSS JOIN (VALUES ('SELECT'), ('INSERT'), ('UPDATE'), ('DELETE')) AS p(privilege)
             WHERE c.relnamespace = to_regnamespace($1) AND c.relkind = 'r'
               AND c.relname NOT IN ('threadhold_schema', 'tenant_roles')
               AND NOT has_table_privilege(c.oid, p.privilege) ORDER BY 1, 2",
            &[&schema],
        )
        .await?;
    if let Some(first) = missing.first() {
        let (table, right): (String, String) = (first.get(0), first.get(1));
        checked.wrong.push(format!(
            "{user:?} lacks {} rights on tables, the first is {right} on {table}; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL \
             TABLES IN SCHEMA {schema} gives them",
            missing.len()
        ));
    }
    let readable = client.query_one("SELECT has_table_privilege('threadhold_schema', 'SELECT')", &[]).await?;
    if !readable.get::<_, bool>(0) {
        checked
            .wrong
            .push(format!("{user:?} may not read threadhold_schema, which has the version of the tables"));
        return Ok(());
    }
    let found = client.query_opt("SELECT version FROM threadhold_schema", &[]).await?;
    let found: i64 = found.map_or(0, |row| row.get(0));
    checked.facts.push(("schema", format!("{found} in {schema:?}; this program knows {known}")));
    if found > known {
        checked.wrong.push(format!(
            "a newer version wrote the tables (schema {found}, this one knows {known}); update this program"
        ));
    } else if found < known {
        checked.notes.push(format!("the tables are of schema {found} and become {known} on the next start"));
        if !may_create {
            checked.wrong.push(format!(
                "{user:?} may not change tables in {schema:?}; start the program once as their owner"
            ));
        }
    }
    Ok(())
}
