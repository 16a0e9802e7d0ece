//! Ends of a Chat Completions stream: an error within it, a missing end marker, and a single body in its
//! place.

use super::openai_chat::{DONE, delta, finish, heard};
use expect_test::expect;
use serde_json::json;

#[test]
fn error_in_a_chunk_ends_the_answer_and_keeps_it() {
    let said = delta(json!({"content": "Half"}));
    let overloaded = json!({"id": "x", "error": {"code": 502, "message": "Provider disconnected"},
        "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error", "content_filter_results": {}}]});
    heard(
        &[said.clone(), overloaded],
        DONE,
        expect![[r#"
        text "Half"
        error overloaded: the model's provider is overloaded: Provider disconnected
    "#]],
    );
    let overflow = json!({"error": {"message": "This model's maximum context length is 4097 tokens. However, your messages resulted in 44933 tokens.", "code": "context_length_exceeded"}});
    heard(
        &[overflow],
        DONE,
        expect![[r#"
        error contextOverflow: the request is larger than the model's window
    "#]],
    );
    let in_choice = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "error", "error": {"code": 429, "message": "Rate limit exceeded, try again in 2s"}}]});
    heard(
        &[said.clone(), in_choice],
        DONE,
        expect![[r#"
        text "Half"
        error rateLimited: the model's rate limit is reached: Rate limit exceeded, try again in 2s
    "#]],
    );
    heard(
        &[said.clone(), finish("insufficient_system_resource")],
        DONE,
        expect![[r#"
        text "Half"
        error overloaded: the model's provider is overloaded: the answer ended with "insufficient_system_resource"
    "#]],
    );
    heard(
        &[said, json!({"object": "error", "message": "no room", "code": 503})],
        "",
        expect![[r#"
        text "Half"
        error overloaded: the model's provider is overloaded: no room
    "#]],
    );
}

#[test]
fn stream_without_an_end_marker_is_an_error() {
    let said = delta(json!({"content": "Half"}));
    heard(
        std::slice::from_ref(&said),
        "",
        expect![[r#"
        text "Half"
        error network: the model could not be reached: the stream ended before the answer did
    "#]],
    );
    heard(
        std::slice::from_ref(&said),
        DONE,
        expect![[r#"
        text "Half"
        error network: the model could not be reached: the stream ended before the answer did
    "#]],
    );
    heard(
        &[],
        DONE,
        expect![[r#"
        error network: the model could not be reached: the stream ended before the answer did
    "#]],
    );
    heard(
        &[],
        "",
        expect![[r#"
        error network: the model could not be reached: the stream ended before the answer did
    "#]],
    );
    heard(
        &[said.clone(), finish("stop")],
        "",
        expect![[r#"
        text "Half"
        stop End
    "#]],
    );
    heard(
        std::slice::from_ref(&said),
        "data: {\"choices\": [{\"del",
        expect![[r#"
        text "Half"
        error network: the model could not be reached: the stream ended before the answer did
    "#]],
    );
    heard(
        std::slice::from_ref(&said),
        "data: {nonsense}\n\n",
        expect![[r#"
        text "Half"
        error corruptStream: the model's answer could not be read: invalid event: {nonsense}
    "#]],
    );
    heard(
        std::slice::from_ref(&said),
        "data: \u{fffd}\n\n",
        expect![[r#"
        text "Half"
        error corruptStream: the model's answer could not be read: invalid event: �
    "#]],
    );
    // Data after the end is ignored.
    heard(
        &[said, finish("stop")],
        "data: [DONE]\n\ndata: {nonsense}\n\n",
        expect![[r#"
        text "Half"
        stop End
    "#]],
    );
}

#[test]
fn whole_body_instead_of_a_stream_is_read() {
    let whole = json!({"object": "chat.completion", "choices": [{"index": 0, "finish_reason": "tool_calls",
        "message": {"role": "assistant", "content": "So.", "tool_calls": [{"id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}}]}}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4}});
    heard(
        &[],
        &format!("{whole:#}"),
        expect![[r#"
        text "So."
        calls a=read({})
        usage {"inputTokens":3,"outputTokens":4}
        stop ToolUse
    "#]],
    );
    let error = json!({"error": {"type": "exceed_context_size_error", "code": 400, "n_prompt_tokens": 2009, "n_ctx": 512}});
    heard(
        &[],
        &error.to_string(),
        expect![[r#"
        error contextOverflow: the request is larger than the model's window
    "#]],
    );
    let listed = json!([{"error": {"code": 400, "message": "no such model", "status": "NOT_FOUND"}}]);
    heard(
        &[],
        &format!("{listed:#}"),
        expect![[r#"
        error badRequest: the model's provider did not accept the request: no such model
    "#]],
    );
    heard(
        &[],
        "[1]",
        expect![[r#"
        error corruptStream: the model's answer could not be read: invalid event: [1]
    "#]],
    );
    heard(
        &[],
        "<html>\n<p>Sign in</p>\n</html>",
        expect![[r#"
        error corruptStream: the model's answer could not be read: invalid event: <html> <p>Sign in</p> </html>
    "#]],
    );
}
