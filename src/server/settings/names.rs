//! Names of settings: their own, the other ones that are accepted, and the nearest to an unknown one. Also
//! brings written settings into the protocol's form. Values are checked elsewhere.

use engine::compact::policy;
use engine::text::distance;
use protocol::settings::Settings;
use schemars::SchemaGenerator;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Settings whose parts are set by themselves.
pub(super) const GROUPS: &[&str] = &["mcp", "triggers"];

/// Names of settings, each with the names of its parts.
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
        let Some(part) = name.and_then(|name| root.get("$defs")?.get(name)) else { return Vec::new() };
        let one_of = part.get("oneOf").and_then(Value::as_array).into_iter().flatten();
        one_of.chain([part]).flat_map(fields).map(|(name, _)| name).collect()
    };
    fields(root).into_iter().map(|(name, field)| (name, parts(&field))).collect()
});

/// Names of all settings, and of their parts.
pub(in crate::server) fn names() -> impl Iterator<Item = String> {
    NAMES.iter().flat_map(|(name, parts)| {
        let parts = parts.iter().map(move |part| format!("{name}.{part}"));
        std::iter::once(name.clone()).chain(parts)
    })
}

/// Other names of settings, each with the setting.
pub(in crate::server) fn other_names() -> impl Iterator<Item = (&'static str, String)> {
    let of_settings = Settings::OTHER_NAMES.iter().map(|(other, field)| (*other, camel(field)));
    of_settings.chain(policy::OTHER_NAMES.iter().map(|(other, own)| (*other, (*own).to_owned())))
}

/// The camel-case name of a field on the wire.
pub(super) fn camel(field: &str) -> String {
    let mut name = String::new();
    for (at, word) in field.split('_').enumerate() {
        match word.split_at_checked(usize::from(at > 0)) {
            Some((first, rest)) => name.extend([first.to_uppercase().as_str(), rest]),
            None => name.push_str(word),
        }
    }
    name
}

/// `true` if a setting, or a part of one, has this name.
pub(super) fn is_name(name: &str) -> bool {
    let is_part =
        |(whole, part): (&str, &str)| NAMES.get(whole).is_some_and(|parts| parts.iter().any(|p| p == part));
    NAMES.contains_key(name) || name.split_once('.').is_some_and(is_part)
}

/// A setting as it was written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Written {
    /// The setting's own name.
    pub name: String,
    /// The name under which it was written.
    pub written: String,
    /// The value, in the protocol's form.
    pub value: Value,
}

/// Splits written settings: objects that are no setting become dotted names, dotted names of parts become
/// parts, groups become their parts, and other names become the settings' own. Settings under other names
/// come first, so that own names win.
pub(super) fn one_by_one(raw: Map<String, Value>) -> Vec<Written> {
    let (mut others, mut own) = (Vec::new(), Vec::new());
    let mut wholes: BTreeMap<String, Written> = BTreeMap::new();
    let mut left: Vec<(String, Value)> = raw.into_iter().rev().collect();
    while let Some((written, value)) = left.pop() {
        let is_whole = NAMES.contains_key(&written) && !GROUPS.contains(&written.as_str());
        // A part such as `model.extraBody` is an object itself.
        let is_part = written.contains('.') && is_name(&written);
        let value = match value {
            Value::Object(parts) if !is_whole && !is_part && !parts.is_empty() => {
                left.extend(
                    parts.into_iter().rev().map(|(part, value)| (format!("{written}.{part}"), value)),
                );
                continue;
            }
            value => value,
        };
        let other = other_names().find(|(other, _)| *other == written).map(|(_, own)| own);
        let is_other = other.is_some();
        let name = other.unwrap_or_else(|| written.clone());
        let value = usual_form(&name, value);
        let part =
            name.split_once('.').filter(|(whole, _)| NAMES.contains_key(*whole) && !GROUPS.contains(whole));
        if let Some((whole, part)) = part {
            let held = wholes.entry(whole.to_owned()).or_insert_with(|| Written {
                name: whole.to_owned(),
                written: whole.to_owned(),
                value: Value::Object(Map::new()),
            });
            match &mut held.value {
                Value::Object(parts) => drop(parts.insert(part.to_owned(), value)),
                whole => *whole = Value::Object(Map::from_iter([(part.to_owned(), value)])),
            }
        } else if is_whole {
            match (wholes.remove(&written), value) {
                // The parts were written before the whole.
                (Some(Written { value: Value::Object(parts), .. }), Value::Object(mut whole)) => {
                    whole.extend(parts);
                    wholes.insert(written.clone(), Written { name, written, value: Value::Object(whole) });
                }
                (_, value) => drop(wholes.insert(written.clone(), Written { name, written, value })),
            }
        } else if is_other {
            others.push(Written { name, written, value });
        } else {
            own.push(Written { name, written, value });
        }
    }
    others.into_iter().chain(own).chain(wholes.into_values()).collect()
}

/// Converts forms that policy files and people use to the protocol's.
fn usual_form(name: &str, value: Value) -> Value {
    let is_off = value.as_str() == Some("off");
    match (name, value.as_bool()) {
        ("summarize", Some(is_on)) => Value::from(if is_on { "auto" } else { "off" }),
        ("summaryBreakpoints", Some(is_on)) => Value::from(if is_on { "keep" } else { "strip" }),
        ("budgetExit", None) if is_off => Value::from(false),
        (name, None) if is_off && name.starts_with("triggers.") => Value::from(false),
        _ => value,
    }
}

/// At most three known names near an unknown one, the nearest first.
pub(in crate::server) fn nearest(name: &str, known: impl Iterator<Item = String>) -> Vec<String> {
    let last = |name: &str| name.rsplit(['.', '_']).next().unwrap_or_default().to_lowercase();
    let few = |name: &str, least: usize| (name.chars().count() / 3).max(least);
    let most = few(name, 2);
    let near = known.filter_map(|one| {
        let far = distance(&one, name);
        // The right name in the wrong group counts, too.
        let word = distance(&last(&one), &last(name));
        let is_word = one.contains('.') && word <= few(&last(name), 1);
        let near = if is_word { word.min(far) } else { far };
        (is_word || far <= most).then_some((near, far, one))
    });
    let mut near: Vec<(usize, usize, String)> = near.collect();
    near.sort();
    near.into_iter().take(3).map(|(.., name)| name).collect()
}
