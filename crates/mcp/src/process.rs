//! The process of a server: its environment, its process group, the last lines of its standard error.

use engine::text::{head, one_line};
use secrecy::{ExposeSecret, SecretString};
use std::collections::VecDeque;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::timeout;

/// Variables that a server inherits: what programs need to run, nothing that could be a secret.
const INHERITED: [&str; 30] = [
    "APPDATA",
    "COMSPEC",
    "HOME",
    "HOMEDRIVE",
    "HOMEPATH",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOCALAPPDATA",
    "LOGNAME",
    "NODE_EXTRA_CA_CERTS",
    "PATH",
    "PATHEXT",
    "PROGRAMFILES",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TERM",
    "TMP",
    "TMPDIR",
    "TZ",
    "USER",
    "USERNAME",
    "USERPROFILE",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
];

/// Lines kept of standard error, and bytes of each.
const LAST_LINES: usize = 6;
const MOST_LINE: usize = 200;
/// The time in which a server may end by itself once its input is closed, and after the signal to terminate.
const GRACE: Duration = Duration::from_millis(500);

/// The last lines of a server's standard error, without its secrets.
#[derive(Clone)]
pub(crate) struct StderrTail {
    lines: Arc<Mutex<VecDeque<String>>>,
    secrets: Arc<[SecretString]>,
}

impl StderrTail {
    pub fn new(secrets: Vec<SecretString>) -> Self {
        Self { lines: Arc::default(), secrets: secrets.into() }
    }

    /// A text without the server's secrets, on one line.
    pub fn masked(&self, text: &str) -> String {
        let secrets =
            self.secrets.iter().map(ExposeSecret::expose_secret).filter(|secret| !secret.is_empty());
        one_line(&secrets.fold(text.to_owned(), |text, secret| text.replace(secret, "[secret]")), 600)
    }

    /// A reason, followed by the last lines.
    pub fn after(&self, why: &str) -> String {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let why = self.masked(why);
        if lines.is_empty() {
            return why;
        }
        format!("{why}; standard error: {}", lines.iter().cloned().collect::<Vec<_>>().join(" | "))
    }

    fn push(&self, line: &[u8]) {
        let line = self.masked(String::from_utf8_lossy(line).trim());
        if line.is_empty() {
            return;
        }
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LAST_LINES {
            lines.pop_front();
        }
        lines.push_back(head(&line, MOST_LINE).to_owned());
    }
}

/// A running server. Dropped, its process group is ended.
pub(crate) struct Process {
    group: Group,
    /// The task that waits for the end of the first process, and ends it if it is aborted.
    waiting: AbortHandle,
    /// Exit status of the first process, once it has ended.
    pub ended: watch::Receiver<Option<ExitStatus>>,
}

/// The parameters of a start.
pub(crate) struct Start<'a> {
    pub program: &'a str,
    pub args: &'a [String],
    pub env: &'a [(String, SecretString)],
    pub cwd: &'a Path,
}

impl Process {
    /// Starts a server in a process group of its own.
    pub fn start(start: &Start<'_>, tail: StderrTail) -> std::io::Result<(Self, ChildStdin, ChildStdout)> {
        let mut command = Command::new(start.program);
        command.args(start.args).current_dir(start.cwd).env_clear();
        command.envs(INHERITED.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        command.envs(start.env.iter().map(|(name, value)| (name, value.expose_secret())));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn()?;
        let group = Group(child.id());
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(std::io::Error::other("the process has no pipes"));
        };
        let (sender, ended) = watch::channel(None);
        tokio::spawn(read_stderr(stderr, tail));
        let waiting = tokio::spawn(wait(child, sender)).abort_handle();
        Ok((Self { group, waiting, ended }, stdin, stdout))
    }

    /// Ends the server: it has a moment to end by itself once its input is closed, then its group is ended.
    pub async fn end(mut self) {
        let mut ended = self.ended.clone();
        for signal in [Signal::None, Signal::Terminate] {
            self.group.signal(signal);
            if timeout(GRACE, ended.wait_for(Option::is_some)).await.is_ok() {
                break;
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.waiting.abort();
    }
}

async fn wait(mut child: Child, sender: watch::Sender<Option<ExitStatus>>) {
    if let Ok(status) = child.wait().await {
        sender.send_replace(Some(status));
    }
}

/// Reads standard error to its end. A line is read up to its limit, so that none fills the memory.
async fn read_stderr(stderr: ChildStderr, tail: StderrTail) {
    let mut reader = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut reader).take(8 << 10).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => tail.push(&line),
        }
    }
}

#[derive(Clone, Copy)]
enum Signal {
    None,
    Terminate,
    Kill,
}

/// A process group, by its first process.
struct Group(Option<u32>);

impl Group {
    #[cfg(unix)]
    fn signal(&mut self, signal: Signal) {
        use rustix::process::{Pid, Signal as Unix, kill_process_group};
        let group = self.0.and_then(|first| i32::try_from(first).ok()).and_then(Pid::from_raw);
        let signal = match signal {
            Signal::None => return,
            Signal::Terminate => Unix::TERM,
            Signal::Kill => Unix::KILL,
        };
        if let Some(group) = group {
            // There is none once all its processes have ended.
            let _ = kill_process_group(group, signal);
        }
    }

    /// Elsewhere the process itself is ended when it is dropped.
    #[cfg(not(unix))]
    fn signal(&mut self, _: Signal) {}
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::Kill);
    }
}
