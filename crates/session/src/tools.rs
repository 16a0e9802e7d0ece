//! The calls of a round: who decides about them, who runs them, and what becomes of their results. Every call gets
//! exactly one result.

use super::effect::{Answer, Effect, InvokeTool, Reason, Refusal};
use super::event::EventBody;
use super::input::{Decision, ReplyTo, Timer, ToolOutcome};
use super::state::{Calling, Pause, Rest, State};
use super::stored::{Always, TurnRow, TurnStatus, Write};
use super::{Session, Step};
use engine::approval::{self, Approval};
use engine::id::CallId;
use engine::message::{
    Body, Content, NewMessage, QUESTION, ROUND_LIMIT, ToolCall, ToolResult, Verdict, argument_values,
};
use engine::prompt::item::{EndsTurn, Tool, ToolKind};
use engine::text::json;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The result of a call that was stopped.
const CANCELLED: &str = "[cancelled by the user before a result came]";
/// The result of a call that a user rejected.
const REJECTED: &str = "[rejected by the user]";

impl Session {
    /// Whether a call may run, and the rule that says so, where one does.
    pub(super) fn approval(&self, tool: &str, arguments: &str) -> (Approval, Option<&str>) {
        if self.is_own(tool) && !is_json(arguments) {
            // It touches nothing outside, and answers what it cannot read with what it expects.
            return (Approval::Allow, None);
        }
        let known = self.fixed.tools.iter().find(|known| known.name == tool);
        let (policy, rules) = known.map_or((Approval::Allow, &[][..]), |tool| (tool.approval, &*tool.rules));
        let is_approved = |values: &Value| {
            self.approvals.iter().any(|always| {
                let fits = always.pattern.as_ref().is_none_or(|p| approval::is_allowed_by(p, values));
                always.tool == tool && fits
            })
        };
        approval::decide(policy, rules, arguments, is_approved)
    }

    /// Why a call waits for the user, in words.
    fn why_asked(&self, name: &str, arguments: &str) -> String {
        match self.approval(name, arguments) {
            (_, Some(rule)) => format!("a rule of the tool asks about {rule}"),
            (_, None) if is_json(arguments) => "the tool asks first".to_owned(),
            (_, None) => "its arguments are no JSON".to_owned(),
        }
    }

    /// Calls that wait for the user, each with its reason.
    pub(super) fn asked(&self, open: &BTreeSet<CallId>) -> Vec<Reason> {
        let mut asked = self.reasons(open.iter(), "");
        asked.iter_mut().for_each(|call| call.reason = self.why_asked(&call.name, &call.arguments));
        asked
    }

    /// Whether we run this tool: the model was told of ours, and the editor has none of that name.
    pub(super) fn is_own(&self, name: &str) -> bool {
        let is = |tools: &[Tool]| tools.iter().any(|tool| tool.name == name);
        is(&self.settings.own_tools) && !is(&self.head.prefix.tools)
    }

    /// What a user approves with these words, once and for all: what the client says, or calls like this one. A tool
    /// that runs commands is approved for this command alone.
    fn always(&self, decision: &Decision) -> Option<Always> {
        let asked = decision.always.as_ref().filter(|_| decision.approved)?;
        let call = self.reasons(std::iter::once(&decision.call), "").pop()?;
        let kind = self.fixed.tools.iter().find(|tool| *tool.name == *call.name).map(|tool| tool.kind);
        let runs = matches!(kind, Some(Some(ToolKind::Run)));
        let read = json::read(&call.arguments).unwrap_or_default();
        let exact = || runs.then(|| approval::exactly(&read));
        Some(Always { tool: call.name.to_string(), pattern: asked.pattern.clone().or_else(exact) })
    }
}

impl Session {
    /// The end of the turn, where a tool of the newest round that did not fail says so; and what it asks the user.
    pub(super) fn ends_turn(&self) -> Option<(Rest, Option<String>)> {
        let (ends, call) = self.ending_call()?;
        Some(match ends {
            EndsTurn::Completed => (Rest::Completed, None),
            EndsTurn::WaitingUserInput => (Rest::WaitingUserInput, question(&call.arguments)),
        })
    }

