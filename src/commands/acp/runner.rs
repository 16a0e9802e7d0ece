//! Tools where the editor offers it: files as its buffers hold them, with changes that are not saved, and commands in
//! its terminals. What an editor does not offer is done on the disk and in processes of our own.

use super::editor::{Editor, Unanswered};
use crate::commands::tools::{self, Change, End, MOST_TAIL, Runnable};
use agent_client_protocol_schema::v1::{
    ClientCapabilities, CreateTerminalRequest, CreateTerminalResponse, EnvVariable, KillTerminalRequest,
    KillTerminalResponse, ReadTextFileRequest, ReadTextFileResponse, ReleaseTerminalRequest,
    SessionNotification, SessionUpdate, Terminal, TerminalExitStatus, TerminalId, TerminalOutputRequest,
    TerminalOutputResponse, ToolCallContent, ToolCallUpdate, ToolCallUpdateFields,
    WaitForTerminalExitRequest, WaitForTerminalExitResponse, WriteTextFileRequest, WriteTextFileResponse,
};
use protocol::tool::{ToolInvokeResult, ToolKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, oneshot};

/// A call of one of our tools.
#[derive(Debug)]
pub(super) struct Call {
    /// The open session that the editor knows: that of the call, or the one that a background session works for.
    pub shown_in: String,
    pub session: String,
    pub folder: PathBuf,
    pub id: String,
    pub name: String,
    pub arguments: String,
}

/// The end of a call.
#[derive(Debug)]
pub(super) struct Ran {
    pub result: ToolInvokeResult,
    /// `true` if the row of the call shows a terminal.
    pub has_terminal: bool,
}

impl From<ToolInvokeResult> for Ran {
    fn from(result: ToolInvokeResult) -> Self {
        Self { result, has_terminal: false }
    }
}

/// Time for an editor to end a command and to give its output.
const LAST_WAIT: Duration = Duration::from_secs(10);

/// An editor with its capabilities.
#[derive(Debug, Clone)]
pub(super) struct Runner {
    pub editor: Editor,
    pub capabilities: ClientCapabilities,
    /// Held while a buffer is changed: calls of one round run side by side.
    pub turn: Arc<Mutex<()>>,
}

impl Runner {
    /// Runs a call. No other change is made than the one that was shown, if one was.
    pub async fn run(self, call: Call, shown: Option<Change>) -> Ran {
        let fs = &self.capabilities.fs;
        match tools::kind(&call.name) {
            Some(ToolKind::Read) if fs.read_text_file => {
                let file = tools::read_of(&call.folder, &call.name, &call.arguments);
                if let Some(text) = self.buffer(&call.shown_in, file.as_deref()).await {
                    return tools::said(tools::page(&call.arguments, &text)).into();
                }
            }
            Some(ToolKind::Edit) if fs.read_text_file && fs.write_text_file => {
                return self.change(&call, shown.as_ref()).await.into();
            }
            Some(ToolKind::Execute) if self.capabilities.terminal => {
                return match tools::runnable(&call.folder, &call.arguments) {
                    Ok(runnable) => self.command(&call, runnable).await,
                    Err(error) => tools::said(Err(error)).into(),
                };
            }
            _ => {}
        }
        tools::run(call.folder, call.name, call.arguments, shown).await.into()
    }

    /// The change that a call would make now; `None` for a tool that changes no file.
    pub async fn planned(&self, call: &Call) -> Option<Result<Change, String>> {
        let file = tools::file(&call.folder, &call.name, &call.arguments);
        let buffer = if self.capabilities.fs.read_text_file {
            self.buffer(&call.shown_in, file.as_deref()).await
        } else {
            None
        };
        tools::planned(&call.folder, &call.name, &call.arguments, buffer)
    }

    /// The text of a file in the editor; `None` if it does not give it, and for a file that is too large for it.
    async fn buffer(&self, session: &str, file: Option<&Path>) -> Option<String> {
        let file =
            file.filter(|file| file.metadata().is_ok_and(|about| about.len() <= tools::MOST_CHANGED))?;
        let request = ReadTextFileRequest::new(session.to_owned(), file);
        let response = self.editor.ask::<ReadTextFileResponse>("fs/read_text_file", &request).await;
        response.ok().map(|response| response.content)
    }

