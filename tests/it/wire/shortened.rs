//! Compactions without a summary, which only shortened results or dropped rounds: their metadata in the
//! editor, and restores without the store. Nothing may be lost even if only `summary` and `summaries` are
//! kept.

use super::editor_driven::Turn;
use super::rungs::rounds;
use super::script::{Editor, Folder, Summaries, bytes, calls, prose, read_by, says};
use crate::facts::models;
use serde_json::{Value, json};

/// A turn that leads to such a compaction.
struct Case {
    mode: &'static str,
    settings: Value,
    answers: Vec<Value>,
}

fn cases() -> [Case; 2] {
    let [model, _] = models(8000);
    [
        Case {
            mode: "limitHistory",
            settings: json!({ "policy": "fourStage", "model": model }),
            answers: rounds(4, 70),
        },
        Case {
            mode: "dropped",
            settings: json!({ "policy": "rounds", "model": model }),
            answers: vec![
                calls(&prose("answer 1", 20), ["c1"]),
                calls(&prose("answer 2", 20), ["c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "c10"]),
                says("The parser works."),
            ],
        },
    ]
}

/// Runs the turn; returns the event that ends it.
fn first_turn(editor: &mut Editor, case: &Case) -> Value {
    editor.summaries = Summaries::Failing;
    editor.answers.extend(case.answers.clone());
    let ended = editor
        .turn(json!({ "sessionId": "s", "externalId": "request-1", "content": "Make the parser work." }));
    assert_eq!(ended["status"], "completed", "{ended}");
    ended
}

/// The prompt of the next turn.
fn second_prompt(editor: &mut Editor) -> String {
    let before = editor.asked.len();
    editor.turn(json!({ "sessionId": "s", "externalId": "request-2", "content": "And now the docs." }));
    bytes(&editor.asked[before]["messages"])
}

/// The editor's history with other metadata of its one turn.
fn with_metadata(history: &[Value], metadata: Value) -> Vec<Value> {
    let mut history = history.to_vec();
    history[0]["metadata"] = metadata;
    history
}

/// The metadata as earlier versions stored it, as the annotation of a round.
fn as_it_was(metadata: &Value) -> Value {
    let list = metadata["threadhold"].as_str().expect("one text");
    let mut list: Vec<Value> = serde_json::from_str(list).expect("a list");
    let summaries = list.iter_mut().map(|own| {
        let text = own["record"]["block"].take();
        own["record"]["block"] = json!("");
        json!({ "toolCallRoundId": own["record"]["anchor"]["roundId"], "text": text, "threadhold": own.to_string() })
    });
    let summaries: Vec<Value> = summaries.collect();
    json!({ "summary": summaries.last(), "summaries": summaries })
}

/// The metadata with `summary` and `summaries` alone.
fn two_fields(metadata: &Value) -> Value {
    let bare =
        |summary: &Value| json!({ "toolCallRoundId": summary["toolCallRoundId"], "text": summary["text"] });
    let summaries: Vec<Value> = metadata["summaries"].as_array().into_iter().flatten().map(bare).collect();
    match summaries.last() {
        Some(summary) => json!({ "summary": summary, "summaries": summaries }),
        None => json!({}),
    }
}

#[test]
fn shortening_annotates_no_round() {
    for case in cases() {
        let mode = case.mode;
        let folder = Folder::new(&format!("shortened-{mode}"));
        let mut editor = Editor::start(&folder, case.settings.clone());
        editor.open("s", None);
        let ended = first_turn(&mut editor, &case);
        let metadata = &ended["metadata"];
        let keys: Vec<&String> = metadata.as_object().expect("metadata").keys().collect();
        assert_eq!(keys, ["threadhold"], "{mode}");
        let events = editor.events("compactionUpdated");
        let accepted: Vec<&Value> = events.iter().filter(|event| event["phase"] == "accepted").collect();
        assert!(!accepted.is_empty());
        let own: Vec<&str> = accepted
            .iter()
            .map(|event| {
                let compaction = &event["compaction"];
                assert_eq!((&compaction["mode"], compaction.get("metadata")), (&json!(mode), None));
                assert_eq!(event["metadata"], json!({ "threadhold": format!("[{}]", compaction["threadhold"].as_str().expect("a text")) }));
                compaction["threadhold"].as_str().expect("a text")
            })
            .collect();
        assert_eq!(metadata["threadhold"], format!("[{}]", own.join(",")), "{mode}");
        let snapshot = editor.call("session/subscribe", json!({ "sessionId": "s" }))["snapshot"].take();
        assert_eq!(snapshot["turns"][0]["metadata"], *metadata, "{mode}");
        let rounds = snapshot["turns"][0]["rounds"].as_array().expect("rounds");
        assert!(rounds.iter().all(|round| round.get("summary").is_none()), "{mode}");
    }
}

#[test]
fn shortening_comes_back_byte_for_byte_without_the_store() {
    for case in cases() {
        let mode = case.mode;
        let folder = Folder::new(&format!("shortened-reference-{mode}"));
        let mut reference = Editor::start(&folder, case.settings.clone());
        reference.open("s", None);
        first_turn(&mut reference, &case);
        let messages = second_prompt(&mut reference);

        let folder = Folder::new(&format!("shortened-gone-{mode}"));
        let mut editor = Editor::start(&folder, case.settings.clone());
        editor.open("s", None);
        let metadata = first_turn(&mut editor, &case)["metadata"].take();
        let history = editor.history();
        editor.kill();
        for (what, metadata) in [("now", metadata.clone()), ("before", as_it_was(&metadata))] {
            let folder = Folder::new(&format!("shortened-nowhere-{mode}-{what}"));
            let mut editor = Editor::start(&folder, case.settings.clone());
            let opened = editor.open("s", Some(with_metadata(&history, metadata.clone())));
            let restore = &opened["restore"];
            let made = opened["snapshot"]["compactions"].as_array().map(Vec::len);
            assert_eq!(restore["restored"].as_array().map(Vec::len), made, "{mode}, {what}: {restore}");
            for empty in ["already", "stale", "orphans", "duplicates", "failures", "diagnostics"] {
                assert_eq!(restore[empty], json!([]), "{mode}, {what}: {empty}");
            }
            assert_eq!(second_prompt(&mut editor), messages, "{mode}, {what}");
        }
    }
}

#[test]
fn nothing_is_lost_with_the_two_fields_alone() {
    for case in cases() {
        let mode = case.mode;
        let folder = Folder::new(&format!("shortened-fields-{mode}"));
        let mut editor = Editor::start(&folder, case.settings.clone());
        editor.open("s", None);
        let metadata = first_turn(&mut editor, &case)["metadata"].take();
        let history = editor.history();
        let ran = editor.ran.clone();
        editor.kill();
        let before = as_it_was(&metadata);
        for (what, metadata, failures) in [
            ("now", two_fields(&metadata), 0),
            ("before", two_fields(&before), before["summaries"].as_array().map_or(0, Vec::len)),
        ] {
            let folder = Folder::new(&format!("shortened-fields-{mode}-{what}"));
            // A large window needs no new compaction.
            let [wide, _] = models(64_000);
            let mut settings = case.settings.clone();
            settings["model"] = wide;
            let mut editor = Editor::start(&folder, settings);
            let opened = editor.open("s", Some(with_metadata(&history, metadata)));
            let (restore, snapshot) = (&opened["restore"], &opened["snapshot"]);
            assert_eq!(
                (&restore["restored"], &snapshot["compactions"]),
                (&json!([]), &json!([])),
                "{mode}, {what}"
            );
            let told = restore["failures"].as_array().expect("a list");
            assert_eq!(told.len(), failures, "{mode}, {what}: {restore}");
            assert!(
                told.iter().all(|told| told["reason"].to_string().contains("neither a summary nor a ledger"))
            );
            let prompt = second_prompt(&mut editor);
            for call in &ran {
                let shown = json!(read_by(call)).to_string();
                assert!(prompt.contains(&shown), "{mode}, {what}: what {call} read is shown whole");
            }
        }
    }
}

/// With the editor as the driver, render and turn end return the same metadata, and a later render accepts
/// it.
#[test]
fn shortening_of_the_editors_loop_comes_back_with_its_history() {
    let [case, _] = cases();
    let folder = Folder::new("shortened-editor");
    let mut editor = Editor::start(&folder, case.settings.clone());
    let mut turn = Turn::new("request-1", "Make the parser work.");
    for answer in &case.answers {
        let rendered = editor.call("prompt/render", turn.params());
        if rendered["metadata"] != json!({}) {
            turn.given.push(rendered["metadata"].clone());
        }
        turn.goes_on(answer);
    }
    let last = turn.rounds.last().cloned().expect("it has rounds");
    editor.call("round/append", json!({ "sessionId": "e", "round": last }));
    let metadata = editor.call("turn/end", json!({ "sessionId": "e" }))["metadata"].take();
    let lists = turn.given.iter().map(|given| {
        let list = given["threadhold"].as_str().expect("nothing else was made");
        list.strip_prefix('[').and_then(|list| list.strip_suffix(']')).expect("it is a list")
    });
    let joined = format!("[{}]", lists.collect::<Vec<_>>().join(","));
    assert_eq!(metadata, json!({ "threadhold": joined }));
    let next = |editor: &mut Editor, history: Value| {
        let mut params = Turn::new("request-2", "And now the docs.").params();
        params["history"] = history;
        let rendered = editor.call("prompt/render", params);
        assert_eq!((&rendered["metadata"], &rendered["diagnostics"]), (&json!({}), &json!([])));
        bytes(&rendered["messages"])
    };
    let history = json!([turn.persisted(Some(&metadata))]);
    let messages = next(&mut editor, history.clone());
    editor.kill();
    let nowhere = Folder::new("shortened-editor-nowhere");
    let mut editor = Editor::start(&nowhere, case.settings);
    assert_eq!(next(&mut editor, history), messages);
}
