//! Tells in advance which steps may take as long as the session is, so that the caller can take them beside other work.
//! Nothing that a step does depends on it.

use crate::Session;
use crate::history::rewind::{cut_at, last_request};
use crate::values::history_turn::HistoryTurn;
use crate::values::input::{At, Command, Input, Render, Summarize, Timer};
use engine::compact::record::Compaction;
use engine::id::Ordinal;
use engine::settings::PerMille;

/// Messages that a step visits in less time than anyone notices.
const FEW: usize = 1000;

/// `true` if this input may set off work on most of a long session: its first compaction, a branch, a change of its
/// past other than a cut behind the newest compaction, a long history to compare with. Costs little itself; `false`
/// for a session of which only a part is loaded.
pub fn may_take_long(session: &Session, input: &Input) -> bool {
    if session.part_from().is_some() {
        return false;
    }
    let is_long = session.transcript().messages().len() >= FEW;
    let compacts_much = |render: &Render| unsummarized(session) >= FEW && may_compact(session, render);
    match input {
        Input::Command(_, command) => match command {
            Command::Retry { from, .. } | Command::Truncate { from, .. } => {
                is_long && !cuts_tail(session, place(session, from))
            }
            Command::Regenerate { .. } => {
                let from = last_request(session.kept()).map(Ordinal::next);
                is_long && !cuts_tail(session, from)
            }
            Command::Branch { .. }
            | Command::Update { .. }
            | Command::Remove { .. }
            | Command::Revert { .. }
            | Command::Undo(_) => is_long,
            Command::Compact(compact) => is_long && (compact.redo.is_some() || unsummarized(session) >= FEW),
            Command::Render(render) => brings_many(render.history.as_deref()) || compacts_much(render),
            Command::StartTurn(_) | Command::RunTask | Command::ToolResult(_) | Command::Decide(_) => {
                compacts_much(&Render::default())
            }
            _ => false,
        },
        Input::ModelDone(..)
        | Input::ToolDone(..)
        | Input::Permitted(_)
        | Input::Reviewed(_)
        | Input::Expired(Timer::Idle | Timer::Model(_) | Timer::Tool(_) | Timer::Review) => {
            compacts_much(&Render::default())
        }
        _ => false,
    }
}

/// `true` if a cut here takes off few messages and no compaction with them: the rest is not visited.
fn cuts_tail(session: &Session, from: Option<Ordinal>) -> bool {
    let stays =
        |from| session.transcript().in_force().is_some_and(|record| record.newest_named() < Some(from));
    unsummarized(session) < FEW && from.is_some_and(stays)
}

/// Where a cut at this message begins.
fn place(session: &Session, at: &At) -> Option<Ordinal> {
    let kept = session.kept();
    kept.at(at).ok().map(|message| cut_at(kept, message.ord))
}

fn brings_many(history: Option<&[HistoryTurn]>) -> bool {
    history.unwrap_or_default().iter().map(|turn| turn.messages.len()).sum::<usize>() >= FEW
}

/// The first message that the compaction in force leaves as it is.
fn resume(session: &Session) -> Ordinal {
    session.transcript().in_force().map_or(Ordinal(0), Compaction::resume_at)
}

fn unsummarized(session: &Session) -> usize {
    session.transcript().messages().len().saturating_sub(resume(session).index())
}

/// `true` if a compaction or a background summary may be due for this render: half of its budget is used, or the policy
/// has another trigger that may be met.
fn may_compact(session: &Session, render: &Render) -> bool {
    let kept = session.kept();
    let model = render.model.as_ref().unwrap_or(&kept.settings().model);
    let Ok(budget) = kept.budget_in(kept.scale(model), model, render.ceiling) else { return false };
    let triggers = &kept.settings().policy.triggers;
    let is_forced = render.summarize == Summarize::Force;
    let is_counted = triggers.user_turns.is_some() || triggers.messages.is_some();
    let shares = [Some(PerMille::new(500)), triggers.pre_turn, triggers.background];
    let least = shares.into_iter().flatten().map(|share| share.of(budget.limit)).min();
    let used = kept.transcript().sums().tokens_from(resume(session));
    is_forced || is_counted || least.is_some_and(|least| used >= least)
}
