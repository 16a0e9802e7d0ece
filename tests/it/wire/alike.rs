//! Equality of frames: values that differ from run to run are replaced with names. `fixtures/wire/README.md`
//! has the table for people. No process is known here.

use engine::words::{Driver, StateName};
use protocol::event::EVENTS;
use protocol::methods::METHODS;
use serde_json::{Map, Value, json};
use session::acceptance::accepts;
use std::collections::BTreeMap;

/// Strictness of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closeness {
    /// Everything except what differs from run to run.
    Exact,
    /// The same frames in the same order with the same fields, and only values that the protocol defines or
    /// the client gave: for servers with other counts, texts and names.
    Shape,
}

/// Replaces values that differ from run to run: the first stream is `<stream 1>` everywhere, the next
/// `<stream 2>`.
#[derive(Debug)]
pub struct Names {
    /// The storage folder that the client gave.
    pub storage: Option<String>,
    streams: BTreeMap<String, usize>,
    ids: BTreeMap<String, usize>,
    id: regex::Regex,
    time: regex::Regex,
}

impl Default for Names {
    fn default() -> Self {
        // A UUID, or the suffix of a fork's id.
        let id =
            r"\b[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\b|~[0-9]+\.[0-9a-f]{8,}\b";
        let time = r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{3}Z";
        let [id, time] = [id, time].map(|pattern| regex::Regex::new(pattern).expect("a pattern"));
        Self { storage: None, streams: BTreeMap::new(), ids: BTreeMap::new(), id, time }
    }
}

impl Names {
    /// The frame with names in place of variable values.
    pub fn frame(&mut self, frame: &Value) -> Value {
        self.value("", frame)
    }

    fn value(&mut self, key: &str, value: &Value) -> Value {
        match (key, value) {
            ("createdAt" | "updatedAt" | "since", Value::String(_)) => "<time>".into(),
            ("durationMs", Value::Number(_)) => "<milliseconds>".into(),
            ("pid", Value::Number(_)) => "<pid>".into(),
            ("serverVersion" | "version", Value::String(_)) => "<version>".into(),
            ("threadhold", Value::String(_)) => "<opaque>".into(),
            ("nextCursor", Value::String(_)) => "<cursor>".into(),
            ("definition", Value::String(_)) => "<hash>".into(),
            ("stream", Value::String(stream)) => {
                let next = self.streams.len() + 1;
                let number = self.streams.entry(stream.clone()).or_insert(next);
                format!("<stream {number}>").into()
            }
            (_, Value::String(text)) => self.text(text).into(),
            ("methods" | "events" | "accepts", Value::Array(values)) => match protocol_list(key, value) {
                Some(name) => name.into(),
                None => values.iter().map(|value| self.value(key, value)).collect(),
            },
            (_, Value::Array(values)) => values.iter().map(|value| self.value(key, value)).collect(),
            (_, Value::Object(fields)) => {
                let named = fields.iter().map(|(key, value)| (key.clone(), self.value(key, value)));
                let mut named: Map<String, Value> = named.collect();
                // The number of tokens of a variable id varies, too.
                if named.contains_key("tokens")
                    && named.get("parts").is_some_and(|parts| parts.to_string().contains("<id "))
                {
                    named.insert("tokens".to_owned(), "<tokens>".into());
                }
                if named.get("measure").is_some_and(|measure| measure == "seconds") {
                    named.insert("now".to_owned(), "<seconds>".into());
                }
                Value::Object(named)
            }
            _ => value.clone(),
        }
    }

    fn text(&mut self, text: &str) -> String {
        let text = match &self.storage {
            Some(storage) => text.replace(storage.as_str(), "${storage}"),
            None => text.to_owned(),
        };
        let text = self.time.replace_all(&text, "<time>");
        let ids = &mut self.ids;
        let named = self.id.replace_all(&text, |found: &regex::Captures<'_>| {
            let next = ids.len() + 1;
            format!("<id {}>", ids.entry(found[0].to_owned()).or_insert(next))
        });
        named.into_owned()
    }
}

