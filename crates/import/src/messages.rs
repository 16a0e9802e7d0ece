//! Plain lists of messages as providers take them: `[{role, content}, …]`, alone or as `messages` of a request body
//! with its tools and system text. Two forms: OpenAI's chat completions (`tool_calls`, roles `system` and `tool`) and
//! Anthropic's Messages (`tool_use` and `tool_result` blocks, `system` beside the list).

use super::json::{Object, each_item, list, needed, needed_list, object, owned, text, whole};
use super::parts::{Said, anthropic_usage, contents, joined, reported, results_and_words, said, tool};
use super::{Format, Import, ImportError, completions};
use engine::message::Body;
use serde_json::Value;

/// Reads messages in the form of chat completions.
pub(super) fn read_openai(bytes: &[u8]) -> Result<Import, ImportError> {
    let mut import = Import::new(Format::OpenAi);
    let root = whole(bytes, &mut import)?;
    each_item(rows(&root, &mut import)?, "messages", &mut import, openai);
    Ok(import)
}

/// Reads messages in the form of Anthropic's Messages.
pub(super) fn read_anthropic(bytes: &[u8]) -> Result<Import, ImportError> {
    let mut import = Import::new(Format::Anthropic);
    let root = whole(bytes, &mut import)?;
    if let Some(system) = root.get("system") {
        match contents(Some(system), "system", &mut import) {
            Ok(parts) if !parts.is_empty() => import.push_system(&joined(&parts), None),
            Ok(_) => {}
            Err(reason) => import.skip("system", reason),
        }
    }
    each_item(rows(&root, &mut import)?, "messages", &mut import, anthropic);
    Ok(import)
}

/// The list itself, or that of an object, whose tools are read too.
fn rows<'a>(root: &'a Value, import: &mut Import) -> Result<&'a [Value], ImportError> {
    match root {
        Value::Array(rows) => Ok(rows),
        root => {
            let tools = root.as_object().map(|root| list(root, "tools")).unwrap_or_default();
            import.tools = tools.iter().filter_map(tool).collect();
            needed_list(root, "messages", import)
        }
    }
}

fn openai(import: &mut Import, place: &str, row: &Object) -> Result<(), String> {
    match completions::body(row, place, import)? {
        Some(Body::User(parts)) => import.push_user(parts, None, None),
        Some(body) => drop(import.push(body, None, None)),
        None => match needed(row, "role")? {
            "system" | "developer" => {
                let words = joined(&contents(row.get("content"), place, import)?);
                import.push_system(&words, None);
            }
            unknown => return Err(format!("is a message of an unknown role, `{unknown}`")),
        },
    }
    Ok(())
}

fn anthropic(import: &mut Import, place: &str, row: &Object) -> Result<(), String> {
    let content = row.get("content").ok_or("has no `content`")?;
    match needed(row, "role")? {
        "user" => {
            let (results, words) = results_and_words(content, place, import, contents)?;
            for result in results {
                import.push(Body::Tool(result), None, None);
            }
            if let Some(words) = words {
                import.push_user(words, None, None);
            }
        }
        "assistant" => {
            let Said { parts, calls } = said(Some(content), place, import)?;
            let usage = object(row, "usage").and_then(anthropic_usage);
            let beside = reported(usage, text(row, "model"));
            import.push(Body::Assistant { parts, calls, beside }, owned(row, "id"), None);
        }
        unknown => return Err(format!("is a message of an unknown role, `{unknown}`")),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::{Entry, Format, import};
    use engine::message::attachment::Attachment;
    use engine::message::{Body, Content, SYSTEM_IN_HISTORY, ToolCall, ToolResult, Usage, Verdict};

    fn bodies(source: &str) -> (Format, Vec<Body>) {
        let read = import(source.as_bytes(), None).unwrap();
        assert_eq!(read.skipped, []);
        let body = |entry| match entry {
            Entry::Message(message) => message.body,
            Entry::Compaction(_) => panic!("a message"),
        };
        (read.format, read.entries.into_iter().map(body).collect())
    }

    fn user(text: &str) -> Body {
        Body::User(vec![Content::Text(text.into())])
    }

    fn system(text: &str) -> Body {
        Body::Event { kind: SYSTEM_IN_HISTORY.into(), text: text.into() }
    }

    #[test]
    fn openai_list_is_read_alone_and_in_an_object() {
        let list = r#"[{"role":"system","content":"be brief"},{"role":"user","content":"list"},
            {"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"ls","arguments":"{\"p\": 1}"}}]},
            {"role":"tool","tool_call_id":"c","content":"a.rs"},{"role":"assistant","content":"One file."}]"#;
        let expected = vec![
            system("be brief"),
            user("list"),
            Body::assistant("", vec![ToolCall::new("c", "ls", r#"{"p": 1}"#)]),
            Body::result("c", "a.rs"),
            Body::assistant("One file.", vec![]),
        ];
        assert_eq!(bodies(list), (Format::OpenAi, expected.clone()));
        let wrapped = format!(
            r#"{{"model":"m","messages":{list},"tools":[{{"type":"function","function":{{"name":"ls"}}}}]}}"#
        );
        assert_eq!(bodies(&wrapped), (Format::OpenAi, expected));
        assert_eq!(import(wrapped.as_bytes(), None).unwrap().tools[0].name, "ls");
    }

    #[test]
    fn anthropic_list_is_read_alone_and_in_an_object() {
        let list = r#"[{"role":"user","content":[{"type":"text","text":"<system-reminder>x</system-reminder>"},{"type":"text","text":"list"}]},
            {"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"c","name":"ls","input":{}}],
             "usage":{"input_tokens":3,"cache_creation_input_tokens":4,"cache_read_input_tokens":5,"output_tokens":6}},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"c","is_error":true,"content":"The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nnot here"}]},
            {"role":"assistant","content":"Where?"}]"#;
        let said = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nnot here";
        let mut asked = Body::assistant("I look.", vec![ToolCall::new("c", "ls", "{}")]);
        if let Body::Assistant { beside, .. } = &mut asked {
            beside.usage = Some(Usage {
                input_tokens: Some(12),
                output_tokens: Some(6),
                cached_input_tokens: Some(5),
                cache_write_input_tokens: Some(4),
                reasoning_tokens: None,
            });
        }
        let expected = vec![
            Body::User(vec![
                Content::Attachment(Attachment::new("system-reminder", "x")),
                Content::Text("list".into()),
            ]),
            asked,
            Body::Tool(ToolResult {
                call: "c".into(),
                content: vec![Content::Text(said.into())],
                is_error: true,
                verdict: Some(Verdict::new(false, Some("not here".into()))),
                ..ToolResult::default()
            }),
            Body::assistant("Where?", vec![]),
        ];
        assert_eq!(bodies(list), (Format::Anthropic, expected.clone()));
        let with_system = [vec![system("be brief")], expected].concat();
        let wrapped = format!(r#"{{"system":"be brief","messages":{list}}}"#);
        assert_eq!(bodies(&wrapped), (Format::Anthropic, with_system));
    }
}
