//! Lists of sessions: what is asked for, what a row shows, where the next page begins. No table is known here.

use engine::id::{SessionId, Time};
use session::stored::{Driver, Origin};
use std::fmt;
use std::str::FromStr;

/// Which sessions are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListQuery {
    /// Of this folder only.
    pub workspace: Option<String>,
    /// Whose title, summary or first request holds this, in any case.
    pub text: Option<String>,
    /// After this one.
    pub after: Option<Cursor>,
    /// At most this many.
    pub limit: u32,
}

/// A part of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// The one that was last used first; among equals by id.
    pub sessions: Vec<SessionRow>,
    /// Where the next page begins, if there is one.
    pub next: Option<Cursor>,
}

/// A session as lists show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// Its id.
    pub id: SessionId,
    /// The folder that it is about.
    pub workspace: String,
    /// Its title, where it has one.
    pub title: Option<String>,
    /// Who runs the loop.
    pub driver: Driver,
    /// What it is for, in the client's words.
    pub kind: Option<String>,
    /// The session that it was started or forked from.
    pub parent: Option<SessionId>,
    /// How it came to be.
    pub origin: Origin,
    /// What it shares with other sessions of its folder.
    pub work_scope: Option<String>,
    /// When something was last said in it.
    pub updated_at: Time,
    /// When it was made.
    pub created_at: Time,
    /// Messages in it.
    pub messages: u32,
    /// Turns in it.
    pub turns: u32,
    /// The beginning of the first thing that its user asked.
    pub first_request: Option<String>,
    /// The block of the compaction in force.
    pub summary: Option<String>,
    /// Messages that the summary stands for.
    pub summarized_count: u32,
}

/// The last session of a page. Stays valid whatever is written or deleted meanwhile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// When it was last used.
    pub updated_at: Time,
    /// Its id.
    pub id: SessionId,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.updated_at.0, self.id)
    }
}

/// A text that no list gave as its cursor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no cursor of a list")]
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
    /// The place of this row in a list.
    pub fn cursor(&self) -> Cursor {
        Cursor { updated_at: self.updated_at, id: self.id.clone() }
    }

    /// Whether this text, in lower case already, is in what people would look for.
    pub(super) fn holds(&self, lower: &str) -> bool {
        [&self.title, &self.summary, &self.first_request]
            .into_iter()
            .flatten()
            .any(|text| text.to_lowercase().contains(lower))
    }
}

/// Takes rows in their order until the page is full.
#[derive(Debug)]
pub(super) struct PageMaker {
    lower: Option<String>,
    limit: usize,
    page: Page,
}

impl PageMaker {
    /// An empty page for this query.
    pub fn new(query: &ListQuery) -> Self {
        let lower = query.text.as_deref().map(str::to_lowercase).filter(|text| !text.is_empty());
        Self { lower, limit: query.limit as usize, page: Page::default() }
    }

    /// Takes the row if it is wanted; false when the page is full and nothing more is needed.
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

    /// The page.
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
