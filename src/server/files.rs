//! Files that matter to sessions: settings of the user and of workspaces, and instruction files of workspaces. They are
//! read when they are first needed and followed from then on; what cannot be taken of one is said to the client, and
//! what it said before stays.

use super::configuring::Given;
use super::inbox::Event;
use super::main_loop::{MainLoop, Slot};
use super::outside::{self, Flags};
use super::settings::{Fault, Layer, Layers, of_policy, policy_of};
use super::watch::{Found, Look, Watch};
use engine::id::SessionId;
use engine::message::Text;
use engine::text::head;
use engine::tokens::TokenCount;
use session::Session;
use session::input::Input;
use session::stored::Driver;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The files that are followed.
#[derive(Default)]
pub(super) struct Files {
    /// The user's, where the environment has a place for it.
    user: Option<PathBuf>,
    /// Whether the environment names that file.
    is_named: bool,
    /// Folders whose files are known.
    folders: BTreeSet<String>,
    /// What of the environment could not be taken: said once there is a client to say it to.
    faults: Vec<String>,
    /// Whether files are read at all.
    is_on: bool,
    /// Instruction files that are watched, by their folders and paths.
    instructions: BTreeSet<(String, String)>,
    watch: Option<Watch<Which>>,
}

/// A file that matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Which {
    /// The user's settings.
    User,
    /// The settings of the workspace in this folder.
    Workspace(String),
    /// The file of a policy, by its path.
    Policy(String),
    /// An instruction file of the workspace in this folder, by its path below that.
    Instructions(String, String),
}

/// Bytes of a settings file that are read at most.
const MOST: u64 = 1 << 20;
/// Bytes of an instruction file that are read at most: it stands in each prompt.
const MOST_INSTRUCTIONS: u64 = 32 << 10;
/// The instruction file that is read where nobody says which: the one that all agents agree on. Others of a workspace
/// are as a rule links to it, or say the same again.
const USUAL: &str = "AGENTS.md";

impl Files {
    /// Files are read from now on, this one for the user's settings; `is_named` where the user said so, so that it is
    /// expected to be there.
    pub fn with_user(user: Option<PathBuf>, is_named: bool) -> Self {
        Self { user, is_named, is_on: true, ..Self::default() }
    }
}

/// The instruction files of a session.
fn instruction_files(session: &Session) -> Vec<String> {
    let usual = match session.head().driver {
        Driver::Sidecar => vec![USUAL.to_owned()],
        // It brings its own.
        Driver::Editor => Vec::new(),
    };
    session.settings().instruction_files.clone().unwrap_or(usual)
}

/// What is left for instruction files in a session's prompt.
#[derive(Clone, Copy)]
struct Room {
    bytes: usize,
    tokens: u32,
}

/// What instruction files of a session may take: an eighth of its window, so that they are never what does not fit.
fn most_instructions(session: &Session) -> Room {
    let bytes = usize::try_from(MOST_INSTRUCTIONS).unwrap_or(usize::MAX);
    Room { bytes, tokens: session.settings().model.window / 8 }
}

/// The beginning of a text, of at most so many tokens.
fn of_tokens<'a>(counter: &dyn TokenCount, text: &'a str, most: Room) -> &'a str {
    let text = head(text, most.bytes);
    // A token has a byte at the least.
    if text.len() <= most.tokens as usize || counter.count(text) <= most.tokens {
        return text;
    }
    // A longer beginning has no fewer tokens, but for a few where it ends inside a word. To the last byte it need not be.
    let (mut fits, mut too_long) = (most.tokens as usize, text.len());
    while fits + 1 < too_long && too_long - fits > text.len() / 128 {
        let middle = fits.midpoint(too_long);
        if counter.count(head(text, middle)) <= most.tokens { fits = middle } else { too_long = middle }
    }
    head(text, fits)
}

fn of_instructions(folder: &str, name: &str) -> Option<Look> {
    let base = PathBuf::from(folder);
    let file = base.join(name);
    base.is_absolute().then_some(Look { file, base, may_leave: false, most: MOST_INSTRUCTIONS })
}

