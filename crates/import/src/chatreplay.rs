//! Chat replay exports of the Copilot extension: the requests sent to a model, each with its whole history,
//! and the answers. The task is to find out which messages of each request are new.
//!
//! **New messages of a request.** The messages of the previous request, with its answer, are the *view*.
//! 1. A request that begins with the whole view continues the conversation: its further messages are new. It also
//!    states the calls of the answer, which the log of the answer itself lacks.
//! 2. A request that does not, but contains a summary, shares a call with earlier messages or repeats a part of the
//!    view, is the same conversation after a compaction, an edit, a truncation or a retry: messages that it contains
//!    for the first time are new, a summary is a recorded compaction, and messages that it omits stay.
//! 3. Any other request starts a new chat, and all of its messages are new.
//!
//! Requests that the extension sends for itself (a title, a summary) are not part of the conversation and are
//! skipped.

use super::json::{Object, each_item, list, needed, needed_list, number, object, owned, text, whole};
use super::parts::{Said, contents, function_calls, joined, reported, said, tool};
use super::vscode_chat::bare_id;
use super::{Entry, Format, Import, ImportError};
use engine::id::CallId;
use engine::message::{AssistantPart, Beside, Body, ToolCall, ToolResult, Usage};
use serde_json::Value;
use std::collections::BTreeSet;

/// The tags around a summary in a history.
const SUMMARY: (&str, &str) = ("<conversation-summary>", "</conversation-summary>");
/// Name prefixes of requests that are not part of the conversation.
const HELPERS: [&str; 3] = ["title", "summarizeConversationHistory", "promptCategorization"];

/// Reads every request in the order of the logs.
pub(super) fn read(bytes: &[u8]) -> Result<Import, ImportError> {
    let mut import = Import::new(Format::Chatreplay);
    let root = whole(bytes, &mut import)?;
    let prompts = needed_list(&root, "prompts", &import)?;
    let mut reader = ChatreplayReader::default();
    each_item(prompts, "prompts", &mut import, |import, place, prompt| {
        each_item(list(prompt, "logs"), &format!("{place}.logs"), import, |import, place, log| {
            match needed(log, "kind")? {
                "request" => reader.request(import, place, log),
                "toolCall" => reader.tool_call(import, place, log),
                // Sizes of prompt elements.
                _ => Ok(()),
            }
        });
        Ok(())
    });
    reader.answer_from_logs(&mut import);
    Ok(import)
}

#[derive(Default)]
struct ChatreplayReader {
    /// The messages of the last request, and its answer.
    view: Vec<Body>,
    /// The index of the entry with the last answer, while its calls are unknown.
    answer: Option<usize>,
    /// Tools that ran after the last answer, from their own logs.
    ran: Vec<(ToolCall, ToolResult, Option<String>)>,
    /// The system texts already stored. The text changes with the user's model or mode.
    systems: BTreeSet<String>,
}

impl ChatreplayReader {
    fn request(&mut self, import: &mut Import, place: &str, log: &Object) -> Result<(), String> {
        let name = text(log, "name").unwrap_or_default();
        if HELPERS.iter().any(|helper| name.starts_with(helper)) {
            return Err(format!("is a helper's request (`{name}`) and no part of the conversation"));
        }
        let messages = match log.get("requestMessages").or(log.get("messages")) {
            Some(Value::Array(messages)) => messages.as_slice(),
            Some(Value::Object(of)) => list(of, "messages"),
            _ => return Err("has no `requestMessages`".into()),
        };
        let mut systems = Vec::new();
        let mut rows = Vec::new();
        each_item(messages, &format!("{place}.requestMessages"), import, |import, place, message| {
            match row(import, place, message)? {
                Row::System(words) => systems.push(words),
                Row::Message(body) => rows.push(*body),
            }
            Ok(())
        });
        let nothing = Object::new();
        let metadata = object(log, "metadata").unwrap_or(&nothing);
        for words in systems {
            if !self.systems.contains(&words) {
                import.push_system(&words, owned(metadata, "startTime"));
                self.systems.insert(words);
            }
        }
        if import.tools.is_empty() {
            import.tools = list(metadata, "tools").iter().filter_map(tool).collect();
        }
        self.store_new(import, rows, owned(metadata, "startTime"));
        self.store_answer(import, place, log, owned(metadata, "endTime"))
    }

