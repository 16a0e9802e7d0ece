//! Replaces invisible characters by their code points in text that a user judges, such as a call before
//! approval; also those that move visible ones.

use std::fmt::Write;
use std::ops::RangeInclusive;

/// Unusual spaces, formatting and bidirectional marks, variation selectors, tags, blank fillers, private use.
/// Control characters are checked separately.
const UNSEEN: &[RangeInclusive<char>] = &[
    '\u{a0}'..='\u{a0}',
    '\u{ad}'..='\u{ad}',
    '\u{34f}'..='\u{34f}',
    '\u{600}'..='\u{605}',
    '\u{61c}'..='\u{61c}',
    '\u{6dd}'..='\u{6dd}',
    '\u{70f}'..='\u{70f}',
    '\u{890}'..='\u{891}',
    '\u{8e2}'..='\u{8e2}',
    '\u{115f}'..='\u{1160}',
    '\u{1680}'..='\u{1680}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    '\u{2000}'..='\u{200f}',
    '\u{2028}'..='\u{202f}',
    '\u{205f}'..='\u{206f}',
    '\u{2800}'..='\u{2800}',
    '\u{3000}'..='\u{3000}',
    '\u{3164}'..='\u{3164}',
    '\u{e000}'..='\u{f8ff}',
    '\u{fe00}'..='\u{fe0f}',
    '\u{feff}'..='\u{feff}',
    '\u{ffa0}'..='\u{ffa0}',
    '\u{fff0}'..='\u{fffb}',
    '\u{110bd}'..='\u{110bd}',
    '\u{110cd}'..='\u{110cd}',
    '\u{13430}'..='\u{1343f}',
    '\u{1bca0}'..='\u{1bca3}',
    '\u{1d159}'..='\u{1d159}',
    '\u{1d173}'..='\u{1d17a}',
    '\u{e0000}'..='\u{10ffff}',
];

/// Replaces each invisible character by its code point in brackets. Line feeds and tabs stay.
pub(super) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        let is_unseen = c.is_control() || UNSEEN.iter().any(|range| range.contains(&c));
        if is_unseen && !matches!(c, '\n' | '\t') {
            // Writing to a string does not fail.
            let _ = write!(shown, "[U+{:04X}]", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visible_text_is_unchanged() {
        for text in ["", "echo tidy\n\techo 'grün 日本 🙂'", "שלום"] {
            assert_eq!(visible(text), text);
        }
    }

    #[test]
    fn unseen_characters_are_named() {
        let told = [
            ("a\u{202e}b\u{2069}", "a[U+202E]b[U+2069]"),
            ("a\rb\u{1b}[2J\0", "a[U+000D]b[U+001B][2J[U+0000]"),
            ("rm\u{a0}-rf\u{2003}", "rm[U+00A0]-rf[U+2003]"),
            ("a\u{200b}\u{feff}\u{e0041}\u{fe0f}\u{3164}", "a[U+200B][U+FEFF][U+E0041][U+FE0F][U+3164]"),
        ];
        for (text, named) in told {
            assert_eq!(visible(text), named);
        }
    }
}
