//! Examples of the handbook against the built binary: an error of each kind, and a scripted model.

use super::client::{Client, Start, Wire};
use super::ground::{Folder, long_history};
use super::restore::long_answers;
use super::script::{self, Editor};
use protocol::error::ErrorKind;
use serde_json::{Value, json};
use std::path::PathBuf;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/protocol");
/// The most requests without a response, and the most queued commands.
const LIMIT: usize = 256;
const QUEUE: usize = 100;
/// The largest body, in bytes.
const LARGEST: usize = 64 << 20;

/// The folders and clients that a situation needs.
#[derive(Default)]
struct Ground {
    folders: Vec<Folder>,
    own_folders: Vec<script::Folder>,
    others: Vec<Client>,
}

impl Ground {
    fn folder(&mut self) -> &Folder {
        self.folders.push(Folder::new());
        &self.folders[self.folders.len() - 1]
    }

    /// A client whose session `s` is open and idle, with this history.
    fn opened(&mut self, history: Value) -> Client {
        let mut client = self.folder().serve(Start::new(Wire::Pipes));
        open(&mut client, history);
        client
    }

    /// A client in the situation that the page describes.
    fn client(&mut self, kind: ErrorKind) -> Client {
        match kind {
            ErrorKind::NotInitialized | ErrorKind::UnsupportedVersion => Client::new(Wire::Pipes),
            ErrorKind::InternalError => {
                let start = Start::new(Wire::Pipes).variable("THREADHOLD_TEST_DEFECT", "session/list");
                self.folder().serve(start)
            }
            ErrorKind::StorageError => {
                let mut hello = self.folder().hello();
                hello["initializationOptions"]["threadhold"]["storage"]["path"] =
                    json!("/dev/null/threadhold");
                let mut client = Client::new(Wire::Pipes);
                client.initialize(hello);
                client
            }
            ErrorKind::SessionHeldElsewhere => {
                let other = self.opened(Value::Null);
                self.others.push(other);
                self.folders[0].serve(Start::new(Wire::Pipes))
            }
            ErrorKind::Cancelled => self.opened(long_history("s", true)),
            ErrorKind::QueueFull => {
                let mut client = self.opened(Value::Null);
                for n in 0..=QUEUE {
                    let start = json!({ "sessionId": "s", "content": format!("Request {n}.") });
                    client.call("turn/start", start).expect("it is queued");
                }
                client
            }
            ErrorKind::Overloaded => {
                let mut client = self.opened(Value::Null);
                for n in 0..LIMIT {
                    let history = long_history(&n.to_string(), false);
                    client.request(
                        "prompt/render",
                        json!({ "history": history, "input": { "content": "Go on." } }),
                    );
                }
                for _ in 0..LIMIT {
                    client.wait_request("model/complete");
                }
                client
            }
            ErrorKind::CannotUndo => {
                let folder = script::Folder::new("documented");
                let mut editor = Editor::start(&folder, json!({ "model": { "name": "m", "window": 8000 } }));
                self.own_folders.push(folder);
                editor.open("s", None);
                editor.answers.extend(long_answers());
                editor.turn(json!({ "sessionId": "s", "content": "Make the parser work." }));
                editor.turn(json!({ "sessionId": "s", "content": "Go on." }));
                editor.client
            }
            ErrorKind::TooLarge => {
                let mut client = self.opened(Value::Null);
                let head = format!("Content-Length: {}\r\n\r\n", LARGEST + 1);
                client.send_raw(&[head.as_bytes(), &vec![b' '; LARGEST + 1]].concat()).expect("it is read");
                client
            }
            ErrorKind::ParseError
            | ErrorKind::InvalidRequest
            | ErrorKind::MethodNotFound
            | ErrorKind::InvalidParams
            | ErrorKind::UnknownSession
            | ErrorKind::StaleReference
            | ErrorKind::InvalidState
            | ErrorKind::BudgetExceeded
            | ErrorKind::CannotFit
            | ErrorKind::ProviderError
            | ErrorKind::UnsupportedFormat => self.opened(Value::Null),
        }
    }
}

fn open(client: &mut Client, history: Value) {
    let open = json!({ "workspaceFolder": "/code/parser", "sessionId": "s", "history": history });
    client.call("session/open", open).expect("it opens");
}

/// Sends the lines of an example, and returns the message with the error.
fn answered(client: &mut Client, lines: &[&str]) -> Value {
    for line in lines {
        // A cancel and an answer come once the client was asked.
        let message: Value = serde_json::from_str(line).unwrap_or_default();
        if message["method"] == "$/cancelRequest" || message.get("error").is_some() {
            client.wait_request("model/complete");
        }
        let frame = format!("Content-Length: {}\r\n\r\n{line}", line.len());
        client.send_raw(frame.as_bytes()).expect("the server reads");
    }
    client.wait("an error", |frame| frame["error"].is_object() || frame["params"]["error"].is_object())
}

