//! Prompts extend the previous one byte for byte: each break is reported once, with its cost. `model` checks
//! it after every step; here it is shown cause by cause.

use crate::breaks::BreakCause;
use crate::effect::Answer;
use crate::event::EventBody;
use crate::history_turn::HistoryTurn;
use crate::input::{At, Command, Compact, GivenPrefix, Input, Render, StartTurn, Summarize, ToolOutcome};
use crate::settings::ModelFacts;
use crate::stored::Driver;
use crate::tests::bench::{result, text, tool};
use crate::tests::machine::drive;
use crate::tests::machine::model::Model;
use engine::message::{Content, NewMessage};
use engine::prompt::item::Approval;
use std::collections::BTreeSet;

/// Returns the breaks reported since an event, with the tokens reused and lost.
fn told(model: &Model, since: usize) -> Vec<(Vec<BreakCause>, u32, u32)> {
    let events = model.bench.events.iter().skip(since);
    let told = events.filter_map(|(_, body)| match body {
        EventBody::PrefixBroken { causes, reused, lost } => {
            Some((causes.iter().copied().collect(), *reused, *lost))
        }
        _ => None,
    });
    told.collect()
}

/// Three turns with a call each.
fn talk() -> Model {
    let mut model = drive::model(Driver::Sidecar);
    for words in ["one", "two", "three"] {
        model.asks(words);
        model.answers(&["read"]);
        for call in model.open_calls() {
            model.bench.invoked.clear();
            let outcome = ToolOutcome::Answered(result(call.as_str(), &text(1200)));
            model.input(Input::ToolDone(call, outcome));
        }
        model.answers(&[]);
    }
    assert_eq!(told(&model, 0), []);
    model
}

/// Returns the breaks reported for a change and the next requests, which a new process sends if `restart`.
fn breaks(restart: bool, change: impl FnOnce(&mut Model)) -> Vec<(Vec<BreakCause>, u32, u32)> {
    let mut model = talk();
    let mut since = model.bench.events.len();
    change(&mut model);
    let mut all = Vec::new();
    if restart {
        // A process that ends takes its events along.
        all = told(&model, since);
        model.another_process(true);
        since = 0;
    }
    model.asks("next");
    model.answers(&[]);
    model.asks("and next");
    all.extend(told(&model, since));
    all
}

fn words(text: &str) -> Vec<Content> {
    vec![Content::Text(text.into())]
}

#[test]
fn prefix_break_is_reported_once_with_cause_and_cost() {
    for restart in [false, true] {
        assert_eq!(breaks(restart, |_| {}), [], "nothing happened");
        let one = |name: &str, cause: BreakCause, change: &dyn Fn(&mut Model)| {
            let told = breaks(restart, |model| change(model));
            let [(causes, reused, lost)] = &told[..] else { panic!("{name}, {restart}: {told:?}") };
            assert_eq!(causes, &[cause], "{name}");
            assert!(*lost > 0, "{name}: it costs something");
            (*reused, *lost)
        };
        let update = |model: &mut Model| {
            let command = Command::Update {
                message: At::Index(0),
                content: words("other"),
                regenerate: false,
                key: None,
            };
            model.command(command);
        };
        let first = one("an edit", BreakCause::Edit, &update);
        let remove = |model: &mut Model| {
            let message = At::Index(7);
            model.command(Command::Remove { message, key: None });
        };
        let late = one("a removal", BreakCause::Remove, &remove);
        assert!(late.0 > first.0, "what stands before the change is reused: {first:?}, {late:?}");
        one("a cut", BreakCause::Truncate, &|model| {
            model.command(Command::Truncate { from: At::Index(4), key: None });
        });
        let other = ModelFacts { name: Some("another".into()), ..crate::tests::machine::set::base().model };
        let reused = one("a model", BreakCause::Model, &|model| {
            let settings =
                crate::settings::Settings { model: other.clone(), ..model.bench.session.settings().clone() };
            model.input(Input::Settings(Box::new(settings)));
        });
        assert_eq!(reused.0, 0, "nothing of another model's cache is reused");
        let reused = one("tools", BreakCause::Tools, &|model| {
            let tools = Some(vec![tool("only", Approval::Allow)]);
            let prefix = GivenPrefix { tools, sections: None };
            let content = words("with other tools");
            let start = StartTurn { content, prefix, ..StartTurn::default() };
            model.command(Command::StartTurn(Box::new(start)));
            model.answers(&[]);
        });
        assert_eq!(reused.0, 0, "tools stand before everything else");
        one("a compaction", BreakCause::Compaction, &|model| {
            model.command(Command::Compact(Compact::default()));
            model.answers(&[]);
            assert!(model.bench.session.transcript().in_force().is_some());
        });
    }
}

#[test]
fn breakpoints_change_nothing_that_is_sent() {
    let mut model = drive::model(Driver::Editor);
    let mut render = |n: u8, breakpoints: bool| {
        let id = format!("e{n}");
        let request =
            NewMessage { external_id: Some(id.clone()), ..NewMessage::user(&text(u16::from(n) * 40)) };
        let turn = HistoryTurn {
            external_id: Some(id),
            detailed: false,
            messages: vec![request],
            metadata: Vec::new(),
        };
        let summarize = Summarize::Auto;
        let render = Render { current: Some(turn), breakpoints, summarize, ..Render::default() };
        match model.command(Command::Render(Box::new(render))) {
            Some(Ok(Answer::Rendered(rendered))) => *rendered,
            other => panic!("a prompt: {other:?}"),
        }
    };
    for n in 1..5 {
        let (with, without) = (render(n, true), render(n, false));
        assert!(with.breakpoints && !without.breakpoints);
        assert_eq!((&with.prompt.items, &with.prompt.cuts), (&without.prompt.items, &without.prompt.cuts));
        let marks: BTreeSet<usize> = with.prompt.plan.breakpoints().collect();
        assert!((1..=4).contains(&marks.len()));
    }
}