/// The settings file of the workspace in this folder. What is at another place than this machine's files has none.
fn of_workspace(folder: &str) -> Option<Look> {
    let base = PathBuf::from(folder);
    let file = base.join(".threadhold").join("config.toml");
    base.is_absolute().then_some(Look { file, base, may_leave: false, most: MOST })
}

/// The user's file. It may be a link: people keep their settings elsewhere.
fn of_user(file: &Path) -> Look {
    let above = file.parent().unwrap_or(file);
    // In our own folder of the platform's, which may not be there yet.
    let base = if above.ends_with("threadhold") { above.parent().unwrap_or(above) } else { above };
    Look { file: file.to_owned(), base: base.to_owned(), may_leave: true, most: MOST }
}

impl MainLoop {
    /// Reads the user's settings, and follows them.
    pub fn read_users_file(&mut self) {
        for fault in std::mem::take(&mut self.files.faults) {
            self.warn(format!("the environment: {fault}; it is left out"));
        }
        if let Some(look) = self.files.user.as_deref().map(of_user) {
            if self.files.is_named && look.now() == Found::Missing {
                let file = look.file.display();
                self.warn(format!("THREADHOLD_CONFIG names {file}, and there is no such file"));
            }
            self.follow_file(Which::User, look);
        }
    }

    /// Reads what a folder says of its sessions when it is first named, and follows that.
    pub fn enter_folder(&mut self, folder: &str) {
        self.serve_tasks_of(folder);
        if self.files.is_on
            && self.files.folders.insert(folder.to_owned())
            && let Some(look) = of_workspace(folder)
        {
            self.follow_file(Which::Workspace(folder.to_owned()), look);
        }
    }

    /// Reads the instruction files of a session that is here now, and follows them.
    pub fn read_instructions(&mut self, id: &SessionId) {
        let Some(Slot::Live(live)) = self.sessions.get(id).filter(|_| self.files.is_on) else { return };
        let folder = live.session.head().workspace.clone();
        let (names, mut left) = (instruction_files(&live.session), most_instructions(&live.session));
        let mut files = Vec::new();
        for name in names {
            let Some(look) = of_instructions(&folder, &name) else { return };
            let found = look.now();
            if self.files.instructions.insert((folder.clone(), name.clone())) {
                self.watch_file(Which::Instructions(folder.clone(), name.clone()), look, found.clone());
            }
            if let Some(text) = self.instructions(&folder, &name, &found, left) {
                // Two names of one file, or a copy of it, say the same.
                if text.is_none() || !files.iter().any(|(_, known)| *known == text) {
                    if let Some(text) = &text {
                        left.bytes = left.bytes.saturating_sub(text.len());
                        left.tokens = left.tokens.saturating_sub(self.counter.count(text));
                    }
                    files.push((name, text));
                }
            }
        }
        if !files.is_empty() {
            self.run_input(id, Input::Instructions(files));
        }
    }

    /// What an instruction file says in the room that there is, where it can be read; nothing in it where there is none.
    fn instructions(&mut self, folder: &str, name: &str, found: &Found, most: Room) -> Option<Option<Text>> {
        let place = Path::new(folder).join(name);
        match found {
            Found::Missing => Some(None),
            Found::Unusable(why) => {
                self.warn(format!("the instruction file {} is left out: {why}", place.display()));
                None
            }
            Found::Text { text, .. } if text.trim().is_empty() => Some(None),
            Found::Text { text, bytes } => {
                let kept = of_tokens(&*self.counter, text, most);
                if kept.len() as u64 == *bytes {
                    return Some(Some(text.as_str().into()));
                }
                let kept_bytes = kept.len();
                self.warn(format!(
                    "the instruction file {} has {bytes} bytes; the first {kept_bytes} are shown",
                    place.display()
                ));
                Some(Some(format!("{kept}\n[{kept_bytes} of {bytes} bytes; the rest is left out]").into()))
            }
        }
    }

    fn instructions_are(&mut self, folder: &str, name: &str, found: &Found) {
        tracing::info!(folder, name, "an instruction file changed");
        let concerned = self.sessions.iter().filter_map(|(id, slot)| match slot {
            Slot::Live(live) if live.session.head().workspace == folder => {
                let is_named = instruction_files(&live.session).iter().any(|known| known == name);
                is_named.then(|| (id.clone(), most_instructions(&live.session)))
            }
            Slot::Live(_) | Slot::Opening(_) => None,
        });
        for (id, most) in concerned.collect::<Vec<_>>() {
            if let Some(text) = self.instructions(folder, name, found, most) {
                self.run_input(&id, Input::Instructions(vec![(name.to_owned(), text)]));
            }
        }
    }

