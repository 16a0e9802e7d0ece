//! Lines of painted text that fit a width. Widths are columns of a terminal.

use super::paint::Paint;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Pieces of text with their looks. A line feed in a piece ends the line.
pub(super) type Painted = Vec<(Paint, String)>;

/// Columns that a text takes.
pub(super) fn width(pieces: &[(Paint, String)]) -> usize {
    pieces.iter().map(|(_, text)| text.width()).sum()
}

/// The pieces as text, with their looks as escape sequences or without them.
pub(super) fn printed(pieces: &[(Paint, String)], has_looks: bool) -> String {
    let paint = |paint: Paint| if has_looks { paint } else { Paint::Plain };
    pieces.iter().map(|(look, text)| paint(*look).on(text)).collect()
}

/// Breaks text at spaces into lines of at most this width. A longer word is broken within.
pub(super) fn wrap(pieces: &[(Paint, String)], columns: usize) -> Vec<Painted> {
    let mut lines = Lines { columns: columns.max(1), ..Lines::default() };
    for (paint, text) in pieces {
        for c in text.chars() {
            match c {
                '\n' => {
                    lines.end_word();
                    lines.end_line();
                }
                ' ' => {
                    lines.end_word();
                    push(&mut lines.space, *paint, ' ');
                }
                c => push(&mut lines.word, *paint, c),
            }
        }
    }
    lines.end_word();
    lines.end_line();
    lines.done
}

/// Breaks text after this width, wherever that is.
pub(super) fn cut(pieces: &[(Paint, String)], columns: usize) -> Vec<Painted> {
    let (mut lines, mut taken) = (vec![Painted::new()], 0);
    for (paint, c) in pieces.iter().flat_map(|(paint, text)| text.chars().map(|c| (*paint, c))) {
        let width = c.width().unwrap_or(0);
        if taken + width > columns.max(1) && taken > 0 {
            lines.push(Painted::new());
            taken = 0;
        }
        taken += width;
        if let Some(line) = lines.last_mut() {
            push(line, paint, c);
        }
    }
    lines
}

#[derive(Default)]
struct Lines {
    columns: usize,
    done: Vec<Painted>,
    line: Painted,
    /// Spaces before the word; left out where the line is broken.
    space: Painted,
    word: Painted,
}

impl Lines {
    fn end_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        let (word, space) = (std::mem::take(&mut self.word), std::mem::take(&mut self.space));
        if !self.line.is_empty() && width(&self.line) + width(&space) + width(&word) > self.columns {
            self.done.push(std::mem::take(&mut self.line));
        } else {
            append(&mut self.line, space);
        }
        for (paint, c) in word.iter().flat_map(|(paint, text)| text.chars().map(|c| (*paint, c))) {
            if width(&self.line) + c.width().unwrap_or(0) > self.columns && !self.line.is_empty() {
                self.done.push(std::mem::take(&mut self.line));
            }
            push(&mut self.line, paint, c);
        }
    }

    fn end_line(&mut self) {
        self.space.clear();
        self.done.push(std::mem::take(&mut self.line));
    }
}

fn push(pieces: &mut Painted, paint: Paint, c: char) {
    match pieces.last_mut() {
        Some((last, text)) if *last == paint => text.push(c),
        _ => pieces.push((paint, c.into())),
    }
}

fn append(pieces: &mut Painted, more: Painted) {
    for (paint, text) in more {
        text.chars().for_each(|c| push(pieces, paint, c));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, columns: usize) -> Vec<String> {
        let lines = wrap(&[(Paint::Plain, text.to_owned())], columns);
        lines.iter().map(|line| line.iter().map(|(_, text)| text.as_str()).collect()).collect()
    }

    #[test]
    fn lines_break_at_spaces_and_long_words_within() {
        assert_eq!(lines("one two three", 7), ["one two", "three"]);
        assert_eq!(lines("one  two", 20), ["one  two"]);
        assert_eq!(lines("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(lines("a\n\nb", 9), ["a", "", "b"]);
        assert_eq!(lines("", 9), [""]);
        // Each of these takes two columns.
        assert_eq!(lines("日本語", 4), ["日本", "語"]);
    }

    #[test]
    fn a_cut_line_keeps_its_spaces() {
        let pieces = [(Paint::Bold, "a  ".to_owned()), (Paint::Plain, "   b ".to_owned())];
        let expected: Vec<Painted> = vec![
            vec![(Paint::Bold, "a  ".into()), (Paint::Plain, " ".into())],
            vec![(Paint::Plain, "  b ".into())],
        ];
        assert_eq!(cut(&pieces, 4), expected);
        assert_eq!(cut(&[], 4), [Painted::new()]);
    }

    #[test]
    fn looks_stay_with_their_text() {
        let pieces = [(Paint::Bold, "one two".to_owned()), (Paint::Plain, "x three".to_owned())];
        let expected: Vec<Painted> = vec![
            vec![(Paint::Bold, "one".into())],
            vec![(Paint::Bold, "two".into()), (Paint::Plain, "x".into())],
            vec![(Paint::Plain, "three".into())],
        ];
        assert_eq!(wrap(&pieces, 5), expected);
        assert_eq!(printed(&expected[1], true), "\u{1b}[1mtwo\u{1b}[0mx");
        assert_eq!(printed(&expected[1], false), "twox");
    }
}
