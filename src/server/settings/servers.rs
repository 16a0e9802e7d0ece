//! Servers of the Model Context Protocol as settings and requests name them: checked, then resolved to definitions.

use super::effective::Read;
use engine::text::sha256_hex;
use lsp_types::Url;
use mcp::{Definition, Launch};
use models::address::is_key_name;
use models::options::is_secret;
use protocol::error::ProtocolError;
use protocol::tool::server::{HeaderValue, McpServer};
use secrecy::SecretString;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// Characters of a hash by which approvals of tools name a server.
const SHORT: usize = 32;
/// Most servers in one place.
pub(super) const MOST_SERVERS: usize = 32;
/// Longest name of a server, in bytes.
const MOST_NAME: usize = 64;
/// Default seconds without an answer or progress.
const TIMEOUT: u32 = 60;
/// Most such seconds.
const MOST_TIMEOUT: u32 = 3600;

/// Checks the servers of the settings. They are written to files, so they contain no secrets.
pub(super) fn check(servers: Option<&BTreeMap<String, McpServer>>) -> Read<()> {
    servers.map_or(Ok(()), |servers| check_all("settings.mcp.servers", servers, true))
}

/// Checks the servers that a client gave for one session. Nothing stores them.
pub(in crate::server) fn check_given(servers: &BTreeMap<String, McpServer>) -> Read<()> {
    check_all("mcpServers", servers, false)
}

fn check_all(field: &str, servers: &BTreeMap<String, McpServer>, is_stored: bool) -> Read<()> {
    if servers.len() > MOST_SERVERS {
        return Err(ProtocolError::invalid(field, format!("must be at most {MOST_SERVERS} servers")));
    }
    for (name, server) in servers {
        check_name(name).map_err(|reason| ProtocolError::invalid(field, reason))?;
        // Without the value: it may be a secret in the wrong place.
        let faulty = |reason| ProtocolError::invalid(field, format!("the server {name:?} {reason}"));
        check_one(server, is_stored).map_err(faulty)?;
    }
    Ok(())
}

pub(super) fn check_name(name: &str) -> Result<(), String> {
    match name.trim().is_empty() || name.len() > MOST_NAME || name.chars().any(char::is_control) {
        true => Err(format!("must name each server with 1 to {MOST_NAME} bytes of printable characters")),
        false => Ok(()),
    }
}

pub(super) fn check_one(server: &McpServer, is_stored: bool) -> Result<(), String> {
    let of_command = server.args.is_some() || server.env.is_some() || server.cwd.is_some();
    match (&server.command, &server.url) {
        (Some(_), Some(_)) | (None, None) => return Err("needs one of command and url".to_owned()),
        (None, Some(_)) if of_command => return Err("has a url, so it takes no args, env and cwd".to_owned()),
        (Some(_), None) if server.headers.is_some() => {
            return Err("has a command, so it takes no headers".to_owned());
        }
        (Some(command), None) => {
            let mut words = server.args.iter().flatten().chain([command]).chain(&server.cwd);
            if command.trim().is_empty() || words.any(|word| word.contains('\0')) {
                return Err("needs a command, without NUL characters in it, its args and its cwd".to_owned());
            }
        }
        (None, Some(url)) => check_url(url)?,
    }
    if !(1..=MOST_TIMEOUT).contains(&server.timeout_seconds.unwrap_or(TIMEOUT)) {
        return Err(format!("needs timeoutSeconds from 1 to {MOST_TIMEOUT}"));
    }
    if is_stored && server.args.as_deref().is_some_and(has_secret_arg) {
        return Err("must not contain a key in args; give it in env as {\"keyEnv\": \"NAME\"}".to_owned());
    }
    if is_stored && server.url.as_deref().is_some_and(has_secret_query) {
        return Err(
            "must not contain a key in its url; give it in headers as {\"keyEnv\": \"NAME\"}".to_owned()
        );
    }
    let env = server.env.iter().flatten().map(|(name, value)| ("env", name, value));
    let headers = server.headers.iter().flatten().map(|(name, value)| ("headers", name, value));
    env.chain(headers).try_for_each(|(part, name, value)| check_value(part, name, value, is_stored))
}

/// `true` if an argument is, or looks like, a key: alone, behind `=`, or behind the option that names it.
fn has_secret_arg(args: &[String]) -> bool {
    let has = |arg: &String| match arg.split_once('=') {
        Some((name, value)) => is_secret(name, value),
        None => is_secret("", arg),
    };
    let is_named = |pair: &[String]| match pair {
        [name, value] => name.starts_with('-') && !value.starts_with('-') && is_secret(name, ""),
        _ => false,
    };
    args.iter().any(has) || args.windows(2).any(is_named)
}

