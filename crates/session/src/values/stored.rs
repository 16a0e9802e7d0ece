//! What a session leaves behind: the writes that a store commits, and what it gives back when the session is opened
//! again. Values only; tables, files and leases are the store's.

pub use crate::carried::Carried;
pub use crate::values::decision::{Always, Decision};
use crate::values::queue::{Accepted, QueueItem};
use engine::compact::record::{Compaction, Status};
use engine::id::{CompactionId, Generation, ItemId, Ordinal, SessionId, Time, TurnId};
use engine::memory::Remembered;
use engine::message::{Message, Text};
use engine::prompt::item::Tool;
use engine::prompt::pins::Pin;
use engine::prompt::system::CallerSection;
use engine::words::BreakCause;
pub use engine::words::{Driver, Origin, TurnStatus};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// One change of a session. The writes of a step are committed together or not at all.
#[derive(Debug, Clone, PartialEq)]
pub enum Write {
    /// The session's own row, whole: a new one, or in the place of the old one.
    Head(Box<Head>),
    /// A message at the end, or a newer version of one that stands where it says.
    Message {
        /// Its turn's place in the session, from 0.
        turn: u32,
        /// The message, counted and hashed.
        message: Arc<Message>,
    },
    /// A turn, whole: a new one, or in the place of the old one.
    Turn(TurnRow),
    /// A compaction record. Summary and count of the session change with it, in the same transaction.
    Compaction(Box<Compaction>),
    /// A record came into force or went out of it.
    CompactionStatus {
        /// The record.
        id: CompactionId,
        /// What it is from now on.
        status: Status,
    },
    /// The whole session as it stands is copied under another id: nothing that was said is lost by what follows. The
    /// copy's origin is [`Origin::Rewind`]; queue, keys and draft are not copied, so it waits for nobody.
    Fork {
        /// The id of the copy.
        to: SessionId,
    },
    /// Another session is made, whole, with these writes.
    Branch {
        /// Its id.
        to: SessionId,
        /// Its head first.
        writes: Vec<Write>,
    },
    /// A command was accepted and waits.
    Enqueue(Box<QueueItem>),
    /// It does not wait any more.
    Dequeue(ItemId),
    /// A command with this key was accepted and answered so. A store keeps the newest [`KEPT_KEYS`] of a session.
    Key {
        /// The client's key for it.
        key: String,
        /// The answer.
        accepted: Accepted,
    },
    /// What the user typed and did not send; nothing where that is gone.
    Draft(Option<Text>),
    /// Of messages that are over only so much stays: each takes the place of all versions of the one that stood there, whose
    /// bytes go.
    LetGo {
        /// Their turn's place in the session.
        turn: u32,
        /// What stands there from now on, with the hashes of what was said: anchors fall to ordinal and hash.
        messages: Vec<Arc<Message>>,
    },
    /// Messages from here on, and turns that begin with them, leave the session.
    Truncate {
        /// The first one that goes.
        from: Ordinal,
        /// Turns that stay.
        turns: u32,
    },
}

/// Keys of accepted commands that a session remembers.
pub const KEPT_KEYS: usize = 1000;

/// What a session is, beside what was said in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Head {
    /// Its id.
    pub id: SessionId,
    /// The folder that it belongs to, as the editor names it.
    pub workspace: String,
    /// Its title, where it has one.
    pub title: Option<String>,
    /// Who gave it; nothing where there is none.
    #[serde(default)]
    pub title_from: Option<TitleFrom>,
    /// How it came to be.
    #[serde(default)]
    pub origin: Origin,
    /// Who runs the loop; fixed when the session is made.
    pub driver: Driver,
    /// What it is for, in the client's words.
    pub kind: Option<String>,
    /// The session that it was started or forked from.
    pub parent: Option<SessionId>,
    /// What background sessions share.
    pub work_scope: Option<String>,
    /// Rises on reset.
    pub generation: Generation,
    /// How often its end was cut off; the version of messages that came after.
    pub cuts: u32,
    /// Commands that were accepted so far; ids are made of it.
    #[serde(default)]
    pub accepted: u32,
    /// System text, sections and tools, frozen.
    pub prefix: Prefix,
    /// Whether what is in its queue waits for a process that serves its folder.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits: bool,
    /// What it carries from one request to the next.
    #[serde(default)]
    pub carried: Carried,
    /// The settings that were made for this session alone, as they came over the wire.
    pub settings: Value,
    /// When it was made.
    pub created_at: Time,
    /// When something was last said in it.
    pub updated_at: Time,
}

