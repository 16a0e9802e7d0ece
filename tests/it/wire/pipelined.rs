//! Requests pipelined on one session: each gets exactly one response, and the session can be opened and
//! deleted afterwards. Methods come from the protocol's table, so a new one is covered automatically.

use super::client::{Client, Start, Wire, framed};
use super::ground::{Folder, SUMMARY, said, words};
use protocol::methods::{Direction, METHODS, MethodInfo};
use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};
use session::acceptance::TABLE;
use session::stored::Driver;
use std::collections::{BTreeMap, BTreeSet};

fn methods() -> Vec<&'static MethodInfo> {
    let is_request = |info: &&MethodInfo| info.direction == Direction::ToSidecar && info.result.is_some();
    METHODS.iter().filter(is_request).collect()
}

/// The smallest value for a schema, but with session and workspace folder, which are always given.
fn sample(schema: &Value, defs: &Map<String, Value>) -> Value {
    if let Some(name) = schema["$ref"].as_str() {
        return sample(&defs[name.rsplit('/').next().expect("a name")], defs);
    }
    if let Some(one) = schema.get("const") {
        return one.clone();
    }
    for choices in ["enum", "oneOf", "anyOf"] {
        if let Some(first) = schema[choices].get(0) {
            return if choices == "enum" { first.clone() } else { sample(first, defs) };
        }
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str());
    match kind {
        Some("string") => json!("x"),
        Some("integer" | "number") => json!(1),
        Some("boolean") => json!(false),
        Some("array") => json!([sample(&schema["items"], defs)]),
        _ => {
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let is_named = |name: &&str| schema["properties"].get(*name).is_some();
            let names: BTreeSet<&str> =
                required.chain(["sessionId", "workspaceFolder"].into_iter().filter(is_named)).collect();
            names
                .into_iter()
                .map(|name| (name.to_owned(), sample(&schema["properties"][name], defs)))
                .collect()
        }
    }
}

