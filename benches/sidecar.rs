//! Costs of the sidecar, beside those of the system for the same: start, round trip, memory, and a turn in
//! short and long sessions. Medians of one run, each with its goal. Nothing is asserted: times depend on the
//! machine. `cargo bench --bench sidecar`

#![allow(clippy::expect_used, clippy::panic, reason = "a measure gives up where its ground is missing")]

use engine::id::{SessionId, Time};
use engine::message::{AssistantPart, Beside, Body, Content, NewMessage, ToolCall, ToolResult};
use serde_json::{Value, json};
use session::input::{Command as Ask, Input, Render, ReplyTo};
use session::settings::Settings;
use session::stored::Stored;
use session::{Opening, Session, StepContext};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use store::Store;
use store::place::Options;
use store::sqlite::SqliteStore;
use threadhold::tokenizer::O200k;

/// Measurements of each value.
const TIMES: usize = 41;
/// Rounds of the long session.
const LONG: usize = 5000;
/// Rounds of the short session.
const SHORT: usize = 50;

/// A server or another program, connected by two pipes.
struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: i64,
}

impl Process {
    fn start(program: &str, arguments: &[&str]) -> Self {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let input = child.stdin.take().expect("it is piped");
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        Self { child, input, output, next: 1 }
    }

    fn sidecar(folder: &Folder) -> Self {
        let mut process = Self::start(env!("CARGO_BIN_EXE_threadhold"), &["serve"]);
        process.call("initialize", folder.hello());
        process.send(&json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} }).to_string());
        process
    }

    fn send(&mut self, body: &str) {
        let frame = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        self.input.write_all(frame.as_bytes()).expect("it reads");
    }

    /// Reads the next frame's body.
    fn receive(&mut self) -> Vec<u8> {
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.output.read_line(&mut line).expect("it writes");
            match line.trim_end().strip_prefix("Content-Length: ") {
                Some(number) => length = number.parse().expect("a number"),
                None => break,
            }
        }
        let mut body = vec![0; length];
        self.output.read_exact(&mut body).expect("a body");
        body
    }

    /// Sends a request and waits for its response. Returns the response's bytes. Only its kind is read:
    /// parsing it is the client's cost.
    fn ask(&mut self, method: &str, params: &Value) -> usize {
        let request = json!({ "jsonrpc": "2.0", "id": 0, "method": method, "params": params });
        self.send(&request.to_string());
        loop {
            let body = self.receive();
            let head = String::from_utf8_lossy(body.get(..40).unwrap_or(&body)).into_owned();
            assert!(!head.contains("\"error\""), "{method}: {}", String::from_utf8_lossy(&body));
            if !head.contains("\"method\"") {
                return body.len();
            }
        }
    }

    /// Sends a request and returns its result; events on the way are dropped.
    fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.next;
        self.next += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string());
        loop {
            let mut frame: Value = serde_json::from_slice(&self.receive()).expect("JSON");
            if frame.get("method").is_none() && frame["id"] == id {
                assert!(frame.get("error").is_none(), "{method}: {frame}");
                return frame["result"].take();
            }
        }
    }

    /// Resident memory in mebibytes; `None` if the system does not report it.
    fn memory(&self) -> Option<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.trim().trim_end_matches(" kB").parse::<f64>().ok().map(|kib| kib / 1024.0)
    }

    /// Closes the input and waits for the process to end.
    fn end(self) {
        let Self { mut child, input, mut output, .. } = self;
        drop(input);
        let _ = std::io::copy(&mut output, &mut std::io::sink());
        let _ = child.wait();
    }
}

/// A storage folder, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder =
            PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("bench-{name}-{}", std::process::id()));
        drop(std::fs::remove_dir_all(&folder));
        Self(folder)
    }

    fn hello(&self) -> Value {
        json!({
            "processId": null, "capabilities": {},
            "initializationOptions": { "threadhold": {
                "protocolVersion": 1, "storage": { "path": self.0 },
                "settings": { "model": { "window": WINDOW } },
            } },
        })
    }

    /// Bytes on disk, the log included.
    fn bytes(&self) -> u64 {
        let entries = std::fs::read_dir(&self.0).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.metadata().ok()).filter(|m| m.is_file()).map(|m| m.len()).sum()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// Medians of two values measured in turns, so that other load on the machine affects both.
