//! The tools of a server, as far as a model may be offered them: bounded in number and size, with checked schemas.

use crate::definition::Definition;
use crate::names;
use engine::approval::Approval;
use engine::prompt::item::Tool;
use engine::text::head;
use rmcp::model::{JsonObject, Tool as Given};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Most tools of a server.
pub const MOST_TOOLS: usize = 256;
/// Most bytes of the definitions of all its tools.
pub const MOST_BYTES: usize = 512 << 10;
/// Most bytes of a description; the rest is cut.
const MOST_DESCRIPTION: usize = 4 << 10;
/// Most bytes of a schema.
const MOST_SCHEMA: usize = 32 << 10;
/// Most levels of a schema.
const MOST_LEVELS: usize = 32;

/// The tools of a server.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Listing {
    /// The tools, sorted by name.
    pub tools: Vec<Tool>,
    /// The server's own name of each.
    pub names: BTreeMap<String, String>,
    /// The tools that are not offered, each with the reason.
    pub left_out: Vec<String>,
}

impl Listing {
    /// The tools of a server, as it lists them.
    pub fn of(server: &Definition, given: Vec<Given>) -> Self {
        let prefix = names::prefix(&server.name);
        let (mut listing, mut taken, mut bytes) = (Self::default(), BTreeSet::new(), 0);
        let mut seen = BTreeSet::new();
        for tool in given {
            let shown = engine::text::one_line(&tool.name, 64);
            if !seen.insert(tool.name.clone()) {
                listing.left_out.push(format!("{shown}: listed twice"));
                continue;
            }
            if listing.tools.len() == MOST_TOOLS {
                listing.left_out.push(format!("{shown}: one of more than {MOST_TOOLS} tools"));
                continue;
            }
            let (schema, size) = match schema(&tool.input_schema) {
                Ok(schema) => schema,
                Err(why) => {
                    listing.left_out.push(format!("{shown}: {why}"));
                    continue;
                }
            };
            let description = description(&tool);
            bytes += size + description.len();
            if bytes > MOST_BYTES {
                bytes -= size + description.len();
                listing
                    .left_out
                    .push(format!("{shown}: the server's tools have more than {MOST_BYTES} bytes"));
                continue;
            }
            let name = names::name(&prefix, &tool.name, &taken);
            if !taken.insert(name.clone()) {
                listing.left_out.push(format!("{shown}: its name cannot be told from another one"));
                continue;
            }
            listing.names.insert(name.clone(), tool.name.to_string());
            listing.tools.push(Tool {
                name,
                description,
                input_schema: schema,
                kind: None,
                guidelines: None,
                approval: approval(&tool, server.is_trusted),
                rules: Vec::new(),
                ends_turn: None,
                origin: Some(server.identity.clone()),
            });
        }
        listing.tools.sort_by(|a, b| a.name.cmp(&b.name));
        listing.left_out.truncate(MOST_TOOLS);
        listing
    }
}

/// Calls wait for the user. What a server says of its tools takes the question away only if the user trusts the server,
/// and only for a tool that reads and reaches nothing outside.
fn approval(tool: &Given, is_trusted: bool) -> Approval {
    let Some(hints) = tool.annotations.as_ref().filter(|_| is_trusted) else { return Approval::Ask };
    let only_reads = hints.read_only_hint == Some(true) && hints.destructive_hint != Some(true);
    // Unstated, a tool may reach anything, by the protocol's own default.
    if only_reads && hints.open_world_hint == Some(false) { Approval::Allow } else { Approval::Ask }
}

fn description(tool: &Given) -> String {
    let given = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default().trim();
    match given.len() > MOST_DESCRIPTION {
        true => format!("{}…", head(given, MOST_DESCRIPTION)),
        false => given.to_owned(),
    }
}

/// A schema that providers accept, with its size in bytes; otherwise the reason why it is none.
fn schema(given: &JsonObject) -> Result<(Value, usize), String> {
    if given.get("type").and_then(Value::as_str) != Some("object") {
        return Err("its schema is not that of an object".to_owned());
    }
    if given.get("properties").is_some_and(|properties| !properties.is_object()) {
        return Err("the properties of its schema are not an object".to_owned());
    }
    let schema = Value::Object(given.clone());
    check(&schema, MOST_LEVELS)?;
    let size = schema.to_string().len();
    match size > MOST_SCHEMA {
        true => Err(format!("its schema has {size} bytes and the limit is {MOST_SCHEMA}")),
        false => Ok((schema, size)),
    }
}

