//! `threadhold mcp` on lines that no client should send, and on sessions with gaps.

use engine::id::Time;
use engine::message::{Body, REMOVED};
use serde_json::{Value, json};
use session::stored::{Head, Write as Row};
use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use store::Store;
use store::testing::{Folder, head, message, session, user};

/// The end of a server: exit code, the lines it wrote, and its log.
struct Ended {
    code: Option<i32>,
    answers: Vec<Value>,
    log: String,
}

/// Runs the server on these lines, with nothing after them.
fn serve(folder: &Folder, lines: &[Vec<u8>]) -> Ended {
    let workspace = folder.0.join("workspace");
    fs::create_dir_all(&workspace).expect("a folder");
    let mut server = Command::new(env!("CARGO_BIN_EXE_threadhold"))
        .arg("mcp")
        .arg("--storage")
        .arg(&folder.0)
        .arg("--folder")
        .arg(&workspace)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut input = server.stdin.take().expect("standard input");
    let lines = lines.join(&b'\n');
    // A server that ends early closes the pipe.
    let writing = std::thread::spawn(move || drop(input.write_all(&[lines, vec![b'\n']].concat())));
    let output = server.wait_with_output().expect("an end");
    writing.join().expect("no panic");
    let answers = output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    Ended {
        code: output.status.code(),
        answers: answers.map(|line| serde_json::from_slice(line).expect("JSON")).collect(),
        log: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn initialize() -> Vec<u8> {
    let client = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }).to_string().into_bytes()
}

fn call(id: u32, tool: &str, arguments: Value) -> Vec<u8> {
    let params = json!({ "name": tool, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string().into_bytes()
}

/// Why each call failed, by its id.
fn refusals(answers: &[Value]) -> Vec<(u64, String)> {
    let reason = |answer: &Value| {
        let text = &answer["result"]["content"][0]["text"];
        let reason = if answer["result"]["isError"] == true { text } else { &answer["error"]["message"] };
        Some((answer["id"].as_u64()?, reason.as_str()?.to_owned()))
    };
    let mut all: Vec<_> = answers.iter().filter_map(reason).collect();
    all.sort();
    all
}

#[test]
fn hostile_lines_are_refused_and_the_server_goes_on() {
    let long = "x".repeat(900_000);
    let lines = [
        b"\xff\xfe".to_vec(),
        b"{\"jsonrpc\":".to_vec(),
        initialize(),
        b"\xff{}".to_vec(),
        b"[1, 2]".to_vec(),
        b"null".to_vec(),
        b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"x\"}".to_vec(),
        vec![b'['; 200_000],
        vec![b'y'; 3 << 20],
        call(2, "list_sessions", json!({ "limit": 1e30 })),
        call(3, "list_sessions", json!({ "limit": 0 })),
        call(4, "read_messages", json!({ "sessionId": "../../etc" })),
        call(5, "read_messages", json!({ "sessionId": long })),
        call(6, "session_effects", json!({ "sessionId": "s", "cursor": "99999999999999999999.0" })),
        call(7, "search_sessions", json!({ "words": "\0", "cursor": "1" })),
        call(8, "search_sessions", json!({ "words": 3 })),
        call(9, "read_messages", json!({ "sessionId": "s", "offset": u64::MAX })),
        call(10, "delete_sessions", json!({})),
        call(11, "list_sessions", json!({})),
    ];
    let Ended { code, answers, log } = serve(&Folder::new(), &lines);
    assert_eq!(code, Some(0), "{log}");
    let bad_id =
        "sessionId: must have 1 to 128 characters, only letters, digits and - _ . ~ :; nothing was done";
    let expected = [
        (2, "the arguments cannot be read: invalid type: floating point `1e+30`, expected u32"),
        (3, "limit is 0 and must be from 1 to 100"),
        (4, bad_id),
        (5, bad_id),
        (6, "cursor: \"99999999999999999999.0\" is not a cursor of session/ledger; nothing was done"),
        (7, "cursor: \"1\" is not a cursor of a session list; nothing was done"),
        (8, "the arguments cannot be read: invalid type: integer `3`, expected a string"),
        (9, "offset is only for a message named by messageId"),
        (10, "unknown tool \"delete_sessions\""),
    ];
    assert_eq!(refusals(&answers), expected.map(|(id, reason)| (id, reason.to_owned())));
    let last = answers.iter().find(|answer| answer["id"] == 11).expect("an answer");
    assert_eq!(last["result"]["structuredContent"], json!({ "sessions": [] }));
    assert_eq!(log, "", "nothing of a line is logged");
}

#[test]
fn connection_without_a_request_is_refused_in_words() {
    let first = b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}".to_vec();
    let Ended { code, answers, log } = serve(&Folder::new(), &[first]);
    let said = "threadhold: cannot serve the MCP client: the first message is not a request\n";
    assert_eq!((code, answers, log.as_str()), (Some(2), Vec::new(), said));
    let Ended { code, answers, log } = serve(&Folder::new(), &[]);
    assert_eq!((code, answers, log.as_str()), (Some(0), Vec::new(), ""));
}

#[test]
fn pages_go_on_behind_a_removed_message() {
    let folder = Folder::new();
    let mut store = folder.open();
    let fence = store.acquire(&session("s"), Time(1)).expect("a lease");
    let workspace = folder.0.join("workspace").display().to_string();
    let removed = |ord| {
        if ord == 2 || ord == 3 {
            Some(Body::Event { kind: REMOVED.to_owned(), text: "".into() })
        } else {
            None
        }
    };
    let bodies = (0..5).map(|ord| (ord, removed(ord).unwrap_or_else(|| user(&format!("says {ord}")))));
    let said = bodies.map(|(ord, body)| Row::Message { turn: ord, message: Arc::new(message(ord, body)) });
    let head = Row::Head(Box::new(Head { workspace, ..head("s") }));
    store
        .commit(&session("s"), fence, &std::iter::once(head).chain(said).collect::<Vec<_>>())
        .expect("a commit");
    store.close().expect("a clean end");

    let page = |from| call(2, "read_messages", json!({ "sessionId": "s", "from": from, "limit": 2 }));
    let read = |from: u32| {
        let Ended { answers, .. } = serve(&folder, &[initialize(), page(from)]);
        let read = &answers.last().expect("an answer")["result"]["structuredContent"];
        let texts = read["messages"].as_array().expect("messages").iter();
        (
            texts.map(|message| message["text"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>(),
            read["next"].clone(),
        )
    };
    assert_eq!(read(0), (vec!["says 0".to_owned(), "says 1".to_owned()], json!(2)));
    assert_eq!(read(2), (Vec::new(), json!(4)));
    assert_eq!(read(4), (vec!["says 4".to_owned()], Value::Null));
}
