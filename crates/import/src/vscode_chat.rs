//! Output of VS Code's "Export Chat": one JSON value with `requests`, each with the Copilot extension's
//! rounds in its result's metadata, or with the shown answer alone. Attachments are URLs without content.

use super::json::{
    Object, each_item, flag, iso_time, list, needed, needed_list, number, object, owned, text, whole,
};
use super::parts::{call, contents, reported, thinking};
use super::{Entry, Format, Import, ImportError, RecordedCompaction, verdict};
use engine::message::{AssistantPart, Beside, Body, Content, Image, NewMessage, ToolResult, Usage};
use serde_json::Value;

pub(super) fn read(bytes: &[u8]) -> Result<Import, ImportError> {
    let mut import = Import::new(Format::VscodeChat);
    let root = whole(bytes, &mut import)?;
    let requests = needed_list(&root, "requests", &import)?;
    import.title = root.as_object().and_then(|root| owned(root, "customTitle"));
    each_item(requests, "requests", &mut import, take);
    Ok(import)
}

fn take(import: &mut Import, place: &str, request: &Object) -> Result<(), String> {
    let words = match request.get("message") {
        Some(Value::String(words)) => words.as_str(),
        Some(Value::Object(message)) => needed(message, "text")?,
        _ => return Err("has no `message`".into()),
    };
    let time = iso_time(request.get("timestamp"));
    let start = import.entries.len();
    import.push(NewMessage::user(words).body, owned(request, "requestId"), time.clone());
    let nothing = Object::new();
    let metadata =
        object(request, "result").and_then(|result| object(result, "metadata")).unwrap_or(&nothing);
    let rounds = list(metadata, "toolCallRounds");
    let mut results = Results::of(metadata);
    let rounds_at = format!("{place}.result.metadata.toolCallRounds");
    each_item(rounds, &rounds_at, import, |import, place, value| {
        round(import, place, value, &mut results, &time);
        Ok(())
    });
    for (id, _) in results.left {
        import
            .skip(format!("{place}.result.metadata.toolCallResults.{id}"), "answers no call of its request");
    }
    let shown = list(request, "response");
    let rest = if rounds.is_empty() {
        shown_parts(shown)
    } else if flag(request, "isCanceled") {
        // Text after the last tool ran is in no round if the user cancelled.
        shown_parts(shown.rsplit(is_tool).next().unwrap_or_default())
    } else {
        Vec::new()
    };
    if !rest.is_empty() && !is_said(import, start, &rest) {
        import.push(
            Body::Assistant { parts: rest, calls: Vec::new(), beside: Beside::default() },
            owned(request, "responseId"),
            time,
        );
    }
    used(import, request, metadata, start);
    summaries(import, place, metadata, start);
    Ok(())
}

/// Sets the usage that a request states, which is that of its last model call.
fn used(import: &mut Import, request: &Object, metadata: &Object, start: usize) {
    let usage = Usage {
        input_tokens: number(metadata, "promptTokens").filter(|tokens| *tokens > 0),
        output_tokens: number(metadata, "outputTokens"),
        ..Usage::default()
    };
    let answers = import.entries.iter_mut().skip(start).rev().filter_map(|entry| match entry {
        Entry::Message(NewMessage { body: Body::Assistant { beside, .. }, .. }) => Some(beside),
        _ => None,
    });
    if let Some(beside) = answers.into_iter().next().filter(|_| usage.input_tokens.is_some()) {
        *beside = reported(Some(usage), text(request, "modelId"));
    }
}

/// Reads a round: the model's text, its calls, and the results in the order of the calls.
fn round(import: &mut Import, place: &str, round: &Object, results: &mut Results, time: &Option<String>) {
    let mut parts: Vec<AssistantPart> = object(round, "thinking").map(thinking).into_iter().collect();
    parts.extend(
        text(round, "response").filter(|said| !said.is_empty()).map(|said| AssistantPart::Text(said.into())),
    );
    let mut calls = Vec::new();
    each_item(list(round, "toolCalls"), &format!("{place}.toolCalls"), import, |_, _, of| {
        calls.push(call(of, of.get("arguments"))?);
        Ok(())
    });
    let ids: Vec<String> = calls.iter().map(|call| call.id.as_str().to_owned()).collect();
    let body = Body::Assistant { parts, calls, beside: Beside::default() };
    import.push(body, owned(round, "id"), time.clone());
    for id in ids {
        let Some(value) = results.take(&id) else { continue };
        match result(import, &format!("{place}, result of {id}"), &id, value) {
            Ok(body) => drop(import.push(body, None, time.clone())),
            Err(reason) => import.skip(format!("{place}, result of {id}"), reason),
        }
    }
    if let Some(summary) = text(round, "summary").filter(|summary| !summary.is_empty()) {
        import.push_compaction(summary, None, owned(round, "id"));
    }
}

