//! The native format, read and written: a line for the session, then a line for each entry, in the protocol's
//! shapes of Message and Part.

use super::json::{Object, code, each_item, each_record, flag, list, needed, number, object, owned, text};
use super::parts::{contents, joined, said_exactly};
use super::{Entry, Format, Import, ImportError, RecordedCompaction, Standing};
use engine::cost::Cost;
use engine::message::attachment::Attachment;
use engine::message::cut::Cut;
use engine::message::meta::{AnswerMeta, Meta};
use engine::message::{AssistantPart, Beside, Body, Content, Effect, NewMessage, ToolResult, Usage, Verdict};
use engine::prompt::item::{Approval, Tool, ToolKind};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The written version, and the only one that can be read.
const VERSION: u64 = 1;

/// Reads every line. A session line makes an empty import valid; a file without one may still contain messages.
pub(super) fn read(bytes: &[u8]) -> Result<Import, ImportError> {
    let mut import = Import::new(Format::Jsonl);
    let mut other_version = None;
    let mut is_session = false;
    each_record(bytes, &mut import, |import, place, record| match needed(record, "type")? {
        "session" => {
            is_session = true;
            match record.get("version") {
                Some(version) if version.as_u64() == Some(VERSION) => session(import, record),
                version => {
                    let found = version.map_or_else(|| "(none)".to_owned(), Value::to_string);
                    other_version.get_or_insert(found);
                }
            }
            Ok(())
        }
        "message" => messages(import, place, record),
        "compaction" => {
            import.entries.push(Entry::Compaction(compaction(record)?));
            Ok(())
        }
        unknown => Err(format!("is a line of an unknown type, `{unknown}`")),
    });
    match other_version {
        Some(found) => Err(ImportError::UnknownVersion { found, known: VERSION.to_string() }),
        None if is_session => Ok(import),
        None => import.or_nothing(),
    }
}

fn compaction(record: &Object) -> Result<RecordedCompaction, String> {
    let is_over = record.get("inForce").and_then(Value::as_bool) == Some(false);
    Ok(RecordedCompaction {
        text: needed(record, "text")?.to_owned(),
        tokens_before: number(record, "tokensBefore"),
        after_external_id: owned(record, "afterExternalId"),
        standing: match owned(record, "threadhold") {
            _ if is_over => Standing::OutOfForce,
            Some(own) => Standing::InForce(own),
            None => Standing::Recorded,
        },
    })
}

fn session(import: &mut Import, record: &Object) {
    import.title = owned(record, "title");
    import.system = owned(record, "system");
    import.tools = list(record, "tools").iter().filter_map(Value::as_object).filter_map(tool).collect();
}

fn tool(of: &Object) -> Option<Tool> {
    Some(Tool {
        rules: Vec::new(),
        name: owned(of, "name")?,
        description: owned(of, "description").unwrap_or_default(),
        input_schema: of.get("inputSchema").cloned().unwrap_or_else(|| json!({})),
        kind: text(of, "kind").and_then(ToolKind::stored_as),
        guidelines: owned(of, "guidelines"),
        approval: Approval::default(),
        ends_turn: None,
        origin: None,
    })
}

/// Reads the messages of a line; each of several results is a separate message.
pub(super) fn messages(import: &mut Import, place: &str, record: &Object) -> Result<(), String> {
    let parts = record.get("parts").filter(|parts| parts.is_array()).ok_or("has no list of `parts`")?;
    let bodies = match needed(record, "role")? {
        "user" => {
            let mut content = contents(Some(parts), place, import)?;
            content.extend(meta_of_whole(record));
            vec![Body::User(content)]
        }
        "assistant" => {
            let said = said_exactly(Some(parts), place, import)?;
            let mut beside = beside(record);
            let parts = parts.as_array().map_or(&[][..], Vec::as_slice);
            // With a part that was skipped, nothing tells which one another belongs to.
            if said.parts.len() + said.calls.len() == parts.len() {
                let metas = (0..).zip(parts.iter().map(|part| part.get("_meta").and_then(Value::as_object)));
                let metas = metas.filter_map(|(at, meta)| Some((at, meta?.clone()))).collect();
                beside.meta = AnswerMeta::of(object(record, "_meta").cloned(), metas);
            }
            vec![Body::Assistant { parts: said.parts, calls: said.calls, beside }]
        }
        "tool" => {
            let mut results = Vec::new();
            each_item(list(record, "parts"), &format!("{place}, parts"), import, |import, place, part| {
                results.push(result(import, place, part)?);
                Ok(())
            });
            results
        }
        "event" => {
            let words: Vec<Content> = contents(Some(parts), place, import)?;
            let text = joined(&words).into();
            vec![Body::Event { kind: needed(record, "kind")?.to_owned(), text }]
        }
        unknown => return Err(format!("is a message of an unknown role, `{unknown}`")),
    };
    for body in bodies {
        import.entries.push(Entry::Message(NewMessage {
            body,
            external_id: owned(record, "externalId"),
            visible_to_model: record.get("visibleToModel").and_then(Value::as_bool).unwrap_or(true),
            created_at: owned(record, "createdAt"),
            shown: shown(record),
        }));
    }
    Ok(())
}

