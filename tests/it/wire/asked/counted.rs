//! First prompts that their provider counts before they are sent: the built binary with a provider on loopback.

use super::{accepted, answer, is_summary, settings, summary, turn};
use crate::wire::script::{Editor, Folder, prose};
use models::testing::{Asked, Reply, Server};
use serde_json::json;

fn is_count(asked: &Asked) -> bool {
    asked.line.ends_with("/messages/count_tokens")
}

/// A provider that answers counts with this.
fn provider(counted: Reply) -> Server {
    Server::start(move |_, asked| match asked {
        asked if is_count(asked) => counted.clone(),
        asked if is_summary(asked) => summary("anthropic"),
        _ => answer("anthropic", "Well.", &[]),
    })
}

/// A session with a history of about 3,500 tokens in a window of 8,000, in which less than 5,000 set off a compaction.
fn start(folder: &Folder, server: &Server) -> Editor {
    let mut set = settings("anthropic", &server.url(), 8000);
    set["model"]["countTokens"] = json!(true);
    let mut editor = Editor::start(folder, set);
    let turn = |n: usize| {
        let parts = prose(&format!("answer {n}"), 30);
        let round = json!({ "id": format!("round-{n}"), "assistant": { "parts": parts } });
        json!({ "request": format!("Do step {n}."), "rounds": [round] })
    };
    editor.open("s", Some((0..6).map(turn).collect()));
    editor
}

fn kinds(server: &Server) -> Vec<&'static str> {
    let kind = |asked: &Asked| match asked {
        asked if is_count(asked) => "count",
        asked if is_summary(asked) => "summary",
        _ => "turn",
    };
    server.asked().iter().map(kind).collect()
}

#[test]
fn prompt_above_the_limit_by_its_providers_count_is_compacted_first() {
    let server = provider(Reply::body(200, "{\"input_tokens\": 6000}"));
    let folder = Folder::new("asked-counted");
    let mut editor = start(&folder, &server);
    for request in ["Go on.", "And on."] {
        let ended = turn(&mut editor, request);
        assert_eq!(ended["status"], "completed", "{ended}");
    }
    // The whole of it does not fit into one request for a summary either.
    assert_eq!(kinds(&server), ["count", "summary", "summary", "turn", "turn"]);
    assert_eq!(accepted(&editor), 1);
    let [count, _, _, sent, _] = &server.asked()[..] else { panic!("five requests") };
    assert!(count.body.get("max_tokens").is_none() && count.body["tools"].is_array());
    assert!(count.body["messages"].to_string().len() > 2 * sent.body["messages"].to_string().len());
}

#[test]
fn prompt_is_sent_where_its_count_fits_or_fails() {
    for (name, counted) in [
        ("fits", Reply::body(200, "{\"input_tokens\": 4000}")),
        ("fails", Reply::body(404, "{\"error\": {\"message\": \"no such path\"}}")),
        ("torn", Reply::torn()),
    ] {
        let server = provider(counted);
        let folder = Folder::new(&format!("asked-counted-{name}"));
        let mut editor = start(&folder, &server);
        let ended = turn(&mut editor, "Go on.");
        assert_eq!((&ended["status"], accepted(&editor)), (&json!("completed"), 0), "{name}: {ended}");
        assert_eq!(kinds(&server), ["count", "turn"], "{name}");
    }
}