/// Results of a request that no call has claimed yet.
struct Results<'a> {
    left: Vec<(&'a str, &'a Value)>,
}

impl<'a> Results<'a> {
    fn of(metadata: &'a Object) -> Self {
        let known = object(metadata, "toolCallResults");
        Self { left: known.into_iter().flatten().map(|(id, value)| (id.as_str(), value)).collect() }
    }

    /// The result of a call: by its exact id, else by the id without the suffix that the extension adds.
    fn take(&mut self, id: &str) -> Option<&'a Value> {
        let exact = self.left.iter().position(|(known, _)| *known == id);
        let loose = || self.left.iter().position(|(known, _)| bare_id(known) == bare_id(id));
        exact.or_else(loose).map(|at| self.left.remove(at).1)
    }
}

/// A call's id as the model gave it. The extension makes ids unique by a suffix, `__vscode-<n>`.
pub(super) fn bare_id(id: &str) -> &str {
    match id.rsplit_once("__vscode-") {
        Some((bare, n)) if !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()) => bare,
        _ => id,
    }
}

fn result(import: &mut Import, place: &str, id: &str, value: &Value) -> Result<Body, String> {
    let of = value.as_object().ok_or("is not an object")?;
    let mut content = Vec::new();
    match of.get("content") {
        Some(Value::Array(list)) => {
            for (index, part) in list.iter().enumerate() {
                match result_part(part) {
                    Some(part) => content.push(part),
                    None => {
                        import.skip(format!("{place}, content[{index}]"), "is a part of an unknown shape")
                    }
                }
            }
        }
        other => content = contents(other, place, import)?,
    }
    let is_error = flag(of, "hasError") || flag(of, "isError");
    let verdict = verdict::refusal(&content);
    Ok(Body::Tool(ToolResult { call: id.to_owned(), content, is_error, verdict, ..ToolResult::default() }))
}

/// A part of a tool result: `{value}` with text or a tree of prompt elements, or `{mimeType, data}` with an image.
fn result_part(part: &Value) -> Option<Content> {
    if let Value::String(text) = part {
        return Some(Content::Text(text.as_str().into()));
    }
    let of = part.as_object()?;
    if let Some((mime_type, data)) = text(of, "mimeType").zip(text(of, "data")) {
        return Some(Content::Image(Image { mime_type: mime_type.into(), data: data.into() }));
    }
    match of.get("value").or(of.get("text"))? {
        Value::String(text) => Some(Content::Text(text.as_str().into())),
        Value::Object(tree) => {
            let mut out = String::new();
            tree_text(tree.get("node").unwrap_or(of.get("value")?), false, &mut out);
            Some(Content::Text(out.into()))
        }
        _ => None,
    }
}

/// The text of a tree of prompt elements. `lineBreakBefore` is 1 or true for always, 2 for "unless the
/// previous sibling is text too". The JSON parser's nesting limit bounds the recursion.
fn tree_text(node: &Value, after_text: bool, out: &mut String) {
    let Some(node) = node.as_object() else { return };
    if let Some(words) = text(node, "text") {
        let breaks = match node.get("lineBreakBefore") {
            Some(Value::Bool(always)) => *always,
            Some(Value::Number(kind)) if kind.as_u64() == Some(2) => !after_text,
            Some(Value::Number(kind)) => kind.as_u64() == Some(1),
            _ => false,
        };
        if breaks && !out.is_empty() {
            out.push('\n');
        }
        out.push_str(words);
    }
    let mut after_text = false;
    for child in list(node, "children") {
        tree_text(child, after_text, out);
        after_text = child.get("text").is_some();
    }
}

fn is_tool(part: &Value) -> bool {
    matches!(part.get("kind").and_then(Value::as_str), Some("toolInvocation" | "toolInvocationSerialized"))
}

