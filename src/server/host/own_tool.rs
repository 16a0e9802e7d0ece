//! Runs of the sidecar's own tools for a session: what they read, and what is stored before a result counts.

use crate::tool::{Context, OwnTool};
use engine::scope::ScopePatch;
use engine::search::{Query, SearchPage};
use session::Session;
use session::effect::InvokeTool;
use session::input::ToolOutcome;

/// The search that a call needs before it can run.
pub(super) fn looks_for(session: &Session, call: &InvokeTool) -> Option<Query> {
    let mut query = OwnTool::named(&call.name).and_then(|tool| tool.looks_for(&call.arguments))?;
    // The newest round is excluded: it contains the query itself.
    let newest_round = session.transcript().rounds().last().map(|round| round.assistant);
    query.before = query.before.into_iter().chain(newest_round).min();
    Some(query)
}

/// Runs a call, after its search. Returns its result, and the change of the session's scope to store before
/// the result counts.
pub(super) fn run(
    session: &Session,
    call: &InvokeTool,
    found: Option<&SearchPage>,
) -> (ToolOutcome, Option<ScopePatch>) {
    let Some(tool) = OwnTool::named(&call.name) else {
        let outcome = ToolOutcome::Failed(format!("no tool of ours is named {}", call.name));
        return (outcome, None);
    };
    let recall = |reference: &str| session.recall_for_model(reference);
    let page = usize::try_from(session.settings().most_result()).unwrap_or(usize::MAX);
    let context = Context { scope: session.scope(), recall: &recall, found, page };
    let ran = tool.run(&call.arguments, context);
    (ToolOutcome::Answered(ran.result), ran.patch)
}
