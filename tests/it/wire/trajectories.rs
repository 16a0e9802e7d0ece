//! Sessions as files of their workspace, with the built binary: written at the end of a turn, opened again by
//! id and by file, exported and imported. Outside changes are in `trajectories_from_outside`.

use super::client::{Client, DEADLINE, Start, Wire};
use super::script::{Editor, Folder, calls, prose, says, sections, tools};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A workspace, and a folder beside it for several stores.
pub struct Workspace {
    folder: Folder,
}

impl Workspace {
    pub fn new(name: &str) -> Self {
        let ground = Self { folder: Folder::new(&format!("trajectories-{name}")) };
        fs::create_dir_all(ground.work()).expect("a folder");
        ground
    }

    /// The workspace.
    pub fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// Starts an editor with the store of this name.
    pub fn editor(&self, store: &str, settings: Value) -> Editor {
        let mut client: Client = Start::new(Wire::Pipes).start();
        client.initialize(json!({
            "capabilities": {},
            "initializationOptions": { "threadhold": {
                "protocolVersion": 1,
                "storage": { "path": self.folder.path().join(store) },
                "capabilities": { "modelComplete": true, "toolInvoke": true },
                "settings": settings,
            } },
        }));
        Editor {
            client,
            answers: Default::default(),
            summaries: super::script::Summaries::Good,
            asked: Vec::new(),
            ran: Vec::new(),
        }
    }

    pub fn open(&self, editor: &mut Editor, session: &str) -> Value {
        let params = json!({
            "workspaceFolder": self.work(), "sessionId": session, "tools": tools(), "sections": sections(),
        });
        editor.call("session/open", params)
    }

    pub fn file(&self, session: &str) -> PathBuf {
        self.work().join(".threadhold/trajectories").join(format!("{session}.json"))
    }

    /// The session's file, if there is valid JSON.
    pub fn read(&self, session: &str) -> Option<Value> {
        serde_json::from_slice(&fs::read(self.file(session)).ok()?).ok()
    }

