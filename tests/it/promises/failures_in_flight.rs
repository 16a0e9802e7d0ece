//! Changes while a summary is being made, and changes of its source: a late summary is dropped, new messages
//! stay uncovered, and a summary counts only as long as its source is unchanged.

use super::chat::{Chat, numbered, summary, words};
use super::failures::BY_MODEL;
use crate::bench::{id, result, text};
use engine::compact::policy::{Policy, Triggers};
use engine::compact::record::{Status, Trigger};
use engine::delta::Delta;
use engine::id::SessionId;
use engine::message::{Body, Content};
use engine::prompt::item::Role;
use engine::prompt::linearize::join_neighbours;
use engine::prompt::request::{Answer, StopReason};
use session::input::{At, Command, Input, ModelCallId, StartTurn, Timer, ToolOutcome};
use session::state::State;
use store::Store;

/// A chat with a pending summary after `behind` earlier ones, and the pending call.
fn in_flight(behind: usize) -> (Chat, ModelCallId) {
    let mut chat = Chat::new(4000, BY_MODEL, numbered);
    for n in 0..60 {
        chat.is_held = chat.bench.session.transcript().compactions().len() >= behind;
        chat.asks(&format!("request number {n};"));
        if let Some(call) = chat.held() {
            return (chat, call);
        }
        chat.is_held = chat.bench.session.transcript().compactions().len() >= behind;
        chat.round(1, 1800);
        if let Some(call) = chat.held() {
            return (chat, call);
        }
        chat.says("It is done.");
    }
    panic!("nothing was summed up")
}

/// Completes the pending summary.
fn comes(chat: &mut Chat, call: ModelCallId) {
    chat.bench.asked.retain(|(asked, ..)| *asked != call);
    chat.bench.step(Input::ModelDelta(call, Delta::AppendContent(summary("made of what was there before;"))));
    let answer = Answer { parts: None, calls: Some(Vec::new()), stop: StopReason::End, usage: None };
    chat.bench.step(Input::ModelDone(call, Ok(answer)));
    chat.go_on();
}

/// Checks that every record in force was made from the current messages.
fn is_sound(chat: &Chat, name: &str) {
    let transcript = chat.bench.session.transcript();
    for record in transcript.compactions().iter().filter(|record| record.status == Status::InForce) {
        let Some(span) = record.dropped.or(record.covers) else { continue };
        assert_eq!(
            record.source_hash,
            transcript.source_hash(span.from, span.to),
            "{name}: its source changed"
        );
        assert!(span.to.index() < transcript.messages().len(), "{name}: it covers what is not there");
    }
}

