//! Client for tests: starts the built binary, talks to it over pipes or sockets, keeps its frames in order,
//! and ends it. Waits for events, not for times; a wait that fails shows what arrived. No assertions about
//! methods.

mod output;

use output::{read_log, read_output};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

/// The longest wait for an expected frame.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// The transport between client and server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// Pipes, as shells and most editors use.
    Pipes,
    /// A socket per direction, as Node's `spawn` uses.
    Sockets,
    /// One socket for both directions.
    OneSocket,
}

impl Wire {
    /// Every transport.
    pub const ALL: [Self; 3] = [Self::Pipes, Self::Sockets, Self::OneSocket];
}

/// Options for starting a server.
#[derive(Debug)]
pub struct Start {
    wire: Wire,
    program: String,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
    missing: Vec<String>,
    is_held: bool,
    must_read: Vec<String>,
}

impl Start {
    /// Options for `threadhold serve` over this transport.
    pub fn new(wire: Wire) -> Self {
        Self {
            wire,
            program: env!("CARGO_BIN_EXE_threadhold").into(),
            arguments: vec!["serve".into()],
            variables: Vec::new(),
            missing: Vec::new(),
            is_held: false,
            must_read: Vec::new(),
        }
    }

    /// Adds an argument.
    pub fn argument(mut self, argument: &str) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Sets an environment variable.
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Removes an environment variable.
    pub fn without(mut self, name: &str) -> Self {
        self.missing.push(name.into());
        self
    }

    /// Starts another program, with only these arguments, which starts the server.
    pub fn program<const N: usize>(mut self, program: &str, arguments: [&str; N]) -> Self {
        self.program = program.into();
        self.arguments = arguments.map(str::to_owned).to_vec();
        self
    }

    /// Reads neither output nor log before [`Client::read_on`].
    pub fn held(mut self) -> Self {
        self.is_held = true;
        self
    }

    /// Fails the test at its end if a frame of one of these methods was not read.
    pub fn must_read<const N: usize>(mut self, methods: [&str; N]) -> Self {
        self.must_read = methods.map(str::to_owned).to_vec();
        self
    }

    /// Starts the server.
    pub fn start(self) -> Client {
        Client::start(self)
    }
}

/// Output of the server.
#[derive(Default)]
struct Inbox {
    /// Frames in order; `true` once a wait has taken the frame.
    frames: Vec<(Value, bool)>,
    /// The first frame that was not taken: thousands before it may have been.
    first: usize,
    /// The reason for the end of the output: its end, or bytes that are not a frame.
    end: Option<String>,
    log: String,
    /// `true` while output is not read; `is_log_held` is for the log.
    is_held: bool,
    is_log_held: bool,
}

#[derive(Default)]
struct Shared {
    inbox: Mutex<Inbox>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Inbox)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    /// Waits until reading is allowed.
    fn wait_until_read(&self, is_held: impl Fn(&Inbox) -> bool) {
        drop(self.changed.wait_while(self.lock(), |inbox| is_held(inbox)));
    }
}

/// The client's end of the server's input.
enum Input {
    Stream(Box<dyn Write + Send>),
    /// One socket for both directions; only its write half is shut down.
    Socket(UnixStream),
}

/// A server and its frames. On drop, it is shut down unless the test ended it; no process is left.
pub struct Client {
    child: Child,
    input: Option<Input>,
    shared: Arc<Shared>,
    next: i64,
    must_read: Vec<String>,
    code: Option<Option<i32>>,
}

/// A child's end of a socket.
fn stdio(socket: UnixStream) -> Stdio {
    Stdio::from(OwnedFd::from(socket))
}

impl Client {
    /// Starts `threadhold serve` over this transport.
    pub fn new(wire: Wire) -> Self {
        Start::new(wire).start()
    }

