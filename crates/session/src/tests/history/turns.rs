//! What a turn took and how it ended, as events and snapshots say it, in the editor's loop too.

use crate::effect::{Answer, Effect, Refusal};
use crate::event::EventBody;
use crate::history_turn::HistoryTurn;
use crate::input::{At, Command, Input, Render, Timer};
use crate::settings::Settings;
use crate::snapshot::TurnSnapshot;
use crate::state::StateName;
use crate::stored::{Driver, Head, TurnStatus, Write};
use crate::tests::bench::{Bench, settings, text};
use engine::compact::policy::Stage;
use engine::delta::Delta;
use engine::id::SessionId;
use engine::message::{Beside, Body, NewMessage, Usage};
use engine::settings::PerMille;

/// A turn of the editor's loop with this request, after others of some size.
fn turn(request: &str) -> HistoryTurn {
    let messages = vec![NewMessage { external_id: Some(request.into()), ..NewMessage::user(request) }];
    HistoryTurn { external_id: Some(request.into()), detailed: true, messages, metadata: Vec::new() }
}

fn past(request: &str) -> HistoryTurn {
    let mut turn = turn(request);
    turn.messages.push(NewMessage::new(Body::assistant(&text(3000), Vec::new())));
    turn
}

/// Renders the prompt of a turn; the history is compacted for it once it is large.
fn render(bench: &mut Bench, past_turns: &[&str], current: &str) -> u64 {
    let history = Some(past_turns.iter().map(|request| past(request)).collect());
    let current = Some(turn(current));
    bench.command(Command::Render(Box::new(Render { history, current, ..Render::default() })))
}

/// A session of an editor.
fn plain() -> Bench {
    let mut bench = Bench::with(Driver::Editor, settings(), Vec::new());
    triggered(&mut bench, None);
    bench
}

/// A session of an editor that compacts before a turn as soon as there is something to compact.
fn editors() -> Bench {
    let mut bench = plain();
    triggered(&mut bench, Some(500));
    bench
}

fn triggered(bench: &mut Bench, pre_turn: Option<u32>) {
    let mut settings: Settings = bench.session.settings().clone();
    settings.policy.limit_history = Stage::Off;
    settings.policy.min_new_tokens = Some(0);
    settings.policy.triggers.pre_turn = pre_turn.map(PerMille::new);
    settings.policy.triggers.background = None;
    bench.step(Input::Settings(Box::new(settings)));
}

fn newest(bench: &Bench) -> TurnSnapshot {
    bench.session.snapshot().turns.pop().expect("a turn")
}

fn is_cancelled(bench: &Bench, to: u64) -> bool {
    matches!(bench.reply(to), Some(Err(Refusal::Cancelled)))
}

/// The rows that the newest step writes.
fn writes(bench: &Bench) -> Vec<&Write> {
    let writes = bench.effects.iter().filter_map(|effect| match effect {
        Effect::Write(write) => Some(write),
        _ => None,
    });
    writes.collect()
}

/// The row of the session, if the newest step writes it.
fn head(bench: &Bench) -> Option<&Head> {
    let mut newest_first = writes(bench).into_iter().rev();
    newest_first.find_map(|write| match write {
        Write::Head(head) => Some(&**head),
        _ => None,
    })
}

#[test]
fn render_writes_nothing_by_itself_and_its_marks_come_with_the_next_commit() {
    let mut bench = plain();
    render(&mut bench, &[], "now");
    let round = |n: u32| {
        let id = Some(format!("round-{n}"));
        vec![NewMessage {
            external_id: id,
            ..NewMessage::new(Body::assistant(&format!("Step {n}."), Vec::new()))
        }]
    };
    let again = || Command::Render(Box::<Render>::default());
    bench.command(Command::AppendRound(round(1)));
    bench.command(again());
    assert!(writes(&bench).is_empty(), "{:?}", writes(&bench));
    let sent = bench.session.head().carried.continuity.clone();
    bench.command(Command::AppendRound(round(2)));
    assert_eq!(head(&bench).map(|head| &head.carried.continuity), Some(&sent), "with the next commit");
    bench.command(again());
    assert!(writes(&bench).is_empty());
    let sent = bench.session.head().carried.continuity.clone();
    bench.step(Input::Ending);
    assert_eq!(head(&bench).map(|head| &head.carried.continuity), Some(&sent), "with the end");
    bench.step(Input::Ending);
    assert!(writes(&bench).is_empty(), "once");
}

