//! Rules of the tree that neither the compiler nor a lint checks: headers, sizes, dependencies between
//! modules (tables in `tidy/tables.rs`). Reads the sources as text. A failure lists every file
//! and line. Not a formatter or a Rust parser.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

#[path = "tidy/code.rs"]
mod code;
#[path = "tidy/dependencies.rs"]
mod dependencies;
#[path = "tidy/measures.rs"]
mod measures;
#[path = "tidy/tables.rs"]
mod tables;

use code::{code_of, is_word, named};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use tables::{CRATES, ENGINE, LAYERS};

/// The most lines of a file before its tests.
const MOST_LINES: usize = 500;

/// Entries of the package's folder that we did not write. `.git` is a file in a worktree.
const NOT_OURS: &[&str] = &["target", "node_modules", "dist", ".git", ".cache", ".venv"];

/// Crates and modules that do IO or depend on time and place.
const ACTING: &[&str] = &[
    "tokio",
    "reqwest",
    "rusqlite",
    "tower_lsp",
    "lsp_types",
    "rand",
    "std::fs",
    "std::env",
    "std::net",
    "std::thread",
    "std::process",
    "std::time::SystemTime",
    "std::time::Instant",
];

/// Calls that panic instead of returning an error.
const GIVING_UP: &[&str] = &[".unwrap()", ".expect(", "panic!", "todo!", "unimplemented!"];

/// A source file: its path from the package's folder, its text, and its code without comments and strings.
struct File {
    path: String,
    text: String,
    code: String,
    /// The line on which the tests begin: one past the end without tests, 1 in a file of tests.
    before_tests: usize,
}

/// `true` if a file below `src` has only tests and their helpers.
fn is_of_tests(path: &str) -> bool {
    path.ends_with("/tests.rs")
        || path.contains("/tests/")
        || path.ends_with("/testing.rs")
        || path.contains("/testing/")
}

impl File {
    fn new(path: String, text: String) -> Self {
        let lines = text.lines().count();
        let before_tests = match text.lines().position(|line| line == "#[cfg(test)]") {
            _ if is_of_tests(&path) => 1,
            Some(index) => index + 1,
            None => lines + 1,
        };
        Self { code: code_of(&text), path, text, before_tests }
    }

    /// The name of its crate: one below `crates`, or the sidecar.
    fn crate_name(&self) -> &str {
        self.path.strip_prefix("crates/").and_then(|path| path.split('/').next()).unwrap_or("threadhold")
    }

    /// The module path in its crate: `crates/engine/src/prompt/item.rs` is `prompt item`.
    fn module(&self) -> Vec<&str> {
        let path = self.path.split_once("src/").map_or(self.path.as_str(), |(_, path)| path);
        let path = path.trim_end_matches(".rs");
        if self.crate_name() != "threadhold" && path == "lib" {
            Vec::new()
        } else {
            path.split('/').collect()
        }
    }

