//! Tasks: one is stored as a session that waits, and a process that serves its folder opens it, under its lease, runs it
//! and lets it go. What waits is looked for once a second, also where nothing was committed: no commit tells that whoever
//! held one is gone. A parent that is open here is told of tasks that end elsewhere.

use crate::convert;
use crate::server::config::Config;
use crate::server::given::own_settings;
use crate::server::host::sessions::Sessions;
use crate::server::mailbox::Mailbox;
use crate::server::stores::Stores;
use crate::server::wire::notice;
use engine::id::SessionId;
use engine::message::{Body, PROCESS_COMPLETED};
use protocol::task::{Task, TaskState};
use serde_json::Value;
use session::Session;
use session::stored::TurnStatus;
use std::collections::{BTreeMap, BTreeSet};
use store::Store;
use store::error::StoreError;
use store::task::{self, Waiting};
use store::worker::Handle;

/// A store's word about tasks.
pub(in crate::server) enum TaskEvent {
    /// Which tasks of this folder wait.
    Waiting(String, Result<Vec<Waiting>, StoreError>),
    /// Which tasks of this session ended.
    Ended(SessionId, Result<Ended, StoreError>),
}

/// Tasks of a session that ended, each with what that session is told; with the pulse of the store.
pub(in crate::server) struct Ended {
    pulse: u64,
    tasks: Vec<(SessionId, String)>,
}

/// Tasks that are run here, or made here for others.
pub(in crate::server) struct Tasks {
    mailbox: Mailbox<TaskEvent>,
    /// True if this process runs them.
    serves: bool,
    /// Folders whose tasks are looked for.
    folders: BTreeSet<String>,
    /// Those of them whose store was asked and has not answered.
    asked: BTreeSet<String>,
    /// Sessions that are open here for their task alone.
    taken: BTreeSet<SessionId>,
    /// Sessions whose tasks may end elsewhere.
    parents: BTreeMap<SessionId, Parent>,
    /// Tasks whose parents were told.
    told: BTreeSet<SessionId>,
}

/// See [`Tasks::parents`].
#[derive(Default)]
struct Parent {
    is_asked: bool,
    /// The store's pulse when it was asked last.
    pulse: Option<u64>,
}

impl Tasks {
    pub fn new(mailbox: Mailbox<TaskEvent>) -> Self {
        Self {
            mailbox,
            serves: false,
            folders: BTreeSet::new(),
            asked: BTreeSet::new(),
            taken: BTreeSet::new(),
            parents: BTreeMap::new(),
            told: BTreeSet::new(),
        }
    }

    /// Has this process run tasks, or not.
    pub fn set_serves(&mut self, serves: bool) {
        self.serves = serves;
    }

    /// Returns whether stores are to be looked at for their sake.
    pub fn need_looks(&self) -> bool {
        self.serves && !self.folders.is_empty() || !self.parents.is_empty()
    }

    /// A folder is open here: its tasks are run, where this process runs any. Whether that is new.
    pub fn serve(&mut self, folder: &str) -> bool {
        self.serves && !folder.is_empty() && self.folders.insert(folder.to_owned())
    }

    /// A session's tasks may end in another process.
    pub fn watch_parent(&mut self, parent: SessionId) {
        self.parents.entry(parent).or_default();
    }

    /// Looks for tasks that wait, and for those that ended.
    pub fn look(&mut self, stores: &mut Stores, sessions: &Sessions) {
        self.look_for_waiting(stores);
        for parent in self.parents.keys().cloned().collect::<Vec<_>>() {
            if let Some(host) = sessions.host(&parent).filter(|host| !host.is_leaving())
                && let Some(store) = host.store()
            {
                self.look_for_ended(host.session(), store);
            }
        }
    }

    fn look_for_waiting(&mut self, stores: &mut Stores) {
        if !self.serves {
            return;
        }
        for folder in self.folders.clone() {
            // A folder in which nobody ever talked has no store, and none is made for a look.
            if self.asked.contains(&folder) || !stores.is_there(&folder) {
                continue;
            }
            let Ok(store) = stores.of(Some(&folder)) else { continue };
            self.asked.insert(folder.clone());
            let (mailbox, workspace) = (self.mailbox.clone(), folder.clone());
            store.submit(
                move |store| store.waiting(&workspace),
                move |found| mailbox.send(TaskEvent::Waiting(folder, found)),
            );
        }
    }

