//! Limits learned from a provider that refuses a prompt for its size, and how they are dropped.

use crate::Session;
use crate::carried::limits::{LearnedLimit, LimitOrigin};
use crate::effect::{AskModel, Effect, Purpose};
use crate::state::StateName;
use crate::stored::Driver;
use crate::tests::bench::{Bench, id, settings, text};
use crate::tests::compaction::triggers::{asked, bench, done, overflow, records, round, said, sums_up, turn};
use engine::message::Body;
use engine::prompt::request::{Failure, Overflow, Part};
use engine::tokens::QuarterOfChars;

fn limit(bench: &Bench) -> Option<LearnedLimit> {
    bench.session.head().carried.limits.learned().cloned()
}

fn ask(bench: &Bench) -> &AskModel {
    let mut asks = bench.effects.iter().filter_map(|effect| match effect {
        Effect::AskModel(ask) if ask.purpose == Purpose::Turn => Some(&**ask),
        _ => None,
    });
    asks.next_back().expect("a model is asked")
}

/// Counts the messages of users and of the model.
fn words(bench: &Bench) -> usize {
    let messages = bench.session.transcript().messages().iter();
    messages.filter(|message| matches!(message.body, Body::User(_) | Body::Assistant { .. })).count()
}

/// A session in a window of 4,000 tokens whose prompt takes more than half of it.
fn working() -> Bench {
    let mut bench = bench(|_| ());
    bench.asks("work");
    for n in 0..4 {
        round(&mut bench, &format!("a{n}"), 2300, None);
    }
    bench
}

/// A session in a window of 4,000 tokens whose provider refused more than half of it without numbers.
fn guessed() -> Bench {
    let mut bench = working();
    done(&mut bench, Purpose::Turn, overflow(None, None));
    sums_up(&mut bench);
    done(&mut bench, Purpose::Turn, Ok(said("done", &[], None)));
    bench
}

#[test]
fn refusal_without_numbers_is_believed_near_the_window_alone() {
    let near = limit(&guessed()).expect("a limit");
    assert_eq!((near.window, near.origin), (4000, Some(LimitOrigin::Guessed)));
    assert!((1800..2880).contains(&near.tokens), "{near:?}");
    let mut far = bench(|_| ());
    turn(&mut far, "first", &text(2000));
    for _ in 0..3 {
        far.asks("more");
        done(&mut far, Purpose::Turn, overflow(None, None));
        assert_eq!((far.session.state().name(), limit(&far)), (StateName::Error, None));
    }
    assert_eq!((records(&far).len(), words(&far)), (0, 5));
    far.another_process();
    turn(&mut far, "and now", "it works");
    assert_eq!((limit(&far), words(&far)), (None, 7));
}

/// Numbers that cannot be of this prompt teach nothing about it.
#[test]
fn stated_numbers_of_another_prompt_are_not_believed() {
    for (limit_told, needed) in [(200_000, Some(208_310)), (131_072, None), (8, Some(9))] {
        let mut bench = bench(|_| ());
        turn(&mut bench, "first", &text(2000));
        bench.asks("more");
        done(&mut bench, Purpose::Turn, overflow(Some(limit_told), needed));
        assert_eq!((bench.session.state().name(), limit(&bench)), (StateName::Error, None), "{limit_told}");
    }
}

#[test]
fn learned_limit_is_dropped_once_a_larger_prompt_succeeds() {
    let mut bench = guessed();
    let learned = limit(&bench).expect("a limit").tokens;
    bench.another_process();
    // A user's text is never shortened: this prompt fits the window but not the limit.
    bench.asks(&text(9600));
    while !asked(&bench, Purpose::Summary).is_empty() {
        sums_up(&mut bench);
    }
    let sent = ask(&bench).tokens;
    assert!(sent > learned, "{sent} of {learned}");
    assert_eq!(limit(&bench).map(|limit| limit.tokens), Some(learned), "it holds until the answer came");
    done(&mut bench, Purpose::Turn, Ok(said("read", &[], None)));
    assert_eq!(limit(&bench), None);
    let proof = bench.reopened().head().carried.limits.proof();
    assert_eq!(proof, Some((4000, sent)));
}

#[test]
fn learned_limit_is_given_up_after_enough_prompts_went_through() {
    let mut bench = guessed();
    // The prompt after the compaction counts as the first.
    for kept in 1..31 {
        assert_eq!(limit(&bench).map(|limit| limit.kept), Some(kept));
        turn(&mut bench, "go", "on");
    }
    bench.another_process();
    turn(&mut bench, "go", "on");
    assert_eq!(limit(&bench), None);
}

