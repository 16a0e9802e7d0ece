//! Sessions with the sidecar as their driver across a crash: acknowledged messages are there, and the next
//! prompt is byte for byte the one of an uninterrupted process. `editor_driven` has the editor's.

use super::script::{
    Editor, Folder, NARRATIVE, asks_for_summary, bytes, calls, is_end, is_request, prose, read_by, says,
};
use crate::facts::{self, models};
use serde_json::{Value, json};

fn settings() -> Value {
    let [usual, _] = models(8000);
    settings_of(&usual)
}

fn settings_of(model: &Value) -> Value {
    json!({ "model": model, "policy": "rounds" })
}

/// The answers of a turn: two rounds, the second over the limit; two more after the summary; a final answer.
pub fn long_answers() -> Vec<Value> {
    vec![
        calls(&prose("first answer", 130), ["c1"]),
        calls(&prose("second answer", 80), ["c2", "c3"]),
        calls("Now the rest.", ["c4"]),
        calls("And its tests.", ["c5"]),
        says("The parser works, and its tests pass."),
    ]
}

/// Runs the script's first turn; returns the event that ends it.
fn first_turn(editor: &mut Editor) -> Value {
    editor.answers.extend(long_answers());
    let ended = editor
        .turn(json!({ "sessionId": "s", "externalId": "request-1", "content": "Make the parser work." }));
    assert_eq!(ended["status"], "completed", "{ended}");
    ended
}

/// The prompt and tools of the second turn.
fn second_prompt(editor: &mut Editor) -> (String, Value) {
    let before = editor.asked.len();
    editor.turn(json!({ "sessionId": "s", "externalId": "request-2", "content": "And now the docs." }));
    let asked = &editor.asked[before];
    assert_eq!(asked["purpose"], "turn", "no second summary is made");
    (bytes(&asked["messages"]), asked["tools"].clone())
}

/// State left by a killed process that ran the first turn: its folder, the editor's history, the last event,
/// the snapshot.
struct Gone {
    folder: Folder,
    history: Vec<Value>,
    ended: Value,
    snapshot: Value,
}

fn gone(name: &str) -> Gone {
    let [usual, _] = models(8000);
    gone_of(&usual, name)
}

fn gone_of(model: &Value, name: &str) -> Gone {
    let folder = Folder::new(&format!("{name}-{}", facts::name(model)));
    let mut editor = Editor::start(&folder, settings_of(model));
    editor.open("s", None);
    let ended = first_turn(&mut editor);
    let snapshot = editor.call("session/subscribe", json!({ "sessionId": "s" }))["snapshot"].take();
    let history = editor.history();
    editor.kill();
    Gone { folder, history, ended, snapshot }
}

/// The second turn's prompt in an uninterrupted process.
fn reference(name: &str) -> (String, Value) {
    let [usual, _] = models(8000);
    reference_of(&usual, name)
}

fn reference_of(model: &Value, name: &str) -> (String, Value) {
    let folder = Folder::new(&format!("{name}-reference-{}", facts::name(model)));
    let mut editor = Editor::start(&folder, settings_of(model));
    editor.open("s", None);
    first_turn(&mut editor);
    assert_eq!(editor.asked_for("summary").len(), 1);
    assert_eq!(editor.ran, ["c1", "c2", "c3", "c4", "c5"], "each tool ran once");
    second_prompt(&mut editor)
}

/// Two rounds of tools, an overflow, a summary by the client's model, metadata, SIGKILL. Restored from the
/// store, from both, from the editor's history alone, and from that under another id.
#[test]
fn next_prompt_after_a_crash_is_byte_identical() {
    for model in &models(8000) {
        a_crash_changes_no_byte(model);
    }
}

