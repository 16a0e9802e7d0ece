//! Logs of model calls by OpenHands: one JSON value with the sent messages, the tools and the answer. For models
//! without tool calling, it writes calls and results as text; they are parsed back into calls and results.

use super::json::{Object, each_item, function_usage, list, needed, needed_list, object, text, whole};
use super::parts::{contents, joined, reported, tool};
use super::{Format, Import, ImportError, completions};
use engine::message::{AssistantPart, Body, Content, ToolCall, ToolResult};
use engine::prompt::item::Tool;
use engine::text::json;
use serde_json::{Map, Value};
use std::collections::VecDeque;

/// The prefix of a result written as text: `EXECUTION RESULT of [name]:` and a line break.
const RESULT: &str = "EXECUTION RESULT of [";
/// The tags around the user's first request, if an example of calls surrounds it.
const TASK: (&str, &str) = (
    "--------------------- NEW TASK DESCRIPTION ---------------------\n",
    "\n--------------------- END OF NEW TASK DESCRIPTION ---------------------",
);

/// Reads the messages, then the answer. Prefers the messages from before their conversion to text, if logged:
/// those have call ids and the user's text alone.
pub(super) fn read(bytes: &[u8]) -> Result<Import, ImportError> {
    let mut import = Import::new(Format::OpenHands);
    let root = whole(bytes, &mut import)?;
    let key = if root.get("raw_messages").is_some_and(Value::is_array) { "raw_messages" } else { "messages" };
    let messages = needed_list(&root, key, &import)?;
    import.tools = root
        .as_object()
        .map(|root| list(root, "tools").iter().filter_map(tool).collect())
        .unwrap_or_default();
    let mut written = TextCalls { tools: import.tools.clone(), ..TextCalls::default() };
    each_item(messages, key, &mut import, |import, place, row| take(import, place, row, &mut written));
    if let Some(response) = root.get("response").and_then(Value::as_object) {
        let model = text(response, "model");
        let usage = object(response, "usage").and_then(function_usage);
        let choices = list(response, "choices").get(..1).unwrap_or_default();
        each_item(choices, "response.choices", &mut import, |import, place, choice| {
            let answer = object(choice, "message").ok_or("has no `message`")?;
            let at = import.entries.len();
            take(import, &format!("{place}.message"), answer, &mut written)?;
            if let Some(super::Entry::Message(message)) = import.entries.get_mut(at)
                && let Body::Assistant { beside, .. } = &mut message.body
            {
                *beside = reported(usage, model);
            }
            Ok(())
        });
    }
    Ok(import)
}

fn take(import: &mut Import, place: &str, row: &Object, written: &mut TextCalls) -> Result<(), String> {
    let Some(body) = completions::body(row, place, import)? else {
        return match needed(row, "role")? {
            "system" | "developer" => {
                let words = joined(&contents(row.get("content"), place, import)?);
                import.push_system(&words, None);
                Ok(())
            }
            unknown => Err(format!("is a message of an unknown role, `{unknown}`")),
        };
    };
    import.push(written.back(body), None, None);
    Ok(())
}

/// State for restoring calls and results that were written as text.
#[derive(Default)]
struct TextCalls {
    tools: Vec<Tool>,
    /// Calls without a result, of the last answer that was text.
    open: VecDeque<ToolCall>,
    /// The number of calls restored so far; text has no ids.
    count: usize,
}

impl TextCalls {
    /// Restores a message from before its conversion to text.
    fn back(&mut self, body: Body) -> Body {
        match body {
            Body::Assistant { parts, mut calls, beside } => {
                let parts = if calls.is_empty() { self.calls(parts, &mut calls) } else { parts };
                Body::Assistant { parts, calls, beside }
            }
            Body::User(mut parts) => match self.result(&mut parts) {
                Some(call) => tool_body(call, parts),
                None => {
                    let task = parts.iter_mut().find_map(|part| match part {
                        Content::Text(words) => Some(words),
                        _ => None,
                    });
                    if let Some(words) = task
                        && let Some((_, rest)) = words.split_once(TASK.0)
                        && let Some((task, _)) = rest.rsplit_once(TASK.1)
                    {
                        *words = task.into();
                    }
                    Body::User(parts)
                }
            },
            Body::Tool(result) => tool_body(result.call, result.content),
            other @ Body::Event { .. } => other,
        }
    }

