//! A transcript as a flat list of messages, read from its original file with only a JSON parser. Shares no
//! code with the importers, so what both read was read independently.

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaker {
    System,
    User,
    /// A program, with the user's role.
    Program,
    Assistant,
    Tool,
}

/// A message of the source. Its index in [`Source::messages`] is its ordinal.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    pub(crate) speaker: Speaker,
    /// Texts and thinking in the form of a dump's parts; empty texts are left out.
    pub(crate) parts: Vec<Value>,
    pub(crate) calls: Vec<Call>,
    /// The source's id of the call that a result belongs to.
    answers: String,
}

/// A tool call of the source.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: Value,
    /// The index of its result, if there is one.
    pub(crate) answered_by: Option<usize>,
}

/// A transcript.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub(crate) messages: Vec<Said>,
    /// Names of the offered tools, if the source has them.
    pub(crate) tools: BTreeSet<String>,
}

impl Said {
    pub(crate) fn new(speaker: Speaker, parts: Vec<Value>) -> Self {
        Self { speaker, parts, calls: Vec::new(), answers: String::new() }
    }

    fn assistant(parts: Vec<Value>, calls: Vec<Call>) -> Self {
        Self { calls, ..Self::new(Speaker::Assistant, parts) }
    }

    fn result(call: &Value, parts: Vec<Value>) -> Self {
        Self { answers: string(call), ..Self::new(Speaker::Tool, parts) }
    }

    /// `true` for messages that a model must not see: system rows, and answers left empty by an abort.
    pub(crate) fn is_hidden(&self) -> bool {
        self.speaker == Speaker::System
            || (self.speaker == Speaker::Assistant && self.parts.is_empty() && self.calls.is_empty())
    }

    /// The texts of its parts, one per line.
    pub(crate) fn text(&self) -> String {
        let texts: Vec<&str> = self.parts.iter().filter_map(|part| part["text"].as_str()).collect();
        texts.join("\n")
    }
}

impl Source {
    /// Parses a file of this format.
    pub(crate) fn read(format: &str, bytes: &[u8]) -> Self {
        let records = || -> Vec<Value> {
            let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
            lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
        };
        let whole = || -> Value { serde_json::from_slice(bytes).unwrap() };
        let mut tools = BTreeSet::new();
        let mut messages = match format {
            "claude-code" => claude_code(&records()),
            "pi" => pi(&records()),
            "vscode-chat" => vscode_chat(&whole()),
            "chatreplay" => chatreplay(&whole(), &mut tools),
            "swe-agent" => swe_agent(&whole()),
            "codex" => codex(&records()),
            "cline" => cline(&whole()),
            "openhands" => openhands(&whole(), &mut tools),
            other => panic!("no reader for {other}"),
        };
        pair(&mut messages);
        Self { messages, tools }
    }

    /// Indexes of the assistant messages: a prompt is rendered before each.
    pub(crate) fn assistants(&self) -> Vec<usize> {
        let is = |at: &usize| self.messages[*at].speaker == Speaker::Assistant;
        (0..self.messages.len()).filter(is).collect()
    }

    /// The text of the first system row, which is the only system block.
    pub(crate) fn system(&self) -> Option<String> {
        self.messages.iter().find(|said| said.speaker == Speaker::System).map(Said::text)
    }
}

/// Matches each call with its result, which must precede the next user or assistant message.
fn pair(messages: &mut [Said]) {
    for at in 0..messages.len() {
        let (before, after) = messages.split_at_mut(at + 1);
        let mut taken = BTreeSet::new();
        let ends = |said: &Said| {
            said.speaker == Speaker::User || (said.speaker == Speaker::Assistant && !said.is_hidden())
        };
        for (offset, result) in after.iter().enumerate().take_while(|(_, said)| !ends(said)) {
            let open = before[at].calls.iter_mut().find(|call| {
                result.speaker == Speaker::Tool && call.id == result.answers && call.answered_by.is_none()
            });
            if let Some(call) = open
                && taken.insert(offset)
            {
                call.answered_by = Some(at + 1 + offset);
            }
        }
    }
}

fn claude_code(records: &[Value]) -> Vec<Said> {
    let mut messages: Vec<Said> = Vec::new();
    let mut by_id: BTreeMap<String, usize> = BTreeMap::new();
    for record in records {
        let message = &record["message"];
        let content = &message["content"];
        match record["type"].as_str() {
            Some("assistant") => {
                let at = *by_id.entry(string(&message["id"])).or_insert(messages.len());
                if at == messages.len() {
                    messages.push(Said::assistant(Vec::new(), Vec::new()));
                }
                messages[at].parts.extend(parts(content));
                messages[at]
                    .calls
                    .extend(of_type(content, "tool_use").map(|block| call(block, &block["input"])));
            }
            Some("user") => {
                let results = of_type(content, "tool_result");
                messages.extend(results.map(|b| Said::result(&b["tool_use_id"], parts(&b["content"]))));
                let words = parts(content);
                if !words.is_empty() {
                    messages.extend(typed(words, record["isMeta"] == true));
                }
            }
            _ => {}
        }
    }
    messages
}

