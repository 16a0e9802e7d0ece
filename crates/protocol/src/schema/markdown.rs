//! The generated sections of the handbook (`docs/protocol`): tables and a reference, written from the schema. The pages
//! hold the prose around them.

use super::schema;
use super::shape::{Field, Named, Shape, expression, fields, named, signature};
use crate::tool::Tool;
use serde_json::Value;
use std::fmt::Write as _;

/// A generated section between `<!-- generated: NAME -->` and `<!-- end -->`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The name in the marker.
    pub name: &'static str,
    /// The content in Markdown, which ends with a line break.
    pub text: String,
}

impl Section {
    /// Returns the line that opens the section.
    pub fn opening(&self) -> String {
        format!("<!-- generated: {} -->\n", self.name)
    }
}

/// The line that closes a section.
pub const CLOSING: &str = "<!-- end -->\n";

/// Returns all generated sections. `acceptance` is the session's table of commands accepted by state, `own_tools` are the
/// tools of the sidecar as it offers them to a model.
pub fn sections(acceptance: &str, own_tools: &[Tool]) -> Vec<Section> {
    let schema = schema();
    let types = named(&schema);
    let section = |name, write: &dyn Fn(&mut String)| {
        let mut text = String::new();
        write(&mut text);
        Section { name, text }
    };
    vec![
        section("acceptance", &|out| out.push_str(acceptance)),
        section("own tools", &|out| tools(own_tools, out)),
        section("states", &|out| words(&types, "State", out)),
        section("events", &|out| events(&types, out)),
        section("errors", &|out| errors(&schema, &types, out)),
        section("settings", &|out| settings(&types, out)),
        section("methods", &|out| methods(&schema, out)),
        section("types", &|out| reference(&types, out)),
    ]
}

/// Returns all generated sections, each between its markers; see [`sections`].
pub fn markdown(acceptance: &str, own_tools: &[Tool]) -> String {
    let mut out = String::new();
    for section in sections(acceptance, own_tools) {
        out.push_str(&section.opening());
        out.push_str(&section.text);
        out.push_str(CLOSING);
    }
    out
}

