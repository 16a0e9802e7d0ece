//! `model/list`: a provider's list of models comes with windows, and what stands against it with advice.

use super::settings;
use crate::wire::script::{Editor, Folder};
use models::testing::{Reply, Server};
use serde_json::{Value, json};

const KEY: &str = "sk-planted-list-5513";

fn listed(editor: &mut Editor, wire: &str, url: &str) -> Value {
    // A name is not needed.
    let model = json!({ "wire": wire, "baseUrl": url, "keyEnv": "LISTED_KEY" });
    editor.call("model/list", json!({ "model": model }))
}

#[test]
fn provider_lists_its_models_on_every_wire() {
    let openai = json!({ "data": [
        { "id": "m", "context_length": 64_000, "name": "M" }, { "id": "gpt-5.5" }, { "id": "speech" },
    ] });
    let openai_models = json!([
        { "name": "m", "label": "M", "window": 64_000, "windowSource": "provider" },
        { "name": "gpt-5.5", "window": 1_050_000, "windowSource": "table" },
        { "name": "speech" },
    ]);
    let one = json!([{ "name": "m", "label": "M", "window": 64_000, "windowSource": "provider" }]);
    for (wire, path, body, models) in [
        ("openai-chat", "/models", openai.clone(), openai_models.clone()),
        ("openai-responses", "/models", openai, openai_models),
        (
            "anthropic",
            "/v1/models?limit=1000",
            json!({ "data": [{ "id": "m", "display_name": "M", "max_input_tokens": 64_000 }] }),
            one.clone(),
        ),
        (
            "gemini",
            "/models?pageSize=1000",
            json!({ "models": [{ "name": "models/m", "displayName": "M", "inputTokenLimit": 64_000 }] }),
            one,
        ),
        (
            "ollama",
            "/api/tags",
            json!({ "models": [{ "name": "m:latest" }] }),
            json!([{ "name": "m:latest" }]),
        ),
    ] {
        let server = Server::replies(vec![Reply::body(200, &body.to_string())]);
        let folder = Folder::new(&format!("listed-{wire}"));
        let mut editor = Editor::start(&folder, settings("openai-chat", &server.url(), 32_000));
        editor.call("model/key", json!({ "name": "LISTED_KEY", "value": KEY }));
        assert_eq!(listed(&mut editor, wire, &server.url()), json!({ "models": models }), "{wire}");
        let [asked] = server.asked().try_into().expect("it is asked once");
        assert_eq!(asked.line, format!("GET {path}"));
        assert!(asked.headers.iter().any(|(_, value)| value.contains(KEY)), "{wire}");
    }
}

#[test]
fn missing_list_says_why_and_what_to_do() {
    let repeats = format!("{{\"error\": {{\"message\": \"Incorrect API key provided: {KEY}\"}}}}");
    let plain = |status, text: &str| Reply::body(status, text);
    let server = Server::replies(vec![plain(401, &repeats), plain(404, "no"), plain(200, "{\"data\": []}")]);
    let folder = Folder::new("listed-failed");
    let mut editor = Editor::start(&folder, settings("openai-chat", &server.url(), 32_000));
    editor.call("model/key", json!({ "name": "LISTED_KEY", "value": KEY }));
    let host = server.url().replace("http://", "");
    let mut problem = |wire: &str, url: &str| {
        let result = listed(&mut editor, wire, url);
        assert!(!result.to_string().contains(KEY), "{result}");
        assert_eq!(result["models"], json!([]));
        let part = |name: &str| result["problem"][name].as_str().expect("words").to_owned();
        (part("class"), part("message"), part("advice"))
    };
    let told =
        |class: &str, message: &str, advice: &str| (class.to_owned(), message.to_owned(), advice.to_owned());
    let url = server.url();
    assert_eq!(
        problem("openai-chat", &url),
        told(
            "auth",
            "the model's key was not accepted: 401: Incorrect API key provided: [key]",
            &format!(
                "The API key for {host} was rejected. Check that it is complete, still valid, belongs to this provider \
                 and may use this model."
            ),
        )
    );
    assert_eq!(
        problem("openai-chat", &url),
        told(
            "badRequest",
            "the model's provider did not accept the request: 404: no",
            "Give the model's name as its provider spells it, or check the address: for openai-chat it ends before \
             /chat/completions.",
        )
    );
    assert_eq!(
        problem("openai-chat", &url),
        told(
            "empty",
            "the provider lists no models",
            "Check whether the key may use any model, or give the model's name as its provider spells it.",
        )
    );
    assert_eq!(server.asked().len(), 3, "nothing is asked again");
    drop(server);
    let (class, message, advice) = problem("openai-chat", &url);
    assert_eq!(class, "network");
    assert!(message.starts_with("the model could not be reached: "), "{message}");
    assert!(advice.starts_with("Nothing listens at this address"), "{advice}");
    let vertex = "https://aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/google";
    let (class, message, _) = problem("gemini", vertex);
    assert_eq!((&*class, &*message), ("unsupported", "the provider has no list of models at this address"));
    for model in [json!({ "name": "m" }), json!({ "wire": "editor" }), json!({ "wire": "scripted" })] {
        let error = editor.refused("model/list", json!({ "model": model }));
        assert_eq!(error["data"]["field"], "model.wire", "{error}");
    }
}
