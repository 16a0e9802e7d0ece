//! Commands that wait, as values: what is stored of them and what a client is answered.

use crate::values::input::StartTurn;
use engine::id::{ItemId, MessageId, SessionId, TurnId};
use engine::message::Content;
use serde::{Deserialize, Serialize};

/// Commands that may wait in a session.
pub const MOST_QUEUED: usize = 100;

/// A command that was accepted and waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueItem {
    /// Its id.
    pub id: ItemId,
    /// Whether it goes before those that are not urgent.
    pub priority: bool,
    /// What it does.
    pub work: Work,
}

/// What a command that can wait does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Work {
    /// A user asks for something.
    Start {
        /// The turn that it will be.
        turn: TurnId,
        /// The request's message.
        message: MessageId,
        /// What is asked.
        start: Box<StartTurn>,
    },
    /// Everything from a message on is cut off, and the model answers again.
    Retry {
        /// The message.
        from: MessageId,
        /// The request's new words; the same where there are none.
        content: Option<Vec<Content>>,
    },
    /// The newest answer is cut off, and the model answers again.
    Regenerate,
    /// A message gets other words.
    Update {
        /// The message.
        message: MessageId,
        /// Its words from now on.
        content: Vec<Content>,
        /// Whether what follows it is cut off and the model answers again.
        regenerate: bool,
    },
    /// A message leaves, with what belongs to it.
    Remove {
        /// The message.
        message: MessageId,
    },
    /// Everything from a message on is cut off.
    Truncate {
        /// The message.
        from: MessageId,
    },
}

/// What an accepted command is answered with; given again where its key comes again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Accepted {
    /// The turn that it runs, or will.
    pub turn: Option<TurnId>,
    /// The message that it is about.
    pub message: Option<MessageId>,
    /// Where it waits.
    pub item: Option<ItemId>,
    /// Its place in the queue, from 1.
    pub position: Option<u32>,
    /// The session that it made.
    pub session: Option<SessionId>,
}

impl QueueItem {
    /// About as many bytes as its text has.
    pub fn weight(&self) -> usize {
        let texts =
            |content: &[Content]| content.iter().filter_map(Content::text).map(|text| text.len()).sum();
        64 + match &self.work {
            Work::Start { start, .. } => texts(&start.content),
            Work::Retry { content: Some(content), .. } | Work::Update { content, .. } => texts(content),
            Work::Retry { content: None, .. }
            | Work::Regenerate
            | Work::Remove { .. }
            | Work::Truncate { .. } => 0,
        }
    }

    /// Whether it is this turn.
    pub(crate) fn is_turn(&self, id: &TurnId) -> bool {
        matches!(&self.work, Work::Start { turn, .. } if turn == id)
    }

    pub(crate) fn is_urgent_request(&self) -> bool {
        self.priority && matches!(self.work, Work::Start { .. })
    }
}
