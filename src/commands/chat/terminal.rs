//! The two ends of a terminal: lines that are typed, words that are shown. The answer goes to standard output, all else
//! to standard error, so that `threadhold chat < questions > answers` keeps the answers alone. No protocol.

use std::io::{self, BufRead, IsTerminal, Read, Write};
use tokio::sync::mpsc;

/// What is typed, line by line.
#[derive(Debug)]
pub(super) struct Lines {
    lines: mpsc::Receiver<String>,
    /// Whether a person types them: what was typed before a question is no answer to it.
    is_terminal: bool,
}

/// Lines that are read ahead.
const AHEAD: usize = 64;
/// The most that a line may have, in bytes; what is over it is the next one.
const MOST_LINE: u64 = 1 << 20;

impl Lines {
    /// Reads standard input on a thread of its own: a read of a terminal waits as long as a person does.
    pub fn open() -> Self {
        let (sender, lines) = mpsc::channel(AHEAD);
        std::thread::spawn(move || {
            let mut input = io::stdin().lock();
            let mut line = Vec::new();
            // A terminal that breaks is one that was closed.
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

    /// Forgets what a person typed so far. A program's lines stand: it wrote the answers with the questions.
    pub fn forget(&mut self) {
        while self.is_terminal && self.lines.try_recv().is_ok() {}
    }

    /// The next one; nothing at the end.
    pub async fn next(&mut self) -> Option<String> {
        self.lines.recv().await
    }
}

/// Where things are shown.
#[derive(Debug)]
pub(super) struct Screen {
    /// Whether standard output is looked at by a person, and not kept by a program.
    is_terminal: bool,
    /// Whether the answer stands in the middle of a line.
    is_within_line: bool,
    is_gone: bool,
}

impl Screen {
    pub fn open() -> Self {
        Self { is_terminal: io::stdout().is_terminal(), is_within_line: false, is_gone: false }
    }

    /// Whether nobody reads the answers any more.
    pub const fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// A piece of the answer, at once.
    pub fn say(&mut self, text: &str) {
        let Some(last) = text.chars().next_back() else { return };
        self.is_within_line = last != '\n';
        let text = if self.is_terminal { harmless(text) } else { text.to_owned() };
        let mut output = io::stdout().lock();
        self.is_gone |= output.write_all(text.as_bytes()).and_then(|()| output.flush()).is_err();
    }

    /// The answer, or a part of it, is over.
    pub fn end_line(&mut self) {
        if self.is_within_line {
            self.say("\n");
        }
    }

    /// A line beside the answer.
    pub fn note(&mut self, text: &str) {
        self.end_line();
        // Where standard error is closed there is nobody to tell.
        drop(writeln!(io::stderr(), "{}", harmless(text)));
    }

    /// Asks for a line.
    pub fn prompt(&mut self, text: &str) {
        self.end_line();
        let mut output = io::stderr();
        drop(write!(output, "{}", harmless(text)).and_then(|()| output.flush()));
    }
}

/// Says so each time when Ctrl-C is pressed.
pub(super) fn interrupts() -> mpsc::UnboundedReceiver<()> {
    let (sender, interrupts) = mpsc::unbounded_channel();
    tokio::spawn(async move { while tokio::signal::ctrl_c().await.is_ok() && sender.send(()).is_ok() {} });
    interrupts
}

/// Text without what would steer a terminal: a model says what it likes, and so do the files that it read.
fn harmless(text: &str) -> String {
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_steer_a_terminal_is_left_out() {
        assert_eq!(harmless("a\u{1b}[2Jb\tc\r\n\u{9b}1mé\u{7}"), "a[2Jb\tc\n1mé");
    }
}
