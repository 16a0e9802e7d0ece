//! `git`: commands with effects on named files, and those that may change any file of the worktree.

use crate::files::{into_target, is_folder};
use crate::options::{NONE, Options, Takes};
use crate::path::{joined, name};
use crate::sink::Sink;
use crate::word::Word;
use crate::{Kind, Reason};

/// Commands that leave the worktree alone, or write only git's own data.
const HARMLESS: &[&str] = &[
    "add",
    "annotate",
    "blame",
    "branch",
    "bundle",
    "cat-file",
    "check-attr",
    "check-ignore",
    "commit",
    "config",
    "count-objects",
    "describe",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "fetch",
    "for-each-ref",
    "fsck",
    "gc",
    "grep",
    "hash-object",
    "help",
    "init",
    "log",
    "maintenance",
    "read-tree",
    "verify-pack",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "merge-base",
    "name-rev",
    "notes",
    "prune",
    "push",
    "range-diff",
    "reflog",
    "remote",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-branch",
    "show-ref",
    "stage",
    "status",
    "symbolic-ref",
    "tag",
    "update-index",
    "update-ref",
    "var",
    "verify-commit",
    "version",
    "whatchanged",
    "write-tree",
];
/// Options of commands that then leave the worktree alone.
const ONLY_SHOWN: &[(&str, &[&str])] = &[
    ("apply", &["check", "stat", "numstat", "summary", "cached"]),
    ("bisect", &[]),
    ("clean", &["n", "dry-run"]),
    ("rebase", &["show-current-patch"]),
];
/// Actions of `git stash` that leave the worktree alone.
const STASH: &[&str] = &["list", "show", "drop", "clear", "create", "store"];
/// Actions of `git worktree` and `git submodule` that leave files alone.
const SHOWN: &[&str] = &["list", "status", "summary", "lock", "unlock", "prune"];

/// Adds the effects of `git` with these words after its name.
pub(crate) fn read(words: &[Word], sink: &mut Sink) {
    let before = sink.folder.clone();
    let mut words = words;
    // Options before the command.
    while let [option, rest @ ..] = words {
        match option.text.as_str() {
            "-C" | "--work-tree" => {
                let Some((folder, after)) = rest.split_first() else { return };
                into(folder, sink);
                words = after;
            }
            "-c" | "--git-dir" | "--namespace" | "--exec-path" | "--config-env" => {
                words = rest.get(1..).unwrap_or_default()
            }
            text if text.starts_with('-') => {
                if let Some(folder) = text.strip_prefix("--work-tree=") {
                    into(&option.with(folder), sink);
                }
                words = rest;
            }
            _ => break,
        }
    }
    if let [command, rest @ ..] = words {
        if command.is_known {
            subcommand(&command.text, rest, sink);
        } else {
            sink.unclear(Reason::Dynamic);
        }
    }
    sink.folder = before;
}

fn into(folder: &Word, sink: &mut Sink) {
    sink.folder = match &sink.folder {
        Some(before) if folder.is_known && !folder.is_pattern => Some(joined(before, &folder.text)),
        _ => None,
    };
}

fn subcommand(command: &str, words: &[Word], sink: &mut Sink) {
    let options = Options::of(words, &NONE);
    match command {
        "rm" if !options.has(&["cached", "n", "dry-run"]) => each(Kind::Delete, &options.operands, sink),
        "mv" if !options.has(&["n", "dry-run"]) => into_target(&options, true, sink),
        "rm" | "mv" => {}
        "checkout" => checkout(words, sink),
        "restore" => restore(words, sink),
        "switch" if Options::of(words, &BRANCH).has(&["c", "C", "create"]) && !has_start(words) => {}
        "read-tree" if options.has(&["u"]) => sink.unclear(Reason::Worktree),
        "reset" if !options.has(&["hard", "merge", "keep"]) => {}
        "stash" if options.operands.first().is_some_and(|word| STASH.contains(&&*word.text)) => {}
        "worktree" | "submodule"
            if options.operands.first().is_none_or(|word| SHOWN.contains(&&*word.text)) => {}
        "clone" => cloned(words, sink),
        "archive" => {
            let options = Options::of(words, &Takes { short: "o", long: &["output", "format", "prefix"] });
            options.value(&["o", "output"]).into_iter().for_each(|path| sink.effect(Kind::Write, path));
        }
        _ if HARMLESS.contains(&command) => {}
        _ if ONLY_SHOWN.iter().any(|(known, shown)| *known == command && options.has(shown)) => {}
        _ => sink.unclear(Reason::Worktree),
    }
}

