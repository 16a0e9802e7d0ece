//! The commands that a partly loaded session can answer, and the ids that an input claims to be new.

use crate::values::input::{Command, Input, Open, Render, Summarize};
use engine::message::Body;

/// The ids of an input that must be new to the session. A part cannot tell; the store is asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claims {
    /// The idempotency key of a command.
    pub key: Option<String>,
    /// The editor's id of a request.
    pub external_id: Option<String>,
}

impl Claims {
    /// Returns the ids that this input claims to be new.
    pub fn of(input: &Input) -> Self {
        let Input::Command(_, command) = input else { return Self::default() };
        Self::of_command(command)
    }

    /// Returns the ids that this command claims to be new.
    pub fn of_command(command: &Command) -> Self {
        match command {
            Command::StartTurn(start) => Self { key: start.key.clone(), external_id: None },
            Command::Render(render) => {
                let request = render.current.as_ref().and_then(|turn| turn.messages.first());
                let external_id = request.and_then(|request| request.external_id.clone());
                Self { key: None, external_id }
            }
            _ => Self::default(),
        }
    }

    /// Returns `true` if there is no id to look up.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The number of messages searched for the last round that a compaction covers.
pub const WIDEST_ROUND: usize = 256;

/// Returns how many of the newest messages a part must hold for this command; `None` if no part can serve it.
pub fn newest_for(command: &Command) -> Option<u32> {
    match command {
        Command::StartTurn(_) => Some(0),
        Command::Render(render) => is_of_part(render).then_some(0),
        Command::Open(open) => is_look(open).then_some(open.newest?),
        Command::Subscribe { newest, .. } => *newest,
        _ => None,
    }
}

/// Returns `true` if the editor relies on the session's history and brings at most a request.
pub(crate) fn is_of_part(render: &Render) -> bool {
    let is_request = render.current.as_ref().is_none_or(|turn| {
        let [request] = &*turn.messages else { return false };
        matches!(request.body, Body::User(_)) && !turn.detailed && turn.metadata.is_empty()
    });
    render.history.is_none() && is_request && render.summarize != Summarize::Force
}

/// Returns `true` if a client reads the end of a session and brings no history.
pub(crate) fn is_look(open: &Open) -> bool {
    open.history.is_none() && open.newest.is_some()
}
