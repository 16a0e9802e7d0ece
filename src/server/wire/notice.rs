//! Notices to the parent of a background session that came to rest.

use engine::id::{SessionId, TurnId};
use engine::message::{AssistantPart, Body, Message};
use engine::text;
use serde_json::json;
use session::Session;
use session::state::StateName;
use session::stored::{Head, Origin, Stored, TurnStatus};

/// Most bytes of the last answer in a notice.
const TOLD: usize = 4000;

/// The parent of a background session, and the notice for it.
pub(in crate::server) fn of_open(
    session: &Session,
    status: TurnStatus,
    state: StateName,
    turn: Option<&TurnId>,
) -> Option<(SessionId, String)> {
    let head = session.head();
    let parent = head.parent.clone().filter(|_| head.origin == Origin::Background)?;
    let messages = session.transcript().messages().iter().map(|message| &**message);
    Some((parent, told(head, status, state, answer(messages, turn))))
}

/// The parent of an open background session that panicked, and the notice for it.
pub(in crate::server) fn of_broken(session: &Session) -> Option<(SessionId, String)> {
    let newest = session.transcript().turns().last().map(|turn| &turn.id);
    of_open(session, TurnStatus::Failed, StateName::Error, newest)
}

/// The notice for the parent of a stored session whose newest turn ended so.
pub(in crate::server) fn of_stored(stored: &Stored, status: TurnStatus) -> String {
    let state = stored.head.carried.state.unwrap_or(match status {
        TurnStatus::Failed => StateName::Error,
        TurnStatus::Completed | TurnStatus::Running | TurnStatus::Cancelled => StateName::Idle,
    });
    let messages = stored.messages.iter().map(|(_, message)| &**message);
    let newest = stored.turns.last().map(|turn| &turn.id);
    told(&stored.head, status, state, answer(messages, newest))
}

fn told(head: &Head, status: TurnStatus, state: StateName, answer: Option<String>) -> String {
    let told = json!({
        "sessionId": head.id, "title": head.title, "kind": head.kind, "workScope": head.work_scope,
        "status": status, "state": state.name(), "answer": answer,
    });
    told.to_string()
}

/// The beginning of the last answer of a turn.
fn answer<'a>(
    messages: impl DoubleEndedIterator<Item = &'a Message>,
    turn: Option<&TurnId>,
) -> Option<String> {
    let mut of_turn = messages.rev().filter(|message| Some(&message.turn) == turn);
    of_turn.find_map(|message| match &message.body {
        Body::Assistant { parts, .. } => parts.iter().rev().find_map(|part| match part {
            AssistantPart::Text(said) => Some(text::head(said, TOLD).to_owned()),
            _ => None,
        }),
        Body::User(_) | Body::Tool(_) | Body::Event { .. } => None,
    })
}
