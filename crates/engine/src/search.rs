//! Text search in a session: pieces of messages, ranked by BM25. The only definition of a hit and of the order of hits;
//! an index may merely count terms and narrow down the candidates. Does no IO.
//!
//! A message is cut into pieces of at most [`pieces::MOST_BYTES`], and a piece is a hit if it contains any term of the
//! query: rare terms, many of them, in a short piece rank first, and the newest breaks a tie. A hit shows the piece and
//! those next to it. A term is a word or a part of an identifier. A query without a ranked hit falls back to messages that contain all of its words as any
//! substring. A query has no operators, so no query is invalid.

mod noise;
pub mod pieces;
mod rank;
mod terms;
mod words;

use super::id::{MessageId, Ordinal, TurnId};
use super::message::{Body, Message};
pub use noise::is_noise;
pub use rank::{B, K1, MOST_RANKED, Ranking, USUAL_TERMS, score};
use serde::{Deserialize, Serialize};
pub use words::{Excerpt, FRAMED, Words, folded};

/// Hits on a page by default.
pub const HITS: usize = 20;

/// A search in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The words to find.
    pub words: Words,
    /// An upper bound, exclusive, on the position.
    pub before: Option<Ordinal>,
    /// Number of the first hits to leave out: those of earlier pages.
    pub skip: usize,
    /// The most hits to return.
    pub limit: usize,
    /// `true` to include messages that no model may see.
    pub hidden: bool,
}

/// A piece of a message that contains terms of the query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The message's position.
    pub ord: Ordinal,
    /// The message's id, usable for a recall.
    pub id: MessageId,
    /// The turn that contains the message.
    pub turn: TurnId,
    /// The author's role.
    pub role: Speaker,
    /// The piece.
    pub excerpt: Excerpt,
    /// Bytes of the message's full text.
    pub bytes: usize,
}

/// The author of a message in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Role"))]
pub enum Speaker {
    /// The user.
    User,
    /// The model.
    Assistant,
    /// A tool, answering one call.
    Tool,
    /// A record of the session that no model sees, such as a notice.
    Event,
}

/// A page of search results.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchPage {
    /// The best first.
    pub hits: Vec<Hit>,
    /// The [`Query::skip`] of the next page; `None` on the last page.
    pub next: Option<usize>,
}

impl Query {
    /// `true` if the query may find the message.
    pub(crate) fn is_about(&self, message: &Message) -> bool {
        self.before.is_none_or(|before| message.ord < before)
            && (self.hidden || !message.is_hidden())
            && !message.is_removed()
    }
}

/// Searches messages, which must come newest first.
pub fn find<'m>(messages: impl Iterator<Item = &'m Message> + Clone, query: &Query) -> SearchPage {
    let mut ranking = Ranking::new(query);
    if !ranking.is_empty() {
        messages.clone().for_each(|message| ranking.take_new(message));
        if ranking.has_found() {
            return ranking.finish();
        }
    }
    let mut whole = AllWords::new(query);
    for message in messages {
        if query.words.is_empty() || !whole.take(message) {
            break;
        }
    }
    whole.finish()
}

/// Collects messages that contain all words as substrings, newest first, until a page is full: for queries without a
/// ranked hit, such as the middle of a name or punctuation.
#[derive(Debug)]
pub struct AllWords<'a> {
    query: &'a Query,
    skipped: usize,
    found: SearchPage,
}

impl<'a> AllWords<'a> {
    /// Creates an empty page.
    pub fn new(query: &'a Query) -> Self {
        Self { query, skipped: 0, found: SearchPage::default() }
    }

    /// Adds a message, in its newest version, if it matches. Returns `false` once the page is full and has a
    /// successor.
    pub fn take(&mut self, message: &Message) -> bool {
        if !self.query.is_about(message) || is_noise(message) {
            return true;
        }
        let said = message.body.said();
        let Some(excerpt) = self.query.words.find(&said) else { return true };
        if self.skipped < self.query.skip {
            self.skipped += 1;
            return true;
        }
        if self.found.hits.len() < self.query.limit {
            self.found.hits.push(Hit {
                ord: message.ord,
                id: message.id.clone(),
                turn: message.turn.clone(),
                role: Speaker::of(message),
                excerpt,
                bytes: said.len(),
            });
            return true;
        }
        self.found.next = Some(self.query.skip + self.query.limit);
        false
    }

    /// Returns the page.
    pub fn finish(self) -> SearchPage {
        self.found
    }
}

impl Speaker {
    /// Returns the author of a message.
    fn of(message: &Message) -> Self {
        match message.body {
            Body::User(_) => Self::User,
            Body::Assistant { .. } => Self::Assistant,
            Body::Tool(_) => Self::Tool,
            Body::Event { .. } => Self::Event,
        }
    }
}

#[cfg(test)]
mod tests;
