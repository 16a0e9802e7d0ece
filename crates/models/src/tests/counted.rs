//! A provider's count of a request: the question of each wire, over a real connection, and what comes back.

use super::answers::terms;
use super::requests::conversation;
use crate::Model;
use crate::counted::is_counted;
use crate::remote::{Clients, Remote};
use crate::testing::{Asked, Reply, Server};
use engine::endpoint::options::{HeaderValue, RequestOptions, Thinking};
use engine::endpoint::{Endpoint, Wire};
use secrecy::SecretString;
use serde_json::{Value, json};
use std::time::Duration;

fn model(endpoint: Endpoint) -> Remote {
    let client = Clients::default().of(&endpoint).unwrap();
    let key = Some(SecretString::from("sk-planted0123"));
    Remote::new(client, endpoint, key, terms("m"), Duration::from_secs(60))
}

fn names(body: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

/// A provider refuses fields of the answer here, and a count without tools or system text would be too small.
#[tokio::test]
async fn count_is_asked_for_all_that_a_request_shows_the_model() {
    for (wire, line, answer, fields) in [
        (
            Wire::Anthropic,
            "POST /v1/messages/count_tokens?a=b",
            json!({ "input_tokens": 4321 }),
            vec!["messages", "model", "system", "thinking", "tools"],
        ),
        (
            Wire::OpenaiResponses,
            "POST /v1/responses/input_tokens?a=b",
            json!({ "object": "response.input_tokens", "input_tokens": 4321 }),
            vec!["input", "model", "tools"],
        ),
        (
            Wire::Gemini,
            "POST /v1beta/models/m:countTokens?a=b",
            json!({ "totalTokens": 4321, "promptTokensDetails": [] }),
            vec!["generateContentRequest"],
        ),
    ] {
        let server = Server::start(move |_, _: &Asked| Reply::body(200, &answer.to_string()));
        let options = RequestOptions {
            thinking: Some(Thinking::Budget(2000)),
            query: [("a".to_owned(), "b".to_owned())].into(),
            extra_headers: [("x-gate".to_owned(), HeaderValue::Text("g".to_owned()))].into(),
            ..RequestOptions::default()
        };
        let base = if wire == Wire::Gemini { "/v1beta" } else { "/v1" };
        let base_url = Some(format!("{}{base}", server.url()));
        let endpoint = Endpoint { base_url, options, ..Endpoint::of(wire) };
        assert!(is_counted(&endpoint));
        let counted = model(endpoint).count_tokens(&conversation()).await.unwrap();
        assert_eq!(counted, Some(4321), "{wire:?}");
        let asked = server.asked().pop().unwrap();
        assert_eq!((&*asked.line, asked.header("x-gate")), (line, Some("g")));
        assert_eq!(names(&asked.body), fields, "{wire:?}");
        if wire == Wire::Gemini {
            let request = &asked.body["generateContentRequest"];
            assert_eq!(names(request), ["contents", "model", "systemInstruction", "tools"]);
            assert_eq!(request["model"], "models/m");
        }
    }
}

#[tokio::test]
async fn failed_count_is_an_error_without_the_key() {
    let replies = vec![
        Reply::body(404, "no sk-planted0123 here"),
        Reply::body(200, "{\"input_tokens\": \"many\"}"),
        Reply::body(200, "<html>"),
        Reply::torn(),
    ];
    let server = Server::replies(replies);
    let endpoint = Endpoint { base_url: Some(server.url()), ..Endpoint::of(Wire::Anthropic) };
    let mut model = model(endpoint);
    let mut errors = Vec::new();
    for _ in 0..4 {
        errors.push(model.count_tokens(&conversation()).await.unwrap_err());
    }
    let classes: Vec<&str> = errors.iter().map(|error| error.class()).collect();
    assert_eq!(classes, ["badRequest", "corruptStream", "corruptStream", "network"]);
    let told = errors[0].to_string();
    assert!(told.contains("404") && !told.contains("planted"), "{told}");
    assert_eq!(server.asked().len(), 4, "nothing is asked twice: a user waits");
}

#[tokio::test]
async fn providers_without_a_count_are_not_asked() {
    let server = Server::replies(vec![Reply::body(200, "{\"input_tokens\": 1}")]);
    for wire in [Wire::OpenaiChat, Wire::Ollama] {
        let endpoint = Endpoint { base_url: Some(server.url()), ..Endpoint::of(wire) };
        assert!(!is_counted(&endpoint));
        assert_eq!(model(endpoint).count_tokens(&conversation()).await.unwrap(), None);
    }
    assert_eq!(server.asked().len(), 0);
    let vertex = "https://aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/anthropic";
    let endpoint = Endpoint { base_url: Some(vertex.to_owned()), ..Endpoint::of(Wire::Anthropic) };
    assert!(!is_counted(&endpoint));
}
