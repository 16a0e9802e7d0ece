//! Replays the recorded conversations of `fixtures/wire` against the built binary, or a server named by the
//! environment. `fixtures/wire/README.md` has their format and the permitted differences. The first line of a
//! conversation says what it shows; no method is known here.

use super::alike::{Closeness, Names, difference, shape};
use super::client::{Client, Start, Wire};
use super::conversation::{FOLDER, Line, conversations, lines};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Variable with another server's program and arguments.
const SERVER: &str = "THREADHOLD_WIRE_SERVER";
/// Variable with `exact` or `shape`. Default: exact for the built binary, shape for another program.
const COMPARE: &str = "THREADHOLD_WIRE_COMPARE";
/// Variable with a comma-separated list of conversations to play.
const ONLY: &str = "THREADHOLD_WIRE_ONLY";
/// The silence after which recording continues. Replays wait for no time.
const QUIET: Duration = Duration::from_millis(600);

/// A conversation being played.
struct Play<'a> {
    file: &'a str,
    /// The current line, from 1.
    at: usize,
    wire: Wire,
    closeness: Closeness,
    /// The client, and the number of its frames that were compared.
    client: Client,
    compared: usize,
    stores: Vec<PathBuf>,
    captured: BTreeMap<String, Value>,
    /// The server's frames, in order.
    said: Vec<Value>,
    /// Names in the recording and in the frames that arrive.
    recorded: Names,
    came: Names,
    /// Recorded ids of the server's requests, with the actual ones.
    asked: BTreeMap<String, Value>,
    /// The client's last method, which determines the exit code.
    last: Option<String>,
    was_shut_down: bool,
}

fn server(wire: Wire) -> Client {
    match std::env::var(SERVER) {
        Ok(command) => {
            let mut words = command.split_whitespace();
            let start = Start::new(wire).program(words.next().unwrap_or_default(), []);
            words.fold(start, Start::argument).start()
        }
        Err(_) => Client::new(wire),
    }
}

fn closeness() -> Closeness {
    match (std::env::var(COMPARE).as_deref(), std::env::var(SERVER)) {
        (Ok("exact"), _) => Closeness::Exact,
        (Ok("shape"), _) => Closeness::Shape,
        (Ok(other), _) => panic!("{COMPARE} is exact or shape, not {other}"),
        (Err(_), Ok(_)) => Closeness::Shape,
        (Err(_), Err(_)) => Closeness::Exact,
    }
}

impl<'a> Play<'a> {
    fn new(file: &'a str, wire: Wire, closeness: Closeness) -> Self {
        let mut play = Self {
            file,
            at: 0,
            wire,
            closeness,
            client: server(wire),
            compared: 0,
            stores: Vec::new(),
            captured: BTreeMap::new(),
            said: Vec::new(),
            recorded: Names::default(),
            came: Names::default(),
            asked: BTreeMap::new(),
            last: None,
            was_shut_down: false,
        };
        play.new_store();
        play
    }

    /// Creates an empty folder for the next store.
    fn new_store(&mut self) {
        let wire = format!("{:?}-{:?}", self.wire, self.closeness);
        let name = format!("wire-{}-{wire}-{}-{}", self.file, std::process::id(), self.stores.len());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        let text = folder.to_str().expect("a path of text").to_owned();
        self.captured.insert("storage".to_owned(), text.clone().into());
        self.came.storage = Some(text);
        self.stores.push(folder);
    }

    fn give_up(&self, why: &str) -> ! {
        panic!("{}.jsonl:{}: {why}", self.file, self.at)
    }

    /// A frame of the client with captured values, and the actual ids of the server's requests.
    fn fill(&self, frame: &Value) -> Value {
        let mut frame = self.fill_value(frame);
        if frame.get("method").is_none()
            && let Some(id) = self.asked.get(&frame["id"].to_string())
        {
            frame["id"] = id.clone();
        }
        if frame["method"] == "model/delta"
            && let Some(id) = self.asked.get(&frame["params"]["requestId"].to_string())
        {
            frame["params"]["requestId"] = id.clone();
        }
        frame
    }

