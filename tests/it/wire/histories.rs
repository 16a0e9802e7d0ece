//! Editor histories that differ from ours: older, cut, changed, not stored; and summaries in every form ever
//! written. Nothing fails silently.

use super::editor_driven::{Turn, long_turn, next};
use super::script::{Editor, Folder, NARRATIVE, bytes, says, without_rounds};
use serde_json::{Value, json};

/// The second turn as an editor stores it.
fn second_turn() -> Turn {
    let mut turn = Turn::new("request-2", "And now the docs.");
    turn.goes_on(&says("They are written."));
    turn
}

/// Renders with these fields replaced; null removes one.
fn render(editor: &mut Editor, turn: &Turn, fields: &Value) -> Value {
    let mut params = turn.params();
    let all = params.as_object_mut().expect("an object");
    for (name, value) in fields.as_object().expect("an object") {
        if value.is_null() { drop(all.remove(name)) } else { drop(all.insert(name.clone(), value.clone())) }
    }
    editor.call("prompt/render", params)
}

/// The kinds of a response's diagnostics.
fn kinds(rendered: &Value) -> Vec<&str> {
    let all = rendered["diagnostics"].as_array().expect("diagnostics");
    all.iter().filter_map(|diagnostic| diagnostic["kind"].as_str()).collect()
}

fn listed(editor: &mut Editor) -> Vec<String> {
    let page = editor.call("session/list", json!({ "workspaceFolder": "/code/parser" }));
    let sessions = page["sessions"].as_array().expect("sessions");
    sessions.iter().filter_map(|session| session["sessionId"].as_str().map(str::to_owned)).collect()
}

#[test]
fn a_history_without_a_session_is_rendered_and_kept_nowhere() {
    let folder = Folder::new("histories-nowhere");
    let mut editor = Editor::start(&folder, Value::Null);
    let history = json!([{ "externalId": "old-1", "request": "Hello.", "response": "Hello to you." }]);
    let turn = Turn::new("request-2", "And now the docs.");
    let fields = json!({ "sessionId": null, "history": history });
    let first = render(&mut editor, &turn, &fields);
    let messages = bytes(&first["messages"]);
    assert!(messages.contains("Hello to you.") && messages.contains("And now the docs."));
    assert_eq!(listed(&mut editor), [""; 0]);
    assert!(editor.client.events().is_empty(), "nobody follows what is kept nowhere");
    let again = render(&mut editor, &turn, &fields);
    assert_eq!(bytes(&again["messages"]), messages);
    assert!(first.get("sessionId").is_none(), "there is no session that could be named");
    // Without ids no session is searched.
    let nameless = json!({ "sessionId": null, "input": { "content": "Alone." }, "history": [] });
    assert!(bytes(&render(&mut editor, &turn, &nameless)["messages"]).contains("Alone."));
    // A stored session is found by its ids.
    long_turn(&mut editor);
    let known = json!({ "sessionId": null, "history": [{ "externalId": "request-1", "request": "Make the parser work." }] });
    let found = render(&mut editor, &turn, &known);
    assert_eq!(found["sessionId"], "e");
    assert_eq!(bytes(&found["messages"]), next(&mut editor, json!({})));
}

/// VS Code gives a participant only its newest turns: older ones stay as we have them.
#[test]
fn turns_missing_at_the_head_of_a_history_stay() {
    let folder = Folder::new("histories-head");
    let mut editor = Editor::start(&folder, Value::Null);
    long_turn(&mut editor);
    let second = second_turn();
    next(&mut editor, json!({}));
    editor.call("round/append", json!({ "sessionId": "e", "round": second.rounds[0] }));
    editor.call("turn/end", json!({ "sessionId": "e" }));
    let third = Turn::new("request-3", "And the changelog.");
    let all = render(&mut editor, &third, &json!({}));
    assert!(all["messages"].to_string().contains("<conversation-summary>"));
    let newest = render(&mut editor, &third, &json!({ "history": [second.persisted(None)] }));
    assert_eq!(bytes(&newest["messages"]), bytes(&all["messages"]));
    assert_eq!(kinds(&newest), [""; 0]);
    // A client without rounds sends only the answer.
    let answer =
        json!({ "externalId": "request-2", "request": "And now the docs.", "response": "They are written." });
    let short = render(&mut editor, &third, &json!({ "history": [answer] }));
    assert_eq!(bytes(&short["messages"]), bytes(&all["messages"]));
}

