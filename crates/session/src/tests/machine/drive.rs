//! Applies random happenings to a session: numbers become messages, calls and turns that exist.

use crate::effect::{Answer, Purpose};
use crate::input::{
    self, Command, Compact, Configure, Decision, GivenPrefix, Input, ModelCallId, Open, Render, ReplyTo,
    Restore, Review, StartTurn, Summarize, ToolOutcome,
};
use crate::ledger::LedgerQuery;
use crate::queue::Work;
use crate::recall::Recall;
use crate::settings::ModelFacts;
use crate::state::State;
use crate::stored::{Driver, TurnStatus};
use crate::tests::bench::{Bench, SUMMARY, broken, result, text};
use crate::tests::history::outside::changed_copy;
use crate::tests::machine::happening::{
    At, Beside, Decided, Happening, Key, Rewind, Said, Set, Stop, Tool as Does, Which,
};
use crate::tests::machine::model::Model;
use crate::tests::machine::set::{always, attachments, base, editors, editors_tools, set};
use engine::delta::Delta;
use engine::id::{CallId, CompactionId, ItemId, MessageId, PinId, SessionId, TurnId};
use engine::message::attachment::Attachment;
use engine::message::{Body, Content, NewMessage, ToolCall, ToolResult, Usage};
use engine::prompt::pins::Pinned;
use engine::prompt::request::{Answer as Answered, Failure, Overflow, StopReason};
use engine::scope::Scope;
use engine::search::{Query, Words};
use std::sync::Arc;

/// Tools by number; the fourth does not exist.
const TOOLS: [&str; 8] = ["read", "rm", "no", "unknown", "note", "done", "ask", "run"];

/// A session in which every happening is possible.
pub fn model(driver: Driver) -> Model {
    Model::new(Bench::with(driver, base(), editors_tools(true)))
}

fn key(key: Key) -> Option<String> {
    key.map(|key| format!("k{key}"))
}

fn words(text: &str) -> Vec<Content> {
    vec![Content::Text(text.into())]
}

impl Model {
    fn nth_message(&self, nth: u8) -> Option<MessageId> {
        let messages = self.bench.session.snapshot().messages;
        messages.get(usize::from(nth).checked_rem(messages.len())?).map(|message| message.id.clone())
    }

    /// Returns the compaction in force for most numbers, any record for the others.
    fn nth_compaction(&self, nth: u8) -> Option<CompactionId> {
        let transcript = self.bench.session.transcript();
        match (nth, transcript.in_force()) {
            (0..=180, Some(newest)) => Some(newest.id.clone()),
            _ => {
                let records = transcript.compactions();
                records.get(usize::from(nth).checked_rem(records.len())?).map(|record| record.id.clone())
            }
        }
    }

    fn at(&self, at: At) -> input::At {
        let messages = self.bench.session.snapshot().messages.len();
        let nobody = || MessageId::new("nobody");
        match at {
            At::Id(nth) => input::At::Id(self.nth_message(nth).unwrap_or_else(nobody)),
            // Sometimes one past the end.
            At::Index(nth) => input::At::Index(u32::from(nth) % (messages as u32 + 1)),
            At::Nobody => input::At::Id(nobody()),
        }
    }

    /// Returns a call that is waited for, or an unknown one if there is none.
    fn nth_call(&self, nth: u8) -> CallId {
        let calls: Vec<CallId> = match self.bench.session.state() {
            State::Calling(calling) => calling.all().into_iter().collect(),
            State::Paused(pause) => pause.open().iter().cloned().collect(),
            _ => Vec::new(),
        };
        let at = usize::from(nth).checked_rem(calls.len());
        at.and_then(|at| calls.get(at).cloned()).unwrap_or_else(|| CallId::new("nobody"))
    }

    /// Returns the call that a turn or a summary waits for, else the one for a title.
    fn asked(&self) -> Option<(ModelCallId, Purpose)> {
        let of_turn = self.bench.asked.iter().find(|ask| ask.1 != Purpose::Title);
        of_turn.or(self.bench.asked.first()).map(|ask| (ask.0, ask.1))
    }

