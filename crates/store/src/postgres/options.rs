//! Where a database is and who asks: checked once, before anything is opened. Nothing here shows a password.

use std::env;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// The longest tenant id, in characters.
const LONGEST_TENANT: usize = 64;

/// The longest wait for a connection if the URL names none.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Options for opening a store in a PostgreSQL database.
#[derive(Clone)]
pub struct Options {
    pub(super) config: Config,
    pub(super) tenant: String,
    pub(super) user: String,
    pub(super) host: String,
    pub(super) place: PathBuf,
    pub(super) hears: bool,
}

/// Options that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// The URL is none, or has a parameter that is not known. The URL is not repeated: it may have a password.
    #[error("the storage url is not a PostgreSQL url: {reason}")]
    Url {
        /// The part or parameter that is wrong.
        reason: String,
    },
    /// The URL lacks a part.
    #[error("the storage url names no {part}; write postgres://user@host/database")]
    Missing {
        /// The part.
        part: &'static str,
    },
    /// The tenant is empty, too long, or has other characters.
    #[error("storage.tenant {tenant:?} is not 1 to 64 of the characters A-Z, a-z, 0-9, _ and -")]
    Tenant {
        /// The tenant.
        tenant: String,
    },
}

impl Options {
    /// Options for the database at this URL, `postgres://user@host/database`. A password that is given apart from the
    /// URL goes before one in it. Without `sslmode`, TLS is demanded unless the server is on this machine.
    ///
    /// # Errors
    /// [`OptionsError`]; nothing is connected.
    pub fn new(url: &str, password: Option<&str>, tenant: &str) -> Result<Self, OptionsError> {
        let is_known = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if tenant.is_empty() || tenant.len() > LONGEST_TENANT || !tenant.chars().all(is_known) {
            return Err(OptionsError::Tenant { tenant: tenant.to_owned() });
        }
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(OptionsError::Url {
                reason: "it begins with neither postgres:// nor postgresql://".into(),
            });
        }
        let mut config: Config =
            verified(url).parse().map_err(|error| OptionsError::Url { reason: words(&error) })?;
        if let Some(password) = password {
            config.password(password);
        }
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(OptionsError::Missing { part: "host" });
        }
        if config.get_user().is_none() {
            return Err(OptionsError::Missing { part: "user" });
        }
        if config.get_dbname().is_none() {
            return Err(OptionsError::Missing { part: "database" });
        }
        if !url.contains("sslmode=") {
            config.ssl_mode(if is_local(&config) { SslMode::Disable } else { SslMode::Require });
        }
        if config.get_application_name().is_none() {
            config.application_name("threadhold");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        config.keepalives_idle(Duration::from_secs(15));
        config.keepalives_interval(Duration::from_secs(5));
        config.keepalives_retries(3);
        config.tcp_user_timeout(Duration::from_secs(30));
        let place = place(&config);
        Ok(Self {
            config,
            tenant: tenant.to_owned(),
            user: user_name(),
            host: host_name(),
            place,
            hears: true,
        })
    }

    /// Sets who is told to others as the holder of a session, in place of this process's user and host.
    #[must_use]
    pub fn held_by(mut self, user: &str, host: &str) -> Self {
        (self.user, self.host) = (user.to_owned(), host.to_owned());
        self
    }

    /// Looks for what others commit instead of being told: for a pooler that gives each transaction another connection of
    /// the server. One whose connections are older than this process's is noticed.
    #[must_use]
    pub fn without_notifications(mut self) -> Self {
        self.hears = false;
        self
    }

    /// The tenant whose rows are read and written.
    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    /// The database, without credentials: `postgres://host:port/database`.
    pub fn place(&self) -> &PathBuf {
        &self.place
    }

    /// `true` if TLS is demanded; certificates are verified then, by the system's roots.
    pub fn demands_tls(&self) -> bool {
        self.config.get_ssl_mode() == SslMode::Require
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tenant, user, host, place, .. } = self;
        f.debug_struct("Options")
            .field("place", place)
            .field("tenant", tenant)
            .field("user", user)
            .field("host", host)
            .finish_non_exhaustive()
    }
}

/// The URL with the modes of libpq that verify certificates as `require`, which verifies them here, too.
fn verified(url: &str) -> String {
    url.replace("sslmode=verify-full", "sslmode=require").replace("sslmode=verify-ca", "sslmode=require")
}

/// `true` if no network is between this process and the server.
fn is_local(config: &Config) -> bool {
    let is_local = |host: &Host| match host {
        Host::Tcp(name) => name == "localhost" || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback()),
        #[cfg(unix)]
        Host::Unix(_) => true,
    };
    config.get_hosts().iter().all(is_local) && config.get_hostaddrs().iter().all(IpAddr::is_loopback)
}

/// The fault of a URL, without its values.
fn words(error: &tokio_postgres::Error) -> String {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    cause.unwrap_or_else(|| error.to_string())
}

fn place(config: &Config) -> PathBuf {
    let host = config.get_hosts().first().map(|host| match host {
        Host::Tcp(name) => name.clone(),
        #[cfg(unix)]
        Host::Unix(path) => path.display().to_string().replace('/', "%2F"),
    });
    let host = host.or_else(|| config.get_hostaddrs().first().map(ToString::to_string)).unwrap_or_default();
    let port = config.get_ports().first().copied().unwrap_or(5432);
    PathBuf::from(format!("postgres://{host}:{port}/{}", config.get_dbname().unwrap_or_default()))
}

fn user_name() -> String {
    env::var("USER").or_else(|_| env::var("USERNAME")).unwrap_or_else(|_| "unknown".to_owned())
}

/// The name of this machine, for people.
fn host_name() -> String {
    let file = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = file.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    let set = |name| env::var(name).ok();
    name.or_else(|| set("COMPUTERNAME")).or_else(|| set("HOSTNAME")).unwrap_or_else(|| "unknown".to_owned())
}
