//! The calls of a round: who decides about them, who runs them, and what becomes of their results. Every call gets
//! exactly one result.

use super::effect::{Answer, Effect, InvokeTool, Refusal};
use super::event::EventBody;
use super::input::{Decision, ReplyTo, Timer, ToolOutcome};
use super::state::{Pause, Rest, State};
use super::stored::{TurnRow, TurnStatus, Write};
use super::{Session, Step};
use crate::engine::id::CallId;
use crate::engine::message::{Body, Content, NewMessage, ROUND_LIMIT, ToolResult};
use crate::engine::prompt::item::{Approval, EndsTurn};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The result of a call that was stopped.
const CANCELLED: &str = "[cancelled by the user before a result came]";
/// The result of a call that a user rejected.
const REJECTED: &str = "[rejected by the user]";

impl Session {
    /// Whether a call may run. Arguments that are no JSON are the user's to judge.
    pub(super) fn approval(&self, tool: &str, arguments: &str) -> Approval {
        let known = self.fixed.tools.iter().find(|known| known.name == tool);
        let approval = known.map_or(Approval::Allow, |tool| tool.approval);
        let is_json = arguments.trim().is_empty() || serde_json::from_str::<Value>(arguments).is_ok();
        if approval == Approval::Allow && !is_json { Approval::Ask } else { approval }
    }
}

