//! Well-framed but invalid input: each gets its typed error or a reported repair, nothing is half done, and
//! the session continues. `frames` has invalid frames.

use super::script::{Editor, Folder, calls, is_end, is_request, prose, says, tools};
use serde_json::{Value, json};
use session::acceptance::accepts;
use session::state::StateName;
use session::stored::Driver;

/// An editor with a session of each driver: `s` (sidecar) and `e` (editor).
fn editor(folder: &Folder, settings: Value) -> Editor {
    let mut editor = Editor::logged(folder, settings);
    editor.open("s", None);
    editor.open_with("e", "editor", None);
    editor
}

fn kind(error: &Value) -> &str {
    error["data"]["kind"].as_str().unwrap_or_else(|| panic!("an error without a kind: {error}"))
}

#[test]
fn a_missing_or_wrong_field_is_named() {
    let folder = Folder::new("bad-fields");
    let mut editor = Editor::start(&folder, Value::Null);
    let w = "/code/parser";
    let history = |turn: Value| json!({ "workspaceFolder": w, "history": [turn] });
    let with = |settings: Value| json!({ "workspaceFolder": w, "settings": settings });
    let input = json!({ "content": "Hello." });
    let cases = [
        ("session/open", json!({}), "workspaceFolder"),
        ("session/open", json!({ "workspaceFolder": 5 }), "workspaceFolder"),
        ("session/open", json!({ "workspaceFolder": w, "driver": "robot" }), "driver"),
        ("session/open", json!({ "workspaceFolder": w, "sessionId": "../x" }), "sessionId"),
        ("session/open", json!({ "workspaceFolder": w, "sessionId": "" }), "sessionId"),
        ("session/open", json!({ "workspaceFolder": w, "tools": [{}] }), "tools[0].name"),
        (
            "session/open",
            history(json!({ "rounds": [{ "assistant": {} }] })),
            "history[0].rounds[0].assistant.parts",
        ),
        ("session/open", history(json!({ "rounds": [{}] })), "history[0].rounds[0].assistant"),
        ("session/open", history(json!({ "request": [{ "type": "text" }] })), "history[0].request[0].text"),
        (
            "session/open",
            history(json!({ "request": [{ "type": "toolResult", "toolCallId": "c", "content": "x" }] })),
            "history[0].request[0].type",
        ),
        ("session/open", with(json!({ "threshold": 1.5 })), "settings.threshold"),
        ("session/open", with(json!({ "policy": "none" })), "settings.policy"),
        ("session/open", with(json!({ "model": { "wire": "telegraph" } })), "settings.model.wire"),
        ("session/open", with(json!({ "model": { "window": 10 } })), "settings.model.window"),
        ("session/open", with(json!({ "roundLimit": -1 })), "settings.roundLimit"),
        ("turn/start", json!({ "sessionId": "s" }), "content"),
        ("turn/start", json!({ "sessionId": "s", "content": 7 }), "content"),
        ("turn/start", json!({ "content": "Hello." }), "sessionId"),
        ("prompt/render", json!({}), "sessionId"),
        ("prompt/render", json!({ "sessionId": "e", "rounds": [] }), "input"),
        ("prompt/render", json!({ "sessionId": "e", "input": input, "summarize": "maybe" }), "summarize"),
        (
            "prompt/render",
            json!({ "sessionId": "e", "input": input, "toolResults": [{}] }),
            "toolResults[0].toolCallId",
        ),
        ("round/append", json!({ "sessionId": "e" }), "round"),
        ("turn/end", json!({ "sessionId": "e", "status": "done" }), "status"),
        (
            "tool/decide",
            json!({ "sessionId": "s", "decisions": [{ "toolCallId": "c", "decision": "maybe" }] }),
            "decisions[0].decision",
        ),
        ("tool/result", json!({ "sessionId": "s", "toolCallId": "c" }), "content"),
        ("session/list", json!({ "limit": -1 }), "limit"),
        ("session/list", json!({ "cursor": "x" }), "cursor"),
        ("session/subscribe", json!([]), ""),
        ("session/close", json!(["e"]), ""),
        ("model/key", json!(["PLANTED_KEY", "sk-planted"]), ""),
    ];
    for (method, params, field) in cases {
        let error = editor.refused(method, params.clone());
        assert_eq!(
            (&error["code"], kind(&error)),
            (&json!(-32602), "InvalidParams"),
            "{method} {params}: {error}"
        );
        assert_eq!(error["data"]["field"], field, "{method} {params}: {error}");
        assert!(error["message"].as_str().is_some_and(|text| text.contains("nothing was done")), "{error}");
    }
    assert_eq!(editor.call("session/list", json!({}))["sessions"], json!([]), "nothing was made");
}

