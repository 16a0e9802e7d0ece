//! Agents: a turn that waits for them, the scope that its requests show, and the bounds of an agent itself.

use crate::agents::{AGENT, Agent, AgentLimits};
use crate::effect::{Answer, Refusal};
use crate::event::EventBody;
use crate::input::{Command, Compact, Input, ToolOutcome};
use crate::state::StateName;
use crate::stored::{Driver, Origin, TurnStatus};
use crate::tests::bench::{Bench, result, settings, tool};
use crate::tests::machine::drive;
use crate::tests::machine::model::Model;
use crate::tests::machine::table::start;
use engine::id::SessionId;
use engine::message::{Body, Content};
use engine::prompt::item::{Approval, Item, ItemPart};
use engine::scope::{Scope, ScopePatch};
use std::sync::Arc;

/// A turn whose own call waits for agents.
fn waiting() -> Model {
    let mut model = drive::model(Driver::Sidecar);
    model.asks("plan it");
    model.answers(&["note"]);
    let call = model.open_calls().remove(0);
    model.input(Input::ToolDone(call, ToolOutcome::Waits));
    assert_eq!(model.stands(), StateName::WaitingUserInput);
    model
}

fn agent(id: &str, state: StateName, status: Option<TurnStatus>) -> Agent {
    Agent {
        session: SessionId::new(id),
        title: Some("Lexer".into()),
        kind: Some(AGENT.into()),
        state,
        status,
    }
}

fn last_result(model: &Model) -> String {
    let messages = model.bench.session.snapshot().messages;
    let last = messages.iter().rfind(|message| matches!(message.body, Body::Tool(_))).expect("a result");
    last.body.texts().iter().map(|text| text.to_string()).collect()
}

#[test]
fn wait_has_no_deadline_and_its_turn_goes_on_with_result() {
    let mut model = waiting();
    assert_eq!(model.bench.timers, Default::default(), "it may take as long as a user");
    assert_eq!(model.bench.session.snapshot().pending, [], "a client has nothing to answer");
    let turn = model.bench.session.snapshot().turns[0].clone();
    assert_eq!(turn.status, TurnStatus::Running);
    model.tools_answer();
    assert_eq!(model.stands(), StateName::Generating);
    model.answers(&[]);
    let turns = model.bench.session.snapshot().turns;
    assert_eq!((turns.len(), turns[0].id.clone()), (1, turn.id));
    assert_eq!((turns[0].status, turns[0].rounds.len()), (TurnStatus::Completed, 2));
}

#[test]
fn wait_survives_processes_and_its_call_is_run_again() {
    let mut model = waiting();
    for is_ended in [true, false] {
        model.another_process(is_ended);
        assert_eq!(model.stands(), StateName::WaitingUserInput);
        let calls = model.open_calls();
        assert_eq!(model.bench.invoked, calls, "whether the agents are done is asked again");
        model.input(Input::ToolDone(calls[0].clone(), ToolOutcome::Waits));
        assert_eq!((model.stands(), model.bench.timers.len()), (StateName::WaitingUserInput, 0));
    }
    model.tools_answer();
    model.answers(&[]);
    assert_eq!(model.stands(), StateName::Idle);
    assert_eq!(model.bench.session.snapshot().turns.len(), 1);
}

/// The state before the wait is asked for again is the stored one.
#[test]
fn wait_is_found_as_it_was_left() {
    let mut model = waiting();
    model.bench.another_process();
    assert_eq!(model.stands(), StateName::WaitingUserInput);
}

#[test]
fn users_message_ends_wait_and_begins_a_turn() {
    let mut model = waiting();
    let accepted = model.asks("what are you waiting for?");
    assert_eq!(accepted.position, None, "it is not queued");
    assert_eq!(model.stands(), StateName::Generating);
    assert!(last_result(&model).contains("wait_agents returns their answers later"));
    model.answers(&[]);
    let turns = model.bench.session.snapshot().turns;
    let ended: Vec<TurnStatus> = turns.iter().map(|turn| turn.status).collect();
    assert_eq!(ended, [TurnStatus::Completed, TurnStatus::Completed]);
}

/// As one that comes during the wait: it was queued while the model answered.
#[test]
fn queued_message_does_not_wait_for_agents() {
    let mut model = drive::model(Driver::Sidecar);
    model.asks("plan it");
    assert_eq!(model.asks("and hurry").position, Some(1));
    model.answers(&["note"]);
    let call = model.open_calls().remove(0);
    model.input(Input::ToolDone(call, ToolOutcome::Waits));
    assert_eq!(model.stands(), StateName::Generating);
    assert_eq!(model.bench.session.snapshot().turns.len(), 2);
}

#[test]
fn cancelled_wait_answers_its_call_and_refuses_late_answers() {
    let mut model = waiting();
    let call = model.open_calls().remove(0);
    model.command(Command::CancelTurn { turn: None, queued: false });
    assert_eq!(model.stands(), StateName::Idle);
    assert!(last_result(&model).contains("cancelled by the user"));
    let late = Input::ToolDone(call.clone(), ToolOutcome::Answered(result(call.as_str(), "late")));
    model.late(late);
}

