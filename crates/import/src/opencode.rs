//! Sessions of opencode. Its export is one object: `info` of the session, and `messages` with `{info, parts}` each. Its
//! storage has one file for the session, for each message and for each part (`sessionID`, `messageID`); these are read
//! if they are joined into one file, in any order.

use super::json::{
    Object, arguments, each_item, flag, iso_time, list, needed, number, object, owned, sum, text,
};
use super::parts::{image_at, reported};
use super::{Format, Import, ImportError, noise, verdict};
use engine::message::{AssistantPart, Body, Content, ToolCall, ToolResult, Usage};
use serde_json::Value;
use std::collections::BTreeMap;

/// The line that the export command may print before the object.
const PRINTED: &[u8] = b"Exporting session:";

/// The bytes from the export's object on.
pub(super) fn without_line(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.trim_ascii_start();
    let line = bytes.starts_with(PRINTED).then(|| bytes.iter().position(|byte| *byte == b'\n')).flatten();
    line.and_then(|end| bytes.get(end..)).unwrap_or(bytes)
}

/// Reads an export or the records of the storage.
pub(super) fn read(bytes: &[u8]) -> Result<Import, ImportError> {
    let mut import = Import::new(Format::OpenCode);
    let bytes = without_line(bytes);
    let mut records = Vec::new();
    for value in serde_json::Deserializer::from_slice(bytes).into_iter::<Value>() {
        match value {
            Ok(value) => records.push(value),
            Err(error) if records.is_empty() => {
                return Err(super::json::not_text(bytes).unwrap_or_else(|| super::json::syntax(&error)));
            }
            Err(error) => {
                import.skip(format!("line {}", error.line()), "and the records after it are not JSON");
                break;
            }
        }
    }
    match records.as_slice() {
        [root] if root.get("messages").is_some_and(Value::is_array) => {
            let info = root.get("info").and_then(Value::as_object);
            import.title = info.and_then(|info| owned(info, "title"));
            let messages = super::json::needed_list(root, "messages", &import)?;
            let mut reader = OpencodeReader::of(messages.iter().filter_map(|message| message.get("info")));
            each_item(messages, "messages", &mut import, |import, place, message| {
                let info = object(message, "info").ok_or("has no `info`")?;
                reader.take(import, place, info, list(message, "parts"))
            });
        }
        records => stored(records, &mut import),
    }
    Ok(import)
}

/// Reads records of the storage: messages in the order of their ids, with the parts that name them. Ids grow with time.
fn stored(records: &[Value], import: &mut Import) {
    let mut messages: BTreeMap<String, Value> = BTreeMap::new();
    let mut parts: BTreeMap<String, BTreeMap<String, Value>> = BTreeMap::new();
    each_item(records, "records", import, |import, _, record| {
        let (id, value) = (needed(record, "id")?.to_owned(), || Value::Object(record.clone()));
        if let Some(message) = owned(record, "messageID") {
            parts.entry(message).or_default().insert(id, value());
        } else if record.contains_key("role") {
            messages.insert(id, value());
        } else {
            import.title = owned(record, "title").or(import.title.take());
        }
        Ok(())
    });
    let mut reader = OpencodeReader::of(messages.values());
    for (id, info) in &messages {
        let Some(info) = info.as_object() else { continue };
        let of_message: Vec<Value> = parts.remove(id).unwrap_or_default().into_values().collect();
        if let Err(reason) = reader.take(import, id, info, &of_message) {
            import.skip(id, reason);
        }
    }
    for (id, parts) in parts {
        import.skip(id, format!("has {} parts, and its own record is missing", parts.len()));
    }
}

fn text_of<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

struct OpencodeReader {
    /// The ids of all messages, in order.
    ids: Vec<String>,
    /// The first message that the last compaction kept, if it kept any.
    tail: Option<String>,
}

