//! A session with its rows and no server: effects are recorded, writes become rows, nothing is checked.

use super::rows::Rows;
use crate::effect::{Answer, Effect, Purpose, Refusal};
use crate::event::EventBody;
use crate::input::{
    Command, GivenPrefix, Input, ModelCallId, NotWritten, Open, ReplyTo, Retry, StartTurn, Timer, ToolOutcome,
};
use crate::settings::{Client, ModelFacts, Settings};
use crate::stored::{Always, Driver, Head, Prefix, Stored, TurnStatus, Write};
use crate::{Opening, Session, StepContext};
use engine::delta::Delta;
use engine::id::{CallId, Generation, Ordinal, SessionId, Time};
use engine::message::{Content, ToolCall, ToolResult};
use engine::prompt::item::{Approval, Item, Role, Tool};
use engine::prompt::linearize::pair_faults;
use engine::prompt::request::{Answer as ModelAnswer, Request, StopReason, ToolChoice};
use engine::scope::Scope;
use engine::search;
use engine::tokens::QuarterOfChars;
use std::collections::BTreeSet;

/// A session with its rows, the effects so far, and the requests in progress.
pub struct Bench {
    pub session: Session,
    pub rows: Rows,
    pub driver: Driver,
    /// Model calls in progress.
    pub asked: Vec<(ModelCallId, Purpose, Vec<Item>)>,
    /// Tool calls in progress.
    pub invoked: Vec<CallId>,
    /// Timers that run.
    pub timers: BTreeSet<Timer>,
    /// Events of this process.
    pub events: Vec<(u64, EventBody)>,
    pub open_replies: BTreeSet<u64>,
    pub replies: Vec<(u64, Result<Answer, Refusal>)>,
    /// Effects of the last step.
    pub effects: Vec<Effect>,
    /// Writes that could not be stored and go with the next step.
    pub unwritten: Vec<Write>,
    /// The number of next commits that fail.
    pub fails: u8,
    /// `true` if all of the last step was stored.
    pub is_stored: bool,
    /// Standing approvals.
    pub approvals: Vec<Always>,
    /// `true` if there ever was a standing approval.
    pub was_approved: bool,
    /// The time added to the clock, in milliseconds.
    pub later: u64,
    /// The timestamp of all messages.
    pub stamp: &'static str,
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
    pub fn new(driver: Driver) -> Self {
        let tools =
            vec![tool("read", Approval::Allow), tool("rm", Approval::Ask), tool("no", Approval::Deny)];
        Self::with(driver, settings(), tools)
    }

    /// A session with these settings, whose editor has these tools.
    pub fn with(driver: Driver, settings: Settings, tools: Vec<Tool>) -> Self {
        Self::made(driver, head(driver), settings, tools)
    }

    /// A session of the sidecar whose row was changed before it was opened.
    pub fn as_session(settings: Settings, tools: Vec<Tool>, change: impl FnOnce(&mut Head)) -> Self {
        let mut head = head(Driver::Sidecar);
        change(&mut head);
        Self::made(Driver::Sidecar, head, settings, tools)
    }

    fn made(driver: Driver, head: Head, settings: Settings, tools: Vec<Tool>) -> Self {
        let opening = Opening {
            head,
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
            rows: Rows::default(),
            driver,
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
                self.rows.commit(&id(), &writes).expect("a step is stored");
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
            // Stands in for the store's index; every hit must have a status.
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
            Effect::Journal(piece) => {
                self.rows.commit(&id(), &[Write::Streamed(piece)]).expect("a piece is kept");
            }
            Effect::Write(_)
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

    pub fn says(&mut self, said: &str, calls: &[&str]) {
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

    /// Ends a model call with an answer that makes these tool calls.
    pub fn answer(&mut self, call: ModelCallId, calls: Vec<ToolCall>) {
        let said = ModelAnswer { parts: None, calls: Some(calls), stop: StopReason::End, usage: None };
        self.step(Input::ModelDone(call, Ok(said)));
    }

    pub fn tool_answers(&mut self, text: &str) {
        if self.invoked.is_empty() {
            return;
        }
        let call = self.invoked.remove(0);
        let result = result(call.as_str(), text);
        self.step(Input::ToolDone(call, ToolOutcome::Answered(result)));
    }

    pub fn asks(&mut self, text: &str) -> u64 {
        let content = vec![Content::Text(text.into())];
        self.command(Command::StartTurn(Box::new(StartTurn { content, ..StartTurn::default() })))
    }

    /// Returns the number of the last command.
    pub fn number(&self) -> u64 {
        self.next
    }

    /// Returns the answer to a command.
    pub fn reply(&self, to: u64) -> Option<&Result<Answer, Refusal>> {
        self.replies.iter().find(|(reply, _)| *reply == to).map(|(_, answer)| answer)
    }

    /// Returns the session as another process opens it.
    pub fn reopened(&mut self) -> Session {
        let stream = self.session.stream().to_owned();
        self.opened_as(stream)
    }

    /// Returns the data with which a process opens these rows.
    pub fn opening(&self, stored: Stored, stream: String) -> Opening {
        Opening {
            head: stored.head.clone(),
            settings: self.session.settings().clone(),
            stored: Some(stored),
            stream,
            scope: self.session.scope().clone(),
            approvals: self.approvals.clone(),
            memories: Vec::new(),
            agents: self.session.agents().to_vec(),
        }
    }

    fn opened_as(&mut self, stream: String) -> Session {
        let stored = self.rows.load(&id()).expect("a session");
        assert_eq!(stored.unreadable, Vec::<String>::new());
        Session::new(self.opening(stored, stream), &QuarterOfChars)
    }

    /// Ends the process with its unwritten changes; another one loads the session, not opened yet.
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

/// Checks that the request suits any model, even one with only users and itself as roles and no tool choice.
fn can_be_asked(request: &Request, purpose: Purpose) {
    let first = request.items.first().map(|item| item.role);
    assert!(first.is_some_and(|role| role != Role::Assistant), "a user is first");
    let plain = request.clone().without_forbidden_tools();
    assert_eq!(plain.tool_choice, ToolChoice::Auto, "it cannot be told to use none");
    assert!(purpose != Purpose::Summary || plain.tools.is_empty(), "it is told of none that it may not use");
}

/// Returns `true` for effects performed even if the step was not stored.
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

/// The call of a model broke, and is made again.
pub fn broken(call: ModelCallId) -> Input {
    Input::ModelRetries(call, Retry { attempt: 2, delay_ms: 500, reason: "the connection broke".to_owned() })
}

pub fn text(size: u16) -> String {
    "word é ".chars().cycle().take(usize::from(size) + 1).collect()
}
