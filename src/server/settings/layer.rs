//! One layer of settings: values under the names that the protocol gives them, each with the place where it stands.
//! Whoever writes one uses other names and forms as well: these become one form here, and nowhere later. What a value
//! may be is said by `effective`.

use super::effective;
use crate::protocol::error::{ErrorData, ProtocolError};
use crate::protocol::methods::read;
use crate::protocol::settings::{CountOrOff, Retention, Settings, ShareOrOff, Summarize};
use schemars::SchemaGenerator;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// Values that were set in one place, by their names; `triggers.messages` is one.
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
    /// The file, the variable or the flag that it stands in; nothing for what came over the wire.
    pub place: Option<String>,
}

/// Something that was written and is not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::server) struct Fault {
    /// Its name, as it was written.
    pub name: String,
    /// What is wrong with it and what would be possible, without its value, as it follows the name; nothing where no
    /// setting has this name.
    pub reason: Option<String>,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.reason {
            Some(reason) => write!(f, "{}{reason}", self.name),
            None => write!(f, "there is no setting {}", self.name),
        }
    }
}

/// Settings whose parts are set by themselves.
const GROUPS: &[&str] = &["triggers"];

/// The names of settings, each with the names of its parts where it has some.
static NAMES: LazyLock<BTreeMap<String, Vec<String>>> = LazyLock::new(|| {
    let mut generator = SchemaGenerator::default();
    let root = generator.root_schema_for::<Settings>();
    let root = root.as_value();
    let fields = |schema: &Value| {
        let fields = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        fields.map(|(name, field)| (name.clone(), field.clone())).collect::<Vec<_>>()
    };
    let parts = |field: &Value| {
        let any = field.get("anyOf").and_then(Value::as_array).into_iter().flatten();
        let target = any.chain([field]).find_map(|one| one.get("$ref")?.as_str());
        let name = target.and_then(|target| target.strip_prefix("#/$defs/"));
        let part = name.and_then(|name| root.get("$defs")?.get(name));
        part.map(|part| fields(part).into_iter().map(|(name, _)| name).collect()).unwrap_or_default()
    };
    fields(root).into_iter().map(|(name, field)| (name, parts(&field))).collect()
});

/// The names of all settings, and of the parts of those that have some.
pub(in crate::server) fn names() -> impl Iterator<Item = String> {
    NAMES.iter().flat_map(|(name, parts)| {
        let parts = parts.iter().map(move |part| format!("{name}.{part}"));
        std::iter::once(name.clone()).chain(parts)
    })
}

impl Layer {
    /// What came over the wire.
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

    /// What was written by hand. What cannot be taken is left out and said.
    pub fn written(raw: Map<String, Value>, place: &str) -> (Self, Vec<Fault>) {
        let (mut layer, mut faults) = (Self::default(), Vec::new());
        for (name, value) in one_by_one(raw) {
            match one(&name, value, place) {
                Ok((one, unknown)) => {
                    // A setting wins over another name of it, whatever their order.
                    for (of, held) in one.values {
                        let is_own_name = held.written == of;
                        if is_own_name || !layer.values.contains_key(&of) {
                            layer.values.insert(of, held);
                        }
                    }
                    faults.extend(unknown.into_iter().map(|name| Fault { name, reason: None }));
                }
                Err(fault) => faults.push(fault),
            }
        }
        (layer, faults)
    }

    /// Takes over what an earlier reading of the same place had for what cannot be taken now.
    pub fn keep(&mut self, before: &Self, faults: &[Fault]) {
        for (name, held) in &before.values {
            let is_at_fault = faults.iter().any(|fault| fault.reason.is_some() && fault.name == held.written);
            if is_at_fault && !self.values.contains_key(name) {
                self.values.insert(name.clone(), held.clone());
            }
        }
    }

    /// This layer under a later one.
    pub fn under(mut self, later: Self) -> Self {
        self.values.extend(later.values);
        self
    }

    /// All of it as the protocol writes it.
    pub fn together(&self) -> Value {
        let mut all = Map::new();
        for (name, held) in &self.values {
            put(&mut all, name, held.value.clone());
        }
        Value::Object(all)
    }
}

