//! A whole conversation with full logging: standard output has only frames, and the log has no text of
//! messages, settings, answers or the environment.

use super::client::{Client, Start, Wire};
use super::ground::{Folder, SUMMARY, calls, long_history, said, stream, wait_state, words};
use serde_json::{Value, json};

/// Planted secrets, each in one place only, so that a leak shows its origin.
const PLACES: &[&str] = &[
    "request",
    "section",
    "tool-description",
    "tool-result",
    "tool-error",
    "late-result",
    "arguments",
    "broken-arguments",
    "answer",
    "delta",
    "bad-delta",
    "bad-delta-id",
    "model-error",
    "bad-answer",
    "bad-tool-answer",
    "bad-params",
    "bad-settings",
    "bad-content",
    "permission-note",
    "summary",
    "refused-summary",
    "failed-summary",
    "history",
    "metadata",
    "title",
    "external-id",
    "late-answer",
    "context-file",
    "focus",
    "api-key",
    "own-variable",
    "model-name",
];

fn secret(place: &str) -> String {
    assert!(PLACES.contains(&place), "{place}");
    format!("sk-planted-{place}-0x5ec2e7")
}

/// Answers each model request with the next of these, until the turn ends.
fn turn(client: &mut Client, content: &Value, answers: Vec<Result<Value, String>>) {
    let params = json!({
        "sessionId": "s", "content": content, "externalId": secret("external-id"),
        "contextFiles": [{ "path": "a.txt", "text": secret("context-file") }],
    });
    client.call("turn/start", params).expect("it starts");
    for answer in answers {
        let asked = client.wait_request("model/complete");
        stream(client, &asked, &secret("delta"));
        match answer {
            Ok(answer) => client.respond(&asked["id"], answer),
            Err(message) => client.respond_error(&asked["id"], -32000, &message),
        }
    }
}

/// A conversation with a secret in every place where something can succeed or fail.
fn converse(client: &mut Client) {
    let tools = json!([
        { "name": "read", "description": secret("tool-description") },
        { "name": "ask", "policy": "ask" },
    ]);
    let opened = json!({
        "workspaceFolder": "/w", "sessionId": "s", "tools": tools, "title": secret("title"),
        "sections": [{ "name": "identity", "content": secret("section") }],
        "history": [{ "request": secret("history"), "response": "Yes.", "externalId": "r0",
                      "metadata": { "summary": { "toolCallRoundId": "none", "text": secret("metadata") } } }],
    });
    client.call("session/open", opened).expect("it opens");

    turn(
        client,
        &json!(secret("request")),
        vec![Ok(calls("c1", "read", &json!([secret("arguments")]).to_string()))],
    );
    let invoked = client.wait_request("tool/invoke");
    client.respond(&invoked["id"], json!({ "content": secret("tool-result") }));
    // Late responses.
    client.respond(&invoked["id"], json!({ "content": secret("late-answer") }));
    let late = json!({ "sessionId": "s", "toolCallId": "c1", "content": secret("late-result") });
    client.call("tool/result", late).expect_err("it has its result");
    let asked = client.wait_request("model/complete");
    client.notify(
        "model/delta",
        json!({ "requestId": asked["params"]["requestId"], "ops": secret("bad-delta") }),
    );
    client.notify("model/delta", json!({ "requestId": secret("bad-delta-id"), "ops": [] }));
    client.respond(&asked["id"], calls("c2", "read", &secret("broken-arguments")));
    let permission = client.wait_request("tool/requestPermission");
    let decisions =
        json!([{ "toolCallId": "c2", "decision": "rejectOnce", "note": secret("permission-note") }]);
    client.respond(&permission["id"], json!({ "decisions": decisions }));
    let asked = client.wait_request("model/complete");
    client.respond(&asked["id"], calls("c3", "read", "{}"));
    let invoked = client.wait_request("tool/invoke");
    client.respond_error(&invoked["id"], -32000, &secret("tool-error"));
    let asked = client.wait_request("model/complete");
    client.respond(&asked["id"], calls("c4", "read", "{}"));
    let invoked = client.wait_request("tool/invoke");
    client.respond(&invoked["id"], json!({ "content": { "type": secret("bad-tool-answer") } }));
    let asked = client.wait_request("model/complete");
    client.respond(&asked["id"], said(&secret("answer")));
    wait_state(client, "s", "idle");

    turn(client, &json!("Again."), vec![Err(secret("model-error"))]);
    wait_state(client, "s", "error");
    turn(client, &json!("Again."), vec![Ok(json!({ "content": 7, "stopReason": secret("bad-answer") }))]);
    wait_state(client, "s", "error");

    // A summary that fails, one that is rejected, one that is accepted.
    for (tokens, answers) in [
        (1200, vec![Err(secret("failed-summary")), Ok(said(&secret("refused-summary")))]),
        (1200, vec![Ok(said(&SUMMARY.replace("Good.", &secret("summary"))))]),
    ] {
        turn(client, &json!([{ "type": "text", "text": "Go on." }]), vec![Ok(said(&words("much", tokens)))]);
        wait_state(client, "s", "idle");
        let compact = json!({ "sessionId": "s", "focus": secret("focus") });
        let compact = client.request("context/compact", compact);
        for answer in answers {
            let asked = client.wait_request("model/complete");
            assert_eq!(asked["params"]["purpose"], "summary");
            match answer {
                Ok(answer) => client.respond(&asked["id"], answer),
                Err(message) => client.respond_error(&asked["id"], -32000, &message),
            }
        }
        assert!(client.wait_response(compact)["result"].is_object());
    }

    let bad = json!({ "sessionId": "s", "content": [{ "type": "text", "text": [secret("bad-content")] }] });
    client.call("turn/start", bad).expect_err("it is no text");
    client.call("session/list", json!({ "limit": secret("bad-params") })).expect_err("it is no number");
    let settings = json!({ "threadhold": { "roundLimit": secret("bad-settings") } });
    client.notify("workspace/didChangeConfiguration", json!({ "settings": settings }));
    client.call("server/diagnostics", json!({})).expect("it answers");
}

