//! Reading of parameters: valid ones are read, a fault is named by its field. The schema lists all that the types hold.

use crate::error::{ErrorData, ErrorKind, ProtocolError};
use crate::event::EVENTS;
use crate::message::{PARTS, Part};
use crate::methods::{
    self, METHODS, ModelComplete, PromptRender, ServerDiagnostics, SessionOpen, TurnStart, read, read_params,
    read_result,
};
use crate::model::{DELTA_OPS, DeltaOp};
use crate::schema::schema;
use crate::server::initialize::ServerCapabilities;
use crate::session::restore::TurnMetadata;
use crate::session::state::State;
use crate::settings::Settings;
use crate::{SUPPORTED_VERSIONS, VERSION};
use serde_json::{Value, json};
use std::collections::BTreeSet;

#[test]
fn capabilities_list_version_and_methods() {
    assert!(SUPPORTED_VERSIONS.contains(&VERSION));
    let said = ServerCapabilities::of_this_build("0.1.0");
    assert_eq!((said.protocol_version, said.methods.len()), (VERSION, METHODS.len()));
    let core = ["session/open", "session/list", "session/subscribe", "turn/start", "turn/cancel"];
    let more = ["turn/end", "round/append", "prompt/render", "tool/decide", "session/event"];
    for name in core.iter().chain(&more) {
        assert!(said.methods.iter().any(|method| method == name), "{name}");
    }
    let unique: BTreeSet<&String> = said.methods.iter().collect();
    assert_eq!(unique.len(), said.methods.len());
}

/// Returns the tags of a tagged union in the schema, in order.
fn tags(schema: &Value, name: &str, tag: &str) -> Vec<String> {
    let union = &schema["$defs"][name];
    let list = union.get("oneOf").or(union.get("anyOf")).and_then(Value::as_array).expect("a union");
    let constants = list.iter().filter_map(|one| one["properties"][tag].get("const")?.as_str());
    constants.map(str::to_owned).collect()
}

#[test]
fn lists_of_known_kinds_match_the_types() {
    let schema = schema();
    assert_eq!(tags(&schema, "Part", "type"), PARTS);
    assert_eq!(tags(&schema, "DeltaOp", "op"), DELTA_OPS);
    assert_eq!(tags(&schema, "SessionEvent", "type"), EVENTS);
    let errors: Vec<&str> = ErrorKind::ALL.iter().map(|kind| kind.name()).collect();
    assert_eq!(tags(&schema, "ErrorData", "kind"), errors);
    for state in State::ALL {
        assert_eq!(serde_json::to_value(state).unwrap(), state.name());
    }
    assert_eq!(schema["$defs"]["State"]["oneOf"].as_array().map(Vec::len), Some(State::ALL.len()));
}

#[test]
fn every_type_and_field_has_a_description() {
    let mut silent = Vec::new();
    let schema = schema();
    for (name, definition) in schema["$defs"].as_object().expect("definitions") {
        let mut all = vec![definition];
        all.extend(["oneOf", "anyOf"].iter().filter_map(|key| definition[*key].as_array()).flatten());
        all.retain(|part| part.get("x-unknown").is_none());
        for (at, part) in all.iter().enumerate() {
            // The union's description covers alternatives that are neither objects nor words of their own.
            let speaks = part.get("description").is_some() || at > 0 && part.get("properties").is_none();
            if !speaks {
                silent.push(name.clone());
            }
            for (field, of) in part["properties"].as_object().into_iter().flatten() {
                if of.get("description").is_none() && of.get("const").is_none() {
                    silent.push(format!("{name}.{field}"));
                }
            }
        }
    }
    assert!(silent.is_empty(), "{silent:?}");
}

