//! The ledger of a compaction, as it is asked for and given: pages, and cursors between them.

use engine::compact::ledger::report::Page;
use engine::compact::record::Span;
use engine::id::CompactionId;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerQuery {
    /// Where the page begins; nothing: at the first entry.
    pub from: Option<Cursor>,
    /// The most entries of a page.
    pub limit: usize,
}

/// A place in the ledger of one compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    compaction: CompactionId,
    skip: usize,
}

/// No text of a [`Cursor`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is no cursor of a ledger")]
pub struct NoCursor(String);

/// A page of a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LedgerPage {
    /// The compaction in force; nothing where there is none.
    pub compaction: Option<CompactionId>,
    /// What it keeps out of sight.
    pub span: Option<Span>,
    /// The entries.
    pub page: Page,
    /// Where the next page begins, where there is one.
    pub next: Option<Cursor>,
}

impl Cursor {
    pub(crate) fn new(compaction: CompactionId, skip: usize) -> Self {
        Self { compaction, skip }
    }

    pub(crate) fn compaction(&self) -> &CompactionId {
        &self.compaction
    }

    /// Entries before it.
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
