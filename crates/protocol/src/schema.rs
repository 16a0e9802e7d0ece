//! The schema of the protocol, made from the types. This module writes the JSON, `markdown` the generated sections of
//! the handbook, `typescript` the types of the TypeScript client.

pub mod markdown;
mod shape;
pub mod typescript;

use super::{SUPPORTED_VERSIONS, VERSION};
use crate::error::{ErrorData, ErrorKind};
use crate::event::EVENTS;
use crate::methods::{Direction, METHODS};
use crate::server::initialize::{InitializeOptions, ServerCapabilities};
use crate::session::state::State;
use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};

/// JSON Schema (2020-12) of all types under `$defs`, sorted by name, with tables of methods, events and errors.
pub fn schema() -> Value {
    let mut generator = SchemaGenerator::default();
    let initialize = generator.subschema_for::<InitializeOptions>();
    let initialized = generator.subschema_for::<ServerCapabilities>();
    let error = generator.subschema_for::<ErrorData>();
    let methods: Vec<Value> = METHODS
        .iter()
        .map(|method| {
            let mut line = json!({
                "name": method.name,
                "sentBy": match method.direction {
                    Direction::ToSidecar => "client",
                    Direction::ToClient => "sidecar",
                },
                "kind": if method.result.is_some() { "request" } else { "notification" },
                "level": method.level.name(),
                "does": method.does,
                "params": (method.params)(&mut generator),
            });
            if let (Some(result), Some(line)) = (method.result, line.as_object_mut()) {
                line.insert("result".to_owned(), result(&mut generator).into());
            }
            line
        })
        .collect();
    let errors: Vec<Value> =
        ErrorKind::ALL.iter().map(|kind| json!({ "kind": kind.name(), "code": kind.code() })).collect();
    let states: Vec<&str> = State::ALL.iter().map(|state| state.name()).collect();
    let mut definitions: Vec<(String, Value)> = generator.take_definitions(true).into_iter().collect();
    definitions.sort_by(|a, b| a.0.cmp(&b.0));
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "threadhold",
        "protocolVersion": VERSION,
        "supportedVersions": SUPPORTED_VERSIONS,
        "initializationOptions": initialize,
        "capabilities": initialized,
        "methods": methods,
        "events": EVENTS,
        "states": states,
        "errors": errors,
        "errorData": error,
        "$defs": Map::from_iter(definitions),
    });
    plain(&mut schema);
    schema
}

/// Removes from descriptions what only rustdoc reads: line ends within a paragraph, and the brackets of links.
fn plain(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                match value {
                    Value::String(text) if name == "description" => {
                        *text = text.replace('\n', " ").replace("[`", "`").replace("`]", "`");
                    }
                    other => plain(other),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        _ => {}
    }
}

/// Returns the schema as JSON text.
pub fn json() -> String {
    serde_json::to_string_pretty(&schema()).unwrap_or_default() + "\n"
}
