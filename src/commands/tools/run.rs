//! The tool that runs a shell command. Its output goes to the model, bounded; processes of its group end with it.

use super::{given, inside, said};
use protocol::message::Content;
use protocol::tool::{Tool, ToolInvokeResult, ToolPolicy};
use serde::Deserialize;
use serde_json::json;
use std::io::{self, PipeReader, Read};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::process::{Child, Command as Process};
use tokio::sync::oneshot;

pub(super) const NAME: &str = "run_command";

/// Bytes of output that are kept from its beginning.
const MOST_HEAD: usize = 16 << 10;
/// Bytes of output that are kept from its end.
pub(in super::super) const MOST_TAIL: usize = 48 << 10;
/// Time after which a command is ended, in seconds, unless the call states another.
const USUAL_SECONDS: u64 = 120;
/// Environment of a command whose questions nobody would see.
pub(in super::super) const UNATTENDED: [(&str, &str); 4] =
    [("GIT_TERMINAL_PROMPT", "0"), ("GIT_EDITOR", "true"), ("GIT_PAGER", "cat"), ("PAGER", "cat")];
/// The longest time that a call can ask for, in seconds.
const MOST_SECONDS: u64 = 3_600;
/// Wait for the rest of the output once the command has ended.
const LAST_WAIT: Duration = Duration::from_millis(500);

/// The tool's definition.
pub(super) fn tool() -> Tool {
    let command = json!({ "type": "string", "description": "Shell command to run." });
    let folder = json!({
        "type": "string",
        "description": "Working directory, relative to the workspace folder. Default: the workspace folder.",
    });
    let seconds = json!({
        "type": "integer",
        "description": "Seconds after which the command is ended. Default: 120, at most 3600.",
    });
    super::tool(
        NAME,
        ToolPolicy::Ask,
        "Runs a shell command in the workspace folder. Returns its output and exit code. The command cannot read input, \
         nor ask the user; processes that it leaves running are ended with it.",
        &json!({ "command": command, "folder": folder, "seconds": seconds }),
        &["command"],
    )
}

/// Arguments of a call.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(in super::super) struct Command {
    pub command: String,
    /// Relative to the workspace folder.
    #[serde(default)]
    pub folder: Option<String>,
    #[serde(default)]
    pub seconds: Option<u64>,
}

/// The command that a call would run; `None` for any other tool, and if the arguments are not valid.
pub(in super::super) fn command(name: &str, arguments: &str) -> Option<Command> {
    if name == NAME { given(arguments).ok() } else { None }
}

/// A command that may run.
#[derive(Debug)]
pub(in super::super) struct Runnable {
    pub command: String,
    /// Working directory.
    pub folder: PathBuf,
    /// Time after which it is ended.
    pub within: Duration,
}

/// The command of a call in this folder.
pub(in super::super) fn runnable(folder: &Path, arguments: &str) -> Result<Runnable, String> {
    let Command { command, folder: inner, seconds } = given::<Command>(arguments)?;
    let folder = inside(folder, inner.as_deref().unwrap_or("."))?;
    let seconds = seconds.unwrap_or(USUAL_SECONDS).clamp(1, MOST_SECONDS);
    Ok(Runnable { command, folder, within: Duration::from_secs(seconds) })
}

/// Runs a call. The command ends when this is dropped.
pub(super) async fn run(folder: &Path, arguments: &str) -> ToolInvokeResult {
    let begun = runnable(folder, arguments).and_then(|runnable| {
        let running = Running::begin(&runnable.command, &runnable.folder)
            .map_err(|error| format!("the command could not be started: {error}"))?;
        Ok((running, runnable.within))
    });
    match begun {
        Ok((running, within)) => running.ends(within).await,
        Err(error) => said(Err(error)),
    }
}

/// The end of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum End {
    Exit(Option<i32>),
    /// By a signal, as its number or name.
    Signal(String),
    /// Nobody can tell how.
    Lost(String),
    /// After this many seconds.
    TimedOut(u64),
}

