//! Measures of the tree's shape: files per folder, files with a type's methods, import cycles, doc comments
//! that begin with a pronoun.

use super::tables::CRATES;
use super::{File, none, root, rust_files};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Most source files in one folder.
const FILES: usize = 20;
/// Most files in which one type has inherent methods.
const SPREAD: usize = 3;
/// Most files that import each other in a circle.
const CIRCLE: usize = 3;
/// Most doc comments that begin with a pronoun, in percent of a tree's.
const BEGINNINGS: usize = 1;

/// Words that a doc comment must not begin with, since they do not name the item.
const PRONOUNS: &[&str] = &["It", "What", "Who", "Whether"];

/// Folders of TypeScript sources.
const TYPESCRIPT: &[&str] = &["editors/client/src", "editors/vscode/src"];

fn trees() -> Vec<String> {
    let crates = CRATES.iter().map(|(name, _)| format!("crates/{name}/src"));
    crates.chain(["src".to_owned()]).collect()
}

/// A measured value of a tree, with its cause.
struct Figure {
    tree: String,
    value: usize,
    detail: String,
}

/// Fails for each figure above the limit.
fn hold(figures: impl Iterator<Item = Figure>, limit: usize, what: &str) {
    let over = figures.filter(|figure| figure.value > limit);
    let faults: Vec<String> = over
        .map(|Figure { tree, value, detail }| format!("{tree}: {value}, at most {limit}: {detail}"))
        .collect();
    none(&faults, what);
}

#[test]
fn folders_hold_few_files() {
    let typescript = TYPESCRIPT.iter().map(|tree| (*tree).to_owned());
    let figures = trees().into_iter().chain(typescript).map(|tree| {
        let (folder, value) = fullest(&root().join(&tree));
        Figure { tree, value, detail: folder }
    });
    hold(figures, FILES, "files in one folder");
}

/// The folder at or below this one with the most source files, and their number.
fn fullest(folder: &Path) -> (String, usize) {
    let entries: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let is_source = |path: &&std::path::PathBuf| {
        path.extension().is_some_and(|extension| ["rs", "ts", "tsx"].iter().any(|known| extension == *known))
    };
    let own = (super::relative(folder), entries.iter().filter(is_source).count());
    let below = entries.iter().filter(|path| path.is_dir()).map(|path| fullest(path));
    below.fold(own, |most, next| if next.1 > most.1 { next } else { most })
}

#[test]
fn methods_of_one_type_stand_in_few_files() {
    let figures = trees().into_iter().map(|tree| {
        let files = rust_files(&tree);
        let most = spread(&files).into_iter().max_by_key(|(_, places)| places.len());
        let (name, places) = most.unwrap_or_default();
        Figure { tree, value: places.len(), detail: name }
    });
    hold(figures, SPREAD, "files in which one type has inherent methods");
}

/// Types with the files that have inherent methods of them. Types of one name are distinguished by their
/// definition.
fn spread(files: &[File]) -> BTreeMap<String, BTreeSet<&str>> {
    let mut found: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    let defines = |file: &File, name: &str| {
        let starts = ["struct", "enum", "union", "type"].map(|kind| format!("{kind} {name}"));
        file.code.lines().any(|line| {
            starts.iter().any(|start| {
                line.split_once(start.as_str()).is_some_and(|(_, after)| !after.starts_with(super::is_word))
            })
        })
    };
    for file in files {
        let code = file.code.lines().take(file.before_tests - 1);
        for name in code.filter_map(inherent) {
            let home = if defines(file, name) {
                Some(file)
            } else {
                let names = file.names_ours();
                let imported = names.iter().find(|(_, path)| path.last().is_some_and(|last| last == name));
                let module = imported.and_then(|(_, path)| path.iter().rev().nth(1));
                let is_it = |other: &&File| {
                    let other_module = other.module();
                    module.is_some_and(|module| {
                        module == "crate" || other_module.last() == Some(&module.as_str())
                    })
                };
                let mut homes = files.iter().filter(|other| defines(other, name));
                homes.clone().find(is_it).or_else(|| homes.next())
            };
            let home = home.map_or("", |home| home.path.as_str());
            found.entry(format!("{name} of {home}")).or_default().insert(&file.path);
        }
    }
    found
}

