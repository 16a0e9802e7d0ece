//! The stored conversation: its messages, the session's own row and its settings.

use super::ring::Ring;
use crate::carried::limits::Trial;
use crate::values::agents::Agent;
use crate::values::event::{Event, Thread};
use crate::values::settings::Settings;
use crate::values::stored::{Head, TurnRow};
use engine::id::{Ordinal, SessionId};
use engine::memory::Memory;
use engine::message::Text;
use engine::prompt::pins::Pin;
use engine::prompt::system::Fixed;
use engine::scope::Scope;
use engine::transcript::Transcript;
use std::sync::Arc;

/// Messages of a session, and all that its next prompt is made of; knows nothing of what runs.
#[derive(Debug, Clone)]
pub(crate) struct Conversation {
    pub(super) head: Head,
    pub(super) settings: Settings,
    /// Shared with copies of the session, of which the caller reads one while it advances another.
    pub(super) transcript: Arc<Transcript>,
    pub(super) fixed: Fixed,
    /// Rows of the transcript's turns, by index.
    pub(super) turns: Vec<TurnRow>,
    /// Current memories of the workspace.
    pub(super) memories: Arc<[Memory]>,
    /// Scope shared with other sessions.
    pub(super) scope: Arc<Scope>,
    /// Sessions that run in the background for this one, oldest first.
    pub(super) agents: Vec<Agent>,
    /// Text that the user typed and did not send.
    pub(super) draft: Option<Text>,
    pub(super) trial: Trial,
    pub(super) events: Ring,
    /// Name of this numbering of events.
    pub(super) stream: String,
    /// Model calls so far.
    pub(super) calls: u64,
    /// Notices held back while an answer streams: its message id is assigned already.
    pub(super) notices: Vec<(&'static str, String)>,
    /// `true` once the session's own row was written.
    pub(super) is_stored: bool,
    /// `true` if the row changed by something that need not be written by itself; see [`super::Core::defer_head`].
    pub(super) has_deferred_head: bool,
}

impl Conversation {
    pub fn id(&self) -> &SessionId {
        &self.head.id
    }

    /// `true` if the session's own row changed by what is written with the next commit.
    #[cfg(test)]
    pub fn has_deferred_head(&self) -> bool {
        self.has_deferred_head
    }

    /// The session's own row.
    pub fn head(&self) -> &Head {
        &self.head
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// The prompt's prefix, counted and frozen.
    pub fn fixed(&self) -> &Fixed {
        &self.fixed
    }

    /// Rows of the transcript's turns, by index.
    pub fn turns(&self) -> &[TurnRow] {
        &self.turns
    }

    pub fn memories(&self) -> &[Memory] {
        &self.memories
    }

    pub fn scope(&self) -> &Arc<Scope> {
        &self.scope
    }

    /// Sessions that run in the background for this one, oldest first.
    pub fn agents(&self) -> &[Agent] {
        &self.agents
    }

    pub fn trial(&self) -> &Trial {
        &self.trial
    }

    /// Name of this numbering of events.
    pub fn stream(&self) -> &str {
        &self.stream
    }

    /// The number of the last event; 0 before the first.
    pub fn last_event(&self) -> u64 {
        self.events.last()
    }

    /// The events of this stream after `seq`, if they are still kept.
    pub fn events_since(&self, stream: &str, seq: u64) -> Option<Vec<Event>> {
        if self.stream == stream { self.events.since(seq) } else { None }
    }

    /// Model calls so far.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// `true` once the session's own row was written.
    pub fn is_stored(&self) -> bool {
        self.is_stored
    }

    /// Pins, in the order in which they were made.
    pub fn pins(&self) -> &[Pin] {
        &self.head.prefix.pins
    }

    /// Title, draft, scope and pins, for an event.
    pub fn thread(&self) -> Thread {
        Thread {
            title: self.head.title.clone(),
            generation: self.head.generation,
            draft: self.draft.clone(),
            scope: self.scope.clone(),
            pins: self.pins().to_vec(),
        }
    }
}

/// The position after so many messages.
pub(super) fn ordinal(messages: usize) -> Ordinal {
    Ordinal(u32::try_from(messages).unwrap_or(u32::MAX))
}