impl Step<'_> {
    /// Runs the calls of the newest round. Nothing of it runs before all that must be decided is (source: 001).
    pub(super) fn run_calls(&mut self) {
        let calls = self.session.unanswered();
        let asks = self.session.waiting_for_user(&calls);
        if asks.is_empty() {
            return self.run(calls);
        }
        let reasons = self.session.reasons(asks.iter(), "the tool asks first");
        self.enter(State::Paused(Pause { open: asks, ..Pause::default() }));
        self.emit(EventBody::PauseRequired(reasons.clone()));
        if self.session.settings.client.permits {
            self.effects.push(Effect::AskPermission(reasons));
        }
    }

    /// Runs these calls, all at once. What cannot run is answered here.
    fn run(&mut self, calls: BTreeSet<CallId>) {
        let Some(turn) = self.turn_id() else { return };
        let mut open = BTreeSet::new();
        let mut invoke = Vec::new();
        for call in self.session.reasons(calls.iter(), "") {
            let is_known = self.session.fixed.tools.iter().any(|tool| *tool.name == *call.name);
            if self.session.approval(&call.name, &call.arguments) == Approval::Deny {
                self.answer(&call.call, error(&call.call, "[denied: this tool may not be used here]".into()));
            } else if !is_known {
                self.answer(&call.call, error(&call.call, format!("[no tool is named {}]", call.name)));
            } else if !self.session.settings.client.invokes {
                self.answer(&call.call, error(&call.call, "[the editor runs no tools]".into()));
            } else {
                open.insert(call.call.clone());
                invoke.push(InvokeTool {
                    call: call.call,
                    turn: turn.clone(),
                    name: call.name,
                    arguments: call.arguments,
                });
            }
        }
        if open.is_empty() {
            return self.go_on();
        }
        self.enter(State::WaitingIde(open));
        self.calls_started();
        let deadline = self.session.settings.tool_deadline_ms;
        for call in invoke {
            self.effects.push(Effect::Start(Timer::Tool(call.call.clone()), deadline));
            self.effects.push(Effect::InvokeTool(call));
        }
    }

    /// The end of the turn, where a tool of the newest round that did not fail says so.
    fn ends_turn(&self) -> Option<Rest> {
        let transcript = &self.session.transcript;
        let round = transcript.rounds().last()?;
        let Body::Assistant { calls, .. } = &transcript.message(round.assistant)?.body else { return None };
        let answered = calls.iter().zip(&round.results).filter(|(_, result)| {
            let result = result.and_then(|ord| transcript.message(ord)).map(|message| &message.body);
            matches!(result, Some(Body::Tool(result)) if !result.is_error)
        });
        let tool = |name: &str| self.session.fixed.tools.iter().find(|tool| tool.name == name);
        let ends = answered.filter_map(|(call, _)| tool(&call.name)?.ends_turn).max()?;
        Some(match ends {
            EndsTurn::Completed => Rest::Completed,
            EndsTurn::WaitingUserInput => Rest::WaitingUserInput,
        })
    }

    /// Remembers that the calls of the newest round were started.
    fn calls_started(&mut self) {
        let newest = self.session.transcript.rounds().last().map(|round| round.assistant);
        self.write_turn(|row| {
            row.started = newest;
            row.decided.clear();
        });
    }

    fn write_turn(&mut self, change: impl FnOnce(&mut TurnRow)) {
        if let Some(row) = self.session.turns.last_mut() {
            change(row);
            let row = row.clone();
            self.write(Write::Turn(row));
        }
    }

    /// All calls have their result: the model goes on, unless it did so often enough.
    fn go_on(&mut self) {
        let turn = self.session.transcript.turns().len().saturating_sub(1);
        let rounds = self.session.transcript.rounds_of(turn).len();
        if let Some(ends) = self.ends_turn() {
            return self.end_turn(TurnStatus::Completed, ends);
        }
        if rounds >= self.session.settings.round_limit as usize {
            let text = format!(
                "The turn ran {rounds} rounds, which is its limit. Say how to go on, or that it is enough."
            );
            let question = Body::Event { kind: ROUND_LIMIT.into(), text: text.into() };
            let new = NewMessage { visible_to_model: false, ..self.stamped(question) };
            self.append(new);
            return self.end_turn(TurnStatus::Completed, Rest::WaitingUserInput);
        }
        self.generate(None);
    }

    /// Appends a result. A round's results stand together, whatever else came meanwhile.
    fn answer(&mut self, call: &CallId, mut result: ToolResult) {
        // Our own id: the model may have given two calls of a round the same one.
        result.call = call.as_str().to_owned();
        let new = self.stamped(Body::Tool(result));
        self.append(new);
    }

    pub(super) fn answer_cancelled(&mut self, calls: BTreeSet<CallId>) {
        for call in calls {
            self.effects.push(Effect::CancelTool(call.clone()));
            self.effects.push(Effect::Stop(Timer::Tool(call.clone())));
            self.answer(&call, error(&call, CANCELLED.into()));
        }
    }

    pub(super) fn tool_done(&mut self, call: CallId, outcome: ToolOutcome) {
        let result = match outcome {
            ToolOutcome::Answered(result) => result,
            ToolOutcome::Failed(why) => error(&call, format!("[the tool could not be run: {why}]")),
            // It comes by tool/result; the deadline stays.
            ToolOutcome::Pending => return,
        };
        if let Err(refusal) = self.take_result(&call, result) {
            let why =
                if matches!(refusal, Refusal::Settled { .. }) { "it has one" } else { "nobody waits for it" };
            self.trace(format!("the result of a call came late and was dropped: {why}"));
        }
    }

    pub(super) fn tool_result(&mut self, reply: ReplyTo, result: ToolResult) {
        let call = CallId::new(&result.call);
        let taken = self.take_result(&call, result);
        let state = self.session.state.name();
        self.reply(reply, taken.map(|()| Answer::Done(state)));
    }

    /// Takes a result of a call that is waited for. Anything else changes nothing.
    fn take_result(&mut self, call: &CallId, result: ToolResult) -> Result<(), Refusal> {
        let is_open = match &mut self.session.state {
            State::WaitingIde(open) => open.remove(call),
            _ => false,
        };
        if !is_open {
            let id = call.as_str().to_owned();
            return Err(match self.session.transcript.has_call(call) {
                true => Refusal::Settled { what: "tool call", id },
                false => Refusal::Unknown { what: "tool call", id },
            });
        }
        self.effects.push(Effect::Stop(Timer::Tool(call.clone())));
        self.answer(call, result);
        if matches!(&self.session.state, State::WaitingIde(open) if open.is_empty()) {
            self.go_on();
        }
        Ok(())
    }

    pub(super) fn tool_expired(&mut self, call: CallId) {
        let ms = self.session.settings.tool_deadline_ms;
        let result = error(&call, format!("[no result came within {ms} ms]"));
        if self.take_result(&call, result).is_ok() {
            self.effects.push(Effect::CancelTool(call));
        }
    }

    pub(super) fn decide(&mut self, reply: ReplyTo, decisions: &[Decision]) {
        let decided = self.take_decisions(decisions);
        let state = self.session.state.name();
        self.reply(reply, decided.map(|()| Answer::Done(state)));
    }

    pub(super) fn permitted(&mut self, decisions: Vec<Decision>) {
        if let Err(refusal) = self.take_decisions(&decisions) {
            let _ = refusal;
            self.trace("a permission came late and was dropped");
        }
    }

    /// Takes decisions, all of them or none.
    fn take_decisions(&mut self, decisions: &[Decision]) -> Result<(), Refusal> {
        let State::Paused(pause) = &mut self.session.state else { return Err(self.invalid()) };
        for Decision { call, .. } in decisions {
            let id = || call.as_str().to_owned();
            if pause.decided.contains_key(call) {
                return Err(Refusal::Settled { what: "tool call", id: id() });
            }
            if !pause.open.contains(call) {
                return Err(Refusal::Unknown { what: "tool call", id: id() });
            }
        }
        decisions.iter().for_each(|decision| pause.take(decision));
        let goes_on = !pause.open.is_empty();
        let decided = if goes_on { BTreeMap::new() } else { std::mem::take(&mut pause.decided) };
        if goes_on {
            // What is acknowledged is stored, also where the rest is not decided.
            self.write_turn(|row| row.decided.extend_from_slice(decisions));
            return Ok(());
        }
        self.emit(EventBody::PauseCleared);
        for (call, decision) in decided {
            if let Err(note) = decision {
                let words = note.map_or_else(|| REJECTED.to_owned(), |note| format!("{REJECTED} {note}"));
                self.answer(&call, error(&call, words));
            }
        }
        let calls = self.session.unanswered();
        self.run(calls);
        Ok(())
    }
}

fn error(call: &CallId, text: String) -> ToolResult {
    ToolResult {
        call: call.as_str().to_owned(),
        content: vec![Content::Text(text.into())],
        is_error: true,
        ..ToolResult::default()
    }
}
