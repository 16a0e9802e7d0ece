//! The first state of our index: the user's, so that files that did not change since are neither read nor stored. Entries
//! whose object differs from the bytes on disk are left out: a filter or a conversion of line ends made them.

use crate::git::{Git, REPOSITORY, Staged, joined, split, staged};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Copies the user's index. Where it cannot be read our index is empty, and the first snapshot takes longer. `git` has
/// our index and runs at `top`, the root of the worktree; entries outside of the folder `within` are left out.
pub(crate) fn seed(
    (git, user): (&Git, &Git),
    (from, to): (&Path, &Path),
    (top, within): (&Path, &str),
) -> io::Result<()> {
    if copy(from, to).is_err() || keep_exact((git, user), top, within).is_none() {
        match fs::remove_file(to) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let written = fs::metadata(from)?.modified()?;
    fs::copy(from, to)?;
    // Git compares it with the times of files to see which may have changed unnoticed.
    File::options().write(true).open(to)?.set_modified(written)
}

fn keep_exact((git, user): (&Git, &Git), top: &Path, within: &str) -> Option<()> {
    let listed = git.list_staged().ok()?;
    let mut dropped: BTreeSet<&str> = BTreeSet::new();
    let mut kept: Vec<Staged<'_>> = Vec::new();
    for entry in staged(&listed) {
        if !entry.path.starts_with(within) || entry.stage != "0" {
            dropped.insert(entry.path);
        } else if entry.mode != REPOSITORY {
            kept.push(entry);
        }
    }
    let mut objects = Vec::new();
    for entry in &kept {
        objects.extend_from_slice(entry.object.as_bytes());
        objects.push(b'\n');
    }
    let sizes = git.run(&["cat-file", "--batch-check=%(objectsize)"], &objects).ok()?;
    let sizes = String::from_utf8(sizes).ok()?;
    for (entry, size) in kept.iter().zip(sizes.lines()) {
        let on_disk = fs::symlink_metadata(top.join(entry.path)).map(|metadata| metadata.len());
        // A missing object says so in place of its size.
        if on_disk.ok() != size.parse().ok() {
            dropped.insert(entry.path);
        }
    }
    let asked = ["check-attr", "-z", "--stdin", "filter", "ident", "working-tree-encoding"];
    let attributes = user.run(&asked, &joined(kept.iter().map(|entry| entry.path))).ok()?;
    let words: Vec<&str> = split(&attributes).collect();
    for triple in words.chunks_exact(3) {
        if !matches!(triple[2], "unspecified" | "unset") {
            dropped.insert(triple[0]);
        }
    }
    if !dropped.is_empty() {
        git.run(&["update-index", "-z", "--force-remove", "--stdin"], &joined(dropped)).ok()?;
    }
    Some(())
}
