//! Sessions of Cline, in two forms: a session file (`.messages.json`), one object with messages whose content is a list
//! of blocks; and the history of a task (`api_conversation_history.json`), the list of such messages alone, or under
//! `messages` or `apiConversationHistory` of an object. Models that cannot call tools write calls as text, which
//! `written` restores.

mod written;

use super::json::{Object, each_item, iso_time, needed, needed_list, number, object, owned, text, whole};
use super::noise::apart;
use super::parts::{Said, contents, joined, reported, results_and_words, said};
use super::{Format, Import, ImportError};
use engine::message::{Body, Content, Usage};
use serde_json::Value;

/// The keys of the list of messages.
pub(super) const LISTS: [&str; 2] = ["messages", "apiConversationHistory"];

/// Reads every message. The system text follows the messages in the file and precedes them in the import.
pub(super) fn read(bytes: &[u8]) -> Result<Import, ImportError> {
    let mut import = Import::new(Format::Cline);
    let root = whole(bytes, &mut import)?;
    let listed = LISTS.into_iter().find_map(|key| root.get(key).and_then(Value::as_array));
    let messages = match (&root, listed) {
        (Value::Array(messages), _) | (_, Some(messages)) => messages.as_slice(),
        (root, None) => needed_list(root, "messages", &import)?,
    };
    if let Some(words) = root.get("system_prompt").and_then(Value::as_str) {
        import.push_system(words, None);
    }
    each_item(messages, "messages", &mut import, take);
    Ok(import)
}

fn take(import: &mut Import, place: &str, message: &Object) -> Result<(), String> {
    let (id, time) = (owned(message, "id"), iso_time(message.get("ts")));
    let content = message.get("content");
    if let Some(metadata) = object(message, "metadata")
        && text(metadata, "kind") == Some("compaction_summary")
    {
        let words = joined(&contents(content, place, import)?);
        let summary = text(metadata, "summary").unwrap_or(&words);
        import.push_compaction(summary, number(metadata, "tokensBefore"), None);
        return Ok(());
    }
    match needed(message, "role")? {
        "user" => {
            let content = content.ok_or("has no `content`")?;
            let (results, words) = results_and_words(content, place, import, result)?;
            let had_results = !results.is_empty();
            let words = words.map(|words| if had_results { words } else { written::results(import, words) });
            let words = words.map(apart).filter(|words| !words.is_empty());
            let bodies = results.into_iter().map(Body::Tool).chain(words.map(Body::User));
            for (nth, body) in bodies.enumerate() {
                let id =
                    id.as_ref().map(|id| if nth == 0 { id.clone() } else { format!("{id}#{}", nth + 1) });
                import.push(body, id, time.clone());
            }
        }
        "assistant" => {
            let Said { parts, calls } = said(content, place, import)?;
            let usage = object(message, "metrics").map(usage);
            let model =
                object(message, "modelInfo").and_then(|model| text(model, "id").or(text(model, "modelId")));
            import.push(Body::Assistant { parts, calls, beside: reported(usage, model) }, id, time);
        }
        unknown => return Err(format!("is a message of an unknown role, `{unknown}`")),
    }
    Ok(())
}

/// The usage of a model call: flat in session files, under `tokens` in the history of a task.
fn usage(metrics: &Object) -> Usage {
    match object(metrics, "tokens") {
        Some(tokens) => Usage {
            input_tokens: number(tokens, "prompt"),
            output_tokens: number(tokens, "completion"),
            cached_input_tokens: number(tokens, "cached"),
            ..Usage::default()
        },
        None => Usage {
            input_tokens: number(metrics, "inputTokens"),
            output_tokens: number(metrics, "outputTokens"),
            cached_input_tokens: number(metrics, "cacheReadTokens"),
            cache_write_input_tokens: number(metrics, "cacheWriteTokens"),
            reasoning_tokens: None,
        },
    }
}

