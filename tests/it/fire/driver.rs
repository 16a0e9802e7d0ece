//! Driver of a process that may be killed at any moment. Its client tolerates that; the tests record what was
//! acknowledged.

use crate::wire::client::framed;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

/// The longest wait for a frame.
const DEADLINE: Duration = Duration::from_secs(60);

/// A process, killed on drop.
pub struct Process {
    child: Arc<Mutex<Child>>,
    input: Option<ChildStdin>,
    frames: Receiver<Value>,
    next: i64,
    killer: Option<JoinHandle<()>>,
}

impl Process {
    /// Starts the sidecar.
    pub fn new() -> Self {
        Self::of(Command::new(env!("CARGO_BIN_EXE_threadhold")).arg("serve"))
    }

    /// Starts a command that becomes the sidecar.
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

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.lock().unwrap_or_else(PoisonError::into_inner).id()
    }

    /// Kills the process (SIGKILL) once this is done.
    pub fn dies_behind(&mut self, work: impl FnOnce() + Send + 'static) {
        let child = Arc::clone(&self.child);
        self.killer = Some(spawn(move || {
            work();
            drop(child.lock().unwrap_or_else(PoisonError::into_inner).kill());
        }));
    }

    /// Sends a frame, even if the process has ended.
    pub fn send(&mut self, message: &Value) {
        if let Some(input) = &mut self.input {
            drop(input.write_all(&framed(message)));
        }
    }

    /// Sends a request and returns its id.
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

    /// Returns the next frame, or `None` after the last one of an ended process.
    pub fn next(&mut self) -> Option<Value> {
        match self.frames.recv_timeout(DEADLINE) {
            Ok(frame) => Some(frame),
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => None,
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("it says nothing and does not end"),
        }
    }

    /// Sends the handshake of a client with a model and tools, with these options of storage.
    pub fn greet(&mut self, storage: &Value, settings: &Value) {
        let options = json!({
            "protocolVersion": 1, "storage": storage, "settings": settings,
            "capabilities": { "modelComplete": true, "toolInvoke": true },
        });
        let options = json!({ "capabilities": {}, "initializationOptions": { "threadhold": options } });
        self.request("initialize", options);
        self.notify("initialized", json!({}));
    }

    /// Sends a request and reads up to its response; `other` handles frames before it. Returns `None` if the
    /// process ends first.
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

    /// Streams an answer to `model/complete` in two pieces, and responds.
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

impl Drop for Process {
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

/// Reads the next whole frame. A killed process may leave half a frame, which acknowledges nothing.
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

/// Pseudo-random numbers from a printed seed.
#[derive(Debug, Clone)]
pub struct Chance(pub u64);

impl Chance {
    /// Returns a number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound
    }
}
