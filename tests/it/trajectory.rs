//! Trajectories as files: what goes out comes in again as it was, with what others keep in it; a file that is somebody
//! else's is left as it is. What a session does with one is tested over the wire.

use super::invariants::generate;
use engine::id::SessionId;
use engine::message::Body;
use engine::tokens::QuarterOfChars;
use engine::transcript::Transcript;
use import::trajectory::{Content, Trajectory, read, write};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use threadhold::trajectory::{FileError, Folder, Held};

fn content(transcript: &Transcript) -> Content {
    Content {
        id: "s".into(),
        title: Some("A title".into()),
        created_at: "2026-01-02T03:04:05.006Z".into(),
        updated_at: "2026-01-02T03:04:06.007Z".into(),
        messages: transcript.messages().to_vec(),
        summaries: Vec::new(),
    }
}

/// A file as a session without messages takes it in.
fn restored(file: &Trajectory) -> Transcript {
    let mut transcript = Transcript::new(SessionId::new("s"));
    for (begins, kept) in file.begins() {
        let message = kept.message.clone();
        match (begins, &message.body) {
            (Some(true), _) => transcript.append_turn(message, &QuarterOfChars),
            (Some(false), Body::User(_)) => transcript.inject(message, &QuarterOfChars),
            _ => transcript.append(message, &QuarterOfChars),
        };
    }
    transcript
}

/// What nobody here knows, put into a file and into some of its messages.
fn with_others(text: &str, each: &[bool]) -> Value {
    let mut file: Value = serde_json::from_str(text).expect("JSON");
    file["mode"] = json!({ "agent": [1, null, "漢字"] });
    file["frozen_request_prefix"] = json!("kept");
    let messages = file["messages"].as_array_mut().expect("a list");
    for (message, _) in messages.iter_mut().zip(each).filter(|(_, has)| **has) {
        message["checkpoints"] = json!([{ "commit": "deadbeef" }]);
        message["finish_reason"] = Value::Null;
    }
    file
}

fn others_of(file: &Value) -> Value {
    let kept = ["mode", "frozen_request_prefix"].map(|key| file[key].clone());
    let each = file["messages"].as_array().expect("a list").iter();
    let each = each.map(|message| [message["checkpoints"].clone(), message["finish_reason"].clone()]);
    json!([kept, each.collect::<Vec<_>>()])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// rows: R46
    #[test]
    fn what_goes_into_a_file_comes_out_as_it_was(
        entries in generate::entries(1..4, 4), each in prop::collection::vec(any::<bool>(), 0..12),
    ) {
        let transcript = generate::import(entries, false).into_transcript(SessionId::new("s"), &QuarterOfChars);
        let content = content(&transcript);
        let first = write(&content, None);
        let file = with_others(&first, &each);
        let found = read(file.to_string().as_bytes()).expect("it is one");
        prop_assert_eq!(&found.skipped, &vec![]);
        prop_assert!(found.is_as_written);
        prop_assert_eq!(found.messages.len(), transcript.messages().len());

        let again = restored(&found);
        prop_assert_eq!(again.turns(), transcript.turns());
        prop_assert_eq!(again.rounds(), transcript.rounds());
        for (again, message) in again.messages().iter().zip(transcript.messages()) {
            prop_assert_eq!(again, message);
        }

        // Written over the file, what others keep in it is there as before, and the version rose.
        let second: Value = serde_json::from_str(&write(&content, Some(&found))).expect("JSON");
        prop_assert_eq!(others_of(&second), others_of(&file));
        prop_assert_eq!(&second["version"], &json!(2));
        let mut same = second.clone();
        same["version"] = json!(1);
        for key in ["mode", "frozen_request_prefix"] {
            same.as_object_mut().expect("an object").shift_remove(key);
        }
        for message in same["messages"].as_array_mut().expect("a list") {
            for key in ["checkpoints", "finish_reason"] {
                message.as_object_mut().expect("an object").shift_remove(key);
            }
        }
        prop_assert_eq!(same, serde_json::from_str::<Value>(&first).expect("JSON"));

        // Without the file, a session that took it in has them too.
        let mut fresh = Transcript::new(SessionId::new("s"));
        let keys = found.source_keys();
        prop_assert!(keys.is_some());
        let said = found.messages.iter().map(|kept| kept.message.clone());
        keys.into_iter().chain(said).for_each(|message| {
            fresh.append(message, &QuarterOfChars);
        });
        let third = write(&Content { messages: fresh.messages().to_vec(), ..content }, None);
        let third: Value = serde_json::from_str(&third).expect("JSON");
        prop_assert_eq!(others_of(&third), others_of(&file));
    }
}