/// A user's record of Claude Code: words, a command as typed, or what the program wrote; `None` if that says nothing.
fn typed(words: Vec<Value>, is_meta: bool) -> Option<Said> {
    let said = Said::new(Speaker::User, words);
    let whole = said.text();
    let command = |tag: &str| {
        let (_, rest) = whole.split_once(&format!("<{tag}>"))?;
        Some(rest.split_once(&format!("</{tag}>"))?.0)
    };
    let by_program = |name: &str, text: &str| {
        let line = "Background as it stood when this message was sent; the user did not write it.";
        let text = format!("<attachment name=\"{name}\">\n{line}\n{text}\n</attachment>");
        Said::new(Speaker::Program, vec![json!({"type": "attachment", "name": name, "text": text})])
    };
    match whole.as_str() {
        "<local-command-stdout></local-command-stdout>" => None,
        text if text.starts_with("Caveat: ") => Some(by_program("caveat", text)),
        text if is_meta => Some(by_program("program", text.trim())),
        text if text.starts_with("<command-name>") => Some(by_program("command", command("command-name")?)),
        text if text.starts_with("<command-message>") => {
            Some(Said::new(Speaker::User, vec![self::text(command("command-name")?)]))
        }
        _ => Some(said),
    }
}

fn pi(records: &[Value]) -> Vec<Said> {
    let messages =
        records.iter().filter(|record| record["type"] == "message").map(|record| &record["message"]);
    let said = messages.map(|message| {
        let content = &message["content"];
        match message["role"].as_str() {
            Some("user") => Said::new(Speaker::User, parts(content)),
            Some("toolResult") => Said::result(&message["toolCallId"], parts(content)),
            Some("assistant") => {
                let calls = of_type(content, "toolCall").map(|block| call(block, &block["arguments"]));
                Said::assistant(parts(content), calls.collect())
            }
            other => panic!("a role that this reader does not know: {other:?}"),
        }
    });
    said.collect()
}

fn vscode_chat(root: &Value) -> Vec<Said> {
    let mut messages = Vec::new();
    for request in list(&root["requests"]) {
        messages.push(Said::new(Speaker::User, parts(&request["message"]["text"])));
        let metadata = &request["result"]["metadata"];
        for round in list(&metadata["toolCallRounds"]) {
            let calls: Vec<Call> =
                list(&round["toolCalls"]).iter().map(|of| call(of, &of["arguments"])).collect();
            let ids: Vec<Value> = calls.iter().map(|call| json!(call.id)).collect();
            messages.push(Said::assistant(parts(&round["response"]), calls));
            for id in ids {
                if let Some(result) = metadata["toolCallResults"].get(string(&id)) {
                    let values = list(&result["content"]).iter().map(|part| text(&string(&part["value"])));
                    messages.push(Said::result(&id, values.collect()));
                }
            }
        }
    }
    messages
}

/// Each request has the whole history, so the last one and its answer suffice. A system text is put where the
/// first request with it adds messages.
fn chatreplay(root: &Value, tools: &mut BTreeSet<String>) -> Vec<Said> {
    let logs = list(&root["prompts"]).iter().flat_map(|prompt| list(&prompt["logs"]));
    let requests: Vec<&Value> = logs.filter(|log| log["kind"] == "request").collect();
    let rows = |request: &Value| list(&request["requestMessages"]["messages"]).to_vec();
    let spoken = |request: &Value| -> Vec<Value> {
        rows(request).into_iter().filter(|row| row["role"] != 0).collect()
    };
    let last = requests.last().unwrap();
    let history = spoken(last);
    let mut messages = Vec::new();
    let mut systems = BTreeSet::new();
    let mut known = 0;
    for request in &requests {
        for row in rows(request).iter().filter(|row| row["role"] == 0) {
            let words = parts(&row["content"]);
            if systems.insert(json!(words).to_string()) {
                messages.push(Said::new(Speaker::System, words));
            }
        }
        // The next request has the answer with its calls; the last request's answer is in none.
        let end = (spoken(request).len() + 1).min(history.len());
        messages.extend(history[known..end].iter().map(chat_row));
        known = end;
        tools
            .extend(list(&request["metadata"]["tools"]).iter().map(|tool| string(&tool["function"]["name"])));
    }
    let answer = list(&last["response"]["message"]).iter().map(|part| text(&string(part)));
    messages.push(Said::assistant(answer.collect(), Vec::new()));
    messages
}

fn chat_row(row: &Value) -> Said {
    let words = parts(&row["content"]);
    match row["role"].as_u64() {
        Some(1) => Said::new(Speaker::User, words),
        Some(2) => Said::assistant(words, function_calls(&row["toolCalls"])),
        Some(3) => Said::result(&row["toolCallId"], words),
        other => panic!("a role that this reader does not know: {other:?}"),
    }
}

