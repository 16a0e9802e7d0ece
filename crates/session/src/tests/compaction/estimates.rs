//! Usage reports of a provider, and the calibrated figures that follow from them.

use crate::effect::{Answer, Effect, Purpose};
use crate::event::EventBody;
use crate::input::{Command, Compact, Input};
use crate::settings::{ModelFacts, Settings};
use crate::snapshot::Inspection;
use crate::stored::Driver;
use crate::tests::machine::drive;
use crate::tests::machine::model::Model;
use engine::delta::Delta;
use engine::message::Usage;
use engine::prompt::request::{Answer as Said, StopReason};

/// A provider that counts 1.3 times the raw tokens, plus 20.
fn provider(raw: u32) -> u32 {
    raw * 13 / 10 + 20
}

/// A session with a large window and a named model.
fn named() -> Model {
    let mut model = drive::model(Driver::Sidecar);
    let facts = ModelFacts {
        name: Some("claude-x".into()),
        window: 100_000,
        ..crate::tests::machine::set::base().model
    };
    let settings = Settings { model: facts, ..model.bench.session.settings().clone() };
    model.input(Input::Settings(Box::new(settings)));
    model
}

/// Raw tokens of the last prompt sent.
fn raw(model: &Model) -> u32 {
    model.bench.session.head().carried.continuity.sent().map(|sent| sent.tokens).expect("a prompt was sent")
}

/// Runs a turn, after a summary if one is due, with this many words and this report; returns the estimate.
fn turn(model: &mut Model, words: usize, reported: impl FnOnce(u32) -> u32) -> u32 {
    let is_asked = |model: &Model| model.bench.asked.iter().any(|ask| ask.1 == Purpose::Turn);
    model.asks("go on");
    while !is_asked(model) && !model.bench.asked.is_empty() {
        model.answers(&[]);
    }
    let estimated = model.bench.effects.iter().find_map(|effect| match effect {
        Effect::AskModel(ask) if ask.purpose == Purpose::Turn => Some(ask.tokens),
        _ => None,
    });
    let usage = Usage { input_tokens: Some(reported(raw(model))), ..Usage::default() };
    let turns = model.bench.asked.iter().find(|ask| ask.1 == Purpose::Turn);
    let call = turns.expect("a model was asked").0;
    model.input(Input::ModelDelta(call, Delta::AppendContent("some more words ".repeat(words))));
    let said = Said { parts: None, calls: Some(Vec::new()), stop: StopReason::End, usage: Some(usage) };
    model.done(call, Ok(said));
    estimated.expect("a model was asked")
}

fn inspect(model: &mut Model) -> Inspection {
    match model.command(Command::Inspect(None)) {
        Some(Ok(Answer::Inspected(inspection))) => *inspection,
        other => panic!("an inspection: {other:?}"),
    }
}

#[test]
fn figures_follow_what_the_provider_reports_also_after_a_restart() {
    let mut model = named();
    let before = inspect_after_first(&mut model);
    assert_eq!((before.estimate.factor, before.estimate.margin), (1000, 30));
    // Nine of ten of the newest estimates are within the margin; few may be from before the factor was known.
    for _ in 0..20 {
        turn(&mut model, 100, provider);
    }
    model.another_process(true);
    let settings = model.bench.session.settings().clone();
    model.input(Input::Settings(Box::new(settings)));
    let estimated = turn(&mut model, 100, provider);
    let exact = provider(raw(&model));
    assert!(estimated.abs_diff(exact) * 50 <= exact, "{estimated} was {exact}");
    let now = inspect(&mut model);
    assert!((1280..=1320).contains(&now.estimate.factor), "{:?}", now.estimate);
    assert!(now.estimate.margin < 30 && now.estimate.margin >= 10, "{:?}", now.estimate);
    assert_eq!(now.estimator, "reported+chars/4×1.30 claude-x".replace("1.30", &factor(now.estimate.factor)));
    assert_eq!(now.estimate.last.as_ref().map(|last| last.reported), Some(exact));
    let sections: u32 = now.sections.iter().map(|(_, _, tokens)| tokens).sum();
    assert_eq!(sections, now.tokens, "the sections add up to the whole");
    let told = model.bench.events.iter().rev().find_map(|(_, body)| match body {
        EventBody::ContextUpdated { estimator, .. } => Some(estimator.clone()),
        _ => None,
    });
    assert!(told.is_some_and(|name| name.starts_with("reported+chars/4×")));
}

fn factor(thousandths: u32) -> String {
    format!("{}.{:02}", thousandths / 1000, thousandths % 1000 / 10)
}

fn inspect_after_first(model: &mut Model) -> Inspection {
    turn(model, 100, provider);
    inspect(model)
}

#[test]
fn compaction_drops_the_baseline_and_keeps_the_factor() {
    let mut model = named();
    for _ in 0..8 {
        turn(&mut model, 100, provider);
    }
    let learned = inspect(&mut model).estimate;
    assert!(learned.last.is_some());
    model.command(Command::Compact(Compact::default()));
    model.answers(&[]);
    assert!(model.bench.session.transcript().in_force().is_some(), "it was compacted");
    let compacted = inspect(&mut model).estimate;
    assert_eq!((compacted.factor, compacted.last), (learned.factor, None));
    // The estimate is close even without a baseline.
    let estimated = turn(&mut model, 100, provider);
    let exact = provider(raw(&model));
    assert!(estimated.abs_diff(exact) * 10 <= exact, "{estimated} was {exact}");
}

#[test]
fn calibrated_figures_keep_the_limit_and_ignore_absurd_reports() {
    let mut model = named();
    for _ in 0..8 {
        turn(&mut model, 100, provider);
    }
    let learned = inspect(&mut model).estimate;
    turn(&mut model, 100, |raw| raw * 10);
    let is_told =
        |effect: &Effect| matches!(effect, Effect::Trace(said) if said.contains("the report is ignored"));
    assert!(model.bench.effects.iter().any(is_told), "an absurd report is logged");
    assert_eq!(inspect(&mut model).estimate, learned);
    // A prompt that fits by raw counts but not by the provider's is compacted.
    let facts = ModelFacts { window: 6000, ..model.bench.session.settings().model.clone() };
    let mut settings = Settings { model: facts, ..model.bench.session.settings().clone() };
    // Other triggers would keep the prompt from ever reaching the limit.
    (settings.policy.triggers.pre_turn, settings.policy.triggers.background) = (None, None);
    model.input(Input::Settings(Box::new(settings)));
    for _ in 0..12 {
        let estimated = turn(&mut model, 100, provider);
        let exact = provider(raw(&model));
        let limit = inspect(&mut model).limit;
        assert!(limit < 5000, "what an answer needs is kept back");
        assert!(exact <= limit && estimated <= limit, "{exact}, {estimated} of {limit}");
    }
    assert!(model.bench.session.transcript().in_force().is_some());
}