fn a_crash_changes_no_byte(model: &Value) {
    let (messages, tools) = reference_of(model, "restore");
    assert!(messages.contains("<conversation-summary>") && messages.contains("A table, for it is short."));
    let gone = gone_of(model, "restore");
    let nowhere = Folder::new(&format!("restore-nowhere-{}", facts::name(model)));
    let cases = [
        ("store", gone.folder.copy(&format!("restore-store-{}", facts::name(model))), None, "store"),
        (
            "both",
            gone.folder.copy(&format!("restore-both-{}", facts::name(model))),
            Some(gone.history.clone()),
            "both",
        ),
        ("history", nowhere, Some(gone.history.clone()), "history"),
    ];
    for (what, folder, history, source) in cases {
        let with_metadata = history.is_some();
        let mut editor = Editor::start(&folder, settings_of(model));
        let opened = editor.open("s", history);
        let (restore, snapshot) = (&opened["restore"], &opened["snapshot"]);
        assert_eq!(restore["source"], source, "{what}: {restore}");
        let found = if source == "history" { "restored" } else { "already" };
        if with_metadata {
            assert_eq!(restore[found], json!(["s/c0"]), "{what}: {restore}");
        }
        for empty in ["stale", "orphans", "duplicates", "failures", "unreadable", "diagnostics"] {
            assert_eq!(restore[empty], json!([]), "{what}: {empty}");
        }
        assert_eq!(second_prompt(&mut editor), (messages.clone(), tools.clone()), "{what}");
        assert_eq!(editor.asked_for("summary").len(), 0, "{what}");
        assert!(editor.ran.is_empty(), "{what}: nothing runs again");
        assert_eq!(snapshot["summary"], gone.snapshot["summary"], "{what}");
        assert_eq!(snapshot["summarizedCount"], gone.snapshot["summarizedCount"], "{what}");
        // Covered messages are not in the prompt but still in the session.
        assert!(!messages.contains(&json!(read_by("c1")).to_string()));
        assert!(snapshot["messages"].to_string().contains(&json!(read_by("c1")).to_string()), "{what}");
    }
}

#[test]
fn store_returns_metadata_if_the_editor_lost_it() {
    let gone = gone("restore-copy-lost");
    let mut editor = Editor::start(&gone.folder, settings());
    let listed = editor.call("session/list", json!({ "workspaceFolder": "/code/parser" }));
    assert_eq!(listed["sessions"].as_array().map(Vec::len), Some(1), "{listed}");
    assert_eq!(listed["sessions"][0]["summary"], gone.snapshot["summary"]);
    let opened = editor.open("s", None);
    let snapshot = &opened["snapshot"];
    assert_eq!(snapshot["turns"], gone.snapshot["turns"]);
    assert_eq!(snapshot["turns"][0]["metadata"], gone.ended["metadata"]);
    assert_eq!(snapshot["compactions"], gone.snapshot["compactions"]);
    let metadata = &snapshot["compactions"][0]["metadata"];
    assert_eq!(*metadata, gone.ended["metadata"]["summary"]);
    assert_eq!(gone.ended["metadata"]["summaries"], json!([metadata]));
    assert_eq!(snapshot["messages"], gone.snapshot["messages"]);
    assert_eq!(snapshot["state"], gone.snapshot["state"]);
}

/// Nothing in the prompt depends on our ids.
#[test]
fn editor_history_alone_gives_identical_bytes_under_another_id() {
    let (messages, _) = reference("restore-other-id");
    let gone = gone("restore-other-id");
    let folder = Folder::new("restore-other");
    let mut editor = Editor::start(&folder, settings());
    let opened = editor.open("another", Some(gone.history.clone()));
    assert_eq!(opened["restore"]["restored"].as_array().map(Vec::len), Some(1), "{}", opened["restore"]);
    editor.turn(json!({ "sessionId": "another", "externalId": "request-2", "content": "And now the docs." }));
    assert_eq!(bytes(&editor.asked[0]["messages"]), messages);
    assert_eq!(editor.asked_for("summary").len(), 0);
}

#[test]
fn summary_is_announced_before_the_turn_continues_with_it() {
    for model in &models(8000) {
        is_told_and_gone_on_with(model);
    }
}

