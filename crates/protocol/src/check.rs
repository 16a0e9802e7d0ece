//! Finds the field of a value that does not match its schema, for errors that name it. Supports the part of JSON Schema
//! that the protocol's types produce; other keywords count as matched.

use serde_json::Value;
use std::fmt::Write as _;

/// A field that does not match its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The path, such as `history[2].rounds`; empty for the whole value.
    pub field: String,
    /// The reason, without the field's content.
    pub reason: String,
}

/// Returns the first field of `value` that does not match the schema `root`, whose `$defs` hold what it refers to.
pub fn fault(root: &Value, value: &Value) -> Option<Fault> {
    fault_in(root, root, value)
}

/// Returns the same for a part of `root`, such as a reference into its `$defs`.
pub fn fault_in(root: &Value, schema: &Value, value: &Value) -> Option<Fault> {
    let mut path = String::new();
    let reason = Checker { root }.check(schema, value, &mut path)?;
    Some(Fault { field: path, reason })
}

struct Checker<'a> {
    root: &'a Value,
}

impl Checker<'_> {
    /// Returns why `value` does not match and leaves the place in `path`.
    fn check(&self, schema: &Value, value: &Value, path: &mut String) -> Option<String> {
        let schema = self.resolve(schema);
        if schema.get("x-lenient").is_some() {
            return None;
        }
        None.or_else(|| wrong_type(schema, value))
            .or_else(|| wrong_constant(schema, value))
            .or_else(|| out_of_range(schema, value))
            .or_else(|| self.wrong_field(schema, value, path))
            .or_else(|| self.wrong_item(schema, value, path))
            .or_else(|| self.no_alternative(schema, value, path))
    }

    fn resolve<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let name = schema.get("$ref").and_then(Value::as_str).and_then(|at| at.strip_prefix("#/$defs/"));
        name.and_then(|name| self.root.get("$defs")?.get(name)).unwrap_or(schema)
    }

    fn wrong_field(&self, schema: &Value, value: &Value, path: &mut String) -> Option<String> {
        let object = value.as_object()?;
        for name in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
            let name = name.as_str().unwrap_or_default();
            if !object.contains_key(name) && !aliases(name).iter().any(|other| object.contains_key(*other)) {
                step(path, name);
                return Some("is missing".to_owned());
            }
        }
        for (name, schema) in schema.get("properties").and_then(Value::as_object)? {
            if let Some(value) = object.get(name) {
                let before = path.len();
                step(path, name);
                let reason = self.check(schema, value, path);
                if reason.is_some() {
                    return reason;
                }
                path.truncate(before);
            }
        }
        None
    }

    fn wrong_item(&self, schema: &Value, value: &Value, path: &mut String) -> Option<String> {
        let (items, list) = (schema.get("items")?, value.as_array()?);
        for (at, value) in list.iter().enumerate() {
            let before = path.len();
            let _ = write!(path, "[{at}]");
            let reason = self.check(items, value, path);
            if reason.is_some() {
                return reason;
            }
            path.truncate(before);
        }
        None
    }

    /// Finds the alternative that the value is meant as, by type and tag; its fault is the fault of the union.
    fn no_alternative(&self, schema: &Value, value: &Value, path: &mut String) -> Option<String> {
        let lists = [schema.get("oneOf"), schema.get("anyOf")];
        for list in lists.into_iter().flatten().filter_map(Value::as_array) {
            let mut fits = false;
            let mut meant = None;
            for alternative in list {
                let mut place = path.clone();
                match self.check(alternative, value, &mut place) {
                    None => fits = true,
                    Some(reason) if self.means(alternative, value) => meant = meant.or(Some((place, reason))),
                    Some(_) => {}
                }
            }
            if !fits {
                if meant.is_none()
                    && let Some((tag, reason)) = self.wrong_tag(list, value)
                {
                    step(path, tag);
                    return Some(reason);
                }
                let Some((place, reason)) = meant else { return Some(self.none_of(list, value)) };
                *path = place;
                return Some(reason);
            }
        }
        None
    }

    /// Returns the tag that the alternatives are told apart by and its fault, if the value is an object.
    fn wrong_tag<'a>(&'a self, list: &'a [Value], value: &Value) -> Option<(&'a str, String)> {
        let object = value.as_object()?;
        let tags = list.iter().filter_map(|schema| {
            let fields = self.resolve(schema).get("properties")?.as_object()?;
            fields.iter().find(|(_, field)| field.get("const").is_some()).map(|(name, _)| name.as_str())
        });
        let tags: Vec<&str> = tags.collect();
        let (first, rest) = tags.split_first()?;
        if rest.is_empty() || rest.iter().any(|tag| tag != first) {
            return None;
        }
        Some((
            first,
            match object.get(*first) {
                None => "is missing".to_owned(),
                Some(Value::String(kind)) => format!("unknown kind {kind:?}"),
                Some(other) => format!("must be a string, not {}", kind_of(other)),
            },
        ))
    }

    /// Returns `true` if the value's type and constants match this alternative.
    fn means(&self, alternative: &Value, value: &Value) -> bool {
        let schema = self.resolve(alternative);
        if schema.get("x-unknown").is_some() || wrong_type(schema, value).is_some() {
            return false;
        }
        let nested = [schema.get("oneOf"), schema.get("anyOf")];
        if let Some(list) = nested.into_iter().flatten().find_map(Value::as_array) {
            return list.iter().any(|one| self.means(one, value));
        }
        let fields = schema.get("properties").and_then(Value::as_object);
        schema.get("const").is_none()
            && fields.into_iter().flatten().all(|(name, schema)| match schema.get("const") {
                Some(constant) => value.get(name) == Some(constant),
                None => true,
            })
    }

    /// Says what a value that matches no alternative must be. Null is not offered: it only stands for an absent field.
    fn none_of(&self, list: &[Value], value: &Value) -> String {
        let mut names = Vec::new();
        self.describe(list, &mut names);
        let is = kind_of(value);
        match names.as_slice() {
            [one] if one == is => "is of an unknown kind".to_owned(),
            _ if value.is_string() && names.iter().all(|name| name.starts_with('"')) => {
                format!("must be {}", names.join(" or "))
            }
            _ => format!("must be {}, not {is}", names.join(" or ")),
        }
    }

    fn describe(&self, list: &[Value], names: &mut Vec<String>) {
        for schema in list.iter().map(|schema| self.resolve(schema)) {
            let nested = schema.get("oneOf").or_else(|| schema.get("anyOf")).and_then(Value::as_array);
            let name = match (nested, schema.get("const"), schema.get("type").and_then(Value::as_str)) {
                (Some(nested), ..) => {
                    self.describe(nested, names);
                    continue;
                }
                (_, Some(constant), _) => constant.to_string(),
                (_, _, Some("null")) | (None, None, None) => continue,
                (_, _, Some(name)) => with_article(name),
            };
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
}

/// Returns the other names that a field is read under.
fn aliases(name: &str) -> &'static [&'static str] {
    if name == "parts" { &["content"] } else { &[] }
}

