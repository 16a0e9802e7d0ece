//! What requests cost: kept with each answer at the prices of its time, and added up for turn, compaction and session.

use crate::effect::Purpose;
use crate::event::EventBody;
use crate::input::{At, Command, Input};
use crate::settings::{ModelFacts, Settings, Titles};
use crate::spent::Spent;
use crate::stored::{Driver, TurnFigures};
use crate::tests::bench::{Bench, SUMMARY, broken, settings, text};
use crate::tests::compaction::triggers::{asked, bench, done, fails, records, said};
use engine::cost::{Cost, Date, Dollars, Price, PriceSource};
use engine::delta::Delta;
use engine::id::SessionId;
use engine::message::{Body, Usage};
use engine::prompt::request::Answer;
use engine::settings::PerMille;
use proptest::prelude::*;
use serde_json::json;

/// Prices in dollars for a million tokens.
fn price(input: f64, output: f64) -> Price {
    Price {
        source: PriceSource::Settings,
        input: input.into(),
        output: output.into(),
        cache_read: Some((input / 10.0).into()),
        cache_write: None,
        long: None,
        until: None,
    }
}

fn usage(input: u32, output: u32) -> Usage {
    Usage { input_tokens: Some(input), output_tokens: Some(output), ..Usage::default() }
}

fn answer(text: &str, usage: Option<Usage>) -> Answer {
    Answer { usage, ..said(text, &[], None) }
}

/// Sets the prices of the model in force.
fn set(bench: &mut Bench, prices: Vec<Price>) {
    let now = bench.session.settings().clone();
    let settings = Settings { model: ModelFacts { prices, ..now.model.clone() }, ..now };
    bench.step(Input::Settings(Box::new(settings)));
}

/// A session whose model costs 1 dollar for a million tokens of input, and 10 of output.
fn priced() -> Bench {
    let mut bench = bench(|_| ());
    set(&mut bench, vec![price(1.0, 10.0)]);
    bench
}

/// Runs a turn of one answer with this usage.
fn turn(bench: &mut Bench, usage: Option<Usage>) {
    bench.asks("go on");
    done(bench, Purpose::Turn, Ok(answer("done", usage)));
}

fn computed(dollars: f64) -> Cost {
    Cost::computed(dollars.into(), PriceSource::Settings)
}

/// The costs of the answers that the session has.
fn of_answers(bench: &Bench) -> Vec<Option<Cost>> {
    let bodies = bench.session.transcript().messages().iter().map(|message| &message.body);
    let of = |body: &Body| match body {
        Body::Assistant { beside, .. } => Some(beside.cost.as_deref().copied()),
        _ => None,
    };
    bodies.filter_map(of).collect()
}

/// The costs of the turns, as a snapshot has them.
fn of_turns(bench: &Bench) -> Vec<Option<Cost>> {
    bench.session.snapshot().turns.iter().map(|turn| turn.figures.spent).collect()
}

fn spent(bench: &Bench) -> Spent {
    bench.session.head().carried.spent.unwrap_or_default()
}

#[test]
fn answer_keeps_the_price_of_its_time() {
    let mut bench = priced();
    turn(&mut bench, Some(Usage { cached_input_tokens: Some(400), ..usage(1000, 50) }));
    set(&mut bench, vec![price(2.0, 20.0)]);
    turn(&mut bench, Some(usage(1000, 50)));
    // 600 × 1 + 400 × 0.1 + 50 × 10, then 1000 × 2 + 50 × 20 millionths.
    let costs = [Some(computed(0.00114)), Some(computed(0.003))];
    assert_eq!((&of_answers(&bench)[..], &of_turns(&bench)[..]), (&costs[..], &costs[..]));
    assert_eq!(spent(&bench), Spent { answers: computed(0.00414), ..Spent::default() });
    let told = bench.events.iter().rev().find_map(|(_, body)| match body {
        EventBody::TurnCompleted { figures, .. } => Some(figures.spent),
        _ => None,
    });
    assert_eq!(told, Some(costs[1]), "the event says it too");
}

#[test]
fn price_of_the_day_holds() {
    let mut bench = priced();
    let table = |until: Option<&str>, input: f64| Price {
        source: PriceSource::Table(Date::of("2025-12-01").unwrap()),
        until: until.and_then(Date::of),
        ..price(input, 0.0)
    };
    set(&mut bench, vec![table(Some("2026-01-01"), 1.0), table(None, 2.0)]);
    turn(&mut bench, Some(usage(1000, 1)));
    bench.stamp = "2026-01-02T00:00:00.000Z";
    turn(&mut bench, Some(usage(1000, 1)));
    let of = |dollars: f64| Some(Cost::computed(dollars.into(), table(None, 0.0).source));
    assert_eq!(of_answers(&bench), [of(0.001), of(0.002)]);
}

