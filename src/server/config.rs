//! Settings that come or change while the process runs: which values are taken, which are reported as faults,
//! and which open sessions they concern. Files are read when they are first needed and watched from then on;
//! a faulty value is reported to the client, and the earlier one stays.

mod files;
mod instructions;
mod servers;

pub(super) use files::Which;

use super::client::Client;
use super::given::own_settings;
use super::host::sessions::Sessions;
use super::mailbox::Mailbox;
use super::outside::{self, Flags, of_user};
use super::settings::{Fault, Layer, Layers, Listed, WorkspaceServer, policy_file_rules, policy_of};
use super::watch::{Found, Look, Watch};
use engine::id::SessionId;
use engine::message::Text;
use engine::tokens::TokenCount;
use files::{of_workspace, read};
use instructions::Room;
use protocol::error::ProtocolError;
use protocol::server::ClientCapabilities;
use protocol::settings::{Settings, Synchronous};
use serde_json::Value;
use session::Session;
use session::settings::Settings as Effective;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// A file changed.
pub(super) struct FileChanged {
    /// The file.
    pub which: Which,
    /// The new content.
    pub found: Found,
}

/// Open sessions whose settings change, each with its new ones.
pub(super) type Changes = Vec<(SessionId, Effective)>;

/// An instruction file: its name below the folder, and its text.
pub(super) type Instruction = (String, Option<Text>);

/// Settings of all sessions, and the watched files.
pub(super) struct Config {
    mailbox: Mailbox<FileChanged>,
    layers: Layers,
    /// The folder for requests that name none.
    home: String,
    /// The user's file; `None` if the environment has no place for it.
    user: Option<PathBuf>,
    /// `true` if the environment names that file.
    is_named: bool,
    /// Folders whose files were read.
    folders: BTreeSet<String>,
    /// Faults of the environment, reported once there is a client.
    faults: Vec<String>,
    /// `true` if files are read at all.
    reads_files: bool,
    /// Watched instruction files, by folder and path.
    instructions: BTreeSet<(String, String)>,
    watch: Option<Watch<Which>>,
}

/// A layer of settings that can change while sessions are open.
enum Given {
    /// The user's file.
    User,
    /// The file of the workspace in this folder.
    Workspace(String),
    /// `workspace/didChangeConfiguration`.
    Changed,
}

impl Config {
    /// Default settings, without files.
    pub fn new(mailbox: Mailbox<FileChanged>) -> Self {
        Self {
            mailbox,
            layers: Layers::default(),
            home: String::new(),
            user: None,
            is_named: false,
            folders: BTreeSet::new(),
            faults: Vec::new(),
            reads_files: false,
            instructions: BTreeSet::new(),
            watch: None,
        }
    }

    /// Takes the settings from outside: the environment, the command line, and the path of the user's file.
    pub fn take_outside(&mut self, flags: &Flags) {
        let variable = |name: &str| std::env::var(name).ok();
        self.user = outside::user_file(variable);
        self.is_named = variable(outside::USERS_FILE).is_some();
        self.reads_files = true;
        let variables = std::env::vars_os();
        let text =
            variables.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        let (environment, faults) = outside::environment(text);
        let listed = self.user.as_deref().map(Listed::beside).unwrap_or_default();
        self.layers = Layers { environment, flags: flags.0.clone(), listed, ..Layers::default() };
        self.faults = faults;
    }

    /// Returns what providers list of models.
    pub fn listed(&self) -> Listed {
        self.layers.listed.clone()
    }

    pub fn layers(&self) -> &Layers {
        &self.layers
    }

    /// Notes the client's capabilities.
    pub fn set_client(&mut self, capabilities: ClientCapabilities) {
        self.layers.client = capabilities;
    }

    /// The settings of a session of this folder; `own` is its own layer.
    pub fn effective(&self, folder: &str, own: &Settings) -> Result<Effective, ProtocolError> {
        self.layers.effective(folder, own)
    }

    /// The settings of a session that is opened. An unusable policy of its own does not keep the session from
    /// opening, unless it was given just now.
    pub fn effective_at_open(
        &mut self,
        client: &mut Client,
        (id, folder): (&SessionId, &str),
        own: &Value,
        is_given: bool,
    ) -> Result<Effective, ProtocolError> {
        let mut own = own_settings(own);
        let settings = match self.layers.effective(folder, &own) {
            Err(error) if !is_given && own.policy.take().is_some() => {
                let settings = self.layers.effective(folder, &own)?;
                client.warn(format!(
                    "session \"{id}\": {error}; the policy {} is in force",
                    settings.policy.name
                ));
                settings
            }
            settings => settings?,
        };
        self.follow_policy(settings.policy_file.as_deref());
        Ok(settings)
    }

