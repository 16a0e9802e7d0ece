//! Input of a chat: lines of a pipe, or lines that a person edits at a terminal. Either is read on a thread of its own,
//! because reads block.

use super::screen::Form;
use super::tty;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::Validator;
use rustyline::{
    Cmd, CompletionType, ConditionalEventHandler, Config, Context, Editor, Event, EventContext, EventHandler,
    ExternalPrinter as _, Helper, KeyCode, KeyEvent, Modifiers, Movement, RepeatCount,
};
use std::io::{self, BufRead, Read, Write};
use std::sync::mpsc as channel;
use tokio::sync::mpsc;

/// An input of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    /// A line of a pipe, or a decision.
    Line(String),
    /// A message that a person edited.
    Message(String),
    /// Ctrl-C while a line was edited.
    Interrupt,
    /// The end of input: Ctrl-D in an empty line.
    End,
}

/// A prompt for a line.
#[derive(Debug)]
struct Ask {
    prompt: String,
    /// `true` for a message, which the arrow keys bring back; `false` for a decision.
    is_message: bool,
}

/// Entries of the user.
#[derive(Debug)]
pub(super) struct Input {
    entries: mpsc::Receiver<Entry>,
    editor: Option<LineEditor>,
}

/// The editor of lines, which runs on a thread of its own.
#[derive(Debug)]
struct LineEditor {
    asks: channel::Sender<Ask>,
    /// Prints above a message that is edited.
    above: Printer,
    /// Prints above a decision that is edited.
    above_decision: Printer,
    /// Prints above the line that is edited; `None` if no line is. A message may still be when a decision is asked for.
    editing: Option<Printer>,
    /// The terminal is silent while no line is edited.
    silence: Option<tty::Silence>,
    /// The editor may be within a line when the chat ends.
    before: Option<tty::Modes>,
}

/// Prints above the line that is edited.
#[derive(Debug, Clone)]
pub(super) struct Printer(channel::Sender<String>);

impl Printer {
    /// Prints a text that ends with a line feed. Does not wait.
    pub fn print(&self, text: String) {
        // The editor ends with the chat.
        drop(self.0.send(text));
    }
}

/// Number of lines read ahead from a pipe.
const AHEAD: usize = 64;
/// Longest line of a pipe in bytes; the rest becomes the next line.
const MOST_LINE: u64 = 1 << 20;

impl Input {
    /// Reads standard input. The arrow keys bring back the entries in `history`, oldest first.
    pub fn open(form: Form, history: Vec<String>) -> Self {
        let (sender, entries) = mpsc::channel(AHEAD);
        if form == Form::Rich
            && let Some(editor) = LineEditor::open(sender.clone(), history)
        {
            return Self { entries, editor: Some(editor) };
        }
        std::thread::spawn(move || read_pipe(&sender));
        Self { entries, editor: None }
    }

    /// Lets the user edit a line, if none is edited yet: a message or a decision. Returns what prints above it; `None` if
    /// lines come from a pipe, which are read in any case.
    pub fn edit(&mut self, prompt: &str, is_message: bool) -> Option<Printer> {
        let editor = self.editor.as_mut()?;
        editor.silence = None;
        if editor.editing.is_none() {
            let above = if is_message { &editor.above } else { &editor.above_decision };
            editor.editing = Some(above.clone());
            if !is_message {
                tty::forget_keys();
            }
            drop(editor.asks.send(Ask { prompt: prompt.to_owned(), is_message }));
        }
        editor.editing.clone()
    }

    /// `true` while a person edits a line.
    pub fn is_editing(&self) -> bool {
        self.editor.as_ref().is_some_and(|editor| editor.editing.is_some())
    }

    /// The next entry. Cancel safe.
    pub async fn next(&mut self) -> Entry {
        let entry = self.entries.recv().await.unwrap_or(Entry::End);
        if let Some(editor) = &mut self.editor {
            editor.editing = None;
            editor.silence = tty::Silence::begin();
        }
        entry
    }
}

