//! `threadhold store copy`: sessions move from files to a server and back, with equal prompts and equal lists.

use super::{Tenant, started};
use crate::wire::client::{Client, Wire};
use crate::wire::script::{Editor, Folder, calls, says};
use engine::id::Time;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use store::Store;
use store::place::Options;
use store::postgres::{Opener, Options as DatabaseOptions};
use store::sqlite::SqliteStore;
use store::testing::postgres::server;
use store::testing::{session, step};

/// The workspace of all sessions here.
const WORKSPACE: &str = "/code/parser";

/// Runs the binary; returns the exit code and the output.
fn run(arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_threadhold"));
    let output = command.args(arguments).env("THREADHOLD_CONFIG", "").output().expect("the binary starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout) + &text(output.stderr))
}

fn copy(from: &str, to: &str, tenant: &str) -> String {
    let (code, said) = run(&["store", "copy", from, to, "--tenant", tenant]);
    assert_eq!(code, Some(0), "{said}");
    said
}

/// All that a client sees of sessions: lists, histories, memories, and the prompt of each for one more request.
fn seen(storage: &Value) -> Vec<Value> {
    let mut client = started();
    client.initialize(json!({
        "capabilities": {},
        "initializationOptions": { "threadhold": { "protocolVersion": 1, "storage": storage, "settings": {
            "model": { "name": "m", "window": 32_000 }, "policy": "words-and-ledger",
        } } },
    }));
    let mut call = |method: &str, params: Value| client.call(method, params).expect(method);
    let mut rows = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let page =
            call("session/list", json!({ "workspaceFolder": WORKSPACE, "limit": 100, "cursor": cursor }));
        rows.extend(page["sessions"].as_array().cloned().unwrap_or_default());
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    let mut seen = vec![call("memory/list", json!({ "workspaceFolder": WORKSPACE }))];
    for row in rows {
        let id = &row["sessionId"];
        seen.push(call("session/history", json!({ "sessionId": id })));
        seen.push(call("session/ledger", json!({ "sessionId": id, "workspaceFolder": WORKSPACE })));
        let opened = call("session/open", json!({ "sessionId": id, "workspaceFolder": WORKSPACE }));
        seen.push(opened["snapshot"]["messages"].clone());
        seen.push(call("scope/get", json!({ "sessionId": id }))["scope"].take());
        if row["driver"] == "editor" {
            let input = json!({ "content": "And now?" });
            seen.push(call("prompt/render", json!({ "sessionId": id, "input": input }))["messages"].take());
        }
        seen.push(row);
    }
    seen
}

/// Sessions with tools, large results, a revision, a fork, a plan, a memory and a draft.
fn fill(folder: &Folder) {
    let settings = json!({ "model": { "name": "m", "window": 16_000 } });
    let mut editor = Editor::over(Client::new(Wire::Pipes), folder, settings);
    editor.open("s", None);
    for n in 1..=4 {
        editor.answers.extend([
            calls("I look.", [&*format!("c{n}"), &*format!("d{n}")]),
            says(&format!("Answer {n}.\u{0}")),
        ]);
        editor.turn(json!({ "sessionId": "s", "content": format!("Request {n}.") }));
    }
    let messages = editor.call("session/messages", json!({ "sessionId": "s", "workspaceFolder": WORKSPACE }));
    let cut = messages["messages"][10]["id"].clone();
    editor.call("message/truncate", json!({ "sessionId": "s", "messageId": cut }));
    editor.turn(json!({ "sessionId": "s", "content": "Another third request." }));
    editor.call("session/fork", json!({ "sessionId": "s" }));
    editor.call("scope/put", json!({ "sessionId": "s", "plan": "To test it." }));
    editor.call("draft/set", json!({ "sessionId": "s", "text": "Not sent yet." }));
    editor.call(
        "memory/put",
        json!({ "workspaceFolder": WORKSPACE, "id": "m", "text": "Nom is used.", "tags": ["a"] }),
    );
    drop(editor);
}

/// Imports transcripts of the corpus, each so often, as sessions of the folder. Returns their number.
fn import(folder: &Path, times: usize) -> usize {
    let Some(transcripts) = crate::corpus::transcripts() else { return 0 };
    let files = [
        "claude-code-session-four.jsonl",
        "vscode-claude-session.jsonl",
        "pi-large-session.jsonl",
        "codex-tui-oss-story.jsonl",
        "sweagent-marshmallow-fc.traj",
    ];
    let paths: Vec<PathBuf> = files.iter().map(|file| transcripts.join(file)).collect();
    let mut client = started();
    client.initialize(json!({
        "capabilities": {},
        "initializationOptions": { "threadhold": { "protocolVersion": 1, "storage": { "path": folder } } },
    }));
    for path in paths.iter().cycle().take(files.len() * times) {
        let done = client
            .call("session/import", json!({ "workspaceFolder": WORKSPACE, "path": path }))
            .expect("an import");
        client.call("session/close", json!({ "sessionId": done["sessionId"] })).expect("it closes");
    }
    files.len() * times
}

/// THREADHOLD_COPIES imports each transcript that often.
#[test]
fn sessions_are_equal_after_a_copy_there_and_back() {
    let Some(server) = server() else { return };
    let tenant = Tenant::new(server);
    let (first, last) = (Folder::new("team-copy-first"), Folder::new("team-copy-last"));
    fill(&first);
    let times = std::env::var("THREADHOLD_COPIES").map_or(1, |given| given.parse().expect("a number"));
    let sessions = import(first.path(), times) + 2;
    let path = |folder: &Folder| folder.path().display().to_string();
    let said = copy(&path(&first), &tenant.url, &tenant.name);
    assert!(
        said.contains(&format!("copied   {sessions} sessions")) && said.contains("1 revisions"),
        "{said}"
    );
    let again = copy(&path(&first), &tenant.url, &tenant.name);
    assert!(
        again.contains("copied   0 sessions") && again.contains(&format!("known    {sessions} sessions")),
        "{again}"
    );
    copy(&tenant.url, &path(&last), &tenant.name);
    let before = seen(&json!({ "path": first.path() }));
    for (name, storage) in [("server", tenant.on("laptop")), ("files", json!({ "path": last.path() }))] {
        let after = seen(&storage);
        for (n, (is, was)) in after.iter().zip(&before).enumerate() {
            assert_eq!(is, was, "{name}: {n}");
        }
        assert_eq!(after.len(), before.len(), "{name}");
    }
}

/// A session that was changed in the copy is left as it is, and told.
#[test]
fn copy_never_overwrites_a_session() {
    let Some(server) = server() else { return };
    let tenant = Tenant::new(server);
    let folder = Folder::new("team-copy-changed");
    fill(&folder);
    let path = folder.path().display().to_string();
    copy(&path, &tenant.url, &tenant.name);
    let mut editor = tenant.editor("laptop");
    editor.open("s", None);
    editor.turn(json!({ "sessionId": "s", "content": "On the server only." }));
    let arguments = ["store", "copy", &path, &tenant.url, "--tenant", &tenant.name];
    let (code, said) = run(&arguments);
    assert!(code == Some(1) && said.contains("session s is there already and differs in its head"), "{said}");
    // One that a process holds is not read meanwhile.
    let back = Folder::new("team-copy-held");
    let (code, said) =
        run(&["store", "copy", &tenant.url, &back.path().display().to_string(), "--tenant", &tenant.name]);
    assert!(
        code == Some(1)
            && said.contains("session \"s\" is open in another process")
            && said.contains("on laptop"),
        "{said}"
    );
    drop(editor);
    let (code, said) = run(&["store", "copy", "/no/such/folder", &path]);
    assert!(code == Some(2) && said.contains("there is no store in it"), "{said}");
}

/// Copies that are killed, each way.
const KILLS: usize = 3;

/// Starts a copy again and again, and kills it as soon as it has written something, at most [`KILLS`] times. Returns how
/// often it was killed before it ended by itself.
fn copy_and_kill(from: &str, to: &str, tenant: &str, written: &dyn Fn() -> usize) -> usize {
    let mut killed = 0;
    loop {
        let before = written();
        let mut command = Command::new(env!("CARGO_BIN_EXE_threadhold"));
        command.args(["store", "copy", from, to, "--tenant", tenant]).env("THREADHOLD_CONFIG", "");
        let mut copying = command.stdout(Stdio::null()).spawn().expect("the binary starts");
        if killed == KILLS {
            assert!(
                copying.wait().expect("a process").success(),
                "a copy fails after {KILLS} that were killed"
            );
            return killed;
        }
        while written() == before {
            if let Some(ended) = copying.try_wait().expect("a process") {
                assert!(ended.success(), "a copy fails after {killed} that were killed");
                return killed;
            }
        }
        copying.kill().expect("it is killed");
        copying.wait().expect("a process");
        killed += 1;
    }
}

#[test]
fn a_copy_that_is_killed_goes_on_where_it_was() {
    const SESSIONS: usize = 60;
    let Some(server) = server() else { return };
    let tenant = Tenant::new(server);
    let (first, last) = (Folder::new("team-copy-killed"), Folder::new("team-copy-killed-back"));
    let ids: Vec<String> = (0..SESSIONS).map(|n| format!("s{n:02}")).collect();
    let open = |folder: &Folder| SqliteStore::open(Options::in_folder(folder.path())).expect("a store");
    let mut files = open(&first);
    for id in &ids {
        let fence = files.acquire(&session(id), Time(1)).expect("a lease");
        files.commit(&session(id), fence, &step(id, 0, 40)).expect("a commit");
    }
    files.close().expect("it closes");
    let path = |folder: &Folder| folder.path().display().to_string();
    let on_server = || {
        let count = format!("SELECT count(*) FROM chat_sessions WHERE tenant = '{}'", tenant.name);
        // The first store that is opened makes the table.
        let counted = server.sql_in("postgres", "threadhold", &count);
        counted.map_or(0, |counted| counted.parse().expect("a number"))
    };
    let there = copy_and_kill(&path(&first), &tenant.url, &tenant.name, &on_server);
    drop(open(&last));
    let file = rusqlite::Connection::open(last.path().join("threadhold.db")).expect("a file");
    let in_file =
        || file.query_row("SELECT count(*) FROM chat_sessions", [], |row| row.get(0)).expect("a count");
    let back = copy_and_kill(&tenant.url, &path(&last), &tenant.name, &in_file);
    println!("copies of {SESSIONS} sessions: killed {there} times there, {back} times back");
    assert!(there > 0 && back > 0, "{there} {back}");
    assert_eq!((on_server(), in_file()), (SESSIONS, SESSIONS));
    let options = DatabaseOptions::new(&tenant.url, None, &tenant.name).expect("options");
    let mut database = Opener::new(options).open().expect("a store");
    let (mut files, mut back) = (open(&first), open(&last));
    for id in &ids {
        let was = files.load(&session(id)).expect("a load");
        assert!(was.is_some());
        assert_eq!(database.load(&session(id)).expect("a load"), was, "{id}");
        assert_eq!(back.load(&session(id)).expect("a load"), was, "{id}");
    }
}
