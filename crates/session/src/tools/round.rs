//! Calls of a round: which run, and their results. Every call gets exactly one result.

use super::approvals::Approvals;
use super::calling::{Calling, Runner};
use super::pause::Pause;
use crate::core::Core;
use crate::state::State;
use crate::values::decision::Decision;
use crate::values::effect::{Effect, InvokeTool};
use crate::values::event::EventBody;
use crate::values::input::Timer;
use crate::values::progress::Progress;
use engine::approval::Approval;
use engine::id::CallId;
use engine::message::{Body, Content, QUESTION, ROUND_LIMIT, ToolResult, Verdict, argument_values};
use engine::prompt::item::EndsTurn;
use engine::text::json;
use engine::words::StateName;
use serde_json::Value;
use std::collections::BTreeSet;

/// The result of a call that was stopped.
const CANCELLED: &str = "[cancelled by the user before a result came]";
/// The result of a call of a server's tool that ran when the process ended.
const UNKNOWN: &str = "[the sidecar ended while this call ran: it may have been done, partly or not at all; check before you \
                       call it again]";
/// The result of a call that waited for agents when something else came first.
const NOT_AWAITED: &str = "[the user wrote before the agents were done; they keep running, and wait_agents returns their \
                           answers later]";
/// The result of a call that a user rejected.
const REJECTED: &str = "[rejected by the user]";

/// The result of a call that a user rejects without being asked.
const REJECTED_ALWAYS: &str = "[rejected by the user] Such calls are always rejected.";

/// Outcome of starting the calls of a round.
pub(crate) enum Begun {
    /// The user must decide about some first.
    Paused(Pause),
    /// Some calls run.
    Calling(Calling),
    /// No call runs: all have their result.
    Answered,
}

/// Starts the calls of the newest round. None runs before the user has decided about all that need it.
pub(crate) fn begin(core: &mut Core<'_>, approvals: &Approvals) -> Begun {
    let calls = core.unanswered();
    let asks = approvals.to_ask(core, &calls);
    if asks.is_empty() {
        return run(core, approvals, calls);
    }
    let asked = approvals.asked(core, &asks);
    core.emit_state(StateName::Paused, None);
    core.emit(EventBody::PauseRequired(asked.clone()));
    if core.settings().client.permits {
        core.push(Effect::AskPermission(asked));
    }
    Begun::Paused(Pause::new(asks))
}

/// Runs these calls, all at once. Those that cannot run are answered here.
fn run(core: &mut Core<'_>, approvals: &Approvals, calls: BTreeSet<CallId>) -> Begun {
    let Some(turn) = core.turn_id() else { return Begun::Answered };
    let mut calling = Calling::default();
    let mut begin = Vec::new();
    for call in core.newest_calls(calls.iter()) {
        let is_known = core.tool(&call.name).is_some();
        let runner = core.runner(&call.name);
        // Calls of one round may be decided differently, whatever holds for later ones.
        let is_approved = verdict(core, &call.id).is_some_and(|verdict| verdict.approved);
        let refused = if !is_approved && approvals.is_rejected(&call.name, &call.arguments) {
            REJECTED_ALWAYS.to_owned()
        } else if approvals.by_policy(core, &call.name, &call.arguments).0 == Approval::Deny {
            "[denied: this tool may not be used here]".to_owned()
        } else if !is_known {
            format!("[no tool is named {}]", call.name)
        } else if runner == Runner::Editor && !core.settings().client.invokes {
            "[the editor runs no tools]".to_owned()
        } else {
            calling.begin(call.id.clone(), runner);
            begin.push((runner, InvokeTool::of(call, turn.clone())));
            continue;
        };
        answer(core, &call.id, error(&call.id, refused));
    }
    if calling.is_over() {
        return Begun::Answered;
    }
    core.emit_state(calling.state_name(), None);
    note_started(core);
    for (runner, call) in begin {
        start(core, call, runner);
    }
    Begun::Calling(calling)
}

fn start(core: &mut Core<'_>, call: InvokeTool, runner: Runner) {
    core.start(Timer::Tool(call.call.clone()), core.settings().tool_deadline_ms);
    core.push(match runner {
        Runner::Own => Effect::RunTool(call),
        Runner::Editor => Effect::InvokeTool(call),
        Runner::Server => Effect::CallServer(call),
    });
}

/// Runs own calls again that were running or waiting when the process ended: they change nothing outside.
pub(crate) fn run_own_again(core: &mut Core<'_>, calling: &Calling) {
    let Some(turn) = core.turn_id() else { return };
    for call in core.newest_calls(calling.own()) {
        start(core, InvokeTool::of(call, turn.clone()), Runner::Own);
    }
}

