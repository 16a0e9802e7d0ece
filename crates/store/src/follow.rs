//! Values for following a session that another store writes. The backends find the changes; the server sends
//! them on.

use engine::id::{Ordinal, Time};
use session::stored::{Stored, Streamed};
use std::fmt;

/// A follower's position in a session. Opaque outside of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Commits of the session up to here.
    pub(super) commits: u64,
    /// Commits that changed or removed an existing message.
    pub(super) rewrites: u64,
    /// The position after the last message.
    pub(super) next: Ordinal,
    /// The number of the next piece of the answer in progress.
    pub(super) piece: u64,
}

impl Mark {
    /// The position after these messages of a session with these counts.
    pub(super) fn of(commits: u64, rewrites: u64, stored: &Stored, from: Ordinal) -> Self {
        let next = stored.messages.last().map_or(from, |(_, message)| message.ord.next());
        Self { commits, rewrites, next, piece: 0 }
    }

    /// The same position behind these pieces of the answer in progress.
    pub(super) fn behind(self, pieces: &[(u64, Streamed)]) -> Self {
        Self { piece: pieces.last().map_or(self.piece, |(n, _)| n + 1), ..self }
    }

    /// The first message to read again at these counts; `None` if nothing changed.
    pub(super) fn reads_from(known: Option<&Self>, commits: u64, rewrites: u64) -> Option<Ordinal> {
        match known {
            Some(known) if known.commits == commits => None,
            Some(known) if known.rewrites == rewrites && known.commits < commits => Some(known.next),
            _ => Some(Ordinal(0)),
        }
    }
}

/// The live writer of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The process id.
    pub pid: u32,
    /// The time at which it acquired the session.
    pub since: Time,
    /// The user of the process; `None` if the store is on this machine.
    pub user: Option<String>,
    /// The machine of the process; `None` if the store is on this machine.
    pub host: Option<String>,
}

impl Holder {
    /// A process on this machine.
    pub fn here(pid: u32, since: Time) -> Self {
        Self { pid, since, user: None, host: None }
    }
}

/// For messages: `pid 12`, or `pid 12 of ann on build-7`.
impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pid {}", self.pid)?;
        self.user.iter().try_for_each(|user| write!(f, " of {user}"))?;
        self.host.iter().try_for_each(|host| write!(f, " on {host}"))
    }
}

/// The state of a followed session.
#[derive(Debug, Clone, PartialEq)]
pub struct FollowState {
    /// The new position.
    pub mark: Mark,
    /// The other store that writes the session, if any.
    pub holder: Option<Holder>,
    /// The changes since the last position; `None` if there are none.
    pub change: Option<Change>,
    /// The pieces of the answer in progress: those that are new, and with a change all of them.
    pub streamed: Vec<Streamed>,
}

impl FollowState {
    /// The state at this position, behind the pieces that were read.
    pub(super) fn new(
        mark: Mark,
        holder: Option<Holder>,
        change: Option<Change>,
        pieces: Vec<(u64, Streamed)>,
    ) -> Self {
        let mark = mark.behind(&pieces);
        Self { mark, holder, change, streamed: pieces.into_iter().map(|(_, piece)| piece).collect() }
    }
}

/// Changes of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The first message that may have changed.
    pub from: Ordinal,
    /// The session's state, with the messages from `from` on only, and without the pieces of an answer.
    pub stored: Stored,
}
