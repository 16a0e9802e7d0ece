//! Notices about compactions: messages left out, how long that lasts, unusable reviews, and learned limits.

use crate::effect::{Answer, Effect, Purpose, Rendered};
use crate::history_turn::HistoryTurn;
use crate::input::{Command, Input, Render, Review};
use crate::settings::{ModelFacts, Settings};
use crate::stored::Driver;
use crate::tests::bench::{Bench, text, tool};
use crate::tests::compaction::triggers::{
    asked, bench, done, fails, overflow, records, round, said, sums_up, turn,
};
use engine::compact::policy::{Consent, Stage};
use engine::compact::record::Mode;
use engine::message::{Body, COMPACTION_DROPPED, COMPACTION_LASTS, NewMessage, REVIEW_UNUSABLE};
use engine::prompt::item::Approval;
use engine::text::head;

fn notices(bench: &Bench, kind: &str) -> Vec<String> {
    let messages = bench.session.transcript().messages().iter();
    let text = |body: &Body| match body {
        Body::Event { kind: of, text } if of == kind => Some(text.to_string()),
        _ => None,
    };
    messages.filter_map(|message| text(&message.body)).collect()
}

/// Renders under this ceiling; returns the result and the number of model calls for summaries.
fn rendered(bench: &mut Bench, ceiling: Option<u32>) -> (Rendered, usize) {
    let render = Render { ceiling, ..Render::default() };
    let number = bench.command(Command::Render(Box::new(render)));
    let mut calls = 0;
    while !asked(bench, Purpose::Summary).is_empty() {
        calls += 1;
        sums_up(bench);
    }
    match bench.reply(number) {
        Some(Ok(Answer::Rendered(rendered))) => ((**rendered).clone(), calls),
        other => panic!("a prompt: {other:?}"),
    }
}

fn kinds(rendered: &Rendered) -> Vec<&str> {
    rendered.diagnostics.iter().map(|diagnostic| diagnostic.kind).collect()
}

/// A session of an editor's loop in a large window, rendered under small ceilings.
fn edited() -> Bench {
    let mut settings = crate::tests::bench::settings();
    settings.policy.limit_history = Stage::Off;
    settings.model = ModelFacts { window: 128_000, ..settings.model };
    let mut bench = Bench::with(Driver::Editor, settings, vec![tool("read", Approval::Allow)]);
    let turn = |id: String, messages| {
        let external_id = Some(id);
        HistoryTurn { external_id, detailed: true, messages, ..HistoryTurn::default() }
    };
    let said = |n| {
        vec![
            NewMessage::user(&format!("Request {n}")),
            NewMessage::new(Body::assistant(&text(2000), Vec::new())),
        ]
    };
    let history: Vec<HistoryTurn> = (0..14).map(|n| turn(format!("r{n}"), said(n))).collect();
    let current = Some(turn("n".into(), vec![NewMessage::user("name this chat")]));
    let render = Render { history: Some(history), current, ..Render::default() };
    bench.command(Command::Render(Box::new(render)));
    bench
}

/// A ceiling limits the prompt; the source that a model reads for a summary is limited by its window.
#[test]
fn small_ceiling_costs_one_call_and_reports_what_it_drops() {
    for ceiling in [100, 300, 2500] {
        let mut bench = edited();
        let (rendered, calls) = rendered(&mut bench, Some(ceiling));
        assert!(calls <= 1, "{ceiling}: {calls} calls");
        let record = records(&bench).last().expect("a record").clone();
        assert!(rendered.prompt.tokens <= ceiling && record.tokens_after <= ceiling);
        let lasts = rendered.diagnostics.iter().find(|diagnostic| diagnostic.kind == COMPACTION_LASTS);
        assert!(lasts.is_some_and(|lasts| lasts.message.contains("context/undo")), "{:?}", kinds(&rendered));
        assert_eq!(kinds(&rendered).contains(&COMPACTION_DROPPED), record.mode == Mode::Dropped, "{ceiling}");
        if ceiling == 100 {
            assert_eq!(record.mode, Mode::Dropped);
            let dropped = rendered.diagnostics.iter().find(|d| d.kind == COMPACTION_DROPPED).expect("told");
            assert!(dropped.message.contains("messages are left out") && dropped.message.contains("s/m"));
        }
    }
    let mut bench = edited();
    assert_eq!(kinds(&rendered(&mut bench, None).0), [] as [&str; 0]);
}

#[test]
fn turn_whose_oldest_rounds_were_dropped_says_so() {
    // A request and a round that leave no room for a block.
    let crowded = |request: u16| {
        let mut bench = bench(|policy| policy.consent = Consent::Off);
        bench.asks(&text(request * 100));
        round(&mut bench, "a", 800, None);
        done(&mut bench, Purpose::Turn, Ok(said("on", &["b", "c"], None)));
        (0..2).for_each(|_| bench.tool_answers(&text(3900)));
        bench
    };
    let is_dropped = |bench: &Bench| {
        records(bench).last().is_some_and(|made| made.mode == Mode::Dropped && made.dropped.is_some())
    };
    let mut bench = (24..36).map(crowded).find(is_dropped).expect("one of them drops its oldest round");
    assert_eq!(notices(&bench, COMPACTION_DROPPED), [] as [&str; 0], "not in the middle of an answer");
    done(&mut bench, Purpose::Turn, Ok(said("done", &[], None)));
    let [notice] = &notices(&bench, COMPACTION_DROPPED)[..] else { panic!("one notice") };
    assert!(notice.contains("left out of the prompt") && notice.contains("context/undo"), "{notice}");
}