    /// Stores the new messages of a request and makes its messages the view.
    fn store_new(&mut self, import: &mut Import, rows: Vec<Body>, time: Option<String>) {
        if self.continues(&rows) {
            let new = rows.get(self.view.len()..).unwrap_or_default();
            if let Some((at, spoken)) = self.answer.take().zip(rows.get(self.view.len().saturating_sub(1))) {
                learn_calls(import, at, spoken);
            }
            self.ran.clear();
            for row in new {
                import.push(row.clone(), None, time.clone());
            }
        } else {
            self.answer_from_logs(import);
            let known: Vec<Body> = import.entries.iter().filter_map(body_of).cloned().collect();
            let shares_call = |row: &Body| has_calls(row) && known.iter().any(|body| same(body, row));
            let again = rows.len() < self.view.len() && self.view.iter().zip(&rows).all(|(a, b)| same(a, b));
            let goes_on = again || rows.iter().any(|row| summary_in(row).is_some() || shares_call(row));
            let mut seen = BTreeSet::new();
            for row in &rows {
                if !goes_on {
                    import.push(row.clone(), None, time.clone());
                } else if let Some(words) = summary_in(row) {
                    store_summary(import, &words);
                } else if let Some(at) = place_among(&known, row, &seen) {
                    seen.insert(at);
                } else {
                    import.push(row.clone(), None, time.clone());
                }
            }
        }
        self.view = rows;
    }

    /// `true` if a request begins with the whole view. An assistant message at the position of the answer
    /// counts as the answer.
    fn continues(&self, rows: &[Body]) -> bool {
        let answer = if self.answer.is_some() { self.view.len().checked_sub(1) } else { None };
        !self.view.is_empty()
            && rows.len() >= self.view.len()
            && self.view.iter().zip(rows).enumerate().all(|(index, (known, row))| {
                same(known, row) || (Some(index) == answer && matches!(row, Body::Assistant { .. }))
            })
    }

    /// Stores the answer of a request as one assistant message; a failed request has none.
    fn store_answer(
        &mut self,
        import: &mut Import,
        place: &str,
        log: &Object,
        time: Option<String>,
    ) -> Result<(), String> {
        self.answer = None;
        let place = format!("{place}.response");
        let Some(response) = object(log, "response") else {
            import.skip(place, "is missing: the request was not answered");
            return Ok(());
        };
        let Said { parts, calls } = said(response.get("message"), &place, import)?;
        let kind = text(response, "type").unwrap_or("success");
        if kind != "success" && parts.is_empty() {
            let reason = text(response, "reason").unwrap_or("no reason is given");
            import.skip(place, format!("is not an answer ({kind}): {reason}"));
            return Ok(());
        }
        let nothing = Object::new();
        let metadata = object(log, "metadata").unwrap_or(&nothing);
        let usage = object(metadata, "usage").map(|usage| Usage {
            input_tokens: number(usage, "prompt_tokens"),
            output_tokens: number(usage, "completion_tokens"),
            cached_input_tokens: object(usage, "prompt_tokens_details")
                .and_then(|of| number(of, "cached_tokens")),
            ..Usage::default()
        });
        // Later requests repeat the answer without its usage.
        let said = Body::Assistant { parts: parts.clone(), calls: calls.clone(), beside: Beside::default() };
        self.view.push(said);
        let body = Body::Assistant { parts, calls, beside: reported(usage, text(metadata, "model")) };
        self.answer = Some(import.push(body, None, time));
        Ok(())
    }

    fn tool_call(&mut self, import: &mut Import, place: &str, log: &Object) -> Result<(), String> {
        // The log's id has a suffix added by the extension; the model knows the bare one.
        let id = bare_id(needed(log, "id")?);
        let call = ToolCall::new(id, needed(log, "tool")?, &super::json::arguments(log.get("args")));
        let content = contents(log.get("response"), place, import)?;
        let result = ToolResult { call: id.to_owned(), content, ..ToolResult::default() };
        self.ran.push((call, result, owned(log, "time")));
        Ok(())
    }

    /// Completes the last answer from the tools' logs if no later request shows its calls.
    fn answer_from_logs(&mut self, import: &mut Import) {
        let Some(at) = self.answer.take() else { return };
        for (call, result, time) in std::mem::take(&mut self.ran) {
            if let Some(Body::Assistant { calls, .. }) = body_at(import, at) {
                calls.push(call);
            }
            import.push(Body::Tool(result), None, time);
        }
    }
}

