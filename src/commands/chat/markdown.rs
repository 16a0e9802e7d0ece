//! Markdown of an answer, block by block as it arrives. A block is shown once it is complete, because its later lines can
//! change how its earlier ones look; code is shown line by line.

mod block;

use super::highlight::Highlighter;
use super::paint::Paint;
use super::wrap::Painted;

/// An answer of which the beginning is shown.
#[derive(Debug)]
pub(super) struct Markdown {
    /// Columns of the terminal.
    columns: usize,
    /// Text that is not shown yet.
    pending: String,
    /// The block of code that the text is in.
    code: Option<Code>,
    /// `true` if a blank line stands before the next block.
    has_gap: bool,
}

#[derive(Debug)]
struct Code {
    fence: Fence,
    highlighter: Highlighter,
}

/// The line that begins a block of code.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Fence {
    mark: char,
    length: usize,
    indent: usize,
    language: String,
}

impl Fence {
    fn read(line: &str) -> Option<Self> {
        let text = line.trim_start_matches(' ');
        let indent = line.len() - text.len();
        let mark = text.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let rest = text.trim_start_matches(mark);
        let (length, language) = (text.len() - rest.len(), rest.trim());
        let is_fence = indent < 4 && length >= 3 && !(mark == '`' && language.contains('`'));
        is_fence.then(|| Self { mark, length, indent, language: language.to_owned() })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        Self::read(line)
            .is_some_and(|end| end.mark == self.mark && end.length >= self.length && end.language.is_empty())
    }
}

/// Columns by which code is indented, so that it can be told from text without colours.
const CODE_INDENT: &str = "  ";

impl Markdown {
    pub fn new(columns: usize) -> Self {
        Self { columns, pending: String::new(), code: None, has_gap: false }
    }

    /// Adds text, which must be free of control characters. Returns the lines that are complete now.
    pub fn push(&mut self, text: &str) -> Vec<Painted> {
        self.pending.push_str(text);
        let mut lines = Vec::new();
        while self.take(&mut lines) {}
        lines
    }

    /// The text after the lines that were returned.
    pub fn pending(&self) -> &str {
        &self.pending
    }

    /// The rest of the lines. The next text begins a new answer.
    pub fn finish(&mut self) -> Vec<Painted> {
        let mut lines = Vec::new();
        if !self.pending.is_empty() && !self.pending.ends_with('\n') {
            lines.extend(self.push("\n"));
        }
        let rest = std::mem::take(&mut self.pending);
        self.block(&rest, &mut lines);
        (self.code, self.has_gap) = (None, false);
        lines
    }

    /// Shows one line of code or one block; `false` if none is complete.
    fn take(&mut self, lines: &mut Vec<Painted>) -> bool {
        if self.code.is_some() {
            let Some(line) = self.take_line() else { return false };
            self.code_line(&line, lines);
            return true;
        }
        match end_of_block(&self.pending) {
            None => false,
            Some(0) => {
                let line = self.take_line().unwrap_or_default();
                match Fence::read(&line) {
                    Some(fence) => {
                        self.gap(lines);
                        let highlighter = Highlighter::new(&fence.language);
                        self.code = Some(Code { fence, highlighter });
                    }
                    // A blank line.
                    None => self.has_gap |= !lines.is_empty(),
                }
                true
            }
            Some(end) => {
                let rest = self.pending.split_off(end);
                let block = std::mem::replace(&mut self.pending, rest);
                self.block(&block, lines);
                true
            }
        }
    }

    fn take_line(&mut self) -> Option<String> {
        let end = self.pending.find('\n')?;
        let rest = self.pending.split_off(end + 1);
        let mut line = std::mem::replace(&mut self.pending, rest);
        line.truncate(end);
        Some(line)
    }

    fn code_line(&mut self, line: &str, lines: &mut Vec<Painted>) {
        let Some(Code { fence, highlighter }) = &mut self.code else { return };
        if fence.is_closed_by(line) {
            self.code = None;
            self.has_gap = true;
            return;
        }
        let indent = line.len() - line.trim_start_matches(' ').len();
        let code = line.get(indent.min(fence.indent)..).unwrap_or(line);
        let mut shown = highlighter.line(code);
        if !shown.is_empty() {
            shown.insert(0, (Paint::Plain, CODE_INDENT.to_owned()));
        }
        lines.push(shown);
    }

