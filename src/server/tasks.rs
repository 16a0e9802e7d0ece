//! Tasks (source: 000): one is stored as a session that waits, and a process that serves its folder opens it, under its
//! lease, runs it and lets it go. It is looked once a second what waits, also where nothing was committed: that who held
//! one is gone no commit tells. A parent that is open here is told of tasks that end elsewhere.

use super::asking::form;
use super::background;
use super::folder::spelled;
use super::inbox::{Event, Tasking};
use super::main_loop::{MainLoop, NOBODY, Slot, wire};
use super::opening::{New, given_id, new_id, own_settings};
use super::queued::{Opens, Queued};
use super::stores;
use super::wire_session::Asked;
use crate::convert::{self, Reading};
use engine::id::SessionId;
use engine::message::{Body, PROCESS_COMPLETED};
use protocol::error::ProtocolError;
use protocol::task::{Task, TaskListParams, TaskListResult, TaskStartParams, TaskState};
use serde_json::Value;
use session::Session;
use session::input::{Command, ReplyTo, StartTurn};
use session::stored::{Driver, TurnStatus};
use std::collections::{BTreeMap, BTreeSet};
use store::Store;
use store::error::StoreError;
use store::task::{self, Waiting};

/// What is known of tasks.
#[derive(Default)]
pub(super) struct Tasks {
    /// Whether this process runs them.
    pub serves: bool,
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

/// Tasks of a session that ended, each with what that session is told; with the pulse of the store.
pub(super) struct Ended {
    pulse: u64,
    tasks: Vec<(SessionId, String)>,
}

impl Tasks {
    /// Whether it is to be looked at stores for their sake.
    pub fn need_looks(&self) -> bool {
        self.serves && !self.folders.is_empty() || !self.parents.is_empty()
    }
}

/// Carries out what a client asks for.
pub(super) fn ask(main: &mut MainLoop, to: ReplyTo, ask: Tasking) -> Result<(), ProtocolError> {
    match ask {
        Tasking::Start(params) => start(main, to, params),
        Tasking::List(params) => list(main, to, &params),
    }
}

/// Stores a task, and leaves it to whoever runs tasks: perhaps this process, at its next look.
fn start(main: &mut MainLoop, to: ReplyTo, params: TaskStartParams) -> Result<(), ProtocolError> {
    let folder = spelled(&params.workspace_folder);
    let parent = given_id(&params.session_id)?;
    let settings = main.given(to, params.settings.as_ref())?;
    main.layers.effective(&folder, &settings.clone().unwrap_or_default())?;
    let content = Reading::new().field("content", |reading| reading.content(&params.content))?;
    let id = new_id();
    form(main, to, Asked::Task);
    let opens = Opens {
        command: Command::StoreTask(Box::new(StartTurn { content, ..StartTurn::default() })),
        folder: Some(folder),
        new: New {
            driver: Driver::Sidecar,
            kind: Some("task".to_owned()),
            parent: Some(parent.clone()),
            work_scope: None,
        },
        settings,
        follow: false,
    };
    main.hand(&id, Queued::Open(to, Box::new(opens)));
    main.hand(&id, Queued::Close(NOBODY));
    main.watch_tasks_of(parent);
    Ok(())
}

fn list(main: &mut MainLoop, to: ReplyTo, params: &TaskListParams) -> Result<(), ProtocolError> {
    let parent = given_id(&params.session_id)?;
    let store = main.stores.of(Some(&spelled(&params.workspace_folder)))?;
    let (pending, of) = (main.pending(to), parent.clone());
    store.submit(
        move |store| store.tasks(&of),
        move |tasks| {
            let tasks = tasks.map(|tasks| tasks.into_iter().map(shown).collect());
            let value = tasks
                .map_err(|error| stores::error(&error))
                .and_then(|tasks| wire(&TaskListResult { tasks }));
            pending.answer(value);
        },
    );
    main.watch_tasks_of(parent);
    Ok(())
}

fn shown(task: task::Task) -> Task {
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

impl MainLoop {
    /// A folder is open here: its tasks are run, where this process runs any.
    pub(super) fn serve_tasks_of(&mut self, folder: &str) {
        if self.tasks.serves && !folder.is_empty() && self.tasks.folders.insert(folder.to_owned()) {
            self.start_looking();
        }
    }

    /// A session's tasks may end in another process.
    fn watch_tasks_of(&mut self, parent: SessionId) {
        self.tasks.parents.entry(parent).or_default();
        self.start_looking();
    }

    /// Looks for tasks that wait, and for those that ended.
    pub(super) fn look_for_tasks(&mut self) {
        if self.tasks.serves {
            let folders: Vec<String> = self.tasks.folders.iter().cloned().collect();
            folders.into_iter().for_each(|folder| self.ask_for_tasks(folder));
        }
        let parents: Vec<SessionId> = self.tasks.parents.keys().cloned().collect();
        parents.into_iter().for_each(|parent| self.ask_for_ends(parent));
    }

    fn ask_for_tasks(&mut self, folder: String) {
        // A folder in which nobody ever talked has no store, and none is made for a look.
        if self.tasks.asked.contains(&folder) || !self.stores.is_there(&folder) {
            return;
        }
        let Ok(store) = self.stores.of(Some(&folder)) else { return };
        self.tasks.asked.insert(folder.clone());
        let (inbox, workspace) = (self.inbox.clone(), folder.clone());
        store.submit(
            move |store| store.waiting(&workspace),
            move |found| drop(inbox.send(Event::TasksWait(folder, found))),
        );
    }

    /// These tasks of a folder wait. Those whose model can be asked here are begun; the others wait on.
    pub(super) fn tasks_wait(&mut self, folder: &str, found: Result<Vec<Waiting>, StoreError>) {
        self.tasks.asked.remove(folder);
        if self.ending.is_some() {
            return;
        }
        let waiting = found.unwrap_or_else(|error| {
            tracing::debug!(folder, %error, "it cannot be read which tasks wait; it is tried again");
            Vec::new()
        });
        for Waiting { session, settings } in waiting {
            let is_free = match self.sessions.get(&session) {
                Some(Slot::Opening(_)) => false,
                Some(Slot::Live(live)) => !live.is_leaving() && live.session.head().waits,
                None => true,
            };
            let settings = self.layers.effective(folder, &own_settings(&settings));
            if is_free && settings.is_ok_and(|settings| settings.may_ask(&settings.model)) {
                let store = self.stores.name(folder);
                self.stores.remember(&session, store);
                self.hand(&session, Queued::Task);
            }
        }
    }

    /// A session that waits is here.
    pub(super) fn take_task(&mut self, id: &SessionId) {
        self.tasks.taken.insert(id.clone());
        self.run_command(NOBODY, id, Command::RunTask);
    }

    /// Somebody else wants something of a session, or it is gone: it is not here for its task alone.
    pub(super) fn keep_task(&mut self, id: &SessionId) {
        self.tasks.taken.remove(id);
    }

    /// Whether a session is here for its task alone.
    pub(super) fn is_only_task(&self, id: &SessionId) -> bool {
        self.tasks.taken.contains(id)
    }

    /// Lets a session go whose task is over.
    pub(super) fn leave_task(&mut self, id: &SessionId) {
        if let Some(Slot::Live(live)) = self.sessions.get(id)
            && self.is_only_task(id)
            && live.is_settled()
            && live.session.is_at_rest()
        {
            self.tasks.taken.remove(id);
            self.hand(id, Queued::Close(NOBODY));
        }
    }

    /// A task's parent is told by whoever runs the task.
    pub(super) fn task_is_told(&mut self, task: &SessionId) {
        self.tasks.told.insert(task.clone());
    }

    fn ask_for_ends(&mut self, id: SessionId) {
        let Some(Slot::Live(live)) = self.sessions.get(&id) else { return };
        let (Some((store, _)), false) = (live.store.clone(), live.is_leaving()) else { return };
        let mut told = told_in(&live.session);
        told.extend(self.tasks.told.iter().cloned());
        let Some(parent) = self.tasks.parents.get_mut(&id).filter(|parent| !parent.is_asked) else { return };
        parent.is_asked = true;
        let (inbox, since, of) = (self.inbox.clone(), parent.pulse, id.clone());
        store.submit(
            move |store| ended(store, &of, since, &told),
            move |found| drop(inbox.send(Event::TasksEnded(id, found))),
        );
    }

    /// Tasks of a session ended in other processes.
    pub(super) fn tasks_ended(&mut self, id: &SessionId, found: Result<Ended, StoreError>) {
        let Some(parent) = self.tasks.parents.get_mut(id) else { return };
        parent.is_asked = false;
        let Ok(Ended { pulse, tasks }) = found else { return };
        // Who opens it next, here or elsewhere, looks again.
        let is_here =
            |slot: &Slot| matches!(slot, Slot::Live(live) if live.store.is_some() && !live.is_leaving());
        if !self.sessions.get(id).is_some_and(is_here) {
            return;
        }
        parent.pulse = Some(pulse);
        for (task, text) in tasks {
            if self.tasks.told.insert(task) {
                let notice = Command::Notice { kind: PROCESS_COMPLETED, text };
                self.hand(id, Queued::Command(NOBODY, Box::new(notice)));
            }
        }
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
                tasks.push((task.session, background::told_of(&stored, status)));
            }
        }
    }
    Ok(Ended { pulse, tasks })
}
