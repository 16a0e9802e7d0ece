//! The ground that tests of load, ends and secrets stand on: a folder of their own, a server that is through its
//! handshake, histories that are too long, a model's summary. No assertions.

use super::client::{Client, Start};
use serde_json::{Value, json};
use std::path::PathBuf;
use uuid::Uuid;

/// A window in tokens that little text overflows.
pub const WINDOW: u32 = 4000;

/// A summary that is accepted.
pub const SUMMARY: &str = "<summary>\n## Goal\nTo go on.\n## Decisions\nNone.\n## State\nGood.\n## Next steps\nMore.\n\
                           ## Open questions\nNone.\n</summary>";

/// A folder for a store, gone when the test is.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        Self(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("store-{}", Uuid::now_v7())))
    }

    pub fn path(&self) -> &str {
        self.0.to_str().expect("a path of text")
    }

    /// The parameters of `initialize`: a store here, a client that does all, a small window. A model is waited for as
    /// long as a test lasts.
    pub fn hello(&self) -> Value {
        json!({
            "processId": std::process::id(), "capabilities": {},
            "initializationOptions": { "threadhold": {
                "protocolVersion": 1,
                "storage": { "path": self.path() },
                "client": { "name": "test", "version": "1" },
                "capabilities": { "modelComplete": true, "toolInvoke": true, "requestPermission": true },
                "settings": {
                    "model": { "window": WINDOW }, "policy": "words-and-ledger", "modelDeadlineMs": 600_000
                },
            } },
        })
    }

    /// A server that is through its handshake.
    pub fn serve(&self, start: Start) -> Client {
        let mut client = start.start();
        client.initialize(self.hello());
        client
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// A text of about this many tokens.
pub fn words(name: &str, tokens: usize) -> String {
    format!("{name}:{}", " and so on".repeat(tokens / 3))
}

/// A history that overflows [`WINDOW`], and of which one request sums up all that must go. Most of it are the
/// assistant's words, which only a summary makes shorter. Turns are named where a session is to keep them.
pub fn long_history(name: &str, is_named: bool) -> Value {
    let turn = |n: usize| {
        let mut turn = json!({
            "request": format!("{name}: do step {n}"),
            "rounds": [{ "id": format!("{name}-round-{n}"),
                         "assistant": { "parts": words("done", 450) } }],
        });
        if is_named {
            turn["externalId"] = json!(format!("{name}-request-{n}"));
        }
        turn
    };
    (0..7).map(turn).collect()
}

/// A model's answer in words.
pub fn said(text: &str) -> Value {
    json!({ "content": text })
}

/// A model's answer that calls one tool.
pub fn calls(id: &str, tool: &str, arguments: &str) -> Value {
    json!({ "content": [
        { "type": "text", "text": "Let me look." },
        { "type": "toolCall", "id": id, "name": tool, "arguments": arguments },
    ] })
}

/// Streams a little text of an answer to `model/complete`.
pub fn stream(client: &mut Client, asked: &Value, text: &str) {
    let ops = json!([{ "op": "appendContent", "text": text }]);
    client.notify("model/delta", json!({ "requestId": asked["params"]["requestId"], "ops": ops }));
}

/// Whether a frame is the event of this type.
pub fn is_event(frame: &Value, kind: &str) -> bool {
    frame["method"] == "session/event" && frame["params"]["type"] == kind
}

/// Takes the event that tells that the session is in this state.
pub fn wait_state(client: &mut Client, session: &str, state: &str) -> Value {
    client.wait_notification(&format!("{session} in state {state}"), |frame| {
        let params = &frame["params"];
        is_event(frame, "runtimeUpdated") && params["sessionId"] == session && params["state"] == state
    })
}