#[test]
fn error_codes_are_distinct_and_data_names_its_kind() {
    let codes: BTreeSet<i32> = ErrorKind::ALL.iter().map(|kind| kind.code()).collect();
    assert_eq!(codes.len(), ErrorKind::ALL.len());
    assert!(
        codes.iter().all(|code| (-32_899..=-32_000).contains(code) || (-33_099..=-33_001).contains(code))
    );
    let error = ProtocolError::new(ErrorData::UnknownSession { session_id: "s".into() }, "no session s");
    assert_eq!((error.code(), error.to_string().as_str()), (-33_002, "no session s"));
    assert_eq!(error.data(), json!({"kind": "UnknownSession", "sessionId": "s"}));
    assert_eq!(
        ProtocolError::new(ErrorData::NotInitialized {}, "").data(),
        json!({"kind": "NotInitialized"})
    );
}

#[test]
fn unknown_fields_are_ignored_and_unknown_parts_are_kept() {
    let params = json!({
        "sessionId": "s", "later": {"a": 1}, "idempotencyKey": null,
        "content": [{"type": "hologram", "rays": [1]}, {"type": "text", "text": "a", "bold": true}],
    });
    let read = read_params::<TurnStart>(params).expect("readable");
    let [Part::Unknown(unknown), Part::Text { text, .. }] = read.content.0.as_slice() else {
        panic!("{read:?}")
    };
    assert_eq!((unknown.kind(), text.as_str()), ("hologram", "a"));
    assert_eq!(serde_json::to_value(unknown).unwrap(), json!({"type": "hologram", "rays": [1]}));
    let op: DeltaOp = serde_json::from_value(json!({"op": "addConfetti", "colours": 3})).unwrap();
    assert!(matches!(op, DeltaOp::Unknown(_)));
    read_params::<ServerDiagnostics>(Value::Null).expect("no parameters are an empty object");
}

#[test]
fn a_text_stands_for_a_list_of_one_part() {
    let short = read_params::<TurnStart>(json!({"sessionId": "s", "content": "a"})).unwrap();
    let long = json!({"sessionId": "s", "content": [{"type": "text", "text": "a"}]});
    assert_eq!(short, read_params::<TurnStart>(long.clone()).unwrap());
    assert_eq!(serde_json::to_value(short).unwrap(), long);
    let round = |name: &str| json!({"round": {"assistant": {name: "a"}}, "sessionId": "s"});
    let by_parts = read_params::<methods::RoundAppend>(round("parts")).unwrap();
    assert_eq!(by_parts, read_params::<methods::RoundAppend>(round("content")).unwrap());
}

#[test]
fn arguments_may_be_an_object_and_become_its_text() {
    let call = |arguments: Value| json!({"toolCalls": [{"id": "c", "name": "n", "arguments": arguments}]});
    let object = read_result::<ModelComplete>(call(json!({"z": 1, "a": [true]}))).unwrap();
    let text = read_result::<ModelComplete>(call(json!("{\"z\":1,\"a\":[true]}"))).unwrap();
    assert_eq!(object, text);
}

/// Reads invalid parameters and returns the field and the reason of the error.
fn complaint<M: methods::Named>(params: Value) -> String
where
    M::Params: std::fmt::Debug,
{
    let error = read_params::<M>(params).expect_err("invalid parameters");
    assert_eq!(error.code(), -32_602);
    let ErrorData::InvalidParams { field, reason } = error.data else { panic!("{error:?}") };
    assert!(error.message.ends_with("nothing was done"), "{}", error.message);
    format!("{field}: {reason}")
}

