//! Calls that Cline's models write as XML in their text, and the results that Cline then writes into the user's
//! message: a block `[read_file for 'a.rs'] Result:` and the blocks after it.

use crate::shared::json::Object;
use crate::shared::parts::joined;
use crate::shared::verdict::refusal;
use crate::{Entry, Import};
use engine::message::{AssistantPart, Body, Content, ToolCall, ToolResult};
use serde_json::Value;

/// Ends of the first line of a result.
const RESULT: &str = "] Result:";
/// Tags around words of the user. Words in the first come with the first request, the others after a result.
const WORDS: [&str; 4] = ["task", "feedback", "user_message", "answer"];

/// Takes the results out of a user's message and appends them, each after giving the last answer its call. Returns the
/// rest: the user's words, and what the program added.
pub(super) fn results(import: &mut Import, parts: Vec<Content>) -> Vec<Content> {
    let mut rest: Vec<Content> = Vec::new();
    let mut results: Vec<(String, Vec<Content>)> = Vec::new();
    let mut is_over = false;
    for part in parts {
        let text = part.text().map(|text| text.trim()).unwrap_or_default();
        if let Some((name, said)) = result_of(text) {
            let content = if said.is_empty() { vec![] } else { vec![Content::Text(said.into())] };
            results.push((name.to_owned(), content));
            is_over = false;
            continue;
        }
        is_over |= text.starts_with("<environment_details>");
        match results.last_mut().filter(|_| !is_over) {
            Some((_, content)) => content.push(part),
            None => rest.push(part),
        }
    }
    let mut words = Vec::new();
    for (name, content) in results {
        let id = format!("written-{}", import.entries.len());
        if !call(import, &id, &name) {
            rest.extend(content);
            continue;
        }
        let verdict = refusal(&content);
        // The words of a refusal are in its verdict.
        let said = if verdict.is_some() { None } else { feedback(&joined(&content)) };
        words.extend(said.map(|said| Content::Text(said.into())));
        let is_error = verdict.is_some();
        let result = ToolResult { call: id, content, is_error, verdict, ..ToolResult::default() };
        import.push(Body::Tool(result), None, None);
    }
    rest.iter_mut().for_each(unwrap);
    words.into_iter().chain(rest).collect()
}

/// The tool's name and the text behind the first line, if a text is a result: `[name]` or `[name for '…']`.
fn result_of(text: &str) -> Option<(&str, &str)> {
    let (head, said) = text.strip_prefix('[')?.split_once(RESULT)?;
    let name = head.split(' ').next()?;
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    (is_name && !head.contains('\n')).then_some((name, said.trim()))
}

/// Adds the call to the last answer; `false` if there is none. Its arguments are those that the answer's text states.
fn call(import: &mut Import, id: &str, name: &str) -> bool {
    let answers = import.entries.iter_mut().rev().find_map(|entry| match entry {
        Entry::Message(message) => match &mut message.body {
            Body::Assistant { parts, calls, .. } => Some(Some((parts, calls))),
            Body::Tool(_) => None,
            Body::User(_) | Body::Event { .. } => Some(None),
        },
        Entry::Compaction(_) => Some(None),
    });
    let Some((parts, calls)) = answers.flatten() else { return false };
    let mut arguments = Object::new();
    for part in parts.iter_mut() {
        if let AssistantPart::Text(text) = part
            && let Some((around, stated)) = stated(text, name)
        {
            *text = around.into();
            arguments = stated;
            break;
        }
    }
    parts.retain(|part| !matches!(part, AssistantPart::Text(text) if text.is_empty()));
    calls.push(ToolCall::new(id, name, &Value::Object(arguments).to_string()));
    true
}

/// The text around a call, and its arguments.
fn stated(text: &str, name: &str) -> Option<(String, Object)> {
    let (before, rest) = text.split_once(&format!("<{name}>"))?;
    let (mut inner, after) = rest.split_once(&format!("</{name}>")).unwrap_or((rest, ""));
    let mut arguments = Object::new();
    while let Some((key, rest)) = inner.split_once('<').and_then(|(_, rest)| rest.split_once('>')) {
        let end = format!("</{key}>");
        // A file's content may itself end tags of its name.
        let found =
            if key == "content" || key == "diff" { rest.rsplit_once(&end) } else { rest.split_once(&end) };
        let (value, rest) = found.unwrap_or((rest, ""));
        let value = value.strip_prefix('\n').unwrap_or(value);
        let value = value.strip_suffix('\n').unwrap_or(value);
        arguments.insert(key.to_owned(), value.into());
        inner = rest;
    }
    Some((format!("{}{}", before.trim_end(), after.trim_end()), arguments))
}