fn swe_agent(root: &Value) -> Vec<Said> {
    let said = list(&root["history"]).iter().map(|row| {
        let words = parts(&row["content"]);
        match row["role"].as_str() {
            Some("system") => Said::new(Speaker::System, words),
            Some("user") => Said::new(Speaker::User, words),
            Some("assistant") => Said::assistant(words, function_calls(&row["tool_calls"])),
            Some("tool") => Said::result(&row["tool_call_ids"][0], words),
            other => panic!("a role that this reader does not know: {other:?}"),
        }
    });
    said.collect()
}

/// The log of a terminal: text typed while no task ran, streamed thinking, whole answers.
fn codex(records: &[Value]) -> Vec<Said> {
    let mut messages = Vec::new();
    let (mut typed, mut thought, mut is_running) = (String::new(), String::new(), false);
    for record in records {
        let event = &record["payload"]["msg"];
        match event["type"].as_str() {
            Some("task_started") => {
                let words = std::mem::take(&mut typed);
                messages.push(Said::new(Speaker::User, vec![text(words.trim())]));
                is_running = true;
            }
            Some("agent_reasoning_raw_content_delta") => thought += &string(&event["delta"]),
            Some("agent_message") => {
                let thinking =
                    json!({"type": "reasoning", "text": std::mem::take(&mut thought), "signature": null});
                messages.push(Said::assistant(vec![thinking, text(&string(&event["message"]))], Vec::new()));
            }
            Some("task_complete") => is_running = false,
            _ => {}
        }
        let key = record["event"].as_str().filter(|key| !is_running && key.contains("kind: Press"));
        match key.and_then(|key| key.split("code: ").nth(1)) {
            Some(code) if code.starts_with("Char('") && code.contains("(0x0), kind") => {
                typed.push(code.chars().nth(6).unwrap());
            }
            Some(code) if code.starts_with("Backspace") => drop(typed.pop()),
            _ => {}
        }
    }
    messages
}

fn cline(root: &Value) -> Vec<Said> {
    let mut messages = vec![Said::new(Speaker::System, parts(&root["system_prompt"]))];
    for message in list(&root["messages"]) {
        let content = &message["content"];
        if message["role"] == "assistant" {
            let calls = of_type(content, "tool_use").map(|block| call(block, &block["input"]));
            messages.push(Said::assistant(parts(content), calls.collect()));
            continue;
        }
        messages.extend(of_type(content, "tool_result").map(|block| {
            let words = block["content"].as_str().map_or_else(|| block["content"].to_string(), str::to_owned);
            Said::result(&block["tool_use_id"], vec![text(&words)])
        }));
        let words = parts(content);
        if !words.is_empty() {
            messages.push(Said::new(Speaker::User, words));
        }
    }
    messages
}

fn openhands(root: &Value, tools: &mut BTreeSet<String>) -> Vec<Said> {
    tools.extend(list(&root["tools"]).iter().map(|tool| string(&tool["function"]["name"])));
    let answer = &root["response"]["choices"][0]["message"];
    let said = list(&root["raw_messages"]).iter().chain([answer]).map(|row| {
        let words = parts(&row["content"]);
        match row["role"].as_str() {
            Some("system") => Said::new(Speaker::System, words),
            Some("user") => Said::new(Speaker::User, words),
            Some("assistant") => Said::assistant(words, function_calls(&row["tool_calls"])),
            Some("tool") => Said::result(&row["tool_call_id"], words),
            other => panic!("a role that this reader does not know: {other:?}"),
        }
    });
    said.collect()
}

/// Texts, thinking and files of a content, without empty texts.
fn parts(content: &Value) -> Vec<Value> {
    if let Some(words) = content.as_str() {
        return Some(text(words)).filter(|_| !words.is_empty()).into_iter().collect();
    }
    let blocks = list(content).iter().filter_map(|block| match &block["type"] {
        Value::String(kind) if kind == "thinking" => Some(json!({
            "type": "reasoning", "text": block["thinking"], "signature": block["thinkingSignature"],
        })),
        kind if kind == "text" || kind == 1 => Some(text(&string(&block["text"]))),
        kind if kind == "file" => {
            Some(json!({"type": "contextFile", "path": block["path"], "text": block["content"]}))
        }
        _ => None,
    });
    blocks.filter(|part| part["type"] != "text" || part["text"] != "").collect()
}

fn function_calls(calls: &Value) -> Vec<Call> {
    let named = |of: &Value| {
        let function = &of["function"];
        call(&json!({"id": of["id"], "name": function["name"]}), &function["arguments"])
    };
    list(calls).iter().map(named).collect()
}

/// Arguments are JSON, or a string with JSON.
fn call(of: &Value, arguments: &Value) -> Call {
    let inner = arguments.as_str().and_then(|words| serde_json::from_str(words).ok());
    let arguments = inner.unwrap_or_else(|| arguments.clone());
    Call { id: string(&of["id"]), name: string(&of["name"]), arguments, answered_by: None }
}

fn of_type<'a>(content: &'a Value, kind: &'a str) -> impl Iterator<Item = &'a Value> {
    list(content).iter().filter(move |block| block["type"] == kind)
}

fn text(words: &str) -> Value {
    json!({"type": "text", "text": words})
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no string: {value}")).to_owned()
}
