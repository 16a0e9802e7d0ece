//! Lists of models of each wire, over a real connection: their pages, what is left out, and failures.

use super::*;
use crate::remote::{Clients, Remote};
use crate::testing::{Act, Asked, Reply, Server};
use crate::wire::Terms;
use secrecy::SecretString;
use serde_json::json;

// Nothing in it looks like a key.
const KEY: &str = "the-words-of-nobody";
/// Longer than any test takes.
const DEADLINE: Duration = Duration::from_secs(60);

fn provider(wire: Wire, server: &Server, deadline: Duration) -> Remote {
    let endpoint = Endpoint { base_url: Some(server.url()), ..Endpoint::of(wire) };
    let client = Clients::default().of(&endpoint).unwrap();
    let terms = Terms {
        model: String::new(),
        window: 0,
        max_output: None,
        tool_choice_none: true,
        images: false,
        cache_key: None,
    };
    Remote::new(client, endpoint, Some(SecretString::from(KEY)), terms, deadline)
}

async fn listed(wire: Wire, server: &Server) -> Result<Vec<ListedModel>, NoList> {
    provider(wire, server, DEADLINE).listed_models().await
}

fn entry(name: &str, label: Option<&str>, window: Option<u32>, is_listed: bool) -> ListedModel {
    ListedModel { name: name.to_owned(), label: label.map(str::to_owned), window, is_listed }
}

