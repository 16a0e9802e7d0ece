//! Handlers of requests, by subject: [`crate::server::requests`] turns parameters into commands, queries and
//! jobs, which are handed on here.

mod models;
mod stored;
mod tasks;
mod worktrees;

use super::Router;
use super::servers::ServerHandler;
use crate::convert::{self, Reading};
use crate::server::folder::{given_folder, spelled};
use crate::server::given::{given_id, new_id};
use crate::server::host::queued::{New, Opens, Queued};
use crate::server::host::{Shared, new_head};
use crate::server::inbox::HistoryFound;
use crate::server::requests::{
    self, Ask, Looping, Modelling, Serving, Session, Sharing, Shell, Tasking, Transfer, context, editing,
    render,
};
use crate::server::services::loops::Start;
use crate::server::services::shared::{Place, Then};
use crate::server::services::trajectories::FileEvent;
use crate::server::services::{diagnostics, transfer};
use crate::server::settings::{Layer, check_servers};
use crate::server::stores;
use crate::server::wire::answer::Form;
use crate::server::wire::decided::{self, ApprovalsChange};
use crate::server::wire::{refused, to_json};
use ::session::input::{Command, Input, ReplyTo, Restore};
use ::session::stored::{Driver, TurnStatus};
use engine::id::SessionId;
use engine::tokens::TokenCount;
use protocol::error::ProtocolError;
use protocol::prompt::PromptRenderParams;
use protocol::restore::Diagnostic;
use protocol::scope::{ToolApprovalsParams, ToolApprovalsResult};
use protocol::session::SessionOpenParams;
use protocol::settings::{GivenSettings, Settings};
use protocol::stages::LoopStopResult;
use protocol::transfer::{ExportFormat, SessionImportParams, TrajectoryListParams};
use std::collections::BTreeMap;
use store::error::StoreError;

/// The handlers of requests.
pub(super) struct RequestHandler<'a> {
    pub router: &'a mut Router,
}