/// The user's words about an approved call.
fn feedback(text: &str) -> Option<String> {
    let (_, said) = text.split_once("<feedback>")?;
    Some(said.split_once("</feedback>")?.0.trim().to_owned())
}

/// Removes the tags around words of the user.
fn unwrap(part: &mut Content) {
    let Content::Text(text) = part else { return };
    let inner = WORDS.into_iter().find_map(|tag| {
        let inner = text.trim().strip_prefix(&format!("<{tag}>"))?;
        let (inner, after) = inner.split_once(&format!("</{tag}>"))?;
        Some(format!("{}{after}", inner.trim_matches('\n')))
    });
    if let Some(inner) = inner {
        *text = inner.into();
    }
}

#[cfg(test)]
mod tests {
    use crate::{Entry, Format, import};
    use engine::message::attachment::Attachment;
    use engine::message::{Body, Content, ToolCall, ToolResult, Usage, Verdict};

    fn text(text: &str) -> Content {
        Content::Text(text.into())
    }

    fn details(text: &str) -> Content {
        Content::Attachment(Attachment::new("environment_details", text))
    }

    #[test]
    fn calls_and_results_written_as_text_are_restored() {
        let list = r#"[
            {"role":"user","content":[{"type":"text","text":"<task>\nfix <b>\n</task>"},{"type":"text","text":"<environment_details>\n# Tabs\na.rs\n</environment_details>"}],"ts":0},
            {"role":"assistant","content":[{"type":"text","text":"I read it.\n\n<read_file>\n<path>a.rs</path>\n</read_file>"}],
             "metrics":{"tokens":{"prompt":9,"completion":2,"cached":7},"cost":0},"modelInfo":{"modelId":"m"}},
            {"role":"user","content":[{"type":"text","text":"[read_file for 'a.rs'] Result:"},{"type":"text","text":"fn a() {}"},{"type":"text","text":"<environment_details>\nx\n</environment_details>"}]},
            {"role":"assistant","content":"<write_to_file>\n<path>a.rs</path>\n<content>\n<a>\n</a>\n</content>\n</write_to_file>"},
            {"role":"user","content":[{"type":"text","text":"[write_to_file for 'a.rs'] Result:\nThe user denied this operation and provided the following feedback:\n<feedback>\nkeep it\n</feedback>"}]},
            {"role":"assistant","content":"<attempt_completion>\n<result>Done.</result>\n</attempt_completion>"},
            {"role":"user","content":[{"type":"text","text":"[attempt_completion] Result:\nThe user has provided feedback on the results.\n<feedback>\nnot yet\n</feedback>"}]}
        ]"#;
        let mut first = Body::assistant(
            "I read it.",
            vec![ToolCall::new("written-2", "read_file", r#"{"path":"a.rs"}"#)],
        );
        if let Body::Assistant { beside, .. } = &mut first {
            beside.extra.insert("model".into(), "m".into());
            beside.usage = Some(Usage {
                input_tokens: Some(9),
                output_tokens: Some(2),
                cached_input_tokens: Some(7),
                ..Usage::default()
            });
        }
        let refused = "The user denied this operation and provided the following feedback:\n<feedback>\nkeep it\n</feedback>";
        let ended = "The user has provided feedback on the results.\n<feedback>\nnot yet\n</feedback>";
        let expected = vec![
            Body::User(vec![text("fix <b>"), details("# Tabs\na.rs")]),
            first,
            Body::result("written-2", "fn a() {}"),
            Body::User(vec![details("x")]),
            Body::assistant(
                "",
                vec![ToolCall::new("written-5", "write_to_file", r#"{"path":"a.rs","content":"<a>\n</a>"}"#)],
            ),
            Body::Tool(ToolResult {
                call: "written-5".into(),
                content: vec![text(refused)],
                is_error: true,
                verdict: Some(Verdict::new(false, Some("keep it".into()))),
                ..ToolResult::default()
            }),
            Body::assistant(
                "",
                vec![ToolCall::new("written-7", "attempt_completion", r#"{"result":"Done."}"#)],
            ),
            Body::result("written-7", ended),
            Body::User(vec![text("not yet")]),
        ];
        let wrapped = format!(r#"{{"apiConversationHistory":{list}}}"#);
        for source in [list, &wrapped, &format!(r#"{{"messages":{list}}}"#)] {
            let read = import(source.as_bytes(), None).unwrap();
            assert_eq!((read.format, read.skipped), (Format::Cline, vec![]));
            let body = |entry| match entry {
                Entry::Message(message) => Some(message.body),
                Entry::Compaction(_) => None,
            };
            assert_eq!(read.entries.into_iter().filter_map(body).collect::<Vec<_>>(), expected);
        }
    }
}
