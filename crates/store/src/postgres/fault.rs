//! Errors inside a call, before the database's place is added.

use crate::error::StoreError;
use engine::id::SessionId;
use std::error::Error as _;
use std::path::Path;
use tokio_postgres::error::SqlState;

pub(super) type Done<T = ()> = Result<T, Fault>;

/// The error for a write that contradicts the stored rows; rolls the step back.
pub(super) fn refused(session: &SessionId, reason: String) -> Fault {
    StoreError::Refused { session: session.clone(), reason }.into()
}

/// An error without the database's place.
#[derive(Debug)]
pub(super) enum Fault {
    Postgres(tokio_postgres::Error),
    /// A row has something else than what it should.
    Row(String),
    /// No answer came in time, or no connection could be made.
    Unavailable(String),
    Store(StoreError),
}

impl Fault {
    /// `true` if the connection is lost: whether the server did its part is not known.
    pub fn is_lost(&self) -> bool {
        match self {
            Self::Postgres(error) => match error.as_db_error() {
                // The server ended this connection, or accepts none now.
                Some(error) => is_ended(error.code()),
                None => true,
            },
            Self::Unavailable(_) => true,
            Self::Row(_) | Self::Store(_) => false,
        }
    }

    /// The server's code.
    pub fn code(&self) -> Option<&SqlState> {
        match self {
            Self::Postgres(error) => error.code(),
            _ => None,
        }
    }

    /// `true` if the server rolled back what would succeed the next time.
    pub fn is_passing(&self) -> bool {
        let passing = [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED];
        self.code().is_some_and(|code| passing.contains(code))
    }

    pub fn at(self, place: &Path) -> StoreError {
        let path = place.to_owned();
        let is_lost = self.is_lost();
        match self {
            Self::Store(error) => error,
            Self::Row(reason) => StoreError::Corrupt { path, reason },
            Self::Unavailable(reason) => StoreError::Away { path, reason },
            Self::Postgres(error) => match from_postgres(&error, place) {
                StoreError::Io { path, reason } if is_lost => StoreError::Away { path, reason },
                other => other,
            },
        }
    }
}

fn is_ended(code: &SqlState) -> bool {
    let ended = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::TOO_MANY_CONNECTIONS,
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
        SqlState::IDLE_SESSION_TIMEOUT,
    ];
    ended.contains(code)
}

/// What a server's certificate must be.
const TRUSTED: &str = "the server's certificate must be of an authority that this system trusts, or of one in the file that \
                       the variable SSL_CERT_FILE names, for the name in the url";

/// What helps where a server has no TLS at all.
const WITHOUT_TLS: &str =
    "enable TLS on the server, or set sslmode=disable in the url on a network that you trust";

/// The words of a failure to connect, with all causes; for a server without TLS, and for a certificate, with what helps.
pub(super) fn connection_words(error: &tokio_postgres::Error) -> String {
    let (mut words, mut cause) = (error.to_string(), error.source());
    while let Some(why) = cause {
        words = format!("{words}: {why}");
        cause = why.source();
    }
    if words.contains("does not support TLS") {
        return format!("{words}; {WITHOUT_TLS}");
    }
    let is_of_tls = words.contains("TLS") || words.to_lowercase().contains("certificate");
    if is_of_tls { format!("{words}; {TRUSTED}") } else { words }
}

/// Converts an error of the server, or of the connection to it.
fn from_postgres(error: &tokio_postgres::Error, place: &Path) -> StoreError {
    let path = place.to_owned();
    let Some(found) = error.as_db_error() else {
        return StoreError::Io { path, reason: connection_words(error) };
    };
    let reason = format!("{} ({})", found.message(), found.code().code());
    match found.code() {
        code if *code == SqlState::DISK_FULL => StoreError::Full { path },
        code if *code == SqlState::READ_ONLY_SQL_TRANSACTION || *code == SqlState::INSUFFICIENT_PRIVILEGE => {
            StoreError::ReadOnly { path, reason }
        }
        code if *code == SqlState::LOCK_NOT_AVAILABLE || *code == SqlState::T_R_DEADLOCK_DETECTED => {
            StoreError::Locked { path }
        }
        code if *code == SqlState::DATA_CORRUPTED || *code == SqlState::INDEX_CORRUPTED => {
            StoreError::Corrupt { path, reason }
        }
        _ => StoreError::Io { path, reason },
    }
}

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Postgres(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<String> for Fault {
    fn from(reason: String) -> Self {
        Self::Row(reason)
    }
}
