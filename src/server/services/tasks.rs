//! Tasks: each is stored as a session that waits; a process that serves its folder opens it under its lease,
//! runs it and closes it. Stores are polled once a second, even without new commits: no commit shows that a
//! holder died. A parent that is open here is notified of tasks that end elsewhere.

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

/// A store's answer about tasks.
pub(in crate::server) enum TaskEvent {
    /// The waiting tasks of this folder.
    Waiting(String, Result<Vec<Waiting>, StoreError>),
    /// The ended tasks of this session.
    Ended(SessionId, Result<Ended, StoreError>),
}

/// Ended tasks of a session, each with the notice for that session; and the store's pulse.
pub(in crate::server) struct Ended {
    pulse: u64,
    tasks: Vec<(SessionId, String)>,
}

/// Tasks that run here, or were created here for others.
pub(in crate::server) struct Tasks {
    mailbox: Mailbox<TaskEvent>,
    /// `true` if this process runs tasks.
    serves: bool,
    /// Folders whose tasks are looked for.
    folders: BTreeSet<String>,
    /// Those of them whose store has not answered yet.
    asked: BTreeSet<String>,
    /// Sessions that are open here for their task only.
    taken: BTreeSet<SessionId>,
    /// Sessions whose tasks may end elsewhere.
    parents: BTreeMap<SessionId, Parent>,
    /// Tasks whose parents were notified.
    told: BTreeSet<SessionId>,
}

/// Polling state of [`Tasks::parents`].
#[derive(Default)]
struct Parent {
    is_asked: bool,
    /// The store's pulse at the last look.
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

    /// Makes this process run tasks, or not.
    pub fn set_serves(&mut self, serves: bool) {
        self.serves = serves;
    }

    /// `true` if stores must be polled for tasks.
    pub fn need_looks(&self) -> bool {
        self.serves && !self.folders.is_empty() || !self.parents.is_empty()
    }

    /// Looks for tasks of an open folder from now on, if this process runs any. Returns `true` if that is
    /// new.
    pub fn serve(&mut self, folder: &str) -> bool {
        self.serves && !folder.is_empty() && self.folders.insert(folder.to_owned())
    }

    /// Looks for tasks of this session that end in other processes.
    pub fn watch_parent(&mut self, parent: SessionId) {
        self.parents.entry(parent).or_default();
    }

    /// Looks for waiting tasks, and for ended ones.
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
            // A folder without sessions has no store, and a look creates none.
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

    /// Handles the waiting tasks of a folder. Returns those that can begin here.
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
                Some(host) => {
                    let session = host.session();
                    !host.is_leaving() && session.head().waits && !session.waits_for_agents()
                }
                None => sessions.opening(&waiting.session).is_none(),
            };
            let settings = config.effective(folder, &own_settings(&waiting.settings));
            is_free && settings.is_ok_and(|settings| settings.may_ask(&settings.model))
        };
        let begun = waiting.into_iter().filter(can_begin);
        begun.map(|waiting| waiting.session).collect()
    }

    /// Marks a session as open for its task only.
    pub fn take(&mut self, id: &SessionId) {
        self.taken.insert(id.clone());
    }

    /// Removes the mark: something else needs the session, or it is closed.
    pub fn keep(&mut self, id: &SessionId) {
        self.taken.remove(id);
    }

    pub fn is_only_task(&self, id: &SessionId) -> bool {
        self.taken.contains(id)
    }

    /// Notes that a task's parent was notified by the process that runs the task.
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

    /// Handles tasks that ended in other processes. Returns the new notices; none if the parent is not open
    /// here, so that the next look finds them again.
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

    /// Marks the parent of this task as notified. Returns `true` if that is new.
    pub fn tell_parent_once(&mut self, task: SessionId) -> bool {
        self.told.insert(task)
    }
}

/// Background sessions whose end this session was notified of.
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

/// Ended tasks that their parent was not notified of; none if nothing was committed since.
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

/// The list entry of a task.
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
