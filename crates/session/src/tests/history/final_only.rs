//! `transcript: finalOnly`: messages dropped when a turn ends, and those kept. Stores are in `store::kept`.

use crate::effect::{Answer, Purpose, Refusal};
use crate::event::EventBody;
use crate::input::{Command, Input};
use crate::recall::Recall;
use crate::settings::{ModelFacts, Settings, TranscriptKept};
use crate::stored::Driver;
use crate::tests::bench::{Bench, settings, text, tool};
use engine::delta::Delta;
use engine::message::Body;
use engine::prompt::item::{Approval, EndsTurn, Item, Tool};

fn bench(transcript: TranscriptKept, window: u32) -> Bench {
    let model = ModelFacts { window, ..settings().model };
    let settings = Settings { transcript, model, ..settings() };
    Bench::with(Driver::Sidecar, settings, vec![tool("read", Approval::Allow)])
}

/// Returns the stored messages, without the places of dropped ones.
fn kept(bench: &mut Bench) -> Vec<(&'static str, String)> {
    let stored = bench.rows.load(&crate::tests::bench::id()).expect("a session");
    let said = stored.messages.iter().filter(|(_, message)| !message.is_removed());
    said.map(|(_, message)| {
        let who = match &message.body {
            Body::User(_) => "user",
            Body::Assistant { calls, .. } if calls.is_empty() => "answer",
            Body::Assistant { .. } => "calls",
            Body::Tool(_) => "tool",
            Body::Event { .. } => "event",
        };
        (who, message.body.said())
    })
    .collect()
}

fn recall(bench: &mut Bench, reference: &str) -> Result<String, Refusal> {
    let recall = Recall { reference: reference.into(), offset: 0, limit: 100_000 };
    let to = bench.command(Command::Recall(recall));
    match bench.reply(to) {
        Some(Ok(Answer::Recalled(recalled))) => Ok(recalled.text.clone()),
        Some(Err(refusal)) => Err(refusal.clone()),
        other => panic!("no answer: {other:?}"),
    }
}

/// Returns the items that a model is asked with now.
fn asked(bench: &Bench) -> Vec<Item> {
    bench.asked.last().expect("a model is asked").2.clone()
}

fn owned(who: &'static str, said: &str) -> (&'static str, String) {
    (who, said.to_owned())
}

/// Runs a turn of two rounds and an answer; returns the id of its first call.
fn turn(bench: &mut Bench) -> String {
    bench.asks("look at it");
    bench.says("let me look", &["read"]);
    let call = bench.invoked[0].as_str().to_owned();
    bench.tool_answers("the first secret");
    bench.says("once more", &["read"]);
    bench.tool_answers("the second secret");
    assert!(!bench.asked.is_empty());
    bench.says("it is fine", &[]);
    call
}

/// All of a running turn is kept. The step that ends it drops all but request and answer from prompts,
/// snapshot and store, and a recall says so.
#[test]
fn rounds_are_dropped_when_their_turn_ends() {
    let mut bench = bench(TranscriptKept::FinalOnly, 40_000);
    bench.asks("look at it");
    bench.says("let me look", &["read"]);
    let call = bench.invoked[0].as_str().to_owned();
    bench.tool_answers("the first secret");
    assert_eq!(recall(&mut bench, &call), Ok("the first secret".to_owned()));
    assert_eq!(kept(&mut bench).len(), 3);
    let round = bench.session.transcript().messages()[1].id.as_str().to_owned();
    bench.says("it is fine", &[]);
    let expected = [owned("user", "look at it"), owned("answer", "it is fine")];
    assert_eq!(kept(&mut bench), expected);
    assert_eq!(bench.session.snapshot().messages.len(), 2);
    for reference in [&call, &round] {
        let gone = recall(&mut bench, reference).expect_err("gone");
        assert!(matches!(&gone, Refusal::NotKept { id, .. } if id == reference), "{gone}");
        assert!(gone.to_string().contains("finalOnly"), "{gone}");
        assert!(bench.session.recall_for_model(reference).is_some_and(|said| said.contains("not kept")));
    }
    assert!(matches!(recall(&mut bench, "nothing"), Err(Refusal::Unknown { .. })));
    // The next prompt is the same in this process and in another one, and the break is reported.
    bench.asks("and now?");
    let here = asked(&bench);
    assert!(here.iter().all(|item| item.calls.is_empty() && item.call_id.is_none()));
    let broken = |(_, body): &(u64, EventBody)| matches!(body, EventBody::PrefixBroken { causes, .. } if format!("{causes:?}") == "{StripCompletedTurns}");
    assert!(bench.events.iter().any(broken), "{:?}", bench.events);
    bench.says("well", &[]);
    bench.asks("go on");
    let here = asked(&bench);
    let mut other = self::bench(TranscriptKept::FinalOnly, 40_000);
    turn(&mut other);
    other.asks("and now?");
    other.says("well", &[]);
    other.another_process();
    other.command(Command::Open(Box::default()));
    other.asks("go on");
    let said = |items: &[Item]| format!("{:?}", items.iter().map(|item| &item.parts).collect::<Vec<_>>());
    assert_eq!(said(&here), said(&asked(&other)));
    // By default all of it is kept.
    let mut full = self::bench(TranscriptKept::Full, 40_000);
    let call = turn(&mut full);
    assert_eq!(kept(&mut full).len(), 6);
    assert_eq!(recall(&mut full, &call), Ok("the first secret".to_owned()));
}