#[test]
fn unknown_protocol_version_lists_the_known_ones() {
    let mut client = super::client::Client::new(super::client::Wire::Pipes);
    let hello = |version: Value| json!({ "capabilities": {}, "initializationOptions": { "threadhold": { "protocolVersion": version } } });
    for asked in [0, 2, 99] {
        let error = client.call("initialize", hello(json!(asked))).expect_err("there is no such version");
        assert_eq!(error["code"], -33001);
        assert_eq!(error["data"], json!({ "kind": "UnsupportedVersion", "asked": asked, "supported": [1] }));
    }
    let error = client.call("initialize", hello(json!("one"))).expect_err("it is no version");
    assert_eq!((kind(&error), &error["data"]["field"]), ("InvalidParams", &json!("protocolVersion")));
    let early = client.call("session/list", json!({})).expect_err("initialize comes first");
    assert_eq!(early["code"], -32002);
    // The client may try again.
    let answer = client.call("initialize", hello(json!(1))).expect("this one is known");
    assert_eq!(answer["capabilities"]["experimental"]["threadhold"]["protocolVersion"], 1);
}

#[test]
fn ids_that_do_not_exist_are_named() {
    let folder = Folder::new("bad-ids");
    let mut editor = editor(&folder, Value::Null);
    let content = json!("Hello.");
    let round = json!({ "assistant": { "parts": "Hello." } });
    for (method, params) in [
        ("turn/start", json!({ "content": content })),
        ("turn/cancel", json!({})),
        ("turn/end", json!({})),
        ("round/append", json!({ "round": round })),
        ("prompt/render", json!({})),
        ("tool/decide", json!({ "decisions": [] })),
        ("tool/result", json!({ "toolCallId": "c", "content": "x" })),
        ("session/subscribe", json!({})),
        ("session/configure", json!({})),
        ("session/takeOver", json!({})),
        ("session/close", json!({})),
        ("session/delete", json!({})),
        ("context/inspect", json!({})),
        ("context/compact", json!({})),
    ] {
        let mut params = params;
        params["sessionId"] = json!("nobody");
        let error = editor.refused(method, params);
        assert_eq!(
            (kind(&error), &error["data"]["sessionId"]),
            ("UnknownSession", &json!("nobody")),
            "{method}"
        );
    }
    editor.turn(json!({ "sessionId": "s", "content": "Hello." }));
    editor.call("turn/start", json!({ "sessionId": "e", "content": "Hello." }));
    for (session, method, more) in [
        ("s", "turn/cancel", json!({})),
        ("e", "turn/end", json!({})),
        ("e", "round/append", json!({ "round": round })),
    ] {
        let mut params = more;
        (params["sessionId"], params["turnId"]) = (json!(session), json!("t9"));
        let error = editor.refused(method, params);
        assert_eq!((&error["code"], kind(&error)), (&json!(-33003), "StaleReference"), "{method}");
        assert_eq!(
            (&error["data"]["field"], &error["data"]["id"]),
            (&json!("turnId"), &json!("t9")),
            "{method}"
        );
    }
    // Without a running tool no result is accepted, whatever its id.
    let result = json!({ "sessionId": "s", "toolCallId": "c9", "content": "x" });
    assert_eq!(kind(&editor.refused("tool/result", result)), "InvalidState");
    // Nor in a session that must be loaded first.
    editor.call("session/close", json!({ "sessionId": "e" }));
    let error = editor.refused("turn/end", json!({ "sessionId": "e", "turnId": "t9" }));
    assert_eq!((kind(&error), &error["data"]["id"]), ("StaleReference", &json!("t9")));
    let snapshot = editor.call("session/subscribe", json!({ "sessionId": "e" }))["snapshot"].take();
    // It was not this request that ended the turn, but that its session was closed.
    assert_eq!(
        (&snapshot["turns"][0]["status"], &snapshot["turns"][0]["interrupted"]),
        (&json!("cancelled"), &json!(true))
    );
}

