//! The ledger of a transcript's front, kept beside it: a later reading continues there instead of at the beginning. It
//! only saves work: what is read does not depend on it.

use super::reader::{LedgerReader, LedgerState};
use crate::compact::known_tools::Kinds;
use crate::compact::record::Span;
use crate::id::Ordinal;
use crate::prompt::item::{Tool, ToolKind};
use crate::transcript::Transcript;
use std::collections::BTreeSet;

/// The newest state of a transcript's ledger.
struct Checkpoint {
    state: LedgerState,
    of: Conditions,
}

/// What the state depends on beside the messages.
#[derive(PartialEq)]
struct Conditions {
    named: Vec<(String, ToolKind)>,
    declared: Vec<Tool>,
    excluded: BTreeSet<Ordinal>,
    folder: Option<String>,
}

impl<'t> LedgerReader<'t> {
    /// Returns a reader of everything that the compaction in force hides, whose reading can be continued.
    pub fn hidden(transcript: &'t Transcript, kinds: Kinds<'t>) -> Self {
        match transcript.in_force().and_then(|record| record.dropped.or(record.covers)) {
            Some(Span { to, .. }) => Self::through(transcript, to, kinds),
            None => Self::new(transcript, Ordinal(0), kinds),
        }
    }

    /// Returns a reader of everything up to and including `to`. It goes on from what the transcript keeps, so that the
    /// cost does not grow with the session.
    pub(crate) fn through(transcript: &'t Transcript, to: Ordinal, kinds: Kinds<'t>) -> Self {
        Self::from(transcript, kinds, continued(transcript, kinds, to))
    }
}

/// Returns the state up to and including `to`: the kept one read on, if it is under the same conditions and not past
/// `to`, else a fresh one. Keeps as much of it as cannot change any more.
fn continued(transcript: &Transcript, kinds: Kinds<'_>, to: Ordinal) -> LedgerState {
    let of = Conditions::of(transcript, kinds);
    let kept = transcript.slot().get::<Checkpoint>();
    let mut state = match kept.filter(|kept| kept.state.next() <= to.next() && kept.of == of) {
        Some(kept) => kept.state.clone(),
        None => LedgerState::new(Ordinal(0), transcript.folder()),
    };
    // Calls of the newest round may get results later.
    let end = Ordinal(u32::try_from(transcript.messages().len()).unwrap_or(u32::MAX));
    let open = transcript.rounds().last().map_or(end, |round| round.assistant);
    let settled = open.min(end).min(to.next());
    if let Some(last) = settled.0.checked_sub(1).map(Ordinal).filter(|last| state.next() <= *last) {
        state.read_to(transcript, kinds, last);
        transcript.slot().put(Checkpoint { state: state.clone(), of }, state.next());
    }
    state.read_to(transcript, kinds, to);
    state
}

impl Conditions {
    fn of(transcript: &Transcript, kinds: Kinds<'_>) -> Self {
        Self {
            named: kinds.named.to_vec(),
            declared: kinds.declared.to_vec(),
            excluded: transcript.in_force().map(|record| record.excluded.clone()).unwrap_or_default(),
            folder: transcript.folder().map(str::to_owned),
        }
    }
}
