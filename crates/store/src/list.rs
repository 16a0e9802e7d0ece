//! Queries, rows and pages of session lists, independent of tables.

use engine::id::{SessionId, Time};
use engine::words::StateName;
use session::stored::{Driver, Origin, Revision};
use std::fmt;
use std::str::FromStr;

/// A revision in the list of its session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevisionRow {
    /// The revision.
    pub revision: Revision,
    /// Rises with each revision of the session.
    pub number: u32,
    /// The number of messages.
    pub messages: u32,
}

/// A page of a session's revisions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RevisionPage {
    /// The revisions, the newest first.
    pub revisions: Vec<RevisionRow>,
    /// The number before which the next page begins, if there is one.
    pub next: Option<u32>,
}

/// A query for sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListQuery {
    /// The workspace; `None` for all.
    pub workspace: Option<String>,
    /// Text in the title, summary or first request, in any case.
    pub text: Option<String>,
    /// The cursor of the page before.
    pub after: Option<Cursor>,
    /// The most sessions.
    pub limit: u32,
}

/// A page of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// The most recently used first; ties are ordered by id.
    pub sessions: Vec<SessionRow>,
    /// The cursor of the next page, if there is one.
    pub next: Option<Cursor>,
}

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// The session's id.
    pub id: SessionId,
    /// The session's workspace folder.
    pub workspace: String,
    /// The title, if there is one.
    pub title: Option<String>,
    /// The side that runs the tool loop.
    pub driver: Driver,
    /// The purpose, as the client named it.
    pub kind: Option<String>,
    /// The session that it was started or forked from.
    pub parent: Option<SessionId>,
    /// The way in which it was created.
    pub origin: Origin,
    /// The scope that it shares with other sessions of its workspace.
    pub work_scope: Option<String>,
    /// The time of the last use.
    pub updated_at: Time,
    /// The time of creation.
    pub created_at: Time,
    /// The number of messages.
    pub messages: u32,
    /// The number of turns.
    pub turns: u32,
    /// The beginning of the first request.
    pub first_request: Option<String>,
    /// The block of the compaction in force.
    pub summary: Option<String>,
    /// The number of messages that the summary replaces.
    pub summarized_count: u32,
    /// The state; `None` if the session was last used by a version that did not store it.
    pub state: Option<StateName>,
}

/// The position after a session in a list. Stays valid whatever is written or deleted meanwhile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// The session's time of the last use.
    pub updated_at: Time,
    /// The session's id.
    pub id: SessionId,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.updated_at.0, self.id)
    }
}

/// A text that is not a cursor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a cursor of a session list")]
pub struct NoCursor(String);

impl FromStr for Cursor {
    type Err = NoCursor;

    fn from_str(text: &str) -> Result<Self, NoCursor> {
        let parsed = text.split_once('.').and_then(|(time, id)| {
            Some(Self { updated_at: Time(time.parse().ok()?), id: SessionId::new(id) })
        });
        parsed.ok_or_else(|| NoCursor(text.to_owned()))
    }
}

impl SessionRow {
    /// The cursor after this row.
    pub fn cursor(&self) -> Cursor {
        Cursor { updated_at: self.updated_at, id: self.id.clone() }
    }

    /// `true` if title, summary or first request contain this text, given in lower case.
    pub(super) fn holds(&self, lower: &str) -> bool {
        [&self.title, &self.summary, &self.first_request]
            .into_iter()
            .flatten()
            .any(|text| text.to_lowercase().contains(lower))
    }
}

/// Collects rows in order until the page is full.
#[derive(Debug)]
pub(super) struct PageMaker {
    lower: Option<String>,
    limit: usize,
    page: Page,
}

impl PageMaker {
    /// An empty page for a query.
    pub fn new(query: &ListQuery) -> Self {
        let lower = query.text.as_deref().map(str::to_lowercase).filter(|text| !text.is_empty());
        Self { lower, limit: query.limit as usize, page: Page::default() }
    }

    /// Adds the row if it matches. Returns `false` once the page is full.
    pub fn take(&mut self, row: SessionRow) -> bool {
        if self.lower.as_deref().is_some_and(|lower| !row.holds(lower)) {
            return true;
        }
        if self.page.sessions.len() < self.limit {
            self.page.sessions.push(row);
            return true;
        }
        self.page.next = self.page.sessions.last().map(SessionRow::cursor);
        false
    }

    /// The collected page.
    pub fn finish(self) -> Page {
        self.page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_survives_the_wire() {
        for id in ["a", "a.b", "", "漢字 "] {
            let cursor = Cursor { updated_at: Time(1_700_000_000_000), id: SessionId::new(id) };
            assert_eq!(cursor.to_string().parse(), Ok(cursor));
        }
        for text in ["", "x", "x.y", "-1.a", "99999999999999999999.a"] {
            assert!(text.parse::<Cursor>().is_err(), "{text}");
        }
    }
}
