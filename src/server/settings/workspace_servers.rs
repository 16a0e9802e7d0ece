//! Servers that files of a workspace define, in our own form and in those of other programs. The files come with the
//! workspace's code, from anybody: a server is only described here, and needs the user's consent to be started.

use super::env_file;
use super::servers::{MOST_SERVERS, check_name, check_one};
use protocol::tool::server::{HeaderValue, McpServer};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;

/// The files below a workspace's folder; a server of an earlier one goes before one of the same name in a later one.
pub(in crate::server) const FILES: [&str; 3] = [".threadhold/config.toml", ".mcp.json", ".vscode/mcp.json"];

/// A server as a file defines it.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::server) struct WorkspaceServer {
    /// The name of the server; that of the file if the whole file is unusable.
    pub name: String,
    /// The file, below the workspace's folder.
    pub file: &'static str,
    /// The definition; otherwise the reason why it cannot be used.
    pub server: Result<McpServer, String>,
}

/// The servers that a file defines. `read` returns the text of a file of variables by its path.
pub(in crate::server) fn of_file(
    file: &'static str,
    text: &str,
    folder: &str,
    read: impl Fn(&Path) -> Result<String, String>,
) -> Vec<WorkspaceServer> {
    let servers = match parsed(file, text) {
        Ok(servers) => servers,
        Err(why) => return vec![unusable(file, why)],
    };
    let described = |(name, value): (String, Value)| {
        let server = check_name(&name).and_then(|()| {
            let server = if file == FILES[0] { own(value) } else { foreign(value, folder, &read) }?;
            check_one(&server, false).map(|()| server)
        });
        WorkspaceServer { name, file, server }
    };
    let left = servers.len().saturating_sub(MOST_SERVERS);
    let mut all: Vec<WorkspaceServer> = servers.into_iter().take(MOST_SERVERS).map(described).collect();
    if left > 0 {
        all.push(unusable(file, format!("{left} servers beyond {MOST_SERVERS} are not read")));
    }
    all
}

/// The entry that reports a file as a whole.
pub(in crate::server) fn unusable(file: &'static str, why: String) -> WorkspaceServer {
    WorkspaceServer { name: file.to_owned(), file, server: Err(why) }
}

fn parsed(file: &str, text: &str) -> Result<Map<String, Value>, String> {
    let place: &[&str] = match file {
        ".threadhold/config.toml" => &["mcp", "servers"],
        ".mcp.json" => &["mcpServers"],
        _ => &["servers"],
    };
    let mut value = if file.ends_with(".toml") {
        toml::from_str::<Value>(text).map_err(|_| "it is not TOML".to_owned())?
    } else {
        // Editors allow comments and commas before a closing bracket.
        let mut text = text.to_owned();
        json_strip_comments::strip(&mut text).map_err(|_| "it is not JSON".to_owned())?;
        serde_json::from_str(&text).map_err(|error| format!("it is not JSON at line {}", error.line()))?
    };
    for part in place {
        match value.get_mut(*part) {
            Some(inner) => value = inner.take(),
            None => return Ok(Map::new()),
        }
    }
    match value {
        Value::Object(servers) => Ok(servers),
        _ => Err(format!("{} must be an object", place.join("."))),
    }
}

/// A server in our own form. Trust is the user's to give.
fn own(value: Value) -> Result<McpServer, String> {
    let server: McpServer = serde_json::from_value(value)
        .map_err(|_| "it has not the form of a server of mcp.servers".to_owned())?;
    Ok(McpServer { trust: None, ..server })
}

/// A server in the form of `.mcp.json` and `.vscode/mcp.json`. Fields that do not say how it is reached are ignored.
fn foreign(
    value: Value,
    folder: &str,
    read: impl Fn(&Path) -> Result<String, String>,
) -> Result<McpServer, String> {
    let Value::Object(fields) = value else { return Err("it is not an object".to_owned()) };
    match fields.get("type").and_then(Value::as_str) {
        None | Some("stdio" | "http" | "streamable-http") => {}
        Some(kind) => return Err(format!("its type {kind:?} is not supported; use stdio or http")),
    }
    let text = |name: &str| match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => expanded(name, text, folder).map(Some),
        Some(_) => Err(format!("{name} is not a string")),
    };
    let args = match fields.get("args") {
        None | Some(Value::Null) => None,
        Some(Value::Array(args)) => {
            let text = |arg: &Value| match arg {
                Value::String(text) => expanded("args", text, folder),
                _ => Err("args are not strings".to_owned()),
            };
            Some(args.iter().map(text).collect::<Result<Vec<_>, _>>()?)
        }
        Some(_) => return Err("args is not an array".to_owned()),
    };
    let values = |name: &str| match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(values)) => {
            let each = values.iter().map(|(of, given)| Ok((of.clone(), value_of(name, given, folder)?)));
            each.collect::<Result<_, String>>().map(Some)
        }
        Some(_) => Err(format!("{name} is not an object")),
    };
    let mut env: Option<BTreeMap<String, HeaderValue>> = values("env")?;
    if let Some(path) = text("envFile")? {
        // Only the names of variables are shown, and consent holds for exactly these values.
        let path = Path::new(folder).join(path);
        let of_file = read(&path).and_then(|text| env_file::parse(&text));
        let mut all = of_file.map_err(|why| format!("envFile {}: {why}", path.display()))?;
        all.extend(env.unwrap_or_default());
        env = Some(all);
    }
    let is_off = fields.get("disabled").and_then(Value::as_bool) == Some(true);
    Ok(McpServer {
        command: text("command")?,
        args,
        env,
        cwd: text("cwd")?,
        url: text("url")?,
        headers: values("headers")?,
        enabled: is_off.then_some(false),
        ..McpServer::default()
    })
}

