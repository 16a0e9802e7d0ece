//! Output of a chat. In a terminal an answer is shown as Markdown, and below it what is not final: the block that is
//! still arriving, and what the chat is busy with. Otherwise the answer goes to standard output as it is and
//! everything else to standard error, so that `threadhold chat < questions > answers` keeps the answers alone.

use super::input::Printer;
use super::markdown::Markdown;
use super::paint::Paint;
use super::tty;
use super::wrap::{Painted, cut, printed, wrap};
use protocol::event::SessionEvent;
use std::io::{self, IsTerminal, Write};

/// Lines wider than this are hard to read, however wide the terminal is.
const WIDEST: usize = 100;

/// Form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// For a person at a terminal: input, output and errors are one.
    Rich,
    /// Text, for pipes and for terminals that cannot do more.
    Plain,
    /// Events as lines of JSON, for programs.
    Json,
}

impl Form {
    /// The form for these streams.
    pub fn fitting(is_json: bool) -> Self {
        let is_terminal =
            io::stdin().is_terminal() && io::stdout().is_terminal() && io::stderr().is_terminal();
        let can_move = std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        match (is_json, is_terminal && can_move) {
            (true, _) => Self::Json,
            (false, true) => Self::Rich,
            (false, false) => Self::Plain,
        }
    }
}

/// Output of the chat.
#[derive(Debug)]
pub(super) struct Screen {
    form: Form,
    /// `true` if output has colours.
    has_colours: bool,
    /// The answer that is shown, in a terminal.
    answer: Option<Markdown>,
    /// Lines below the output that the next output replaces.
    live_rows: usize,
    /// The work that the chat is busy with.
    busy: Option<String>,
    /// Prints above the line that the user edits.
    above: Option<Printer>,
    /// `true` if a plain answer stopped in the middle of a line.
    is_within_line: bool,
    is_gone: bool,
}

