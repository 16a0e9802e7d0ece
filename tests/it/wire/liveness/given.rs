//! Parameters of every request that a client may send, from ids that it has seen, and damage to them. A
//! method of the protocol without an entry here fails the test.

use super::super::ground::words;
use protocol::methods::{Direction, METHODS};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The sessions of a case.
pub const SESSIONS: [&str; 3] = ["a", "b", KEPT];
/// The session from which no request removes a message.
pub const KEPT: &str = "kept";
/// Methods that remove or replace messages, or add some at a time that no client chooses.
const CHANGING: [&str; 11] = [
    "turn/retry",
    "turn/regenerate",
    "message/update",
    "message/remove",
    "message/truncate",
    "session/reset",
    "session/restore",
    "session/delete",
    "session/import",
    "loop/start",
    "task/start",
];

/// The requests that a client may send.
pub fn methods() -> Vec<&'static str> {
    let is_request = |info: &&protocol::methods::MethodInfo| {
        info.direction == Direction::ToSidecar && info.result.is_some()
    };
    METHODS.iter().filter(is_request).map(|info| info.name).collect()
}

/// Choices from one number, so that a printed case is complete.
#[derive(Debug, Clone, Copy)]
pub struct Choice(pub u64);

impl Choice {
    /// Returns a number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = bound as u64;
        let chosen = self.0 % bound;
        self.0 /= bound;
        chosen as usize
    }

    /// Returns one of these.
    pub fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }
}

/// Ids that the client has seen, by the name of their field, newest last.
#[derive(Debug, Default)]
pub struct Seen(BTreeMap<String, Vec<String>>);

impl Seen {
    /// Remembers the ids of a frame.
    pub fn add(&mut self, value: &Value) {
        match value {
            Value::Array(values) => values.iter().for_each(|value| self.add(value)),
            Value::Object(fields) => {
                for (name, value) in fields {
                    match value.as_str() {
                        Some(id) if name == "id" || name.ends_with("Id") => {
                            let ids = self.0.entry(name.clone()).or_default();
                            ids.retain(|known| known != id);
                            ids.push(id.to_owned());
                        }
                        _ => self.add(value),
                    }
                }
            }
            _ => {}
        }
    }

    /// One of the newest ids of a field, or one that does not exist.
    fn id(&self, name: &str, choice: &mut Choice) -> Value {
        let newest: Vec<&String> = self.0.get(name).into_iter().flatten().rev().take(6).collect();
        match newest.is_empty() {
            true => json!("nothing"),
            false => json!(choice.of(&newest)),
        }
    }
}

/// Tools of the client: one that runs at once, one that the user is asked about.
pub fn tools() -> Value {
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    json!([
        { "name": "read", "description": "Shows a file.", "kind": "read", "inputSchema": schema },
        { "name": "write", "description": "Writes a file.", "inputSchema": schema, "policy": "ask" },
    ])
}

/// A history that is longer than the window of the tests allows without a compaction.
pub fn history(name: &str) -> Value {
    let turn = |n: usize| {
        json!({
            "externalId": format!("{name}-{n}"), "request": format!("do step {n}"),
            "rounds": [{ "assistant": { "parts": words("done", 600) } }],
        })
    };
    (0..5).map(turn).collect()
}

/// The session that a request is about: one that may lose messages, if the request may remove some.
pub fn about(method: &str, session: usize) -> &'static str {
    match CHANGING.contains(&method) {
        // Background sessions report to their parent later, so it is always the same one.
        true if ["loop/start", "task/start"].contains(&method) => "a",
        true => SESSIONS[session % 2],
        false => SESSIONS[session],
    }
}