fn words(types: &[Named<'_>], name: &str, out: &mut String) {
    out.push_str("| state | means |\n|---|---|\n");
    for named in types.iter().filter(|named| named.name == name) {
        if let Shape::Words(words) = &named.shape {
            for word in words {
                let _ = writeln!(out, "| `{}` | {} |", word.word, word.doc);
            }
        }
    }
}

/// Writes each tool with the arguments of its schema.
fn tools(tools: &[Tool], out: &mut String) {
    for tool in tools {
        let gap = if out.is_empty() { "" } else { "\n" };
        let description = tool.description.as_deref().unwrap_or_default();
        let _ = writeln!(out, "{gap}### `{}`\n\n{description}", tool.name);
        let arguments = tool.input_schema.as_ref().map(fields).unwrap_or_default();
        let intro = if arguments.is_empty() { "\nIt takes no arguments.\n" } else { "\n" };
        out.push_str(intro);
        lines(&arguments, out);
    }
}

fn events(types: &[Named<'_>], out: &mut String) {
    out.push_str("| type | has | means |\n|---|---|---|\n");
    for named in types.iter().filter(|named| named.name == "SessionEvent") {
        if let Shape::Tagged { variants, .. } = &named.shape {
            for variant in variants {
                let _ = writeln!(out, "| `{}` | {} | {} |", variant.tag, own(&variant.fields), variant.doc);
            }
        }
    }
}

fn errors(schema: &Value, types: &[Named<'_>], out: &mut String) {
    out.push_str("| code | kind | data beside `kind` | means |\n|---|---|---|---|\n");
    for named in types.iter().filter(|named| named.name == "ErrorData") {
        let Shape::Tagged { variants, .. } = &named.shape else { continue };
        for (error, variant) in list(schema, "errors").zip(variants) {
            let code = error.get("code").cloned().unwrap_or_default();
            let _ =
                writeln!(out, "| {code} | {} | {} | {} |", variant.tag, own(&variant.fields), variant.doc);
        }
    }
}

fn list<'a>(schema: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    schema.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// Returns the fields of a variant without its tag, for one table cell.
fn own(fields: &[Field<'_>]) -> String {
    let names: Vec<String> = fields.iter().skip(1).map(|field| format!("`{}`", field.short())).collect();
    names.join(", ")
}

/// Writes the table of settings; a group has a row for each of its parts, if each can be set by itself.
fn settings(types: &[Named<'_>], out: &mut String) {
    let fields = |name: &str| match types.iter().find(|named| named.name == name).map(|named| &named.shape) {
        Some(Shape::Object { fields, .. }) => fields.as_slice(),
        _ => &[],
    };
    out.push_str("| setting | value | meaning |\n|---|---|---|\n");
    let mut row = |name: &str, field: &Field<'_>| {
        let value = field.expression.replace('|', "\\|");
        let _ = writeln!(out, "| `{name}` | `{value}` | {} |", field.doc);
    };
    for field in fields("Settings") {
        match fields(&field.expression) {
            parts if parts.iter().any(|part| !part.is_optional) => row(field.name, field),
            [] => row(field.name, field),
            parts => parts.iter().for_each(|part| row(&format!("{}.{}", field.name, part.name), part)),
        }
    }
}

fn methods(schema: &Value, out: &mut String) {
    for (sender, kind, title) in [
        ("client", "request", "Requests to the sidecar"),
        ("client", "notification", "Notifications to the sidecar"),
        ("sidecar", "request", "Requests to the client"),
        ("sidecar", "notification", "Notifications to the client"),
    ] {
        let answers = kind == "request";
        let gap = if out.is_empty() { "" } else { "\n" };
        let _ = write!(out, "{gap}## {title}\n\n| method | level | params |");
        out.push_str(if answers {
            " result | does |\n|---|---|---|---|---|\n"
        } else {
            " does |\n|---|---|---|---|\n"
        });
        for method in list(schema, "methods") {
            let text = |key: &str| method.get(key).and_then(Value::as_str).unwrap_or_default();
            if text("sentBy") != sender || text("kind") != kind {
                continue;
            }
            let carried = |key: &str| method.get(key).map(|of| carried(schema, of));
            let _ = write!(out, "| `{}` | {} | ", text("name"), text("level"));
            let _ = write!(out, "{} | ", carried("params").unwrap_or_default());
            if answers {
                let _ = write!(out, "{} | ", carried("result").unwrap_or_default());
            }
            let _ = writeln!(out, "{} |", text("does"));
        }
    }
}

/// Links a method's parameters or result to their type, by their fields.
fn carried(schema: &Value, of: &Value) -> String {
    match expression(of).as_str() {
        name if !name.contains(' ') => {
            format!("[{}](types.md#{})", signature(schema, of), name.to_lowercase())
        }
        several => {
            let name = several.split(' ').next().unwrap_or_default();
            format!("[`{several}`](types.md#{})", name.to_lowercase()).replace('|', "\\|")
        }
    }
}

fn reference(types: &[Named<'_>], out: &mut String) {
    for named in types {
        let gap = if out.is_empty() { "" } else { "\n" };
        let _ = write!(out, "{gap}## {}\n\n{}\n", named.name, named.doc);
        match &named.shape {
            Shape::Object { fields, .. } if fields.is_empty() => {}
            Shape::Object { fields, is_open } => {
                out.push('\n');
                lines(fields, out);
                if *is_open {
                    out.push_str("- any other key\n");
                }
            }
            Shape::Words(words) => {
                out.push('\n');
                for word in words {
                    let _ = writeln!(out, "- `\"{}\"`: {}", word.word, word.doc);
                }
            }
            Shape::Tagged { shared, variants } => {
                out.push('\n');
                lines(shared, out);
                for variant in variants {
                    let tag = variant.fields.first().map(|field| field.name).unwrap_or_default();
                    let _ = writeln!(out, "- `{tag}: \"{}\"`: {}", variant.tag, variant.doc);
                    for field in variant.fields.iter().skip(1) {
                        out.push_str("  ");
                        line(field, out);
                    }
                }
            }
            Shape::Other(expression) => {
                let _ = write!(out, "\n- `{expression}`\n");
            }
        }
    }
}

fn lines(fields: &[Field<'_>], out: &mut String) {
    for field in fields {
        line(field, out);
    }
}

fn line(field: &Field<'_>, out: &mut String) {
    let gap = if field.doc.is_empty() { "" } else { ": " };
    let _ = writeln!(out, "- `{}: {}`{gap}{}", field.short(), field.expression, field.doc);
}
