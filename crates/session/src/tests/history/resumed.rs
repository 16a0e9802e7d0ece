//! An answer that breaks in the middle is asked for again: what it said stays until the next attempt says something, and
//! is never there twice.

use crate::effect::{Effect, Purpose};
use crate::event::EventBody;
use crate::input::{Command, Input, ModelCallId, Open, Timer};
use crate::settings::{ModelFacts, Settings};
use crate::state::StateName;
use crate::stored::{Driver, TurnStatus, Write};
use crate::tests::bench::{Bench, broken, id, settings};
use engine::delta::Delta;
use engine::endpoint::{Endpoint, Wire};
use engine::id::CallId;
use engine::message::{Body, ToolCall, Usage};
use engine::prompt::request::{Answer, StopReason};

/// A session whose model answers, with the call.
fn answering() -> (Bench, ModelCallId) {
    let mut bench = Bench::new(Driver::Sidecar);
    bench.asks("Tell me a story.");
    let call = bench.asked[0].0;
    (bench, call)
}

fn says(bench: &mut Bench, call: ModelCallId, text: &str) {
    bench.step(Input::ModelDelta(call, Delta::AppendContent(text.to_owned())));
}

/// Ends the interval after which a piece of an answer is kept.
fn second_over(bench: &mut Bench, call: ModelCallId) {
    bench.timers.remove(&Timer::Journal(call));
    bench.step(Input::Expired(Timer::Journal(call)));
}

/// The answers, as text.
fn answers(bench: &Bench) -> Vec<String> {
    let messages = bench.session.snapshot().messages;
    let answers = messages.iter().filter(|message| matches!(message.body, Body::Assistant { .. }));
    answers.map(|message| message.body.texts().iter().map(|text| text.to_string()).collect()).collect()
}

/// The text of the answer in progress.
fn shown(bench: &Bench) -> Option<String> {
    let (_, draft) = bench.session.snapshot().streaming?;
    Some(draft.said().iter().filter_map(|part| part.text()).map(|text| text.to_string()).collect())
}

/// The events that tell of the answer, in order.
fn told(bench: &Bench) -> Vec<String> {
    let told = bench.events.iter().filter_map(|(_, body)| {
        Some(match body {
            EventBody::StreamStarted { .. } => "started".to_owned(),
            EventBody::StreamDelta { deltas, .. } => format!("{deltas:?}"),
            EventBody::StreamReset { .. } => "reset".to_owned(),
            EventBody::Retrying { .. } => "retrying".to_owned(),
            EventBody::StreamFinished { stop, .. } => format!("{stop:?}"),
            EventBody::MessageAdded(message, _) if matches!(message.body, Body::Assistant { .. }) => {
                "added".to_owned()
            }
            _ => return None,
        })
    });
    told.collect()
}

fn kept(bench: &Bench) -> usize {
    bench.rows.load(&id()).map_or(0, |stored| stored.streamed.len())
}

#[test]
fn broken_answer_begins_anew_with_the_next_word() {
    let (mut bench, call) = answering();
    says(&mut bench, call, "Once upon");
    bench.step(broken(call));
    assert_eq!(shown(&bench).as_deref(), Some("Once upon"), "it may be all that there will be");
    says(&mut bench, call, "It was");
    assert_eq!(shown(&bench).as_deref(), Some("It was"));
    bench.answer(call, Vec::new());
    assert_eq!(answers(&bench), ["It was"]);
    let text = |text: &str| format!("{:?}", [Delta::AppendContent(text.to_owned())]);
    let expected = [
        "started".to_owned(),
        text("Once upon"),
        "retrying".to_owned(),
        "reset".to_owned(),
        text("It was"),
        "End".to_owned(),
        "added".to_owned(),
    ];
    assert_eq!(told(&bench), expected);
    assert_eq!(bench.session.snapshot().turns[0].status, TurnStatus::Completed);
}

#[test]
fn answer_that_breaks_before_anything_is_not_reset() {
    let (mut bench, call) = answering();
    bench.step(broken(call));
    says(&mut bench, call, "It was");
    bench.answer(call, Vec::new());
    assert!(!told(&bench).contains(&"reset".to_owned()));
    assert_eq!(answers(&bench), ["It was"]);
}

#[test]
fn broken_answer_stays_if_no_attempt_says_anything() {
    let usage = Usage { input_tokens: Some(7), ..Usage::default() };
    for ends in ["failed", "cancelled", "expired", "gone"] {
        let (mut bench, call) = answering();
        says(&mut bench, call, "Once upon");
        second_over(&mut bench, call);
        bench.step(broken(call));
        // What comes beside the content does not void it.
        bench.step(Input::ModelDelta(call, Delta::SetUsage(usage)));
        bench.step(broken(call));
        match ends {
            "failed" => bench.step(Input::ModelDone(call, Err("gone".into()))),
            "cancelled" => drop(bench.command(Command::CancelTurn { turn: None, queued: false })),
            "expired" => bench.step(Input::Expired(Timer::Model(call))),
            _ => {
                bench.another_process();
                bench.command(Command::Open(Box::<Open>::default()));
            }
        }
        assert_eq!(answers(&bench), ["Once upon"], "{ends}");
        assert!(!told(&bench).contains(&"reset".to_owned()), "{ends}");
        assert_ne!(bench.session.snapshot().state, StateName::Generating, "{ends}");
        assert_eq!(kept(&bench), 0, "{ends}");
    }
}

