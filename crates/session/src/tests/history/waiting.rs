//! The queue: limits, urgent requests, injection, and repeated keys, as named cases beside the random ones.

use crate::effect::{Answer, Refusal};
use crate::input::{Command, Input, StartTurn};
use crate::queue::MOST_QUEUED;
use crate::state::StateName;
use crate::stored::Driver;
use crate::tests::machine::drive;
use crate::tests::machine::model::Model;
use crate::tests::machine::table::{standing, start};
use engine::delta::Delta;
use engine::message::{Body, QUESTION, ToolCall};
use engine::prompt::request::{Answer as Said, StopReason};

fn urgent(said: &str) -> Command {
    Command::StartTurn(Box::new(StartTurn { priority: true, ..start(said) }))
}

fn keyed(said: &str, key: &str) -> Command {
    Command::StartTurn(Box::new(StartTurn { key: Some(key.into()), ..start(said) }))
}

/// Returns the session's texts, one for each message.
fn said(model: &Model) -> Vec<String> {
    let messages = model.bench.session.snapshot().messages;
    let said = messages.iter().map(|message| match &message.body {
        Body::Assistant { calls, .. } if !calls.is_empty() => "calls".to_owned(),
        body => body.texts().first().map(|text| text.to_string()).unwrap_or_default(),
    });
    said.collect()
}

#[test]
fn full_queue_refuses_new_work_but_not_cancels_or_decisions() {
    for state in [StateName::Generating, StateName::ExecutingTools, StateName::Paused, StateName::WaitingIde]
    {
        let mut model = standing(Driver::Sidecar, state).expect("a session in this state");
        for n in 0..MOST_QUEUED {
            assert_eq!(model.asks("waits").position, Some(n as u32 + 1));
        }
        let full = Some(Err(Refusal::QueueFull { limit: MOST_QUEUED as u32 }));
        assert_eq!(model.command(Command::StartTurn(Box::new(start("one too many")))), full);
        assert_eq!(model.command(Command::Regenerate { key: None }), full);
        assert_eq!(model.command(keyed("one too many", "k")), full, "and its key is not taken");
        if state != StateName::Generating {
            assert_eq!(model.command(urgent("one too many")), full);
        }
        match state {
            StateName::Paused => {
                let decision = model.decide(true);
                assert!(matches!(model.command(decision), Some(Ok(_))));
            }
            StateName::WaitingIde => model.tools_answer(),
            _ => {}
        }
        let Some(Ok(Answer::TurnCancelled(_, gone))) =
            model.command(Command::CancelTurn { turn: None, queued: true })
        else {
            panic!("a cancel passes");
        };
        assert_eq!(gone.len(), MOST_QUEUED);
        assert!(matches!(model.command(keyed("there is room now", "k")), Some(Ok(_))));
    }
}

#[test]
fn urgent_request_interrupts_an_answer_and_joins_its_turn() {
    let mut model = drive::model(Driver::Sidecar);
    model.asks("first");
    let (call, ..) = model.bench.asked[0].clone();
    model.input(Input::ModelDelta(call, Delta::AppendContent("half an".into())));
    model.asks("waits");
    assert!(matches!(model.command(urgent("now")), Some(Ok(_))));
    assert_eq!(said(&model), ["first", "half an", "now"], "what was said of the answer stays");
    assert_eq!(model.bench.session.snapshot().turns.len(), 1, "it belongs to the turn that runs");
    model.late(Input::ModelDelta(call, Delta::AppendContent(" answer".into())));
    model.answers(&[]);
    assert_eq!(said(&model), ["first", "half an", "now", "an answer", "waits"]);
    assert_eq!(model.bench.session.snapshot().turns.len(), 2, "what waited is a turn of its own");
}

