//! Tools, their results, and the caller's sections.

use super::message::{meta_of_whole, our_effects};
use super::queue;
use super::{ConvertError, Reading};
use engine::message as ours;
use engine::prompt::KEEP;
use engine::prompt::item::{self, EndsTurn};
use engine::prompt::system::{CallerSection, OnOverflow, Place};
use protocol::message::{Content, Meta};
use protocol::prompt::{Notebook, Section, Variable};
use protocol::tool::{Tool, ToolInvokeResult, ToolResult, ToolResultParams};
use serde_json::json;

impl Reading {
    /// Reads tools, whose names must be present and unique.
    pub fn tools(&mut self, tools: &[Tool]) -> Result<Vec<item::Tool>, ConvertError> {
        let mut names = std::collections::BTreeSet::new();
        self.each(tools, |reading, tool| {
            if tool.name.is_empty() || !names.insert(tool.name.as_str()) {
                let reason = if tool.name.is_empty() { "must not be empty" } else { "must be unique" };
                return Err(reading.field("name", |reading| reading.fail(reason)));
            }
            let rules = tool.rules.as_deref().unwrap_or_default();
            let rules = reading.field("rules", |reading| queue::rules(reading, rules))?;
            Ok(item::Tool { rules, ..our_tool(tool) })
        })
    }

    /// Reads a tool's result.
    pub fn result(&mut self, result: &ToolResult) -> Result<ours::ToolResult, ConvertError> {
        Ok(ours::ToolResult {
            call: result.tool_call_id.clone(),
            content: self.returned(&result.content, result.meta.as_ref())?,
            is_error: result.is_error.unwrap_or(false),
            exit_code: result.exit_code,
            effects: our_effects(result.effects.as_deref()),
            verdict: None,
        })
    }

    /// Reads the result in the parameters of `tool/result`.
    pub fn late_result(&mut self, params: &ToolResultParams) -> Result<ours::ToolResult, ConvertError> {
        Ok(ours::ToolResult {
            call: params.tool_call_id.clone(),
            content: self.returned(&params.content, params.meta.as_ref())?,
            is_error: params.is_error.unwrap_or(false),
            exit_code: params.exit_code,
            effects: our_effects(params.effects.as_deref()),
            verdict: None,
        })
    }

    /// Reads the result of `tool/invoke` for this call; `None` if it comes later.
    pub fn invoked(
        &mut self,
        call: &str,
        result: &ToolInvokeResult,
    ) -> Result<Option<ours::ToolResult>, ConvertError> {
        match &result.content {
            Some(content) => Ok(Some(ours::ToolResult {
                call: call.to_owned(),
                content: self.returned(content, result.meta.as_ref())?,
                is_error: result.is_error.unwrap_or(false),
                exit_code: result.exit_code,
                effects: our_effects(result.effects.as_deref()),
                verdict: None,
            })),
            None if result.pending == Some(true) => Ok(None),
            None => {
                Err(self.field("content", |reading| reading.fail("is missing, and `pending` is not true")))
            }
        }
    }

    /// Reads what a tool returned, with the data of a client about it.
    fn returned(
        &mut self,
        content: &Content,
        meta: Option<&Meta>,
    ) -> Result<Vec<ours::Content>, ConvertError> {
        let content = self.field("content", |reading| reading.content(content))?;
        Ok(content.into_iter().chain(meta_of_whole(meta)).collect())
    }

    /// Reads the caller's sections, whose names must be present.
    pub fn sections(&mut self, sections: &[Section]) -> Result<Vec<CallerSection>, ConvertError> {
        self.each(sections, |reading, section| {
            if section.name.is_empty() {
                return Err(reading.field("name", |reading| reading.fail("must not be empty")));
            }
            Ok(CallerSection {
                place: section.channel.map_or(Place::System, Place::from),
                name: section.name.clone(),
                content: section.content.clone(),
                priority: section.priority.unwrap_or(KEEP),
                max_tokens: section.max_tokens,
                on_overflow: section.on_overflow.map_or(OnOverflow::Keep, OnOverflow::from),
            })
        })
    }

    /// Reads variables and notebooks of a request, as content beside its text.
    pub fn beside(
        &mut self,
        variables: Option<&[Variable]>,
        notebooks: Option<&[Notebook]>,
    ) -> Result<Vec<ours::Content>, ConvertError> {
        let variables = variables.unwrap_or_default();
        let notebooks = notebooks.unwrap_or_default();
        let mut content = self.field("variables", |reading| {
            reading.each(variables, |reading, variable| {
                let value = reading.field("value", |reading| reading.content(&variable.value))?;
                Ok(under_name(&variable.name, value))
            })
        })?;
        content.extend(self.field("notebook", |reading| {
            reading.each(notebooks, |reading, notebook| {
                let value = reading.field("content", |reading| reading.content(&notebook.content))?;
                Ok(under_name(&notebook.uri, value))
            })
        })?);
        Ok(content.into_iter().flatten().collect())
    }
}

/// Makes plain texts resources with the name as URI; other content has its own.
fn under_name(name: &str, content: Vec<ours::Content>) -> Vec<ours::Content> {
    let named = |part| match part {
        ours::Content::Text(text) => ours::Content::Resource { uri: name.to_owned(), text },
        other => other,
    };
    content.into_iter().map(named).collect()
}

fn our_tool(tool: &Tool) -> item::Tool {
    item::Tool {
        name: tool.name.clone(),
        description: tool.description.clone().unwrap_or_default(),
        input_schema: tool
            .input_schema
            .clone()
            .unwrap_or_else(|| json!({"type": "object", "properties": {}})),
        kind: tool.kind,
        guidelines: tool.guidelines.clone(),
        approval: tool.policy.unwrap_or_default(),
        ends_turn: tool.ends_turn.or_else(|| EndsTurn::built_in(&tool.name)),
        rules: Vec::new(),
        origin: None,
    }
}

/// Converts a tool.
pub fn tool(tool: &item::Tool) -> Tool {
    Tool {
        name: tool.name.clone(),
        description: Some(tool.description.clone()),
        input_schema: Some(tool.input_schema.clone()),
        kind: tool.kind,
        guidelines: tool.guidelines.clone(),
        policy: Some(tool.approval),
        rules: (!tool.rules.is_empty()).then(|| tool.rules.iter().map(super::queue::rule).collect()),
        ends_turn: tool.ends_turn,
    }
}
