//! Bounds of compaction: compactions per new tokens, bytes tokenised, requests to a model.

use crate::compact::compose::Inputs;
use crate::compact::ladder::{self, Outcome, Step};
use crate::compact::plan::Aim;
use crate::compact::policy::presets;
use crate::compact::record::{Fallback, Mode, Trigger};
use crate::compact::trigger::{self, Attempts, Next};
use crate::message::NewMessage;
use crate::testing::{SUMMARY, Session, answered, filler, overflowing};
use crate::tokens::{QuarterOfChars, TokenCount};
use proptest::prelude::*;
use std::cell::Cell;

/// Compacts before a model call, if that is due; returns the distance between limit and target if it did.
fn before_a_call(session: &mut Session, attempts: &mut Attempts, is_well: bool) -> Option<u32> {
    let next = trigger::next(session.source(), &session.policy, false);
    let (trigger, must_fit) = match next {
        Next::Send(_) => return None,
        Next::Try(trigger, _) => (trigger, false),
        Next::Must(trigger, _) => (trigger, true),
        Next::Refuse(exceeded) => panic!("{exceeded}"),
    };
    let may_ask = attempts.may_ask(session.source(), &session.policy);
    let inputs = session.inputs();
    let aim = if must_fit { Aim::Room } else { Aim::of(trigger) };
    let policy = aim.policy(session.policy.clone(), inputs.tokens_before, session.budget.limit);
    let inputs = Inputs { policy: &policy, aim, ..inputs };
    let mut step = if must_fit { ladder::start(inputs, may_ask) } else { ladder::offer(inputs, may_ask) };
    while let Step::Ask(ask) = step {
        let outcome = if is_well { answered(SUMMARY) } else { Outcome::Failed("away".into()) };
        step = ask.waiting.answer(inputs, "test", outcome);
    }
    let Step::Accepted(mut record) = step else {
        attempts.ended(&session.transcript, true, &session.policy);
        assert!(!must_fit, "{step:?}");
        return None;
    };
    let limit = session.budget.limit;
    attempts.ended(&session.transcript, !matches!(record.mode, Mode::Full | Mode::Simple), &session.policy);
    record.trigger = trigger;
    let target = record.target.expect("a rung aims at a size");
    assert!(record.tokens_after <= target && target <= limit, "{} of {target}", record.tokens_after);
    session.transcript.record(*record);
    Some(limit - target.min(limit - 1))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn compactions_are_bounded_by_new_tokens(
        rounds in prop::collection::vec((prop::bool::weighted(0.15), 40usize..3000), 20..120),
        is_well in any::<bool>(),
    ) {
        for policy in presets::ALL.map(|preset| preset.policy).into_iter().filter(|policy| policy.enabled) {
            let name = policy.name.clone();
            let mut session = Session::new(16_000);
            session.policy = policy;
            let (mut attempts, mut made, mut nearest) = (Attempts::default(), 0u32, u32::MAX);
            session.user("Begin.");
            for (n, (is_turn, size)) in rounds.iter().enumerate() {
                if *is_turn {
                    session.says("So far.");
                    session.transcript.append_turn(NewMessage::user(&format!("go on {n}")), &QuarterOfChars);
                }
                if let Some(distance) = before_a_call(&mut session, &mut attempts, is_well) {
                    made += 1;
                    nearest = nearest.min(distance);
                }
                session.reads(&format!("src/file_{n}.rs"), *size);
            }
            let new: u32 = session.transcript.messages().iter().map(|message| message.tokens).sum();
            prop_assert!(made <= new.div_ceil(nearest) + 1, "{name}: {made} compactions for {new} new tokens, {nearest}");
        }
    }
}

/// Compares a session with and without a minimum of new tokens.
#[test]
fn prompt_near_its_limit_is_not_compacted_each_turn() {
    let run = |min_new: Option<u32>| {
        let mut session = Session::new(16_000);
        session.policy.min_new_tokens = min_new;
        let (mut attempts, mut made) = (Attempts::default(), 0);
        session.user("Begin.");
        for n in 0..120 {
            session.reads(&format!("src/file_{n}.rs"), 1600).says("So.");
            session.transcript.append_turn(NewMessage::user("go on"), &QuarterOfChars);
            made += u32::from(before_a_call(&mut session, &mut attempts, true).is_some());
        }
        made
    };
    assert!(run(None) < run(Some(0)), "{} and {}", run(None), run(Some(0)));
}

/// Counts the bytes that are tokenised.
#[derive(Default)]
struct Metered(Cell<usize>);

impl TokenCount for Metered {
    fn name(&self) -> &str {
        QuarterOfChars.name()
    }

    fn count(&self, text: &str) -> u32 {
        self.0.set(self.0.get() + text.len());
        QuarterOfChars.count(text)
    }
}