#[test]
fn reported_cost_goes_before_a_price() {
    let mut bench = priced();
    bench.asks("go");
    let call = bench.asked[0].0;
    let extra = json!({ "cost": 0.25 }).as_object().unwrap().clone();
    bench.step(Input::ModelDelta(call, Delta::MergeExtra(extra)));
    done(&mut bench, Purpose::Turn, Ok(answer("done", Some(usage(1000, 50)))));
    let cost = Cost::reported(0.25.into());
    assert_eq!((&of_answers(&bench)[..], spent(&bench).answers), (&[Some(cost)][..], cost));
}

#[test]
fn answer_without_a_known_cost_is_missing_in_the_sum() {
    for (prices, usage) in [
        (vec![price(1.0, 10.0)], None),
        (vec![price(1.0, 10.0)], Some(Usage { output_tokens: None, ..usage(10, 1) })),
        (vec![price(1.0, 10.0)], Some(Usage { cache_write_input_tokens: Some(2), ..usage(10, 1) })),
        (Vec::new(), Some(usage(10, 1))),
    ] {
        let mut bench = priced();
        set(&mut bench, prices.clone());
        bench.asks("go");
        done(&mut bench, Purpose::Turn, Ok(Answer { usage, ..said("look", &["c"], None) }));
        assert_eq!((of_answers(&bench), spent(&bench).answers), (vec![None], Cost::UNKNOWN), "{usage:?}");
        set(&mut bench, vec![price(1.0, 10.0)]);
        bench.tool_answers("fn a() {}");
        done(&mut bench, Purpose::Turn, Ok(answer("done", Some(self::usage(1000, 50)))));
        let cost = Cost { incomplete: 1, ..computed(0.0015) };
        assert_eq!((of_turns(&bench), spent(&bench).answers), (vec![Some(cost)], cost), "{usage:?}");
    }
}

#[test]
fn broken_attempts_count_as_far_as_they_are_known() {
    let mut bench = priced();
    bench.asks("go");
    let call = bench.asked[0].0;
    let uses = |bench: &mut Bench, input, output| {
        bench.step(Input::ModelDelta(call, Delta::SetUsage(usage(input, output))));
    };
    // The first says something and breaks.
    uses(&mut bench, 1000, 1);
    bench.step(Input::ModelDelta(call, Delta::AppendContent("Once".to_owned())));
    bench.step(broken(call));
    // The second breaks before it says anything, but its prompt was read.
    uses(&mut bench, 2000, 1);
    bench.step(broken(call));
    // Nothing came of the third.
    bench.step(broken(call));
    assert_eq!(spent(&bench).answers, Cost { incomplete: 1, ..computed(0.00201) }, "the first still stands");
    bench.step(Input::ModelDelta(call, Delta::AppendContent("Twice".to_owned())));
    done(&mut bench, Purpose::Turn, Ok(answer("Twice", Some(usage(1000, 50)))));
    // 1010 + 2010 + 1500 millionths.
    let cost = Cost { incomplete: 2, ..computed(0.00452) };
    assert_eq!((of_answers(&bench), spent(&bench).answers), (vec![Some(cost)], cost));
    assert_eq!(of_turns(&bench), [Some(cost)]);
}

#[test]
fn request_that_came_to_nothing_costs_nothing() {
    let mut bench = priced();
    bench.asks("go");
    fails(&mut bench, Purpose::Turn);
    assert_eq!((bench.session.head().carried.spent, of_turns(&bench)), (None, vec![None]));
    // A part of an answer was paid for, whatever that was.
    bench.asks("go");
    let call = bench.asked[0].0;
    bench.step(Input::ModelDelta(call, Delta::AppendContent("Once".to_owned())));
    bench.command(Command::CancelTurn { turn: None, queued: false });
    assert_eq!((spent(&bench).answers, of_answers(&bench)), (Cost::UNKNOWN, vec![None]));
}

#[test]
fn answer_of_several_runs_has_no_price() {
    let mut bench = priced();
    bench.asks("go");
    let call = bench.asked[0].0;
    let extra = json!({ "modelRuns": 2 }).as_object().unwrap().clone();
    bench.step(Input::ModelDelta(call, Delta::MergeExtra(extra)));
    done(&mut bench, Purpose::Turn, Ok(answer("done", Some(usage(1000, 50)))));
    assert_eq!(spent(&bench).answers, Cost::UNKNOWN);
}

