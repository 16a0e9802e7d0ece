//! What stands in a policy file: values of its keys, read and written, and the other names under which keys and settings
//! are taken. Which keys there are and what they mean is said in `text`.

use super::Retention;
use crate::compact::known_tools::ToolKinds;
use crate::prompt::item::ToolKind;
use crate::prompt::order::Named;
use crate::settings::PerMille;
use std::borrow::Cow;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// Other names of keys, with the keys. Policies were written with them before settings had names for the same.
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

/// The key that this is another name of.
pub fn own_name(name: &str) -> Option<&'static str> {
    OTHER_NAMES.iter().find(|(other, _)| *other == name).map(|(_, own)| *own)
}

/// What holds where something is switched on and the policy does not say how far: as the documents have it that the
/// switches are from.
pub mod usual {
    use crate::settings::PerMille;

    /// Source: 000.
    pub const BUDGET_EXIT: PerMille = PerMille::new(850);
    /// As in the default policy.
    pub const PRE_TURN: PerMille = PerMille::new(800);
    /// As in the default policy.
    pub const BACKGROUND: PerMille = PerMille::new(750);
    /// Source: 000.
    pub const USER_TURNS: u32 = 32;
    /// Source: 002.
    pub const MESSAGES: u32 = 40;
    /// Source: 004.
    pub const IDLE_SECONDS: u32 = 15 * 60;
}

pub fn set<T>(place: &mut T, value: T) -> Option<()> {
    *place = value;
    Some(())
}

pub fn word<T: Copy + PartialEq>(table: &[(&'static str, T)], value: T) -> Value {
    let known = table.iter().find(|(_, known)| *known == value);
    Value::from(known.map_or("", |(name, _)| name))
}

pub fn word_of<T: Copy>(table: &[(&str, T)], value: &Value) -> Option<T> {
    let name = value.as_str()?;
    table.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

pub fn word_or_switch(table: &[(&str, bool)], value: &Value) -> Option<bool> {
    value.as_bool().or_else(|| word_of(table, value))
}

pub fn tool_kinds(value: &Value) -> Option<ToolKinds> {
    let kinds: BTreeMap<String, ToolKind> = value.clone().try_into().ok()?;
    Some(Cow::Owned(kinds.into_iter().collect()))
}

pub fn share(value: &Value) -> Option<PerMille> {
    let ratio = value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))?;
    // To the nearest thousandth: a third is a share, too.
    (0.0..=1.0).contains(&ratio).then(|| PerMille::new((ratio * 1000.0).round() as u32))
}

pub fn share_value(share: PerMille) -> Value {
    Value::from(share.as_ratio())
}

pub fn share_above_0(value: &Value) -> Option<PerMille> {
    share(value).filter(|share| *share > PerMille::new(0))
}

/// Where it is switched on, what the policy has stays, and it is as usual where that has none.
pub fn share_or_off(place: &mut Option<PerMille>, value: &Value, usual: PerMille) -> Option<()> {
    match switch(value) {
        Some(is_on) => set(place, is_on.then(|| place.unwrap_or(usual))),
        None => set(place, Some(share_above_0(value)?)),
    }
}

/// Whether something is on: true, or false and "off".
fn switch(value: &Value) -> Option<bool> {
    value.as_bool().or_else(|| (value.as_str() == Some("off")).then_some(false))
}

pub fn share_or_off_value(share: Option<PerMille>) -> Value {
    share.map_or(Value::from("off"), share_value)
}

pub fn count(value: &Value, least: u32) -> Option<u32> {
    let number = u32::try_from(value.as_integer()?).ok()?;
    (number >= least).then_some(number)
}

pub fn bytes(value: &Value) -> Option<u32> {
    // Head and tail are added up.
    count(value, 0).filter(|bytes| *bytes <= u32::MAX / 2)
}

/// As [`share_or_off`].
pub fn count_or_off(place: &mut Option<u32>, value: &Value, usual: u32) -> Option<()> {
    match switch(value) {
        Some(is_on) => set(place, is_on.then(|| place.unwrap_or(usual))),
        None => set(place, Some(count(value, 1)?)),
    }
}

pub fn count_or_off_value(count: Option<u32>) -> Value {
    count.map_or(Value::from("off"), Value::from)
}

pub fn retention(value: &Value) -> Option<Retention> {
    if value.as_str() == Some("rounds") {
        return Some(Retention::Rounds);
    }
    let table = value.as_table().filter(|table| table.len() == 1)?;
    let (kind, value) = table.iter().next()?;
    match kind.as_str() {
        "userTurns" => Some(Retention::UserTurns(count(value, 1)? as usize)),
        "messages" => Some(Retention::Messages(count(value, 1)? as usize)),
        "tokenTail" => {
            let share = share(value)?;
            (PerMille::new(0) < share && share < PerMille::new(1000)).then_some(Retention::TokenTail(share))
        }
        _ => None,
    }
}

pub fn retention_value(retention: Retention) -> Value {
    let of = |kind: &str, value: Value| Value::Table(Table::from_iter([(kind.to_owned(), value)]));
    let many = |number: usize| Value::from(i64::try_from(number).unwrap_or(i64::MAX));
    match retention {
        Retention::Rounds => Value::from("rounds"),
        Retention::UserTurns(turns) => of("userTurns", many(turns)),
        Retention::Messages(messages) => of("messages", many(messages)),
        Retention::TokenTail(share) => of("tokenTail", share_value(share)),
    }
}

pub fn names(sections: &[Named]) -> Value {
    Value::Array(sections.iter().map(|section| Value::from(section.name())).collect())
}

pub fn sections(value: &Value) -> Option<Vec<Named>> {
    let named = |name: &Value| Named::ALL.into_iter().find(|named| Some(named.name()) == name.as_str());
    value.as_array()?.iter().map(named).collect()
}
