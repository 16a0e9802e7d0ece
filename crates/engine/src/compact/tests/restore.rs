//! Summaries that an editor kept: restored under other ids, reported and not applied if they are invalid.

use crate::compact::metadata::{Persisted, SummaryEntry, metadata};
use crate::compact::plan;
use crate::compact::record::{Compaction, Span};
use crate::compact::restore::{Restoring, Verdict, restore};
use crate::id::{Ordinal, SessionId};
use crate::message::{Body, NewMessage};
use crate::testing::{SUMMARY, Session, answered, overflowing};
use crate::text::head;
use crate::tokens::QuarterOfChars;
use crate::transcript::Transcript;
use serde_json::{Value, json};

/// Corrupts a persisted summary in each of its fields. What contradicts the session is not applied; what cannot be read
/// leaves its round and text, which suffice.
#[test]
fn damaged_summary_is_reported_and_applied_only_from_its_text() {
    let mut session = overflowing();
    let record = session.compact(Some(answered(SUMMARY)));
    let Persisted::Summary(good) = metadata(&session.transcript, &record) else {
        panic!("it annotates its round")
    };
    let spoil = |change: &dyn Fn(&mut Value)| {
        let mut own: Value = serde_json::from_str(&good.threadhold).unwrap();
        change(&mut own);
        own.to_string()
    };
    let cases = [
        ("out of range", spoil(&|own| own["record"]["covers"]["to"] = json!(9000))),
        ("out of all range", spoil(&|own| own["record"]["covers"]["to"] = json!(u32::MAX))),
        ("a negative range", spoil(&|own| own["record"]["covers"]["to"] = json!(-1))),
        ("upside down", spoil(&|own| own["record"]["covers"] = json!({ "from": 9, "to": 1 }))),
        ("another source", spoil(&|own| own["record"]["sourceHash"] = json!("00"))),
        (
            "an unknown round",
            spoil(&|own| {
                own["record"]["anchor"] = json!({ "roundId": "nowhere", "ord": 9000, "hash": "00" });
            }),
        ),
        ("a bad time", spoil(&|own| own["record"]["createdAt"] = json!("yesterday"))),
        ("words of nobody", spoil(&|own| own["record"]["keptUsers"] = json!([9000]))),
        ("an unknown status", spoil(&|own| own["record"]["status"] = json!("maybe"))),
        ("cut off", head(&good.threadhold, good.threadhold.len() / 2).to_owned()),
        ("nothing", String::new()),
    ];
    let unreadable = ["a negative range", "a bad time", "an unknown status", "cut off", "nothing"];
    for (what, own) in cases {
        let mut fresh = overflowing();
        let entry = SummaryEntry {
            round_id: good.tool_call_round_id.as_str().to_owned(),
            text: good.text.clone(),
            own: Some(own),
            recorded: None,
        };
        let with = Restoring { counter: &QuarterOfChars, user_budget: 1000 };
        let restored = restore(&mut fresh.transcript, &[(1, entry)], with);
        let in_force = fresh.transcript.in_force();
        let is_said = match &restored[0].verdict {
            Verdict::Stale(_) | Verdict::Orphan => in_force.is_none() && !unreadable.contains(&what),
            Verdict::FromText(id, _) => {
                let found = in_force.map(|found| (&found.id, found.resume_at(), &*found.block));
                found == Some((id, record.resume_at(), &*record.block)) && unreadable.contains(&what)
            }
            _ => false,
        };
        assert!(is_said, "{what}: {:?} {in_force:?}", restored[0].verdict);
    }
    let entry = SummaryEntry {
        round_id: good.tool_call_round_id.as_str().to_owned(),
        text: String::new(),
        own: Some(good.threadhold.clone()),
        recorded: None,
    };
    let mut fresh = overflowing();
    let with = Restoring { counter: &QuarterOfChars, user_budget: 1000 };
    let restored = restore(&mut fresh.transcript, &[(1, entry)], with);
    assert!(matches!(&restored[0].verdict, Verdict::Failure(why) if why.contains("has no text")));
    assert!(fresh.transcript.in_force().is_none(), "nothing would stand for its messages");
}

/// A turn without rounds has no round as an anchor. Under another session's and turn's id it is found by position and
/// hash; a summary that only names the old id is reported.
#[test]
fn summary_without_rounds_survives_a_new_turn_id() {
    let talked = |session: &str| {
        let mut transcript = Transcript::new(SessionId::new(session));
        for n in 0..12 {
            let request = format!("{session}-{n}");
            let said = NewMessage::user(&format!("request number {n};"));
            transcript.append(NewMessage { external_id: Some(request), ..said }, &QuarterOfChars);
            let mut aside = NewMessage::new(Body::Event { kind: "notice".into(), text: "so".into() });
            aside.visible_to_model = false;
            transcript.append(aside, &QuarterOfChars);
        }
        transcript
    };
    let mut session = Session::new(8000);
    session.transcript = talked("before");
    let through = session.transcript.last_of_turn(7).expect("a turn");
    let covers = Span { from: Ordinal(0), to: through };
    let made = overflowing().compact(Some(answered(SUMMARY)));
    let record = Compaction {
        anchor: plan::anchor(&session.transcript, through),
        source_hash: session.transcript.source_hash(covers.from, covers.to),
        covers: Some(covers),
        kept_users: vec![Ordinal(0)],
        ..made
    };
    session.transcript.record(record.clone());
    let Persisted::Summary(good) = metadata(&session.transcript, &record) else {
        panic!("it annotates its round")
    };
    assert!(session.transcript.rounds().is_empty(), "no turn has a round");
    let own = SummaryEntry {
        round_id: good.tool_call_round_id.as_str().to_owned(),
        text: good.text.clone(),
        own: Some(good.threadhold.clone()),
        recorded: None,
    };
    let bare = SummaryEntry { own: None, ..own.clone() };
    let with = Restoring { counter: &QuarterOfChars, user_budget: 1000 };
    let mut rebuilt = talked("after");
    let verdicts = restore(&mut rebuilt, &[(8, own)], with);
    assert!(matches!(verdicts[0].verdict, Verdict::Restored(_)), "{:?}", verdicts[0].verdict);
    assert_eq!(
        rebuilt.in_force().map(|found| (&found.block, found.covers)),
        Some((&record.block, record.covers))
    );
    let mut rebuilt = talked("after");
    assert_eq!(restore(&mut rebuilt, &[(8, bare)], with)[0].verdict, Verdict::Orphan);
}