enum Row {
    System(String),
    Message(Box<Body>),
}

fn row(import: &mut Import, place: &str, message: &Object) -> Result<Row, String> {
    let content = message.get("content");
    let role = message.get("role").ok_or("has no `role`")?;
    let role = role.as_u64().map_or_else(|| role.as_str().unwrap_or_default().to_owned(), |n| n.to_string());
    Ok(match role.as_str() {
        "0" | "system" => Row::System(joined(&contents(content, place, import)?)),
        "1" | "user" => Row::Message(Body::User(contents(content, place, import)?).into()),
        "2" | "assistant" => {
            let Said { parts, .. } = said(content, place, import)?;
            let calls = function_calls(list(message, "toolCalls"), &format!("{place}.toolCalls"), import);
            let calls = calls.into_iter().map(bare).collect();
            Row::Message(Body::Assistant { parts, calls, beside: Beside::default() }.into())
        }
        "3" | "tool" => {
            let call = bare_id(needed(message, "toolCallId")?).to_owned();
            let content = contents(content, place, import)?;
            Row::Message(Body::Tool(ToolResult { call, content, ..ToolResult::default() }).into())
        }
        unknown => return Err(format!("is a message of an unknown role, `{unknown}`")),
    })
}

fn bare(mut call: ToolCall) -> ToolCall {
    call.id = CallId::new(bare_id(call.id.as_str()));
    call
}

/// `true` if both are the same message. Calls and results are compared by id, because a later request may
/// shorten their content.
fn same(a: &Body, b: &Body) -> bool {
    match (a, b) {
        (Body::Tool(a), Body::Tool(b)) => a.call == b.call,
        (Body::Assistant { calls: a, .. }, Body::Assistant { calls: b, .. })
            if !a.is_empty() && !b.is_empty() =>
        {
            a.iter().map(|call| &call.id).eq(b.iter().map(|call| &call.id))
        }
        _ => a == b,
    }
}

fn has_calls(body: &Body) -> bool {
    matches!(body, Body::Assistant { calls, .. } if !calls.is_empty())
}

/// The index of a message of a compacted history among the known messages. Only messages after the last match
/// count, because histories keep their order: a user who later repeats a message has sent a new one.
fn place_among(known: &[Body], row: &Body, seen: &BTreeSet<usize>) -> Option<usize> {
    let from = seen.last().map_or(0, |last| last + 1);
    known.iter().skip(from).position(|body| same(body, row)).map(|at| from + at)
}

fn summary_in(row: &Body) -> Option<String> {
    let Body::User(parts) = row else { return None };
    let words = joined(parts);
    let (_, rest) = words.trim_start().starts_with(SUMMARY.0).then(|| words.split_once(SUMMARY.0))??;
    Some(rest.split_once(SUMMARY.1).map_or(rest, |(summary, _)| summary).trim().to_owned())
}

fn store_summary(import: &mut Import, words: &str) {
    let is_there = |entry: &Entry| matches!(entry, Entry::Compaction(known) if known.text == words);
    if !import.entries.iter().any(is_there) {
        import.push_compaction(words, None, None);
    }
}

/// Copies the calls, and the thinking, that the next request shows for an answer.
fn learn_calls(import: &mut Import, at: usize, spoken: &Body) {
    let Body::Assistant { parts: spoken_parts, calls: spoken_calls, .. } = spoken else { return };
    if let Some(Body::Assistant { parts, calls, .. }) = body_at(import, at) {
        calls.clone_from(spoken_calls);
        let thought = |part: &AssistantPart| matches!(part, AssistantPart::Reasoning { .. });
        if parts.is_empty() || spoken_parts.iter().any(thought) {
            parts.clone_from(spoken_parts);
        }
    }
}

fn body_of(entry: &Entry) -> Option<&Body> {
    match entry {
        Entry::Message(message) => Some(&message.body),
        Entry::Compaction(_) => None,
    }
}