/// A session that asks its user to review a compaction.
fn reviewing(limit: Stage) -> Bench {
    let mut bench = bench(|policy| {
        policy.consent = Consent::Ask;
        policy.limit_history = limit;
    });
    bench.asks("work");
    for n in 0..4 {
        round(&mut bench, &format!("a{n}"), 2900, None);
    }
    if limit == Stage::Off {
        sums_up(&mut bench);
    }
    assert!(records(&bench).is_empty());
    bench
}

#[test]
fn unusable_review_is_reported_and_applies_only_what_was_shown() {
    let shown = |bench: &Bench| {
        bench.effects.iter().find_map(|effect| match effect {
            Effect::AskReview(ask) => Some(ask.record.clone()),
            _ => None,
        })
    };
    let mut limited = reviewing(Stage::ShortenResults);
    let record = shown(&limited).expect("a question");
    assert_eq!(record.mode, Mode::LimitHistory);
    limited.step(Input::Reviewed(Some(Review::Edit("MY WORDS".into()))));
    let held = &records(&limited)[0];
    assert_eq!((held.covers, &held.block, held.unreviewed), (record.covers, &record.block, true));
    let mut unreadable = reviewing(Stage::Off);
    unreadable.step(Input::Reviewed(Some(Review::Unusable("an edit came without its text".into()))));
    assert!(records(&unreadable)[0].unreviewed);
    for (bench, why) in
        [(&mut limited, "no text that could be changed"), (&mut unreadable, "without its text")]
    {
        done(bench, Purpose::Turn, Ok(said("done", &[], None)));
        let [notice] = &notices(bench, REVIEW_UNUSABLE)[..] else { panic!("one notice") };
        assert!(notice.contains(why), "{notice}");
    }
    // An edit longer than the model's narrative covers the same messages.
    let mut longer = reviewing(Stage::Off);
    let record = shown(&longer).expect("a question");
    longer.step(Input::Reviewed(Some(Review::Edit(text(300)))));
    let held = &records(&longer)[0];
    assert_eq!((held.covers, held.unreviewed), (record.covers, false));
    assert!(held.block.contains(head(&text(300), 200)));
}

/// A limit learned in one window says nothing of another one, nor of a new chat.
#[test]
fn learned_limit_is_shown_and_dropped_with_window_or_chat() {
    let learned = |bench: &mut Bench| {
        let number = bench.command(Command::Inspect(None));
        match bench.reply(number) {
            Some(Ok(Answer::Inspected(inspection))) => (inspection.learned_limit, inspection.limit),
            other => panic!("an inspection: {other:?}"),
        }
    };
    let refused = || {
        let mut bench = bench(|_| ());
        for _ in 0..2 {
            turn(&mut bench, "work", &text(2600));
        }
        bench.asks("more");
        done(&mut bench, Purpose::Turn, overflow(Some(2000), Some(2500)));
        let traced = bench.effects.iter().filter(
            |effect| matches!(effect, Effect::Trace(what) if what.contains("took less than was sent")),
        );
        assert_eq!(traced.count(), 1, "{:?}", bench.effects);
        if !asked(&bench, Purpose::Summary).is_empty() {
            sums_up(&mut bench);
        }
        while asked(&bench, Purpose::Turn).is_empty() && !asked(&bench, Purpose::Summary).is_empty() {
            fails(&mut bench, Purpose::Summary);
        }
        done(&mut bench, Purpose::Turn, Ok(said("so", &[], None)));
        let (limit, most) = learned(&mut bench);
        assert!(limit.is_some_and(|limit| limit.tokens == most && limit.tokens < 2000), "{limit:?}");
        bench
    };
    let with = |bench: &Bench, model: ModelFacts| Settings { model, ..bench.session.settings().clone() };
    let mut other = refused();
    let old = other.session.settings().clone();
    let window = ModelFacts { window: 200_000, ..old.model.clone() };
    let settings = with(&other, window);
    other.step(Input::Settings(Box::new(settings)));
    assert!(learned(&mut other).1 > 100_000);
    other.step(Input::Settings(Box::new(old)));
    assert_eq!(learned(&mut other).0, None, "it is forgotten");
    let mut reset = refused();
    reset.command(Command::Reset { keep_queue: false, key: None });
    assert_eq!(learned(&mut reset).0, None);
    let mut again = refused();
    again.another_process();
    assert!(learned(&mut again).0.is_some(), "another process knows of it");
}
