//! The protocol's document: its prose with tables and a reference, written from the schema.

use super::guide;
use super::schema;
use super::shape::{Field, Named, Shape, expression, named, signature};
use serde_json::Value;
use std::fmt::Write as _;

/// The whole of `crates/protocol/README.md`. `acceptance` is the table of what a session takes in which state, which
/// is the session's own.
pub fn markdown(acceptance: &str) -> String {
    let schema = schema();
    let types = named(&schema);
    let mut out = guide::START.to_owned();
    out.push_str(&frame());
    out.push_str(guide::LIFE);
    out.push_str(guide::SESSIONS);
    out.push_str(guide::SETTINGS);
    out.push_str(guide::FILES);
    out.push_str(guide::STATES);
    words(&types, "State", &mut out);
    out.push_str(guide::ACCEPTANCE);
    out.push_str(acceptance);
    out.push_str(guide::EVENTS);
    events(&types, &mut out);
    out.push_str(guide::ERRORS);
    errors(&schema, &types, &mut out);
    out.push_str(guide::METHODS);
    methods(&schema, &mut out);
    reference(&types, &mut out);
    out
}

/// A frame with its right length.
fn frame() -> String {
    let body = r#"{"jsonrpc":"2.0","method":"initialized","params":{}}"#;
    format!("```text\nContent-Length: {}\\r\\n\n\\r\\n\n{body}\n```\n", body.len())
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

/// The fields of a variant beside its tag, in one cell.
fn own(fields: &[Field<'_>]) -> String {
    let names: Vec<String> = fields.iter().skip(1).map(|field| format!("`{}`", field.short())).collect();
    names.join(", ")
}

fn methods(schema: &Value, out: &mut String) {
    for (sender, kind, title) in [
        ("client", "request", "Requests to the sidecar"),
        ("client", "notification", "Notifications to the sidecar"),
        ("sidecar", "request", "Requests to the client"),
        ("sidecar", "notification", "Notifications to the client"),
    ] {
        let answers = kind == "request";
        let _ = write!(out, "\n### {title}\n\n| method | level | params |");
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

/// What a method carries: its fields, with a link to what they mean.
fn carried(schema: &Value, of: &Value) -> String {
    match expression(of).as_str() {
        name if !name.contains(' ') => format!("[{}](#{})", signature(schema, of), name.to_lowercase()),
        several => {
            let name = several.split(' ').next().unwrap_or_default();
            format!("[`{several}`](#{})", name.to_lowercase()).replace('|', "\\|")
        }
    }
}

fn reference(types: &[Named<'_>], out: &mut String) {
    out.push_str("\n## Types\n\nIn the notation of TypeScript. A question mark: the field may be missing.\n");
    for named in types {
        let _ = write!(out, "\n### {}\n\n{}\n", named.name, named.doc);
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
    let _ = writeln!(out, "- `{}: {}`: {}", field.short(), field.expression, field.doc);
}
