//! Settings as they are written become settings that a session runs under, and back. A value that cannot be used is an
//! error that names it and says what could be.

use super::models;
use crate::server::main_loop::wire as wire_form;
use crate::server::watch::{Found, Look};
use crate::tool::OwnTool;
use engine::compact::policy::{self, Policy, PolicyError};
use engine::message::Text;
use engine::prompt::item::Tool;
use engine::prompt::order::SystemText;
use engine::settings::{PerMille, SettingsError, Threshold};
use protocol::error::ProtocolError;
use protocol::settings::{
    self as wire, Auto, CountOrAuto, CountOrOff, Retention, Settings, ShareOrOff, Summarize,
    SummaryBreakpoints,
};
use session::memories::MemorySettings;
use session::settings::{Client, Settings as Effective};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

pub(super) type Read<T> = Result<T, ProtocolError>;

/// Whether each of these values could be used, whatever the others are.
pub(super) fn possible(settings: &Settings) -> Read<()> {
    validated(settings, Client::default(), &BTreeMap::new()).map(drop)
}

/// What a session runs under. `known` are policies of files as they were when they could be read last.
pub(super) fn validated(
    settings: &Settings,
    client: Client,
    known: &BTreeMap<String, Policy>,
) -> Read<Effective> {
    let mut effective = Effective { client, ..Effective::default() };
    if let Some(model) = &settings.model {
        effective.model = models::facts(model)?;
    }
    if let Some(name) = &settings.policy {
        effective.policy = match (policy_of(name), known.get(name)) {
            (Err(_), Some(known)) => known.clone(),
            (read, _) => read?,
        };
        effective.policy_file = Some(name.clone()).filter(|name| is_policy_file(name));
    }
    if let Some(threshold) = settings.threshold {
        let threshold = Threshold::from_number(threshold);
        effective.budget.threshold = Some(threshold.map_err(|error| unusable("settings.threshold", &error))?);
    }
    set(&mut effective.budget.reserved_output, settings.reserved_output);
    set(&mut effective.budget.max_summary_tokens, settings.max_summary_tokens);
    compaction(settings, &mut effective.policy)?;
    effective.summary_model = models::summary(settings, &effective.model)?;
    if let Some(names) = &settings.instruction_files {
        effective.instruction_files = Some(instruction_files(names)?);
    }
    if let Some(rounds) = settings.round_limit {
        let none = || ProtocolError::invalid("settings.roundLimit", "must be at least 1");
        effective.round_limit = Some(rounds).filter(|rounds| *rounds > 0).ok_or_else(none)?;
    }
    if let Some(tokens) = settings.max_tool_result_tokens {
        effective.max_tool_result_tokens = result_tokens("settings.maxToolResultTokens", tokens)?;
    }
    if let Some(names) = &settings.own_tools {
        effective.own_tools = own_tools(names)?;
    }
    for (field, ms, deadline) in [
        ("settings.modelDeadlineMs", settings.model_deadline_ms, &mut effective.model_deadline_ms),
        ("settings.reviewDeadlineMs", settings.review_deadline_ms, &mut effective.review_deadline_ms),
        ("settings.toolDeadlineMs", settings.tool_deadline_ms, &mut effective.tool_deadline_ms),
    ] {
        match ms {
            Some(0) => return Err(ProtocolError::invalid(field, "a deadline of 0 would be over at once")),
            Some(ms) => *deadline = ms,
            None => {}
        }
    }
    let said = |text: &Option<String>| text.as_deref().filter(|text| !text.is_empty()).map(Into::into);
    effective.system = SystemText {
        identity: said(&settings.identity),
        role: said(&settings.role),
        tool_rules: said(&settings.tool_rules),
        toolkit_hints: said(&settings.toolkit_hints),
        project: said(&settings.project),
        iteration_budget: (settings.iteration_budget == Some(true)).then_some(effective.round_limit),
        ..SystemText::default()
    };
    set(&mut effective.system_prompt, settings.system_prompt.map(Into::into));
    set(&mut effective.thinking, settings.thinking_in_prompt.map(Into::into));
    set(&mut effective.delta_interval_ms, settings.delta_interval_ms);
    set(&mut effective.titles, settings.titles.map(Into::into));
    set(&mut effective.trajectory, settings.trajectory.map(Into::into));
    set(&mut effective.transcript, settings.transcript.map(Into::into));
    effective.memory = memory(settings)?;
    effective.budget().map_err(|error| unusable("settings.model.window", &error))?;
    Ok(effective)
}

