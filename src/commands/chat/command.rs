//! Slash commands: their requests, and the text shown for their results.

use crate::commands::client::{Client, ClientError};
use crate::commands::context::About;
use crate::commands::model::Named;
use crate::commands::report;
use crate::commands::tools::servers;
use protocol::context::{CompactionView, ContextInspectParams};
use protocol::message::Content;
use protocol::methods::{
    ContextCompact, ContextInspect, ContextUndo, McpAllow, McpList, Method, SessionConfigure, SessionList,
    TaskList, TaskStart, read_result,
};
use protocol::session::{SessionConfigureParams, SessionListParams};
use protocol::settings::GivenSettings;
use protocol::task::{Task, TaskListParams, TaskStartParams, TaskState};
use protocol::tool::server::{McpAllowParams, McpDecision, McpListParams};
use serde_json::Value;

/// Commands, their arguments, and what they do.
const COMMANDS: &[(&str, &str, &str)] = &[
    ("/allow", "SERVER", "start a tool server that a file of this folder defines, now and later"),
    ("/compact", "[FOCUS]", "summarize the conversation so far; FOCUS says what the summary must keep"),
    ("/context", "", "show what the prompt holds, and when it is compacted next"),
    ("/cost", "", "show what the session's requests to models cost"),
    ("/deny", "SERVER", "never start that tool server"),
    ("/exit", "", ""),
    ("/help", "", "show this help"),
    ("/model", "[WIRE:NAME]", "show the model, or go on with another one"),
    ("/new", "", "begin a new session"),
    ("/quit", "", "save the session and leave, as Ctrl-D does"),
    ("/redo", "", "make the last compaction again"),
    ("/resume", "ID|NUMBER", "go on with a session, by its id or its number in /sessions"),
    ("/servers", "", "list the tool servers with their states and costs"),
    ("/sessions", "", "list the sessions of this folder, newest first"),
    ("/task", "DESCRIPTION", "queue a background task for a `threadhold serve` on this folder"),
    ("/tasks", "", "list the background tasks of this chat and their states"),
    ("/undo", "", "revert the last compaction"),
];

/// Keys that are no commands.
const KEYS: &str = "/SERVER:PROMPT ARGUMENTS sends a prompt of a tool server, and @SERVER:URI in a message adds a resource of one.
Alt-Enter begins another line of a message; what is pasted is one message.
The arrow keys bring back earlier messages, and Tab completes commands.
Ctrl-C stops an answer and keeps the part that arrived. At the prompt it clears the line, and twice it leaves.";

/// Sessions that one list shows.
const MOST_SESSIONS: u32 = 20;

/// The text of `/help`.
pub(super) fn help() -> String {
    let lines = COMMANDS.iter().filter(|(.., does)| !does.is_empty()).map(|(name, arguments, does)| {
        let command = format!("{name} {arguments}");
        format!("{command:<20} {does}\n")
    });
    lines.chain([KEYS.to_owned()]).collect()
}

/// The commands that begin so, each with a space if arguments may follow.
pub(super) fn completions(begun: &str) -> Vec<String> {
    let commands = COMMANDS.iter().filter(|(name, ..)| begun.starts_with('/') && name.starts_with(begun));
    commands
        .map(|(name, arguments, _)| format!("{name}{}", if arguments.is_empty() { "" } else { " " }))
        .collect()
}

/// A line that is a command.
#[derive(Debug)]
pub(super) enum Typed {
    /// Waits for a response.
    Command(Command),
    /// Goes on with another session, by its id or its number in the last list; `None`: with a new one.
    Switch(Option<String>),
    /// Goes on with another model.
    Model(Box<Named>),
    Help,
    Leave,
    /// A command that cannot be meant, and the reason.
    Wrong(String),
}

