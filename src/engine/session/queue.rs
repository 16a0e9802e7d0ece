//! Commands that wait until a session has time for them (source: 001): a bounded queue with a priority lane, and the
//! memory of what was accepted. What a command does when its turn comes is in `turn` and `rewind`.

use super::input::StartTurn;
use crate::engine::id::{ItemId, MessageId, SessionId, TurnId};
use crate::engine::message::Content;
use serde::{Deserialize, Serialize};

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
    /// A user asks for something (source: 001, UserMessage).
    Start {
        /// The turn that it will be.
        turn: TurnId,
        /// The request's message.
        message: MessageId,
        /// What is asked.
        start: Box<StartTurn>,
    },
    /// Everything from a message on is cut off, and the model answers again (source: 001, RetryFromIndex).
    Retry {
        /// The message.
        from: MessageId,
        /// The request's new words; the same where there are none.
        content: Option<Vec<Content>>,
    },
    /// The newest answer is cut off, and the model answers again (source: 001).
    Regenerate,
    /// A message gets other words (source: 001, UpdateMessage).
    Update {
        /// The message.
        message: MessageId,
        /// Its words from now on.
        content: Vec<Content>,
        /// Whether what follows it is cut off and the model answers again.
        regenerate: bool,
    },
    /// A message leaves, with what belongs to it (source: 001, RemoveMessage).
    Remove {
        /// The message.
        message: MessageId,
    },
    /// Everything from a message on is cut off (source: 001, TruncateMessages).
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