#[test]
fn a_result_without_a_call_is_refused_or_reported() {
    let folder = Folder::new("bad-stray");
    let mut editor = editor(&folder, Value::Null);
    editor.call("turn/start", json!({ "sessionId": "e", "externalId": "r1", "content": "Hello." }));
    let round = json!({ "id": "a", "assistant": { "parts": "No calls." }, "results": [{ "toolCallId": "c9", "content": "x" }] });
    let error = editor.refused("round/append", json!({ "sessionId": "e", "round": round }));
    assert_eq!((kind(&error), &error["data"]["id"]), ("StaleReference", &json!("c9")));
    let snapshot = editor.call("session/subscribe", json!({ "sessionId": "e" }))["snapshot"].take();
    assert_eq!(snapshot["messages"].as_array().map(Vec::len), Some(1), "nothing of the round was taken in");
    let rendered = editor.call(
        "prompt/render",
        json!({
            "sessionId": "e", "input": { "externalId": "r1", "content": "Hello." },
            "rounds": [{ "id": "a", "assistant": { "parts": calls("Look.", ["c1"]) } }],
            "toolResults": [{ "toolCallId": "c9", "content": "stray words" }, { "toolCallId": "c1", "content": "good words" }],
        }),
    );
    let messages = rendered["messages"].to_string();
    assert!(messages.contains("good words") && !messages.contains("stray words"), "{messages}");
    assert_eq!(rendered["diagnostics"][0]["kind"], "strayResult", "{rendered}");
    assert!(
        rendered["cuts"].as_array().is_some_and(|cuts| cuts.iter().any(|cut| cut["reason"] == "strayResult"))
    );
}

#[test]
fn a_second_answer_changes_nothing() {
    let folder = Folder::new("bad-twice");
    let mut editor = editor(&folder, Value::Null);
    editor.call("turn/start", json!({ "sessionId": "s", "content": "Hello." }));
    let asked = editor.client.wait_request("model/complete");
    editor.client.respond(&asked["id"], json!({ "content": calls("Look.", ["c1"]) }));
    editor.client.respond(&asked["id"], json!({ "content": "Another answer." }));
    let ops = json!([{ "op": "appendContent", "text": "More of it." }]);
    editor.client.notify("model/delta", json!({ "requestId": asked["params"]["requestId"], "ops": ops }));
    let call = editor.client.wait_request("tool/invoke");
    editor.client.wait_log("an answer came late, or twice");
    editor.client.wait_log("a delta came for no request");
    editor.client.respond(&call["id"], json!({ "content": "The result." }));
    editor.client.respond(&call["id"], json!({ "content": "Another result." }));
    let last = editor.until("the next question", |frame| is_request(frame, "model/complete"));
    let again = json!({ "sessionId": "s", "toolCallId": "c1", "content": "A third result." });
    assert_eq!(kind(&editor.refused("tool/result", again)), "InvalidState");
    editor.client.respond(&last["id"], json!({ "content": "Done." }));
    let ended = editor.event("the turn's end", is_end);
    assert_eq!(ended["status"], "completed");
    let snapshot = editor.call("session/subscribe", json!({ "sessionId": "s" }))["snapshot"].take();
    let said = snapshot["messages"].to_string();
    for (words, times) in
        [("Look.", 1), ("The result.", 1), ("Another", 0), ("More of it.", 0), ("A third", 0)]
    {
        assert_eq!(said.matches(words).count(), times, "{words}: {said}");
    }
}