/// Tokens of memories where nobody says how many.
const MEMORY_TOKENS: u32 = 500;

/// What memories may do.
fn memory(settings: &Settings) -> Read<MemorySettings> {
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

/// Bytes of a policy file that are read at most.
const MOST_POLICY: u64 = 1 << 20;

/// Whether a policy is named by the path of its file.
pub(in crate::server) fn is_policy_file(name: &str) -> bool {
    name.ends_with(".toml") || name.contains(std::path::is_separator)
}

/// How the file of a policy is looked at.
pub(in crate::server) fn of_policy(name: &str) -> Look {
    let file = PathBuf::from(name);
    let base = file.parent().unwrap_or(&file).to_owned();
    Look { base, file, may_leave: true, most: MOST_POLICY }
}

/// The policy of this name, or that of a file. What is wrong with a file is said without its values: it may be another
/// one than was meant.
pub(in crate::server) fn policy_of(name: &str) -> Read<Policy> {
    if !is_policy_file(name) {
        return Policy::named(name).map_err(|error| unusable("settings.policy", &error));
    }
    let look = of_policy(name);
    let unusable = |why: String| ProtocolError::invalid("settings.policy", format!("the file {name}: {why}"));
    match look.now() {
        Found::Missing => Err(unusable("there is none".to_owned())),
        Found::Unusable(why) => Err(unusable(why)),
        Found::Text { bytes, .. } if bytes > MOST_POLICY => Err(unusable("it is too large".to_owned())),
        Found::Text { text, .. } => policy::read(&text).map_err(|error| {
            unusable(match error {
                PolicyError::Syntax { line, reason } => format!("it is not TOML at line {line}: {reason}"),
                PolicyError::Key { key, known } => format!("there is no key {key}; known: {known}"),
                PolicyError::Value { key, possible, .. } => format!("{key} must be {possible}"),
            })
        }),
    }
}

fn set<T>(value: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *value = given;
    }
}

/// What is set of a policy by itself: read as a policy's file is, so that both take the same.
fn compaction(settings: &Settings, policy: &mut Policy) -> Read<()> {
    let all = wire_form(settings)?;
    for (name, possible) in policy::keys().filter(|(name, _)| *name != "name") {
        let given = name.split('.').try_fold(&all, |all, part| all.get(part));
        let Some(given) = given else { continue };
        let put = toml::Value::try_from(given).ok().and_then(|given| policy::put(policy, name, &given).ok());
        put.ok_or_else(|| ProtocolError::invalid(format!("settings.{name}"), format!("must be {possible}")))?;
    }
    Ok(())
}

/// Files that may be read at every opening of a session.
const MOST_INSTRUCTION_FILES: usize = 16;

/// Paths that stay below a folder, each once.
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
    let mut each: Vec<String> = Vec::new();
    names.iter().for_each(|name| {
        if !each.contains(name) {
            each.push(name.clone())
        }
    });
    Ok(each)
}

/// Definitions of the sidecar's tools of these names, each once, in one order however they are named.
fn own_tools(names: &[String]) -> Read<Vec<Tool>> {
    let known = || OwnTool::ALL.map(OwnTool::name).join(", ");
    let named = names.iter().map(|name| {
        let unknown = || format!("the sidecar has no tool {name:?}; known: {}", known());
        OwnTool::named(name).ok_or_else(|| ProtocolError::invalid("settings.ownTools", unknown()))
    });
    let tools: BTreeSet<OwnTool> = named.collect::<Result<_, _>>()?;
    Ok(tools.into_iter().map(OwnTool::definition).collect())
}

/// A limit for results that can be kept.
pub(in crate::server) fn result_tokens(field: &str, tokens: u32) -> Read<u32> {
    match tokens {
        0 => Err(ProtocolError::invalid(field, "a limit of 0 tokens would show nothing of any result")),
        tokens => Ok(tokens),
    }
}

fn unusable(field: &str, error: &SettingsError) -> ProtocolError {
    ProtocolError::invalid(field, error.to_string())
}

