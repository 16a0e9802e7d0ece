//! Every command in every state under either driver: the outcome must be that of the acceptance table. A
//! command without an arm here does not compile.

use crate::acceptance::{CommandName, Row, TABLE, Takes, accepts, accepts_in_editors_turn};
use crate::effect::{Answer, Purpose, Refusal};
use crate::event::EventBody;
use crate::input::{
    At, Command, Compact, Configure, Decision, Input, Open, Render, Restore, StartTurn, ToolOutcome,
};
use crate::ledger::LedgerQuery;
use crate::queue::Accepted;
use crate::recall::Recall;
use crate::state::{Rest, State, StateName};
use crate::stored::{Driver, TurnStatus};
use crate::tests::bench::{SUMMARY, id, result, text};
use crate::tests::machine::drive;
use crate::tests::machine::model::Model;
use engine::delta::Delta;
use engine::id::{CallId, CompactionId, ItemId, SessionId};
use engine::message::{Body, Content, NewMessage, ToolCall};
use engine::prompt::pins::Pinned;
use engine::prompt::request::{Answer as Said, StopReason};
use std::collections::BTreeSet;

/// The text of updates and edits.
const OTHER_WORDS: &str = "other words";

/// Commands that the table must have.
const FOURTEEN: [&str; 14] = [
    "UserMessage",
    "SetParams",
    "UpdateMessage",
    "RemoveMessage",
    "TruncateMessages",
    "RetryFromIndex",
    "Abort",
    "ApproveTools",
    "RejectTools",
    "BranchFromChat",
    "RestoreFromTrajectory",
    "ClearDraft",
    "SetDraft",
    "Regenerate",
];

pub fn start(said: &str) -> StartTurn {
    StartTurn { content: vec![Content::Text(said.into())], ..StartTurn::default() }
}

impl Model {
    pub fn asks(&mut self, said: &str) -> Accepted {
        match self.command(Command::StartTurn(Box::new(start(said)))) {
            Some(Ok(Answer::Accepted(accepted))) => accepted,
            other => panic!("not accepted: {other:?}"),
        }
    }

    /// Answers the model call in progress, with these tool calls or with a summary.
    pub fn answers(&mut self, calls: &[&str]) {
        let (call, purpose, _) = self.bench.asked[0].clone();
        let said = if purpose == Purpose::Summary { SUMMARY } else { "an answer" };
        let call_of = |(n, name): (usize, &&str)| ToolCall::new(&format!("t{}-{n}", call.0), name, "{}");
        let calls = Some(calls.iter().enumerate().map(call_of).collect());
        let answer = Said { parts: None, calls, stop: StopReason::End, usage: None };
        self.input(Input::ModelDelta(call, Delta::AppendContent(said.into())));
        self.done(call, Ok(answer));
    }

    /// Returns the calls that wait for a result or a decision.
    pub fn open_calls(&self) -> Vec<CallId> {
        match self.bench.session.state() {
            State::Calling(calling) => calling.all().into_iter().collect(),
            State::Paused(pause) => pause.open().iter().cloned().collect(),
            _ => Vec::new(),
        }
    }

    pub fn tools_answer(&mut self) {
        for call in self.open_calls() {
            self.bench.invoked.retain(|invoked| *invoked != call);
            let answer = result(call.as_str(), "its result");
            self.input(Input::ToolDone(call, ToolOutcome::Answered(answer)));
        }
    }

    pub fn decide(&mut self, approved: bool) -> Command {
        let mut calls = self.open_calls();
        calls.extend(calls.is_empty().then(|| CallId::new("nobody")));
        let decide = |call| Decision::once(call, approved);
        Command::Decide(calls.into_iter().map(decide).collect())
    }

