//! What a session cost, over a provider's wire: with the turn, with the session, across a restart and in a fork.

use super::{answer, settings, turn};
use crate::wire::script::{Editor, Folder};
use models::testing::Server;
use serde_json::{Value, json};

fn start(folder: &Folder, url: &str, name: &str) -> Editor {
    let mut set = settings("openai-chat", url, 32_000);
    set["model"]["name"] = json!(name);
    let mut editor = Editor::start(folder, set);
    editor.open("s", None);
    editor
}

fn spent(editor: &mut Editor, session: &Value) -> Option<Value> {
    editor.call("context/inspect", json!({ "sessionId": session })).get("spent").cloned()
}

#[test]
fn session_knows_what_it_spent_after_a_restart_and_a_fork_spent_nothing() {
    let replies = ["One.", "Two."].map(|text| answer("openai-chat", text, &[]));
    let server = Server::replies(replies.into());
    let folder = Folder::new("asked-costs");
    let mut editor = start(&folder, &server.url(), "nobody-knows-it");
    turn(&mut editor, "First.");
    assert_eq!(spent(&mut editor, &json!("s")), None);
    editor.kill();
    let mut editor = start(&folder, &server.url(), "gpt-5.4-mini");
    turn(&mut editor, "Second.");
    let ends = editor.events("turnCompleted");
    let end = ends.last().expect("an end");
    // 100 × 0.75 + 10 × 4.5 millionths.
    let cost = json!({ "dollars": 0.00012, "table": "2026-11-22" });
    assert_eq!((&end["cost"], &end["spent"]), (&json!(0.00012), &cost));
    let sum = json!({ "dollars": 0.00012, "table": "2026-11-22", "incomplete": 1 });
    let all = json!({ "total": sum, "answers": sum, "summaries": {}, "titles": {} });
    assert_eq!(spent(&mut editor, &json!("s")), Some(all.clone()));
    editor.kill();
    let mut editor = start(&folder, &server.url(), "gpt-5.4-mini");
    assert_eq!(spent(&mut editor, &json!("s")), Some(all));
    let snapshot = editor.call("session/subscribe", json!({ "sessionId": "s" }))["snapshot"].take();
    let turns: Vec<_> = snapshot["turns"].as_array().unwrap().iter().map(|turn| turn.get("spent")).collect();
    assert_eq!(turns, [None, Some(&cost)]);
    let fork = editor.call("session/fork", json!({ "sessionId": "s" }))["sessionId"].take();
    editor.open(fork.as_str().expect("an id"), None);
    assert_eq!(spent(&mut editor, &fork), None);
}