/// The result of a call of a server's tool that ran when the process ended. Nobody can tell what it did, so it is not run
/// again.
pub(crate) fn unknown(call: &CallId) -> ToolResult {
    error(call, UNKNOWN.to_owned())
}

/// Tells how far the call of a server's tool is.
pub(crate) fn progress(core: &mut Core<'_>, state: &State, call: CallId, progress: Progress) {
    match state {
        State::Calling(calling) if calling.servers().contains(&call) => {
            core.emit(EventBody::ToolProgress { call, progress });
        }
        _ => core.trace("progress of a call came late and was dropped"),
    }
}

/// Stores that the calls of the newest round were started.
fn note_started(core: &mut Core<'_>) {
    let newest = core.transcript().rounds().last().map(|round| round.assistant);
    let calls = core.unanswered();
    core.change_last_turn(|row| {
        row.started = newest;
        // Approvals stay until the call has its result, which states them again.
        row.decided.retain(|decision| calls.contains(&decision.call));
    });
}

/// Continues after a pause: rejected calls are answered, the others run.
pub(crate) fn resume(core: &mut Core<'_>, approvals: &Approvals, pause: &Pause) -> Begun {
    core.emit(EventBody::PauseCleared);
    for (call, note) in pause.rejected() {
        let words = note.map_or_else(|| REJECTED.to_owned(), |note| format!("{REJECTED} {note}"));
        answer(core, &call, error(&call, words));
    }
    let calls = core.unanswered();
    run(core, approvals, calls)
}

/// Appends a result. Prompts show a round's results together, whatever came between them.
pub(crate) fn answer(core: &mut Core<'_>, call: &CallId, mut result: ToolResult) {
    // Our own id: the model may have used one id for two calls of a round.
    result.call = call.as_str().to_owned();
    result.verdict = verdict(core, call);
    if let Some(Verdict { approved: true, arguments: Some(arguments), .. }) = &result.verdict {
        // The model reads in its history the arguments that it gave.
        let words = format!("[the user changed the arguments of this call; it ran with {arguments}]");
        result.content.push(Content::Text(words.into()));
    }
    let new = core.stamped(Body::Tool(result));
    core.append(new);
}

/// The user's decision about a call of the running turn, if there was one.
fn verdict(core: &Core<'_>, call: &CallId) -> Option<Verdict> {
    let Decision { approved, note, arguments, .. } = core.decision(call)?.clone();
    Some(Verdict { approved, note, arguments })
}

pub(crate) fn answer_cancelled(core: &mut Core<'_>, calls: BTreeSet<CallId>) {
    for call in calls {
        core.push(Effect::CancelTool(call.clone()));
        core.stop(Timer::Tool(call.clone()));
        answer(core, &call, error(&call, CANCELLED.into()));
    }
}

/// Answers calls that wait for agents, because the turn ends before those are done.
pub(crate) fn answer_waiting(core: &mut Core<'_>, calls: BTreeSet<CallId>) {
    for call in calls {
        core.push(Effect::CancelTool(call.clone()));
        core.stop(Timer::Tool(call.clone()));
        let result = ToolResult { is_error: false, ..error(&call, NOT_AWAITED.into()) };
        answer(core, &call, result);
    }
}

pub(crate) fn error(call: &CallId, text: String) -> ToolResult {
    ToolResult {
        call: call.as_str().to_owned(),
        content: vec![Content::Text(text.into())],
        is_error: true,
        ..ToolResult::default()
    }
}

/// `true` if one of the answered calls ends the turn. Its question, if it has one, is shown to the user.
pub(crate) fn ends_turn(core: &mut Core<'_>) -> bool {
    let Some((ends, call)) = core.ending_call() else { return false };
    if let Some(question) = question(&call.arguments).filter(|_| ends == EndsTurn::WaitingUserInput) {
        core.notice(QUESTION, question);
    }
    true
}

/// The question in a call's arguments: its `question` or `questions`, if there are any.
fn question(arguments: &str) -> Option<String> {
    let read: Value = json::read(arguments).ok()?;
    let asked = read.get("questions").or_else(|| read.get("question"))?;
    Some(argument_values(&asked.to_string())).filter(|text| !text.is_empty())
}

/// `true` if the turn has reached its limit of rounds; the user is notified of that.
pub(crate) fn is_at_limit(core: &mut Core<'_>) -> bool {
    let turn = core.transcript().turns().len().saturating_sub(1);
    let rounds = core.transcript().rounds_of(turn).len();
    if rounds < core.settings().round_limit as usize {
        return false;
    }
    let text =
        format!("The turn ran {rounds} rounds, which is its limit. Say how to go on, or that it is enough.");
    core.notice(ROUND_LIMIT, text);
    true
}
