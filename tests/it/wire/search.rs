//! Search and memories over the wire: search by clients and by the model, a folder's memories, and their
//! place in prompts.

use super::script::{Editor, Folder, calls, prose, says};
use serde_json::{Value, json};

fn settings(extra: Value) -> Value {
    let mut all = json!({ "model": { "name": "m", "window": 100_000 }, "maxToolResultTokens": 200 });
    for (name, value) in extra.as_object().expect("an object") {
        all[name] = value.clone();
    }
    all
}

/// Sends a memory request for the folder of these sessions.
fn memory(editor: &mut Editor, method: &str, mut params: Value) -> Value {
    params["workspaceFolder"] = json!("/code/parser");
    editor.call(method, params)
}

fn search(editor: &mut Editor, query: &str) -> Value {
    editor.call("context/search", json!({ "sessionId": "s", "query": query }))
}

/// Turns that are long enough to be summarized.
fn long_answers(editor: &mut Editor) {
    for n in 0..6 {
        editor.answers.push_back(says(&prose(&format!("answer {n}"), 60)));
        editor.turn(json!({ "sessionId": "s", "content": format!("Request {n}.") }));
    }
}

/// All text of a model request.
fn sent(asked: &Value) -> String {
    let parts = asked["messages"].as_array().expect("messages").iter().flat_map(|m| m["parts"].as_array());
    let texts = parts.flatten().map(|part| match part["text"].as_str() {
        Some(text) => text.to_owned(),
        None => part.to_string(),
    });
    texts.collect::<Vec<_>>().join("\n")
}