    /// Takes the settings of `initialize`, and the folder for requests that name none. Returns how safely a
    /// store must write.
    pub fn initialize(&mut self, client: &mut Client, settings: Value, home: String) -> Option<Synchronous> {
        let (initialize, faults) = match settings {
            Value::Object(settings) => Layer::written(settings, None),
            Value::Null => Default::default(),
            _ => {
                let reason = Some("must be an object".to_owned());
                (Layer::default(), vec![Fault { name: "settings".to_owned(), reason }])
            }
        };
        for fault in faults {
            client.warn(format!("the settings of initialize: {fault}; it was ignored"));
        }
        let layers = Layers { initialize, ..self.layers.clone() };
        // Later it would be an error of each session, without the source of the values.
        match layers.effective(&home, &Settings::default()) {
            Ok(settings) => {
                self.layers = layers;
                self.follow_policy(settings.policy_file.as_deref());
            }
            Err(error) => client.warn(format!(
                "the settings of initialize conflict with other settings; they were ignored: {error}"
            )),
        }
        let merged = self.layers.merged(&home, &Settings::default());
        self.home = home;
        merged.ok().and_then(|settings| settings.synchronous)
    }

    /// Takes a new configuration of the client. Returns the changes for open sessions.
    pub fn configured(&mut self, client: &mut Client, sessions: &Sessions, settings: Value) -> Changes {
        let place = "the new configuration";
        match settings {
            Value::Object(settings) => {
                let (layer, faults) = Layer::written(settings, None);
                return self.take_layer(client, sessions, Given::Changed, place, layer, &faults);
            }
            // Some clients only say that something changed.
            Value::Null => {}
            _ => client.warn(format!("{place}: settings: must be an object; the previous settings stay")),
        }
        Changes::new()
    }

