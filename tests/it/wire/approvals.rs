//! Commands that are approved for good by their beginning: proposed, given, compared by words, listed and revoked. Commands
//! that the user corrects.

use super::client::{Client, Start, Wire};
use super::ground::{Folder, calls, is_event, said, wait_state};
use serde_json::{Value, json};

fn serve(folder: &Folder) -> Client {
    let mut client = folder.serve(Start::new(Wire::Pipes));
    let tool = json!({ "name": "run", "kind": "execute", "policy": "ask" });
    let params = json!({ "workspaceFolder": "/w", "sessionId": "s", "tools": [tool] });
    client.call("session/open", params).expect("it opens");
    client
}

/// The model calls the tool with this command.
fn command(client: &mut Client, id: &str, line: &str) {
    let asked = client.wait_request("model/complete");
    client.respond(&asked["id"], calls(id, "run", &json!({ "command": line }).to_string()));
}

/// The pattern that is proposed for the call that waits.
fn proposed(client: &mut Client) -> Value {
    let event = client.wait_notification("the pause", |frame| is_event(frame, "pauseRequired"));
    event["params"]["reasons"][0]["pattern"].clone()
}

fn decide(client: &mut Client, decision: Value) -> Result<Value, Value> {
    client.call("tool/decide", json!({ "sessionId": "s", "decisions": [decision] }))
}

/// The call runs, without a question.
fn runs(client: &mut Client, id: &str) {
    let invoked = client.wait_request("tool/invoke");
    assert_eq!(invoked["params"]["toolCallId"], id);
    client.respond(&invoked["id"], json!({ "content": "It ran." }));
}

#[test]
fn commands_are_approved_for_good_by_their_beginning() {
    // No such approval holds where commands may be run by cmd.exe.
    if cfg!(windows) {
        return;
    }
    let folder = Folder::new();
    let mut client = serve(&folder);
    client.call("turn/start", json!({ "sessionId": "s", "content": "Test it." })).expect("it starts");
    command(&mut client, "c1", "cargo test -p a 2>&1 | tail -5");
    let pattern = "command^=cargo test; tail";
    assert_eq!(proposed(&mut client), pattern);
    for wrong in ["command^=bash", "command^=cargo", "command^=", "command^=cargo test; rm *", "^=cargo test"]
    {
        let decision = json!({ "toolCallId": "c1", "decision": "allowAlways", "pattern": wrong });
        let error = decide(&mut client, decision).expect_err(wrong);
        assert!(
            error["message"].as_str().is_some_and(|text| text.starts_with("decisions[0].pattern: must")),
            "{error}"
        );
    }
    decide(&mut client, json!({ "toolCallId": "c1", "decision": "allowAlways", "pattern": pattern }))
        .expect("it waits");
    runs(&mut client, "c1");
    command(&mut client, "c2", "tail a.txt; cargo test --quiet");
    runs(&mut client, "c2");
    for (id, line) in [
        ("c3", "cargo testx"),
        ("c4", "cargo test; rm -rf b"),
        ("c5", "cargo test $(rm b)"),
        ("c6", "PATH=. cargo test"),
        ("c7", "cargo test > b"),
    ] {
        command(&mut client, id, line);
        assert_eq!(proposed(&mut client), Value::Null, "{line}");
        decide(&mut client, json!({ "toolCallId": id, "decision": "rejectOnce" })).expect("it waits");
    }
    let asked = client.wait_request("model/complete");
    client.respond(&asked["id"], said("It works."));
    wait_state(&mut client, "s", "idle");
    drop(client);

    // Each beginning is listed and revoked by itself, and outlives its process.
    let mut client = serve(&folder);
    let listed = |client: &mut Client, revoke: Value| {
        let params = json!({ "workspaceFolder": "/w", "revoke": revoke });
        client.call("tool/approvals", params).expect("a list")["decisions"].take()
    };
    let one = |text: &str| json!({ "tool": "run", "pattern": format!("command^={text}") });
    assert_eq!(listed(&mut client, json!([])), json!([one("cargo test"), one("tail")]));
    assert_eq!(listed(&mut client, json!([one("tail")])), json!([one("cargo test")]));
    client.call("turn/start", json!({ "sessionId": "s", "content": "Again." })).expect("it starts");
    command(&mut client, "d1", "cargo test");
    runs(&mut client, "d1");
    command(&mut client, "d2", "cargo test | tail");
    assert_eq!(proposed(&mut client), "command^=tail");
}

/// Changes approvals of the folder or, with its id, of a session, and lists them.
fn change(client: &mut Client, of: Value, change: Value) -> Result<Value, Value> {
    let mut params = of;
    params.as_object_mut().expect("an object").extend(change.as_object().expect("an object").clone());
    client.call("tool/approvals", params).map(|mut listed| listed["decisions"].take())
}