/// A provider that answers each page by its path, and any other path with 404.
fn paged(pages: Vec<(&'static str, Value)>) -> Server {
    Server::start(move |_, asked: &Asked| {
        let page = pages.iter().find(|(path, _)| asked.line == format!("GET {path}"));
        page.map_or(Reply::body(404, "no such page"), |(_, body)| Reply::body(200, &body.to_string()))
    })
}

fn lines(server: &Server) -> Vec<String> {
    server.asked().into_iter().map(|asked| asked.line).collect()
}

#[tokio::test]
async fn pages_of_anthropic_are_read_to_the_last() {
    let server = paged(vec![
        (
            "/models?limit=1000",
            json!({ "data": [
                { "type": "model", "id": "claude-new", "display_name": "Claude New", "max_input_tokens": 1_000_000 },
                { "type": "model", "id": "a b&c", "display_name": "a b&c", "max_input_tokens": 200_000 },
            ], "has_more": true, "last_id": "a b&c" }),
        ),
        (
            "/models?limit=1000&after_id=a+b%26c",
            json!({ "data": [{ "id": "other", "max_input_tokens": 9_000 }], "has_more": false, "last_id": "other" }),
        ),
    ]);
    let models = listed(Wire::Anthropic, &server).await;
    assert_eq!(
        models,
        Ok(vec![
            entry("claude-new", Some("Claude New"), Some(1_000_000), true),
            entry("a b&c", None, Some(200_000), true),
            entry("other", None, Some(9_000), true),
        ])
    );
    for asked in server.asked() {
        assert_eq!(
            (asked.header("x-api-key"), asked.header("anthropic-version")),
            (Some(KEY), Some("2023-06-01"))
        );
    }
    assert_eq!(server.asked().len(), 2);
}

#[tokio::test]
async fn models_of_gemini_that_generate_no_content_are_left_out() {
    let model = |name: &str, label: &str, methods: &[&str]| {
        json!({ "name": name, "displayName": label, "inputTokenLimit": 1_048_576,
                "supportedGenerationMethods": methods })
    };
    let server = paged(vec![
        (
            "/models?pageSize=1000",
            json!({ "models": [
                model("models/gemini-x", "Gemini X", &["generateContent", "countTokens"]),
                model("models/embedding-x", "Embedding X", &["embedContent"]),
            ], "nextPageToken": "t/=" }),
        ),
        (
            "/models?pageSize=1000&pageToken=t%2F%3D",
            json!({ "models": [{ "name": "models/gemini-y", "inputTokenLimit": 2_000 }] }),
        ),
    ]);
    assert_eq!(
        listed(Wire::Gemini, &server).await,
        Ok(vec![
            entry("gemini-x", Some("Gemini X"), Some(1_048_576), true),
            entry("gemini-y", None, Some(2_000), true),
        ])
    );
    assert_eq!(server.asked()[0].header("x-goog-api-key"), Some(KEY));
}

/// OpenAI lists neither windows nor what a model is for.
#[tokio::test]
async fn models_of_openai_are_sorted_by_age_and_known_ones_first() {
    let body = json!({ "object": "list", "data": [
        { "id": "speech-9", "created": 300 },
        { "id": "gpt-5.5", "created": 100 },
        { "id": "gpt-6-luna", "created": 200 },
        { "id": "image-9" },
    ] });
    for wire in [Wire::OpenaiChat, Wire::OpenaiResponses] {
        let server = paged(vec![("/models", body.clone())]);
        let window = |name| known::model(name).map(|known| known.window);
        assert!(window("gpt-5.5").is_some());
        assert_eq!(
            listed(wire, &server).await,
            Ok(vec![
                entry("gpt-6-luna", None, window("gpt-6-luna"), false),
                entry("gpt-5.5", None, window("gpt-5.5"), false),
                entry("speech-9", None, None, false),
                entry("image-9", None, None, false),
            ])
        );
        assert_eq!(server.asked()[0].header("authorization"), Some("Bearer the-words-of-nobody"));
    }
}

#[tokio::test]
async fn other_servers_list_models_in_their_order() {
    let server = paged(vec![(
        "/models",
        json!({
            "models": [{ "name": "not this one" }],
            "data": [
                { "id": "b/one", "name": "B: One", "context_length": 64_000 },
                { "id": "a", "max_model_len": 32_768 },
                // Neither can be asked.
                { "id": "" }, { "name": 7 }, { "id": "two\nlines" }, { "id": "x".repeat(MOST_NAME + 1) }, null,
            ],
        }),
    )]);
    assert_eq!(
        listed(Wire::OpenaiChat, &server).await,
        Ok(vec![entry("b/one", Some("B: One"), Some(64_000), true), entry("a", None, Some(32_768), true),])
    );
    let server = paged(vec![(
        "/api/tags",
        json!({ "models": [
            { "name": "qwen3:latest", "model": "qwen3:latest", "details": { "parameter_size": "8.2B" } },
            { "name": "gpt-oss:20b" },
        ] }),
    )]);
    assert_eq!(
        listed(Wire::Ollama, &server).await,
        Ok(vec![entry("qwen3:latest", None, None, false), entry("gpt-oss:20b", None, None, false)])
    );
}

#[tokio::test]
async fn endless_lists_are_cut() {
    let page = |at: usize| json!({ "data": [{ "id": format!("m{at}") }], "has_more": true, "last_id": format!("m{at}") });
    let server = Server::start(move |at, _: &Asked| Reply::body(200, &page(at).to_string()));
    let models = listed(Wire::Anthropic, &server).await.unwrap();
    assert_eq!((models.len(), server.asked().len()), (MOST_PAGES, MOST_PAGES));
    // The same page again and again.
    let server = Server::start(move |_, _: &Asked| Reply::body(200, &page(0).to_string()));
    assert_eq!(listed(Wire::Anthropic, &server).await.unwrap().len(), 2);
    assert_eq!(lines(&server), ["GET /models?limit=1000", "GET /models?limit=1000&after_id=m0"]);
    let many: Vec<Value> = (0..MOST_MODELS + 5).map(|at| json!({ "id": format!("m{at}") })).collect();
    let server = paged(vec![("/models", json!({ "data": many }))]);
    assert_eq!(listed(Wire::OpenaiChat, &server).await.unwrap().len(), MOST_MODELS);
}

#[tokio::test]
async fn failed_list_says_why_without_the_key() {
    let json = |value: Value| Reply::body(200, &value.to_string());
    let torn = Server::replies(vec![Reply::torn()]);
    for (wire, reply, class, words) in [
        (
            Wire::OpenaiChat,
            Reply::body(401, &format!("{{\"error\": {{\"message\": \"no key {KEY}\"}}}}")),
            "auth",
            "401: no key [key]",
        ),
        (Wire::OpenaiChat, Reply::body(404, "no"), "badRequest", "404: no"),
        (Wire::OpenaiChat, Reply::body(200, "<html>"), "corruptStream", "the list of models is no JSON"),
        (Wire::OpenaiChat, json(json!({ "object": "m" })), "corruptStream", "the list of models is no list"),
        (
            Wire::OpenaiChat,
            json(json!({ "error": { "code": 401, "message": format!("bad {KEY}") } })),
            "auth",
            "bad [key]",
        ),
        (
            Wire::OpenaiChat,
            Reply::body(200, "[").endless(vec![b' '; 1 << 20]),
            "corruptStream",
            "is larger than 16777216 bytes",
        ),
        (Wire::OpenaiChat, json(json!({ "data": [] })), "empty", "the provider lists no models"),
        (Wire::OpenaiChat, json(json!({ "data": null })), "empty", "the provider lists no models"),
        (Wire::Gemini, json(json!({})), "empty", "the provider lists no models"),
        (Wire::Ollama, json(json!({ "models": null })), "empty", "the provider lists no models"),
    ] {
        let server = Server::replies(vec![reply]);
        let no_list = listed(wire, &server).await.unwrap_err();
        let told = no_list.to_string();
        assert!(no_list.class() == class && told.contains(words), "{class}: {told}");
        assert!(!told.contains("nobody"), "{told}");
        assert_eq!(server.asked().len(), 1, "nothing is asked twice: a user waits");
    }
    assert_eq!(listed(Wire::OpenaiChat, &torn).await.unwrap_err().class(), "network");
    let silent = Server::replies(vec![Reply::stream(vec![Act::Send(b"{".to_vec()), Act::Hold])]);
    let waited = Duration::from_millis(1);
    let late = provider(Wire::OpenaiChat, &silent, waited).listed_models().await.unwrap_err();
    assert_eq!(late, NoList::Late { waited });
    // The wire of Vertex has no list.
    let vertex = "https://aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/google";
    assert!(
        Pages::of(&Endpoint { base_url: Some(vertex.to_owned()), ..Endpoint::of(Wire::Gemini) }).is_none()
    );
    assert!(Pages::of(&Endpoint::of(Wire::Scripted)).is_none());
}
