//! Requests for a session, as they wait while it is being opened or shut down.

use crate::server::client::replies::NOBODY;
use engine::id::SessionId;
use protocol::session::SessionConfigureParams;
use protocol::settings::Settings;
use protocol::transfer::ExportFormat;
use session::input::{Command, ReplyTo};
use session::stored::Driver;

/// A request for a session.
pub(in crate::server) enum Queued {
    /// For an existing session.
    Command(ReplyTo, Box<Command>),
    /// For a session that is created if it does not exist.
    Open(ReplyTo, Box<Opens>),
    /// For an existing session, perhaps in the store of this folder: takes over its lease.
    TakeOver(ReplyTo, Option<String>),
    /// Changes settings, which are known once the session is open.
    Configure(ReplyTo, Box<SessionConfigureParams>),
    /// Exports the session as the content of a file.
    Export(ReplyTo, ExportFormat),
    /// Starts the task that the session waits with; this process serves its folder.
    Task,
    /// Closes the session.
    Close(ReplyTo),
    /// Deletes the session.
    Delete(ReplyTo),
}

/// Parameters of [`Queued::Open`].
pub(in crate::server) struct Opens {
    /// The first command.
    pub command: Command,
    /// The folder of its store; by default the client's.
    pub folder: Option<String>,
    /// The form of the session, if it is new.
    pub new: New,
    /// Session settings that hold from now on.
    pub settings: Option<Settings>,
    /// `true` if reading suffices while another process writes it.
    pub follow: bool,
}

/// A session to create.
#[derive(Default)]
pub(in crate::server) struct New {
    pub driver: Driver,
    pub kind: Option<String>,
    pub parent: Option<SessionId>,
    pub work_scope: Option<String>,
    pub title: Option<String>,
    /// Levels of agents above an agent; 0 for any other session.
    pub depth: u64,
}

impl Opens {
    /// Number of newest messages to show; `None` for all.
    pub fn newest(&self) -> Option<u32> {
        match &self.command {
            Command::Open(open) => open.newest,
            _ => None,
        }
    }
}

impl Queued {
    /// The request to answer.
    pub const fn to(&self) -> ReplyTo {
        match self {
            Self::Command(to, _)
            | Self::Open(to, _)
            | Self::TakeOver(to, _)
            | Self::Configure(to, _)
            | Self::Export(to, _)
            | Self::Close(to)
            | Self::Delete(to) => *to,
            Self::Task => NOBODY,
        }
    }

    /// The folder whose session it means, if it names one.
    pub fn folder(&self) -> Option<&str> {
        match self {
            Self::Open(_, opens) => opens.folder.as_deref(),
            Self::TakeOver(_, folder) => folder.as_deref(),
            _ => None,
        }
    }

    /// `true` if items behind it find no open session.
    pub const fn is_end(&self) -> bool {
        matches!(self, Self::Close(_) | Self::Delete(_))
    }
}