/// VS Code drops all later turns when an earlier request is sent again.
#[test]
fn an_earlier_request_sent_again_leaves_a_revision() {
    let folder = Folder::new("histories-again");
    let mut editor = Editor::start(&folder, Value::Null);
    let mut first = Turn::new("request-0", "What is this?");
    editor.call("prompt/render", first.params());
    first.goes_on(&says("A parser."));
    editor.call("round/append", json!({ "sessionId": "e", "round": first.rounds[0] }));
    editor.call("turn/end", json!({ "sessionId": "e" }));
    let (_, metadata) = long_turn(&mut editor);
    let before = editor.call("session/subscribe", json!({ "sessionId": "e" }))["snapshot"].take();
    assert_eq!(before["turns"].as_array().map(Vec::len), Some(2));

    let again = Turn::new("request-1b", "Make the parser work.");
    let rendered = render(&mut editor, &again, &json!({ "history": [first.persisted(None)] }));
    let messages = bytes(&rendered["messages"]);
    assert!(messages.contains("A parser.") && messages.contains("Make the parser work."), "{messages}");
    assert!(!messages.contains("first answer") && !messages.contains("<conversation-summary>"), "{messages}");
    let mut said = kinds(&rendered);
    said.sort_unstable();
    assert_eq!(said, ["revised", "voidSummary"]);
    let revision = rendered["revision"].clone();
    let cut = editor.events("messagesTruncated");
    assert_eq!((cut.len(), &cut[0]["revision"], &cut[0]["fromOrd"]), (1, &revision, &json!(2)));
    let now = editor.call("session/subscribe", json!({ "sessionId": "e" }))["snapshot"].take();
    assert_eq!(now["compactions"][0]["status"], "void");
    assert_eq!((&now["summary"], &now["summarizedCount"]), (&Value::Null, &json!(0)));
    // The revision has all of it.
    let kept = editor.call("session/messages", json!({ "sessionId": revision }));
    assert_eq!(kept["messages"], without_rounds(&before["messages"]));
    let history = editor.call("session/history", json!({ "sessionId": "e" }));
    let revisions = history["revisions"].as_array().expect("revisions");
    assert_eq!(revisions.len(), 1);
    assert_eq!((&revisions[0]["revisionId"], &revisions[0]["cause"]), (&revision, &json!("history")));
    // The void summary is not restored from an editor that still has it.
    let mut stale = first.persisted(Some(&metadata));
    stale["externalId"] = json!("request-0");
    let brought = render(&mut editor, &again, &json!({ "history": [stale] }));
    assert_eq!(kinds(&brought), ["staleSummary"]);
    assert_eq!(bytes(&brought["messages"]), messages);
    // All of this is on disk.
    editor.kill();
    let mut editor = Editor::start(&folder, Value::Null);
    assert_eq!(bytes(&render(&mut editor, &again, &json!({}))["messages"]), messages);
    assert_eq!(listed(&mut editor).len(), 1);
}

#[test]
fn restoring_is_idempotent() {
    let folder = Folder::new("histories-twice");
    let mut editor = Editor::start(&folder, Value::Null);
    let (turn, metadata) = long_turn(&mut editor);
    let history = vec![turn.persisted(Some(&metadata))];
    editor.kill();
    let nowhere = Folder::new("histories-twice-anew");
    let mut editor = Editor::start(&nowhere, Value::Null);
    let first = editor.open_with("e", "editor", Some(history.clone()));
    assert_eq!(first["restore"]["restored"], json!(["e/c0"]), "{}", first["restore"]);
    let once = next(&mut editor, json!({ "history": history }));
    let again = editor.open_with("e", "editor", Some(history.clone()));
    assert_eq!((&again["restore"]["restored"], &again["restore"]["already"]), (&json!([]), &json!(["e/c0"])));
    assert_eq!(again["restore"]["appendedMessages"], 0);
    assert_eq!(again["snapshot"]["compactions"].as_array().map(Vec::len), Some(1));
    assert_eq!(next(&mut editor, json!({ "history": history })), once);
    let reports = editor.events("restoreReported");
    assert_eq!((&reports[0]["report"], &reports[1]["report"]), (&first["restore"], &again["restore"]));
}