fn meta_of_whole(of: &Object) -> Option<Content> {
    object(of, "_meta").map(|meta| Content::Meta(Meta::Whole(meta.clone().into())))
}

fn shown(record: &Object) -> Option<Cut> {
    Cut::deserialize(record.get("shown")?).ok()
}

fn beside(record: &Object) -> Beside {
    Beside {
        citations: list(record, "citations").to_vec(),
        usage: record.get("usage").and_then(|usage| Usage::deserialize(usage).ok()),
        cost: record.get("cost").and_then(|cost| Cost::deserialize(cost).ok()).map(Box::new),
        extra: object(record, "extra").cloned().unwrap_or_default(),
        meta: AnswerMeta::of(object(record, "_meta").cloned(), BTreeMap::new()),
        ..Beside::default()
    }
}

fn result(import: &mut Import, place: &str, part: &Object) -> Result<Body, String> {
    let effect = |of: &Object| Some(Effect { path: owned(of, "path")?, sha256: owned(of, "sha256")? });
    let mut content = contents(part.get("content"), place, import)?;
    content.extend(meta_of_whole(part));
    Ok(Body::Tool(ToolResult {
        call: needed(part, "toolCallId")?.to_owned(),
        content,
        is_error: flag(part, "isError"),
        exit_code: code(part, "exitCode"),
        effects: list(part, "effects").iter().filter_map(Value::as_object).filter_map(effect).collect(),
        verdict: part.get("verdict").and_then(|verdict| Verdict::deserialize(verdict).ok()),
    }))
}

/// Writes an import in the native format. Skipped records are omitted.
pub fn export_jsonl(import: &Import) -> String {
    let mut head = json!({"type": "session", "format": "threadhold", "version": VERSION});
    set(&mut head, "title", import.title.as_deref().map(Value::from));
    set(&mut head, "system", import.system.as_deref().map(Value::from));
    let tools: Vec<Value> = import.tools.iter().map(tool_line).collect();
    set(&mut head, "tools", if tools.is_empty() { None } else { Some(tools.into()) });
    let lines = import.entries.iter().map(entry_line);
    std::iter::once(head).chain(lines).map(|line| format!("{line}\n")).collect()
}

/// Sets a field, if there is a value.
pub(super) fn set(object: &mut Value, key: &str, value: Option<Value>) {
    if let (Value::Object(object), Some(value)) = (object, value) {
        object.insert(key.to_owned(), value);
    }
}