#[test]
fn tokenising_follows_the_prompt_not_the_session() {
    for policy in [presets::DEFAULT, presets::ROUNDS, presets::SYSTEM_TAIL] {
        let name = policy.name.clone();
        let mut session = Session::new(16_000);
        session.policy = policy;
        let mut made = 0;
        for n in 0..2000 {
            if n % 25 == 0 {
                session.transcript.append_turn(NewMessage::user(&format!("go on {n}")), &QuarterOfChars);
            }
            session.reads(&format!("src/part_{n}.rs"), 600);
            if n % 4 > 0 || session.render().is_ok() {
                continue;
            }
            let metered = Metered::default();
            let inputs = Inputs { counter: &metered, ..session.inputs() };
            let Step::Accepted(record) = ladder::start(inputs, false) else {
                panic!("{name}: needs a model")
            };
            let (counted, prompt) = (metered.0.get(), 4 * session.budget.limit as usize);
            assert!(counted <= 4 * prompt, "{name}: {counted} bytes for {prompt} after {n} rounds");
            session.transcript.record(*record);
            made += 1;
        }
        assert!(made >= 30, "{name}: {made}");
    }
}

#[test]
fn too_long_summary_is_asked_for_once_more() {
    let session = overflowing();
    let large = SUMMARY.replace("half done", &filler("words", 20_000));
    let mut asked = Vec::new();
    let step = session.descend(Some(&mut |ask| {
        asked.push(ask.waiting.is_shortening());
        answered(if ask.waiting.is_shortening() { SUMMARY } else { &large })
    }));
    let Step::Accepted(record) = step else { panic!("accepted") };
    assert_eq!((record.mode, record.fallbacks.len(), asked), (Mode::Full, 0, vec![false, true]));
    assert_eq!((record.asked(), record.asked_again), (2, 1));
    // A summary that stays too long is not requested a third time.
    let mut asked = 0;
    let step = session.descend(Some(&mut |ask| {
        asked += u32::from(ask.waiting.is_shortening());
        answered(&large)
    }));
    assert!(matches!(step, Step::Accepted(record) if record.mode == Mode::Ledger));
    assert_eq!(asked, 1);
}

#[test]
fn empty_or_oversized_answer_is_no_summary() {
    let headings = "<summary>\n## Goal\n## Decisions\n## State\n## Next steps\n## Open questions\n</summary>";
    let session = overflowing();
    let Step::Accepted(record) = session.descend(Some(&mut |_| answered(headings))) else {
        panic!("accepted")
    };
    let empty = |mode| Fallback { mode, reason: "the answer was empty".into(), asked: Some(1) };
    assert_eq!(record.fallbacks, [empty(Mode::Full), empty(Mode::Simple)]);
    let mut small = Session::new(4000);
    small.policy = session.policy.clone();
    small.user("Hello.").says("Hi.").user("Go.").reads("a.rs", 2000);
    let long = SUMMARY.replace("half done", &filler("words", 900));
    let mut step = ladder::offer(small.inputs(), true);
    while let Step::Ask(ask) = step {
        step = ask.waiting.answer(small.inputs(), "test", answered(&long));
    }
    let Step::Refused(fallbacks) = step else { panic!("refused: {step:?}") };
    assert!(fallbacks.iter().any(|fallback| fallback.reason.contains("larger than what it stands for")));
}

#[test]
fn optional_compaction_ends_with_the_last_model() {
    let session = overflowing();
    let mut step = ladder::offer(session.inputs(), true);
    let mut asked = 0;
    while let Step::Ask(ask) = step {
        asked += 1;
        step = ask.waiting.answer(session.inputs(), "test", Outcome::Deadline);
    }
    assert!(matches!(&step, Step::Refused(fallbacks) if fallbacks.len() == asked), "{step:?}");
    let Step::Ask(ask) = ladder::prepare(session.inputs()) else { panic!("asks") };
    let Step::Prepared(prepared) = ask.waiting.answer(session.inputs(), "test", answered(SUMMARY)) else {
        panic!("prepared")
    };
    let record = prepared.applied(session.inputs()).expect("a record");
    assert_eq!((record.mode, record.trigger), (Mode::Full, Trigger::BudgetExceeded));
    let mut other = overflowing();
    other.transcript = crate::transcript::Transcript::new(session.transcript.session().clone());
    other.user("Something else.").reads("x", 9000).reads("y", 9000).reads("z", 9000);
    assert!(!prepared.is_fresh(other.inputs()) && prepared.applied(other.inputs()).is_none());
}

/// The user waits for one call per piece.
#[test]
fn too_many_pieces_are_not_summarized_piece_by_piece() {
    let asked = |request: u32| {
        let mut session = overflowing();
        session.budget.summary_request = request;
        let mut asked = 0;
        let step = session.descend(Some(&mut |_| {
            asked += 1;
            answered(SUMMARY)
        }));
        let Step::Accepted(record) = step else { panic!("accepted: {step:?}") };
        (asked, record.mode)
    };
    let all: Vec<_> = (1..60).map(|n| asked(n * 40)).collect();
    assert!(all.iter().all(|(calls, _)| *calls <= 16), "{all:?}");
    assert!(all.iter().any(|made| matches!(made, (2.., Mode::Simple))), "{all:?}");
    assert!(all.contains(&(0, Mode::Ledger)), "{all:?}");
}
