//! Text search in messages: the words of a query, matching, excerpts, and the order of results. The only
//! definition of a match; an index may merely narrow down the candidates. Does no IO.
//!
//! Every word of a query must occur in a text, case-insensitively, as any substring: an identifier is found
//! by its whole name and by any part of it, a path by its end, a flag with its dashes. A query has no
//! operators, so no query is invalid.

use super::id::{MessageId, Ordinal, TurnId};
use super::message::{Body, Message};
use super::text::{head, tail};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Hits on a page by default.
pub const HITS: usize = 20;

/// The most distinct words of a query; further ones are ignored.
const MOST_WORDS: usize = 32;
/// Bytes shown on each side of a word.
const AROUND: usize = 80;
/// The most bytes shown of a word.
const MOST_SHOWN: usize = 200;
/// The most words that an excerpt shows.
const SHOWN_WORDS: usize = 4;
/// The separator between the parts of an excerpt.
const BETWEEN: &str = " … ";

/// The words of a query, folded, without duplicates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Words(Vec<String>);

/// Parts of a text around the found words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The parts, byte for byte, joined by an ellipsis.
    pub text: String,
    /// The start of the first part, in bytes of the text.
    pub offset: usize,
}

/// A search in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The words to find.
    pub words: Words,
    /// An upper bound, exclusive, on the position.
    pub before: Option<Ordinal>,
    /// The most hits to return.
    pub limit: usize,
    /// `true` to include messages that no model may see.
    pub hidden: bool,
}

/// A message that contains the words.
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
    /// The text around the words.
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
    /// The newest first.
    pub hits: Vec<Hit>,
    /// The [`Query::before`] of the next page; `None` on the last page.
    pub next: Option<Ordinal>,
}

impl Words {
    /// Splits a query at white space and NUL.
    pub fn of(query: &str) -> Self {
        let mut words: Vec<String> = Vec::new();
        for word in query.split(|c: char| c.is_whitespace() || c == '\0').filter(|word| !word.is_empty()) {
            if words.len() == MOST_WORDS {
                break;
            }
            let word = folded(word);
            if !words.contains(&word) {
                words.push(word);
            }
        }
        Self(words)
    }

    /// `true` if there are no words. Such a query finds nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the words, as folded by [`folded`].
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Finds all words in a text; `None` if one is missing or there are none.
    pub fn find(&self, text: &str) -> Option<Excerpt> {
        let folded = folded(text);
        let places: Option<Vec<Range<usize>>> = self
            .iter()
            .map(|word| folded.find(word).map(|at| original(text, &folded, at..at + word.len())))
            .collect();
        let places = places.filter(|places| !places.is_empty())?;
        Some(excerpt(text, places.into_iter().take(SHOWN_WORDS).collect()))
    }

    /// Returns how many of the words occur in a text.
    pub fn count(&self, text: &str) -> usize {
        let folded = folded(text);
        self.iter().filter(|word| folded.contains(word)).count()
    }
}

/// Folds a text for comparison: each character becomes lower case if that is one character, white space and
/// NUL become blanks. The number of characters stays the same.
pub fn folded(text: &str) -> String {
    let fold = |c: char| {
        if c == '\0' || c.is_whitespace() {
            return ' ';
        }
        let mut lower = c.to_lowercase();
        match (lower.next(), lower.next()) {
            (Some(one), None) => one,
            _ => c,
        }
    };
    text.chars().map(fold).collect()
}

/// Maps a range of the folded text to the original text.
fn original(text: &str, folded: &str, range: Range<usize>) -> Range<usize> {
    if text.len() == folded.len() && text.is_ascii() {
        return range;
    }
    let chars = |bytes: usize| head(folded, bytes).chars().count();
    let bytes = |chars: usize| text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    bytes(chars(range.start))..bytes(chars(range.end))
}

/// The surroundings of these ranges, overlapping ones merged.
fn excerpt(text: &str, places: Vec<Range<usize>>) -> Excerpt {
    let mut parts: Vec<Range<usize>> = places
        .into_iter()
        .map(|place| {
            let before = tail(head(text, place.start), AROUND).len();
            let shown = place.len().min(MOST_SHOWN);
            let end = text.floor_char_boundary((place.start + shown + AROUND).min(text.len()));
            place.start - before..end
        })
        .collect();
    parts.sort_by_key(|part| part.start);
    let mut joined: Vec<Range<usize>> = Vec::new();
    for part in parts {
        match joined.last_mut() {
            Some(last) if part.start <= last.end => last.end = last.end.max(part.end),
            _ => joined.push(part),
        }
    }
    let offset = joined.first().map_or(0, |part| part.start);
    let shown: Vec<&str> = joined.into_iter().filter_map(|part| text.get(part)).collect();
    Excerpt { text: shown.join(BETWEEN), offset }
}