#[test]
fn last_attempt_with_words_stays_if_retries_are_used_up() {
    let (mut bench, call) = answering();
    for text in ["Once", "There", "It was"] {
        says(&mut bench, call, text);
        bench.step(broken(call));
    }
    bench.step(Input::ModelDone(call, Err("gone".into())));
    assert_eq!(answers(&bench), ["It was"]);
    assert_eq!(told(&bench).iter().filter(|event| *event == "reset").count(), 2);
    assert_eq!(bench.session.snapshot().turns[0].status, TurnStatus::Failed);
}

/// Each attempt reports what it used, and the counters of a draft never go back.
#[test]
fn usage_of_a_broken_attempt_is_not_the_answers() {
    let used = |tokens| Delta::SetUsage(Usage { output_tokens: Some(tokens), ..Usage::default() });
    let (mut bench, call) = answering();
    says(&mut bench, call, "Once upon");
    bench.step(Input::ModelDelta(call, used(900)));
    bench.step(broken(call));
    bench.step(Input::ModelDelta(call, used(1)));
    says(&mut bench, call, "It was");
    bench.step(Input::ModelDelta(call, used(2)));
    bench.answer(call, Vec::new());
    let usage = bench.session.snapshot().messages.iter().find_map(|message| match &message.body {
        Body::Assistant { beside, .. } => beside.usage,
        _ => None,
    });
    assert_eq!(usage.and_then(|usage| usage.output_tokens), Some(2));
}

#[test]
fn calls_of_a_broken_answer_never_run() {
    let (mut bench, call) = answering();
    let calls = vec![ToolCall::new("c", "read", "{}")];
    bench.step(Input::ModelDelta(call, Delta::SetToolCalls(calls)));
    bench.step(broken(call));
    says(&mut bench, call, "It was");
    // The answer relies on what was streamed for its calls.
    let answer = Answer { parts: None, calls: None, stop: StopReason::End, usage: None };
    bench.step(Input::ModelDone(call, Ok(answer)));
    assert_eq!((bench.invoked.as_slice(), answers(&bench)), (&[][..], vec!["It was".to_owned()]));
    assert!(!bench.session.transcript().has_call(&CallId::new("c")));
}

/// An answer that comes whole at its end, too, replaces what was streamed.
#[test]
fn whole_answer_voids_what_a_broken_attempt_said() {
    let (mut bench, call) = answering();
    says(&mut bench, call, "Once upon");
    bench.step(broken(call));
    let calls = vec![ToolCall::new("c", "read", "{}")];
    bench.answer(call, calls);
    let messages = bench.session.snapshot().messages;
    assert!(!format!("{:?}", messages.last()).contains("Once upon"), "the message has the call alone");
    assert_eq!(bench.invoked.len(), 1);
    assert!(told(&bench).contains(&"reset".to_owned()));
}

#[test]
fn gathered_text_of_a_broken_attempt_is_told_before_the_retry() {
    let settings = Settings { delta_interval_ms: 50, ..settings() };
    let mut bench = Bench::with(Driver::Sidecar, settings, Vec::new());
    bench.asks("Tell me a story.");
    let call = bench.asked[0].0;
    says(&mut bench, call, "Once");
    says(&mut bench, call, " upon");
    bench.step(broken(call));
    says(&mut bench, call, "It");
    let text = |text: &str| format!("{:?}", [Delta::AppendContent(text.to_owned())]);
    let expected = ["started", &text("Once"), &text(" upon"), "retrying", "reset", &text("It")];
    assert_eq!(told(&bench), expected, "all of it at once");
    bench.step(Input::Expired(Timer::Deltas(call)));
    assert_eq!(told(&bench).len(), expected.len());
}

/// Pieces of both attempts would be found as one text.
#[test]
fn pieces_of_a_broken_attempt_are_forgotten_with_its_text() {
    let (mut bench, call) = answering();
    says(&mut bench, call, "Once upon ");
    second_over(&mut bench, call);
    says(&mut bench, call, "a time");
    bench.step(broken(call));
    assert_eq!(kept(&bench), 1);
    says(&mut bench, call, "It was");
    assert!(bench.effects.contains(&Effect::Write(Write::StreamEnded)), "in the step that tells of it");
    assert_eq!(kept(&bench), 0);
    second_over(&mut bench, call);
    assert_eq!(kept(&bench), 1);
    bench.another_process();
    bench.command(Command::Open(Box::<Open>::default()));
    assert_eq!(answers(&bench), ["It was"]);
    assert_eq!(kept(&bench), 0);
}

/// A prompt may take minutes to read, each time that it is sent.
#[test]
fn next_attempt_may_be_silent_as_long_as_the_first() {
    let endpoint = Some(Endpoint::of(Wire::OpenaiChat));
    let model = ModelFacts { endpoint, ..settings().model };
    let settings = Settings { model, model_deadline_ms: 1000, ..settings() };
    let mut bench = Bench::with(Driver::Sidecar, settings, Vec::new());
    bench.asks("Tell me a story.");
    let (call, purpose) = (bench.asked[0].0, bench.asked[0].1);
    assert_eq!(purpose, Purpose::Turn);
    says(&mut bench, call, "Once");
    bench.step(broken(call));
    let waits = |bench: &Bench| {
        let mut starts = bench.effects.iter().filter_map(|effect| match effect {
            Effect::Start(Timer::Model(of), ms) if *of == call => Some(*ms),
            _ => None,
        });
        starts.next_back()
    };
    let again = waits(&bench);
    bench.step(Input::ModelAlive(call));
    assert_eq!((again.is_some_and(|ms| ms > 1000), waits(&bench).is_some_and(|ms| ms > 1000)), (true, true));
    says(&mut bench, call, "It");
    assert_eq!(waits(&bench), Some(1000));
}
