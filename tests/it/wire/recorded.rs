//! The recorded conversations together: they cover each method, event, state and operation, event numbers
//! have no gaps, and frames match the schema. Nothing is played here.

use super::alike::list_named;
use super::conversation::{Line, conversations, lines};
use protocol::check::fault_in;
use protocol::event::EVENTS;
use protocol::methods::METHODS;
use protocol::schema::schema;
use serde_json::Value;
use session::state::StateName;
use std::collections::{BTreeMap, BTreeSet};

/// Names that no conversation of this version can contain, with the reason. One that does contain it makes
/// its entry invalid.
const CANNOT_OCCUR: &[(&str, &str)] = &[
    ("model/countTokens", "the sidecar counts by itself in this version"),
    ("streamReset", "only a provider is asked again, and here the client asks the models"),
    ("storage/updated", "a database goes away for it, which tests/it/team does"),
    ("sessionTakenOver", "two processes take part in it, and a conversation here has one at a time"),
];

/// The conversations contain each method, event, state and delta operation, except those that cannot occur,
/// and a result for each request of the client. The event `snapshot` appears with an import; `delivery` and
/// `follow` test that it replaces missed events.
#[test]
fn the_conversations_hold_each_method_and_each_event() {
    let (mut there, mut answered) = (BTreeSet::new(), BTreeSet::new());
    for (name, text) in conversations() {
        let mut asked: BTreeMap<String, String> = BTreeMap::new();
        for (line, _) in lines(&name, &text) {
            let (is_clients, frame) = match line {
                Line::Client(frame) => (true, frame),
                Line::Server(frame) => (false, frame),
                _ => continue,
            };
            let method = frame["method"].as_str().map(str::to_owned);
            there.extend(method.clone());
            let id = frame["id"].to_string();
            match method {
                Some(method) if is_clients => drop(asked.insert(id, method)),
                None if !is_clients && frame.get("result").is_some() => {
                    answered.extend(asked.get(&id).cloned());
                }
                _ => {}
            }
            let again = frame["result"]["events"].as_array().into_iter().flatten();
            for event in again.chain([&frame["params"]]) {
                let is_event = event["sessionId"].is_string() && event["seq"].is_u64();
                if is_event {
                    let state = event["state"].as_str().map(|state| format!("the state {state}"));
                    there.extend(event["type"].as_str().map(str::to_owned).into_iter().chain(state));
                    let ops = event["ops"].as_array().into_iter().flatten();
                    there.extend(ops.filter_map(|op| Some(format!("the operation {}", op["op"].as_str()?))));
                }
            }
        }
    }
    let states = StateName::ALL.map(|state| format!("the state {}", state.name()));
    let schema = schema();
    let known = schema["$defs"]["DeltaOp"]["anyOf"].as_array().expect("a list of operations");
    // The last one stands for operations of later versions.
    let known = known.iter().filter_map(|op| op["properties"]["op"]["const"].as_str());
    let ops: Vec<String> = known.map(|op| format!("the operation {op}")).collect();
    assert_eq!(ops.len(), 9, "{ops:?}");
    let names = METHODS.iter().map(|method| method.name).chain(EVENTS.iter().copied()).map(str::to_owned);
    let all: BTreeSet<String> = names.chain(states).chain(ops).collect();
    let cannot: BTreeSet<&str> = CANNOT_OCCUR.iter().map(|(name, _)| *name).collect();
    let missing: Vec<&String> =
        all.iter().filter(|name| !there.contains(*name) && !cannot.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "no conversation in fixtures/wire holds {missing:?}");
    let stale: Vec<&&str> =
        cannot.iter().filter(|name| there.contains(**name) || !all.contains(**name)).collect();
    assert!(stale.is_empty(), "CANNOT_OCCUR lists what occurs, or what there is not: {stale:?}");

    let requests = schema["methods"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|method| method.get("result").is_some() && method["sentBy"] == "client");
    let mut requests: Vec<&str> = requests.filter_map(|method| method["name"].as_str()).collect();
    assert!(requests.len() > 30, "{requests:?}");
    requests.retain(|name| !answered.contains(*name) && !cannot.contains(name));
    assert!(requests.is_empty(), "only refused in fixtures/wire: {requests:?}");
}

/// Event numbers are consecutive in each session and stream; a new process is a new stream.
#[test]
fn the_conversations_leave_no_number_of_an_event_out() {
    for (name, text) in conversations() {
        let mut last: BTreeMap<(String, String), u64> = BTreeMap::new();
        for (index, (line, _)) in lines(&name, &text).into_iter().enumerate() {
            let Line::Server(frame) = line else { continue };
            if frame["method"] != "session/event" {
                continue;
            }
            let (of, seq) = (&frame["params"], frame["params"]["seq"].as_u64().expect("a number"));
            let stream = (of["sessionId"].to_string(), of["stream"].to_string());
            let before = last.insert(stream, seq).unwrap_or(0);
            // A snapshot has the number of the last event in it, and replaces those before.
            if of["type"] != "snapshot" {
                assert_eq!(seq, before + 1, "{name}.jsonl:{}", index + 1);
            }
        }
    }
}

/// Frames of both sides match the schema.
#[test]
fn the_conversations_fit_the_schema() {
    let schema = schema();
    let list = schema["methods"].as_array().expect("a list");
    let of = |name: &Value| list.iter().find(|method| method["name"] == *name);
    for (name, text) in conversations() {
        let mut asked: BTreeMap<(bool, String), Value> = BTreeMap::new();
        for (index, (line, _)) in lines(&name, &text).into_iter().enumerate() {
            let (is_clients, frame) = match line {
                Line::Client(frame) => (true, frame),
                Line::Server(frame) => (false, frame),
                Line::Restart { .. } => {
                    asked.clear();
                    continue;
                }
                _ => continue,
            };
            let place = format!("{name}.jsonl:{}", index + 1);
            if let Some(method) = of(&frame["method"]) {
                if let Some(result) = method.get("result") {
                    asked.insert((!is_clients, frame["id"].to_string()), result.clone());
                }
                // Clients of these conversations make mistakes on purpose.
                if !is_clients {
                    let fault = fault_in(&schema, &method["params"], &named_away(&frame["params"]));
                    assert_eq!(fault, None, "{place}");
                }
            } else if let Some(result) = frame.get("result")
                && let Some(of) = asked.get(&(is_clients, frame["id"].to_string()))
                && !is_clients
            {
                assert_eq!(fault_in(&schema, of, &named_away(result)), None, "{place}");
            }
        }
    }
}

/// Replaces names with numbers and lists.
fn named_away(value: &Value) -> Value {
    match value {
        Value::String(text)
            if ["<pid>", "<milliseconds>", "<seconds>", "<tokens>"].contains(&text.as_str()) =>
        {
            0.into()
        }
        Value::String(text) => list_named(text).unwrap_or_else(|| value.clone()),
        Value::Array(values) => values.iter().map(named_away).collect(),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(key, value)| (key.clone(), named_away(value))).collect())
        }
        _ => value.clone(),
    }
}
