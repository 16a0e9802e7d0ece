//! Cutting, hashing and quoting of text on character boundaries, glob matching and edit distance.

pub mod json;

use sha2::{Digest, Sha256};

/// Returns the SHA-256 in lower-case hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Returns the bytes in lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        for nibble in [byte >> 4, byte & 15] {
            out.push(char::from_digit(u32::from(nibble), 16).unwrap_or('0'));
        }
    }
    out
}

/// Returns the longest prefix of `text` of at most `bytes` bytes that ends on a character boundary.
pub fn head(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes.min(text.len()))).unwrap_or(text)
}

/// Returns the longest suffix of `text` of at most `bytes` bytes that starts on a character boundary.
pub fn tail(text: &str, bytes: usize) -> &str {
    text.get(text.ceil_char_boundary(text.len().saturating_sub(bytes))..).unwrap_or(text)
}

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page<'a> {
    /// The part itself.
    pub text: &'a str,
    /// The start, in bytes.
    pub offset: usize,
    /// The start of the next page; `None` on the last page.
    pub next: Option<usize>,
}

/// Returns at most `bytes` bytes from `offset` on. An offset inside a character is rounded down, one past the
/// end is the end; a character longer than `bytes` is included whole, so that paging always terminates.
pub fn page(text: &str, offset: usize, bytes: usize) -> Page<'_> {
    let offset = text.floor_char_boundary(offset.min(text.len()));
    let rest = text.get(offset..).unwrap_or_default();
    let least = rest.chars().next().map_or(0, char::len_utf8);
    let part = head(rest, bytes.max(least));
    let end = offset + part.len();
    Page { text: part, offset, next: (end < text.len()).then_some(end) }
}

/// Returns the first non-blank line of `text`, trimmed and cut to `bytes`, with an ellipsis if it was cut.
pub fn first_line(text: &str, bytes: usize) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    one_line(line, bytes)
}

/// Collapses white space in `text` to single blanks and cuts it to `bytes`, with an ellipsis if it was cut.
pub fn one_line(text: &str, bytes: usize) -> String {
    let mut out = String::new();
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
        if out.len() > bytes {
            return format!("{}…", head(&out, bytes));
        }
    }
    out
}

/// `true` if a text matches a glob: `*` matches any characters but those of `not`, `\` escapes the next one.
/// Only the last `*` backtracks, so the cost is at most the product of both lengths.
pub(crate) fn looks_like(pattern: &str, text: &str, not: &[char]) -> bool {
    let pattern = tokens(pattern);
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0, 0);
    // The position of the last `*`, and the end of its match.
    let mut star: Option<(usize, usize)> = None;
    while let Some(c) = text.get(t) {
        match pattern.get(p) {
            Some(Some(known)) if known == c => (p, t) = (p + 1, t + 1),
            Some(None) => {
                star = Some((p, t));
                p += 1;
            }
            _ => match star {
                Some((at, end)) if text.get(end).is_some_and(|c| !not.contains(c)) => {
                    star = Some((at, end + 1));
                    (p, t) = (at + 1, end + 1);
                }
                _ => return false,
            },
        }
    }
    pattern.iter().skip(p).all(Option::is_none)
}

/// Returns the case-insensitive edit distance. Only the first 64 letters of `b` count.
pub fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.to_lowercase().chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, from) in a.to_lowercase().chars().enumerate() {
        let mut next = Vec::with_capacity(row.len());
        next.push(at + 1);
        for ((to, above), diagonal) in b.iter().zip(row.iter().skip(1)).zip(&row) {
            let left = next.last().copied().unwrap_or_default();
            next.push((diagonal + usize::from(from != *to)).min(above + 1).min(left + 1));
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

/// Parses a pattern; `None` is `*`.
fn tokens(pattern: &str) -> Vec<Option<char>> {
    let mut chars = pattern.chars();
    let mut tokens = Vec::new();
    while let Some(c) = chars.next() {
        tokens.push(match c {
            '*' => None,
            '\\' => Some(chars.next().unwrap_or('\\')),
            c => Some(c),
        });
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_stay_on_character_boundaries_at_every_offset() {
        let text = "aé漢🙂z";
        for n in 0..=text.len() + 2 {
            assert!(text.starts_with(head(text, n)));
            assert!(text.ends_with(tail(text, n)));
            assert!(head(text, n).len() <= n && tail(text, n).len() <= n);
        }
    }

    #[test]
    fn pages_terminate_and_join_to_the_text() {
        let text = "aé漢🙂z";
        for bytes in 0..=text.len() + 1 {
            for offset in 0..=text.len() + 1 {
                let (mut at, mut whole) = (Some(offset), String::new());
                while let Some(from) = at {
                    let page = page(text, from, bytes);
                    assert!(page.offset <= from && page.text.len() <= bytes.max(4));
                    whole.push_str(page.text);
                    at = page.next;
                }
                let start = text.floor_char_boundary(offset.min(text.len()));
                assert_eq!(Some(&*whole), text.get(start..));
            }
        }
    }

    #[test]
    fn distance_counts_edits() {
        for (a, b, far) in [("echo", "ECHO", 0), ("echo", "ech", 1), ("kitten", "sitting", 3), ("", "ab", 2)]
        {
            assert_eq!((distance(a, b), distance(b, a)), (far, far), "{a} {b}");
        }
    }

    #[test]
    fn one_line_collapses_blanks_and_marks_cuts() {
        assert_eq!(one_line("  a\n\tb  ", 10), "a b");
        assert_eq!(one_line("abcdef ghi", 4), "abcd…");
        assert_eq!(first_line("\n\n  first \nsecond", 80), "first");
    }
}