fn body_at(import: &mut Import, at: usize) -> Option<&mut Body> {
    match import.entries.get_mut(at)? {
        Entry::Message(message) => Some(&mut message.body),
        Entry::Compaction(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import;
    use serde_json::json;

    fn words(role: u8, text: &str) -> Value {
        json!({"role": role, "content": [{"type": 1, "text": text}, {"type": 3, "cacheType": "ephemeral"}]})
    }

    fn asks(text: &str, id: &str) -> Value {
        let call = json!({"id": id, "type": "function", "function": {"name": "run", "arguments": "{}"}});
        json!({"role": 2, "content": [{"type": 1, "text": text}], "toolCalls": [call]})
    }

    fn answers(id: &str, text: &str) -> Value {
        json!({"role": 3, "toolCallId": id, "content": [{"type": 1, "text": text}]})
    }

    fn request(messages: &[Value], answer: &str) -> Value {
        json!({"kind": "request", "name": "panel/editAgent", "metadata": {},
            "requestMessages": {"messages": messages}, "response": {"type": "success", "message": [answer]}})
    }

    fn ran(id: &str, text: &str) -> Value {
        json!({"kind": "toolCall", "id": format!("{id}__vscode-1"), "tool": "run", "args": "{}", "response": [text]})
    }

    fn read_logs(logs: &[Value]) -> Import {
        import(json!({"prompts": [{"prompt": "p", "logs": logs}]}).to_string().as_bytes(), None).unwrap()
    }

    fn outline(import: &Import) -> Vec<String> {
        let line = |entry: &Entry| match entry {
            Entry::Compaction(record) => format!("summary {}", record.text),
            Entry::Message(message) => match &message.body {
                Body::Assistant { parts, calls, .. } => {
                    let said: String =
                        parts.iter().filter_map(AssistantPart::text).map(|text| &**text).collect();
                    calls
                        .iter()
                        .fold(format!("assistant {said}"), |line, call| format!("{line} [{}]", call.id))
                }
                Body::Tool(result) => format!("tool {} {}", result.call, joined(&result.content)),
                Body::User(parts) => format!("user {}", joined(parts)),
                Body::Event { text, .. } => format!("event {text}"),
            },
        };
        import.entries.iter().map(line).collect()
    }

    #[test]
    fn each_request_adds_only_its_new_messages() {
        let (first, user) = (words(0, "S1"), words(1, "go"));
        let read = read_logs(&[
            request(&[first.clone(), user.clone()], "I will."),
            ran("a", "ok"),
            json!({"kind": "request", "name": "title", "requestMessages": {"messages": []}}),
            request(&[words(0, "S2"), user.clone(), asks("I will.", "a"), answers("a", "ok")], ""),
            ran("b", "fine"),
            json!({"kind": "request", "requestMessages": {"messages": []}, "response": {"type": "failed", "reason": "429"}}),
            5.into(),
        ]);
        assert_eq!(
            outline(&read),
            [
                "event S1",
                "user go",
                "assistant I will. [a]",
                "event S2",
                "tool a ok",
                "assistant  [b]",
                "tool b fine"
            ]
        );
        assert_eq!(read.system.as_deref(), Some("S1"));
        let places: Vec<&str> = read.skipped.iter().map(|s| s.place.as_str()).collect();
        assert_eq!(places, ["prompts[0].logs[2]", "prompts[0].logs[5].response", "prompts[0].logs[6]"]);
    }

    #[test]
    fn summary_in_later_request_is_a_compaction() {
        let user = words(1, "go");
        let summary = words(1, "<conversation-summary>\nso far\n</conversation-summary>\nmore");
        let read = read_logs(&[
            request(std::slice::from_ref(&user), "one"),
            request(&[user.clone(), asks("one", "a"), answers("a", "A")], "two"),
            ran("b", "B"),
            request(&[summary.clone(), asks("two", "b"), answers("b", "B, shortened")], "three"),
            request(&[summary, asks("two", "b"), answers("b", "B"), words(2, "three"), user], "four"),
        ]);
        assert_eq!(
            outline(&read),
            [
                "user go",
                "assistant one [a]",
                "tool a A",
                "assistant two [b]",
                "tool b B",
                "summary so far",
                "assistant three",
                "user go",
                "assistant four"
            ]
        );
    }

    #[test]
    fn new_chat_starts_over_and_retry_does_not() {
        let read = read_logs(&[
            request(&[words(1, "go")], "one"),
            request(&[words(1, "go")], "one again"),
            request(&[words(1, "another")], "two"),
        ]);
        assert_eq!(
            outline(&read),
            ["user go", "assistant one", "assistant one again", "user another", "assistant two"]
        );
    }
}