/// Fails at a reference to somewhere else, and below too many levels.
fn check(schema: &Value, levels: usize) -> Result<(), String> {
    if levels == 0 {
        return Err(format!("its schema has more than {MOST_LEVELS} levels"));
    }
    match schema {
        Value::Array(all) => all.iter().try_for_each(|one| check(one, levels - 1)),
        Value::Object(fields) => {
            let reference = fields.get("$ref").and_then(Value::as_str);
            if reference.is_some_and(|reference| !reference.starts_with('#')) {
                return Err("its schema refers to another document".to_owned());
            }
            fields.values().try_for_each(|one| check(one, levels - 1))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::Launch;
    use serde_json::json;
    use std::time::Duration;

    fn given(tool: Value) -> Given {
        serde_json::from_value(tool).unwrap()
    }

    fn listed(tools: &[Value]) -> Listing {
        let launch = Launch::Http { url: String::new(), headers: Vec::new() };
        let (name, identity) = ("files".to_owned(), "1".to_owned());
        let server = Definition { name, identity, launch, timeout: Duration::ZERO, is_trusted: false };
        Listing::of(&server, tools.iter().cloned().map(given).collect())
    }

    #[test]
    fn tools_are_sorted_and_ask() {
        let listing = listed(&[
            json!({ "name": "write", "description": "Writes.", "inputSchema": { "type": "object" } }),
            json!({ "name": "read", "title": "Read", "inputSchema": { "type": "object" },
                "annotations": { "readOnlyHint": true } }),
        ]);
        let tool = |name: &str, description: &str| Tool {
            name: name.to_owned(),
            description: description.to_owned(),
            input_schema: json!({ "type": "object" }),
            approval: Approval::Ask,
            kind: None,
            guidelines: None,
            rules: Vec::new(),
            ends_turn: None,
            origin: Some("1".to_owned()),
        };
        assert_eq!(
            listing,
            Listing {
                tools: vec![tool("files__read", "Read"), tool("files__write", "Writes.")],
                names: [("files__read", "read"), ("files__write", "write")]
                    .map(|(name, own)| (name.to_owned(), own.to_owned()))
                    .into(),
                left_out: Vec::new(),
            }
        );
    }

    #[test]
    fn trusted_server_runs_tools_that_only_read_without_asking() {
        let with = |hints: Value, is_trusted| {
            let tool =
                given(json!({ "name": "a", "inputSchema": { "type": "object" }, "annotations": hints }));
            approval(&tool, is_trusted)
        };
        let reads = json!({ "readOnlyHint": true, "openWorldHint": false });
        assert_eq!(with(reads.clone(), true), Approval::Allow);
        assert_eq!(with(reads, false), Approval::Ask);
        assert_eq!(with(json!({ "readOnlyHint": true }), true), Approval::Ask);
        assert_eq!(with(json!({ "readOnlyHint": true, "openWorldHint": true }), true), Approval::Ask);
        let destroys = json!({ "readOnlyHint": true, "destructiveHint": true, "openWorldHint": false });
        assert_eq!(with(destroys, true), Approval::Ask);
        assert_eq!(with(json!({ "destructiveHint": false }), true), Approval::Ask);
    }

    #[test]
    fn unusable_tools_are_left_out_with_the_reason() {
        let mut deep = json!({});
        for _ in 0..40 {
            deep = json!({ "type": "object", "properties": { "a": deep } });
        }
        let large = "x".repeat(MOST_SCHEMA);
        let listing = listed(&[
            json!({ "name": "text", "inputSchema": { "type": "string" } }),
            json!({ "name": "list", "inputSchema": { "type": "object", "properties": [] } }),
            json!({ "name": "far", "inputSchema": { "type": "object", "properties": { "a": { "$ref": "https://x/y" } } } }),
            json!({ "name": "deep", "inputSchema": deep }),
            json!({ "name": "large", "inputSchema": { "type": "object", "description": large } }),
            json!({ "name": "twice", "inputSchema": { "type": "object" } }),
            json!({ "name": "twice", "inputSchema": { "type": "object" } }),
        ]);
        assert_eq!(listing.tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), ["files__twice"]);
        assert_eq!(
            listing.left_out,
            [
                "text: its schema is not that of an object",
                "list: the properties of its schema are not an object",
                "far: its schema refers to another document",
                "deep: its schema has more than 32 levels",
                "large: its schema has 32802 bytes and the limit is 32768",
                "twice: listed twice",
            ]
        );
    }

    #[test]
    fn tools_are_bounded_in_number_and_bytes() {
        let many: Vec<Value> = (0..MOST_TOOLS + 2)
            .map(|n| json!({ "name": format!("t{n}"), "inputSchema": { "type": "object" } }))
            .collect();
        let listing = listed(&many);
        assert_eq!((listing.tools.len(), listing.left_out.len()), (MOST_TOOLS, 2));
        let large: Vec<Value> = (0..MOST_TOOLS)
            .map(|n| {
                let words = "x".repeat(3 * MOST_DESCRIPTION);
                json!({ "name": format!("t{n}"), "description": words, "inputSchema": { "type": "object" } })
            })
            .collect();
        let bytes: usize = listed(&large).tools.iter().map(|tool| tool.description.len()).sum();
        assert!(bytes <= MOST_BYTES, "{bytes}");
    }
}
