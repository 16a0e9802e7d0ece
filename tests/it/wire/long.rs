//! Long sessions over the wire: opening the end gives the same results as opening the whole, and neither the
//! bytes read nor the bytes per commit grow with the session. Counts bytes, never time.

#![allow(clippy::print_stdout, reason = "what was measured is told")]

use super::script::{Editor, Folder, bytes, calls, without_rounds};
use engine::id::Time;
use serde_json::{Value, json};
use session::stored::{Driver, Head};
use std::fs;
use std::path::{Path, PathBuf};
use store::Store;
use store::place::Options;
use store::sqlite::SqliteStore;
use store::testing::head;
use store::testing::long_with;

fn settings() -> Value {
    json!({ "model": { "name": "m", "window": 100_000 } })
}

/// The folder of the only database below a folder.
fn database(folder: &Path) -> Option<PathBuf> {
    fs::read_dir(folder).ok()?.flatten().find_map(|entry| {
        let path = entry.path();
        if path.is_dir() {
            database(&path)
        } else {
            path.ends_with("threadhold.db").then(|| folder.to_owned())
        }
    })
}

/// A folder with a stored session `s` of `rounds` rounds.
fn stored(name: &str, rounds: u32, driver: Driver) -> Folder {
    let folder = Folder::new(name);
    let mut editor = Editor::start(&folder, settings());
    editor.open("other", None);
    editor.call("session/close", json!({ "sessionId": "other" }));
    editor.client.close_input();
    editor.client.wait_exit();
    let place = database(folder.path()).expect("a database");
    let mut store = SqliteStore::open(Options::in_folder(place)).expect("a store");
    let id = engine::id::SessionId::new("s");
    let fence = store.acquire(&id, Time(1)).expect("a lease");
    let head = Head { workspace: "/code/parser".into(), driver, title: Some("long".into()), ..head("s") };
    store.commit(&id, fence, &long_with(rounds, head)).expect("a commit");
    store.close().expect("a close");
    folder
}

fn look(editor: &mut Editor, newest: u32) -> Value {
    let open = json!({ "workspaceFolder": "/code/parser", "sessionId": "s", "snapshotMessages": newest });
    editor.call("session/open", open)["snapshot"].take()
}

fn whole(editor: &mut Editor) -> Value {
    let mut snapshot = editor.call("session/subscribe", json!({ "sessionId": "s" }))["snapshot"].take();
    snapshot["stream"] = Value::Null;
    for message in snapshot["messages"].as_array_mut().into_iter().flatten() {
        message["createdAt"] = Value::Null;
    }
    for turn in snapshot["turns"].as_array_mut().into_iter().flatten() {
        turn["durationMs"] = Value::Null;
    }
    snapshot
}

/// The prompts and the session after a turn in a process that starts with `begins`.
fn after_a_turn(folder: &Folder, begins: impl Fn(&mut Editor), turn: &Value) -> (String, Value) {
    let mut editor = Editor::start(folder, settings());
    begins(&mut editor);
    editor.answers.push_back(calls("I read.", ["new1"]));
    let ended = editor.turn(turn.clone());
    assert_eq!(ended["status"], "completed", "{ended}");
    let mut snapshot = whole(&mut editor);
    // Opening changes no content; the number of events may differ.
    snapshot["seq"] = Value::Null;
    (editor.asked.iter().map(|asked| bytes(&asked["messages"])).collect(), snapshot)
}

#[test]
fn session_opened_at_its_end_continues_like_the_whole() {
    let folder = stored("long-whole", 60, Driver::Sidecar);
    let turn = json!({ "sessionId": "s", "content": "Go on.", "idempotencyKey": "k" });
    let copies = ["turn", "look", "look-all", "all"].map(|name| folder.copy(&format!("long-{name}")));
    let by_turn = after_a_turn(&copies[0], |_| {}, &turn);
    let by_look = after_a_turn(&copies[1], |editor| drop(look(editor, 5)), &turn);
    let by_all = after_a_turn(&copies[2], |editor| drop(look(editor, 1_000)), &turn);
    let open = |editor: &mut Editor| {
        let open = json!({ "workspaceFolder": "/code/parser", "sessionId": "s" });
        editor.call("session/open", open);
    };
    let all = after_a_turn(&copies[3], open, &turn);
    assert_eq!(all.1["messages"].as_array().map(Vec::len), Some(60 * 2 + 6 + 4));
    for part in [by_turn, by_look, by_all] {
        assert_eq!(part.0, all.0);
        assert_eq!(part.1, all.1);
    }
}

#[test]
fn end_and_earlier_pages_are_the_whole_session() {
    let folder = stored("long-pages", 60, Driver::Sidecar);
    let mut editor = Editor::start(&folder, settings());
    let snapshot = look(&mut editor, 5);
    assert_eq!(snapshot["messages"].as_array().map(Vec::len), Some(5));
    assert_eq!(snapshot["earlierMessages"], 121);
    assert_eq!(snapshot["turns"], json!([]));
    let mut messages = snapshot["messages"].as_array().cloned().unwrap_or_default();
    let mut before = snapshot["earlierMessages"].clone();
    while before != 0 {
        let page =
            editor.call("session/messages", json!({ "sessionId": "s", "before": before, "limit": 50 }));
        messages.splice(0..0, page["messages"].as_array().cloned().unwrap_or_default());
        before = page["before"].clone();
    }
    let messages = without_rounds(&Value::Array(messages));
    assert_eq!(messages, without_rounds(&whole_messages(&mut editor)), "pages know no rounds");
    let error = editor.refused("session/messages", json!({ "sessionId": "nobody" }));
    assert_eq!(error["data"]["kind"], "UnknownSession");
}