fn has_secret_query(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| url.query_pairs().any(|(name, value)| is_secret(&name, &value)))
}

fn check_url(url: &str) -> Result<(), String> {
    let read = Url::parse(url).ok().filter(|url| ["http", "https"].contains(&url.scheme()) && url.has_host());
    let is_plain =
        |url: &Url| url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    match read.is_some_and(|url| is_plain(&url)) {
        true => Ok(()),
        false => Err("needs a url of http or https, without user, password and fragment".to_owned()),
    }
}

/// Checks an environment variable or a header.
fn check_value(part: &str, name: &str, value: &HeaderValue, is_stored: bool) -> Result<(), String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || (part == "headers" && c == '-');
    if name.is_empty() || !name.chars().all(is_name) {
        return Err(format!("has a name in {part} that is none"));
    }
    match value {
        HeaderValue::Key { key_env } if is_key_name(key_env) => Ok(()),
        HeaderValue::Key { .. } => {
            Err(format!("needs the name of a key as keyEnv of {name}, never the key itself"))
        }
        HeaderValue::Text(text) if text.chars().any(char::is_control) => {
            Err(format!("has control characters in {name}"))
        }
        HeaderValue::Text(text) if is_stored && is_secret(name, text) => {
            Err(format!("must not contain a key in {name}; name it as {{\"keyEnv\": \"NAME\"}}"))
        }
        HeaderValue::Text(_) => Ok(()),
    }
}

/// Hash of what a server is: its name, its folder and all that says how it is reached. Values that a client gave may be
/// secrets, and are left out unless `has_values`.
pub(in crate::server) fn identity(name: &str, server: &McpServer, folder: &str, has_values: bool) -> String {
    let mut server = McpServer { enabled: None, timeout_seconds: None, trust: None, ..server.clone() };
    let values = server.env.iter_mut().chain(&mut server.headers).flatten();
    for (_, value) in values.filter(|_| !has_values) {
        if let HeaderValue::Text(text) = value {
            text.clear();
        }
    }
    let text = serde_json::to_string(&(name, folder, &server)).unwrap_or_default();
    sha256_hex(text.as_bytes())
}

