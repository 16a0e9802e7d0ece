//! A schema as objects with fields, unions and lists, for the Markdown and TypeScript writers. Supports the part of JSON
//! Schema that the protocol's types produce.

use serde_json::{Map, Value};

pub(super) struct Named<'a> {
    pub name: &'a str,
    pub doc: &'a str,
    pub shape: Shape<'a>,
}

/// The form of a type.
pub(super) enum Shape<'a> {
    /// An object. `is_open` if it keeps unlisted keys.
    Object { fields: Vec<Field<'a>>, is_open: bool },
    /// A union of objects told apart by a tag, with the fields that they share.
    Tagged { shared: Vec<Field<'a>>, variants: Vec<Variant<'a>> },
    /// An enumeration of words.
    Words(Vec<Word<'a>>),
    /// Anything else, as a TypeScript expression.
    Other(String),
}

pub(super) struct Field<'a> {
    pub name: &'a str,
    pub doc: &'a str,
    pub is_optional: bool,
    pub expression: String,
}

/// An object of a union, with its tag among its fields.
pub(super) struct Variant<'a> {
    pub tag: &'a str,
    pub doc: &'a str,
    pub fields: Vec<Field<'a>>,
}

pub(super) struct Word<'a> {
    pub word: &'a str,
    pub doc: &'a str,
}

/// Returns all named types of a schema, in its order.
pub(super) fn named(schema: &Value) -> Vec<Named<'_>> {
    let definitions = schema.get("$defs").and_then(Value::as_object).into_iter().flatten();
    definitions.map(|(name, schema)| Named { name, doc: doc(schema), shape: shape(schema) }).collect()
}

fn shape(schema: &Value) -> Shape<'_> {
    let known = alternatives(schema);
    let words: Vec<Word<'_>> = known
        .iter()
        .filter_map(|one| Some(Word { word: one.get("const")?.as_str()?, doc: doc(one) }))
        .collect();
    let variants: Vec<Variant<'_>> = known
        .iter()
        .filter_map(|one| {
            let tag = properties(one)?.values().find_map(|field| field.get("const")?.as_str())?;
            Some(Variant { tag, doc: doc(one), fields: fields(one) })
        })
        .collect();
    if !known.is_empty() && variants.len() == known.len() {
        return Shape::Tagged { shared: fields(schema), variants };
    }
    if !known.is_empty() && words.len() == known.len() {
        return Shape::Words(words);
    }
    let is_open = schema.get("additionalProperties") == Some(&Value::Bool(true));
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => Shape::Object { fields: fields(schema), is_open },
        _ => Shape::Other(expression(schema)),
    }
}

/// Returns the alternatives of a union without the fallback for kinds of later versions.
fn alternatives(schema: &Value) -> Vec<&Value> {
    let list = schema.get("oneOf").or_else(|| schema.get("anyOf")).and_then(Value::as_array);
    list.into_iter().flatten().filter(|one| one.get("x-unknown").is_none()).collect()
}

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties").and_then(Value::as_object)
}

fn doc(schema: &Value) -> &str {
    schema.get("description").and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn fields(schema: &Value) -> Vec<Field<'_>> {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let all = properties(schema).into_iter().flatten();
    all.map(|(name, schema)| {
        let is_optional = !required.contains(&name.as_str());
        let mut expression = expression(schema);
        if is_optional && let Some(some) = expression.strip_suffix(" | null") {
            // Null counts as absent; the handbook says so once for all fields.
            expression = some.to_owned();
        }
        Field { name, doc: doc(schema), is_optional, expression }
    })
    .collect()
}

/// Returns a type in TypeScript notation.
pub(super) fn expression(schema: &Value) -> String {
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        return name.trim_start_matches("#/$defs/").to_owned();
    }
    if let Some(constant) = schema.get("const") {
        return constant.to_string();
    }
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        return words.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
    }
    let known = alternatives(schema);
    if !known.is_empty() {
        return known.into_iter().map(expression).collect::<Vec<_>>().join(" | ");
    }
    match schema.get("type") {
        Some(Value::String(name)) => of_type(name, schema),
        Some(Value::Array(names)) => {
            let names = names.iter().filter_map(Value::as_str);
            names.map(|name| of_type(name, schema)).collect::<Vec<_>>().join(" | ")
        }
        _ => "unknown".to_owned(),
    }
}

fn of_type(name: &str, schema: &Value) -> String {
    match name {
        "integer" | "number" => "number".to_owned(),
        "array" => {
            let item = schema.get("items").map_or_else(|| "unknown".to_owned(), expression);
            let item = if item.contains(" | ") { format!("({item})") } else { item };
            let count = |key| schema.get(key).and_then(Value::as_u64);
            match (count("minItems"), count("maxItems")) {
                (Some(2), Some(2)) => format!("[{item}, {item}]"),
                _ => format!("{item}[]"),
            }
        }
        "object" if properties(schema).is_some() => {
            let fields = fields(schema);
            let fields: Vec<String> =
                fields.iter().map(|field| format!("{}: {}", field.short(), field.expression)).collect();
            format!("{{ {} }}", fields.join("; "))
        }
        "object" => "{ [key: string]: unknown }".to_owned(),
        other => other.to_owned(),
    }
}

/// Returns the fields of an object as one line: `{sessionId, title?}`.
pub(super) fn signature(schema: &Value, of: &Value) -> String {
    let name = of.get("$ref").and_then(Value::as_str).map(|at| at.trim_start_matches("#/$defs/"));
    let definition = name.and_then(|name| schema.get("$defs")?.get(name));
    let Some(definition) = definition else { return format!("`{}`", expression(of)) };
    let fields: Vec<String> = fields(definition).iter().map(Field::short).collect();
    match shape(definition) {
        Shape::Tagged { .. } => format!("`{{{}, type, …}}`", fields.join(", ")),
        _ => format!("`{{{}}}`", fields.join(", ")),
    }
}

impl Field<'_> {
    /// The name, with a question mark if the field is optional.
    pub(super) fn short(&self) -> String {
        format!("{}{}", self.name, if self.is_optional { "?" } else { "" })
    }
}