/// rows: R46
#[test]
fn a_message_that_cannot_be_read_costs_no_other_and_stays_in_the_file() {
    let bad = json!({ "role": "user", "parts": 7 });
    let half =
        json!({ "role": "user", "parts": [{ "type": "text", "text": "Half." }, { "type": "hologram" }] });
    let file = json!({
        "id": "s", "messages": [bad, { "role": "user", "content": "Whole." }, 9, half, { "role": "assistant", "content": "Yes." }],
    });
    let found = read(file.to_string().as_bytes()).expect("it is one");
    let said: Vec<String> = found
        .messages
        .iter()
        .map(|kept| kept.message.body.texts().into_iter().map(|text| &**text).collect())
        .collect();
    assert_eq!(said, ["Whole.", "Half.", "Yes."]);
    let places: Vec<&str> = found.skipped.iter().map(|skipped| &*skipped.place).collect();
    assert_eq!(places, ["messages[0]", "messages[2]", "messages[3], content[1]"]);
    assert_eq!(found.gaps, [0, 1]);
    assert!(!found.is_as_written);
    let written = write(&content(&restored(&found)), Some(&found));
    let written: Value = serde_json::from_str(&written).expect("JSON");
    assert_eq!(written["unreadable"], json!([bad, 9, half]));
    // Once more, and nothing is there twice.
    let found = read(written.to_string().as_bytes()).expect("it is one");
    let again: Value = serde_json::from_str(&write(&content(&restored(&found)), Some(&found))).expect("JSON");
    assert_eq!(again["unreadable"], written["unreadable"]);
    assert_eq!(again["messages"], written["messages"]);
}

/// What no trajectory is, is said with its place; a file without an id is nobody's.
#[test]
fn what_is_no_trajectory_is_an_error_that_says_why() {
    let cases = [
        ("{", "is not JSON"),
        ("[]", "is no object"),
        (r#"{"messages": []}"#, "`id`"),
        (r#"{"id": "s", "messages": {}}"#, "`messages`"),
    ];
    for (text, said) in cases {
        let error = read(text.as_bytes()).expect_err("it is none").to_string();
        assert!(error.contains(said), "{error}");
    }
}

struct Ground(PathBuf);

impl Ground {
    fn new(name: &str) -> Self {
        let name = format!("trajectory-{name}-{}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn folder(&self) -> Folder {
        Folder::of(self.0.to_str().expect("a path of text")).expect("it is absolute")
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// rows: R45 R48
#[test]
fn a_file_is_written_whole_under_its_sessions_name_and_under_no_other() {
    let ground = Ground::new("names");
    let folder = ground.folder();
    assert_eq!(folder.ids(), Ok(Vec::new()));
    assert_eq!(folder.read("s"), Ok(None));
    for bad in ["", "a/b", "..", "a.b", "ä", &"x".repeat(129)] {
        assert_eq!(folder.write(bad, b"{}"), Err(FileError::Name(bad.to_owned())));
    }
    // What a killed process left is cleared away with the next write.
    folder.write("s", b"{}").expect("it is written");
    // No process has such a number.
    let left = folder.path().join(".s.999999999.tmp");
    let begun = std::process::Command::new(env!("CARGO_BIN_EXE_threadhold"))
        .arg("serve")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn();
    let mut other = begun.expect("a process");
    let lives = folder.path().join(format!(".s.{}.tmp", other.id()));
    fs::write(&left, "half").expect("a file");
    fs::write(&lives, "half").expect("a file");
    folder.write("s", br#"{"id":"s","messages":[]}"#).expect("it is written");
    assert!(!left.exists());
    assert!(lives.exists(), "another process writes there");
    drop(other.kill());
    drop(other.wait());
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
    assert!(!lives.exists(), "nothing is left of a session that goes");
    assert_eq!(folder.remove("s"), Ok(false));
    assert_eq!(folder.ids(), Ok(vec!["t".to_owned()]));
    assert_eq!(Held::of(held.bytes.clone()), held);
}

/// What was said is its user's: others on the machine cannot read it, and git does not see it.
///
/// rows: R45
#[cfg(unix)]
#[test]
fn what_is_written_is_for_its_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    let ground = Ground::new("modes");
    let folder = ground.folder();
    folder.write("s", b"{}").expect("it is written");
    assert_eq!(mode(&folder.path().join("s.json")), 0o600);
    assert_eq!((mode(&folder.path()), mode(&ground.0.join(".threadhold"))), (0o700, 0o700));
    let ignored = ground.0.join(".threadhold/.gitignore");
    assert_eq!(fs::read_to_string(&ignored).expect("it is there"), "/.gitignore\n/trajectories/\n");

    // A folder that somebody made is theirs.
    let ground = Ground::new("modes-theirs");
    fs::create_dir(ground.0.join(".threadhold")).expect("a folder");
    ground.folder().write("s", b"{}").expect("it is written");
    assert!(!ground.0.join(".threadhold/.gitignore").exists());
}

/// rows: R48
#[cfg(unix)]
#[test]
fn no_link_is_read_or_written_through() {
    use std::os::unix::fs::symlink;
    let elsewhere = Ground::new("elsewhere");
    let target = elsewhere.0.join("target.json");
    fs::write(&target, r#"{"id":"s","messages":[]}"#).expect("a file");

    let ground = Ground::new("links");
    let folder = ground.folder();
    fs::create_dir_all(folder.path()).expect("a folder");
    let file = folder.path().join("s.json");
    symlink(&target, &file).expect("a link");
    assert_eq!(folder.read("s"), Err(FileError::Link(file.clone())));
    assert_eq!(folder.write("s", b"{}"), Err(FileError::Link(file)));

    for at in [ground.0.join(".threadhold"), folder.path()] {
        drop(fs::remove_dir_all(ground.0.join(".threadhold")));
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
