//! Tools where the editor offers it: files as its buffers hold them, with changes that are not saved, and commands in
//! its terminals. What an editor does not offer is done on the disk and in processes of our own.

use super::editor::Editor;
use crate::commands::tools::{self, Change, End, MOST_TAIL, Runnable};
use agent_client_protocol_schema::v1::{
    ClientCapabilities, CreateTerminalRequest, CreateTerminalResponse, KillTerminalRequest,
    KillTerminalResponse, ReadTextFileRequest, ReadTextFileResponse, ReleaseTerminalRequest,
    SessionNotification, SessionUpdate, Terminal, TerminalExitStatus, TerminalId, TerminalOutputRequest,
    TerminalOutputResponse, ToolCallContent, ToolCallUpdate, ToolCallUpdateFields,
    WaitForTerminalExitRequest, WaitForTerminalExitResponse, WriteTextFileRequest, WriteTextFileResponse,
};
use protocol::tool::{ToolInvokeResult, ToolKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::Mutex;

/// A call of one of our tools.
#[derive(Debug)]
pub(super) struct Call {
    pub session: String,
    pub folder: PathBuf,
    pub id: String,
    pub name: String,
    pub arguments: String,
}

/// An editor with its capabilities.
#[derive(Debug, Clone)]
pub(super) struct Ground {
    pub editor: Editor,
    pub capabilities: ClientCapabilities,
    /// Held while a buffer is changed: calls of one round run side by side.
    pub turn: Arc<Mutex<()>>,
}

impl Ground {
    /// Runs a call. No other change is made than the one that was shown, if one was.
    pub async fn run(self, call: Call, shown: Option<Change>) -> ToolInvokeResult {
        let fs = &self.capabilities.fs;
        match tools::kind(&call.name) {
            Some(ToolKind::Read) if fs.read_text_file => {
                let file = tools::read_of(&call.folder, &call.name, &call.arguments);
                if let Some(text) = self.buffer(&call.session, file.as_deref()).await {
                    return tools::said(tools::page(&call.arguments, &text));
                }
            }
            Some(ToolKind::Edit) if fs.read_text_file && fs.write_text_file => {
                return self.change(&call, shown.as_ref()).await;
            }
            Some(ToolKind::Execute) if self.capabilities.terminal => {
                return match tools::runnable(&call.folder, &call.arguments) {
                    Ok(runnable) => self.command(&call, runnable).await,
                    Err(error) => tools::said(Err(error)),
                };
            }
            _ => {}
        }
        tools::run(call.folder, call.name, call.arguments, shown).await
    }

    /// The change that a call would make now; `None` for a tool that changes no file.
    pub async fn planned(&self, call: &Call) -> Option<Result<Change, String>> {
        let file = tools::file(&call.folder, &call.name, &call.arguments);
        let buffer = if self.capabilities.fs.read_text_file {
            self.buffer(&call.session, file.as_deref()).await
        } else {
            None
        };
        tools::planned(&call.folder, &call.name, &call.arguments, buffer)
    }

    /// The text of a file in the editor; `None` if it does not give it.
    async fn buffer(&self, session: &str, file: Option<&Path>) -> Option<String> {
        let request = ReadTextFileRequest::new(session.to_owned(), file?);
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
        let request = WriteTextFileRequest::new(call.session.clone(), change.file(), change.after.clone());
        match self.editor.ask::<WriteTextFileResponse>("fs/write_text_file", &request).await {
            Ok(_) => change.made(),
            Err(error) => tools::said(Err(format!("{}: {error}", change.path))),
        }
    }

    async fn command(&self, call: &Call, runnable: Runnable) -> ToolInvokeResult {
        let Runnable { command, folder, within } = runnable;
        let mut request = CreateTerminalRequest::new(call.session.clone(), tools::bash());
        request.args = vec!["-c".to_owned(), command];
        request.cwd = Some(folder);
        request.output_byte_limit = Some(MOST_TAIL as u64);
        let created = self.editor.ask::<CreateTerminalResponse>("terminal/create", &request).await;
        let terminal = match created {
            Ok(created) => created.terminal_id,
            Err(error) => {
                return tools::said(Err(format!("the command could not be started: {error}")));
            }
        };
        // A terminal of a call that is stopped is released, which ends its command.
        let release =
            Release { ground: self.clone(), session: call.session.clone(), terminal: terminal.clone() };
        self.shows(call, &terminal);
        let wait = WaitForTerminalExitRequest::new(call.session.clone(), terminal.clone());
        let waited = self.editor.ask::<WaitForTerminalExitResponse>("terminal/wait_for_exit", &wait);
        let end = match tokio::time::timeout(within, waited).await {
            Ok(Ok(response)) => end(response.exit_status),
            Ok(Err(error)) => End::Lost(error.to_string()),
            Err(_) => {
                let kill = KillTerminalRequest::new(call.session.clone(), terminal.clone());
                // Its output so far is returned either way.
                let _ = self.editor.ask::<KillTerminalResponse>("terminal/kill", &kill).await;
                End::TimedOut(within.as_secs())
            }
        };
        let output = TerminalOutputRequest::new(call.session.clone(), terminal);
        let output = self.editor.ask::<TerminalOutputResponse>("terminal/output", &output).await;
        drop(release);
        let text = match output {
            Ok(output) if output.truncated => format!("(the beginning is left out)\n{}", output.output),
            Ok(output) => output.output,
            Err(error) => format!("(no output: {error})"),
        };
        tools::ended(text.trim_end().to_owned(), &end)
    }

    /// Shows a terminal in the row of its call.
    fn shows(&self, call: &Call, terminal: &TerminalId) {
        let content = vec![ToolCallContent::Terminal(Terminal::new(terminal.clone()))];
        let update = ToolCallUpdate::new(call.id.clone(), ToolCallUpdateFields::new().content(content));
        let update = SessionUpdate::ToolCallUpdate(update);
        self.editor.notify("session/update", &SessionNotification::new(call.session.clone(), update));
    }
}

fn end(status: TerminalExitStatus) -> End {
    match (status.signal, status.exit_code) {
        (Some(signal), _) => End::Signal(signal),
        (None, code) => End::Exit(code.and_then(|code| i32::try_from(code).ok())),
    }
}

/// Releases a terminal when it is dropped.
struct Release {
    ground: Ground,
    session: String,
    terminal: TerminalId,
}

impl Drop for Release {
    fn drop(&mut self) {
        let request = ReleaseTerminalRequest::new(self.session.clone(), self.terminal.clone());
        self.ground.editor.tell("terminal/release", &request);
    }
}
