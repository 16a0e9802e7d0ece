//! `worktree/snapshot` and `worktree/changes`: which files changed in between, without a session.

use super::script::{Editor, Folder};
use serde_json::json;
use std::fs;

#[test]
fn changed_files_are_told_with_their_contents_before() {
    let folder = Folder::new("worktree");
    let work = folder.path().join("work");
    fs::create_dir_all(&work).expect("a folder");
    fs::write(work.join("a.txt"), "one\n").expect("a file");
    let mut editor = Editor::start(&folder, json!({ "model": { "window": 16_000 } }));
    let workspace = work.to_str().expect("UTF-8");
    let from = editor.call("worktree/snapshot", json!({ "workspaceFolder": workspace }));
    fs::write(work.join("a.txt"), "1\n").expect("a file");
    fs::write(work.join("b.txt"), "2\n").expect("a file");
    let to = editor.call("worktree/snapshot", json!({ "workspaceFolder": workspace }));
    let asked = json!({ "workspaceFolder": workspace, "from": from["snapshotId"], "to": to["snapshotId"] });
    let found = editor.call("worktree/changes", asked);
    let (one, two) = (engine::text::sha256_hex(b"1\n"), engine::text::sha256_hex(b"2\n"));
    assert_eq!(
        found,
        json!({ "changes": [
            { "path": "a.txt", "kind": "modified", "before": "b25lCg==", "after": one },
            { "path": "b.txt", "kind": "created", "after": two },
        ] })
    );
}

#[test]
fn folder_without_snapshots_says_why_and_an_unknown_one_is_refused() {
    let folder = Folder::new("worktree-none");
    let mut editor = Editor::start(&folder, json!({ "model": { "window": 16_000 } }));
    let root = editor.call("worktree/snapshot", json!({ "workspaceFolder": "/" }));
    assert_eq!(root, json!({ "unavailable": "the folder is a home folder or the root of a file system" }));
    let gone = editor.call("worktree/snapshot", json!({ "workspaceFolder": "/no/such/folder" }));
    assert_eq!(gone, json!({ "unavailable": "/no/such/folder is not a folder on this machine" }));
    let asked = json!({ "workspaceFolder": "/no/such/folder", "from": "one", "to": "two" });
    let error = editor.refused("worktree/changes", asked);
    assert_eq!(error["data"]["field"], "from", "{error}");
}
