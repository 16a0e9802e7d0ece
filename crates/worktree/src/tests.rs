//! Snapshots of real folders by the real git.

use crate::{Before, Change, ChangeKind, Page, SnapshotId, Unavailable, Worktree};
use engine::text::sha256_hex;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

static COUNT: AtomicUsize = AtomicUsize::new(0);

/// A folder of a test, with the place for its snapshots beside it.
struct Folder {
    root: PathBuf,
}

impl Folder {
    fn new() -> Self {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("threadhold-worktree-{}-{number}", process::id()));
        fs::create_dir_all(root.join("work")).unwrap();
        Self { root: root.canonicalize().unwrap() }
    }

    /// A repository with these files committed.
    fn repository(files: &[(&str, &str)]) -> Self {
        let folder = Self::new();
        for (path, text) in files {
            folder.write(path, text);
        }
        folder.git(&["init", "--quiet"]);
        folder.commit();
        folder
    }

    fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    fn open(&self) -> Worktree {
        Worktree::open(&self.work(), &self.root.join("storage")).unwrap()
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.work().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn git(&self, arguments: &[&str]) {
        git(&self.work(), arguments);
    }

    fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["-c", "user.name=T", "-c", "user.email=t@localhost", "commit", "--quiet", "-m", "All"]);
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

fn git(folder: &Path, arguments: &[&str]) {
    let run = Command::new("git").arg("-C").arg(folder).args(arguments).output().unwrap();
    assert!(run.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&run.stderr));
}

fn snapshot(worktree: &mut Worktree) -> SnapshotId {
    let id = SnapshotId(COUNT.fetch_add(1, Ordering::Relaxed).to_string());
    worktree.snapshot(id.clone()).unwrap();
    id
}

/// All changes while `work` runs.
fn changes(worktree: &mut Worktree, work: impl FnOnce()) -> Vec<Change> {
    let from = snapshot(worktree);
    work();
    let to = snapshot(worktree);
    let Page { changes, next } = worktree.changes(&from, &to, None).unwrap();
    assert_eq!(next, None);
    changes
}

fn modified(path: &str, before: impl AsRef<[u8]>, after: impl AsRef<[u8]>) -> Change {
    let bytes = before.as_ref().to_vec();
    Change {
        path: path.to_owned(),
        kind: ChangeKind::Modified,
        before: Some(Before::File { bytes, is_executable: false }),
        after: Some(sha256_hex(after.as_ref())),
    }
}

fn created(path: &str, after: &str) -> Change {
    let after = Some(sha256_hex(after.as_bytes()));
    Change { path: path.to_owned(), kind: ChangeKind::Created, before: None, after }
}

fn deleted(path: &str, before: &str) -> Change {
    let before = Some(Before::File { bytes: before.as_bytes().to_vec(), is_executable: false });
    Change { path: path.to_owned(), kind: ChangeKind::Deleted, before, after: None }
}