/// A client that shows the end of a session is updated with its end, also if it shows more than it opened.
#[test]
fn a_client_that_shows_a_part_subscribes_to_a_part() {
    let folder = stored("long-subscribe", 60, Driver::Sidecar);
    let mut editor = Editor::start(&folder, settings());
    let opened = look(&mut editor, 5);
    let mut subscribed = |newest: u32| {
        let params = json!({ "sessionId": "s", "snapshotMessages": newest });
        editor.call("session/subscribe", params)["snapshot"].take()
    };
    assert_eq!(subscribed(5), opened);
    let more = subscribed(80);
    assert_eq!(more["earlierMessages"], 46);
    // Of a part, a result has a round only if its answer is in the part.
    let ends = |of: &Value| {
        let all = without_rounds(&of["messages"]);
        all.as_array().map(|all| all.iter().rev().take(5).cloned().collect())
    };
    let same: (Option<Vec<Value>>, _) = (ends(&more), ends(&opened));
    assert_eq!(same.0, same.1);
    assert_eq!(more["messages"][0]["ord"], 46, "as it was said");
    assert!(!more["messages"].to_string().contains("unreadable"));
    // Missed events are sent if they are known.
    let since = json!({
        "sessionId": "s", "snapshotMessages": 5, "stream": more["stream"], "sinceSeq": more["seq"],
    });
    assert_eq!(editor.call("session/subscribe", since), json!({ "events": [] }));
}

fn whole_messages(editor: &mut Editor) -> Value {
    editor.call("session/subscribe", json!({ "sessionId": "s" }))["snapshot"]["messages"].take()
}

/// Requests that need the unloaded rest are answered in order once it is loaded.
#[test]
fn requests_for_the_unloaded_rest_wait_for_it() {
    let folder = stored("long-waits", 60, Driver::Sidecar);
    let mut editor = Editor::start(&folder, settings());
    look(&mut editor, 0);
    let first = editor.client.request("context/ledger", json!({ "sessionId": "s", "limit": 1 }));
    let second = editor.client.request("session/subscribe", json!({ "sessionId": "s" }));
    let third = editor.client.request("context/recall", json!({ "sessionId": "s", "ref": "s/m0" }));
    for id in [first, second, third] {
        let answer = editor.client.wait_response(id);
        assert!(answer.get("error").is_none(), "{answer}");
    }
    // The key is older than the loaded part: the first response is repeated.
    let turn = json!({ "sessionId": "s", "content": "Go on.", "idempotencyKey": "k" });
    let answered = editor.call("turn/start", turn.clone());
    editor.ended(&answered["turnId"]);
    editor.kill();
    let mut editor = Editor::start(&folder, settings());
    look(&mut editor, 0);
    assert_eq!(editor.call("turn/start", turn)["turnId"], answered["turnId"]);
}

#[cfg(target_os = "linux")]
fn io(editor: &Editor, what: &str) -> u64 {
    let io = fs::read_to_string(format!("/proc/{}/io", editor.client.pid())).expect("figures of the process");
    io.lines().find_map(|line| line.strip_prefix(what)).and_then(|n| n.trim().parse().ok()).expect("a figure")
}

#[test]
#[cfg(target_os = "linux")]
fn bytes_read_to_open_the_end_stay_constant() {
    let read = [50, 500, 5_000].map(|rounds| {
        let folder = stored(&format!("long-read-{rounds}"), rounds, Driver::Sidecar);
        let mut editor = Editor::start(&folder, settings());
        let before = io(&editor, "rchar:");
        look(&mut editor, 20);
        let read = io(&editor, "rchar:") - before;
        println!("{rounds} rounds: {read} bytes read to open it by its end");
        read
    });
    assert!(read.iter().all(|bytes| *bytes <= read[0] * 6 / 5 + 12 * 4096), "{read:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn bytes_per_commit_do_not_grow_with_the_session() {
    const COMMITS: u64 = 40;
    let written = [10, 1_000, 10_000].map(|messages: u32| {
        let folder = stored(&format!("long-written-{messages}"), messages / 2, Driver::Editor);
        let mut editor = Editor::start(&folder, settings());
        let open = json!({ "workspaceFolder": "/code/parser", "sessionId": "s" });
        editor.call("session/open", open);
        editor.call("turn/start", json!({ "sessionId": "s", "content": "Go on." }));
        let said = "A few words of an answer. ".repeat(20);
        let (before, told) = (io(&editor, "wchar:"), told(&editor));
        for n in 0..COMMITS {
            let call = json!({ "type": "toolCall", "id": format!("w{n}"), "name": "read", "arguments": {} });
            let round = json!({
                "assistant": { "parts": [{ "type": "text", "text": said }, call] },
                "results": [{ "toolCallId": format!("w{n}"), "content": said }],
            });
            editor.call("round/append", json!({ "sessionId": "s", "round": round }));
        }
        let written = io(&editor, "wchar:") - before - (self::told(&editor) - told);
        println!("{messages} messages: {} bytes written by a commit", written / COMMITS);
        (written / COMMITS, 2 * said.len() as u64)
    });
    for (bytes, new) in written {
        assert!(bytes <= 64 * 1024 + 8 * new, "{written:?}");
        assert!(bytes <= written[0].0 * 6 / 5 + 2 * 4096, "{written:?}");
    }
}

/// The bytes of the server's frames, at least.
#[cfg(target_os = "linux")]
fn told(editor: &Editor) -> u64 {
    editor.client.frames().iter().map(|frame| frame.to_string().len() as u64).sum()
}
