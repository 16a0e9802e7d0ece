//! `model/check`: a model with a new key is asked one small question, once, and a failure comes with advice.

use super::{WIRES, answer, settings};
use crate::wire::script::{Editor, Folder};
use models::testing::{Reply, Server};
use serde_json::{Value, json};

const KEY: &str = "sk-planted-check-5512";

fn checked(editor: &mut Editor, wire: &str, url: &str) -> Value {
    let model = json!({ "wire": wire, "baseUrl": url, "name": "m", "keyEnv": "CHECKED_KEY" });
    editor.call("model/check", json!({ "model": model }))
}

#[test]
fn working_model_passes_its_check_on_every_wire() {
    for wire in WIRES {
        let server = Server::replies(vec![answer(wire, "ready", &[])]);
        let folder = Folder::new(&format!("checks-{wire}"));
        let mut editor = Editor::start(&folder, settings(wire, &server.url(), 32_000));
        editor.call("model/key", json!({ "name": "CHECKED_KEY", "value": KEY }));
        assert_eq!(checked(&mut editor, wire, &server.url()), json!({ "inputTokens": 100 }), "{wire}");
        let [asked] = server.asked().try_into().expect("it is asked once");
        assert!(asked.headers.iter().any(|(_, value)| value.contains(KEY)), "{wire}");
        assert_eq!(asked.body["model"], "m", "{wire}");
    }
}

#[test]
fn failed_check_says_why_and_what_to_do() {
    let repeats = format!("{{\"error\": {{\"message\": \"Incorrect API key provided: {KEY}\"}}}}");
    let plain = |status| Reply::body(status, "{\"error\": {\"message\": \"no\"}}");
    let server = Server::replies(vec![plain(401), Reply::body(401, &repeats), plain(401), plain(503)]);
    let folder = Folder::new("checks-failed");
    let mut editor = Editor::start(&folder, settings("openai-chat", &server.url(), 32_000));
    let host = server.url().replace("http://", "");
    let problem = |editor: &mut Editor| {
        let mut result = checked(editor, "openai-chat", &server.url());
        assert!(!result.to_string().contains(KEY), "{result}");
        result["problem"].take()
    };
    let found = problem(&mut editor);
    assert_eq!(found["class"], "auth");
    assert_eq!(
        found["advice"],
        format!(
            "No API key is set for {host}. Set CHECKED_KEY, or name another key with the setting keyEnv."
        )
    );
    editor.call("model/key", json!({ "name": "CHECKED_KEY", "value": KEY }));
    let found = problem(&mut editor);
    assert_eq!(found["class"], "auth");
    assert!(
        found["message"].as_str().is_some_and(|text| text.contains("Incorrect API key provided")),
        "{found}"
    );
    assert!(
        found["advice"]
            .as_str()
            .is_some_and(|text| text.starts_with(&format!("The API key for {host} was rejected. "))),
        "{found}"
    );
    let nameless = json!({ "wire": "openai-chat", "baseUrl": server.url(), "name": "m" });
    let unset = editor.call("model/check", json!({ "model": nameless }));
    assert_eq!(unset["problem"]["advice"], format!("No API key is set for {host}. Set one."));
    assert_eq!(problem(&mut editor)["class"], "overloaded");
    assert_eq!(server.asked().len(), 4, "nothing is asked again");
    // A model of the client's own is not asked.
    let error = editor.refused("model/check", json!({ "model": { "name": "m" } }));
    assert_eq!(error["data"]["field"], "model.wire", "{error}");
}