#[test]
fn changed_files_of_a_repository_come_with_their_contents_before() {
    let folder = Folder::repository(&[("a.txt", "one\n"), ("b.txt", "two\n"), ("sub/c.txt", "three\n")]);
    // Changed and not staged, staged, untracked, and not changed since the commit.
    folder.write("a.txt", "one and a half\n");
    folder.write("d.txt", "four\n");
    let found = changes(&mut folder.open(), || {
        folder.write("a.txt", "1\n");
        folder.write("d.txt", "4\n");
        folder.write("new.txt", "5\n");
        fs::remove_file(folder.work().join("sub/c.txt")).unwrap();
    });
    let expected = vec![
        modified("a.txt", "one and a half\n", "1\n"),
        modified("d.txt", "four\n", "4\n"),
        created("new.txt", "5\n"),
        deleted("sub/c.txt", "three\n"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn folder_without_a_repository_has_snapshots_too() {
    let folder = Folder::new();
    folder.write(".gitignore", "made/\n");
    folder.write("a.txt", "one\n");
    folder.write("made/x.txt", "x\n");
    let found = changes(&mut folder.open(), || {
        folder.write("a.txt", "1\n");
        folder.write("made/x.txt", "y\n");
    });
    assert_eq!(found, vec![modified("a.txt", "one\n", "1\n")]);
}

#[test]
fn only_the_folder_itself_is_looked_at_in_a_larger_repository() {
    let folder = Folder::repository(&[("work/a.txt", "one\n"), ("other/b.txt", "two\n")]);
    folder.write(".gitignore", "*.log\n");
    let storage = folder.root.join("storage");
    let mut worktree = Worktree::open(&folder.work().join("work"), &storage).unwrap();
    let found = changes(&mut worktree, || {
        folder.write("work/a.txt", "1\n");
        folder.write("work/a.log", "1\n");
        folder.write("other/b.txt", "2\n");
    });
    assert_eq!(found, vec![modified("a.txt", "one\n", "1\n")]);
}

#[test]
fn bytes_come_back_as_they_were_whatever_git_makes_of_them() {
    let folder = Folder::new();
    folder.git(&["init", "--quiet"]);
    folder.git(&["config", "core.autocrlf", "true"]);
    folder.git(&["config", "filter.upper.clean", "tr a-z A-Z"]);
    folder.git(&["config", "filter.upper.smudge", "tr A-Z a-z"]);
    folder.write(
        ".gitattributes",
        "*.up filter=upper -text\n*.id ident\n*.crlf text eol=crlf\n*.utf16 working-tree-encoding=UTF-16LE\n",
    );
    let utf16: Vec<u8> = "wide\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let files: [(&str, &[u8]); 5] = [
        ("a.crlf", b"one\r\ntwo\r\n"),
        ("auto.txt", b"one\r\ntwo\r\n"),
        ("b.up", b"small letters\n"),
        ("c.id", b"$Id$ and more\n"),
        ("d.utf16", &utf16),
    ];
    for (path, bytes) in files {
        folder.write(path, bytes);
    }
    folder.commit();
    // What git wrote itself: with line ends of its own, and with the identifier filled in.
    for (path, _) in files {
        fs::remove_file(folder.work().join(path)).unwrap();
    }
    folder.git(&["checkout", "--quiet", "--", "."]);
    // Git reads files again that were written in the same second as the index, whatever it says of them.
    thread::sleep(Duration::from_millis(1_100));
    folder.write("later.txt", "later\n");
    folder.git(&["add", "later.txt"]);
    let now = files.map(|(path, _)| fs::read(folder.work().join(path)).unwrap());
    let found = changes(&mut folder.open(), || {
        for (path, _) in files {
            folder.write(path, "changed\n");
        }
    });
    let expected: Vec<Change> =
        files.iter().zip(&now).map(|((path, _), bytes)| modified(path, bytes, "changed\n")).collect();
    assert_eq!(found, expected);
}

#[test]
fn nested_repositories_are_covered_with_and_without_commits() {
    let folder = Folder::repository(&[("a.txt", "one\n")]);
    folder.write("with/b.txt", "two\n");
    git(&folder.work().join("with"), &["init", "--quiet"]);
    git(&folder.work().join("with"), &["add", "--all"]);
    let commit = ["-c", "user.name=T", "-c", "user.email=t@localhost", "commit", "--quiet", "-m", "All"];
    git(&folder.work().join("with"), &commit);
    folder.write("without/c.txt", "three\n");
    git(&folder.work().join("without"), &["init", "--quiet"]);
    let found = changes(&mut folder.open(), || {
        folder.write("a.txt", "1\n");
        folder.write("with/b.txt", "2\n");
        folder.write("without/c.txt", "3\n");
    });
    let expected = vec![
        modified("a.txt", "one\n", "1\n"),
        modified("with/b.txt", "two\n", "2\n"),
        modified("without/c.txt", "three\n", "3\n"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn state_of_the_users_repository_stays_as_it_is() {
    let folder = Folder::repository(&[("a.txt", "one\n"), ("b.txt", "two\n")]);
    folder.write("b.txt", "staged\n");
    folder.git(&["add", "b.txt"]);
    folder.write("c.txt", "untracked\n");
    let state = |folder: &Folder| {
        let mut files: Vec<(PathBuf, Vec<u8>)> = Vec::new();
        let mut left = vec![folder.work().join(".git")];
        while let Some(next) = left.pop() {
            for entry in fs::read_dir(next).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    left.push(path)
                } else {
                    files.push((path.clone(), fs::read(path).unwrap()))
                }
            }
        }
        files.sort();
        files
    };
    let before = state(&folder);
    let found = changes(&mut folder.open(), || folder.write("c.txt", "changed\n"));
    assert_eq!(found, vec![modified("c.txt", "untracked\n", "changed\n")]);
    assert_eq!(state(&folder), before);
}

#[test]
fn conflict_in_the_users_index_is_no_obstacle() {
    let folder = Folder::repository(&[("a.txt", "one\n")]);
    let user = ["-c", "user.name=T", "-c", "user.email=t@localhost"];
    folder.git(&["checkout", "--quiet", "-b", "other"]);
    folder.write("a.txt", "other\n");
    folder.commit();
    folder.git(&["checkout", "--quiet", "-"]);
    folder.write("a.txt", "this\n");
    folder.commit();
    let merged =
        Command::new("git").arg("-C").arg(folder.work()).args(user).args(["merge", "other"]).output();
    assert!(!merged.unwrap().status.success());
    let now = fs::read_to_string(folder.work().join("a.txt")).unwrap();
    assert!(now.contains("<<<<<<<"), "{now}");
    let found = changes(&mut folder.open(), || folder.write("a.txt", "resolved\n"));
    assert_eq!(found, vec![modified("a.txt", now, "resolved\n")]);
}

#[cfg(unix)]
#[test]
fn links_large_files_and_odd_names_are_told() {
    use std::os::unix::fs::symlink;
    let folder = Folder::repository(&[("a.txt", "one\n")]);
    let large = vec![b'x'; 5_000_001];
    folder.write("large.bin", &large);
    folder.write("sp ace\nline ü.txt", "odd\n");
    symlink("a.txt", folder.work().join("link")).unwrap();
    let found = changes(&mut folder.open(), || {
        folder.write("large.bin", [large.as_slice(), b"y"].concat());
        folder.write("sp ace\nline ü.txt", "odder\n");
        fs::remove_file(folder.work().join("link")).unwrap();
        // A folder where a file was.
        fs::remove_file(folder.work().join("a.txt")).unwrap();
        folder.write("a.txt/b.txt", "two\n");
    });
    let large = Change {
        path: "large.bin".to_owned(),
        kind: ChangeKind::Modified,
        before: Some(Before::NotKept),
        after: None,
    };
    let link = Change {
        path: "link".to_owned(),
        kind: ChangeKind::Deleted,
        before: Some(Before::Link),
        after: None,
    };
    let expected = vec![
        deleted("a.txt", "one\n"),
        created("a.txt/b.txt", "two\n"),
        large,
        link,
        modified("sp ace\nline ü.txt", "odd\n", "odder\n"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn many_changes_come_in_pages_each_once() {
    let folder = Folder::new();
    let text = "x".repeat(200_000);
    for number in 0..130 {
        folder.write(&format!("{number:03}.txt"), format!("{number} {text}"));
    }
    let mut worktree = folder.open();
    let from = snapshot(&mut worktree);
    for number in 0..130 {
        folder.write(&format!("{number:03}.txt"), "short");
    }
    let to = snapshot(&mut worktree);
    let (mut pages, mut found, mut after): (usize, Vec<String>, Option<String>) = Default::default();
    loop {
        let page = worktree.changes(&from, &to, after.as_deref()).unwrap();
        pages += 1;
        found.extend(page.changes.into_iter().map(|change| change.path));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(pages, 3);
    assert_eq!(found, (0..130).map(|number| format!("{number:03}.txt")).collect::<Vec<_>>());
}

#[test]
fn what_cannot_have_snapshots_says_why() {
    let folder = Folder::new();
    let open = |path: &Path| Worktree::open(path, &folder.root.join("storage")).map(drop);
    assert!(matches!(open(Path::new("/")), Err(Unavailable::TooWide)));
    assert!(matches!(open(&folder.work().join("nothing")), Err(Unavailable::NoFolder(_))));
    let (one, two) = (SnapshotId("1".to_owned()), SnapshotId("2".to_owned()));
    let error = folder.open().changes(&one, &two, None).unwrap_err();
    assert_eq!(error.to_string(), "snapshot 1 is not known");
}

#[test]
fn file_that_is_ignored_no_longer_is_not_taken_for_a_new_one() {
    let folder = Folder::repository(&[(".gitignore", ".env\nmade/\n"), ("a.txt", "one\n")]);
    folder.write(".env", "secret\n");
    folder.write("made/b.txt", "two\n");
    thread::sleep(Duration::from_millis(200));
    let found = changes(&mut folder.open(), || {
        folder.write(".gitignore", "");
        folder.write("new.txt", "three\n");
    });
    assert_eq!(found, vec![modified(".gitignore", ".env\nmade/\n", ""), created("new.txt", "three\n")]);
}

#[cfg(unix)]
#[test]
fn folder_replaced_by_a_link_is_told_and_stands_in_nobodys_way() {
    use std::os::unix::fs::symlink;
    let folder = Folder::repository(&[("lib/b.txt", "one\n"), ("pk/b.txt", "two\n"), ("a.txt", "three\n")]);
    let mut worktree = folder.open();
    let found = changes(&mut worktree, || {
        fs::remove_dir_all(folder.work().join("lib")).unwrap();
        symlink("pk", folder.work().join("lib")).unwrap();
    });
    let link = Change { path: "lib".to_owned(), kind: ChangeKind::Created, before: None, after: None };
    assert_eq!(found, vec![link, deleted("lib/b.txt", "one\n")]);
    let found = changes(&mut worktree, || folder.write("a.txt", "3\n"));
    assert_eq!(found, vec![modified("a.txt", "three\n", "3\n")]);
}

#[test]
fn too_many_nested_repositories_are_no_snapshot() {
    let folder = Folder::repository(&[("a.txt", "one\n")]);
    for number in 0..33 {
        folder.write(&format!("{number}/b.txt"), "two\n");
        git(&folder.work().join(number.to_string()), &["init", "--quiet"]);
    }
    let taken = folder.open().snapshot(SnapshotId("1".to_owned()));
    assert_eq!(taken.unwrap_err().to_string(), "more than 32 repositories are nested in it");
}

#[test]
fn lock_that_an_ended_run_left_is_no_obstacle() {
    let folder = Folder::repository(&[("a.txt", "one\n")]);
    let mut worktree = folder.open();
    let from = snapshot(&mut worktree);
    let place = fs::read_dir(folder.root.join("storage/snapshots")).unwrap().next().unwrap().unwrap().path();
    let index = fs::read_dir(place.join("index")).unwrap().next().unwrap().unwrap().path();
    fs::write(index.join("0.lock"), "").unwrap();
    folder.write("a.txt", "1\n");
    let to = snapshot(&mut worktree);
    assert_eq!(worktree.changes(&from, &to, None).unwrap().changes, vec![modified("a.txt", "one\n", "1\n")]);
}

#[test]
fn storage_in_the_folder_is_left_out() {
    for storage in ["", "kept"] {
        let folder = Folder::new();
        folder.write("a.txt", "one\n");
        let mut worktree = Worktree::open(&folder.work(), &folder.work().join(storage)).unwrap();
        let found = changes(&mut worktree, || {
            folder.write("a.txt", "1\n");
            folder.write("kept/store.db", "rows");
        });
        let others = if storage.is_empty() { vec![created("kept/store.db", "rows")] } else { Vec::new() };
        assert_eq!(found, [vec![modified("a.txt", "one\n", "1\n")], others].concat());
    }
}

#[test]
fn two_processes_share_the_place_and_the_last_one_leaves_no_index() {
    let folder = Folder::repository(&[("a.txt", "one\n")]);
    let (mut one, mut other) = (folder.open(), folder.open());
    let from = (snapshot(&mut one), snapshot(&mut other));
    folder.write("a.txt", "1\n");
    let to = (snapshot(&mut one), snapshot(&mut other));
    let expected = vec![modified("a.txt", "one\n", "1\n")];
    assert_eq!(one.changes(&from.0, &to.0, None).unwrap().changes, expected);
    assert_eq!(other.changes(&from.1, &to.1, None).unwrap().changes, expected);
    drop((one, other));
    let place = fs::read_dir(folder.root.join("storage/snapshots")).unwrap().next().unwrap().unwrap().path();
    assert_eq!(fs::read_dir(place.join("index")).unwrap().count(), 0);
}
