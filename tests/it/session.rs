//! The session machine without any shell: what a step must keep whatever happens. Writes go to a store in memory, and
//! every session is opened again from it.

mod large_results;
mod merging;

use proptest::prelude::*;
use std::collections::BTreeSet;
use threadhold::engine::delta::Delta;
use threadhold::engine::id::{CallId, Generation, SessionId, Time};
use threadhold::engine::message::{Body, Content, NewMessage, ToolCall, ToolResult};
use threadhold::engine::prompt::item::{Approval, Item, Tool};
use threadhold::engine::prompt::linearize::pair_faults;
use threadhold::engine::prompt::request::{Answer as Said, StopReason};
use threadhold::engine::session::effect::{Answer, Effect, Purpose, Refusal};
use threadhold::engine::session::event::EventBody;
use threadhold::engine::session::history_turn::HistoryTurn;
use threadhold::engine::session::input::{
    Command, Decision, GivenPrefix, Input, ModelCallId, Open, Render, ReplyTo, StartTurn, Timer, ToolOutcome,
};
use threadhold::engine::session::settings::{Client, ModelFacts, Settings};
use threadhold::engine::session::snapshot::Snapshot;
use threadhold::engine::session::state::State;
use threadhold::engine::session::stored::{Driver, Head, Prefix, TurnStatus};
use threadhold::engine::session::{Around, Opening, Session};
use threadhold::engine::tokens::QuarterOfChars;
use threadhold::store::memory::{MemoryStore, World};
use threadhold::store::{Fence, Store};

/// A session with its store, and what it has asked for and told so far.
struct Bench {
    session: Session,
    store: MemoryStore,
    fence: Fence,
    driver: Driver,
    asked: Vec<(ModelCallId, Purpose, Vec<Item>)>,
    invoked: Vec<CallId>,
    events: Vec<(u64, EventBody)>,
    open_replies: BTreeSet<u64>,
    replies: Vec<(u64, Result<Answer, Refusal>)>,
    next: u64,
}

fn settings() -> Settings {
    Settings {
        model: ModelFacts { window: 4000, ..Settings::default().model },
        client: Client { completes: true, invokes: true, permits: false },
        ..Settings::default()
    }
}

fn head(driver: Driver) -> Head {
    Head {
        id: SessionId::new("s"),
        workspace: "w".into(),
        title: None,
        driver,
        kind: None,
        parent: None,
        work_scope: None,
        generation: Generation::default(),
        cuts: 0,
        title_from: None,
        origin: Default::default(),
        accepted: 0,
        prefix: Prefix::default(),
        settings: serde_json::Value::Null,
        created_at: Time(1),
        updated_at: Time(1),
    }
}

fn tool(name: &str, approval: Approval) -> Tool {
    Tool {
        rules: Vec::new(),
        ends_turn: None,
        name: name.into(),
        description: "does it".into(),
        input_schema: serde_json::json!({"type": "object"}),
        kind: None,
        guidelines: None,
        approval,
    }
}

impl Bench {
    fn new(driver: Driver) -> Self {
        let mut store = World::default().open();
        let fence = store.acquire(&SessionId::new("s"), Time(1)).expect("a lease");
        let opening = Opening {
            head: head(driver),
            settings: settings(),
            stored: None,
            stream: "1".into(),
            scope: Default::default(),
            approvals: Vec::new(),
        };
        let mut bench = Self {
            session: Session::new(opening, &QuarterOfChars),
            store,
            fence,
            driver,
            asked: Vec::new(),
            invoked: Vec::new(),
            events: Vec::new(),
            open_replies: BTreeSet::new(),
            replies: Vec::new(),
            next: 0,
        };
        let tools =
            vec![tool("read", Approval::Allow), tool("rm", Approval::Ask), tool("no", Approval::Deny)];
        let prefix = GivenPrefix { tools: Some(tools), sections: None };
        bench.command(Command::Open(Box::new(Open { prefix, ..Open::default() })));
        bench
    }

    fn command(&mut self, command: Command) -> u64 {
        self.next += 1;
        self.open_replies.insert(self.next);
        self.step(Input::Command(ReplyTo(self.next), command));
        self.next
    }

