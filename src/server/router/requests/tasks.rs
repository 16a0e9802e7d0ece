//! Requests about tasks and loops.

use super::RequestHandler;
use crate::convert::Reading;
use crate::server::client::replies::NOBODY;
use crate::server::folder::given_folder;
use crate::server::given::{given_id, new_id};
use crate::server::host::queued::{New, Opens, Queued};
use crate::server::host::{HostEvent, HostEventKind};
use crate::server::services::loops::Start;
use crate::server::services::tasks;
use crate::server::stores;
use crate::server::wire::answer::Form;
use crate::server::wire::to_json;
use ::session::input::{Command, ReplyTo, StartTurn};
use ::session::stored::Driver;
use protocol::error::ProtocolError;
use protocol::task::{TaskListParams, TaskListResult, TaskStartParams};
use store::Workspaces;

impl RequestHandler<'_> {
    /// Stores a task for a process that runs tasks: perhaps this one, at its next look.
    pub(super) fn start_task(&mut self, to: ReplyTo, params: TaskStartParams) -> Result<(), ProtocolError> {
        let folder = given_folder(&params.workspace_folder)?;
        let parent = given_id(&params.session_id)?;
        self.router.stores.know(&folder);
        let settings = self.checked(to, params.settings.as_ref(), &folder)?;
        let content = Reading::new().field("content", |reading| reading.content(&params.content))?;
        let id = new_id();
        self.router.replies.set_form(to, Form::Task);
        let new = New {
            driver: Driver::Sidecar,
            kind: Some("task".to_owned()),
            parent: Some(parent.clone()),
            ..New::default()
        };
        let command = Command::StoreTask(Box::new(StartTurn { content, ..StartTurn::default() }));
        let opens = Opens { command, folder: Some(folder), new, settings, follow: false };
        self.router.hand(&id, Queued::Open(to, Box::new(opens)));
        self.router.hand(&id, Queued::Close(NOBODY));
        self.router.tasks.watch_parent(parent);
        self.router.follows.start_looking();
        Ok(())
    }

    /// Starts a loop, once its parent is known to be one of its folder.
    pub(super) fn start_loop(&mut self, to: ReplyTo, start: Start) -> Result<(), ProtocolError> {
        let (folder, parent) = start.place();
        let Some(parent) = parent else {
            self.begin_loop(to, start);
            return Ok(());
        };
        let (store, meant) = (self.router.stores.of(Some(&folder))?, Workspaces::Named(folder));
        let (pending, of) = (self.router.replies.pending(to, &self.router.hosts), parent.clone());
        store.submit(
            move |store| store::of_workspace(store, &of, &meant),
            move |done| match done {
                Ok(()) => {
                    let what = HostEventKind::ParentFound(to, Box::new(start));
                    pending.send(HostEvent { session: parent, what });
                }
                Err(error) => pending.answer(Err(stores::error(&error))),
            },
        );
        Ok(())
    }

    /// Begins a loop.
    pub fn begin_loop(&mut self, to: ReplyTo, start: Start) {
        self.router.answer(to, to_json(&start.answer()));
        let steps = self.router.loops.start(start);
        self.router.run_loop(steps);
    }

    /// Lists the tasks of a session.
    pub(super) fn list_tasks(&mut self, to: ReplyTo, params: &TaskListParams) -> Result<(), ProtocolError> {
        let parent = given_id(&params.session_id)?;
        let folder = given_folder(&params.workspace_folder)?;
        self.router.stores.know(&folder);
        let store = self.router.stores.of(Some(&folder))?;
        let (pending, of) = (self.router.replies.pending(to, &self.router.hosts), parent.clone());
        store.submit(
            move |store| {
                store::of_workspace(store, &of, &Workspaces::Named(folder))?;
                store.tasks(&of)
            },
            move |tasks| {
                let tasks = tasks.map(|tasks| tasks.into_iter().map(tasks::shown).collect());
                let tasks = tasks.map_err(|error| stores::error(&error));
                pending.answer(tasks.and_then(|tasks| to_json(&TaskListResult { tasks })));
            },
        );
        self.router.tasks.watch_parent(parent);
        self.router.follows.start_looking();
        Ok(())
    }
}
