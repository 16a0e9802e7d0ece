//! Settings that come or change while the process runs, from whomever: what of them is taken, what is said of the rest, and
//! which open sessions they concern. How they are read stands in `settings`, files in `files`.

use super::folder::spelled;
use super::inbox::Hello;
use super::main_loop::{MainLoop, Slot};
use super::opening::own_settings;
use super::settings::{Fault, Layer, Layers};
use protocol::error::ProtocolError;
use protocol::restore::Diagnostic;
use protocol::settings::{GivenSettings, Settings};
use serde_json::Value;
use session::input::{Input, ReplyTo};

/// A layer of settings that can change while sessions are open.
pub(super) enum Given {
    /// The user's file.
    User,
    /// The file of the workspace in this folder.
    Workspace(String),
    /// `workspace/didChangeConfiguration`.
    Changed,
}

impl MainLoop {
    /// The client says who it is and what it wants: settings of all sessions, and where they are stored.
    pub fn hello(&mut self, hello: Hello) {
        let Hello { options, settings, folders } = hello;
        self.layers.client = options.capabilities.unwrap_or_default();
        let folders: Vec<String> = folders.iter().map(|folder| spelled(folder)).collect();
        self.read_users_file();
        folders.iter().for_each(|folder| self.enter_folder(folder));
        let home = folders.into_iter().next().unwrap_or_default();
        let (initialize, faults) = match settings {
            Value::Object(settings) => Layer::written(settings, None),
            Value::Null => Default::default(),
            _ => {
                let reason = Some("must be an object".to_owned());
                (Layer::default(), vec![Fault { name: "settings".to_owned(), reason }])
            }
        };
        for fault in faults {
            self.warn(format!("the settings of initialize: {fault}; it is left out"));
        }
        let layers = Layers { initialize, ..self.layers.clone() };
        // Later it would be each session's error, and nobody would know whose values they were.
        match layers.effective(&home, &Settings::default()) {
            Ok(settings) => {
                self.layers = layers;
                self.follow_policy(settings.policy_file.as_deref());
            }
            Err(error) => {
                self.warn(format!("the settings of initialize cannot be used with what else is set: {error}"))
            }
        }
        let merged = self.layers.merged(&home, &Settings::default());
        let synchronous = merged.ok().and_then(|settings| settings.synchronous);
        self.stores.configure(options.storage.unwrap_or_default(), synchronous, home);
    }

    /// Settings of open sessions follow the client's.
    pub fn configured(&mut self, settings: Value) {
        let place = "the new configuration";
        match settings {
            Value::Object(settings) => {
                let (layer, faults) = Layer::written(settings, None);
                self.take_layer(Given::Changed, place, layer, &faults);
            }
            // Some clients only say that something changed.
            Value::Null => {}
            _ => self.warn(format!("{place}: settings: must be an object; what it was before stays")),
        }
    }

    /// Takes a layer that was read anew, and says what in it is not taken. `place` is where it stands, for people.
    pub fn take_layer(&mut self, which: Given, place: &str, layer: Layer, faults: &[Fault]) {
        let mut layers = self.layers.clone();
        let slot = match which {
            Given::User => &mut layers.user,
            Given::Workspace(folder) => layers.workspaces.entry(folder).or_default(),
            Given::Changed => &mut layers.changed,
        };
        let before = std::mem::replace(slot, layer);
        slot.keep(&before, faults);
        let is_new = *slot != before;
        for fault in faults {
            let what = match &fault.reason {
                Some(_) if fault.is_ignored() => {
                    self.warn(format!("{place}: {fault}"));
                    continue;
                }
                Some(_) if fault.name != "policy" || before.values.contains_key("policy") => {
                    "what it was before stays".to_owned()
                }
                // It says more of how a session behaves than any other.
                Some(_) => {
                    let home = layers.merged(self.stores.home(), &Settings::default());
                    let holds =
                        home.ok().and_then(|home| home.policy).unwrap_or_else(|| "default".to_owned());
                    format!("it is left out, and the policy {holds} holds")
                }
                None => "it is left out".to_owned(),
            };
            self.warn(format!("{place}: {fault}; {what}"));
        }
        if !is_new {
            return;
        }
        if let Err(error) = self.adopt(layers) {
            self.warn(format!(
                "{place}: it cannot be used with what else is set, and what it said before stays: {error}"
            ));
        }
    }

    /// Takes other layers on, and so does each open session that they change something for. Layers that one of them
    /// cannot use are an error and change none.
    pub fn adopt(&mut self, layers: Layers) -> Result<(), ProtocolError> {
        // Also where no session is open that could tell.
        layers.effective(self.stores.home(), &Settings::default())?;
        let mut changed = Vec::new();
        for (id, slot) in &self.sessions {
            let Slot::Live(live) = slot else { continue };
            let head = live.session.head();
            let settings = layers.effective(&head.workspace, &own_settings(&head.settings))?;
            if settings != *live.session.settings() {
                changed.push((id.clone(), settings));
            }
        }
        self.layers = layers;
        for (id, settings) in changed {
            self.follow_policy(settings.policy_file.as_deref());
            self.run_input(&id, Input::Settings(Box::new(settings)));
        }
        Ok(())
    }

    /// Settings that a client gives to one session; names that no setting has are said in the answer.
    pub fn given(
        &mut self,
        to: ReplyTo,
        given: Option<&GivenSettings>,
    ) -> Result<Option<Settings>, ProtocolError> {
        let Some((settings, unknown)) = given.map(Layer::given).transpose()? else { return Ok(None) };
        if let Some(waiting) = self.waiting.get_mut(&to) {
            waiting.diagnostics.extend(
                unknown.iter().map(|fault| Diagnostic {
                    kind: "unknownSetting".to_owned(),
                    message: fault.to_string(),
                }),
            );
        }
        Ok(Some(settings))
    }
}
