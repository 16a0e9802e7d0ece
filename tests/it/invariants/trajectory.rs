//! Trajectory files: any session written to one is read back unchanged, and other programs' keys are preserved.

use super::generate;
use engine::id::SessionId;
use engine::message::Body;
use engine::tokens::QuarterOfChars;
use engine::transcript::Transcript;
use import::trajectory::{Content, Trajectory, read, write};
use proptest::prelude::*;
use serde_json::{Value, json};

fn content(transcript: &Transcript) -> Content {
    Content {
        id: "s".into(),
        title: Some("A title".into()),
        created_at: "2026-01-02T03:04:05.006Z".into(),
        updated_at: "2026-01-02T03:04:06.007Z".into(),
        messages: transcript.messages().to_vec(),
        summaries: Vec::new(),
    }
}

/// Appends the file's messages to an empty session.
fn restored(file: &Trajectory) -> Transcript {
    let mut transcript = Transcript::new(SessionId::new("s"));
    for (begins, kept) in file.begins() {
        let message = kept.message.clone();
        match (begins, &message.body) {
            (Some(true), _) => transcript.append_turn(message, &QuarterOfChars),
            (Some(false), Body::User(_)) => transcript.inject(message, &QuarterOfChars),
            _ => transcript.append(message, &QuarterOfChars),
        };
    }
    transcript
}

/// Adds unknown keys to a file and to some of its messages.
fn with_others(text: &str, each: &[bool]) -> Value {
    let mut file: Value = serde_json::from_str(text).expect("JSON");
    file["mode"] = json!({ "agent": [1, null, "漢字"] });
    file["frozen_request_prefix"] = json!("kept");
    let messages = file["messages"].as_array_mut().expect("a list");
    for (message, _) in messages.iter_mut().zip(each).filter(|(_, has)| **has) {
        message["checkpoints"] = json!([{ "commit": "deadbeef" }]);
        message["finish_reason"] = Value::Null;
    }
    file
}

fn others_of(file: &Value) -> Value {
    let kept = ["mode", "frozen_request_prefix"].map(|key| file[key].clone());
    let each = file["messages"].as_array().expect("a list").iter();
    let each = each.map(|message| [message["checkpoints"].clone(), message["finish_reason"].clone()]);
    json!([kept, each.collect::<Vec<_>>()])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn trajectory_round_trip_preserves_session_and_foreign_keys(
        entries in generate::entries(1..4, 4), each in prop::collection::vec(any::<bool>(), 0..12),
    ) {
        let transcript = generate::import(entries, false).into_transcript(SessionId::new("s"), &QuarterOfChars);
        let content = content(&transcript);
        let first = write(&content, None);
        let file = with_others(&first, &each);
        let found = read(file.to_string().as_bytes()).expect("it is one");
        prop_assert_eq!(&found.skipped, &vec![]);
        prop_assert!(found.is_as_written);
        prop_assert_eq!(found.messages.len(), transcript.messages().len());

        let again = restored(&found);
        prop_assert_eq!(again.turns(), transcript.turns());
        prop_assert_eq!(again.rounds(), transcript.rounds());
        for (again, message) in again.messages().iter().zip(transcript.messages()) {
            prop_assert_eq!(again, message);
        }

        // Writing over the file preserves the unknown keys and increments the version.
        let second: Value = serde_json::from_str(&write(&content, Some(&found))).expect("JSON");
        prop_assert_eq!(others_of(&second), others_of(&file));
        prop_assert_eq!(&second["version"], &json!(2));
        let mut same = second.clone();
        same["version"] = json!(1);
        for key in ["mode", "frozen_request_prefix"] {
            same.as_object_mut().expect("an object").shift_remove(key);
        }
        for message in same["messages"].as_array_mut().expect("a list") {
            for key in ["checkpoints", "finish_reason"] {
                message.as_object_mut().expect("an object").shift_remove(key);
            }
        }
        prop_assert_eq!(same, serde_json::from_str::<Value>(&first).expect("JSON"));

        // A session that read the file has the unknown keys too, without the file.
        let mut fresh = Transcript::new(SessionId::new("s"));
        let keys = found.source_keys();
        prop_assert!(keys.is_some());
        let said = found.messages.iter().map(|kept| kept.message.clone());
        keys.into_iter().chain(said).for_each(|message| {
            fresh.append(message, &QuarterOfChars);
        });
        let third = write(&Content { messages: fresh.messages().to_vec(), ..content }, None);
        let third: Value = serde_json::from_str(&third).expect("JSON");
        prop_assert_eq!(others_of(&third), others_of(&file));
    }
}

#[test]
fn unreadable_message_is_kept_and_others_are_read() {
    let bad = json!({ "role": "user", "parts": 7 });
    let half =
        json!({ "role": "user", "parts": [{ "type": "text", "text": "Half." }, { "type": "hologram" }] });
    let file = json!({
        "id": "s", "messages": [bad, { "role": "user", "content": "Whole." }, 9, half, { "role": "assistant", "content": "Yes." }],
    });
    let found = read(file.to_string().as_bytes()).expect("it is one");
    let said: Vec<String> = found
        .messages
        .iter()
        .map(|kept| kept.message.body.texts().into_iter().map(|text| &**text).collect())
        .collect();
    assert_eq!(said, ["Whole.", "Half.", "Yes."]);
    let places: Vec<&str> = found.skipped.iter().map(|skipped| &*skipped.place).collect();
    assert_eq!(places, ["messages[0]", "messages[2]", "messages[3], content[1]"]);
    assert_eq!(found.gaps, [0, 1]);
    assert!(!found.is_as_written);
    let written = write(&content(&restored(&found)), Some(&found));
    let written: Value = serde_json::from_str(&written).expect("JSON");
    assert_eq!(written["unreadable"], json!([bad, 9, half]));
    // Reading and writing again duplicates nothing.
    let found = read(written.to_string().as_bytes()).expect("it is one");
    let again: Value = serde_json::from_str(&write(&content(&restored(&found)), Some(&found))).expect("JSON");
    assert_eq!(again["unreadable"], written["unreadable"]);
    assert_eq!(again["messages"], written["messages"]);
}

/// The error names the invalid key; a file must have an id.
#[test]
fn invalid_trajectory_is_rejected_with_its_reason() {
    let cases = [
        ("{", "is not JSON"),
        ("[]", "is not an object"),
        (r#"{"messages": []}"#, "`id`"),
        (r#"{"id": "s", "messages": {}}"#, "`messages`"),
    ];
    for (text, said) in cases {
        let error = read(text.as_bytes()).expect_err("it is none").to_string();
        assert!(error.contains(said), "{error}");
    }
}