/// Parameters of a request about this session.
pub fn params(method: &str, session: &str, folder: &str, seen: &Seen, mut choice: Choice) -> Value {
    let choice = &mut choice;
    let mut params = match method {
        "session/open" => open(session, folder, choice),
        "session/list" => {
            choice.of(&[json!({}), json!({ "workspaceFolder": folder }), json!({ "limit": 1 })])
        }
        "model/check" => json!({ "model": { "name": "m", "wire": "scripted" } }),
        // No key has this name, so that nothing is asked over the network.
        "model/list" => json!({ "model": { "wire": "anthropic", "keyEnv": "MISSING" } }),
        "session/search" => {
            choice.of(&[json!({ "query": "request" }), json!({ "query": "a", "workspaceFolder": folder })])
        }
        "session/messages" | "session/history" | "session/ledger" => {
            choice.of(&[json!({}), json!({ "workspaceFolder": folder, "limit": 2 })])
        }
        "session/subscribe" => {
            let stream = seen.id("stream", choice);
            choice.of(&[
                json!({}),
                json!({ "snapshotMessages": 1 }),
                json!({ "stream": stream, "sinceSeq": 1 }),
            ])
        }
        "turn/start" => {
            let large = words("Explain", 900);
            let content = choice.of(&["Go on.", "And now?", &large]).to_owned();
            let key = choice.of(&[Value::Null, Value::Null, json!("once")]);
            let priority = choice.below(3) == 0;
            json!({ "content": content, "priority": priority, "idempotencyKey": key, "tools": tools() })
        }
        "turn/cancel" => {
            let id = seen.id("turnId", choice);
            let turn = choice.of(&[Value::Null, Value::Null, id]);
            json!({ "turnId": turn, "cancelQueued": choice.below(2) == 0 })
        }
        "turn/end" => json!({ "status": choice.of(&["completed", "cancelled", "failed"]) }),
        "round/append" => json!({ "round": {
            "assistant": { "parts": [
                { "type": "text", "text": words("done", 100) },
                { "type": "toolCall", "id": "c1", "name": "read", "arguments": "{}" },
            ] },
            "results": [{ "toolCallId": "c1", "content": words("line", 100) }],
        } }),
        "prompt/render" => {
            let summarize = choice.of(&["auto", "force", "never"]);
            let mut params = json!({ "input": { "content": "Go on." }, "summarize": summarize });
            if session != KEPT && choice.below(2) == 0 {
                params["history"] = history(session);
                params["workspaceFolder"] = json!(folder);
            }
            params
        }
        "tool/decide" => {
            let decision = choice.of(&["allowOnce", "allowAlways", "rejectOnce", "rejectAlways"]);
            json!({ "decisions": [{ "toolCallId": seen.id("toolCallId", choice), "decision": decision }] })
        }
        "tool/result" => json!({ "toolCallId": seen.id("toolCallId", choice), "content": "A line." }),
        "context/compact" => {
            let redo = seen.id("compactionId", choice);
            choice.of(&[json!({}), json!({}), json!({ "preview": true }), json!({ "redo": redo })])
        }
        "context/undo" => {
            let id = seen.id("compactionId", choice);
            choice.of(&[json!({}), json!({ "compactionId": id })])
        }
        "context/edit" => {
            json!({ "compactionId": seen.id("compactionId", choice), "narrative": "It was good." })
        }
        "context/exclude" => json!({ "messageIds": [seen.id("messageId", choice)] }),
        "context/pin" => {
            let id = seen.id("messageId", choice);
            choice.of(&[json!({ "text": "Keep this." }), json!({ "messageId": id })])
        }
        "context/unpin" => json!({ "pinId": seen.id("pinId", choice) }),
        "context/recall" => json!({ "ref": seen.id("messageId", choice), "limit": 10 }),
        "context/search" => json!({ "query": choice.of(&["done", "line", ""]) }),
        "turn/retry" => {
            let id = seen.id("messageId", choice);
            choice.of(&[json!({ "fromIndex": 0 }), json!({ "fromMessageId": id, "content": "Again." })])
        }
        "message/update" => {
            let id = seen.id("messageId", choice);
            json!({ "messageId": id, "content": "Other words.", "regenerate": choice.below(2) == 0 })
        }
        "message/remove" | "message/truncate" => {
            let id = seen.id("messageId", choice);
            choice.of(&[json!({ "index": 0 }), json!({ "index": 2 }), json!({ "messageId": id })])
        }
        "queue/remove" => json!({ "itemId": seen.id("itemId", choice) }),
        "session/fork" => {
            let id = seen.id("messageId", choice);
            choice.of(&[json!({}), json!({ "upToIndex": 0 }), json!({ "upToMessageId": id })])
        }
        "session/restore" => json!({ "revisionId": seen.id("revisionId", choice) }),
        "session/reset" => json!({ "keepQueue": choice.below(2) == 0 }),
        "session/import" => json!({
            "workspaceFolder": folder, "data": r#"{"messages":[{"role":"user","content":"Hello."}]}"#,
        }),
        "session/export" => json!({ "format": choice.of(&["jsonl", "trajectory", "markdown"]) }),
        "trajectory/list" | "tool/approvals" | "memory/list" => json!({ "workspaceFolder": folder }),
        "draft/set" => json!({ "text": "Not yet" }),
        "scope/put" => json!({ "plan": "To go on.", "ifRevision": choice.of(&[Value::Null, json!(1)]) }),
        "memory/put" => json!({ "workspaceFolder": folder, "text": "It is so.", "tags": ["x"] }),
        "memory/search" => json!({ "workspaceFolder": folder, "query": "so" }),
        "memory/delete" => json!({ "workspaceFolder": folder, "id": seen.id("id", choice) }),
        "loop/start" => json!({
            "workspaceFolder": folder, "parentId": session, "until": { "passes": 1 + choice.below(2) },
            "stages": [{ "content": "Plan it." }, { "content": "Do it.", "tools": tools() }],
        }),
        "loop/stop" => json!({ "loopId": seen.id("loopId", choice) }),
        "task/start" => json!({ "workspaceFolder": folder, "content": "Look at it." }),
        "session/takeOver" | "task/list" | "mcp/list" => json!({ "workspaceFolder": folder }),
        "mcp/allow" => {
            json!({ "workspaceFolder": folder, "name": "s", "definition": "0", "decision": "forget" })
        }
        "mcp/contents" => json!({}),
        "mcp/content" => json!({ "server": "s", "uri": "file:///a" }),
        "command/effects" => json!({ "command": "rm -r a && mv b c" }),
        "worktree/snapshot" => json!({ "workspaceFolder": folder }),
        "worktree/changes" => {
            json!({ "workspaceFolder": folder, "from": seen.id("snapshotId", choice), "to": "none" })
        }
        "session/configure" => {
            let settings = choice.of(&[
                json!({ "model": { "window": 3000 } }),
                json!({ "compaction": "ask" }),
                json!({ "compaction": "auto" }),
            ]);
            json!({
                "settings": settings, "title": choice.of(&[Value::Null, json!("A title")]),
                "forgetLearnedLimits": choice.of(&[json!(false), json!(true)]),
            })
        }
        "model/key" => json!({ "name": "some", "value": choice.of(&[Value::Null, json!("k")]) }),
        "turn/regenerate" | "context/inspect" | "context/ledger" | "draft/clear" | "scope/get"
        | "session/close" | "session/delete" | "server/diagnostics" => json!({}),
        method => panic!("{method} has no parameters here"),
    };
    let has_none = [
        "session/list",
        "session/search",
        "server/diagnostics",
        "model/key",
        "model/check",
        "model/list",
        "mcp/list",
        "mcp/allow",
        "command/effects",
        "worktree/snapshot",
        "worktree/changes",
        "loop/start",
        "loop/stop",
    ];
    if !has_none.contains(&method) && !method.starts_with("memory/") {
        params["sessionId"] = json!(session);
    }
    params
}