#[test]
fn cancelled_turn_of_an_editor_answers_each_render_that_waits() {
    let mut bench = editors();
    let first = render(&mut bench, &["a", "b"], "now");
    assert!(bench.reply(first).is_none(), "its history is summed up");
    let second = render(&mut bench, &["a", "b"], "now");
    let cancel = bench.command(Command::CancelTurn { turn: None, queued: false });
    assert!(is_cancelled(&bench, first) && is_cancelled(&bench, second));
    let turn = newest(&bench);
    assert_eq!((turn.status, turn.external_id.as_deref()), (TurnStatus::Cancelled, Some("now")));
    let Some(Ok(Answer::TurnCancelled(cancelled, _))) = bench.reply(cancel) else { panic!("it is answered") };
    assert_eq!(cancelled.as_ref().map(|id| id.as_str()), Some(turn.id.as_str()));
    assert_eq!(bench.session.state().name(), StateName::Idle);
}

#[test]
fn end_of_a_process_leaves_an_editors_turn_to_the_next_one() {
    let mut bench = editors();
    let waits = render(&mut bench, &["a", "b"], "now");
    bench.step(Input::Ending);
    assert!(is_cancelled(&bench, waits));
    assert_eq!(newest(&bench).status, TurnStatus::Running);
    bench.another_process();
    // The next process renders at once, as an editor does that does not open sessions.
    let history = Some(vec![past("a"), past("b"), turn("now")]);
    let current = Some(turn("another one"));
    bench.command(Command::Render(Box::new(Render { history, current, ..Render::default() })));
    let ended =
        bench.session.snapshot().turns.into_iter().find(|turn| turn.external_id.as_deref() == Some("now"));
    let ended = ended.expect("the turn of the first process");
    assert_eq!((ended.status, ended.figures.interrupted), (TurnStatus::Cancelled, true));
    assert_eq!(ended.figures.duration_ms, None, "nobody knows how long it ran");
}

#[test]
fn failed_write_does_not_end_an_editors_turn() {
    let mut bench = editors();
    render(&mut bench, &[], "now");
    bench.fails = 1;
    bench.command(Command::SetDraft(Some("unsent".into())));
    assert_eq!(newest(&bench).status, TurnStatus::Running);
    assert_eq!(bench.session.state().name(), StateName::Generating);
}

#[test]
fn cancel_ends_an_editors_turn_that_was_taken_up_again_by_its_render() {
    let mut bench = plain();
    render(&mut bench, &["a", "b"], "now");
    bench.another_process();
    triggered(&mut bench, Some(500));
    bench.command(Command::Open(Box::default()));
    assert_eq!(newest(&bench).status, TurnStatus::Cancelled);
    render(&mut bench, &["a", "b"], "now");
    assert_eq!(
        (newest(&bench).status, bench.session.state().name()),
        (TurnStatus::Running, StateName::Generating)
    );
    bench.command(Command::CancelTurn { turn: None, queued: false });
    assert_eq!(
        (newest(&bench).status, bench.session.state().name()),
        (TurnStatus::Cancelled, StateName::Idle)
    );
}

#[test]
fn idle_compaction_waits_for_the_end_of_an_editors_turn() {
    let mut bench = editors();
    let mut settings: Settings = bench.session.settings().clone();
    settings.policy.triggers.pre_turn = None;
    settings.policy.triggers.idle_secs = Some(1);
    bench.step(Input::Settings(Box::new(settings)));
    render(&mut bench, &["a", "b"], "now");
    assert!(!bench.timers.contains(&Timer::Idle), "a tool of the editor may run");
    bench.command(Command::EndTurn(TurnStatus::Completed));
    assert!(bench.timers.contains(&Timer::Idle));
}