    fn step(&mut self, input: Input) {
        let around =
            Around { now: Time(self.next), stamp: "2026-01-01T00:00:00.000Z", counter: &QuarterOfChars };
        let effects = self.session.step(input, around);
        let writes: Vec<_> = effects
            .iter()
            .filter_map(|effect| if let Effect::Write(write) = effect { Some(write.clone()) } else { None })
            .collect();
        if !writes.is_empty() {
            self.store.commit(&SessionId::new("s"), self.fence, &writes).expect("a step is stored");
        }
        for effect in effects {
            match effect {
                Effect::Emit(event) => self.events.push((event.seq, event.body)),
                Effect::Reply(to, answer) => {
                    assert!(self.open_replies.remove(&to.0), "{to:?} was answered twice or never asked");
                    self.replies.push((to.0, *answer));
                }
                Effect::AskModel(ask) => {
                    assert_eq!(pair_faults(&ask.request.items), []);
                    self.asked.push((ask.call, ask.purpose, ask.request.items));
                }
                Effect::CancelModel(call) => self.asked.retain(|(asked, ..)| *asked != call),
                Effect::InvokeTool(call) => self.invoked.push(call.call),
                Effect::CancelTool(call) => self.invoked.retain(|invoked| *invoked != call),
                Effect::RunTool(call) => self.invoked.push(call.call),
                Effect::Write(_)
                | Effect::AskPermission(_)
                | Effect::Remember(_)
                | Effect::ChangeScope(_)
                | Effect::Start(..)
                | Effect::Stop(_)
                | Effect::Trace(_) => {}
            }
        }
    }

    fn says(&mut self, said: &str, calls: &[&str]) {
        let Some((call, purpose, _)) = self.asked.pop() else { return };
        let calls: Vec<ToolCall> = calls
            .iter()
            .enumerate()
            .map(|(n, name)| ToolCall::new(&format!("c{}-{n}", call.0), name, "{\"path\": \"a.rs\"}"))
            .collect();
        let text = match purpose {
            Purpose::Turn | Purpose::Title => said.to_owned(),
            Purpose::Summary => SUMMARY.to_owned(),
        };
        let delta = Delta::AppendContent(text);
        self.step(Input::ModelDelta(call, delta));
        self.answer(call, if purpose == Purpose::Turn { calls } else { Vec::new() });
    }

    /// The model is done, and asks for these.
    fn answer(&mut self, call: ModelCallId, calls: Vec<ToolCall>) {
        let said = Said { parts: None, calls: Some(calls), stop: StopReason::End, usage: None };
        self.step(Input::ModelDone(call, Ok(said)));
    }

    fn tool_answers(&mut self, text: &str) {
        if self.invoked.is_empty() {
            return;
        }
        let call = self.invoked.remove(0);
        let result = result(call.as_str(), text);
        self.step(Input::ToolDone(call, ToolOutcome::Answered(result)));
    }

    fn asks(&mut self, text: &str) -> u64 {
        let content = vec![Content::Text(text.into())];
        self.command(Command::StartTurn(Box::new(StartTurn { content, ..StartTurn::default() })))
    }

    /// The same session in another process.
    fn reopened(&mut self) -> Session {
        let stored = self.store.load(&SessionId::new("s")).expect("a load").expect("a session");
        assert_eq!(stored.unreadable, Vec::<String>::new());
        let opening = Opening {
            head: stored.head.clone(),
            settings: self.session.settings().clone(),
            stored: Some(stored),
            stream: self.session.stream().to_owned(),
            scope: self.session.scope().clone(),
            approvals: Vec::new(),
        };
        Session::new(opening, &QuarterOfChars)
    }
}

const SUMMARY: &str =
    "<summary>\n## Goal\ng\n## Decisions\nd\n## State\ns\n## Next steps\nn\n## Open questions\no\n</summary>";

fn result(call: &str, text: &str) -> ToolResult {
    ToolResult { call: call.into(), content: vec![Content::Text(text.into())], ..ToolResult::default() }
}