fn is_told_and_gone_on_with(model: &Value) {
    let folder = Folder::new(&format!("restore-events-{}", facts::name(model)));
    let mut editor = Editor::start(&folder, settings_of(model));
    editor.open("s", None);
    let ended = first_turn(&mut editor);
    let told: Vec<String> = editor
        .client
        .events()
        .iter()
        .map(|event| match event["type"].as_str() {
            Some("compactionUpdated") => event["phase"].as_str().unwrap_or_default().to_owned(),
            other => other.unwrap_or_default().to_owned(),
        })
        .collect();
    let at =
        |word: &str| told.iter().position(|told| told == word).unwrap_or_else(|| panic!("{word}: {told:?}"));
    assert!(at("started") < at("summarizing") && at("summarizing") < at("accepted"), "{told:?}");
    let streams: Vec<usize> =
        told.iter().enumerate().filter(|(_, told)| *told == "streamStarted").map(|(at, _)| at).collect();
    assert_eq!(streams.len(), 5, "five answers, and the summary is none of them: {told:?}");
    assert!(streams[1] < at("started") && at("accepted") < streams[2], "{told:?}");
    // The rest of the turn has the block once, followed by its own rounds.
    let purposes: Vec<&Value> = editor.asked.iter().map(|asked| &asked["purpose"]).collect();
    assert_eq!(purposes, ["turn", "turn", "summary", "turn", "turn", "turn"]);
    for asked in &editor.asked[3..] {
        assert_eq!(bytes(&asked["messages"]).matches("<conversation-summary>").count(), 1);
    }
    assert!(bytes(&editor.asked[5]["messages"]).contains(&json!(read_by("c5")).to_string()));
    // Event, turn end and snapshot have the same metadata.
    let accepted = editor.events("compactionUpdated").into_iter().find(|event| event["phase"] == "accepted");
    let accepted = accepted.expect("it was accepted");
    assert_eq!(accepted["metadata"], ended["metadata"]);
    assert_eq!(accepted["compaction"]["mode"], "full");
    assert_eq!(accepted["compaction"]["model"], model["name"]);
    let snapshot = editor.call("session/subscribe", json!({ "sessionId": "s" }))["snapshot"].take();
    let anchor = &accepted["compaction"]["anchorRoundId"];
    let rounds = snapshot["turns"][0]["rounds"].as_array().expect("rounds");
    for round in rounds {
        let expected = if round["id"] == *anchor { &accepted["compaction"]["block"] } else { &Value::Null };
        assert_eq!(round["summary"], *expected, "{}", round["id"]);
    }
    assert_eq!(
        rounds[0]["id"], *anchor,
        "two rounds ran: the newest is left out, the one before is the anchor"
    );
}

#[test]
fn a_summary_stands_in_the_prompt_of_every_later_turn() {
    for model in &models(8000) {
        stands_in_every_later_turn(model);
    }
}

fn stands_in_every_later_turn(model: &Value) {
    let folder = Folder::new(&format!("restore-turns-{}", facts::name(model)));
    let mut editor = Editor::start(&folder, settings_of(model));
    editor.open("s", None);
    first_turn(&mut editor);
    let block =
        editor.events("compactionUpdated").iter().find_map(|event| event["compaction"].get("block").cloned());
    let block = block.expect("a block").to_string();
    for turn in 2..=10 {
        editor.turn(json!({ "sessionId": "s", "content": format!("Request number {turn}.") }));
        let messages = bytes(&editor.asked[editor.asked.len() - 1]["messages"]);
        assert_eq!(messages.matches(&block).count(), 1, "turn {turn}");
    }
    assert_eq!(editor.asked_for("summary").len(), 1);
}