/// Lists that grow with the protocol, as recordings name them: of `initialize`, and the methods that a state
/// accepts. Only a complete list in order is named, so a missing or wrong entry still shows.
fn protocol_lists() -> Vec<(&'static str, String, Value)> {
    let mut lists = vec![
        ("methods", "<methods>".to_owned(), METHODS.iter().map(|method| method.name).collect()),
        ("events", "<events>".to_owned(), EVENTS.iter().copied().collect()),
    ];
    for driver in [Driver::Sidecar, Driver::Editor] {
        for state in StateName::ALL {
            let name = format!("<accepts: {}, {}>", json!(state), json!(driver)).replace('"', "");
            lists.push(("accepts", name, accepts(state, driver).into_iter().collect()));
        }
    }
    lists
}

/// The list behind a name of a recording.
pub fn list_named(name: &str) -> Option<Value> {
    protocol_lists().into_iter().find(|(_, named, _)| named == name).map(|(_, _, list)| list)
}

fn protocol_list(key: &str, list: &Value) -> Option<String> {
    let is_it = |(field, _, known): &(&str, String, Value)| *field == key && known == list;
    protocol_lists().into_iter().find(is_it).map(|(_, name, _)| name)
}

/// Fields with values of the protocol or of the client.
const KEPT: &[&str] = &[
    "jsonrpc",
    "method",
    "type",
    "op",
    "kind",
    "role",
    "state",
    "status",
    "phase",
    "mode",
    "trigger",
    "purpose",
    "toolChoice",
    "driver",
    "stopReason",
    "name",
    "toolCallId",
    "channel",
    "source",
    "code",
    "protocolVersion",
    "arguments",
    "externalId",
    "exitCode",
    "isError",
    "stream",
    "seq",
    "asked",
    "supported",
];
/// Lists that are specific to each server.
const OWN: &[&str] = &[
    "plan",
    "sections",
    "cuts",
    "diagnostics",
    "settings",
    "methods",
    "events",
    "states",
    "accepts",
    "fallbacks",
    "serverInfo",
    "levels",
];

/// The shape of a frame.
pub fn shape(frame: &Value) -> Value {
    let mut left = shape_of("", frame);
    // Ids of responses are the client's; those of requests are the server's own.
    if frame.get("method").is_none() {
        left["id"] = frame["id"].clone();
    }
    left
}

fn shape_of(key: &str, value: &Value) -> Value {
    match value {
        _ if OWN.contains(&key) => "<list>".into(),
        Value::Object(fields) => {
            let fields: Map<String, Value> =
                fields.iter().map(|(key, value)| (key.clone(), shape_of(key, value))).collect();
            Value::Object(fields)
        }
        Value::Array(values) => values.iter().map(|value| shape_of(key, value)).collect(),
        _ if KEPT.contains(&key) => value.clone(),
        Value::String(_) => "<text>".into(),
        Value::Number(_) => "<number>".into(),
        Value::Bool(_) | Value::Null => value.clone(),
    }
}

/// The first difference of two values, for people; `None` if they are equal.
pub fn difference(recorded: &Value, came: &Value) -> Option<String> {
    let mut path = String::new();
    differs(recorded, came, &mut path)
        .map(|(recorded, came)| format!("at {path}:\n  recorded {recorded}\n  came     {came}"))
}

fn differs(recorded: &Value, came: &Value, path: &mut String) -> Option<(String, String)> {
    let show = |value: Option<&Value>| value.map_or_else(|| "nothing".to_owned(), Value::to_string);
    let step = |path: &mut String, name: &str, one: Option<&Value>, other: Option<&Value>| {
        let length = path.len();
        path.push('/');
        path.push_str(name);
        let found = match (one, other) {
            (Some(one), Some(other)) => differs(one, other, path),
            _ => Some((show(one), show(other))),
        };
        if found.is_none() {
            path.truncate(length);
        }
        found
    };
    match (recorded, came) {
        (Value::Object(one), Value::Object(other)) => one
            .keys()
            .chain(other.keys().filter(|key| !one.contains_key(*key)))
            .find_map(|key| step(path, key, one.get(key), other.get(key))),
        (Value::Array(one), Value::Array(other)) => (0..one.len().max(other.len()))
            .find_map(|index| step(path, &index.to_string(), one.get(index), other.get(index))),
        _ if recorded == came => None,
        _ => Some((recorded.to_string(), came.to_string())),
    }
}