    /// How the newest round of the newest turn ends it, where it does: by this call.
    pub(super) fn ending_call(&self) -> Option<(EndsTurn, ToolCall)> {
        let transcript = &self.transcript;
        // What an earlier turn ended with says nothing of one that has no round.
        let round = transcript.rounds_of(transcript.turns().len().checked_sub(1)?).last()?;
        let Body::Assistant { calls, .. } = &transcript.message(round.assistant)?.body else { return None };
        let answered = calls.iter().zip(&round.results).filter(|(_, result)| {
            let result = result.and_then(|ord| transcript.message(ord)).map(|message| &message.body);
            matches!(result, Some(Body::Tool(result)) if !result.is_error)
        });
        let tool = |name: &str| self.fixed.tools.iter().find(|tool| tool.name == name);
        let ends = answered.filter_map(|(call, _)| Some((tool(&call.name)?.ends_turn?, call)));
        let (ends, call) = ends.max_by_key(|(ends, _)| *ends)?;
        Some((ends, call.clone()))
    }
}

impl Session {
    /// What the user decided about a call of the running turn, where the user was asked.
    fn verdict(&self, call: &CallId) -> Option<Verdict> {
        let decided = &self.turns.last()?.decided;
        let decision = decided.iter().rfind(|decision| decision.call == *call)?;
        Some(Verdict { approved: decision.approved, note: decision.note.clone() })
    }

    /// The tool by which the newest round ended its turn, where one did.
    pub fn ended_by(&self) -> Option<String> {
        let (_, call) = self.ending_call()?;
        Some(call.name.to_string())
    }
}

/// What a call that asks the user asks: its `question` or `questions`, where it has some.
fn question(arguments: &str) -> Option<String> {
    let read: Value = json::read(arguments).ok()?;
    let asked = read.get("questions").or_else(|| read.get("question"))?;
    Some(argument_values(&asked.to_string())).filter(|text| !text.is_empty())
}

fn is_json(arguments: &str) -> bool {
    arguments.trim().is_empty() || json::read::<Value>(arguments).is_ok()
}

