//! The loss ledger over the wire: each cut of each prompt names a reference for `context/recall`, which
//! returns the original text byte for byte at any time.

use super::editor_driven::long_turn;
use super::script::{Editor, Folder, calls, says};
use engine::text::sha256_hex;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The whole text of a reference, recalled in parts, and its hash.
fn recalled(editor: &mut Editor, session: &str, reference: &str) -> (String, String) {
    let (mut offset, mut whole) = (json!(0), String::new());
    loop {
        let part = json!({ "sessionId": session, "ref": reference, "offset": offset, "limit": 100_000 });
        let part = editor.call("context/recall", part);
        whole.push_str(part["text"].as_str().expect("a text"));
        if part.get("nextOffset").is_none() {
            return (whole, part["sha256"].as_str().expect("a hash").to_owned());
        }
        offset = part["nextOffset"].clone();
    }
}

/// The displayed text of each message that is a single text, by id.
fn said(editor: &mut Editor, session: &str) -> BTreeMap<String, String> {
    let snapshot = editor.call("session/subscribe", json!({ "sessionId": session }))["snapshot"].take();
    let mut all = BTreeMap::new();
    for message in snapshot["messages"].as_array().into_iter().flatten() {
        let parts = match message["parts"].as_array().map(Vec::as_slice) {
            Some([part]) if part["type"] == "toolResult" => part["content"].as_array(),
            _ => message["parts"].as_array(),
        };
        if let Some([part]) = parts.map(Vec::as_slice)
            && part["type"] == "text"
        {
            all.insert(message["id"].to_string(), part["text"].as_str().expect("a text").to_owned());
        }
    }
    all
}

/// Recalls each cut of the next prompt; returns the number of cuts.
fn check(editor: &mut Editor, session: &str) -> usize {
    let cuts = editor.call("context/inspect", json!({ "sessionId": session }))["cuts"].take();
    let said = said(editor, session);
    let cuts = cuts.as_array().expect("cuts").clone();
    for cut in &cuts {
        let (whole, hash) = recalled(editor, session, cut["ref"].as_str().expect("a reference"));
        assert_eq!((sha256_hex(whole.as_bytes()), &cut["sha256"]), (hash.clone(), &json!(hash)), "{cut}");
        if let Some(said) = said.get(&cut["ref"].to_string()) {
            assert_eq!(&whole, said, "{cut}");
            assert_eq!(cut["originalBytes"], json!(said.len()), "{cut}");
        }
    }
    cuts.len()
}

fn settings(window: u32) -> Value {
    json!({
        "model": { "name": "m", "window": window }, "maxToolResultTokens": 200, "ownTools": ["recall"],
    })
}

#[test]
fn every_cut_of_every_prompt_is_recalled_byte_for_byte() {
    let folder = Folder::new("losses");
    let mut editor = Editor::start(&folder, settings(16_000));
    match std::env::var_os("THREADHOLD_CORPUS") {
        Some(corpus) => {
            let path = PathBuf::from(corpus).join("transcripts/claude-code-session-four.jsonl");
            let data = std::fs::read_to_string(path).expect("the transcript");
            let import = json!({ "workspaceFolder": "/code/parser", "sessionId": "s", "data": data });
            editor.call("session/import", import);
        }
        None => {
            assert!(std::env::var_os("CI").is_none(), "THREADHOLD_CORPUS is not set, and on CI it must be")
        }
    }
    editor.open("s", None);
    let (mut cuts, mut compactions) = (0, 0);
    for n in 0..6 {
        for call in 0..4 {
            let id = format!("c{n}-{call}");
            editor.answers.push_back(calls("I look.", [&*id]));
        }
        editor.answers.push_back(says("Seen."));
        let content = format!("Request {n}. {}", "word ".repeat(400));
        editor.turn(json!({ "sessionId": "s", "content": content }));
        cuts += check(&mut editor, "s");
        let made = editor.call("context/compact", json!({ "sessionId": "s" }));
        compactions += usize::from(made["compaction"].is_object());
        cuts += check(&mut editor, "s");
    }
    assert!(cuts > 20 && compactions >= 5, "{cuts} cuts, {compactions} compactions");
    editor.kill();
    let mut editor = Editor::start(&folder, settings(4_000));
    editor.open("s", None);
    editor.answers.extend([calls("I look.", ["c6-0"]), says("Seen.")]);
    editor.turn(json!({ "sessionId": "s", "content": "Request 6." }));
    assert!(check(&mut editor, "s") > 0);
    // An edited message keeps its old id and text in the revision that the edit leaves, and only there.
    let before = said(&mut editor, "s");
    let (id, text) = before.iter().find(|(_, text)| text.starts_with("Request 2.")).expect("the request");
    let id = id.trim_matches('"');
    let edit = json!({ "sessionId": "s", "messageId": id, "content": "Said otherwise." });
    let revision = editor.call("message/update", edit)["revision"].take();
    assert_eq!(recalled(&mut editor, "s", id).0, "Said otherwise.");
    let kept = editor.call("session/messages", json!({ "sessionId": revision, "limit": 500 }));
    let messages = kept["messages"].as_array().expect("messages");
    let kept = messages.iter().find(|message| message["id"] == id).expect("the old message");
    assert_eq!(kept["parts"][0]["text"], json!(text));
}