    pub fn happens(&mut self, happening: Happening) {
        match happening {
            Happening::Says(said, size) => self.says(said, size),
            Happening::Answers(calls, stop) => self.answers_with(&calls, stop),
            Happening::Fails => {
                if let Some((call, _)) = self.asked() {
                    self.done(call, Err("broke off".into()));
                }
            }
            Happening::Breaks(has_words) => self.breaks(has_words),
            Happening::Late(nth) => self.comes_late(nth),
            Happening::ToolDoes(nth, does, size) => self.tool_does(nth, does, &text(size)),
            Happening::Decides { nth, how, all, by_answer } => self.decides(nth, how, all, by_answer),
            Happening::Overflows(limit) => {
                if let Some((call, _)) = self.asked() {
                    let overflow = Overflow { limit: limit.map(u32::from), ..Overflow::default() };
                    let failure = Failure { overflow: Some(overflow), ..Failure::from("too large") };
                    self.done(call, Err(failure));
                }
            }
            Happening::Reviews(nth) => {
                let review = match nth {
                    0 => Some(Review::Accept),
                    1 => Some(Review::Edit("my own words".into())),
                    2 => Some(Review::Refuse),
                    3 => Some(Review::Unusable("it cannot be read".into())),
                    _ => None,
                };
                match self.bench.session.state() {
                    State::Reviewing(_) => self.input(Input::Reviewed(review)),
                    _ => self.late(Input::Reviewed(review)),
                }
            }
            Happening::Expires(nth) => {
                let timers: Vec<_> = self.bench.timers.iter().cloned().collect();
                let at = usize::from(nth).checked_rem(timers.len());
                if let Some(timer) = at.and_then(|at| timers.get(at)) {
                    self.bench.timers.remove(timer);
                    self.input(Input::Expired(timer.clone()));
                }
            }
            Happening::Ends => self.another_process(true),
            Happening::Dies => self.another_process(false),
            Happening::StoreFails(commits) => self.bench.fails = commits,
            Happening::Misses(events) => self.misses = u32::from(events),
            Happening::SharedSettings(what) => self.input(Input::Settings(Box::new(set(what)))),
            Happening::Scopes(n) => {
                let scope = Scope { revision: u64::from(n), ..Scope::default() };
                self.input(Input::Scope(Arc::new(scope)));
            }
            Happening::Approvals(n) => {
                self.bench.was_approved = true;
                self.bench.approvals =
                    vec![always("rm", (n > 1).then_some("*"), false); usize::from(n.min(1))];
                self.input(Input::Approvals(self.bench.approvals.clone().into()));
            }
            Happening::Instructs(n) => {
                let says = (n % 4 > 0).then(|| text(u16::from(n)).as_str().into());
                self.input(Input::Instructions(vec![("CLAUDE.md".into(), says)]))
            }
            Happening::Attaches(n) => {
                self.input(Input::Attach(vec![Attachment::new("AGENTS.md", &text(u16::from(n)))]))
            }
            Happening::Abandons => {
                if let Some(open) = self.bench.open_replies.last().copied() {
                    // An abandoned request may be answered with a cancellation, or not at all.
                    self.input(Input::Abandoned(ReplyTo(open)));
                    self.bench.open_replies.remove(&open);
                }
            }
            command => {
                let command = self.command_of(command);
                self.command(command);
            }
        }
    }

