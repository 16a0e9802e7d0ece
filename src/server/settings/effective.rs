//! Converts settings as written to the settings that a session runs under, and back. An unusable value is an
//! error that names it and the possible ones.

use super::models;
use super::names::camel;
use super::servers;
use crate::server::watch::{Found, Look};
use crate::server::wire::to_value as wire_form;
use crate::tool::OwnTool;
use engine::compact::policy::{self, Policy, PolicyError};
use engine::message::Text;
use engine::prompt::item::Tool;
use engine::prompt::order::SystemText;
use engine::settings::{SettingsError, Threshold};
use protocol::error::ProtocolError;
use protocol::settings::{AgentPreset, Settings};
use serde_json::Value;
use session::agents::AgentLimits;
use session::memories::MemorySettings;
use session::settings::{Client, Settings as Effective};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

pub(super) type Read<T> = Result<T, ProtocolError>;

/// Fails if these settings would be unusable as the only ones.
pub(super) fn check_alone(settings: &Settings) -> Read<()> {
    validated(settings, Client::default(), &BTreeMap::new()).map(drop)
}

/// Validates merged settings. `last_read` are policies from files as last read successfully: a file that becomes
/// unusable does not change the sessions that use it.
pub(super) fn validated(
    settings: &Settings,
    client: Client,
    last_read: &BTreeMap<String, Policy>,
) -> Read<Effective> {
    let mut effective = Effective { client, ..Effective::default() };
    if let Some(model) = &settings.model {
        effective.model = models::facts(model)?;
    }
    if let Some(name) = &settings.policy {
        effective.policy = match (policy_of(name), last_read.get(name)) {
            (Err(_), Some(last_read)) => last_read.clone(),
            (read, _) => read?,
        };
        effective.policy_file = Some(name.clone()).filter(|name| is_policy_file(name));
    }
    if let Some(threshold) = settings.threshold {
        let threshold = Threshold::from_number(threshold);
        effective.budget.threshold = Some(threshold.map_err(|error| unusable("settings.threshold", &error))?);
    }
    apply_policy_keys(settings, &mut effective.policy)?;
    effective.summary_model = models::summary(settings, &effective.model)?;
    if let Some(names) = &settings.instruction_files {
        effective.instruction_files = Some(instruction_files(names)?);
    }
    if let Some(names) = &settings.own_tools {
        effective.own_tools = own_tools(names)?;
        name_presets(&mut effective.own_tools, settings.agent_presets.as_deref().unwrap_or_default());
    }
    take_values(settings, &mut effective)?;
    let non_empty = |text: &Option<String>| text.as_deref().filter(|text| !text.is_empty()).map(Into::into);
    effective.system = SystemText {
        identity: non_empty(&settings.identity),
        role: non_empty(&settings.role),
        tool_rules: non_empty(&settings.tool_rules),
        toolkit_hints: non_empty(&settings.toolkit_hints),
        project: non_empty(&settings.project),
        // Written for a limit that somebody set: nobody needs to hear of the built-in one.
        iteration_budget: (settings.iteration_budget.unwrap_or(settings.round_limit.is_some()))
            .then_some(effective.round_limit),
        ..SystemText::default()
    };
    effective.memory = memory(settings)?;
    servers::check(settings.mcp.as_ref().and_then(|mcp| mcp.servers.as_ref()))?;
    effective.agents = agents(settings)?;
    // Only the check: window and threshold must leave room beside all that is reserved.
    effective.budget().map_err(|error| match error {
        SettingsError::Limit { .. } => unusable("settings.threshold", &error),
        error => unusable("settings.model.window", &error),
    })?;
    Ok(effective)
}

/// Settings that are one effective value, each with the place of that value and a check, if any.
macro_rules! values {
    ($($setting:ident => $($place:ident).+ $(, $check:ident)?;)*) => {
        fn take_values(settings: &Settings, effective: &mut Effective) -> Read<()> {
            $(if let Some(value) = settings.$setting {
                $(let value = $check(&format!("settings.{}", camel(stringify!($setting))), value)?;)?
                effective.$($place).+ = value.into();
            })*
            Ok(())
        }

        fn show_values(effective: &Effective, settings: &mut Settings) {
            $(settings.$setting = Some(effective.$($place).+.into());)*
        }
    };
}

