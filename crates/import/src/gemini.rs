//! Sessions of Gemini CLI, in three forms. A recorded chat of `chats/`: one object with `sessionId`, `projectHash` and
//! `messages` (`{id, timestamp, type, content}`, type `user`, `gemini`, `info`, `error` or `warning`), or the same as
//! one record per line with `$set` and `$rewindTo`. A checkpoint of `/chat save`: the API's contents (`{role, parts}`,
//! role `user` or `model`) as a list, or as `history` of an object.

use super::json::{
    Object, arguments, each_item, each_record, list, needed, number, object, owned, text, whole,
};
use super::parts::reported;
use super::{Format, Import, ImportError, verdict};
use engine::message::{AssistantPart, Body, Content, Image, ToolCall, ToolResult, Usage};
use serde_json::Value;

/// Reads any of the forms.
pub(super) fn read(bytes: &[u8]) -> Result<Import, ImportError> {
    let mut import = Import::new(Format::GeminiCli);
    let root = match serde_json::from_slice::<Value>(bytes) {
        Err(_) if is_lines(bytes) => {
            lines(bytes, &mut import);
            return Ok(import);
        }
        Ok(root) => root,
        Err(_) => whole(bytes, &mut import)?,
    };
    let mut reader = GeminiReader::default();
    match &root {
        Value::Array(contents) => each_item(contents, "contents", &mut import, |import, place, turn| {
            reader.turn(import, place, turn)
        }),
        root => match root.get("history").and_then(Value::as_array) {
            Some(history) => each_item(history, "history", &mut import, |import, place, turn| {
                reader.turn(import, place, turn)
            }),
            None => {
                import.title = root.as_object().and_then(|root| owned(root, "summary"));
                let messages = super::json::needed_list(root, "messages", &import)?;
                each_item(messages, "messages", &mut import, |import, place, message| {
                    reader.message(import, place, message)
                });
            }
        },
    }
    Ok(import)
}

/// `true` if the first line is an object of its own.
fn is_lines(bytes: &[u8]) -> bool {
    let first = super::json::lines(bytes).next();
    first.is_some_and(|(_, line)| serde_json::from_slice::<Object>(line).is_ok())
}

/// Reads one record per line. A later record of an id replaces the earlier one in its position.
fn lines(bytes: &[u8], import: &mut Import) {
    let mut messages: Vec<(String, Object)> = Vec::new();
    each_record(bytes, import, |import, place, record| {
        if let Some(id) = text(record, "$rewindTo") {
            let at = messages.iter().position(|(_, known)| text(known, "id") == Some(id));
            messages.truncate(at.unwrap_or_default());
        } else if let Some(set) = object(record, "$set") {
            import.title = owned(set, "summary").or(import.title.take());
            if let Some(all) = set.get("messages").and_then(Value::as_array) {
                let all = all.iter().filter_map(Value::as_object);
                messages = all.map(|message| (place.to_owned(), message.clone())).collect();
            }
        } else if let Some(id) = text(record, "id") {
            let known = messages.iter_mut().find(|(_, known)| text(known, "id") == Some(id));
            match known {
                Some(known) => *known = (place.to_owned(), record.clone()),
                None => messages.push((place.to_owned(), record.clone())),
            }
        } else if !record.contains_key("projectHash") {
            return Err("is neither a message nor a change of the session".into());
        }
        Ok(())
    });
    let mut reader = GeminiReader::default();
    for (place, message) in messages {
        if let Err(reason) = reader.message(import, &place, &message) {
            import.skip(place, reason);
        }
    }
}

#[derive(Default)]
struct GeminiReader {
    /// Calls without a result: id and name.
    open: Vec<(String, String)>,
    /// The number of calls so far; older versions give them no ids.
    calls: usize,
}

/// The parts of a content by kind.
#[derive(Default)]
struct Parts {
    content: Vec<Content>,
    thoughts: Vec<AssistantPart>,
    calls: Vec<ToolCall>,
    results: Vec<ToolResult>,
}