fn medians(
    times: usize,
    mut one: impl FnMut() -> Duration,
    mut other: impl FnMut() -> Duration,
) -> (Duration, Duration) {
    let (mut all, mut beside): (Vec<Duration>, Vec<Duration>) = (0..times).map(|_| (one(), other())).unzip();
    all.sort();
    beside.sort();
    (all[times / 2], beside[times / 2])
}

/// The median of `times` measurements.
fn median(times: usize, mut measure: impl FnMut() -> Duration) -> Duration {
    let mut all: Vec<Duration> = (0..times).map(|_| measure()).collect();
    all.sort();
    all[times / 2]
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// A round as an editor appends it: a call, and a result of 600 bytes.
fn round(n: usize) -> Value {
    json!({
        "id": format!("round-{n}"),
        "assistant": { "parts": [
            { "type": "text", "text": format!("Step {n}: let me look at src/part{}.rs.", n % 97) },
            { "type": "toolCall", "id": format!("c{n}"), "name": "read",
              "arguments": json!({ "path": format!("src/part{}.rs", n % 97) }).to_string() },
        ] },
        "results": [{ "toolCallId": format!("c{n}"), "content": format!("fn step_{n}() {{}}\n").repeat(30) }],
    })
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn row(what: &str, is: &str, beside: &str, ratio: &str, goal: &str) {
    say(&format!("| {what} | {is} | {beside} | {ratio} | {goal} |"));
}

fn start() {
    let folder = Folder::new("start");
    let hello = folder.hello();
    let sidecar = || {
        let mut started = None;
        let time = timed(|| {
            let mut process = Process::start(env!("CARGO_BIN_EXE_threadhold"), &["serve"]);
            process.call("initialize", hello.clone());
            started = Some(process);
        });
        started.into_iter().for_each(Process::end);
        time
    };
    let truth = || {
        timed(|| {
            let status = Command::new("/bin/true").status().expect("there is a true command");
            assert!(status.success());
        })
    };
    let (sidecar, truth) = medians(TIMES, sidecar, truth);
    row(
        "start to the answer to `initialize`",
        &format!("{:.2} ms", ms(sidecar)),
        &format!("/bin/true {:.2} ms", ms(truth)),
        &format!("{:.2} ×", sidecar.as_secs_f64() / truth.as_secs_f64()),
        "≤ 3 ×",
    );
}

/// Measures two methods. `session/subscribe` to an open session from its newest event on passes the
/// transport, the router and the session, and returns an empty list. An unknown method, in a body of about 64
/// bytes, passes the transport only.
fn round_trip() {
    let folder = Folder::new("trip");
    let mut process = Process::sidecar(&folder);
    let opened = process
        .call("session/open", json!({ "workspaceFolder": "/w", "sessionId": "s", "driver": "editor" }));
    let known = json!({ "sessionId": "s", "stream": opened["snapshot"]["stream"], "sinceSeq": opened["snapshot"]["seq"] });
    let body =
        json!({ "jsonrpc": "2.0", "id": 7, "method": "session/subscribe", "params": known }).to_string();
    let none = r#"{"jsonrpc":"2.0","id":7,"method":"no/suchMethod1","params":[]}"#.to_owned();
    let mut cat = Process::start("cat", &[]);
    let trip = |process: &mut Process, body: &str| {
        timed(|| {
            process.send(body);
            process.receive();
        })
    };
    let times = TIMES * 50;
    for (name, body) in [("known", &body), ("unknown", &none)] {
        for _ in 0..500 {
            trip(&mut cat, body);
            trip(&mut process, body);
        }
        let (sidecar, bare) = medians(times, || trip(&mut process, body), || trip(&mut cat, body));
        row(
            &format!("round trip, {} method ({} bytes)", name, body.len()),
            &format!("{:.1} µs", sidecar.as_secs_f64() * 1e6),
            &format!("`cat` {:.1} µs", bare.as_secs_f64() * 1e6),
            &format!("{:.2} ×", sidecar.as_secs_f64() / bare.as_secs_f64()),
            "≤ 3 ×",
        );
    }
    cat.end();
    process.end();
}

fn memory() {
    let folder = Folder::new("memory");
    let mut process = Process::sidecar(&folder);
    let show = |memory: Option<f64>| memory.map_or("not told here".to_owned(), |mib| format!("{mib:.1} MiB"));
    row("memory after `initialize`", &show(process.memory()), "", "", "≤ 10 MB");
    process.call("session/list", json!({}));
    row("memory with an open store", &show(process.memory()), "", "", "");
    process.call("session/open", json!({ "workspaceFolder": "/w", "sessionId": "s", "driver": "editor" }));
    process.call("turn/start", json!({ "sessionId": "s", "content": "Count this." }));
    row("memory with the tokenizer", &show(process.memory()), "", "", "≤ 40 MB");
    process.end();
}

/// Costs of a session; times in milliseconds.
#[derive(Default)]
struct Costs {
    load: f64,
    begin: f64,
    render: f64,
    turn: f64,
    wire_open: f64,
    wire_render: f64,
    wire_turn: f64,
    wire_bytes: usize,
    disk_bytes: u64,
}

/// The model's window in tokens: the long session is compacted many times, and prompts of both have about the
/// same size.
const WINDOW: u32 = 32_000;

/// Creates a session of so many rounds, as an editor does, with a prompt after each fifth.
fn make(folder: &Folder, rounds: usize) {
    let mut process = Process::sidecar(folder);
    process.call("session/open", json!({ "workspaceFolder": "/w", "sessionId": "s", "driver": "editor" }));
    for n in 0..rounds {
        if n % 25 == 0 {
            process.call("turn/start", json!({ "sessionId": "s", "content": format!("Request {n}.") }));
        }
        process.call("round/append", json!({ "sessionId": "s", "round": round(n) }));
        if n % 5 == 0 {
            process.ask("prompt/render", &json!({ "sessionId": "s" }));
        }
    }
    process.end();
}

/// Measures over pipes, with everything that is written and read.
fn over_the_wire(folder: &Folder, rounds: usize, costs: &mut Costs) {
    let (mut open, mut render) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let mut process = Process::sidecar(folder);
        // Unpacking the tokenizer's vocabulary is no cost of this session.
        process.ask("prompt/render", &json!({ "input": { "content": "Hello." } }));
        let subscribe = json!({ "sessionId": "s" });
        open.push(timed(|| assert!(process.ask("session/subscribe", &subscribe) > 0)));
        let what = json!({ "sessionId": "s" });
        render.push(timed(|| costs.wire_bytes = process.ask("prompt/render", &what)));
        process.end();
    }
    open.sort();
    render.sort();
    (costs.wire_open, costs.wire_render) = (ms(open[2]), ms(render[2]));

    let mut process = Process::sidecar(folder);
    process.ask("prompt/render", &json!({ "sessionId": "s" }));
    let (mut n, before) = (rounds, folder.bytes());
    let turn = median(21, || {
        let new = json!({ "sessionId": "s", "round": round(n) });
        n += 1;
        timed(|| {
            process.ask("round/append", &new);
            process.ask("prompt/render", &json!({ "sessionId": "s" }));
        })
    });
    costs.wire_turn = ms(turn);
    // Measured before the process ends: then the log is folded into the file.
    costs.disk_bytes = folder.bytes().saturating_sub(before) / 21;
    process.end();
}

/// Measures in this process: store, session and prompt.
fn in_process(folder: &Folder, rounds: usize, costs: &mut Costs) {
    let id = SessionId::new("s");
    let mut settings = Settings::default();
    settings.model.window = WINDOW;
    let around = StepContext { now: Time(0), stamp: "", counter: &O200k };
    let (mut load, mut begin, mut render) = (Vec::new(), Vec::new(), Vec::new());
    let mut session = None;
    let ask = || Input::Command(ReplyTo(0), Ask::Render(Box::<Render>::default()));
    for _ in 0..5 {
        let mut store = SqliteStore::open(Options::in_folder(&folder.0)).expect("a store");
        let mut stored = None;
        load.push(timed(|| stored = store.load(&id).expect("it can be read")));
        let stored = stored.expect("it is there");
        let opening = |stored: Stored| Opening {
            head: stored.head.clone(),
            settings: settings.clone(),
            stored: Some(stored),
            stream: String::new(),
            scope: Default::default(),
            approvals: Vec::new(),
            memories: Vec::new(),
            agents: Vec::new(),
        };
        let mut opened = None;
        begin.push(timed(|| opened = Some(Session::new(opening(stored), &O200k))));
        let mut opened = opened.expect("it was made");
        render.push(timed(|| drop(opened.step(ask(), around))));
        session = Some(opened);
    }
    for times in [&mut load, &mut begin, &mut render] {
        times.sort();
    }
    (costs.load, costs.begin, costs.render) = (ms(load[2]), ms(begin[2]), ms(render[2]));
    let mut session = session.expect("it was made");
    let mut n = rounds + 100;
    let turn = median(21, || {
        n += 1;
        let call = ToolCall::new(&format!("c{n}"), "read", "{}");
        let said = Body::Assistant {
            parts: vec![AssistantPart::Text(format!("Step {n}.").into())],
            calls: vec![call],
            beside: Beside::default(),
        };
        let result = ToolResult {
            call: format!("c{n}"),
            content: vec![Content::Text(format!("fn step_{n}() {{}}\n").repeat(30).into())],
            ..ToolResult::default()
        };
        let round = vec![NewMessage::new(said), NewMessage::new(Body::Tool(result))];
        timed(|| {
            drop(session.step(Input::Command(ReplyTo(0), Ask::AppendRound(round)), around));
            drop(session.step(ask(), around));
        })
    });
    costs.turn = ms(turn);
}

fn session(rounds: usize) -> Costs {
    let folder = Folder::new(&rounds.to_string());
    make(&folder, rounds);
    let mut costs = Costs::default();
    in_process(&folder, rounds, &mut costs);
    over_the_wire(&folder, rounds, &mut costs);
    costs
}

fn sessions() {
    let (short, long) = (session(SHORT), session(LONG));
    let pair = |what: &str, long: f64, short: f64, unit: &str, goal: &str| {
        row(
            &format!("{LONG} rounds: {what}"),
            &format!("{long:.2} {unit}"),
            &format!("{SHORT} rounds: {short:.2} {unit}"),
            &format!("{:.2} ×", long / short.max(f64::MIN_POSITIVE)),
            goal,
        );
    };
    pair("load from the store", long.load, short.load, "ms", "");
    pair("the session from it", long.begin, short.begin, "ms", "");
    pair("its first prompt", long.render, short.render, "ms", "");
    let open = |costs: &Costs| costs.load + costs.begin + costs.render;
    pair("open to the first prompt", open(&long), open(&short), "ms", "≤ 10 ms");
    pair("append a round, make the prompt", long.turn, short.turn, "ms", "≤ 2 ×");
    pair("open and its whole snapshot, on the wire", long.wire_open, short.wire_open, "ms", "");
    pair("first prompt, on the wire", long.wire_render, short.wire_render, "ms", "");
    pair("append a round, prompt, on the wire", long.wire_turn, short.wire_turn, "ms", "≤ 2 ×");
    let kib = |bytes: f64| bytes / 1024.0;
    pair("the prompt's answer", kib(long.wire_bytes as f64), kib(short.wire_bytes as f64), "KiB", "");
    pair(
        "bytes on disk per round",
        kib(long.disk_bytes as f64),
        kib(short.disk_bytes as f64),
        "KiB",
        "flat, ≤ 64 KiB + 8 × new",
    );
}

fn main() {
    say("| what | threadhold | beside | ratio | goal |");
    say("|---|---|---|---|---|");
    start();
    round_trip();
    memory();
    sessions();
}