values! {
    reserved_output => budget.reserved_output;
    max_summary_tokens => budget.max_summary_tokens;
    system_prompt => system_prompt;
    thinking_in_prompt => thinking;
    round_limit => round_limit, rounds;
    workspace_trusted => is_trusted;
    max_tool_result_tokens => max_tool_result_tokens, result_tokens;
    model_deadline_ms => model_deadline_ms, deadline;
    review_deadline_ms => review_deadline_ms, deadline;
    tool_deadline_ms => tool_deadline_ms, deadline;
    delta_interval_ms => delta_interval_ms;
    titles => titles;
    trajectory => trajectory;
    transcript => transcript;
}

fn rounds(field: &str, rounds: u32) -> Read<u32> {
    if rounds > 0 { Ok(rounds) } else { Err(ProtocolError::invalid(field, "must be at least 1")) }
}

fn deadline(field: &str, ms: u64) -> Read<u64> {
    if ms > 0 { Ok(ms) } else { Err(ProtocolError::invalid(field, "must be at least 1")) }
}

/// The limits of agents; checks their presets, too.
fn agents(settings: &Settings) -> Read<AgentLimits> {
    let usual = AgentLimits::default();
    let invalid = |field: &str, reason: &str| Err(ProtocolError::invalid(field, reason));
    if settings.most_agents == Some(0) {
        return invalid("settings.mostAgents", "must be at least 1; agentDepth 0 switches agents off");
    }
    let presets = settings.agent_presets.as_deref().unwrap_or_default();
    for preset in presets {
        if preset.name.trim().is_empty() {
            return invalid("settings.agentPresets", "has a preset without a name");
        }
        preset.model.as_ref().map(models::facts).transpose()?;
    }
    Ok(AgentLimits {
        depth: settings.agent_depth.unwrap_or(usual.depth),
        running: settings.most_agents.unwrap_or(usual.running),
        tokens: settings.agent_tokens.unwrap_or(usual.tokens),
    })
}

/// Default token limit of memories.
const MEMORY_TOKENS: u32 = 500;

/// The settings of memories.
fn memory(settings: &Settings) -> Read<MemorySettings> {
    let tokens = |field: &str, is_on: Option<bool>, tokens: Option<u32>| match tokens {
        Some(0) => Err(ProtocolError::invalid(field, "must be at least 1; switch the setting off instead")),
        tokens => Ok(is_on.unwrap_or_default().then(|| tokens.unwrap_or(MEMORY_TOKENS))),
    };
    Ok(MemorySettings {
        core: tokens("settings.coreMemoryTokens", settings.core_memories, settings.core_memory_tokens)?,
        knowledge: tokens("settings.knowledgeTokens", settings.knowledge, settings.knowledge_tokens)?,
        summaries: settings.session_summary_to_memory.unwrap_or_default(),
    })
}

/// Most bytes of a policy file that are read.
const MOST_POLICY: u64 = 1 << 20;

/// `true` if a policy is named by the path of its file.
pub(in crate::server) fn is_policy_file(name: &str) -> bool {
    name.ends_with(".toml") || name.contains(std::path::is_separator)
}

/// Rules for reading a policy file.
pub(in crate::server) fn policy_file_rules(name: &str) -> Look {
    let file = PathBuf::from(name);
    let base = file.parent().unwrap_or(&file).to_owned();
    Look { base, file, may_leave: true, most: MOST_POLICY }
}