fn open(session: &str, folder: &str, choice: &mut Choice) -> Value {
    let mut params = json!({ "workspaceFolder": folder, "tools": tools() });
    params["driver"] = choice.of(&[Value::Null, Value::Null, json!("sidecar"), json!("editor")]);
    match choice.below(5) {
        0 => params["follow"] = json!(true),
        1 => params["snapshotMessages"] = json!(1),
        2 if session != KEPT => params["history"] = history(session),
        3 => params["settings"] = json!({ "compaction": choice.of(&["ask", "auto"]) }),
        _ => {}
    }
    params
}

/// Makes parameters slightly wrong.
pub fn damaged(mut params: Value, mut choice: Choice) -> Value {
    let wrong = choice.of(&[
        Value::Null,
        json!(-1),
        json!(""),
        json!("nobody"),
        json!([1]),
        json!({ "x": [] }),
        json!(true),
        json!(9_007_199_254_740_993_u64),
        json!("\u{0}"),
    ]);
    let is_whole = choice.below(10) == 0;
    let is_removed = choice.below(4) == 0;
    let Some(fields) = params.as_object_mut().filter(|fields| !is_whole && !fields.is_empty()) else {
        return wrong;
    };
    let names: Vec<String> = fields.keys().cloned().collect();
    let name = choice.of(&names);
    match is_removed {
        true => drop(fields.remove(&name)),
        false => drop(fields.insert(name, wrong)),
    }
    params
}
