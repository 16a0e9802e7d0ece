//! Disk faults during turns: a full disk, a read-only folder, a locked file, a flipped byte, a truncated
//! file. Each is reported by its cause, acknowledged messages stay, and the process survives.

use super::driver::{Chance, Process};
use crate::wire::script::Folder;
use engine::message::unreadable::UNREADABLE_TEXT;
use rusqlite::Connection;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SETTINGS: &str = r#"{ "model": { "name": "m", "window": 400000 }, "titles": "request" }"#;

/// A client of one process, with a model that always gives the same answer.
struct Client {
    life: Process,
    log: Vec<Value>,
}

impl Client {
    fn over(life: Process, store: &Path) -> Self {
        let mut client = Self { life, log: Vec::new() };
        let settings: Value = serde_json::from_str(SETTINGS).expect("JSON");
        client.life.greet(&json!({ "path": store }), &settings);
        client
    }

    fn start(folder: &Folder) -> Self {
        Self::over(Process::new(), folder.path())
    }

    fn call(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let log = &mut self.log;
        let answered = self.life.call(method, params, |life, frame| {
            if frame["method"] == "model/complete" {
                life.says(frame, "Here it is.", &json!([]));
            }
            log.push(frame.clone());
        });
        answered.expect("the process lives")
    }

    fn open(&mut self) -> Result<Value, Value> {
        let params = json!({ "workspaceFolder": "/code/parser", "sessionId": "s" });
        self.call("session/open", params).map(|mut opened| opened["snapshot"].take())
    }

    /// Runs a turn and returns the event that ends it.
    fn turn(&mut self, content: &str) -> Result<Value, Value> {
        let started = self.call("turn/start", json!({ "sessionId": "s", "content": content }))?;
        loop {
            let at = |frame: &Value| {
                frame["params"]["turnId"] == started["turnId"] && frame["params"].get("status").is_some()
            };
            if let Some(frame) = self.log.iter().find(|frame| at(frame)) {
                return Ok(frame["params"].clone());
            }
            let frame = self.life.next().expect("the process lives");
            if frame["method"] == "model/complete" {
                self.life.says(&frame, "Here it is.", &json!([]));
            }
            self.log.push(frame);
        }
    }

    /// Fails with the turn's error unless it completed and was stored.
    fn is_kept(&mut self, content: &str) -> Result<(), Value> {
        let ended = self.turn(content)?;
        if ended["status"] == "completed" { Ok(()) } else { Err(ended["error"].clone()) }
    }
}