#[test]
fn urgent_request_is_injected_only_between_rounds() {
    for state in [StateName::ExecutingTools, StateName::Paused, StateName::WaitingIde] {
        let mut model = standing(Driver::Sidecar, state).expect("a session in this state");
        let before = said(&model);
        model.asks("waits");
        model.command(urgent("now"));
        model.command(urgent("and this"));
        assert_eq!(said(&model), before, "nothing is put between a call and its result");
        if state == StateName::Paused {
            let decision = model.decide(true);
            model.command(decision);
            assert_eq!(said(&model), before);
        }
        model.tools_answer();
        assert_eq!(said(&model)[before.len()..], ["its result", "now", "and this"]);
        assert_eq!(model.stands(), StateName::Generating);
        assert_eq!(
            model.bench.session.snapshot().queue.len(),
            1,
            "what is not urgent waits for the turn's end"
        );
    }
}

#[test]
fn urgent_requests_precede_others_each_in_order() {
    let mut model = standing(Driver::Sidecar, StateName::Paused).expect("a pause");
    for (said, is_urgent) in [("a", false), ("B", true), ("c", false), ("D", true)] {
        model.command(Command::StartTurn(Box::new(StartTurn { priority: is_urgent, ..start(said) })));
    }
    model.another_process(false);
    let decision = model.decide(false);
    model.command(decision);
    model.comes_to_rest();
    // In a new process, requests that are not urgent wait for a command that begins something.
    model.asks("more");
    model.comes_to_rest();
    let order: Vec<String> = said(&model).into_iter().filter(|said| said.len() == 1).collect();
    assert_eq!(order, ["B", "D", "a", "c"], "also after the process died");
}

#[test]
fn repeated_key_gets_its_first_answer() {
    let mut model = standing(Driver::Sidecar, StateName::Generating).expect("an answer that is given");
    let first = model.command(keyed("waits", "k"));
    model.another_process(false);
    assert_eq!(model.command(keyed("waits", "k")), first, "it still waits");
    assert_eq!(model.command(keyed("waits", "k")), first);
    model.asks("more");
    model.comes_to_rest();
    assert_eq!(model.command(keyed("waits", "k")), first, "it is long done");
    assert_eq!(model.command(Command::Reset { keep_queue: false, key: Some("k".into()) }), first);
    let asked = said(&model).iter().filter(|said| *said == "waits").count();
    assert_eq!(asked, 1);
}

#[test]
fn question_tool_ends_the_turn_and_the_next_request_answers() {
    let mut model = standing(Driver::Sidecar, StateName::Generating).expect("an answer that is given");
    let (call, ..) = model.bench.asked[0];
    let asks = ToolCall::new("which", "ask", r#"{"question": "Which file?"}"#);
    let answer = Said { parts: None, calls: Some(vec![asks]), stop: StopReason::End, usage: None };
    model.done(call, Ok(answer));
    model.tools_answer();
    assert_eq!(model.stands(), StateName::WaitingUserInput);
    assert!(model.bench.asked.is_empty(), "the model is not asked again");
    let snapshot = model.bench.session.snapshot();
    let last = snapshot.messages.last().map(|message| message.body.clone());
    assert_eq!(last, Some(Body::Event { kind: QUESTION.into(), text: "Which file?".into() }));
    model.another_process(false);
    assert_eq!(model.stands(), StateName::WaitingUserInput, "also in another process");
    model.asks("the first");
    let (_, _, items) = &model.bench.asked[0];
    let last = items.last().and_then(|item| item.texts().next().map(|text| text.to_string()));
    assert_eq!(last.as_deref(), Some("the first"));
}

#[test]
fn subscriber_that_missed_too_many_events_gets_a_snapshot() {
    let mut model = standing(Driver::Sidecar, StateName::Generating).expect("an answer that is given");
    model.misses = 1100;
    for n in 0..1100 {
        model.command(Command::SetDraft(Some(format!("draft {n}").into())));
    }
    model.finish();
    let last = model.bench.session.snapshot().seq;
    let answer = model.command(Command::Subscribe { since: Some(("1".into(), last - 1000)), newest: None });
    assert!(matches!(answer, Some(Ok(Answer::Events(events))) if events.len() == 1000));
    let answer = model.command(Command::Subscribe { since: Some(("1".into(), last - 1050)), newest: None });
    assert!(matches!(answer, Some(Ok(Answer::Snapshot(_)))));
}
