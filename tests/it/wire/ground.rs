//! Helpers of the tests of load, ends and secrets: a folder, an initialized server, long histories, a model's
//! summary. No assertions.

use super::client::{Client, Start};
use serde_json::{Value, json};
use std::path::PathBuf;
use uuid::Uuid;

/// A small window, in tokens.
pub const WINDOW: u32 = 4000;

/// A summary that is accepted.
pub const SUMMARY: &str = "<summary>\n## Goal\nTo go on.\n## Decisions\nNone.\n## State\nGood.\n## Next steps\nMore.\n\
                           ## Open questions\nNone.\n</summary>";

/// A storage folder, removed on drop.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        Self(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("store-{}", Uuid::now_v7())))
    }

    pub fn path(&self) -> &str {
        self.0.to_str().expect("a path of text")
    }

    /// Parameters of `initialize`: this storage folder, a client with all capabilities, a small window, and
    /// no effective deadline for models.
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

    /// Starts and initializes a server.
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

/// A history that overflows [`WINDOW`], most of it assistant text, which only a summary shortens; one summary
/// suffices. Turns have ids if `is_named`.
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

/// A model's answer with this text.
pub fn said(text: &str) -> Value {
    json!({ "content": text })
}

/// A model's answer with one tool call.
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

/// `true` if a frame is a session event of this type.
pub fn is_event(frame: &Value, kind: &str) -> bool {
    frame["method"] == "session/event" && frame["params"]["type"] == kind
}

/// Waits for the event that reports this state of the session.
pub fn wait_state(client: &mut Client, session: &str, state: &str) -> Value {
    client.wait_notification(&format!("{session} in state {state}"), |frame| {
        let params = &frame["params"];
        is_event(frame, "runtimeUpdated") && params["sessionId"] == session && params["state"] == state
    })
}