/// A session that asks for a summary of two long turns.
fn summarizing(change: impl FnOnce(&mut Settings)) -> Bench {
    let mut bench = bench(|policy| policy.triggers.pre_turn = Some(PerMille::new(800)));
    let mut settings = bench.session.settings().clone();
    settings.model.prices = vec![price(1.0, 10.0)];
    change(&mut settings);
    bench.step(Input::Settings(Box::new(settings)));
    for size in [5000, 4400] {
        bench.asks("go");
        // Without usage, which would calibrate the count.
        done(&mut bench, Purpose::Turn, Ok(answer(&text(size), None)));
    }
    bench.asks("third");
    bench
}

#[test]
fn compaction_says_what_its_requests_cost() {
    let mut bench = summarizing(|settings| {
        let small = ModelFacts {
            name: Some("small".into()),
            prices: vec![price(0.5, 1.0)],
            ..settings.model.clone()
        };
        settings.summary_model = Some(small);
    });
    // The model for summaries fails after a part of its answer; the main one is asked, whose summary is none; so the first
    // one is asked again, in another way.
    let [call] = asked(&bench, Purpose::Summary)[..] else { panic!("a summary is asked for") };
    bench.step(Input::ModelDelta(call, Delta::SetUsage(usage(2000, 10))));
    bench.step(Input::ModelDelta(call, Delta::AppendContent("<summary>".to_owned())));
    fails(&mut bench, Purpose::Summary);
    done(&mut bench, Purpose::Summary, Ok(answer("", Some(usage(2000, 10)))));
    done(&mut bench, Purpose::Summary, Ok(answer(SUMMARY, Some(usage(3000, 100)))));
    // 2000 × 0.5 + 10 × 1, 2000 × 1 + 10 × 10, 3000 × 0.5 + 100 × 1 millionths.
    let cost = Cost { incomplete: 1, ..computed(0.00471) };
    assert_eq!(records(&bench).iter().map(|record| record.cost).collect::<Vec<_>>(), [Some(cost)]);
    let answers = Cost { incomplete: 2, ..Cost::default() };
    assert_eq!(spent(&bench), Spent { answers, summaries: cost, ..Spent::default() });
}

#[test]
fn cancelled_summary_was_paid_for() {
    let mut bench = summarizing(|_| ());
    let [call] = asked(&bench, Purpose::Summary)[..] else { panic!("a summary is asked for") };
    bench.step(Input::ModelDelta(call, Delta::SetUsage(usage(2000, 10))));
    bench.command(Command::CancelTurn { turn: None, queued: false });
    assert_eq!(spent(&bench).summaries, Cost { incomplete: 1, ..computed(0.0021) });
    assert_eq!(records(&bench), []);
}

#[test]
fn summary_made_ahead_of_time_brings_its_cost_along() {
    for is_ready in [true, false] {
        let mut bench = bench(|policy| policy.triggers.background = Some(PerMille::new(750)));
        set(&mut bench, vec![price(1.0, 10.0)]);
        bench.asks("work");
        let round = |bench: &mut Bench, n: usize, size| {
            done(bench, Purpose::Turn, Ok(said("on", &[&format!("a{n}")], None)));
            bench.tool_answers(&text(size));
        };
        for (n, size) in [2900, 2900, 900, 900, 900, 900].into_iter().enumerate() {
            round(&mut bench, n, size);
        }
        let sums_up = |bench: &mut Bench| {
            done(bench, Purpose::Summary, Ok(answer(SUMMARY, Some(usage(3000, 100)))));
        };
        if is_ready {
            sums_up(&mut bench);
        }
        for n in 10..50 {
            if asked(&bench, Purpose::Turn).is_empty() || !records(&bench).is_empty() {
                break;
            }
            round(&mut bench, n, 900);
        }
        if !is_ready {
            sums_up(&mut bench);
        }
        let costs: Vec<_> = records(&bench).iter().map(|record| record.cost).collect();
        assert_eq!((costs, spent(&bench).summaries), (vec![Some(computed(0.004))], computed(0.004)));
    }
}

#[test]
fn title_counts_apart() {
    let settings = Settings { titles: Titles::Model, ..settings() };
    let mut bench = Bench::with(Driver::Sidecar, settings, Vec::new());
    set(&mut bench, vec![price(1.0, 10.0)]);
    turn(&mut bench, Some(usage(1000, 0)));
    done(&mut bench, Purpose::Title, Ok(answer("A name", Some(usage(100, 10)))));
    let (answers, titles) = (computed(0.001), computed(0.0002));
    assert_eq!(spent(&bench), Spent { answers, titles, ..Spent::default() });
    assert_eq!(spent(&bench).total(), computed(0.0012));
    assert_eq!(of_turns(&bench), [Some(answers)], "a title is no part of the turn");
}

