//! Modes and options of a session, as editors offer them to the user.

use crate::commands::model::Named;
use crate::commands::{report, tools};
use agent_client_protocol_schema::v1::{
    SessionConfigKind, SessionConfigOption, SessionConfigOptionCategory, SessionConfigOptionValue,
    SessionConfigSelect, SessionConfigSelectOption, SessionMode, SessionModeState,
};
use engine::compact::policy::presets;
use protocol::prompt::section::Attachment;
use protocol::settings::{Effort, GivenSettings, Settings};
use protocol::tool::{Tool, ToolKind, ToolPolicy};
use serde_json::{Map, Value};

/// Permissions of the agent in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Mode {
    /// Reads and answers.
    Ask,
    /// Reads and ends with a plan.
    Plan,
    /// Uses all tools, with the user's approval.
    #[default]
    Agent,
}

impl Mode {
    const ALL: [Self; 3] = [Self::Ask, Self::Plan, Self::Agent];

    pub const fn id(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Plan => "plan",
            Self::Agent => "agent",
        }
    }

    pub fn named(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.id() == id)
    }

    const fn about(self) -> (&'static str, &'static str) {
        match self {
            Self::Ask => ("Ask", "Reads files and answers; changes nothing"),
            Self::Plan => ("Plan", "Reads files and ends with a plan; changes nothing"),
            Self::Agent => ("Agent", "Uses all tools; changes and commands ask first"),
        }
    }

    /// The tools of the mode. All modes have the same ones, so that a change of mode leaves the prompt's beginning as it
    /// is; those that a mode does not allow are denied.
    pub fn tools(self) -> Vec<Tool> {
        let mut all = tools::tools();
        if self != Self::Agent {
            let changes = |tool: &&mut Tool| !matches!(tool.kind, Some(ToolKind::Read | ToolKind::Search));
            for tool in all.iter_mut().filter(changes) {
                tool.policy = Some(ToolPolicy::Deny);
            }
        }
        all
    }

    /// The mode as a request tells the model of it. `before` is the mode that it was told of last.
    pub fn told(self, before: Self) -> Option<Attachment> {
        let text = match self {
            Self::Ask => {
                "The user chose to ask only: answer from what you read. Edits and commands are denied."
            }
            Self::Plan => {
                "The user wants a plan: read what you need, change nothing, and end with the plan as numbered steps, \
                 each with its files and how to check it. Edits and commands are denied until the user accepts it."
            }
            Self::Agent if before == Self::Agent => return None,
            Self::Agent => "Edits and commands are allowed again, with the user's approval.",
        };
        Some(Attachment { name: "mode".to_owned(), text: text.to_owned() })
    }
}

/// The modes, with the one that a session is in.
pub(super) fn modes(current: Mode) -> SessionModeState {
    let mode = |mode: Mode| {
        let (name, does) = mode.about();
        SessionMode::new(mode.id(), name).description(does.to_owned())
    };
    SessionModeState::new(current.id(), Mode::ALL.map(mode).to_vec())
}

const MODEL: &str = "model";
const EFFORT: &str = "effort";
const POLICY: &str = "policy";
/// The value of an effort that is left to the model.
const USUAL: &str = "default";

/// What the user can choose in a session: one of these models, its effort and the compaction policy.
#[derive(Debug)]
pub(super) struct Choices {
    /// Models of the command line, the first of which answers at the beginning.
    pub models: Vec<Named>,
}

impl Choices {
    /// The options of a session with these settings.
    pub fn options(&self, settings: &Settings) -> Vec<SessionConfigOption> {
        self.model(settings).into_iter().chain(effort(settings)).chain([policy(settings)]).collect()
    }

