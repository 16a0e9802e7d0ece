//! Runs the README's example clients against the built binary.

#![allow(clippy::print_stdout, reason = "a test that cannot run says so")]

use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

/// The most lines of an example, as its heading says.
const MOST_LINES: usize = 30;
/// The output of each, as the README shows it.
const SAID: &str = "How does Cargo.toml begin?\nIt begins with [package]\n";

/// The only block of this language.
fn block(language: &str) -> String {
    let readme = include_str!("../../README.md");
    let opening = format!("\n```{language}\n");
    let mut blocks = readme.split(&opening).skip(1);
    let block = blocks.next().and_then(|rest| rest.split_once("\n```\n")).map(|(block, _)| block);
    assert!(blocks.next().is_none(), "the README has one block of {language}");
    format!("{}\n", block.unwrap_or_else(|| panic!("the README has no block of {language}")))
}

/// Runs a block as a file of this name. A missing program is reported, and fails on CI.
fn runs(program: &str, language: &str, name: &str) {
    let client = block(language);
    let lines = client.lines().count();
    assert!(lines <= MOST_LINES, "{lines} lines of {language}");
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("readme-{language}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join(name);
    std::fs::write(&file, client).expect("a file");
    let ran = Command::new(program)
        .arg(&file)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("THREADHOLD", env!("CARGO_BIN_EXE_threadhold"))
        .env_remove("THREADHOLD_CORPUS")
        .output();
    drop(std::fs::remove_dir_all(&folder));
    let ran = match ran {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            assert!(std::env::var_os("CI").is_none(), "{program} is not there, and on CI it must be");
            println!("not run: {program} is not there");
            return;
        }
        ran => ran.expect("it starts"),
    };
    let (out, log) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert_eq!((&*out, ran.status.code()), (SAID, Some(0)), "{log}");
}

#[test]
fn the_client_in_python_runs() {
    runs("python3", "python", "client.py");
}

#[test]
fn the_client_in_node_runs() {
    runs("node", "js", "client.mjs");
}

#[test]
fn the_readme_says_what_its_clients_print() {
    assert!(include_str!("../../README.md").contains(&format!("```text\n{SAID}```")));
}
