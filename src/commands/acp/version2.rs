//! Version 2 of the protocol, which is a preview, as a translation at the connection: requests of the editor become those
//! of version 1, and what the agent says in version 1 becomes version 2. A prompt is answered once it is part of the
//! conversation; its end is an update of the session's state.

use super::failure::{invalid, unknown_method};
use serde_json::{Map, Value, json};
use similar::TextDiff;
use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;
use tower_lsp::jsonrpc::{Error, Id};

/// The version's number.
const VERSION: u64 = 2;
/// Id of the option that takes the place of modes.
const MODE: &str = "mode";
/// Id of the plan: a session has one.
const PLAN: &str = "todos";
/// Time for the difference of one file.
const MOST_TIME: Duration = Duration::from_millis(200);

/// The translation, with what it must know of requests and sessions.
#[derive(Debug, Default)]
pub(super) struct Version2 {
    /// Requests of the editor whose answers have another form, by their ids as JSON.
    asked: HashMap<String, Asked>,
    /// Sessions of questions that wait for the user, by the numbers of our requests.
    questions: HashMap<i64, String>,
    sessions: HashMap<String, ShownSession>,
}

/// A request of the editor.
#[derive(Debug)]
enum Asked {
    Initialize,
    New,
    Resume(String),
    Prompt {
        session: String,
        content: Value,
        /// `true` once it was answered.
        is_accepted: bool,
    },
    Mode(String, Value),
    Option(String),
}

/// A session as it was shown.
#[derive(Debug, Default)]
struct ShownSession {
    /// Options without the mode.
    options: Vec<Value>,
    mode: Option<Value>,
    state: Option<&'static str>,
}

impl ShownSession {
    /// All options, the mode first.
    fn options(&self) -> Value {
        self.mode.iter().chain(&self.options).cloned().collect()
    }

    fn choose_mode(&mut self, mode: Value) {
        if let Some(option) = &mut self.mode {
            option["currentValue"] = mode;
        }
    }
}

/// `true` if the parameters of `initialize` ask for this version.
pub(super) fn is_asked_for(params: &Value) -> bool {
    let version = params.get("protocolVersion").and_then(Value::as_u64);
    // A client of version 1 has no `info`, whatever number it sends.
    version.is_some_and(|version| version >= VERSION) && params.get("info").is_some_and(Value::is_object)
}

impl Version2 {
    /// Translates a request of the editor.
    pub fn requested(&mut self, id: &Id, method: &str, mut params: Value) -> Result<(String, Value), Error> {
        let text = |params: &Value, key: &str| params.get(key).and_then(Value::as_str).map(str::to_owned);
        let session = text(&params, "sessionId").unwrap_or_default();
        let mut first = method;
        let asked = match method {
            "initialize" => {
                let session = json!({ "compaction": {}, "notices": {} });
                let elicitation = params["capabilities"]["elicitation"].take();
                let capabilities = json!({ "session": session, "elicitation": elicitation });
                params = json!({ "protocolVersion": 1, "clientInfo": params["info"], "clientCapabilities": capabilities });
                Some(Asked::Initialize)
            }
            "session/new" => {
                fill_servers(&mut params);
                Some(Asked::New)
            }
            "session/resume" => {
                fill_servers(&mut params);
                first = match params.get("replayFrom") {
                    None | Some(Value::Null) => method,
                    Some(from) if from.get("type").is_some_and(|kind| kind == "start") => "session/load",
                    Some(_) => return Err(invalid("replayFrom must be {\"type\": \"start\"} or absent")),
                };
                Some(Asked::Resume(session))
            }
            "session/prompt" => {
                let content = params.get("prompt").cloned().unwrap_or_default();
                Some(Asked::Prompt { session, content, is_accepted: false })
            }
            "session/set_config_option" if params.get("configId").is_some_and(|option| option == MODE) => {
                first = "session/set_mode";
                let mode = params.get("value").cloned().unwrap_or_default();
                params = json!({ "sessionId": params["sessionId"], "modeId": mode });
                Some(Asked::Mode(session, mode))
            }
            "session/set_config_option" => {
                if let Value::Object(params) = &mut params
                    && params.get("type").is_some_and(|kind| kind == "id")
                {
                    params.remove("type");
                }
                Some(Asked::Option(session))
            }
            "session/list" | "session/close" | "session/delete" => None,
            _ => return Err(unknown_method(method)),
        };
        if let Some(asked) = asked {
            self.asked.insert(key(id), asked);
        }
        Ok((first.to_owned(), params))
    }