/// Points at which the process is killed.
type Boundary = (&'static str, fn(&mut Editor));

const BOUNDARIES: &[Boundary] = &[
    ("the request is acknowledged", |_| {}),
    ("the model is asked", |editor| {
        editor.until("a question to the model", |frame| is_request(frame, "model/complete"));
    }),
    ("the model answers", |editor| {
        editor.event("a delta", |event| event["type"] == "streamDelta");
    }),
    ("a tool is asked", |editor| {
        editor.until("a call", |frame| is_request(frame, "tool/invoke"));
    }),
    ("one of two tools answered", |editor| {
        editor.event("the first of two results", |event| {
            event["type"] == "messageAdded" && event["message"]["parts"][0]["toolCallId"] == "c2"
        });
    }),
    ("a summary is asked for", |editor| {
        editor.until("a question for a summary", asks_for_summary);
    }),
    ("a summary is accepted", |editor| {
        editor.event("the accepted summary", |event| event["phase"] == "accepted");
    }),
    ("the turn goes on behind the summary", |editor| {
        editor.event("the next result", |event| {
            event["type"] == "messageAdded" && event["message"]["parts"][0]["toolCallId"] == "c4"
        });
    }),
];

/// After a kill, sent messages are there, a summary is there with its count or not at all, the request is
/// stored and sent once, and nothing is restarted.
#[test]
fn sent_messages_survive_a_kill_at_each_boundary() {
    for model in &models(8000) {
        survives_a_kill(model);
    }
}

fn survives_a_kill(model: &Value) {
    for (n, (what, reach)) in BOUNDARIES.iter().enumerate() {
        let folder = Folder::new(&format!("restore-boundary-{n}-{}", facts::name(model)));
        let mut editor = Editor::start(&folder, settings_of(model));
        editor.open("s", None);
        editor.answers.extend(long_answers());
        let content = "Make the parser work.";
        editor.call("turn/start", json!({ "sessionId": "s", "externalId": "request-1", "content": content }));
        reach(&mut editor);
        editor.client.kill();
        editor.client.wait_exit();
        let told: Vec<Value> =
            editor.events("messageAdded").into_iter().map(|event| event["message"].clone()).collect();
        let accepted =
            editor.events("compactionUpdated").into_iter().find(|event| event["phase"] == "accepted");
        drop(editor);

        let mut editor = Editor::start(&folder, settings_of(model));
        let opened = editor.open("s", None);
        let snapshot = &opened["snapshot"];
        let stored = snapshot["messages"].as_array().expect("messages");
        assert!(stored.len() >= told.len(), "{what}");
        assert_eq!(&stored[..told.len()], told.as_slice(), "{what}");
        let (summary, count) = (&snapshot["summary"], &snapshot["summarizedCount"]);
        match snapshot["compactions"].as_array().map(Vec::as_slice) {
            Some([one]) => {
                assert_eq!(
                    (summary, count),
                    (&one["block"], &json!(one["coversToOrd"].as_u64().map(|n| n + 1)))
                );
            }
            _ => {
                assert!(accepted.is_none(), "{what}: it was sent and is missing");
                assert_eq!((summary, count), (&Value::Null, &json!(0)), "{what}");
            }
        }
        let pending = snapshot["pendingCalls"].as_array().expect("a list");
        assert_eq!(snapshot["state"] == "waitingIde", !pending.is_empty(), "{what}: {pending:?}");
        for call in pending.clone() {
            let result = json!({ "sessionId": "s", "toolCallId": call["toolCallId"], "content": "late" });
            editor.call("tool/result", result);
        }
        if !pending.is_empty() {
            editor.event("the turn's end", is_end);
        }
        editor.turn(json!({ "sessionId": "s", "externalId": "request-2", "content": "Go on." }));
        let sent =
            editor.asked_for("turn").last().map(|asked| bytes(&asked["messages"])).expect("it was sent");
        assert_eq!(sent.matches(&format!("\"{content}\"")).count(), 1, "{what}: {sent}");
        assert!(sent.contains("\"Go on.\""), "{what}");
    }
}

#[test]
fn a_client_that_lost_an_event_catches_up() {
    let folder = Folder::new("restore-events-lost");
    let mut editor = Editor::start(&folder, settings());
    editor.open("s", None);
    first_turn(&mut editor);
    let events = editor.client.events();
    let seqs: Vec<u64> = events.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert_eq!(seqs, (seqs[0]..seqs[0] + events.len() as u64).collect::<Vec<_>>(), "no number is missing");
    let lost = events.len() / 2;
    let stream = &events[0]["stream"];
    let since = events[lost - 1]["seq"].clone();
    let missed =
        editor.call("session/subscribe", json!({ "sessionId": "s", "stream": stream, "sinceSeq": since }));
    assert_eq!(missed["events"], json!(events[lost..]));
    assert!(missed.get("snapshot").is_none());
    let fresh = editor
        .call("session/subscribe", json!({ "sessionId": "s", "stream": "an older one", "sinceSeq": since }));
    let snapshot = &fresh["snapshot"];
    assert_eq!((&snapshot["seq"], &snapshot["stream"]), (&events[events.len() - 1]["seq"], stream));
    let added: Vec<&Value> = events
        .iter()
        .filter(|event| event["type"] == "messageAdded")
        .map(|event| &event["message"])
        .collect();
    assert_eq!(snapshot["messages"], json!(added));
    assert_eq!(snapshot["state"], "idle");
    assert!(snapshot["summary"].as_str().is_some_and(|summary| summary.contains(NARRATIVE)));
}