    /// Extracts calls from text.
    fn calls(&mut self, parts: Vec<AssistantPart>, calls: &mut Vec<ToolCall>) -> Vec<AssistantPart> {
        let mut left = Vec::new();
        for part in parts {
            let AssistantPart::Text(words) = &part else {
                left.push(part);
                continue;
            };
            let mut words: &str = words;
            let before = calls.len();
            while let Some((said, function, rest)) = next_call(words) {
                let said = said.trim_end();
                left.extend((!said.is_empty()).then(|| AssistantPart::Text(said.into())));
                self.count += 1;
                calls.push(function.call(self.count, &self.tools));
                words = rest;
            }
            if calls.len() == before {
                left.push(part);
            } else if !words.trim().is_empty() {
                left.push(AssistantPart::Text(words.trim().into()));
            }
        }
        self.open = calls.iter().cloned().collect();
        left
    }

    /// The id of the call whose result this user's message is; removes the prefix from the text.
    fn result(&mut self, parts: &mut [Content]) -> Option<String> {
        let words = parts.iter_mut().find_map(|part| match part {
            Content::Text(words) => Some(words),
            _ => None,
        })?;
        let (name, rest) = words.strip_prefix(RESULT)?.split_once("]:\n")?;
        let at = self.open.iter().position(|call| &*call.name == name)?;
        let call = self.open.remove(at)?;
        *words = rest.into();
        Some(call.id.as_str().to_owned())
    }
}

/// The exit code is in the last line of a terminal's output.
fn tool_body(call: String, content: Vec<Content>) -> Body {
    let words = joined(&content);
    let last =
        words.lines().next_back().and_then(|line| line.strip_prefix("[Command finished with exit code "));
    let exit_code = last.and_then(|code| code.strip_suffix(']')?.parse().ok());
    Body::Tool(ToolResult { call, content, exit_code, ..ToolResult::default() })
}

/// A call written as text.
struct Function<'a> {
    name: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
}

/// Splits at the next call: the text before it, the call, the text after it. The last call's end may be
/// missing, because models stop there.
fn next_call(words: &str) -> Option<(&str, Function<'_>, &str)> {
    let (said, rest) = words.split_once("<function=")?;
    let (name, mut rest) = rest.split_once('>')?;
    let mut parameters = Vec::new();
    while let Some(inner) = rest.trim_start().strip_prefix("<parameter=") {
        let Some((key, value)) = inner.split_once('>') else { break };
        let (value, behind) = until_its_end(value);
        parameters.push((key, value));
        rest = behind;
    }
    let rest = rest.trim_start();
    let rest = rest.strip_prefix("</function>").or(rest.strip_prefix("</function")).unwrap_or(rest);
    Some((said, Function { name, parameters }, rest))
}

/// Splits a value from the text after it. A value may itself contain the end tag: the actual one is followed
/// by another parameter, the call's end or nothing.
fn until_its_end(text: &str) -> (&str, &str) {
    const END: &str = "</parameter>";
    let ends = text.match_indices(END).find_map(|(at, _)| {
        let (value, rest) = text.split_at_checked(at)?;
        let behind = rest.strip_prefix(END)?;
        let next = behind.trim_start();
        (next.is_empty() || next.starts_with("<parameter=") || next.starts_with("</function"))
            .then_some((value, behind))
    });
    ends.unwrap_or((text, ""))
}

