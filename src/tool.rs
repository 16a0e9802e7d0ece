//! The sidecar's own tools, as data and as pure functions: what a model is told of each, and what a call of it answers.
//! Nothing is read, written or asked here; what a tool may know comes in, and what it changes goes out. Tools of the
//! editor are the editor's.

mod ending;
mod recall;
mod todo;

use engine::message::{Content, ToolResult};
use engine::prompt::item::{Approval, EndsTurn, Tool, ToolKind};
use engine::scope::Todo;
use engine::search::{Found, Query};
use engine::text::json;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A tool that the sidecar runs itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OwnTool {
    /// Says that the work is done, as a background session does.
    AgentFinish,
    /// Asks the user.
    AskQuestions,
    /// Gives what a prompt shows cut or not at all.
    Recall,
    /// Says that the work is done.
    TaskDone,
    /// Keeps the list of what is to do.
    Todo,
    /// Waits for background sessions.
    WaitAgents,
}

/// What a call may know.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The todos as they stand.
    pub todos: &'a [Todo],
    /// The whole text under a reference, as far as a model may see it.
    pub recall: &'a dyn Fn(&str) -> Option<String>,
    /// What [`OwnTool::looks_for`] asked for.
    pub found: Option<&'a Found>,
    /// The most characters of a page of `recall`, below its own limit: as many as reach the model uncut.
    pub page: usize,
}

/// What a call did.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran {
    /// What the model is answered. The call's id is the caller's to fill in.
    pub result: ToolResult,
    /// The todos from now on, where the call changed them.
    pub todos: Option<Vec<Todo>>,
    /// What the user is asked, where the call asks.
    pub question: Option<String>,
}

impl OwnTool {
    /// All of them, by name.
    pub const ALL: [Self; 6] =
        [Self::AgentFinish, Self::AskQuestions, Self::Recall, Self::TaskDone, Self::Todo, Self::WaitAgents];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::AgentFinish => "agent_finish",
            Self::AskQuestions => "ask_questions",
            Self::Recall => "recall",
            Self::TaskDone => "task_done",
            Self::Todo => "todo",
            Self::WaitAgents => "wait_agents",
        }
    }

    /// The tool of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// What a model is told of it. It needs nobody's leave: it touches nothing outside the session.
    pub fn definition(self) -> Tool {
        let About { description, properties, required, kind, guidelines } = match self {
            Self::Todo => todo::about(),
            Self::Recall => recall::about(),
            Self::TaskDone | Self::AgentFinish => ending::finishes(),
            Self::AskQuestions => ending::asks(),
            Self::WaitAgents => ending::waits(),
        };
        Tool {
            rules: Vec::new(),
            name: self.name().to_owned(),
            description: description.to_owned(),
            input_schema: json!({ "type": "object", "properties": properties, "required": required }),
            kind: Some(kind),
            guidelines: guidelines.map(str::to_owned),
            approval: Approval::Allow,
            ends_turn: EndsTurn::built_in(self.name()),
        }
    }

    /// What must be searched before a call can run; nothing for most.
    pub fn looks_for(self, arguments: &str) -> Option<Query> {
        match self {
            Self::Recall => recall::looks_for(arguments),
            Self::AgentFinish | Self::AskQuestions | Self::TaskDone | Self::Todo | Self::WaitAgents => None,
        }
    }

    /// Runs a call. Arguments that cannot be used are answered with what is expected, and change nothing.
    pub fn run(self, arguments: &str, context: Context<'_>) -> Ran {
        let done = match self {
            Self::Todo => todo::run(arguments, context),
            Self::Recall => recall::run(arguments, context),
            Self::TaskDone | Self::AgentFinish => ending::finish(arguments),
            Self::AskQuestions => ending::ask(arguments),
            Self::WaitAgents => Ok(ending::wait()),
        };
        done.unwrap_or_else(|why| Ran {
            result: ToolResult { is_error: true, ..said([why]) },
            todos: None,
            question: None,
        })
    }
}

/// What a tool's own file tells of it.
struct About {
    description: &'static str,
    properties: Value,
    required: &'static [&'static str],
    kind: ToolKind,
    guidelines: Option<&'static str>,
}

impl Ran {
    /// A call that only answers.
    fn says<const N: usize>(texts: [String; N]) -> Self {
        Self { result: said(texts), todos: None, question: None }
    }
}

fn said<const N: usize>(texts: [String; N]) -> ToolResult {
    let content = texts.into_iter().map(|text| Content::Text(text.into())).collect();
    ToolResult { content, ..ToolResult::default() }
}

/// Reads arguments; nothing at all is an empty object. The error says what is wrong, and what is expected.
fn read<T: DeserializeOwned>(arguments: &str, expected: &str) -> Result<T, String> {
    let text = if arguments.trim().is_empty() { "{}" } else { arguments };
    json::read(text).map_err(|error| refusal(&error.to_string(), expected))
}

fn refusal(why: &str, expected: &str) -> String {
    format!("[invalid arguments: {why}; expected {expected}; nothing was changed]")
}

#[cfg(test)]
mod tests;
