//! Tests of both forms of Codex's files, on a few records each.

use super::bytes;
use crate::{Entry, Format, Import, import};
use engine::message::attachment::Attachment;
use engine::message::{AssistantPart, Body, Content, SYSTEM_IN_HISTORY, ToolCall, ToolResult, Verdict};
use serde_json::{Value, json};

/// One line of text for each entry.
fn outline(import: &Import) -> Vec<String> {
    let line = |entry: &Entry| match entry {
        Entry::Compaction(record) => format!("summary {}", record.text),
        Entry::Message(message) => match &message.body {
            Body::Assistant { parts, calls, .. } => {
                let part = |part: &AssistantPart| match part {
                    AssistantPart::Text(text) => text.to_string(),
                    AssistantPart::Reasoning { text, .. } => format!("({text})"),
                    AssistantPart::Raw(_) => "raw".into(),
                };
                let mut said: Vec<String> = parts.iter().map(part).collect();
                said.extend(
                    calls.iter().map(|call| format!("[{} {} {}]", call.id, call.name, call.arguments)),
                );
                format!("model {}", said.join(" "))
            }
            Body::Tool(result) => {
                let words: String =
                    result.content.iter().filter_map(Content::text).map(|text| &**text).collect();
                let code = result.exit_code.map(|code| format!(" exit {code}")).unwrap_or_default();
                let failed = if result.is_error { " failed" } else { "" };
                let verdict =
                    result.verdict.as_ref().map(|verdict| format!(" approved {}", verdict.approved));
                format!("tool {} {words:?}{code}{failed}{}", result.call, verdict.unwrap_or_default())
            }
            Body::User(parts) => {
                let words: Vec<&str> =
                    parts.iter().map(|part| part.text().map_or("picture", |text| text)).collect();
                format!("user {}", words.join("|"))
            }
            Body::Event { kind, text } => format!("{kind} {text}"),
        },
    };
    import.entries.iter().map(line).collect()
}

fn read_lines(lines: &[Value]) -> Import {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let read = import(text.as_bytes(), None).unwrap();
    assert_eq!(read.format, Format::Codex);
    read
}

fn event(msg: Value) -> Value {
    json!({"ts": "2025-08-10T03:12:26.500Z", "dir": "to_tui", "kind": "codex_event", "payload": {"id": "1", "msg": msg}})
}

fn op(payload: Value) -> Value {
    json!({"ts": "t", "dir": "from_tui", "kind": "op", "payload": payload})
}

fn asks(text: &str) -> Value {
    op(json!({"type": "user_input", "items": [{"type": "text", "text": text}]}))
}

fn simple(kind: &str) -> Value {
    event(json!({ "type": kind }))
}

fn said(kind: &str, key: &str, words: &str) -> Value {
    event(json!({"type": kind, key: words}))
}

fn typed(text: &str) -> Vec<Value> {
    let codes = text.chars().map(|c| format!("Char({c:?})")).chain(["Enter".into()]);
    let press = |code: String, kind: &str| {
        let event = format!(
            "KeyEvent {{ code: {code}, modifiers: KeyModifiers(0x0), kind: {kind}, state: KeyEventState(0x0) }}"
        );
        json!({"ts": "t", "dir": "to_tui", "kind": "key_event", "event": event})
    };
    codes.flat_map(|code| [press(code.clone(), "Press"), press(code, "Release")]).collect()
}

fn places(import: &Import) -> Vec<&str> {
    import.skipped.iter().map(|skipped| skipped.place.as_str()).collect()
}

