//! `start_agent` and `wait_agents`: their definitions and arguments. Starting and waiting are the server's.

use super::{About, read, refusal};
use engine::prompt::item::ToolKind;
use serde::Deserialize;
use serde_json::json;

const START: &str = r#"{"task": "the task", "name": "a short name", "model": "a model", "preset": "a preset", "tools": ["a tool"]} with a task, and any of the others"#;
const WAIT: &str = r#"{"agents": ["an agent's id"]}, or {} for all"#;

/// The arguments of `start_agent`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct StartAgent {
    /// The task, which is the agent's request.
    pub task: String,
    /// A short name, for people.
    #[serde(default)]
    pub name: Option<String>,
    /// The name of its model.
    #[serde(default)]
    pub model: Option<String>,
    /// The name of a preset.
    #[serde(default)]
    pub preset: Option<String>,
    /// The tools that it may use.
    #[serde(default)]
    pub tools: Option<Vec<String>>,
}

/// The arguments of `wait_agents`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct WaitAgents {
    /// Ids of the agents; `None` for all whose answer was not returned yet.
    #[serde(default)]
    pub agents: Option<Vec<String>>,
}

pub(super) fn starts() -> About {
    let text = |about: &str| json!({ "type": "string", "description": about });
    About {
        description: "Starts an agent that works on a task in the background, and returns its id and name. The agent sees the \
                      task and the work scope, not this conversation: the task must say all that it needs. Fails when a limit \
                      on agents is reached.",
        properties: json!({
            "task": text("The whole task, and what the answer must contain."),
            "name": text("A short name, for the user. Default: the beginning of the task."),
            "model": text("The name of its model. Default: the model of this session."),
            "preset": text("The name of a preset, which sets its model, role and tools."),
            "tools": {
                "type": "array", "items": { "type": "string" },
                "description": "Names of the tools that it may use, of those of this session. Default: all.",
            },
        }),
        required: &["task"],
        kind: ToolKind::Other,
        guidelines: Some(
            "Give parts of the work that do not depend on each other to agents with start_agent, and collect their answers \
             with one call of wait_agents.",
        ),
    }
}

pub(super) fn waits() -> About {
    About {
        description: "Waits until agents are done, and returns the final answer of each. A user's message may end the wait \
                      early; the agents keep running then.",
        properties: json!({
            "agents": {
                "type": "array", "items": { "type": "string" },
                "description": "Ids that start_agent returned. Default: all whose answer was not returned yet.",
            },
        }),
        required: &[],
        kind: ToolKind::Other,
        guidelines: None,
    }
}

/// Parses a call of `start_agent`; the error is the answer for the model.
pub(super) fn start(arguments: &str) -> Result<StartAgent, String> {
    let start: StartAgent = read(arguments, START)?;
    let is_blank = |text: &Option<String>| text.as_ref().is_some_and(|text| text.trim().is_empty());
    if start.task.trim().is_empty() {
        return Err(refusal("the task is empty", START));
    }
    if is_blank(&start.name) || is_blank(&start.model) || is_blank(&start.preset) {
        return Err(refusal("a name is empty", START));
    }
    if start.model.is_some() && start.preset.is_some() {
        return Err(refusal("give a model or a preset, not both", START));
    }
    Ok(start)
}

/// Parses a call of `wait_agents`; the error is the answer for the model.
pub(super) fn wait(arguments: &str) -> Result<WaitAgents, String> {
    let wait: WaitAgents = read(arguments, WAIT)?;
    if wait.agents.as_ref().is_some_and(Vec::is_empty) {
        return Err(refusal("agents is empty", WAIT));
    }
    Ok(wait)
}