    /// Paths of our own crates that it names; those of its own crate begin with `crate`. In its tests,
    /// `super` is the file itself.
    fn names_ours(&self) -> Vec<(usize, Vec<String>)> {
        let home = self.module();
        let below: &[&str] = if is_of_tests(&self.path) { &[] } else { &["tests"] };
        let in_tests = [home.as_slice(), below].concat();
        let outside = named(&self.code, &home).into_iter().filter(|(line, _)| *line < self.before_tests);
        let inside = named(&self.code, &in_tests).into_iter().filter(|(line, _)| *line >= self.before_tests);
        let is_ours =
            |root: &String| root == "crate" || CRATES.iter().any(|(name, _)| *name == root.as_str());
        outside.chain(inside).filter(|(_, path)| path.first().is_some_and(is_ours)).collect()
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The Rust files below a folder, in order.
fn rust_files(folder: &str) -> Vec<File> {
    let mut found = Vec::new();
    walk(&root().join(folder), &mut found);
    found.retain(|file| file.extension().is_some_and(|extension| extension == "rs"));
    found.iter().map(|file| File::new(relative(file), fs::read_to_string(file).unwrap())).collect()
}

/// The Rust files of the sidecar and of all crates.
fn sources() -> Vec<File> {
    let mut found = rust_files("src");
    for (name, _) in CRATES {
        found.extend(rust_files(&format!("crates/{name}/src")));
    }
    found
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.retain(|entry| !entry.file_name().is_some_and(|name| NOT_OURS.iter().any(|not| name == *not)));
    entries.sort();
    for entry in entries {
        if entry.is_dir() { walk(&entry, found) } else { found.push(entry) }
    }
}

fn file(path: &str) -> File {
    File::new(path.to_owned(), fs::read_to_string(root().join(path)).unwrap())
}

fn relative(file: &Path) -> String {
    file.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/")
}

/// Fails unless there are no faults; lists each on a line.
fn none(faults: &[String], rule: &str) {
    let mut message = format!("{rule}\n");
    for fault in faults {
        let _ = writeln!(message, "  {fault}");
    }
    assert!(faults.is_empty(), "{message}");
}

fn may_name(table: &[(&str, &[&str])], who: &str, whom: &str) -> bool {
    who == whom || table.iter().any(|(module, may)| *module == who && may.contains(&whom))
}

#[test]
fn every_file_begins_with_a_doc_comment() {
    let mut faults = Vec::new();
    for file in sources().iter().chain(&rust_files("tests")) {
        if !file.text.starts_with("//! ") {
            faults.push(format!("{}:1", file.path));
        }
    }
    none(&faults, "a file opens with a `//!` line");
}

#[test]
fn files_stay_below_the_line_limit() {
    let mut faults = Vec::new();
    for file in sources().iter().chain(&rust_files("tests")) {
        let lines = file.before_tests - 1;
        if lines > MOST_LINES {
            faults.push(format!("{}:{MOST_LINES} goes on to line {lines}", file.path));
        }
    }
    none(&faults, "a file has at most 500 lines before its tests");
}

#[test]
fn no_string_of_ours_is_taken_for_code() {
    for file in sources() {
        let count = |brace| file.code.matches(brace).count();
        assert_eq!(count('{'), count('}'), "{}: a string was taken for code", file.path);
    }
}

#[test]
fn layers_name_only_what_the_table_allows() {
    let mut faults = Vec::new();
    for file in rust_files("src") {
        let who = first(&file.module());
        for (line, path) in file.names_ours() {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            let whom = first(path.strip_prefix(&["crate"]).unwrap_or(&path));
            if !may_name(LAYERS, &who, &whom) {
                faults.push(format!("{}:{line} {who} names {}", file.path, path.join("::")));
            }
        }
    }
    none(&faults, "who may name whom stands in LAYERS");
}

#[test]
fn engine_modules_name_only_what_the_table_allows() {
    let edges = engine_edges();
    let mut faults = Vec::new();
    for (place, who, whom) in &edges {
        if !may_name(ENGINE, who, whom) {
            faults.push(format!("{place} {who} names {whom}"));
        }
    }
    none(&faults, "who may name whom inside the engine stands in ENGINE");
}

#[test]
fn engine_table_has_no_unused_edge() {
    let edges = engine_edges();
    let mut faults = Vec::new();
    for (who, may) in ENGINE {
        for whom in *may {
            if !edges.iter().any(|(_, from, to)| from == who && to == whom) {
                faults.push(format!("{who} does not name {whom}"));
            }
        }
    }
    none(&faults, "take it out of the table");
}

/// Edges between the engine's modules, outside of tests: location, naming module, named module.
fn engine_edges() -> Vec<(String, String, String)> {
    let mut edges = Vec::new();
    for file in rust_files("crates/engine/src") {
        let who = node(&file.module());
        for (line, path) in file.names_ours() {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            let whom = node(path.strip_prefix(&["crate"]).unwrap_or_default());
            if file.before_tests > line && !who.is_empty() && !whom.is_empty() && whom != who {
                edges.push((format!("{}:{line}", file.path), who.clone(), whom));
            }
        }
    }
    edges.dedup();
    edges
}

#[test]
fn engine_and_session_name_no_io() {
    let mut faults = Vec::new();
    let files = ["crates/engine/src", "crates/session/src"].map(rust_files);
    for file in files.iter().flatten() {
        for (line, path) in named(&file.code, &file.module()) {
            let path = path.join("::");
            let acts = ACTING.iter().find(|acting| path.starts_with(**acting));
            if acts.is_some_and(|acting| {
                !path.get(acting.len()..).is_some_and(|after| after.starts_with(is_word))
            }) {
                faults.push(format!("{}:{line} names {path}", file.path));
            }
        }
    }
    none(&faults, "engine and session are pure: no IO, no clock, no randomness, no environment");
}

#[test]
fn product_code_does_not_panic() {
    let mut faults = Vec::new();
    for file in sources() {
        for (index, line) in file.code.lines().enumerate().take(file.before_tests - 1) {
            for way in GIVING_UP.iter().filter(|way| line.contains(**way)) {
                if !has_a_reason(&file, index) {
                    faults.push(format!("{}:{} {way}", file.path, index + 1));
                }
            }
        }
    }
    none(&faults, "errors are values; a constant may `expect` under an `allow` that carries a reason");
}

/// `true` if the item of this line allows `expect` with a reason. An item ends at an empty line.
fn has_a_reason(file: &File, index: usize) -> bool {
    let lines: Vec<&str> = file.text.lines().take(index + 1).collect();
    let item = lines.rsplit(|line| line.trim().is_empty()).next().unwrap_or_default().join("\n");
    item.contains("#[allow(clippy::expect_used, reason = \"")
}

/// The dependencies in a section of a manifest, with line number and the line before.
fn dependencies<'a>(manifest: &'a str, section: &'a str) -> impl Iterator<Item = (usize, &'a str, &'a str)> {
    let lines = manifest.lines().enumerate();
    let mut is_listed = false;
    let mut before = "";
    lines.filter_map(move |(index, line)| {
        let above = std::mem::replace(&mut before, line);
        if line.starts_with('[') {
            is_listed = line == section;
        }
        let name = line.split([' ', '.']).next().filter(|name| is_listed && name.starts_with(is_word));
        name.map(|name| (index + 1, name, above))
    })
}

#[test]
fn every_dependency_says_why_it_is_here() {
    let text = file("Cargo.toml").text;
    let unsaid =
        dependencies(&text, "[workspace.dependencies]").filter(|(.., above)| !above.starts_with("# "));
    let faults: Vec<String> = unsaid.map(|(line, name, _)| format!("Cargo.toml:{line} {name}")).collect();
    none(&faults, "a comment above each dependency of the workspace says why");
}

#[test]
fn crates_depend_only_on_what_the_table_allows() {
    let mut faults = Vec::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        let manifest = format!("crates/{name}/Cargo.toml");
        let text = file(&manifest).text;
        for section in ["[dependencies]", "[build-dependencies]"] {
            for (line, dependency, _) in dependencies(&text, section) {
                if !may_name(CRATES, &name, dependency) {
                    faults.push(format!("{manifest}:{line} {dependency}"));
                }
            }
        }
    }
    none(&faults, "what a crate may depend on stands in CRATES");
}

