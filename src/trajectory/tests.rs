//! Trajectory files are written atomically, private to their user, and left alone if they are somebody
//! else's.

use super::{FileContent, FileError, Folder};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let name = format!("trajectory-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(format!("threadhold-{name}"));
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn folder(&self) -> Folder {
        Folder::of(self.0.to_str().expect("a path of text")).expect("it is absolute")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// Makes the test binary wait for its input instead of testing.
const WAITS: &str = "THREADHOLD_TEST_WAITS";

/// Spawns a process that lives until it is killed: this test binary, whose one test waits for its input.
fn another_process() -> Child {
    Command::new(std::env::current_exe().expect("a path"))
        .args(["trajectory::tests::file_is_written_whole_under_its_own_name_alone", "--exact"])
        .env(WAITS, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a process")
}

#[test]
fn file_is_written_whole_under_its_own_name_alone() {
    if std::env::var_os(WAITS).is_some() {
        let _ = std::io::stdin().read(&mut [0]);
        return;
    }
    let scratch = Scratch::new("names");
    let folder = scratch.folder();
    assert_eq!(folder.ids(), Ok(Vec::new()));
    assert_eq!(folder.read("s"), Ok(None));
    for bad in ["", "a/b", "..", "a.b", "ä", &"x".repeat(129)] {
        assert_eq!(folder.write(bad, b"{}"), Err(FileError::Name(bad.to_owned())));
    }
    // The next write removes what a killed process left.
    folder.write("s", b"{}").expect("it is written");
    // No process has this id.
    let left = folder.path().join(".s.999999999.tmp");
    let mut other = another_process();
    let lives = folder.path().join(format!(".s.{}.tmp", other.id()));
    fs::write(&left, "half").expect("a file");
    fs::write(&lives, "half").expect("a file");
    folder.write("s", br#"{"id":"s","messages":[]}"#).expect("it is written");
    assert!(!left.exists());
    assert!(lives.exists(), "another process writes there");
    other.kill().expect("it still runs");
    other.wait().expect("it ends");
    assert_eq!(folder.ids(), Ok(vec!["s".to_owned()]));
    let held = folder.read("s").expect("it is read").expect("it is there");
    assert_eq!(held.trajectory("s").map(|found| found.messages.len()), Ok(0));
    let other = FileError::OtherId { name: "t".into(), found: "s".into() };
    assert_eq!(held.trajectory("t"), Err(other.clone()));
    assert!(other.to_string().contains("rename it to \"s\".json"), "{other}");
    // Another session's file is not removed with this one.
    fs::write(folder.path().join("t.json"), &held.bytes).expect("a file");
    assert_eq!(folder.remove("t"), Err(other));
    assert_eq!(folder.remove("s"), Ok(true));
    assert!(!lives.exists(), "a session's temporary files are removed with it");
    assert_eq!(folder.remove("s"), Ok(false));
    assert_eq!(folder.ids(), Ok(vec!["t".to_owned()]));
    assert_eq!(FileContent::of(held.bytes.clone()), held);
}

/// Conversations are private: other users cannot read the files, and git ignores them.
#[cfg(unix)]
#[test]
fn written_file_is_private_to_its_user() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    let scratch = Scratch::new("modes");
    let folder = scratch.folder();
    folder.write("s", b"{}").expect("it is written");
    assert_eq!(mode(&folder.path().join("s.json")), 0o600);
    assert_eq!((mode(&folder.path()), mode(&scratch.0.join(".threadhold"))), (0o700, 0o700));
    let ignored = scratch.0.join(".threadhold/.gitignore");
    assert_eq!(fs::read_to_string(&ignored).expect("it is there"), "/.gitignore\n/trajectories/\n");

    // A folder that the user made gets no `.gitignore`.
    let scratch = Scratch::new("modes-theirs");
    fs::create_dir(scratch.0.join(".threadhold")).expect("a folder");
    scratch.folder().write("s", b"{}").expect("it is written");
    assert!(!scratch.0.join(".threadhold/.gitignore").exists());
}

#[cfg(unix)]
#[test]
fn links_are_neither_read_nor_followed() {
    use std::os::unix::fs::symlink;
    let elsewhere = Scratch::new("elsewhere");
    let target = elsewhere.0.join("target.json");
    fs::write(&target, r#"{"id":"s","messages":[]}"#).expect("a file");

    let scratch = Scratch::new("links");
    let folder = scratch.folder();
    fs::create_dir_all(folder.path()).expect("a folder");
    let file = folder.path().join("s.json");
    symlink(&target, &file).expect("a link");
    assert_eq!(folder.read("s"), Err(FileError::Link(file.clone())));
    assert_eq!(folder.write("s", b"{}"), Err(FileError::Link(file)));

    for at in [scratch.0.join(".threadhold"), folder.path()] {
        drop(fs::remove_dir_all(scratch.0.join(".threadhold")));
        fs::create_dir_all(at.parent().expect("a folder")).expect("a folder");
        symlink(&elsewhere.0, &at).expect("a link");
        assert_eq!(folder.read("s"), Err(FileError::Link(at.clone())));
        assert_eq!(folder.write("s", b"{}"), Err(FileError::Link(at.clone())));
        assert_eq!(folder.ids(), Err(FileError::Link(at.clone())));
        fs::remove_file(&at).expect("the link goes");
    }
    assert_eq!(fs::read_to_string(&target).expect("it is there"), r#"{"id":"s","messages":[]}"#);
    let names: Vec<_> =
        fs::read_dir(&elsewhere.0).expect("a folder").flatten().map(|e| e.file_name()).collect();
    assert_eq!(names, ["target.json"]);
}
