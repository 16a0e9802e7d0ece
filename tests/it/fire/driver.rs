//! A process that may be gone at any moment: started, written to, read from, ended. Its client never gives up because of
//! that; what is acknowledged is noted by the tests, outside of the process.

use crate::wire::client::framed;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

/// How long a frame may be waited for.
const DEADLINE: Duration = Duration::from_secs(60);

/// A process. It is gone when this is.
pub struct Life {
    child: Arc<Mutex<Child>>,
    input: Option<ChildStdin>,
    frames: Receiver<Value>,
    next: i64,
    killer: Option<JoinHandle<()>>,
}

impl Life {
    /// The sidecar.
    pub fn new() -> Self {
        Self::of(Command::new(env!("CARGO_BIN_EXE_threadhold")).arg("serve"))
    }

    /// A command that becomes the sidecar.
    pub fn of(command: &mut Command) -> Self {
        let command = command.env("THREADHOLD_CONFIG", "").env_remove("THREADHOLD_CORPUS");
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts");
        let output = child.stdout.take().expect("it is piped");
        let input = child.stdin.take();
        let (tell, frames) = channel();
        spawn(move || {
            let mut output = BufReader::new(output);
            while let Some(frame) = read(&mut output) {
                if tell.send(frame).is_err() {
                    break;
                }
            }
        });
        Self { child: Arc::new(Mutex::new(child)), input, frames, next: 1, killer: None }
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.lock().unwrap_or_else(PoisonError::into_inner).id()
    }

    /// It is killed after this time (SIGKILL), whatever it does then.
    pub fn dies_after(&mut self, time: Duration) {
        let child = Arc::clone(&self.child);
        self.killer = Some(spawn(move || {
            sleep(time);
            drop(child.lock().unwrap_or_else(PoisonError::into_inner).kill());
        }));
    }

    /// Sends a frame; nobody may be there to read it.
    pub fn send(&mut self, message: &Value) {
        if let Some(input) = &mut self.input {
            drop(input.write_all(&framed(message)));
        }
    }

    /// Sends a request; its id.
    pub fn request(&mut self, method: &str, params: Value) -> i64 {
        let id = self.next;
        self.next += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Answers a request of the server.
    pub fn respond(&mut self, to: &Value, result: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": to["id"], "result": result }));
    }

    /// The next frame; nothing once the process is gone and all is read that it said.
    pub fn next(&mut self) -> Option<Value> {
        match self.frames.recv_timeout(DEADLINE) {
            Ok(frame) => Some(frame),
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => None,
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("it says nothing and does not end"),
        }
    }

    /// Sends the handshake of a client with a model and tools, whose sessions are kept in this folder.
    pub fn greet(&mut self, store: &Path, settings: &Value) {
        let options = json!({
            "protocolVersion": 1, "storage": { "path": store }, "settings": settings,
            "capabilities": { "modelComplete": true, "toolInvoke": true },
        });
        let options = json!({ "capabilities": {}, "initializationOptions": { "threadhold": options } });
        self.request("initialize", options);
        self.notify("initialized", json!({}));
    }

    /// Sends a request and reads up to its response; what else comes is answered by `other`. Nothing where the process is
    /// gone before.
    pub fn call(
        &mut self,
        method: &str,
        params: Value,
        mut other: impl FnMut(&mut Self, &Value),
    ) -> Option<Result<Value, Value>> {
        let id = self.request(method, params);
        loop {
            let mut frame = self.next()?;
            if frame.get("method").is_none() && frame["id"] == id {
                return Some(match frame.get_mut("error") {
                    Some(error) => Err(error.take()),
                    None => Ok(frame["result"].take()),
                });
            }
            other(self, &frame);
        }
    }

    /// Streams an answer to `model/complete` and ends it.
    pub fn says(&mut self, asked: &Value, text: &str, calls: &Value) {
        let request = &asked["params"]["requestId"];
        let (head, tail) = text.split_at(text.len() / 2);
        for piece in [head, tail] {
            let ops = json!([{ "op": "appendContent", "text": piece }]);
            self.notify("model/delta", json!({ "requestId": request, "ops": ops }));
        }
        if calls.as_array().is_some_and(|calls| !calls.is_empty()) {
            let ops = json!([{ "op": "setToolCalls", "toolCalls": calls }]);
            self.notify("model/delta", json!({ "requestId": request, "ops": ops }));
        }
        self.respond(asked, json!({ "usage": { "inputTokens": 10, "outputTokens": 5 } }));
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        drop(child.kill());
        drop(child.wait());
        drop(child);
        if let Some(killer) = self.killer.take() {
            drop(killer.join());
        }
    }
}

/// The next whole frame. What a process that was killed left of one is no acknowledgement.
fn read(output: &mut impl BufRead) -> Option<Value> {
    let (mut line, mut length) = (String::new(), 0);
    loop {
        line.clear();
        output.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
        match line.trim_end().split_once(": ") {
            Some((_, given)) => length = given.parse().ok()?,
            None => break,
        }
    }
    let mut body = vec![0; length];
    output.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

/// Numbers that look random, from a seed that a failure names.
#[derive(Debug, Clone)]
pub struct Chance(pub u64);

impl Chance {
    /// A number below this one.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound
    }
}