/// The answer as shown to the user: thinking, and text with the names of its links.
fn shown_parts(shown: &[Value]) -> Vec<AssistantPart> {
    let mut parts = Vec::new();
    let mut said = String::new();
    for part in shown.iter().filter_map(Value::as_object) {
        match text(part, "kind") {
            None => said.push_str(text(part, "value").unwrap_or_default()),
            Some("markdownContent") => match part.get("content") {
                Some(Value::Object(content)) => said.push_str(text(content, "value").unwrap_or_default()),
                content => said.push_str(content.and_then(Value::as_str).unwrap_or_default()),
            },
            Some("inlineReference") => said.push_str(&reference_name(part)),
            Some("thinking") => {
                parts.extend(
                    text(part, "value").filter(|text| !text.is_empty()).map(|text| {
                        AssistantPart::Reasoning { text: text.into(), signature: None, block: None }
                    }),
                )
            }
            Some(_) => {}
        }
    }
    if !said.is_empty() {
        parts.push(AssistantPart::Text(said.into()));
    }
    parts
}

/// The label of a link in an answer: its name, else the last segment of its path.
fn reference_name(part: &Object) -> String {
    let target = object(part, "inlineReference");
    let name = text(part, "name").or_else(|| target.and_then(|target| text(target, "name")));
    let uri = target.map(|target| object(target, "location").unwrap_or(target));
    let path = uri.map(|of| object(of, "uri").unwrap_or(of)).and_then(|uri| text(uri, "path"));
    let name = name.or_else(|| path.and_then(|path| path.rsplit('/').next()));
    name.map(|name| format!("`{name}`")).unwrap_or_default()
}

/// `true` if a round of this request already contains these parts.
fn is_said(import: &Import, start: usize, rest: &[AssistantPart]) -> bool {
    import.entries.iter().skip(start).any(|entry| match entry {
        Entry::Message(NewMessage { body: Body::Assistant { parts, .. }, .. }) => {
            rest.iter().all(|part| parts.contains(part))
        }
        _ => false,
    })
}

/// Reads summaries in a request's metadata: `summaries`, a list or texts by the id of a round or a request, and
/// `summary` of older versions. Each follows the
/// round that it names, possibly of an earlier request. The extension writes one compaction twice and stores
/// failed attempts as empty summaries. If the round is unknown (older versions write `previous`, and a
/// request without rounds gets a generated id), the summary covers everything before the request.
fn summaries(import: &mut Import, place: &str, metadata: &Object, start: usize) {
    let many = list(metadata, "summaries").iter().enumerate();
    let many =
        many.map(|(index, value)| (format!("{place}.result.metadata.summaries[{index}]"), None, value));
    let by_id = object(metadata, "summaries").into_iter().flatten();
    let by_id = by_id.map(|(id, value)| (format!("{place}.result.metadata.summaries.{id}"), Some(id), value));
    let one = metadata.get("summary").map(|value| (format!("{place}.result.metadata.summary"), None, value));
    let nothing = Object::new();
    let mut start = start;
    for (place, id, value) in many.chain(by_id).chain(one) {
        let is_text = id.is_some() && value.is_string();
        let Some(of) = value.as_object().or(is_text.then_some(&nothing)) else {
            import.skip(place, "is not an object");
            continue;
        };
        let words = value.as_str().or(text(of, "text")).unwrap_or_default();
        if words.is_empty() {
            import.skip(place, "is an empty summary, as a failed attempt leaves it");
            continue;
        }
        let round = id.cloned().or(owned(of, "toolCallRoundId")).filter(|id| !id.is_empty());
        let end = |id: &str| end_of_round(import, id).or_else(|| end_of_request(import, id));
        let (at, after_external_id) = match round.and_then(|id| Some((end(&id)?, id))) {
            Some((at, id)) => (at, Some(id)),
            None => (start, None),
        };
        let is_there = |entry: &Entry| matches!(entry, Entry::Compaction(known) if known.text == words);
        if import.entries.iter().any(is_there) {
            continue;
        }
        let tokens_before = number(of, "contextLengthBefore");
        let recorded = RecordedCompaction {
            standing: crate::Standing::Recorded,
            text: words.to_owned(),
            tokens_before,
            after_external_id,
        };
        import.entries.insert(at, Entry::Compaction(recorded));
        start += usize::from(at <= start);
    }
}

/// The index after a round's results and the summaries that already follow it.
fn end_of_round(import: &Import, id: &str) -> Option<usize> {
    let at = import.entries.iter().position(|entry| match entry {
        Entry::Message(message) => {
            message.external_id.as_deref() == Some(id) && matches!(message.body, Body::Assistant { .. })
        }
        Entry::Compaction(_) => false,
    })?;
    let belongs = |entry: &&Entry| match entry {
        Entry::Message(message) => matches!(message.body, Body::Tool(_)),
        Entry::Compaction(_) => true,
    };
    Some(at + 1 + import.entries.iter().skip(at + 1).take_while(belongs).count())
}

