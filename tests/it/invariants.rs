//! The engine's invariants in every render of generated sessions. The rules are in `rules` and `check`; this
//! file chooses the sessions.
#![allow(clippy::panic, clippy::expect_used, reason = "helpers of tests fail as tests do")]

mod check;
mod drive;
mod expect;
mod generate;
mod rules;
mod trajectory;
mod undo;

use check::{Seen, hold};
use drive::{Whole, hold_at_every_length, hold_with_injections};
use engine::compact::policy::OFF;
use engine::compact::record::{Mode, Placement};
use engine::settings::BudgetSettings;
use engine::tokens::QuarterOfChars;
use generate::{ACCEPTED, Case, REFUSED, case, entries, import, policies};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngSeed, TestRunner};
use threadhold::replay::{Options, Unfit, replay};
use threadhold::tokenizer::O200k;
use undo::hold_undone;

/// The same cases in every run, without files. `PROPTEST_CASES` and `PROPTEST_RNG_SEED` override them.
pub fn config(cases: u32) -> ProptestConfig {
    let set = ProptestConfig::default();
    let asks_for = |name: &str| std::env::var_os(name).is_some();
    ProptestConfig {
        cases: if asks_for("PROPTEST_CASES") { set.cases } else { cases },
        rng_seed: if asks_for("PROPTEST_RNG_SEED") { set.rng_seed } else { RngSeed::Fixed(11) },
        failure_persistence: None,
        ..set
    }
}

/// Values of a strategy, the same in every run.
fn fixed<S: Strategy>(seed: u64, strategy: S) -> impl Iterator<Item = S::Value> {
    let mut runner = TestRunner::new(ProptestConfig { rng_seed: RngSeed::Fixed(seed), ..config(1) });
    std::iter::repeat_with(move || {
        strategy.new_tree(&mut runner).expect("a strategy without filters").current()
    })
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn every_rule_holds_in_every_render_of_any_session(case in case()) {
        hold(&case, &QuarterOfChars);
    }
}

proptest! {
    #![proptest_config(config(120))]

    #[test]
    fn every_rule_holds_with_messages_injected_between_rounds(case in case(), at in prop::collection::vec(any::<bool>(), 60)) {
        hold_with_injections(&case, &at, &QuarterOfChars);
    }
}

proptest! {
    #![proptest_config(config(40))]

    #[test]
    fn the_same_session_gives_the_same_bytes_twice(case in case()) {
        let (first, seen_first) = hold(&case, &QuarterOfChars);
        let (second, seen_second) = hold(&case, &QuarterOfChars);
        prop_assert_eq!(seen_first, seen_second);
        prop_assert_eq!(first.compactions, second.compactions);
        prop_assert_eq!(first.transcript.messages(), second.transcript.messages());
    }
}

proptest! {
    #![proptest_config(config(12))]

    #[test]
    fn every_rule_holds_under_an_exact_counter(case in case()) {
        hold(&case, &O200k);
    }
}

/// The rules for each length of a session, for each policy, with and without a model.
#[test]
fn every_rule_holds_at_every_length_up_to_two_hundred() {
    let entries = fixed(3, entries(30..31, 8)).next().expect("a session");
    for (policy, summarizer) in policies().into_iter().flat_map(|p| [(p.clone(), None), (p, Some("echo"))]) {
        let import = import(entries[..=200].to_vec(), true);
        hold_at_every_length(
            &Case { import, window: 6_000, policy, summarizer, max_result: None },
            &QuarterOfChars,
        );
    }
}

/// Checks that the generated sessions reach every stage of compaction.
#[test]
fn every_rung_of_the_ladder_is_reached() {
    let mut all = Seen::default();
    for case in fixed(5, case()).take(120) {
        let (_, seen) = hold(&case, &QuarterOfChars);
        all.cannot_fit += seen.cannot_fit;
        seen.modes.into_iter().for_each(|(mode, times)| *all.modes.entry(mode).or_default() += times);
    }
    for mode in [Mode::LimitHistory, Mode::Full, Mode::Simple, Mode::Ledger, Mode::Dropped] {
        assert!(all.modes.get(&mode).is_some_and(|times| *times >= 5), "{mode:?} of {:?}", all.modes);
    }
    assert!(all.cannot_fit > 0, "nothing was too large");
}

/// Each misbehaviour in each kind of request, on the same sessions, and no model at all.
#[test]
fn the_ladder_ends_whatever_the_model_does() {
    let policies = policies();
    for (n, session) in fixed(8, entries(3..5, 6)).take(3).enumerate() {
        for behaviour in REFUSED.into_iter().chain(ACCEPTED).map(Some).chain([None]) {
            for policy in &policies[3..6] {
                let case = Case {
                    import: import(session.clone(), n % 2 == 0),
                    window: 5_000,
                    policy: policy.clone(),
                    summarizer: behaviour,
                    max_result: None,
                };
                let (replayed, seen) = hold(&case, &QuarterOfChars);
                assert_eq!(replayed.renders as usize, seen.prompts.len());
            }
        }
    }
}

#[test]
fn undo_is_the_earlier_bytes_and_what_was_said_since() {
    let placements = [Placement::UserAtBoundary, Placement::SystemMessage, Placement::SystemPromptTail];
    let mut undone = 0;
    for (case, placement) in fixed(21, case()).take(90).zip(placements.into_iter().cycle()) {
        undone += hold_undone(&case, placement, &QuarterOfChars);
    }
    assert!(undone > 200, "{undone} are not enough to tell");
}

#[test]
fn without_compaction_prompts_are_whole_or_overflow() {
    for case in fixed(13, case()).take(20) {
        let options = Options {
            window: case.window,
            policy: OFF,
            budget: BudgetSettings::default(),
            max_result: None,
            recorded: false,
        };
        let replayed =
            replay(&case.import, &options, &QuarterOfChars, &mut None, &mut Whole).expect("a window");
        assert!(replayed.compactions.is_empty());
        assert!(replayed.unfit.iter().all(|(_, unfit)| matches!(unfit, Unfit::Exceeded(_))));
    }
}
