//! Snapshots of a session, for subscribers that are new or missed events.

use crate::commands::queue::Queue;
use crate::core::Conversation;
use crate::state::State;
use crate::tools::approvals::Approvals;
use crate::values::rest::Rest;
use crate::values::snapshot::{Snapshot, TurnSnapshot};
use crate::values::stored::TurnFigures;
use engine::compact::metadata::round_summaries;
use engine::id::Ordinal;
use engine::words::TurnStatus;
use std::collections::BTreeMap;

/// The state of components that a snapshot shows beside the conversation.
#[derive(Clone, Copy)]
pub(crate) struct Standing<'a> {
    pub state: &'a State,
    pub queue: &'a Queue,
    pub approvals: &'a Approvals,
}

/// Snapshot with at most `newest` of the newest messages; with all of them if `None`.
pub(crate) fn shown(conversation: &Conversation, standing: Standing<'_>, newest: Option<u32>) -> Snapshot {
    newest.map_or_else(|| snapshot(conversation, standing), |newest| end(conversation, standing, newest))
}

fn snapshot(conversation: &Conversation, standing: Standing<'_>) -> Snapshot {
    let messages = conversation.transcript().messages().iter();
    let summaries = round_summaries(conversation.transcript());
    // All messages of a turn may have been removed.
    let turns = (0..conversation.transcript().turns().len()).filter(|at| conversation.is_turn_shown(*at));
    Snapshot {
        messages: messages.filter(|message| !message.is_removed()).cloned().collect(),
        turns: turns.filter_map(|at| turn(conversation, &summaries, at)).collect(),
        compactions: conversation.records(),
        ..without_messages(conversation, standing)
    }
}

fn end(conversation: &Conversation, standing: Standing<'_>, newest: u32) -> Snapshot {
    let newest = usize::try_from(newest).unwrap_or(usize::MAX);
    let earlier = conversation.transcript().messages().len().saturating_sub(newest);
    let messages = conversation.transcript().messages().iter().skip(earlier);
    let in_force = conversation.transcript().in_force().into_iter();
    Snapshot {
        messages: messages.filter(|message| !message.is_removed()).cloned().collect(),
        earlier: Some(u32::try_from(earlier).unwrap_or(u32::MAX)),
        compactions: in_force.map(|record| (record.clone(), conversation.persisted(record))).collect(),
        ..without_messages(conversation, standing)
    }
}

fn turn(conversation: &Conversation, summaries: &BTreeMap<Ordinal, &str>, at: usize) -> Option<TurnSnapshot> {
    let turn = conversation.transcript().turns().get(at)?;
    let rounds =
        conversation.transcript().rounds_of(at).iter().map(|round| {
            (round.clone(), summaries.get(&round.assistant).map(|summary| (*summary).to_owned()))
        });
    Some(TurnSnapshot {
        id: turn.id.as_str().to_owned(),
        external_id: conversation
            .transcript()
            .message(turn.first)
            .and_then(|message| message.external_id.clone()),
        status: conversation.turns().get(at).map_or(TurnStatus::Completed, |row| row.status),
        rounds: rounds.collect(),
        summaries: conversation.summaries_of(at),
        figures: conversation.turns().get(at).map_or(TurnFigures::default(), |row| row.figures),
    })
}

/// A snapshot without messages, turns and compaction records.
fn without_messages(conversation: &Conversation, standing: Standing<'_>) -> Snapshot {
    let Standing { state, queue, approvals } = standing;
    let (compacting, streaming) = match state {
        State::Compacting(running) => (Some((running.mode(), running.job().reason())), None),
        State::Reviewing(reviewing) => (Some((reviewing.mode(), reviewing.job().reason())), None),
        State::Streaming(running) => (None, Some((running.message().clone(), running.draft().clone()))),
        State::Resting(_) | State::Paused(_) | State::Calling(_) => (None, None),
    };
    Snapshot {
        stream: conversation.stream().to_owned(),
        seq: conversation.last_event(),
        state: state.name(),
        error: match state {
            State::Resting(Rest::Failed(why)) => Some(why.clone()),
            _ => None,
        },
        head: conversation.head().clone(),
        messages: Vec::new(),
        earlier: None,
        turns: Vec::new(),
        compactions: Vec::new(),
        compacting,
        streaming,
        pause: match state {
            State::Paused(pause) => approvals.asked(conversation, pause.open()),
            _ => Vec::new(),
        },
        pending: match state {
            // Nobody but agents can answer a call that waits for them.
            State::Calling(calling) if !calling.only_waits() => {
                conversation.newest_calls(calling.all().iter())
            }
            _ => Vec::new(),
        },
        queue: queue.items().cloned().collect(),
        thread: conversation.thread(),
        settings: conversation.settings().clone(),
        agents: conversation.agents().to_vec(),
    }
}