    /// `true` for a notification that version 2 has not: the cancellation of a request that was answered.
    pub fn ignores(&self, method: &str, params: &Value) -> bool {
        let id = params.get("requestId").map(Value::to_string);
        let asked = id.and_then(|id| self.asked.get(&id));
        method == "$/cancel_request" && matches!(asked, Some(Asked::Prompt { is_accepted: true, .. }))
    }

    /// Answers a prompt, whose message is part of the conversation now.
    pub fn accepted(&mut self, id: &Id, message: &str) -> Vec<Value> {
        let asked = self.asked.get_mut(&key(id));
        let Some(Asked::Prompt { session, content, is_accepted: is_accepted @ false }) = asked else {
            return Vec::new();
        };
        *is_accepted = true;
        let (session, content) = (session.clone(), content.take());
        let mut messages = self.works(&session, true);
        let echo = json!({ "sessionUpdate": "user_message", "messageId": message, "content": content });
        messages.push(update(&session, echo));
        messages.push(json!({ "jsonrpc": "2.0", "id": id, "result": { "messageId": message } }));
        messages
    }

    /// Tells whether a session works, if that changed.
    pub fn works(&mut self, session: &str, is_working: bool) -> Vec<Value> {
        self.becomes(session, if is_working { "running" } else { "idle" })
    }

    /// Notes that the user answered a question.
    pub fn answered(&mut self, number: i64) -> Vec<Value> {
        let Some(session) = self.questions.remove(&number) else { return Vec::new() };
        let is_asked = self.questions.values().any(|other| *other == session);
        let waits = self.sessions.get(&session).is_some_and(|shown| shown.state == Some("requires_action"));
        if waits && !is_asked { self.works(&session, true) } else { Vec::new() }
    }

    /// Translates a message of the agent.
    pub fn said(&mut self, mut message: Value) -> Vec<Value> {
        match message.get("method").and_then(Value::as_str) {
            Some("session/update") => self.updated(&message["params"]),
            Some("session/request_permission") => {
                let session = message["params"]["sessionId"].as_str().unwrap_or_default().to_owned();
                let Value::Object(mut params) = message["params"].take() else { return vec![message] };
                let call = called(params.remove("toolCall").unwrap_or_default());
                params.insert("title".to_owned(), call.get("title").cloned().unwrap_or_default());
                let mut messages = Vec::new();
                // Other questions are about no call.
                if call.contains_key("rawInput") {
                    messages.extend(difference(&call).map(|row| update(&session, row)));
                    params.insert("subject".to_owned(), json!({ "type": "tool_call", "toolCall": call }));
                }
                message["params"] = Value::Object(params);
                if let Some(number) = message["id"].as_i64() {
                    self.questions.insert(number, session.clone());
                }
                messages.extend(self.becomes(&session, "requires_action"));
                messages.push(message);
                messages
            }
            Some("elicitation/create") => {
                let session = message["params"]["sessionId"].as_str().unwrap_or_default().to_owned();
                if let Some(number) = message["id"].as_i64() {
                    self.questions.insert(number, session.clone());
                }
                let mut messages = self.becomes(&session, "requires_action");
                messages.push(message);
                messages
            }
            Some("$/cancel_request") => {
                if let Some(number) = message["params"]["requestId"].as_i64() {
                    self.questions.remove(&number);
                }
                vec![message]
            }
            Some(_) => vec![message],
            None => self.replied(message),
        }
    }

    fn becomes(&mut self, session: &str, state: &'static str) -> Vec<Value> {
        // The answer to its request tells the state.
        let is_opening = self.asked.values().any(|asked| matches!(asked, Asked::Resume(of) if of == session));
        let shown = self.sessions.entry(session.to_owned()).or_default();
        // A session that was not told of is idle.
        let before = shown.state.replace(state).unwrap_or("idle");
        if before == state || is_opening {
            return Vec::new();
        }
        vec![update(session, json!({ "sessionUpdate": "state_update", "state": state }))]
    }

