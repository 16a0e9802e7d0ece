//! What a session tells whoever follows it: numbered events and the ring that keeps the newest of them for a follower
//! that missed some. Their form on a wire is the protocol's.

use crate::values::input::Retry;
use crate::values::queue::QueueItem;
use crate::values::refusal::{Reason, Refusal};
use crate::values::report::Report;
use crate::values::stored::Announced;
use engine::compact::metadata::Persisted;
use engine::compact::record::{Compaction, Mode, Trigger};
use engine::delta::Delta;
use engine::id::{CompactionId, Generation, ItemId, MessageId, Ordinal, SessionId, TurnId};
use engine::message::{Message, Text};
use engine::prompt::item::{Channel, SectionSize};
use engine::prompt::pins::Pin;
use engine::prompt::request::StopReason;
use engine::scope::Scope;
pub use engine::words::Phase;
use engine::words::{StateName, TurnStatus};
use std::sync::Arc;

/// Something that happened, with its number: one more than the event before it in the same stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// From 1 on.
    pub seq: u64,
    /// What happened.
    pub body: EventBody,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum EventBody {
    /// A model begins to answer.
    StreamStarted {
        /// The message that it will be.
        message: MessageId,
        /// Its turn.
        turn: TurnId,
    },
    /// It said a little more.
    StreamDelta {
        /// The message.
        message: MessageId,
        /// What it added, in order.
        deltas: Vec<Delta>,
    },
    /// It is done.
    StreamFinished {
        /// The message.
        message: MessageId,
        /// Why.
        stop: StopReason,
    },
    /// A message was added.
    MessageAdded(Arc<Message>),
    /// A message has other words.
    MessageUpdated(Arc<Message>),
    /// A message left.
    MessageRemoved {
        /// It.
        message: MessageId,
    },
    /// What waits changed.
    QueueUpdated {
        /// All of it, in the order in which it is carried out.
        items: Vec<QueueItem>,
        /// What could not be carried out when its turn came, and why.
        failed: Option<(ItemId, Refusal)>,
    },
    /// Messages left the session; a fork keeps them.
    MessagesTruncated {
        /// The first that left.
        from: Ordinal,
        /// Where they are now.
        fork: Option<SessionId>,
    },
    /// Title, settings, draft or what is shared changed: all of it as it is from now on.
    ThreadUpdated(Box<Thread>),
    /// The state changed.
    RuntimeUpdated {
        /// From now on.
        state: StateName,
        /// The turn that runs or ended.
        turn: Option<TurnId>,
        /// How it ended, where it did.
        ended: Option<TurnEnd>,
    },
    /// The model could not answer, and is asked again after a while. The state is as before.
    Retrying {
        /// What it is.
        state: StateName,
        /// The turn that runs.
        turn: Option<TurnId>,
        /// When, and why.
        retry: Retry,
    },
    /// Calls wait for the user.
    PauseRequired(Vec<Reason>),
    /// They wait no longer.
    PauseCleared,
    /// A compaction goes on.
    CompactionUpdated(Box<CompactionUpdate>),
    /// What a prompt weighs now, in tokens.
    ContextUpdated {
        /// The prompt.
        tokens: u32,
        /// Its limit.
        limit: u32,
        /// New tokens that fit before a compaction.
        until_compaction: u32,
        /// Its sections, each with the channel that it comes through.
        sections: Vec<(Channel, SectionSize)>,
        /// Who counted.
        estimator: String,
    },
    /// A prompt goes out that does not begin with the one before it.
    PrefixBroken {
        /// Why.
        causes: Announced,
        /// Raw tokens from the start on that both share.
        reused: u32,
        /// Raw tokens that both could have shared, and that are read anew.
        lost: u32,
    },
    /// What became of a history that an editor brought.
    RestoreReported(Box<Report>),
}

/// What a session is, beside its messages and what runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Thread {
    /// Its title.
    pub title: Option<String>,
    /// Rises on reset.
    pub generation: Generation,
    /// What the user typed and did not send.
    pub draft: Option<Text>,
    /// What it shares.
    pub scope: Arc<Scope>,
    /// What the user pinned.
    pub pins: Vec<Pin>,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnEnd {
    /// How.
    pub status: TurnStatus,
    /// Why it failed.
    pub error: Option<Refusal>,
    /// The tool by which it ended, where one ended it.
    pub ended_by: Option<String>,
    /// The summaries that were made in it, oldest first.
    pub summaries: Vec<Persisted>,
}

/// A step of a compaction.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionUpdate {
    /// The record that it is about, or that it is to be.
    pub id: CompactionId,
    /// Which.
    pub phase: Phase,
    /// The rung.
    pub mode: Option<Mode>,
    /// What started it.
    pub trigger: Trigger,
    /// Why a rung did not serve.
    pub reason: Option<String>,
    /// Tokens of the prompt before it, where they are known.
    pub tokens_before: Option<u32>,
    /// The record, once there is one.
    pub record: Option<(Compaction, Persisted)>,
    /// Where it was undone: the summaries that its turn still has, oldest first.
    pub left: Option<Vec<Persisted>>,
}