impl OpencodeReader {
    fn of<'a>(infos: impl Iterator<Item = &'a Value>) -> Self {
        Self { ids: infos.filter_map(|info| text_of(info, "id")).map(str::to_owned).collect(), tail: None }
    }

    fn take(
        &mut self,
        import: &mut Import,
        place: &str,
        info: &Object,
        parts: &[Value],
    ) -> Result<(), String> {
        let created = object(info, "time").and_then(|time| iso_time(time.get("created")));
        match needed(info, "role")? {
            "user" => {
                let mut content = Vec::new();
                each_item(parts, &format!("{place}.parts"), import, |_, _, part| {
                    self.user_part(part, &mut content)
                });
                if !content.is_empty() {
                    import.push_user(content, owned(info, "id"), created);
                }
            }
            "assistant" if flag(info, "summary") => self.summary(import, info, parts),
            "assistant" => answer(import, place, info, parts, &created),
            unknown => return Err(format!("is a message of an unknown role, `{unknown}`")),
        }
        Ok(())
    }

    fn user_part(&mut self, part: &Object, content: &mut Vec<Content>) -> Result<(), String> {
        match needed(part, "type")? {
            // Shown to the user alone.
            "text" if flag(part, "ignored") => {}
            // Written by the program: the content of a file that the user named, a reminder.
            "text" if flag(part, "synthetic") => {
                content.extend(noise::attached("opencode", needed(part, "text")?))
            }
            "text" => content.push(Content::Text(needed(part, "text")?.into())),
            "file" => {
                let url = needed(part, "url")?;
                if text(part, "mime").is_some_and(|mime| mime.starts_with("image/")) {
                    content.push(image_at(url));
                }
            }
            "subtask" => content.extend(noise::attached("subtask", needed(part, "prompt")?)),
            "compaction" => self.tail = owned(part, "tail_start_id"),
            _ => {}
        }
        Ok(())
    }

    /// A summary of the program's own: an answer marked as such.
    fn summary(&mut self, import: &mut Import, info: &Object, parts: &[Value]) {
        let said = parts.iter().filter(|part| text_of(part, "type") == Some("text"));
        let summary: Vec<&str> = said.filter_map(|part| text_of(part, "text")).collect();
        if summary.is_empty() {
            return;
        }
        // The request for the summary is the compacted prompt.
        let before = object(info, "tokens").and_then(usage).and_then(|usage| usage.input_tokens);
        let kept = self.tail.take().and_then(|tail| self.ids.iter().position(|id| *id == tail));
        let after = kept.and_then(|kept| self.ids.get(kept.checked_sub(1)?)).cloned();
        import.push_compaction(&summary.join("\n"), before, after);
    }
}

/// Reads an answer. Each of its steps is a model call: text and calls, then their results.
fn answer(import: &mut Import, place: &str, info: &Object, parts: &[Value], created: &Option<String>) {
    let steps: Vec<&[Value]> = parts
        .split(|part| text_of(part, "type") == Some("step-start"))
        .filter(|step| !step.is_empty())
        .collect();
    let is_one = steps.len() < 2;
    for (nth, step) in steps.iter().enumerate() {
        let (mut said, mut calls, mut results) = (Vec::new(), Vec::new(), Vec::new());
        let mut used = None;
        each_item(step, &format!("{place}.parts"), import, |_, _, part| {
            match needed(part, "type")? {
                "text" => said.push(AssistantPart::Text(needed(part, "text")?.into())),
                "reasoning" => said.push(AssistantPart::Reasoning {
                    text: needed(part, "text")?.into(),
                    signature: None,
                    block: None,
                }),
                "tool" => {
                    let state = object(part, "state").ok_or("has no `state`")?;
                    let (id, name) = (needed(part, "callID")?, needed(part, "tool")?);
                    calls.push(ToolCall::new(id, name, &arguments(state.get("input"))));
                    results.extend(result(id, state)?);
                }
                "step-finish" => used = object(part, "tokens").and_then(usage),
                _ => {}
            }
            Ok(())
        });
        // The message states the usage of its last step.
        let of_message = || object(info, "tokens").and_then(usage).filter(|_| is_one);
        let beside = reported(used.or_else(of_message), text(info, "modelID"));
        said.retain(|part| !matches!(part, AssistantPart::Text(text) if text.is_empty()));
        let id = owned(info, "id").map(|id| if nth == 0 { id } else { format!("{id}#{}", nth + 1) });
        if !said.is_empty() || !calls.is_empty() {
            import.push(Body::Assistant { parts: said, calls, beside }, id, created.clone());
        }
        for result in results {
            import.push(Body::Tool(result), None, created.clone());
        }
    }
    if let Some(error) = object(info, "error") {
        let data = object(error, "data").and_then(|data| text(data, "message"));
        let words = data.or(text(error, "name")).unwrap_or_default();
        import.push(Body::Event { kind: "api_error".into(), text: words.into() }, None, created.clone());
    }
}