impl Hit {
    /// The hit for a message; `None` if it lacks a word.
    fn of(message: &Message, words: &Words) -> Option<Self> {
        let said = message.body.said();
        Some(Self {
            excerpt: words.find(&said)?,
            ord: message.ord,
            id: message.id.clone(),
            turn: message.turn.clone(),
            role: match message.body {
                Body::User(_) => Speaker::User,
                Body::Assistant { .. } => Speaker::Assistant,
                Body::Tool(_) => Speaker::Tool,
                Body::Event { .. } => Speaker::Event,
            },
            bytes: said.len(),
        })
    }
}

/// Collects hits from messages, newest first, until a page is full.
#[derive(Debug)]
pub struct Finder<'a> {
    query: &'a Query,
    found: SearchPage,
}

impl<'a> Finder<'a> {
    /// Creates an empty page.
    pub fn new(query: &'a Query) -> Self {
        Self { query, found: SearchPage::default() }
    }

    /// Adds a message, in its newest version, if it matches. Returns `false` once the page is full and has a
    /// successor.
    pub fn take(&mut self, message: &Message) -> bool {
        let is_wanted = self.query.before.is_none_or(|before| message.ord < before)
            && (self.query.hidden || !message.is_hidden())
            && !message.is_removed();
        let Some(hit) = is_wanted.then(|| Hit::of(message, &self.query.words)).flatten() else { return true };
        if self.found.hits.len() < self.query.limit {
            self.found.hits.push(hit);
            return true;
        }
        self.found.next = self.found.hits.last().map(|hit| hit.ord);
        false
    }

    /// Returns the page.
    pub fn finish(self) -> SearchPage {
        self.found
    }
}

/// Searches messages, which must come newest first.
pub fn find<'m>(messages: impl Iterator<Item = &'m Message>, query: &Query) -> SearchPage {
    let mut finder = Finder::new(query);
    for message in messages {
        if query.words.is_empty() || !finder.take(message) {
            break;
        }
    }
    finder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(query: &str, text: &str) -> Option<Excerpt> {
        Words::of(query).find(text)
    }

    #[test]
    fn words_match_any_substring_in_any_case() {
        let text =
            "Call updatePendingMessagesDisplay in ./src/tui/Status.rs with --dry-run=1, then İstanbul.";
        for query in [
            "updatePendingMessagesDisplay",
            "PENDINGmessages",
            "dingMess",
            "src/tui/status.rs",
            "--dry-run",
            "-run=1",
            "display call",
            "İstanbul",
            "./",
        ] {
            let found = find(query, text).unwrap_or_else(|| panic!("{query}"));
            let shown = found.text.split(BETWEEN).next().unwrap();
            assert!(text.get(found.offset..).unwrap().starts_with(shown), "{query}");
        }
        for query in ["update_pending", "missing call", "", " \0\n"] {
            assert_eq!(find(query, text), None, "{query}");
        }
    }

    #[test]
    fn operators_quotes_and_zeros_are_words_or_nothing() {
        let text = "a AND \"b\" NEAR(c) col:d* ^e -f 'g' \\ 漢字";
        for query in ["\"b\"", "NEAR(c)", "col:d*", "^e", "-f", "'g'", "and", "\\", "a\0\"b\"", "漢", "OR OR"]
        {
            assert_eq!(find(query, text).is_some(), query != "OR OR", "{query}");
        }
    }

    #[test]
    fn excerpt_shows_words_and_is_short() {
        let text = format!("{}NEEDLE{}é漢THREAD{}", "x".repeat(5000), "é".repeat(3000), "z".repeat(5000));
        let found = find("needle thread", &text).unwrap();
        assert!(found.text.contains("NEEDLE") && found.text.contains("THREAD"));
        assert!(found.text.contains(BETWEEN) && found.text.len() < 500, "{}", found.text.len());
        assert_eq!(found.offset, 5000 - AROUND);
        // A single word as long as a whole text.
        let long = "w".repeat(1 << 20);
        assert!(find(&long, &long).unwrap().text.len() < 500);
        assert_eq!(
            find(&"a b c ".repeat(200_000), "c b a").map(|found| found.text),
            Some("c b a".to_owned())
        );
    }

    #[test]
    fn folding_keeps_the_number_of_characters() {
        for text in ["İI\u{130}", "ẞß", "Σς", "a\0b\t\u{2028}c", "🙂ＡＢ"] {
            assert_eq!(folded(text).chars().count(), text.chars().count());
            assert_eq!(folded(&folded(text)), folded(text));
        }
    }
}
