//! What a client may ask of a session that another process writes: nothing that changes it.

use session::input::Command;

/// What a client asks of a session that is followed.
pub(super) enum Wanted {
    /// `session/open`, and how many of the newest messages.
    Open(Option<u32>),
    /// `session/subscribe`, with the last event that is known, and how many of the newest messages.
    Subscribe(Option<(String, u64)>, Option<u32>),
    /// What only reads.
    Read(Box<Command>),
}

/// Returns whether a session that is followed can answer this: what was said in it and what a prompt of it is made of.
pub(super) const fn only_reads(command: &Command) -> bool {
    matches!(command, Command::Inspect | Command::Recall(_) | Command::Ledger(_))
}