#[test]
fn guess_never_falls_under_a_prompt_that_just_went_through() {
    let mut bench = working();
    bench.asks("more");
    bench.says("little was added", &[]);
    let (_, proved) = bench.session.head().carried.limits.proof().expect("a proof");
    bench.asks("and more");
    done(&mut bench, Purpose::Turn, overflow(None, None));
    assert_eq!(
        limit(&bench).map(|limit| (limit.tokens, limit.origin)),
        Some((proved, Some(LimitOrigin::Guessed)))
    );
}

/// The server was restarted with a smaller window under the same name.
#[test]
fn stated_limit_is_believed_under_a_prompt_that_went_through() {
    let mut bench = working();
    let (_, proved) = bench.session.head().carried.limits.proof().expect("a proof");
    let sent = ask(&bench).tokens;
    done(&mut bench, Purpose::Turn, overflow(Some(sent / 2), Some(sent)));
    let learned = limit(&bench).expect("a limit");
    assert_eq!(learned.origin, Some(LimitOrigin::Stated));
    assert!(learned.tokens < proved, "{learned:?} under {proved}");
    assert_eq!(bench.session.head().carried.limits.proof(), None);
    assert!(ask(&bench).tokens <= learned.tokens, "room is made under it");
    done(&mut bench, Purpose::Turn, Ok(said("done", &[], None)));
    assert_eq!(bench.session.state().name(), StateName::Idle);
}

/// A host may serve a model with a smaller window than its maker states.
#[test]
fn refusal_far_below_a_large_window_is_believed() {
    let mut settings = settings();
    settings.model.window = 1_000_000;
    let mut bench = Bench::with(Driver::Sidecar, settings, Vec::new());
    for _ in 0..3 {
        turn(&mut bench, "go on", &text(60_000));
    }
    bench.asks("more");
    let sent = ask(&bench).tokens;
    assert!((32_000..500_000).contains(&sent), "{sent}");
    done(&mut bench, Purpose::Turn, overflow(None, None));
    let learned = limit(&bench).expect("a limit");
    assert_eq!(learned.origin, Some(LimitOrigin::Guessed));
    assert!(learned.tokens < sent);
}

/// Older versions believed every refusal and stored no origin.
#[test]
fn absurd_limit_of_an_older_version_is_not_obeyed() {
    let mut bench = bench(|_| ());
    turn(&mut bench, "first", &text(2000));
    let mut stored = bench.rows.load(&id()).expect("a session");
    let old = serde_json::json!({ "model": null, "window": 4000, "tokens": 15 });
    let mut carried = serde_json::to_value(&stored.head.carried).expect("a value");
    carried["limit"] = old;
    stored.head.carried = serde_json::from_value(carried).expect("an older limit");
    let opening = bench.opening(stored, "9".to_owned());
    bench.session = Session::new(opening, &QuarterOfChars);
    turn(&mut bench, "second", "well");
    assert_eq!((bench.session.state().name(), records(&bench).len()), (StateName::Idle, 0));
}

/// The conversation is not too large, and a provider that repeats its refusal is not asked again.
#[test]
fn room_for_the_answer_is_lowered_and_the_prompt_stays() {
    let refused = |part, limit, needed| {
        let overflow = Overflow { part, limit, needed };
        Err(Failure { overflow: Some(overflow), ..Failure::from("too much") })
    };
    let mut bench = bench(|_| ());
    turn(&mut bench, "first", &text(2000));
    for n in 1..=3 {
        let before = words(&bench);
        bench.asks("more");
        let (tokens, items) = (ask(&bench).tokens, ask(&bench).request.items.clone());
        done(&mut bench, Purpose::Turn, refused(Part::Both, Some(3800), Some(tokens + 50)));
        if n == 1 {
            // Three hundredths of the shared limit are kept back.
            assert_eq!(ask(&bench).request.max_output, Some(3800 - 114 - (tokens + 50)));
            assert_eq!(ask(&bench).request.items, items);
            done(&mut bench, Purpose::Turn, refused(Part::Both, Some(3800), Some(tokens + 50)));
        }
        assert_eq!((bench.session.state().name(), words(&bench)), (StateName::Error, before + 1));
        assert_eq!((limit(&bench), records(&bench).len()), (None, 0));
    }
    // A limit on the answer alone is separate.
    bench.asks("more");
    done(&mut bench, Purpose::Turn, refused(Part::Answer, Some(512), Some(1000)));
    assert_eq!(ask(&bench).request.max_output, Some(512));
    done(&mut bench, Purpose::Turn, Ok(said("well", &[], None)));
    bench.another_process();
    bench.asks("and on");
    assert_eq!(ask(&bench).request.max_output, Some(512), "another process knows it");
}
