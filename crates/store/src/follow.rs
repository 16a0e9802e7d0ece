//! What a store says to one that follows a session which another one writes: values only. How it is found out is the
//! backends'; what is told of it is the server's.

use engine::id::{Ordinal, Time};
use session::stored::Stored;

/// How far a follower has read a session. Opaque but to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Commits of the session so far.
    pub(super) commits: u64,
    /// Those of them that changed or removed a message that was there.
    pub(super) rewrites: u64,
    /// The position after the last message.
    pub(super) next: Ordinal,
}

impl Mark {
    /// A session of these counts, as far as it was read with these messages.
    pub(super) fn of(commits: u64, rewrites: u64, stored: &Stored, from: Ordinal) -> Self {
        let next = stored.messages.last().map_or(from, |(_, message)| message.ord.next());
        Self { commits, rewrites, next }
    }

    /// From where a session of these counts must be read; nothing where it is as it was.
    pub(super) fn reads_from(known: Option<&Self>, commits: u64, rewrites: u64) -> Option<Ordinal> {
        match known {
            Some(known) if known.commits == commits => None,
            Some(known) if known.rewrites == rewrites && known.commits < commits => Some(known.next),
            _ => Some(Ordinal(0)),
        }
    }
}

/// Who writes a session, and lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    /// Its process.
    pub pid: u32,
    /// Since when.
    pub since: Time,
}

/// What became of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct News {
    /// How far it is read now.
    pub mark: Mark,
    /// Another store that writes it.
    pub holder: Option<Holder>,
    /// What was committed since; nothing where nothing was.
    pub change: Option<Change>,
}

/// What was committed in a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The messages before this one are as they were.
    pub from: Ordinal,
    /// The session as it stands, but with the messages from there on only.
    pub stored: Stored,
}
