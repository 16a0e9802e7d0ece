//! Changes to the past of a compacted session. A record that speaks of changed messages goes out of force,
//! and the revision keeps both. Random changes are drawn in `happening`.

use crate::effect::{Answer, Effect};
use crate::event::{EventBody, Phase};
use crate::input::{At, Command, Input, ReplyTo, ToolOutcome};
use crate::long::may_take_long;
use crate::settings::Settings;
use crate::state::State;
use crate::stored::{Driver, Write};
use crate::tests::bench::{Bench, result, text};
use crate::tests::compaction::by_hand::talked;
use crate::tests::machine::drive;
use crate::tests::machine::model::Model;
use engine::compact::record::Status;
use engine::id::Ordinal;
use engine::message::{Body, Content};

/// A session at rest with a compaction in force that covers messages.
pub fn compacted() -> Model {
    let mut model = drive::model(Driver::Sidecar);
    let settings = Settings { round_limit: 64, ..model.bench.session.settings().clone() };
    model.input(Input::Settings(Box::new(settings)));
    model.asks("read it all");
    for _ in 0..40 {
        if model.bench.session.transcript().in_force().is_some_and(|record| record.covers.is_some()) {
            model.comes_to_rest();
            return model;
        }
        match model.bench.session.state() {
            State::Compacting(_) => model.answers(&[]),
            _ => model.answers(&["read"]),
        }
        for call in model.open_calls() {
            model.bench.invoked.clear();
            let outcome = ToolOutcome::Answered(result(call.as_str(), &text(2000)));
            model.input(Input::ToolDone(call, outcome));
        }
    }
    panic!("nothing was compacted");
}

/// Sends a command that must put the compaction out of force, and checks that the revision keeps it.
fn voids(name: &str, command: impl FnOnce(At) -> Command) {
    let mut model = compacted();
    let newest = model.bench.session.transcript().in_force().cloned().expect("a record in force");
    let covered = newest.covers.expect("a covered span").to;
    // An older record whose source is unchanged may come back into force.
    let is_obeyed = |model: &Model| {
        let mut records = model.bench.session.transcript().compactions().iter();
        records.any(|record| record.id == newest.id && record.status == Status::InForce)
    };
    let snapshot = model.bench.session.snapshot();
    let said = |body: &Body| matches!(body, Body::Assistant { .. });
    let about = snapshot.messages.iter().rfind(|message| message.ord <= covered && said(&message.body));
    let about = about.expect("a covered message").id.clone();
    let answer = model.command(command(At::Id(about)));
    assert!(matches!(answer, Some(Ok(Answer::Accepted(_) | Answer::Reset(..)))), "{name}: {answer:?}");
    assert!(!is_obeyed(&model), "{name}");
    let is_told = model.bench.events.iter().any(
        |(_, body)| matches!(body, EventBody::CompactionUpdated(update) if update.phase == Phase::Voided),
    );
    assert!(is_told, "{name}: an event reports the void summary");
    let revisions = model.bench.effects.iter().find_map(|effect| match effect {
        Effect::Write(Write::Revision(revision)) => Some(revision.id.clone()),
        _ => None,
    });
    let revision = model.bench.rows.load(&revisions.expect("a revision")).expect("a revision");
    assert_eq!(revision.messages.len(), snapshot.messages.len(), "{name}");
    assert!(revision.compactions.contains(&newest), "{name}");
    model.another_process(false);
    assert!(!is_obeyed(&model), "{name}: also in another process");
}

#[test]
fn changing_covered_messages_voids_their_summary_outside_the_revision() {
    let key = None::<String>;
    let content = vec![Content::Text("other words".into())];
    voids("an edit", |message| Command::Update {
        message,
        content: content.clone(),
        regenerate: false,
        key: key.clone(),
    });
    voids("an edit that asks again", |message| Command::Update {
        message,
        content: content.clone(),
        regenerate: true,
        key: key.clone(),
    });
    voids("a removal", |message| Command::Remove { message, key: key.clone() });
    voids("a cut", |from| Command::Truncate { from, key: key.clone() });
    voids("a retry", |from| Command::Retry { from, content: None, key: key.clone() });
    voids("a new chat", |_| Command::Reset { keep_queue: false, key: key.clone() });
}

