//! Machine-readable causes of a failed turn: class, status and retry hint of the provider reach the client.

use super::{settings, turn};
use crate::wire::client::{Start, Wire};
use crate::wire::script::{Editor, Folder};
use models::testing::{Act, Reply, Server, event};
use serde_json::{Value, json};

/// The error data of a turn that fails over this wire.
fn data(name: &str, wire: &str, reply: Reply) -> Value {
    let server = Server::replies(vec![reply]);
    let folder = Folder::new(&format!("asked-cause-{name}"));
    let mut editor = Editor::start(&folder, settings(wire, &server.url(), 32_000));
    editor.open("s", None);
    turn(&mut editor, "What is it?")["error"]["data"].take()
}

#[test]
fn provider_error_has_class_status_and_hint() {
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

/// Gateways repeat the upstream's credentials, and providers a masked or cut key.
#[test]
fn excerpt_of_a_provider_error_shows_no_credential() {
    const KEY: &str = "qk7Rmz4w-Tp9xLc2v-Hn5yBd8s";
    let said = "upstream ghp_0123456789abcdefghijABCDEFGHIJ456789 AKIAIOSFODNN7EXAMPLE \
                authorization: Bearer abcdef0123456789 api_key=hunter2hunter2 xoxb-1234-5678-abcdef \
                key qk7Rmz4w-Tp9xLc2v-Hn... or ****yBd8s or ****Hn5yBd8s of job 4711";
    let hidden = "upstream [secret] [secret] authorization: Bearer [secret] api_key=[secret] [secret] \
                  key [key]... or ****yBd8s or ****[key] of job 4711";
    let body = json!({ "error": { "message": said } }).to_string();
    let broken = json!({ "error": { "message": said, "code": "invalid_api_key" } });
    let replies = [
        (Reply::body(403, &body), format!("403: {hidden}")),
        (Reply::body(400, said), format!("400: {hidden}")),
        (Reply::stream(vec![event(&broken), Act::Cut]), hidden.to_owned()),
        (Reply::stream(vec![event(&json!(said)), Act::Cut]), format!("invalid event: \"{hidden}")),
    ];
    for (at, (reply, excerpt)) in replies.into_iter().enumerate() {
        let server = Server::replies(vec![reply]);
        let folder = Folder::new(&format!("asked-cause-secret-{at}"));
        let start = Start::new(Wire::Pipes).variable("RUST_LOG", "trace").variable("OWN_KEY", KEY);
        let mut settings = settings("openai-chat", &server.url(), 32_000);
        settings["model"]["keyEnv"] = json!("OWN_KEY");
        let mut editor = Editor::over(start.start(), &folder, settings);
        editor.open("s", None);
        let data = turn(&mut editor, "What is it?")["error"]["data"].take();
        let found = data["excerpt"].as_str().expect("an excerpt");
        // An event's excerpt is its beginning.
        let shown = found.trim_end_matches('…');
        assert!(if found == shown { excerpt == shown } else { excerpt.starts_with(shown) }, "{found}");
        let frames: String = editor.client.frames().iter().map(ToString::to_string).collect();
        let log = editor.client.log();
        for secret in ["ghp_0123", "AKIAIOSF", "abcdef0123", "hunter2", "xoxb-1234", "qk7Rmz4w", "Hn5yBd8s"] {
            assert!(!frames.contains(secret) && !log.contains(secret), "{at}: {secret}");
        }
    }
}