/// The value of an environment variable or a header: a text, or the name of a variable of ours as a whole.
fn value_of(part: &str, given: &Value, folder: &str) -> Result<HeaderValue, String> {
    let text = match given {
        Value::String(text) => text.clone(),
        Value::Number(_) | Value::Bool(_) => given.to_string(),
        _ => return Err(format!("a value in {part} is not a string")),
    };
    let inner = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    let named = inner.map(|inner| inner.strip_prefix("env:").unwrap_or(inner));
    let is_name = |name: &&str| {
        *name != "workspaceFolder" && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    match named.filter(is_name) {
        Some(name) => Ok(HeaderValue::Key { key_env: name.to_owned() }),
        None => expanded(part, &text, folder).map(HeaderValue::Text),
    }
}

/// A text with the workspace's folder in place. Other variables could carry a secret into what is shown and logged.
fn expanded(part: &str, text: &str, folder: &str) -> Result<String, String> {
    let text = text.replace("${workspaceFolder}", folder);
    match text.split_once("${").map(|(_, rest)| rest.split('}').next().unwrap_or_default()) {
        Some(name) if name.starts_with("input:") => Err(format!(
            "{part} refers to ${{{name}}}, and inputs are not asked for; set a variable of the environment and name it in \
             its place, as ${{env:NAME}}"
        )),
        Some(name) => Err(format!(
            "{part} refers to ${{{name}}}; only a whole value of env or headers may name a variable"
        )),
        None => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(file: &'static str, text: &str) -> Vec<(String, Result<Value, String>)> {
        let env_file = |path: &Path| match path.to_str() {
            Some("/w/.env") => Ok("TOKEN=s1\nLEVEL=2\n".to_owned()),
            _ => Err("it does not exist".to_owned()),
        };
        let all = of_file(file, text, "/w", env_file);
        let value = |server: McpServer| serde_json::to_value(server).unwrap();
        all.into_iter().map(|found| (found.name, found.server.map(value))).collect()
    }

    #[test]
    fn servers_of_each_file_are_read_in_its_form() {
        let own = "[mcp.servers.a]\ncommand = \"x\"\ntrust = true\n[other]\nb = 1\n";
        assert_eq!(read(FILES[0], own), [("a".to_owned(), Ok(json!({ "command": "x" })))]);
        let shared = r#"{ "mcpServers": { "b": { "type": "stdio", "command": "${workspaceFolder}/run", "args": ["-y"],
            "env": { "TOKEN": "${MY_TOKEN}", "PORT": 3 } } } }"#;
        let expected = json!({ "command": "/w/run", "args": ["-y"],
            "env": { "TOKEN": { "keyEnv": "MY_TOKEN" }, "PORT": "3" } });
        assert_eq!(read(FILES[1], shared), [("b".to_owned(), Ok(expected))]);
        let code = "{ // a comment\n \"servers\": { \"c\": { \"type\": \"http\", \"url\": \"http://h/mcp\", }, }, \"inputs\": [] }";
        assert_eq!(read(FILES[2], code), [("c".to_owned(), Ok(json!({ "url": "http://h/mcp" })))]);
    }

    #[test]
    fn variables_of_a_file_go_behind_those_of_the_server() {
        let server = |env: &str| {
            format!(
                r#"{{ "servers": {{ "a": {{ "command": "x", "envFile": "${{workspaceFolder}}/.env"{env} }} }} }}"#
            )
        };
        let found = |env: Value| [("a".to_owned(), Ok(json!({ "command": "x", "env": env })))];
        assert_eq!(read(FILES[2], &server("")), found(json!({ "LEVEL": "2", "TOKEN": "s1" })));
        let own = server(r#", "env": { "LEVEL": "3" }"#);
        assert_eq!(read(FILES[2], &own), found(json!({ "LEVEL": "3", "TOKEN": "s1" })));
    }

    #[test]
    fn unusable_servers_have_their_reason_and_leave_the_others() {
        let text = r#"{ "mcpServers": {
            "sse": { "type": "sse", "url": "http://h" },
            "file": { "command": "x", "envFile": "/other/.env" },
            "secret": { "command": "x", "args": ["--token=${TOKEN}"] },
            "input": { "command": "x", "env": { "A": "${input:key}" } },
            "none": {},
            "good": { "command": "x" }
        } }"#;
        let found = read(FILES[1], text);
        let reasons: Vec<(&str, &str)> = found
            .iter()
            .filter_map(|(name, server)| Some((name.as_str(), server.as_ref().err()?.as_str())))
            .collect();
        assert_eq!(
            reasons,
            [
                ("sse", "its type \"sse\" is not supported; use stdio or http"),
                ("file", "envFile /other/.env: it does not exist"),
                (
                    "secret",
                    "args refers to ${TOKEN}; only a whole value of env or headers may name a variable"
                ),
                (
                    "input",
                    "env refers to ${input:key}, and inputs are not asked for; set a variable of the environment and \
                     name it in its place, as ${env:NAME}"
                ),
                ("none", "needs one of command and url"),
            ]
        );
        assert_eq!(found.last(), Some(&("good".to_owned(), Ok(json!({ "command": "x" })))));
        assert_eq!(
            read(FILES[1], "{"),
            [(".mcp.json".to_owned(), Err("it is not JSON at line 1".to_owned()))]
        );
    }
}
