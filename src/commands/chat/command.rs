//! Slash commands: their requests, and the text shown for their results.

use super::client::Client;
use protocol::context::{CompactionView, ContextCompactParams, ContextUndoParams};
use protocol::message::Content;
use protocol::methods::{ContextCompact, ContextUndo, Method, TaskList, TaskStart, read_result};
use protocol::settings::GivenSettings;
use protocol::task::{Task, TaskListParams, TaskStartParams, TaskState};
use serde_json::Value;

/// The text of `/help`.
pub(super) const HELP: &str =
    "/compact [FOCUS]   summarize the conversation so far; FOCUS says what the summary must keep
/undo              revert the last compaction
/task DESCRIPTION  queue a background task for a `threadhold serve` on this folder
/tasks             list the background tasks of this chat and their states
/help              show this help
/quit              save the session and leave, as Ctrl-D does
Ctrl-C stops an answer and keeps the part that arrived; at the prompt, press it twice to leave.";

/// A command that waits for a response.
#[derive(Debug)]
pub(super) enum Command {
    /// Compacts; the focus of the summary.
    Compact(Option<String>),
    /// Reverts the newest compaction.
    Undo,
    /// Queues a task; its description.
    Task(String),
    /// Lists tasks.
    Tasks,
}

/// The session that commands apply to.
#[derive(Debug)]
pub(super) struct Context {
    /// Session id.
    pub session: String,
    /// Workspace folder of the session.
    pub folder: String,
    /// Settings of tasks created in it.
    pub task: Option<GivenSettings>,
}

impl Command {
    /// Parses a command; `Err` is its usage. `None` if there is no command of this name.
    pub fn read(name: &str, words: &str) -> Option<Result<Self, &'static str>> {
        let words = Some(words.trim().to_owned()).filter(|words| !words.is_empty());
        Some(match (name, words) {
            ("/compact", focus) => Ok(Self::Compact(focus)),
            ("/undo", _) => Ok(Self::Undo),
            ("/task", Some(words)) => Ok(Self::Task(words)),
            ("/task", None) => Err("/task needs a description of the task; /tasks lists tasks"),
            ("/tasks", _) => Ok(Self::Tasks),
            _ => return None,
        })
    }

    /// Sends the request. Returns its number.
    pub async fn ask(&self, client: &mut Client, context: &Context) -> i64 {
        let (session_id, workspace_folder) = (context.session.clone(), context.folder.clone());
        match self {
            Self::Compact(focus) => {
                let params = ContextCompactParams {
                    session_id,
                    focus: focus.clone(),
                    redo: None,
                    keep: Vec::new(),
                    preview: false,
                    work_done_token: None,
                };
                client.ask::<ContextCompact>(&params).await
            }
            Self::Undo => {
                client.ask::<ContextUndo>(&ContextUndoParams { session_id, compaction_id: None }).await
            }
            Self::Task(words) => {
                let (content, settings) = (Content::text(words), context.task.clone());
                let params = TaskStartParams { workspace_folder, session_id, content, settings };
                client.ask::<TaskStart>(&params).await
            }
            Self::Tasks => client.ask::<TaskList>(&TaskListParams { workspace_folder, session_id }).await,
        }
    }

    /// The text shown for a result.
    pub fn describe(&self, value: Value) -> Result<String, String> {
        fn result<M: Method>(value: Value) -> Result<M::Result, String> {
            read_result::<M>(value).map_err(|error| error.message)
        }
        Ok(match self {
            // An accepted compaction is shown by its event.
            Self::Compact(_) => match result::<ContextCompact>(value)?.reason {
                Some(reason) => format!("(not compacted: {reason})"),
                None => "(done; /undo reverts it)".into(),
            },
            Self::Undo => {
                result::<ContextUndo>(value)?;
                "(reverted: the prompt shows the original messages again)".into()
            }
            Self::Task(_) => {
                let id = result::<TaskStart>(value)?.session_id;
                format!(
                    "(task queued as session {id}; it starts when a `threadhold serve` runs on this folder; /tasks shows its state)"
                )
            }
            Self::Tasks => {
                let tasks = result::<TaskList>(value)?.tasks;
                let lines: Vec<String> = tasks.iter().map(line).collect();
                if lines.is_empty() { "(no tasks)".into() } else { lines.join("\n") }
            }
        })
    }
}

/// One line of the task list.
fn line(task: &Task) -> String {
    let state = match task.state {
        TaskState::Waiting => "waiting",
        TaskState::Running => "running",
        TaskState::Interrupted => "interrupted",
        TaskState::Completed => "completed",
        TaskState::Cancelled => "cancelled",
        TaskState::Failed => "failed",
    };
    let title = task.title.as_deref().unwrap_or("(no title)");
    format!("{state:<12} {title} (session {})", task.session_id)
}

/// The text shown when a task of the chat ended; `event` is the JSON of the session's event message.
pub(super) fn task_ended(event: &str) -> String {
    let event: Value = serde_json::from_str(event).unwrap_or_default();
    let field = |name: &str| event.get(name).and_then(Value::as_str).unwrap_or_default();
    let answer = Some(field("answer")).filter(|answer| !answer.is_empty());
    let answer = answer.map(|answer| format!(": {answer}")).unwrap_or_default();
    format!("(task \"{}\" {}{answer}; session {})", field("title"), field("status"), field("sessionId"))
}

/// Number and causes of failed summary requests, as text; empty if there were none.
pub(super) fn failed_summaries(compaction: &CompactionView) -> String {
    let asked = compaction.fallbacks.iter().filter(|fallback| fallback.asked.is_some_and(|asked| asked > 0));
    let (mut count, mut reasons) = (0, Vec::new());
    for fallback in asked {
        count += fallback.asked.unwrap_or_default();
        if !reasons.contains(&fallback.reason.as_str()) {
            reasons.push(&fallback.reason);
        }
    }
    match count {
        0 => String::new(),
        1 => format!("; one request for a summary failed: {}", reasons.join("; ")),
        count => {
            format!("; {count} requests for a summary failed: {}", reasons.join("; "))
        }
    }
}