    /// The choice of a model, if there is one.
    fn model(&self, settings: &Settings) -> Option<SessionConfigOption> {
        let current = report::model(settings)?;
        let mut ids = Vec::new();
        // A session can have a model of its own.
        for id in self.models.iter().map(Named::id).chain([current.clone()]) {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        let values = ids.iter().map(|id| SessionConfigSelectOption::new(id.clone(), id.clone())).collect();
        let option = select(MODEL, "Model", &current, values)
            .description("A change makes the provider read the conversation anew".to_owned())
            .category(SessionConfigOptionCategory::Model);
        (ids.len() > 1).then_some(option)
    }

    /// The settings that a choice of the user stands for, in a session with these. The error names what is not known.
    pub fn chosen(
        &self,
        id: &str,
        value: &SessionConfigOptionValue,
        settings: &Settings,
    ) -> Result<GivenSettings, String> {
        let value = value.as_value_id().map(|value| value.0.as_ref());
        // A model is given whole: its parts mean nothing without the wire.
        let model = serde_json::to_value(&settings.model).unwrap_or_default();
        let mut model = if let Value::Object(model) = model { model } else { Map::new() };
        let settings = match (id, value) {
            (MODEL, Some(name)) => {
                if report::model(settings).as_deref() != Some(name) {
                    let named = self.models.iter().find(|model| model.id() == name);
                    model = named.ok_or_else(|| format!("unknown model {name:?}"))?.setting();
                }
                ("model", Value::Object(model))
            }
            (EFFORT, Some(level)) => {
                model.remove("effort");
                if level != USUAL {
                    model.insert("effort".to_owned(), Value::from(level));
                }
                ("model", Value::Object(model))
            }
            (POLICY, Some(name)) => ("policy", Value::from(name)),
            (MODEL | EFFORT | POLICY, None) => return Err(format!("option {id} takes the id of a value")),
            _ => return Err(format!("unknown option {id}")),
        };
        let (name, value) = settings;
        Ok(GivenSettings(Map::from_iter([(name.to_owned(), value)])))
    }
}

/// The effort of a model that the sidecar asks.
fn effort(settings: &Settings) -> Option<SessionConfigOption> {
    let model = settings.model.as_ref().filter(|model| model.wire.is_some())?;
    let current = model.effort.map_or(USUAL, Effort::name);
    let levels = [
        Effort::None,
        Effort::Minimal,
        Effort::Low,
        Effort::Medium,
        Effort::High,
        Effort::Xhigh,
        Effort::Max,
    ];
    let usual = SessionConfigSelectOption::new(USUAL, "Default")
        .description("As the model does by itself".to_owned());
    let values = levels.map(|level| SessionConfigSelectOption::new(level.name(), level.name()));
    let values: Vec<_> = [usual].into_iter().chain(values).collect();
    let option = select(EFFORT, "Effort", current, values)
        .description("How much the model thinks; not every model knows each level".to_owned())
        .category(SessionConfigOptionCategory::ThoughtLevel);
    Some(option)
}

fn policy(settings: &Settings) -> SessionConfigOption {
    let current = settings.policy.as_deref().unwrap_or(USUAL);
    let value = |name: &str| SessionConfigSelectOption::new(name.to_owned(), name);
    let preset = |preset: &presets::Preset| value(&preset.policy.name).description(preset.about.to_owned());
    // A policy of a file has a name of its own.
    let is_known = presets::ALL.iter().any(|preset| preset.policy.name == current);
    let other = (!is_known).then(|| value(current));
    let values = presets::ALL.iter().map(preset).chain(other).collect();
    select(POLICY, "Compaction policy", current, values)
        .description("When and how the conversation is compacted".to_owned())
        .category(SessionConfigOptionCategory::Other("_compaction".to_owned()))
}

fn select(
    id: &'static str,
    name: &str,
    current: &str,
    values: Vec<SessionConfigSelectOption>,
) -> SessionConfigOption {
    let kind = SessionConfigSelect::new(current.to_owned(), values);
    SessionConfigOption::new(id, name, SessionConfigKind::Select(kind))
}