/// The user's messages in order.
fn requests(snapshot: &Value) -> Vec<String> {
    let messages = snapshot["messages"].as_array().expect("messages").iter();
    let of_user = messages.filter(|message| message["role"] == "user");
    of_user.map(|message| message["parts"][0]["text"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Roles and texts in order, without events: a note in the place of a lost message does not count.
fn said(snapshot: &Value) -> Vec<(String, String)> {
    let messages = snapshot["messages"].as_array().expect("messages").iter();
    let messages = messages.filter(|message| message["role"] != "event");
    messages.map(|message| (message["role"].to_string(), message["parts"].to_string())).collect()
}

fn cause(error: &Value) -> &str {
    error["data"]["cause"].as_str().unwrap_or_else(|| panic!("no cause: {error}"))
}

/// Starts the sidecar in its own mount namespace, after this shell command.
fn within(folder: &Path, done: &str) -> Process {
    let script = format!("{done} && exec \"$BINARY\" serve");
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]);
    Process::of(command.env("FOLDER", folder).env("BINARY", env!("CARGO_BIN_EXE_threadhold")))
}

/// The path of that process's view of the folder.
fn seen_by(life: &Process, folder: &Path) -> PathBuf {
    PathBuf::from(format!("/proc/{}/root{}", life.pid(), folder.display()))
}

#[test]
fn full_disk_fails_a_turn_and_loses_nothing() {
    let folder = Folder::new("fire-full");
    fs::create_dir_all(folder.path()).expect("a folder");
    let life = within(folder.path(), "mount -t tmpfs -o size=2m none \"$FOLDER\"");
    let mut client = Client::over(life, folder.path());
    client.open().expect("it opens");
    client.is_kept("The first.").expect("there is room");
    let inside = seen_by(&client.life, folder.path());
    let filler = inside.join("filler");
    let fill = || {
        use std::io::Write as _;
        let mut file = fs::File::create(&filler).expect("a file");
        while file.write_all(&[0; 4096]).is_ok() {}
    };
    fill();
    let mut kept = vec!["The first.".to_owned()];
    let mut refusal = Value::Null;
    for n in 0..40 {
        let words = format!("Number {n}. {}", "much is said here, ".repeat(200));
        match client.is_kept(&words) {
            Ok(()) => kept.push(words),
            Err(error) => {
                refusal = error;
                break;
            }
        }
    }
    assert_eq!(cause(&refusal), "full", "{refusal}");
    fs::remove_file(&filler).expect("room is made");
    client.is_kept("After room was made.").expect("the next write tries again");
    kept.push("After room was made.".into());
    let shown = requests(
        &client.call("session/subscribe", json!({ "sessionId": "s" })).expect("a snapshot")["snapshot"],
    );
    // The message of the failed turn may be there or not; accepted ones must be.
    let is_kept = |said: &[String]| kept.iter().all(|words| said.contains(words));
    assert!(is_kept(&shown), "{shown:?}");
    let copy = Folder::new("fire-full-copy");
    fs::create_dir_all(copy.path()).expect("a folder");
    for file in fs::read_dir(&inside).expect("the folder") {
        let file = file.expect("a file").path();
        if file.is_file() {
            fs::copy(&file, copy.path().join(file.file_name().expect("a name"))).expect("it is copied");
        }
    }
    drop(client);
    let mut client = Client::start(&copy);
    assert_eq!(requests(&client.open().expect("it opens")), shown, "a new process sees the same");
}

#[test]
fn read_only_folder_is_reported_and_usable_afterwards() {
    let folder = Folder::new("fire-readonly");
    let mut client = Client::start(&folder);
    client.open().expect("it opens");
    client.is_kept("The first.").expect("it is kept");
    drop(client);
    let bind = "mount --bind \"$FOLDER\" \"$FOLDER\" && mount -o remount,bind,ro \"$FOLDER\"";
    let mut client = Client::over(within(folder.path(), bind), folder.path());
    let refused = match client.open() {
        Err(error) => error,
        Ok(snapshot) => {
            assert_eq!(requests(&snapshot), ["The first."]);
            client.is_kept("The second.").expect_err("nothing can be kept")
        }
    };
    assert_eq!(cause(&refused), "readOnly", "{refused}");
    drop(client);
    let mut client = Client::start(&folder);
    assert_eq!(requests(&client.open().expect("it opens")), ["The first."]);
    client.is_kept("The second.").expect("it is kept");
}

#[test]
fn locked_file_is_reported_and_turns_work_once_released() {
    let folder = Folder::new("fire-locked");
    let mut client = Client::start(&folder);
    client.open().expect("it opens");
    client.is_kept("The first.").expect("it is kept");
    let other = Connection::open(folder.path().join("threadhold.db")).expect("the file");
    other.execute_batch("BEGIN IMMEDIATE").expect("it is locked");
    let refused = client.is_kept("The second.").expect_err("nothing can be kept");
    assert_eq!(cause(&refused), "locked", "{refused}");
    other.execute_batch("ROLLBACK").expect("it is free");
    client.is_kept("The third.").expect("it is kept");
    drop(client);
    let said = requests(&Client::start(&folder).open().expect("it opens"));
    assert!(
        said.iter().any(|words| words == "The first.") && said.iter().any(|words| words == "The third."),
        "{said:?}"
    );
}

/// An answer that cannot be stored is reported, and stored as soon as possible without any request.
#[test]
fn unstored_answer_is_reported_and_stored_later() {
    let folder = Folder::new("fire-answer");
    let mut client = Client::start(&folder);
    client.open().expect("it opens");
    let started =
        client.life.call("turn/start", json!({ "sessionId": "s", "content": "What is it?" }), |_, frame| {
            client.log.push(frame.clone())
        });
    let started = started.expect("the process lives").expect("it is taken");
    let asked = loop {
        let known = client.log.iter().find(|frame| frame["method"] == "model/complete").cloned();
        match known {
            Some(asked) => break asked,
            None => client.log.push(client.life.next().expect("the process lives")),
        }
    };
    let other = Connection::open(folder.path().join("threadhold.db")).expect("the file");
    other.execute_batch("BEGIN IMMEDIATE").expect("it is locked");
    client.life.says(&asked, "A precious answer.", &json!([]));
    let ended = loop {
        let frame = client.life.next().expect("the process lives");
        let params = &frame["params"];
        if params["turnId"] == started["turnId"] && params["error"].is_object() {
            break params.clone();
        }
    };
    assert_eq!((&ended["state"], &ended["status"]), (&json!("error"), &json!("failed")));
    assert_eq!(ended["error"]["data"]["kind"], "StorageError", "{ended}");
    assert_eq!(cause(&ended["error"]), "locked", "{ended}");
    other.execute_batch("ROLLBACK").expect("it is free");
    // No request is sent: the file is polled from outside.
    let kept = || {
        let count =
            "SELECT count(*) FROM chat_messages WHERE segment = 's' AND body LIKE '%A precious answer.%'";
        other.query_row(count, [], |row| row.get::<_, u32>(0)).expect("a count")
    };
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(120);
    while kept() == 0 {
        assert!(std::time::Instant::now() < deadline, "the answer was never stored");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    drop(client);
    let mut client = Client::start(&folder);
    let snapshot = client.open().expect("it opens");
    // The state that was reported.
    assert_eq!(snapshot["state"], "error", "{snapshot}");
    assert!(said(&snapshot).iter().any(|(_, words)| words.contains("A precious answer.")), "{snapshot}");
}

/// Counts of outcomes with damaged files.
#[derive(Debug, Default)]
struct Damaged {
    whole: u32,
    in_part: u32,
    refused: u32,
}

impl Damaged {
    /// Opens the session on a damaged file: all messages are there, or a part and a report, or an error names
    /// the cause.
    fn look(&mut self, folder: &Folder, whole: &[(String, String)]) {
        let mut client = Client::start(folder);
        let params = json!({ "workspaceFolder": "/code/parser", "sessionId": "s" });
        match client.call("session/open", params) {
            Ok(opened) => {
                let said = said(&opened["snapshot"]);
                if said == whole {
                    self.whole += 1;
                } else {
                    // A note stands in the place of a message that cannot be read.
                    let is_other =
                        |said: &&(String, String)| !said.1.contains(UNREADABLE_TEXT) && !whole.contains(said);
                    let others: Vec<_> = said.iter().filter(is_other).collect();
                    assert!(others.is_empty(), "changed messages: {others:?}");
                    let unreadable = opened["restore"]["unreadable"].as_array();
                    let is_told = unreadable.is_some_and(|told| !told.is_empty());
                    let gone: Vec<_> = whole.iter().filter(|words| !said.contains(words)).collect();
                    let (left, were) = (said.len(), whole.len());
                    assert!(is_told, "{left} of {were} are left without a report: {gone:?} is missing");
                    self.in_part += 1;
                }
            }
            Err(error) => {
                assert!(["corrupt", "unavailable"].contains(&cause(&error)), "{error}");
                self.refused += 1;
            }
        }
        client.call("server/diagnostics", json!({})).expect("the process lives");
    }
}

/// Writes a session of eighty turns and closes it; returns its messages and the file's bytes.
fn filled(folder: &Folder) -> (Vec<(String, String)>, Vec<u8>) {
    let mut client = Client::start(folder);
    client.open().expect("it opens");
    for n in 0..80 {
        client.is_kept(&format!("Number {n}. {}", "some words ".repeat(40))).expect("it is kept");
    }
    let subscribed = client.call("session/subscribe", json!({ "sessionId": "s" })).expect("a snapshot");
    let words = said(&subscribed["snapshot"]);
    assert_eq!(words.len(), 160);
    client.call("shutdown", Value::Null).expect("it shuts down");
    client.life.notify("exit", Value::Null);
    while client.life.next().is_some() {}
    let bytes = fs::read(folder.path().join("threadhold.db")).expect("the file");
    (words, bytes)
}

#[test]
fn flipped_bit_never_changes_a_message() {
    let folder = Folder::new("fire-flipped");
    let (words, bytes) = filled(&folder);
    let (mut chance, mut seen) = (Chance(7), Damaged::default());
    for _ in 0..60 {
        let mut damaged = bytes.clone();
        let at = chance.below(bytes.len() as u64) as usize;
        damaged[at] ^= 1 << chance.below(8);
        fs::write(folder.path().join("threadhold.db"), &damaged).expect("it is written");
        seen.look(&folder, &words);
    }
    println!("flipped: {seen:?}");
    assert!(seen.whole > 0, "{seen:?}");
}

#[test]
fn truncated_file_is_reported() {
    let folder = Folder::new("fire-truncated");
    let (words, bytes) = filled(&folder);
    let mut seen = Damaged::default();
    for part in 1..20 {
        let cut = bytes.len() * part / 20;
        fs::write(folder.path().join("threadhold.db"), &bytes[..cut]).expect("it is written");
        seen.look(&folder, &words);
        assert_eq!(
            fs::read(folder.path().join("threadhold.db")).map(|left| left.len()).ok(),
            Some(cut),
            "left as it is"
        );
    }
    println!("truncated: {seen:?}");
    assert_eq!(seen.whole, 0, "{seen:?}");
}