    fn command_of(&self, happening: Happening) -> Command {
        match happening {
            Happening::Starts { size, priority, key: of, what } => {
                let model = ModelFacts { window: 2800, ..base().model };
                let is_empty = matches!(what, Beside::Empty);
                let prefix = GivenPrefix { tools: Some(editors_tools(size % 2 == 0)), sections: None };
                Command::StartTurn(Box::new(StartTurn {
                    content: if is_empty { Vec::new() } else { words(&text(size)) },
                    attachments: attachments(size),
                    external_id: (size % 3 == 0).then(|| format!("e{size}")),
                    prefix: if matches!(what, Beside::Tools) { prefix } else { GivenPrefix::default() },
                    model: matches!(what, Beside::Model)
                        .then(|| (model, serde_json::json!({"window": 2800}))),
                    priority,
                    key: key(of),
                }))
            }
            Happening::Rewinds(rewind, at, of) => {
                let (at, key) = (self.at(at), key(of));
                match rewind {
                    Rewind::Retry { words: new } => {
                        Command::Retry { from: at, content: new.then(|| words("again")), key }
                    }
                    Rewind::Regenerate => Command::Regenerate { key },
                    Rewind::Update { regenerate, empty } => {
                        let content = if empty { Vec::new() } else { words("other words") };
                        Command::Update { message: at, content, regenerate, key }
                    }
                    Rewind::Remove => Command::Remove { message: at, key },
                    Rewind::Truncate => Command::Truncate { from: at, key },
                }
            }
            Happening::Cancels { which, queued } => {
                let snapshot = self.bench.session.snapshot();
                let turn = match which {
                    Which::Running => None,
                    Which::Newest => snapshot.turns.last().map(|turn| TurnId::new(&turn.id)),
                    Which::Waiting(nth) => {
                        let waits = snapshot.queue.iter().filter_map(|item| match &item.work {
                            Work::Start { turn, .. } => Some(turn.clone()),
                            _ => None,
                        });
                        waits.cycle().nth(usize::from(nth))
                    }
                    Which::Nobody => Some(TurnId::new("nobody")),
                };
                Command::CancelTurn { turn, queued }
            }
            Happening::CancelsQueued(nth) => {
                let queue = self.bench.session.snapshot().queue;
                let item = queue.iter().cycle().nth(usize::from(nth)).map(|item| item.id.clone());
                Command::CancelQueued(item.unwrap_or_else(|| ItemId::new("nobody")))
            }
            Happening::Branches(at, of) => Command::Branch {
                to: SessionId::new(format!("b{}", self.bench.number())),
                up_to: Some(self.at(at)),
                title: None,
                key: key(of),
            },
            Happening::Resets { keep_queue, key: of } => Command::Reset { keep_queue, key: key(of) },
            Happening::Restores { calls } => {
                let calls = if calls { vec![ToolCall::new("elsewhere", "read", "{}")] } else { Vec::new() };
                let said = NewMessage::new(Body::assistant("hello", calls));
                let messages = vec![NewMessage::user("hi"), said];
                Command::Restore(Box::new(Restore::of(messages)))
            }
            Happening::TakesIn(nth, how) => changed_copy(self.bench.session.transcript(), nth, how),
            Happening::Drafts(n) => Command::SetDraft((n > 0).then(|| text(u16::from(n)).into())),
            Happening::Notices => Command::Notice { kind: "process_completed", text: "done".into() },
            Happening::LeavesTask(size) => Command::StoreTask(Box::new(StartTurn {
                content: vec![Content::Text(text(size).into())],
                ..StartTurn::default()
            })),
            Happening::RunsTask => Command::RunTask,
            Happening::Configures(what) => {
                let own = serde_json::json!({ "set": format!("{what:?}") });
                let title = matches!(what, Set::Titles).then(|| "named".to_owned());
                Command::Configure(Box::new(Configure {
                    settings: set(what),
                    own,
                    forget_limits: title.is_some(),
                    title,
                }))
            }
            Happening::Opens { titled } => {
                Command::Open(Box::new(Open { title: titled.then(|| "t".into()), ..Open::default() }))
            }
            Happening::Compacts { redo, keep, preview } => {
                let newest = self.nth_compaction(0);
                Command::Compact(Compact {
                    focus: Some("the tests".into()),
                    redo: newest.filter(|_| redo),
                    keep: keep.and_then(|nth| self.nth_message(nth)).into_iter().collect(),
                    preview,
                })
            }
            Happening::Undoes(nth) => Command::Undo(nth.and_then(|nth| self.nth_compaction(nth))),
            Happening::EditsSummary { nth, size } => Command::Edit {
                compaction: self.nth_compaction(nth).unwrap_or_else(|| CompactionId::new("nothing")),
                narrative: text(size),
            },
            Happening::Excludes(nth, more) => {
                let nth = std::iter::once(nth).chain(more);
                Command::Exclude(nth.filter_map(|nth| self.nth_message(nth)).collect())
            }
            Happening::Pins(what) => Command::Pin(match what {
                Ok(nth) => Pinned::Message(self.nth_message(nth).unwrap_or_else(|| MessageId::new("nobody"))),
                Err(size) => Pinned::Text(text(size).into()),
            }),
            Happening::Unpins(nth) => {
                let pins = self.bench.session.pins();
                let at = usize::from(nth).checked_rem(pins.len());
                let id = at.and_then(|at| pins.get(at)).map(|pin| pin.id.clone());
                Command::Unpin(id.unwrap_or_else(|| PinId::new("nothing")))
            }
            Happening::Recalls(nth) => {
                let id = self.nth_message(nth);
                let reference = id.map_or_else(|| "nobody".to_owned(), |id| id.as_str().to_owned());
                Command::Recall(Recall { reference, offset: 0, limit: 100 })
            }
            Happening::AsksForLedger(limit) => {
                let newest = self.bench.replies.iter().rev().find_map(|(_, reply)| match reply {
                    Ok(Answer::Ledger(ledger)) => Some(ledger.next.clone()),
                    _ => None,
                });
                Command::Ledger(LedgerQuery { from: newest.flatten(), limit: limit.into() })
            }
            Happening::Searches => Command::Search(searched()),
            Happening::Subscribes(n) => {
                let (stream, seq) = (self.bench.session.stream(), self.bench.events.len() as u64);
                Command::Subscribe {
                    newest: None,
                    since: match n {
                        0 => None,
                        1 => Some(("another".into(), seq)),
                        2 => Some((stream.into(), seq + 7)),
                        n => Some((stream.into(), seq.saturating_sub(u64::from(n)))),
                    },
                }
            }
            Happening::Renders { turns, resent, rounds, size, how } => {
                let mut history = editors(turns, resent, rounds, size);
                let current = history.pop();
                let summarize = match how % 4 {
                    0 => Summarize::Force,
                    1 => Summarize::Never,
                    _ => Summarize::Auto,
                };
                let history = (how % 5 != 0).then_some(history);
                let current = current.filter(|_| how % 7 != 0);
                let attachments = attachments(size);
                let render = Render {
                    history,
                    current,
                    attachments,
                    breakpoints: true,
                    summarize,
                    ..Render::default()
                };
                Command::Render(Box::new(render))
            }
            Happening::AppendsRound { calls, results } => {
                let round = self.bench.number();
                let call = |n: u8| ToolCall::new(&format!("a{round}-{n}"), "read", "{}");
                let said = Body::assistant("so", (0..calls).map(call).collect());
                let result = |n| NewMessage::new(Body::Tool(result(&format!("a{round}-{n}"), "of it")));
                let id = Some(format!("a{round}"));
                let said = NewMessage { external_id: id, ..NewMessage::new(said) };
                Command::AppendRound(std::iter::once(said).chain((0..results).map(result)).collect())
            }
            Happening::EndsTurn(n) => Command::EndTurn(
                [TurnStatus::Completed, TurnStatus::Cancelled, TurnStatus::Failed][usize::from(n)],
            ),
            _ => Command::Inspect(None),
        }
    }