const BRANCH: Takes = Takes { short: "cCbB", long: &["create", "orphan"] };
const CHECKOUT: Takes = Takes { short: "bB", long: &["orphan", "conflict", "pathspec-from-file"] };
const RESTORE: Takes = Takes { short: "s", long: &["source", "conflict", "pathspec-from-file"] };

/// `true` if a new branch starts elsewhere than at the present commit.
fn has_start(words: &[Word]) -> bool {
    Options::of(words, &BRANCH).operands.iter().any(|word| word.text != "HEAD")
}

/// `git checkout`: files behind `--`, files told by their extension, else a branch.
fn checkout(words: &[Word], sink: &mut Sink) {
    let options = Options::of(words, &CHECKOUT);
    if options.has(&["b", "B", "orphan"]) {
        if has_start(words) {
            sink.unclear(Reason::Worktree);
        }
        return;
    }
    let named = match options.dashes {
        Some(dashes) => options.operands.get(dashes..).unwrap_or_default().to_vec(),
        None if options.has(&["ours", "theirs", "p", "patch"]) => options.operands.clone(),
        None => {
            let is_named = |word: &Word| looks_like_file(&word.text);
            // All operands are files, or all behind a commit's name.
            match options.operands.as_slice() {
                all if !all.is_empty() && all.iter().all(is_named) => all.to_vec(),
                [_, rest @ ..] if !rest.is_empty() && rest.iter().all(is_named) => rest.to_vec(),
                _ => Vec::new(),
            }
        }
    };
    written(&named, sink);
}

/// `git restore`: with `--staged` alone it leaves the worktree alone.
fn restore(words: &[Word], sink: &mut Sink) {
    let options = Options::of(words, &RESTORE);
    if !options.has(&["S", "staged"]) || options.has(&["W", "worktree"]) {
        written(&options.operands, sink);
    }
}

/// Files whose content git writes; for a whole folder they cannot be told.
fn written(files: &[Word], sink: &mut Sink) {
    if files.is_empty() {
        sink.unclear(Reason::Worktree);
    }
    for file in files {
        if is_folder(&file.text) || file.text.starts_with(':') {
            sink.unclear(Reason::Worktree);
        } else {
            each(Kind::Write, std::slice::from_ref(file), sink);
        }
    }
}

/// Adds one effect per file; git expands stars itself, also in quoted words.
fn each(kind: Kind, files: &[Word], sink: &mut Sink) {
    for file in files {
        let is_pattern = file.is_pattern || file.text.contains(['*', '?']);
        sink.effect(kind, &Word { is_pattern, ..file.clone() });
    }
}

/// `true` for a name with an extension of letters; `v1.2` and `release/1.x` have none.
fn looks_like_file(word: &str) -> bool {
    let ends = name(word).rsplit_once('.');
    ends.is_some_and(|(stem, end)| {
        let is_extension = end.len() > 1 || ["c", "h", "d", "m", "r", "s"].contains(&end);
        !stem.is_empty()
            && is_extension
            && end.len() <= 10
            && end.starts_with(|c: char| c.is_ascii_alphabetic())
            && end.bytes().all(|b| b.is_ascii_alphanumeric())
            && !word.contains("..")
    })
}

/// `git clone`: makes the named folder, or one named after the repository.
fn cloned(words: &[Word], sink: &mut Sink) {
    let takes = Takes {
        short: "bocju",
        long: &["branch", "depth", "origin", "config", "jobs", "reference", "filter"],
    };
    let options = Options::of(words, &takes);
    match options.operands.as_slice() {
        [address] => {
            let of = name(&address.text);
            sink.effect(Kind::MakeFolder, &address.with(of.strip_suffix(".git").unwrap_or(of)));
        }
        [_, folder, ..] => sink.effect(Kind::MakeFolder, folder),
        [] => {}
    }
}
