//! Servers of the Model Context Protocol as people are shown them: what needs their consent, and what each costs.

use crate::commands::visible::visible;
use protocol::tool::server::{McpServerStatus, McpState};

/// A server that needs consent: the file that defines it, its whole command line, and what it is given.
pub(in crate::commands) fn consent(server: &McpServerStatus) -> String {
    let McpServerStatus { name, target, cwd, variables, keys, file, .. } = server;
    let file = file.as_deref().unwrap_or_default();
    let mut text = format!("{file} defines the tool server {name:?}: {}", visible(target));
    let mut add = |what: &str, words: &[String]| {
        if !words.is_empty() {
            text += &format!("; {what} {}", visible(&words.join(", ")));
        }
    };
    add("in the folder", &cwd.iter().cloned().collect::<Vec<_>>());
    add("with values for", variables);
    add("with your keys or variables", keys);
    text
}

/// The servers of a session with their states, one a line.
pub(in crate::commands) fn list(servers: &[McpServerStatus]) -> String {
    let lines: Vec<String> = servers.iter().map(line).collect();
    if lines.is_empty() { "(no tool servers)".to_owned() } else { lines.join("\n") }
}

fn line(server: &McpServerStatus) -> String {
    let reason = server.reason.as_ref().map(|why| format!(": {}", visible(why))).unwrap_or_default();
    let about = match server.state {
        McpState::Ready => {
            let left = match server.left_out.len() {
                0 => String::new(),
                left => format!(", {left} left out"),
            };
            format!("ready, {} tools, {} tokens{left}", server.tools.len(), server.tokens)
        }
        McpState::Off => format!("off{reason}"),
        McpState::Connecting => "being started".to_owned(),
        McpState::Failed => format!("failed{reason}"),
        McpState::Waiting => "waits for /allow or /deny".to_owned(),
        McpState::Denied => "denied".to_owned(),
    };
    format!("{:<16} {about}  {}", server.name, visible(&server.target))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consent_shows_all_that_is_started() {
        let server = McpServerStatus {
            target: "npx -y \"a b\"".to_owned(),
            cwd: Some("sub".to_owned()),
            variables: vec!["PORT".to_owned(), "TOKEN".to_owned()],
            keys: vec!["MY_TOKEN".to_owned()],
            file: Some(".mcp.json".to_owned()),
            ..McpServerStatus::of("files")
        };
        assert_eq!(
            consent(&server),
            ".mcp.json defines the tool server \"files\": npx -y \"a b\"; in the folder sub; with values for PORT, TOKEN; \
             with your keys or variables MY_TOKEN"
        );
    }
}