    fn fill_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.fill_text(text),
            Value::Array(values) => values.iter().map(|value| self.fill_value(value)).collect(),
            Value::Object(fields) => {
                let fields = fields.iter().map(|(key, value)| (key.clone(), self.fill_value(value)));
                Value::Object(fields.collect::<Map<_, _>>())
            }
            _ => value.clone(),
        }
    }

    fn fill_text(&self, text: &str) -> Value {
        let mut filled = text.to_owned();
        for (name, value) in &self.captured {
            let place = format!("${{{name}}}");
            if *text == place {
                return value.clone();
            }
            if let Value::String(value) = value {
                filled = filled.replace(&place, value);
            }
        }
        if filled.contains("${") {
            self.give_up(&format!("nothing of the name in {filled:?} was captured"));
        }
        filled.into()
    }

    fn say(&mut self, frame: &Value) {
        let frame = self.fill(frame);
        self.last = frame["method"].as_str().map(str::to_owned);
        self.was_shut_down |= frame["method"] == "shutdown";
        self.client.send(&frame);
    }

    fn send(&mut self, bytes: &[u8]) {
        if let Err(error) = self.client.send_raw(bytes) {
            self.give_up(&format!("the server is gone: {error}"));
        }
    }

    fn capture(&mut self, capture: &BTreeMap<String, String>) {
        for (name, at) in capture {
            let found = self.said.iter().rev().find_map(|frame| frame.pointer(at)).cloned();
            match found {
                Some(value) => drop(self.captured.insert(name.clone(), value)),
                None => self.give_up(&format!("no frame of the server has {at}")),
            }
        }
    }

    /// Writes a file below the storage folder.
    fn write_file(&self, path: &str, text: &str) {
        let storage = self.stores.last().expect("a folder");
        let text = text.replace("${storage}", storage.to_str().expect("a path of text"));
        let path = storage.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    /// Expects this frame next.
    fn expect(&mut self, recorded: &Value) {
        let came = self.client.wait(&format!("line {} of {}.jsonl", self.at, self.file), |_| true);
        self.compared += 1;
        self.said.push(came.clone());
        if recorded.get("method").is_some() && recorded.get("id").is_some() {
            self.asked.insert(recorded["id"].to_string(), came["id"].clone());
            self.asked
                .insert(recorded["params"]["requestId"].to_string(), came["params"]["requestId"].clone());
        }
        let (mut recorded, mut came) = (self.recorded.frame(recorded), self.came.frame(&came));
        if self.closeness == Closeness::Shape {
            (recorded, came) = (shape(&recorded), shape(&came));
        }
        if let Some(difference) = difference(&recorded, &came) {
            let brief = |frame: &Value| frame.to_string().chars().take(300).collect::<String>();
            let both = format!("recorded: {}\ncame:     {}", brief(&recorded), brief(&came));
            self.give_up(&format!("the server answers otherwise than recorded, {difference}\n{both}"));
        }
    }

    /// Ends the process and checks its exit code.
    fn end(&mut self) {
        let code = match self.last.as_deref() {
            Some("exit") => i32::from(!self.was_shut_down),
            _ => {
                self.client.close_input();
                0
            }
        };
        self.client.wait_end_of_output();
        let exit = self.client.wait_exit();
        if exit != Some(code) {
            self.give_up(&format!("the exit code is {exit:?}, not {code}"));
        }
    }

    /// Checks that there is no further frame.
    fn no_more(&self) {
        if let Some(more) = self.client.frames().get(self.compared) {
            self.give_up(&format!("a frame came that was not recorded: {more}"));
        }
    }

    fn restart(&mut self, is_killed: bool, is_store_new: bool) {
        if is_killed {
            self.client.kill();
            self.client.wait_exit();
        }
        if is_store_new {
            self.new_store();
        }
        self.client = server(self.wire);
        (self.compared, self.last, self.was_shut_down) = (0, None, false);
        self.asked.clear();
    }

    fn replay(&mut self, lines: &[Line]) {
        for (index, line) in lines.iter().enumerate() {
            self.at = index + 1;
            match line {
                Line::Note => {}
                Line::Client(frame) => self.say(frame),
                Line::Bytes(bytes) => self.send(bytes),
                Line::Server(frame) => self.expect(frame),
                Line::Capture(capture) => self.capture(capture),
                Line::File { path, text } => self.write_file(path, text),
                Line::Restart { is_killed, is_store_new } => {
                    if !is_killed {
                        self.end();
                        self.no_more();
                    }
                    self.restart(*is_killed, *is_store_new);
                }
            }
        }
        self.end();
        self.no_more();
    }

    /// Plays the client's side and records the server's. The server is done after a silence.
    fn record(&mut self, lines: &[(Line, &str)]) -> String {
        let mut text = String::new();
        for (index, (line, source)) in lines.iter().enumerate() {
            self.at = index + 1;
            match line {
                Line::Server(_) => continue,
                Line::Restart { is_killed: false, .. } => {
                    self.end();
                    self.take(&mut text);
                }
                _ => {}
            }
            let _ = writeln!(text, "{source}");
            match line {
                Line::Note | Line::Server(_) => continue,
                Line::Client(frame) => self.say(frame),
                Line::Bytes(bytes) => self.send(bytes),
                Line::Capture(capture) => {
                    self.capture(capture);
                    continue;
                }
                Line::File { path, text } => {
                    self.write_file(path, text);
                    continue;
                }
                Line::Restart { is_killed, is_store_new } => self.restart(*is_killed, *is_store_new),
            }
            self.settle(line);
            self.take(&mut text);
        }
        self.end();
        self.take(&mut text);
        text
    }

    /// Waits until the server has answered this line.
    fn settle(&self, line: &Line) {
        let ids: Vec<Value> = match line {
            Line::Client(frame) if frame.get("method").is_some() => {
                frame.get("id").cloned().into_iter().collect()
            }
            Line::Bytes(bytes) => requests_in(bytes),
            _ => Vec::new(),
        };
        // A store that opens slowly is no silence: a response, or a request before it, must arrive.
        let is_about = |frame: &Value, id: &Value| {
            frame.get("id").is_some_and(|of| frame.get("method").is_some() || of == id || of.is_null())
        };
        let deadline = Instant::now() + super::client::DEADLINE;
        let (mut count, mut since) = (self.client.frames().len(), Instant::now());
        let mut is_due = !ids.is_empty();
        while (is_due || since.elapsed() < QUIET) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
            let frames = self.client.frames();
            let came = &frames[self.compared..];
            is_due = is_due && !ids.iter().all(|id| came.iter().any(|frame| is_about(frame, id)));
            if frames.len() != count {
                (count, since) = (frames.len(), Instant::now());
            }
        }
    }

    /// Records the server's new frames.
    fn take(&mut self, text: &mut String) {
        for frame in self.client.frames().split_off(self.compared) {
            self.compared += 1;
            let _ = writeln!(text, "{}", json!({ "from": "server", "frame": self.came.frame(&frame) }));
            self.said.push(frame);
        }
    }
}

