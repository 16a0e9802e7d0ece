//! Sessions of a given number of rounds, made over the wire as an editor makes them. Each is made once and
//! copied for every measurement that changes it.

use crate::folder::Folder;
use crate::process::Process;
use crate::table::{self, Table};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The model's window in tokens: long sessions are compacted many times, and prompts of all are about as large.
pub const WINDOW: u32 = 32_000;
/// A window in tokens that no session fills.
const HUGE: u32 = 50_000_000;
/// Rounds of a turn.
const TURN: usize = 25;
/// Lines of a result of about 500 bytes, as sessions are made of.
pub const LINES: usize = 30;
/// Lines of a result that makes a round of 3.1 kB on the wire.
pub const MORE: usize = 155;

/// How a session came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Driven by the editor, with prompts on the way: compacted again and again.
    Compacted,
    /// Driven by the editor under a huge window, without prompts: never compacted.
    Raw,
    /// Driven by the sidecar: imported, since a loop would need a model.
    Driven,
}

impl Kind {
    /// The window in tokens under which it is made and opened.
    pub fn window(self) -> u32 {
        if self == Kind::Compacted { WINDOW } else { HUGE }
    }
}

/// The sessions made so far.
pub struct Sessions {
    sizes: Vec<usize>,
    made: BTreeMap<(Kind, usize), Folder>,
}

impl Sessions {
    /// None yet, for measurements at these numbers of rounds.
    pub fn new(sizes: Vec<usize>) -> Self {
        Self { sizes, made: BTreeMap::new() }
    }

    /// Measures at each number of rounds and prints the rows.
    pub fn measure(&mut self, mut rows: impl FnMut(&mut Self, &mut Table, usize)) {
        let mut table = Table::new(&self.sizes);
        for rounds in self.sizes.clone() {
            rows(self, &mut table, rounds);
        }
        table.print();
    }

    /// A copy of the session `s` of so many rounds.
    pub fn copy(&mut self, kind: Kind, rounds: usize) -> Folder {
        let made = self.made.entry((kind, rounds)).or_insert_with(|| {
            table::progress(&format!("making a session of {rounds} rounds ({kind:?})"));
            make(kind, rounds)
        });
        made.copy()
    }

    /// A sidecar with such a copy, which has made a prompt of it and read all of it.
    pub fn opened(&mut self, kind: Kind, rounds: usize) -> (Process, Folder) {
        let folder = self.copy(kind, rounds);
        let mut process = Process::sidecar(&folder.storage(), kind.window());
        process.warm_up();
        process.ask("prompt/render", &named());
        settle(&mut process);
        (process, folder)
    }
}

/// Measurements of something that takes a copy of its own each: few of the longest sessions, which are large.
pub fn copies(rounds: usize) -> usize {
    if rounds > 5_000 { 1 } else { 5 }
}

/// Parameters that name the session.
pub fn named() -> Value {
    json!({ "sessionId": "s" })
}

/// Parameters of `session/open`.
pub fn open(session: &str) -> Value {
    json!({ "workspaceFolder": "/w", "sessionId": session, "driver": "editor" })
}

/// Parameters of `session/open` for a view of the newest messages.
pub fn open_newest() -> Value {
    let mut params = open("s");
    params["snapshotMessages"] = json!(50);
    params
}

/// Subscribes to the session and waits until all of it is read. The first answers come before: they need only
/// its end. The ledger needs all.
pub fn settle(process: &mut Process) {
    process.ask("session/open", &open_newest());
    process.ask("context/ledger", &named());
}

/// A round as an editor appends it: a call, and a result of so many lines.
pub fn round(n: usize, lines: usize) -> Value {
    json!({
        "id": format!("round-{n}"),
        "assistant": { "parts": [
            { "type": "text", "text": said(n) },
            { "type": "toolCall", "id": format!("c{n}"), "name": "read", "arguments": arguments(n) },
        ] },
        "results": [{ "toolCallId": format!("c{n}"), "content": result(n, lines) }],
    })
}

/// Parameters of `round/append`.
pub fn append(session: &str, n: usize, lines: usize) -> Value {
    json!({ "sessionId": session, "round": round(n, lines) })
}

fn said(n: usize) -> String {
    format!("Step {n}: let me look at src/part{}.rs.", n % 97)
}

fn arguments(n: usize) -> String {
    json!({ "path": format!("src/part{}.rs", n % 97) }).to_string()
}

fn result(n: usize, lines: usize) -> String {
    format!("fn step_{n}() {{}}\n").repeat(lines)
}

/// Appends rounds to a session, in turns, with a prompt after each `every`-th.
pub fn fill(process: &mut Process, session: &str, rounds: usize, every: Option<usize>) {
    process.ask("session/open", &open(session));
    for n in 0..rounds {
        if n % TURN == 0 {
            if n > 0 {
                process.ask("turn/end", &json!({ "sessionId": session }));
            }
            let request = json!({ "sessionId": session, "content": format!("Request {n}.") });
            process.ask("turn/start", &request);
        }
        process.ask("round/append", &append(session, n, LINES));
        if every.is_some_and(|every| n % every == 0) {
            process.ask("prompt/render", &json!({ "sessionId": session }));
        }
    }
}

fn make(kind: Kind, rounds: usize) -> Folder {
    let folder = Folder::new();
    let mut process = Process::sidecar(&folder.storage(), kind.window());
    match kind {
        Kind::Compacted => {
            let every = if rounds > 5_000 { 20 } else { 5 };
            fill(&mut process, "s", rounds, Some(every));
        }
        Kind::Raw => fill(&mut process, "s", rounds, None),
        Kind::Driven => {
            let file = folder.path().join("recorded.jsonl");
            std::fs::create_dir_all(folder.path()).expect("a folder can be made");
            std::fs::write(&file, recorded(rounds)).expect("it can be written");
            let import = json!({ "workspaceFolder": "/w", "sessionId": "s", "path": file });
            process.ask("session/import", &import);
            drop(std::fs::remove_file(&file));
        }
    }
    process.end();
    folder
}

/// The same rounds in the native format, a line each message.
fn recorded(rounds: usize) -> String {
    let mut text = json!({ "type": "session", "format": "threadhold", "version": 1 }).to_string();
    let mut message = |role: &str, parts: Value| {
        text.push('\n');
        text.push_str(&json!({ "type": "message", "role": role, "parts": parts }).to_string());
    };
    for n in 0..rounds {
        if n % TURN == 0 {
            message("user", json!([{ "type": "text", "text": format!("Request {n}.") }]));
        }
        let call =
            json!({ "type": "toolCall", "id": format!("c{n}"), "name": "read", "arguments": arguments(n) });
        message("assistant", json!([{ "type": "text", "text": said(n) }, call]));
        let content = json!([{ "type": "text", "text": result(n, LINES) }]);
        let answer = json!({ "type": "toolResult", "toolCallId": format!("c{n}"), "content": content });
        message("tool", json!([answer]));
    }
    text
}
