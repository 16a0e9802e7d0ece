//! Data that a session leaves in the store: the writes of its steps, and the rows that it is opened with.
//! Tables, files and leases belong to the store.

pub use crate::carried::Carried;
use crate::values::agents::AGENT;
pub use crate::values::decision::{Always, Decision};
use crate::values::queue::{Accepted, QueueItem};
use engine::compact::record::{Compaction, Status};
use engine::cost::{Cost, Dollars};
use engine::delta::Delta;
use engine::id::{CompactionId, Generation, ItemId, MessageId, Ordinal, SessionId, Time, TurnId};
use engine::memory::Remembered;
use engine::message::{Message, Text, Usage};
use engine::prompt::item::Tool;
use engine::prompt::pins::Pin;
use engine::prompt::system::CallerSection;
use engine::words::BreakCause;
pub use engine::words::{Driver, Origin, RevisionCause, TurnStatus};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A change of a session. The writes of a step are committed together or not at all.
#[derive(Debug, Clone, PartialEq)]
pub enum Write {
    /// Inserts or replaces the session's row.
    Head(Box<Head>),
    /// Inserts a message at the end, or a newer version at its ordinal.
    Message {
        /// The index of its turn, from 0.
        turn: u32,
        /// The message, with token count and hash.
        message: Arc<Message>,
    },
    /// Inserts or replaces a turn's row.
    Turn(TurnRow),
    /// Inserts a compaction record. The session's summary and count change in the same transaction.
    Compaction(Box<Compaction>),
    /// Changes the status of a compaction record.
    CompactionStatus {
        /// The id of the record.
        id: CompactionId,
        /// The new status.
        status: Status,
    },
    /// Keeps the whole session as a revision before later writes change it. Its origin is
    /// [`Origin::Revision`]. It has no queue, keys or draft. It can be read, but not written or opened.
    Revision(Revision),
    /// Creates another session, which begins with rows of this one: after its head, before its other writes.
    Branch {
        /// The id of the new session.
        to: SessionId,
        /// What it has of this one.
        inherited: Inherited,
        /// Its other writes, the head first.
        writes: Vec<Write>,
    },
    /// Inserts a queued command.
    Enqueue(Box<QueueItem>),
    /// Removes a queued command.
    Dequeue(ItemId),
    /// Stores an idempotency key with its answer. A store keeps the newest [`KEPT_KEYS`] of a session.
    Key {
        /// The client's key.
        key: String,
        /// The answer to the command.
        accepted: Accepted,
    },
    /// Stores the text typed but not sent; `None` deletes it.
    Draft(Option<Text>),
    /// Appends to what is kept of an answer in progress. Followers do not read it, and it counts as no change.
    Streamed(Streamed),
    /// Deletes all that is kept of an answer in progress: the answer is stored, or nothing came of it.
    StreamEnded,
    /// Replaces every version of these messages by a reduced one and deletes the old bytes. Written at the
    /// end of a turn of which only the final answer is kept.
    LetGo {
        /// The index of their turn.
        turn: u32,
        /// The reduced messages, with the original hashes, so that anchors resolve by ordinal and hash.
        messages: Vec<Arc<Message>>,
    },
    /// Deletes the messages from this ordinal on, and the turns that begin with them.
    Truncate {
        /// The first message deleted.
        from: Ordinal,
        /// The number of turns that stay.
        turns: u32,
    },
}

/// The beginning of a session that a branch has too, under ids of its own (see [`Renaming`]). Later changes of one of
/// the two do not concern the other.
///
/// [`Renaming`]: crate::renaming::Renaming
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inherited {
    /// The first message that it does not have; it has the newest version of those before.
    pub messages: Ordinal,
    /// The number of turns that it has.
    pub turns: u32,
    /// The last compaction record that it has, with all before it.
    pub compactions: Option<CompactionId>,
}

/// A piece of an answer in progress, kept in case the process ends before the answer does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Streamed {
    /// The id of the message that the answer becomes.
    pub message: MessageId,
    /// The deltas since the piece before, without those about tool calls: calls that may be cut are not kept.
    pub deltas: Vec<Delta>,
}