    /// Takes a layer that was read anew, and reports its faults. `place` is its source, for display.
    fn take_layer(
        &mut self,
        client: &mut Client,
        sessions: &Sessions,
        which: Given,
        place: &str,
        layer: Layer,
        faults: &[Fault],
    ) -> Changes {
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
                    client.warn(format!("{place}: {fault}"));
                    continue;
                }
                Some(_) if fault.name != "policy" || before.values.contains_key("policy") => {
                    "the previous value stays".to_owned()
                }
                // The policy determines most of a session's behavior: name the one in force.
                Some(_) => {
                    let home = layers.merged(&self.home, &Settings::default());
                    let holds =
                        home.ok().and_then(|home| home.policy).unwrap_or_else(|| "default".to_owned());
                    format!("it was ignored and the policy {holds} is in force")
                }
                None => "it was ignored".to_owned(),
            };
            client.warn(format!("{place}: {fault}; {what}"));
        }
        if !is_new {
            return Changes::new();
        }
        self.adopt(sessions, layers).unwrap_or_else(|error| {
            client
                .warn(format!("{place}: conflicts with other settings; its previous settings stay: {error}"));
            Changes::new()
        })
    }

    /// Takes other layers. Fails and changes nothing if an open session cannot use them.
    fn adopt(&mut self, sessions: &Sessions, layers: Layers) -> Result<Changes, ProtocolError> {
        // Checked even if no session is open.
        layers.effective(&self.home, &Settings::default())?;
        let mut changes = Changes::new();
        for host in sessions.hosts() {
            let (session, head) = (host.session(), host.session().head());
            let settings = layers.effective(&head.workspace, &own_settings(&head.settings))?;
            if host.is_offloaded() || settings != *session.settings() {
                changes.push((head.id.clone(), settings));
            }
        }
        self.layers = layers;
        for (_, settings) in &changes {
            self.follow_policy(settings.policy_file.as_deref());
        }
        Ok(changes)
    }

    /// Takes limits of models that a provider listed since.
    pub fn limits_listed(&mut self, sessions: &Sessions) -> Changes {
        self.adopt(sessions, self.layers.clone()).unwrap_or_default()
    }

    /// Reads the user's settings, and watches the file.
    pub fn read_users_file(&mut self, client: &mut Client, sessions: &Sessions) -> Changes {
        for fault in std::mem::take(&mut self.faults) {
            client.warn(format!("the environment: {fault}; it was ignored"));
        }
        let Some(look) = self.user.as_deref().map(of_user) else { return Changes::new() };
        if self.is_named && look.now() == Found::Missing {
            let file = look.file.display();
            client.warn(format!("THREADHOLD_CONFIG names {file}, which does not exist"));
        }
        self.follow_file(client, sessions, Which::User, look)
    }

    /// Reads the settings of a folder when it is first named, and watches the file.
    pub fn enter_folder(&mut self, client: &mut Client, sessions: &Sessions, folder: &str) -> Changes {
        if self.reads_files
            && self.folders.insert(folder.to_owned())
            && let Some(look) = of_workspace(folder)
        {
            return self.follow_file(client, sessions, Which::Workspace(folder.to_owned()), look);
        }
        Changes::new()
    }

    /// The servers that files of a folder define, as the files are now.
    pub fn workspace_servers(&self, folder: &str) -> Vec<WorkspaceServer> {
        if self.reads_files { servers::of_folder(folder) } else { Vec::new() }
    }

    /// Reads the instruction files of an open session, and watches them.
    pub fn read_instructions(
        &mut self,
        (client, counter): (&mut Client, &dyn TokenCount),
        session: &Session,
    ) -> Vec<Instruction> {
        let mut files = Vec::new();
        if !self.reads_files {
            return files;
        }
        if !session.settings().is_trusted {
            // What was read before, while the folder was trusted, holds no longer.
            let known = session.head().prefix.instructions.iter();
            return known.map(|file| (file.name.clone(), None)).collect();
        }
        let folder = session.head().workspace.clone();
        let mut left = instructions::room(session);
        for name in instructions::names(session) {
            let Some(look) = instructions::look(&folder, &name) else { return Vec::new() };
            let found = look.now();
            if self.instructions.insert((folder.clone(), name.clone())) {
                self.watch_file(Which::Instructions(folder.clone(), name.clone()), look, found.clone());
            }
            if let Some(text) = instructions::text((client, counter), &folder, &name, &found, left) {
                // Two names of one file, or a copy of it, have the same text.
                if text.is_none() || !files.iter().any(|(_, known)| *known == text) {
                    if let Some(text) = &text {
                        left = left.beside(counter, text);
                    }
                    files.push((name, text));
                }
            }
        }
        files
    }

    /// The open sessions that use an instruction file of this folder, each with the room for it.
    pub fn instructed(&self, sessions: &Sessions, folder: &str, name: &str) -> Vec<(SessionId, Room)> {
        tracing::info!(folder, name, "an instruction file changed");
        let concerned = sessions.hosts().filter(|host| {
            let session = host.session();
            session.head().workspace == folder
                && instructions::names(session).iter().any(|known| known == name)
        });
        concerned.map(|host| (host.session().id().clone(), instructions::room(host.session()))).collect()
    }

    /// Reads an instruction file anew, cut to the room.
    pub fn instruction(
        &self,
        said: (&mut Client, &dyn TokenCount),
        (folder, name): (&str, &str),
        found: &Found,
        room: Room,
    ) -> Option<Instruction> {
        Some((name.to_owned(), instructions::text(said, folder, name, found, room)?))
    }

    fn follow_file(&mut self, client: &mut Client, sessions: &Sessions, which: Which, look: Look) -> Changes {
        let known = look.now();
        let changes = self.file_is(client, sessions, which.clone(), known.clone());
        self.watch_file(which, look, known);
        changes
    }

    /// Watches the file of a policy that is in force from now on.
    pub fn follow_policy(&mut self, file: Option<&str>) {
        let Some(file) = file.filter(|file| self.reads_files && !self.layers.policies.contains_key(*file))
        else {
            return;
        };
        if let Ok(policy) = policy_of(file) {
            self.layers.policies.insert(file.to_owned(), policy);
            let look = policy_file_rules(file);
            let known = look.now();
            self.watch_file(Which::Policy(file.to_owned()), look, known);
        }
    }

    /// Applies the changed file of a policy to open sessions. A file that cannot be used changes nothing.
    fn policy_is(&mut self, client: &mut Client, sessions: &Sessions, file: &str) -> Changes {
        match policy_of(file) {
            Ok(policy) => {
                let mut layers = self.layers.clone();
                layers.policies.insert(file.to_owned(), policy);
                return self.adopt(sessions, layers).unwrap_or_else(|error| {
                    client.warn(format!("{file}: cannot be used; its previous content stays: {error}"));
                    Changes::new()
                });
            }
            Err(error) => client.warn(format!("{error}; its previous content stays until the process ends")),
        }
        Changes::new()
    }

    fn watch_file(&mut self, which: Which, look: Look, known: Found) {
        if self.watch.is_none() {
            let mailbox = self.mailbox.clone();
            match Watch::start(move |which, found| mailbox.send(FileChanged { which, found })) {
                Ok(watch) => self.watch = Some(watch),
                Err(error) => {
                    tracing::warn!(%error, "files cannot be watched; changes are seen at the next start")
                }
            }
        }
        if let Some(watch) = &self.watch {
            watch.add(which, look, known);
        }
    }

    /// Applies the content of a settings or policy file.
    pub fn file_is(
        &mut self,
        client: &mut Client,
        sessions: &Sessions,
        which: Which,
        found: Found,
    ) -> Changes {
        let look = match &which {
            Which::User => self.user.as_deref().map(of_user),
            Which::Workspace(folder) => of_workspace(folder),
            Which::Policy(file) => return self.policy_is(client, sessions, file),
            Which::Instructions(..) => None,
        };
        let Some(look) = look else { return Changes::new() };
        let place = look.file.display().to_string();
        let (layer, mut faults) = match read(&which, found, &place) {
            Ok(read) => read,
            Err(why) => {
                client.warn(format!("{place}: {why}; its previous content stays"));
                return Changes::new();
            }
        };
        let which = match which {
            Which::User => Given::User,
            Which::Workspace(folder) => {
                faults.extend(self.layers.looser(&folder, &layer));
                Given::Workspace(folder)
            }
            Which::Instructions(..) | Which::Policy(_) => return Changes::new(),
        };
        self.take_layer(client, sessions, which, &place, layer, &faults)
    }
}
