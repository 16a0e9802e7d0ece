//! Extra headers of requests: accepted, sent, shared with our own, and hidden in errors.

use super::answers::terms;
use super::options::{at, requests};
use crate::Model;
use crate::remote::{Clients, Remote};
use crate::testing::{Asked, Reply, Server};
use engine::endpoint::Wire;
use secrecy::SecretString;
use serde_json::json;
use std::time::Duration;

#[test]
fn common_headers_are_accepted_and_not_shown() {
    let headers = json!({
        "Anthropic-Beta": "interleaved-thinking-2025-05-14,context-1m-2025-08-07",
        "openai-organization": "org-a",
        "HTTP-Referer": "https://example.org/a",
        "X-Initiator": "agent",
        "api-key": { "keyEnv": "AZURE_API_KEY" },
    });
    let endpoint = at(Wire::OpenaiChat, None, json!({ "extraHeaders": headers })).unwrap();
    let names: Vec<&String> = endpoint.options.extra_headers.keys().collect();
    assert_eq!(names, ["anthropic-beta", "api-key", "http-referer", "openai-organization", "x-initiator"]);
    let shown = format!("{endpoint:?}");
    assert!(shown.contains("Text(5 bytes)") && !shown.contains("org-a"), "{shown}");
}

#[tokio::test]
async fn extra_headers_are_sent_and_their_keys_in_no_error() {
    let server = Server::start(|_, asked: &Asked| {
        let said = json!({ "error": { "message": format!("{:?}", asked.headers), "code": 400 } });
        Reply::body(400, &said.to_string())
    });
    let headers = json!({ "X-Initiator": "agent", "api-key": { "keyEnv": "ANY" }, "user-agent": "mine" });
    let options = json!({ "extraHeaders": headers, "query": { "api-version": "1" } });
    let endpoint = at(Wire::OpenaiChat, Some(&server.url()), options).unwrap();
    let keyed = vec![("api-key".to_owned(), SecretString::from("sk-planted0123456789"))];
    let client = Clients::default().of(&endpoint).unwrap();
    let idle = Duration::from_secs(60);
    let mut model = Remote::new(client, endpoint, None, terms("m"), idle).with_keys(keyed);
    let error = model.answer(&requests()[0], &mut drop).await.unwrap_err();
    let asked = &server.asked()[0];
    assert_eq!(asked.line, "POST /chat/completions?api-version=1");
    let sent = ["x-initiator", "api-key", "user-agent"].map(|name| asked.header(name).unwrap());
    assert_eq!(sent, ["agent", "sk-planted0123456789", "mine"]);
    let told = format!("{error} {error:?}");
    assert!(told.contains("api-key") && !told.contains("planted"), "{told}");
}

#[tokio::test]
async fn features_named_by_the_user_and_by_the_request_share_a_header() {
    let server = Server::start(|_, _: &Asked| Reply::body(400, "{}"));
    for (named, sent) in [
        (json!({}), "server-side-fallback-2026-07-01"),
        (json!({ "anthropic-beta": "mine, more" }), "mine, more,server-side-fallback-2026-07-01"),
        (json!({ "anthropic-beta": "server-side-fallback-2026-07-01" }), "server-side-fallback-2026-07-01"),
    ] {
        let options = json!({ "extraHeaders": named, "fallbacks": "default" });
        let endpoint = at(Wire::Anthropic, Some(&server.url()), options).unwrap();
        let client = Clients::default().of(&endpoint).unwrap();
        let mut model = Remote::new(client, endpoint, None, terms("m"), Duration::from_secs(60));
        model.answer(&requests()[0], &mut drop).await.unwrap_err();
        let asked = server.asked().pop().unwrap();
        assert_eq!(asked.header("anthropic-beta"), Some(sent));
        assert_eq!(asked.header("anthropic-version"), Some("2023-06-01"));
    }
}

#[tokio::test]
async fn limits_are_asked_for_with_headers_and_query_of_calls() {
    let listed = json!({ "id": "m", "max_input_tokens": 300_000 });
    let replies = vec![
        Reply::body(200, &listed.to_string()),
        Reply::body(401, "no sk-planted0123"),
        Reply::body(200, "<html>"),
    ];
    let server = Server::replies(replies);
    let options = json!({ "query": { "a": "b" }, "extraHeaders": { "x-gate": "g" } });
    let endpoint = at(Wire::Anthropic, Some(&server.url()), options).unwrap();
    let client = Clients::default().of(&endpoint).unwrap();
    let key = Some(SecretString::from("sk-planted0123"));
    let model = Remote::new(client, endpoint, key, terms("m"), Duration::from_secs(60));
    let limits = model.listed_limits().await.unwrap();
    assert_eq!((limits.window, limits.input), (Some(300_000), None));
    let asked = &server.asked()[0];
    assert_eq!(asked.line, "GET /v1/models/m?a=b");
    let sent = ["x-gate", "x-api-key", "anthropic-version"].map(|name| asked.header(name).unwrap());
    assert_eq!(sent, ["g", "sk-planted0123", "2023-06-01"]);
    let refused = model.listed_limits().await.unwrap_err().to_string();
    assert!(refused.contains("401") && !refused.contains("planted"), "{refused}");
    assert_eq!(model.listed_limits().await.unwrap_err().class(), "corruptStream");
}
