//! Requests that the store answers alone: the list of sessions and a search over them, messages, revisions and the
//! ledger of a session, open or not, and the revision that a session restores.

use super::RequestHandler;
use crate::server::folder::given_folder;
use crate::server::given::given_id;
use crate::server::host::{HostEvent, HostEventKind};
use crate::server::requests;
use crate::server::stores;
use crate::server::wire::{Json, answer, ledger, listed, refused, to_json};
use ::session::input::{Command, ReplyTo};
use ::session::stored::{Head, Origin};
use engine::id::{Ordinal, SessionId};
use protocol::edit::{SessionHistoryParams, SessionRestoreParams};
use protocol::error::ProtocolError;
use protocol::ledger::SessionLedgerParams;
use protocol::session::search::SessionSearchParams;
use protocol::session::{SessionListParams, SessionMessagesParams};
use store::error::StoreError;
use store::worker::Handle;
use store::{Store, Workspaces, session_search};

impl RequestHandler<'_> {
    /// Lists sessions, and reports changes of the list from now on.
    pub(super) fn list(&mut self, to: ReplyTo, params: &SessionListParams) -> Result<(), ProtocolError> {
        let query = requests::session::list(params)?;
        let folder = query.workspace.clone();
        self.of_folder(to, folder.as_deref(), move |store| store.list(&query), |page| answer::page(&page))?;
        // Behind the list itself: later changes are reported.
        let name = self.router.stores.name(folder.as_deref().unwrap_or(self.router.stores.home()));
        let (follows, mut context) = self.router.following();
        follows.watch_list(&mut context, &name);
        Ok(())
    }

    /// Searches the sessions of a folder.
    pub(super) fn search_sessions(
        &mut self,
        to: ReplyTo,
        params: &SessionSearchParams,
    ) -> Result<(), ProtocolError> {
        let query = requests::session::search(params)?;
        let folder = query.workspace.clone();
        let read = move |store: &mut dyn Store| session_search::search(store, &query);
        self.of_folder(to, folder.as_deref(), read, |page| to_json(&listed::found(page)))
    }

    /// Reads from the store of a folder, or of the client's first one, behind all writes on their way.
    fn of_folder<T: 'static>(
        &mut self,
        to: ReplyTo,
        folder: Option<&str>,
        read: impl FnOnce(&mut dyn Store) -> Result<T, StoreError> + Send + 'static,
        answer: fn(T) -> Result<Json, ProtocolError>,
    ) -> Result<(), ProtocolError> {
        if let Some(folder) = folder {
            self.router.stores.know(folder);
        }
        let store = self.router.stores.of(folder)?;
        let pending = self.router.replies.pending(to, &self.router.hosts);
        store.submit(read, move |done| {
            pending.answer(done.map_err(|error| stores::error(&error)).and_then(answer));
        });
        Ok(())
    }

    /// Returns a page of a session's messages.
    pub(super) fn messages(
        &mut self,
        to: ReplyTo,
        params: &SessionMessagesParams,
    ) -> Result<(), ProtocolError> {
        let id = given_id(&params.session_id)?;
        let (before, limit) = (params.before.map(Ordinal), requests::session::limit(params.limit)?);
        let read = move |store: &mut dyn Store, id: &SessionId| store.messages(id, before, limit);
        self.page(to, id, params.workspace_folder.as_deref(), read, answer::messages)
    }

    /// Returns a page of a session's revisions.
    pub(super) fn history(
        &mut self,
        to: ReplyTo,
        params: &SessionHistoryParams,
    ) -> Result<(), ProtocolError> {
        let id = given_id(&params.session_id)?;
        let (before, limit) = requests::session::history(params)?;
        let read = move |store: &mut dyn Store, id: &SessionId| store.revisions(id, before, limit);
        self.page(to, id, params.workspace_folder.as_deref(), read, answer::history)
    }

    /// Returns a page of what the tools did in a session.
    pub(super) fn ledger(&mut self, to: ReplyTo, params: &SessionLedgerParams) -> Result<(), ProtocolError> {
        let id = given_id(&params.session_id)?;
        let query = ledger::query(params)?;
        // Kinds of tools are settings, and the answer is made on the store's thread: a long session takes a while.
        let layers = self.router.config.layers().clone();
        let read = move |store: &mut dyn Store, id: &SessionId| Ok((store.load(id)?, layers, query));
        self.page(to, id, params.workspace_folder.as_deref(), read, ledger::of_session)
    }

    /// Reads a page from the store of a session, behind all writes on their way, whether the session is open or not.
    fn page<T: 'static>(
        &mut self,
        to: ReplyTo,
        id: SessionId,
        folder: Option<&str>,
        read: impl FnOnce(&mut dyn Store, &SessionId) -> Result<T, StoreError> + Send + 'static,
        answer: fn(&SessionId, T) -> Result<Json, ProtocolError>,
    ) -> Result<(), ProtocolError> {
        let folder = folder.map(given_folder).transpose()?;
        let meant = self.meant(&id, folder.as_deref());
        let store = self.store_of(&id, folder.as_deref())?;
        let pending = self.router.replies.pending(to, &self.router.hosts);
        store.submit(
            move |store| {
                store::of_workspace(store, &id, &meant)?;
                Ok((read(store, &id)?, id))
            },
            move |done| {
                let done = done.map_err(|error| stores::error(&error));
                pending.answer(done.and_then(|(page, id)| answer(&id, page)));
            },
        );
        Ok(())
    }

    /// Loads a revision of an open session, behind all writes on their way; the session then restores it.
    pub(super) fn revert(&mut self, to: ReplyTo, params: SessionRestoreParams) -> Result<(), ProtocolError> {
        let (id, revision) = (given_id(&params.session_id)?, given_id(&params.revision_id)?);
        let (store, meant, of) = (self.store_of(&id, None)?, self.meant(&id, None), id.clone());
        let pending = self.router.replies.pending(to, &self.router.hosts);
        store.submit(
            move |store| {
                store::of_workspace(store, &of, &meant)?;
                Ok((store.load(&revision)?, revision))
            },
            move |done| {
                let is_its = |Head { origin, parent, .. }: &Head| {
                    *origin == Origin::Revision && parent.as_ref() == Some(&id)
                };
                let found = match done {
                    Ok((Some(stored), revision)) if is_its(&stored.head) => {
                        match stored.unreadable.as_slice() {
                            [] => Ok(stored),
                            rows => Err(refused::damaged_revision(&revision, rows)),
                        }
                    }
                    Ok((_, revision)) => Err(refused::unknown_revision(&id, &revision)),
                    Err(error) => Err(stores::error(&error)),
                };
                match found {
                    Ok(stored) => {
                        let command = Command::Revert { to: Box::new(stored), key: params.idempotency_key };
                        let what = HostEventKind::RevisionLoaded(to, Box::new(command));
                        pending.send(HostEvent { session: id, what });
                    }
                    Err(error) => pending.answer(Err(error)),
                }
            },
        );
        Ok(())
    }

    /// The folders that a request about this session may mean; any folder for one that is open here.
    fn meant(&self, id: &SessionId, named: Option<&str>) -> Workspaces {
        let open = self.router.sessions.folder(id);
        self.router.stores.meant(named.or(open))
    }

    /// The store of a session, open or not, in this folder if one is named.
    fn store_of(&mut self, id: &SessionId, folder: Option<&str>) -> Result<Handle, ProtocolError> {
        let is_meant = folder.is_none() || folder == self.router.sessions.folder(id);
        let host = self.router.sessions.host(id).filter(|_| is_meant);
        if let Some(store) = host.and_then(|host| host.store().cloned()) {
            return Ok(store);
        }
        let name = folder.map(str::to_owned).or_else(|| self.router.stores.candidates(id).into_iter().next());
        self.router.stores.of(name.as_deref())
    }
}