    async fn change(&self, call: &Call, shown: Option<&Change>) -> ToolInvokeResult {
        let _turn = self.turn.lock().await;
        let planned = self.planned(call).await.unwrap_or_else(|| Err(format!("unknown tool {}", call.name)));
        let change = match planned.and_then(|change| change.is_as_shown(shown).map(|()| change)) {
            Ok(change) => change,
            Err(error) => return tools::said(Err(error)),
        };
        // Editors differ in whether they make missing folders.
        if let Some(Err(error)) = change.file().parent().map(std::fs::create_dir_all) {
            return tools::said(Err(format!("{}: {error}", change.path)));
        }
        let request = WriteTextFileRequest::new(call.shown_in.clone(), change.file(), change.after.clone());
        match self.editor.ask::<WriteTextFileResponse>("fs/write_text_file", &request).await {
            Ok(_) => change.made(),
            Err(error) => tools::said(Err(format!("{}: {error}", change.path))),
        }
    }

    async fn command(&self, call: &Call, runnable: Runnable) -> Ran {
        let terminal = match self.terminal(call, &runnable).await {
            Ok(terminal) => terminal,
            Err(error) => {
                return tools::said(Err(format!("the command could not be started: {error}"))).into();
            }
        };
        let (session, id, within) = (call.shown_in.clone(), terminal.id.clone(), runnable.within);
        let has_terminal = call.shown_in == call.session;
        if has_terminal {
            self.shows(call, &id);
        }
        let wait = WaitForTerminalExitRequest::new(session.clone(), id.clone());
        let waited = self.editor.ask::<WaitForTerminalExitResponse>("terminal/wait_for_exit", &wait);
        let end = match tokio::time::timeout(within, waited).await {
            Ok(Ok(response)) => end(response.exit_status),
            Ok(Err(error)) => End::Lost(error.to_string()),
            Err(_) => {
                let kill = KillTerminalRequest::new(session.clone(), id.clone());
                let killed = self.editor.ask::<KillTerminalResponse>("terminal/kill", &kill);
                // Its output so far is returned either way.
                let _ = tokio::time::timeout(LAST_WAIT, killed).await;
                End::TimedOut(within.as_secs())
            }
        };
        let request = TerminalOutputRequest::new(session, id);
        let output = self.editor.ask::<TerminalOutputResponse>("terminal/output", &request);
        let text = match tokio::time::timeout(LAST_WAIT, output).await {
            Ok(Ok(output)) if output.truncated => format!("(the beginning is left out)\n{}", output.output),
            Ok(Ok(output)) => output.output,
            Ok(Err(error)) => format!("(no output: {error})"),
            Err(_) => "(no output: the editor gave none)".to_owned(),
        };
        Ran { result: tools::ended(text.trim_end().to_owned(), &end), has_terminal }
    }

    /// Opens a terminal with a command in it.
    async fn terminal(&self, call: &Call, runnable: &Runnable) -> Result<OpenTerminal, Unanswered> {
        let (program, args) = tools::words(&runnable.command);
        let mut request = CreateTerminalRequest::new(call.shown_in.clone(), program);
        request.args = args;
        request.env = tools::UNATTENDED.map(|(name, value)| EnvVariable::new(name, value)).to_vec();
        request.cwd = Some(runnable.folder.clone());
        request.output_byte_limit = Some(MOST_TAIL as u64);
        let (editor, session) = (self.editor.clone(), call.shown_in.clone());
        let (give, opened) = oneshot::channel();
        // Goes on if the call is stopped before the editor answers: the terminal is released then.
        tokio::spawn(async move {
            let created = editor.ask::<CreateTerminalResponse>("terminal/create", &request).await;
            let opened = created.map(|created| OpenTerminal { editor, session, id: created.terminal_id });
            let _ = give.send(opened);
        });
        opened.await.unwrap_or(Err(Unanswered::Gone))
    }

    /// Shows a terminal in the row of its call.
    fn shows(&self, call: &Call, terminal: &TerminalId) {
        let content = vec![ToolCallContent::Terminal(Terminal::new(terminal.clone()))];
        let update = ToolCallUpdate::new(call.id.clone(), ToolCallUpdateFields::new().content(content));
        let update = SessionUpdate::ToolCallUpdate(update);
        self.editor.notify("session/update", &SessionNotification::new(call.shown_in.clone(), update));
    }
}

fn end(status: TerminalExitStatus) -> End {
    match (status.signal, status.exit_code) {
        (Some(signal), _) => End::Signal(signal),
        (None, code) => End::Exit(code.and_then(|code| i32::try_from(code).ok())),
    }
}

/// A terminal of the editor. It is released when this is dropped, which ends its command.
struct OpenTerminal {
    editor: Editor,
    session: String,
    id: TerminalId,
}

impl Drop for OpenTerminal {
    fn drop(&mut self) {
        let request = ReleaseTerminalRequest::new(self.session.clone(), self.id.clone());
        self.editor.tell("terminal/release", &request);
    }
}
