//! Compares a session with its file: which of the two has something that the other lacks. Changes neither
//! session nor file on disk.

use crate::convert::iso;
use engine::compact::record::Status;
use engine::message::{Message, NewMessage};
use import::trajectory::{FileMessage, Trajectory};
use session::Session;

/// The newer side.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::server) enum Newer {
    /// The session: the file has nothing that it lacks.
    Ours,
    /// The file, which once held this many messages of the session; later ones are newer than it.
    Theirs(u32),
    /// Neither: each has something that the other lacks.
    Both,
}

/// The messages of a session that belong in its file.
pub(super) fn said(session: &Session) -> Vec<&Message> {
    session.transcript().messages().iter().map(|m| &**m).filter(|m| !m.is_source_keys()).collect()
}

/// `true` if both are equal. Hashes anew: a message whose content was dropped keeps its old hash.
fn is_alike(theirs: &NewMessage, ours: &Message) -> bool {
    theirs.visible_to_model == ours.visible_to_model && theirs.body.hash() == ours.body.hash()
}

/// Compares a whole session with a file. `known` is the number of its messages last known to be in the file.
pub(super) fn whose(session: &Session, theirs: &Trajectory, known: Option<u32>) -> Newer {
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let ours = said(session);
    let pairs = theirs.messages.iter().zip(&ours);
    let same = pairs.take_while(|(theirs, ours)| is_alike(&theirs.message, ours)).count();
    let is_newer = || theirs.updated_at.as_deref() > Some(iso(session.head().updated_at).as_str());
    let later = |known: u32| usize::try_from(known).unwrap_or(usize::MAX);
    // Both sides added messages since they were last equal; one session cannot hold both.
    let parted = known.is_some_and(|known| {
        let known = later(known);
        theirs.messages.len() > known && ours.len() > known && same < theirs.messages.len().min(ours.len())
    });
    if parted {
        return Newer::Both;
    }
    if !theirs.is_as_written {
        return Newer::Theirs(known.or(theirs.saved).unwrap_or(u32::MAX));
    }
    // Unchanged since a sidecar wrote it: it is older, or from a process with another store.
    if same == theirs.messages.len() {
        return match same == ours.len() && is_newer() {
            true => Newer::Theirs(count(same)),
            false => Newer::Ours,
        };
    }
    match same == ours.len() || is_newer() {
        true => Newer::Theirs(known.unwrap_or(count(theirs.messages.len()))),
        false => Newer::Both,
    }
}

/// `true` if a file without news lacks something of its session.
pub(super) fn is_behind(session: &Session, theirs: &Trajectory) -> bool {
    let in_force =
        session.transcript().compactions().iter().filter(|record| record.status == Status::InForce);
    theirs.messages.len() != said(session).len()
        || theirs.title != session.head().title
        || theirs.summaries.len() != in_force.count()
}

/// Fills unreadable messages of the file from the session, if the messages around them are equal.
pub(super) fn fill_gaps(session: &Session, theirs: &mut Trajectory) {
    let ours = said(session);
    let is_it = |kept: &FileMessage, ours: Option<&&Message>| {
        ours.is_some_and(|ours| kept.id.as_deref() == Some(ours.id.as_str()) || is_alike(&kept.message, ours))
    };
    let gaps = std::mem::take(&mut theirs.gaps);
    let mut filled = 0;
    // Adjacent gaps are filled as one.
    for gap in gaps.chunk_by(|one, next| one == next) {
        let Some(at) = gap.first().map(|at| at + filled) else { continue };
        let end = at + gap.len();
        let is_begun = at.checked_sub(1).is_none_or(|before| {
            theirs.messages.get(before).is_some_and(|kept| is_it(kept, ours.get(before)))
        });
        let is_ended = match theirs.messages.get(at) {
            Some(next) => is_it(next, ours.get(end)),
            // Newer messages of the session follow all that were written.
            None => ours.len() == end || theirs.saved.and_then(|n| usize::try_from(n).ok()) == Some(end),
        };
        if is_begun
            && is_ended
            && let Some(missing) = ours.get(at..end)
        {
            theirs.messages.splice(at..at, missing.iter().map(|message| kept(message)));
            filled += gap.len();
        }
    }
}

fn kept(message: &Message) -> FileMessage {
    FileMessage {
        id: Some(message.id.as_str().to_owned()),
        turn: Some(message.turn.as_str().to_owned()),
        message: message.into(),
        others: Default::default(),
    }
}