/// The result of a call whose command ended so, with its output.
pub(in super::super) fn ended(output: String, end: &End) -> ToolInvokeResult {
    let mut text = if output.is_empty() { "(no output)".to_owned() } else { output };
    let code = match end {
        End::Exit(code) => *code,
        End::Signal(_) | End::Lost(_) | End::TimedOut(_) => None,
    };
    match end {
        End::Exit(None | Some(0)) => {}
        End::Exit(Some(code)) => text.push_str(&format!("\n(exit code {code})")),
        End::Signal(signal) => text.push_str(&format!("\n(ended by signal {signal})")),
        End::Lost(error) => text.push_str(&format!("\n(the command could not be waited for: {error})")),
        End::TimedOut(seconds) => text.push_str(&format!("\n(ended after {seconds} s)")),
    }
    ToolInvokeResult {
        content: Some(Content::text(text)),
        exit_code: code,
        is_error: Some(code != Some(0)),
        ..ToolInvokeResult::default()
    }
}

/// A command that runs. Its processes are ended when this is dropped.
struct Running {
    child: Child,
    group: Group,
    output: Arc<Mutex<Output>>,
    /// Resolves at the end of the output.
    is_over: oneshot::Receiver<()>,
}

impl Running {
    fn begin(command: &str, folder: &Path) -> io::Result<Self> {
        // Both streams are one, so that the output is in the order in which it was written.
        let (reader, writer) = io::pipe()?;
        let mut process = shell(command);
        process
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .kill_on_drop(true)
            .envs(UNATTENDED);
        let child = process.spawn()?;
        let group = Group(child.id());
        let output = Arc::new(Mutex::new(Output::default()));
        let (over, is_over) = oneshot::channel();
        let kept = Arc::clone(&output);
        std::thread::spawn(move || {
            gather(reader, &kept);
            // Nobody may wait for it any more.
            let _ = over.send(());
        });
        Ok(Self { child, group, output, is_over })
    }

    async fn ends(mut self, within: Duration) -> ToolInvokeResult {
        let ended = tokio::time::timeout(within, self.child.wait()).await;
        self.group.end();
        drop(tokio::time::timeout(LAST_WAIT, &mut self.is_over).await);
        let text = self.output.lock().unwrap_or_else(PoisonError::into_inner).text();
        let end = match ended {
            Ok(Ok(status)) => match signal(status) {
                Some(signal) => End::Signal(signal.to_string()),
                None => End::Exit(status.code()),
            },
            Ok(Err(error)) => End::Lost(error.to_string()),
            Err(_) => End::TimedOut(within.as_secs()),
        };
        self::ended(text, &end)
    }
}

/// A command as a program and its arguments, for a terminal that somebody else opens. It cannot read input there either.
#[cfg(unix)]
pub(in super::super) fn words(command: &str) -> (String, Vec<String>) {
    (bash().to_owned(), vec!["-c".to_owned(), format!("exec </dev/null\n{command}")])
}

/// A command as a program and its arguments, for a terminal that somebody else opens.
#[cfg(not(unix))]
pub(in super::super) fn words(command: &str) -> (String, Vec<String>) {
    ("cmd".to_owned(), vec!["/C".to_owned(), command.to_owned()])
}

/// The shell that runs commands: models write bash.
#[cfg(unix)]
fn bash() -> &'static str {
    let shells = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"];
    shells.iter().find(|shell| Path::new(shell).exists()).unwrap_or(&"sh")
}

#[cfg(unix)]
fn shell(command: &str) -> Process {
    let shell = bash();
    // Without a terminal of its own, a program that asks for a password fails instead of waiting.
    let sessions = ["/usr/bin/setsid", "/bin/setsid"];
    let mut process = match sessions.iter().find(|session| Path::new(session).exists()) {
        Some(session) => {
            let mut process = Process::new(session);
            process.arg(shell);
            process
        }
        None => {
            let mut process = Process::new(shell);
            process.process_group(0);
            process
        }
    };
    process.arg("-c").arg(command);
    process
}