impl Screen {
    pub fn new(form: Form) -> Self {
        Self {
            form,
            has_colours: std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty()),
            answer: None,
            live_rows: 0,
            busy: None,
            above: None,
            is_within_line: false,
            is_gone: false,
        }
    }

    pub const fn form(&self) -> Form {
        self.form
    }

    /// `true` once standard output is closed.
    pub const fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// From now on output goes above the line that the user edits; `None`: no line is edited.
    pub fn edits(&mut self, above: Option<Printer>) {
        self.clear_live();
        self.above = above;
    }

    /// Columns of text. A terminal may break a line that takes its whole width.
    fn columns(&self) -> usize {
        tty::size().columns.saturating_sub(1).clamp(1, WIDEST)
    }

    /// Shows a piece of the answer.
    pub fn say(&mut self, text: &str) {
        match self.form {
            Form::Rich => {
                let columns = self.columns();
                let answer = self.answer.get_or_insert_with(|| Markdown::new(columns));
                let lines = answer.push(&harmless(text));
                self.print(lines);
            }
            Form::Plain => {
                let Some(last) = text.chars().next_back() else { return };
                self.is_within_line = last != '\n';
                let text = if io::stdout().is_terminal() { harmless(text) } else { text.to_owned() };
                self.write(&text);
            }
            // Events have it.
            Form::Json => {}
        }
    }

    /// Ends the answer, or its current line if that is all there is.
    pub fn end_answer(&mut self) {
        if let Some(mut answer) = self.answer.take() {
            let lines = answer.finish();
            self.print(lines);
        }
        if std::mem::take(&mut self.is_within_line) {
            self.write("\n");
        }
    }

    /// Shows a text about the chat.
    pub fn note(&mut self, text: &str) {
        let painted = harmless(text).lines().map(|line| vec![(Paint::Dim, line.to_owned())]).collect();
        self.show(painted);
    }

    /// Shows lines about the chat, which are free of control characters.
    pub fn show(&mut self, lines: Vec<Painted>) {
        self.show_lines(&lines, false);
    }

    /// Shows lines byte for byte: also where they are broken, nothing of them is left out.
    pub fn show_exactly(&mut self, lines: Vec<Painted>) {
        self.show_lines(&lines, true);
    }

    fn show_lines(&mut self, lines: &[Painted], is_exact: bool) {
        self.end_answer();
        match self.form {
            Form::Rich => {
                let columns = tty::size().columns;
                let broken = |line: &Painted| if is_exact { cut(line, columns) } else { wrap(line, columns) };
                self.print(lines.iter().flat_map(broken).collect());
            }
            Form::Plain | Form::Json => {
                let mut output = io::stderr().lock();
                for line in lines {
                    let text = printed(line, false);
                    // Nothing can be reported if standard error is closed.
                    drop(writeln!(output, "{text}"));
                }
            }
        }
    }

    /// Shows the end of an earlier message: of the user's, or of an answer.
    pub fn recall(&mut self, text: &str, most_lines: usize, is_users: bool) {
        if self.form != Form::Rich {
            return;
        }
        let columns = self.columns();
        let lines = if is_users {
            wrap(&[(Paint::Bold, format!("> {}", harmless(text)))], columns)
        } else {
            let mut answer = Markdown::new(columns);
            let mut lines = answer.push(&harmless(text));
            lines.extend(answer.finish());
            lines
        };
        let left_out = lines.len().saturating_sub(most_lines);
        if left_out > 0 {
            self.note(&format!("({left_out} lines before this)"));
        }
        self.print(lines.into_iter().skip(left_out).collect());
    }

    /// Parts what was shown from the next message, at a terminal.
    pub fn part(&mut self) {
        self.end_answer();
        if self.form == Form::Rich && self.above.is_none() {
            self.print(vec![Painted::new()]);
        }
    }

    /// Prompts for a line, where no editor of lines does.
    pub fn prompt(&mut self, text: &str) {
        self.end_answer();
        let mut output = io::stderr();
        drop(write!(output, "{}", harmless(text)).and_then(|()| output.flush()));
    }

    /// Writes an event as a line of JSON, for programs.
    pub fn event(&mut self, event: &SessionEvent) {
        if self.form == Form::Json {
            // An event is data, so it can be written.
            let line = serde_json::to_string(event).unwrap_or_default();
            self.write(&format!("{line}\n"));
        }
    }

    /// Shows what the chat is busy with below the output; `None`: with nothing.
    pub fn busy(&mut self, with: Option<String>) {
        if self.form == Form::Rich && self.busy != with {
            self.busy = with;
            self.print(Vec::new());
        }
    }

    /// Prints lines, and what is not final below them.
    fn print(&mut self, lines: Vec<Painted>) {
        let printed = |line: &Painted| printed(line, self.has_colours);
        let lines: String = lines.iter().map(|line| printed(line) + "\n").collect();
        if let Some(above) = &self.above {
            if !lines.is_empty() {
                above.print(lines);
            }
            return;
        }
        let live: Vec<String> = self.live().iter().map(printed).collect();
        let text = [erased(self.live_rows), lines, live.join("\n")].concat();
        self.live_rows = live.len();
        self.write(&text);
    }

    fn clear_live(&mut self) {
        if self.live_rows > 0 {
            let text = erased(std::mem::take(&mut self.live_rows));
            self.write(&text);
        }
    }

    /// The output that is not final: the end of it that fits on the screen.
    fn live(&self) -> Vec<Painted> {
        let (size, columns) = (tty::size(), self.columns());
        let mut lines = Vec::new();
        let pending = self.answer.as_ref().map(Markdown::pending).unwrap_or_default().trim_end();
        if !pending.is_empty() {
            let rows = size.rows.saturating_sub(4).max(1);
            // A character takes four bytes at most: no more than this can be seen.
            let from = pending.ceil_char_boundary(pending.len().saturating_sub(rows * columns * 4));
            let text = [(Paint::Plain, pending.get(from..).unwrap_or_default().replace('\t', "    "))];
            lines = wrap(&text, columns);
            lines.drain(..lines.len().saturating_sub(rows));
        }
        if let Some(busy) = &self.busy {
            lines.extend(wrap(&[(Paint::Dim, busy.clone())], columns).into_iter().next());
        }
        lines
    }

    fn write(&mut self, text: &str) {
        let mut output = io::stdout().lock();
        self.is_gone |= output.write_all(text.as_bytes()).and_then(|()| output.flush()).is_err();
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.clear_live();
    }
}

/// The sequence that removes this many rows, the last of which the cursor is in.
fn erased(rows: usize) -> String {
    match rows {
        0 => String::new(),
        1 => "\r\u{1b}[J".to_owned(),
        rows => format!("\r\u{1b}[{}A\u{1b}[J", rows - 1),
    }
}

/// Removes characters that control a terminal: models and files can contain any.
pub(super) fn harmless(text: &str) -> String {
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_removed_from_output() {
        assert_eq!(harmless("a\u{1b}[2Jb\tc\r\n\u{9b}1mé\u{7}"), "a[2Jb\tc\n1mé");
    }
}