    fn follow_file(&mut self, which: Which, look: Look) {
        let known = look.now();
        self.file_is(which.clone(), known.clone());
        self.watch_file(which, look, known);
    }

    /// Follows the file of a policy that is in force from now on.
    pub fn follow_policy(&mut self, file: Option<&str>) {
        let Some(file) = file.filter(|file| self.files.is_on && !self.layers.policies.contains_key(*file))
        else {
            return;
        };
        if let Ok(policy) = policy_of(file) {
            self.layers.policies.insert(file.to_owned(), policy);
            let look = of_policy(file);
            let known = look.now();
            self.watch_file(Which::Policy(file.to_owned()), look, known);
        }
    }

    /// The file of a policy changed: open sessions follow it. What cannot be used leaves what it said before.
    fn policy_is(&mut self, file: &str) {
        match policy_of(file) {
            Ok(policy) => {
                let mut layers = self.layers.clone();
                layers.policies.insert(file.to_owned(), policy);
                if let Err(error) = self.adopt(layers) {
                    self.warn(format!("{file}: it cannot be used, and what it said before stays: {error}"));
                }
            }
            Err(error) => self.warn(format!("{error}; what it said before stays until the process ends")),
        }
    }

    fn watch_file(&mut self, which: Which, look: Look, known: Found) {
        if self.files.watch.is_none() {
            let inbox = self.inbox.clone();
            let tell = move |which, found| drop(inbox.send(Event::File(which, found)));
            match Watch::start(tell) {
                Ok(watch) => self.files.watch = Some(watch),
                Err(error) => {
                    tracing::warn!(%error, "files cannot be watched; changes are seen at the next start")
                }
            }
        }
        if let Some(watch) = &self.files.watch {
            watch.add(which, look, known);
        }
    }

    /// A file is this now.
    pub fn file_is(&mut self, which: Which, found: Found) {
        let look = match &which {
            Which::User => self.files.user.as_deref().map(of_user),
            Which::Workspace(folder) => of_workspace(folder),
            Which::Instructions(folder, name) => return self.instructions_are(folder, name, &found),
            Which::Policy(file) => return self.policy_is(file),
        };
        let Some(look) = look else { return };
        let place = look.file.display().to_string();
        let (layer, mut faults) = match read(&which, found, &place) {
            Ok(read) => read,
            Err(why) => return self.warn(format!("{place}: {why}; what it said before stays")),
        };
        let which = match which {
            Which::User => Given::User,
            Which::Workspace(folder) => {
                faults.extend(self.layers.looser(&folder, &layer));
                Given::Workspace(folder)
            }
            Which::Instructions(..) | Which::Policy(_) => return,
        };
        self.take_layer(which, &place, layer, &faults);
    }

    /// Says something to the client and in the log.
    pub fn warn(&mut self, message: String) {
        tracing::warn!("{message}");
        self.log(message);
    }

    /// Takes what is said before a client says anything.
    pub fn take_outside(&mut self, flags: &Flags) {
        let variables = std::env::vars_os();
        let text =
            variables.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        let (environment, faults) = outside::environment(text);
        self.layers = Layers { environment, flags: flags.0.clone(), ..Layers::default() };
        self.files.faults = faults;
    }
}

fn read(which: &Which, found: Found, place: &str) -> Result<(Layer, Vec<Fault>), String> {
    let (text, bytes) = match found {
        Found::Missing => return Ok(Default::default()),
        Found::Unusable(why) => return Err(why),
        Found::Text { text, bytes } => (text, bytes),
    };
    if bytes > MOST {
        return Err(format!("it has {bytes} bytes, and at most {MOST} are read"));
    }
    match which {
        Which::Workspace(_) => outside::workspaces_file(&text, place),
        Which::User | Which::Instructions(..) | Which::Policy(_) => outside::users_file(&text, place),
    }
}
