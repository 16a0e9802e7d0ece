//! Serde forms of the values in a policy file, and older names of keys. The keys and their meaning are in `text`.

use super::super::known_tools::ToolKinds;
use super::Weight;
use crate::prompt::item::ToolKind;
use crate::settings::PerMille;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// Older names of keys, with the keys. Accepted because policy files with them exist; settings gave the keys their
/// present names.
pub const OTHER_NAMES: &[(&str, &str)] = &[
    ("enabled", "summarize"),
    ("consent", "compaction"),
    ("userMessages", "userMessageBudget"),
    ("rawTail", "rawTailShare"),
    ("shortTail", "shortTailShare"),
    ("ledger", "ledgerShare"),
    ("identifiers", "identifierShare"),
    ("triggers.preTurn", "triggers.preTurnTokens"),
    ("triggers.idleSecs", "triggers.idleSeconds"),
];

/// Returns the key that has this older name.
pub fn current_name(name: &str) -> Option<&'static str> {
    OTHER_NAMES.iter().find(|(other, _)| *other == name).map(|(_, current)| *current)
}

/// A name that is not empty.
pub fn name<'de, D: Deserializer<'de>>(from: D) -> Result<Cow<'static, str>, D::Error> {
    let name = String::deserialize(from)?;
    if name.trim().is_empty() { Err(D::Error::custom("not possible")) } else { Ok(name.into()) }
}

/// The value that `true` sets if the policy has the key off; `None` for a key that has no switch.
pub fn value_if_on(path: &str) -> Option<Value> {
    Some(match path {
        "budgetExit" => Value::from(0.85),
        "triggers.preTurnTokens" => Value::from(0.8),
        "triggers.background" => Value::from(0.75),
        "triggers.userTurns" => Value::from(32),
        "triggers.messages" => Value::from(40),
        "triggers.idleSeconds" => Value::from(15 * 60),
        _ => return None,
    })
}

/// Modules for `#[serde(with)]`, one per form of a value: how it is written, and how it is read if possible.
macro_rules! forms {
    ($($name:ident: $of:ty = $write:expr, $read:expr;)*) => {$(
        pub mod $name {
            use super::*;

            pub fn serialize<S: Serializer>(value: &$of, to: S) -> Result<S::Ok, S::Error> {
                let write: fn(&$of) -> Value = $write;
                write(value).serialize(to)
            }

            pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<$of, D::Error> {
                let read: fn(&Value) -> Option<$of> = $read;
                // `text::put` replaces this error by one with the key's possible values.
                read(&Value::deserialize(from)?).ok_or_else(|| D::Error::custom("not possible"))
            }
        }
    )*};
}

forms! {
    share: PerMille = as_value, ratio;
    weight: Weight = |weight| Value::from(weight.as_number()), |value| {
        let number = value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))?;
        (-1000.0..=1000.0).contains(&number).then(|| Weight::new((number * 1000.0).round() as i32))
    };
    share_above_0: PerMille = as_value, ratio_above_0;
    share_between: PerMille = as_value, |value| ratio_above_0(value).filter(|share| *share < PerMille::new(1000));
    share_or_off: Option<PerMille> = |share| or_word(share.map(PerMille::as_ratio), "off"),
        |value| if is_off(value) { Some(None) } else { ratio_above_0(value).map(Some) };
    count: u32 = |count| Value::from(*count), |value| at_least(value, 1);
    count_usize: usize = |many| Value::from(i64::try_from(*many).unwrap_or(i64::MAX)),
        |value| at_least(value, 1).map(|many| many as usize);
    count_or_off: Option<u32> = |count| or_word(*count, "off"),
        |value| if is_off(value) { Some(None) } else { at_least(value, 1).map(Some) };
    count_or_auto: Option<u32> = |count| or_word(*count, "auto"),
        |value| if value.as_str() == Some("auto") { Some(None) } else { at_least(value, 0).map(Some) };
    shorten_to: (u32, u32) = |(head, tail)| {
        let parts = [("headBytes", *head), ("tailBytes", *tail)];
        Value::Table(parts.map(|(name, bytes)| (name.to_owned(), Value::from(bytes))).into_iter().collect())
    }, |value| {
        // Head and tail are added up: their sum must not overflow.
        let bytes = |name| at_least(value.get(name)?, 0).filter(|bytes| *bytes <= u32::MAX / 2);
        Some((bytes("headBytes")?, bytes("tailBytes")?))
    };
    auto_or_off: bool = |is_on| word(*is_on, "auto", "off"), |value| switch(value, "auto", "off");
    keep_or_strip: bool = |is_on| word(*is_on, "keep", "strip"), |value| switch(value, "keep", "strip");
    tool_kinds: ToolKinds = |kinds| {
        let kinds: BTreeMap<_, _> = kinds.iter().cloned().collect();
        Value::try_from(kinds).unwrap_or(Value::Table(Table::new()))
    }, |value| {
        let kinds = value.as_table()?.iter();
        kinds.map(|(name, kind)| Some((name.clone(), ToolKind::stored_as(kind.as_str()?)?))).collect()
    };
}

fn as_value(share: &PerMille) -> Value {
    Value::from(share.as_ratio())
}

fn ratio(value: &Value) -> Option<PerMille> {
    let ratio = value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))?;
    // Rounded to thousandths, so that a third can be given.
    (0.0..=1.0).contains(&ratio).then(|| PerMille::new((ratio * 1000.0).round() as u32))
}

fn ratio_above_0(value: &Value) -> Option<PerMille> {
    ratio(value).filter(|share| *share > PerMille::new(0))
}

fn at_least(value: &Value, least: u32) -> Option<u32> {
    u32::try_from(value.as_integer()?).ok().filter(|number| *number >= least)
}

fn is_off(value: &Value) -> bool {
    value.as_bool() == Some(false) || value.as_str() == Some("off")
}

fn or_word<T: Into<Value>>(value: Option<T>, word: &str) -> Value {
    value.map_or_else(|| Value::from(word), Into::into)
}

fn word(is_on: bool, on: &str, off: &str) -> Value {
    Value::from(if is_on { on } else { off })
}

fn switch(value: &Value, on: &str, off: &str) -> Option<bool> {
    match value.as_str() {
        Some(word) if word == on => Some(true),
        Some(word) if word == off => Some(false),
        _ => value.as_bool(),
    }
}
