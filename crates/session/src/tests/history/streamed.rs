//! An answer in progress is kept in pieces, in case the process ends before the answer does.

use crate::effect::Effect;
use crate::input::{Command, Input, Open, Timer};
use crate::state::StateName;
use crate::stored::{Driver, Streamed, TurnStatus, Write};
use crate::tests::bench::{Bench, id};
use engine::delta::Delta;
use engine::message::Body;

/// A session whose model answers.
fn answering() -> Bench {
    let mut bench = Bench::new(Driver::Sidecar);
    bench.asks("Tell me a story.");
    bench
}

/// Streams a piece of the answer.
fn streams(bench: &mut Bench, text: &str) {
    let call = bench.asked[0].0;
    bench.step(Input::ModelDelta(call, Delta::AppendContent(text.to_owned())));
}

/// Lets the interval end. Returns the pieces kept by that.
fn second_over(bench: &mut Bench) -> Vec<Streamed> {
    let timer = Timer::Journal(bench.asked[0].0);
    bench.timers.remove(&timer);
    bench.step(Input::Expired(timer));
    pieces(bench)
}

/// The pieces kept in the last step.
fn pieces(bench: &Bench) -> Vec<Streamed> {
    let pieces = bench.effects.iter().filter_map(|effect| match effect {
        Effect::Journal(piece) => Some(piece.clone()),
        _ => None,
    });
    pieces.collect()
}

/// The text and role of each message.
fn said(bench: &Bench) -> Vec<(bool, String)> {
    let messages = bench.session.snapshot().messages;
    let said = messages.iter().map(|message| {
        let is_answer = matches!(message.body, Body::Assistant { .. });
        (is_answer, message.body.texts().iter().map(|text| text.to_string()).collect())
    });
    said.collect()
}

#[test]
fn one_piece_is_kept_per_interval_with_text() {
    let mut bench = answering();
    for text in ["Once ", "upon "] {
        streams(&mut bench, text);
        assert_eq!(pieces(&bench), []);
    }
    let timer = Timer::Journal(bench.asked[0].0);
    assert!(bench.timers.contains(&timer));
    let message = bench.session.transcript().next_message_id();
    let deltas = vec![Delta::AppendContent("Once upon ".to_owned())];
    assert_eq!(second_over(&mut bench), [Streamed { message, deltas }]);
    // Nothing is written while nothing comes.
    assert!(!bench.timers.contains(&timer));
    assert_eq!(second_over(&mut bench), []);
    streams(&mut bench, "a time.");
    assert!(bench.timers.contains(&timer));
    assert_eq!(second_over(&mut bench).len(), 1);
    assert_eq!(bench.rows.load(&id()).map(|stored| stored.streamed.len()), Some(2));
}

#[test]
fn cut_answer_is_a_message_after_a_restart() {
    let mut bench = answering();
    streams(&mut bench, "Once upon ");
    second_over(&mut bench);
    streams(&mut bench, "a time.");
    second_over(&mut bench);
    streams(&mut bench, " Lost.");
    bench.another_process();
    bench.command(Command::Open(Box::<Open>::default()));
    let shown = bench.session.snapshot();
    assert_eq!(said(&bench)[1], (true, "Once upon a time.".to_owned()));
    assert_eq!((shown.state, shown.turns[0].status), (StateName::Error, TurnStatus::Failed));
    assert_eq!(bench.rows.load(&id()).map(|stored| stored.streamed.len()), Some(0));
    // It is sent once, and is there once after another restart.
    bench.asks("Go on.");
    let prompt = format!("{:?}", bench.asked[0].2);
    assert_eq!(prompt.matches("Once upon a time.").count(), 1, "{prompt}");
    bench.another_process();
    bench.command(Command::Open(Box::<Open>::default()));
    assert_eq!(said(&bench).iter().filter(|(is_answer, _)| *is_answer).count(), 1);
}

#[test]
fn end_of_an_answer_drops_its_pieces_in_the_same_step() {
    for ends in [
        |bench: &mut Bench| bench.answer(bench.asked[0].0, Vec::new()),
        |bench: &mut Bench| _ = bench.command(Command::CancelTurn { turn: None, queued: false }),
        |bench: &mut Bench| _ = bench.command(Command::Reset { keep_queue: false, key: None }),
        |bench: &mut Bench| bench.step(Input::Ending),
    ] {
        let mut bench = answering();
        streams(&mut bench, "Once upon ");
        second_over(&mut bench);
        streams(&mut bench, "a time.");
        ends(&mut bench);
        assert!(bench.effects.contains(&Effect::Write(Write::StreamEnded)));
        assert!(bench.timers.iter().all(|timer| !matches!(timer, Timer::Journal(_))));
        assert_eq!(bench.rows.load(&id()).map(|stored| stored.streamed.len()), Some(0));
    }
}

#[test]
fn answer_cut_off_by_the_end_of_the_process_is_not_the_users_doing() {
    for (ends, interrupted) in [
        ((|bench| bench.step(Input::Ending)) as fn(&mut Bench), true),
        (|bench| _ = bench.command(Command::CancelTurn { turn: None, queued: false }), false),
    ] {
        let mut bench = answering();
        streams(&mut bench, "Once upon a time.");
        ends(&mut bench);
        let turn = &bench.session.snapshot().turns[0];
        assert_eq!((turn.status, turn.figures.interrupted), (TurnStatus::Cancelled, interrupted));
        assert!(turn.figures.duration_ms.is_some(), "it ran here");
        bench.another_process();
        bench.command(Command::Open(Box::<Open>::default()));
        let turn = &bench.session.snapshot().turns[0];
        assert_eq!((turn.status, turn.figures.interrupted), (TurnStatus::Cancelled, interrupted));
        assert_eq!(bench.session.snapshot().state, StateName::Idle);
    }
}

#[test]
fn answer_that_was_never_kept_writes_no_end() {
    let mut bench = answering();
    streams(&mut bench, "Once.");
    bench.answer(bench.asked[0].0, Vec::new());
    assert!(!bench.effects.contains(&Effect::Write(Write::StreamEnded)));
}

/// The step that stored the answer came to the disk, and a piece after it all the same.
#[test]
fn pieces_of_a_stored_answer_are_dropped() {
    let mut bench = answering();
    streams(&mut bench, "Once upon ");
    let piece = second_over(&mut bench).remove(0);
    bench.answer(bench.asked[0].0, Vec::new());
    bench.rows.commit(&id(), &[Write::Streamed(piece)]).expect("a piece is kept");
    bench.another_process();
    bench.command(Command::Open(Box::<Open>::default()));
    assert_eq!(said(&bench).len(), 2);
    assert_eq!(bench.rows.load(&id()).map(|stored| stored.streamed.len()), Some(0));
}

#[test]
fn streamed_calls_are_not_kept() {
    let mut bench = answering();
    let call = bench.asked[0].0;
    let calls = vec![engine::message::ToolCall::new("c", "read", "")];
    bench.step(Input::ModelDelta(call, Delta::SetToolCalls(calls)));
    bench.step(Input::ModelDelta(call, Delta::AppendToolArguments { call: "c".into(), text: "{".into() }));
    assert!(!bench.timers.contains(&Timer::Journal(call)));
    assert_eq!(second_over(&mut bench), []);
}