    /// Translates an answer to a request of the editor.
    fn replied(&mut self, mut message: Value) -> Vec<Value> {
        let Some(asked) = self.asked.remove(&message["id"].to_string()) else { return vec![message] };
        let error = message.get("error").cloned();
        let mut messages = Vec::new();
        match asked {
            Asked::Prompt { session, is_accepted: true, .. } => {
                let mut idle = match &error {
                    Some(error) => json!({ "stopReason": "error", "error": error }),
                    None => message["result"].take(),
                };
                idle["sessionUpdate"] = "state_update".into();
                idle["state"] = "idle".into();
                self.sessions.entry(session.clone()).or_default().state = Some("idle");
                return vec![update(&session, idle)];
            }
            _ if error.is_some() => return vec![message],
            Asked::Initialize => message["result"] = introduction(&message["result"]),
            Asked::Prompt { .. } => {
                // Cancelled before it became part of the conversation.
                let error =
                    json!({ "code": -32800, "message": "the prompt was cancelled before it was sent" });
                message = json!({ "jsonrpc": "2.0", "id": message["id"], "error": error });
            }
            Asked::New => {
                let session = message["result"]["sessionId"].as_str().unwrap_or_default().to_owned();
                self.opened(&session, &mut message);
            }
            Asked::Resume(session) => {
                let shown = self.sessions.entry(session.clone()).or_default();
                let state = *shown.state.get_or_insert("idle");
                messages.push(update(&session, json!({ "sessionUpdate": "state_update", "state": state })));
                self.opened(&session, &mut message);
            }
            Asked::Mode(session, mode) => {
                let shown = self.sessions.entry(session).or_default();
                shown.choose_mode(mode);
                message["result"] = json!({ "configOptions": shown.options() });
            }
            Asked::Option(session) => {
                let shown = self.sessions.entry(session).or_default();
                shown.options = options(message["result"]["configOptions"].take());
                message["result"] = json!({ "configOptions": shown.options() });
            }
        }
        messages.push(message);
        messages
    }

    /// Makes the options of a session that was opened one list.
    fn opened(&mut self, session: &str, message: &mut Value) {
        let shown = self.sessions.entry(session.to_owned()).or_default();
        let Some(result) = message.get_mut("result").and_then(Value::as_object_mut) else { return };
        shown.options = options(result.remove("configOptions").unwrap_or_default());
        shown.mode = result.remove("modes").map(modes);
        result.insert("configOptions".to_owned(), shown.options());
    }

    fn updated(&mut self, params: &Value) -> Vec<Value> {
        let session = params["sessionId"].as_str().unwrap_or_default();
        let mut told = params["update"].clone();
        let kind = told["sessionUpdate"].as_str().unwrap_or_default().to_owned();
        match kind.as_str() {
            "tool_call" => {
                let mut call = called(told);
                // The call's own fragments have no places in the file; the difference comes with a question.
                call.remove("content");
                told = Value::Object(call);
                told["sessionUpdate"] = "tool_call_update".into();
            }
            "tool_call_update" => told = Value::Object(called(told)),
            "plan" => {
                let plan = json!({ "type": "items", "planId": PLAN, "entries": told["entries"].take() });
                told = json!({ "sessionUpdate": "plan_update", "plan": plan });
            }
            "available_commands_update" => {
                for command in told["availableCommands"].as_array_mut().into_iter().flatten() {
                    command["type"] = "command".into();
                    if let Some(input) = command.get_mut("input").filter(|input| input.is_object()) {
                        input["type"] = "text".into();
                    }
                }
            }
            "current_mode_update" => {
                let shown = self.sessions.entry(session.to_owned()).or_default();
                shown.choose_mode(told["currentModeId"].take());
                told = json!({ "sessionUpdate": "config_option_update", "configOptions": shown.options() });
            }
            _ => {}
        }
        vec![update(session, told)]
    }
}

fn key(id: &Id) -> String {
    serde_json::to_string(id).unwrap_or_default()
}

fn update(session: &str, update: Value) -> Value {
    let params = json!({ "sessionId": session, "update": update });
    json!({ "jsonrpc": "2.0", "method": "session/update", "params": params })
}

/// Adds the fields that version 1 requires.
fn fill_servers(params: &mut Value) {
    let Value::Object(params) = params else { return };
    let servers = params.entry("mcpServers").or_insert_with(|| json!([]));
    if servers.is_null() {
        *servers = json!([]);
    }
    for server in servers.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        let lists: &[&str] = match server.get("type").and_then(Value::as_str) {
            Some("stdio") => {
                server.remove("type");
                &["args", "env"]
            }
            _ => &["headers"],
        };
        for list in lists {
            server.entry(*list).or_insert_with(|| json!([]));
        }
    }
}

