//! Tests of the pages about editors and about `threadhold mcp`: every block of configuration in them can be parsed, and
//! every command line is one that the program takes.

#![allow(clippy::expect_used, clippy::panic, reason = "a test fails if its preconditions do")]

use super::Arguments;
use clap::{CommandFactory, Parser};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// The pages of editors.
const EDITORS: [&str; 6] = ["acpx.md", "emacs.md", "jetbrains.md", "neovim.md", "vscode.md", "zed.md"];
/// The command that editors start, which a build may lack.
const AGENT: &str = "acp";

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs")
}

/// A fenced block with its language.
#[derive(Debug, Clone, PartialEq)]
struct Block {
    language: String,
    text: String,
}

fn blocks(page: &Path) -> Vec<Block> {
    let text = fs::read_to_string(page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
    // Indented ones stand in lists.
    let fences: Vec<&str> = text.lines().map(str::trim_start).collect();
    let mut all = Vec::new();
    let mut lines = fences.into_iter();
    while let Some(line) = lines.next() {
        let Some(language) = line.strip_prefix("```") else { continue };
        let text: Vec<&str> = lines.by_ref().take_while(|line| !line.starts_with("```")).collect();
        all.push(Block { language: language.to_owned(), text: text.join("\n") });
    }
    all
}

/// The commands in a value that start this program, each with its arguments.
fn commands_in(value: &Value) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    match value {
        Value::Object(fields) => {
            let command = fields.get("command").and_then(Value::as_str).unwrap_or_default();
            if command.rsplit('/').next() == Some("threadhold") {
                let args = fields.get("args").and_then(Value::as_array).expect("args beside the command");
                found.push(args.iter().map(|arg| arg.as_str().expect("text").to_owned()).collect());
            }
            fields.values().for_each(|value| found.extend(commands_in(value)));
        }
        Value::Array(values) => values.iter().for_each(|value| found.extend(commands_in(value))),
        _ => {}
    }
    found
}

/// The command lines of this program in a shell's line: by itself, behind `--`, or quoted.
fn commands_of(line: &str) -> Option<Vec<String>> {
    let starts = ["-- threadhold ", "\"threadhold "];
    let rest = line
        .strip_prefix("threadhold ")
        .or_else(|| starts.iter().find_map(|start| line.split_once(start)).map(|(_, rest)| rest))?;
    let rest = rest.split('"').next().unwrap_or_default();
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

fn taken(args: &[String]) -> Result<Arguments, clap::Error> {
    Arguments::try_parse_from(["threadhold"].into_iter().chain(args.iter().map(String::as_str)))
}

/// `true` if the brackets outside of texts and comments close in their order. A comment goes to the end of its line.
fn is_balanced(text: &str, comment: &str, is_lisp: bool) -> bool {
    let mut open = Vec::new();
    for line in text.lines() {
        let code = line.split(comment).next().unwrap_or_default();
        let mut chars = code.chars();
        let mut quote = None;
        while let Some(char) = chars.next() {
            match (quote, char) {
                (Some(_), '\\') => drop(chars.next()),
                (Some(mark), char) if mark == char => quote = None,
                (Some(_), _) => {}
                (None, '"') => quote = Some('"'),
                // In Lisp it quotes what follows.
                (None, '\'') if !is_lisp => quote = Some('\''),
                (None, '(' | '[' | '{') => open.push(char),
                (None, ')' | ']' | '}') => {
                    let opening = match char {
                        ')' => '(',
                        ']' => '[',
                        _ => '{',
                    };
                    if open.pop() != Some(opening) {
                        return false;
                    }
                }
                (None, _) => {}
            }
        }
        if quote.is_some() {
            return false;
        }
    }
    open.is_empty()
}

/// The command lines of this program in a block, which must be well formed.
fn checked(Block { language, text }: &Block) -> Vec<Vec<String>> {
    match language.as_str() {
        "json" => commands_in(&serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}:\n{text}"))),
        "toml" => {
            let table: toml::Table = text.parse().unwrap_or_else(|error| panic!("{error}:\n{text}"));
            commands_in(&serde_json::to_value(table).expect("JSON"))
        }
        "lua" => {
            assert!(is_balanced(text, "--", false), "{text}");
            Vec::new()
        }
        "elisp" => {
            assert!(is_balanced(text, ";", true), "{text}");
            Vec::new()
        }
        "sh" => text.lines().filter_map(commands_of).collect(),
        "text" => Vec::new(),
        other => panic!("a block in the language {other:?} is checked by nothing:\n{text}"),
    }
}

#[test]
fn blocks_of_editor_pages_parse_and_their_commands_are_taken() {
    let editors = docs().join("editors");
    let mut pages: Vec<String> = fs::read_dir(&editors)
        .expect("the pages")
        .map(|page| page.expect("a page").file_name().to_string_lossy().into_owned())
        .collect();
    pages.sort();
    assert_eq!(pages, EDITORS);
    let program = Arguments::command();
    for page in pages.iter().map(|page| editors.join(page)).chain([docs().join("mcp.md")]) {
        let blocks = blocks(&page);
        assert!(!blocks.is_empty(), "{}", page.display());
        for args in blocks.iter().flat_map(checked) {
            if args.first().is_some_and(|name| name == AGENT) && program.find_subcommand(AGENT).is_none() {
                continue;
            }
            if let Err(error) = taken(&args) {
                panic!("{}: threadhold {}: {error}", page.display(), args.join(" "));
            }
        }
    }
}

#[test]
fn faults_in_blocks_are_found() {
    for (text, is) in [
        ("f({ a = \"}\" }) -- )", true),
        ("f({ a = '{' })", true),
        ("f({ a = 1 )}", false),
        ("f(", false),
        ("f)", false),
        ("f(\"a)", false),
    ] {
        assert_eq!(is_balanced(text, "--", false), is, "{text}");
    }
    assert!(is_balanced("(f 'a \"b)\") ; )", ";", true));
    let words = |line| commands_of(line).map(|args| args.join(" "));
    assert_eq!(words("threadhold mcp --folder ."), Some("mcp --folder .".to_owned()));
    assert_eq!(words("claude mcp add threadhold -- threadhold mcp"), Some("mcp".to_owned()));
    assert_eq!(words("acpx --agent \"threadhold acp\" exec \"hello\""), Some("acp".to_owned()));
    assert_eq!(words("cargo build"), None);
    assert!(taken(&["mcp".to_owned(), "--no-such-flag".to_owned()]).is_err());
    assert!(taken(&["doctor".to_owned()]).is_err());
}
