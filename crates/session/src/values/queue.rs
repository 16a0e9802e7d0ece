//! Queued commands as they are stored, and the answers to accepted commands.

use crate::values::input::StartTurn;
use engine::id::{ItemId, MessageId, SessionId, TurnId};
use engine::message::Content;
use serde::{Deserialize, Serialize};

/// The largest number of commands in a session's queue.
pub const MOST_QUEUED: usize = 100;

/// A command that was accepted and waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueItem {
    /// The id with which the item can be removed.
    pub id: ItemId,
    /// `true` if it goes ahead of items that are not urgent.
    pub priority: bool,
    /// The command's work.
    pub work: Work,
}

/// The work of a command that can wait.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Work {
    /// Start a turn with a user's request.
    Start {
        /// The id of the turn to be.
        turn: TurnId,
        /// The id of the request's message.
        message: MessageId,
        /// The request.
        start: Box<StartTurn>,
    },
    /// Cut off everything from a message on and have the model answer again.
    Retry {
        /// The first message cut off.
        from: MessageId,
        /// The new content of the request; `None` keeps it.
        content: Option<Vec<Content>>,
    },
    /// Cut off the newest answer and have the model answer again.
    Regenerate,
    /// Replace the content of a message.
    Update {
        /// The message to change.
        message: MessageId,
        /// The new content.
        content: Vec<Content>,
        /// `true` if everything after it is cut off and the model answers again.
        regenerate: bool,
    },
    /// Remove a message and those that belong to it.
    Remove {
        /// The message to remove.
        message: MessageId,
    },
    /// Cut off everything from a message on.
    Truncate {
        /// The first message cut off.
        from: MessageId,
    },
}

/// The answer to an accepted command, repeated when its key is sent again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Accepted {
    /// The turn that runs, or will run.
    pub turn: Option<TurnId>,
    /// The message that the command is about.
    pub message: Option<MessageId>,
    /// The queue item, if the command waits.
    pub item: Option<ItemId>,
    /// The position in the queue, from 1.
    pub position: Option<u32>,
    /// The revision or the fork that the command made.
    pub session: Option<SessionId>,
}

impl QueueItem {
    /// Returns the approximate size of its text, in bytes.
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

    /// Returns `true` if the item starts this turn.
    pub(crate) fn is_turn(&self, id: &TurnId) -> bool {
        matches!(&self.work, Work::Start { turn, .. } if turn == id)
    }

    pub(crate) fn is_urgent_request(&self) -> bool {
        self.priority && matches!(self.work, Work::Start { .. })
    }
}
