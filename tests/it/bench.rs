//! A session with a store in memory and no server: effects are recorded, writes are stored. No assertions
//! about prompts.

use crate::facts::can_be_asked;
use engine::id::{CallId, Generation, Ordinal, SessionId, Time};
use engine::message::{Content, ToolCall, ToolResult};
use engine::prompt::item::{Approval, Item, Tool};
use engine::prompt::linearize::pair_faults;
use engine::prompt::request::{Answer as ModelAnswer, StopReason};
use engine::scope::Scope;
use engine::search;
use engine::tokens::QuarterOfChars;
use session::effect::{Answer, Effect, Purpose, Refusal};
use session::event::EventBody;
use session::input::{Command, GivenPrefix, Input, ModelCallId, NotWritten, Open, ReplyTo, StartTurn, Timer};
use session::settings::{Client, ModelFacts, Settings};
use session::stored::{Always, Driver, Head, Prefix, Stored, TurnStatus, Write};
use session::{Opening, Session, StepContext};
use std::collections::BTreeSet;
use store::place::InMemory;
use store::sqlite::SqliteStore;
use store::{Fence, Store};

/// A session with its store, and the effects so far.
pub struct Bench {
    pub session: Session,
    pub store: SqliteStore,
    /// Pending model calls.
    pub asked: Vec<(ModelCallId, Purpose, Vec<Item>)>,
    /// Running tool calls.
    pub invoked: Vec<CallId>,
    /// Armed timers.
    pub timers: BTreeSet<Timer>,
    /// Events of the current process.
    pub events: Vec<(u64, EventBody)>,
    pub open_replies: BTreeSet<u64>,
    pub replies: Vec<(u64, Result<Answer, Refusal>)>,
    /// Effects of the last step.
    pub effects: Vec<Effect>,
    /// Writes that failed, for the next commit.
    pub unwritten: Vec<Write>,
    /// The number of next commits that fail.
    pub fails: u8,
    /// `true` if the last step was stored completely.
    pub is_stored: bool,
    /// Standing approvals.
    pub approvals: Vec<Always>,
    /// `true` once there was a standing approval.
    pub was_approved: bool,
    /// Milliseconds added to the clock.
    pub later: u64,
    /// The time stamp of every message.
    pub stamp: &'static str,
    fence: Fence,
    /// The number of the last command.
    next: u64,
    process: u32,
}

pub fn settings() -> Settings {
    Settings {
        model: ModelFacts { window: 4000, ..Settings::default().model },
        client: Client { completes: true, invokes: true, permits: false, reviews: true },
        ..Settings::default()
    }
}

/// The session's id.
pub fn id() -> SessionId {
    SessionId::new("s")
}

fn head(driver: Driver) -> Head {
    Head {
        id: id(),
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
        waits: false,
        carried: Default::default(),
        settings: serde_json::Value::Null,
        created_at: Time(1),
        updated_at: Time(1),
    }
}

pub fn tool(name: &str, approval: Approval) -> Tool {
    Tool {
        rules: Vec::new(),
        ends_turn: None,
        name: name.into(),
        description: "does it".into(),
        input_schema: serde_json::json!({"type": "object"}),
        kind: None,
        guidelines: None,
        approval,
        origin: None,
    }
}

impl Bench {
    /// Creates a session with these settings and tools.
    pub fn with(driver: Driver, settings: Settings, tools: Vec<Tool>) -> Self {
        let mut store = SqliteStore::in_memory(&InMemory::default()).expect("a store");
        let fence = store.acquire(&id(), Time(1)).expect("a lease");
        let opening = Opening {
            head: head(driver),
            settings,
            stored: None,
            stream: "1".into(),
            scope: Scope::default(),
            approvals: Vec::new(),
            memories: Vec::new(),
            agents: Vec::new(),
        };
        let mut bench = Self {
            session: Session::new(opening, &QuarterOfChars),
            store,
            asked: Vec::new(),
            invoked: Vec::new(),
            timers: BTreeSet::new(),
            events: Vec::new(),
            open_replies: BTreeSet::new(),
            replies: Vec::new(),
            effects: Vec::new(),
            unwritten: Vec::new(),
            fails: 0,
            is_stored: true,
            approvals: Vec::new(),
            was_approved: false,
            later: 0,
            stamp: "2026-01-01T00:00:00.000Z",
            fence,
            next: 0,
            process: 1,
        };
        let prefix = GivenPrefix { tools: Some(tools), sections: None };
        bench.command(Command::Open(Box::new(Open { prefix, ..Open::default() })));
        bench
    }

    pub fn command(&mut self, command: Command) -> u64 {
        self.next += 1;
        self.open_replies.insert(self.next);
        self.step(Input::Command(ReplyTo(self.next), command));
        self.next
    }

    pub fn step(&mut self, input: Input) {
        self.effects.clear();
        self.is_stored = true;
        self.take(input);
    }

