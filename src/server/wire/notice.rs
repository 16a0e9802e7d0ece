//! Notices to the parent of a background session that came to rest.

use engine::id::{SessionId, TurnId};
use engine::message::{AssistantPart, Body, Message, Text, ToolCall, joins_answers};
use engine::prompt::item::EndsTurn;
use engine::text::{self, json};
use serde_json::Value;
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

/// The final answer of the newest turn of a stored session: its last text, and the summary with which it finished.
pub(in crate::server) fn final_answer(stored: &Stored) -> Option<String> {
    let newest = stored.turns.last().map(|turn| &turn.id);
    whole_answer(stored.messages.iter().rev().map(|(_, message)| &**message), newest)
}

/// The same of an open session.
pub(in crate::server) fn final_answer_of_open(session: &Session) -> Option<String> {
    let newest = session.transcript().turns().last().map(|turn| &turn.id);
    whole_answer(session.transcript().messages().iter().rev().map(|message| &**message), newest)
}

fn whole_answer<'a>(
    newest_first: impl Iterator<Item = &'a Message> + Clone,
    turn: Option<&TurnId>,
) -> Option<String> {
    let of_turn = newest_first.filter(|message| Some(&message.turn) == turn);
    let finish = of_turn.clone().find_map(|message| match &message.body {
        Body::Assistant { calls, .. } => Some(calls.iter().find_map(summary_of).unwrap_or_default()),
        Body::User(_) | Body::Tool(_) | Body::Event { .. } => None,
    });
    let text = last_answer(of_turn.map(|message| &message.body));
    let parts: Vec<String> = text.into_iter().chain(finish).filter(|part| !part.trim().is_empty()).collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

/// The text of the newest answer that has one, with the pieces that it continues.
fn last_answer<'a>(newest_first: impl Iterator<Item = &'a Body>) -> Option<String> {
    let mut pieces: Vec<&str> = Vec::new();
    let mut is_joined = false;
    for body in newest_first {
        match body {
            Body::Event { kind, .. } => is_joined = is_joined || joins_answers(kind),
            Body::Assistant { parts, .. } if pieces.is_empty() || is_joined => {
                is_joined = false;
                pieces.extend(last_text(parts).map(|text| &**text));
            }
            _ if !pieces.is_empty() => break,
            _ => is_joined = false,
        }
    }
    pieces.reverse();
    (!pieces.is_empty()).then(|| pieces.concat())
}

/// The summary in a call that finishes a turn.
fn summary_of(call: &ToolCall) -> Option<String> {
    let finishes = EndsTurn::built_in(&call.name) == Some(EndsTurn::Completed);
    let arguments: Value = json::read(&call.arguments).ok().filter(|_| finishes)?;
    arguments.get("summary")?.as_str().map(str::to_owned)
}

fn last_text(parts: &[AssistantPart]) -> Option<&Text> {
    parts.iter().rev().find_map(|part| match part {
        AssistantPart::Text(said) => Some(said),
        _ => None,
    })
}

fn told(head: &Head, status: TurnStatus, state: StateName, answer: Option<String>) -> String {
    let told = serde_json::json!({
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
    let of_turn = messages.rev().filter(|message| Some(&message.turn) == turn);
    last_answer(of_turn.map(|message| &message.body)).map(|said| text::head(&said, TOLD).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::message::{BUDGET_EXIT, Beside, CONTINUED, PAUSED};

    #[test]
    fn last_answer_is_whole_if_it_was_continued() {
        let answer = |text: &str| Body::Assistant {
            parts: vec![AssistantPart::Text(text.into())],
            calls: Vec::new(),
            beside: Beside::default(),
        };
        let event = |kind: &str| Body::Event { kind: kind.to_owned(), text: "".into() };
        let silent = || Body::Assistant { parts: Vec::new(), calls: Vec::new(), beside: Beside::default() };
        let last = |bodies: &[Body]| last_answer(bodies.iter().rev());
        let pieces = [
            answer("An earlier one."),
            answer("Once"),
            event(CONTINUED),
            answer(" upon"),
            event(PAUSED),
            answer(" a time."),
        ];
        assert_eq!(last(&pieces).as_deref(), Some("Once upon a time."));
        assert_eq!(last(&pieces[..5]).as_deref(), Some("Once upon"));
        let apart = [answer("One."), event(BUDGET_EXIT), answer("Two."), silent()];
        assert_eq!(last(&apart).as_deref(), Some("Two."));
        assert_eq!(last(&[silent()]), None);
    }
}