impl Function<'_> {
    /// The call with a generated id and arguments in the types of the tool's schema.
    fn call(&self, count: usize, tools: &[Tool]) -> ToolCall {
        let tool = tools.iter().find(|tool| tool.name == self.name);
        let arguments: Map<String, Value> = self
            .parameters
            .iter()
            .map(|(key, value)| {
                let kind = tool
                    .and_then(|tool| tool.input_schema.get("properties")?.get(key)?.get("type")?.as_str());
                // Multi-line values have a line break around them.
                let inner =
                    value.strip_prefix('\n').and_then(|value| value.strip_suffix('\n')).unwrap_or(value);
                let typed = match kind {
                    Some("integer" | "number" | "boolean" | "array" | "object") => json::read(inner).ok(),
                    _ => None,
                };
                ((*key).to_owned(), typed.unwrap_or_else(|| inner.into()))
            })
            .collect();
        ToolCall::new(&format!("call-{count}"), self.name, &Value::Object(arguments).to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Entry, import};
    use serde_json::json;

    fn read_log(messages: &Value, response: &Value) -> Import {
        let schema = json!({"properties": {"lines": {"type": "array"}, "n": {"type": "integer"}}});
        let log = json!({
            "messages": messages, "response": {"model": "m", "choices": [{"message": response}], "usage": {"prompt_tokens": 5}},
            "tools": [{"type": "function", "function": {"name": "edit", "parameters": schema}}],
        });
        import(log.to_string().as_bytes(), None).unwrap()
    }

    fn body(import: &Import, at: usize) -> &Body {
        match &import.entries[at] {
            Entry::Message(message) => &message.body,
            Entry::Compaction(_) => panic!("a message"),
        }
    }

    #[test]
    fn calls_and_results_are_restored_from_text() {
        let task = format!("Here's a running example\n{}Fix it.{}\n\nPLEASE", TASK.0, TASK.1);
        let written = "Let me.\n\n<function=edit>\n<parameter=text>\na\n</parameter> b\n</parameter>\n<parameter=lines>[1, 2]</parameter>\n<parameter=n>x</parameter>\n</function>";
        let read = read_log(
            &json!([
                {"role": "system", "content": "S"}, {"role": "user", "content": [{"type": "text", "text": task}]},
                {"role": "assistant", "content": written},
                {"role": "user", "content": "EXECUTION RESULT of [edit]:\nno\n[Command finished with exit code 2]"},
                {"role": "user", "content": "EXECUTION RESULT of [edit]:\nof no call"},
                {"role": "assistant", "content": "<function=f>\n</function"},
            ]),
            &json!({"role": "assistant", "content": "<function=finish>\n<parameter=message>Done.</parameter>\n"}),
        );
        assert_eq!((read.format, &read.skipped), (Format::OpenHands, &vec![]));
        assert_eq!((read.system.as_deref(), read.tools.len()), (Some("S"), 1));
        assert_eq!(body(&read, 1), &Body::User(vec![Content::Text("Fix it.".into())]));
        let arguments = r#"{"text":"a\n</parameter> b","lines":[1,2],"n":"x"}"#;
        assert_eq!(
            body(&read, 2),
            &Body::assistant("Let me.", vec![ToolCall::new("call-1", "edit", arguments)])
        );
        let Body::Tool(result) = body(&read, 3) else { panic!("a result") };
        assert_eq!((result.call.as_str(), result.exit_code), ("call-1", Some(2)));
        assert!(matches!(body(&read, 4), Body::User(_)), "a result without a call stays text");
        assert_eq!(
            body(&read, 5),
            &Body::Assistant {
                parts: vec![],
                calls: vec![ToolCall::new("call-2", "f", "{}")],
                beside: Default::default()
            }
        );
        let Body::Assistant { calls, beside, .. } = body(&read, 6) else { panic!("the answer") };
        assert_eq!((&*calls[0].name, &*calls[0].arguments), ("finish", r#"{"message":"Done."}"#));
        assert_eq!(beside.usage.and_then(|usage| usage.input_tokens), Some(5));
    }

    #[test]
    fn native_calls_are_kept_and_bad_messages_are_skipped() {
        let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{ }"}});
        let read = read_log(
            &json!([
                {"role": "user", "content": "go"}, 5, {"role": "judge"},
                {"role": "assistant", "content": "As <function=f> it is.", "reasoning_content": "hm", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c", "content": "r"}, {"role": "tool", "content": "of no call"},
            ]),
            &json!("nothing"),
        );
        let Body::Assistant { parts, calls, .. } = body(&read, 1) else { panic!("an answer") };
        assert_eq!((parts.len(), &*calls[0].arguments), (2, "{ }"));
        assert_eq!(parts[1].text().map(|text| &**text), Some("As <function=f> it is."));
        assert_eq!(body(&read, 2), &Body::result("c", "r"));
        let places: Vec<&str> = read.skipped.iter().map(|s| s.place.as_str()).collect();
        assert_eq!(places, ["messages[1]", "messages[2]", "messages[5]", "response.choices[0]"]);
    }
}
