//! Ends of the process: each cause over each transport, with its exit code, and no process left.

mod holders;
mod turns;

use super::client::{Client, Start, Wire};
use serde_json::{Value, json};
use std::process::{Child, Command};

/// A process that is killed on drop.
struct Standin(Child);

impl Standin {
    fn new() -> Self {
        Self(Command::new("sleep").arg("1000").spawn().expect("there is a sleep command"))
    }

    fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Standin {
    fn drop(&mut self) {
        self.end();
    }
}

fn initialized(wire: Wire) -> Client {
    let mut client = Client::new(wire);
    client.initialize(json!({ "processId": std::process::id(), "capabilities": {} }));
    client
}

/// A cause of an end, and the exit code that it leads to.
type EndCause = (&'static str, fn(&mut Client), Option<i32>);

const WAYS: &[EndCause] = &[
    (
        "shutdown and exit",
        |client| {
            assert_eq!(client.call("shutdown", Value::Null), Ok(Value::Null));
            client.notify("exit", Value::Null);
        },
        Some(0),
    ),
    (
        "shutdown and exit at once",
        |client| {
            client.request("shutdown", Value::Null);
            client.notify("exit", Value::Null);
        },
        Some(0),
    ),
    ("exit alone", |client| client.notify("exit", Value::Null), Some(1)),
    ("end of input", Client::close_input, Some(0)),
    (
        "end of input after shutdown",
        |client| {
            client.request("shutdown", Value::Null);
            client.close_input();
        },
        Some(0),
    ),
    (
        "end of input inside a frame",
        |client| {
            client.send_raw(b"Content-Length: 100\r\n\r\n{").expect("the server reads");
            client.close_input();
        },
        Some(2),
    ),
    (
        "end of input behind much that is no frame",
        |client| {
            client.send_raw(&vec![b'x'; 2 << 20]).expect("the server reads");
            client.close_input();
        },
        Some(2),
    ),
    ("SIGTERM", Client::terminate, Some(0)),
    ("SIGINT", |client| client.signal("INT"), Some(0)),
    ("SIGHUP", |client| client.signal("HUP"), Some(0)),
    ("SIGKILL", Client::kill, None),
];

#[test]
fn each_end_has_its_exit_code() {
    for wire in Wire::ALL {
        for (way, end, code) in WAYS {
            let mut client = initialized(wire);
            end(&mut client);
            assert_eq!(client.wait_exit(), *code, "{way} over {wire:?}: {}", client.log());
            client.wait_end_of_output();
            // The cause of a failure is logged at the default level.
            if *code == Some(2) {
                client.wait_log("ERROR");
            }
        }
    }
}

#[test]
fn requests_before_the_end_are_answered() {
    for wire in Wire::ALL {
        let mut client = initialized(wire);
        let ids: Vec<i64> = (0..100).map(|_| client.request("no/suchMethod", json!({}))).collect();
        client.close_input();
        for id in ids {
            assert_eq!(client.wait_response(id)["error"]["code"], -32601);
        }
        assert_eq!(client.wait_exit(), Some(0));
    }
}

/// A script writes all requests and closes its end: each is answered, even if a session must be opened first.
/// Only requests that wait for the client itself are cancelled.
#[test]
fn session_requests_before_the_end_are_answered() {
    for wire in Wire::ALL {
        let folder = super::ground::Folder::new();
        let mut client = Client::new(wire);
        let mut ids = vec![client.request("initialize", folder.hello())];
        client.notify("initialized", json!({}));
        for (method, params) in [
            ("session/open", json!({ "workspaceFolder": "/w", "sessionId": "s" })),
            ("turn/start", json!({ "sessionId": "s", "content": "Hello." })),
            ("session/list", json!({})),
            ("session/subscribe", json!({ "sessionId": "s" })),
            ("server/diagnostics", json!({})),
        ] {
            ids.push(client.request(method, params));
        }
        client.close_input();
        for id in ids {
            let response = client.wait_response(id);
            assert!(response.get("result").is_some(), "{wire:?} {response}");
        }
        assert_eq!(client.wait_exit(), Some(0));
    }
}

/// The input stays open, as if a sibling process held its other end.
#[cfg(target_os = "linux")]
#[test]
fn server_ends_with_the_process_of_initialize() {
    for wire in Wire::ALL {
        let mut standin = Standin::new();
        let mut client = Client::new(wire);
        client.initialize(json!({ "processId": standin.0.id(), "capabilities": {} }));
        standin.end();
        assert_eq!(client.wait_exit(), Some(0), "{wire:?}: {}", client.log());
        client.wait_end_of_output();
    }
}

/// The shell acts as an editor that is killed while others hold its pipes.
#[cfg(target_os = "linux")]
#[test]
fn no_process_is_left_when_the_real_parent_is_killed() {
    for wire in Wire::ALL {
        let script = format!("exec 3<&0; '{}' serve <&3 3<&- & echo \"pid=$!;\" >&2; wait", binary());
        let mut client = Start::new(wire).program("sh", ["-c", &script]).start();
        client.initialize(json!({ "processId": client.pid(), "capabilities": {} }));
        client.wait_log(";");
        let log = client.log();
        let pid = log.split(['=', ';']).nth(1).expect("the shell told the number");
        let there = std::path::PathBuf::from(format!("/proc/{pid}/stat"));
        assert!(there.exists(), "{log}");
        client.kill();
        assert_eq!(client.wait_exit(), None);
        client.wait_end_of_output();
        // The process that adopts orphans may take a moment to reap it.
        let deadline = std::time::Instant::now() + super::client::DEADLINE;
        while std::fs::read_to_string(&there).is_ok_and(|stat| !stat.contains(") Z ")) {
            assert!(std::time::Instant::now() < deadline, "process {pid} is left");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}

const fn binary() -> &'static str {
    env!("CARGO_BIN_EXE_threadhold")
}

/// An unknown process id may belong to another container, and is ignored.
#[test]
fn invisible_parent_is_not_taken_for_dead() {
    let mut standin = Standin::new();
    standin.end();
    let mut client = Client::new(Wire::Pipes);
    client.initialize(json!({ "processId": standin.0.id(), "capabilities": {} }));
    client.wait_log("cannot be watched");
    assert_eq!(client.call("shutdown", Value::Null), Ok(Value::Null));
}
