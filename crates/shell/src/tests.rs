//! Tables of commands with their effects. In the tables an effect is `read`, `create`, `write`, `delete`, `folder` or
//! `move A ->` with its path; ` glob`, ` or PATH` (if the path is a folder) and ` perhaps` (not certain) follow. An
//! unknown part is `? part: Reason`.

mod beginning;
mod corpus;
mod hostile;
mod programs;
mod simple;
mod syntax;

use crate::{Effect, Effects, Kind, effects};

/// One line per effect and unknown part.
fn told(effects: &Effects) -> Vec<String> {
    let effect = |effect: &Effect| {
        let Effect { kind, path, from, if_folder, is_pattern, is_certain } = effect;
        let kind = match kind {
            Kind::Read => "read".to_owned(),
            Kind::Create => "create".to_owned(),
            Kind::Write => "write".to_owned(),
            Kind::Delete => "delete".to_owned(),
            Kind::MakeFolder => "folder".to_owned(),
            Kind::Move => format!("move {} ->", from.as_deref().unwrap_or_default()),
        };
        let pattern = if *is_pattern { " glob" } else { "" };
        let other = if_folder.as_ref().map_or(String::new(), |path| format!(" or {path}"));
        let certain = if *is_certain { "" } else { " perhaps" };
        format!("{kind} {path}{pattern}{other}{certain}")
    };
    let unknown = effects.unknown.iter().map(|unknown| format!("? {}: {:?}", unknown.part, unknown.reason));
    effects.effects.iter().map(effect).chain(unknown).collect()
}

/// Compares all commands of a table and shows all differences.
fn check(table: &[(&str, &[&str])]) {
    let differing = table.iter().filter_map(|(command, expected)| {
        let found = told(&effects(command, None, None));
        (found != *expected).then(|| format!("{command}\n  found    {found:?}\n  expected {expected:?}"))
    });
    let differing: Vec<String> = differing.collect();
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}