/// The ids of requests in raw bytes.
fn requests_in(bytes: &[u8]) -> Vec<Value> {
    let text = String::from_utf8_lossy(bytes);
    let id = regex::Regex::new(r#""id":(\d+),"method""#).expect("a pattern");
    id.captures_iter(&text).filter_map(|found| found[1].parse::<u64>().ok()).map(Value::from).collect()
}

impl Drop for Play<'_> {
    fn drop(&mut self) {
        for store in &self.stores {
            drop(std::fs::remove_dir_all(store));
        }
    }
}

/// The conversations to play.
fn asked_for() -> Vec<(String, String)> {
    let mut all = conversations();
    if let Ok(only) = std::env::var(ONLY) {
        all.retain(|(name, _)| only.split(',').any(|asked| asked == name));
    }
    assert!(!all.is_empty(), "no conversation has the name that {ONLY} asks for");
    all
}

/// Plays conversations in parallel and reports all failures.
fn each(conversations: &[(String, String)], play: impl Fn(&str, &[(Line, &str)]) + Sync) {
    let failed: Vec<&str> = std::thread::scope(|scope| {
        let play = &play;
        let started: Vec<_> = conversations
            .iter()
            .map(|(name, text)| (name, scope.spawn(move || play(name, &lines(name, text)))))
            .collect();
        let failed = started.into_iter().filter_map(|(name, done)| done.join().err().map(|_| name.as_str()));
        failed.collect()
    });
    assert!(failed.is_empty(), "not as recorded: {failed:?}");
}

/// `UPDATE_EXPECT=1` plays the client's side and records the server's anew. The conversations include a
/// follower that missed events (`subscribe`) and restarts with the store, or with the editor's history and
/// metadata only (`restart-*`).
#[test]
fn conversations_match_their_recording() {
    let conversations = asked_for();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        each(&conversations, |name, lines| {
            let text = Play::new(name, Wire::Pipes, Closeness::Exact).record(lines);
            let path = Path::new(FOLDER).join(format!("{name}.jsonl"));
            std::fs::write(path, text).expect("the fixtures can be written");
        });
        return;
    }
    each(&conversations, |name, lines| {
        let lines: Vec<Line> = lines.iter().map(|(line, _)| line.clone()).collect();
        Play::new(name, Wire::Pipes, closeness()).replay(&lines);
    });
}

/// The comparison for other servers passes for ours, over sockets as Node makes them.
#[test]
fn conversations_match_the_shape_of_their_recording() {
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        return;
    }
    each(&asked_for(), |name, lines| {
        let lines: Vec<Line> = lines.iter().map(|(line, _)| line.clone()).collect();
        Play::new(name, Wire::Sockets, Closeness::Shape).replay(&lines);
    });
}

/// The shape of a frame ignores counts and text, but not fields and states.
#[test]
fn shape_ignores_counts_but_not_fields() {
    let frame = json!({ "id": 1, "result": { "tokens": 3, "state": "idle", "title": "a" } });
    let other = json!({ "id": 1, "result": { "tokens": 4, "state": "idle", "title": "b" } });
    assert!(difference(&frame, &other).is_some_and(|text| text.contains("/result/tokens")));
    assert_eq!(difference(&shape(&frame), &shape(&other)), None);
    for (at, value) in [("state", json!("error")), ("title", Value::Null), ("more", json!(1))] {
        let mut wrong = frame.clone();
        wrong["result"][at] = value;
        assert!(difference(&shape(&frame), &shape(&wrong)).is_some(), "{at}");
    }
    let mut names = Names::default();
    names.storage = Some("/code/x".into());
    let named = names.frame(&json!({ "stream": "b", "at": [{ "stream": "a" }, "/code/x/y"], "pid": 7 }));
    let expected = json!({ "stream": "<stream 1>", "at": [{ "stream": "<stream 2>" }, "${storage}/y"] });
    assert_eq!((&named["at"], &named["stream"]), (&expected["at"], &expected["stream"]));
    assert_eq!((named["pid"].as_str(), Names::default().frame(&named)), (Some("<pid>"), named.clone()));
}