/// The content of a tool result: text, blocks, or any other value as JSON, as a model is shown it.
fn result(value: Option<&Value>, place: &str, import: &mut Import) -> Result<Vec<Content>, String> {
    match value {
        Some(Value::Array(items))
            if items.iter().any(|item| item.get("type").is_none() && !item.is_string()) =>
        {
            Ok(vec![Content::Text(Value::from(items.as_slice()).to_string().into())])
        }
        Some(value @ Value::Object(_)) => Ok(vec![Content::Text(value.to_string().into())]),
        other => contents(other, place, import),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Entry, RecordedCompaction, import};
    use engine::message::{AssistantPart, NewMessage, ToolResult};

    fn bodies(import: &Import) -> Vec<&Body> {
        let body = |entry: &'_ Entry| matches!(entry, Entry::Message(_));
        let entries = import.entries.iter().filter(|entry| body(entry));
        entries.filter_map(|e| if let Entry::Message(m) = e { Some(&m.body) } else { None }).collect()
    }

    #[test]
    fn blocks_are_read_and_system_text_comes_first() {
        let source = r#"{"version": 1, "sessionId": "s", "messages": [
            {"id": "a", "role": "user", "ts": 0, "content": [{"type": "text", "text": "look"}, {"type": "file", "path": "/w/a.ts", "content": "x"}]},
            {"id": "b", "role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "I do"}, {"type": "tool_use", "id": "c", "name": "read_files", "input": {"z": 1, "a": []}}],
             "modelInfo": {"id": "m"}, "metrics": {"inputTokens": 9, "outputTokens": 2, "cacheReadTokens": 7, "cost": 0.1}},
            {"id": "d", "role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "name": "read_files", "content": [{"query": "a", "result": "1 | x", "success": true}]},
             {"type": "tool_result", "tool_use_id": "e", "content": "Exit code 3\nno", "is_error": true}, {"type": "text", "text": "go on"}]},
            {"id": "f", "role": "assistant", "content": "Done."}
        ], "system_prompt": "You are Cline."}"#;
        let read = import(source.as_bytes(), None).unwrap();
        assert_eq!((read.format, &read.skipped), (Format::Cline, &vec![]));
        assert_eq!(read.system.as_deref(), Some("You are Cline."));
        let bodies = bodies(&read);
        assert!(matches!(bodies[0], Body::Event { .. }));
        let file = Content::ContextFile { path: "/w/a.ts".into(), text: "x".into() };
        assert_eq!(bodies[1], &Body::User(vec![Content::Text("look".into()), file]));
        let Body::Assistant { parts, calls, beside } = bodies[2] else { panic!("an answer") };
        assert!(matches!(&parts[..], [AssistantPart::Reasoning { .. }, AssistantPart::Text(_)]));
        assert_eq!(&*calls[0].arguments, r#"{"z":1,"a":[]}"#);
        assert_eq!(beside.usage.and_then(|usage| usage.cached_input_tokens), Some(7));
        assert_eq!(bodies[3], &Body::result("c", r#"[{"query":"a","result":"1 | x","success":true}]"#));
        assert!(matches!(bodies[4], Body::Tool(ToolResult { is_error: true, exit_code: Some(3), .. })));
        assert_eq!(bodies[5], &NewMessage::user("go on").body);
        let Entry::Message(first) = &read.entries[1] else { panic!("a message") };
        assert_eq!(
            (first.external_id.as_deref(), first.created_at.as_deref()),
            (Some("a"), Some("1970-01-01T00:00:00.000Z"))
        );
        let Entry::Message(second) = &read.entries[5] else { panic!("a message") };
        assert_eq!(second.external_id.as_deref(), Some("d#3"));
    }

    #[test]
    fn summary_is_a_compaction_and_bad_messages_are_skipped() {
        let source = r#"{"agent": "lead", "updated_at": "t", "messages": [
            {"role": "user", "content": [{"type": "text", "text": "sum"}], "metadata": {"kind": "compaction_summary", "summary": "so far", "tokensBefore": 7}},
            7, {"role": "user"}, {"role": "judge", "content": ""},
            {"role": "assistant", "content": [{"type": "tool_use", "name": "f"}, {"type": "media"}, {"type": "text", "text": "kept"}]}
        ]}"#;
        let read = import(source.as_bytes(), None).unwrap();
        let expected = RecordedCompaction {
            standing: crate::Standing::Recorded,
            text: "so far".into(),
            tokens_before: Some(7),
            after_external_id: None,
        };
        assert_eq!(read.entries[0], Entry::Compaction(expected));
        assert_eq!(bodies(&read), [&Body::assistant("kept", Vec::new())]);
        let places: Vec<&str> = read.skipped.iter().map(|s| s.place.as_str()).collect();
        let expected = [
            "messages[1]",
            "messages[2]",
            "messages[3]",
            "messages[4], content[0]",
            "messages[4], content[1]",
        ];
        assert_eq!(places, expected);
    }
}