/// Sends the lines of a pipe.
fn read_pipe(sender: &mpsc::Sender<Entry>) {
    let mut input = io::stdin().lock();
    let mut line = Vec::new();
    // A read error is treated as the end of input.
    while input.by_ref().take(MOST_LINE).read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        let text = String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned();
        if sender.blocking_send(Entry::Line(text)).is_err() {
            return;
        }
        line.clear();
    }
}

impl LineEditor {
    /// `None` if the terminal cannot be used so.
    fn open(sender: mpsc::Sender<Entry>, history: Vec<String>) -> Option<Self> {
        let (mut message, above) = Reader::open(Some(Commands))?;
        for entry in history {
            message.editor.add_history_entry(entry).ok()?;
        }
        // Keys that were typed ahead of a question are not its answer, so it has a reader with no keys of its own.
        let (mut decision, above_decision) = Reader::open(None)?;
        let (asks, wanted) = channel::channel::<Ask>();
        std::thread::spawn(move || {
            for Ask { prompt, is_message } in wanted {
                let reader = if is_message { &mut message } else { &mut decision };
                if sender.blocking_send(reader.read(&prompt, is_message)).is_err() {
                    return;
                }
            }
        });
        let before = tty::Modes::now();
        let silence = tty::Silence::begin();
        Some(Self { asks, above, above_decision, editing: None, silence, before })
    }
}

impl Drop for LineEditor {
    fn drop(&mut self) {
        self.silence = None;
        if let Some(before) = self.before.take().filter(|_| self.editing.is_some()) {
            before.restore();
            // Pasted text is not marked any more. The terminal may be gone.
            let mut output = io::stdout();
            drop(output.write_all(b"\x1b[?2004l\n").and_then(|()| output.flush()));
        }
    }
}

/// Lets the user edit lines.
struct Reader {
    editor: Editor<Commands, MemHistory>,
}

impl Reader {
    fn open(helper: Option<Commands>) -> Option<(Self, Printer)> {
        let config = Config::builder().completion_type(CompletionType::List).build();
        let history = MemHistory::with_config(&config);
        let mut editor = Editor::with_history(config, history).ok()?;
        editor.set_helper(helper);
        editor.bind_sequence(KeyEvent(KeyCode::Enter, Modifiers::ALT), Cmd::Newline);
        editor.bind_sequence(KeyEvent::ctrl('c'), EventHandler::Conditional(Box::new(ClearsFirst)));
        let mut printer = editor.create_external_printer().ok()?;
        let (above, prints) = channel::channel::<String>();
        // The printer waits until the editor takes what it printed last; the chat must not.
        std::thread::spawn(move || prints.iter().for_each(|text| drop(printer.print(text))));
        Some((Self { editor }, Printer(above)))
    }

    fn read(&mut self, prompt: &str, is_remembered: bool) -> Entry {
        match self.editor.readline(prompt) {
            Ok(line) => {
                if is_remembered && !line.trim().is_empty() {
                    drop(self.editor.add_history_entry(&line));
                }
                if is_remembered { Entry::Message(line) } else { Entry::Line(line) }
            }
            Err(ReadlineError::Interrupted) => Entry::Interrupt,
            // A read error is treated as the end of input.
            Err(_) => Entry::End,
        }
    }
}

/// Ctrl-C clears a line that has text, and interrupts in an empty one.
struct ClearsFirst;

impl ConditionalEventHandler for ClearsFirst {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext<'_>) -> Option<Cmd> {
        let is_empty = context.line().is_empty();
        Some(if is_empty { Cmd::Interrupt } else { Cmd::Kill(Movement::WholeBuffer) })
    }
}

/// Completes the names of slash commands.
struct Commands;

impl Completer for Commands {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let begun = line.get(..at).unwrap_or_default();
        Ok((0, super::command::completions(begun)))
    }
}

impl Hinter for Commands {
    type Hint = String;
}
impl Validator for Commands {}
impl Highlighter for Commands {}
impl Helper for Commands {}

/// Receives a value for each Ctrl-C while no line is edited.
pub(super) fn interrupts() -> mpsc::UnboundedReceiver<()> {
    let (sender, interrupts) = mpsc::unbounded_channel();
    tokio::spawn(async move { while tokio::signal::ctrl_c().await.is_ok() && sender.send(()).is_ok() {} });
    interrupts
}