#[test]
fn no_file_has_paths_of_a_machine() {
    // Split, so that this file does not contain them.
    let places =
        ["/ho|me/", "/ro|ot/", "/Us|ers/", "/wo|rk/", "/t|mp/", "crates|.io", "npm|js.", "py|pi.org"];
    let places = places.map(|place| place.replace('|', ""));
    let mut faults = Vec::new();
    for (path, text) in texts() {
        for (index, line) in text.lines().enumerate() {
            if places.iter().any(|place| line.contains(place.as_str())) {
                faults.push(format!("{path}:{}", index + 1));
            }
        }
    }
    none(&faults, "no absolute path of a machine and no registry's host name");
}

/// All text files of the package, without git, which may be missing. Cargo writes the lock file, so it is
/// exempt.
fn texts() -> Vec<(String, String)> {
    let mut found = Vec::new();
    walk(root(), &mut found);
    found.retain(|file| relative(file) != "Cargo.lock");
    found.iter().filter_map(|file| Some((relative(file), fs::read_to_string(file).ok()?))).collect()
}

/// The name in the table of layers: the top-level module, or the crate.
fn first(path: &[&str]) -> String {
    path.first().map(|module| (*module).to_owned()).unwrap_or_default()
}

/// The name in the engine's table: the module, or `compact::record`, which stands by itself.
fn node(path: &[&str]) -> String {
    match path {
        ["compact", "record", ..] => "compact::record".into(),
        [module, ..] => (*module).into(),
        [] => String::new(),
    }
}

/// References to private notes: numbers of rows, documents and the like.
#[test]
fn comments_have_no_private_references() {
    let number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    let is_private = |line: &str| {
        let Some((_, comment)) = line.split_once("//") else { return false };
        let marked =
            ["rows: ", "source: ", "promise: ", "failure: ", "Promise ", "promise ", "Invariant ", "Row "];
        marked.iter().any(|mark| {
            comment.split(mark).skip(1).any(|rest| number(rest) || number(rest.get(1..).unwrap_or_default()))
        })
    };
    let faults: Vec<String> = sources()
        .iter()
        .chain(&rust_files("tests"))
        .flat_map(|file| {
            let lines = file.text.lines().zip(1..).filter(|(line, _)| is_private(line));
            lines.map(|(_, at)| format!("{}:{at}", file.path)).collect::<Vec<_>>()
        })
        .collect();
    none(&faults, "say it in words: nobody outside can look a number up");
}