/// A command that waits for a response.
#[derive(Debug)]
pub(super) enum Command {
    /// Compacts; the focus of the summary.
    Compact(Option<String>),
    /// Shows the prompt.
    Context,
    /// Shows costs.
    Cost,
    /// Shows the model.
    Model,
    /// Makes the newest compaction again.
    Redo,
    /// Decides about a server that a file of the folder defines, by its name.
    Decide(String, McpDecision),
    /// Lists servers.
    Servers,
    /// Lists sessions.
    Sessions,
    /// Queues a task; its description.
    Task(String),
    /// Lists tasks.
    Tasks,
    /// Reverts the newest compaction.
    Undo,
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
    /// Ids of the sessions that were listed last.
    pub listed: Vec<String>,
}

impl Typed {
    /// Parses a line; `None` if it is a message, also one that a server writes (`/server:prompt`). A path is no command.
    pub fn read(line: &str) -> Option<Self> {
        let (name, words) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        if !name.starts_with('/') || name.get(1..).is_some_and(|rest| rest.contains(['/', ':'])) {
            return None;
        }
        let words = Some(words.trim().to_owned()).filter(|words| !words.is_empty());
        Some(match (name, words) {
            ("/allow", Some(server)) => Self::Command(Command::Decide(server, McpDecision::Allow)),
            ("/deny", Some(server)) => Self::Command(Command::Decide(server, McpDecision::Deny)),
            ("/allow" | "/deny", None) => {
                Self::Wrong(format!("{name} needs the name of a tool server; /servers lists them"))
            }
            ("/servers", _) => Self::Command(Command::Servers),
            ("/compact", focus) => Self::Command(Command::Compact(focus)),
            ("/context", _) => Self::Command(Command::Context),
            ("/cost", _) => Self::Command(Command::Cost),
            ("/help", _) => Self::Help,
            ("/model", None) => Self::Command(Command::Model),
            ("/model", Some(model)) => match Named::read(&model, None, None) {
                Ok(named) => Self::Model(Box::new(named)),
                Err(error) => Self::Wrong(error.to_string()),
            },
            ("/new", _) => Self::Switch(None),
            ("/quit" | "/exit", _) => Self::Leave,
            ("/redo", _) => Self::Command(Command::Redo),
            ("/resume", Some(which)) => Self::Switch(Some(which)),
            ("/resume", None) => {
                Self::Wrong("/resume needs a session id, or a number of /sessions".to_owned())
            }
            ("/sessions", _) => Self::Command(Command::Sessions),
            ("/task", Some(words)) => Self::Command(Command::Task(words)),
            ("/task", None) => {
                Self::Wrong("/task needs a description of the task; /tasks lists tasks".to_owned())
            }
            ("/tasks", _) => Self::Command(Command::Tasks),
            ("/undo", _) => Self::Command(Command::Undo),
            _ => Self::Wrong(format!("unknown command {name}; /help lists all commands")),
        })
    }
}

impl Command {
    /// Sends the request. Returns its number; the error is one of the command's own.
    pub async fn ask(&self, client: &mut Client, context: &Context) -> Result<i64, ClientError> {
        let (session_id, workspace_folder) = (context.session.clone(), context.folder.clone());
        Ok(match self {
            Self::Compact(focus) => About::Compact(focus.clone()).ask(client, &session_id).await,
            Self::Context | Self::Cost => About::Inspect.ask(client, &session_id).await,
            Self::Model => {
                let params = SessionConfigureParams {
                    session_id,
                    settings: None,
                    title: None,
                    forget_learned_limits: None,
                };
                client.ask::<SessionConfigure>(&params).await
            }
            Self::Redo => {
                let params = ContextInspectParams { session_id: session_id.clone(), compactions: Some(1) };
                let newest = client.call::<ContextInspect>(&params).await?.compactions.pop();
                let nothing = || ClientError::No("there is no compaction to make again".to_owned());
                let id = newest.map(|compaction| compaction.id).ok_or_else(nothing)?;
                About::Again(id).ask(client, &session_id).await
            }
            Self::Decide(name, decision) => {
                let servers = client.call::<McpList>(&of_session(&session_id)).await?.servers;
                let definition = servers.into_iter().find(|server| server.name == *name);
                let none = || ClientError::No(format!("no file of this folder defines a server {name:?}"));
                let definition = definition.and_then(|server| server.definition).ok_or_else(none)?;
                let (workspace_folder, name, decision) = (Some(workspace_folder), name.clone(), *decision);
                let params = McpAllowParams { workspace_folder, name, definition, decision };
                client.ask::<McpAllow>(&params).await
            }
            Self::Servers => client.ask::<McpList>(&of_session(&session_id)).await,
            Self::Sessions => {
                let params = SessionListParams {
                    workspace_folder: Some(workspace_folder),
                    limit: Some(MOST_SESSIONS),
                    ..SessionListParams::default()
                };
                client.ask::<SessionList>(&params).await
            }
            Self::Task(words) => {
                let (content, settings) = (Content::text(words), context.task.clone());
                let params = TaskStartParams { workspace_folder, session_id, content, settings };
                client.ask::<TaskStart>(&params).await
            }
            Self::Tasks => client.ask::<TaskList>(&TaskListParams { workspace_folder, session_id }).await,
            Self::Undo => About::Undo.ask(client, &session_id).await,
        })
    }

