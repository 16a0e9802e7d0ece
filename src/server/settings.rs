//! Layers of settings: what the client said at the start, what it changed since, what a session has of its own. Later
//! ones win. What comes out is validated; a value that cannot be used is an error that names it.

use crate::engine::compact::policy::Policy;
use crate::engine::compact::record::ModeRequested;
use crate::engine::prompt::item::Tool;
use crate::engine::session::memories::MemorySettings;
use crate::engine::session::settings::{Client, ModelFacts, Settings as Effective};
use crate::engine::settings::{SettingsError, Threshold};
use crate::protocol::error::ProtocolError;
use crate::protocol::server::ClientCapabilities;
use crate::protocol::settings::{
    Model, SettingInForce, SettingSource, Settings, Summarize, SummaryBreakpoints, SummaryMode,
};
use crate::tool::OwnTool;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// The layers that all sessions share, and what the client can be asked for.
#[derive(Debug, Clone, Default)]
pub(super) struct Layers {
    /// From `initialize`.
    pub initialize: Settings,
    /// From `workspace/didChangeConfiguration`.
    pub changed: Settings,
    /// What the client said that it can do.
    pub client: ClientCapabilities,
}

impl Layers {
    /// What a session runs under; `own` is its own layer.
    pub fn effective(&self, own: &Settings) -> Result<Effective, ProtocolError> {
        let merged =
            [&self.initialize, &self.changed, own].into_iter().fold(Map::new(), |mut merged, layer| {
                merged.extend(values(layer));
                merged
            });
        let settings: Settings = crate::protocol::methods::read(Value::Object(merged))?;
        let client = Client {
            completes: self.client.model_complete,
            invokes: self.client.tool_invoke,
            permits: self.client.request_permission,
        };
        validated(&settings, client)
    }

    /// Each value in force, with the layer that it comes from.
    pub fn sources(&self, own: &Settings, effective: &Effective) -> Vec<SettingInForce> {
        let layers = [
            (SettingSource::Session, values(own)),
            (SettingSource::DidChangeConfiguration, values(&self.changed)),
            (SettingSource::Initialize, values(&self.initialize)),
        ];
        let in_force = values(&shown(effective));
        let source = |name: &str| {
            let layer = layers.iter().find(|(_, values)| values.contains_key(name));
            layer.map_or(SettingSource::BuiltIn, |(source, _)| *source)
        };
        let named = in_force.into_iter();
        named.map(|(name, value)| SettingInForce { source: source(&name), name, value }).collect()
    }
}

/// The values of a layer that are set.
fn values(layer: &Settings) -> Map<String, Value> {
    match serde_json::to_value(layer) {
        Ok(Value::Object(values)) => values,
        _ => Map::new(),
    }
}

fn validated(settings: &Settings, client: Client) -> Result<Effective, ProtocolError> {
    let mut effective = Effective { client, ..Effective::default() };
    if let Some(model) = &settings.model {
        effective.model = model_facts(model);
    }
    if let Some(name) = &settings.policy {
        effective.policy = Policy::named(name).map_err(|error| unusable("settings.policy", &error))?;
    }
    if let Some(threshold) = settings.threshold {
        let threshold = Threshold::from_number(threshold);
        effective.budget.threshold = Some(threshold.map_err(|error| unusable("settings.threshold", &error))?);
    }
    if let Some(tokens) = settings.reserved_output {
        effective.budget.reserved_output = tokens;
    }
    if let Some(tokens) = settings.max_summary_tokens {
        effective.budget.max_summary_tokens = tokens;
    }
    if let Some(mode) = settings.summary_mode {
        effective.policy.summary_mode = match mode {
            SummaryMode::Auto => ModeRequested::Auto,
            SummaryMode::Full => ModeRequested::Full,
            SummaryMode::Simple => ModeRequested::Simple,
        };
    }
    if let Some(breakpoints) = settings.summary_breakpoints {
        effective.policy.summary_breakpoints = breakpoints == SummaryBreakpoints::Keep;
    }
    if settings.summarize == Some(Summarize::Off) || settings.summary_enabled == Some(false) {
        effective.policy.enabled = false;
    }
    if let Some(rounds) = settings.round_limit {
        effective.round_limit = rounds.max(1);
    }
    if let Some(tokens) = settings.max_tool_result_tokens {
        effective.max_tool_result_tokens = result_tokens("settings.maxToolResultTokens", tokens)?;
    }
    if let Some(names) = &settings.own_tools {
        effective.own_tools = own_tools(names)?;
    }
    for (field, ms, deadline) in [
        ("settings.modelDeadlineMs", settings.model_deadline_ms, &mut effective.model_deadline_ms),
        ("settings.toolDeadlineMs", settings.tool_deadline_ms, &mut effective.tool_deadline_ms),
    ] {
        match ms {
            Some(0) => return Err(ProtocolError::invalid(field, "a deadline of 0 would be over at once")),
            Some(ms) => *deadline = ms,
            None => {}
        }
    }
    if let Some(ms) = settings.delta_interval_ms {
        effective.delta_interval_ms = ms;
    }
    effective.memory = memory(settings)?;
    if let Some(titles) = settings.titles {
        effective.titles = titles.into();
    }
    effective.budget().map_err(|error| unusable("settings.model.window", &error))?;
    Ok(effective)
}

