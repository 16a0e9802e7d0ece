//! Many requests at once, and clients that answer or read late: each request gets one response, cancels
//! overtake the requests they cancel, and input is still read. Asserts the order of frames, never time.

use super::client::{Client, Start, Wire};
use super::ground::{Folder, SUMMARY, calls, long_history, said, stream};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The limit of unanswered requests.
const LIMIT: usize = 256;

/// Parameters of a render that overflows: of a stored session, or of a history without one.
fn render(name: &str, is_kept: bool) -> Value {
    let mut params = json!({ "history": long_history(name, is_kept), "input": { "content": "Go on." } });
    if is_kept {
        params["sessionId"] = json!(name);
        params["workspaceFolder"] = json!("/w");
    }
    params
}

/// A frame of a request.
fn frame(id: i64, method: &str, params: &Value) -> Vec<u8> {
    let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// A frame that cancels a request.
fn cancel_frame(id: i64) -> Vec<u8> {
    let body = json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": id } }).to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// The number of responses per id.
fn responses(client: &Client) -> BTreeMap<i64, usize> {
    let mut counts = BTreeMap::new();
    for frame in client.frames().iter().filter(|frame| frame.get("method").is_none()) {
        *counts.entry(frame["id"].as_i64().expect("our ids are numbers")).or_default() += 1;
    }
    counts
}

/// Waits for `count` requests for a summary, and streams a little to each.
fn summaries_asked(client: &mut Client, count: usize) -> Vec<Value> {
    let mut asked = Vec::new();
    for _ in 0..count {
        let request = client.wait_request("model/complete");
        assert_eq!(request["params"]["purpose"], "summary");
        stream(client, &request, "<sum");
        stream(client, &request, "mary>");
        asked.push(request);
    }
    asked
}

/// Answers these and later requests for summaries until all these renders are answered.
fn finish(client: &mut Client, asked: &[Value], renders: &[i64]) -> BTreeMap<i64, Value> {
    for request in asked {
        client.respond(&request["id"], said(SUMMARY));
    }
    let mut done = BTreeMap::new();
    while done.len() < renders.len() {
        let next = client.wait("a request for a summary, or a prompt", |frame| {
            let is_answer = frame["id"].as_i64().is_some_and(|id| renders.contains(&id));
            frame["method"] == "model/complete" || frame.get("method").is_none() && is_answer
        });
        if next.get("method").is_some() {
            client.respond(&next["id"], said(SUMMARY));
        } else if let Some(id) = next["id"].as_i64() {
            done.insert(id, next);
        }
    }
    done
}

/// 64 renders wait for the client's model. All other requests are answered meanwhile, and cancelled renders
/// end before any of them completes.
#[test]
fn waiting_renders_do_not_block_other_requests() {
    for wire in [Wire::Pipes, Wire::Sockets] {
        let folder = Folder::new();
        let mut client = folder.serve(Start::new(wire));
        let renders: Vec<(i64, String)> = (0..64)
            .map(|n| {
                let name = format!("s{n}");
                (client.request("prompt/render", render(&name, n % 2 == 0)), name)
            })
            .collect();
        let asked = summaries_asked(&mut client, 64);
        // Renders of stored sessions are known by their session id; the others have an id of their own.
        let of_session: BTreeMap<String, i64> = asked
            .iter()
            .map(|request| {
                let session = request["params"]["sessionId"].as_str().expect("a session");
                (session.to_owned(), request["id"].as_i64().expect("a number"))
            })
            .collect();
        assert_eq!(of_session.len(), 64);

        // Cancelled in one write: 8 stored and 8 temporary ones by request, 8 stored ones by turn.
        let by_request: BTreeSet<i64> = renders.iter().take(16).map(|(id, _)| *id).collect();
        let by_turn: Vec<&(i64, String)> = renders.iter().skip(16).step_by(2).take(8).collect();
        let mut bytes = Vec::new();
        let mut others = BTreeSet::new();
        let mut id = 1000;
        let mut add = |bytes: &mut Vec<u8>, method: &str, params: Value| {
            id += 1;
            others.insert(id);
            bytes.extend(frame(id, method, &params));
        };
        for n in 0..48 {
            let session = format!("s{}", 32 + (n * 2) % 32);
            add(&mut bytes, "context/inspect", json!({ "sessionId": session }));
            add(&mut bytes, "session/list", json!({ "workspaceFolder": "/w" }));
            add(&mut bytes, "session/subscribe", json!({ "sessionId": session }));
            add(&mut bytes, "server/diagnostics", json!({}));
            if let Some(id) = by_request.iter().nth(n) {
                bytes.extend(cancel_frame(*id));
            }
            if let Some((_, session)) = by_turn.get(n) {
                add(&mut bytes, "turn/cancel", json!({ "sessionId": session }));
            }
        }
        assert_eq!(others.len(), 200);
        client.send_raw(&bytes).expect("the server reads");

        for id in &by_request {
            assert_eq!(client.wait_response(*id)["error"]["code"], -32800);
        }
        for (id, session) in &by_turn {
            let error = client.wait_response(*id);
            assert_eq!(error["error"]["data"]["kind"], "Cancelled", "{session} {error}");
        }
        let taken_back: BTreeSet<i64> = (0..by_request.len() + by_turn.len())
            .map(|_| {
                let told = client.wait_notification("a cancel", |frame| frame["method"] == "$/cancelRequest");
                told["params"]["id"].as_i64().expect("a number")
            })
            .collect();
        let by_name = |name: &str| of_session.get(name);
        for (_, session) in renders.iter().take(32).step_by(2) {
            assert!(by_name(session).is_some_and(|number| taken_back.contains(number)), "{session}");
        }
        for id in &others {
            let response = client.wait_response(*id);
            assert!(response.get("result").is_some(), "{response}");
        }

        // None of this waited for a render: no summary was given yet.
        let kept: Vec<i64> = {
            let cancelled: BTreeSet<i64> =
                by_request.iter().copied().chain(by_turn.iter().map(|(id, _)| *id)).collect();
            renders.iter().map(|(id, _)| *id).filter(|id| !cancelled.contains(id)).collect()
        };
        let counts = responses(&client);
        assert!(kept.iter().all(|id| !counts.contains_key(id)), "{counts:?}");
        assert_eq!(kept.len(), 40);

        // Late answers to cancelled renders are dropped; the others complete.
        for (_, response) in finish(&mut client, &asked, &kept) {
            let result = &response["result"];
            assert_eq!(result["metadata"]["summaries"].as_array().map(Vec::len), Some(1), "{response}");
        }
        assert_eq!(client.call("shutdown", Value::Null), Ok(Value::Null));
        client.notify("exit", Value::Null);
        assert_eq!(client.wait_exit(), Some(0));
        client.wait_end_of_output();
        let counts = responses(&client);
        let all = renders.iter().map(|(id, _)| id).chain(&others);
        assert!(all.into_iter().all(|id| counts.get(id) == Some(&1)), "{counts:?}");
    }
}

/// The client reads nothing before it has written all requests, each of which needs its answer. Those above
/// the limit fail; answers and cancels for the others are still read.
#[test]
fn three_hundred_unread_requests_do_not_deadlock() {
    for wire in [Wire::Pipes, Wire::Sockets] {
        let folder = Folder::new();
        let mut client = Start::new(wire).held().start();
        let hello = client.request("initialize", folder.hello());
        client.notify("initialized", json!({}));
        let renders: Vec<i64> = (0..300)
            .map(|n| client.request("prompt/render", render(&format!("s{n}"), n % 10 == 0)))
            .collect();
        client.read_on();
        assert!(client.wait_response(hello).get("result").is_some());
        let (taken, refused) = renders.split_at(LIMIT);
        for id in refused {
            let response = client.wait_response(*id);
            assert_eq!(response["error"]["data"], json!({ "kind": "Overloaded", "limit": LIMIT }));
        }
        let asked = summaries_asked(&mut client, LIMIT);
        // A cancel makes room for exactly one more.
        let (cancelled, taken) = taken.split_first().expect("there are some");
        client.notify("$/cancelRequest", json!({ "id": cancelled }));
        assert_eq!(client.wait_response(*cancelled)["error"]["code"], -32800);
        let mut again = vec![client.request("prompt/render", render("again", true))];
        let over = client.call("session/list", json!({})).expect_err("there is no room");
        assert_eq!(over["data"]["kind"], "Overloaded");
        let all = [taken, &again].concat();
        let mut done = finish(&mut client, &asked, &all);
        again = (1..refused.len())
            .map(|n| client.request("prompt/render", render(&format!("t{n}"), false)))
            .collect();
        done.extend(finish(&mut client, &[], &again));
        assert_eq!(done.len(), LIMIT - 1 + refused.len());
        for response in done.into_values() {
            assert!(response["result"]["messages"].is_array(), "{response}");
        }
    }
}

/// Messages that end a wait are accepted above the limit, or nothing could end.
#[test]
fn results_decisions_and_cancels_are_accepted_above_the_limit() {
    let folder = Folder::new();
    let mut client = folder.serve(Start::new(Wire::Pipes));
    for session in ["tool", "stop"] {
        let tools = json!([{ "name": "read" }]);
        let opened = json!({ "workspaceFolder": "/w", "sessionId": session, "tools": tools });
        client.call("session/open", opened).expect("it opens");
        client.call("turn/start", json!({ "sessionId": session, "content": "Read." })).expect("it starts");
        let asked = client.wait_request("model/complete");
        client.respond(&asked["id"], calls("c1", "read", "{}"));
        let invoked = client.wait_request("tool/invoke");
        client.respond(&invoked["id"], json!({ "pending": true }));
    }
    let renders: Vec<i64> =
        (0..LIMIT).map(|n| client.request("prompt/render", render(&format!("s{n}"), false))).collect();
    let asked = summaries_asked(&mut client, LIMIT);
    let over = client.call("session/list", json!({})).expect_err("there is no room");
    assert_eq!(over["data"]["kind"], "Overloaded");
    let result = json!({ "sessionId": "tool", "toolCallId": "c1", "content": "there" });
    assert_eq!(client.call("tool/result", result).expect("it is taken")["state"], "generating");
    let stopped = client.call("turn/cancel", json!({ "sessionId": "stop" })).expect("it is taken");
    assert_eq!(stopped["state"], "idle");
    let late = json!({ "sessionId": "stop", "decisions": [{ "toolCallId": "c1", "decision": "allowOnce" }] });
    let late = client.call("tool/decide", late).expect_err("nothing waits for it");
    assert_eq!(late["data"]["kind"], "InvalidState");
    // The turn continues with a response and deltas, which are not requests.
    let next = client.wait_request("model/complete");
    assert_eq!(next["params"]["purpose"], "turn");
    stream(&mut client, &next, "It is there.");
    client.respond(&next["id"], json!({}));
    super::ground::wait_state(&mut client, "tool", "idle");
    for (_, response) in finish(&mut client, &asked, &renders) {
        assert!(response.get("result").is_some(), "{response}");
    }
}

/// Requests that wait for nothing are not limited, even if there is room for only one.
#[test]
fn a_burst_of_small_requests_is_not_refused() {
    let folder = Folder::new();
    let mut client = folder.serve(Start::new(Wire::Pipes));
    client.call("session/open", json!({ "workspaceFolder": "/w", "sessionId": "s" })).expect("it opens");
    let renders: Vec<i64> =
        (1..LIMIT).map(|n| client.request("prompt/render", render(&format!("s{n}"), false))).collect();
    let asked = summaries_asked(&mut client, LIMIT - 1);
    let ids = 2000..2100;
    let burst: Vec<u8> =
        ids.clone().flat_map(|id| frame(id, "session/subscribe", &json!({ "sessionId": "s" }))).collect();
    client.send_raw(&burst).expect("the server reads");
    for id in ids {
        let response = client.wait_response(id);
        assert!(response.get("result").is_some(), "{response}");
    }
    finish(&mut client, &asked, &renders);
}
