//! Queued commands, shared values and approvals, both ways.

use super::message::content_parts;
use super::{ConvertError, Reading};
use engine::approval::Rule;
use engine::message::Content;
use engine::scope as ours;
use protocol::scope::{Artifact, Pin, Scope, ScopePutParams, StandingDecision, Todo};
use protocol::snapshot::QueueItem;
use protocol::tool::ToolRule;
use session::acceptance::{self, CommandName};
use session::queue;
use session::stored::Always;

/// Converts a queued command.
pub fn queue_item(item: &queue::QueueItem) -> QueueItem {
    let parts = |content: &[Content]| Some(content_parts(content));
    let (command, turn, message, content) = match &item.work {
        queue::Work::Start { turn, message, start } => {
            (CommandName::UserMessage, Some(turn), Some(message), parts(&start.content))
        }
        queue::Work::Retry { from, content } => {
            (CommandName::RetryFromIndex, None, Some(from), content.as_deref().and_then(parts))
        }
        queue::Work::Regenerate => (CommandName::Regenerate, None, None, None),
        queue::Work::Update { message, content, .. } => {
            (CommandName::UpdateMessage, None, Some(message), parts(content))
        }
        queue::Work::Remove { message } => (CommandName::RemoveMessage, None, Some(message), None),
        queue::Work::Truncate { from } => (CommandName::TruncateMessages, None, Some(from), None),
    };
    QueueItem {
        item_id: item.id.as_str().to_owned(),
        method: acceptance::row(command).map(|row| row.method).unwrap_or_default().to_owned(),
        priority: item.priority,
        turn_id: turn.map(|turn| turn.as_str().to_owned()),
        message_id: message.map(|message| message.as_str().to_owned()),
        content,
    }
}

/// Converts the values that sessions share.
pub fn scope(scope: &ours::Scope) -> Scope {
    let todo = |todo: &ours::Todo| Todo {
        id: Some(todo.id),
        content: todo.content.clone(),
        status: todo.status.into(),
    };
    Scope {
        revision: scope.revision,
        todos: scope.todos.iter().map(todo).collect(),
        plan: scope.plan.as_ref().map(ToString::to_string),
        pins: scope.pins.iter().map(|pin| Pin { id: pin.id.clone(), text: pin.text.to_string() }).collect(),
        artifacts: scope.artifacts.iter().map(artifact).collect(),
    }
}

fn artifact(artifact: &ours::Artifact) -> Artifact {
    Artifact {
        id: artifact.id.clone(),
        name: artifact.name.clone(),
        kind: artifact.kind.clone(),
        content_ref: artifact.content_ref.clone(),
    }
}

/// Reads a change of the values that sessions share.
pub fn scope_patch(params: &ScopePutParams) -> ours::ScopePatch {
    let todo = |todo: &Todo| ours::Todo {
        id: todo.id.unwrap_or_default(),
        content: todo.content.clone(),
        status: todo.status.into(),
    };
    let pin = |pin: &Pin| ours::Pin { id: pin.id.clone(), text: pin.text.as_str().into() };
    let artifact = |artifact: &Artifact| ours::Artifact {
        id: artifact.id.clone(),
        name: artifact.name.clone(),
        kind: artifact.kind.clone(),
        content_ref: artifact.content_ref.clone(),
    };
    ours::ScopePatch {
        todos: params.todos.as_ref().map(|todos| todos.iter().map(todo).collect()),
        todo_change: None,
        plan: params.plan.as_deref().map(Into::into),
        pins: params.pins.as_ref().map(|pins| pins.iter().map(pin).collect()),
        artifacts: params.artifacts.as_ref().map(|all| all.iter().map(artifact).collect()),
    }
}

/// Converts a permanent approval or rejection.
pub fn standing(always: &Always) -> StandingDecision {
    let rejected = always.rejected.then_some(true);
    StandingDecision { tool: always.tool.clone(), pattern: always.pattern.clone(), rejected }
}

/// Reads a permanent approval or rejection.
pub fn always(standing: &StandingDecision) -> Always {
    let rejected = standing.rejected.unwrap_or(false);
    Always { tool: standing.tool.clone(), pattern: standing.pattern.clone(), rejected }
}

/// Reads a tool's rules.
pub(super) fn rules(reading: &mut Reading, rules: &[ToolRule]) -> Result<Vec<Rule>, ConvertError> {
    reading.each(rules, |reading, rule| match rule.pattern.as_str() {
        "" => Err(reading.field("pattern", |reading| reading.fail("must not be empty"))),
        pattern => {
            Ok(Rule { argument: rule.argument.clone(), pattern: pattern.to_owned(), approval: rule.policy })
        }
    })
}

/// Converts a tool's rule.
pub(super) fn rule(rule: &Rule) -> ToolRule {
    ToolRule { argument: rule.argument.clone(), pattern: rule.pattern.clone(), policy: rule.approval }
}
