//! Sessions that run for others (source: 000): their parent is told when they come to rest, whatever brought them there.

use super::main_loop::{MainLoop, NOBODY, Slot};
use super::queued::Queued;
use engine::id::{SessionId, TurnId};
use engine::message::{AssistantPart, Body, Message, PROCESS_COMPLETED};
use engine::text;
use serde_json::json;
use session::Session;
use session::input::Command;
use session::state::StateName;
use session::stored::{Head, Origin, Stored, TurnStatus};

/// Bytes of the last answer that a parent is told.
const TOLD: usize = 4000;

impl MainLoop {
    /// A turn ended so, in this state: a parent that waits for it is told.
    pub(super) fn tell_parent(
        &mut self,
        id: &SessionId,
        status: TurnStatus,
        state: StateName,
        turn: Option<&TurnId>,
    ) {
        if let Some(Slot::Live(live)) = self.sessions.get(id) {
            let told = notice(&live.session, status, state, turn);
            self.notify(told);
            self.task_is_told(id);
        }
    }

    /// A session broke: a parent that waits for it is told.
    pub(super) fn tell_parent_of_breakdown(&mut self, id: &SessionId) {
        if let Some(Slot::Live(live)) = self.sessions.get(id) {
            let newest = live.session.transcript().turns().last().map(|turn| &turn.id);
            let told = notice(&live.session, TurnStatus::Failed, StateName::Error, newest);
            self.notify(told);
        }
    }

    fn notify(&mut self, told: Option<(SessionId, String)>) {
        let Some((parent, text)) = told else { return };
        let stays_open = match self.sessions.get(&parent) {
            Some(Slot::Live(live)) => !live.is_leaving(),
            Some(Slot::Opening(opening)) => !opening.queue.iter().any(Queued::is_end),
            None => false,
        };
        let command = Command::Notice { kind: PROCESS_COMPLETED, text };
        self.hand(&parent, Queued::Command(NOBODY, Box::new(command)));
        if !stays_open {
            // It was opened for this alone.
            self.hand(&parent, Queued::Close(NOBODY));
        }
    }
}

/// The parent of a background session, and what it is told.
fn notice(
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

/// What its parent is told of a session whose newest turn ended so, as it is stored.
pub(super) fn told_of(stored: &Stored, status: TurnStatus) -> String {
    let state = match status {
        TurnStatus::Completed => StateName::Completed,
        TurnStatus::Failed => StateName::Error,
        TurnStatus::Running | TurnStatus::Cancelled => StateName::Idle,
    };
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