    fn take(&mut self, input: Input) {
        let context =
            StepContext { now: Time(self.next + self.later), stamp: self.stamp, counter: &QuarterOfChars };
        let effects = self.session.step(input, context);
        let writes: Vec<_> = effects
            .iter()
            .filter_map(|effect| if let Effect::Write(write) = effect { Some(write.clone()) } else { None })
            .collect();
        let mut is_stored = true;
        if !writes.is_empty() {
            self.unwritten.extend(writes);
            if self.fails > 0 {
                self.fails -= 1;
                is_stored = false;
            } else {
                let writes = std::mem::take(&mut self.unwritten);
                self.store.commit(&id(), self.fence, &writes).expect("a step is stored");
            }
        }
        for effect in &effects {
            if is_stored || is_performed_unstored(effect) {
                self.perform(effect.clone());
            } else if let Effect::Reply(to, _) | Effect::Search(to, _) = effect {
                let failure = Refusal::of_model("store", "it was not stored");
                self.answered(*to, Err(failure));
            }
        }
        let ends = |effect: &Effect| matches!(effect, Effect::Emit(event) if matches!(&event.body, EventBody::RuntimeUpdated { ended: Some(end), .. } if end.status == TurnStatus::Completed));
        let ended_turn = effects.iter().any(ends);
        self.effects.extend(effects);
        if !is_stored {
            self.is_stored = false;
            self.take(Input::NotWritten(NotWritten {
                cause: "full",
                why: "the disk is full".into(),
                ended_turn,
            }));
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Emit(event) => self.events.push((event.seq, event.body)),
            Effect::Reply(to, answer) => self.answered(to, *answer),
            Effect::AskModel(ask) => {
                assert_eq!(pair_faults(&ask.request.items), []);
                can_be_asked(&ask.request, ask.purpose);
                self.asked.push((ask.call, ask.purpose, ask.request.items));
            }
            Effect::CancelModel(call) => self.asked.retain(|(asked, ..)| *asked != call),
            Effect::InvokeTool(call) | Effect::RunTool(call) | Effect::CallServer(call) => {
                self.invoked.push(call.call);
            }
            Effect::CancelTool(call) => self.invoked.retain(|invoked| *invoked != call),
            Effect::Start(timer, _) => drop(self.timers.insert(timer)),
            Effect::Stop(timer) => drop(self.timers.remove(&timer)),
            // Searches as the store would; every hit must have a status in the prompt.
            Effect::Search(to, query) => {
                let messages = self.session.transcript().messages().iter().rev();
                let hits = search::find(messages.map(|message| &**message), &query).hits;
                let of: Vec<Ordinal> = hits.iter().map(|hit| hit.ord).collect();
                let statuses = self.session.message_statuses(&of).expect("a prompt");
                for hit in hits {
                    assert!(statuses.contains_key(&hit.ord), "{hit:?} is lost");
                }
                self.answered(to, Ok(Answer::Configured));
            }
            Effect::Remember(always) => {
                self.was_approved = true;
                self.approvals.push(always);
            }
            Effect::Write(_)
            | Effect::Journal(_)
            | Effect::AskPermission(_)
            | Effect::AskReview(_)
            | Effect::CancelReview
            | Effect::ChangeScope(_)
            | Effect::Memorize(_)
            | Effect::Made(_)
            | Effect::Trace(_) => {}
        }
    }

    fn answered(&mut self, to: ReplyTo, answer: Result<Answer, Refusal>) {
        assert!(self.open_replies.remove(&to.0), "{to:?} was answered twice or never asked");
        self.replies.push((to.0, answer));
    }

    /// Completes a model call, with these tool calls.
    pub fn answer(&mut self, call: ModelCallId, calls: Vec<ToolCall>) {
        let said = ModelAnswer { parts: None, calls: Some(calls), stop: StopReason::End, usage: None };
        self.step(Input::ModelDone(call, Ok(said)));
    }

    pub fn asks(&mut self, text: &str) -> u64 {
        let content = vec![Content::Text(text.into())];
        self.command(Command::StartTurn(Box::new(StartTurn { content, ..StartTurn::default() })))
    }

    /// The answer to a command, if there is one.
    pub fn reply(&self, to: u64) -> Option<&Result<Answer, Refusal>> {
        self.replies.iter().find(|(reply, _)| *reply == to).map(|(_, answer)| answer)
    }

    /// The opening of this stored session in another process.
    pub fn opening(&self, stored: Stored, stream: String) -> Opening {
        Opening {
            head: stored.head.clone(),
            settings: self.session.settings().clone(),
            stored: Some(stored),
            stream,
            scope: self.session.scope().clone(),
            approvals: self.approvals.clone(),
            memories: Vec::new(),
            agents: Vec::new(),
        }
    }

    fn opened_as(&mut self, stream: String) -> Session {
        let stored = self.store.load(&id()).expect("a load").expect("a session");
        assert_eq!(stored.unreadable, Vec::<String>::new());
        Session::new(self.opening(stored, stream), &QuarterOfChars)
    }

    /// Ends the process, losing what was not stored; another one loads the session. No client has opened it
    /// yet.
    pub fn another_process(&mut self) {
        self.process += 1;
        self.session = self.opened_as(self.process.to_string());
        self.asked.clear();
        self.invoked.clear();
        self.timers.clear();
        self.open_replies.clear();
        self.events.clear();
        self.unwritten.clear();
        self.fails = 0;
    }
}

/// `true` for effects that are performed even if the step was not stored.
fn is_performed_unstored(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::Emit(_)
            | Effect::CancelModel(_)
            | Effect::CancelTool(_)
            | Effect::CancelReview
            | Effect::Stop(_)
            | Effect::Trace(_)
    )
}

pub const SUMMARY: &str =
    "<summary>\n## Goal\ng\n## Decisions\nd\n## State\ns\n## Next steps\nn\n## Open questions\no\n</summary>";

pub fn result(call: &str, text: &str) -> ToolResult {
    ToolResult { call: call.into(), content: vec![Content::Text(text.into())], ..ToolResult::default() }
}

pub fn text(size: u16) -> String {
    "word é ".chars().cycle().take(usize::from(size) + 1).collect()
}
