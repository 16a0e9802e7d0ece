//! Names of tools for models: `server__tool`, at most 64 characters of letters, digits, `_` and `-`, as every provider
//! accepts them.

use engine::text::sha256_hex;
use std::collections::BTreeSet;

/// The longest name that providers accept, in characters.
pub const MOST: usize = 64;
/// The longest first part, in characters.
const MOST_SERVER: usize = 24;
/// The separator of the parts.
const BETWEEN: &str = "__";

/// The first part of the names of a server's tools, with the separator. A name that cannot be used as it is gets a hash,
/// so that two servers never share a part.
pub fn prefix(server: &str) -> String {
    let mut clean = clean(server);
    // Some providers refuse names that begin otherwise.
    if clean.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
        clean.insert(0, 's');
    }
    let is_as_given = clean == server && clean.len() <= MOST_SERVER && !clean.contains(BETWEEN);
    if is_as_given && !clean.is_empty() && !clean.ends_with('_') {
        return format!("{clean}{BETWEEN}");
    }
    let short = engine::text::head(&clean, MOST_SERVER - 7).replace(BETWEEN, "-");
    format!("{}-{}{BETWEEN}", short.trim_matches('_'), hash(server))
}

/// The name of a tool for models. `taken` are the names given to other tools of the server.
pub fn name(prefix: &str, tool: &str, taken: &BTreeSet<String>) -> String {
    let clean = clean(tool);
    let name = format!("{prefix}{clean}");
    if clean == tool && !clean.is_empty() && name.len() <= MOST && !taken.contains(&name) {
        return name;
    }
    let short = engine::text::head(&clean, MOST - prefix.len() - 7);
    format!("{prefix}{short}-{}", hash(tool))
}

/// Only characters that every provider accepts.
fn clean(name: &str) -> String {
    let accepted = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' };
    name.chars().map(accepted).collect()
}

fn hash(name: &str) -> String {
    sha256_hex(name.as_bytes()).chars().take(6).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usable_names_are_kept() {
        assert_eq!(name(&prefix("files"), "read_file", &BTreeSet::new()), "files__read_file");
    }

    #[test]
    fn unusable_names_get_a_hash() {
        let files = prefix("files");
        let all = [
            name(&files, "bad name!", &BTreeSet::new()),
            name(&files, "bad name?", &BTreeSet::new()),
            name(&files, "", &BTreeSet::new()),
            name(&files, &"long".repeat(40), &BTreeSet::new()),
            prefix("my server"),
            prefix("my_server"),
            prefix("a__b"),
            prefix("über"),
            prefix("7zip"),
            prefix("-a"),
            prefix(&"x".repeat(30)),
        ];
        assert_eq!(
            all,
            [
                "files__bad_name_-12ad77",
                "files__bad_name_-9ab38c",
                "files__-e3b0c4",
                "files__longlonglonglonglonglonglonglonglonglonglonglonglo-ed357a",
                "my_server-b12987__",
                "my_server__",
                "a-b-63e5c1__",
                "ber-b51c85__",
                "s7zip-98fa30__",
                "s-a-c27489__",
                "xxxxxxxxxxxxxxxxx-666a59__",
            ]
        );
    }

    #[test]
    fn names_are_short_and_of_known_characters() {
        for (server, tool) in [("s".repeat(90), "t".repeat(90)), ("…".repeat(9), "ß".repeat(99))] {
            let name = name(&prefix(&server), &tool, &BTreeSet::new());
            assert!(name.len() <= MOST, "{name}");
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'), "{name}");
        }
    }

    #[test]
    fn colliding_name_gets_a_hash() {
        let taken = BTreeSet::from(["files__read".to_owned()]);
        assert_ne!(name("files__", "read", &taken), "files__read");
    }
}
