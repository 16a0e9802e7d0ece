//! Input from the editor's loop: a history, a round that it ran, summaries that it kept. Transcript and store
//! follow it.

use super::cut::{cut_off, keep};
use super::reconcile::{self, Reach};
use crate::core::Core;
use crate::values::effect::Answer;
use crate::values::event::EventBody;
use crate::values::history_turn::HistoryTurn;
use crate::values::refusal::{Diagnostic, Refusal};
use crate::values::report::Report;
use crate::values::stored::{TurnRow, TurnStatus, Write};
use engine::compact::metadata::SummaryEntry;
use engine::compact::restore::{Restored, Restoring, Verdict, restore};
use engine::id::{CallId, Ordinal};
use engine::message::{Body, NewMessage, REPAIRED_CALL};
use engine::words::{BreakCause, RevisionCause};

/// Appends a round that the editor's loop ran. Of a known round only new results are appended; a second one
/// for a call is refused.
pub(crate) fn append_round(core: &mut Core<'_>, round: Vec<NewMessage>) -> Result<Answer, Refusal> {
    if core.transcript().turns().is_empty() {
        let why = "the session has no turn for this round; start one with turn/start";
        return Err(Refusal::Empty(why));
    }
    let id = round.first().and_then(|message| message.external_id.as_deref());
    // An editor may count its rounds anew in each turn.
    let turn = core.transcript().turns().len() - 1;
    let newest = core.transcript().rounds().last().filter(|round| round.turn == turn);
    let is_known = newest.is_some_and(|known| id == Some(known.id.as_str()));
    let calls: Vec<String> = match round.first().map(|message| &message.body) {
        _ if is_known => core.unanswered().iter().map(|call| source_of(core, call)).collect(),
        Some(Body::Assistant { calls, .. }) => calls.iter().map(|call| call.id.as_str().to_owned()).collect(),
        _ => Vec::new(),
    };
    let mut answered = round.iter().filter_map(|message| match &message.body {
        Body::Tool(result) => Some(&result.call),
        Body::User(_) | Body::Assistant { .. } | Body::Event { .. } => None,
    });
    // An empty id names a call only if no other one has it.
    let is_named = |call: &String| {
        let known = calls.iter().filter(|known| *known == call).count();
        known == 1 || known > 1 && !call.is_empty()
    };
    if let Some(stray) = answered.find(|call| !is_named(call)) {
        let id = stray.clone();
        return Err(match is_known && core.transcript().has_call(&CallId::new(&id)) {
            true => Refusal::Settled { what: "tool call", id },
            false => Refusal::Unknown { what: "tool call", id },
        });
    }
    let (mut messages, mut repaired) = (Vec::new(), Vec::new());
    for new in round.into_iter().skip(usize::from(is_known)) {
        let stamp = new.created_at.unwrap_or_else(|| core.stamp().to_owned());
        let ord = core.append(NewMessage { created_at: Some(stamp), ..new });
        messages.extend(core.transcript().message(ord).map(|message| message.id.clone()));
        repaired.extend(repaired_calls(core, ord));
    }
    core.write_head();
    let round = core.transcript().rounds().last().map(|round| round.id.clone());
    let diagnostics = repaired.iter().map(repaired_call).collect();
    Ok(Answer::RoundAppended { round, messages, diagnostics })
}

/// The calls of a message that came with an empty id.
fn repaired_calls(core: &Core<'_>, ord: Ordinal) -> Vec<CallId> {
    match core.transcript().message(ord).map(|message| &message.body) {
        Some(Body::Assistant { calls, .. }) => {
            calls.iter().filter(|call| call.is_repaired()).map(|call| call.id.clone()).collect()
        }
        _ => Vec::new(),
    }
}

/// Reports a call that came with an empty id.
pub(super) fn repaired_call(call: &CallId) -> Diagnostic {
    let message = format!("a tool call came with an empty id; its id is {:?} now", call.as_str());
    Diagnostic { kind: REPAIRED_CALL, message }
}

/// Appends a message of a recorded conversation. A turn is over where the next one begins.
pub(crate) fn append_recorded(core: &mut Core<'_>, message: NewMessage) {
    let turns = core.turns().len();
    core.append(message);
    if let Some(before) = turns.checked_sub(1).filter(|_| core.turns().len() > turns) {
        core.close_turn(before);
    }
}

fn source_of(core: &Core<'_>, call: &CallId) -> String {
    core.transcript().source_id(call).unwrap_or_else(|| call.as_str().to_owned())
}

/// Takes in the history that an editor opens a session with; it may be older than ours.
pub(crate) fn take_history(core: &mut Core<'_>, history: Vec<HistoryTurn>, is_idle: bool) -> Report {
    take(core, history, Reach::Older, false, is_idle)
}

