//! A user of `threadhold chat`: types, reads, presses Ctrl-C. Waits for output, never for times.

#![allow(clippy::print_stdout, reason = "a test that cannot run says so")]

use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// The longest wait for expected output.
const DEADLINE: Duration = Duration::from_secs(60);

/// A program that runs its arguments in a terminal of their own, between its own input and output.
const TERMINAL: &str = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";

/// A workspace and a storage folder, removed on drop.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new() -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("chat-{}", Uuid::now_v7()));
        std::fs::create_dir_all(folder.join("workspace")).expect("a folder");
        Self(folder)
    }

    /// The workspace.
    pub(super) fn path(&self) -> PathBuf {
        self.0.join("workspace")
    }

    /// The storage folder.
    pub(super) fn storage(&self) -> PathBuf {
        self.0.join("storage")
    }

    /// A path outside of the workspace.
    pub(super) fn beside(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file of the workspace.
    pub(super) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).expect("a file");
    }

    /// Waits for a file of the workspace.
    pub(super) fn has(&self, name: &str) {
        let deadline = Instant::now() + DEADLINE;
        while !self.path().join(name).exists() {
            assert!(Instant::now() < deadline, "waited in vain for the file {name}");
            sleep(Duration::from_millis(5));
        }
    }

    /// The text of a file of the workspace.
    pub(super) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).expect("a file")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// Output of one stream so far, the length that was read, and whether it ended.
#[derive(Debug, Default)]
struct Shown {
    text: Vec<u8>,
    read: usize,
    is_over: bool,
}

#[derive(Default)]
struct Stream {
    shown: Mutex<Shown>,
    changed: Condvar,
}

impl Stream {
    /// Collects a stream's output on a thread.
    fn of(mut input: impl Read + Send + 'static) -> Arc<Self> {
        let stream = Arc::new(Self::default());
        let gathered = Arc::clone(&stream);
        spawn(move || {
            let mut bytes = [0; 4096];
            loop {
                let count = input.read(&mut bytes).unwrap_or(0);
                let mut shown = gathered.shown.lock().expect("no test failed");
                shown.text.extend_from_slice(&bytes[..count]);
                shown.is_over = count == 0;
                gathered.changed.notify_all();
                if count == 0 {
                    return;
                }
            }
        });
        stream
    }

    /// Waits for this text after what was waited for before.
    fn wait(&self, what: &str) -> Result<(), String> {
        let deadline = Instant::now() + DEADLINE;
        let mut shown = self.shown.lock().expect("no test failed");
        loop {
            let new = &shown.text[shown.read..];
            if let Some(at) = new.windows(what.len()).position(|some| some == what.as_bytes()) {
                shown.read += at + what.len();
                return Ok(());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || shown.is_over {
                return Err(String::from_utf8_lossy(&shown.text).into_owned());
            }
            shown = self.changed.wait_timeout(shown, left).expect("no test failed").0;
        }
    }

    /// The whole output, once it has ended.
    fn whole(&self) -> String {
        let shown = self.shown.lock().expect("no test failed");
        let (shown, _) =
            self.changed.wait_timeout_while(shown, DEADLINE, |shown| !shown.is_over).expect("no test failed");
        String::from_utf8_lossy(&shown.text).into_owned()
    }
}

/// The output and the exit code of a chat.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) out: String,
    pub(super) err: String,
    pub(super) code: Option<i32>,
}

/// A user with a running chat.
pub(super) struct Person {
    child: Child,
    input: Option<ChildStdin>,
    out: Arc<Stream>,
    err: Arc<Stream>,
}

impl Person {
    /// Starts a chat in this folder, over pipes.
    pub(super) fn new(folder: &Folder, flags: &[String]) -> Self {
        let command = Command::new(env!("CARGO_BIN_EXE_threadhold"));
        Self::begin(command, folder, flags).expect("it starts")
    }

    /// Starts a chat in a terminal, where both streams are one. Returns `None` without Python, which CI must
    /// have.
    pub(super) fn at_a_terminal(folder: &Folder, flags: &[String]) -> Option<Self> {
        let mut command = Command::new("python3");
        command.args(["-c", TERMINAL, env!("CARGO_BIN_EXE_threadhold")]).env("TERM", "xterm-256color");
        match Self::begin(command, folder, flags) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                assert!(std::env::var_os("CI").is_none(), "python3 is not there, and on CI it must be");
                println!("not run: python3 is not there");
                None
            }
            person => Some(person.expect("it starts")),
        }
    }

    fn begin(mut command: Command, folder: &Folder, flags: &[String]) -> std::io::Result<Self> {
        let (workspace, storage) = (folder.path(), folder.storage());
        let named = |path: &Path| path.to_str().expect("a path of text").to_owned();
        let own = ["chat".to_owned(), "--storage".to_owned(), named(&storage)];
        command
            .args(own)
            .args(flags)
            .current_dir(workspace)
            .env("THREADHOLD_CONFIG", "")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let input = child.stdin.take();
        let out = Stream::of(child.stdout.take().expect("it was piped"));
        let err = Stream::of(child.stderr.take().expect("it was piped"));
        Ok(Self { child, input, out, err })
    }

    /// Sends keys.
    pub(super) fn presses(&mut self, keys: &str) {
        let input = self.input.as_mut().expect("it is open");
        // A chat that has ended is noticed when its output is read.
        drop(input.write_all(keys.as_bytes()).and_then(|()| input.flush()));
    }

    /// Sends a line.
    pub(super) fn types(&mut self, line: &str) {
        self.presses(&format!("{line}\n"));
    }

    /// Waits for text on standard output.
    pub(super) fn hears(&self, what: &str) {
        self.waits(&self.out, what);
    }

    /// Waits for text on standard error.
    pub(super) fn sees(&self, what: &str) {
        self.waits(&self.err, what);
    }

    fn waits(&self, stream: &Stream, what: &str) {
        if let Err(shown) = stream.wait(what) {
            let other = self.err.shown.lock().expect("no test failed");
            panic!("waited in vain for {what:?}; shown: {shown}\n{}", String::from_utf8_lossy(&other.text));
        }
    }

    /// Sends SIGINT, as a terminal does for Ctrl-C.
    pub(super) fn presses_ctrl_c(&self) {
        let pid = self.child.id().to_string();
        let done = Command::new("kill").args(["-s", "INT", &pid]).status().expect("there is a kill command");
        assert!(done.success(), "kill -s INT {pid}");
    }

    /// Sends a signal to the chat in the terminal.
    #[cfg(target_os = "linux")]
    pub(super) fn signals(&self, signal: &str) {
        let pid = self.child.id();
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).expect("it runs");
        let chat = children.split_whitespace().next().expect("the chat runs");
        let done = Command::new("kill").args(["-s", signal, chat]).status().expect("there is a kill command");
        assert!(done.success(), "kill -s {signal} {chat}");
    }

    /// Kills the process.
    pub(super) fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it is our child");
    }

    /// Quits and waits for the end.
    pub(super) fn leaves(mut self) -> Ended {
        self.types("/quit");
        self.ends()
    }

    /// Closes the input and waits for the end. In a terminal the end of the input is not Ctrl-D.
    pub(super) fn ends(mut self) -> Ended {
        self.input = None;
        let (out, err) = (self.out.whole(), self.err.whole());
        let deadline = Instant::now() + DEADLINE;
        let code = loop {
            match self.child.try_wait().expect("it is our child") {
                Some(status) => break status.code(),
                None if Instant::now() > deadline => panic!("the chat did not end\n{err}"),
                None => sleep(Duration::from_millis(5)),
            }
        };
        Ended { out, err, code }
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