#[test]
fn a_field_that_does_not_fit_is_named() {
    let settings = |given: Value| {
        let error = read::<Settings>(given).expect_err("invalid settings");
        match error.data {
            ErrorData::InvalidParams { field, reason } => format!("{field}: {reason}"),
            other => panic!("{other:?}"),
        }
    };
    let open = |more: Value| {
        let mut params = json!({"workspaceFolder": "/w"});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        complaint::<SessionOpen>(params)
    };
    assert_eq!(complaint::<SessionOpen>(json!({})), "workspaceFolder: is missing");
    assert_eq!(complaint::<SessionOpen>(json!([])), ": must be an object, not a list");
    assert_eq!(open(json!({"title": 7})), "title: must be a string, not a number");
    assert_eq!(open(json!({"driver": "robot"})), "driver: must be \"sidecar\" or \"editor\"");
    assert_eq!(settings(json!({"model": {"roles": 7}})), "model.roles: must be a list, not a number");
    assert_eq!(open(json!({"driver": 1})), "driver: must be \"sidecar\" or \"editor\", not a number");
    assert_eq!(settings(json!({"model": {"window": -1}})), "model.window: must be at least 0");
    assert_eq!(
        settings(json!({"model": {"window": 5_000_000_000_u64}})),
        "model.window: must be at most 4294967295"
    );
    assert_eq!(
        settings(json!({"roundLimit": 1.5})),
        "roundLimit: must be an integer, not a number with a fraction"
    );
    let history = |part: Value| json!({"history": [{"request": "a"}, {"rounds": [{"assistant": {"parts": [part]}}], "metadata": 9}]});
    assert_eq!(
        open(history(json!({"type": "text"}))),
        "history[1].rounds[0].assistant.parts[0].text: is missing"
    );
    assert_eq!(
        open(history(json!({"type": "toolCall", "id": "a", "name": "b", "arguments": 7}))),
        "history[1].rounds[0].assistant.parts[0].arguments: must be a string or an object, not a number"
    );
    assert_eq!(
        complaint::<PromptRender>(json!({"rounds": [{"assistant": {}}]})),
        "rounds[0].assistant.parts: is missing"
    );
    assert_eq!(
        complaint::<PromptRender>(json!({"workDoneToken": {}})),
        "workDoneToken: must be an integer or a string, not an object"
    );
    let error = read::<ErrorData>(json!({"kind": "Gremlins"})).unwrap_err();
    assert_eq!(error.message, "kind: unknown kind \"Gremlins\"; nothing was done");
    assert_eq!(
        complaint::<methods::ModelDelta>(
            json!({"requestId": "q", "ops": [{"op": "appendContent", "text": 1}]})
        ),
        "ops[0].text: must be a string, not a number"
    );
}

#[test]
fn a_part_without_a_kind_is_named_by_its_field() {
    let start = |part: Value| {
        let text = json!({"type": "text", "text": "a"});
        complaint::<TurnStart>(json!({"sessionId": "s", "content": [text, part]}))
    };
    assert_eq!(start(json!({"text": "b"})), "content[1].type: is missing");
    assert_eq!(start(json!({"type": 7})), "content[1].type: must be a string, not a number");
    assert_eq!(start(json!({"type": "image", "data": "AA"})), "content[1].mimeType: is missing");
    assert_eq!(start(json!(7)), "content[1]: must be an object, not a number");
}

#[test]
fn metadata_is_never_an_error() {
    for odd in [json!(7), json!("x"), json!([]), json!({"summary": 3, "summaries": {"text": "a"}})] {
        let turn = json!([{"metadata": odd}]);
        let read = read_params::<SessionOpen>(json!({"workspaceFolder": "/w", "history": turn})).unwrap();
        assert!(
            read.history.is_some_and(|turns| turns[0].metadata != Some(TurnMetadata::default())),
            "{odd}"
        );
    }
    let theirs = json!({
        "summary": {"toolCallRoundId": "r", "text": "t", "threadhold": "{}", "$mid": 4},
        "summaries": [{"toolCallRoundId": "r", "text": "t", "usage": {"n": 1}}, {}],
        "responseId": "x",
    });
    let read: TurnMetadata = serde_json::from_value(theirs.clone()).unwrap();
    assert_eq!(read.summaries.as_ref().map(Vec::len), Some(2));
    let mut back = serde_json::to_value(&read).unwrap();
    // An entry that marks a failed summary is written with its empty fields.
    assert_eq!(back["summaries"][1].take(), json!({"toolCallRoundId": "", "text": ""}));
    let mut expected = theirs;
    expected["summaries"][1] = Value::Null;
    assert_eq!(back, expected);
}