impl RequestHandler<'_> {
    /// Carries out a request, or begins to.
    pub fn ask(&mut self, to: ReplyTo, ask: Ask) -> Result<(), ProtocolError> {
        match ask {
            Ask::Session(ask) => return self.ask_session(to, ask),
            Ask::Edit(ask) => {
                let (session, command, form) = editing::command(ask)?;
                self.router.replies.set_form(to, form);
                self.command(to, &session, command)?;
            }
            Ask::Context(ask) => {
                let (session, command, progress) = context::command(ask)?;
                self.router.replies.set_progress(to, progress);
                self.command(to, &session, command)?;
            }
            Ask::Sharing(ask) => return self.ask_sharing(to, ask),
            Ask::Modelling(Modelling::Key(params)) => return models::set_key(self.router, to, params),
            Ask::Modelling(Modelling::Check(params)) => return models::check(self.router, to, &params),
            Ask::Modelling(Modelling::List(params)) => return models::list(self.router, to, &params),
            Ask::Serving(Serving::List(params)) => {
                return ServerHandler { router: self.router }.list(to, &params);
            }
            Ask::Serving(Serving::Contents(params)) => {
                return ServerHandler { router: self.router }.contents(to, &params);
            }
            Ask::Serving(Serving::Content(params)) => {
                return ServerHandler { router: self.router }.content(to, params);
            }
            Ask::Serving(Serving::Allow(params)) => {
                return ServerHandler { router: self.router }.allow(to, params);
            }
            Ask::Remembering(ask) => {
                let at = (&mut self.router.stores, &mut self.router.replies);
                return self.router.shared.ask_memories(at, to, ask);
            }
            Ask::Transfer(Transfer::Import(params)) => return self.import(to, params),
            Ask::Transfer(Transfer::Export(params)) => {
                let format = transfer::export_format(params.format)?;
                self.router.hand(&given_id(&params.session_id)?, Queued::Export(to, format));
            }
            Ask::Transfer(Transfer::Trajectories(params)) => return self.list_trajectories(to, params),
            Ask::Looping(Looping::Start(params)) => {
                let home = self.router.stores.home().to_owned();
                let start = Start::read(params, |given| self.checked(to, given, &home))?;
                return self.start_loop(to, start);
            }
            Ask::Looping(Looping::Stop(params)) => {
                let steps = self.router.loops.stop(params.loop_id)?;
                self.router.run_loop(steps);
                self.router.answer(to, to_json(&LoopStopResult {}));
            }
            Ask::Shell(Shell::Effects(params)) => {
                self.router.answer(to, to_json(&convert::command_effects(&params)));
            }
            Ask::Shell(Shell::Snapshot(params)) => return worktrees::snapshot(self.router, to, &params),
            Ask::Shell(Shell::Changes(params)) => return worktrees::changes(self.router, to, params),
            Ask::Tasking(Tasking::Start(params)) => return self.start_task(to, params),
            Ask::Tasking(Tasking::List(params)) => return self.list_tasks(to, &params),
        }
        Ok(())
    }

    fn ask_session(&mut self, to: ReplyTo, ask: Session) -> Result<(), ProtocolError> {
        match ask {
            Session::Open(params) => self.open_session(to, params),
            Session::List(params) => self.list(to, &params),
            Session::Search(params) => self.search_sessions(to, &params),
            Session::Messages(params) => self.messages(to, &params),
            Session::Ledger(params) => self.ledger(to, &params),
            Session::History(params) => self.history(to, &params),
            Session::Restore(params) => self.revert(to, params),
            Session::Subscribe(params) => {
                let since = params.stream.zip(params.since_seq);
                let newest = params.snapshot_messages;
                self.command(to, &params.session_id, Command::Subscribe { since, newest })
            }
            Session::TakeOver(params) => {
                let folder = params.workspace_folder.as_deref().map(given_folder).transpose()?;
                if let Some(folder) = &folder {
                    self.router.enter_folder(folder);
                    self.router.stores.enter(folder);
                }
                self.hand_to(&params.session_id, Queued::TakeOver(to, folder))
            }
            Session::Close(params) => self.hand_to(&params.session_id, Queued::Close(to)),
            Session::Delete(params) => self.hand_to(&params.session_id, Queued::Delete(to)),
            Session::Configure(params) => {
                let id = params.session_id.clone();
                self.hand_to(&id, Queued::Configure(to, Box::new(params)))
            }
            Session::StartTurn(params) => {
                let session = params.session_id.clone();
                let start = requests::session::start_turn(params)?;
                self.router.replies.set_form(to, Form::Turn);
                self.command(to, &session, Command::StartTurn(Box::new(start)))
            }
            // The named turn is compared once the session is open.
            Session::EndTurn(params) => {
                self.router.replies.set_turn(to, params.turn_id);
                let status = params.status.map_or(TurnStatus::Completed, TurnStatus::from);
                self.command(to, &params.session_id, Command::EndTurn(status))
            }
            Session::AppendRound(params) => {
                self.router.replies.set_turn(to, params.turn_id);
                let round =
                    Reading::new().field("round", |reading| convert::round(reading, &params.round))?;
                self.command(to, &params.session_id, Command::AppendRound(round))
            }
            Session::Render(params) => self.render(to, params),
            Session::Decide(params) => {
                let decisions = decided::decisions(&params.decisions)?;
                self.command(to, &params.session_id, Command::Decide(decisions))
            }
            Session::ToolResult(params) => {
                let session = params.session_id.clone();
                let result = Reading::new().late_result(&params)?;
                self.command(to, &session, Command::ToolResult(result))
            }
            Session::Diagnostics(_) => {
                let found = diagnostics::now(
                    &self.router.sessions,
                    &self.router.client,
                    &self.router.replies,
                    self.router.counter.name(),
                );
                let (stores, hosts) = (&self.router.stores, &self.router.hosts);
                diagnostics::answer(
                    (stores, &mut self.router.replies, &mut self.router.client),
                    hosts,
                    to,
                    found,
                );
                Ok(())
            }
        }
    }

    fn hand_to(&mut self, id: &str, item: Queued) -> Result<(), ProtocolError> {
        self.router.hand(&given_id(id)?, item);
        Ok(())
    }

    fn command(&mut self, to: ReplyTo, id: &str, command: Command) -> Result<(), ProtocolError> {
        self.hand_to(id, Queued::Command(to, Box::new(command)))
    }

    /// Parses settings for one session; unknown names are reported in the answer.
    pub fn given(
        &mut self,
        to: ReplyTo,
        given: Option<&GivenSettings>,
    ) -> Result<Option<Settings>, ProtocolError> {
        let Some((settings, unknown)) = given.map(Layer::given).transpose()? else { return Ok(None) };
        let unknown = unknown
            .iter()
            .map(|fault| Diagnostic { kind: "unknownSetting".to_owned(), message: fault.to_string() });
        self.router.replies.add_diagnostics(to, unknown);
        Ok(Some(settings))
    }

    /// The same for a session to be opened in this folder: fails on an unusable value before anything is
    /// stored.
    fn checked(
        &mut self,
        to: ReplyTo,
        given: Option<&GivenSettings>,
        folder: &str,
    ) -> Result<Option<Settings>, ProtocolError> {
        let settings = self.given(to, given)?;
        self.router.config.effective(folder, &settings.clone().unwrap_or_default())?;
        Ok(settings)
    }

    fn open_session(&mut self, to: ReplyTo, params: SessionOpenParams) -> Result<(), ProtocolError> {
        let id = params.session_id.as_deref().map_or_else(|| Ok(new_id()), given_id)?;
        let folder = given_folder(&params.workspace_folder)?;
        self.router.enter_folder(&folder);
        self.router.stores.enter(&folder);
        let settings = self.checked(to, params.settings.as_ref(), &folder)?;
        let servers = params.mcp_servers.clone();
        check_servers(servers.as_ref().unwrap_or(&BTreeMap::new()))?;
        let opens = requests::session::open(params, folder, settings)?;
        if servers.is_some() || !self.router.sessions.has(&id) {
            self.router.servers.set_given(&id, servers.unwrap_or_default());
        }
        self.router.hand(&id, Queued::Open(to, Box::new(opens)));
        Ok(())
    }

    /// Renders in the named session, else in the one that has the history, else in one that exists for this
    /// answer only.
    fn render(&mut self, to: ReplyTo, mut params: PromptRenderParams) -> Result<(), ProtocolError> {
        self.router.replies.set_progress(to, params.work_done_token.take());
        params.workspace_folder = params.workspace_folder.as_deref().map(given_folder).transpose()?;
        if let Some(folder) = &params.workspace_folder {
            self.router.enter_folder(folder);
        }
        if let Some(id) = &params.session_id {
            let id = given_id(id)?;
            let folder = params.workspace_folder.clone();
            if let (Some(named), Some(known)) = (&folder, self.router.sessions.folder(&id))
                && named != known
            {
                return Err(stores::error(&StoreError::OtherWorkspace { session: id }));
            }
            let begins = params.history.is_some() || params.input.is_some();
            let command = Command::Render(Box::new(render::render(params)?));
            let item = if begins {
                let new = New { driver: Driver::Editor, ..New::default() };
                let opens = Opens { command, folder, new, settings: None, follow: false };
                Queued::Open(to, Box::new(opens))
            } else {
                Queued::Command(to, Box::new(command))
            };
            self.router.hand(&id, item);
            return Ok(());
        }
        if params.history.is_none() && params.input.is_none() {
            let reason = "is missing; give it, or a history or an input";
            return Err(ProtocolError::invalid("sessionId", reason));
        }
        let turns = params.history.iter().flatten();
        let ids: Vec<String> = turns.filter_map(|turn| turn.external_id.clone()).collect();
        if ids.is_empty() {
            return self.render_once(to, params);
        }
        let folder = params.workspace_folder.clone();
        let store = self.router.stores.of(folder.as_deref())?;
        let workspace = folder.unwrap_or_else(|| self.router.stores.home().to_owned());
        let pending = self.router.replies.pending(to, &self.router.found);
        store.submit(
            move |store| store.find(&ids, &workspace),
            move |found| pending.send(HistoryFound { to, params, found }),
        );
        Ok(())
    }

    /// Renders the prompt of a history that is not kept.
    fn render_once(&mut self, to: ReplyTo, params: PromptRenderParams) -> Result<(), ProtocolError> {
        let id = new_id();
        let new = New { driver: Driver::Editor, ..New::default() };
        let head =
            new_head(&id, params.workspace_folder.as_deref().unwrap_or(self.router.stores.home()), new);
        let render = render::render(params)?;
        self.router.begin(head, None, None, Shared::default(), None)?;
        self.router.hand(&id, Queued::Command(to, Box::new(Command::Render(Box::new(render)))));
        Ok(())
    }

    /// Handles a store's search for the session of a history.
    pub fn history_found(&mut self, HistoryFound { to, mut params, found }: HistoryFound) {
        if !self.router.replies.is_waiting(to) {
            return;
        }
        let done = match found {
            Ok(Some(id)) => {
                params.session_id = Some(id.as_str().to_owned());
                let folder = params.workspace_folder.as_deref().unwrap_or(self.router.stores.home());
                let name = self.router.stores.name(folder);
                self.router.stores.remember(&id, name);
                render::render(params).map(|render| {
                    let command = Command::Render(Box::new(render));
                    self.router.hand(&id, Queued::Command(to, Box::new(command)));
                })
            }
            Ok(None) => self.render_once(to, params),
            // The request has the whole history: a failing store does not prevent the prompt.
            Err(error) => {
                self.router.client.log(format!("the session could not be looked up in the store: {error}"));
                self.render_once(to, params)
            }
        };
        if let Err(error) = done {
            self.router.answer(to, Err(error));
        }
    }

    fn ask_sharing(&mut self, to: ReplyTo, ask: Sharing) -> Result<(), ProtocolError> {
        match ask {
            Sharing::GetScope(params) => {
                let place = self.place(params.session_id, params.work_scope, params.workspace_folder)?;
                self.router.shared.scope(
                    (&mut self.router.stores, &mut self.router.replies),
                    place,
                    None,
                    Then::Answer(to),
                )
            }
            Sharing::PutScope(params) => {
                let patch = (convert::scope_patch(&params), params.if_revision);
                let place = self.place(params.session_id, params.work_scope, params.workspace_folder)?;
                let at = (&mut self.router.stores, &mut self.router.replies);
                self.router.shared.scope(at, place, Some(patch), Then::Answer(to))
            }
            Sharing::Approvals(params) => self.change_approvals(to, &params),
        }
    }

    /// Changes and lists the standing approvals of a session, which must be open here, or of a folder.
    fn change_approvals(&mut self, to: ReplyTo, params: &ToolApprovalsParams) -> Result<(), ProtocolError> {
        let ApprovalsChange { added, revoked } = decided::approvals(params)?;
        if let Some(id) = &params.session_id {
            let id = given_id(id)?;
            self.router.run_input(&id, Input::SessionApprovals { added, revoked });
            let host = self.router.sessions.host(&id).ok_or_else(|| refused::not_open(&id))?;
            let decisions = host.session().session_approvals().iter().map(convert::standing).collect();
            self.router.answer(to, to_json(&ToolApprovalsResult { decisions }));
            return Ok(());
        }
        let folder = params.workspace_folder.as_deref();
        let workspace = folder.map_or_else(|| self.router.stores.home().to_owned(), spelled);
        let at = (&mut self.router.stores, &mut self.router.replies);
        self.router.shared.change_approvals(at, workspace, Some(to), move |store, workspace| {
            revoked.iter().try_for_each(|always| store.revoke(workspace, always))?;
            added.iter().try_for_each(|always| store.approve(workspace, always))
        })
    }

    /// The scope of a session, which must be open here, or the one of this name.
    fn place(
        &self,
        session: Option<String>,
        name: Option<String>,
        folder: Option<String>,
    ) -> Result<Place, ProtocolError> {
        if let Some(id) = session {
            let id = given_id(&id)?;
            let host = self.router.sessions.host(&id).ok_or_else(|| refused::not_open(&id))?;
            return Ok(Place::of(host.session().head()));
        }
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            let reason = "is missing; give it or a sessionId";
            return Err(ProtocolError::invalid("workScope", reason));
        };
        let workspace = folder.as_deref().map(given_folder).transpose()?;
        let workspace = workspace.unwrap_or_else(|| self.router.stores.home().to_owned());
        Ok(Place { workspace, name })
    }

    /// Imports a conversation as a session, once it is read.
    fn import(&mut self, to: ReplyTo, mut params: SessionImportParams) -> Result<(), ProtocolError> {
        self.enter_for_import(&mut params)?;
        let source = match transfer::source(&mut params)? {
            transfer::Source::Given(data) => {
                let restored = transfer::restore(&params, data.as_bytes());
                return self.restore(to, params, restored);
            }
            source => source,
        };
        let counter = self.router.counter.clone();
        let pending = self.router.trajectories.pending(&mut self.router.replies, to);
        self.router.trajectories.run(&mut self.router.client, move || {
            let restored = transfer::read(source, &params, &counter.ahead());
            pending.send(FileEvent::Read(to, Box::new(params), Box::new(restored)));
        });
        Ok(())
    }

    fn enter_for_import(&mut self, params: &mut SessionImportParams) -> Result<(), ProtocolError> {
        params.workspace_folder = given_folder(&params.workspace_folder)?;
        self.router.enter_folder(&params.workspace_folder);
        self.router.stores.enter(&params.workspace_folder);
        Ok(())
    }

    /// Handles a large conversation that came with its request and was read.
    pub fn import_read(
        &mut self,
        to: ReplyTo,
        mut params: SessionImportParams,
        restored: Result<(Restore, Form), ProtocolError>,
    ) -> Result<(), ProtocolError> {
        self.enter_for_import(&mut params)?;
        self.restore(to, params, restored)
    }

    /// Handles the conversation of a file to import.
    pub fn file_read(
        &mut self,
        to: ReplyTo,
        params: SessionImportParams,
        restored: Result<(Restore, Form), ProtocolError>,
    ) {
        if !self.router.replies.is_waiting(to) {
            return;
        }
        if let Err(error) = self.restore(to, params, restored) {
            self.router.answer(to, Err(error));
        }
    }

    /// Creates a session from what was read.
    fn restore(
        &mut self,
        to: ReplyTo,
        params: SessionImportParams,
        restored: Result<(Restore, Form), ProtocolError>,
    ) -> Result<(), ProtocolError> {
        let id = params.session_id.as_deref().map_or_else(|| Ok(new_id()), given_id)?;
        let (restore, form) = restored?;
        self.router.replies.set_form(to, form);
        let command = Command::Restore(Box::new(restore));
        let folder = Some(params.workspace_folder);
        let opens = Opens { command, folder, new: New::default(), settings: None, follow: false };
        // Followers get a snapshot: a long conversation would be thousands of events.
        self.router.client.owe_snapshot(&id);
        self.router.hand(&id, Queued::Open(to, Box::new(opens)));
        Ok(())
    }

    /// Exports an open session as a file's content, outside of the router.
    pub fn export(&mut self, to: ReplyTo, id: &SessionId, format: ExportFormat) {
        let Some(host) = self.router.sessions.host(id) else { return };
        let export = transfer::export(host.session(), format);
        let pending = self.router.trajectories.pending(&mut self.router.replies, to);
        self.router.trajectories.run(&mut self.router.client, move || pending.answer(export()));
    }

    fn list_trajectories(&mut self, to: ReplyTo, params: TrajectoryListParams) -> Result<(), ProtocolError> {
        let workspace = params.workspace_folder.as_deref().map(given_folder).transpose()?;
        let workspace = workspace.unwrap_or_else(|| self.router.stores.home().to_owned());
        let limit = transfer::limit(params.limit)?;
        let folder = transfer::folder(&workspace)?;
        // Before they are read: later changes are reported.
        self.router.trajectories.follow(&mut self.router.client, &workspace);
        let pending = self.router.trajectories.pending(&mut self.router.replies, to);
        self.router.trajectories.run(&mut self.router.client, move || {
            let page = transfer::page(&folder, &workspace, params.cursor.as_deref(), limit);
            let page = page.map_err(|error| ProtocolError::invalid("workspaceFolder", error.to_string()));
            pending.answer(page.and_then(|page| to_json(&page)));
        });
        Ok(())
    }
}
