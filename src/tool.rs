//! The sidecar's own tools, as data and pure functions: their definitions, and the results of calls. Nothing
//! is read or written here: a [`Context`] holds what a tool may know, [`Ran`] what it changes. Tools of the
//! editor are the editor's.

mod agents;
mod ending;
mod recall;
mod scope;
mod todo;

pub use agents::{StartAgent, WaitAgents};

use engine::message::{Content, ToolResult};
use engine::prompt::item::{Approval, EndsTurn, Tool, ToolKind};
use engine::scope::{Scope, ScopePatch};
use engine::search::{Query, SearchPage};
use engine::text::json;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A tool that the sidecar runs itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OwnTool {
    /// Ends the turn of a background session whose work is done.
    AgentFinish,
    /// Asks the user.
    AskQuestions,
    /// Returns what the sessions of a work scope share.
    ReadScope,
    /// Returns messages that a prompt shows truncated or not at all.
    Recall,
    /// Starts an agent.
    StartAgent,
    /// Ends a turn whose work is done.
    TaskDone,
    /// Reads or changes the list of todos.
    Todo,
    /// Waits for agents, and returns their answers.
    WaitAgents,
}

/// Input of a call besides its arguments.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The work scope.
    pub scope: &'a Scope,
    /// The whole text under a reference, as far as a model may see it.
    pub recall: &'a dyn Fn(&str) -> Option<String>,
    /// The result of the search that [`OwnTool::looks_for`] returned.
    pub found: Option<&'a SearchPage>,
    /// Most characters of a page of `recall`, below its own limit: as many as reach the model uncut.
    pub page: usize,
}

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran {
    /// The result for the model. The caller fills in the call's id.
    pub result: ToolResult,
    /// The change of the work scope, if the call makes one.
    pub patch: Option<ScopePatch>,
    /// The question to the user, if the call asks one.
    pub question: Option<String>,
}

impl OwnTool {
    /// All tools, sorted by name.
    pub const ALL: [Self; 8] = [
        Self::AgentFinish,
        Self::AskQuestions,
        Self::ReadScope,
        Self::Recall,
        Self::StartAgent,
        Self::TaskDone,
        Self::Todo,
        Self::WaitAgents,
    ];

    /// The name that models call it by.
    pub fn name(self) -> &'static str {
        match self {
            Self::AgentFinish => "agent_finish",
            Self::AskQuestions => "ask_questions",
            Self::ReadScope => "read_scope",
            Self::Recall => "recall",
            Self::StartAgent => "start_agent",
            Self::TaskDone => "task_done",
            Self::Todo => "todo",
            Self::WaitAgents => "wait_agents",
        }
    }

    /// The tool of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// The definition for a model. Calls need no approval: they touch nothing outside the session.
    pub fn definition(self) -> Tool {
        let About { description, properties, required, kind, guidelines } = match self {
            Self::Todo => todo::about(),
            Self::Recall => recall::about(),
            Self::TaskDone | Self::AgentFinish => ending::finishes(),
            Self::AskQuestions => ending::asks(),
            Self::ReadScope => scope::about(),
            Self::StartAgent => agents::starts(),
            Self::WaitAgents => agents::waits(),
        };
        Tool {
            rules: Vec::new(),
            name: self.name().to_owned(),
            description: description.to_owned(),
            input_schema: json!({ "type": "object", "properties": properties, "required": required }),
            kind: Some(kind),
            guidelines: guidelines.map(str::to_owned),
            approval: Approval::Allow,
            // A turn goes on after its wait for agents; a client's tool of that name ends it.
            ends_turn: EndsTurn::built_in(self.name()).filter(|_| self != Self::WaitAgents),
            origin: None,
        }
    }

    /// The search that a call needs before it runs; `None` for most.
    pub fn looks_for(self, arguments: &str) -> Option<Query> {
        match self {
            Self::Recall => recall::looks_for(arguments),
            Self::AgentFinish
            | Self::AskQuestions
            | Self::ReadScope
            | Self::StartAgent
            | Self::TaskDone
            | Self::Todo
            | Self::WaitAgents => None,
        }
    }

    /// What a call asks of the server, which alone can start agents and wait for them; the error is the answer for the
    /// model. `None` for any other tool.
    pub fn delegates(self, arguments: &str) -> Option<Result<Delegation, String>> {
        match self {
            Self::StartAgent => Some(agents::start(arguments).map(Delegation::Start)),
            Self::WaitAgents => Some(agents::wait(arguments).map(Delegation::Wait)),
            Self::AgentFinish
            | Self::AskQuestions
            | Self::ReadScope
            | Self::Recall
            | Self::TaskDone
            | Self::Todo => None,
        }
    }

    /// Runs a call. Invalid arguments are answered with the expected form, and change nothing.
    pub fn run(self, arguments: &str, context: Context<'_>) -> Ran {
        let done = match self {
            Self::Todo => todo::run(arguments, context),
            Self::Recall => recall::run(arguments, context),
            Self::TaskDone | Self::AgentFinish => ending::finish(arguments),
            Self::AskQuestions => ending::ask(arguments),
            Self::ReadScope => Ok(scope::run(context)),
            Self::StartAgent | Self::WaitAgents => Err("[agents cannot be started here]".to_owned()),
        };
        done.unwrap_or_else(|why| Ran {
            result: ToolResult { is_error: true, ..said([why]) },
            patch: None,
            question: None,
        })
    }
}

/// What a call asks of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delegation {
    /// Start an agent.
    Start(StartAgent),
    /// Wait for agents.
    Wait(WaitAgents),
}

/// A tool's own part of its definition.
struct About {
    description: &'static str,
    properties: Value,
    required: &'static [&'static str],
    kind: ToolKind,
    guidelines: Option<&'static str>,
}

impl Ran {
    /// The outcome of a call that only answers.
    fn says<const N: usize>(texts: [String; N]) -> Self {
        Self { result: said(texts), patch: None, question: None }
    }
}

fn said<const N: usize>(texts: [String; N]) -> ToolResult {
    let content = texts.into_iter().map(|text| Content::Text(text.into())).collect();
    ToolResult { content, ..ToolResult::default() }
}

/// Parses arguments; an empty text is an empty object. The error names the fault and the expected form.
fn read<T: DeserializeOwned>(arguments: &str, expected: &str) -> Result<T, String> {
    let text = if arguments.trim().is_empty() { "{}" } else { arguments };
    json::read(text).map_err(|error| refusal(&error.to_string(), expected))
}

fn refusal(why: &str, expected: &str) -> String {
    format!("[invalid arguments: {why}; expected {expected}; nothing was changed]")
}

#[cfg(test)]
mod tests;