    fn says(&mut self, said: Said, size: u16) {
        let Some((call, _)) = self.asked() else { return };
        let calls = |n: u8| (0..n).map(|n| ToolCall::new(&format!("d{n}"), "read", "")).collect();
        let delta = match said {
            Said::Content => Delta::AppendContent(text(size)),
            Said::Reasoning => Delta::AppendReasoning(text(size)),
            Said::Calls(n) => Delta::SetToolCalls(calls(n)),
            Said::Arguments => Delta::AppendToolArguments { call: "d0".into(), text: "{}".into() },
            Said::Block => {
                let block = serde_json::json!({"type": "thinking", "index": 0, "thinking": text(size)});
                Delta::SetThinkingBlocks(block.as_object().cloned().into_iter().collect())
            }
            Said::Citation => Delta::AddCitation(serde_json::json!({ "url": size })),
            Said::OfServer => Delta::AddServerContentBlock(serde_json::json!({ "type": "search" })),
            Said::Usage => {
                Delta::SetUsage(Usage { output_tokens: Some(u32::from(size)), ..Usage::default() })
            }
            Said::Extra => {
                let extra = serde_json::json!({ "extra": size });
                Delta::MergeExtra(extra.as_object().cloned().unwrap_or_default())
            }
            Said::Unknown => Delta::AppendToolArguments { call: "never".into(), text: "{}".into() },
        };
        self.input(Input::ModelDelta(call, delta));
    }

    fn breaks(&mut self, has_words: bool) {
        self.says(Said::Content, 12);
        let Some((call, _)) = self.asked() else { return };
        self.input(broken(call));
        if has_words {
            self.says(Said::Content, 9);
        }
    }