    fn start(start: Start) -> Self {
        let mut command = Command::new(&start.program);
        // A test must not see the settings of this machine's user.
        command
            .args(&start.arguments)
            .env("THREADHOLD_CONFIG", "")
            .env_remove("THREADHOLD_CORPUS")
            .envs(start.variables)
            .stderr(Stdio::piped());
        start.missing.iter().for_each(|name| {
            command.env_remove(name);
        });
        let pair = || UnixStream::pair().expect("a pair of sockets");
        let sockets = match start.wire {
            Wire::Pipes => {
                command.stdin(Stdio::piped()).stdout(Stdio::piped());
                None
            }
            Wire::Sockets => {
                let ((ours_in, its_in), (ours_out, its_out)) = (pair(), pair());
                command.stdin(stdio(its_in)).stdout(stdio(its_out));
                Some((Input::Stream(Box::new(ours_in)), ours_out))
            }
            Wire::OneSocket => {
                let (ours, its) = pair();
                let clone = |socket: &UnixStream| socket.try_clone().expect("a socket");
                command.stdin(stdio(clone(&its))).stdout(stdio(its));
                Some((Input::Socket(clone(&ours)), ours))
            }
        };
        let mut child = command.spawn().expect("the binary starts");
        // The command holds the child's ends, which would keep the input open.
        drop(command);
        let (input, output): (Input, Box<dyn Read + Send>) = match sockets {
            Some((input, output)) => (input, Box::new(output)),
            None => {
                let input = child.stdin.take().expect("it is piped");
                (Input::Stream(Box::new(input)), Box::new(child.stdout.take().expect("it is piped")))
            }
        };
        let log = child.stderr.take().expect("it is piped");
        let shared = Arc::new(Shared::default());
        shared.change(|inbox| (inbox.is_held, inbox.is_log_held) = (start.is_held, start.is_held));
        let (for_output, for_log) = (Arc::clone(&shared), Arc::clone(&shared));
        spawn(move || read_output(output, &for_output));
        spawn(move || read_log(log, &for_log));
        Self { child, input: Some(input), shared, next: 1, must_read: start.must_read, code: None }
    }

    /// Starts or resumes reading output and log.
    pub fn read_on(&mut self) {
        self.shared.change(|inbox| (inbox.is_held, inbox.is_log_held) = (false, false));
    }

    /// Stops reading output, after a frame in progress, until [`Client::read_on`].
    pub fn stop_reading(&mut self) {
        self.shared.change(|inbox| inbox.is_held = true);
    }

    /// The id of the started process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends raw bytes. Fails if the server has ended.
    pub fn send_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.input.as_mut() {
            Some(Input::Stream(input)) => input.write_all(bytes).and_then(|()| input.flush()),
            Some(Input::Socket(input)) => input.write_all(bytes),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Sends a frame.
    pub fn send(&mut self, message: &Value) {
        if let Err(error) = self.send_raw(&framed(message)) {
            panic!("{message} was not sent: {error}\n{}", self.story());
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
    pub fn respond(&mut self, id: &Value, result: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }

    /// Answers a request of the server with an error.
    pub fn respond_error(&mut self, id: &Value, code: i64, message: &str) {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }));
    }

    /// Waits for the first frame that matches and was not taken before, and takes it. Each frame is looked at once.
    pub fn wait(&mut self, what: &str, mut is_it: impl FnMut(&Value) -> bool) -> Value {
        let mut seen = 0;
        self.until(what, |inbox| {
            let first = std::mem::replace(&mut seen, inbox.frames.len()).max(inbox.first);
            let mut new = inbox.frames[first..].iter_mut();
            let (frame, is_read) = new.find(|(frame, is_read)| !is_read && is_it(frame))?;
            *is_read = true;
            let frame = frame.clone();
            inbox.first += inbox.frames[inbox.first..].iter().take_while(|(_, is_read)| *is_read).count();
            Some(frame)
        })
    }

    /// Waits for the response to a request; returns the whole frame.
    pub fn wait_response(&mut self, id: i64) -> Value {
        self.wait(&format!("the response to request {id}"), |frame| {
            frame.get("method").is_none() && frame["id"] == id
        })
    }

    /// Waits for the next request of this method; returns the whole frame.
    pub fn wait_request(&mut self, method: &str) -> Value {
        self.wait(&format!("a request {method}"), |frame| {
            frame["method"] == method && frame.get("id").is_some()
        })
    }

    /// Waits for the next matching notification; returns the whole frame.
    pub fn wait_notification(&mut self, what: &str, mut is_it: impl FnMut(&Value) -> bool) -> Value {
        self.wait(what, |frame| frame.get("method").is_some() && frame.get("id").is_none() && is_it(frame))
    }

    /// Sends a request and returns its result or its error.
    pub fn call(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.request(method, params);
        let mut response = self.wait_response(id);
        match response.get_mut("error") {
            Some(error) => Err(error.take()),
            None => Ok(response["result"].take()),
        }
    }

    /// Does the handshake and returns the server's answer.
    pub fn initialize(&mut self, params: Value) -> Value {
        let answer = self.call("initialize", params);
        let answer = answer.unwrap_or_else(|error| panic!("initialize: {error}\n{}", self.story()));
        self.notify("initialized", json!({}));
        answer
    }