#[test]
fn whole_texts_replace_their_deltas() {
    let read = read_lines(&[
        asks("one"),
        simple("task_started"),
        said("user_message", "message", "one"),
        said("agent_reasoning_delta", "delta", "**Fi"),
        said("agent_reasoning_delta", "delta", "rst**"),
        simple("agent_reasoning_section_break"),
        said("agent_reasoning_delta", "delta", "**Second**"),
        said("agent_reasoning", "text", "**First**"),
        said("agent_reasoning", "text", "**Second**"),
        said("agent_reasoning_raw_content_delta", "delta", "I do"),
        said("agent_message_delta", "delta", "He"),
        said("agent_message_delta", "delta", "llo"),
        said("agent_message", "message", "Hello."),
        said("agent_message", "message", "And more."),
        event(
            json!({"type": "token_count", "info": {"last_token_usage": {"input_tokens": 12, "output_tokens": 3}}}),
        ),
        said("task_complete", "last_agent_message", "And more."),
        asks("one"),
        simple("task_started"),
        said("agent_message_delta", "delta", "Cut "),
        said("agent_message_delta", "delta", "of"),
        said("task_complete", "last_agent_message", "Cut off."),
        asks("two"),
        simple("task_started"),
        said("agent_message_delta", "delta", "All that"),
    ]);
    assert_eq!(
        outline(&read),
        [
            "user one",
            "model (**First**) (**Second**) (I do) Hello. And more.",
            "user one",
            "model Cut off.",
            "user two",
            "model All that"
        ]
    );
    assert_eq!(read.skipped, []);
    let Entry::Message(answer) = &read.entries[1] else { panic!("a message") };
    let Body::Assistant { beside, .. } = &answer.body else { panic!("an answer") };
    assert_eq!(beside.usage.and_then(|usage| usage.input_tokens), Some(12));
    assert_eq!(answer.created_at.as_deref(), Some("2025-08-10T03:12:26.500Z"));
}

#[test]
fn typed_line_is_a_request_once_its_task_starts() {
    let mut lines = typed("hello");
    lines.extend([simple("task_started"), said("agent_message", "message", "Hi.")]);
    // The status replaces the input line while a task runs, so these keys are lost.
    lines.extend(typed("lost").into_iter().take(8));
    lines.push(simple("task_complete"));
    lines.extend(typed("again"));
    lines.extend([
        simple("task_started"),
        said("agent_message", "message", "Hi again."),
        simple("task_complete"),
    ]);
    lines.extend(typed("/model"));
    lines.push(json!({"ts": "t", "dir": "to_tui", "kind": "slash_command", "command": "Model"}));
    lines.push(json!({"ts": "t", "dir": "to_tui", "kind": "paste", "text": "pasted "}));
    lines.extend(typed("too"));
    lines.extend([asks("as it was sent"), simple("task_started"), simple("turn_aborted")]);
    // A task begun by the program, and a request after which the log was cut off.
    lines.extend([
        simple("task_started"),
        said("agent_message", "message", "Summed up."),
        simple("task_complete"),
    ]);
    lines.extend(typed("last"));
    let read = read_lines(&lines);
    let expected = [
        "user hello",
        "model Hi.",
        "user again",
        "model Hi again.",
        "user as it was sent",
        "model Summed up.",
        "user last",
    ];
    assert_eq!(outline(&read), expected);
    assert!(read.skipped.is_empty(), "{:?}", read.skipped);
    lines.insert(0, simple("task_started"));
    assert_eq!(read_lines(&lines).skipped[0].reason, "begins a task whose request is not in the file");
}