/// The turn is still open: what needs a session at rest is refused, and the refusal does not list it.
#[test]
fn commands_for_a_session_at_rest_are_refused_during_a_wait() {
    let mut model = waiting();
    let compact = Compact { focus: None, redo: None, keep: Vec::new(), preview: false };
    for command in [Command::Compact(compact), Command::Undo(None), Command::Exclude(Vec::new())] {
        let Some(Err(Refusal::InvalidState { state, accepts })) = model.command(command.clone()) else {
            panic!("{command:?} was taken");
        };
        assert_eq!(state, StateName::WaitingUserInput);
        assert!(accepts.contains(&"turn/start") && !accepts.contains(&"context/compact"), "{accepts:?}");
    }
    assert_eq!(model.open_calls().len(), 1);
}

/// A snapshot and the events after it show the same agents; the same news is emitted once.
#[test]
fn agents_are_shown_with_their_state() {
    let mut model = drive::model(Driver::Sidecar);
    let (running, done) = (
        agent("a", StateName::Generating, Some(TurnStatus::Running)),
        agent("a", StateName::Idle, Some(TurnStatus::Completed)),
    );
    let before = model.bench.events.len();
    for news in [&running, &running, &done] {
        model.input(Input::Agent(Box::new(news.clone())));
    }
    let told = model.bench.events.iter().skip(before).map(|(_, body)| body.clone());
    let expected = [running, done.clone()].map(EventBody::AgentUpdated);
    assert_eq!(told.collect::<Vec<_>>(), expected);
    assert_eq!(model.bench.session.snapshot().agents, [done]);
}

/// Texts of the scope in the newest prompt.
fn attached(model: &Model) -> Vec<String> {
    let items = prompt(model);
    let attached = items.iter().flat_map(|item| &item.parts).filter_map(|part| match part {
        ItemPart::Content(Content::Attachment(one)) if one.name == "workScope" => Some(one.text.to_string()),
        _ => None,
    });
    attached.collect()
}

fn prompt(model: &Model) -> Vec<Item> {
    model.bench.asked.last().map(|(.., items)| items.clone()).expect("a model was asked")
}

fn changes(scope: &mut Scope, patch: &str) -> Input {
    let patch: ScopePatch = serde_json::from_str(patch).expect("a patch");
    scope.apply(patch);
    Input::Scope(Arc::new(scope.clone()))
}

#[test]
fn changed_scope_is_captured_with_the_next_request_only() {
    let mut model = drive::model(Driver::Sidecar);
    let mut scope = Scope::default();
    model.input(Input::Agent(Box::new(agent("a", StateName::Idle, None))));
    model.input(changes(&mut scope, r#"{"plan":"First the lexer."}"#));
    model.asks("one");
    let first = prompt(&model);
    assert_eq!(attached(&model).len(), 1);
    assert!(attached(&model)[0].contains("Plan:\nFirst the lexer."), "{:?}", attached(&model));
    // It changes while the model answers: what was sent stays as it is.
    model.input(changes(&mut scope, r#"{"todoChange":{"add":["parse"]}}"#));
    model.answers(&[]);
    model.another_process(false);
    model.asks("two");
    let second = prompt(&model);
    assert_eq!(first[..], second[..first.len()]);
    assert_eq!(attached(&model).len(), 2);
    model.answers(&[]);
    // Nothing changed since, in another process too.
    model.another_process(true);
    model.asks("three");
    assert_eq!(second[..], prompt(&model)[..second.len()]);
    assert_eq!(attached(&model).len(), 2);
}

/// The request that showed it is gone: the next one shows it again.
#[test]
fn scope_is_shown_again_after_its_request_was_cut_off() {
    let mut model = drive::model(Driver::Sidecar);
    let mut scope = Scope::default();
    model.input(Input::Agent(Box::new(agent("a", StateName::Idle, None))));
    model.input(changes(&mut scope, r#"{"plan":"First the lexer."}"#));
    model.asks("one");
    model.answers(&[]);
    model.command(Command::Truncate { from: crate::input::At::Index(0), key: None });
    model.asks("one again");
    assert_eq!(attached(&model).len(), 1);
}

#[test]
fn scope_of_a_session_alone_stays_out_of_its_prompts() {
    let mut model = drive::model(Driver::Sidecar);
    model.input(changes(&mut Scope::default(), r#"{"plan":"First the lexer."}"#));
    model.asks("one");
    assert_eq!(attached(&model), Vec::<String>::new());
}

/// An agent's turn fails after the round in which its tokens are used up; any other session is not counted.
#[test]
fn agent_ends_when_its_tokens_are_used() {
    for (kind, status) in [(Some(AGENT), TurnStatus::Failed), (None, TurnStatus::Completed)] {
        let limits = AgentLimits { tokens: 4, ..AgentLimits::default() };
        let bench = Bench::as_session(
            crate::settings::Settings { agents: limits, ..settings() },
            vec![tool("read", Approval::Allow)],
            |head| {
                head.origin = if kind.is_some() { Origin::Background } else { Origin::New };
                head.kind = kind.map(str::to_owned);
            },
        );
        let mut model = Model::new(bench);
        let accepted = model.command(Command::StartTurn(Box::new(start("read it"))));
        assert!(matches!(accepted, Some(Ok(Answer::Accepted(_)))));
        model.answers(&["read"]);
        model.tools_answer();
        if kind.is_none() {
            model.answers(&[]);
        }
        let snapshot = model.bench.session.snapshot();
        assert_eq!(snapshot.turns[0].status, status);
        let used = model.bench.session.head().carried.used();
        let error = format!("the agent used {used} tokens and the limit is 4; its messages so far are kept");
        assert_eq!(snapshot.error, kind.map(|_| error));
        assert_eq!(used > 0, kind.is_some());
    }
}