/// The answer to `initialize`.
fn introduction(first: &Value) -> Value {
    let prompt = json!({ "image": {}, "embeddedContext": {} });
    let session = json!({ "prompt": prompt, "mcp": { "stdio": {}, "http": {} }, "delete": {} });
    json!({
        "protocolVersion": VERSION, "info": first["agentInfo"], "capabilities": { "session": session },
        "_meta": first["_meta"],
    })
}

fn options(first: Value) -> Vec<Value> {
    let Value::Array(options) = first else { return Vec::new() };
    let renamed = |option: Value| {
        let Value::Object(mut option) = option else { return option };
        let id = option.remove("id").unwrap_or_default();
        option.insert("configId".to_owned(), id);
        Value::Object(option)
    };
    options.into_iter().map(renamed).collect()
}

/// The modes as an option.
fn modes(mut first: Value) -> Value {
    let mode = |mode: &mut Value| {
        let Value::Object(mode) = mode else { return Value::Null };
        let id = mode.remove("id").unwrap_or_default();
        mode.insert("value".to_owned(), id);
        Value::Object(std::mem::take(mode))
    };
    let values: Vec<_> = first["availableModes"].as_array_mut().into_iter().flatten().map(mode).collect();
    json!({
        "configId": MODE, "name": "Mode", "category": "mode", "type": "select",
        "currentValue": first["currentModeId"], "options": values,
    })
}

/// A call with its differences in the form of this version.
fn called(call: Value) -> Map<String, Value> {
    let Value::Object(mut call) = call else { return Map::new() };
    for content in call.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten() {
        if content["type"] == "diff" {
            *content = changed(content);
        }
    }
    call
}

/// The row of a call whose question shows what it changes.
fn difference(call: &Map<String, Value>) -> Option<Value> {
    let content =
        call.get("content").filter(|content| content.as_array().is_some_and(|all| !all.is_empty()))?;
    Some(json!({ "sessionUpdate": "tool_call_update", "toolCallId": call["toolCallId"], "content": content }))
}

/// The change of a file, with a patch of it.
fn changed(first: &Value) -> Value {
    let text = |key: &str| first.get(key).and_then(Value::as_str);
    let path = text("path").unwrap_or_default();
    let (before, after) = (text("oldText"), text("newText").unwrap_or_default());
    let operation = if before.is_some() { "modify" } else { "add" };
    let change = json!({ "operation": operation, "path": path, "fileType": "text" });
    let mut diff = json!({ "type": "diff", "changes": [change] });
    // Others would have to be quoted as Git does.
    let is_plain = Path::new(path).is_absolute()
        && path.bytes().all(|byte| (b' '..=b'~').contains(&byte) && !matches!(byte, b'"' | b'\\'));
    if is_plain {
        diff["patch"] = json!({ "format": "git_patch", "text": patch(path, before, after) });
    }
    diff
}

fn patch(path: &str, before: Option<&str>, after: &str) -> String {
    let difference = TextDiff::configure().timeout(MOST_TIME).diff_lines(before.unwrap_or_default(), after);
    let (mode, from) = if before.is_some() { ("", path) } else { ("new file mode 100644\n", "/dev/null") };
    let hunks = difference.unified_diff().context_radius(3).header(from, path).to_string();
    format!("diff --git {path} {path}\n{mode}{hunks}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_name_whole_paths_and_new_files() {
        let diff = |old: Value| json!({ "type": "diff", "path": "/w/a b", "oldText": old, "newText": "one\nzwei\n" });
        let text = |old: Value| changed(&diff(old))["patch"]["text"].clone();
        let edited = "diff --git /w/a b /w/a b\n--- /w/a b\n+++ /w/a b\n@@ -1,2 +1,2 @@\n one\n-two\n+zwei\n";
        assert_eq!(text(json!("one\ntwo\n")), edited);
        let added = "diff --git /w/a b /w/a b\nnew file mode 100644\n--- /dev/null\n+++ /w/a b\n@@ -0,0 +1,2 @@\n\
                     +one\n+zwei\n";
        assert_eq!(text(Value::Null), added);
        let odd = json!({ "type": "diff", "path": "/w/ä", "oldText": "a\n", "newText": "b\n" });
        let change = json!({ "operation": "modify", "path": "/w/ä", "fileType": "text" });
        assert_eq!(changed(&odd), json!({ "type": "diff", "changes": [change] }));
    }
}
