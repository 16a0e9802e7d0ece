//! A conversation as it is kept: what was said, the session's own row, and what it runs under.

use super::ring::Ring;
use crate::carried::limits::Trial;
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

/// Everything that was said in a session, and what its next prompt is made of. What is done in it is not known here.
#[derive(Debug, Clone)]
pub(crate) struct Conversation {
    pub(super) head: Head,
    pub(super) settings: Settings,
    pub(super) transcript: Transcript,
    pub(super) fixed: Fixed,
    /// How each turn of the transcript ended, by its place.
    pub(super) turns: Vec<TurnRow>,
    /// What its workspace remembers, as it is now.
    pub(super) memories: Arc<[Memory]>,
    /// What it shares with other sessions.
    pub(super) scope: Arc<Scope>,
    /// What the user typed and did not send.
    pub(super) draft: Option<Text>,
    pub(super) trial: Trial,
    pub(super) events: Ring,
    /// The name of this numbering of events.
    pub(super) stream: String,
    /// Calls of a model so far.
    pub(super) calls: u64,
    /// What the user is to see as soon as no answer is being given: the place of that is taken.
    pub(super) notices: Vec<(&'static str, String)>,
    /// Whether its own row was written.
    pub(super) is_stored: bool,
}

impl Conversation {
    pub fn id(&self) -> &SessionId {
        &self.head.id
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

    /// What stands before the messages, counted and frozen.
    pub fn fixed(&self) -> &Fixed {
        &self.fixed
    }

    /// How each turn of the transcript ended, by its place.
    pub fn turns(&self) -> &[TurnRow] {
        &self.turns
    }

    pub fn memories(&self) -> &[Memory] {
        &self.memories
    }

    pub fn scope(&self) -> &Arc<Scope> {
        &self.scope
    }

    pub fn trial(&self) -> &Trial {
        &self.trial
    }

    /// The name of this numbering of events.
    pub fn stream(&self) -> &str {
        &self.stream
    }

    /// The number of the last event.
    pub fn last_event(&self) -> u64 {
        self.events.last()
    }

    /// All events of this stream after this one, where they are still kept.
    pub fn events_since(&self, stream: &str, seq: u64) -> Option<Vec<Event>> {
        if self.stream == stream { self.events.since(seq) } else { None }
    }

    /// Calls of a model so far.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// Whether its own row was written.
    pub fn is_stored(&self) -> bool {
        self.is_stored
    }

    /// What is pinned, in the order in which it was.
    pub fn pins(&self) -> &[Pin] {
        &self.head.prefix.pins
    }

    /// What it is, beside its messages and what runs.
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

/// The place of a message after so many.
pub(super) fn ordinal(messages: usize) -> Ordinal {
    Ordinal(u32::try_from(messages).unwrap_or(u32::MAX))
}
