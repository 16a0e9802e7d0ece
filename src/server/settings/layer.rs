//! One layer of settings: values under the protocol's names, each with its source. Other names and forms are
//! normalized here, and nowhere later; `effective` checks the values.

use super::effective;
use super::names::{GROUPS, Written, is_name, names, nearest, one_by_one, other_names};
use engine::compact::policy;
use protocol::error::{ErrorData, ProtocolError};
use protocol::methods::read;
use protocol::settings::{CountOrOff, GivenSettings, Retention, Settings, ShareOrOff, Summarize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Values set in one place, by names such as `triggers.messages`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::server) struct Layer {
    pub values: BTreeMap<String, Held>,
}

/// A value that was set.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::server) struct Held {
    /// The value, as the protocol writes it.
    pub value: Value,
    /// The name under which it was written.
    written: String,
    /// The file, the variable or the flag; `None` if it came over the wire.
    pub place: Option<String>,
}

/// The setting whose parts are servers, each of them usable without the others.
const SERVERS: &str = "mcp.servers";

/// The reason that a workspace's file cannot set a setting.
const IGNORED: &str = "ignored; a workspace's file can only lower threshold and roundLimit";

/// The reason for servers in a workspace's file.
const NEEDS_CONSENT: &str =
    "ignored as a setting; where the user sets mcp.workspaceFiles to ask, its servers wait for consent";

/// A setting that was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::server) struct Fault {
    /// The name, as it was written.
    pub name: String,
    /// The fault and the possible values, without the given one; `None` for an unknown name.
    pub reason: Option<String>,
}

impl Fault {
    /// The fault of an unknown name.
    pub fn unknown(name: String) -> Self {
        Self { name, reason: None }
    }

    /// The fault of a setting that a workspace's file cannot set.
    pub fn ignored(name: String) -> Self {
        let reason = if name == SERVERS { NEEDS_CONSENT } else { IGNORED };
        Self { name, reason: Some(reason.to_owned()) }
    }

    /// `true` if no value would be taken.
    pub fn is_ignored(&self) -> bool {
        self.reason.as_deref().is_some_and(|reason| [IGNORED, NEEDS_CONSENT].contains(&reason))
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.reason {
            Some(reason) => write!(f, "{}: {reason}", self.name),
            None => {
                let others = other_names().map(|(other, _)| other.to_owned());
                let near = nearest(&self.name, names().chain(others));
                write!(f, "unknown setting {:?}", self.name)?;
                if near.is_empty() { Ok(()) } else { write!(f, "; similar: {}", near.join(", ")) }
            }
        }
    }
}

impl Layer {
    /// The layer of parsed settings.
    pub fn of(settings: &Settings) -> Result<Self, ProtocolError> {
        Ok(Self::plain(plain(settings.clone())?, "", None))
    }

    fn plain(settings: Settings, written: &str, place: Option<&str>) -> Self {
        let Ok(Value::Object(values)) = serde_json::to_value(settings) else { return Self::default() };
        let mut layer = Self::default();
        for (name, value) in values {
            let mut put = |name: String, value| {
                let held = Held { value, written: written.to_owned(), place: place.map(str::to_owned) };
                layer.values.insert(name, held);
            };
            match value {
                Value::Object(parts) if GROUPS.contains(&name.as_str()) => {
                    parts.into_iter().for_each(|(part, value)| put(format!("{name}.{part}"), value));
                }
                value => put(name, value),
            }
        }
        layer
    }

    /// Parses settings from this place; without one, they came over the wire. Invalid ones are returned as
    /// faults.
    pub fn written(raw: Map<String, Value>, place: Option<&str>) -> (Self, Vec<Fault>) {
        Self::of_each(one_by_one(raw), place)
    }

