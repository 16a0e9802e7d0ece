//! Commands of recorded transcripts, from the folder that `THREADHOLD_CORPUS` names: all are read.
#![allow(clippy::print_stdout, reason = "a test that does not run says so")]

use crate::{Reason, effects};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[test]
fn commands_of_the_corpus_are_read() {
    let Some(folder) = std::env::var_os("THREADHOLD_CORPUS") else {
        assert!(std::env::var_os("CI").is_none(), "THREADHOLD_CORPUS is not set, and on CI it must be");
        println!("not run: THREADHOLD_CORPUS does not name the folder of the corpus");
        return;
    };
    let mut commands = BTreeSet::new();
    files(Path::new(&folder), &mut commands);
    let (mut with_effects, mut unclear, mut broken, mut foreign) = (0, 0, 0, 0);
    for command in &commands {
        let found = effects(command, None, None);
        let has = |reason: Reason| found.unknown.iter().any(|unknown| unknown.reason == reason);
        with_effects += usize::from(!found.effects.is_empty());
        unclear += usize::from(!found.unknown.is_empty());
        broken += usize::from(has(Reason::Syntax));
        foreign += usize::from(has(Reason::Shell));
    }
    let read = commands.len();
    println!(
        "{read} commands: {with_effects} with effects, {unclear} unclear, {broken} broken, {foreign} of other shells"
    );
    assert!(read > 500, "{read} commands");
    assert!(broken * 50 < read, "{broken} of {read} commands with a syntax error");
}

/// Collects the commands of all files below a folder.
fn files(folder: &Path, commands: &mut BTreeSet<String>) {
    for path in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if path.is_dir() {
            files(&path, commands);
        } else if let Ok(text) = fs::read_to_string(&path) {
            match serde_json::from_str::<Value>(&text) {
                Ok(value) => found(&value, 0, commands),
                Err(_) => {
                    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
                    lines.for_each(|value| found(&value, 0, commands));
                }
            }
        }
    }
}

/// Collects texts named `command` or `cmd`; arguments may be JSON in a string.
fn found(value: &Value, depth: u32, commands: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) if depth < 40 => {
            for (name, value) in fields {
                match value.as_str() {
                    Some(text) if matches!(name.as_str(), "command" | "cmd") => {
                        commands.insert(text.to_owned());
                    }
                    _ => found(value, depth + 1, commands),
                }
            }
        }
        Value::Array(list) if depth < 40 => list.iter().for_each(|value| found(value, depth + 1, commands)),
        Value::String(text) if depth < 40 && text.starts_with('{') => {
            if let Ok(inside @ Value::Object(_)) = serde_json::from_str(text) {
                found(&inside, depth + 1, commands);
            }
        }
        _ => {}
    }
}
