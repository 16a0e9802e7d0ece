//! Input and output of a terminal. The answer goes to standard output, everything else to standard error, so
//! that `threadhold chat < questions > answers` keeps the answers alone.

use std::io::{self, BufRead, IsTerminal, Read, Write};
use tokio::sync::mpsc;

/// Lines of standard input.
#[derive(Debug)]
pub(super) struct Lines {
    lines: mpsc::Receiver<String>,
    /// `true` if a person types: a line typed before a question does not answer it.
    is_terminal: bool,
}

/// Number of lines read ahead.
const AHEAD: usize = 64;
/// Longest line in bytes; the rest becomes the next line.
const MOST_LINE: u64 = 1 << 20;

impl Lines {
    /// Reads standard input on a thread of its own, because reads of a terminal block.
    pub fn open() -> Self {
        let (sender, lines) = mpsc::channel(AHEAD);
        std::thread::spawn(move || {
            let mut input = io::stdin().lock();
            let mut line = Vec::new();
            // A read error is treated as the end of input.
            while input.by_ref().take(MOST_LINE).read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                let text = String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned();
                if sender.blocking_send(text).is_err() {
                    return;
                }
                line.clear();
            }
        });
        Self { lines, is_terminal: io::stdin().is_terminal() }
    }

    /// Drops what a person typed so far. A program's lines stay: it wrote the answers with the questions.
    pub fn forget(&mut self) {
        while self.is_terminal && self.lines.try_recv().is_ok() {}
    }

    /// The next line; `None` at the end of input.
    pub async fn next(&mut self) -> Option<String> {
        self.lines.recv().await
    }
}

/// Output of the chat.
#[derive(Debug)]
pub(super) struct Screen {
    /// `true` if standard output is a terminal.
    is_terminal: bool,
    /// `true` if the answer stopped in the middle of a line.
    is_within_line: bool,
    is_gone: bool,
}

impl Screen {
    pub fn open() -> Self {
        Self { is_terminal: io::stdout().is_terminal(), is_within_line: false, is_gone: false }
    }

    /// `true` once standard output is closed.
    pub const fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// Writes a piece of the answer and flushes it.
    pub fn say(&mut self, text: &str) {
        let Some(last) = text.chars().next_back() else { return };
        self.is_within_line = last != '\n';
        let text = if self.is_terminal { harmless(text) } else { text.to_owned() };
        let mut output = io::stdout().lock();
        self.is_gone |= output.write_all(text.as_bytes()).and_then(|()| output.flush()).is_err();
    }

    /// Ends the current line of the answer.
    pub fn end_line(&mut self) {
        if self.is_within_line {
            self.say("\n");
        }
    }

    /// Writes a line to standard error.
    pub fn note(&mut self, text: &str) {
        self.end_line();
        // Nothing can be reported if standard error is closed.
        drop(writeln!(io::stderr(), "{}", harmless(text)));
    }

    /// Prompts for a line.
    pub fn prompt(&mut self, text: &str) {
        self.end_line();
        let mut output = io::stderr();
        drop(write!(output, "{}", harmless(text)).and_then(|()| output.flush()));
    }
}

/// Receives a value for each Ctrl-C.
pub(super) fn interrupts() -> mpsc::UnboundedReceiver<()> {
    let (sender, interrupts) = mpsc::unbounded_channel();
    tokio::spawn(async move { while tokio::signal::ctrl_c().await.is_ok() && sender.send(()).is_ok() {} });
    interrupts
}

/// Removes characters that control a terminal: models and files can contain any.
fn harmless(text: &str) -> String {
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