/// The index after everything that belongs to a request.
fn end_of_request(import: &Import, id: &str) -> Option<usize> {
    let is_request =
        |entry: &Entry| matches!(entry, Entry::Message(message) if message.body.has_user_words());
    let is_it = |entry: &Entry| matches!(entry, Entry::Message(message) if message.external_id.as_deref() == Some(id));
    let at = import.entries.iter().position(|entry| is_request(entry) && is_it(entry))?;
    Some(at + 1 + import.entries.iter().skip(at + 1).take_while(|entry| !is_request(entry)).count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import;
    use serde_json::json;

    fn read_requests(requests: Value) -> Import {
        import(json!({ "requests": requests }).to_string().as_bytes(), None).unwrap()
    }

    /// Each entry as one line: its role and its texts.
    fn outline(import: &Import) -> Vec<String> {
        let line = |entry: &Entry| match entry {
            Entry::Compaction(record) => format!("summary {}", record.text),
            Entry::Message(message) => {
                let said: Vec<&str> = message.body.texts().iter().map(|text| &***text).collect();
                let who = match &message.body {
                    Body::User(_) => "user",
                    Body::Assistant { .. } => "assistant",
                    Body::Tool(_) => "tool",
                    Body::Event { .. } => "event",
                };
                format!("{who} {}", said.join("|"))
            }
        };
        import.entries.iter().map(line).collect()
    }

    #[test]
    fn results_are_matched_by_id_with_or_without_suffix() {
        let tree = json!({"node": {"type": 1, "children": [
            {"type": 2, "text": "a", "lineBreakBefore": true},
            {"type": 1, "children": [{"type": 2, "text": "b", "lineBreakBefore": 2}]},
            {"type": 2, "text": "c"},
        ]}});
        let read = read_requests(json!([{
            "message": {"text": " go\r\n"},
            "timestamp": 0,
            "result": {"metadata": {
                "toolCallRounds": [
                    {"id": "r1", "response": "", "thinking": {"id": "t", "text": ["h", "m"], "encrypted": "e"},
                     "toolCalls": [{"id": "x__vscode-1", "name": "a", "arguments": "{ }"}, {"id": "y", "name": "b", "arguments": {"k": 1}}, {"name": "c"}]},
                    7,
                    {"id": "r2", "response": "done", "toolCalls": []},
                ],
                "toolCallResults": {
                    "y__vscode-2": {"$mid": 20, "content": [{"$mid": 23, "value": tree}]},
                    "x__vscode-1": {"$mid": 20, "content": [{"$mid": 21, "value": "X"}, {"strange": 1}]},
                    "z": {"content": []},
                },
            }},
        }]));
        assert_eq!(
            outline(&read),
            ["user  go\r\n", "assistant hm|{ }|{\"k\":1}", "tool X", "tool a\nbc", "assistant done"]
        );
        let places: Vec<&str> = read.skipped.iter().map(|s| s.place.as_str()).collect();
        assert_eq!(
            places,
            [
                "requests[0].result.metadata.toolCallRounds[0].toolCalls[2]",
                "requests[0].result.metadata.toolCallRounds[0], result of x__vscode-1, content[1]",
                "requests[0].result.metadata.toolCallRounds[1]",
                "requests[0].result.metadata.toolCallResults.z",
            ]
        );
    }

    #[test]
    fn request_without_rounds_yields_the_shown_answer() {
        let read = read_requests(json!([
            {"message": {"text": "hi"}, "response": [
                {"value": "See "},
                {"kind": "inlineReference", "inlineReference": {"path": "/w/a.rs", "scheme": "file"}},
                {"kind": "progressMessage", "content": {"value": "..."}},
                {"kind": "markdownContent", "content": {"value": " and go."}},
            ]},
            {"message": {"text": "cancelled"}, "response": [], "isCanceled": true},
            {"message": 5},
        ]));
        assert_eq!(outline(&read), ["user hi", "assistant See `a.rs` and go.", "user cancelled"]);
        assert_eq!(read.skipped[0].place, "requests[2]");
    }

    #[test]
    fn last_text_of_cancelled_request_is_kept() {
        let read = read_requests(json!([{
            "message": {"text": "go"}, "isCanceled": true,
            "response": [{"value": "one"}, {"kind": "toolInvocationSerialized"}, {"value": "two, cut"}],
            "result": {"metadata": {"toolCallRounds": [{"id": "r", "response": "one", "toolCalls": []}]}},
        }]));
        assert_eq!(outline(&read), ["user go", "assistant one", "assistant two, cut"]);
    }

    #[test]
    fn usage_is_the_last_answers_and_a_skipped_call_is_refused() {
        let skipped = "The user chose to skip the tool call, they want to proceed without running it";
        let read = read_requests(json!([{
            "message": {"text": "go"}, "modelId": "m",
            "result": {"metadata": {"promptTokens": 9, "outputTokens": 2, "toolCallRounds": [
                {"id": "r1", "response": "", "toolCalls": [{"id": "c", "name": "n", "arguments": "{}"}]},
                {"id": "r2", "response": "done", "toolCalls": []},
            ], "toolCallResults": {"c": {"content": [{"value": skipped}]}}}},
        }]));
        let usage = Usage { input_tokens: Some(9), output_tokens: Some(2), ..Usage::default() };
        let mut done = Body::assistant("done", vec![]);
        if let Body::Assistant { beside, .. } = &mut done {
            *beside = reported(Some(usage), Some("m"));
        }
        let refused = ToolResult {
            call: "c".into(),
            content: vec![Content::Text(skipped.into())],
            verdict: Some(engine::message::Verdict::new(false, None)),
            ..ToolResult::default()
        };
        let body = |entry: &Entry| match entry {
            Entry::Message(message) => Some(message.body.clone()),
            Entry::Compaction(_) => None,
        };
        let bodies: Vec<Body> = read.entries.iter().filter_map(body).collect();
        assert_eq!(bodies[2..], [Body::Tool(refused), done]);
    }

    #[test]
    fn summaries_follow_their_rounds_once() {
        let round = |id: &str| json!({"id": id, "response": id, "toolCalls": []});
        let read = read_requests(json!([
            {"message": {"text": "one"}, "result": {"metadata": {"toolCallRounds": [round("r1"), round("r2")]}}},
            {"message": {"text": "two"}, "result": {"metadata": {
                "toolCallRounds": [round("r3"), {"id": "r4", "response": "r4", "toolCalls": [], "summary": "S4"}],
                "summaries": [
                    {"toolCallRoundId": "r1", "text": "S1", "contextLengthBefore": 99},
                    {"toolCallRoundId": "previous", "text": "S?"},
                    {"toolCallRoundId": "", "text": ""},
                    {"toolCallRoundId": "r4", "text": "S4"},
                ],
                "summary": {"toolCallRoundId": "r1", "text": "S1"},
            }}},
        ]));
        assert_eq!(
            outline(&read),
            [
                "user one",
                "assistant r1",
                "summary S1",
                "assistant r2",
                "summary S?",
                "user two",
                "assistant r3",
                "assistant r4",
                "summary S4"
            ]
        );
        let first = RecordedCompaction {
            standing: crate::Standing::Recorded,
            text: "S1".into(),
            tokens_before: Some(99),
            after_external_id: Some("r1".into()),
        };
        assert_eq!(read.entries[2], Entry::Compaction(first));
        assert_eq!(read.skipped.len(), 1, "the failed attempt");
    }

    #[test]
    fn summaries_by_id_follow_their_rounds_and_requests() {
        let round = |id: &str| json!({"id": id, "response": id, "toolCalls": []});
        let read = read_requests(json!([
            {"requestId": "q1", "message": {"text": "one"}, "result": {"metadata": {
                "toolCallRounds": [round("r1"), round("r2")],
            }}},
            {"requestId": "q2", "message": {"text": "two"}, "result": {"metadata": {
                "toolCallRounds": [round("r3")],
                "summaries": {"r1": "S1", "q1": {"text": "S2"}, "r3": 7},
            }}},
        ]));
        let outlined = outline(&read);
        let expected = [
            "user one",
            "assistant r1",
            "summary S1",
            "assistant r2",
            "summary S2",
            "user two",
            "assistant r3",
        ];
        assert_eq!(outlined, expected);
        let places: Vec<&str> = read.skipped.iter().map(|s| s.place.as_str()).collect();
        assert_eq!(places, ["requests[1].result.metadata.summaries.r3"]);
    }
}