#[cfg(unix)]
fn signal(status: std::process::ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal(_: std::process::ExitStatus) -> Option<i32> {
    None
}

#[cfg(not(unix))]
fn shell(command: &str) -> Process {
    let mut process = Process::new("cmd");
    process.arg("/C").arg(command);
    process
}

/// The process group of a command, by its first process.
struct Group(Option<u32>);

impl Group {
    fn end(&mut self) {
        let Some(first) = self.0.take() else { return };
        #[cfg(unix)]
        if let Some(group) = i32::try_from(first).ok().and_then(rustix::process::Pid::from_raw) {
            // There is none once all its processes have ended.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        #[cfg(not(unix))]
        let _ = first;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

/// Output of a command: its beginning and its end.
#[derive(Debug, Default)]
struct Output {
    head: Vec<u8>,
    tail: Vec<u8>,
    /// Bytes between them.
    left_out: u64,
}

impl Output {
    fn add(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(MOST_HEAD - self.head.len()));
        self.head.extend_from_slice(head);
        self.tail.extend_from_slice(rest);
        // Twice the size, so that few bytes are moved.
        if self.tail.len() > 2 * MOST_TAIL {
            self.cut();
        }
    }

    fn cut(&mut self) {
        let over = self.tail.len().saturating_sub(MOST_TAIL);
        self.tail.drain(..over);
        self.left_out += over as u64;
    }

    fn text(&mut self) -> String {
        self.cut();
        let between = match self.left_out {
            0 => String::new(),
            left_out => format!("\n({left_out} bytes left out)\n"),
        };
        let bytes = [&self.head, between.as_bytes(), &self.tail].concat();
        String::from_utf8_lossy(&bytes).trim_end().to_owned()
    }
}

/// Reads output to its end.
fn gather(mut reader: PipeReader, output: &Mutex<Output>) {
    let mut bytes = [0; 8 << 10];
    // A read error is treated as the end.
    while let Ok(count @ 1..) = reader.read(&mut bytes) {
        output.lock().unwrap_or_else(PoisonError::into_inner).add(&bytes[..count]);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::super::tests::Workspace;
    use super::*;

    fn result(text: &str, code: Option<i32>) -> ToolInvokeResult {
        ToolInvokeResult {
            content: Some(Content::text(text)),
            exit_code: code,
            is_error: Some(code != Some(0)),
            ..ToolInvokeResult::default()
        }
    }

    #[test]
    fn output_and_exit_code_are_returned() {
        let ground = Workspace::new();
        let run = |command: &str| ground.whole_result(NAME, &json!({ "command": command }));
        assert_eq!(run("echo a; echo b >&2; echo c"), result("a\nb\nc", Some(0)));
        assert_eq!(run("echo a; exit 3"), result("a\n(exit code 3)", Some(3)));
        assert_eq!(run("cat"), result("(no output)", Some(0)));
        assert_eq!(run("kill -9 $$"), result("(no output)\n(ended by signal 9)", None));
        assert_eq!(run("echo a > /dev/tty || echo none").exit_code, Some(0));
        let within = ground.whole_result(NAME, &json!({ "command": "ls", "folder": "src" }));
        assert_eq!(within, result("a.rs", Some(0)));
    }

    #[test]
    fn a_command_that_takes_too_long_is_ended_with_what_it_started() {
        let ground = Workspace::new();
        let command = "echo begun; sleep 600 & echo $! > child; wait";
        let said = ground.whole_result(NAME, &json!({ "command": command, "seconds": 1 }));
        assert_eq!(said, result("begun\n(ended after 1 s)", None));
        is_over(&ground);
    }

    #[test]
    fn what_a_command_leaves_running_is_ended() {
        let ground = Workspace::new();
        let command = "sleep 600 & echo $! > child; echo done";
        assert_eq!(ground.whole_result(NAME, &json!({ "command": command })), result("done", Some(0)));
        is_over(&ground);
    }

    /// Waits for the end of the process whose id is in the file `child`.
    fn is_over(ground: &Workspace) {
        let child = ground.text("child");
        while std::fs::read_to_string(format!("/proc/{}/stat", child.trim()))
            .is_ok_and(|stat| !stat.contains(") Z "))
        {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn long_output_keeps_its_beginning_and_its_end() {
        let mut output = Output::default();
        for number in 0..40_000_u32 {
            output.add(format!("{number}\n").as_bytes());
        }
        let text = output.text();
        assert!(text.starts_with("0\n1\n2\n") && text.ends_with("\n39998\n39999"), "{text}");
        let whole: usize = (0..40_000).map(|number| format!("{number}\n").len()).sum();
        let left_out = whole - MOST_HEAD - MOST_TAIL;
        assert!(text.contains(&format!("\n({left_out} bytes left out)\n")));
    }
}
