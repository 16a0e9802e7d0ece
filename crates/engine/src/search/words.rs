//! The words of a query, and texts that contain all of them, case-insensitively and as any substring. A query has no
//! operators, so no query is invalid.

use super::terms::terms;
use crate::text::{head, tail};
use std::ops::Range;

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

/// The beginning of serialized content whose text has words that its serialized form lacks.
pub const FRAMED: [&str; 5] =
    [r#"{"image":"#, r#"{"resource":"#, r#"{"contextFile":"#, r#"{"resourceLink":"#, r#"{"attachment":"#];

/// Bytes of a word that are read for its terms.
const MOST_READ: usize = 1000;

/// The words of a query, folded, without duplicates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Words {
    folded: Vec<String>,
    terms: Vec<String>,
}

/// Parts of a text around the found words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The parts, byte for byte, joined by an ellipsis.
    pub text: String,
    /// The start of the first part, in bytes of the text.
    pub offset: usize,
}

impl Words {
    /// Splits a query at white space and NUL.
    pub fn of(query: &str) -> Self {
        let mut words = Self::default();
        for word in query.split(|c: char| c.is_whitespace() || c == '\0').filter(|word| !word.is_empty()) {
            if words.folded.len() == MOST_WORDS {
                break;
            }
            for term in terms(head(word, MOST_READ)) {
                if words.terms.len() < MOST_WORDS && !words.terms.contains(&term) {
                    words.terms.push(term);
                }
            }
            let word = folded(word);
            if !words.folded.contains(&word) {
                words.folded.push(word);
            }
        }
        words
    }

    /// `true` if there are no words. Such a query finds nothing.
    pub fn is_empty(&self) -> bool {
        self.folded.is_empty()
    }

    /// Iterates over the words, as folded by [`folded`].
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.folded.iter().map(String::as_str)
    }

    /// The terms by which messages are ranked, without duplicates.
    pub fn terms(&self) -> &[String] {
        &self.terms
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

    /// `false` if a message with this serialized body certainly lacks one of the words, which is told faster than its
    /// text is read.
    pub fn may_be_in(&self, body: &str) -> bool {
        if FRAMED.iter().any(|start| body.contains(start)) {
            return true;
        }
        let lower = body.to_ascii_lowercase();
        let is_there = |part: &str| lower.contains(part) || (part.contains('k') && !body.is_ascii());
        self.literals().all(is_there)
    }

    /// Parts of the words that a message with all of them has in its serialized body as they are, but for the case of
    /// ASCII letters. Not so for a body with one of [`FRAMED`]; and a `k` may be the sign of the unit Kelvin there.
    pub fn literals(&self) -> impl Iterator<Item = &str> {
        let parts = self.iter().flat_map(|word| word.split(|c| !is_literal(c)));
        parts.filter(|part| !part.is_empty()).take(MOST_WORDS)
    }

    /// Returns how many of the words occur in a text.
    pub fn count(&self, text: &str) -> usize {
        let folded = folded(text);
        self.iter().filter(|word| folded.contains(word)).count()
    }
}

/// `true` for a character that has no other case, or ASCII, and that JSON writes as it is.
fn is_literal(c: char) -> bool {
    match c.is_ascii() {
        true => c.is_ascii_graphic() && !matches!(c, '"' | '\\'),
        false => c.is_alphanumeric() && c.to_lowercase().eq([c]) && c.to_uppercase().eq([c]),
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
    fn nothing_but_ascii_letters_folds_to_another_literal() {
        let others = ('\0'..=char::MAX).filter(|c| {
            let folded = folded(&c.to_string());
            let is_same = folded.chars().eq([c.to_ascii_lowercase()]);
            !is_same && folded.chars().all(is_literal)
        });
        assert_eq!(others.collect::<String>(), "\u{212a}");
        let words = Words::of("say \"prüfung\\n 漢字x é");
        assert_eq!(words.literals().collect::<Vec<_>>(), ["say", "pr", "fung", "n", "漢字x"]);
    }

    #[test]
    fn folding_keeps_the_number_of_characters() {
        for text in ["İI\u{130}", "ẞß", "Σς", "a\0b\t\u{2028}c", "🙂ＡＢ"] {
            assert_eq!(folded(text).chars().count(), text.chars().count());
            assert_eq!(folded(&folded(text)), folded(text));
        }
    }
}
