//! What is asked of a session, as it waits where it cannot be done at once: because the session is on its way in or out.

use crate::server::client::replies::NOBODY;
use engine::id::SessionId;
use protocol::session::SessionConfigureParams;
use protocol::settings::Settings;
use protocol::transfer::ExportFormat;
use session::input::{Command, ReplyTo};
use session::stored::Driver;

/// Something that a client asks of a session.
pub(in crate::server) enum Queued {
    /// Of a session that must be there.
    Command(ReplyTo, Box<Command>),
    /// Of one that is made where it is not there.
    Open(ReplyTo, Box<Opens>),
    /// Of one that must be there, perhaps in the store of this folder: it is written here from now on, whoever writes it.
    TakeOver(ReplyTo, Option<String>),
    /// Settings change; which there are is known when the session is here.
    Configure(ReplyTo, Box<SessionConfigureParams>),
    /// An export as a file's content.
    Export(ReplyTo, ExportFormat),
    /// The task that it waits with is to begin: this process serves its folder.
    Task,
    /// Let it go.
    Close(ReplyTo),
    /// Destroy it.
    Delete(ReplyTo),
}

/// See [`Queued::Open`].
pub(in crate::server) struct Opens {
    /// Its first command.
    pub command: Command,
    /// Where it is stored; where the client's folder is if nobody says.
    pub folder: Option<String>,
    /// Its form, where the store has none.
    pub new: New,
    /// Settings of its own that are to hold from now on.
    pub settings: Option<Settings>,
    /// True if it is enough to read it, where another process writes it.
    pub follow: bool,
}

/// A session that is to be made.
#[derive(Default)]
pub(in crate::server) struct New {
    pub driver: Driver,
    pub kind: Option<String>,
    pub parent: Option<SessionId>,
    pub work_scope: Option<String>,
}

impl Opens {
    /// How many of its newest messages are to be shown; nothing where all are.
    pub fn newest(&self) -> Option<u32> {
        match &self.command {
            Command::Open(open) => open.newest,
            _ => None,
        }
    }
}

impl Queued {
    /// The request that waits for its answer.
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

    /// Returns whether what stands behind it finds no open session.
    pub const fn is_end(&self) -> bool {
        matches!(self, Self::Close(_) | Self::Delete(_))
    }
}
