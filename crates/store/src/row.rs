//! Rows as values, whatever database they are in: times, names of enums, columns of messages and records, check sums.

use crate::blob::{Blob, check_sum, join, split};
use crate::role_of;
use engine::compact::record::{Compaction, Status};
use engine::id::{MessageId, Ordinal, Time, TurnId};
use engine::memory::Memory;
use engine::message::Message;
use engine::message::cut::Cut;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use session::renaming::Renaming;
use session::stored::Always;
use std::borrow::Cow;
use std::sync::Arc;

pub(super) fn millis(time: Time) -> i64 {
    i64::try_from(time.0).unwrap_or(i64::MAX)
}

pub(super) fn time(millis: i64) -> Time {
    Time(u64::try_from(millis).unwrap_or_default())
}

/// A number of rows.
pub(super) fn count(rows: usize) -> u32 {
    u32::try_from(rows).unwrap_or(u32::MAX)
}

/// The serialized name of a variant without fields.
pub(super) fn word(variant: &impl Serialize) -> String {
    match serde_json::to_value(variant) {
        Ok(Value::String(word)) => word,
        other => format!("{other:?}"),
    }
}

pub(super) fn variant<T: DeserializeOwned>(word: &str) -> Result<T, String> {
    serde_json::from_value(Value::String(word.to_owned())).map_err(|error| error.to_string())
}

/// A row of `chat_messages`, without its segment and check sum.
#[derive(Debug)]
pub(super) struct MessageRow<'a> {
    pub ord: u32,
    pub rev: u32,
    pub turn: u32,
    pub role: &'a str,
    pub external_id: Option<&'a str>,
    pub message_id: &'a str,
    pub turn_id: &'a str,
    pub visible: bool,
    pub created_at: Option<&'a str>,
    pub tokens: u32,
    pub hash: &'a str,
    pub body: &'a str,
    pub shown: Option<Cow<'a, str>>,
}

impl<'a> MessageRow<'a> {
    /// The row of a message with this serialized body.
    pub fn of(turn: u32, message: &'a Message, body: &'a str) -> Self {
        Self {
            ord: message.ord.0,
            rev: message.rev,
            turn,
            role: role_of(&message.body),
            external_id: message.external_id.as_deref(),
            message_id: message.id.as_str(),
            turn_id: message.turn.as_str(),
            visible: message.visible_to_model,
            created_at: message.created_at.as_deref(),
            tokens: message.tokens,
            hash: &message.hash,
            body,
            shown: message.shown.and_then(|cut| serde_json::to_string(&cut).ok()).map(Cow::Owned),
        }
    }

    /// The check sum over all columns.
    pub fn check_sum(&self) -> i64 {
        let number = |number: u32| number.to_le_bytes();
        let optional =
            |text: Option<&str>| text.map_or_else(Vec::new, |text| [b"=", text.as_bytes()].concat());
        let (ord, rev, turn) = (number(self.ord), number(self.rev), number(self.turn));
        let (visible, tokens) = ([u8::from(self.visible)], number(self.tokens));
        let (external_id, created_at) = (optional(self.external_id), optional(self.created_at));
        let columns = [
            &ord[..],
            &rev,
            &turn,
            self.role.as_bytes(),
            &external_id,
            self.message_id.as_bytes(),
            self.turn_id.as_bytes(),
            &visible,
            &created_at,
            &tokens,
            self.hash.as_bytes(),
            self.body.as_bytes(),
        ];
        // Older rows lack this column, and their sum covers the others alone.
        match &self.shown {
            None => check_sum(&columns),
            Some(shown) => check_sum(&[&columns[..], &[shown.as_bytes()]].concat()),
        }
    }

    /// The row, if this is its check sum.
    pub fn checked(self, sum: i64) -> Result<Self, String> {
        if self.check_sum() == sum { Ok(self) } else { Err(CHANGED.to_owned()) }
    }

    /// The message with the index of its turn, under the ids of the session that reads it; `fetch` returns the content of
    /// a hash.
    pub fn message(
        &self,
        fetch: &mut dyn FnMut(&str) -> Result<String, String>,
        renaming: Option<&Renaming>,
    ) -> Result<(u32, Arc<Message>), String> {
        let message = Message {
            id: MessageId::new(self.message_id),
            external_id: self.external_id.map(str::to_owned),
            ord: Ordinal(self.ord),
            rev: self.rev,
            turn: TurnId::new(self.turn_id),
            body: join(self.body, fetch)?,
            visible_to_model: self.visible,
            created_at: self.created_at.map(str::to_owned),
            shown: self.cut()?,
            tokens: self.tokens,
            hash: self.hash.to_owned(),
            found: Default::default(),
        };
        let message = match renaming {
            Some(renaming) => renaming.message(message),
            None => message,
        };
        Ok((self.turn, Arc::new(message)))
    }

    /// The cut with which a large result is shown.
    fn cut(&self) -> Result<Option<Cut>, String> {
        let cut = self.shown.as_deref().map(serde_json::from_str).transpose();
        cut.map_err(|error| error.to_string())
    }
}

/// The reason for a wrong check sum.
pub(super) const CHANGED: &str = "its bytes changed since they were written";

/// The serialized part of a row of `compactions`.
pub(super) struct CompactionRow {
    /// The record without block and status.
    pub record: String,
    /// Large strings taken out of the record.
    pub blobs: Vec<Blob>,
    /// The check sum over block and record.
    pub check_sum: i64,
}

impl CompactionRow {
    pub fn of(compaction: &Compaction) -> serde_json::Result<Self> {
        let rest = Compaction { block: "".into(), status: Status::InForce, ..compaction.clone() };
        let (record, blobs) = split(&rest)?;
        let check_sum = compaction_sum(&compaction.block, &record);
        Ok(Self { record, blobs, check_sum })
    }
}

pub(super) fn compaction_sum(block: &str, record: &str) -> i64 {
    check_sum(&[block.as_bytes(), record.as_bytes()])
}

pub(super) fn json<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// The check sum of a scope's row.
pub(super) fn scope_sum(workspace: &str, name: &str, revision: u64, scope: &str) -> i64 {
    check_sum(&[workspace.as_bytes(), name.as_bytes(), &revision.to_le_bytes(), scope.as_bytes()])
}

/// The check sum of an approval's row.
pub(super) fn approval_sum(workspace: &str, always: &Always) -> i64 {
    let pattern =
        always.pattern.as_ref().map_or_else(Vec::new, |pattern| [b"=", pattern.as_bytes()].concat());
    let approval = [workspace.as_bytes(), always.tool.as_bytes(), &pattern];
    // Rows of older schemas, which only approve, keep their sum.
    if always.rejected { check_sum(&[&approval[..], &[b"rejected"]].concat()) } else { check_sum(&approval) }
}

/// The check sum of a memory's row.
pub(super) fn memory_sum(workspace: &str, memory: &Memory, row: &str) -> i64 {
    let active = [u8::from(memory.active)];
    check_sum(&[workspace.as_bytes(), memory.id.as_bytes(), memory.area.as_bytes(), &active, row.as_bytes()])
}

/// The check sum of a row with a name and a value.
pub(super) fn named_sum(name: &str, value: &str) -> i64 {
    check_sum(&[name.as_bytes(), value.as_bytes()])
}