/// JavaScript cuts strings at 16-bit units, and `JSON.stringify` escapes the remaining half.
#[test]
fn unpaired_surrogate_costs_one_character_of_a_tool_result() {
    let folder = Folder::new("bad-surrogate");
    let mut editor = editor(&folder, Value::Null);
    let start = r#"{"jsonrpc":"2.0","id":"start","method":"turn/start","params":{"sessionId":"s","content":"cut \ud83d"}}"#;
    editor.client.send_raw(&framed_text(start)).expect("the server reads");
    let asked = editor.client.wait_request("model/complete");
    assert_eq!(texts(&asked["params"]["messages"]), ["cut \u{fffd}"]);
    // The arguments are JSON inside JSON, with half of a pair from the model.
    let arguments = r#"{"path":"half \ud83d"}"#;
    let call = json!([{ "type": "toolCall", "id": "c1", "name": "read", "arguments": arguments }]);
    editor.client.respond(&asked["id"], json!({ "content": call }));
    let call = editor.client.wait_request("tool/invoke");
    assert_eq!(call["params"]["arguments"], arguments);
    let result = r#""low \udc00, high \uD83D, pair \ud83d\ude00, escaped \\ud83d, last \ud83d""#;
    let response = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"content":{result}}}}}"#, call["id"]);
    editor.client.send_raw(&framed_text(&response)).expect("the server reads");
    let asked = editor.client.wait_request("model/complete");
    let told = "low \u{fffd}, high \u{fffd}, pair \u{1f600}, escaped \\ud83d, last \u{fffd}";
    assert_eq!(texts(&asked["params"]["messages"]), ["cut \u{fffd}", told]);
    editor.client.wait_log("replaced=3");
    editor.client.respond(&asked["id"], json!({ "content": "Done." }));
    editor.event("the turn's end", |event| event["status"] == "completed");
}

fn framed_text(body: &str) -> Vec<u8> {
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// The texts of user and tool messages.
fn texts<'a>(messages: &'a Value) -> Vec<&'a str> {
    let messages = messages.as_array().expect("messages").iter();
    let theirs = messages.filter(|message| message["role"] == "user" || message["role"] == "tool");
    let part = |message: &'a Value| &message["parts"][0];
    theirs
        .filter_map(|message| part(message)["text"].as_str().or(part(message)["content"][0]["text"].as_str()))
        .collect()
}

#[test]
fn answer_after_its_deadline_is_dropped() {
    let folder = Folder::new("bad-late");
    // Even on a busy machine, answers in time take less than two seconds.
    let mut editor = editor(&folder, json!({ "modelDeadlineMs": 2000, "toolDeadlineMs": 300 }));
    let turn = editor.call("turn/start", json!({ "sessionId": "s", "content": "Hello." }))["turnId"].take();
    let asked = editor.client.wait_request("model/complete");
    let ops = json!([{ "op": "appendContent", "text": "Half of" }]);
    editor.client.notify("model/delta", json!({ "requestId": asked["params"]["requestId"], "ops": ops }));
    let ended = editor.event("the turn's end", is_end);
    assert_eq!(
        (&ended["turnId"], &ended["status"], &ended["state"]),
        (&turn, &json!("failed"), &json!("error"))
    );
    let data = &ended["error"]["data"];
    assert_eq!((&data["kind"], &data["cause"]), (&json!("ProviderError"), &json!("timeout")), "{ended}");
    editor.client.respond(&asked["id"], json!({ "content": "A late answer." }));
    editor.client.wait_log("an answer came late, or twice");
    // A tool that misses its deadline gets an error result, and the model is asked again, without a deadline
    // that matters.
    editor.call("session/configure", json!({ "sessionId": "s", "settings": { "modelDeadlineMs": 600_000 } }));
    editor.call("turn/start", json!({ "sessionId": "s", "content": "Again." }));
    let asked = editor.client.wait_request("model/complete");
    assert!(asked["params"]["messages"].to_string().contains("Half of"), "what was streamed is kept");
    editor.client.respond(&asked["id"], json!({ "content": calls("Look.", ["c1"]) }));
    let call = editor.client.wait_request("tool/invoke");
    let asked = editor.client.wait_request("model/complete");
    assert!(asked["params"]["messages"].to_string().contains("no result came within 300 ms"));
    editor.client.respond(&call["id"], json!({ "content": "A late result." }));
    editor.client.respond(&asked["id"], json!({ "content": "Done." }));
    editor.event("the turn's end", |event| event["status"] == "completed");
    let snapshot = editor.call("session/subscribe", json!({ "sessionId": "s" }))["snapshot"].take();
    assert!(!snapshot["messages"].to_string().contains("late"), "{snapshot}");
}

