//! Ollama's native chat: a recorded stream, and made-up streams for what it does not show.

use super::{broken_wherever_it_ends, lines, read, recording, same_wherever_it_is_cut};
use engine::endpoint::Wire;
use expect_test::{Expect, expect};
use serde_json::{Value, json};

const WIRE: Wire = Wire::Ollama;

fn heard(said: &[Value], golden: Expect) {
    let bytes: String = said.iter().map(|line| format!("{line}\n")).collect();
    golden.assert_eq(&lines(&same_wherever_it_is_cut(WIRE, bytes.as_bytes())));
}

#[test]
fn whole_call_stops_for_tool_use() {
    let Some(bytes) = recording("ollama-native-tool.ndjson") else { return };
    let heard = same_wherever_it_is_cut(WIRE, &bytes);
    expect![[r#"
        text "Okay, the us"…".\n</think>\n\n" 1067 bytes 209631086e4b
        calls call_REDACTED_1=subtract({"x":2,"y":5})
        usage {"inputTokens":237,"outputTokens":321}
        stop ToolUse
    "#]]
    .assert_eq(&lines(&heard));
    let text = String::from_utf8(bytes).unwrap();
    let padded = text.replace("}\n", " }\t \r\n\n  \n");
    assert_ne!(padded, text);
    assert_eq!(read(WIRE, [padded.as_bytes()]), heard, "padding");
    // The last line needs no line break.
    broken_wherever_it_ends(WIRE, text.as_bytes(), text.trim_end().len());
}

#[test]
fn thinking_has_a_field_of_its_own() {
    let said = [
        json!({"message": {"role": "assistant", "content": "", "thinking": "So"}, "done": false}),
        json!({"message": {"role": "assistant", "content": "", "thinking": "."}, "done": false}),
        json!({"message": {"role": "assistant", "content": "Yes"}, "done": false}),
        json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "length", "prompt_eval_count": 5, "eval_count": 3}),
    ];
    heard(
        &said,
        expect![[r#"
        thinking "So."
        text "Yes"
        usage {"inputTokens":5,"outputTokens":3}
        stop Length
    "#]],
    );
}

#[test]
fn calls_without_ids_and_without_arguments() {
    let call = |name: &str| json!({"function": {"name": name}});
    let said = [
        json!({"message": {"content": "", "tool_calls": [call("list"), {"function": {"name": "read", "arguments": {"path": "/code/a"}}}]}, "done": false}),
        json!({"message": {"content": "", "tool_calls": [call("list")]}, "done": true, "done_reason": "stop"}),
    ];
    heard(
        &said,
        expect![[r#"
        calls call_0=list({})
        calls call_0=list({}) call_1=read({"path":"/code/a"})
        calls call_0=list({}) call_1=read({"path":"/code/a"}) call_2=list({})
        stop ToolUse
    "#]],
    );
}

/// Older servers leave out cached tokens, or all counts: these are unknown then, not zero.
#[test]
fn missing_token_counts_are_not_reported() {
    let said = |end: Value| [json!({"message": {"content": "Yes"}, "done": false}), end];
    heard(
        &said(json!({"done": true})),
        expect![[r#"
            text "Yes"
            stop End
        "#]],
    );
    heard(
        &said(json!({"done": true, "done_reason": "stop", "eval_count": 3})),
        expect![[r#"
            text "Yes"
            usage {"outputTokens":3}
            stop End
        "#]],
    );
}

#[test]
fn error_lines_and_missing_ends_are_errors() {
    let said = json!({"message": {"content": "Half"}, "done": false});
    heard(
        &[said.clone(), json!({"error": "an error was encountered while running the model: unexpected EOF"})],
        expect![[r#"
            text "Half"
            error overloaded: the model's provider is overloaded: an error was encountered while running the model: unexpected EOF
        "#]],
    );
    let overflow =
        "the prompt is longer than the context length currently available to the model; shorten the prompt";
    heard(
        &[json!({ "error": overflow })],
        expect![[r#"
        error contextOverflow: the request is larger than the model's window
    "#]],
    );
    heard(
        std::slice::from_ref(&said),
        expect![[r#"
        text "Half"
        error network: the model could not be reached: the stream ended before the answer did
    "#]],
    );
    heard(
        &[],
        expect![[r#"
        error network: the model could not be reached: the stream ended before the answer did
    "#]],
    );
    heard(
        &[said, json!("<html>")],
        expect![[r#"
            text "Half"
            error corruptStream: the model's answer could not be read: invalid event: "<html>"
        "#]],
    );
}