/// Replaces what differs from run to run, and puts the fields in the usual order.
fn settled(mut frame: Value, documented: &Value) -> Value {
    if frame["params"]["stream"].is_string() {
        frame["params"]["stream"] = json!("a1");
    }
    let of_event = frame["params"]["error"].is_object();
    let error = if of_event { &mut frame["params"]["error"] } else { &mut frame["error"] };
    if let Some(pid) = error["data"]["pid"].as_u64() {
        let message = error["message"].as_str().expect("a message").replace(&pid.to_string(), "4242");
        (error["message"], error["data"]["pid"]) = (json!(message), json!(4242));
        assert!(error["data"]["since"].is_string(), "{error}");
        error["data"]["since"] = json!("2026-01-01T00:00:00.000Z");
    }
    let shortened = documented["error"]["data"]["accepts"].as_array();
    if let (Some(accepts), Some(shortened)) = (error["data"]["accepts"].as_array(), shortened)
        && shortened.iter().all(|method| accepts.contains(method))
    {
        error["data"]["accepts"] = json!(shortened);
    }
    let mut ordered = json!({});
    for key in ["jsonrpc", "id", "method", "params", "error"] {
        if let Some(value) = frame.get_mut(key) {
            ordered[key] = value.take();
        }
    }
    ordered
}

/// JSON on one line with blanks between its parts.
fn spaced(value: &Value) -> String {
    match value {
        Value::Array(list) => format!("[{}]", list.iter().map(spaced).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| format!("{}: {}", json!(key), spaced(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// `UPDATE_EXPECT=1` writes the answers into the page. A code without an example fails.
#[test]
fn each_error_code_has_an_example_that_the_binary_gives() {
    let path = PathBuf::from(FOLDER).join("error-examples.md");
    let mut page = std::fs::read_to_string(&path).expect("the page is there");
    let headings: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(headings, ErrorKind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>());
    for kind in ErrorKind::ALL {
        let (before, rest) = page.split_once(&format!("## {}\n", kind.name())).expect("a heading");
        let (said, rest) = rest.split_once("```jsonl\n").expect("an example");
        let (example, after) = rest.split_once("```").expect("its end");
        let mut lines: Vec<&str> = example.lines().collect();
        let documented: Value = serde_json::from_str(lines.pop().expect("an answer")).expect("JSON");
        let mut ground = Ground::default();
        let mut client = ground.client(*kind);
        let answer = settled(answered(&mut client, &lines), &documented);
        let error = if answer["error"].is_object() { &answer["error"] } else { &answer["params"]["error"] };
        assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(kind.code()), &json!(kind.name())));
        let sent: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let head = format!("{before}## {}\n{said}", kind.name());
        page = format!("{head}```jsonl\n{sent}{}\n```{after}", spaced(&answer));
    }
    expect_test::expect_file![path].assert_eq(&page);
}

#[test]
fn example_of_a_scripted_model_runs() {
    let page = std::fs::read_to_string(PathBuf::from(FOLDER).join("scripted.md")).expect("the page is there");
    let (_, rest) = page.split_once("```jsonc\n").expect("an example");
    let fixture = rest.split("```").next().expect("its end");
    let folder = script::Folder::new("documented-script");
    let file = folder.path().with_extension("json");
    std::fs::write(&file, fixture).expect("the fixture is written");
    let model = json!({ "wire": "scripted", "baseUrl": file });
    let mut editor = Editor::start(&folder, json!({ "model": model, "ownTools": ["recall"] }));
    editor.open("s", None);
    let ended = editor.turn(json!({ "sessionId": "s", "content": "What is here?" }));
    assert_eq!(ended["status"], "completed", "{ended}");
    let messages =
        editor.call("session/subscribe", json!({ "sessionId": "s" }))["snapshot"]["messages"].take();
    let parts =
        messages.as_array().expect("messages").iter().filter(|message| message["role"] == "assistant");
    let parts: Vec<Value> =
        parts.flat_map(|message| message["parts"].as_array().cloned().unwrap_or_default()).collect();
    let said: Vec<&Value> =
        parts.iter().filter(|part| part["type"] == "text").map(|part| &part["text"]).collect();
    assert_eq!(said, ["Let me look.", "It is a package."]);
    let calls: Vec<&Value> =
        parts.iter().filter(|part| part["type"] == "toolCall").map(|part| &part["name"]).collect();
    assert_eq!(calls, ["recall"]);
    std::fs::remove_file(file).expect("the fixture was there");
}
