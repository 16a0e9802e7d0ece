//! Why a turn failed, for programs: the class, the status and the hint that a provider gave reach the client.

use super::{settings, turn};
use crate::models::server::{Act, Reply, Server, event};
use crate::wire::script::{Editor, Folder};
use serde_json::{Value, json};

/// The data of the error in which a turn over this wire ends.
fn data(name: &str, wire: &str, reply: Reply) -> Value {
    let server = Server::replies(vec![reply]);
    let folder = Folder::new(&format!("asked-cause-{name}"));
    let mut editor = Editor::start(&folder, settings(wire, &server.url(), 32_000));
    editor.open("s", None);
    turn(&mut editor, "What is it?")["error"]["data"].take()
}

/// rows: V35
#[test]
fn a_provider_that_failed_is_named_with_its_class_and_its_hint() {
    let limited = Reply::body(429, "{\"error\": {\"message\": \"slow down\"}}").with("retry-after", "120");
    assert_eq!(
        data("rate", "openai-chat", limited),
        json!({ "kind": "ProviderError", "provider": "openai-chat", "status": 429, "cause": "rateLimited",
                "retryAfterMs": 120_000, "excerpt": "429: slow down" })
    );
    let absent = Reply::body(404, "{\"error\": {\"message\": \"model: m\"}}");
    assert_eq!(
        data("absent", "anthropic", absent),
        json!({ "kind": "ProviderError", "provider": "anthropic", "status": 404, "cause": "badRequest",
                "excerpt": "404: model: m" })
    );
    let broken = json!({ "error": { "message": "no such thing", "code": "invalid_api_key" } });
    let inside = data("inside", "openai-chat", Reply::stream(vec![event(&broken), Act::Cut]));
    assert_eq!((&inside["cause"], &inside["status"]), (&json!("auth"), &Value::Null), "{inside}");
}