impl Step<'_> {
    /// Runs the calls of the newest round. Nothing of it runs before all that must be decided is (source: 001).
    pub(super) fn run_calls(&mut self) {
        let calls = self.session.unanswered();
        let asks = self.session.waiting_for_user(&calls);
        if asks.is_empty() {
            return self.run(calls);
        }
        let reasons = self.session.asked(&asks);
        self.enter(State::Paused(Pause { open: asks, ..Pause::default() }));
        self.emit(EventBody::PauseRequired(reasons.clone()));
        if self.session.settings.client.permits {
            self.effects.push(Effect::AskPermission(reasons));
        }
    }

    /// Runs these calls, all at once. What cannot run is answered here.
    fn run(&mut self, calls: BTreeSet<CallId>) {
        let Some(turn) = self.turn_id() else { return };
        let mut calling = Calling::default();
        let mut begin = Vec::new();
        for call in self.session.reasons(calls.iter(), "") {
            let is_known = self.session.fixed.tools.iter().any(|tool| *tool.name == *call.name);
            let is_own = self.session.is_own(&call.name);
            if self.session.approval(&call.name, &call.arguments).0 == Approval::Deny {
                self.answer(&call.call, error(&call.call, "[denied: this tool may not be used here]".into()));
            } else if !is_known {
                self.answer(&call.call, error(&call.call, format!("[no tool is named {}]", call.name)));
            } else if !is_own && !self.session.settings.client.invokes {
                self.answer(&call.call, error(&call.call, "[the editor runs no tools]".into()));
            } else {
                let runs = if is_own { &mut calling.own } else { &mut calling.editors };
                runs.insert(call.call.clone());
                begin.push((is_own, InvokeTool::of(call, turn.clone())));
            }
        }
        if calling.is_over() {
            return self.go_on();
        }
        self.enter(State::Calling(calling));
        self.calls_started();
        let deadline = self.session.settings.tool_deadline_ms;
        for (is_own, call) in begin {
            self.effects.push(Effect::Start(Timer::Tool(call.call.clone()), deadline));
            self.effects.push(if is_own { Effect::RunTool(call) } else { Effect::InvokeTool(call) });
        }
    }

    /// Runs those of our own calls again that were under way when the process ended: they change nothing outside.
    pub(super) fn run_own_again(&mut self) {
        let State::Calling(Calling { own, .. }) = &self.session.state else { return };
        let Some(turn) = self.turn_id() else { return };
        let calls = self.session.reasons(own.iter(), "");
        let deadline = self.session.settings.tool_deadline_ms;
        for call in calls {
            self.effects.push(Effect::Start(Timer::Tool(call.call.clone()), deadline));
            self.effects.push(Effect::RunTool(InvokeTool::of(call, turn.clone())));
        }
    }

    /// Remembers that the calls of the newest round were started.
    fn calls_started(&mut self) {
        let newest = self.session.transcript.rounds().last().map(|round| round.assistant);
        let calls = self.session.unanswered();
        self.write_turn(|row| {
            row.started = newest;
            // What was approved is said again with its result.
            row.decided.retain(|decision| calls.contains(&decision.call));
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
        if let Some((ends, question)) = self.session.ends_turn() {
            if let Some(question) = question {
                self.notice(QUESTION, question);
            }
            return self.end_turn(TurnStatus::Completed, ends);
        }
        if self.inject_urgent() {
            return self.generate(None);
        }
        if self.exits_for_budget() {
            return;
        }
        if rounds >= self.session.settings.round_limit as usize {
            self.notice(
                ROUND_LIMIT,
                format!(
                    "The turn ran {rounds} rounds, which is its limit. Say how to go on, or that it is enough."
                ),
            );
            return self.end_turn(TurnStatus::Completed, Rest::WaitingUserInput);
        }
        self.generate(None);
    }

    /// Appends something that the user is to see and no model.
    pub(super) fn notice(&mut self, kind: &str, text: String) {
        let body = Body::Event { kind: kind.to_owned(), text: text.into() };
        let new = NewMessage { visible_to_model: false, ..self.stamped(body) };
        let known = self.session.turns.len();
        self.append(new);
        if known < self.session.turns.len() {
            // The first thing that is said in a session is in a turn as well; none runs because of it.
            self.set_turn(known, TurnStatus::Cancelled);
        }
    }

    /// Appends a result. A round's results stand together, whatever else came meanwhile.
    fn answer(&mut self, call: &CallId, mut result: ToolResult) {
        // Our own id: the model may have given two calls of a round the same one.
        result.call = call.as_str().to_owned();
        result.verdict = self.session.verdict(call);
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
        // As after a decision; one that is refused changes nothing.
        self.session.queue.is_held &= taken.is_err();
        let state = self.session.state.name();
        self.reply(reply, taken.map(|()| Answer::Done(state)));
    }

    /// Takes a result of a call that is waited for. Anything else changes nothing.
    fn take_result(&mut self, call: &CallId, result: ToolResult) -> Result<(), Refusal> {
        let before = self.session.state.name();
        let is_open = match &mut self.session.state {
            State::Calling(calling) => calling.editors.remove(call) || calling.own.remove(call),
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
        match &self.session.state {
            State::Calling(calling) if calling.is_over() => self.go_on(),
            // The editor's calls are done, some of ours are not.
            state if state.name() != before => self.tell_state(),
            _ => {}
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
        // Somebody is there again: what waited when the process ended follows this turn.
        self.session.queue.is_held = false;
        let open = pause.open.clone();
        let goes_on = !pause.open.is_empty();
        let decided = if goes_on { BTreeMap::new() } else { std::mem::take(&mut pause.decided) };
        self.remember_always(decisions);
        if let Some(row) = self.session.turns.last_mut() {
            row.decided.extend_from_slice(decisions);
        }
        if goes_on {
            // What is acknowledged is stored, also where the rest is not decided.
            self.write_turn(|_| {});
            let reasons = self.session.asked(&open);
            self.emit(EventBody::PauseRequired(reasons));
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

impl Step<'_> {
    /// Calls like these are not asked about again.
    fn remember_always(&mut self, decisions: &[Decision]) {
        for always in
            decisions.iter().filter_map(|decision| self.session.always(decision)).collect::<Vec<_>>()
        {
            if !self.session.approvals.contains(&always) {
                let known = self.session.approvals.iter().cloned();
                self.session.approvals = known.chain([always.clone()]).collect();
                self.effects.push(Effect::Remember(always));
            }
        }
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