/// Everything that can happen.
#[derive(Debug, Clone)]
enum Happening {
    Asks(u16),
    Says(u16, u8),
    Fails,
    ToolAnswers(u16),
    ToolPending,
    Decides(bool),
    Cancels,
    Expires,
    Compacts,
    Renders { turns: u8, resent: bool, rounds: u8, size: u16 },
    Abandons,
    EndsTurn,
    Reopens,
    NotWritten,
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        4 => (0u16..900).prop_map(Happening::Asks),
        6 => (0u16..1500, 0u8..4).prop_map(|(size, calls)| Happening::Says(size, calls)),
        1 => Just(Happening::Fails),
        6 => (0u16..6000).prop_map(Happening::ToolAnswers),
        1 => Just(Happening::ToolPending),
        2 => any::<bool>().prop_map(Happening::Decides),
        1 => Just(Happening::Cancels),
        1 => Just(Happening::Expires),
        1 => Just(Happening::Compacts),
        5 => (0u8..5, prop::bool::weighted(0.1), 0u8..4, 0u16..4000)
            .prop_map(|(turns, resent, rounds, size)| Happening::Renders { turns, resent, rounds, size }),
        1 => Just(Happening::Abandons),
        1 => Just(Happening::EndsTurn),
        1 => Just(Happening::Reopens),
        1 => Just(Happening::NotWritten),
    ]
}

/// Calls that wait for a user or a result.
fn waits_for(snapshot: &Snapshot) -> BTreeSet<CallId> {
    snapshot.pending.iter().chain(&snapshot.pause).map(|reason| reason.call.clone()).collect()
}

fn text(size: u16) -> String {
    "word é ".chars().cycle().take(usize::from(size) + 1).collect()
}

/// An editor's copy: turns by number, so that the same number is the same turn.
fn editors(turns: u8, resent: bool, rounds: u8, size: u16) -> Vec<HistoryTurn> {
    let turn = |n: u8| {
        let id = if resent && n + 1 == turns { format!("again{n}") } else { format!("t{n}") };
        let mut messages =
            vec![NewMessage { external_id: Some(id.clone()), ..NewMessage::user(&text(u16::from(n))) }];
        for round in 0..rounds {
            let call = format!("{id}-{round}");
            let body = Body::assistant("", vec![ToolCall::new(&call, "read", "{}")]);
            messages.push(NewMessage { external_id: Some(format!("r{call}")), ..NewMessage::new(body) });
            messages.push(NewMessage::new(Body::Tool(result(&call, &text(size)))));
        }
        HistoryTurn { external_id: Some(id), detailed: rounds > 0, messages, metadata: Vec::new() }
    };
    (0..turns).map(turn).collect()
}

