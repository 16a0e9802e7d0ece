//! The built binary with a provider that binds thinking to its prompt and rejects other thinking with status
//! 400.

use super::{settings, turn};
use crate::binding::{bound, reply};
use crate::wire::script::{Editor, Folder};
use models::testing::Server;
use serde_json::json;

/// The number of thinking blocks in each request of three turns, with the first message edited before the
/// last; `None` for a rejected request.
fn thought(model: &str) -> Vec<Option<usize>> {
    let server = Server::start(|_, asked| reply(&asked.body, "It works."));
    let folder = Folder::new(&format!("asked-binding-{model}"));
    let mut given = settings("anthropic", &server.url(), 32_000);
    given["model"]["name"] = json!(model);
    let mut editor = Editor::start(&folder, given);
    editor.open("s", None);
    for request in ["What is it?", "Does it work?"] {
        assert_eq!(turn(&mut editor, request)["status"], "completed");
    }
    editor.call("message/update", json!({ "sessionId": "s", "index": 0, "content": "What was it?" }));
    for request in ["And now?", "And then?"] {
        assert_eq!(turn(&mut editor, request)["status"], "completed");
    }
    server.asked().iter().map(|asked| bound(&asked.body).ok()).collect()
}

#[test]
fn known_model_is_never_sent_thinking_behind_a_change() {
    assert_eq!(thought("claude-opus-5-5"), [Some(0), Some(1), Some(0), Some(1)]);
}

#[test]
fn rejected_thinking_is_left_out_of_one_retry() {
    assert_eq!(thought("claude-opus-5"), [Some(0), Some(1), None, Some(0), Some(1)]);
}