/// The built-in policy of this name, or the one in a file. Errors contain no values of the file: it may be
/// another one than was meant.
pub(in crate::server) fn policy_of(name: &str) -> Read<Policy> {
    if !is_policy_file(name) {
        return Policy::named(name).map_err(|error| unusable("settings.policy", &error));
    }
    let look = policy_file_rules(name);
    let unusable = |why: String| ProtocolError::invalid("settings.policy", format!("the file {name}: {why}"));
    match look.now() {
        Found::Missing => Err(unusable("not found".to_owned())),
        Found::Unusable(why) => Err(unusable(why)),
        Found::Text { bytes, .. } if bytes > MOST_POLICY => {
            Err(unusable(format!("has {bytes} bytes and the limit is {MOST_POLICY}")))
        }
        Found::Text { text, .. } => policy::read(&text).map_err(|error| {
            unusable(match error {
                PolicyError::Syntax { line, reason } => format!("not TOML at line {line}: {reason}"),
                PolicyError::Key { key, known } => format!("unknown key {key:?}; known: {known}"),
                PolicyError::Value { key, possible, .. } => format!("{key} must be {possible}"),
            })
        }),
    }
}

/// Applies policy keys that are set by themselves, parsed as in a policy file, so that both accept the same.
fn apply_policy_keys(settings: &Settings, policy: &mut Policy) -> Read<()> {
    let all = wire_form(settings)?;
    for (name, possible) in policy::keys().filter(|(name, _)| *name != "name") {
        let given = name.split('.').try_fold(&all, |all, part| all.get(part));
        let Some(given) = given else { continue };
        let put = toml::Value::try_from(given).ok().and_then(|given| policy::put(policy, name, &given).ok());
        put.ok_or_else(|| ProtocolError::invalid(format!("settings.{name}"), format!("must be {possible}")))?;
    }
    Ok(())
}

/// Most instruction files, which each opening of a session may read.
const MOST_INSTRUCTION_FILES: usize = 16;

/// Checks that paths stay below a folder, and removes duplicates.
fn instruction_files(names: &[String]) -> Read<Vec<String>> {
    let invalid = |reason: &str| ProtocolError::invalid("settings.instructionFiles", reason);
    if names.len() > MOST_INSTRUCTION_FILES {
        return Err(invalid("must be at most 16 files"));
    }
    let is_below = |name: &str| {
        let mut parts = Path::new(name).components();
        !name.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)))
    };
    if names.iter().any(|name| !is_below(name)) {
        return Err(invalid("must be paths below the workspace's folder, such as AGENTS.md"));
    }
    let mut unique: Vec<String> = Vec::new();
    names.iter().for_each(|name| {
        if !unique.contains(name) {
            unique.push(name.clone())
        }
    });
    Ok(unique)
}

/// Definitions of the sidecar's tools of these names, without duplicates and in a fixed order.
fn own_tools(names: &[String]) -> Read<Vec<Tool>> {
    let known = || OwnTool::ALL.map(OwnTool::name).join(", ");
    let named = names.iter().map(|name| {
        let unknown = || format!("unknown tool {name:?}; known: {}", known());
        OwnTool::named(name).ok_or_else(|| ProtocolError::invalid("settings.ownTools", unknown()))
    });
    let tools: BTreeSet<OwnTool> = named.collect::<Result<_, _>>()?;
    Ok(tools.into_iter().map(OwnTool::definition).collect())
}

/// Adds the presets to the definition of the tool that starts agents.
fn name_presets(tools: &mut [Tool], presets: &[AgentPreset]) {
    let Some(tool) = tools.iter_mut().find(|tool| tool.name == OwnTool::StartAgent.name()) else { return };
    let about = |preset: &AgentPreset| match &preset.description {
        Some(description) => format!("{} ({description})", preset.name),
        None => preset.name.clone(),
    };
    let known: Vec<String> = presets.iter().map(about).collect();
    if !known.is_empty() {
        tool.description.push_str(&format!(" Presets: {}.", known.join("; ")));
    }
}

/// Checks a token limit for results.
pub(in crate::server) fn result_tokens(field: &str, tokens: u32) -> Read<u32> {
    match tokens {
        0 => Err(ProtocolError::invalid(field, "must be at least 1")),
        tokens => Ok(tokens),
    }
}

fn unusable(field: &str, error: &SettingsError) -> ProtocolError {
    ProtocolError::invalid(field, error.to_string())
}