    pub(super) fn of_each(settings: Vec<Written>, place: Option<&str>) -> (Self, Vec<Fault>) {
        let (mut layer, mut faults) = (Self::default(), Vec::new());
        for setting in settings {
            // Clients write null for an unset setting.
            if setting.value.is_null() && is_name(&setting.name) {
                continue;
            }
            let (one, found) = one(setting, place);
            // A setting's own name wins over its other names, in any order.
            for (of, held) in one.values {
                if held.written == of || !layer.values.contains_key(&of) {
                    layer.values.insert(of, held);
                }
            }
            faults.extend(found);
        }
        (layer, faults)
    }

    /// Parses the settings that a client gave for one session. Returns unknown names as faults; fails if any
    /// value is invalid.
    pub fn given(given: &GivenSettings) -> Result<(Settings, Vec<Fault>), ProtocolError> {
        let (layer, faults) = Self::written(given.0.clone(), None);
        let (wrong, unknown): (Vec<Fault>, Vec<Fault>) =
            faults.into_iter().partition(|fault| fault.reason.is_some());
        if let Some(Fault { name, reason: Some(reason) }) = wrong.first() {
            return Err(ProtocolError::invalid(format!("settings.{name}"), reason));
        }
        Ok((read(layer.together())?, unknown))
    }

    /// Keeps the values of an earlier reading of the same place for settings that are faulty now.
    pub fn keep(&mut self, before: &Self, faults: &[Fault]) {
        for fault in faults.iter().filter(|fault| fault.reason.is_some()) {
            for (name, held) in &before.values {
                let part = match fault.name.strip_prefix(&held.written) {
                    Some("") => None,
                    Some(part) if part.starts_with('.') => part.strip_prefix('.'),
                    _ => continue,
                };
                match (self.values.get_mut(name), part) {
                    (None, _) => drop(self.values.insert(name.clone(), held.clone())),
                    (Some(Held { value: Value::Object(now), .. }), Some(part)) => {
                        now.extend(held.value.get(part).map(|was| (part.to_owned(), was.clone())));
                    }
                    (Some(_), _) => {}
                }
            }
        }
    }

    /// Merges a later layer, which wins.
    pub fn under(mut self, later: Self) -> Self {
        self.values.extend(later.values);
        self
    }

    /// All values as one object, as the protocol writes it.
    pub fn together(&self) -> Value {
        let mut all = Map::new();
        for (name, held) in &self.values {
            put(&mut all, name, held.value.clone());
        }
        Value::Object(all)
    }
}

/// Inserts a value under its dotted name.
fn put(all: &mut Map<String, Value>, name: &str, value: Value) {
    let Some((group, part)) = name.split_once('.').filter(|(group, _)| is_name(group)) else {
        all.insert(name.to_owned(), value);
        return;
    };
    if let Value::Object(parts) = all.entry(group).or_insert_with(|| Value::Object(Map::new())) {
        parts.insert(part.to_owned(), value);
    }
}

/// Parses one setting. Returns it with its faults.
fn one(setting: Written, place: Option<&str>) -> (Layer, Vec<Fault>) {
    let Written { name, written, mut value } = setting;
    if !is_name(&name) {
        return (Layer::default(), vec![Fault::unknown(written)]);
    }
    let mut faults = Vec::new();
    // The keys of a part that is an object, such as the servers of `mcp.servers`, are the user's own names.
    if let Value::Object(parts) = &mut value
        && !name.contains('.')
    {
        parts.retain(|part, _| {
            let part = format!("{name}.{part}");
            let is_known = is_name(&part);
            if !is_known {
                faults.push(Fault::unknown(part));
            }
            is_known
        });
    }
    if let Value::Object(servers) = &mut value
        && name == SERVERS
    {
        faults.extend(take_unusable(servers, &written));
    }
    loop {
        let error = match checked(&name, &value) {
            Ok(settings) => return (Layer::plain(settings, &written, place), faults),
            Err(error) => error,
        };
        let (part, reason) = reason(&name, &error);
        // The valid parts of a model stay, if they are a model without the invalid one.
        let is_gone = match (&mut value, &part) {
            (Value::Object(parts), Some(part)) if name == "model" => parts.shift_remove(part).is_some(),
            _ => false,
        };
        if is_gone || faults.iter().all(|fault| fault.reason.is_none()) {
            let name = part.map_or_else(|| written.clone(), |part| format!("{written}.{part}"));
            faults.push(Fault { name, reason: Some(reason) });
        }
        if !is_gone {
            return (Layer::default(), faults);
        }
    }
}