    /// Lets everything that runs or waits end.
    pub fn comes_to_rest(&mut self) {
        for _ in 0..50 {
            match self.bench.session.state() {
                State::Resting(Rest::EditorsTurn) => {
                    drop(self.command(Command::EndTurn(TurnStatus::Completed)))
                }
                State::Resting(_) => return,
                State::Streaming(_) | State::Compacting(_) => self.answers(&[]),
                State::Reviewing(_) => self.input(Input::Reviewed(None)),
                State::Calling(_) => self.tools_answer(),
                State::Paused(_) => {
                    let decision = self.decide(true);
                    self.command(decision);
                }
            }
        }
        panic!("it does not come to rest: {:?}", self.bench.session.state());
    }

    pub fn stands(&self) -> StateName {
        self.bench.session.state().name()
    }

    /// Returns a round of the editor's loop with one call.
    fn appends(&mut self, tool: &str, size: u16) -> Command {
        let call = format!("a{}", self.bench.number());
        let said = Body::assistant("so", vec![ToolCall::new(&call, tool, "{}")]);
        let said = NewMessage { external_id: Some(call.clone()), ..NewMessage::new(said) };
        let answer = NewMessage::new(Body::Tool(result(&call, &text(size))));
        Command::AppendRound(vec![said, answer])
    }

    fn appends_and_ends(&mut self, tool: &str, status: TurnStatus) {
        let round = self.appends(tool, 9);
        self.command(round);
        self.command(Command::EndTurn(status));
    }
}

/// A session of this driver in this state, after a completed turn; `None` if it is never in this state.
pub fn standing(driver: Driver, state: StateName) -> Option<Model> {
    let mut model = drive::model(driver);
    model.asks("first");
    match driver {
        Driver::Sidecar => sidecars(&mut model, state),
        Driver::Editor => editors(&mut model, state)?,
    }
    assert_eq!(model.stands(), state);
    Some(model)
}

fn sidecars(model: &mut Model, state: StateName) {
    model.answers(&["read"]);
    model.tools_answer();
    if state == StateName::Completed {
        model.answers(&["done"]);
        return model.tools_answer();
    }
    model.answers(&[]);
    assert_eq!(model.stands(), StateName::Idle, "an answer finishes no work");
    model.asks("second");
    match state {
        StateName::Completed | StateName::Generating => {}
        StateName::Idle => drop(model.command(Command::CancelTurn { turn: None, queued: false })),
        StateName::ExecutingTools => model.answers(&["note"]),
        StateName::Paused => model.answers(&["rm"]),
        StateName::WaitingIde => model.answers(&["read"]),
        StateName::WaitingUserInput => {
            model.answers(&["ask"]);
            model.tools_answer();
        }
        StateName::Error => {
            let (call, ..) = model.bench.asked[0];
            model.done(call, Err("broke off".into()));
        }
    }
}

fn editors(model: &mut Model, state: StateName) -> Option<()> {
    match state {
        StateName::Completed => model.appends_and_ends("finish", TurnStatus::Completed),
        StateName::Idle => model.appends_and_ends("read", TurnStatus::Cancelled),
        StateName::Error => model.appends_and_ends("read", TurnStatus::Failed),
        StateName::WaitingUserInput => model.appends_and_ends("ask", TurnStatus::Completed),
        StateName::Generating => {
            for _ in 0..4 {
                let round = model.appends("read", 1800);
                model.command(round);
            }
            model.command(Command::EndTurn(TurnStatus::Completed));
            assert_eq!(
                model.command(Command::Compact(Compact::default())),
                None,
                "a model is asked for a summary"
            );
        }
        // The editor runs its tools and asks its user on its own.
        StateName::ExecutingTools | StateName::Paused | StateName::WaitingIde => return None,
    }
    Some(())
}

