//! A process behind two pipes: requests and responses in frames, and what the system says of its costs.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// The threadhold to measure.
pub fn program() -> String {
    std::env::var("THREADHOLD_BENCH_PROGRAM").unwrap_or_else(|_| env!("CARGO_BIN_EXE_threadhold").to_owned())
}

/// Parameters of `initialize` for sessions in this storage, with a model of this window in tokens.
pub fn hello(storage: &Value, window: u32) -> Value {
    json!({
        "processId": null, "capabilities": {},
        "initializationOptions": { "threadhold": {
            "protocolVersion": 1, "storage": storage,
            "settings": { "model": { "window": window } },
        } },
    })
}

/// A sidecar or another program, connected by two pipes.
pub struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: i64,
}

impl Process {
    /// Starts any program.
    pub fn start(program: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        // Those of the bench are no settings, and a setting of this shell would change what is measured.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("THREADHOLD_") {
                command.env_remove(name);
            }
        }
        let mut child = command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let input = child.stdin.take().expect("it is piped");
        let output = BufReader::with_capacity(1 << 16, child.stdout.take().expect("it is piped"));
        Self { child, input, output, next: 1 }
    }

    /// Starts a sidecar and initializes it.
    pub fn sidecar(storage: &Value, window: u32) -> Self {
        let mut process = Self::start(&program(), &["serve"]);
        process.ask("initialize", &hello(storage, window));
        process.send(&json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} }).to_string());
        process
    }

    /// Sends a body in a frame.
    pub fn send(&mut self, body: &str) {
        self.input.write_all(frame(body).as_bytes()).expect("it reads");
    }

    /// Reads the next frame's body.
    pub fn receive(&mut self) -> Vec<u8> {
        receive(&mut self.output)
    }

    /// Sends a request and returns its id, without waiting for its response.
    pub fn request(&mut self, method: &str, params: &Value) -> i64 {
        let id = self.next;
        self.next += 1;
        self.send(&request(id, method, params));
        id
    }

    /// Waits for the next response and returns the id of its request, with its bytes. Notifications and
    /// requests of the sidecar on the way are dropped.
    pub fn response(&mut self) -> (i64, Vec<u8>) {
        response(&mut self.output)
    }

    /// Sends a request and waits for its response. Returns the response's bytes, which are not parsed: that
    /// is the client's cost.
    pub fn ask(&mut self, method: &str, params: &Value) -> Vec<u8> {
        let asked = self.request(method, params);
        loop {
            let (id, body) = self.response();
            if id == asked {
                return body;
            }
        }
    }

    /// Sends a request and returns its result.
    pub fn call(&mut self, method: &str, params: &Value) -> Value {
        let mut response: Value = serde_json::from_slice(&self.ask(method, params)).expect("JSON");
        response["result"].take()
    }

    /// Makes a prompt of no session. What a process does once for its first prompt is no cost of what is measured later.
    pub fn warm_up(&mut self) {
        self.ask("prompt/render", &json!({ "input": { "content": "Hello." } }));
    }

    /// Resident memory in mebibytes; `None` if the system does not report it.
    pub fn memory(&self) -> Option<f64> {
        let status = self.told("status")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.trim().trim_end_matches(" kB").parse::<f64>().ok().map(|kib| kib / 1024.0)
    }

    /// KiB that it has caused to be written to the disk; `None` if the system does not report it.
    pub fn written(&self) -> Option<f64> {
        let io = self.told("io")?;
        let line = io.lines().find_map(|line| line.strip_prefix("write_bytes:"))?;
        line.trim().parse::<f64>().ok().map(|bytes| bytes / 1024.0)
    }

    /// Processor time of all its threads; `None` if the system does not report it.
    pub fn processor(&self) -> Option<Duration> {
        let stat = self.told("stat")?;
        // The name in parentheses may have blanks; user and system time are fields 14 and 15, in hundredths of
        // a second on every usual kernel.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
        let (user, system) = (fields.next()?.parse::<u64>().ok()?, fields.next()?.parse::<u64>().ok()?);
        Some(Duration::from_millis((user + system) * 10))
    }

    fn told(&self, file: &str) -> Option<String> {
        std::fs::read_to_string(format!("/proc/{}/{file}", self.child.id())).ok()
    }

    /// Input and output, for a client that writes and reads at the same time.
    pub fn pipes(&mut self) -> (&mut ChildStdin, &mut BufReader<ChildStdout>) {
        (&mut self.input, &mut self.output)
    }

    /// Closes the input and waits for the process to end.
    pub fn end(self) {
        let Self { mut child, input, mut output, .. } = self;
        drop(input);
        let _ = std::io::copy(&mut output, &mut std::io::sink());
        let _ = child.wait();
    }
}

/// The body of a request.
pub fn request(id: i64, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

/// A body with its header.
pub fn frame(body: &str) -> String {
    format!("Content-Length: {}\r\n\r\n{body}", body.len())
}

fn receive(output: &mut impl BufRead) -> Vec<u8> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        let read = output.read_line(&mut line).expect("it writes");
        assert!(read > 0, "the program has ended");
        match line.trim_end().strip_prefix("Content-Length: ") {
            Some(number) => length = number.parse().expect("a number"),
            None => break,
        }
    }
    let mut body = vec![0; length];
    output.read_exact(&mut body).expect("a body");
    body
}

/// Waits for the next response, as [`Process::response`].
pub fn response(output: &mut impl BufRead) -> (i64, Vec<u8>) {
    loop {
        let body = receive(output);
        // Only the two ends are read, where kind and id stand: a snapshot has megabytes between them.
        let head = String::from_utf8_lossy(body.get(..40).unwrap_or(&body)).into_owned();
        assert!(!head.contains("\"error\""), "{}", String::from_utf8_lossy(&body));
        if !head.contains("\"method\"") {
            let end = String::from_utf8_lossy(body.get(body.len().saturating_sub(40)..).unwrap_or(&body));
            let id = end.rsplit_once("\"id\":").and_then(|(_, id)| id.strip_suffix('}')?.parse().ok());
            return (id.expect("a response ends with its id"), body);
        }
    }
}