#[test]
fn ended_turn_keeps_its_duration_and_how_it_ended() {
    let mut bench = editors();
    render(&mut bench, &[], "now");
    bench.later += 5_000;
    bench.command(Command::CancelTurn { turn: None, queued: false });
    let took = newest(&bench).figures.duration_ms.expect("it ran here");
    bench.later += 3_600_000;
    // The loop of the editor hears of the cancel and says that its turn is over.
    bench.command(Command::EndTurn(TurnStatus::Completed));
    let ended = newest(&bench);
    assert_eq!((ended.status, ended.figures.duration_ms), (TurnStatus::Completed, Some(took)));
}

#[test]
fn usage_is_that_of_the_answers_that_are_there() {
    let used = |tokens| Usage { output_tokens: Some(tokens), ..Usage::default() };
    let answer = |tokens| {
        let beside = Beside { usage: Some(used(tokens)), ..Beside::default() };
        let Body::Assistant { parts, calls, .. } = Body::assistant("said", Vec::new()) else {
            unreachable!()
        };
        NewMessage::new(Body::Assistant { parts, calls, beside })
    };
    let mut bench = editors();
    render(&mut bench, &[], "now");
    bench.command(Command::AppendRound(vec![answer(3)]));
    bench.command(Command::EndTurn(TurnStatus::Completed));
    assert_eq!(newest(&bench).figures.usage, Some(used(3)));
    // The last answer reaches a session with the next render.
    let mut history = turn("now");
    history.messages.extend([answer(3), answer(4)]);
    let (history, current) = (Some(vec![history]), Some(turn("next")));
    bench.command(Command::Render(Box::new(Render { history, current, ..Render::default() })));
    let turns = bench.session.snapshot().turns;
    let figures: Vec<_> = turns.iter().map(|turn| (turn.status, turn.figures.usage)).collect();
    assert_eq!(figures, [(TurnStatus::Completed, Some(used(7))), (TurnStatus::Running, None)]);
    let told = bench.events.iter().rev().find_map(|(_, body)| match body {
        EventBody::TurnCompleted { figures, .. } => Some(figures.usage),
        _ => None,
    });
    assert_eq!(told, Some(Some(used(7))), "events tell it too");
}

#[test]
fn turn_that_is_cut_has_used_what_is_left() {
    let used = |tokens| Usage { output_tokens: Some(tokens), ..Usage::default() };
    let mut bench = Bench::new(Driver::Sidecar);
    bench.asks("look");
    for (calls, tokens) in [(&["read"][..], 3), (&[][..], 4)] {
        let (call, ..) = bench.asked[0].clone();
        bench.step(Input::ModelDelta(call, Delta::SetUsage(used(tokens))));
        bench.says("I say so.", calls);
        bench.tool_answers("fn a() {}");
    }
    assert_eq!(newest(&bench).figures.usage, Some(used(7)));
    let forked = |bench: &mut Bench, up_to: u32| {
        let to = SessionId::new(format!("f{up_to}"));
        bench.command(Command::Branch {
            to: to.clone(),
            up_to: Some(At::Index(up_to)),
            title: None,
            key: None,
        });
        bench.rows.load(&to).expect("a fork").turns.pop().expect("a turn").figures
    };
    let whole = forked(&mut bench, 3);
    assert_eq!(whole.usage, Some(used(7)));
    let part = forked(&mut bench, 2);
    assert_eq!((part.usage, part.duration_ms), (Some(used(3)), None), "of the answers that it has");
    bench.command(Command::Truncate { from: At::Index(3), key: None });
    assert_eq!(newest(&bench).figures.usage, Some(used(3)));
}