#[test]
fn summary_of_a_changed_source_is_reported_and_ignored() {
    let folder = Folder::new("histories-stale");
    let mut editor = Editor::start(&folder, Value::Null);
    let (turn, metadata) = long_turn(&mut editor);
    editor.kill();
    let mut changed = turn.persisted(Some(&metadata));
    changed["request"] = json!("Make the lexer work.");
    let nowhere = Folder::new("histories-stale-anew");
    let mut editor = Editor::start(&nowhere, Value::Null);
    let opened = editor.open_with("e", "editor", Some(vec![changed]));
    let restore = &opened["restore"];
    assert_eq!(restore["stale"][0]["toolCallRoundId"], "request-1-round-1", "{restore}");
    assert_eq!(restore["diagnostics"][0]["kind"], "staleSummary");
    assert_eq!(opened["snapshot"]["compactions"], json!([]));
    let rendered = render(
        &mut editor,
        &Turn::new("request-2", "And now the docs."),
        &json!({ "model": { "window": 64000 }, "summarize": "never" }),
    );
    let messages = bytes(&rendered["messages"]);
    assert!(messages.contains("Make the lexer work.") && messages.contains("first answer"));
    assert!(!messages.contains("<conversation-summary>"));
}

/// A form of metadata, the report's name for it, and `true` if the prompt then shows its text.
type Shape = (&'static str, fn(&Value) -> Value, &'static str, bool);

const SHAPES: &[Shape] = &[
    ("current", |whole| whole.clone(), "restored", true),
    ("summary only", |whole| json!({ "summary": whole["summary"] }), "restored", true),
    (
        "without our part",
        |whole| json!({ "summary": { "toolCallRoundId": "request-1-round-1", "text": whole["summary"]["text"] } }),
        "restored",
        true,
    ),
    (
        "plain words",
        |_| json!({ "summaries": [{ "toolCallRoundId": "request-1-round-1", "text": NARRATIVE }] }),
        "restored",
        true,
    ),
    (
        "a turn's id",
        |_| json!({ "summary": { "toolCallRoundId": "request-1", "text": NARRATIVE } }),
        "restored",
        true,
    ),
    (
        "texts by the ids of rounds",
        |_| json!({ "summaries": { "request-1-round-1": NARRATIVE } }),
        "restored",
        true,
    ),
    (
        "a text by the id of its turn",
        |_| json!({ "summaries": { "request-1": NARRATIVE } }),
        "restored",
        true,
    ),
    (
        "an orphan",
        |_| json!({ "summary": { "toolCallRoundId": "nowhere", "text": NARRATIVE } }),
        "orphans",
        false,
    ),
    (
        "previous of the first turn",
        |_| json!({ "summary": { "toolCallRoundId": "previous", "text": NARRATIVE } }),
        "orphans",
        false,
    ),
    ("a failure's mark", |_| json!({ "summary": { "toolCallRoundId": "", "text": "" } }), "failures", false),
    (
        "our part damaged",
        |whole| {
            let mut damaged = whole["summary"].clone();
            damaged["threadhold"] = json!("{\"sessionId\":");
            json!({ "summary": damaged })
        },
        "failures",
        true,
    ),
    ("of another kind", |_| json!({ "summary": 7 }), "failures", false),
    ("a list that is none", |_| json!({ "summaries": "gone" }), "failures", false),
];

#[test]
fn summaries_are_restored_from_every_form_ever_written() {
    let folder = Folder::new("histories-shapes");
    // Without excerpts, text of covered messages is nowhere in a prompt.
    let mut editor = Editor::start(&folder, json!({ "excerptShare": 0 }));
    let (turn, metadata) = long_turn(&mut editor);
    let expected = next(&mut editor, json!({}));
    for (n, (what, shape, verdict, is_shown)) in SHAPES.iter().enumerate() {
        let id = format!("shape-{n}");
        let opened = editor.open_with(&id, "editor", Some(vec![turn.persisted(Some(&shape(&metadata)))]));
        let restore = &opened["restore"];
        for word in ["restored", "already", "stale", "orphans", "duplicates", "failures"] {
            let count = restore[word].as_array().map(Vec::len);
            let is_said = word == *verdict || (word == "restored" && *is_shown);
            assert_eq!(count, Some(usize::from(is_said)), "{what}: {word}: {restore}");
        }
        let fields = json!({ "sessionId": id, "model": { "window": 64000 } });
        let rendered = render(&mut editor, &Turn::new("request-2", "And now the docs."), &fields);
        let messages = bytes(&rendered["messages"]);
        assert_eq!(messages.contains("A table, for it is short."), *is_shown, "{what}");
        assert_eq!(messages.contains("first answer"), !is_shown, "{what}: covered or shown");
        if n < 2 {
            assert_eq!(messages, expected, "{what}");
        }
    }
    assert_eq!(editor.asked_for("summary").len(), 1, "no shape leads to another summary");
}

