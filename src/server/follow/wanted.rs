//! Requests that are answered for a session that another process writes: none changes it.

use session::input::Command;

/// A request for a followed session.
pub(super) enum Wanted {
    /// `session/open`, with the number of newest messages.
    Open(Option<u32>),
    /// `session/subscribe`, with the last known stream and event, and the number of newest messages.
    Subscribe(Option<(String, u64)>, Option<u32>),
    /// A command that only reads.
    Read(Box<Command>),
}

/// `true` if a followed session can answer this: it only reads messages or prompts.
pub(super) const fn only_reads(command: &Command) -> bool {
    matches!(command, Command::Inspect(_) | Command::Recall(_) | Command::Ledger(_))
}