impl Head {
    /// The name of the scope of a session that shares none: its own id. It goes with the session.
    pub fn own_scope(id: &SessionId) -> String {
        id.as_str().to_owned()
    }

    /// Whether a rewind of its parent made it and nothing was said in it since: it goes with its parent.
    pub fn is_left_behind(&self) -> bool {
        self.origin == Origin::Rewind && !self.carried.continued
    }
}

/// Who gave a session its title.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TitleFrom {
    /// It is made of the first request.
    Request,
    /// A model was asked.
    Model,
    /// The client; it stays.
    Client,
}

/// What stands before the messages, as it was given and pinned.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Prefix {
    /// The caller's sections, in their order.
    pub sections: Vec<CallerSection>,
    /// The tools that the model is told of.
    pub tools: Vec<Tool>,
    /// What the user pinned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<Pin>,
    /// Pins that were made so far; ids are made of it.
    #[serde(default)]
    pub pinned: u32,
    /// Instruction files of the workspace, as they were when the chat began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instructions: Vec<Instructions>,
    /// What its prompts show of the workspace's memories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remembered: Option<Remembered>,
}

/// An instruction file of the workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Instructions {
    /// Its path below the folder.
    pub name: String,
    /// What stands in the system text; empty where there was no file.
    pub text: Text,
    /// What the model was told since, where it is another one; empty where the file is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newer: Option<Text>,
}

/// Causes of breaks of a prompt's beginning that wait to be told.
pub type Announced = BTreeSet<BreakCause>;

/// A turn, beside its messages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnRow {
    /// Its place in the session, from 0.
    pub index: u32,
    /// Its id.
    pub id: TurnId,
    /// How it ended, or that it runs.
    pub status: TurnStatus,
    /// The assistant message whose calls were started last: what was started is never started again by itself.
    #[serde(default)]
    pub started: Option<Ordinal>,
    /// What was decided about calls of the newest round that have no result yet.
    #[serde(default)]
    pub decided: Vec<Decision>,
}

impl TurnRow {
    /// In the places of so many that are not here: they are over.
    pub(crate) fn left_out(many: u32) -> impl Iterator<Item = Self> {
        let id = TurnId::new("");
        (0..many).map(move |index| {
            let (started, decided) = (None, Vec::new());
            Self { index, id: id.clone(), status: TurnStatus::Completed, started, decided }
        })
    }
}

/// A session as a store gives it back.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// Its own row.
    pub head: Head,
    /// Its turns, in order.
    pub turns: Vec<TurnRow>,
    /// Its messages in order, each with its turn's place.
    pub messages: Vec<(u32, Arc<Message>)>,
    /// Its compaction records, oldest first, with their status.
    pub compactions: Vec<Compaction>,
    /// Commands that wait, in the order in which they are carried out.
    pub queue: Vec<QueueItem>,
    /// Keys of accepted commands with their answers, oldest first.
    pub keys: Vec<(String, Accepted)>,
    /// What the user typed and did not send.
    pub draft: Option<Text>,
    /// Rows that cannot be read: where they stood, and why. The rest is here.
    pub unreadable: Vec<String>,
}

/// What a session's next prompt is made of, as a store gives it: whatever else there is comes as a [`Rest`].
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The head, all that waits, the compaction in force, which is the newest record; every message from one on, with the
    /// round before what that compaction covers; of those before it what that compaction keeps or leaves out by
    /// name, and what is pinned. The
    /// turns from that round on. No keys.
    pub stored: Stored,
    /// That one. There is something before it.
    pub from: Ordinal,
}

/// What a [`Part`] left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rest {
    /// The messages before it, each with its turn's place.
    pub messages: Vec<(u32, Arc<Message>)>,
    /// All turns.
    pub turns: Vec<TurnRow>,
    /// All compaction records.
    pub compactions: Vec<Compaction>,
    /// All keys.
    pub keys: Vec<(String, Accepted)>,
    /// Rows of all these that cannot be read.
    pub unreadable: Vec<String>,
}
