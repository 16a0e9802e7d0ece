//! Cuts the texts of a message into pieces of a few lines, with all that a choice between them needs. A message is cut
//! once, when a compaction first looks at it.

use super::super::identifiers::identifiers;
use crate::message::edits::{Edit, edits};
use crate::message::pieces::{Line, Origin, Piece, Pieces, Replaced};
use crate::message::{AssistantPart, Body, Content, Message, ToolCall, argument_values};
use crate::text::head;
use regex::Regex;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::LazyLock;

/// Bytes and lines of a piece, at most.
const MOST_BYTES: usize = 900;
const MOST_LINES: usize = 12;
/// Lines of a piece of an edit's new text, at most: edits are quoted as a whole.
const MOST_EDIT_LINES: usize = 40;
/// Bytes of a line, at most; longer lines are data.
const MOST_LINE: usize = 400;
/// Minimum bytes of a line that gets a fingerprint; brackets and short words are everywhere.
const LEAST_LINE: usize = 8;
/// Minimum bytes of an edit's old text that is looked for within a line.
const LEAST_WITHIN: usize = 3;
/// Marks that are counted in a piece, at most.
const MOST_MARKS: usize = 4;

/// Quoted phrases, figures, and lines of files: what answers repeat word for word.
#[allow(clippy::expect_used, reason = "a constant pattern; the tests compile it")]
static MARK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"`[^`\n]{8,160}`|"[^"\n]{8,160}"|\d+\.\d+|\d+%|\.[a-z]+:\d+"#).expect("pattern")
});

/// Returns the pieces of a message, which are cut on first use.
pub(super) fn of(message: &Message) -> &Pieces {
    message.found.pieces.get_or_init(|| cut(&message.body))
}

fn cut(body: &Body) -> Pieces {
    let mut cut = Pieces::default();
    match body {
        Body::Event { .. } => {}
        Body::User(parts) => {
            parts
                .iter()
                .filter_map(Content::text)
                .for_each(|text| cut.add(Origin::Request, None, None, text));
        }
        Body::Tool(result) => {
            let texts = result.content.iter().filter_map(Content::text);
            texts.for_each(|text| cut.add(Origin::Result, None, None, text));
        }
        Body::Assistant { parts, calls, .. } => {
            let words = parts.iter().filter_map(|part| match part {
                AssistantPart::Text(text) => Some(text),
                AssistantPart::Reasoning { .. } | AssistantPart::Raw(_) => None,
            });
            words.for_each(|text| cut.add(Origin::Words, None, None, text));
            calls.iter().enumerate().for_each(|(n, call)| cut.add_call(n, call));
        }
    }
    cut
}

impl Pieces {
    fn add_call(&mut self, n: usize, call: &ToolCall) {
        let edits = edits(call);
        if edits.is_empty() {
            self.add(Origin::Arguments, Some(n), None, &argument_values(&call.arguments));
        }
        for Edit { file, old, new, is_whole } in edits {
            let kept: Vec<u64> = prints(&new).collect();
            let lines =
                if is_whole { kept } else { prints(&old).filter(|line| !kept.contains(line)).collect() };
            let is_within = !is_whole
                && old.trim().len() >= LEAST_WITHIN
                && ![&old, &new].iter().any(|text| text.contains('\n'));
            let within = is_within.then(|| (old.as_str().into(), new.as_str().into()));
            self.replaced.push(Replaced { call: n, file: file.clone(), lines, is_whole, within });
            let first = self.pieces.len();
            self.add(if is_whole { Origin::Write } else { Origin::Edit }, Some(n), file.as_deref(), &new);
            let replaces = prints(&old).next();
            self.pieces.iter_mut().skip(first).for_each(|piece| piece.replaces = replaces);
        }
    }

    fn add(&mut self, origin: Origin, call: Option<usize>, file: Option<&str>, text: &str) {
        let most_lines = if origin == Origin::Edit { MOST_EDIT_LINES } else { MOST_LINES };
        let number = self.pieces.last().map_or(0, |piece| piece.text + 1);
        let (mut lines, mut bytes, mut place) = (Vec::new(), 0, 0);
        let mut end = |lines: &mut Vec<Line>, bytes: &mut usize| {
            let lines = std::mem::take(lines);
            let bytes = std::mem::take(bytes);
            if lines.iter().all(|line: &Line| line.text.trim().is_empty()) {
                return;
            }
            let text: Vec<&str> = lines.iter().map(|line| &*line.text).collect();
            let text = text.join("\n");
            let mut names: Vec<u64> = identifiers(&text).map(print).collect();
            names.sort_unstable();
            names.dedup();
            let marks = MARK.find_iter(&text).take(MOST_MARKS).count();
            let file = file.map(str::to_owned);
            let (text, replaces) = (number, None);
            self.pieces.push(Piece { origin, call, file, text, place, lines, replaces, bytes, names, marks });
            place += 1;
        };
        let all: Vec<Line> = text.lines().map(Line::of).collect();
        let numbered = all.iter().filter(|line| line.number.is_some()).count();
        let others = all.iter().filter(|line| line.number.is_none() && !line.text.is_empty()).count();
        // Where a tool numbers the lines of a file, the others are its own words.
        let is_listing = origin == Origin::Result && (numbered > others || is_one_listing(text, &all));
        for line in all.into_iter().filter(|line| !is_listing || line.number.is_some()) {
            if lines.len() >= most_lines || (bytes + line.text.len() > MOST_BYTES && !lines.is_empty()) {
                end(&mut lines, &mut bytes);
            }
            bytes += line.text.len() + 1;
            lines.push(line);
        }
        end(&mut lines, &mut bytes);
    }
}