/// All pages of a session's ledger.
fn ledger(editor: &mut Editor) -> Vec<Value> {
    let mut cursor = Value::Null;
    let mut pages = Vec::new();
    loop {
        let params = json!({ "sessionId": "s", "limit": 3, "cursor": cursor });
        let page = editor.call("context/ledger", params);
        cursor = page["nextCursor"].clone();
        pages.push(page);
        if cursor.is_null() {
            return pages;
        }
    }
}

/// The recording `ledger.jsonl` shows each list; this tests restarts, and references from names to texts.
#[test]
fn ledger_names_and_references_covered_messages_after_restarts() {
    let folder = Folder::new("losses-ledger");
    let mut editor = Editor::start(&folder, settings(6_000));
    editor.open("s", None);
    let ids: Vec<String> = (0..12).map(|n| format!("c{n}")).collect();
    editor.answers.extend(ids.iter().map(|id| calls("I look.", [&**id])));
    editor.turn(json!({ "sessionId": "s", "content": "Look at all of them." }));
    editor.call("context/compact", json!({ "sessionId": "s" }));
    let pages = ledger(&mut editor);
    let files: Vec<&Value> = pages.iter().flat_map(|page| page["files"].as_array().unwrap()).collect();
    assert!(pages.len() > 1 && files.len() > 3, "{pages:?}");
    let out_of_sight = pages[0]["toOrd"].as_u64().expect("something is out of sight");
    // The request, then an answer and a result in turn.
    let expected: Vec<String> =
        (0..12).rev().filter(|n| n * 2 < out_of_sight).map(|n| format!("src/c{n}.rs")).collect();
    assert_eq!(files.iter().map(|file| file["path"].as_str().unwrap()).collect::<Vec<_>>(), expected);
    for file in files {
        let (said, _) = recalled(&mut editor, "s", file["messageId"].as_str().expect("a message"));
        assert!(said.contains(file["path"].as_str().expect("a path")), "{file}: {said}");
    }
    editor.kill();
    let mut editor = Editor::start(&folder, settings(6_000));
    editor.open("s", None);
    assert_eq!(ledger(&mut editor), pages);
}

#[test]
fn a_section_that_is_over_its_ceiling_is_recalled_too() {
    let folder = Folder::new("losses-section");
    let mut editor = Editor::start(&folder, settings(16_000));
    let long = "rule ".repeat(500);
    let section = json!([{ "name": "rules", "content": long, "maxTokens": 50, "onOverflow": "shrink" }]);
    let params = json!({
        "workspaceFolder": "/code/parser", "sessionId": "s", "driver": "sidecar", "sections": section,
    });
    editor.call("session/open", params);
    editor.turn(json!({ "sessionId": "s", "content": "Go." }));
    assert_eq!(check(&mut editor, "s"), 1);
    assert_eq!(recalled(&mut editor, "s", "section:rules").0, long);
}

#[test]
fn shortened_result_says_how_to_recall_the_rest() {
    for (own, names) in [(json!(["recall"]), true), (json!([]), false)] {
        let folder = Folder::new(&format!("losses-named-{names}"));
        let mut settings = settings(6_000);
        settings["ownTools"] = own;
        settings["maxToolResultTokens"] = json!(1500);
        settings["limitHistory"] = json!("shortenResults");
        let mut editor = Editor::start(&folder, settings);
        editor.open("s", None);
        for n in 0..8 {
            let id = format!("c{n}");
            editor.answers.push_back(calls("I look.", [&*id]));
        }
        editor.turn(json!({ "sessionId": "s", "content": "Look at all of them." }));
        let all = Value::from(editor.asked.clone()).to_string();
        assert!(all.contains("bytes not shown"), "nothing was shortened");
        assert_eq!(all.contains("they can be recalled as"), names);
    }
}

/// A summary that is not in force leaves all its messages in the prompt: whoever imports it must know why.
#[test]
fn import_reports_summaries_that_it_could_not_restore() {
    let folder = Folder::new("losses-import");
    let mut editor = Editor::start(&folder, Value::Null);
    long_turn(&mut editor);
    let exported = editor.call("session/export", json!({ "sessionId": "e", "format": "jsonl" }));
    let data = exported["data"].as_str().expect("lines");
    let own = |value: Value| {
        let lines = data.lines().map(|line| {
            let mut line: Value = serde_json::from_str(line).expect("JSON");
            if line.get("threadhold").is_some() {
                line["threadhold"] = value.clone();
            }
            line.to_string()
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    let changed = data.replacen("The file of c1 goes on", "The other file goes on", 1);
    assert_ne!(changed, data);
    for (to, data, kinds) in [
        ("x", data.to_owned(), [""; 0].as_slice()),
        ("y", own(json!("{")), &["failedSummary"]),
        // It depends on where the summary stands whether the changed message is its anchor.
        ("z", changed, &["staleSummary", "orphanSummary"]),
    ] {
        let import = json!({ "workspaceFolder": "/code/parser", "sessionId": to, "data": data });
        let imported = editor.call("session/import", import);
        let told = imported.get("diagnostics").and_then(Value::as_array).into_iter().flatten();
        let told: Vec<&str> = told.filter_map(|diagnostic| diagnostic["kind"].as_str()).collect();
        let is_expected = told.iter().all(|kind| kinds.contains(kind)) && told.is_empty() == kinds.is_empty();
        assert!(is_expected, "{to}: {imported}");
    }
    let error = editor.refused("session/export", json!({ "sessionId": "e", "format": "pdf" }));
    let known = json!(["jsonl", "trajectory", "markdown"]);
    assert_eq!(error["data"], json!({ "kind": "UnsupportedFormat", "format": "pdf", "known": known }));
}