type Case = (&'static str, fn() -> Command);

const REWINDS: [Case; 7] = [
    ("a new chat", || Command::Reset { keep_queue: false, key: None }),
    ("a cut", || Command::Truncate { from: At::Index(2), key: None }),
    ("an edit", || Command::Update {
        message: At::Index(0),
        content: vec![Content::Text("other words".into())],
        regenerate: false,
        key: None,
    }),
    ("an edit that asks again", || Command::Update {
        message: At::Index(0),
        content: vec![Content::Text("other words".into())],
        regenerate: true,
        key: None,
    }),
    ("a removal", || Command::Remove { message: At::Index(1), key: None }),
    ("a retry", || Command::Retry { from: At::Index(4), content: None, key: None }),
    ("a stop", || Command::CancelTurn { turn: None, queued: true }),
];

/// A reset, cut, edit, removal, retry or stop while a summary is being made: nothing made from messages that
/// are gone takes effect.
#[test]
fn changed_history_drops_the_pending_summary() {
    for ((name, command), behind) in REWINDS.into_iter().flat_map(|case| [(case, 0), (case, 2)]) {
        let (mut chat, call) = in_flight(behind);
        chat.bench.command(command());
        chat.is_held = false;
        comes(&mut chat, call);
        is_sound(&chat, name);
        // The turn ends, and what waited for it is done.
        for _ in 0..10 {
            chat.says("It is done.");
        }
        assert!(chat.bench.session.is_at_rest(), "{name}");
        chat.asks("What now?");
        is_sound(&chat, name);
        assert_eq!(chat.places("What now?").len(), 1, "{name}");
        assert_eq!(chat.times("made of what was there before;"), 0, "{name}: it is shown");
        let mut records = chat.bench.session.transcript().compactions().iter();
        let is_obeyed = records.any(|record| {
            let narrative = record.narrative.as_deref().unwrap_or_default();
            narrative.contains("made of what was there before;") && record.status == Status::InForce
        });
        assert!(!is_obeyed, "{name}: it is obeyed");
        chat.restarts();
        is_sound(&chat, name);
    }
}

/// A branch made meanwhile has no summary, and its parent gets its own.
#[test]
fn branch_takes_nothing_of_a_pending_summary() {
    let (mut chat, call) = in_flight(0);
    let to = SessionId::new("branch");
    chat.bench.command(Command::Branch { to: to.clone(), up_to: None, title: None, key: None });
    chat.is_held = false;
    comes(&mut chat, call);
    let branch = chat.bench.store.load(&to).unwrap().expect("a branch");
    assert!(branch.compactions.is_empty() && !branch.messages.is_empty());
    is_sound(&chat, "the parent");
    assert!(chat.bench.session.transcript().in_force().is_some(), "the parent goes on with its summary");
    assert_eq!(chat.times("made of what was there before;"), 1);
}

/// Messages that arrive meanwhile stay uncovered and are sent.
#[test]
fn messages_during_a_summary_stay_uncovered() {
    for priority in [true, false] {
        let (mut chat, call) = in_flight(0);
        let content = vec![Content::Text("Mind the tests.".into())];
        chat.bench.command(Command::StartTurn(Box::new(StartTurn {
            content,
            priority,
            ..StartTurn::default()
        })));
        chat.is_held = false;
        comes(&mut chat, call);
        if !priority {
            chat.says("It is done.");
        }
        assert_eq!(chat.places("Mind the tests.").len(), 1, "priority {priority}");
        let transcript = chat.bench.session.transcript();
        let is_it = |body: &Body| matches!(body, Body::User(parts) if parts[0].text().is_some_and(|t| &**t == "Mind the tests."));
        let said = transcript.messages().iter().find(|message| is_it(&message.body)).expect("it was said");
        let record = transcript.in_force().expect("a summary");
        assert!(record.resume_at() <= said.ord, "priority {priority}");
        is_sound(&chat, "a word");
    }
}

/// A summary is not waited for after its deadline, nor if it is no longer needed; late ones are dropped.
#[test]
fn late_summary_blocks_nothing_and_is_dropped() {
    let (mut chat, mut call) = in_flight(0);
    let mut expired = Vec::new();
    while matches!(chat.bench.session.state(), State::Compacting(_)) {
        assert!(chat.bench.timers.contains(&Timer::Model(call)), "it has a deadline");
        chat.bench.asked.retain(|(asked, ..)| *asked != call);
        chat.bench.step(Input::Expired(Timer::Model(call)));
        expired.push(call);
        call = chat.held().unwrap_or(call);
        assert!(expired.len() < 10, "it ends");
    }
    chat.go_on();
    assert!(chat.answering().is_some(), "the turn goes on");
    let snapshot = chat.bench.session.snapshot();
    for late in expired {
        comes(&mut chat, late);
    }
    assert_eq!(chat.bench.session.snapshot(), snapshot, "what comes late changes nothing");
    let (mut chat, call) = in_flight(0);
    chat.bench.command(Command::CancelTurn { turn: None, queued: true });
    assert!(chat.bench.session.is_at_rest() && chat.held().is_none());
    let snapshot = chat.bench.session.snapshot();
    comes(&mut chat, call);
    assert_eq!(chat.bench.session.snapshot(), snapshot);
}

/// An idle session is compacted from the last second of its time on, a busy one is not. Neither changes its
/// time of last use, which orders lists.
#[test]
fn idle_compaction_skips_busy_sessions_and_keeps_list_order() {
    let triggers = Triggers { idle_secs: Some(600), ..BY_MODEL.triggers };
    let mut chat = Chat::new(8000, Policy { triggers, ..BY_MODEL }, numbered);
    for n in 0..5 {
        chat.turn(&format!("request number {n};"), 1800);
    }
    let used = |chat: &mut Chat| {
        let stored = chat.bench.store.load(&id()).unwrap().expect("it is stored");
        (chat.bench.session.head().updated_at, stored.head.updated_at, chat.bench.session.state().name())
    };
    let before = used(&mut chat);
    let silent = |chat: &mut Chat, for_ms: u64| {
        chat.bench.later = for_ms;
        chat.bench.step(Input::Expired(Timer::Idle));
        chat.go_on();
        chat.bench.session.transcript().compactions().len()
    };
    assert_eq!(silent(&mut chat, 599_999), 0, "a moment too soon");
    assert_eq!(silent(&mut chat, 600_000), 1, "the last second counts");
    assert_eq!(chat.bench.session.transcript().compactions()[0].trigger, Trigger::Idle);
    assert_eq!(used(&mut chat), before, "nobody said anything");
    chat.asks("Are you there?");
    assert!(chat.answering().is_some());
    assert_eq!(silent(&mut chat, 2_000_000), 1, "it is busy");
    assert!(chat.answering().is_some(), "and goes on");
}

/// A removal inside a summary's range voids it, one behind the range does not; for each message of a session.
#[test]
fn removal_voids_only_the_summary_that_covers_it() {
    let compacted = || {
        let mut chat = Chat::new(4000, BY_MODEL, numbered);
        for n in 0..9 {
            chat.turn(&format!("request number {n};"), 1800);
        }
        chat
    };
    let all = compacted().bench.session.transcript().messages().len();
    let (mut inside, mut behind) = (0, 0);
    for at in 0..all {
        let mut chat = compacted();
        let transcript = chat.bench.session.transcript();
        let records = transcript.compactions().to_vec();
        let message = transcript.messages()[at].clone();
        if matches!(message.body, Body::Tool(_)) {
            continue;
        }
        let is_request = matches!(message.body, Body::User(_));
        // A request is removed with its turn, a call with its results.
        let gone: Vec<_> = match is_request {
            true => transcript.messages().iter().filter(|other| other.turn == message.turn).collect(),
            false => {
                let round = transcript.rounds().iter().find(|round| round.assistant == message.ord);
                round.map_or_else(Vec::new, |round| {
                    transcript.range(round.assistant, round.last).iter().collect()
                })
            }
        };
        let gone: Vec<_> = gone.into_iter().map(|message| message.ord).collect();
        chat.bench.command(Command::Remove { message: At::Id(message.id.clone()), key: None });
        for before in &records {
            let speaks = gone.iter().any(|ord| before.speaks_of(*ord));
            let now = chat.bench.session.transcript().compactions().iter().find(|now| now.id == before.id);
            let expected = if speaks { Status::Void } else { before.status };
            assert_eq!(now.map(|now| now.status), Some(expected), "message {at}");
            *(if speaks { &mut inside } else { &mut behind }) += 1;
        }
        is_sound(&chat, "a removal");
        chat.asks("What now?");
        for ord in gone {
            let is_shown =
                chat.newest().iter().any(|item| item.sources.iter().any(|source| source.ord == ord));
            assert!(!is_shown, "message {at}: {ord} is gone and shown");
        }
    }
    assert!(inside > 3 && behind > 3, "{inside} inside, {behind} behind");
}

/// Two requests that a strict wire joins into one: the calls that answer them are stored at once, with both
/// requests unchanged.
#[test]
fn calls_after_two_joined_requests_are_stored() {
    let mut chat = Chat::new(8000, BY_MODEL, numbered);
    chat.talk("Hello.", "Hello to you.");
    chat.asks("Make it work.");
    let content = vec![Content::Text("And mind the tests.".into())];
    chat.bench.command(Command::StartTurn(Box::new(StartTurn {
        content,
        priority: true,
        ..StartTurn::default()
    })));
    chat.go_on();
    let joined = join_neighbours(chat.newest());
    let last = joined.last().expect("a request");
    assert_eq!((last.role, words(last).as_str()), (Role::User, "Make it work.\nAnd mind the tests."));
    assert_eq!(last.parts.len(), 2, "each in a part of its own");
    let call = chat.answering().expect("it is asked");
    chat.bench.asked.clear();
    let calls = vec![engine::message::ToolCall::new("first", "read", "{}")];
    chat.bench.answer(call, calls);
    let stored = chat.bench.store.load(&id()).unwrap().expect("it is stored");
    let last = stored.messages.last().map(|(_, message)| message.body.clone());
    assert!(matches!(&last, Some(Body::Assistant { calls, .. }) if calls.len() == 1), "{last:?}");
    chat.restarts();
    assert!(matches!(chat.bench.session.state(), State::Calling(_)), "the call is waited for");
    let call = chat.bench.session.snapshot().pending.first().expect("a call").id.clone();
    let done = ToolOutcome::Answered(result(call.as_str(), &text(20)));
    chat.bench.step(Input::ToolDone(call, done));
    chat.go_on();
    for said in ["Make it work.", "And mind the tests."] {
        assert_eq!(chat.places(said).len(), 1, "{said}");
    }
    assert_eq!(chat.newest().last().map(|item| item.role), Some(Role::Tool));
}