#[test]
fn approvals_are_added_to_a_folder_and_to_a_session_alone() {
    if cfg!(windows) {
        return;
    }
    let folder = Folder::new();
    let mut client = serve(&folder);
    let (here, session) = (|| json!({ "workspaceFolder": "/w" }), || json!({ "sessionId": "s" }));
    let one = |text: &str| json!({ "tool": "run", "pattern": format!("command^={text}") });
    let no = |text: &str| json!({ "tool": "run", "pattern": format!("command^={text}"), "rejected": true });
    for (wrong, field) in [
        (json!({ "tool": "" }), "add[0].tool: must not be empty"),
        (one("bash"), "add[0].pattern: must be plain words"),
        (json!({ "tool": "run", "pattern": "git *" }), "add[0].pattern: must name its argument"),
        (no("rm"), "add[0].rejected: must be false for a session"),
    ] {
        let error = change(&mut client, session(), json!({ "add": [wrong] })).expect_err(field);
        assert!(error["message"].as_str().is_some_and(|text| text.starts_with(field)), "{error}");
    }
    let added = change(&mut client, here(), json!({ "add": [one("cargo test; tail"), no("rm")] }));
    assert_eq!(added, Ok(json!([one("cargo test"), no("rm"), one("tail")])));
    let added = change(&mut client, session(), json!({ "add": [one("ls"), { "tool": "other" }] }));
    assert_eq!(
        added,
        Ok(json!([one("ls"), { "tool": "other" }])),
        "those of the folder are not the session's"
    );

    client.call("turn/start", json!({ "sessionId": "s", "content": "Test it." })).expect("it starts");
    command(&mut client, "c1", "cargo test | tail; ls");
    runs(&mut client, "c1");
    assert_eq!(
        change(&mut client, session(), json!({ "revoke": [one("ls")] })),
        Ok(json!([{ "tool": "other" }]))
    );
    command(&mut client, "c2", "ls");
    assert_eq!(proposed(&mut client), "command^=ls");
    // What is decided for the session is listed with it, and what replaces a rejection is no second one.
    decide(
        &mut client,
        json!({ "toolCallId": "c2", "decision": "allowForSession", "pattern": "command^=ls" }),
    )
    .expect("it waits");
    runs(&mut client, "c2");
    assert_eq!(change(&mut client, session(), json!({})), Ok(json!([{ "tool": "other" }, one("ls")])));
    let replaced = change(&mut client, here(), json!({ "add": [one("rm ./made")], "revoke": [no("rm")] }));
    assert_eq!(replaced, Ok(json!([one("cargo test"), one("rm ./made"), one("tail")])));
    let unknown = change(&mut client, json!({ "sessionId": "none" }), json!({}));
    assert_eq!(unknown.expect_err("it is not open")["data"]["kind"], "UnknownSession");
    drop(client);
    // Those of the session are over with their process.
    let mut client = serve(&folder);
    assert_eq!(change(&mut client, session(), json!({})), Ok(json!([])));
}

#[test]
fn a_call_runs_with_the_arguments_of_the_decision_and_the_model_is_told() {
    let folder = Folder::new();
    let mut client = serve(&folder);
    client.call("turn/start", json!({ "sessionId": "s", "content": "Clean up." })).expect("it starts");
    command(&mut client, "c1", "rm -rf /");
    proposed(&mut client);
    let edited = json!({ "command": "rm -rf target" });
    for (wrong, reason) in [
        (json!({ "decision": "allowOnce", "arguments": "[]" }), "must be the text of a JSON object"),
        (json!({ "decision": "rejectOnce", "arguments": edited }), "only a call that may run"),
    ] {
        let mut decision = wrong;
        decision["toolCallId"] = "c1".into();
        let error = decide(&mut client, decision).expect_err(reason);
        let told = error["message"].as_str().unwrap_or_default();
        assert!(told.starts_with(&format!("decisions[0].arguments: {reason}")), "{error}");
    }
    decide(&mut client, json!({ "toolCallId": "c1", "decision": "allowOnce", "arguments": edited }))
        .expect("it waits");
    let invoked = client.wait_request("tool/invoke");
    assert_eq!(invoked["params"]["arguments"], edited.to_string());
    client.respond(&invoked["id"], json!({ "content": "Gone." }));
    let asked = client.wait_request("model/complete");
    let prompt = asked["params"]["messages"].to_string();
    assert!(prompt.contains("the user changed the arguments of this call"), "{prompt}");
    client.respond(&asked["id"], said("It is clean."));
    wait_state(&mut client, "s", "idle");
    let page = client.call("session/messages", json!({ "sessionId": "s" })).expect("a page");
    let mut messages = page["messages"].as_array().expect("messages").iter();
    let result = messages.rfind(|message| message["role"] == "tool").expect("a result");
    assert_eq!(result["parts"][0]["arguments"], edited.to_string());
}
