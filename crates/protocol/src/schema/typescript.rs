//! The types of the TypeScript client, written from the schema: interfaces, unions, maps of methods. Types of other
//! languages can be generated from the JSON in the same way.

use super::schema;
use super::shape::{Field, Named, Shape, expression, named};
use serde_json::Value;
use std::fmt::Write as _;

const HEAD: &str = "\
// Types of the threadhold protocol. Made by `threadhold schema --format typescript`; do not change by hand.
// Kinds of parts, events and operations that are not listed may come from a later version: ignore them.
";

/// Returns the content of `editors/client/src/protocol.ts`.
pub fn typescript() -> String {
    let schema = schema();
    let mut out = HEAD.to_owned();
    constants(&schema, &mut out);
    methods(&schema, &mut out);
    for named in named(&schema) {
        out.push('\n');
        comment(named.doc, "", &mut out);
        definition(&named, &mut out);
    }
    out
}

fn constants(schema: &Value, out: &mut String) {
    let version = schema.get("protocolVersion").cloned().unwrap_or_default();
    let _ =
        write!(out, "\n/** The version of the protocol. */\nexport const PROTOCOL_VERSION = {version};\n");
    let list = |key: &str| schema.get(key).and_then(Value::as_array).into_iter().flatten();
    let _ = write!(out, "\n/** The types of `session/event`. */\nexport const EVENTS = [\n");
    for event in list("events") {
        let _ = writeln!(out, "  {event},");
    }
    let _ = write!(
        out,
        "] as const;\n\n/** The number of each kind of error. */\nexport const ERROR_CODES = {{\n"
    );
    for error in list("errors") {
        let name = error.get("kind").and_then(Value::as_str).unwrap_or_default();
        let code = error.get("code").cloned().unwrap_or_default();
        let _ = writeln!(out, "  {name}: {code},");
    }
    out.push_str("} as const;\n");
}

fn methods(schema: &Value, out: &mut String) {
    let maps = [
        ("client", "request", "ClientRequests", "Requests of the client to the sidecar."),
        ("client", "notification", "ClientNotifications", "Notifications of the client to the sidecar."),
        ("sidecar", "request", "SidecarRequests", "Requests of the sidecar to the client."),
        ("sidecar", "notification", "SidecarNotifications", "Notifications of the sidecar to the client."),
    ];
    for (sender, kind, name, doc) in maps {
        let _ = write!(out, "\n/** {doc} */\nexport interface {name} {{\n");
        for method in schema.get("methods").and_then(Value::as_array).into_iter().flatten() {
            let text = |key: &str| method.get(key).and_then(Value::as_str).unwrap_or_default();
            if text("sentBy") == sender && text("kind") == kind {
                comment(&format!("{} Level: {}.", text("does"), text("level")), "  ", out);
                let params = method.get("params").map(expression).unwrap_or_default();
                let result = method.get("result").map(|result| format!("; result: {}", expression(result)));
                let _ = writeln!(
                    out,
                    "  \"{}\": {{ params: {params}{} }};",
                    text("name"),
                    result.unwrap_or_default()
                );
            }
        }
        out.push_str("}\n");
    }
}

fn definition(named: &Named<'_>, out: &mut String) {
    let name = named.name;
    match &named.shape {
        Shape::Object { fields, is_open: false } if fields.is_empty() => {
            let _ = writeln!(out, "export type {name} = Record<string, never>;");
        }
        Shape::Object { fields, is_open } => {
            let _ = writeln!(out, "export interface {name} {{");
            for field in fields {
                member(field, "  ", out);
            }
            if *is_open {
                out.push_str("  [key: string]: unknown;\n");
            }
            out.push_str("}\n");
        }
        Shape::Words(words) => {
            let _ = write!(out, "export type {name} =");
            for word in words {
                out.push('\n');
                comment(word.doc, "  ", out);
                let _ = write!(out, "  | \"{}\"", word.word);
            }
            out.push_str(";\n");
        }
        Shape::Tagged { shared, variants } => {
            let _ = write!(out, "export type {name} =");
            if !shared.is_empty() {
                out.push_str(" {\n");
                for field in shared {
                    member(field, "  ", out);
                }
                out.push_str("} & (");
            }
            for variant in variants {
                out.push('\n');
                comment(variant.doc, "  ", out);
                out.push_str("  | {\n");
                for field in &variant.fields {
                    member(field, "      ", out);
                }
                out.push_str("    }");
            }
            out.push_str(if shared.is_empty() { ";\n" } else { "\n);\n" });
        }
        Shape::Other(expression) => {
            let _ = writeln!(out, "export type {name} = {expression};");
        }
    }
}

fn member(field: &Field<'_>, indent: &str, out: &mut String) {
    comment(field.doc, indent, out);
    let _ = writeln!(out, "{indent}{}: {};", field.short(), field.expression);
}

/// Writes a doc comment, wrapped at `WIDTH` columns.
fn comment(text: &str, indent: &str, out: &mut String) {
    const WIDTH: usize = 108;
    if text.is_empty() {
        return;
    }
    if text.len() + indent.len() + 7 <= WIDTH {
        let _ = writeln!(out, "{indent}/** {text} */");
        return;
    }
    let _ = write!(out, "{indent}/**");
    let mut column = WIDTH;
    for word in text.split(' ') {
        if column + word.len() >= WIDTH {
            let _ = write!(out, "\n{indent} *");
            column = indent.len() + 2;
        }
        let _ = write!(out, " {word}");
        column += word.len() + 1;
    }
    let _ = write!(out, "\n{indent} */\n");
}
