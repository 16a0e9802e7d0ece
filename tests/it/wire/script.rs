//! Client in an editor's role: its model answers from a script, and it records the model's requests and the
//! tool calls. No assertions about results.

use super::client::{Client, Start, Wire};
use crate::facts::{self, knows_its_roles, suits_lm};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// A test's folder, removed on drop.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// A path with this name; an old folder there is removed.
    pub fn new(name: &str) -> Self {
        let name = format!("wire-{name}-{}", std::process::id());
        let folder = Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name));
        drop(fs::remove_dir_all(&folder.0));
        folder
    }

    /// The folder's path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Copies the folder under another name.
    pub fn copy(&self, name: &str) -> Self {
        let copy = Self::new(name);
        copy_all(&self.0, &copy.0);
        copy
    }
}

fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the folder can be made");
    for file in fs::read_dir(from).expect("the folder is there") {
        let file = file.expect("the folder can be read");
        let (from, to) = (file.path(), to.join(file.file_name()));
        if from.is_dir() {
            copy_all(&from, &to);
        } else {
            fs::copy(from, to).expect("the file can be copied");
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// The model's answers to requests for a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Summaries {
    /// A good summary.
    Good,
    /// An error.
    Failing,
    /// A summary that is too long to be accepted.
    TooLong,
    /// This text.
    Says(&'static str),
}

/// An editor with a model and a tool.
pub struct Editor {
    /// The server's client.
    pub client: Client,
    /// The model's next answers in order, with text and calls; afterwards it says that it is done.
    pub answers: VecDeque<Value>,
    /// The answers to requests for a summary.
    pub summaries: Summaries,
    /// The parameters of each `model/complete`, in order.
    pub asked: Vec<Value>,
    /// The ids of executed calls, in order.
    pub ran: Vec<String>,
}

/// A narrative that is accepted.
pub const NARRATIVE: &str = "## Goal\nThe parser works.\n## Decisions\nA table, for it is short.\n## State\nHalf of it \
                             is done.\n## Next steps\nThe other half.\n## Open questions\nNone.";

/// Lines of about 20 tokens each.
pub fn prose(name: &str, lines: usize) -> String {
    (0..lines).fold(String::new(), |mut text, n| {
        let _ = writeln!(text, "The {name} goes on with line {n} of what it has to say about the parser.");
        text
    })
}

/// An answer without calls.
pub fn says(text: &str) -> Value {
    json!([{ "type": "text", "text": text }])
}

/// An answer with calls of `read`.
pub fn calls<const N: usize>(text: &str, ids: [&str; N]) -> Value {
    let call = |id: &str| json!({ "type": "toolCall", "id": id, "name": "read", "arguments": { "path": format!("src/{id}.rs") } });
    let mut parts = vec![json!({ "type": "text", "text": text })];
    parts.extend(ids.map(call));
    Value::Array(parts)
}

/// The result of a call.
pub fn read_by(call: &str) -> String {
    prose(&format!("file of {call}"), 30)
}

/// Messages as they are on the wire; there must be some.
pub fn bytes(messages: &Value) -> String {
    assert!(messages.as_array().is_some_and(|messages| !messages.is_empty()), "no messages: {messages}");
    messages.to_string()
}

/// `true` for the event that a turn ended with.
pub fn is_end(event: &Value) -> bool {
    event["type"] == "runtimeUpdated" && event.get("status").is_some()
}

/// These messages without the ids of their rounds, which messages read from the store lack.
pub fn without_rounds(messages: &Value) -> Value {
    let mut messages = messages.clone();
    for message in messages.as_array_mut().into_iter().flatten() {
        message.as_object_mut().expect("a message").shift_remove("roundId");
    }
    messages
}

/// The tools of every session here.
pub fn tools() -> Value {
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    json!([{ "name": "read", "description": "Shows a file.", "kind": "read", "inputSchema": schema }])
}

/// The caller's sections of every session here.
pub fn sections() -> Value {
    json!([{ "name": "identity", "content": "You are a careful programmer." }])
}

/// `true` if the frame is a request of the server for this method.
pub fn is_request(frame: &Value, method: &str) -> bool {
    frame["method"] == method && frame.get("id").is_some()
}

/// `true` if the frame requests a summary.
pub fn asks_for_summary(frame: &Value) -> bool {
    is_request(frame, "model/complete") && frame["params"]["purpose"] == "summary"
}

impl Editor {
    /// Starts an editor that stores its sessions in this folder, with these settings.
    pub fn start(folder: &Folder, settings: Value) -> Self {
        Self::over(Client::new(Wire::Pipes), folder, settings)
    }

    /// As [`Self::start`], with the log level `info`.
    pub fn logged(folder: &Folder, settings: Value) -> Self {
        Self::over(Start::new(Wire::Pipes).variable("RUST_LOG", "info").start(), folder, settings)
    }

    /// As [`Self::start`], over a server that is running.
    pub fn over(client: Client, folder: &Folder, settings: Value) -> Self {
        let storage = json!({ "path": folder.path() });
        Self::stored(client, &storage, settings)
    }

    /// As [`Self::over`], with these options of storage.
    pub fn stored(mut client: Client, storage: &Value, settings: Value) -> Self {
        client.initialize(json!({
            "capabilities": {},
            "initializationOptions": { "threadhold": {
                "protocolVersion": 1,
                "storage": storage,
                "capabilities": { "modelComplete": true, "toolInvoke": true, "countTokens": true },
                "settings": settings,
            } },
        }));
        let (answers, asked, ran) = (VecDeque::new(), Vec::new(), Vec::new());
        Self { client, answers, summaries: Summaries::Good, asked, ran }
    }

    /// Opens a session with the sidecar as its driver, with a history if one is given.
    pub fn open(&mut self, session: &str, history: Option<Vec<Value>>) -> Value {
        self.open_with(session, "sidecar", history)
    }

    /// Opens a session with this driver.
    pub fn open_with(&mut self, session: &str, driver: &str, history: Option<Vec<Value>>) -> Value {
        self.call(
            "session/open",
            json!({
                "workspaceFolder": "/code/parser", "sessionId": session, "driver": driver,
                "tools": tools(), "sections": sections(), "history": history,
            }),
        )
    }

    /// Sends a request, answers the server's requests meanwhile, and returns the result.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        let is_of_lm = facts::is_lm(&params["model"]);
        let mut response = self.response(method, params);
        assert!(response.get("error").is_none(), "{method}: {response}");
        let result = response["result"].take();
        if is_of_lm && result.get("messages").is_some() {
            let messages = result["messages"].clone();
            knows_its_roles(&serde_json::from_value::<Vec<_>>(messages).expect("messages"));
        }
        result
    }

    /// As [`Self::call`] for a request that must fail; returns the error.
    pub fn refused(&mut self, method: &str, params: Value) -> Value {
        let mut response = self.response(method, params);
        assert!(response.get("error").is_some(), "{method} was not refused: {response}");
        response["error"].take()
    }

    fn response(&mut self, method: &str, params: Value) -> Value {
        let id = self.client.request(method, params);
        self.until(method, |frame| frame.get("method").is_none() && frame["id"] == id)
    }

    /// Runs a turn and returns the event that ends it.
    pub fn turn(&mut self, params: Value) -> Value {
        let turn = self.call("turn/start", params)["turnId"].take();
        self.ended(&turn)
    }

    /// Waits for the event that ends a turn.
    pub fn ended(&mut self, turn: &Value) -> Value {
        self.event("the turn's end", |event| {
            event["type"] == "runtimeUpdated" && event["turnId"] == *turn && event.get("status").is_some()
        })
    }

    /// Waits for the next matching event.
    pub fn event(&mut self, what: &str, mut is_it: impl FnMut(&Value) -> bool) -> Value {
        let mut frame =
            self.until(what, |frame| frame["method"] == "session/event" && is_it(&frame["params"]));
        frame["params"].take()
    }

    /// Answers the server's requests until a frame matches, which is returned unanswered.
    pub fn until(&mut self, what: &str, mut is_it: impl FnMut(&Value) -> bool) -> Value {
        loop {
            let frame = self.client.wait(what, |frame| {
                let asks = ["model/complete", "model/countTokens", "tool/invoke"];
                is_it(frame) || asks.iter().any(|method| is_request(frame, method))
            });
            if is_it(&frame) {
                return frame;
            }
            self.answer(&frame);
        }
    }

    /// Answers a request of the server.
    pub fn answer(&mut self, frame: &Value) {
        let (id, params) = (&frame["id"], &frame["params"]);
        if frame["method"] == "tool/invoke" {
            let call = params["toolCallId"].as_str().expect("a call has an id").to_owned();
            self.client.respond(id, json!({ "content": read_by(&call) }));
            return self.ran.push(call);
        }
        if frame["method"] == "model/countTokens" {
            let texts = params["texts"].as_array().expect("texts").iter();
            let tokens: Vec<usize> =
                texts.map(|text| text.as_str().map_or(0, |text| text.len() / 4)).collect();
            return self.client.respond(id, json!({ "tokens": tokens }));
        }
        if params["model"] == facts::LM {
            suits_lm(&serde_json::from_value(params.clone()).expect("it can be read"));
        }
        self.asked.push(params.clone());
        if params["purpose"] == "summary" {
            return match self.summaries {
                Summaries::Good => self.stream(frame, &says(&format!("<summary>\n{NARRATIVE}\n</summary>"))),
                Summaries::Failing => self.client.respond_error(id, -32000, "the model is out of order"),
                Summaries::TooLong => {
                    let long = prose("summary", 200);
                    self.stream(frame, &says(&format!("<summary>\n{NARRATIVE}\n{long}</summary>")));
                }
                Summaries::Says(text) => self.stream(frame, &says(text)),
            };
        }
        let answer = self.answers.pop_front().unwrap_or_else(|| says("It is done."));
        self.stream(frame, &answer);
    }

    /// Streams an answer to `model/complete` in pieces, and responds.
    fn stream(&mut self, frame: &Value, answer: &Value) {
        let request = &frame["params"]["requestId"];
        let of_kind = |kind: &'static str| {
            answer.as_array().into_iter().flatten().filter(move |part| part["type"] == kind)
        };
        for part in of_kind("text") {
            let text: Vec<char> = part["text"].as_str().unwrap_or_default().chars().collect();
            for piece in text.chunks(text.len() / 3 + 1) {
                let piece: String = piece.iter().collect();
                let ops = json!([{ "op": "appendContent", "text": piece }]);
                self.client.notify("model/delta", json!({ "requestId": request, "ops": ops }));
            }
        }
        let calls: Vec<&Value> = of_kind("toolCall").collect();
        if !calls.is_empty() {
            let ops = json!([{ "op": "setToolCalls", "toolCalls": calls }]);
            self.client.notify("model/delta", json!({ "requestId": request, "ops": ops }));
        }
        let usage = json!({ "inputTokens": 10, "outputTokens": 5 });
        let is_said = frame["params"]["model"] != facts::LM;
        self.client.respond(&frame["id"], if is_said { json!({ "usage": usage }) } else { json!({}) });
    }

    /// Checks `model/usage`: the source is the provider, or `countTokens` with one count per request.
    pub fn use_is_told(&self, model: &Value) {
        let told: Vec<Value> =
            self.client.frames().into_iter().filter(|frame| frame["method"] == "model/usage").collect();
        let source = if facts::is_lm(model) { "countTokens" } else { "provider" };
        assert!(told.iter().all(|told| told["params"]["source"] == source), "{told:?}");
        if facts::is_lm(model) {
            let asked = self.asked.iter().filter(|asked| asked["model"] == facts::LM).count();
            assert_eq!(told.len(), asked, "each request was counted");
        }
    }

    /// The model's requests for this purpose.
    pub fn asked_for(&self, purpose: &str) -> Vec<&Value> {
        self.asked.iter().filter(|asked| asked["purpose"] == purpose).collect()
    }

    /// Kills the server.
    pub fn kill(mut self) {
        self.client.kill();
        self.client.wait_exit();
    }

    /// Events of this type that came so far.
    pub fn events(&self, kind: &str) -> Vec<Value> {
        self.client.events().into_iter().filter(|event| event["type"] == kind).collect()
    }

    /// The editor's own history: the messages of each turn, with the metadata that the server sent.
    pub fn history(&self) -> Vec<Value> {
        let mut turns: Vec<Value> = Vec::new();
        for event in self.client.events() {
            let turn = match event["type"].as_str() {
                Some("messageAdded") => event["message"]["turnId"].clone(),
                Some("runtimeUpdated") if event.get("metadata").is_some() => event["turnId"].clone(),
                _ => continue,
            };
            if turns.last().is_none_or(|last| last["id"] != turn) {
                turns.push(json!({ "id": turn, "messages": [] }));
            }
            let last = turns.last_mut().expect("one was pushed");
            if event["type"] == "runtimeUpdated" {
                last["metadata"] = event["metadata"].clone();
                continue;
            }
            if event["message"]["role"] == "user" {
                last["externalId"] = event["message"]["externalId"].clone();
            }
            last["messages"].as_array_mut().expect("a list").push(event["message"].clone());
        }
        turns
    }
}
