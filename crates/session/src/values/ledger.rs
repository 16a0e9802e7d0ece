//! Requests for pages of a compaction's ledger, the pages, and the cursors between them.

use engine::compact::ledger::report::Page;
use engine::compact::record::Span;
use engine::id::CompactionId;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// A request for a page of the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerQuery {
    /// The start of the page; `None` means the first entry.
    pub from: Option<Cursor>,
    /// The largest number of entries in the page.
    pub limit: usize,
}

/// A position in the ledger of one compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    compaction: CompactionId,
    skip: usize,
}

/// The error for a text that is no [`Cursor`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0:?} is not a ledger cursor")]
pub struct NoCursor(String);

/// A page of a compaction's ledger.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LedgerPage {
    /// The compaction in force, if there is one.
    pub compaction: Option<CompactionId>,
    /// The messages that it hides from prompts.
    pub span: Option<Span>,
    /// The entries of the page.
    pub page: Page,
    /// The start of the next page, if there is one.
    pub next: Option<Cursor>,
}

impl Cursor {
    pub(crate) fn new(compaction: CompactionId, skip: usize) -> Self {
        Self { compaction, skip }
    }

    pub(crate) fn compaction(&self) -> &CompactionId {
        &self.compaction
    }

    /// Returns the number of entries before the cursor.
    pub(crate) fn skip(&self) -> usize {
        self.skip
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.skip, self.compaction)
    }
}

impl FromStr for Cursor {
    type Err = NoCursor;

    fn from_str(text: &str) -> Result<Self, NoCursor> {
        let read = || {
            let (skip, compaction) = text.split_once('.')?;
            Some(Self { compaction: CompactionId::new(compaction), skip: skip.parse().ok()? })
        };
        read().ok_or_else(|| NoCursor(text.to_owned()))
    }
}
