//! Each end of a process at each moment of a turn, over pipes and sockets: the exit code, nothing
//! acknowledged lost, no process left, and the session continues in the next process. Leaves a table in the
//! tests' folder.

use super::super::client::{Client, Start, Wire};
use super::super::ground::{Folder, SUMMARY, calls, is_event, long_history, said, stream, wait_state};
use super::Standin;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The moment of the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    Idle,
    Streaming,
    ToolRuns,
    Summary,
}

/// The cause of the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EndCause {
    ShutdownAndExit,
    Exit,
    EndOfInput,
    Terminate,
    Kill,
    ParentDeath,
}

impl EndCause {
    const ALL: [Self; 6] =
        [Self::ShutdownAndExit, Self::Exit, Self::EndOfInput, Self::Terminate, Self::Kill, Self::ParentDeath];

    const fn code(self) -> Option<i32> {
        match self {
            Self::Exit => Some(1),
            Self::Kill => None,
            _ => Some(0),
        }
    }

    fn happen(self, client: &mut Client, parent: &mut Standin) {
        match self {
            Self::ShutdownAndExit => {
                assert_eq!(client.call("shutdown", Value::Null), Ok(Value::Null));
                client.notify("exit", Value::Null);
            }
            Self::Exit => client.notify("exit", Value::Null),
            Self::EndOfInput => client.close_input(),
            Self::Terminate => client.terminate(),
            Self::Kill => client.kill(),
            Self::ParentDeath => parent.end(),
        }
    }
}

/// Streamed text of an answer when its process ended.
const SHOWN: &str = "This is what you saw";

/// Opens session `s` and runs a turn up to the moment.
fn reach(client: &mut Client, moment: Moment) {
    let history = if moment == Moment::Summary { long_history("h", true) } else { json!([]) };
    let opened = json!({ "workspaceFolder": "/w", "sessionId": "s", "tools": [{ "name": "read" }],
                         "history": history });
    client.call("session/open", opened).expect("it opens");
    let started = client.request("turn/start", json!({ "sessionId": "s", "content": "Please." }));
    let asked = client.wait_request("model/complete");
    assert!(client.wait_response(started)["result"]["messageId"].is_string());
    match moment {
        Moment::Idle => {
            client.respond(&asked["id"], said("Done."));
            wait_state(client, "s", "idle");
        }
        Moment::Streaming => {
            stream(client, &asked, SHOWN);
            client.wait_notification("the delta", |frame| is_event(frame, "streamDelta"));
        }
        Moment::ToolRuns => {
            client.respond(&asked["id"], calls("c1", "read", "{}"));
            client.wait_request("tool/invoke");
        }
        Moment::Summary => assert_eq!(asked["params"]["purpose"], "summary"),
    }
}

/// Ids of messages that a client knows to be stored, from events and responses.
fn acknowledged(frames: &[Value]) -> BTreeSet<String> {
    let told = frames.iter().filter(|frame| is_event(frame, "messageAdded"));
    let told = told.map(|frame| &frame["params"]["message"]["id"]);
    let answered = frames.iter().map(|frame| &frame["result"]["messageId"]);
    told.chain(answered).filter_map(|id| id.as_str().map(str::to_owned)).collect()
}