/// The type of an inherent `impl` that begins on this line.
fn inherent(line: &str) -> Option<&str> {
    let mut rest = line.strip_prefix("impl")?;
    if rest.starts_with('<') {
        let mut depth = 0;
        let end = rest.find(|c| {
            depth += i32::from(c == '<') - i32::from(c == '>');
            depth == 0
        })?;
        rest = rest.get(end + 1..)?;
    }
    let rest = rest.strip_prefix(' ')?;
    let name = rest.get(..rest.find(|c| !super::is_word(c))?)?;
    (!rest.contains(" for ") && !name.is_empty()).then_some(name)
}

#[test]
fn imports_run_in_small_circles_at_most() {
    let figures = trees().into_iter().map(|tree| {
        let files = rust_files(&tree);
        let circle = largest_circle(&imports(&files));
        Figure { tree, value: circle.len(), detail: circle.join(" ") }
    });
    hold(figures, CIRCLE, "files that import each other in a circle");
}

/// Imports between files of one crate, by `crate` and `super`. Naming an own child module is not an import.
fn imports(files: &[File]) -> BTreeMap<&str, BTreeSet<&str>> {
    let modules: BTreeMap<Vec<&str>, &str> =
        files.iter().map(|file| (file.module(), file.path.as_str())).collect();
    let mut edges = BTreeMap::new();
    for file in files {
        let to: &mut BTreeSet<&str> = edges.entry(file.path.as_str()).or_default();
        for (line, path) in file.names_ours() {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            let Some((&"crate", path)) = path.split_first() else { continue };
            if line >= file.before_tests {
                continue;
            }
            let named = (0..=path.len()).rev().find_map(|length| modules.get(path.get(..length)?).copied());
            to.extend(named.filter(|named| *named != file.path));
        }
    }
    edges
}

/// The largest set of files that reach each other.
fn largest_circle<'a>(edges: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> Vec<&'a str> {
    let reach = |from: &'a str| {
        let mut seen = BTreeSet::new();
        let mut open = vec![from];
        while let Some(file) = open.pop() {
            let next = edges.get(file).into_iter().flatten();
            open.extend(next.copied().filter(|next| seen.insert(*next)));
        }
        seen
    };
    let reached: BTreeMap<&str, BTreeSet<&str>> = edges.keys().map(|file| (*file, reach(file))).collect();
    let circle = |file: &&'a str| -> Vec<&'a str> {
        let mutual = reached[file].iter().filter(|other| reached[*other].contains(file));
        mutual.copied().collect()
    };
    edges.keys().map(circle).max_by_key(Vec::len).unwrap_or_default()
}

#[test]
fn doc_comments_begin_with_the_thing() {
    let figures = trees().into_iter().map(|tree| {
        let (mut blocks, mut around) = (0, 0);
        for file in rust_files(&tree) {
            for first in first_words(&file.text) {
                blocks += 1;
                around += usize::from(PRONOUNS.contains(&first));
            }
        }
        let detail = format!("{around} of {blocks} blocks begin with one of {}", PRONOUNS.join(", "));
        Figure { tree, value: (around * 100).div_ceil(blocks.max(1)), detail }
    });
    hold(figures, BEGINNINGS, "doc comments that begin with a pronoun, per cent");
}

/// The first word of each doc comment.
fn first_words(text: &str) -> Vec<&str> {
    let is_doc = |line: &&str| line.starts_with("///") || line.starts_with("//!");
    let mut found = Vec::new();
    let mut before = false;
    for line in text.lines().map(str::trim_start) {
        let said = is_doc(&line).then(|| line.trim_start_matches(['/', '!', ' ']));
        if let Some(said) = said.filter(|_| !before) {
            found.push(said.split(|c: char| !super::is_word(c)).next().unwrap_or_default());
        }
        before = said.is_some();
    }
    found
}

#[test]
fn inherent_methods_are_told_from_traits() {
    let cases = [
        ("impl Session {", Some("Session")),
        ("impl<'a, T: Into<U>> Step<'a, T> {", Some("Step")),
        ("impl fmt::Display for Session {", None),
        ("impl From<Session> for Step {", None),
        ("fn implied() {", None),
    ];
    for (line, name) in cases {
        assert_eq!(inherent(line), name, "{line}");
    }
}

#[test]
fn circles_are_found_by_mutual_reach() {
    let edges = [("a", ["b", "d"]), ("b", ["c", "c"]), ("c", ["a", "a"]), ("d", ["d", "d"])];
    let edges = edges.map(|(from, to)| (from, BTreeSet::from(to))).into_iter().collect();
    assert_eq!(largest_circle(&edges), ["a", "b", "c"]);
}