fn step(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}

fn wrong_type(schema: &Value, value: &Value) -> Option<String> {
    let allowed: Vec<&str> = match schema.get("type")? {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    let fits = allowed.iter().any(|name| match *name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        _ => value.is_object(),
    });
    let wanted = allowed.iter().find(|name| **name != "null").unwrap_or(&"null");
    (!fits).then(|| format!("must be {}, not {}", with_article(wanted), kind_of(value)))
}

fn wrong_constant(schema: &Value, value: &Value) -> Option<String> {
    if let Some(constant) = schema.get("const") {
        return (constant != value).then(|| format!("must be {constant}"));
    }
    if let Some(list) = schema.get("enum").and_then(Value::as_array) {
        let names: Vec<String> = list.iter().map(Value::to_string).collect();
        return (!list.contains(value)).then(|| format!("must be one of {}", names.join(", ")));
    }
    let not = schema.get("not")?.get("enum")?.as_array()?;
    not.contains(value).then(|| "is of a known kind, but has invalid fields".to_owned())
}

fn out_of_range(schema: &Value, value: &Value) -> Option<String> {
    let number = value.as_f64()?;
    let least = schema.get("minimum").and_then(Value::as_f64);
    let most = match schema.get("format").and_then(Value::as_str) {
        Some("uint8") => Some(f64::from(u8::MAX)),
        Some("uint16") => Some(f64::from(u16::MAX)),
        Some("int32") => Some(f64::from(i32::MAX)),
        Some("uint32") => Some(f64::from(u32::MAX)),
        _ => schema.get("maximum").and_then(Value::as_f64),
    };
    if least.is_some_and(|least| number < least) {
        return least.map(|least| format!("must be at least {least}"));
    }
    most.filter(|most| number > *most).map(|most| format!("must be at most {most}"))
}

fn with_article(name: &str) -> String {
    match name {
        "integer" => "an integer".to_owned(),
        "boolean" => "a boolean".to_owned(),
        "array" => "a list".to_owned(),
        "object" => "an object".to_owned(),
        "null" => "null".to_owned(),
        other => format!("a {other}"),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a number with a fraction",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