/// Settings in force, as a client reads them: each under one name.
pub(in crate::server) fn shown(effective: &Effective) -> Settings {
    let Effective { model, budget, policy, .. } = effective;
    let Policy { triggers, .. } = policy;
    let share_or_off = |share: Option<PerMille>| {
        Some(share.map_or(ShareOrOff::Switch(false), |share| ShareOrOff::Share(share.as_ratio())))
    };
    let said = |text: &Option<Text>| text.as_ref().map(ToString::to_string);
    let count_or_off = |count: Option<u32>| Some(count.map_or(CountOrOff::Switch(false), CountOrOff::Count));
    Settings {
        model: Some(models::shown(model)),
        // What can be handed back: the name that a file has for itself is known to nobody else.
        policy: Some(effective.policy_file.clone().unwrap_or_else(|| policy.name.clone().into_owned())),
        threshold: budget.threshold.map(Threshold::as_number),
        reserved_output: Some(budget.reserved_output),
        max_summary_tokens: Some(budget.max_summary_tokens),
        summary_mode: Some(policy.summary_mode.into()),
        summary_breakpoints: Some(match policy.summary_breakpoints {
            true => SummaryBreakpoints::Keep,
            false => SummaryBreakpoints::Strip,
        }),
        summarize: Some(if policy.enabled { Summarize::Auto } else { Summarize::Off }),
        compaction: Some(policy.consent.into()),
        triggers: Some(wire::Triggers {
            provider_overflow: Some(triggers.provider_overflow),
            pre_turn_tokens: share_or_off(triggers.pre_turn),
            background: share_or_off(triggers.background),
            model_changed: Some(triggers.model_changed),
            user_turns: count_or_off(triggers.user_turns),
            messages: count_or_off(triggers.messages),
            idle_seconds: count_or_off(triggers.idle_secs),
        }),
        retention: Some(match policy.retention {
            policy::Retention::Rounds => Retention::Rounds,
            policy::Retention::UserTurns(turns) => Retention::UserTurns(narrow(turns)),
            policy::Retention::Messages(messages) => Retention::Messages(narrow(messages)),
            policy::Retention::TokenTail(share) => Retention::TokenTail(share.as_ratio()),
        }),
        placement: Some(policy.placement.into()),
        min_new_tokens: Some(policy.min_new_tokens.map_or(CountOrAuto::Word(Auto::Auto), CountOrAuto::Count)),
        most_failures: Some(policy.most_failures),
        user_message_budget: Some(policy.user_messages.as_ratio()),
        target_ratio: Some(policy.target_ratio.as_ratio()),
        budget_exit: share_or_off(policy.budget_exit),
        limit_history: Some(policy.limit_history.into()),
        raw_tail_share: Some(policy.raw_tail.as_ratio()),
        short_tail_share: Some(policy.short_tail.as_ratio()),
        ledger_share: Some(policy.ledger.as_ratio()),
        identifier_share: Some(policy.identifiers.as_ratio()),
        identity: said(&effective.system.identity),
        role: said(&effective.system.role),
        tool_rules: said(&effective.system.tool_rules),
        toolkit_hints: said(&effective.system.toolkit_hints),
        project: said(&effective.system.project),
        iteration_budget: Some(effective.system.iteration_budget.is_some()),
        system_prompt: Some(effective.system_prompt.into()),
        thinking_in_prompt: Some(effective.thinking.into()),
        instruction_files: effective.instruction_files.clone(),
        summary_model: effective.summary_model.as_ref().and_then(|model| model.name.clone()),
        summary_base_url: effective
            .summary_model
            .as_ref()
            .and_then(|model| model.endpoint.as_ref())
            .and_then(|endpoint| endpoint.base_url.clone()),
        summary_key_env: effective
            .summary_model
            .as_ref()
            .and_then(|model| model.endpoint.as_ref())
            .and_then(|endpoint| endpoint.key_env.clone()),
        round_limit: Some(effective.round_limit),
        max_tool_result_tokens: Some(effective.max_tool_result_tokens),
        own_tools: Some(effective.own_tools.iter().map(|tool| tool.name.clone()).collect()),
        model_deadline_ms: Some(effective.model_deadline_ms),
        review_deadline_ms: Some(effective.review_deadline_ms),
        tool_deadline_ms: Some(effective.tool_deadline_ms),
        delta_interval_ms: Some(effective.delta_interval_ms),
        titles: Some(effective.titles.into()),
        trajectory: Some(effective.trajectory.into()),
        transcript: Some(effective.transcript.into()),
        core_memories: Some(effective.memory.core.is_some()),
        core_memory_tokens: effective.memory.core,
        knowledge: Some(effective.memory.knowledge.is_some()),
        knowledge_tokens: effective.memory.knowledge,
        session_summary_to_memory: Some(effective.memory.summaries),
        ..Settings::default()
    }
}

fn narrow(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