#[test]
fn failed_restore_hides_no_other_and_copies_are_duplicates() {
    let folder = Folder::new("histories-failure");
    let mut editor = Editor::start(&folder, Value::Null);
    let (turn, metadata) = long_turn(&mut editor);
    let expected = next(&mut editor, json!({}));
    let good = &metadata["summary"];
    let failed = json!({ "toolCallRoundId": "", "text": "" });
    let both =
        json!({ "summary": failed, "summaries": [failed, good, good, failed], "other": { "kept": true } });
    let mut second = second_turn().persisted(Some(&json!({ "summary": failed })));
    second["externalId"] = json!("request-1z");
    let opened = editor.open_with("again", "editor", Some(vec![turn.persisted(Some(&both)), second]));
    let restore = &opened["restore"];
    assert_eq!(restore["restored"].as_array().map(Vec::len), Some(1), "{restore}");
    assert_eq!(restore["duplicates"].as_array().map(Vec::len), Some(1), "{restore}");
    assert_eq!(restore["failures"].as_array().map(Vec::len), Some(3), "{restore}");
    let fields = json!({ "sessionId": "again", "history": [turn.persisted(Some(&both))] });
    let rendered = render(&mut editor, &Turn::new("request-2", "And now the docs."), &fields);
    assert_eq!(bytes(&rendered["messages"]), expected);
    // The older form names the turn before the one that carries it.
    let legacy = json!({ "summary": { "toolCallRoundId": "previous", "text": NARRATIVE } });
    let history = vec![turn.persisted(None), second_turn().persisted(Some(&legacy))];
    let opened = editor.open_with("legacy", "editor", Some(history));
    assert_eq!(opened["restore"]["restored"].as_array().map(Vec::len), Some(1), "{}", opened["restore"]);
    let rendered = render(&mut editor, &Turn::new("request-3", "More."), &json!({ "sessionId": "legacy" }));
    let messages = bytes(&rendered["messages"]);
    assert!(messages.contains("A table, for it is short.") && messages.contains("They are written."));
    assert!(!messages.contains("first answer"));
    // Or the round itself has it.
    let mut of_round = turn.persisted(None);
    of_round["rounds"][0]["summary"] = good["text"].clone();
    let opened = editor.open_with("of-round", "editor", Some(vec![of_round]));
    assert_eq!(opened["restore"]["restored"].as_array().map(Vec::len), Some(1), "{}", opened["restore"]);
    assert_eq!(opened["snapshot"]["turns"][0]["rounds"][0]["summary"], good["text"]);
}

/// A round whose only call has an empty id, with its result.
fn nameless_round(id: &str) -> Value {
    json!({
        "id": id,
        "assistant": { "parts": [{ "type": "toolCall", "id": "", "name": "read", "arguments": {} }] },
        "results": [{ "toolCallId": "", "content": format!("read by {id}") }],
    })
}

/// The ids of calls and results in messages, in order.
fn ids_of_calls(messages: &Value) -> Vec<&str> {
    let parts = messages.as_array().into_iter().flatten().flat_map(|message| message["parts"].as_array());
    parts.flatten().filter_map(|part| part["toolCallId"].as_str().or(part["id"].as_str())).collect()
}