    fn answers_with(&mut self, calls: &[u8], stop: Stop) {
        let Some((call, purpose)) = self.asked() else { return };
        let is_turn = purpose == Purpose::Turn;
        if !is_turn {
            let said = if purpose == Purpose::Title { "a name" } else { SUMMARY };
            self.input(Input::ModelDelta(call, Delta::AppendContent(said.into())));
        }
        let asked = calls.iter().enumerate().filter(|_| is_turn).map(|(n, name)| {
            // A model may give two calls the same id.
            let id = if *name == 0 { "same".to_owned() } else { format!("c{}-{n}", call.0) };
            let arguments = if *name == 1 && n == 2 { "{broken" } else { "{\"path\": \"a.rs\"}" };
            ToolCall::new(&id, TOOLS[usize::from(*name)], arguments)
        });
        let reason = match stop {
            Stop::End | Stop::Streamed => StopReason::End,
            Stop::Length => StopReason::Length,
            Stop::Paused => StopReason::Paused,
            Stop::Refused => StopReason::Refused,
            Stop::Cancelled => StopReason::Cancelled,
        };
        let calls = (!matches!(stop, Stop::Streamed)).then(|| asked.collect());
        let said = Answered { parts: None, calls, stop: reason, usage: None };
        self.done(call, Ok(said));
    }

    /// Ends a model call.
    pub fn done(&mut self, call: ModelCallId, outcome: Result<Answered, Failure>) {
        self.bench.asked.retain(|ask| ask.0 != call);
        self.input(Input::ModelDone(call, outcome));
    }

    /// Sends an input for a call that is over or never existed.
    fn comes_late(&mut self, nth: u8) {
        let call = ModelCallId(u64::from(nth % 16));
        if self.bench.asked.iter().any(|ask| ask.0 == call) {
            return;
        }
        let said = Answered { parts: None, calls: None, stop: StopReason::End, usage: None };
        let nobody = CallId::new("nobody");
        self.late(match nth / 16 % 6 {
            0 => Input::ModelDelta(call, Delta::AppendContent("late".into())),
            1 => Input::ModelDone(call, Ok(said)),
            2 => Input::ModelDone(call, Err("late".into())),
            3 => Input::Expired(input::Timer::Deltas(call)),
            4 => Input::Expired(input::Timer::Tool(nobody)),
            _ => Input::ToolDone(nobody, ToolOutcome::Answered(result("nobody", "late"))),
        });
    }

    fn tool_does(&mut self, nth: u8, does: Does, said: &str) {
        let call = match does {
            Does::Unknown => CallId::new("nobody"),
            _ => self.nth_call(nth),
        };
        let answer = result(call.as_str(), said);
        let is_waited_for =
            matches!(self.bench.session.state(), State::Calling(_)) && call.as_str() != "nobody";
        self.bench.invoked.retain(|invoked| *invoked != call);
        let outcome = match does {
            Does::Answers | Does::Twice | Does::Unknown => ToolOutcome::Answered(answer.clone()),
            Does::Fails => ToolOutcome::Failed("it is not there".into()),
            Does::SaysError => ToolOutcome::Answered(ToolResult { is_error: true, ..answer.clone() }),
            Does::Pending => ToolOutcome::Pending,
            Does::Waits => ToolOutcome::Waits,
            Does::Hands => {
                self.command(Command::ToolResult(answer));
                return;
            }
        };
        let done = Input::ToolDone(call.clone(), outcome.clone());
        match is_waited_for {
            true => self.input(done.clone()),
            false => self.late(done.clone()),
        }
        let is_over = !matches!(self.bench.session.state(), State::Calling(calling)
            if calling.all().contains(&call));
        if matches!(does, Does::Twice) && is_over {
            self.late(done);
            self.command(Command::ToolResult(answer));
        }
    }

    fn decides(&mut self, nth: u8, how: Decided, all: bool, by_answer: bool) {
        let mut calls = vec![self.nth_call(nth)];
        if let (State::Paused(pause), true) = (self.bench.session.state(), all) {
            calls = pause.open().iter().cloned().collect();
        }
        let decide = |call| Decision {
            note: matches!(how, Decided::Reject).then(|| "my words".into()),
            always: match how {
                Decided::Always(narrow) => Some(always("", narrow.then_some("a*"), false)),
                Decided::Never(narrow) => Some(always("", narrow.then_some("a*"), true)),
                Decided::Approve | Decided::Reject => None,
            },
            ..Decision::once(call, !matches!(how, Decided::Reject | Decided::Never(_)))
        };
        let decisions: Vec<Decision> = calls.into_iter().map(decide).collect();
        match by_answer {
            true => self.input(Input::Permitted(decisions)),
            false => drop(self.command(Command::Decide(decisions))),
        }
    }
}

/// A query for a word that most requests hold.
pub fn searched() -> Query {
    Query { words: Words::of("word"), before: None, skip: 0, limit: 3, hidden: true }
}