/// The parameters of a method, apart from session and folder.
fn params(info: &MethodInfo) -> Value {
    let mut generator = SchemaGenerator::default();
    let schema = (info.params)(&mut generator);
    let mut params = sample(schema.as_value(), generator.definitions());
    // A little content makes these methods do more.
    let more = match info.name {
        "prompt/render" => json!({ "input": { "content": "Go on." } }),
        "session/import" => json!({ "data": r#"{"messages":[{"role":"user","content":"Hello."}]}"# }),
        "context/search" => json!({ "query": "done" }),
        "context/pin" => json!({ "text": "Keep this." }),
        _ => json!({}),
    };
    params.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    params
}

/// Sets session and folder in the parameters, if the method has these.
fn about(params: &Value, folder: &Folder, session: &str) -> Value {
    let mut params = params.clone();
    for (name, value) in [("sessionId", session), ("workspaceFolder", folder.path())] {
        if let Some(place) = params.get_mut(name) {
            *place = json!(value);
        }
    }
    params
}

/// A history that needs a summary.
fn history(session: &str) -> Value {
    let turn = |n: usize| {
        json!({
            "externalId": format!("{session}-{n}"), "request": format!("do step {n}"),
            "rounds": [{ "assistant": { "parts": words("done", 250) } }],
        })
    };
    (0..5).map(turn).collect()
}

fn serve(folder: &Folder, settings: Value) -> Client {
    let mut hello = folder.hello();
    hello["initializationOptions"]["threadhold"]["settings"] = settings;
    let mut client = Start::new(Wire::Pipes).start();
    client.initialize(hello);
    client
}

/// Sent requests, each with a description for failures.
struct Sent {
    bytes: Vec<u8>,
    ids: Vec<(i64, String)>,
}

/// Sends requests in one write and counts the responses.
struct Pipe {
    client: Client,
    last: i64,
    sent: Sent,
    answered: BTreeMap<i64, String>,
}

impl Pipe {
    fn new(client: Client) -> Self {
        let sent = Sent { bytes: Vec::new(), ids: Vec::new() };
        Self { client, last: 1000, sent, answered: BTreeMap::new() }
    }

    fn add(&mut self, what: String, method: &str, params: &Value) {
        self.last += 1;
        let frame = json!({ "jsonrpc": "2.0", "id": self.last, "method": method, "params": params });
        self.sent.bytes.extend(framed(&frame));
        self.sent.ids.push((self.last, what));
    }

    fn send(&mut self) -> Vec<(i64, String)> {
        let sent = std::mem::replace(&mut self.sent, Sent { bytes: Vec::new(), ids: Vec::new() });
        self.client.send_raw(&sent.bytes).expect("the server reads");
        sent.ids
    }

    /// Waits for the responses to these; returns them in order. A model request meanwhile gets a summary.
    fn take(&mut self, sent: Vec<(i64, String)>) -> Vec<Value> {
        let mut answers = BTreeMap::new();
        let mut left: BTreeMap<i64, String> = sent.into_iter().collect();
        while !left.is_empty() {
            let what = format!("{} answers, such as that to {:?}", left.len(), left.values().next());
            let frame = self.client.wait(&what, |_| true);
            if frame["method"] == "model/complete" {
                self.client.respond(&frame["id"], said(SUMMARY));
            } else if let Some(id) = frame["id"].as_i64().filter(|_| frame.get("method").is_none())
                && let Some(what) = left.remove(&id)
            {
                self.answered.insert(id, what);
                answers.insert(id, frame);
            }
        }
        answers.into_values().collect()
    }

    fn exchange(&mut self) -> Vec<Value> {
        let sent = self.send();
        self.take(sent)
    }

    /// Ends the server and checks that each request got one response.
    fn ends(mut self) {
        self.client.call("shutdown", Value::Null).expect("it shuts down");
        self.client.notify("exit", Value::Null);
        assert_eq!(self.client.wait_exit(), Some(0));
        self.client.wait_end_of_output();
        let frames = self.client.frames();
        let ids =
            frames.iter().filter(|frame| frame.get("method").is_none()).filter_map(|f| f["id"].as_i64());
        let mut counts: BTreeMap<i64, usize> = BTreeMap::new();
        ids.for_each(|id| *counts.entry(id).or_default() += 1);
        for (id, what) in &self.answered {
            assert_eq!(counts.get(id), Some(&1), "{what}");
        }
    }
}

/// The state of a session before the pair is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    /// Open, with the sidecar as its driver.
    Sidecars,
    /// Open, with the editor as its driver.
    Editors,
    /// Stored and closed.
    Closed,
    /// Loaded with its newest message only.
    InPart,
}

fn open(folder: &Folder, session: &str, before: Before) -> Value {
    let driver = if matches!(before, Before::Editors) { "editor" } else { "sidecar" };
    json!({
        "workspaceFolder": folder.path(), "sessionId": session, "driver": driver, "history": history(session),
    })
}

/// A method with its own session.
type Tried = (String, &'static MethodInfo);

/// Sends a request for each of these sessions; none may fail.
fn all(pipe: &mut Pipe, sessions: &[Tried], why: &str, method: &str, params: &dyn Fn(&str) -> Value) {
    for (session, tried) in sessions {
        pipe.add(format!("{method} where {why} and {} were sent", tried.name), method, &params(session));
    }
    let answers = pipe.exchange();
    let refused: Vec<&Value> = answers.iter().filter(|answer| answer.get("error").is_some()).collect();
    assert!(refused.is_empty(), "{method} where {why} was sent: {refused:?}");
}

/// Checks that these sessions can be opened and deleted.
fn are_free(pipe: &mut Pipe, folder: &Folder, sessions: &[Tried], why: &str) {
    let opens = |session: &str| json!({ "workspaceFolder": folder.path(), "sessionId": session });
    all(pipe, sessions, why, "session/open", &opens);
    all(pipe, sessions, why, "session/delete", &|session| json!({ "sessionId": session }));
}

/// Sends these requests and checks that no response is an internal error.
fn answered(pipe: &mut Pipe) {
    let answers = pipe.exchange();
    let is_defect = |answer: &&Value| answer["error"]["data"]["kind"] == "InternalError";
    assert_eq!(answers.iter().find(is_defect), None);
}

fn each_tried(first: &str) -> Vec<Tried> {
    let first = first.replace('/', "-");
    methods().into_iter().enumerate().map(|(n, second)| (format!("{first}-{n}"), second)).collect()
}

/// `true` if only a session with the editor as its driver accepts the method.
fn is_editors(name: &str) -> bool {
    TABLE.iter().any(|row| row.method == name && row.driver == Some(Driver::Editor))
}

/// Methods of one process, each of which is sent before all others. A process is slow to start.
const TOGETHER: usize = 10;

/// A method and its number.
type First = (usize, &'static MethodInfo);

/// Sends every method behind each method, each pair on its own session in the state `before`.
fn all_pairs(before: impl Fn(First, usize, &MethodInfo) -> Before) {
    let settings = json!({
        "model": { "wire": "scripted", "window": 1500 }, "policy": "words-and-ledger", "synchronous": "normal",
    });
    let firsts: Vec<First> = methods().into_iter().enumerate().collect();
    for firsts in firsts.chunks(TOGETHER) {
        let folder = Folder::new();
        let mut pipe = Pipe::new(serve(&folder, settings.clone()));
        for first in firsts {
            pairs_behind(&mut pipe, &folder, first.1, |n, second| before(*first, n, second));
        }
        pipe.ends();
    }
}

fn pairs_behind(
    pipe: &mut Pipe,
    folder: &Folder,
    first: &MethodInfo,
    before: impl Fn(usize, &MethodInfo) -> Before,
) {
    let sessions = each_tried(first.name);
    let of = |states: &[Before]| -> Vec<Tried> {
        let with =
            sessions.iter().enumerate().filter(|(n, (_, second))| states.contains(&before(*n, second)));
        with.map(|(_, tried)| tried.clone()).collect()
    };
    for state in [Before::Sidecars, Before::Editors, Before::Closed, Before::InPart] {
        all(pipe, &of(&[state]), first.name, "session/open", &|session| open(folder, session, state));
    }
    let closed = of(&[Before::Closed, Before::InPart]);
    all(pipe, &closed, first.name, "session/close", &|session| json!({ "sessionId": session }));
    let newest = |session: &str| json!({ "workspaceFolder": folder.path(), "sessionId": session, "snapshotMessages": 1 });
    all(pipe, &of(&[Before::InPart]), first.name, "session/open", &newest);
    for (n, (session, second)) in sessions.iter().enumerate() {
        for info in [first, *second] {
            let what =
                format!("{} of {} and {} ({:?})", info.name, first.name, second.name, before(n, second));
            pipe.add(what, info.name, &about(&params(info), folder, session));
        }
    }
    answered(pipe);
    are_free(pipe, folder, &sessions, first.name);
}

/// Sends several methods behind a slow one, and all again behind a close. The client's model answers once all
/// are sent; with `is_held`, another process holds the sessions.
fn many_behind(first: &'static str, before: Before, is_held: bool) {
    let folder = Folder::new();
    let settings =
        || json!({ "model": { "window": 1500 }, "policy": "words-and-ledger", "synchronous": "normal" });
    let sessions = each_tried(first);
    let mut pipe = Pipe::new(serve(&folder, settings()));
    let mut holder = Pipe::new(serve(&folder, settings()));
    let opener = if is_held { &mut holder } else { &mut pipe };
    all(opener, &sessions, first, "session/open", &|session| open(&folder, session, before));
    let [first_info, close, open] = [first, "session/close", "session/open"]
        .map(|name| methods().into_iter().find(|info| info.name == name).expect("a method"));
    // Chunks that the queue accepts at once.
    for sessions in sessions.chunks(36) {
        for (session, second) in sessions {
            for info in [first_info, second, close, first_info, second, open, close] {
                let what = format!("{} of {first}, {}, close, ({before:?})", info.name, second.name);
                pipe.add(what, info.name, &about(&params(info), &folder, session));
            }
        }
        answered(&mut pipe);
    }
    are_free(&mut pipe, &folder, &sessions, first);
    pipe.ends();
    holder.ends();
}

#[test]
fn every_pair_on_an_open_session_is_answered() {
    all_pairs(|(_, first), _, second| match is_editors(first.name) || is_editors(second.name) {
        true => Before::Editors,
        false => Before::Sidecars,
    });
}

#[test]
fn every_pair_on_an_unloaded_session_is_answered() {
    all_pairs(|(at, _), n, _| if (at + n).is_multiple_of(2) { Before::Closed } else { Before::InPart });
}

#[test]
fn requests_behind_a_slow_one_are_answered() {
    let slow = ["session/export", "context/search", "context/compact", "turn/start", "session/takeOver"];
    slow.iter().for_each(|first| many_behind(first, Before::Sidecars, false));
    many_behind("prompt/render", Before::Editors, false);
}

#[test]
fn requests_behind_a_take_over_are_answered() {
    many_behind("session/takeOver", Before::Sidecars, true);
}
