//! Definitions of servers: how each is reached. Secrets are resolved before and never shown.

use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use std::path::PathBuf;
use std::time::Duration;

/// Least bytes of a text that is hidden from messages.
const LEAST_SECRET: usize = 4;

/// A server to connect to.
#[derive(Debug, Clone)]
pub struct Definition {
    /// The user's name for the server.
    pub name: String,
    /// Hash of what the server is, without secrets: tools carry it, and approvals of them hold for it alone.
    pub identity: String,
    /// Transport of the server.
    pub launch: Launch,
    /// The time without progress after which a call is given up.
    pub timeout: Duration,
    /// `true` if the user trusts the server's own statement that a tool only reads.
    pub is_trusted: bool,
}

/// Transport of a server, with its parameters.
#[derive(Debug, Clone)]
pub enum Launch {
    /// A process of its own, over its standard input and output. No shell reads the command.
    Command {
        /// The program, a path or a name in `PATH`.
        program: String,
        /// The arguments.
        args: Vec<String>,
        /// Environment variables beside the inherited ones.
        env: Vec<(String, SecretString)>,
        /// The working directory.
        cwd: PathBuf,
    },
    /// A server over streamable HTTP.
    Http {
        /// The address.
        url: String,
        /// Headers of each request.
        headers: Vec<(String, SecretString)>,
    },
}

impl Definition {
    /// Two definitions with the same key may share one connection. The key holds no secret, only its hash.
    pub fn key(&self) -> String {
        let mut hash = Sha256::new();
        let mut add = |text: &str| {
            hash.update(text.len().to_le_bytes());
            hash.update(text);
        };
        add(&self.name);
        add(&self.identity);
        match &self.launch {
            Launch::Command { program, args, env, cwd } => {
                add("command");
                add(program);
                // With its length, so that no argument is taken for what follows.
                add(&args.len().to_string());
                args.iter().for_each(|arg| add(arg));
                add(&cwd.to_string_lossy());
                for (name, value) in env {
                    add(name);
                    add(value.expose_secret());
                }
            }
            Launch::Http { url, headers } => {
                add("http");
                add(url);
                for (name, value) in headers {
                    add(name);
                    add(value.expose_secret());
                }
            }
        }
        add(&format!("{} {}", self.timeout.as_millis(), self.is_trusted));
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The program with its arguments, or the address; environment and headers are left out.
    pub fn shown(&self) -> String {
        match &self.launch {
            Launch::Command { program, args, .. } => {
                std::iter::once(program).chain(args).map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
            }
            // A query may hold a key.
            Launch::Http { url, .. } => url.split('?').next().unwrap_or_default().to_owned(),
        }
    }

    /// The texts that must appear in no message, the longest first: each value, the part after the scheme of a header,
    /// and each line of a key of several lines.
    pub(crate) fn secrets(&self) -> Vec<SecretString> {
        let (Launch::Command { env: values, .. } | Launch::Http { headers: values, .. }) = &self.launch;
        let is_http = matches!(self.launch, Launch::Http { .. });
        let mut parts: Vec<&str> = Vec::new();
        for (_, value) in values {
            let value = value.expose_secret();
            parts.push(value);
            parts.extend(value.lines().map(str::trim));
            parts.extend(value.split_once(' ').filter(|_| is_http).map(|(_, after)| after.trim()));
        }
        // A value such as "1" is no secret, and hiding it would spoil every message.
        parts.retain(|part| part.len() >= LEAST_SECRET);
        parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
        parts.dedup();
        parts.into_iter().map(SecretString::from).collect()
    }
}

/// A word as a person would type it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) { word.to_owned() } else { format!("{word:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(args: &[&str], token: &str) -> Definition {
        Definition {
            name: "files".to_owned(),
            identity: String::new(),
            launch: Launch::Command {
                program: "npx".to_owned(),
                args: args.iter().map(|arg| (*arg).to_owned()).collect(),
                env: vec![("TOKEN".to_owned(), token.into())],
                cwd: "/w".into(),
            },
            timeout: Duration::from_secs(60),
            is_trusted: false,
        }
    }

    #[test]
    fn definitions_that_differ_have_different_keys() {
        let keys: std::collections::BTreeSet<String> =
            [command(&["a", "b"], "x"), command(&["ab"], "x"), command(&["a", "b"], "y")]
                .iter()
                .map(Definition::key)
                .collect();
        assert_eq!(keys.len(), 3);
        assert_eq!(command(&["a"], "x").key(), command(&["a"], "x").key());
    }

    #[test]
    fn parts_of_values_are_secrets_and_switches_are_not() {
        let secrets = |definition: Definition| {
            let all = definition.secrets();
            all.iter().map(|secret| secret.expose_secret().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(secrets(command(&[], "1")), Vec::<String>::new());
        assert_eq!(secrets(command(&[], "first\nsecond")), ["first\nsecond", "second", "first"]);
        let headers = vec![("Authorization".to_owned(), "Bearer abcd".into())];
        let launch = Launch::Http { url: "https://b".to_owned(), headers };
        let shown = secrets(Definition { launch, ..command(&[], "") });
        assert_eq!(shown, ["Bearer abcd", "abcd"]);
    }

    #[test]
    fn shown_command_has_no_environment() {
        let shown = format!("{} {:?}", command(&["-y", "a b"], "s3cret").shown(), command(&[], "s3cret"));
        assert!(shown.starts_with("npx -y \"a b\" Definition"), "{shown}");
        assert!(!shown.contains("s3cret"), "{shown}");
    }
}
