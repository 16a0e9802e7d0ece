//! Streamed answers, folded through the wire types as the server does it. `fixtures/delta` is shared with the
//! TypeScript client, so that both fold alike; the session crate tests drafts in sessions.

use crate::convert;
use engine::delta::{Delta, Draft, UnknownCall};
use engine::id::SessionId;
use engine::message::{Body, NewMessage};
use engine::tokens::QuarterOfChars;
use engine::transcript::Transcript;
use proptest::prelude::*;
use protocol::check::fault_in;
use protocol::message::Message;
use protocol::model::{DELTA_OPS, DeltaOp};
use protocol::schema::schema;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// Folds an operation from the wire; an unknown one changes nothing.
fn fold(draft: &mut Draft, op: &Value) -> Result<(), UnknownCall> {
    let op: DeltaOp = serde_json::from_str(&op.to_string()).expect("an operation");
    convert::delta(&op).map_or(Ok(()), |delta| {
        assert_eq!(convert::delta_op(&delta), op, "an operation is forwarded unchanged");
        draft.fold(delta)
    })
}

/// The draft in a snapshot, without the id of its message.
fn shown(draft: &Draft) -> Value {
    let mut shown = serde_json::to_value(convert::streaming("m", draft)).expect("JSON");
    assert_eq!(fault_in(&schema(), &json!({"$ref": "#/$defs/Streaming"}), &shown), None);
    let fields = shown.as_object_mut().expect("an object");
    assert_eq!(fields.shift_remove("messageId"), Some(json!("m")));
    shown
}

fn cases() -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/delta");
    let entries = fs::read_dir(folder).expect("the fixtures");
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let cases = files.iter().flat_map(|file| {
        let text = fs::read_to_string(file).expect("a readable file");
        let cases: Vec<Value> = serde_json::from_str(&text).expect("a list of cases");
        cases
    });
    cases.collect()
}

fn ops(case: &Value) -> &[Value] {
    case["ops"].as_array().expect("operations")
}

#[test]
fn shared_fixtures_fold_to_their_expected_values() {
    let mut seen = Vec::new();
    for case in cases() {
        let name = case["name"].as_str().expect("a name");
        let mut draft = Draft::default();
        let mut error = None;
        for op in ops(&case) {
            seen.push(op["op"].as_str().expect("a name").to_owned());
            error = fold(&mut draft, op).err().or(error);
        }
        assert_eq!(shown(&draft), case["folded"], "{name}");
        assert_eq!(error.map(|error| json!(error.to_string())).as_ref(), case.get("error"), "{name}");
    }
    assert!(DELTA_OPS.iter().all(|op| seen.iter().any(|seen| seen == op)));
    assert!(seen.iter().any(|op| !DELTA_OPS.contains(&op.as_str())), "an unknown operation is covered");
}

/// Holds in the stored form and on the wire.
#[test]
fn the_message_is_what_was_folded() {
    for case in cases() {
        let mut draft = Draft::default();
        for op in ops(&case) {
            let _ = fold(&mut draft, op);
        }
        let text = serde_json::to_string(&draft.body()).unwrap();
        let stored: Body = serde_json::from_str(&text).unwrap();
        assert_eq!(stored, draft.body(), "{}", case["name"]);
        let mut transcript = Transcript::new(SessionId::new("s"));
        transcript.append(NewMessage::new(stored), &QuarterOfChars);
        let message: Message = convert::message(&transcript.messages()[0]);
        let message = serde_json::to_value(message).unwrap();
        for field in ["parts", "usage", "citations", "extra"] {
            assert_eq!(message.get(field), case["folded"].get(field), "{}", case["name"]);
        }
    }
}

/// A value may be nested as deep as a frame allows, and the store must be able to read it.
#[test]
fn deepest_value_of_a_frame_can_be_stored() {
    let nested = |levels: usize| format!("{}1{}", r#"{"n":"#.repeat(levels), "}".repeat(levels));
    let of = |op: &str| {
        let deepest = (1..128).rev().find_map(|levels| {
            let params = op.replace("VALUE", &nested(levels));
            let frame = format!(r#"{{"params":{{"ops":[{params}]}}}}"#);
            serde_json::from_str::<Value>(&frame).is_ok().then_some(params)
        });
        serde_json::from_str::<DeltaOp>(&deepest.expect("some depth")).unwrap()
    };
    for op in [
        r#"{"op":"setThinkingBlocks","blocks":[{"data":VALUE}]}"#,
        r#"{"op":"addCitation","citation":VALUE}"#,
        r#"{"op":"addServerContentBlock","block":VALUE}"#,
        r#"{"op":"mergeExtra","extra":VALUE}"#,
    ] {
        let mut draft = Draft::default();
        let delta = convert::delta(&of(op)).expect("known");
        draft.fold(delta.clone()).unwrap();
        draft.fold(delta).unwrap();
        let stored = serde_json::to_string(&draft.body()).unwrap();
        assert_eq!(serde_json::from_str::<Body>(&stored).unwrap(), draft.body(), "{op}");
    }
}

fn text_op() -> impl Strategy<Value = Delta> {
    (any::<bool>(), ".{0,6}").prop_map(|(is_content, text)| match is_content {
        true => Delta::AppendContent(text),
        false => Delta::AppendReasoning(text),
    })
}

/// The same operations with each text cut between characters where `cuts` says so.
fn cut(ops: &[Delta], cuts: &[bool]) -> Vec<Delta> {
    let mut cuts = cuts.iter().cycle();
    let mut out = Vec::new();
    for op in ops {
        let (text, make): (&String, fn(String) -> Delta) = match op {
            Delta::AppendContent(text) => (text, Delta::AppendContent),
            Delta::AppendReasoning(text) => (text, Delta::AppendReasoning),
            other => panic!("no text: {other:?}"),
        };
        let mut piece = String::new();
        for character in text.chars() {
            if cuts.next() == Some(&true) {
                out.push(make(std::mem::take(&mut piece)));
            }
            piece.push(character);
        }
        out.push(make(piece));
    }
    out
}

fn folded(ops: Vec<Delta>) -> Draft {
    let mut draft = Draft::default();
    ops.into_iter().for_each(|op| draft.fold(op).expect("text always fits"));
    draft
}

proptest! {
    #[test]
    fn stream_is_the_same_however_it_is_cut(
        ops in prop::collection::vec(text_op(), 0..12),
        cuts in prop::collection::vec(any::<bool>(), 1..24),
    ) {
        prop_assert_eq!(folded(cut(&ops, &cuts)), folded(ops));
    }

    #[test]
    fn the_order_of_reports_does_not_matter(
        reports in prop::collection::vec(any::<(Option<u32>, Option<u32>)>(), 0..6),
    ) {
        let usage = |(input, output): &(Option<u32>, Option<u32>)| {
            json!({"op": "setUsage", "usage": {"inputTokens": input, "outputTokens": output}})
        };
        let of = |ops: Vec<Value>| {
            let mut draft = Draft::default();
            ops.iter().for_each(|op| fold(&mut draft, op).expect("it always fits"));
            shown(&draft)
        };
        let backwards = of(reports.iter().rev().map(usage).collect());
        prop_assert_eq!(of(reports.iter().map(usage).collect()), backwards);
    }
}
