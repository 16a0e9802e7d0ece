//! What a part of a session can answer, and what an input claims to be new.

use crate::values::input::{Command, Input, Open, Render, Summarize};
use engine::message::Body;

/// What an input is compared with among all that a session ever heard. A part can say nothing about these: the store is
/// asked whether one of them is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claims {
    /// The key of a command.
    pub key: Option<String>,
    /// The editor's id of a request.
    pub external_id: Option<String>,
}

impl Claims {
    /// What this input claims to be new.
    pub fn of(input: &Input) -> Self {
        let Input::Command(_, command) = input else { return Self::default() };
        Self::of_command(command)
    }

    /// The same for a command.
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

    /// Whether there is nothing to ask.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Messages among which the round is looked for that ends what a compaction covers. It has as many results as calls.
pub const WIDEST_ROUND: usize = 256;

/// How many of the newest messages a part must hold for this command; nothing where no part serves it.
pub fn newest_for(command: &Command) -> Option<u32> {
    match command {
        Command::StartTurn(_) => Some(0),
        Command::Render(render) => is_of_part(render).then_some(0),
        Command::Open(open) => is_look(open).then_some(open.newest?),
        Command::Subscribe { newest, .. } => *newest,
        _ => None,
    }
}

/// Whether the editor relies on our history, and brings no more than a request.
pub(crate) fn is_of_part(render: &Render) -> bool {
    let is_request = render.current.as_ref().is_none_or(|turn| {
        let [request] = &*turn.messages else { return false };
        matches!(request.body, Body::User(_)) && !turn.detailed && turn.metadata.is_empty()
    });
    render.history.is_none() && is_request && render.summarize != Summarize::Force
}

/// Whether a client wants to see the end of a session, and brings nothing.
pub(crate) fn is_look(open: &Open) -> bool {
    open.history.is_none() && open.newest.is_some()
}