#[test]
fn search_reports_fates_and_recalls_the_bytes() {
    let folder = Folder::new("search");
    let mut editor = Editor::start(&folder, settings(json!({})));
    editor.open("s", None);
    editor.answers.extend([calls("I look at updatePendingMessages.", ["c1"]), says("Seen.")]);
    editor.turn(json!({ "sessionId": "s", "content": "Look at it \"quoted\" AND done." }));
    editor.kill();
    let mut editor = Editor::start(&folder, settings(json!({})));
    editor.open("s", None);
    let found = search(&mut editor, "line 17 of");
    let hit = &found["hits"][0];
    assert_eq!((&hit["role"], &hit["status"]), (&json!("tool"), &json!("shortened")), "{found}");
    let part = json!({ "sessionId": "s", "ref": hit["ref"], "offset": hit["offset"], "limit": 4000 });
    let part = editor.call("context/recall", part)["text"].take();
    let excerpt = hit["excerpt"].as_str().expect("an excerpt");
    assert!(excerpt.contains("line 17 of"), "{excerpt}");
    assert!(part.as_str().expect("a text").starts_with(excerpt));
    let found = search(&mut editor, "pendingMess");
    assert_eq!(
        (&found["hits"][0]["role"], &found["hits"][0]["status"]),
        (&json!("assistant"), &json!("raw"))
    );
    // A call's arguments have a quotation mark, too.
    for (query, hits) in [("\"quoted\" AND", 1), ("AND NOT", 1), ("\"", 2), ("\u{0}", 0), ("*", 0)] {
        assert_eq!(search(&mut editor, query)["hits"].as_array().map(Vec::len), Some(hits), "{query}");
    }
    assert_eq!(search(&mut editor, &"long ".repeat(200_000)), json!({ "hits": [] }));
    let page = |editor: &mut Editor, cursor: Value| {
        editor.call("context/search", json!({ "sessionId": "s", "query": "e", "limit": 1, "cursor": cursor }))
    };
    let (mut cursor, mut seen) = (Value::Null, Vec::new());
    loop {
        let found = page(&mut editor, cursor);
        seen.push(found["hits"][0]["ord"].clone());
        cursor = found["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(Value::from(seen), json!([3, 2, 1, 0]));
    let error = editor.refused("context/search", json!({ "sessionId": "s", "query": "e", "cursor": "x" }));
    assert_eq!(error["data"]["field"], "cursor", "{error}");
    let error = editor.refused("context/search", json!({ "sessionId": "nobody", "query": "e" }));
    assert_eq!(error["data"]["kind"], "UnknownSession", "{error}");
}

#[test]
fn a_model_searches_and_recalls_with_its_own_tool() {
    let folder = Folder::new("search-tool");
    let mut editor = Editor::start(&folder, settings(json!({ "ownTools": ["recall"] })));
    editor.open("s", None);
    let recall = |id: &str, arguments: Value| json!([{ "type": "toolCall", "id": id, "name": "recall", "arguments": arguments }]);
    editor.answers.extend([
        calls("I look.", ["c1"]),
        recall("q1", json!({ "query": "LINE 29" })),
        recall("q2", json!({ "query": "nobody said this" })),
        says("Seen."),
    ]);
    editor.turn(json!({ "sessionId": "s", "content": "Look." }));
    let result = |asked: &Value, call: &str| -> String {
        let parts =
            asked["messages"].as_array().expect("messages").iter().flat_map(|m| m["parts"].as_array());
        let found = parts.flatten().find(|part| part["type"] == "toolResult" && part["toolCallId"] == call);
        found.expect("a result")["content"].to_string()
    };
    let found = result(&editor.asked[2], "q1");
    assert!(
        found.contains("[ref s/") && found.contains("line 29") && found.contains("[more results: "),
        "{found}"
    );
    assert!(result(&editor.asked[3], "q2").contains("no message contains any of these words"));
}

#[test]
fn memories_are_kept_by_area_until_deleted() {
    let folder = Folder::new("memory");
    let mut editor = Editor::start(&folder, settings(json!({})));
    let put = |editor: &mut Editor, params: Value| editor.call("memory/put", params)["memory"].take();
    let first = put(
        &mut editor,
        json!({ "text": "The parser is in src/parser.rs.", "area": "code", "importance": 5 }),
    );
    let second =
        put(&mut editor, json!({ "id": "mine", "text": "Releases are on Fridays.", "tags": ["calendar"] }));
    assert_eq!(
        (&second["area"], &second["importance"], &second["active"]),
        (&json!("general"), &json!(3), &json!(true))
    );
    editor.kill();
    let mut editor = Editor::start(&folder, settings(json!({})));
    let list = |editor: &mut Editor, params: Value| editor.call("memory/list", params)["memories"].take();
    assert_eq!(list(&mut editor, json!({})), json!([first, second]));
    assert_eq!(list(&mut editor, json!({ "area": "code" })), json!([first]));
    let page = editor.call("memory/list", json!({ "limit": 1 }));
    assert_eq!((&page["memories"], &page["nextCursor"]), (&json!([first]), &json!("1")));
    let off = put(&mut editor, json!({ "id": "mine", "active": false }));
    assert_eq!(off["text"], "Releases are on Fridays.");
    assert_eq!(list(&mut editor, json!({ "active": true })), json!([first]));
    for (query, found) in
        [("PARSER.rs", json!([first])), ("calen", json!([off])), ("\" OR *", json!([])), ("", json!([]))]
    {
        assert_eq!(editor.call("memory/search", json!({ "query": query }))["memories"], found, "{query}");
    }
    for (params, field) in [
        (json!({ "id": "new" }), "text"),
        (json!({ "text": " " }), "text"),
        (json!({ "text": "x", "importance": 6 }), "importance"),
    ] {
        assert_eq!(editor.refused("memory/put", params)["data"]["field"], field);
    }
    assert_eq!(editor.call("memory/delete", json!({ "id": "mine" })), json!({ "deleted": true }));
    assert_eq!(editor.call("memory/delete", json!({ "id": "mine" })), json!({ "deleted": false }));
    assert_eq!(list(&mut editor, json!({})), json!([first]));
    assert_eq!(editor.call("memory/search", json!({ "query": "fridays" }))["memories"], json!([]));
}

#[test]
fn core_memories_precede_history_and_keep_the_prefix() {
    let folder = Folder::new("memory-core");
    let on = || settings(json!({ "coreMemories": true }));
    let mut editor = Editor::start(&folder, on());
    memory(&mut editor, "memory/put", json!({ "id": "a", "text": "SENTINEL-A is true.", "importance": 4 }));
    memory(&mut editor, "memory/put", json!({ "id": "b", "text": "SENTINEL-B is off.", "active": false }));
    editor.open("s", None);
    editor.turn(json!({ "sessionId": "s", "content": "First." }));
    let first = sent(&editor.asked[0]);
    let place = |text: &str, what: &str| text.find(what).unwrap_or_else(|| panic!("{what} is not in {text}"));
    assert!(place(&first, "# CORE MEMORIES") < place(&first, "First."));
    assert!(place(&first, "# KEY CONTEXT REMINDER") < place(&first, "First."));
    assert!(!first.contains("SENTINEL-B"));
    memory(&mut editor, "memory/put", json!({ "id": "c", "text": "SENTINEL-C is new." }));
    editor.turn(json!({ "sessionId": "s", "content": "Second." }));
    editor.kill();
    let mut again = Editor::start(&folder, on());
    again.open("s", None);
    again.turn(json!({ "sessionId": "s", "content": "Third." }));
    let third = sent(&again.asked[0]);
    assert!(third.starts_with(&first) && !third.contains("SENTINEL-C"), "{third}");
    again.call("session/reset", json!({ "sessionId": "s" }));
    again.turn(json!({ "sessionId": "s", "content": "Fourth." }));
    assert!(sent(&again.asked[1]).contains("SENTINEL-C"));
}

#[test]
fn remembered_summary_is_never_shown_twice() {
    let folder = Folder::new("memory-summary");
    let on = settings(json!({ "coreMemories": true, "sessionSummaryToMemory": true }));
    let mut editor = Editor::start(&folder, on.clone());
    editor.open("s", None);
    long_answers(&mut editor);
    let made = editor.call("context/compact", json!({ "sessionId": "s" }));
    assert!(made["compaction"].is_object(), "{made}");
    let remembered = || json!({ "area": "session_summary" });
    let memories = memory(&mut editor, "memory/list", remembered())["memories"].take();
    assert_eq!(memories[0]["source"], made["compaction"]["id"], "{memories}");
    assert!(memories[0]["text"].as_str().is_some_and(|text| text.contains("The parser works.")));
    let of_summary = "A table, for it is short.";
    editor.asked.clear();
    // A changed setting breaks the prefix anyway, so memories are read again.
    for is_on in [false, true] {
        let settings = json!({ "coreMemories": is_on });
        editor.call("session/configure", json!({ "sessionId": "s", "settings": settings }));
    }
    editor.turn(json!({ "sessionId": "s", "content": "Go on." }));
    let asked = sent(&editor.asked[0]);
    assert_eq!(asked.matches(of_summary).count(), 1, "{asked}");
    // In another session of the folder it is an ordinary memory.
    editor.open("t", None);
    editor.asked.clear();
    editor.turn(json!({ "sessionId": "t", "content": "Hello." }));
    assert_eq!(
        sent(&editor.asked[0]).matches("The parser works.").count(),
        2,
        "core memories and their reminder"
    );
    // A newer summary of the session takes the place of its older one.
    long_answers(&mut editor);
    let newer = editor.call("context/compact", json!({ "sessionId": "s" }));
    let memories = memory(&mut editor, "memory/list", remembered())["memories"].take();
    let sources: Vec<&Value> =
        memories.as_array().expect("memories").iter().map(|one| &one["source"]).collect();
    assert_eq!(sources, [&newer["compaction"]["id"]]);
    let off = Folder::new("memory-summary-off");
    let mut editor = Editor::start(&off, settings(json!({})));
    editor.open("s", None);
    long_answers(&mut editor);
    let made = editor.call("context/compact", json!({ "sessionId": "s" }));
    assert!(made["compaction"].is_object(), "{made}");
    assert_eq!(memory(&mut editor, "memory/list", remembered())["memories"], json!([]));
}

#[test]
fn knowledge_stays_with_the_message_it_matches() {
    let folder = Folder::new("memory-knowledge");
    let mut editor = Editor::start(&folder, settings(json!({ "knowledge": true })));
    memory(
        &mut editor,
        "memory/put",
        json!({ "id": "a", "text": "SENTINEL: the parser has its table in src/table.rs." }),
    );
    editor.open("s", None);
    editor.turn(json!({ "sessionId": "s", "content": "Look at the parser and its table." }));
    let first = sent(&editor.asked[0]);
    assert_eq!(first.matches("SENTINEL").count(), 1, "{first}");
    assert!(first.contains("Look at the parser and its table."));
    let weighed = editor.call("context/inspect", json!({ "sessionId": "s" }))["tokens"].as_u64();
    memory(&mut editor, "memory/delete", json!({ "id": "a" }));
    editor.turn(json!({ "sessionId": "s", "content": "Look at the parser and its table again." }));
    let second = sent(&editor.asked[1]);
    assert!(second.starts_with(&first), "{second}");
    assert_eq!(second.matches("SENTINEL").count(), 1);
    // The same prompt without it has fewer tokens.
    let off = Folder::new("memory-knowledge-off");
    let mut editor = Editor::start(&off, settings(json!({})));
    memory(
        &mut editor,
        "memory/put",
        json!({ "id": "a", "text": "SENTINEL: the parser has its table in src/table.rs." }),
    );
    editor.open("s", None);
    editor.turn(json!({ "sessionId": "s", "content": "Look at the parser and its table." }));
    assert!(!sent(&editor.asked[0]).contains("SENTINEL"));
    assert!(editor.call("context/inspect", json!({ "sessionId": "s" }))["tokens"].as_u64() < weighed);
}

#[test]
fn sessions_are_found_by_what_was_said_in_them() {
    let folder = Folder::new("session-search");
    let mut editor = Editor::start(&folder, settings(json!({})));
    for (id, request, answer) in [
        ("s", "Look at the parser.", "It drops a token in `updatePendingMessages`."),
        ("t", "Look at the lexer.", "Nothing is dropped."),
    ] {
        editor.open(id, None);
        editor.answers.push_back(says(answer));
        editor.turn(json!({ "sessionId": id, "content": request }));
    }
    let found = editor.call("session/search", json!({ "query": "pendingmessages" }));
    let [session] = found["sessions"].as_array().expect("sessions").as_slice() else { panic!("{found}") };
    assert_eq!((&session["session"]["sessionId"], &session["session"]["messages"]), (&json!("s"), &json!(2)));
    let [hit] = session["hits"].as_array().expect("hits").as_slice() else { panic!("{session}") };
    assert_eq!(hit["excerpt"], "It drops a token in `updatePendingMessages`.");
    assert_eq!((&hit["role"], &hit["ord"]), (&json!("assistant"), &json!(1)));
    let both = editor.call("session/search", json!({ "query": "look the", "limit": 1 }));
    assert_eq!(both["sessions"].as_array().map(Vec::len), Some(1));
    let rest = editor.call("session/search", json!({ "query": "look the", "cursor": both["nextCursor"] }));
    assert_eq!(rest["sessions"].as_array().map(Vec::len), Some(1), "{rest}");
    assert_ne!(both["sessions"][0]["session"]["sessionId"], rest["sessions"][0]["session"]["sessionId"]);
    let bad = editor.refused("session/search", json!({ "query": "x", "cursor": "no" }));
    assert_eq!(bad["message"], "cursor: \"no\" is not a cursor of a session list; nothing was done");
}
