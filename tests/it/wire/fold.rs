//! A client's view of a session: a snapshot that follows events. A gap in the event numbers fails the test.
//! Only fields that both snapshots and events have are kept.

use serde_json::{Value, json};

/// A client's view of a session.
#[derive(Debug, Clone)]
pub struct View {
    /// The current snapshot.
    pub shown: Value,
    /// The number of the client's events that were processed.
    taken: usize,
}

/// Fields of a snapshot that events update.
const TOLD: [&str; 10] = [
    "sessionId",
    "stream",
    "seq",
    "state",
    "title",
    "settings",
    "messages",
    "streaming",
    "pause",
    "compactions",
];

/// The fields of a snapshot that events update, for comparison. Rounds and metadata of turns follow from messages and
/// compactions.
pub fn told(snapshot: &Value) -> Value {
    let mut told: Value = TOLD.iter().map(|field| ((*field).to_owned(), snapshot[*field].clone())).collect();
    let turns = snapshot["turns"].as_array().into_iter().flatten().cloned();
    told["turns"] = turns
        .map(|mut turn| {
            for field in ["rounds", "metadata"] {
                turn.as_object_mut().expect("a turn").shift_remove(field);
            }
            turn
        })
        .collect();
    told
}

impl View {
    /// A view of this snapshot, which arrived after `taken` events.
    pub const fn new(shown: Value, taken: usize) -> Self {
        Self { shown, taken }
    }

    /// Processes the new events of this session among all events of the client.
    pub fn take_all(&mut self, events: &[Value]) {
        let id = self.shown["sessionId"].clone();
        let new = events.get(self.taken..).unwrap_or_default();
        new.iter().filter(|event| event["sessionId"] == id).for_each(|event| self.take(event));
        self.taken = events.len();
    }

    fn take(&mut self, event: &Value) {
        let view = &mut self.shown;
        if event["type"] == "snapshot" {
            assert_eq!(
                (&event["seq"], &event["stream"]),
                (&event["snapshot"]["seq"], &event["snapshot"]["stream"])
            );
            *view = event["snapshot"].clone();
            return;
        }
        assert_eq!(event["stream"], view["stream"], "a new stream begins with a snapshot");
        let (seq, last) = (event["seq"].as_u64().expect("a number"), view["seq"].as_u64().expect("a number"));
        if seq <= last {
            return;
        }
        assert_eq!(seq, last + 1, "{event}");
        view["seq"] = json!(seq);
        match event["type"].as_str().expect("a type") {
            "turnStarted" => turn_started(&mut view["turns"], event),
            "turnCompleted" => {
                let turn = turn_of(&mut view["turns"], &event["turnId"]).expect("a turn that was told");
                turn["status"] = event["outcome"].clone();
                for field in ["interrupted", "usage", "cost", "spent", "durationMs"] {
                    if event.get(field).is_some() {
                        turn[field] = event[field].clone();
                    }
                }
            }
            "streamStarted" => view["streaming"] = json!({ "messageId": event["messageId"], "parts": [] }),
            "streamDelta" => {
                for op in event["ops"].as_array().expect("operations") {
                    assert_eq!(op["op"], "appendContent", "the tests stream nothing else");
                    append(&mut view["streaming"]["parts"], op["text"].as_str().expect("text"));
                }
            }
            "streamReset" => view["streaming"]["parts"] = json!([]),
            "streamFinished" => view["streaming"] = Value::Null,
            "messageAdded" => {
                let messages = view["messages"].as_array_mut().expect("messages");
                messages.push(event["message"].clone());
            }
            "messagesTruncated" => {
                let messages = view["messages"].as_array_mut().expect("messages");
                messages.retain(|message| message["ord"].as_u64() < event["fromOrd"].as_u64());
                let left: Vec<Value> = messages.iter().map(|message| message["turnId"].clone()).collect();
                let turns = view["turns"].as_array_mut().expect("turns");
                turns.retain(|turn| left.contains(&turn["id"]));
            }
            "threadUpdated" => {
                for field in ["title", "settings"] {
                    view[field] = event[field].clone();
                }
            }
            "runtimeUpdated" => view["state"] = event["state"].clone(),
            "pauseRequired" => view["pause"] = json!({ "reasons": event["reasons"] }),
            "pauseCleared" => view["pause"] = Value::Null,
            "compactionUpdated" if event["phase"] == "accepted" => {
                view["compactions"].as_array_mut().expect("compactions").push(event["compaction"].clone());
            }
            _ => {}
        }
    }
}

fn turn_of<'a>(turns: &'a mut Value, id: &Value) -> Option<&'a mut Value> {
    turns.as_array_mut()?.iter_mut().find(|turn| turn["id"] == *id)
}

fn turn_started(turns: &mut Value, event: &Value) {
    let mut turn = json!({ "id": event["turnId"], "status": "running" });
    if let Some(id) = event.get("externalId") {
        turn["externalId"] = id.clone();
    }
    match turn_of(turns, &event["turnId"]) {
        Some(known) => *known = turn,
        None => turns.as_array_mut().expect("turns").push(turn),
    }
}

fn append(parts: &mut Value, text: &str) {
    let parts = parts.as_array_mut().expect("parts");
    match parts.last_mut() {
        Some(Value::Object(part)) if part.get("type") == Some(&json!("text")) => {
            if let Some(Value::String(whole)) = part.get_mut("text") {
                whole.push_str(text);
            }
        }
        _ => parts.push(json!({ "type": "text", "text": text })),
    }
}