/// Returns a command by its name, about things that exist.
fn command(model: &mut Model, name: CommandName) -> Command {
    let key = None;
    let messages = model.bench.session.snapshot().messages;
    let call = model.open_calls().first().cloned().unwrap_or_else(|| CallId::new("nobody"));
    match name {
        CommandName::UserMessage => Command::StartTurn(Box::new(start("one more"))),
        CommandName::RetryFromIndex => Command::Retry { from: At::Index(0), content: None, key },
        CommandName::Regenerate => Command::Regenerate { key },
        CommandName::UpdateMessage => {
            let content = vec![Content::Text(OTHER_WORDS.into())];
            Command::Update { message: At::Index(0), content, regenerate: false, key }
        }
        CommandName::RemoveMessage => Command::Remove { message: At::Id(messages[0].id.clone()), key },
        CommandName::TruncateMessages => Command::Truncate { from: At::Index(1), key },
        CommandName::Abort => Command::CancelTurn { turn: None, queued: false },
        CommandName::ApproveTools => model.decide(true),
        CommandName::RejectTools => model.decide(false),
        CommandName::IdeToolResult => {
            model.bench.invoked.retain(|invoked| *invoked != call);
            Command::ToolResult(result(call.as_str(), "handed in"))
        }
        CommandName::SetParams => {
            let settings = model.bench.session.settings().clone();
            let own = serde_json::Value::Null;
            Command::Configure(Box::new(Configure {
                settings,
                own,
                title: Some("a name".into()),
                forget_limits: true,
            }))
        }
        CommandName::SetDraft => Command::SetDraft(Some("not sent".into())),
        CommandName::ClearDraft => Command::SetDraft(None),
        CommandName::BranchFromChat => {
            Command::Branch { to: SessionId::new("branch"), up_to: None, title: None, key }
        }
        CommandName::RestoreFromTrajectory => {
            let messages = vec![NewMessage::user("hi")];
            Command::Restore(Box::new(Restore::of(messages)))
        }
        CommandName::RestoreRevision => {
            let to = model.bench.rows.load(&id()).expect("a stored session");
            Command::Revert { to: Box::new(to), key }
        }
        CommandName::Reset => Command::Reset { keep_queue: false, key },
        CommandName::CancelQueued => {
            let waits = matches!(model.bench.session.state(), State::Resting(_));
            let item = if waits { None } else { model.asks("waits").item };
            Command::CancelQueued(item.unwrap_or_else(|| ItemId::new("nobody")))
        }
        CommandName::EndTurn => Command::EndTurn(TurnStatus::Completed),
        CommandName::AppendRound => model.appends("read", 9),
        CommandName::Render => Command::Render(Box::new(Render { breakpoints: true, ..Render::default() })),
        CommandName::Compact => Command::Compact(Compact::default()),
        CommandName::Undo => Command::Undo(None),
        CommandName::EditCompaction => {
            let newest = model.bench.session.transcript().in_force().map(|record| record.id.clone());
            let compaction = newest.unwrap_or_else(|| CompactionId::new("nothing"));
            Command::Edit { compaction, narrative: OTHER_WORDS.into() }
        }
        CommandName::Exclude => Command::Exclude(vec![messages[1].id.clone()]),
        CommandName::Pin => Command::Pin(Pinned::Message(messages[0].id.clone())),
        CommandName::Unpin => {
            model.command(Command::Pin(Pinned::Text("mind the tests".into())));
            Command::Unpin(model.bench.session.pins()[0].id.clone())
        }
        CommandName::Inspect => Command::Inspect(None),
        CommandName::Recall => {
            let reference = messages[0].id.as_str().to_owned();
            Command::Recall(Recall { reference, offset: 0, limit: 100 })
        }
        CommandName::Ledger => Command::Ledger(LedgerQuery { from: None, limit: 10 }),
        CommandName::Search => Command::Search(crate::tests::machine::drive::searched()),
        CommandName::Subscribe => Command::Subscribe { since: None, newest: None },
        CommandName::Open => Command::Open(Box::<Open>::default()),
    }
}

