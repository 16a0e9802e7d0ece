//! The ledger of a transcript's front, kept beside it: a later reading continues there instead of at the beginning. It
//! only saves work: what is read does not depend on it.

use super::reader::{LedgerReader, Reading};
use crate::compact::known_tools::Kinds;
use crate::id::Ordinal;
use crate::prompt::item::{Tool, ToolKind};
use crate::transcript::Transcript;
use std::collections::BTreeSet;

/// The newest reading of a transcript.
struct Checkpoint {
    reading: Reading,
    of: Terms,
}

/// What a reading depends on beside the messages.
#[derive(PartialEq)]
struct Terms {
    named: Vec<(String, ToolKind)>,
    declared: Vec<Tool>,
    excluded: BTreeSet<Ordinal>,
    folder: Option<String>,
}

impl<'t> LedgerReader<'t> {
    /// Returns a reader of everything up to and including `to`. It goes on from what the transcript keeps, so that the
    /// cost does not grow with the session.
    pub fn through(transcript: &'t Transcript, to: Ordinal, kinds: Kinds<'t>) -> Self {
        Self::from(transcript, kinds, continued(transcript, kinds, to))
    }
}

/// Returns a reading up to and including `to`: the kept one read on, if it is under the same terms and not past `to`,
/// else a fresh one. Keeps as much of it as cannot change any more.
fn continued(transcript: &Transcript, kinds: Kinds<'_>, to: Ordinal) -> Reading {
    let kept = transcript.slot().get::<Checkpoint>();
    let kept = kept.filter(|kept| kept.reading.next() <= to.next() && kept.of.are(transcript, kinds));
    let mut reading = match kept {
        Some(kept) => kept.reading.clone(),
        None => Reading::new(Ordinal(0), transcript.folder()),
    };
    // Calls of the newest round may get results later.
    let end = Ordinal(u32::try_from(transcript.messages().len()).unwrap_or(u32::MAX));
    let open = transcript.rounds().last().map_or(end, |round| round.assistant);
    let settled = open.min(end).min(to.next());
    if let Some(last) = settled.0.checked_sub(1).map(Ordinal).filter(|last| reading.next() <= *last) {
        reading.read_to(transcript, kinds, last);
        transcript.slot().put(Checkpoint { reading: reading.clone(), of: Terms::of(transcript, kinds) });
    }
    reading.read_to(transcript, kinds, to);
    reading
}

impl Terms {
    fn of(transcript: &Transcript, kinds: Kinds<'_>) -> Self {
        Self {
            named: kinds.named.to_vec(),
            declared: kinds.declared.to_vec(),
            excluded: excluded(transcript).cloned().unwrap_or_default(),
            folder: transcript.folder().map(str::to_owned),
        }
    }

    fn are(&self, transcript: &Transcript, kinds: Kinds<'_>) -> bool {
        self.named == kinds.named
            && self.declared == kinds.declared
            && excluded(transcript).map_or(self.excluded.is_empty(), |excluded| *excluded == self.excluded)
            && self.folder.as_deref() == transcript.folder()
    }
}

fn excluded(transcript: &Transcript) -> Option<&BTreeSet<Ordinal>> {
    transcript.in_force().map(|record| &record.excluded)
}
