//! A message's full text cut into pieces: what is ranked, and what a hit shows.

use super::terms::terms;
use super::{Excerpt, is_noise};
use crate::message::Message;
use crate::message::about::About;
use std::ops::Range;

/// The most bytes of a piece.
pub const MOST_BYTES: usize = 900;
/// The most lines of a piece.
const MOST_LINES: usize = 24;
/// The most pieces of a message; what follows is not found.
pub const MOST_PIECES: usize = 1 << 14;

/// A piece of a message's full text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Its bytes in the full text.
    range: Range<usize>,
    /// The text as a reader sees it: in arguments of a call, escapes are resolved.
    pub text: String,
    /// Subjects that the piece itself does not name: the files of its call.
    about: String,
}

impl Piece {
    /// The terms of the piece, with repetitions, and of what it is about.
    pub fn terms(&self) -> Vec<String> {
        let mut found = terms(&self.text);
        found.extend(terms(&self.about));
        found
    }

    /// A piece as a hit shows it: with the pieces next to it, since what an edit or an explanation takes up often
    /// crosses the place of a cut.
    pub(super) fn excerpt(before: Option<&Self>, this: &Self, after: Option<&Self>) -> Excerpt {
        let mut shown = Excerpt { text: String::new(), offset: this.range.start };
        let before = before.filter(|before| before.gap(this).is_some());
        let after = after.filter(|after| this.gap(after).is_some());
        for (piece, next) in [(before, Some(this)), (Some(this), after), (after, None)] {
            let Some(piece) = piece else { continue };
            shown.offset = shown.offset.min(piece.range.start);
            shown.text.push_str(&piece.text);
            shown.text.push_str(next.and_then(|next| piece.gap(next)).unwrap_or_default());
        }
        shown
    }

    /// Text between this piece and the next: nothing, or the line break between two parts; `None` if there is more.
    fn gap(&self, next: &Self) -> Option<&'static str> {
        match next.range.start.checked_sub(self.range.end)? {
            0 => Some(""),
            1 => Some("\n"),
            _ => None,
        }
    }
}

/// Cuts a message. Harness noise, removed messages and blocks of providers have no pieces.
pub fn pieces(message: &Message) -> Vec<Piece> {
    let mut out = Vec::new();
    if message.is_removed() || is_noise(message) {
        return out;
    }
    let mut start = 0;
    for part in message.body.said_parts() {
        if !part.is_opaque {
            let about = part.call.map(|call| About::of(call).paths.join(" ")).unwrap_or_default();
            for range in ranges(&part.text, part.call.is_some()) {
                let text = part.text.get(range.clone()).unwrap_or_default();
                let text = if part.call.is_some() { resolved(text) } else { text.to_owned() };
                if !text.trim().is_empty() {
                    let range = start + range.start..start + range.end;
                    out.push(Piece { range, text, about: about.clone() });
                }
            }
        }
        // A line break separates the parts.
        start += part.text.len() + 1;
    }
    out.truncate(MOST_PIECES);
    out
}

/// Cuts a text after lines, and longer lines after blanks. `is_escaped`: JSON, where `\n` ends a line too.
fn ranges(text: &str, is_escaped: bool) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    let mut lines = 0;
    for line in lines_of(text, is_escaped) {
        for part in short(text, line) {
            match out.last_mut() {
                Some(last) if lines < MOST_LINES && part.end - last.start <= MOST_BYTES => {
                    last.end = part.end
                }
                _ => {
                    out.push(part);
                    lines = 0;
                }
            }
            lines += 1;
        }
    }
    out
}

fn lines_of(text: &str, is_escaped: bool) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let (mut start, mut is_escape) = (0, false);
    for (at, byte) in text.bytes().enumerate() {
        if byte == b'\n' || (is_escape && byte == b'n') {
            lines.push(start..at + 1);
            start = at + 1;
        }
        is_escape = is_escaped && byte == b'\\' && !is_escape;
    }
    if start < text.len() {
        lines.push(start..text.len());
    }
    lines
}

/// Cuts a line that is too long, if possible after a blank in the second half.
fn short(text: &str, line: Range<usize>) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let mut start = line.start;
    while line.end - start > MOST_BYTES {
        let most = text.floor_char_boundary(start + MOST_BYTES);
        let half = text.floor_char_boundary(start + MOST_BYTES / 2);
        let blank = text.get(half..most).and_then(|part| part.rfind(' ')).map(|at| half + at + 1);
        let end = blank.unwrap_or(most);
        out.push(start..end);
        start = end;
    }
    out.push(start..line.end);
    out
}

/// Resolves the escapes of a part of a JSON text; what is no escape stays.
fn resolved(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut chars = json.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let rest = chars.clone();
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => {}
            Some(c @ ('"' | '\\' | '/')) => out.push(c),
            Some('u') => {
                let digits: String = chars.clone().take(4).collect();
                match u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32) {
                    Some(c) => {
                        out.push(c);
                        chars.nth(3);
                    }
                    None => out.push_str("\\u"),
                }
            }
            _ => {
                out.push('\\');
                chars = rest;
            }
        }
    }
    out
}