fn checked(name: &str, value: &Value) -> Result<Settings, ProtocolError> {
    let mut all = Map::new();
    put(&mut all, name, value.clone());
    let settings = plain(read::<Settings>(Value::Object(all))?)?;
    effective::check_alone(&settings).map(|()| settings)
}

/// Removes the servers that cannot be used, so that the others stay. Returns their faults.
fn take_unusable(servers: &mut Map<String, Value>, written: &str) -> Vec<Fault> {
    let mut faults = Vec::new();
    servers.retain(|server, value| {
        let alone = Value::Object(Map::from_iter([(server.clone(), value.clone())]));
        let Err(error) = checked(SERVERS, &alone) else { return true };
        let (_, reason) = reason(SERVERS, &error);
        faults.push(Fault { name: format!("{written}.{server}"), reason: Some(reason) });
        false
    });
    faults
}

/// The faulty part, if there is one, and the reason, without the value.
fn reason(name: &str, error: &ProtocolError) -> (Option<String>, String) {
    let ErrorData::InvalidParams { field, reason } = &error.data else {
        return (None, error.message.clone());
    };
    let field = field.strip_prefix("settings.").unwrap_or(field);
    if field.is_empty()
        && let Some((_, possible)) = policy::keys().find(|(key, _)| *key == name)
    {
        return (None, format!("must be {possible}"));
    }
    let part = field.strip_prefix(name).and_then(|part| part.strip_prefix('.'));
    (part.map(str::to_owned), reason.clone())
}

/// Replaces other names of settings by the settings themselves; if both are given, the setting's own name
/// wins.
fn plain(mut settings: Settings) -> Result<Settings, ProtocolError> {
    if let Some(is_on) = settings.summary_enabled.take() {
        settings.summarize.get_or_insert(if is_on { Summarize::Auto } else { Summarize::Off });
    }
    if let Some(messages) = settings.summary_keep_last.take() {
        settings.retention.get_or_insert(Retention::Messages(messages));
    }
    let count = |count: u32| match count {
        0 => CountOrOff::Switch(false),
        count => CountOrOff::Count(count),
    };
    let mut triggers = settings.triggers.unwrap_or_default();
    if let Some(messages) = settings.summary_threshold.take() {
        triggers.messages.get_or_insert(count(messages));
    }
    if let Some(turns) = settings.auto_summarize_turn_threshold.take() {
        triggers.user_turns.get_or_insert(count(turns));
    }
    if let Some(minutes) = settings.idle_compact_after_minutes.take() {
        triggers.idle_seconds.get_or_insert(count(minutes.saturating_mul(60)));
    }
    if let Some(share) = settings.auto_summarize_threshold.take() {
        triggers.pre_turn_tokens.get_or_insert(ratio_or_percentage(share)?);
    }
    settings.triggers = (triggers != Default::default()).then_some(triggers);
    Ok(settings)
}

/// Converts a ratio, or a percentage above 1.
fn ratio_or_percentage(number: f64) -> Result<ShareOrOff, ProtocolError> {
    let number = if number > 1.0 { number / 100.0 } else { number };
    match number {
        0.0 => Ok(ShareOrOff::Switch(false)),
        share if share > 0.0 && share <= 1.0 => Ok(ShareOrOff::Share(share)),
        _ => Err(ProtocolError::invalid(
            "settings.autoSummarizeThreshold",
            "must be a ratio up to 1 or a percentage up to 100; 0 is off",
        )),
    }
}
