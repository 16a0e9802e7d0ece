//! Deadlines for a silent model, and the room for its answer.

use crate::effect::{AskModel, Effect, Purpose};
use crate::input::{Input, ModelCallId, Timer};
use crate::settings::{ModelFacts, Settings, Titles};
use crate::state::StateName;
use crate::stored::Driver;
use crate::tests::bench::{Bench, settings};
use crate::tests::compaction::triggers::{asked, bench, done, round, said};
use engine::delta::Delta;
use engine::endpoint::{Endpoint, Wire};

/// The timeout started for a call in the last step, in milliseconds.
fn started(bench: &Bench, call: ModelCallId) -> Option<u64> {
    bench.effects.iter().find_map(|effect| match effect {
        Effect::Start(timer, ms) if *timer == Timer::Model(call) => Some(*ms),
        _ => None,
    })
}

fn ask(bench: &Bench) -> &AskModel {
    let ask = bench.effects.iter().find_map(|effect| match effect {
        Effect::AskModel(ask) => Some(ask),
        _ => None,
    });
    ask.expect("a model is asked")
}

fn with_model(model: ModelFacts) -> Bench {
    Bench::with(Driver::Sidecar, Settings { model, ..settings() }, Vec::new())
}

/// Sends signs of life without content; returns the time until the call was given up, in milliseconds.
fn lives_on(bench: &mut Bench, purpose: Purpose) -> u64 {
    let [call] = asked(bench, purpose)[..] else { panic!("asked for: {:?}", bench.asked) };
    let begun = bench.later;
    for _ in 0..200 {
        bench.later += 30_000;
        bench.step(Input::ModelAlive(call));
        if !asked(bench, purpose).contains(&call) {
            assert!(!bench.timers.contains(&Timer::Model(call)), "no timer is left");
            return bench.later - begun;
        }
    }
    panic!("the call was never given up")
}

/// Comments in a stream are no answer.
#[test]
fn signs_of_life_without_a_word_come_to_an_end() {
    let mut turn = bench(|_| ());
    turn.asks("work");
    assert!((1_500_000..=1_530_000).contains(&lives_on(&mut turn, Purpose::Turn)));
    assert_eq!(turn.session.state().name(), StateName::Error);

    let mut summing = bench(|_| ());
    summing.asks("work");
    for n in 0..4 {
        round(&mut summing, &format!("a{n}"), 2900, None);
    }
    assert!((300_000..=330_000).contains(&lives_on(&mut summing, Purpose::Summary)));

    let mut titled = bench(|_| ());
    let settings = Settings { titles: Titles::Model, ..titled.session.settings().clone() };
    titled.step(Input::Settings(Box::new(settings)));
    titled.asks("work");
    done(&mut titled, Purpose::Turn, Ok(said("done", &[], None)));
    assert!((300_000..=330_000).contains(&lives_on(&mut titled, Purpose::Title)));
}

/// A delta restarts the time allowed.
#[test]
fn delta_between_signs_of_life_restarts_the_limit() {
    let mut bench = bench(|_| ());
    bench.asks("work");
    let [call] = asked(&bench, Purpose::Turn)[..] else { panic!("a turn") };
    for _ in 0..10 {
        for _ in 0..40 {
            bench.later += 30_000;
            bench.step(Input::ModelAlive(call));
        }
        bench.step(Input::ModelDelta(call, Delta::AppendContent("x".into())));
    }
    assert_eq!(asked(&bench, Purpose::Turn), [call]);
}

#[test]
fn first_delta_from_an_own_endpoint_may_take_longer() {
    let own = ModelFacts { endpoint: Some(Endpoint::of(Wire::OpenaiChat)), ..settings().model };
    for (model, first) in [(own, 300_000), (settings().model, 60_000)] {
        let mut bench = with_model(model);
        bench.asks("work");
        let [call] = asked(&bench, Purpose::Turn)[..] else { panic!("a turn") };
        assert_eq!(started(&bench, call), Some(first));
        bench.step(Input::ModelAlive(call));
        assert_eq!(started(&bench, call), Some(first), "a comment is no word");
        bench.step(Input::ModelDelta(call, Delta::AppendContent("x".into())));
        assert_eq!(started(&bench, call), Some(60_000));
        bench.step(Input::ModelAlive(call));
        assert_eq!(started(&bench, call), Some(60_000));
    }
}

#[test]
fn no_answer_is_given_more_than_its_window_has_left() {
    for (max_output, is_cut) in [(Some(64_000), true), (Some(100), false), (None, false)] {
        let mut bench = with_model(ModelFacts { window: 20_000, max_output, ..settings().model });
        bench.asks("work");
        let AskModel { request, tokens, .. } = ask(&bench);
        // Three hundredths are the estimator's margin.
        let room = 20_000 - 600 - tokens;
        assert_eq!(request.room, Some(room));
        assert_eq!(request.max_output, if is_cut { Some(room) } else { max_output });
    }
}
