//! A session as a whole, for a follower that begins or has missed something, and its context as figures. Values, and
//! how they are taken; their form on a wire is the protocol's.

use crate::values::event::Thread;
use crate::values::queue::QueueItem;
use crate::values::refusal::Reason;
use crate::values::settings::Settings;
use crate::values::stored::Head;
use engine::compact::metadata::Persisted;
use engine::compact::record::{Compaction, Mode, Trigger};
use engine::delta::Draft;
use engine::estimate::Report;
use engine::id::MessageId;
use engine::message::{Message, Usage};
use engine::prompt::Cut;
use engine::prompt::coverage::Coverage;
use engine::prompt::item::Channel;
use engine::transcript::Round;
pub use engine::words::Measure;
use engine::words::{StateName, TurnStatus};
use std::sync::Arc;

/// A session as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// The stream of its events.
    pub stream: String,
    /// The last event that it includes.
    pub seq: u64,
    /// Its state.
    pub state: StateName,
    /// Why it failed, where it did.
    pub error: Option<String>,
    /// Its own row.
    pub head: Head,
    /// Its messages in order.
    pub messages: Vec<Arc<Message>>,
    /// How many stand before them, where only the newest are here. Turns are left out then, and so are records that are
    /// not in force.
    pub earlier: Option<u32>,
    /// Its turns in order.
    pub turns: Vec<TurnSnapshot>,
    /// Its compaction records, oldest first, with their metadata.
    pub compactions: Vec<(Compaction, Persisted)>,
    /// The rung that is asking a model, while one is, and why a compaction goes on.
    pub compacting: Option<(Mode, String)>,
    /// The answer that is being given.
    pub streaming: Option<(MessageId, Draft)>,
    /// Calls that wait for the user.
    pub pause: Vec<Reason>,
    /// Calls that wait for a result.
    pub pending: Vec<Reason>,
    /// What waits, in the order in which it is carried out.
    pub queue: Vec<QueueItem>,
    /// Title, draft and what it shares.
    pub thread: Thread,
    /// What it runs under.
    pub settings: Settings,
}

/// A turn of a snapshot.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnSnapshot {
    /// Its id.
    pub id: String,
    /// The editor's id of its request.
    pub external_id: Option<String>,
    /// How it ended.
    pub status: TurnStatus,
    /// Its rounds, each with its summary.
    pub rounds: Vec<(Round, Option<String>)>,
    /// The summaries that were made in it.
    pub summaries: Vec<Persisted>,
}

/// The context as figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Inspection {
    /// Tokens of the prompt as it would be sent now.
    pub tokens: u32,
    /// Its limit.
    pub limit: u32,
    /// New tokens that fit before the nearest compaction that sizes set off.
    pub until_compaction: u32,
    /// The window.
    pub window: u32,
    /// Who counted.
    pub estimator: String,
    /// How well that is known.
    pub estimate: Estimate,
    /// Channel, name and tokens of its sections.
    pub sections: Vec<(Channel, String, u32)>,
    /// What became of each message.
    pub coverage: Coverage,
    /// What is not in it as it was said.
    pub cuts: Vec<Cut>,
    /// Its compaction records, oldest first.
    pub compactions: Vec<(Compaction, Persisted)>,
    /// What starts a compaction.
    pub triggers: Vec<Nearness>,
    /// What the model reported for its last answer.
    pub usage: Option<Usage>,
    /// The most that the model's provider turned out to take, in tokens, where it found a prompt too large.
    pub learned_limit: Option<u32>,
}

/// How near a trigger is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nearness {
    /// The trigger.
    pub trigger: Trigger,
    /// What it counts.
    pub measure: Measure,
    /// How much there is.
    pub now: u64,
    /// How much it starts at; nothing where it is switched off.
    pub at: Option<u64>,
    /// New tokens that are missing before it may start anything, however much there is: too little is new since the last
    /// compaction, or since an attempt at one came to nothing, was refused or undone.
    pub held_back: u32,
}

/// How well the session's counts are known.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// Thousandths that raw counts are taken times.
    pub factor: u32,
    /// Thousandths of the window that are kept back for the error.
    pub margin: u32,
    /// The last report that still holds.
    pub last: Option<Report>,
}