    /// The parameters of all `session/event`s so far, taken or not.
    pub fn events(&self) -> Vec<Value> {
        let is_event = |frame: &&Value| frame["method"] == "session/event";
        self.frames().iter().filter(is_event).map(|frame| frame["params"].clone()).collect()
    }

    /// All frames so far, taken or not.
    pub fn frames(&self) -> Vec<Value> {
        self.shared.lock().frames.iter().map(|(frame, _)| frame.clone()).collect()
    }

    /// The standard error output so far.
    pub fn log(&self) -> String {
        self.shared.lock().log.clone()
    }

    /// Waits until the log contains this text.
    pub fn wait_log(&mut self, text: &str) {
        self.until(&format!("{text:?} in the log"), |inbox| inbox.log.contains(text).then_some(()));
    }

    /// Waits for the end of the output.
    pub fn wait_end_of_output(&mut self) {
        let end = self.until("the output's end", |inbox| inbox.end.clone());
        assert_eq!(end, "it ended", "{}", self.story());
    }

    /// Ends the input.
    pub fn close_input(&mut self) {
        if let Some(Input::Socket(socket)) = self.input.take() {
            let _ = socket.shutdown(Shutdown::Write);
        }
    }

    /// Kills the process (SIGKILL).
    pub fn kill(&mut self) {
        let _ = self.child.kill();
    }

    /// Sends the process a signal by its name.
    pub fn signal(&mut self, name: &str) {
        let pid = self.pid().to_string();
        let done = Command::new("kill").args(["-s", name, &pid]).status().expect("there is a kill command");
        assert!(done.success(), "kill -s {name} {pid}");
    }

    /// Sends SIGTERM.
    pub fn terminate(&mut self) {
        self.signal("TERM");
    }

    /// Waits for the end of the process; returns its exit code, or `None` if a signal ended it.
    pub fn wait_exit(&mut self) -> Option<i32> {
        match self.ended_before(Instant::now() + DEADLINE) {
            Some(code) => code,
            None => {
                self.kill();
                panic!("the process did not end\n{}", self.story());
            }
        }
    }

    fn ended_before(&mut self, deadline: Instant) -> Option<Option<i32>> {
        while self.code.is_none() && Instant::now() < deadline {
            match self.child.try_wait().expect("it is our child") {
                Some(status) => self.code = Some(status.code()),
                None => sleep(Duration::from_millis(5)),
            }
        }
        self.code
    }

    fn until<T>(&mut self, what: &str, mut take: impl FnMut(&mut Inbox) -> Option<T>) -> T {
        let deadline = Instant::now() + DEADLINE;
        let shared = Arc::clone(&self.shared);
        let mut inbox = shared.lock();
        loop {
            if let Some(found) = take(&mut inbox) {
                return found;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || inbox.end.is_some() && !what.contains("log") {
                drop(inbox);
                panic!("waited in vain for {what}\n{}", self.story());
            }
            inbox = shared.changed.wait_timeout(inbox, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The frames and the log so far, for failure messages.
    fn story(&self) -> String {
        let inbox = self.shared.lock();
        let mut story = String::from("frames, + read, - not:\n");
        for (frame, is_read) in &inbox.frames {
            let text: String = frame.to_string().chars().take(500).collect();
            let _ = writeln!(story, "{} {text}", if *is_read { '+' } else { '-' });
        }
        let _ = writeln!(story, "end of output: {:?}\nexit: {:?}\nlog:", inbox.end, self.code);
        story + &inbox.log
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let is_failing = std::thread::panicking();
        self.read_on();
        if self.code.is_none() && !is_failing {
            let exit = json!({ "jsonrpc": "2.0", "method": "exit" });
            let shutdown = json!({ "jsonrpc": "2.0", "id": 0, "method": "shutdown" });
            for message in [shutdown, exit] {
                let _ = self.send_raw(&framed(&message));
            }
            self.close_input();
            self.ended_before(Instant::now() + DEADLINE);
        }
        let is_stuck = self.code.is_none();
        if is_stuck {
            self.kill();
            let _ = self.child.wait();
        }
        if is_failing {
            return;
        }
        assert!(!is_stuck, "the process did not end\n{}", self.story());
        let inbox = self.shared.lock();
        let is_due = |frame: &Value| self.must_read.iter().any(|method| frame["method"] == **method);
        let unread = inbox.frames.iter().filter(|(frame, is_read)| !is_read && is_due(frame)).count();
        drop(inbox);
        assert_eq!(unread, 0, "frames that nobody read\n{}", self.story());
    }
}

/// Frames a message for the wire.
pub fn framed(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}