/// The definition of a server that was checked. `key` returns the key of a name; the error is the reason why the server
/// cannot be reached.
pub(in crate::server) fn definition(
    (name, identity): (&str, &str),
    server: &McpServer,
    folder: &str,
    key: impl Fn(&str) -> Option<SecretString>,
) -> Result<Definition, String> {
    let resolved =
        |values: &Option<BTreeMap<String, HeaderValue>>| -> Result<Vec<(String, SecretString)>, String> {
            let each = values.iter().flatten().map(|(name, value)| match value {
            HeaderValue::Text(text) => Ok((name.clone(), text.as_str().into())),
            HeaderValue::Key { key_env } => {
                let missing = || format!("the key of {name} is missing: neither model/key nor the environment has {key_env}");
                Ok((name.clone(), key(key_env).ok_or_else(missing)?))
            }
        });
            each.collect()
        };
    let launch = match (&server.command, &server.url) {
        (Some(command), _) => Launch::Command {
            program: command.clone(),
            args: server.args.clone().unwrap_or_default(),
            env: resolved(&server.env)?,
            cwd: Path::new(folder).join(server.cwd.as_deref().unwrap_or_default()),
        },
        (None, Some(url)) => Launch::Http { url: url.clone(), headers: resolved(&server.headers)? },
        (None, None) => return Err("has neither command nor url".to_owned()),
    };
    Ok(Definition {
        name: name.to_owned(),
        identity: identity.get(..SHORT).unwrap_or(identity).to_owned(),
        launch,
        timeout: Duration::from_secs(server.timeout_seconds.unwrap_or(TIMEOUT).into()),
        is_trusted: server.trust.unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::settings::Layer;
    use serde_json::{Value, json};

    fn checked(server: Value, is_stored: bool) -> Result<(), String> {
        check_one(&serde_json::from_value(server).unwrap(), is_stored)
    }

    #[test]
    fn unusable_servers_are_refused_with_the_reason() {
        let refused = [
            (json!({}), "needs one of command and url"),
            (json!({ "command": "a", "url": "http://b" }), "needs one of command and url"),
            (json!({ "url": "http://b", "args": [] }), "has a url, so it takes no args, env and cwd"),
            (json!({ "command": "a", "headers": {} }), "has a command, so it takes no headers"),
            (
                json!({ "command": " " }),
                "needs a command, without NUL characters in it, its args and its cwd",
            ),
            (
                json!({ "url": "ftp://b" }),
                "needs a url of http or https, without user, password and fragment",
            ),
            (
                json!({ "url": "http://u:p@b" }),
                "needs a url of http or https, without user, password and fragment",
            ),
            (json!({ "command": "a", "timeoutSeconds": 0 }), "needs timeoutSeconds from 1 to 3600"),
            (json!({ "command": "a", "env": { "A B": "c" } }), "has a name in env that is none"),
            (
                json!({ "command": "a", "env": { "GITHUB_TOKEN": "ghp_x" } }),
                "must not contain a key in GITHUB_TOKEN; name it as {\"keyEnv\": \"NAME\"}",
            ),
            (
                json!({ "url": "http://b", "headers": { "Authorization": "Bearer x" } }),
                "must not contain a key in Authorization; name it as {\"keyEnv\": \"NAME\"}",
            ),
            (
                json!({ "command": "a", "args": ["--api-key", "x"] }),
                "must not contain a key in args; give it in env as {\"keyEnv\": \"NAME\"}",
            ),
            (
                json!({ "command": "a", "args": ["--token=x"] }),
                "must not contain a key in args; give it in env as {\"keyEnv\": \"NAME\"}",
            ),
            (
                json!({ "url": "https://b/mcp?api_key=x" }),
                "must not contain a key in its url; give it in headers as {\"keyEnv\": \"NAME\"}",
            ),
        ];
        for (server, reason) in refused {
            assert_eq!(checked(server.clone(), true), Err(reason.to_owned()), "{server}");
        }
        for server in [
            json!({ "command": "npx", "args": ["-y", "x"], "env": { "TOKEN": { "keyEnv": "TOKEN" } }, "cwd": "sub" }),
            json!({ "url": "https://b/mcp?a=1", "headers": { "X-Team": "a" }, "trust": true, "enabled": false }),
        ] {
            assert_eq!(checked(server.clone(), true), Ok(()), "{server}");
        }
        assert_eq!(checked(json!({ "command": "a", "env": { "GITHUB_TOKEN": "ghp_x" } }), false), Ok(()));
    }

    #[test]
    fn unusable_server_leaves_the_others() {
        let Value::Object(raw) = json!({ "mcp": { "servers": {
            "bad": { "command": "a", "url": "http://b" }, "good": { "command": "a" }, "odd": { "command": 1 },
        } } }) else {
            panic!("settings")
        };
        let (layer, faults) = Layer::written(raw, None);
        assert_eq!(layer.together(), json!({ "mcp": { "servers": { "good": { "command": "a" } } } }));
        let names: Vec<&str> = faults.iter().map(|fault| fault.name.as_str()).collect();
        assert_eq!(names, ["mcp.servers.bad", "mcp.servers.odd"]);
        assert_eq!(faults[0].reason.as_deref(), Some("the server \"bad\" needs one of command and url"));
    }

    #[test]
    fn identity_changes_with_all_that_says_how_a_server_is_reached() {
        let of = |name: &str, server: Value, has_values| {
            identity(name, &serde_json::from_value(server).unwrap(), "/w", has_values)
        };
        let server = json!({ "command": "a", "env": { "A": "b" } });
        let same = of("s", server.clone(), true);
        let timeout = json!({ "command": "a", "env": { "A": "b" }, "timeoutSeconds": 5, "enabled": true });
        assert_eq!(of("s", timeout, true), same);
        for other in [
            json!({ "command": "a", "args": ["x"], "env": { "A": "b" } }),
            json!({ "command": "a", "env": { "A": "c" } }),
            json!({ "command": "a", "env": { "A": { "keyEnv": "b" } } }),
            json!({ "command": "a", "env": { "A": "b" }, "cwd": "sub" }),
            json!({ "url": "http://a" }),
        ] {
            assert_ne!(of("s", other.clone(), true), same, "{other}");
        }
        assert_ne!(of("t", server.clone(), true), same);
        let rotated = json!({ "command": "a", "env": { "A": "c" } });
        assert_eq!(of("s", rotated, false), of("s", server, false), "a client's value may be a secret");
    }

    #[test]
    fn missing_key_is_named_and_a_relative_folder_is_below_the_session_s() {
        let server = json!({ "command": "a", "env": { "TOKEN": { "keyEnv": "MINE" } }, "cwd": "sub" });
        let server: McpServer = serde_json::from_value(server).unwrap();
        let missing = definition(("s", "1"), &server, "/w", |_| None).unwrap_err();
        assert_eq!(missing, "the key of TOKEN is missing: neither model/key nor the environment has MINE");
        let Launch::Command { cwd, .. } =
            definition(("s", "1"), &server, "/w", |_| Some("k".into())).unwrap().launch
        else {
            panic!("a command")
        };
        assert_eq!(cwd, Path::new("/w/sub"));
    }
}