impl GeminiReader {
    fn message(&mut self, import: &mut Import, place: &str, message: &Object) -> Result<(), String> {
        let (id, time) = (owned(message, "id"), owned(message, "timestamp"));
        let kind = needed(message, "type")?;
        let parts = self.parts(import, place, message.get("content"))?;
        match kind {
            "user" => self.user(import, parts, id, time),
            "gemini" => {
                let mut calls = Vec::new();
                let mut results = Vec::new();
                each_item(
                    list(message, "toolCalls"),
                    &format!("{place}.toolCalls"),
                    import,
                    |import, place, of| {
                        let call =
                            ToolCall::new(needed(of, "id")?, needed(of, "name")?, &arguments(of.get("args")));
                        results.extend(self.recorded(import, place, of, call.id.as_str())?);
                        calls.push(call);
                        Ok(())
                    },
                );
                // A chat rewritten from the program's history states its calls twice.
                let is_new = |call: &ToolCall| calls.iter().all(|known| known.id != call.id);
                let more: Vec<ToolCall> = parts.calls.into_iter().filter(is_new).collect();
                calls.extend(more);
                self.open
                    .extend(calls.iter().map(|call| (call.id.as_str().to_owned(), call.name.to_string())));
                let thoughts = list(message, "thoughts").iter().filter_map(Value::as_object).map(thought);
                let said = thoughts.chain(parts.thoughts).chain(texts(parts.content)).collect();
                let usage = object(message, "tokens").and_then(usage);
                let beside = reported(usage, text(message, "model"));
                import.push(Body::Assistant { parts: said, calls, beside }, id, time.clone());
                self.answered(import, results, time);
            }
            "info" | "error" | "warning" => {
                let text = super::parts::joined(&parts.content).into();
                import.push(Body::Event { kind: kind.to_owned(), text }, id, time);
            }
            unknown => return Err(format!("is a message of an unknown type, `{unknown}`")),
        }
        Ok(())
    }

    /// Reads a content of a checkpoint.
    fn turn(&mut self, import: &mut Import, place: &str, turn: &Object) -> Result<(), String> {
        let parts = self.parts(import, place, turn.get("parts"))?;
        match needed(turn, "role")? {
            "user" => self.user(import, parts, None, None),
            "model" => {
                let open =
                    parts.calls.iter().map(|call| (call.id.as_str().to_owned(), call.name.to_string()));
                self.open.extend(open);
                let said = parts.thoughts.into_iter().chain(texts(parts.content)).collect();
                import.push(
                    Body::Assistant { parts: said, calls: parts.calls, beside: Default::default() },
                    None,
                    None,
                );
            }
            unknown => return Err(format!("is a content of an unknown role, `{unknown}`")),
        }
        Ok(())
    }

    fn user(&mut self, import: &mut Import, parts: Parts, id: Option<String>, time: Option<String>) {
        let had_results = !parts.results.is_empty();
        self.answered(import, parts.results, time.clone());
        let words = super::parts::joined(&parts.content);
        if words.trim_start().starts_with(SNAPSHOT) {
            import.push_compaction(&words, None, None);
        } else if !had_results || !parts.content.is_empty() {
            import.push_user(parts.content, id, time);
        }
    }

    /// Appends the results of calls that have none yet.
    fn answered(&mut self, import: &mut Import, results: Vec<ToolResult>, time: Option<String>) {
        for result in results {
            if let Some(at) = self.open.iter().position(|(id, _)| *id == result.call) {
                self.open.remove(at);
                import.push(Body::Tool(result), None, time.clone());
            }
        }
    }

    /// The result of a recorded call; `None` if it has none.
    fn recorded(
        &mut self,
        import: &mut Import,
        place: &str,
        of: &Object,
        id: &str,
    ) -> Result<Option<ToolResult>, String> {
        let Some(result) = of.get("result").filter(|result| !result.is_null()) else { return Ok(None) };
        let parts = self.parts(import, place, Some(result))?;
        let mut answers = parts.results.into_iter();
        let mut answer = answers.next().unwrap_or_default();
        answer.call = id.to_owned();
        answer.content.extend(parts.content);
        answer.is_error |= matches!(text(of, "status"), Some("error" | "cancelled"));
        Ok(Some(answer))
    }