/// Merges a history with ours, in the transcript and the store. `names_current`: its last turn is the running
/// one; otherwise ours stays. `is_idle`: nothing ran, or what ran was stopped.
pub(super) fn take(
    core: &mut Core<'_>,
    theirs: Vec<HistoryTurn>,
    reach: Reach,
    names_current: bool,
    is_idle: bool,
) -> Report {
    let is_over = |row: &TurnRow| row.status != TurnStatus::Running && !row.figures.interrupted;
    let ended: Vec<bool> = core.turns().iter().map(is_over).collect();
    let ended = names_current.then_some(&*ended);
    let mut merge = reconcile::merge(core.transcript(), &theirs, reach, ended);
    let last = core.transcript().turns().last().map(|turn| turn.first);
    let runs = core.is_turn_running();
    if !names_current && runs && merge.cut.is_some() && merge.cut == last && merge.append.is_empty() {
        merge.cut = None;
    }
    let mut report = Report::default();
    let before = core.transcript().messages().len();
    if let Some(from) = merge.cut {
        report.truncated = u32::try_from(before.saturating_sub(from.index())).unwrap_or(u32::MAX);
        report.revision = Some(keep(core, RevisionCause::History, from));
    }
    let first = merge.cut.map_or(before, |from| from.index().min(before));
    for (at, (_, new)) in (first..).zip(&mut merge.append) {
        let ord = Ordinal(u32::try_from(at).unwrap_or(u32::MAX));
        core.bind_thinking(ord, new);
    }
    let counter = core.counter();
    let (void, appended) = reconcile::apply(core.transcript_mut(), &merge, counter);
    if let (Some(from), Some(revision)) = (merge.cut, report.revision.clone()) {
        core.announce(BreakCause::History);
        cut_off(core, from, &revision, &void);
    }
    report.given = u32::try_from(theirs.len()).unwrap_or(u32::MAX);
    for (ord, id) in merge.learned {
        learn(core, ord, &id);
    }
    report.appended = u32::try_from(appended.len()).unwrap_or(u32::MAX);
    report.void = void;
    for ord in appended {
        core.took_in(ord);
        report.repaired.extend(repaired_calls(core, ord));
        if core.transcript().is_stray(ord)
            && let Some(Body::Tool(result)) = core.transcript().message(ord).map(|m| &m.body)
        {
            report.strays.push(result.call.clone());
        }
    }
    end_all_but(core, names_current, is_idle);
    if names_current && core.turns().last().is_some_and(|row| row.figures.interrupted) {
        // The editor's loop goes on with it.
        core.set_turn(core.last_turn(), TurnStatus::Running);
    }
    take_summaries(core, merge.first, theirs, &mut report);
    // Once the summaries are here: only what one of them replaces cannot be seen in the prompt.
    let transcript = core.transcript();
    let covered = |ord: &Ordinal| transcript.in_force().is_some_and(|record| record.covers(*ord));
    let is_kept = |ord: &Ordinal| merge.cut.is_none_or(|cut| *ord < cut);
    for ord in merge.changed.into_iter().filter(|ord| is_kept(ord) && covered(ord)) {
        if let Some(Body::Tool(result)) = transcript.message(ord).map(|message| &message.body) {
            report.changed.push(result.call.clone());
        }
    }
    if report != Report::default() {
        core.write_head();
    }
    report
}

/// Stores the editor's id of a request when it becomes known.
fn learn(core: &mut Core<'_>, ord: Ordinal, id: &str) {
    core.transcript_mut().learn(ord, id);
    if let Some(message) = core.write_message(ord) {
        let round = core.round_id(ord);
        core.emit(EventBody::MessageUpdated(message, round));
    }
}

/// Ends the turns of a history, but the last one if that is the running one.
fn end_all_but(core: &mut Core<'_>, last_runs: bool, is_idle: bool) {
    let turns = core.turns().len();
    for at in 0..turns {
        let is_running = core.turns().get(at).is_some_and(|row| row.status == TurnStatus::Running);
        if is_running && !(last_runs && at + 1 == turns) && at + 1 < turns {
            core.close_turn(at);
        }
    }
    if !last_runs && turns > 0 && is_idle {
        let last = turns - 1;
        // Its end may have been recorded already.
        let is_open = core.turns().get(last).is_some_and(|row| row.status == TurnStatus::Running);
        let answered = is_open && core.transcript().rounds_of(last).last().is_some();
        if answered && core.unanswered().is_empty() {
            core.close_turn(last);
        }
    }
}

/// Restores the summaries that the editor kept.
fn take_summaries(core: &mut Core<'_>, first: usize, theirs: Vec<HistoryTurn>, report: &mut Report) {
    let entries: Vec<_> = theirs
        .into_iter()
        .enumerate()
        .flat_map(|(n, turn)| turn.metadata.into_iter().map(move |entry| (first + n, entry)))
        .collect();
    report.summaries = bring_back(core, &entries);
}

/// Makes and stores records of summaries that were kept elsewhere, each with the index of its turn.
pub(crate) fn bring_back(core: &mut Core<'_>, entries: &[(usize, SummaryEntry)]) -> Vec<Restored> {
    if entries.is_empty() {
        return Vec::new();
    }
    let limit = core.budget().map_or(0, |budget| budget.limit);
    let user_budget = core.settings().policy.user_messages.of(limit);
    let with = Restoring { counter: core.counter(), user_budget };
    let summaries = restore(core.transcript_mut(), entries, with);
    let mut came_back = false;
    for restored in &summaries {
        let (Verdict::Restored(id) | Verdict::FromText(id, _)) = &restored.verdict else { continue };
        came_back = true;
        if let Some(record) = core.record(id).cloned() {
            core.write(Write::Compaction(Box::new(record)));
        }
    }
    if came_back {
        core.announce(BreakCause::Restore);
    }
    summaries
}
