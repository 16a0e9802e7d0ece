//! A session opened with its newest part does what the whole one does, or declines: replies, events, writes
//! and prompts are equal, and so is the session once the rest is loaded.

use crate::effect::Effect;
use crate::history_turn::HistoryTurn;
use crate::input::{Command, Compact, Input, Open, Render, ReplyTo};
use crate::part::{Claims, newest_for};
use crate::stored::{Driver, TurnStatus};
use crate::tests::bench::{Bench, id, text};
use crate::tests::machine::drive;
use crate::tests::machine::model::Model;
use crate::{Session, StepContext};
use engine::id::Time;
use engine::message::{Body, NewMessage};
use engine::tokens::QuarterOfChars;
use std::collections::BTreeSet;

fn context() -> StepContext<'static> {
    StepContext { now: Time(1_000_000), stamp: "2026-01-01T00:00:00.000Z", counter: &QuarterOfChars }
}

/// Opens the stored session both ways and runs the command in each; returns what the part served.
pub fn compare(bench: &mut Bench, command: &Command) -> Vec<String> {
    let mut served = Vec::new();
    // Unstored changes exist in the bench's session only.
    if !bench.unwritten.is_empty() {
        return served;
    }
    let look = |newest| Command::Open(Box::new(Open { newest: Some(newest), ..Open::default() }));
    let render = || Command::Render(Box::<Render>::default());
    let see = |newest| Command::Subscribe { since: None, newest: Some(newest) };
    let all = [
        vec![command.clone()],
        vec![look(0), render()],
        vec![render()],
        vec![look(3), command.clone()],
        vec![see(3), command.clone()],
        // A part does not make up what it does not hold.
        vec![look(3), look(10_000)],
        vec![look(3), see(10_000)],
    ];
    for commands in all {
        served.extend(both(bench, &commands));
    }
    served
}

fn both(bench: &mut Bench, commands: &[Command]) -> Option<String> {
    let newest = newest_for(commands.first()?)?;
    let part = bench.rows.load_part(&id(), newest)?;
    let claims =
        commands.iter().map(Claims::of_command).find(|claims| !claims.is_empty()).unwrap_or_default();
    if bench.rows.is_known(&id(), &claims, part.from) {
        return None;
    }
    let rest = bench.rows.load_rest(&id(), part.from);
    let stored = bench.rows.load(&id()).expect("a session");
    let mut here =
        Session::in_part(bench.opening(part.stored.clone(), "p".into()), part.from, &QuarterOfChars);
    let mut whole = Session::new(bench.opening(stored, "p".into()), &QuarterOfChars);
    let mut later = Session::new(bench.opening(part.with(rest, &[]), "p".into()), &QuarterOfChars);
    assert_eq!(later.snapshot(), whole.snapshot(), "the rest makes it whole");
    let mut served = String::from("part");
    for command in commands {
        let input = Input::Command(ReplyTo(1), command.clone());
        let (next, effects) = here.try_step(input.clone(), context())?;
        assert_eq!(effects, whole.step(input.clone(), context()), "{command:?}");
        later.step(input, context());
        here = next;
        let asks = effects.iter().any(|effect| matches!(effect, Effect::AskModel(_)));
        served += &format!(" {}{}", word(command), if asks { " asks" } else { "" });
    }
    assert!(later.stands_as(&here));
    assert_eq!(later.snapshot(), whole.snapshot());
    assert_eq!(later.transcript().rounds(), whole.transcript().rounds());
    Some(served)
}

fn word(command: &Command) -> &'static str {
    match command {
        Command::Open(_) => "look",
        Command::Subscribe { .. } => "see",
        Command::StartTurn(_) => "turn",
        Command::Render(render) if render.current.is_some() => "request",
        Command::Render(_) => "render",
        _ => "else",
    }
}

/// A session at rest with a summary of all earlier messages.
fn summed_up(driver: Driver) -> Model {
    let mut model = drive::model(driver);
    let is_summed_up = |model: &Model| {
        let in_force = model.bench.session.transcript().in_force();
        in_force.is_some_and(|record| record.narrative.is_some())
    };
    for n in 0..20 {
        if is_summed_up(&model) {
            break;
        }
        // A render reports requests that did not fit, which needs the whole session.
        let request = if driver == Driver::Editor { String::new() } else { text(1500) };
        model.asks(&format!("{n} {request}"));
        if driver == Driver::Editor {
            let said = NewMessage::new(Body::assistant(&text(1500), Vec::new()));
            model.command(Command::AppendRound(vec![said]));
            model.command(Command::EndTurn(TurnStatus::Completed));
            model.command(Command::Compact(Compact::default()));
        }
        model.comes_to_rest();
    }
    assert!(is_summed_up(&model));
    model
}

/// An editor's turn that its process left open ends when the session is opened, also in a part.
#[test]
fn a_part_ends_a_turn_that_was_left_open() {
    let mut model = summed_up(Driver::Editor);
    model.asks("go on");
    model.command(Command::AppendRound(vec![NewMessage::new(Body::assistant("I look.", Vec::new()))]));
    assert!(model.bench.session.kept().is_turn_running());
    let served = compare(&mut model.bench, &Command::Render(Box::<Render>::default()));
    assert!(served.iter().any(|word| word == "part look render"), "{served:?}");
}

/// With a summary of all earlier messages, the newest part serves an editor's first requests.
#[test]
fn a_part_is_enough_for_the_first_prompt() {
    let mut served = BTreeSet::new();
    for driver in [Driver::Sidecar, Driver::Editor] {
        let mut model = summed_up(driver);
        model.seen.clear();
        let request = HistoryTurn { messages: vec![NewMessage::user("go on")], ..HistoryTurn::default() };
        model.command(Command::Render(Box::new(Render { current: Some(request), ..Render::default() })));
        if driver == Driver::Editor {
            model.command(Command::EndTurn(TurnStatus::Completed));
        }
        model.asks("go on");
        served.extend(model.seen.into_iter().filter(|word| word.starts_with("part")));
    }
    let expected = [
        "part look render",
        "part look request",
        "part look turn",
        "part look turn asks",
        "part render",
        "part request",
        "part see request",
        "part see turn",
        "part see turn asks",
        "part turn",
        "part turn asks",
    ];
    assert_eq!(served, expected.map(str::to_owned).into());
}
