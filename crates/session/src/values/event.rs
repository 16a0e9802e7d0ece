//! Numbered events that a session sends to its subscribers. Their wire format is the protocol's.

use crate::values::agents::Agent;
use crate::values::decision::AskedCall;
use crate::values::input::Retry;
use crate::values::progress::Progress;
use crate::values::queue::QueueItem;
use crate::values::refusal::Refusal;
use crate::values::report::Report;
use crate::values::stored::{Announced, TurnFigures};
use engine::compact::metadata::Persisted;
use engine::compact::record::{Compaction, Mode, Trigger};
use engine::delta::Delta;
use engine::id::{CallId, CompactionId, Generation, ItemId, MessageId, Ordinal, RoundId, SessionId, TurnId};
use engine::message::{Message, Text};
use engine::prompt::item::{Channel, SectionSize};
use engine::prompt::pins::Pin;
use engine::prompt::request::StopReason;
use engine::scope::Scope;
pub use engine::words::Phase;
use engine::words::{StateName, TurnStatus};
use std::sync::Arc;

/// A numbered event: one more than the previous event of the same stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The number, from 1.
    pub seq: u64,
    /// The content of the event.
    pub body: EventBody,
}

/// The content of an event.
#[derive(Debug, Clone, PartialEq)]
pub enum EventBody {
    /// A turn began, or runs again; or a message is added to a turn that showed none.
    TurnStarted {
        /// The id of the turn.
        turn: TurnId,
        /// The editor's id of the turn's request.
        external_id: Option<String>,
    },
    /// A turn is over, or its end is another one than was reported.
    TurnCompleted {
        /// The id of the turn.
        turn: TurnId,
        /// The status that the turn ended with; never [`TurnStatus::Running`].
        status: TurnStatus,
        /// The duration and usage of the turn.
        figures: TurnFigures,
        /// The compactions made while it ran, oldest first.
        compactions: Vec<CompactionId>,
    },
    /// A model starts to answer.
    StreamStarted {
        /// The id of the answer's message.
        message: MessageId,
        /// The turn of the answer.
        turn: TurnId,
    },
    /// A model added to its answer.
    StreamDelta {
        /// The id of the answer's message.
        message: MessageId,
        /// The additions, in order.
        deltas: Vec<Delta>,
    },
    /// A model's answer broke and begins anew: what it said so far is void.
    StreamReset {
        /// The id of the answer's message.
        message: MessageId,
    },
    /// A model's answer ended.
    StreamFinished {
        /// The id of the answer's message.
        message: MessageId,
        /// The reason why it ended.
        stop: StopReason,
    },
    /// A message was added, to this round if it is an answer or a result.
    MessageAdded(Arc<Message>, Option<RoundId>),
    /// A message's content was replaced, or it belongs to another round.
    MessageUpdated(Arc<Message>, Option<RoundId>),
    /// A message was removed.
    MessageRemoved {
        /// The id of the removed message.
        message: MessageId,
    },
    /// The queue changed.
    QueueUpdated {
        /// The queued commands, in the order of execution.
        items: Vec<QueueItem>,
        /// A command that failed when its turn came, with the reason.
        failed: Option<(ItemId, Refusal)>,
    },
    /// Messages were cut off; a revision keeps them.
    MessagesTruncated {
        /// The first message cut off.
        from: Ordinal,
        /// The revision that keeps them.
        revision: Option<SessionId>,
    },
    /// Title, settings, draft, scope or pins changed. Holds all of them.
    ThreadUpdated(Box<Thread>),
    /// The session's state changed.
    RuntimeUpdated {
        /// The new state.
        state: StateName,
        /// The running turn, or the one that ended.
        turn: Option<TurnId>,
        /// The outcome of the turn, if it ended.
        ended: Option<TurnEnd>,
    },
    /// A model call failed and is repeated after a delay. The state is unchanged.
    Retrying {
        /// The current state.
        state: StateName,
        /// The running turn, if any.
        turn: Option<TurnId>,
        /// The next attempt, its delay and the reason.
        retry: Retry,
    },
    /// A running tool call made progress.
    ToolProgress {
        /// The call.
        call: CallId,
        /// The progress, as the tool's server says.
        progress: Progress,
    },
    /// Tool calls wait for the user.
    PauseRequired(Vec<AskedCall>),
    /// No tool call waits for the user any more.
    PauseCleared,
    /// A session that runs in the background for this one was added or changed.
    AgentUpdated(Agent),
    /// A compaction made progress.
    CompactionUpdated(Box<CompactionUpdate>),
    /// The size of the prompt changed.
    ContextUpdated {
        /// The size of the prompt, in tokens.
        tokens: u32,
        /// The prompt's limit, in tokens.
        limit: u32,
        /// The number of new tokens that fit before a compaction.
        until_compaction: u32,
        /// The prompt's sections, each with its channel.
        sections: Vec<(Channel, SectionSize)>,
        /// The name of the token estimator.
        estimator: String,
    },
    /// A prompt does not begin with the previous one, so the provider's cache is lost from there on.
    PrefixBroken {
        /// The causes of the break.
        causes: Announced,
        /// The size of the common prefix, in raw tokens.
        reused: u32,
        /// The tokens that could have been common and are read anew, in raw tokens.
        lost: u32,
    },
    /// An editor's history was merged, or stored rows were unreadable.
    RestoreReported(Box<Report>),
}

/// The properties of a session apart from its messages and its state.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Thread {
    /// The title, if there is one.
    pub title: Option<String>,
    /// The chat's generation; rises on reset.
    pub generation: Generation,
    /// The text typed but not sent.
    pub draft: Option<Text>,
    /// The scope shared with other sessions.
    pub scope: Arc<Scope>,
    /// The user's pins.
    pub pins: Vec<Pin>,
}

/// The outcome of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnEnd {
    /// The status that the turn ended with.
    pub status: TurnStatus,
    /// The failure, if it failed.
    pub error: Option<Refusal>,
    /// The tool that ended the turn, if one did.
    pub ended_by: Option<String>,
    /// The summaries made in the turn, oldest first.
    pub summaries: Vec<Persisted>,
}

/// The progress of a compaction.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionUpdate {
    /// The id of the record, existing or to be made.
    pub id: CompactionId,
    /// The phase reached.
    pub phase: Phase,
    /// The rung of the ladder, as its mode.
    pub mode: Option<Mode>,
    /// The trigger that started it.
    pub trigger: Trigger,
    /// The reason why a rung was given up.
    pub reason: Option<String>,
    /// The prompt's size before the compaction, in tokens, if known.
    pub tokens_before: Option<u32>,
    /// The record, once there is one.
    pub record: Option<(Compaction, Persisted)>,
    /// The summaries that the turn still has after an undo, oldest first.
    pub left: Option<Vec<Persisted>>,
}