#[test]
fn window_below_the_system_text_reports_sizes() {
    let folder = Folder::new("bad-window");
    let mut editor = editor(&folder, json!({ "model": { "window": 2000 } }));
    let sections = json!([{ "name": "rules", "content": prose("rule", 200) }]);
    let ended = editor.turn(json!({ "sessionId": "s", "content": "Hello.", "sections": sections }));
    let data = &ended["error"]["data"];
    assert_eq!((&data["kind"], &data["window"]), (&json!("CannotFit"), &json!(2000)), "{ended}");
    let system =
        data["sections"].as_array().and_then(|all| all.iter().find(|section| section["name"] == "system"));
    assert!(system.and_then(|section| section["tokens"].as_u64()) > data["limit"].as_u64(), "{data}");
    assert!(editor.asked.is_empty(), "nothing was sent");
    // With a shorter system text the same request is sent.
    let ended = editor.turn(json!({ "sessionId": "s", "content": "Now.", "sections": [] }));
    assert_eq!(ended["status"], "completed");
    assert!(editor.asked[0]["messages"].to_string().contains("Hello."));
}

#[test]
fn misplaced_command_lists_accepted_ones() {
    let folder = Folder::new("bad-state");
    let mut editor = editor(&folder, Value::Null);
    let invalid = |error: &Value, state: StateName, driver: Driver| {
        assert_eq!((&error["code"], kind(error)), (&json!(-33004), "InvalidState"), "{error}");
        let expected = (&json!(state.name()), &json!(accepts(state, driver)));
        assert_eq!((&error["data"]["state"], &error["data"]["accepts"]), expected, "{error}");
    };
    let (sidecars, editors) = (Driver::Sidecar, Driver::Editor);
    let round = json!({ "assistant": { "parts": "Hello." } });
    for (method, params) in [
        ("prompt/render", json!({ "sessionId": "s", "input": { "content": "Hello." } })),
        ("round/append", json!({ "sessionId": "s", "round": round })),
        ("turn/end", json!({ "sessionId": "s" })),
    ] {
        invalid(&editor.refused(method, params), StateName::Idle, sidecars);
    }
    let result = json!({ "sessionId": "e", "toolCallId": "c1", "content": "x" });
    invalid(&editor.refused("tool/result", result), StateName::Idle, editors);
    invalid(
        &editor.refused("tool/decide", json!({ "sessionId": "e", "decisions": [] })),
        StateName::Idle,
        editors,
    );
    let decide = json!({ "sessionId": "s", "decisions": [{ "toolCallId": "c1", "decision": "allowOnce" }] });
    invalid(&editor.refused("tool/decide", decide), StateName::Idle, sidecars);

    editor.call("turn/start", json!({ "sessionId": "s", "content": "Hello." }));
    let asked = editor.client.wait_request("model/complete");
    let id = editor.client.request("context/compact", json!({ "sessionId": "s" }));
    invalid(&editor.client.wait_response(id)["error"], StateName::Generating, sidecars);
    editor.client.respond(&asked["id"], json!({ "content": calls("Look.", ["c1"]) }));
    let call = editor.client.wait_request("tool/invoke");
    let decide = json!({ "sessionId": "s", "decisions": [{ "toolCallId": "c1", "decision": "allowOnce" }] });
    invalid(&editor.refused("tool/decide", decide), StateName::WaitingIde, sidecars);
    editor.client.respond(&call["id"], json!({ "content": "x" }));
    editor.answers.push_back(says("Done."));
    editor.event("the turn's end", |event| event["status"] == "completed");
    // A call that needs the user's approval.
    let mut asking = tools();
    asking[0]["policy"] = json!("ask");
    editor.answers.push_back(calls("Look.", ["c2"]));
    editor.call("turn/start", json!({ "sessionId": "s", "content": "Again.", "tools": asking }));
    editor.event("a pause", |event| event["type"] == "pauseRequired");
    let result = json!({ "sessionId": "s", "toolCallId": "c2", "content": "x" });
    invalid(&editor.refused("tool/result", result), StateName::Paused, sidecars);
    editor.call("turn/cancel", json!({ "sessionId": "s" }));
    let error = editor.refused("turn/start", json!({ "sessionId": "s", "content": "" }));
    assert_eq!(kind(&error), "InvalidParams");
}