fn tool_line(tool: &Tool) -> Value {
    let mut line =
        json!({"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema});
    set(&mut line, "kind", tool.kind.and_then(|kind| serde_json::to_value(kind).ok()));
    set(&mut line, "guidelines", tool.guidelines.as_deref().map(Value::from));
    line
}

fn entry_line(entry: &Entry) -> Value {
    match entry {
        Entry::Compaction(record) => {
            let mut line = json!({"type": "compaction", "text": record.text});
            set(&mut line, "tokensBefore", record.tokens_before.map(Value::from));
            set(&mut line, "afterExternalId", record.after_external_id.as_deref().map(Value::from));
            match &record.standing {
                Standing::Recorded => {}
                Standing::InForce(own) => set(&mut line, "threadhold", Some(own.as_str().into())),
                Standing::OutOfForce => set(&mut line, "inForce", Some(false.into())),
            }
            line
        }
        Entry::Message(message) => message_line(message),
    }
}

/// A message as a line, with its content and all accompanying data.
pub(super) fn message_line(message: &NewMessage) -> Value {
    let (role, parts): (&str, Vec<Value>) = match &message.body {
        Body::User(parts) => ("user", content_parts(parts)),
        Body::Assistant { parts, calls, beside } => {
            let calls = calls.iter().map(|call| {
                let mut part = json!({"type": "toolCall", "id": call.id, "name": call.name, "arguments": &*call.arguments});
                set(&mut part, "sourceId", call.source_id.as_deref().map(Value::from));
                part
            });
            let mut parts: Vec<Value> = parts.iter().map(assistant_part).chain(calls).collect();
            for (at, part) in (0..).zip(&mut parts) {
                let meta = beside.meta.as_ref().and_then(|meta| meta.parts.get(&at));
                set(part, "_meta", meta.cloned().map(Value::Object));
            }
            ("assistant", parts)
        }
        Body::Tool(result) => ("tool", vec![result_part(result)]),
        Body::Event { text, .. } => ("event", vec![json!({"type": "text", "text": &**text})]),
    };
    let mut line = json!({"type": "message", "role": role});
    if let Body::Event { kind, .. } = &message.body {
        set(&mut line, "kind", Some(kind.as_str().into()));
    }
    set(&mut line, "externalId", message.external_id.as_deref().map(Value::from));
    set(&mut line, "createdAt", message.created_at.as_deref().map(Value::from));
    set(&mut line, "visibleToModel", if message.visible_to_model { None } else { Some(false.into()) });
    set(&mut line, "parts", Some(parts.into()));
    set(&mut line, "shown", message.shown.and_then(|cut| serde_json::to_value(cut).ok()));
    if let Body::User(parts) = &message.body {
        set(&mut line, "_meta", Meta::of_whole(parts).cloned().map(Value::Object));
    }
    if let Body::Assistant { beside, .. } = &message.body
        && let Ok(Value::Object(mut beside)) = serde_json::to_value(beside)
    {
        // Those of parts are with the parts.
        set(&mut line, "_meta", beside.remove("meta").and_then(|meta| meta.get("whole").cloned()));
        beside.into_iter().for_each(|(key, value)| set(&mut line, &key, Some(value)));
    }
    line
}

fn content_parts(content: &[Content]) -> Vec<Value> {
    let mut parts: Vec<Value> = Vec::new();
    for part in content {
        match (part, parts.last_mut()) {
            (Content::Meta(Meta::Part(meta)), Some(last)) => {
                set(last, "_meta", Some((**meta).clone().into()))
            }
            _ => parts.extend(content_part(part)),
        }
    }
    parts
}

fn content_part(part: &Content) -> Option<Value> {
    Some(match part {
        Content::Meta(_) => return None,
        Content::Text(text) => json!({"type": "text", "text": &**text}),
        Content::Image(image) => {
            json!({"type": "image", "mimeType": image.mime_type, "data": &*image.data})
        }
        Content::Resource { uri, text } => json!({"type": "resource", "uri": uri, "text": &**text}),
        Content::ResourceLink(link) => {
            let mut part = json!({"type": "resourceLink"});
            if let Ok(Value::Object(fields)) = serde_json::to_value(link) {
                fields.into_iter().for_each(|(key, value)| set(&mut part, &key, Some(value)));
            }
            part
        }
        Content::ContextFile { path, text } => json!({"type": "contextFile", "path": path, "text": &**text}),
        Content::Attachment(Attachment { name, text }) => {
            json!({"type": "attachment", "name": name, "text": &**text})
        }
    })
}

fn assistant_part(part: &AssistantPart) -> Value {
    match part {
        AssistantPart::Text(text) => json!({"type": "text", "text": &**text}),
        AssistantPart::Reasoning { text, signature, block } => {
            let mut part = json!({"type": "reasoning", "text": &**text});
            set(&mut part, "signature", signature.as_deref().map(Value::from));
            set(&mut part, "block", block.as_deref().cloned().map(Value::Object));
            part
        }
        AssistantPart::Raw(wire) => json!({"type": "raw", "wire": wire}),
    }
}

fn result_part(result: &ToolResult) -> Value {
    let content = content_parts(&result.content);
    let mut part = json!({"type": "toolResult", "toolCallId": result.call, "content": content});
    set(&mut part, "_meta", Meta::of_whole(&result.content).cloned().map(Value::Object));
    set(&mut part, "isError", if result.is_error { Some(true.into()) } else { None });
    set(&mut part, "exitCode", result.exit_code.map(Value::from));
    let effects = result.effects.iter().map(|effect| json!({"path": effect.path, "sha256": effect.sha256}));
    let effects: Vec<Value> = effects.collect();
    set(&mut part, "effects", if effects.is_empty() { None } else { Some(effects.into()) });
    set(&mut part, "verdict", result.verdict.as_ref().and_then(|verdict| serde_json::to_value(verdict).ok()));
    part
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import;
    use engine::cost::Dollars;
    use engine::message::{Image, ResourceLink, ToolCall};
    use engine::testing::{answer_with_data, content_with_data};
    use proptest::prelude::*;
    use serde_json::Map;
    use std::sync::Arc;

    #[test]
    fn unknown_version_error_lists_known_versions() {
        let source = br#"{"type":"session","format":"threadhold","version":7}"#;
        let error = import(source, None).unwrap_err();
        assert_eq!(error, ImportError::UnknownVersion { found: "7".into(), known: "1".into() });
        assert!(error.to_string().contains("version 7"));
    }

    #[test]
    fn tool_kinds_of_older_files_are_read() {
        let tools = r#"[{"name":"a","kind":"write"},{"name":"b","kind":"run"},{"name":"c","kind":"edit"}]"#;
        let source = format!(r#"{{"type":"session","format":"threadhold","version":1,"tools":{tools}}}"#);
        let read = import(source.as_bytes(), None).unwrap();
        let kinds: Vec<_> = read.tools.iter().map(|tool| tool.kind).collect();
        assert_eq!(kinds, [Some(ToolKind::Edit), Some(ToolKind::Execute), Some(ToolKind::Edit)]);
    }

    #[test]
    fn malformed_line_is_skipped_alone() {
        let mut source =
            b"\xef\xbb\xbf{\"type\":\"session\",\"format\":\"threadhold\",\"version\":1}\r\n".to_vec();
        source.extend(b"{\"type\":\"message\",\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"a\"}],\"later\":1}\r\n");
        source.extend(b"{\"type\":\"message\",\"role\":\"user\",\"parts\":[\xff]}\r\n\r\n");
        source.extend(b"{\"type\":\"message\",\"role\":\"user\",\"parts\":7}\n[]\n");
        source.extend(
            b"{\"type\":\"message\",\"role\":\"event\",\"kind\":\"note\",\"parts\":[]}\n{\"type\":\"mess",
        );
        let read = import(&source, None).unwrap();
        assert_eq!(read.entries.len(), 2);
        let places: Vec<&str> = read.skipped.iter().map(|skipped| skipped.place.as_str()).collect();
        assert_eq!(places, ["line 3", "line 5", "line 6", "line 8"]);
    }

    fn content() -> impl Strategy<Value = Content> {
        prop_oneof![
            any::<String>().prop_map(|text| Content::Text(text.into())),
            any::<(String, String)>()
                .prop_map(|(a, b)| Content::Image(Image { mime_type: a, data: b.into() })),
            any::<(String, String)>().prop_map(|(uri, b)| Content::Resource { uri, text: b.into() }),
            any::<(String, String, Option<String>, Option<u32>)>().prop_map(|(uri, name, title, size)| {
                Content::ResourceLink(ResourceLink {
                    uri,
                    name,
                    mime_type: title.clone(),
                    title,
                    size: size.map(u64::from),
                    description: None,
                })
            }),
            any::<(String, String)>().prop_map(|(path, b)| Content::ContextFile { path, text: b.into() }),
            any::<(String, String)>().prop_map(|(a, b)| Content::Attachment(Attachment::new(&a, &b))),
        ]
    }

    fn contents() -> impl Strategy<Value = Vec<Content>> {
        let parts = prop::collection::vec((content(), any::<Option<String>>()), 0..3);
        (parts, any::<Option<String>>()).prop_map(|(parts, of_whole)| content_with_data(parts, of_whole))
    }

    fn json_map(key: &str, value: &str) -> Arc<Map<String, Value>> {
        Arc::new(Map::from_iter([(key.to_owned(), value.into())]))
    }

    fn body() -> impl Strategy<Value = Body> {
        let said = prop_oneof![
            any::<String>().prop_map(|text| AssistantPart::Text(text.into())),
            any::<(String, Option<String>)>().prop_map(|(text, signature)| AssistantPart::Reasoning {
                block: signature.as_ref().map(|id| json_map("id", id)),
                text: text.into(),
                signature: signature.map(Into::into)
            }),
            any::<String>().prop_map(|text| AssistantPart::Raw(json!({"type": "made", "of": [text]}).into())),
        ];
        let beside = any::<(Option<String>, Option<u32>)>().prop_map(|(said, tokens)| Beside {
            citations: said.iter().map(|said| json!({"of": said})).collect(),
            usage: tokens.map(|tokens| Usage { input_tokens: Some(tokens), ..Usage::default() }),
            cost: tokens.map(|tokens| {
                let dollars = Some(Dollars::of_billionths(tokens.into()));
                Box::new(Cost {
                    dollars,
                    reported: tokens % 2 == 0,
                    incomplete: tokens % 3,
                    ..Cost::default()
                })
            }),
            extra: said.iter().map(|said| (said.clone(), json!([1.5, null]))).collect(),
            ..Beside::default()
        });
        let call =
            any::<(String, Option<String>, String, String)>().prop_map(|(id, source_id, name, args)| {
                ToolCall { source_id, ..ToolCall::new(&id, &name, &args) }
            });
        let effect = any::<(String, String)>().prop_map(|(path, sha256)| Effect { path, sha256 });
        let effects = prop::collection::vec(effect, 0..2);
        prop_oneof![
            contents().prop_map(Body::User),
            (
                prop::collection::vec(said, 0..3),
                prop::collection::vec(call, 0..3),
                beside,
                any::<Option<String>>()
            )
                .prop_map(|(parts, calls, beside, text)| answer_with_data(parts, calls, beside, text)),
            (any::<String>(), contents(), any::<bool>(), any::<Option<i32>>(), effects).prop_map(
                |(call, content, is_error, exit_code, effects)| Body::Tool(ToolResult {
                    call,
                    content,
                    is_error,
                    exit_code,
                    effects,
                    verdict: None
                })
            ),
            any::<(String, String)>().prop_map(|(kind, text)| Body::Event { kind, text: text.into() }),
        ]
    }

    fn entry() -> impl Strategy<Value = Entry> {
        let message = (body(), any::<(Option<String>, bool, Option<String>)>()).prop_map(|(body, rest)| {
            let (external_id, visible_to_model, created_at) = rest;
            Entry::Message(NewMessage { body, external_id, visible_to_model, created_at, shown: None })
        });
        let standing = prop_oneof![
            Just(Standing::Recorded),
            Just(Standing::OutOfForce),
            any::<String>().prop_map(Standing::InForce)
        ];
        let compaction = (any::<(String, Option<u32>, Option<String>)>(), standing).prop_map(
            |((text, tokens_before, after_external_id), standing)| {
                Entry::Compaction(RecordedCompaction { text, tokens_before, after_external_id, standing })
            },
        );
        prop_oneof![4 => message, 1 => compaction]
    }

    proptest! {
            #[test]
            fn written_import_is_read_back_unchanged(
                entries in prop::collection::vec(entry(), 0..6),
                head in any::<(Option<String>, Option<String>)>(),
                tools in prop::collection::vec(any::<(String, String, Option<String>)>(), 0..2),
                kind in prop::sample::select(vec![ToolKind::Edit, ToolKind::Execute, ToolKind::Think, ToolKind::Other]),
            ) {
                let mut import = Import::new(Format::Jsonl);
                (import.title, import.system) = head;
                import.entries = entries;
                import.tools = tools.into_iter().map(|(name, description, guidelines)| Tool {
    rules: Vec::new(),
                    name,
                    description,
                    input_schema: json!({"type": "object", "required": ["b", "a"]}),
                    kind: Some(kind),
                    guidelines,
                    approval: Approval::default(),
                    ends_turn: None,
                    origin: None,
                }).collect();
                let written = export_jsonl(&import);
                prop_assert_eq!(crate::import(written.as_bytes(), None).unwrap(), import);
            }
        }
}