/// Tokens of memories where nobody says how many.
const MEMORY_TOKENS: u32 = 500;

/// What memories may do.
fn memory(settings: &Settings) -> Result<MemorySettings, ProtocolError> {
    let tokens = |field: &str, is_on: Option<bool>, tokens: Option<u32>| match tokens {
        Some(0) => Err(ProtocolError::invalid(field, "0 tokens would show nothing; switch it off instead")),
        tokens => Ok(is_on.unwrap_or_default().then(|| tokens.unwrap_or(MEMORY_TOKENS))),
    };
    Ok(MemorySettings {
        core: tokens("settings.coreMemoryTokens", settings.core_memories, settings.core_memory_tokens)?,
        knowledge: tokens("settings.knowledgeTokens", settings.knowledge, settings.knowledge_tokens)?,
        summaries: settings.session_summary_to_memory.unwrap_or_default(),
    })
}

/// Definitions of the sidecar's tools of these names, each once, in one order however they are named.
fn own_tools(names: &[String]) -> Result<Vec<Tool>, ProtocolError> {
    let known = || OwnTool::ALL.map(OwnTool::name).join(", ");
    let named = names.iter().map(|name| {
        let unknown = || format!("the sidecar has no tool {name:?}; known: {}", known());
        OwnTool::named(name).ok_or_else(|| ProtocolError::invalid("settings.ownTools", unknown()))
    });
    let tools: BTreeSet<OwnTool> = named.collect::<Result<_, _>>()?;
    Ok(tools.into_iter().map(OwnTool::definition).collect())
}

/// A limit for results that can be kept.
pub(super) fn result_tokens(field: &str, tokens: u32) -> Result<u32, ProtocolError> {
    match tokens {
        0 => Err(ProtocolError::invalid(field, "a limit of 0 tokens would show nothing of any result")),
        tokens => Ok(tokens),
    }
}

fn unusable(field: &str, error: &SettingsError) -> ProtocolError {
    ProtocolError::invalid(field, error.to_string())
}

/// What is known of a model that a client names.
pub(super) fn model_facts(model: &Model) -> ModelFacts {
    ModelFacts {
        name: model.name.clone(),
        window: model.window,
        max_output: model.max_output,
        tool_choice_none: model.tool_choice_none.unwrap_or(true),
        system_role: has_role(model, "system"),
        tool_role: has_role(model, "tool"),
        images: model.images.unwrap_or(true),
        counts_tokens: model.count_tokens == Some(true) && model.usage != Some(true),
    }
}

fn has_role(model: &Model, role: &str) -> bool {
    model.roles.as_ref().is_none_or(|roles| roles.iter().any(|known| known == role))
}

/// Settings in force, as a client reads them.
pub(super) fn shown(effective: &Effective) -> Settings {
    let Effective { model, budget, policy, .. } = effective;
    Settings {
        model: Some(Model {
            name: model.name.clone(),
            window: model.window,
            max_output: model.max_output,
            tool_choice_none: Some(model.tool_choice_none),
            ..Model::default()
        }),
        policy: Some(policy.name.clone().into_owned()),
        threshold: budget.threshold.map(Threshold::as_number),
        reserved_output: Some(budget.reserved_output),
        max_summary_tokens: Some(budget.max_summary_tokens),
        summary_mode: Some(match policy.summary_mode {
            ModeRequested::Auto => SummaryMode::Auto,
            ModeRequested::Full => SummaryMode::Full,
            ModeRequested::Simple => SummaryMode::Simple,
        }),
        summary_breakpoints: Some(match policy.summary_breakpoints {
            true => SummaryBreakpoints::Keep,
            false => SummaryBreakpoints::Strip,
        }),
        summarize: Some(if policy.enabled { Summarize::Auto } else { Summarize::Off }),
        summary_enabled: None,
        round_limit: Some(effective.round_limit),
        max_tool_result_tokens: Some(effective.max_tool_result_tokens),
        own_tools: Some(effective.own_tools.iter().map(|tool| tool.name.clone()).collect()),
        model_deadline_ms: Some(effective.model_deadline_ms),
        tool_deadline_ms: Some(effective.tool_deadline_ms),
        delta_interval_ms: Some(effective.delta_interval_ms),
        titles: Some(effective.titles.into()),
        core_memories: Some(effective.memory.core.is_some()),
        core_memory_tokens: effective.memory.core,
        knowledge: Some(effective.memory.knowledge.is_some()),
        knowledge_tokens: effective.memory.knowledge,
        session_summary_to_memory: Some(effective.memory.summaries),
        synchronous: None,
    }
}
