//! Reads columns of SQLite's rows.

pub(super) use crate::row::{
    CHANGED, CompactionRow, MessageRow, compaction_sum, count, json, millis, time, variant, word,
};
use rusqlite::types::FromSqlError;
use rusqlite::{ErrorCode, Row};
use std::borrow::Cow;

/// The columns that [`message_row`] expects, in order.
pub(super) const MESSAGE_COLUMNS: &str = "ord, rev, turn, role, external_id, message_id, turn_id, visible, created_at, tokens, hash, body, check_sum, shown";

/// The serialized body in a row with [`MESSAGE_COLUMNS`].
pub(super) fn body<'a>(row: &'a Row<'_>) -> Result<&'a str, String> {
    text(row, 11)
}

/// Reads a row and verifies its check sum.
pub(super) fn message_row<'a>(row: &'a Row<'_>) -> Result<MessageRow<'a>, String> {
    let found = MessageRow {
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
    found.checked(number(row, 12)?)
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