#[test]
fn commands_patches_and_server_tools_are_calls_with_results() {
    let read = read_lines(&[
        asks("go"),
        simple("task_started"),
        said("agent_message", "message", "I look."),
        event(json!({"type": "exec_command_begin", "call_id": "a", "command": ["ls", "-l"], "cwd": "/w"})),
        event(json!({"type": "exec_command_begin", "call_id": "b", "command": ["cat"], "cwd": "/w"})),
        event(
            json!({"type": "exec_command_output_delta", "call_id": "b", "stream": "stdout", "chunk": [104, 105]}),
        ),
        event(
            json!({"type": "exec_command_end", "call_id": "b", "stdout": "hi", "stderr": "!", "exit_code": 1}),
        ),
        event(
            json!({"type": "exec_command_end", "call_id": "a", "stdout": "x", "stderr": "", "aggregated_output": "x y", "exit_code": 0}),
        ),
        said("agent_message_delta", "delta", "Now I patch."),
        event(
            json!({"type": "apply_patch_approval_request", "call_id": "p", "changes": {"/w/f": {"add": {"content": "c"}}}}),
        ),
        op(json!({"type": "patch_approval", "id": "1", "decision": "approved"})),
        event(
            json!({"type": "patch_apply_begin", "call_id": "p", "changes": {"/w/f": {"add": {"content": "c"}}}}),
        ),
        event(
            json!({"type": "patch_apply_end", "call_id": "p", "stdout": "", "stderr": "bad", "success": false}),
        ),
        event(json!({"type": "exec_approval_request", "call_id": "r", "command": ["rm"], "cwd": "/w"})),
        op(json!({"type": "exec_approval", "id": "1", "decision": "denied"})),
        event(
            json!({"type": "mcp_tool_call_begin", "call_id": "m", "invocation": {"server": "s", "tool": "t", "arguments": {"q": 1}}}),
        ),
        event(
            json!({"type": "mcp_tool_call_end", "call_id": "m", "result": {"Ok": {"content": [{"type": "text", "text": "found"}]}}}),
        ),
        event(
            json!({"type": "mcp_tool_call_end", "call_id": "n", "invocation": {"server": "s", "tool": "t"}, "result": {"Err": "gone"}}),
        ),
        said("error", "message", "429"),
    ]);
    let patch = r#"{"changes":{"/w/f":{"add":{"content":"c"}}}}"#;
    assert_eq!(
        outline(&read),
        [
            "user go".to_owned(),
            r#"model I look. [a shell {"command":["ls","-l"],"workdir":"/w"}] [b shell {"command":["cat"],"workdir":"/w"}]"#.into(),
            "tool b \"hi!\" exit 1".into(),
            "tool a \"x y\" exit 0".into(),
            format!("model Now I patch. [p apply_patch {patch}]"),
            "tool p \"bad\" failed approved true".into(),
            r#"model [r shell {"command":["rm"],"workdir":"/w"}]"#.into(),
            "tool r \"The user did not allow it.\" failed approved false".into(),
            r#"model [m s__t {"q":1}]"#.into(),
            "tool m \"found\"".into(),
            "model [n s__t {}]".into(),
            "tool n \"gone\" failed".into(),
            "error 429".into(),
        ]
    );
    assert_eq!(read.skipped, []);
}

#[test]
fn unfinished_call_keeps_its_output_and_stray_result_stays() {
    let output = |chunk: Value| {
        event(
            json!({"type": "exec_command_output_delta", "call_id": "a", "stream": "stdout", "chunk": chunk}),
        )
    };
    let begin = || event(json!({"type": "exec_command_begin", "call_id": "a", "command": ["ls"]}));
    let end = |id: &str| {
        event(json!({"type": "exec_command_end", "call_id": id, "stdout": "late", "exit_code": 0}))
    };
    let read = read_lines(&[
        asks("go"),
        simple("task_started"),
        begin(),
        output(json!("aGkg/w==")),
        output(json!("eW91")),
        simple("turn_aborted"),
        // The same id in another task is another call; a second end is a result of no call.
        simple("task_started"),
        begin(),
        end("a"),
        end("a"),
        end("z"),
        begin(),
    ]);
    assert_eq!(
        outline(&read),
        [
            "user go",
            r#"model [a shell {"command":["ls"]}]"#,
            "tool a \"hi \u{fffd}you\"",
            r#"model [a shell {"command":["ls"]}]"#,
            "tool a \"late\" exit 0",
            "tool a \"late\" exit 0",
            "tool z \"late\" exit 0",
            r#"model [a shell {"command":["ls"]}]"#,
        ]
    );
}

#[test]
fn rollout_is_read_by_its_items() {
    let line = |kind: &str, payload: Value| json!({"timestamp": "t", "type": kind, "payload": payload});
    let item = |payload: Value| line("response_item", payload);
    let message = |role: &str, kind: &str, text: &str| {
        item(json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}))
    };
    let shell = r#"{"output":"a\n","metadata":{"exit_code":0,"duration_seconds":0.1}}"#;
    let read = read_lines(&[
        line("session_meta", json!({"id": "s", "cwd": "/w", "base_instructions": {"text": "Be brief."}})),
        message("developer", "input_text", "Ask first."),
        message("user", "input_text", "<environment_context>\n</environment_context>"),
        item(
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}, {"type": "input_image", "image_url": "data:image/png;base64,AA"}]}),
        ),
        line("event_msg", json!({"type": "user_message", "message": "go"})),
        item(
            json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "**Plan**"}], "encrypted_content": "x"}),
        ),
        message("assistant", "output_text", "I look."),
        item(
            json!({"type": "function_call", "name": "shell", "arguments": "{\"command\": [\"ls\"]}", "call_id": "a"}),
        ),
        item(
            json!({"type": "custom_tool_call", "name": "apply_patch", "input": "*** Begin", "call_id": "b"}),
        ),
        item(json!({"type": "function_call_output", "call_id": "a", "output": shell})),
        item(
            json!({"type": "custom_tool_call_output", "call_id": "b", "output": "Exit code: 7\nOutput:\nno"}),
        ),
        line("event_msg", json!({"type": "token_count", "info": {"last_token_usage": {"input_tokens": 8}}})),
        line("compacted", json!({"message": "so far"})),
        item(json!({"type": "web_search_call"})),
        message("assistant", "output_text", "Done."),
    ]);
    assert_eq!(
        outline(&read),
        [
            "system Be brief.",
            "system Ask first.",
            "user go|picture",
            r#"model (**Plan**) I look. [a shell {"command": ["ls"]}] [b apply_patch {"input":"*** Begin"}]"#,
            "tool a \"a\\n\" exit 0",
            "tool b \"Exit code: 7\\nOutput:\\nno\" exit 7",
            "summary so far",
            "model Done.",
        ]
    );
    assert_eq!(read.system.as_deref(), Some("Be brief."));
    assert_eq!(places(&read), ["line 14"]);
}