#[test]
fn log_has_no_secrets_and_output_only_frames() {
    for wire in [Wire::Pipes, Wire::Sockets] {
        let folder = Folder::new();
        let start = Start::new(wire)
            .variable("RUST_LOG", "trace")
            .variable("OPENAI_API_KEY", &secret("api-key"))
            .variable("THREADHOLD_SECRET", &secret("own-variable"));
        let mut client = start.start();
        let mut hello = folder.hello();
        let settings = &mut hello["initializationOptions"]["threadhold"]["settings"];
        settings["model"]["name"] = json!(secret("model-name"));
        client.initialize(hello);
        converse(&mut client);
        // A render that overflows, as an editor with its own loop sends it.
        let params =
            json!({ "history": long_history("h", false), "input": { "content": secret("request") } });
        let render = client.request("prompt/render", params);
        let asked = client.wait_request("model/complete");
        client.notify("$/cancelRequest", json!({ "id": render }));
        assert_eq!(client.wait_response(render)["error"]["code"], -32800);
        client.respond(&asked["id"], said(&secret("late-answer")));
        assert_eq!(client.call("shutdown", Value::Null), Ok(Value::Null));
        client.notify("exit", Value::Null);
        assert_eq!(client.wait_exit(), Some(0));
        // A byte outside of frames would be reported here.
        client.wait_end_of_output();
        client.wait_log("ending: the client sent exit");
        let log = client.log();
        assert!(log.contains("TRACE"), "all is logged");
        let found: Vec<&str> = log.lines().filter(|line| line.contains("sk-planted")).collect();
        assert!(found.is_empty(), "{wire:?}\n{}", found.join("\n"));
        let frames = client.frames().iter().map(Value::to_string).collect::<String>();
        for place in ["request", "section", "tool-result", "summary", "answer"] {
            assert!(frames.contains(&secret(place)), "{place} was said at all");
        }
        for place in ["api-key", "own-variable"] {
            assert!(!frames.contains(&secret(place)), "{place} is nobody's");
        }
    }
}