#[test]
fn empty_call_id_is_repaired_in_a_history() {
    let folder = Folder::new("histories-nameless");
    let mut editor = Editor::start(&folder, Value::Null);
    let first = json!({ "externalId": "request-1", "request": "Read it.", "rounds": [nameless_round("k1")] });
    let opened = editor.open_with("e", "editor", Some(vec![first.clone()]));
    let repaired = |id: &str| {
        let message = format!("a tool call came with an empty id; its id is {id:?} now");
        json!({ "kind": "repairedCall", "message": message })
    };
    assert_eq!(opened["restore"]["diagnostics"], json!([repaired("call-1")]));
    let mut turn = Turn::new("request-2", "Read more.");
    turn.rounds = vec![nameless_round("k2"), nameless_round("k3")];
    // The newest result comes beside its round.
    turn.rounds[1].as_object_mut().expect("a round").remove("results");
    turn.results = vec![json!({ "toolCallId": "", "content": "read by k3" })];
    let rendered = render(&mut editor, &turn, &json!({ "history": [first] }));
    assert_eq!(rendered["diagnostics"], json!([repaired("call-2"), repaired("call-3")]));
    let expected = ["call-1", "call-1", "call-2", "call-2", "call-3", "call-3"];
    assert_eq!(ids_of_calls(&rendered["messages"]), expected);
    assert!(bytes(&rendered["messages"]).contains("read by k3"));
    let again = render(&mut editor, &turn, &json!({ "history": [first] }));
    assert_eq!((&again["messages"], &again["diagnostics"]), (&rendered["messages"], &json!([])));
    let appended = editor.call("round/append", json!({ "sessionId": "e", "round": nameless_round("k4") }));
    assert_eq!(appended["diagnostics"], json!([repaired("call-4")]));
}

#[test]
fn empty_call_id_is_repaired_in_an_import() {
    let folder = Folder::new("histories-nameless-import");
    let mut editor = Editor::start(&folder, Value::Null);
    let call = json!({ "id": "", "type": "function", "function": { "name": "read", "arguments": "{}" } });
    let data = json!({ "messages": [
        { "role": "user", "content": "Read it." },
        { "role": "assistant", "content": "", "tool_calls": [call] },
        { "role": "tool", "tool_call_id": "", "content": "all of it" },
    ] });
    editor.open_with("i", "editor", None);
    let import = json!({ "workspaceFolder": "/code/parser", "sessionId": "i", "data": data.to_string() });
    let imported = editor.call("session/import", import);
    let message = "message 1: the call of tool \"read\" has an empty id and gets one";
    assert_eq!(imported["diagnostics"], json!([{ "kind": "repairedCall", "message": message }]));
    assert_eq!(imported["skipped"], json!([]));
    let rendered = editor.call("prompt/render", json!({ "sessionId": "i", "model": { "window": 64000 } }));
    assert_eq!(ids_of_calls(&rendered["messages"]), ["call-1", "call-1"]);
}

#[test]
fn ignored_part_of_a_history_is_reported_at_opening() {
    let folder = Folder::new("histories-ignored");
    let mut editor = Editor::start(&folder, Value::Null);
    let request = json!([{ "type": "hologram" }, { "type": "text", "text": "Hello." }]);
    let opened = editor.open_with("e", "editor", Some(vec![json!({ "request": request })]));
    let message = "history[0].request[0].type: unknown part kind \"hologram\"; the part was left out";
    assert_eq!(opened["restore"]["diagnostics"], json!([{ "kind": "ignoredPart", "message": message }]));
}

/// With the store the summary stays; without it nothing tells what it was made of.
#[test]
fn changed_result_under_a_summary_is_reported() {
    let folder = Folder::new("histories-changed");
    let mut editor = Editor::start(&folder, Value::Null);
    let (turn, metadata) = long_turn(&mut editor);
    let expected = next(&mut editor, json!({}));
    let mut history = turn.persisted(Some(&metadata));
    history["rounds"][0]["results"][0]["content"] = json!("another file");
    let message = "the editor's result for tool call \"c1\" differs from the one that the summary was made of; \
                   the summary and the stored result stay";
    let told = json!([{ "kind": "changedResult", "message": message }]);
    let after = Turn::new("request-2", "And now the docs.");
    let rendered = render(&mut editor, &after, &json!({ "history": [history] }));
    assert_eq!((&rendered["diagnostics"], bytes(&rendered["messages"])), (&told, expected.clone()));
    // A result that the prompt shows is the stored one, too.
    let mut shown = turn.persisted(Some(&metadata));
    shown["rounds"][2]["results"][0]["content"] = json!("another file");
    let rendered = render(&mut editor, &after, &json!({ "history": [shown] }));
    assert_eq!((kinds(&rendered), bytes(&rendered["messages"])), (vec![], expected));
    editor.kill();
    let mut editor = Editor::start(&folder, Value::Null);
    let opened = editor.open_with("e", "editor", Some(vec![history.clone()]));
    assert_eq!((&opened["restore"]["diagnostics"], &opened["restore"]["already"]), (&told, &json!(["e/c0"])));
    let nowhere = Folder::new("histories-changed-anew");
    let mut editor = Editor::start(&nowhere, Value::Null);
    let opened = editor.open_with("e", "editor", Some(vec![history]));
    // The result is the message that the summary stands at.
    assert_eq!(opened["restore"]["diagnostics"][0]["kind"], "orphanSummary");
}