/// A turn that is cancelled in mid-answer, that fails, or whose process ends, has no answer to keep.
#[test]
fn unfinished_turn_keeps_only_its_request() {
    for ends in ["cancelled", "failed", "gone", "gone, and asked again"] {
        let mut bench = bench(TranscriptKept::FinalOnly, 40_000);
        bench.asks("look at it");
        bench.says("let me look", &["read"]);
        bench.tool_answers("the secret");
        let call = bench.asked.last().expect("a model is asked").0;
        bench.step(Input::ModelDelta(call, Delta::AppendContent("half of an ans".to_owned())));
        match ends {
            "cancelled" => drop(bench.command(Command::CancelTurn { turn: None, queued: false })),
            "failed" => bench.step(Input::ModelDone(call, Err("gone".into()))),
            _ => {
                bench.another_process();
                if ends == "gone" {
                    bench.command(Command::Open(Box::default()));
                }
                bench.asks("again");
                assert!(asked(&bench).iter().all(|item| item.calls.is_empty()), "{ends}");
                bench.command(Command::CancelTurn { turn: None, queued: false });
            }
        }
        let said = kept(&mut bench);
        assert!(said.iter().all(|(who, _)| *who == "user"), "{ends}: {said:?}");
        assert_eq!(said[0], owned("user", "look at it"), "{ends}");
        let reopened = bench.reopened();
        assert_eq!(reopened.snapshot().messages, bench.session.snapshot().messages, "{ends}");
    }
}

/// A summary made during the turn still covers the dropped messages: its anchors resolve by ordinal and hash.
#[test]
fn summary_of_dropped_messages_stays_in_force() {
    let mut bench = bench(TranscriptKept::FinalOnly, 4000);
    bench.asks("look at all of it");
    let summed_up = |bench: &Bench| {
        bench.session.transcript().in_force().is_some_and(|record| record.narrative.is_some())
    };
    for round in 0..40 {
        if summed_up(&bench) && bench.asked[0].1 == Purpose::Turn {
            break;
        }
        if bench.asked.last().is_some_and(|asked| asked.1 == Purpose::Turn) {
            bench.says(&format!("round {round}"), &["read"]);
            bench.tool_answers(&format!("{round} {}", text(900)));
        } else {
            bench.says("", &[]);
        }
    }
    let record = bench.session.transcript().in_force().expect("a summary").clone();
    assert!(record.narrative.is_some(), "{record:?}");
    bench.says("it is fine", &[]);
    assert_eq!(kept(&mut bench), [owned("user", "look at all of it"), owned("answer", "it is fine")]);
    let stored = bench.reopened();
    for session in [&bench.session, &stored] {
        let transcript = session.transcript();
        assert_eq!(transcript.in_force(), Some(&record));
        let span = record.covers.expect("a span");
        assert_eq!(transcript.source_hash(span.from, span.to), record.source_hash);
        assert_eq!(
            transcript.message(record.anchor.ord).map(|message| &message.hash),
            Some(&record.anchor.hash)
        );
    }
    bench.asks("and now?");
    let shown = format!("{:?}", asked(&bench));
    assert!(shown.contains("conversation-summary") && shown.contains("it is fine"), "{shown}");
}

/// The call that ended a turn is its outcome: the next prompt has its text and result, and no other call.
#[test]
fn call_that_ended_a_turn_stays_with_its_result() {
    let model = ModelFacts { window: 40_000, ..settings().model };
    let settings = Settings { transcript: TranscriptKept::FinalOnly, model, ..settings() };
    let ask = Tool { ends_turn: Some(EndsTurn::WaitingUserInput), ..tool("ask", Approval::Allow) };
    let mut bench = Bench::with(Driver::Sidecar, settings, vec![tool("read", Approval::Allow), ask]);
    bench.asks("paint it");
    bench.says("let me look", &["read"]);
    bench.tool_answers("the secret");
    bench.says("one thing", &["read", "ask"]);
    bench.tool_answers("the other secret");
    bench.tool_answers("which color?");
    let expected = [owned("user", "paint it"), ("calls", String::new()), owned("tool", "which color?")];
    let is_like = |kept: &[(&'static str, String)]| {
        let who = |all: &[(&'static str, String)]| all.iter().map(|(who, _)| *who).collect::<Vec<_>>();
        who(kept) == who(&expected)
    };
    let now = kept(&mut bench);
    assert!(is_like(&now), "{now:?}");
    bench.another_process();
    bench.command(Command::Open(Box::default()));
    bench.asks("blue");
    let prompt = asked(&bench);
    let calls: Vec<&str> = prompt.iter().flat_map(|item| &item.calls).map(|call| &*call.name).collect();
    assert_eq!(calls, ["ask"]);
    let shown = format!("{prompt:?}");
    assert!(shown.contains("one thing") && shown.contains("which color?"), "{shown}");
    assert!(!shown.contains("secret"), "{shown}");
}