    /// The text shown for a result. A list of sessions is kept in the context.
    pub fn describe(&self, value: Value, context: &mut Context) -> Result<String, String> {
        fn result<M: Method>(value: Value) -> Result<M::Result, String> {
            read_result::<M>(value).map_err(|error| error.message)
        }
        Ok(match self {
            // An accepted compaction is shown by its event.
            Self::Compact(_) | Self::Redo => match result::<ContextCompact>(value)?.reason {
                Some(reason) => format!("(not compacted: {reason})"),
                None => "(done; /undo reverts it)".into(),
            },
            Self::Context => report::context(&result::<ContextInspect>(value)?),
            Self::Cost => report::spending(result::<ContextInspect>(value)?.spent.as_ref()),
            Self::Model => {
                let settings = result::<SessionConfigure>(value)?.settings;
                report::model(&settings).unwrap_or_else(|| "the editor's model".to_owned())
            }
            Self::Decide(name, McpDecision::Allow) => {
                result::<McpAllow>(value)?;
                format!("(allowed; {name} is started with the next message)")
            }
            Self::Decide(name, McpDecision::Deny | McpDecision::Forget) => {
                result::<McpAllow>(value)?;
                format!("(denied; {name} is not started)")
            }
            Self::Servers => servers::list(&result::<McpList>(value)?.servers),
            Self::Sessions => {
                let sessions = result::<SessionList>(value)?.sessions;
                context.listed = sessions.iter().map(|session| session.session_id.clone()).collect();
                report::sessions(&sessions, &context.session)
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
            Self::Undo => {
                result::<ContextUndo>(value)?;
                "(reverted: the prompt shows the original messages again)".into()
            }
        })
    }
}

/// Parameters that list the servers of a session.
pub(super) fn of_session(session: &str) -> McpListParams {
    McpListParams { session_id: Some(session.to_owned()), workspace_folder: None }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_complete_and_paths_are_messages() {
        assert_eq!(completions("/co"), ["/compact ", "/context", "/cost"]);
        assert_eq!(completions("/quit"), ["/quit"]);
        assert!(completions("co").is_empty() && completions("/compact x").is_empty());
        for message in ["hello /quit", "/usr/bin is full", "a", ""] {
            assert!(Typed::read(message).is_none(), "{message}");
        }
        assert!(
            matches!(Typed::read("/compact the  plan"), Some(Typed::Command(Command::Compact(Some(focus)))) if focus == "the  plan")
        );
        assert!(matches!(Typed::read("/summon"), Some(Typed::Wrong(_))));
        for (name, arguments, _) in COMMANDS {
            let line =
                if *name == "/model" { "/model ollama:llama3" } else { &format!("{name} {arguments}") };
            assert!(!matches!(Typed::read(line), Some(Typed::Wrong(_))), "{line}");
        }
    }
}
