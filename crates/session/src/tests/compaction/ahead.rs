//! Summaries prepared beside a turn serve the next compaction, and endless answers are cut off.

use crate::effect::{Effect, Purpose};
use crate::input::{Input, Timer};
use crate::settings::{Settings, Titles};
use crate::state::State;
use crate::tests::bench::{Bench, text};
use crate::tests::compaction::triggers::{asked, bench, done, records, round, said, sums_up};
use engine::compact::policy::{Policy, Stage};
use engine::compact::record::{Mode, Trigger};
use engine::delta::Delta;
use engine::settings::PerMille;

/// A turn with results of these sizes, whose prompt is large enough to prepare a summary.
fn preparing(results: &[u16], change: fn(&mut Policy)) -> Bench {
    let mut bench = bench(|policy| {
        policy.triggers.background = Some(PerMille::new(750));
        change(policy);
    });
    bench.asks("work");
    for (n, size) in results.iter().enumerate() {
        round(&mut bench, &format!("a{n}"), *size, None);
    }
    bench
}

/// Runs rounds until a compaction is needed; returns their number.
fn until_compacted(bench: &mut Bench, size: u16) -> usize {
    for n in 0..40 {
        let is_waiting = matches!(bench.session.state(), State::Compacting(_));
        if is_waiting || !records(bench).is_empty() {
            return n;
        }
        round(bench, &format!("b{n}"), size, None);
    }
    panic!("no room was needed")
}

/// Messages added since then take the place of the kept tail, so the summary still serves.
#[test]
fn prepared_summary_serves_after_more_rounds() {
    for is_ready in [true, false] {
        let mut bench = preparing(&[2900, 2900, 900, 900, 900, 900], |_| ());
        let call = asked(&bench, Purpose::Summary);
        if is_ready {
            sums_up(&mut bench);
        }
        let rounds = until_compacted(&mut bench, 900);
        assert!(rounds > 1, "several rounds came between");
        if !is_ready {
            assert_eq!(asked(&bench, Purpose::Summary), call, "it is waited for");
            sums_up(&mut bench);
        }
        let record = records(&bench).last().expect("a record").clone();
        assert_eq!((record.mode, record.fallbacks.len()), (Mode::Full, 0), "{is_ready}");
        assert_eq!(record.trigger == Trigger::Background, is_ready);
        assert!(record.tokens_after * 10 < record.tokens_before * 7, "{record:?}");
        assert_eq!(asked(&bench, Purpose::Summary), [], "nobody was asked twice");
        assert_eq!(asked(&bench, Purpose::Turn).len(), 1);
    }
}

/// Half of the new tokens that a compaction waits for start the next summary, so it is ready in time.
#[test]
fn second_compaction_has_its_summary_ready() {
    let mut bench = preparing(&[2900, 2900, 900, 900, 900], |_| ());
    let mut made = Vec::new();
    for n in 0..40 {
        if !asked(&bench, Purpose::Summary).is_empty() {
            sums_up(&mut bench);
        }
        round(&mut bench, &format!("c{n}"), 900, None);
        made = records(&bench).iter().map(|record| record.trigger).collect();
        if made.len() == 3 {
            break;
        }
    }
    assert_eq!(made, [Trigger::Background; 3]);
}

/// A summary prepared earlier may leave too much; then the ladder continues from the current messages
/// and still asks a model.
#[test]
fn prepared_summary_that_leaves_too_much_is_made_again() {
    for is_ready in [true, false] {
        let mut bench = preparing(&[2900, 1900, 3990], |_| ());
        assert_eq!(asked(&bench, Purpose::Summary).len(), 1);
        if is_ready {
            sums_up(&mut bench);
        }
        assert_eq!(until_compacted(&mut bench, 3600), 1);
        if !is_ready {
            sums_up(&mut bench);
        }
        assert!(records(&bench).is_empty() && asked(&bench, Purpose::Summary).len() == 1, "{is_ready}");
        sums_up(&mut bench);
        assert_eq!(records(&bench).last().map(|record| record.mode), Some(Mode::Full), "{is_ready}");
    }
}

/// Rung 0 comes first, as without a background: if it suffices, no model is asked.
#[test]
fn no_summary_is_prepared_if_shortening_results_suffices() {
    let mut bench = preparing(&[2900, 2900, 2900], |policy| policy.limit_history = Stage::ShortenResults);
    assert_eq!(asked(&bench, Purpose::Summary), []);
    until_compacted(&mut bench, 2900);
    assert_eq!(records(&bench).last().map(|record| record.mode), Some(Mode::LimitHistory));
    assert_eq!((asked(&bench, Purpose::Summary).len(), asked(&bench, Purpose::Turn).len()), (0, 1));
}

fn goes_on(bench: &mut Bench, purpose: Purpose, bytes: usize) {
    let [call] = asked(bench, purpose)[..] else { panic!("asked for: {:?}", bench.asked) };
    bench.step(Input::ModelDelta(call, Delta::AppendContent("x".repeat(bytes))));
}

/// Every delta comes before its deadline, but the answer has no end.
#[test]
fn endless_answer_is_cut_off_by_time_and_size() {
    for is_slow in [true, false] {
        let mut bench = bench(|_| ());
        bench.asks("work");
        for n in 0..4 {
            round(&mut bench, &format!("a{n}"), 2900, None);
        }
        let [call] = asked(&bench, Purpose::Summary)[..] else { panic!("a summary is asked for") };
        for _ in 0..400 {
            if asked(&bench, Purpose::Summary) != [call] {
                break;
            }
            bench.later += if is_slow { 30_000 } else { 1 };
            goes_on(&mut bench, Purpose::Summary, if is_slow { 10 } else { 10_000 });
        }
        assert_ne!(asked(&bench, Purpose::Summary), [call], "slow: {is_slow}");
        assert!(!bench.timers.contains(&Timer::Model(call)));
        sums_up(&mut bench);
        let record = records(&bench).last().expect("the next rung");
        assert_eq!((record.mode, record.fallbacks.len()), (Mode::Simple, 1));
        assert!(record.fallbacks[0].reason.contains("did not come to an end"));
    }
    // Also beside a turn, and for a title.
    let mut beside = preparing(&[2900, 2900, 2900], |_| ());
    for _ in 0..30 {
        if asked(&beside, Purpose::Summary).len() == 1 {
            goes_on(&mut beside, Purpose::Summary, 20_000);
        }
    }
    let [call] = asked(&beside, Purpose::Turn)[..] else { panic!("the turn goes on: {:?}", beside.asked) };
    assert!(beside.timers.contains(&Timer::Model(call)));
    let mut titled = bench(|_| ());
    let settings = Settings { titles: Titles::Model, ..titled.session.settings().clone() };
    titled.step(Input::Settings(Box::new(settings)));
    titled.asks(&text(20));
    done(&mut titled, Purpose::Turn, Ok(said("done", &[], None)));
    for _ in 0..30 {
        if asked(&titled, Purpose::Title).len() == 1 {
            goes_on(&mut titled, Purpose::Title, 20_000);
        }
    }
    assert_eq!(asked(&titled, Purpose::Title), []);
    assert!(titled.effects.iter().any(|effect| matches!(effect, Effect::CancelModel(_))));
}