    /// Replaces the file at once, as another program would.
    pub fn write(&self, session: &str, file: &Value) {
        let (path, new) = (self.file(session), self.file(session).with_extension("new"));
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&new, format!("{file:#}")).expect("a file");
        fs::rename(new, path).expect("a file");
    }

    /// Waits until the file matches.
    pub fn wait(&self, session: &str, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let now = self.read(session);
            if let Some(file) = now.as_ref().filter(|file| is_it(file)) {
                return file.clone();
            }
            assert!(Instant::now() < deadline, "waited in vain for {what}: {now:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

pub fn on() -> Value {
    json!({ "trajectory": "workspace", "model": { "name": "m", "window": 8000 } })
}

/// The texts of a file's messages.
pub fn texts(file: &Value) -> Vec<String> {
    let messages = file["messages"].as_array().into_iter().flatten();
    messages.map(|message| message["parts"][0]["text"].as_str().unwrap_or_default().to_owned()).collect()
}

pub fn says_n(n: usize) -> impl Fn(&Value) -> bool {
    move |file| file["messages"].as_array().map(Vec::len) == Some(n)
}

fn ask(editor: &mut Editor, session: &str, words: &str) {
    editor.turn(json!({ "sessionId": session, "content": words }));
}

#[test]
fn setting_makes_a_session_a_workspace_file() {
    let ground = Workspace::new("written");
    let mut editor = ground.editor("store", on());
    ground.open(&mut editor, "s");
    assert!(!ground.file("s").exists(), "nothing was said");
    editor.answers.push_back(calls("I look.", ["c1"]));
    ask(&mut editor, "s", "Read c1.");
    let file = ground.wait("s", "the first turn", says_n(4));
    assert_eq!(file["id"], "s");
    assert_eq!(file["title"], "Read c1.");
    assert_eq!(texts(&file)[..2], ["Read c1.", "I look."]);
    assert_eq!(file["messages"][2]["parts"][0]["toolCallId"], "c1");
    let snapshot = editor.call("session/subscribe", json!({ "sessionId": "s" }))["snapshot"].take();
    let ids = |of: &Value| -> Vec<Value> {
        of["messages"].as_array().into_iter().flatten().map(|message| message["id"].clone()).collect()
    };
    assert_eq!(ids(&file), ids(&snapshot));
    ask(&mut editor, "s", "And now?");
    let version = file["version"].as_u64();
    let file = ground.wait("s", "the second turn", says_n(6));
    assert!(file["version"].as_u64() > version && version > Some(0));

    // A title and an edit are written without a turn.
    editor.call("session/configure", json!({ "sessionId": "s", "title": "Reading" }));
    ground.wait("s", "the title", |file| file["title"] == "Reading");
    let id = file["messages"][0]["id"].clone();
    editor.call("message/update", json!({ "sessionId": "s", "messageId": id, "content": "Read it." }));
    ground.wait("s", "the edit", |file| texts(file)[0] == "Read it.");

    // Turned off, the file stays unchanged; a session with an unusable id gets none, and a log message.
    let off = json!({ "sessionId": "s", "settings": { "trajectory": "off" } });
    editor.call("session/configure", off);
    let before = ground.read("s");
    ask(&mut editor, "s", "Once more?");
    ground.open(&mut editor, "s.1");
    editor.client.wait_notification("why there is no file", |frame| {
        frame["method"] == "window/logMessage"
            && frame["params"]["message"].to_string().contains("cannot be a file name")
    });
    ask(&mut editor, "s.1", "Anybody?");
    assert_eq!(ground.read("s"), before);
    // Deleting the session deletes its file.
    editor.call("session/configure", json!({ "sessionId": "s", "settings": { "trajectory": "workspace" } }));
    editor.call("session/delete", json!({ "sessionId": "s" }));
    let listed = editor.call("trajectory/list", json!({ "workspaceFolder": ground.work() }));
    assert_eq!(listed, json!({ "trajectories": [] }));
    assert!(!ground.file("s").exists());
}

/// However fast a session changes, the file has its last state.
#[test]
fn file_has_the_last_of_many_quick_changes() {
    let ground = Workspace::new("quick");
    let mut editor = ground.editor("store", on());
    ground.open(&mut editor, "s");
    ask(&mut editor, "s", "Hello.");
    for n in 1..=100 {
        let title = format!("title {n}");
        editor.client.request("session/configure", json!({ "sessionId": "s", "title": title }));
    }
    let file = ground.wait("s", "the last title", |file| file["title"] == "title 100");
    assert!(
        file["version"].as_u64().is_some_and(|version| (2..=102).contains(&version)),
        "{}",
        file["version"]
    );
    // The last change is written before the process ends.
    editor.client.request("session/configure", json!({ "sessionId": "s", "title": "the end" }));
    editor.call("session/close", json!({ "sessionId": "s" }));
    drop(editor);
    assert_eq!(ground.read("s").expect("a file")["title"], "the end");
    assert_eq!(fs::read_dir(ground.file("s").parent().expect("a folder")).expect("a folder").count(), 1);
}

/// A session of another store is opened by its chat id, and continues with the same prompt.
#[test]
fn a_trajectory_opens_as_a_session_with_the_same_prompt() {
    let ground = Workspace::new("restored");
    let mut editor = ground.editor("first", on());
    ground.open(&mut editor, "s");
    for n in 0..6 {
        let ids = [format!("a{n}"), format!("b{n}")];
        editor.answers.push_back(calls("I look.", [&*ids[0], &*ids[1]]));
        editor.answers.push_back(says(&prose(&format!("part {n}"), 30)));
        ask(&mut editor, "s", &format!("Do step {n}. {}", prose("request", 8)));
    }
    let snapshot = editor.call("session/subscribe", json!({ "sessionId": "s" }))["snapshot"].take();
    assert!(snapshot["summarizedCount"].as_u64().is_some_and(|n| n > 0), "nothing was compacted");
    let said = snapshot["messages"].as_array().map(Vec::len).expect("messages");
    let file = ground.wait("s", "all of it", says_n(said));
    assert!(file["summaries"].as_array().is_some_and(|all| !all.is_empty()));
    editor.call("session/close", json!({ "sessionId": "s" }));
    drop(editor);
    let file = ground.read("s").expect("a file");

    let goes_on = |editor: &mut Editor| {
        ask(editor, "s", "And then?");
        editor
            .asked
            .iter()
            .rfind(|asked| asked["purpose"] == "turn")
            .map(|asked| asked["messages"].to_string())
    };
    // By its chat id, in a store that never had it.
    let mut by_id = ground.editor("second", on());
    let import = json!({ "workspaceFolder": ground.work(), "chatId": "s" });
    let imported = by_id.call("session/import", import.clone());
    assert_eq!(
        imported,
        json!({ "sessionId": "s", "format": "trajectory", "messages": said, "skipped": [] })
    );
    let again = by_id.refused("session/import", import);
    assert!(again["message"].to_string().contains("has messages already"), "{again}");
    let restored = ground.open(&mut by_id, "s")["snapshot"].take();
    for field in ["messages", "title", "summary", "summarizedCount"] {
        assert_eq!(restored[field], snapshot[field], "{field}");
    }
    let turns = |of: &Value| -> Vec<Value> {
        of["turns"].as_array().into_iter().flatten().map(|turn| turn["rounds"].clone()).collect()
    };
    assert_eq!(turns(&restored), turns(&snapshot));
    let by_id = {
        let said = goes_on(&mut by_id);
        // The file is written until the session is closed.
        by_id.call("session/close", json!({ "sessionId": "s" }));
        drop(by_id);
        said
    };
    ground.write("s", &file);

    // By the file's path in the workspace.
    let mut by_file = ground.editor("third", json!({ "model": { "name": "m", "window": 8000 } }));
    let import = json!({
        "workspaceFolder": ground.work(), "path": ".threadhold/trajectories/s.json", "sessionId": "s",
    });
    assert_eq!(by_file.call("session/import", import)["messages"], said);
    ground.open(&mut by_file, "s");
    let by_file = goes_on(&mut by_file);

    // As the first process would have continued.
    let mut first = ground.editor("first", json!({ "model": { "name": "m", "window": 8000 } }));
    ground.open(&mut first, "s");
    let first = goes_on(&mut first);
    assert!(first.is_some());
    assert_eq!(by_id, first);
    assert_eq!(by_file, first);
}

#[test]
fn exported_sessions_are_imported_unchanged() {
    let ground = Workspace::new("exported");
    let mut editor = ground.editor("store", json!({ "model": { "name": "m", "window": 100_000 } }));
    ground.open(&mut editor, "s");
    editor.answers.push_back(calls("I look.", ["c1"]));
    ask(&mut editor, "s", "Read c1.");
    let said = |editor: &mut Editor, session: &str| -> Vec<Value> {
        let snapshot = editor.call("session/subscribe", json!({ "sessionId": session }))["snapshot"].take();
        let messages = snapshot["messages"].as_array().cloned().unwrap_or_default();
        messages.iter().map(|message| json!([message["role"], message["parts"]])).collect()
    };
    let before = said(&mut editor, "s");
    assert!(!ground.file("s").exists(), "nobody asked for a file");

    let export = |editor: &mut Editor, session: &str, format: &str| {
        let exported = editor.call("session/export", json!({ "sessionId": session, "format": format }));
        assert_eq!(exported["format"], format);
        exported["data"].as_str().expect("text").to_owned()
    };
    for (format, to) in [("jsonl", "a"), ("trajectory", "b")] {
        let data = export(&mut editor, "s", format);
        let import = json!({ "workspaceFolder": ground.work(), "sessionId": to, "data": data });
        let imported = editor.call("session/import", import);
        assert_eq!((&imported["format"], &imported["messages"]), (&json!(format), &json!(before.len())));
        assert_eq!(said(&mut editor, to), before, "{format}");
    }
    let markdown = export(&mut editor, "s", "markdown");
    for part in ["# Read c1.", "## User", "## Assistant", "**Calls** `read`", "**Result**"] {
        assert!(markdown.contains(part), "{part}: {markdown}");
    }

    // Other programs' fields are exported again, even without a file.
    let mut file: Value = serde_json::from_str(&export(&mut editor, "s", "trajectory")).expect("JSON");
    file["mode"] = json!("agent");
    file["messages"][1]["checkpoints"] = json!(["deadbeef"]);
    file["messages"].as_array_mut().expect("a list").push(json!({ "role": 7 }));
    let import = json!({ "workspaceFolder": ground.work(), "sessionId": "c", "data": file.to_string() });
    let imported = editor.call("session/import", import);
    assert_eq!(imported["messages"], before.len());
    assert!(imported["skipped"][0].to_string().contains("messages[4]"), "{imported}");
    ask(&mut editor, "c", "And now?");
    let out: Value = serde_json::from_str(&export(&mut editor, "c", "trajectory")).expect("JSON");
    assert_eq!(out["mode"], "agent");
    assert_eq!(out["messages"][1]["checkpoints"], json!(["deadbeef"]));
    assert_eq!(out["unreadable"], json!([{ "role": 7 }]));
    assert_eq!(texts(&out)[0], "Read c1.");
    assert_eq!(out["messages"].as_array().map(Vec::len), Some(before.len() + 2));

    for (params, field) in [
        (json!({}), "data"),
        (json!({ "data": "{}", "chatId": "s" }), "data"),
        (json!({ "chatId": "../s" }), "chatId"),
        (json!({ "chatId": "nobody" }), "chatId"),
        (json!({ "path": "nowhere.json" }), "path"),
    ] {
        let mut params = params;
        params["workspaceFolder"] = json!(ground.work());
        let error = editor.refused("session/import", params);
        assert_eq!(
            (&error["data"]["kind"], &error["data"]["field"]),
            (&json!("InvalidParams"), &json!(field))
        );
    }
}
