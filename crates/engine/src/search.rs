//! Searching in what was said: the words of a query, whether a text holds them, the part of it to show, and the order of
//! what is found. The one measure for everything that searches; an index may only say where to look. Nothing is read
//! here.
//!
//! Every word of a query must stand in a text, in any case, as a part of whatever it stands in: an identifier is found by
//! its whole name and by any part of it, a path by its end, a flag with its dashes. A query has no operators, so nothing
//! in it can be wrong.

use super::id::{MessageId, Ordinal, TurnId};
use super::message::{Body, Message};
use super::text::{head, tail};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Messages on a page where nobody asks for another number.
pub const HITS: usize = 20;

/// Of a longer query the first so many different words count.
const MOST_WORDS: usize = 32;
/// Bytes of a text that are shown on each side of a word.
const AROUND: usize = 80;
/// Bytes of a word that are shown at most.
const MOST_SHOWN: usize = 200;
/// Words that an excerpt shows.
const SHOWN_WORDS: usize = 4;
/// Stands between the parts of an excerpt.
const BETWEEN: &str = " … ";

/// What a query looks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Words(Vec<String>);

/// A part of a text that shows what was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The parts around the words, byte for byte, with an ellipsis between them.
    pub text: String,
    /// Where the first part begins, in bytes of the text.
    pub offset: usize,
}

/// What is looked for in a session, and how much of it is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The words.
    pub words: Words,
    /// Messages before this one only.
    pub before: Option<Ordinal>,
    /// At most this many.
    pub limit: usize,
    /// Whether what no model may see is found too.
    pub hidden: bool,
}

/// A message that holds the words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Its position.
    pub ord: Ordinal,
    /// Its id, under which it can be recalled.
    pub id: MessageId,
    /// The turn that it belongs to.
    pub turn: TurnId,
    /// Who said it.
    pub role: Speaker,
    /// Where the words stand.
    pub excerpt: Excerpt,
    /// Bytes of all that it says.
    pub bytes: usize,
}

/// Who says something in a session.
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

/// A page of what was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// The newest first.
    pub hits: Vec<Hit>,
    /// Where the next page begins, as [`Query::before`]; nothing where this is the last.
    pub next: Option<Ordinal>,
}

impl Words {
    /// The words of a query: what stands between white space.
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

    /// Whether there are none. Nothing is found then.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Each of them, as [`folded`] gives it.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Whether all of them stand in this text, and where.
    pub fn find(&self, text: &str) -> Option<Excerpt> {
        let folded = folded(text);
        let places: Option<Vec<Range<usize>>> = self
            .iter()
            .map(|word| folded.find(word).map(|at| original(text, &folded, at..at + word.len())))
            .collect();
        let places = places.filter(|places| !places.is_empty())?;
        Some(excerpt(text, places.into_iter().take(SHOWN_WORDS).collect()))
    }

    /// How many of them stand in this text.
    pub fn count(&self, text: &str) -> usize {
        let folded = folded(text);
        self.iter().filter(|word| folded.contains(word)).count()
    }
}

/// A text as it is compared: each character in lower case where that is one character, white space and zeros as blanks.
/// It has as many characters as the text.
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

/// A range of the folded text as one of the text itself.
fn original(text: &str, folded: &str, range: Range<usize>) -> Range<usize> {
    if text.len() == folded.len() && text.is_ascii() {
        return range;
    }
    let chars = |bytes: usize| head(folded, bytes).chars().count();
    let bytes = |chars: usize| text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    bytes(chars(range.start))..bytes(chars(range.end))
}

/// The surroundings of these places, those that touch as one.
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
    /// This message, where it holds the words.
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

/// Takes messages, the newest first, until a page is full.
#[derive(Debug)]
pub struct Finder<'a> {
    query: &'a Query,
    found: Found,
}

impl<'a> Finder<'a> {
    /// An empty page.
    pub fn new(query: &'a Query) -> Self {
        Self { query, found: Found::default() }
    }

    /// Takes a message, the newest version of it, if it is wanted; false when nothing more is needed.
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

    /// The page.
    pub fn finish(self) -> Found {
        self.found
    }
}

/// What stands in these messages, which come newest first.
pub fn find<'m>(messages: impl Iterator<Item = &'m Message>, query: &Query) -> Found {
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
    fn a_word_is_found_whole_and_by_any_part_in_any_case() {
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
    fn an_excerpt_shows_the_words_and_not_the_text() {
        let text = format!("{}NEEDLE{}é漢THREAD{}", "x".repeat(5000), "é".repeat(3000), "z".repeat(5000));
        let found = find("needle thread", &text).unwrap();
        assert!(found.text.contains("NEEDLE") && found.text.contains("THREAD"));
        assert!(found.text.contains(BETWEEN) && found.text.len() < 500, "{}", found.text.len());
        assert_eq!(found.offset, 5000 - AROUND);
        // A word as long as a text is one.
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