/// The result of a call; `None` for one that never ended.
fn result(call: &str, state: &Object) -> Result<Option<ToolResult>, String> {
    let (words, is_error) = match needed(state, "status")? {
        "completed" => (needed(state, "output")?, false),
        "error" => (needed(state, "error")?, true),
        _ => return Ok(None),
    };
    let mut content = vec![Content::Text(words.into())];
    let images = list(state, "attachments")
        .iter()
        .filter(|file| text_of(file, "mime").is_some_and(|mime| mime.starts_with("image/")));
    content.extend(images.filter_map(|file| text_of(file, "url")).map(image_at));
    let verdict = verdict::refusal(&content);
    let exit_code = object(state, "metadata").and_then(|of| super::json::code(of, "exit"));
    Ok(Some(ToolResult {
        call: call.to_owned(),
        verdict,
        content,
        is_error,
        exit_code,
        ..ToolResult::default()
    }))
}

/// The usage of a model call. Input is what no cache served.
fn usage(of: &Object) -> Option<Usage> {
    let cache = object(of, "cache");
    let cached = cache.and_then(|cache| sum(cache, &["read", "write"])).unwrap_or(0);
    let usage = Usage {
        input_tokens: number(of, "input").and_then(|input| input.checked_add(cached)),
        output_tokens: number(of, "output"),
        cached_input_tokens: cache.and_then(|cache| number(cache, "read")),
        cache_write_input_tokens: cache.and_then(|cache| number(cache, "write")),
        reasoning_tokens: number(of, "reasoning"),
    };
    usage.input_tokens.is_some_and(|read| read > 0).then_some(usage)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Entry, RecordedCompaction, import};
    use engine::message::attachment::Attachment;
    use engine::message::{NewMessage, Verdict};
    use serde_json::json;

    fn message(id: &str, body: Body) -> Entry {
        let created_at = Some("1970-01-01T00:00:01.000Z".to_owned());
        let external_id = (!matches!(body, Body::Tool(_))).then(|| id.to_owned());
        Entry::Message(NewMessage { external_id, created_at, ..NewMessage::new(body) })
    }

    fn infos_and_parts() -> Vec<(Value, Vec<Value>)> {
        let user =
            |id: &str| json!({"id": id, "sessionID": "ses_1", "role": "user", "time": {"created": 1000}});
        let answer = |id: &str| json!({"id": id, "sessionID": "ses_1", "role": "assistant", "time": {"created": 1000}, "modelID": "m"});
        let mut summary = answer("msg_4");
        summary["summary"] = true.into();
        summary["tokens"] =
            json!({"input": 50, "output": 5, "reasoning": 0, "cache": {"read": 40, "write": 0}});
        let tokens = json!({"input": 1, "output": 2, "reasoning": 3, "cache": {"read": 4, "write": 5}});
        vec![
            (
                user("msg_1"),
                vec![
                    json!({"type": "text", "text": "fix @a.rs"}),
                    json!({"type": "text", "text": "fn a() {}", "synthetic": true}),
                ],
            ),
            (
                answer("msg_2"),
                vec![
                    json!({"type": "step-start"}),
                    json!({"type": "reasoning", "text": "hm"}),
                    json!({"type": "tool", "callID": "c", "tool": "bash", "state": {"status": "completed", "input": {"command": "ls"}, "output": "a.rs", "metadata": {"exit": 0}}}),
                    json!({"type": "tool", "callID": "d", "tool": "edit", "state": {"status": "error", "input": {}, "error": "The user rejected permission to use this specific tool call with the following feedback: not yet"}}),
                    json!({"type": "step-finish", "tokens": tokens}),
                    json!({"type": "step-start"}),
                    json!({"type": "text", "text": "I wait."}),
                    json!({"type": "step-finish", "tokens": {"input": 0}}),
                ],
            ),
            (user("msg_3"), vec![json!({"type": "compaction", "auto": true, "tail_start_id": "msg_2"})]),
            (summary, vec![json!({"type": "text", "text": "so far"})]),
        ]
    }

    fn expected() -> Vec<Entry> {
        let mut asked = Body::assistant(
            "",
            vec![ToolCall::new("c", "bash", r#"{"command":"ls"}"#), ToolCall::new("d", "edit", "{}")],
        );
        if let Body::Assistant { parts, beside, .. } = &mut asked {
            parts.push(AssistantPart::Reasoning { text: "hm".into(), signature: None, block: None });
            beside.extra.insert("model".into(), "m".into());
            beside.usage = Some(Usage {
                input_tokens: Some(10),
                output_tokens: Some(2),
                cached_input_tokens: Some(4),
                cache_write_input_tokens: Some(5),
                reasoning_tokens: Some(3),
            });
        }
        let said = "The user rejected permission to use this specific tool call with the following feedback: not yet";
        let content = |text: &str| vec![Content::Text(text.into())];
        let listed = ToolResult {
            call: "c".into(),
            content: content("a.rs"),
            exit_code: Some(0),
            ..ToolResult::default()
        };
        let verdict = Some(Verdict::new(false, Some("not yet".into())));
        let refused = ToolResult {
            call: "d".into(),
            content: content(said),
            is_error: true,
            verdict,
            ..ToolResult::default()
        };
        vec![
            message(
                "msg_1",
                Body::User(vec![
                    Content::Text("fix @a.rs".into()),
                    Content::Attachment(Attachment::new("opencode", "fn a() {}")),
                ]),
            ),
            message("msg_2", asked),
            message("", Body::Tool(listed)),
            message("", Body::Tool(refused)),
            message("msg_2#2", Body::assistant("I wait.", vec![])),
            Entry::Compaction(RecordedCompaction {
                standing: crate::Standing::Recorded,
                text: "so far".into(),
                tokens_before: Some(90),
                after_external_id: Some("msg_1".into()),
            }),
        ]
    }

    #[test]
    fn export_and_storage_give_the_same_session() {
        let messages: Vec<Value> = infos_and_parts()
            .into_iter()
            .map(|(info, parts)| json!({"info": info, "parts": parts}))
            .collect();
        let info = json!({"id": "ses_1", "title": "Fix", "directory": "/w", "projectID": "p"});
        let export = json!({"info": info, "messages": messages});
        let read = import(format!("Exporting session: ses_1\n{export:#}").as_bytes(), None).unwrap();
        assert_eq!(
            (read.format, read.title.as_deref(), read.skipped),
            (Format::OpenCode, Some("Fix"), vec![])
        );
        assert_eq!(read.entries, expected());

        let mut records = vec![info];
        for (info, parts) in infos_and_parts().into_iter().rev() {
            for (nth, mut part) in parts.into_iter().enumerate().rev() {
                part["id"] = format!("prt_{nth:02}").into();
                part["messageID"] = info["id"].clone();
                part["sessionID"] = "ses_1".into();
                records.push(part);
            }
            records.push(info);
        }
        let joined: String = records.iter().map(|record| format!("{record:#}\n")).collect();
        let read = import(joined.as_bytes(), None).unwrap();
        assert_eq!(
            (read.format, read.title.as_deref(), read.skipped),
            (Format::OpenCode, Some("Fix"), vec![])
        );
        assert_eq!(read.entries, expected());
    }
}