/// Sends a command to a session in a state, and checks the outcome.
fn check(row: &Row, driver: Driver, state: StateName, model: &mut Model) {
    let cell = format!("{} while {} in a session of the {driver:?}", row.command.name(), state.name());
    let is_of_other = row.driver.is_some_and(|of| of != driver);
    let takes = row.takes(state);
    let earlier = (!is_of_other && takes == Takes::Queued).then(|| model.asks("earlier").item);
    let command = command(model, row.command);
    let before = model.bench.session.snapshot();
    // `Model::command` checks that a refusal changes nothing.
    let answer = model.command(command);
    match (takes, answer) {
        (_, answer) if is_of_other => {
            assert_eq!(answer, Some(Err(Refusal::OtherDriver(driver))), "{cell}");
        }
        (Takes::Refused, answer) => {
            let accepts = accepts(state, driver);
            assert!(!accepts.contains(&row.method), "{cell}");
            assert_eq!(answer, Some(Err(Refusal::InvalidState { state, accepts })), "{cell}");
        }
        (Takes::Queued, Some(Ok(Answer::Accepted(accepted)))) => {
            let after = model.bench.session.snapshot();
            assert_eq!((after.state, &after.messages), (state, &before.messages), "{cell}");
            let order: Vec<_> = after.queue.iter().map(|item| Some(item.id.clone())).collect();
            assert_eq!(order, [earlier.flatten(), accepted.item.clone()], "{cell}");
            assert_eq!(accepted.position, Some(2), "{cell}");
            model.comes_to_rest();
            is_carried_out(row.command, &accepted, model, &cell);
        }
        (Takes::Now, Some(Err(refusal))) => {
            let is_typed = match row.command {
                CommandName::RestoreFromTrajectory => refusal == Refusal::NotEmpty,
                CommandName::CancelQueued => matches!(refusal, Refusal::Unknown { .. }),
                // No compaction is in force; other tests have one.
                CommandName::Undo => matches!(refusal, Refusal::Unusable { .. }),
                CommandName::EditCompaction => matches!(refusal, Refusal::Unknown { .. }),
                // The newest round of a running turn cannot be excluded.
                CommandName::Exclude => matches!(refusal, Refusal::Unusable { .. }),
                _ => false,
            };
            assert!(is_typed, "{cell}: {refusal}");
        }
        (Takes::Now, Some(Ok(Answer::Accepted(accepted)))) => assert_eq!(accepted.item, None, "{cell}"),
        (Takes::Now, Some(Ok(_))) => {}
        (Takes::Now, None) => {
            let waits = matches!(row.command, CommandName::Render | CommandName::Compact);
            assert!(waits, "{cell} was not answered");
            model.comes_to_rest();
            assert!(model.bench.open_replies.is_empty(), "{cell} was never answered");
        }
        (_, answer) => panic!("{cell}: {answer:?}"),
    }
}

/// Checks that a queued command was carried out.
fn is_carried_out(command: CommandName, accepted: &Accepted, model: &Model, cell: &str) {
    let now = model.bench.session.snapshot();
    assert!(now.queue.is_empty(), "{cell}");
    let events = || model.bench.events.iter().map(|(_, body)| body);
    let fails = events().any(|body| matches!(body, EventBody::QueueUpdated { failed: Some(_), .. }));
    assert!(!fails, "{cell}");
    let about = now.messages.iter().find(|message| Some(&message.id) == accepted.message.as_ref());
    let is_done = match command {
        CommandName::UserMessage => about.is_some(),
        CommandName::UpdateMessage => {
            about.is_some_and(|message| message.body == Body::User(vec![Content::Text(OTHER_WORDS.into())]))
        }
        CommandName::RemoveMessage | CommandName::TruncateMessages | CommandName::RetryFromIndex => {
            about.is_none()
        }
        _ => events().any(|body| matches!(body, EventBody::MessagesTruncated { .. })),
    };
    assert!(is_done, "{cell} was not carried out");
}