/// The number of idempotency keys kept per session.
pub const KEPT_KEYS: usize = 1000;

/// The row of a session: everything about it but its messages, turns and compactions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Head {
    /// The id of the session.
    pub id: SessionId,
    /// The workspace folder, as the editor names it.
    pub workspace: String,
    /// The title, if there is one.
    pub title: Option<String>,
    /// The source of the title; `None` if there is none.
    #[serde(default)]
    pub title_from: Option<TitleFrom>,
    /// The way in which the session was created.
    #[serde(default)]
    pub origin: Origin,
    /// The side that runs the loop; fixed at creation.
    pub driver: Driver,
    /// The purpose of the session, in the client's words.
    pub kind: Option<String>,
    /// The session that started it or that it was forked from.
    pub parent: Option<SessionId>,
    /// The name of the scope shared with background sessions; `None` for a scope of its own.
    pub work_scope: Option<String>,
    /// The chat's generation; rises on reset.
    pub generation: Generation,
    /// The number of cuts at its end, which versions later messages.
    pub cuts: u32,
    /// The number of commands queued so far; ids are made from it.
    #[serde(default)]
    pub accepted: u32,
    /// The frozen sections, tools, pins and instruction files.
    pub prefix: Prefix,
    /// `true` if the queue waits for a process that serves the session's folder, or the turn waits for agents and any
    /// such process may go on with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits: bool,
    /// State carried from one request to the next.
    #[serde(default)]
    pub carried: Carried,
    /// The session's own settings, as received.
    pub settings: Value,
    /// The time of creation.
    pub created_at: Time,
    /// The time of the last message.
    pub updated_at: Time,
}

impl Head {
    /// Returns `true` for a session that a model started: it is bounded, and cancelled with its parent.
    pub fn is_agent(&self) -> bool {
        self.origin == Origin::Background && self.kind.as_deref() == Some(AGENT)
    }

    /// Returns the name of an unshared scope, the session's id. The scope is deleted with the session.
    pub fn own_scope(id: &SessionId) -> String {
        id.as_str().to_owned()
    }

    /// Returns `true` for a revision, and for a copy that a rewind of an earlier version made and that was not
    /// continued. It is deleted with its parent.
    pub fn is_left_behind(&self) -> bool {
        match self.origin {
            Origin::Revision => true,
            Origin::Rewind => !self.carried.continued,
            Origin::New | Origin::Branch | Origin::Background => false,
        }
    }
}

/// A revision: a session as it was before a rewind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// The id under which it is kept.
    pub id: SessionId,
    /// The cause of the rewind.
    pub cause: RevisionCause,
    /// The time of the rewind.
    pub at: Time,
    /// The beginning of the first text that the rewind removed or replaced; `None` if that was no text.
    pub words: Option<String>,
}

/// The source of a session's title.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TitleFrom {
    /// The first request.
    Request,
    /// A model.
    Model,
    /// The client; the session never replaces such a title.
    Client,
}

/// The parts of a prompt before the messages, as they were given and frozen.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Prefix {
    /// The caller's sections, in order.
    pub sections: Vec<CallerSection>,
    /// The tools that the model is offered.
    pub tools: Vec<Tool>,
    /// Tools of servers that the sidecar calls itself, as last taken over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_tools: Vec<Tool>,
    /// The user's pins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<Pin>,
    /// The number of pins made; ids are made from it.
    #[serde(default)]
    pub pinned: u32,
    /// The workspace's instruction files, as of the start of the chat.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instructions: Vec<Instructions>,
    /// The workspace's memories shown in prompts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remembered: Option<Remembered>,
}

/// An instruction file of the workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Instructions {
    /// The path below the workspace folder.
    pub name: String,
    /// The text in the system text; empty if there was no file.
    pub text: Text,
    /// A newer text that the model was told since; empty if the file was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newer: Option<Text>,
}