/// Ends a process and checks the next one; returns a line of the table.
fn one(wire: Wire, moment: Moment, way: EndCause) -> String {
    let case = format!("{moment:?} {way:?} {wire:?}");
    let folder = Folder::new();
    let mut parent = Standin::new();
    let mut client = Start::new(wire).start();
    let mut hello = folder.hello();
    hello["processId"] = json!(parent.0.id());
    client.initialize(hello);
    reach(&mut client, moment);
    way.happen(&mut client, &mut parent);
    let code = client.wait_exit();
    assert_eq!(code, way.code(), "{case}\n{}", client.log());
    client.wait_end_of_output();
    let acknowledged = acknowledged(&client.frames());
    drop(client);

    let mut next = folder.serve(Start::new(wire));
    let opened = next.call("session/open", json!({ "workspaceFolder": "/w", "sessionId": "s" }));
    let snapshot = opened.unwrap_or_else(|error| panic!("{case}: {error}"))["snapshot"].take();
    let messages = snapshot["messages"].as_array().expect("messages");
    let stored: BTreeSet<String> =
        messages.iter().filter_map(|message| message["id"].as_str().map(str::to_owned)).collect();
    let lost = acknowledged.difference(&stored).count();
    assert_eq!(lost, 0, "{case}: {acknowledged:?}, {stored:?}");
    let request = messages.iter().rfind(|message| message["role"] == "user").expect("the request");
    assert_eq!(request["parts"][0]["text"], "Please.", "{case}");
    let newest = messages.last().expect("a message");
    let status =
        snapshot["turns"].as_array().and_then(|turns| turns.last()).expect("a turn")["status"].clone();
    match moment {
        Moment::Idle => assert_eq!((&snapshot["state"], &status), (&json!("idle"), &json!("completed"))),
        Moment::Streaming if way == EndCause::Kill => {
            let found = (&snapshot["state"], &status, newest);
            assert_eq!(found, (&json!("error"), &json!("failed"), request), "{case}");
        }
        // An orderly end keeps what was streamed.
        Moment::Streaming => {
            assert_eq!(newest["parts"][0]["text"], SHOWN, "{case}");
            assert_eq!((&snapshot["state"], &status), (&json!("idle"), &json!("cancelled")), "{case}");
        }
        Moment::ToolRuns => {
            assert_eq!(snapshot["state"], "waitingIde", "{case}");
            assert_eq!(snapshot["pendingCalls"][0]["toolCallId"], "c1", "{case}");
        }
        Moment::Summary => {
            let found = (&snapshot["state"], &status, newest);
            let expected = if way == EndCause::Kill { ("error", "failed") } else { ("idle", "cancelled") };
            assert_eq!(found, (&json!(expected.0), &json!(expected.1), request), "{case}");
            assert_eq!(snapshot["compactions"], json!([]), "{case}");
        }
    }
    goes_on(&mut next, moment);
    let code = code.map_or("by the signal".to_owned(), |code| code.to_string());
    let status = status.as_str().unwrap_or_default();
    format!(
        "| {moment:?} | {way:?} | {wire:?} | {code} | {} of {} | {} | {status} |\n",
        acknowledged.len() - lost,
        acknowledged.len(),
        snapshot["state"].as_str().unwrap_or_default(),
    )
}

/// Sends the result of a pending call, which continues the turn; otherwise runs the next turn.
fn goes_on(client: &mut Client, moment: Moment) {
    if moment == Moment::ToolRuns {
        let result = json!({ "sessionId": "s", "toolCallId": "c1", "content": "late, but there" });
        client.call("tool/result", result).expect("it is waited for");
    } else {
        client.call("turn/start", json!({ "sessionId": "s", "content": "Again." })).expect("it starts");
    }
    loop {
        let asked = client.wait_request("model/complete");
        if asked["params"]["purpose"] == "summary" {
            client.respond(&asked["id"], said(SUMMARY));
            continue;
        }
        let prompt = asked["params"]["messages"].to_string();
        assert_eq!(prompt.contains("late, but there"), moment == Moment::ToolRuns);
        assert!(prompt.contains("Please."));
        client.respond(&asked["id"], said("So it goes on."));
        break;
    }
    wait_state(client, "s", "idle");
}

#[test]
fn no_end_of_a_process_loses_acknowledged_messages() {
    let mut table =
        String::from("| moment | end | wire | exit code | acknowledged and there | state then | turn |\n");
    table.push_str("|---|---|---|---|---|---|---|\n");
    // In parallel: a parent's death is noticed after a second.
    let of_way = |way: EndCause| {
        let mut lines = String::new();
        for moment in [Moment::Idle, Moment::Streaming, Moment::ToolRuns, Moment::Summary] {
            for wire in [Wire::Pipes, Wire::Sockets] {
                let _ = write!(lines, "{}", one(wire, moment, way));
            }
        }
        lines
    };
    std::thread::scope(|scope| {
        // Only Linux watches the parent; elsewhere the end of input shows that it is gone.
        let ways = EndCause::ALL
            .into_iter()
            .filter(|way| cfg!(target_os = "linux") || *way != EndCause::ParentDeath);
        let ways: Vec<_> = ways.map(|way| (way, scope.spawn(move || of_way(way)))).collect();
        for (way, lines) in ways {
            let lines = lines.join().unwrap_or_else(|_| panic!("{way:?}: see the message above"));
            table.push_str(&lines);
        }
    });
    let file = format!("{}/ends.md", env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(&file, &table).expect("a file");
}