#[test]
fn every_command_obeys_the_acceptance_table_in_every_state() {
    let (mut cells, mut nowhere) = (0, BTreeSet::new());
    for driver in [Driver::Sidecar, Driver::Editor] {
        for state in StateName::ALL {
            for row in TABLE {
                cells += 1;
                match standing(driver, state) {
                    Some(mut model) => check(row, driver, state, &mut model),
                    None => drop(nowhere.insert((driver == Driver::Editor, state))),
                }
            }
        }
    }
    assert_eq!(cells, 2 * 8 * TABLE.len());
    let no_tools = [StateName::ExecutingTools, StateName::Paused, StateName::WaitingIde];
    assert_eq!(
        nowhere,
        BTreeSet::from(no_tools.map(|state| (true, state))),
        "only an editor runs its own tools"
    );
}

#[test]
fn second_turn_of_an_editors_loop_names_the_way_out() {
    let ways: [(&str, Command); 3] = [
        ("turn/end", Command::EndTurn(TurnStatus::Completed)),
        ("turn/cancel", Command::CancelTurn { turn: None, queued: false }),
        ("session/open", Command::Open(Box::<Open>::default())),
    ];
    for (method, way_out) in ways {
        let mut model = drive::model(Driver::Editor);
        let turn = model.asks("first").turn.expect("a turn");
        assert_eq!(model.stands(), StateName::Generating, "the editor's loop runs");
        let second = || Command::StartTurn(Box::new(start("second")));
        let refused = model.command(second());
        assert_eq!(refused, Some(Err(Refusal::TurnOpen { turn: turn.clone() })));
        assert!(accepts_in_editors_turn(true).contains(&method), "{method}");
        assert!(!accepts_in_editors_turn(true).contains(&"turn/start"));
        let round = model.appends("read", 9);
        assert!(matches!(model.command(round), Some(Ok(_))), "its rounds go on");
        assert!(matches!(model.command(way_out), Some(Ok(_))), "{method}");
        assert_eq!(model.stands(), StateName::Idle, "{method}");
        let ended = model.bench.session.snapshot().turns.pop().expect("the turn");
        let how = if method == "turn/end" { TurnStatus::Completed } else { TurnStatus::Cancelled };
        assert_eq!((ended.id.as_str(), ended.status), (turn.as_str(), how));
        assert_eq!(ended.figures.interrupted, method == "session/open");
        assert!(matches!(model.command(second()), Some(Ok(_))), "{method}");
    }
}

#[test]
fn another_process_ends_an_editors_open_turn_as_interrupted() {
    let mut model = drive::model(Driver::Editor);
    model.asks("first");
    model.another_process(true);
    let Some(Ok(Answer::Opened(opened))) = model.command(Command::Open(Box::<Open>::default())) else {
        panic!("it opens");
    };
    let (snapshot, _) = *opened;
    let turn = &snapshot.turns[0];
    assert_eq!((snapshot.state, turn.status), (StateName::Idle, TurnStatus::Cancelled));
    assert!(turn.figures.interrupted);
}

/// A session that has messages refuses a conversation, so this case is not in the table.
#[test]
fn a_conversation_is_taken_into_an_empty_session() {
    for driver in [Driver::Sidecar, Driver::Editor] {
        let mut model = drive::model(driver);
        let messages = vec![NewMessage::user("hi"), NewMessage::new(Body::assistant("hello", Vec::new()))];
        let answer = model.command(Command::Restore(Box::new(Restore::of(messages))));
        assert_eq!(answer, Some(Ok(Answer::Imported(Vec::new()))));
        assert_eq!((model.stands(), model.bench.session.snapshot().messages.len()), (StateName::Idle, 2));
    }
}

#[test]
fn table_has_the_fourteen_required_commands() {
    for name in FOURTEEN {
        assert!(TABLE.iter().any(|row| row.command.name() == name), "{name}");
    }
}