/// Messages that are not covered may change while the summary stays in force.
#[test]
fn a_change_behind_the_summary_leaves_it_in_force() {
    let mut model = compacted();
    let last = model.bench.session.snapshot().messages.len() - 1;
    let at = At::Index(u32::try_from(last).expect("a place"));
    let content = vec![Content::Text("other words".into())];
    let command = Command::Update { message: at, content, regenerate: false, key: None };
    assert!(matches!(model.command(command), Some(Ok(_))));
    assert!(model.bench.session.transcript().in_force().is_some());
}

/// Metadata kept by clients hashes the messages behind the span; when these change, it is sent again.
#[test]
fn changed_metadata_of_a_record_in_force_is_reported() {
    let mut bench = talked(8000, 1200);
    let id_of = |bench: &Bench, ord: Option<Ordinal>| {
        let message = ord.and_then(|ord| bench.session.transcript().message(ord));
        message.expect("a message").id.clone()
    };
    let late = bench.session.transcript().rounds()[4].results[0];
    let excluded = id_of(&bench, late);
    bench.command(Command::Exclude(vec![excluded]));
    let kept = |bench: &Bench| bench.session.snapshot().compactions.pop().expect("a record");
    let before = kept(&bench);
    let (from, first) = (bench.events.len(), id_of(&bench, Some(Ordinal(0))));
    let content = vec![Content::Text("Other words.".into())];
    bench.command(Command::Update { message: At::Id(first), content, regenerate: false, key: None });
    let after = kept(&bench);
    assert_eq!((&before.0, after.0.status), (&after.0, Status::InForce));
    assert!(before.1 != after.1);
    let told = bench.events.iter().skip(from).filter_map(|(_, body)| match body {
        EventBody::CompactionUpdated(update) => Some((update.phase, update.record.clone())),
        _ => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), [(Phase::Accepted, Some(after))]);
    // A change after all messages that the record names leaves its metadata unchanged.
    let (from, newest) = (bench.events.len(), bench.session.transcript().messages().last().map(|m| m.ord));
    let newest = id_of(&bench, newest);
    let content = vec![Content::Text("So it is done.".into())];
    bench.command(Command::Update { message: At::Id(newest), content, regenerate: false, key: None });
    let is_told = |(_, body): &(u64, EventBody)| matches!(body, EventBody::CompactionUpdated(_));
    assert!(!bench.events.iter().skip(from).any(is_told));
}

/// What a cut takes off behind the newest compaction is little, however long the session is.
#[test]
fn only_a_cut_before_the_newest_compaction_may_take_long() {
    let mut bench = talked(8000, 40);
    while bench.session.transcript().messages().len() < 1_200
        || bench.session.transcript().in_force().is_none()
    {
        bench.asks("And then?");
        while !bench.session.is_at_rest() {
            bench.says("It is done.", &[]);
        }
    }
    let covered = bench.session.transcript().in_force().and_then(|record| record.covers).expect("a span").to;
    let newest = bench.session.transcript().messages().last().expect("an answer").ord;
    let is_long = |ord: Ordinal| {
        let from = || At::Id(bench.session.transcript().message(ord).expect("a message").id.clone());
        let cut = Command::Truncate { from: from(), key: None };
        let retry = Command::Retry { from: from(), content: None, key: None };
        [cut, retry].map(|command| may_take_long(&bench.session, &Input::Command(ReplyTo(0), command)))
    };
    assert_eq!((is_long(newest), is_long(covered)), ([false; 2], [true; 2]));
    let again = Input::Command(ReplyTo(0), Command::Regenerate { key: None });
    assert!(!may_take_long(&bench.session, &again));
}
