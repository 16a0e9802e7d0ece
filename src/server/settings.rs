//! Layers of settings, each from one source; later ones win. `layer` parses a layer, `effective` validates
//! the result; files and the environment are read elsewhere. `listed` has what providers list of models.

mod effective;
mod env_file;
mod layer;
mod listed;
mod models;
mod names;
mod servers;
mod workspace;
mod workspace_servers;

pub(super) use effective::{is_policy_file, policy_file_rules, policy_of, result_tokens, shown};
pub(super) use layer::{Fault, Layer};
pub(super) use listed::Listed;
pub(super) use models::{endpoint as model_endpoint, facts as model_facts};
pub(super) use names::{names, nearest, other_names};
pub(super) use servers::{check_given as check_servers, definition, identity};
pub(super) use workspace_servers::{
    FILES as SERVER_FILES, WorkspaceServer, of_file as servers_of_file, unusable,
};

use engine::compact::policy::Policy;
use protocol::error::ProtocolError;
use protocol::methods::read;
use protocol::server::ClientCapabilities;
use protocol::settings::{SettingInForce, SettingSource, Settings};
use serde_json::Value;
use session::settings::{Client, Settings as Effective};
use std::collections::BTreeMap;

/// The layers that all sessions share, and the client's capabilities.
#[derive(Debug, Clone, Default)]
pub(super) struct Layers {
    /// The user's file.
    pub user: Layer,
    /// The files of workspaces, by their folders.
    pub workspaces: BTreeMap<String, Layer>,
    /// The environment.
    pub environment: Layer,
    /// From `initialize`.
    pub initialize: Layer,
    /// From `workspace/didChangeConfiguration`.
    pub changed: Layer,
    /// The command line.
    pub flags: Layer,
    /// The policies in force that come from files, by path, as last read successfully.
    pub policies: BTreeMap<String, Policy>,
    /// The client's capabilities.
    pub client: ClientCapabilities,
    /// The limits that providers list.
    pub listed: Listed,
}

static NOTHING: Layer = Layer { values: BTreeMap::new() };

impl Layers {
    /// The effective settings of a session of this folder; `own` is its own layer.
    pub fn effective(&self, folder: &str, own: &Settings) -> Result<Effective, ProtocolError> {
        self.validated(&self.merged(folder, own)?)
    }

    fn validated(&self, merged: &Settings) -> Result<Effective, ProtocolError> {
        let client = Client {
            completes: self.client.model_complete,
            invokes: self.client.tool_invoke,
            permits: self.client.request_permission,
            reviews: self.client.compaction_review,
        };
        let mut effective = effective::validated(merged, client, &self.policies)?;
        self.listed.fit(&mut effective, merged.model.as_ref().is_some_and(|model| model.window.is_some()));
        Ok(effective)
    }

    /// The merged settings of a session of this folder.
    pub fn merged(&self, folder: &str, own: &Settings) -> Result<Settings, ProtocolError> {
        let own = Layer::of(own)?;
        let workspace = self.stricter(folder, &own);
        let layers = self.in_order(&workspace, &own).into_iter();
        read(layers.fold(Layer::default(), |merged, (_, layer)| merged.under(layer.clone())).together())
    }

    /// The values of a workspace's file that are stricter than the other layers. None if the folder is not trusted, or
    /// if the others are invalid: their source gets the error.
    fn stricter(&self, folder: &str, own: &Layer) -> Layer {
        let Some(workspace) = self.workspaces.get(folder).filter(|layer| !layer.values.is_empty()) else {
            return Layer::default();
        };
        let without = self.in_order(&NOTHING, own).into_iter();
        let without = without.fold(Layer::default(), |merged, (_, layer)| merged.under(layer.clone()));
        let without = read(without.together()).and_then(|merged| self.validated(&merged));
        without.map_or_else(
            |_| Layer::default(),
            |without| if without.is_trusted { workspace.stricter(&without) } else { Layer::default() },
        )
    }

    /// The values of a workspace's file that would loosen the other layers.
    pub fn looser(&self, folder: &str, layer: &Layer) -> Vec<Fault> {
        let others = Self { workspaces: BTreeMap::new(), ..self.clone() };
        let without = others.effective(folder, &Settings::default());
        without.map_or_else(|_| Vec::new(), |without| layer.looser(&without))
    }

    /// Layers, weakest first; `workspace` holds only what its file may set.
    fn in_order<'a>(&'a self, workspace: &'a Layer, own: &'a Layer) -> [(SettingSource, &'a Layer); 7] {
        [
            (SettingSource::UserFile, &self.user),
            (SettingSource::WorkspaceFile, workspace),
            (SettingSource::Environment, &self.environment),
            (SettingSource::Initialize, &self.initialize),
            (SettingSource::DidChangeConfiguration, &self.changed),
            (SettingSource::Session, own),
            (SettingSource::Flag, &self.flags),
        ]
    }

    /// Each value in force, with the layer that it comes from.
    pub fn sources(&self, folder: &str, own: &Settings, effective: &Effective) -> Vec<SettingInForce> {
        let own = Layer::of(own).unwrap_or_default();
        let workspace = self.stricter(folder, &own);
        let layers = self.in_order(&workspace, &own);
        let mut in_force =
            layers.iter().fold(Layer::default(), |all, (_, layer)| all.under((*layer).clone()));
        in_force = in_force.under(Layer::of(&shown(effective)).unwrap_or_default());
        let usual = Layer::of(&shown(&Effective::default())).unwrap_or_default();
        let each = in_force.values.into_iter().map(|(name, held)| {
            let of = |name: &str| {
                layers.iter().rev().find_map(|(source, layer)| Some((*source, layer.values.get(name)?)))
            };
            // Follows the limit unless it is set itself.
            let set = of(&name).or_else(|| of("roundLimit").filter(|_| name == "iterationBudget"));
            let is_usual = usual.values.get(&name).is_some_and(|usual| usual.value == held.value);
            // Set by no layer and not built in: it must come from the policy.
            let nobody = if is_usual { SettingSource::BuiltIn } else { SettingSource::Policy };
            SettingInForce {
                source: set.map_or(nobody, |(source, _)| source),
                place: set.and_then(|(_, held)| held.place.clone()),
                name,
                value: held.value,
            }
        });
        each.collect()
    }
}

/// A session's own layer, with `set` on top.
pub(super) fn with_own(own: &Settings, set: &Settings) -> Result<Value, ProtocolError> {
    Ok(Layer::of(own)?.under(Layer::of(set)?).together())
}