#[test]
fn money_stays_spent_after_rewind_reset_and_restart() {
    let mut bench = priced();
    turn(&mut bench, Some(usage(1000, 0)));
    turn(&mut bench, Some(usage(2000, 0)));
    let all = Spent { answers: computed(0.003), ..Spent::default() };
    bench.command(Command::Truncate { from: At::Index(2), key: None });
    assert_eq!((of_turns(&bench), spent(&bench)), (vec![Some(computed(0.001))], all));
    bench.another_process();
    bench.command(Command::Open(Box::default()));
    assert_eq!((of_turns(&bench), spent(&bench)), (vec![Some(computed(0.001))], all));
    bench.command(Command::Reset { keep_queue: false, key: None });
    assert_eq!((of_turns(&bench), spent(&bench)), (vec![], all));
}

#[test]
fn fork_begins_at_nothing() {
    let mut bench = priced();
    turn(&mut bench, Some(usage(1000, 0)));
    let to = SessionId::new("f");
    bench.command(Command::Branch { to: to.clone(), up_to: None, title: None, key: None });
    let fork = bench.rows.load(&to).expect("a fork");
    assert_eq!(fork.head.carried.spent, Some(Spent::default()));
    assert_eq!(fork.turns[0].figures.spent, Some(computed(0.001)), "its turns say what they had cost");
}

#[test]
fn session_of_an_older_version_says_that_its_sum_began_late() {
    let mut bench = priced();
    turn(&mut bench, None);
    let mut stored = bench.rows.load(&crate::tests::bench::id()).expect("a session");
    stored.head.carried.spent = None;
    bench.session = crate::Session::new(bench.opening(stored, "2".into()), &engine::tokens::QuarterOfChars);
    turn(&mut bench, Some(usage(1000, 0)));
    assert_eq!(spent(&bench), Spent { answers: computed(0.001), began_late: true, ..Spent::default() });
}

#[test]
fn stored_forms_are_read_back() {
    let old: TurnFigures = serde_json::from_value(json!({ "began": 1, "cost": 0.25 })).unwrap();
    assert_eq!(old.spent, Some(Cost::reported(0.25.into())));
    let spent = Some(Cost { incomplete: 2, ..computed(0.5) });
    let figures = TurnFigures { spent, ..TurnFigures::default() };
    let stored = json!({ "spent": { "dollars": 0.5, "settings": true, "incomplete": 2 } });
    assert_eq!(serde_json::to_value(figures).unwrap(), stored);
    assert_eq!(serde_json::from_value::<TurnFigures>(stored).unwrap(), figures);
    let sum = Spent { titles: Cost::UNKNOWN, began_late: true, ..Spent::default() };
    let stored = json!({ "titles": { "incomplete": 1 }, "beganLate": true });
    assert_eq!(serde_json::to_value(sum).unwrap(), stored);
    assert_eq!(serde_json::from_value::<Spent>(stored).unwrap(), sum);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn kept_sum_is_that_of_the_answers(
        answers in prop::collection::vec((any::<bool>(), prop::option::of((0..5000u32, 0..900u32)), 0..4u8), 1..12),
    ) {
        let mut bench = priced();
        for (n, (is_known, used, calls)) in answers.iter().enumerate() {
            if bench.asked.is_empty() {
                bench.asks("go");
            }
            set(&mut bench, if *is_known { vec![price(f64::from(*calls), 7.0)] } else { Vec::new() });
            let used = used.map(|(input, output)| usage(input, output));
            let calls = if *calls > 1 { vec![format!("c{n}")] } else { Vec::new() };
            let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
            done(&mut bench, Purpose::Turn, Ok(Answer { usage: used, ..said("so", &calls, None) }));
            bench.tool_answers("fn a() {}");
        }
        let mut sum = Cost::default();
        of_answers(&bench).into_iter().for_each(|cost| sum.add(cost.unwrap_or(Cost::UNKNOWN)));
        prop_assert_eq!(spent(&bench), Spent { answers: sum, ..Spent::default() });
        let dollars = |cost: &Cost| cost.dollars.unwrap_or_default();
        let of_turns: f64 = of_turns(&bench).iter().flatten().map(|cost| f64::from(dollars(cost))).sum();
        if bench.asked.is_empty() {
            prop_assert_eq!(Dollars::from(of_turns), dollars(&sum));
        }
    }
}