    /// Reads parts: a text, a part, or a list of both.
    fn parts(&mut self, import: &mut Import, place: &str, value: Option<&Value>) -> Result<Parts, String> {
        let mut parts = Parts::default();
        match value {
            None | Some(Value::Null) => {}
            Some(Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    if let Err(reason) = self.part(item, &mut parts) {
                        import.skip(format!("{place}, parts[{index}]"), reason);
                    }
                }
            }
            Some(one) => self.part(one, &mut parts)?,
        }
        Ok(parts)
    }

    fn part(&mut self, part: &Value, parts: &mut Parts) -> Result<(), String> {
        if let Value::String(text) = part {
            parts.content.push(Content::Text(text.as_str().into()));
            return Ok(());
        }
        let part = part.as_object().ok_or("is not an object")?;
        if let Some(call) = object(part, "functionCall") {
            self.calls += 1;
            let id = owned(call, "id").unwrap_or_else(|| format!("call-{}", self.calls));
            parts.calls.push(ToolCall::new(&id, needed(call, "name")?, &arguments(call.get("args"))));
        } else if let Some(response) = object(part, "functionResponse") {
            let taken: Vec<&str> = parts.results.iter().map(|result| result.call.as_str()).collect();
            parts.results.push(self.response(response, &taken));
        } else if let Some(data) = object(part, "inlineData") {
            let (mime_type, data) = (needed(data, "mimeType")?.into(), needed(data, "data")?.into());
            parts.content.push(Content::Image(Image { mime_type, data }));
        } else if let Some(file) = object(part, "fileData") {
            parts.content.push(super::parts::image_at(needed(file, "fileUri")?));
        } else if part.get("thought") == Some(&Value::Bool(true)) {
            parts.thoughts.push(thinking(needed(part, "text")?.to_owned(), owned(part, "thoughtSignature")));
        } else {
            parts.content.push(Content::Text(needed(part, "text")?.into()));
        }
        Ok(())
    }

    /// The result in a function response. One without an id answers the oldest open call of its name, but for those
    /// `taken`.
    fn response(&self, response: &Object, taken: &[&str]) -> ToolResult {
        let name = text(response, "name").unwrap_or_default();
        let mut open = self.open.iter().filter(|(id, known)| known == name && !taken.contains(&id.as_str()));
        let mut of_name = || open.next().map(|(id, _)| id.clone());
        let call = owned(response, "id").or_else(&mut of_name).unwrap_or_default();
        let given = object(response, "response");
        let (words, is_error) = match given {
            Some(given) => match (text(given, "output"), text(given, "error")) {
                (Some(output), _) => (output.to_owned(), false),
                (None, Some(error)) => (error.to_owned(), true),
                (None, None) => (Value::Object(given.clone()).to_string(), false),
            },
            None => (String::new(), false),
        };
        let content = vec![Content::Text(words.into())];
        ToolResult { call, verdict: verdict::refusal(&content), content, is_error, ..ToolResult::default() }
    }
}

/// The beginning of a summary by which the program replaced earlier contents.
const SNAPSHOT: &str = "<state_snapshot>";

fn texts(content: Vec<Content>) -> impl Iterator<Item = AssistantPart> {
    let part = |content: Content| content.text().filter(|text| !text.is_empty()).cloned();
    content.into_iter().filter_map(part).map(AssistantPart::Text)
}