fn happens(bench: &mut Bench, happening: Happening) {
    match happening {
        Happening::Asks(size) => drop(bench.asks(&text(size))),
        Happening::Says(size, calls) => {
            let calls = ["read", "rm", "no", "unknown"].iter().cycle().take(usize::from(calls)).copied();
            bench.says(&text(size), &calls.collect::<Vec<_>>());
        }
        Happening::Fails => {
            if let Some((call, ..)) = bench.asked.pop() {
                bench.step(Input::ModelDelta(call, Delta::AppendContent("half an".into())));
                bench.step(Input::ModelDone(call, Err("broke off".into())));
            }
        }
        Happening::ToolAnswers(size) => bench.tool_answers(&text(size)),
        Happening::ToolPending => {
            if let Some(call) = bench.invoked.pop() {
                bench.step(Input::ToolDone(call.clone(), ToolOutcome::Pending));
                bench.command(Command::ToolResult(result(call.as_str(), "late")));
                bench.command(Command::ToolResult(result(call.as_str(), "twice")));
            }
        }
        Happening::Decides(approved) => {
            let open = match bench.session.state() {
                State::Paused(pause) => pause.open.iter().next().cloned(),
                _ => Some(CallId::new("nobody")),
            };
            let decide = |call| Decision { call, approved, note: Some("my words".into()), always: None };
            bench.command(Command::Decide(open.into_iter().map(decide).collect()));
        }
        Happening::Cancels => drop(bench.command(Command::CancelTurn { turn: None, queued: false })),
        Happening::Expires => {
            if let Some((call, ..)) = bench.asked.last() {
                let timer = Timer::Model(*call);
                bench.step(Input::Expired(timer));
            } else if let Some(call) = bench.invoked.last().cloned() {
                bench.step(Input::Expired(Timer::Tool(call)));
            }
        }
        Happening::Compacts => drop(bench.command(Command::Compact { focus: Some("the tests".into()) })),
        Happening::Renders { turns, resent, rounds, size } => {
            let mut history = editors(turns, resent, rounds, size);
            let current = history.pop();
            let render = Render { history: Some(history), current, breakpoints: true, ..Render::default() };
            bench.command(Command::Render(Box::new(render)));
        }
        Happening::Abandons => {
            if let Some(open) = bench.open_replies.last().copied() {
                bench.step(Input::Abandoned(ReplyTo(open)));
                // What is abandoned may be answered with a cancellation, or not at all.
                bench.open_replies.remove(&open);
            }
        }
        Happening::EndsTurn => drop(bench.command(Command::EndTurn(TurnStatus::Completed))),
        Happening::Reopens => {
            bench.step(Input::Ending);
            bench.asked.clear();
            bench.invoked.clear();
            bench.open_replies.clear();
            bench.session = bench.reopened();
            bench.events.clear();
        }
        Happening::NotWritten => {
            bench.asked.clear();
            bench.invoked.clear();
            bench.step(Input::NotWritten("the disk is full".into()));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    /// rows: R27
    #[test]
    fn whatever_happens_numbers_have_no_gap_answers_come_once_and_the_store_has_it_all(
        editor in any::<bool>(),
        happenings in prop::collection::vec(happening(), 1..30),
    ) {
        let mut bench = Bench::new(if editor { Driver::Editor } else { Driver::Sidecar });
        for happening in happenings {
            happens(&mut bench, happening);
            for (at, (seq, _)) in bench.events.iter().enumerate() {
                prop_assert_eq!(*seq, bench.events[0].0 + at as u64);
            }
            let waits = matches!(bench.session.state(), State::Compacting(_));
            prop_assert!(waits || bench.open_replies.is_empty(), "nobody is left without an answer");
            let again = bench.reopened();
            let (ours, theirs) = (bench.session.snapshot(), again.snapshot());
            prop_assert_eq!(&ours.messages, &theirs.messages);
            prop_assert_eq!(&ours.turns, &theirs.turns);
            prop_assert_eq!(&ours.compactions, &theirs.compactions);
            prop_assert_eq!(&ours.head, &theirs.head);
            // A wait survives, and nothing is asked again by itself; about a call that asks, the user is asked again.
            prop_assert_eq!(waits_for(&ours), waits_for(&theirs));
        }
        prop_assert_eq!(bench.driver == Driver::Editor, editor);
    }
}

/// rows: V37
#[test]
fn a_turn_goes_on_with_the_compacted_prompt_until_it_is_done() {
    let mut bench = Bench::new(Driver::Sidecar);
    bench.asks("read it all");
    let mut compacted_at = None;
    for round in 0..12 {
        while bench.asked.last().is_some_and(|(_, purpose, _)| *purpose == Purpose::Summary) {
            bench.says("", &[]);
        }
        if bench.session.transcript().in_force().is_some() && compacted_at.is_none() {
            compacted_at = Some(round);
        }
        bench.says("next", &["read"]);
        bench.tool_answers(&text(2500));
    }
    while bench.asked.last().is_some_and(|(_, purpose, _)| *purpose == Purpose::Summary) {
        bench.says("", &[]);
    }
    bench.says("done", &[]);
    assert!(compacted_at.is_some_and(|round| round < 10), "two more rounds after the compaction");
    let ended = bench.events.iter().rev().find_map(|(_, body)| match body {
        EventBody::RuntimeUpdated { ended: Some(ended), .. } => Some(ended.clone()),
        _ => None,
    });
    let ended = ended.expect("the turn ended");
    assert_eq!(ended.status, TurnStatus::Completed);
    assert!(!ended.summaries.is_empty(), "its metadata comes with the end");
}
