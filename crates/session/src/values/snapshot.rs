//! A session as a whole, for a new subscriber or one that missed events, and its context as figures.

use crate::carried::spent::Spent;
use crate::values::agents::Agent;
use crate::values::decision::AskedCall;
use crate::values::event::Thread;
use crate::values::queue::QueueItem;
use crate::values::settings::Settings;
use crate::values::stored::{Head, TurnFigures};
use engine::compact::metadata::Persisted;
use engine::compact::record::{Compaction, Mode, Trigger};
use engine::delta::Draft;
use engine::estimate::Report;
use engine::id::MessageId;
use engine::message::{Message, ToolCall, Usage};
use engine::prompt::Cut;
use engine::prompt::coverage::Coverage;
use engine::prompt::item::Channel;
use engine::transcript::Round;
pub use engine::words::Measure;
use engine::words::{LimitSource, StateName, TurnStatus};
use std::sync::Arc;

/// A session at one point of its event stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// The name of the event stream.
    pub stream: String,
    /// The number of the last event included.
    pub seq: u64,
    /// The session's state.
    pub state: StateName,
    /// The reason of a failed last turn.
    pub error: Option<String>,
    /// The row of the session.
    pub head: Head,
    /// The messages, in order; removed ones are left out.
    pub messages: Vec<Arc<Message>>,
    /// The number of messages before those, if only the newest are included. Turns and records out of force
    /// are left out then.
    pub earlier: Option<u32>,
    /// The turns, in order.
    pub turns: Vec<TurnSnapshot>,
    /// The compaction records, oldest first, with their metadata.
    pub compactions: Vec<(Compaction, Persisted)>,
    /// The mode of the running compaction, from its model call to its review, and the reason for it.
    pub compacting: Option<(Mode, String)>,
    /// The answer in progress: its message and the draft so far.
    pub streaming: Option<(MessageId, Draft)>,
    /// Tool calls that wait for the user.
    pub pause: Vec<AskedCall>,
    /// Tool calls that wait for a result.
    pub pending: Vec<ToolCall>,
    /// The queued commands, in the order of execution.
    pub queue: Vec<QueueItem>,
    /// Title, draft, scope and pins.
    pub thread: Thread,
    /// The settings in effect.
    pub settings: Settings,
    /// The sessions that run in the background for this one, oldest first.
    pub agents: Vec<Agent>,
}

/// A turn in a snapshot.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnSnapshot {
    /// The id of the turn.
    pub id: String,
    /// The editor's id of the turn's request.
    pub external_id: Option<String>,
    /// The status of the turn.
    pub status: TurnStatus,
    /// The rounds, each with its summary.
    pub rounds: Vec<(Round, Option<String>)>,
    /// The summaries made in the turn.
    pub summaries: Vec<Persisted>,
    /// The duration and usage of the turn, once it is over.
    pub figures: TurnFigures,
}

/// The composition of the context, as figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Inspection {
    /// The size of the prompt if it were sent now, in tokens.
    pub tokens: u32,
    /// The prompt's limit, in tokens.
    pub limit: u32,
    /// The number of new tokens that fit before the next compaction triggered by size.
    pub until_compaction: u32,
    /// The model's window, in tokens.
    pub window: u32,
    /// The name of the token estimator.
    pub estimator: String,
    /// The calibration of the estimate.
    pub estimate: Estimate,
    /// The prompt's sections: channel, name and size in tokens.
    pub sections: Vec<(Channel, String, u32)>,
    /// The fate of each message in the prompt.
    pub coverage: Coverage,
    /// Parts that the prompt shortens or leaves out.
    pub cuts: Vec<Cut>,
    /// The newest compaction records, oldest first.
    pub compactions: Vec<Compaction>,
    /// The number of records before them.
    pub earlier_compactions: usize,
    /// The distance to each trigger of a compaction.
    pub triggers: Vec<TriggerDistance>,
    /// The usage reported for the last answer.
    pub usage: Option<Usage>,
    /// The cost of the session's requests to models, if any is known.
    pub spent: Option<Spent>,
    /// The prompt limit learned from a provider's refusals.
    pub learned_limit: Option<PromptLimit>,
    /// The largest answer to this prompt, in tokens, learned from a provider's refusals.
    pub learned_answer: Option<u32>,
}

/// The learned limit of a prompt that holds now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptLimit {
    /// The largest prompt, in tokens.
    pub tokens: u32,
    /// The source of the figure.
    pub source: LimitSource,
    /// Prompts to be accepted before it is dropped, if none is larger.
    pub left: u32,
}

/// The distance to a compaction trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TriggerDistance {
    /// The trigger's kind.
    pub trigger: Trigger,
    /// The measure that it counts.
    pub measure: Measure,
    /// The current value.
    pub now: u64,
    /// The value at which it starts a compaction; `None` if it is off.
    pub at: Option<u64>,
    /// New tokens needed before the trigger may start a compaction, whatever its value: too few are new since
    /// the last one, or since an attempt that gained nothing, was refused or was undone.
    pub held_back: u32,
}

/// The calibration of the session's token counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// The factor applied to raw counts, in thousandths.
    pub factor: u32,
    /// The margin kept back for errors, in thousandths of the window.
    pub margin: u32,
    /// The last usage report that still holds.
    pub last: Option<Report>,
}