#[test]
fn unreadable_record_is_skipped_alone() {
    let mut lines = vec![
        json!({"dir": "to_tui", "kind": "codex_event", "payload": {"msg": 7}}),
        simple("later_event"),
        json!({"dir": "to_tui", "kind": "later"}),
        event(json!({"type": "agent_message"})),
        event(json!({"type": "exec_command_begin", "call_id": "a"})),
        op(json!({"type": "exec_approval", "decision": "approved"})),
        json!({"dir": 5}),
        json!({"type": "response_item", "payload": {"type": "message", "role": "judge", "content": []}}),
        asks("go"),
    ];
    let read = read_lines(&lines);
    assert_eq!(outline(&read), ["user go"]);
    assert_eq!(read.skipped.len(), lines.len() - 1, "{:?}", read.skipped);
    lines.pop();
    assert!(import(lines[3].to_string().as_bytes(), None).is_err());
}

#[test]
fn base64_is_read_up_to_the_first_invalid_digit() {
    for (text, expected) in
        [("", ""), ("aA==", "h"), ("aGk=", "hi"), ("aGk", "hi"), ("aGkh", "hi!"), ("a?", "")]
    {
        assert_eq!(bytes(Some(&json!(text))), expected.as_bytes(), "{text}");
    }
}

#[test]
fn flat_rollout_is_read_as_one_with_envelopes() {
    let lines = [
        r#"{"id":"s","timestamp":"2025-06-01T00:00:00Z","instructions":"be brief","git":{}}"#,
        r#"{"record_type":"state","previous_response_id":"r"}"#,
        r#"{"type":"message","id":null,"role":"user","content":[{"type":"input_text","text":"<environment_context>\ncwd\n</environment_context>"}]}"#,
        r#"{"type":"message","id":null,"role":"user","content":[{"type":"input_text","text":"list"}]}"#,
        r#"{"type":"function_call","name":"shell","arguments":"{\"command\":[\"ls\"]}","call_id":"c"}"#,
        r#"{"type":"function_call_output","call_id":"c","output":"exec command rejected by user"}"#,
        r#"{"type":"message","id":null,"role":"assistant","content":[{"type":"output_text","text":"I wait."}]}"#,
    ];
    let read = import(lines.join("\n").as_bytes(), None).unwrap();
    assert_eq!((read.format, read.skipped), (Format::Codex, vec![]));
    let body = |entry| match entry {
        Entry::Message(message) => Some(message.body),
        Entry::Compaction(_) => None,
    };
    let refused = ToolResult {
        call: "c".into(),
        content: vec![Content::Text("exec command rejected by user".into())],
        verdict: Some(Verdict::new(false, None)),
        ..ToolResult::default()
    };
    let expected = vec![
        Body::Event { kind: SYSTEM_IN_HISTORY.into(), text: "be brief".into() },
        Body::User(vec![Content::Attachment(Attachment::new("environment_context", "cwd"))]),
        Body::User(vec![Content::Text("list".into())]),
        Body::assistant("", vec![ToolCall::new("c", "shell", r#"{"command":["ls"]}"#)]),
        Body::Tool(refused),
        Body::assistant("I wait.", vec![]),
    ];
    assert_eq!(read.entries.into_iter().filter_map(body).collect::<Vec<_>>(), expected);
}