/// A thought as recorded: its subject and a description.
fn thought(of: &Object) -> AssistantPart {
    let said = ["subject", "description"].into_iter().filter_map(|key| text(of, key));
    thinking(said.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n"), None)
}

fn thinking(text: String, signature: Option<String>) -> AssistantPart {
    AssistantPart::Reasoning { text: text.into(), signature: signature.map(Into::into), block: None }
}

/// The usage of a model call. The API counts thoughts beside the output.
fn usage(of: &Object) -> Option<Usage> {
    let (output, thoughts) = (number(of, "output"), number(of, "thoughts"));
    let usage = Usage {
        input_tokens: number(of, "input"),
        output_tokens: output.map(|output| output.saturating_add(thoughts.unwrap_or(0))),
        cached_input_tokens: number(of, "cached"),
        cache_write_input_tokens: None,
        reasoning_tokens: thoughts,
    };
    usage.input_tokens.is_some_and(|read| read > 0).then_some(usage)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Entry, RecordedCompaction, import};
    use engine::message::Verdict;
    use engine::message::attachment::Attachment;

    fn entries(source: &str) -> Vec<Entry> {
        let read = import(source.as_bytes(), None).unwrap();
        assert_eq!((read.format, read.skipped), (Format::GeminiCli, vec![]));
        read.entries
    }

    fn bodies(entries: &[Entry]) -> Vec<Body> {
        let body = |entry: &Entry| match entry {
            Entry::Message(message) => Some(message.body.clone()),
            Entry::Compaction(_) => None,
        };
        entries.iter().filter_map(body).collect()
    }

    fn user(text: &str) -> Body {
        Body::User(vec![Content::Text(text.into())])
    }

    /// The chat of both forms below.
    fn expected() -> Vec<Body> {
        let mut asked = Body::assistant("I look.", vec![ToolCall::new("c", "ls", r#"{"p":1}"#)]);
        if let Body::Assistant { parts, beside, .. } = &mut asked {
            parts.insert(0, thinking("Files\nI list them.".into(), None));
            beside.usage = Some(Usage {
                input_tokens: Some(90),
                output_tokens: Some(7),
                cached_input_tokens: Some(10),
                cache_write_input_tokens: None,
                reasoning_tokens: Some(2),
            });
            beside.extra.insert("model".into(), "m".into());
        }
        let refused = "[Operation Cancelled] Reason: User did not allow tool call";
        vec![
            Body::User(vec![Content::Attachment(Attachment::new("session_context", "It is May."))]),
            user("list"),
            asked,
            Body::Tool(ToolResult {
                call: "c".into(),
                content: vec![Content::Text(refused.into())],
                is_error: true,
                verdict: Some(Verdict::new(false, None)),
                ..ToolResult::default()
            }),
            Body::Event { kind: "error".into(), text: "no network".into() },
        ]
    }

    const USER: &str = r#"{"id":"1","timestamp":"t","type":"user","content":[{"text":"list"}]}"#;
    const SETUP: &str = r#"{"id":"0","timestamp":"t","type":"user","content":"<session_context>\nIt is May.\n</session_context>"}"#;
    const GEMINI: &str = r#"{"id":"2","timestamp":"t","type":"gemini","content":"I look.","thoughts":[{"subject":"Files","description":"I list them.","timestamp":"t"}],"model":"m","tokens":{"input":90,"output":5,"cached":10,"thoughts":2,"tool":0,"total":97},"toolCalls":[{"id":"c","name":"ls","args":{"p":1},"status":"cancelled","timestamp":"t","result":[{"functionResponse":{"id":"c","name":"ls","response":{"error":"[Operation Cancelled] Reason: User did not allow tool call"}}}]}]}"#;
    const ERROR: &str = r#"{"id":"3","timestamp":"t","type":"error","content":"no network"}"#;

    #[test]
    fn recorded_chat_is_read_whole_and_by_lines() {
        let head = r#""sessionId":"s","projectHash":"h","startTime":"t","lastUpdated":"t""#;
        let whole = format!("{{{head},\"messages\":[{SETUP},{USER},{GEMINI},{ERROR}]}}");
        assert_eq!(bodies(&entries(&whole)), expected());
        let draft = r#"{"id":"2","timestamp":"t","type":"gemini","content":"I"}"#;
        let lost = r#"{"id":"9","timestamp":"t","type":"user","content":"lost"}"#;
        let lines = format!(
            "{{{head}}}\n{SETUP}\n{USER}\n{draft}\n{{\"$set\":{{\"lastUpdated\":\"u\"}}}}\n{GEMINI}\n{lost}\n{{\"$rewindTo\":\"9\"}}\n{ERROR}\n"
        );
        assert_eq!(bodies(&entries(&lines)), expected());
    }

    #[test]
    fn checkpoint_is_read_with_calls_that_have_no_id() {
        let history = r#"[{"role":"user","parts":[{"text":"This is the Gemini CLI. We are setting up the context for our chat."}]},
            {"role":"user","parts":[{"text":"<state_snapshot>so far</state_snapshot>"}]},
            {"role":"user","parts":[{"text":"list"}]},
            {"role":"model","parts":[{"text":"hm","thought":true},{"functionCall":{"name":"ls","args":{}}},{"functionCall":{"name":"ls","args":{"p":2}}}]},
            {"role":"user","parts":[{"functionResponse":{"name":"ls","response":{"output":"a"}}},{"functionResponse":{"name":"ls","response":{"files":["b"]}}}]},
            {"role":"model","parts":[{"text":"Two."}]}]"#;
        let setup = "This is the Gemini CLI. We are setting up the context for our chat.";
        let mut asked = Body::assistant(
            "",
            vec![ToolCall::new("call-1", "ls", "{}"), ToolCall::new("call-2", "ls", r#"{"p":2}"#)],
        );
        if let Body::Assistant { parts, .. } = &mut asked {
            parts.push(thinking("hm".into(), None));
        }
        let expected = vec![
            Body::User(vec![Content::Attachment(Attachment::new("setup", setup))]),
            user("list"),
            asked,
            Body::result("call-1", "a"),
            Body::result("call-2", r#"{"files":["b"]}"#),
            Body::assistant("Two.", vec![]),
        ];
        for source in [history.to_owned(), format!(r#"{{"history":{history},"authType":"oauth"}}"#)] {
            let entries = entries(&source);
            assert_eq!(bodies(&entries), expected);
            let recorded = RecordedCompaction {
                standing: crate::Standing::Recorded,
                text: "<state_snapshot>so far</state_snapshot>".into(),
                tokens_before: None,
                after_external_id: None,
            };
            assert_eq!(entries[1], Entry::Compaction(recorded));
        }
    }
}
