//! Liveness of two processes on one store: whatever a client pipelines, and however late or wrong it answers,
//! each request gets exactly one response, and acknowledged messages are stored. Processes are killed and
//! started anew meanwhile. `given` has the parameters of every method.

#![allow(clippy::print_stdout, reason = "the seed is printed")]

pub mod given;

use super::client::{Client, Start, Wire};
use super::ground::{Folder, SUMMARY, calls, said, stream, words};
use crate::invariants::config;
use given::{Choice, KEPT, SESSIONS, Seen, about, damaged, history, methods, params, tools};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The number of cases, unless `PROPTEST_CASES` is set.
const CASES: u32 = 6;
/// Methods that are sent more often, since what the others do depends on them.
const OFTEN: [&str; 13] = [
    "turn/start",
    "turn/start",
    "turn/start",
    "turn/start",
    "turn/start",
    "session/open",
    "session/open",
    "session/close",
    "session/takeOver",
    "turn/cancel",
    "context/compact",
    "tool/decide",
    "prompt/render",
];

/// A step of the client of one process.
#[derive(Debug, Clone)]
enum Step {
    /// Sends a request and does not wait for its response.
    Ask { process: usize, method: &'static str, session: usize, choice: u64, damage: Option<u64> },
    /// Sends a notification: a cancellation, a delta, a change of settings or folders.
    Tell { process: usize, choice: u64 },
    /// Answers one of the requests of the sidecar.
    Answer { process: usize, choice: u64 },
    /// Reads up to the response of a request that waits for nothing.
    Hear { process: usize },
    /// Waits for all responses.
    Settle { process: usize },
    /// Kills the process and starts another one.
    Kill { process: usize },
}

fn step() -> impl Strategy<Value = Step> {
    // Mostly one process, which then holds most sessions; what the other one asks is often refused.
    let process = || prop_oneof![3 => Just(0_usize), 1 => Just(1)];
    let method = prop_oneof![1 => select(&OFTEN[..]), 1 => select(methods())];
    let damage = proptest::option::weighted(0.1, any::<u64>());
    let ask = (process(), method, 0..SESSIONS.len(), any::<u64>(), damage);
    prop_oneof![
        24 => ask.prop_map(|(process, method, session, choice, damage)| {
            Step::Ask { process, method, session, choice, damage }
        }),
        2 => (process(), any::<u64>()).prop_map(|(process, choice)| Step::Tell { process, choice }),
        12 => (process(), any::<u64>()).prop_map(|(process, choice)| Step::Answer { process, choice }),
        6 => process().prop_map(|process| Step::Hear { process }),
        1 => process().prop_map(|process| Step::Settle { process }),
        1 => (0..2_usize).prop_map(|process| Step::Kill { process }),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec(step(), 100..250)
}

/// The parts of messages by their ids, null if only the id is known.
type Messages = BTreeMap<String, Value>;

fn by_id(messages: &Value) -> Messages {
    let messages = messages.as_array().into_iter().flatten();
    messages
        .filter_map(|message| Some((message["id"].as_str()?.to_owned(), message["parts"].clone())))
        .collect()
}

/// A process and what its client knows.
struct Process {
    client: Client,
    /// Requests by id; the sessions are those of undamaged parameters.
    asked: BTreeMap<i64, (&'static str, String)>,
    /// Requests without a response.
    open: BTreeSet<i64>,
    /// Requests of the sidecar that have no answer yet.
    held: Vec<Value>,
}

impl Process {
    fn new(folder: &Folder) -> Self {
        let mut hello = folder.hello();
        let options = &mut hello["initializationOptions"]["threadhold"];
        options["capabilities"]["compactionReview"] = json!(true);
        options["settings"]["ownTools"] = json!(["todo", "recall"]);
        options["settings"]["synchronous"] = json!("normal");
        let mut client = Start::new(Wire::Pipes).start();
        client.initialize(hello);
        Self { client, asked: BTreeMap::new(), open: BTreeSet::new(), held: Vec::new() }
    }

    fn ask(&mut self, method: &'static str, session: &str, params: Value) -> i64 {
        let id = self.client.request(method, params);
        self.asked.insert(id, (method, session.to_owned()));
        self.open.insert(id);
        id
    }

    /// Reads the next frame.
    fn read(&mut self, seen: &mut Seen) {
        let open: Vec<_> = self.open.iter().map(|id| (id, &self.asked[id])).collect();
        let frame = self.client.wait(&format!("responses to {open:?}"), |_| true);
        seen.add(&frame);
        if frame.get("method").is_none() {
            let id = frame["id"].as_i64().expect("our ids are numbers");
            assert!(
                self.open.remove(&id),
                "a response to no open request: {frame}, {:?}",
                self.asked.get(&id)
            );
            let kind = frame["error"]["data"]["kind"].as_str().unwrap_or_default();
            let is_defect = ["InternalError", "MethodNotFound"].contains(&kind);
            assert!(!is_defect, "{frame} to {:?}", self.asked[&id]);
        } else if frame.get("id").is_some() {
            self.held.push(frame);
        }
    }

    /// Reads up to the response of a request that waits for nothing.
    fn hear(&mut self, seen: &mut Seen) {
        let id = self.ask("session/list", "", json!({}));
        while self.open.contains(&id) {
            self.read(seen);
        }
    }

    /// Answers requests of the sidecar, and waits until each of the client's has its response.
    fn settle(&mut self, seen: &mut Seen) {
        loop {
            self.hear(seen);
            for request in std::mem::take(&mut self.held) {
                let answer = usual(&request);
                self.client.respond(&request["id"], answer);
            }
            if self.open.is_empty() {
                break;
            }
            self.read(seen);
        }
    }

    /// Answers a request of the sidecar: as it should be, with calls or a delta, wrongly or with an error.
    fn answer(&mut self, seen: &mut Seen, mut choice: Choice) {
        if self.held.is_empty() {
            self.hear(seen);
        }
        if self.held.is_empty() {
            return;
        }
        let request = self.held.remove(choice.below(self.held.len()));
        let id = &request["id"];
        let call = format!("call-{}", choice.0 % 1_000_000);
        match choice.below(10) {
            0 => self.client.respond_error(id, -32_000, "it does not work"),
            1 => self.client.respond(id, choice.of(&[json!({ "content": 5 }), json!([]), Value::Null])),
            2..=5 if request["params"]["purpose"] == "turn" => {
                let tool = choice.of(&["read", "read", "write", "todo", "unknown"]);
                self.client.respond(id, calls(&call, tool, r#"{"path":"a"}"#));
            }
            2 if request["method"] == "tool/invoke" => self.client.respond(id, json!({ "pending": true })),
            3 if request["method"] == "tool/requestPermission" => self.client.respond(id, Value::Null),
            6 if request["method"] == "model/complete" => {
                stream(&mut self.client, &request, "So ");
                self.held.push(request);
            }
            7 if request["params"]["purpose"] == "turn" => self.client.respond(id, said(&words("Long", 900))),
            _ => self.client.respond(id, usual(&request)),
        }
    }

    fn tell(&mut self, folder: &str, mut choice: Choice) {
        match choice.below(5) {
            0..=2 => {
                let open: Vec<i64> = self.open.iter().copied().collect();
                let id = if open.is_empty() { 5 } else { choice.of(&open) };
                self.client.notify("$/cancelRequest", json!({ "id": id }));
            }
            3 => {
                let settings = json!({ "threadhold": { "model": { "window": 4000 + choice.below(1000) } } });
                self.client.notify("workspace/didChangeConfiguration", json!({ "settings": settings }));
            }
            _ => {
                let folder = json!([{ "uri": format!("file://{folder}"), "name": "x" }]);
                let event = choice.of(&[
                    json!({ "added": folder, "removed": [] }),
                    json!({ "added": [], "removed": folder }),
                ]);
                self.client.notify("workspace/didChangeWorkspaceFolders", json!({ "event": event }));
            }
        }
    }

    /// Ends the process; each request must have had its response.
    fn shut_down(&mut self, acknowledged: &mut Messages) {
        let id = self.client.request("shutdown", Value::Null);
        assert!(self.open.is_empty(), "{:?}", self.open);
        assert_eq!(self.client.wait_response(id)["result"], Value::Null);
        self.client.notify("exit", Value::Null);
        assert_eq!(self.client.wait_exit(), Some(0));
        self.client.wait_end_of_output();
        self.ended(acknowledged);
    }

    fn kill(&mut self, acknowledged: &mut Messages) {
        self.client.kill();
        assert_eq!(self.client.wait_exit(), None);
        self.ended(acknowledged);
    }

    /// Checks all output of an ended process and collects the messages that it acknowledged in [`KEPT`].
    fn ended(&self, acknowledged: &mut Messages) {
        let log = self.client.log();
        assert!(!log.contains("panic"), "{log}");
        let mut counts: BTreeMap<i64, usize> = BTreeMap::new();
        for frame in self.client.frames() {
            let params = &frame["params"];
            if frame.get("method").is_none() {
                let id = frame["id"].as_i64().expect("our ids are numbers");
                *counts.entry(id).or_default() += 1;
                let is_kept = |asked: &(&str, String)| *asked == ("turn/start", KEPT.to_owned());
                let is_stored = frame["result"].get("queuedPosition").is_none();
                if self.asked.get(&id).is_some_and(is_kept)
                    && is_stored
                    && let Some(id) = frame["result"]["messageId"].as_str()
                {
                    acknowledged.entry(id.to_owned()).or_default();
                }
            } else if params["type"] == "messageAdded" && params["sessionId"] == KEPT {
                acknowledged.extend(by_id(&json!([params["message"]])));
            }
        }
        for (id, asked) in &self.asked {
            let count = counts.get(id).copied().unwrap_or_default();
            assert_eq!(count, usize::from(!self.open.contains(id)).max(count.min(1)), "{asked:?}");
        }
    }
}

/// The answer that a request of the sidecar expects.
fn usual(request: &Value) -> Value {
    match (request["method"].as_str(), request["params"]["purpose"].as_str()) {
        (Some("model/complete"), Some("summary")) => said(SUMMARY),
        (Some("model/complete"), _) => said("So it is."),
        (Some("tool/invoke"), _) => json!({ "content": words("line", 60) }),
        (Some("compaction/review"), _) => json!({ "decision": "accept" }),
        (Some("tool/requestPermission"), _) => {
            let reasons = request["params"]["reasons"].as_array().into_iter().flatten();
            let decision =
                |reason: &Value| json!({ "toolCallId": reason["toolCallId"], "decision": "allowOnce" });
            json!({ "decisions": reasons.map(decision).collect::<Vec<_>>() })
        }
        other => panic!("{other:?} has no answer here"),
    }
}

/// Opens every session in a new process; returns their messages or errors, and the stored ones of [`KEPT`].
fn reopened(folder: &Folder) -> (Vec<Value>, Messages) {
    let mut process = Process::new(folder);
    let listed = |params: Value, process: &mut Process| {
        let mut page = process.client.call("session/messages", params).expect("it is stored");
        page["messages"].take()
    };
    let (mut stored, mut before) = (Messages::new(), Value::Null);
    loop {
        let mut params = json!({ "sessionId": KEPT, "workspaceFolder": folder.path(), "limit": 200 });
        if !before.is_null() {
            params["before"] = before.clone();
        }
        let page = listed(params, &mut process);
        if page.as_array().is_none_or(Vec::is_empty) {
            break;
        }
        before = page[0]["ord"].clone();
        stored.extend(by_id(&page));
    }
    let open = |session: &&str| {
        let params = json!({ "workspaceFolder": folder.path(), "sessionId": session });
        match process.client.call("session/open", params) {
            Ok(mut opened) => opened["snapshot"]["messages"].take(),
            Err(error) => error,
        }
    };
    let shown: Vec<Value> = SESSIONS.iter().map(open).collect();
    process.client.call("shutdown", Value::Null).expect("it shuts down");
    process.client.notify("exit", Value::Null);
    assert_eq!(process.client.wait_exit(), Some(0));
    (shown, stored)
}

/// Checks that a second opening shows the messages of the first. Calls of the sidecar's own tools that a kill
/// left without a result run again once the session is open, so their results may follow.
fn is_shown_again(first: &Value, second: &Value) {
    let (Some(first), Some(second)) = (first.as_array(), second.as_array()) else {
        return assert_eq!(first, second);
    };
    let (same, more) = second.split_at(first.len().min(second.len()));
    assert_eq!(same, first);
    let others: Vec<&Value> = more.iter().filter(|message| message["role"] != "tool").collect();
    assert_eq!(others, Vec::<&Value>::new());
}

/// Runs a case.
fn holds(steps: &[Step]) {
    let folder = Folder::new();
    let (mut seen, mut acknowledged) = (Seen::default(), Messages::new());
    let mut processes = [Process::new(&folder), Process::new(&folder)];
    for (session, driver) in SESSIONS.iter().zip(["sidecar", "editor", "sidecar"]) {
        let mut params = json!({
            "workspaceFolder": folder.path(), "sessionId": session, "driver": driver, "tools": tools(),
        });
        if *session != KEPT {
            params["history"] = history(session);
        }
        processes[0].ask("session/open", session, params);
    }
    // Its id and folder are fixed before damaged parameters can create it elsewhere.
    processes[0].settle(&mut seen);
    for step in steps {
        match step.clone() {
            Step::Ask { process, method, session, choice, damage } => {
                let session = about(method, session);
                let mut params = params(method, session, folder.path(), &seen, Choice(choice));
                if let Some(damage) = damage {
                    params = damaged(params, Choice(damage));
                }
                processes[process].ask(method, session, params);
            }
            Step::Tell { process, choice } => processes[process].tell(folder.path(), Choice(choice)),
            Step::Answer { process, choice } => processes[process].answer(&mut seen, Choice(choice)),
            Step::Hear { process } => processes[process].hear(&mut seen),
            Step::Settle { process } => processes[process].settle(&mut seen),
            Step::Kill { process } => {
                processes[process].kill(&mut acknowledged);
                processes[process] = Process::new(&folder);
            }
        }
    }
    for process in &mut processes {
        process.settle(&mut seen);
    }
    for process in &mut processes {
        process.shut_down(&mut acknowledged);
    }
    let (first, stored) = reopened(&folder);
    let (second, _) = reopened(&folder);
    for (id, parts) in &acknowledged {
        let is = stored.get(id);
        assert_eq!(is, is.filter(|_| parts.is_null()).or(Some(parts)), "{id} was acknowledged");
    }
    // Background sessions may report to the first one while it is open.
    first.iter().zip(&second).skip(1).for_each(|(first, second)| is_shown_again(first, second));
}

#[test]
fn each_request_gets_one_response_whatever_two_processes_do() {
    let mut config = config(CASES);
    // Each smaller case of one that hangs would take the deadline of a wait.
    if std::env::var_os("PROPTEST_MAX_SHRINK_ITERS").is_none() {
        config.max_shrink_iters = 0;
    }
    println!("PROPTEST_RNG_SEED={:?} PROPTEST_CASES={}", config.rng_seed, config.cases);
    let ran = TestRunner::new(config).run(&steps(), |steps| {
        holds(&steps);
        Ok(())
    });
    if let Err(failed) = ran {
        panic!("{failed}");
    }
}

/// A method without parameters in `given` fails here, before it is missing in a case.
#[test]
fn every_request_of_the_protocol_is_drawn() {
    let mut runner = TestRunner::new(config(1));
    let drawn: BTreeSet<&str> = std::iter::repeat_with(|| steps().new_tree(&mut runner))
        .take(40)
        .flat_map(|tree| tree.expect("a strategy without filters").current())
        .filter_map(|step| if let Step::Ask { method, .. } = step { Some(method) } else { None })
        .collect();
    assert_eq!(drawn, methods().into_iter().collect());
    for method in methods() {
        params(method, SESSIONS[0], "/code", &Seen::default(), Choice(0));
    }
}
