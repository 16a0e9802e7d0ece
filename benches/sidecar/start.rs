//! Costs of a sidecar without a session: start, memory, round trip.

use crate::folder::Folder;
use crate::process::{Process, hello, program, request};
use crate::sessions::{WINDOW, open};
use crate::table::{head, median, ratio, row, timed};
use serde_json::{Value, json};
use std::io::{BufRead, Write};
use std::process::Command;

/// Starts.
const STARTS: usize = 41;
/// Round trips before the measured ones.
const WARM: usize = 500;
/// Measured round trips.
const TRIPS: usize = 2_001;

/// Medians of two values measured in turns, so that other load on the machine affects both.
fn medians(count: usize, mut one: impl FnMut() -> f64, mut other: impl FnMut() -> f64) -> (f64, f64) {
    let (all, beside): (Vec<f64>, Vec<f64>) = (0..count).map(|_| (one(), other())).unzip();
    (median(&all).unwrap_or_default(), median(&beside).unwrap_or_default())
}

/// From the start of the program to its answer to `initialize`, over our own protocol and over ACP.
pub fn start() {
    let folder = Folder::new();
    let hello = hello(&folder.storage(), WINDOW);
    let serve = || started("serve", |process| drop(process.ask("initialize", &hello)));
    let parameters = json!({ "protocolVersion": 1, "clientCapabilities": {} });
    // A message is a line there.
    let line = request(1, "initialize", &parameters) + "\n";
    let acp = || {
        started("acp", |process| {
            let (input, output) = process.pipes();
            input.write_all(line.as_bytes()).expect("it reads");
            output.read_line(&mut String::new()).expect("it writes");
        })
    };
    let nothing = || {
        timed(|| {
            let status = Command::new("/bin/true").status().expect("there is a true command");
            assert!(status.success());
        })
    };
    head();
    for (what, start) in [("", &serve as &dyn Fn() -> f64), (" over ACP", &acp)] {
        let (sidecar, nothing) = medians(STARTS, start, nothing);
        row(
            &format!("start to the answer to `initialize`{what}"),
            &format!("{sidecar:.2} ms"),
            &format!("/bin/true {nothing:.2} ms"),
            &ratio(sidecar, nothing),
            "≤ 2.5 ×",
        );
    }
}

/// Milliseconds from the start of the program, with this command, to the end of `initialize`.
fn started(command: &str, initialize: impl FnOnce(&mut Process)) -> f64 {
    let mut started = None;
    let time = timed(|| {
        let mut process = Process::start(&program(), &[command]);
        initialize(&mut process);
        started = Some(process);
    });
    started.into_iter().for_each(Process::end);
    time
}

/// Measures two methods. `session/subscribe` to an open session from its newest event on passes the
/// transport, the router and the session, and returns an empty list. An unknown method, in a body of about 64
/// bytes, passes the transport only.
pub fn round_trip() {
    let folder = Folder::new();
    let mut process = Process::sidecar(&folder.storage(), WINDOW);
    let opened = process.call("session/open", &open("s"));
    let (stream, newest) = (&opened["snapshot"]["stream"], &opened["snapshot"]["seq"]);
    let known = json!({ "sessionId": "s", "stream": stream, "sinceSeq": newest });
    let body =
        json!({ "jsonrpc": "2.0", "id": 7, "method": "session/subscribe", "params": known }).to_string();
    let none = r#"{"jsonrpc":"2.0","id":7,"method":"no/suchMethod1","params":[]}"#.to_owned();
    let mut cat = Process::start("cat", &[]);
    let trip = |process: &mut Process, body: &str| {
        timed(|| {
            process.send(body);
            process.receive()
        })
    };
    head();
    for (name, body) in [("known", &body), ("unknown", &none)] {
        for _ in 0..WARM {
            trip(&mut cat, body);
            trip(&mut process, body);
        }
        let (sidecar, bare) = medians(TRIPS, || trip(&mut process, body), || trip(&mut cat, body));
        row(
            &format!("round trip, {} method ({} bytes)", name, body.len()),
            &format!("{:.1} µs", sidecar * 1000.0),
            &format!("`cat` {:.1} µs", bare * 1000.0),
            &ratio(sidecar, bare),
            "≤ 3 ×",
        );
    }
    cat.end();
    process.end();
}

/// Resident memory as more of the sidecar is in use.
pub fn memory() {
    let folder = Folder::new();
    let mut process = Process::sidecar(&folder.storage(), WINDOW);
    let show = |memory: Option<f64>| memory.map_or("not told here".to_owned(), |mib| format!("{mib:.1} MiB"));
    let mut shown = |what: &str, goal: &str, calls: &[(&str, Value)]| {
        for (method, params) in calls {
            process.ask(method, params);
        }
        row(what, &show(process.memory()), "", "", goal);
    };
    head();
    shown("memory after `initialize`", "≤ 9 MB", &[]);
    shown("memory with an open store", "", &[("session/list", json!({}))]);
    let count = json!({ "sessionId": "s", "content": "Count this." });
    let render = json!({ "sessionId": "s" });
    let calls = [("session/open", open("s")), ("turn/start", count), ("prompt/render", render)];
    shown("memory with the tokenizer", "≤ 40 MB", &calls);
    process.end();
}
