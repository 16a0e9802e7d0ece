//! Parameters and columns of statements. A text with U+0000, which PostgreSQL cannot hold, is stored with U+001A as the
//! escape character; every other text without it is stored as it is. JSON texts have neither.

use std::borrow::Cow;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, ToSql, Type};

const ESCAPE: char = '\u{1a}';

/// A parameter of a statement.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Text(Option<String>),
    Number(Option<i64>),
    Bool(bool),
    Bytes(Vec<u8>),
    Texts(Vec<String>),
    Numbers(Vec<i64>),
}

impl Value {
    /// The value for the client, with its type.
    pub fn bound(&self) -> (&(dyn ToSql + Sync), Type) {
        match self {
            Self::Text(text) => (text, Type::TEXT),
            Self::Number(number) => (number, Type::INT8),
            Self::Bool(is) => (is, Type::BOOL),
            Self::Bytes(bytes) => (bytes, Type::BYTEA),
            Self::Texts(texts) => (texts, Type::TEXT_ARRAY),
            Self::Numbers(numbers) => (numbers, Type::INT8_ARRAY),
        }
    }

    /// Its size on the wire, in bytes, about.
    pub fn size(&self) -> usize {
        match self {
            Self::Text(text) => 4 + text.as_ref().map_or(0, String::len),
            Self::Number(_) => 12,
            Self::Bool(_) => 5,
            Self::Bytes(bytes) => 4 + bytes.len(),
            Self::Texts(texts) => 24 + texts.iter().map(|text| 4 + text.len()).sum::<usize>(),
            Self::Numbers(numbers) => 24 + 12 * numbers.len(),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(Some(escaped(text).into_owned()))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(Some(match escaped(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(escaped) => escaped,
        }))
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl From<Option<&str>> for Value {
    fn from(text: Option<&str>) -> Self {
        Self::Text(text.map(|text| escaped(text).into_owned()))
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(Some(number))
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Number(Some(number.into()))
    }
}

impl From<Option<u32>> for Value {
    fn from(number: Option<u32>) -> Self {
        Self::Number(number.map(Into::into))
    }
}

impl From<Option<i64>> for Value {
    fn from(number: Option<i64>) -> Self {
        Self::Number(number)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(Some(i64::try_from(number).unwrap_or(i64::MAX)))
    }
}

impl From<bool> for Value {
    fn from(is: bool) -> Self {
        Self::Bool(is)
    }
}

impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(bytes.to_vec())
    }
}

impl From<&[String]> for Value {
    fn from(texts: &[String]) -> Self {
        Self::Texts(texts.iter().map(|text| escaped(text).into_owned()).collect())
    }
}

impl From<Vec<i64>> for Value {
    fn from(numbers: Vec<i64>) -> Self {
        Self::Numbers(numbers)
    }
}

/// The parameters of a statement, each converted into a [`Value`].
macro_rules! values {
    ($($value:expr),* $(,)?) => { vec![$($crate::postgres::value::Value::from($value)),*] };
}
pub(super) use values;

/// A text as it is stored.
fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', ESCAPE]) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace(ESCAPE, "\u{1a}\u{1a}").replace('\0', "\u{1a}0"))
}

/// The text that is stored so.
fn unescaped(stored: String) -> String {
    if !stored.contains(ESCAPE) {
        return stored;
    }
    let mut text = String::with_capacity(stored.len());
    let mut chars = stored.chars();
    while let Some(c) = chars.next() {
        text.push(match c {
            ESCAPE => match chars.next() {
                Some('0') => '\0',
                _ => ESCAPE,
            },
            c => c,
        });
    }
    text
}

fn get<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T, String> {
    row.try_get(column).map_err(|error| format!("column {column}: {error}"))
}

pub(super) fn text(row: &Row, column: usize) -> Result<String, String> {
    get(row, column).map(unescaped)
}

pub(super) fn text_or_null(row: &Row, column: usize) -> Result<Option<String>, String> {
    get::<Option<String>>(row, column).map(|text| text.map(unescaped))
}

pub(super) fn number<T: TryFrom<i64>>(row: &Row, column: usize) -> Result<T, String> {
    let number: i64 = get(row, column)?;
    T::try_from(number).map_err(|_| format!("column {column} holds {number}"))
}

pub(super) fn number_or_null<T: TryFrom<i64>>(row: &Row, column: usize) -> Result<Option<T>, String> {
    let number: Option<i64> = get(row, column)?;
    let convert = |number: i64| T::try_from(number).map_err(|_| format!("column {column} holds {number}"));
    number.map(convert).transpose()
}

pub(super) fn boolean(row: &Row, column: usize) -> Result<bool, String> {
    get(row, column)
}

pub(super) fn bytes(row: &Row, column: usize) -> Result<Vec<u8>, String> {
    get(row, column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn texts_without_control_characters_are_stored_as_they_are() {
        assert_eq!(escaped("é漢🙂 \\ \n"), "é漢🙂 \\ \n");
        assert_eq!(escaped("a\0\u{1a}0"), "a\u{1a}0\u{1a}\u{1a}0");
    }

    proptest! {
        #[test]
        fn every_text_comes_back(text in "[a0\u{0}\u{1a}é]{0,12}") {
            let stored = escaped(&text).into_owned();
            prop_assert!(!stored.contains('\0'));
            prop_assert_eq!(unescaped(stored), text);
        }
    }
}