/// `true` if a text has several lines numbered one after the other, all together. A bar behind the number is also how
/// compilers quote lines between words that matter.
fn is_one_listing(text: &str, all: &[Line]) -> bool {
    let first = all.iter().position(|line| line.number.is_some());
    let last = all.iter().rposition(|line| line.number.is_some());
    let run = first.zip(last).and_then(|(first, last)| all.get(first..=last)).unwrap_or_default();
    let next = |pair: &[Line]| match pair {
        [one, next] => one.number.is_some_and(|number| next.number == number.checked_add(1)),
        _ => false,
    };
    run.len() > 1 && run.windows(2).all(next) && !text.contains(" | ")
}

impl Line {
    fn of(line: &str) -> Self {
        let (number, text) = unnumbered(line);
        Self::new(text, number)
    }

    /// A line with its number in the file.
    pub(super) fn new(text: &str, number: Option<u32>) -> Self {
        let text = head(text.trim_end(), MOST_LINE);
        Self { print: line_print(text), text: text.into(), number }
    }
}

/// Splits off the number that a tool put before a line: digits, then an arrow, a tab or a bar between blanks.
fn unnumbered(line: &str) -> (Option<u32>, &str) {
    let rest = line.trim_start();
    let text = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = rest.strip_suffix(text).unwrap_or_default();
    let behind = ["→", "\t", " | "].iter().find_map(|mark| text.strip_prefix(mark));
    match (digits.parse(), behind) {
        (Ok(number), Some(text)) => (Some(number), text),
        _ => (None, line),
    }
}

/// The fingerprint of a name.
pub(super) fn print(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// The fingerprint of a line without regard to white space; `None` for one that is too short to tell apart.
fn line_print(line: &str) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    let mut bytes = 0;
    for word in line.split_whitespace() {
        bytes += word.len() + usize::from(bytes > 0);
        word.hash(&mut hasher);
    }
    (bytes >= LEAST_LINE).then(|| hasher.finish())
}

/// The fingerprints of a text's lines that can be told apart.
pub(super) fn prints(text: &str) -> impl Iterator<Item = u64> {
    text.lines().filter_map(|line| line_print(head(unnumbered(line).1.trim_end(), MOST_LINE)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<Vec<String>> {
        let mut pieces = Pieces::default();
        pieces.add(Origin::Result, None, None, text);
        let of = |piece: Piece| piece.lines.into_iter().map(|line| line.text.to_string()).collect();
        pieces.pieces.into_iter().map(of).collect()
    }

    #[test]
    fn pieces_end_at_lines_and_leave_nothing_out() {
        let text: String = (0..30).map(|n| format!("line {n}\n")).collect();
        let pieces = lines(&text);
        assert_eq!(pieces.iter().map(Vec::len).collect::<Vec<_>>(), [12, 12, 6]);
        assert_eq!(pieces.concat().join("\n") + "\n", text);
        let long = format!("{}\n{}\n", "a".repeat(300), "b".repeat(700));
        assert_eq!(lines(&long), [vec!["a".repeat(300), "b".repeat(400)]]);
    }

    #[test]
    fn words_of_a_tool_around_numbered_lines_are_left_out() {
        let text =
            "The file a.rs has been updated:\n     1→fn main() {\n     2→    run();\n     3→}\n\nTake care.";
        assert_eq!(lines(text), [["fn main() {", "    run();", "}"]]);
        assert_eq!(lines("Here it is:\nThe file\nof two lines\n1\ta\n2\tb\n"), [["a", "b"]]);
        assert_eq!(lines("one\n2\ttwo\nthree"), [["one", "two", "three"]]);
        let quoted = "warning: unused\n --> src/a.rs:10:5\n10 | let a;\n11 | let b;\n = help: remove it";
        assert_eq!(lines(quoted)[0][0], "warning: unused", "a compiler's words stay");
        assert_eq!(lines("Changed:\n10\t5\ta.rs\n3\t1\tb.rs\nin all\n2 files")[0][0], "Changed:");
    }

    #[test]
    fn numbers_before_lines_are_told_apart_from_text() {
        for (line, wanted) in [
            ("   12→let a;", (Some(12), "let a;")),
            ("7\tb", (Some(7), "b")),
            ("3 | c", (Some(3), "c")),
            ("42 is a number", (None, "42 is a number")),
            ("", (None, "")),
        ] {
            assert_eq!(unnumbered(line), wanted, "{line}");
        }
        assert_eq!(line_print("  let  a = b;"), line_print("let a = b;"));
        assert_eq!(line_print("}"), None);
    }

    #[test]
    fn edit_takes_away_the_lines_that_it_does_not_repeat() {
        let arguments =
            r#"{"path":"a","old_string":"first line\nsecond line","new_string":"first line\nthird line"}"#;
        let call = ToolCall::new("c", "edit", arguments);
        let cut = cut(&Body::assistant("", vec![call]));
        let gone: Vec<u64> = prints("second line").collect();
        assert_eq!(
            cut.replaced,
            [Replaced { call: 0, file: Some("a".into()), lines: gone, is_whole: false, within: None }]
        );
        assert_eq!(cut.pieces.iter().map(|piece| piece.origin).collect::<Vec<_>>(), [Origin::Edit]);
    }
}