/// Causes of prefix breaks that are still to be announced.
pub type Announced = BTreeSet<BreakCause>;

/// The row of a turn: everything about it but its messages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnRow {
    /// The index in the session, from 0.
    pub index: u32,
    /// The id of the turn.
    pub id: TurnId,
    /// The status, running or ended.
    pub status: TurnStatus,
    /// The assistant message whose calls were started last. Only the sidecar's own are started again.
    #[serde(default)]
    pub started: Option<Ordinal>,
    /// Decisions about calls of the newest round that have no result yet.
    #[serde(default)]
    pub decided: Vec<Decision>,
    /// Begin and figures of the turn.
    #[serde(default, skip_serializing_if = "TurnFigures::is_empty")]
    pub figures: TurnFigures,
}

/// When a turn began to run, and what it took once it is over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TurnFigures {
    /// The time at which the turn began, or ran again; `None` if it did not run here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub began: Option<Time>,
    /// The time from the begin to the end, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The sum of the usage that providers reported for its answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The sum of the costs of its answers, if any is known. Rows of an older version have a number of dollars as `cost`.
    #[serde(skip_serializing_if = "Option::is_none", alias = "cost", deserialize_with = "cost_or_number")]
    pub spent: Option<Cost>,
    /// `true` if the turn was open when its process ended or its session was opened again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
}

/// Reads a cost, or a number of dollars that providers reported.
fn cost_or_number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Cost>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(Dollars),
        Cost(Cost),
    }
    Ok(Option::deserialize(from)?.map(|written| match written {
        Written::Number(dollars) => Cost::reported(dollars),
        Written::Cost(cost) => cost,
    }))
}

impl TurnFigures {
    /// `true` if nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The figures of a turn that runs from now on.
    pub fn running(now: Time) -> Self {
        Self { began: Some(now), ..Self::default() }
    }
}

impl TurnRow {
    /// Returns placeholders for this many turns that are not loaded. They count as completed.
    pub(crate) fn left_out(many: u32) -> impl Iterator<Item = Self> {
        let id = TurnId::new("");
        (0..many).map(move |index| {
            let (started, decided) = (None, Vec::new());
            let figures = TurnFigures::default();
            Self { index, id: id.clone(), status: TurnStatus::Completed, started, decided, figures }
        })
    }
}

/// A session as read from a store.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// The row of the session.
    pub head: Head,
    /// The turns, in order.
    pub turns: Vec<TurnRow>,
    /// The messages in order, each with the index of its turn.
    pub messages: Vec<(u32, Arc<Message>)>,
    /// The compaction records, oldest first, with their status.
    pub compactions: Vec<Compaction>,
    /// The queued commands, in the order of execution.
    pub queue: Vec<QueueItem>,
    /// The idempotency keys with their answers, oldest first.
    pub keys: Vec<(String, Accepted)>,
    /// The text typed but not sent.
    pub draft: Option<Text>,
    /// The pieces of an answer that did not end, in order.
    pub streamed: Vec<Streamed>,
    /// The places of unreadable rows, with the reasons. All other rows are included.
    pub unreadable: Vec<String>,
}

/// The stored data of a session's next prompt. Everything else is read later, as a [`Rest`].
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Head, queue, draft and the compaction in force, the newest record. All messages and turns from `from`
    /// on, including the last round that the compaction covers; of earlier messages, those that it keeps or
    /// leaves out by name and those that are pinned. No keys.
    pub stored: Stored,
    /// The first message from which on all are included; never the first of the session.
    pub from: Ordinal,
}

/// The data that a [`Part`] left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rest {
    /// The messages before the part, each with the index of its turn.
    pub messages: Vec<(u32, Arc<Message>)>,
    /// All turns.
    pub turns: Vec<TurnRow>,
    /// All compaction records.
    pub compactions: Vec<Compaction>,
    /// All idempotency keys.
    pub keys: Vec<(String, Accepted)>,
    /// Unreadable rows among these.
    pub unreadable: Vec<String>,
}