/// Our own export says which compactions were in force, and an import under another id goes on from them.
#[test]
fn exported_compaction_is_in_force_under_another_id() {
    let folder = Folder::new("histories-exported");
    let mut editor = Editor::start(&folder, Value::Null);
    long_turn(&mut editor);
    let export = |editor: &mut Editor| {
        let exported = editor.call("session/export", json!({ "sessionId": "e", "format": "jsonl" }));
        exported["data"].as_str().expect("lines").to_owned()
    };
    let import = |editor: &mut Editor, to: &str, data: &str| {
        editor.open_with(to, "editor", None);
        let import = json!({ "workspaceFolder": "/code/parser", "sessionId": to, "data": data });
        let imported = editor.call("session/import", import);
        assert_eq!(imported["skipped"], json!([]));
        let subscribed = editor.call("session/subscribe", json!({ "sessionId": to }));
        subscribed["snapshot"]["compactions"].clone()
    };
    let data = export(&mut editor);
    let brought = import(&mut editor, "x", &data);
    assert_eq!((brought.as_array().map(Vec::len), &brought[0]["status"]), (Some(1), &json!("inForce")));
    // Our part alone may be lost; then the text stands for the round before it.
    let bare: Vec<String> = data
        .lines()
        .map(|line| {
            let mut line: Value = serde_json::from_str(line).expect("JSON");
            line.as_object_mut().expect("an object").remove("threadhold");
            line.to_string()
        })
        .collect();
    let brought = import(&mut editor, "y", &bare.join("\n"));
    assert_eq!((brought.as_array().map(Vec::len), &brought[0]["mode"]), (Some(1), &json!("recorded")));
    let expected = next(&mut editor, json!({}));
    assert_eq!(next(&mut editor, json!({ "sessionId": "x" })), expected);
    editor.call("context/undo", json!({ "sessionId": "e" }));
    let data = export(&mut editor);
    assert_eq!(import(&mut editor, "z", &data), json!([]));
}

/// The current request is in the session already, with what came beside it.
#[test]
fn fields_of_a_request_are_reported_without_it() {
    let folder = Folder::new("histories-no-input");
    let mut editor = Editor::start(&folder, Value::Null);
    let (turn, metadata) = long_turn(&mut editor);
    let expected = next(&mut editor, json!({}));
    let none = json!({ "input": null, "rounds": null, "toolResults": null });
    let after = Turn::new("request-2", "And now the docs.");
    let plain = render(&mut editor, &after, &none);
    assert_eq!((bytes(&plain["messages"]), &plain["diagnostics"]), (expected.clone(), &json!([])));
    let mut beside = none.clone();
    beside["variables"] = json!([{ "name": "file", "value": "text" }]);
    beside["notebook"] = json!([{ "uri": "file:///a.ipynb", "content": "cells" }]);
    beside["metadata"] = metadata;
    let rendered = render(&mut editor, &after, &beside);
    let told = ["variables", "notebook", "metadata"].map(
        |field| json!({ "kind": "ignoredField", "message": format!("{field}: is ignored without `input`") }),
    );
    assert_eq!((bytes(&rendered["messages"]), &rendered["diagnostics"]), (expected, &json!(told)));
    let without = |more: Value| {
        let mut params = json!({ "sessionId": "e", "model": { "window": 64000 } });
        params.as_object_mut().expect("an object").extend(more.as_object().cloned().expect("an object"));
        params
    };
    for more in [json!({ "rounds": turn.rounds }), json!({ "toolResults": [] })] {
        let error = editor.refused("prompt/render", without(more));
        assert_eq!(
            (&error["data"]["kind"], &error["data"]["field"]),
            (&json!("InvalidParams"), &json!("input"))
        );
    }
}