    /// These tasks of a folder wait: the sessions that can be begun here. The others wait on.
    pub fn waiting(
        &mut self,
        (config, sessions): (&Config, &Sessions),
        folder: &str,
        found: Result<Vec<Waiting>, StoreError>,
    ) -> Vec<SessionId> {
        self.asked.remove(folder);
        let waiting = found.unwrap_or_else(|error| {
            tracing::debug!(folder, %error, "it cannot be read which tasks wait; it is tried again");
            Vec::new()
        });
        let can_begin = |waiting: &Waiting| {
            let is_free = match sessions.host(&waiting.session) {
                Some(host) => !host.is_leaving() && host.session().head().waits,
                None => sessions.opening(&waiting.session).is_none(),
            };
            let settings = config.effective(folder, &own_settings(&waiting.settings));
            is_free && settings.is_ok_and(|settings| settings.may_ask(&settings.model))
        };
        let begun = waiting.into_iter().filter(can_begin);
        begun.map(|waiting| waiting.session).collect()
    }

    /// A session is here for its task alone.
    pub fn take(&mut self, id: &SessionId) {
        self.taken.insert(id.clone());
    }

    /// Somebody else wants something of a session, or it is gone: it is not here for its task alone.
    pub fn keep(&mut self, id: &SessionId) {
        self.taken.remove(id);
    }

    pub fn is_only_task(&self, id: &SessionId) -> bool {
        self.taken.contains(id)
    }

    /// A task's parent is told by whoever runs the task.
    pub fn parent_told(&mut self, task: &SessionId) {
        self.told.insert(task.clone());
    }

    /// Asks the store of an open session which of its tasks ended.
    fn look_for_ended(&mut self, session: &Session, store: &Handle) {
        let id = session.id().clone();
        let Some(parent) = self.parents.get_mut(&id).filter(|parent| !parent.is_asked) else { return };
        parent.is_asked = true;
        let mut told = told_in(session);
        told.extend(self.told.iter().cloned());
        let (mailbox, since, of) = (self.mailbox.clone(), parent.pulse, id.clone());
        store.submit(
            move |store| ended(store, &of, since, &told),
            move |found| mailbox.send(TaskEvent::Ended(id, found)),
        );
    }

    /// Tasks of a session ended in other processes: what it is told of those that are new. Whoever opens a session next
    /// that is not open here now looks again.
    pub fn ended(
        &mut self,
        id: &SessionId,
        found: Result<Ended, StoreError>,
        is_here: bool,
    ) -> Vec<(SessionId, String)> {
        let Some(parent) = self.parents.get_mut(id) else { return Vec::new() };
        parent.is_asked = false;
        let Ok(Ended { pulse, tasks }) = found else { return Vec::new() };
        if !is_here {
            return Vec::new();
        }
        parent.pulse = Some(pulse);
        tasks
    }

    /// Marks the parent of this task as told. Returns whether that is new.
    pub fn tell_parent_once(&mut self, task: SessionId) -> bool {
        self.told.insert(task)
    }
}

/// The background sessions whose end this one was told.
fn told_in(session: &Session) -> BTreeSet<SessionId> {
    let messages = session.transcript().messages().iter();
    let told = messages.filter_map(|message| match &message.body {
        Body::Event { kind, text } if kind == PROCESS_COMPLETED => {
            let told: Value = serde_json::from_str(text).ok()?;
            Some(SessionId::new(told.get("sessionId")?.as_str()?))
        }
        _ => None,
    });
    told.collect()
}

/// Tasks of a session that ended and that it was not told of, where anything was committed since.
fn ended(
    store: &mut dyn Store,
    parent: &SessionId,
    since: Option<u64>,
    told: &BTreeSet<SessionId>,
) -> Result<Ended, StoreError> {
    let pulse = store.pulse()?;
    let mut tasks = Vec::new();
    if since != Some(pulse) {
        for task in store.tasks(parent)? {
            let (task::TaskState::Ended(status), false) = (task.state, told.contains(&task.session)) else {
                continue;
            };
            if let Some(stored) = store.load(&task.session)? {
                tasks.push((task.session, notice::of_stored(&stored, status)));
            }
        }
    }
    Ok(Ended { pulse, tasks })
}

/// A task as a list shows it.
pub(in crate::server) fn shown(task: task::Task) -> Task {
    Task {
        session_id: task.session.as_str().to_owned(),
        title: task.title,
        state: match task.state {
            task::TaskState::Waiting => TaskState::Waiting,
            task::TaskState::Running | task::TaskState::Ended(TurnStatus::Running) => TaskState::Running,
            task::TaskState::Interrupted => TaskState::Interrupted,
            task::TaskState::Ended(TurnStatus::Completed) => TaskState::Completed,
            task::TaskState::Ended(TurnStatus::Cancelled) => TaskState::Cancelled,
            task::TaskState::Ended(TurnStatus::Failed) => TaskState::Failed,
        },
        created_at: convert::iso(task.created_at),
    }
}
