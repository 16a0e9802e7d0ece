//! The ledger of all that the compaction in force keeps out of sight, whole and in pages: what its block has no room
//! for has its name here. Made when it is asked for and stored nowhere. How it is read is `compact::ledger`'s.

use super::Session;
use super::effect::Refusal;
use engine::compact::known_tools::Kinds;
use engine::compact::ledger::Reading;
use engine::compact::ledger::report::Page;
use engine::compact::record::Span;
use engine::id::{CompactionId, Ordinal};
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

impl Session {
    /// A page of the ledger of what the compaction in force keeps out of sight.
    ///
    /// # Errors
    /// [`Refusal::Unusable`] where the cursor is of a compaction that is in force no longer.
    pub(super) fn ledger(&self, query: LedgerQuery) -> Result<LedgerPage, Refusal> {
        let in_force = self.transcript.in_force();
        let skip = match query.from {
            Some(from) if in_force.is_some_and(|record| record.id == from.compaction) => from.skip,
            Some(_) => {
                let why = "the compaction that it is of is in force no longer; ask for the first page again";
                return Err(Refusal::Unusable { field: "cursor", why });
            }
            None => 0,
        };
        let Some(record) = in_force else { return Ok(LedgerPage::default()) };
        let kinds = Kinds { named: &self.settings.policy.tool_kinds, declared: &self.fixed.tools };
        let whole = Reading::new(&self.transcript, Ordinal(0), kinds).of(record);
        let page = whole.page(skip, query.limit);
        Ok(LedgerPage {
            compaction: Some(record.id.clone()),
            span: record.dropped.or(record.covers),
            next: page.next.map(|skip| Cursor { compaction: record.id.clone(), skip }),
            page,
        })
    }
}