/// Puts a value where its name says.
fn put(all: &mut Map<String, Value>, name: &str, value: Value) {
    let Some((group, part)) = name.split_once('.').filter(|(group, _)| NAMES.contains_key(*group)) else {
        all.insert(name.to_owned(), value);
        return;
    };
    if let Value::Object(parts) = all.entry(group).or_insert_with(|| Value::Object(Map::new())) {
        parts.insert(part.to_owned(), value);
    }
}

/// Settings with what was written of each: tables that are none become dotted names, dotted names of parts become
/// parts, and groups become their parts.
fn one_by_one(raw: Map<String, Value>) -> Vec<(String, Value)> {
    let mut all = Map::new();
    let mut left: Vec<(String, Value)> = raw.into_iter().rev().collect();
    while let Some((name, value)) = left.pop() {
        match value {
            Value::Object(parts) if !NAMES.contains_key(&name) && !parts.is_empty() => {
                left.extend(parts.into_iter().rev().map(|(part, value)| (format!("{name}.{part}"), value)));
            }
            Value::Object(parts) if matches!(all.get(&name), Some(Value::Object(_))) => {
                parts.into_iter().for_each(|(part, value)| put(&mut all, &format!("{name}.{part}"), value));
            }
            value => put(&mut all, &name, value),
        }
    }
    let mut each = Vec::new();
    for (name, value) in all {
        match value {
            Value::Object(parts) if GROUPS.contains(&name.as_str()) => {
                each.extend(parts.into_iter().map(|(part, value)| (format!("{name}.{part}"), value)));
            }
            value => each.push((name, value)),
        }
    }
    each
}

/// One setting, with the names in it that mean nothing.
fn one(name: &str, value: Value, place: &str) -> Result<(Layer, Vec<String>), Fault> {
    let mut all = Map::new();
    put(&mut all, name, value.clone());
    let settings = read::<Settings>(Value::Object(all))
        .and_then(plain)
        .and_then(|settings| effective::possible(&settings).map(|()| settings))
        .map_err(|error| Fault { name: name.to_owned(), reason: Some(reason(name, &error)) })?;
    let layer = Layer::plain(settings, name, Some(place));
    if layer.values.is_empty() {
        return Ok((layer, vec![name.to_owned()]));
    }
    let taken = layer.values.values().next().map(|held| &held.value);
    let unknown = match (&value, taken) {
        (Value::Object(parts), Some(Value::Object(taken))) => {
            let unknown = parts.keys().filter(|part| !taken.contains_key(*part));
            unknown.map(|part| format!("{name}.{part}")).collect()
        }
        _ => Vec::new(),
    };
    Ok((layer, unknown))
}

/// What is wrong with a setting, without its value.
fn reason(name: &str, error: &ProtocolError) -> String {
    let ErrorData::InvalidParams { field, reason } = &error.data else { return error.message.clone() };
    let field = field.strip_prefix("settings.").unwrap_or(field);
    match field.strip_prefix(name).and_then(|part| part.strip_prefix('.')) {
        Some(part) => format!(".{part}: {reason}"),
        None => format!(": {reason}"),
    }
}

/// Other names of settings become the settings themselves; where both are given, the setting's own name counts.
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

/// A share as 000 writes it.
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

/// The names of settings that may not stand in a workspace's file: it comes with the code, from whoever wrote that, and
/// what is said to a model may not go where such a file says.
const NOT_OF_A_WORKSPACE: &[&str] = &["summaryBaseUrl", "model.wire", "model.baseUrl", "model.keyEnv"];

impl Layer {
    /// What a workspace may say.
    pub fn of_workspace(mut self) -> (Self, Vec<Fault>) {
        let forbidden: BTreeSet<&str> = NOT_OF_A_WORKSPACE.iter().copied().collect();
        let mut faults = Vec::new();
        self.values.retain(|name, held| {
            let is_free = !forbidden.contains(name.as_str());
            if !is_free {
                let reason = ": a workspace's file may not say where a model is asked; the user's file may";
                faults.push(Fault { name: held.written.clone(), reason: Some(reason.to_owned()) });
            }
            is_free
        });
        (self, faults)
    }
}