    fn block(&mut self, text: &str, lines: &mut Vec<Painted>) {
        let shown = block::lines(text, self.columns);
        if !shown.is_empty() {
            self.gap(lines);
            lines.extend(shown);
            self.has_gap = true;
        }
    }

    fn gap(&mut self, lines: &mut Vec<Painted>) {
        if std::mem::take(&mut self.has_gap) {
            lines.push(Painted::new());
        }
    }
}

/// The end of the first block, in bytes: 0 if the text begins with a complete line that is blank or begins code. `None` if
/// the next line decides.
fn end_of_block(text: &str) -> Option<usize> {
    let (mut at, mut after_blank, mut inner) = (0, false, None::<Fence>);
    for line in text.split_inclusive('\n') {
        let is_complete = line.ends_with('\n');
        let content = line.trim_end_matches('\n');
        if let Some(fence) = &inner {
            if is_complete && fence.is_closed_by(content) {
                inner = None;
            }
        } else if content.trim().is_empty() {
            if at == 0 && is_complete {
                return Some(0);
            }
            after_blank |= is_complete;
        } else if after_blank && !content.starts_with([' ', '\t']) {
            return Some(at);
        } else if is_complete && let Some(fence) = Fence::read(content) {
            if at == 0 || fence.indent == 0 {
                return Some(at);
            }
            // Code in an item of a list.
            inner = Some(fence);
        }
        at += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines without their looks, for a text that arrives in pieces of this many characters.
    fn shown(text: &str, piece: usize) -> Vec<String> {
        let mut markdown = Markdown::new(40);
        let chars: Vec<char> = text.chars().collect();
        let mut lines: Vec<Painted> =
            chars.chunks(piece).flat_map(|piece| markdown.push(&piece.iter().collect::<String>())).collect();
        lines.extend(markdown.finish());
        plain(&lines)
    }

    fn plain(lines: &[Painted]) -> Vec<String> {
        lines.iter().map(|line| line.iter().map(|(_, text)| text.as_str()).collect()).collect()
    }

    const ANSWER: &str = "# Plan

First *this*, then `that`, and a sentence that is too long for one line.
- one
- two

  still two
1. sub

```rust
fn a() {

}
```
| a | bb |
|---|---:|
| x | 1 |

> quoted
---
[here](https://example.com/x) and **bold
text**
- item
  ```sh
  ls

  cd
  ```
end";

    #[test]
    fn answer_looks_the_same_however_it_arrives() {
        let expected = [
            "Plan",
            "",
            "First this, then that, and a sentence",
            "that is too long for one line.",
            "• one",
            "• two",
            "",
            "  still two",
            "",
            "1. sub",
            "",
            "  fn a() {",
            "",
            "  }",
            "",
            "a │ bb",
            "──┼───",
            "x │  1",
            "",
            "│ quoted",
            "",
            "────────────────────────────────────────",
            "",
            "here (https://example.com/x) and bold",
            "text",
            "• item",
            "    ls",
            "",
            "    cd",
            "",
            "end",
        ];
        let whole = shown(ANSWER, ANSWER.len());
        assert_eq!(whole, expected);
        for piece in [1, 2, 3, 7, 50] {
            assert_eq!(shown(ANSWER, piece), whole, "{piece}");
        }
    }

    #[test]
    fn code_is_shown_line_by_line_and_text_by_block() {
        let mut markdown = Markdown::new(40);
        assert!(markdown.push("So:\n").is_empty());
        assert_eq!(markdown.pending(), "So:\n");
        assert_eq!(plain(&markdown.push("```\na\n")), ["So:", "", "  a"]);
        assert!(markdown.push("b").is_empty());
        assert_eq!(markdown.pending(), "b");
        assert_eq!(plain(&markdown.push("\n```\n")), ["  b"]);
        assert!(markdown.finish().is_empty());
        // What an answer leaves open does not reach into the next one.
        assert!(markdown.push("```\n").is_empty());
        assert!(markdown.finish().is_empty());
        assert!(markdown.push("c\n").is_empty());
        assert_eq!(plain(&markdown.finish()), ["c"]);
    }
}
