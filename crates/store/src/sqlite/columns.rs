//! Conversions between values and columns, for writing and reading: times, enum names, message rows, check
//! sums.

use crate::blob::{Blob, check_sum, split};
use crate::role_of;
use engine::compact::record::{Compaction, Status};
use engine::id::Time;
use engine::message::Message;
use engine::message::cut::Cut;
use rusqlite::types::FromSqlError;
use rusqlite::{ErrorCode, Row};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::borrow::Cow;

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

/// The columns that [`MessageRow::read`] expects, in order.
pub(super) const MESSAGE_COLUMNS: &str = "ord, rev, turn, role, external_id, message_id, turn_id, visible, created_at, tokens, hash, body, check_sum, shown";

/// The serialized body in a row with [`MESSAGE_COLUMNS`].
pub(super) fn body<'a>(row: &'a Row<'_>) -> Result<&'a str, String> {
    text(row, 11)
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

    /// Reads a row and verifies its check sum.
    pub fn read(row: &'a Row<'_>) -> Result<Self, String> {
        let found = Self {
            ord: number(row, 0)?,
            rev: number(row, 1)?,
            turn: number(row, 2)?,
            role: text(row, 3)?,
            external_id: text_or_null(row, 4)?,
            message_id: text(row, 5)?,
            turn_id: text(row, 6)?,
            visible: number::<u8>(row, 7)? != 0,
            created_at: text_or_null(row, 8)?,
            tokens: number(row, 9)?,
            hash: text(row, 10)?,
            body: text(row, 11)?,
            shown: text_or_null(row, 13)?.map(Cow::Borrowed),
        };
        let sum: i64 = number(row, 12)?;
        if found.check_sum() == sum { Ok(found) } else { Err(CHANGED.to_owned()) }
    }

    /// The check sum over all columns.
    pub(crate) fn check_sum(&self) -> i64 {
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

    /// The cut with which a large result is shown.
    pub fn cut(&self) -> Result<Option<Cut>, String> {
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

pub(super) fn text<'a>(row: &'a Row<'_>, column: usize) -> Result<&'a str, String> {
    let value = row.get_ref(column).map_err(|error| error.to_string())?;
    value.as_str().map_err(|error| reason(&error, column))
}

pub(super) fn text_or_null<'a>(row: &'a Row<'_>, column: usize) -> Result<Option<&'a str>, String> {
    let value = row.get_ref(column).map_err(|error| error.to_string())?;
    value.as_str_or_null().map_err(|error| reason(&error, column))
}

pub(super) fn number<T: TryFrom<i64>>(row: &Row<'_>, column: usize) -> Result<T, String> {
    let value = row.get_ref(column).map_err(|error| error.to_string())?;
    let number = value.as_i64().map_err(|error| reason(&error, column))?;
    T::try_from(number).map_err(|_| format!("column {column} holds {number}"))
}

fn reason(error: &FromSqlError, column: usize) -> String {
    format!("column {column}: {error}")
}

pub(super) fn json<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// The first column, for messages to people.
pub(super) fn place(row: &Row<'_>) -> String {
    number::<i64>(row, 0).map_or_else(|_| "at an unknown place".to_owned(), |n| n.to_string())
}

/// Fetches the next row. A damaged page ends the rows and is added to `unreadable`.
pub(super) fn next<'r, 's>(
    rows: &'r mut rusqlite::Rows<'s>,
    what: &str,
    unreadable: &mut Vec<String>,
) -> rusqlite::Result<Option<&'r Row<'s>>> {
    match rows.next() {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
            unreadable.push(format!("{what} in a damaged part of the file: {error}"));
            Ok(None)
        }
        row => row,
    }
}