/// Effective settings as a client reads them, each under one name.
pub(in crate::server) fn shown(effective: &Effective) -> Settings {
    let text_of = |text: &Option<Text>| text.as_ref().map(ToString::to_string);
    let Effective { model, budget, policy, system, memory, .. } = effective;
    let summaries = effective.summary_model.as_ref();
    let summary_endpoint = summaries.and_then(|model| model.endpoint.as_ref());
    let mut settings = Settings {
        model: Some(models::shown(model)),
        // A name that can be handed back: the one inside a policy file is not known elsewhere.
        policy: Some(effective.policy_file.clone().unwrap_or_else(|| policy.name.clone().into_owned())),
        threshold: budget.threshold.map(Threshold::as_number),
        identity: text_of(&system.identity),
        role: text_of(&system.role),
        tool_rules: text_of(&system.tool_rules),
        toolkit_hints: text_of(&system.toolkit_hints),
        project: text_of(&system.project),
        iteration_budget: Some(system.iteration_budget.is_some()),
        instruction_files: effective.instruction_files.clone(),
        summary_model: summaries.and_then(|model| model.name.clone()),
        summary_base_url: summary_endpoint.and_then(|endpoint| endpoint.base_url.clone()),
        summary_key_env: summary_endpoint.and_then(|endpoint| endpoint.key_env.clone()),
        summary_price: summaries.and_then(models::price_shown),
        own_tools: Some(effective.own_tools.iter().map(|tool| tool.name.clone()).collect()),
        core_memories: Some(memory.core.is_some()),
        core_memory_tokens: memory.core,
        knowledge: Some(memory.knowledge.is_some()),
        knowledge_tokens: memory.knowledge,
        session_summary_to_memory: Some(memory.summaries),
        agent_depth: Some(effective.agents.depth),
        most_agents: Some(effective.agents.running),
        agent_tokens: Some(effective.agents.tokens),
        ..of_policy_values(policy)
    };
    show_values(effective, &mut settings);
    settings
}

/// The values of a policy that can be set by themselves.
fn of_policy_values(policy: &Policy) -> Settings {
    fn off_to_false(value: &mut Value) {
        match value {
            Value::Object(parts) => parts.values_mut().for_each(off_to_false),
            Value::String(word) if word == "off" => *value = Value::from(false),
            _ => {}
        }
    }
    let mut values = serde_json::to_value(policy).unwrap_or_default();
    for section in ["budgetExit", "triggers"] {
        values.get_mut(section).into_iter().for_each(off_to_false);
    }
    serde_json::from_value(values).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documented_defaults_are_those_in_force() {
        let schema = protocol::schema::schema();
        let documented = schema["$defs"]["Settings"]["properties"].as_object().unwrap();
        let in_force = serde_json::to_value(shown(&Effective::default())).unwrap();
        let default = regex::Regex::new(r"Default: (?:`(\w+)`|(true|false)|(\d[\d,.]*\d|\d))[.,]").unwrap();
        let mut seen = 0;
        for (name, field) in documented {
            let Some(found) = default.captures(field["description"].as_str().unwrap()) else { continue };
            let Some(value) = in_force.get(name) else { continue };
            let said = found.iter().skip(1).flatten().next().unwrap().as_str().replace(',', "");
            let is_same = match value {
                Value::Number(number) => number.as_f64() == said.parse().ok(),
                Value::String(word) => *word == said,
                Value::Bool(flag) => said.parse() == Ok(*flag),
                _ => false,
            };
            assert!(is_same, "{name} is {value}, and its document says {said}");
            seen += 1;
        }
        assert!(seen > 20, "{seen}");
    }

    #[test]
    fn each_key_of_a_policy_is_shown_as_a_setting() {
        let shown = serde_json::to_value(of_policy_values(&policy::DEFAULT)).unwrap();
        let is_own = |name: &str| {
            let tables = ["shortenTo.", "excerptWeights."];
            ["name", "toolKinds"].contains(&name) || tables.iter().any(|table| name.starts_with(table))
        };
        for (name, _) in policy::keys().filter(|(name, _)| !is_own(name) && !name.starts_with("order.")) {
            let found = name.split('.').try_fold(&shown, |value, part| value.get(part));
            assert!(found.is_some(), "{name} of {shown}");
        }
    }
}
