//! Licences, versions and sources of the crates that the workspace depends on, against `deny.toml`.

use super::{none, root};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

/// A crate as Cargo resolved it.
struct Crate {
    name: String,
    version: String,
    /// SPDX expression; empty if the crate states none.
    license: String,
    /// `None` for a crate of this workspace.
    source: Option<String>,
    /// Names of the crates that depend on it.
    dependents: BTreeSet<String>,
}

fn cargo(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO")).args(args).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Crates that are built for some system, as `name version`, with the names of those that depend on them. The lock file
/// also names crates that no feature in use asks for.
fn built() -> BTreeMap<String, BTreeSet<String>> {
    let tree =
        ["tree", "--locked", "--workspace", "--target", "all", "--prefix", "depth", "--format", " {p}"];
    let mut built: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut above: Vec<String> = Vec::new();
    for line in cargo(&tree).lines() {
        let mut words = line.split(' ');
        let [Some(depth), Some(name), Some(version)] = [words.next(), words.next(), words.next()] else {
            continue;
        };
        let dependents = built.entry(format!("{name} {}", version.trim_start_matches('v'))).or_default();
        above.truncate(depth.parse().unwrap());
        dependents.extend(above.last().cloned());
        above.push(name.to_owned());
    }
    built
}

fn crates() -> Vec<Crate> {
    let mut built = built();
    let metadata: Value =
        serde_json::from_str(&cargo(&["metadata", "--format-version", "1", "--locked"])).unwrap();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let read = |package: &Value| {
        let (name, version) = (text(&package["name"]).unwrap(), text(&package["version"]).unwrap());
        Some(Crate {
            dependents: built.remove(&format!("{name} {version}"))?,
            name,
            version,
            license: text(&package["license"]).unwrap_or_default(),
            source: text(&package["source"]),
        })
    };
    metadata["packages"].as_array().unwrap().iter().filter_map(read).collect()
}

fn rules() -> toml::Table {
    fs::read_to_string(root().join("deny.toml")).unwrap().parse().unwrap()
}

/// The strings of a list, or the field `crate` of its tables.
fn list(rules: &toml::Table, section: &str, key: &str) -> BTreeSet<String> {
    let entries = rules[section][key].as_array().unwrap().iter();
    entries.map(|entry| entry.as_str().or_else(|| entry["crate"].as_str()).unwrap().to_owned()).collect()
}

/// Crates through which a banned one may come in.
fn wrappers(rules: &toml::Table, banned: &str) -> BTreeSet<String> {
    let entries = rules["bans"]["deny"].as_array().unwrap().iter();
    let of = entries.filter(|entry| entry.get("crate").and_then(|name| name.as_str()) == Some(banned));
    let named = of.filter_map(|entry| entry.get("wrappers")?.as_array()).flatten();
    named.map(|name| name.as_str().unwrap().to_owned()).collect()
}

/// `true` if the allowed licences satisfy an SPDX expression without nested alternatives.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let expression = expression.replace('/', " OR ").replace(['(', ')'], " ");
    let all = |parts: &str| parts.split(" AND ").all(|part| allowed.contains(part.trim()));
    match expression.split_once(" AND ") {
        // `(A OR B) AND C`: each side by itself.
        Some((one, other)) => is_allowed(one, allowed) && is_allowed(other, allowed),
        None => expression.split(" OR ").any(all),
    }
}

#[test]
fn dependencies_have_allowed_licences_and_sources() {
    let rules = rules();
    let (licenses, banned) = (list(&rules, "licenses", "allow"), list(&rules, "bans", "deny"));
    let mut faults = Vec::new();
    for Crate { name, version, license, source, dependents } in crates() {
        let Some(source) = source else { continue };
        if !is_allowed(&license, &licenses) {
            faults.push(format!("{name} {version}: licence {license:?}"));
        }
        if !source.starts_with("registry+") {
            faults.push(format!("{name} {version}: comes from {source}"));
        }
        let wrappers = wrappers(&rules, &name);
        if banned.contains(&name) && (wrappers.is_empty() || !dependents.is_subset(&wrappers)) {
            faults.push(format!("{name} {version} is banned"));
        }
    }
    none(&faults, "deny.toml says what a dependency may be");
}

#[test]
fn crates_of_two_versions_are_listed() {
    let skipped = list(&rules(), "bans", "skip");
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for Crate { name, version, .. } in crates() {
        versions.entry(name).or_default().insert(version);
    }
    let several: BTreeSet<String> =
        versions.into_iter().filter(|(_, of)| of.len() > 1).map(|(name, _)| name).collect();
    assert_eq!(several, skipped, "crates with more than one version, and those that deny.toml lists");
}

#[test]
fn licence_expressions_are_evaluated() {
    let allowed = BTreeSet::from(["MIT".to_owned(), "Unicode-3.0".to_owned()]);
    for (expression, is) in [
        ("MIT", true),
        ("MIT/Apache-2.0", true),
        ("Apache-2.0 OR MIT", true),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
        ("MIT AND GPL-3.0", false),
        ("GPL-3.0", false),
        ("", false),
    ] {
        assert_eq!(is_allowed(expression, &allowed), is, "{expression}");
    }
}
