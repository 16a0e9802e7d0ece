//! Opening and closing of sessions: one is opened for its first request, followed if another process writes
//! it, and closed when nothing needs it; requests that wait for it are answered. Also the end of the process.

use super::Router;
use crate::server::client::replies::NOBODY;
use crate::server::config::Changes;
use crate::server::host::queued::{New, Opens, Queued};
use crate::server::host::{
    Confirmed, DeletionOutcome, Kept, Loaded, Opened, Opening, SessionHost, Shared, delete, new_head,
};
use crate::server::inbox::Event;
use crate::server::services::{trajectories::Changed, transfer};
use crate::server::stores;
use crate::server::wire::{listed, notice, refused, to_value};
use engine::id::SessionId;
use engine::tokens::TokenCount;
use protocol::error::{ErrorData, ProtocolError};
use protocol::event::SessionsChangedParams;
use protocol::settings::Settings;
use session::Opening as Begin;
use session::input::{Command, Input, Open, ReplyTo};
use session::stored::Head;
use std::collections::{BTreeSet, VecDeque};
use store::error::StoreError;
use store::worker::Handle;
use store::{Deleted, Fence};
use tokio::sync::oneshot;
use uuid::Uuid;

impl Router {
    /// Asks a store for a session. If that fails, waiting requests are answered.
    pub(super) fn open(&mut self, id: &SessionId, opening: Opening) {
        if let Some(name) = opening.next_store(id, &self.stores) {
            self.ask_store(id, opening, name);
        }
    }

    fn ask_store(&mut self, id: &SessionId, mut opening: Opening, name: String) {
        let is_whole = self.sessions.opens_whole(id);
        match opening.ask(id, &mut self.stores, name, is_whole, self.hosts.clone()) {
            Ok(()) => self.sessions.insert_opening(id, opening),
            Err(error) => self.answer_all(id, opening.into_queue(), &error),
        }
    }

    /// Answers all items with this error, and ends the loop whose stage the session is.
    fn answer_all(&mut self, id: &SessionId, queue: VecDeque<Queued>, error: &ProtocolError) {
        for item in queue {
            match item {
                // The task keeps waiting, and is tried again.
                Queued::Task => tracing::debug!(session = %id, %error, "a task cannot be begun"),
                item => self.answer(item.to(), Err(error.clone())),
            }
        }
        self.fail_stage(id);
    }

    /// Handles a store's answer to an opening.
    pub(super) fn loaded(&mut self, id: &SessionId, loaded: Result<Loaded, StoreError>) {
        self.at_work = Some(id.clone());
        self.is_handing_over = true;
        self.open_loaded(id, loaded);
        self.is_handing_over = false;
        if self.ending.is_some() {
            self.run_input(id, Input::Ending);
            self.end_if_saved();
        }
    }

    /// Opens a loaded session, and runs the items that wait for it.
    fn open_loaded(&mut self, id: &SessionId, loaded: Result<Loaded, StoreError>) {
        let Some(mut opening) = self.sessions.take_opening(id) else { return };
        let Loaded { fence, stored, shared } = match loaded {
            Ok(loaded) => loaded,
            Err(error @ StoreError::Held { .. }) => return self.held(id, opening, &error),
            Err(error) => return self.answer_all(id, opening.into_queue(), &stores::error(&error)),
        };
        let Some(store) = opening.take_store() else { return };
        let (released, owner) = (id.clone(), store.clone());
        let release = move || owner.submit(move |store| store.release(&released, fence), |_| ());
        if opening.is_unwanted() {
            return release();
        }
        // Not in this store: another one may have it, and the lease that was taken here is released.
        if stored.is_none()
            && let Some(next) = opening.next_store(id, &self.stores)
        {
            release();
            return self.ask_store(id, opening, next);
        }
        let folder = opening.folder().unwrap_or(self.stores.home()).to_owned();
        let Opened { queue, behind, new, settings, store: name } = opening.into_opened();
        let is_new = stored.is_none();
        let head = match (&stored, new) {
            (Some(kept), _) => Ok(kept.head().clone()),
            (None, Some(new)) => Ok(new_head(id, &folder, new)),
            (None, None) => Err(refused::unknown_session(
                id,
                format!(
                    "unknown session \"{id}\"; open one with session/open, with the editor's history if there is one"
                ),
            )),
        };
        let begun = head.and_then(|head| self.begin(head, stored, settings, shared, Some((store, fence))));
        if let Err(error) = begun {
            release();
            self.answer_all(id, queue, &error);
            return behind.into_iter().for_each(|item| self.hand(id, item));
        }
        if let Some(name) = name {
            self.stores.remember(id, name);
        }
        self.resume_followed(id);
        self.read_instructions(id);
        queue.into_iter().for_each(|item| self.hand(id, item));
        if is_new && let Some(host) = self.sessions.host(id) {
            let created = vec![listed::summary(host.session())];
            let changed = SessionsChangedParams { created, ..SessionsChangedParams::default() };
            self.client.sessions_changed(changed);
        }
        // Items behind a close find a session that is leaving: they wait for its end and then open it again.
        behind.into_iter().for_each(|item| self.hand(id, item));
    }

    /// Handles a session that another process writes: requests that only read follow it, others are refused.
    fn held(&mut self, id: &SessionId, opening: Opening, error: &StoreError) {
        let refusal = stores::error(error);
        let Some(name) = opening.asked_last().cloned() else {
            return self.answer_all(id, opening.into_queue(), &refusal);
        };
        let (follows, mut context) = self.following();
        let again = follows.held(&mut context, id, &name, opening.into_queue(), &refusal);
        again.into_iter().for_each(|item| self.hand(id, item));
    }

    /// Goes on with a followed session whose lease is now ours: ends what its last process left open, and
    /// sends the client a snapshot, in a new stream.
    fn resume_followed(&mut self, id: &SessionId) {
        let (follows, mut context) = self.following();
        if follows.stop(&mut context, id) {
            self.client.owe_snapshot(id);
            self.run_input(id, Input::Command(NOBODY, Command::Open(Box::<Open>::default())));
        }
    }

    pub(super) fn settings_changed(&mut self, changes: Changes) {
        for (id, settings) in changes {
            let Some(host) = self.sessions.host_mut(&id) else { continue };
            if host.defer_settings() {
                continue;
            }
            let was_trusted = host.session().settings().is_trusted;
            let is_trusted = settings.is_trusted;
            self.run_input(&id, Input::Settings(Box::new(settings)));
            if is_trusted != was_trusted {
                self.read_instructions(&id);
            }
        }
    }

    pub(super) fn read_instructions(&mut self, id: &SessionId) {
        let Some(host) = self.sessions.host(id) else { return };
        let context = (&mut self.client, &*self.counter as &dyn TokenCount);
        let files = self.config.read_instructions(context, host.session());
        if !files.is_empty() {
            self.run_input(id, Input::Instructions(files));
        }
    }

    /// Opens a session in memory.
    pub(super) fn begin(
        &mut self,
        mut head: Head,
        stored: Option<Kept>,
        settings: Option<Settings>,
        Shared { scope, approvals, memories, agents }: Shared,
        store: Option<(Handle, Fence)>,
    ) -> Result<(), ProtocolError> {
        let is_given = settings.is_some();
        if let Some(settings) = settings {
            head.settings = to_value(&settings)?;
        }
        let session = (&head.id, head.workspace.as_str());
        let settings = self.config.effective_at_open(&mut self.client, session, &head.settings, is_given)?;
        let stream = Uuid::now_v7().simple().to_string();
        let begin = Begin { head, settings, stored: None, stream, scope, approvals, memories, agents };
        let host = SessionHost::open(begin, stored, store, self.counter.clone(), self.hosts.clone());
        if host.is_stored() {
            // Another process may take it over.
            self.follows.start_looking();
        }
        self.sessions.insert(host);
        Ok(())
    }

    /// Asks the first store to delete a session that is not open here.
    pub(super) fn delete_next(&mut self, id: &SessionId, to: ReplyTo, left: VecDeque<String>) {
        let context = (&mut self.stores, &mut self.replies);
        if let Err(error) = delete::next(context, &self.hosts, id, to, left) {
            self.answer(to, Err(error));
        }
    }

    /// Handles a store's answer to a deletion, reported only now: if it failed, the session stays open.
    pub(super) fn deleted(&mut self, id: &SessionId, DeletionOutcome { to, left, done }: DeletionOutcome) {
        self.at_work = Some(id.clone());
        let host = self.sessions.host_mut(id);
        let workspace = host.and_then(|host| {
            let workspace = host.session().head().workspace.clone();
            host.end_delete(to).then_some(workspace)
        });
        let is_open = workspace.is_some();
        let deleted = match (done, workspace) {
            (Ok(Some(deleted)), _) => deleted,
            // Nothing of it was stored yet, and now nothing will be.
            (Ok(None), Some(workspace)) => Deleted { workspace, scrubbed: true, ..Deleted::default() },
            (Ok(None), None) => return self.delete_next(id, to, left),
            (Err(error), _) => {
                self.answer(to, Err(stores::error(&error)));
                if let Some(host) = self.sessions.host_mut(id).filter(|_| is_open) {
                    let after = host.take_after();
                    self.pump(id);
                    after.into_iter().for_each(|item| self.hand(id, item));
                }
                return;
            }
        };
        let copies = deleted.copies.clone();
        let all = std::iter::once(id).chain(&copies);
        let changed = SessionsChangedParams {
            deleted: all.map(|id| id.as_str().to_owned()).collect(),
            ..SessionsChangedParams::default()
        };
        self.client.sessions_changed(changed);
        self.forget(id);
        self.trajectories.remove((&mut self.client, &mut self.replies), id, to, deleted);
        if is_open {
            self.drop_deleted(id);
        }
        for copy in copies {
            self.forget(&copy);
            self.drop_deleted(&copy);
        }
    }

    /// Stops following a deleted session.
    fn forget(&mut self, id: &SessionId) {
        let (follows, mut context) = self.following();
        follows.forget(&mut context, id);
    }

    /// Closes a session that no store has any more.
    fn drop_deleted(&mut self, id: &SessionId) {
        let Some(host) = self.sessions.host_mut(id) else { return };
        host.forget_stored();
        self.close_with_error(
            id,
            &refused::unknown_session(id, format!("session \"{id}\" was deleted; nothing of it is left")),
        );
    }

    /// Makes another session of a file that diverged from its session.
    pub(super) fn fork_diverged(&mut self, id: &SessionId, changed: &Changed) {
        let Some(host) = self.sessions.host(id) else { return };
        let head = host.session().head();
        let (folder, driver) = (Some(head.workspace.clone()), head.driver);
        let root: String = id.as_str().chars().take(80).collect();
        let other = SessionId::new(format!("{root}-outside-{:.8}", changed.hash));
        self.client.warn(format!(
            "session \"{id}\" and its file diverged; the session is unchanged and session \"{other}\" has the \
             content of the file"
        ));
        let command = Command::Restore(Box::new(transfer::restore_of(changed.theirs.clone(), None)));
        let new = New { driver, parent: Some(id.clone()), ..New::default() };
        let opens = Opens { command, folder, new, settings: None, follow: false };
        self.hand(&other, Queued::Open(NOBODY, Box::new(opens)));
        self.hand(&other, Queued::Close(NOBODY));
    }

    /// Closes a session whose machine panicked. What it acknowledged is stored, and it can be opened again.
    pub(super) fn close_panicked(&mut self, id: &SessionId) {
        tracing::error!(session = %id, "a panic ended this session; it can be opened again");
        if let Some(host) = self.sessions.host(id) {
            let notification = notice::of_broken(host.session());
            self.notify(notification);
        }
        self.fail_stage(id);
        self.client.log(format!(
            "internal error in session \"{id}\"; it was closed and acknowledged changes are stored; open it again"
        ));
        self.close_with_error(id, &refused::defect());
    }

    /// Ends the loop whose stage this session is, and answers the call that was starting it as an agent.
    pub(super) fn fail_stage(&mut self, id: &SessionId) {
        self.delegation().stored(id, Some("its session could not be opened".to_owned()));
        let steps = self.loops.session_broke(id);
        self.run_loop(steps);
    }

    /// Handles a lost lease: running work is stopped, waiting requests get the holder, and the session is
    /// followed from now on.
    pub(super) fn lost(&mut self, id: &SessionId, error: &StoreError) {
        tracing::warn!(session = %id, %error, "the session was taken over");
        let refusal = stores::error(error);
        let is_task = self.tasks.is_only_task(id);
        let Some(host) = self.sessions.host_mut(id) else { return };
        let is_shown = !host.is_leaving() && !is_task && self.ending.is_none();
        host.lose(&mut self.client, refusal.clone());
        self.fail_stage(id);
        self.close_with_error(id, &refusal);
        if is_shown
            && !self.sessions.has(id)
            && let Some(store) = self.stores.had(id).map(str::to_owned)
        {
            self.client.owe_snapshot(id);
            let (follows, mut context) = self.following();
            follows.follow_lost(&mut context, id, &store, refusal);
        }
        self.end_if_saved();
    }

    /// Handles a lease that was lost while nothing was written.
    pub(super) fn lost_while_idle(&mut self, id: &SessionId, fence: Fence, error: &StoreError) {
        // A write in progress is refused by the store, with the same effect.
        let is_idle = |host: &SessionHost| host.is_open_under(fence) && !host.is_writing();
        if self.sessions.host(id).is_some_and(is_idle) {
            self.lost(id, error);
        }
    }

    /// Handles a store's check of the lease, before a takeover.
    pub(super) fn confirmed(&mut self, id: &SessionId, confirmed: Confirmed) {
        let Confirmed { fence, to, folder, done } = confirmed;
        let Some(host) = self.sessions.host_mut(id) else {
            return self.hand(id, Queued::TakeOver(to, folder));
        };
        match done {
            // While it closes, it still answers what was asked before its end.
            Ok(()) if host.is_here_under(fence) => self.answer_takeover(id, to),
            Err(error @ StoreError::FenceLost { .. }) if host.is_open_under(fence) => {
                host.push_after(Queued::TakeOver(to, folder));
                self.lost_while_idle(id, fence, &error);
            }
            Err(error) if host.is_open_under(fence) => self.answer(to, Err(stores::error(&error))),
            // Closed meanwhile.
            _ => self.hand(id, Queued::TakeOver(to, folder)),
        }
    }

    /// Answers the takeover of a session that is ours already.
    pub(super) fn answer_takeover(&mut self, id: &SessionId, to: ReplyTo) {
        self.run_command(to, id, Command::Open(Box::<Open>::default()));
    }

    /// Requests of this session, but for those that wait for its end.
    fn open_requests(&self, id: &SessionId) -> Vec<ReplyTo> {
        let host = self.sessions.host(id);
        self.replies.about(id).filter(|to| host.is_none_or(|host| !host.waits_for_end(*to))).collect()
    }

    /// Closes a session that cannot go on, and answers its requests with this error. Items behind its end run
    /// afterwards.
    pub(super) fn close_with_error(&mut self, id: &SessionId, error: &ProtocolError) {
        for to in self.open_requests(id) {
            self.answer(to, Err(error.clone()));
        }
        self.close(id);
    }

    /// Closes a session, then runs the items that wait for that.
    fn close(&mut self, id: &SessionId) {
        let after = self.remove_session(id);
        after.into_iter().for_each(|item| self.hand(id, item));
    }

    /// Closes a session. Returns the items that wait for that.
    pub(super) fn remove_session(&mut self, id: &SessionId) -> VecDeque<Queued> {
        if let Some(host) = self.sessions.host_mut(id) {
            self.trajectories.write_last(&mut self.client, host);
        }
        let Some(host) = self.sessions.remove(id) else { return VecDeque::new() };
        self.tasks.keep(id);
        let after = host.leave(&mut self.client, &mut self.replies);
        super::servers::ServerHandler { router: self }.closed(id, !after.is_empty());
        after
    }

    /// Closes a session that is done: it was there for one answer or its task only, or is to be closed.
    pub(super) fn close_if_done(&mut self, id: &SessionId) {
        let is_over = |host: &SessionHost| host.is_settled() && host.session().is_at_rest();
        if self.tasks.is_only_task(id) && self.sessions.host(id).is_some_and(is_over) {
            self.tasks.keep(id);
            self.hand(id, Queued::Close(NOBODY));
        }
        let Some(host) = self.sessions.host(id) else { return };
        if host.is_passing() && host.is_settled() && self.open_requests(id).is_empty() {
            self.close(id);
        }
    }

    /// Closes sessions that were kept open only by a request that is answered now.
    pub(super) fn close_freed(&mut self) {
        while let Some(id) = self.replies.next_freed() {
            self.close_if_done(&id);
        }
    }

    /// Handles the cancellation of a request.
    pub(super) fn abandoned(&mut self, to: ReplyTo) {
        let Some(id) = self.replies.abandon(&self.client, to) else { return };
        if let Some(opening) = self.sessions.opening_mut(&id) {
            opening.forget(to);
        } else if let Some(host) = self.sessions.host_mut(&id) {
            if host.waits_for_end(to) {
                host.forget_after(to);
            } else {
                self.run_input(&id, Input::Abandoned(to));
            }
        }
        self.close_if_done(&id);
    }

    /// Answers requests that wait for nothing, and frees what they occupy. No request should ever get here.
    pub(super) fn check_requests(&mut self) {
        let idle: BTreeSet<ReplyTo> = self.replies.all().filter(|to| !self.is_under_way(*to)).collect();
        for to in self.replies.stuck(idle) {
            self.answer_stuck(to);
        }
    }

    /// `true` if something under way leads to the answer of this request.
    fn is_under_way(&self, to: ReplyTo) -> bool {
        if self.replies.is_pending(to) || self.intake.holds(to) || self.servers.holds(to) {
            return true;
        }
        let Some(id) = self.replies.session(to) else { return false };
        if let Some(opening) = self.sessions.opening(id) {
            return opening.holds(to);
        }
        match self.sessions.host(id) {
            Some(host) if host.awaits_others() || host.session().will_answer(to) => true,
            // The end waits for the session's other requests.
            Some(host) if host.waits_for_end(to) => {
                self.open_requests(id).into_iter().any(|other| self.is_under_way(other))
            }
            _ => self.follows.is_awaited(id, to),
        }
    }

    /// Answers a request that nothing else will answer.
    fn answer_stuck(&mut self, to: ReplyTo) {
        if !self.replies.is_waiting(to) {
            return;
        }
        let session = self.replies.session(to).cloned();
        tracing::error!(request = to.0, session = ?session, "a request waited for nothing that is under way");
        let message = "internal error; the request was aborted: nothing in progress would have answered it";
        let error = ProtocolError::new(ErrorData::InternalError {}, message);
        if let Some(id) = session {
            self.close_if_done(&id);
            // That may have been all: a close is answered once the lease is released.
            if !self.replies.is_waiting(to) || self.is_under_way(to) {
                return;
            }
            // Otherwise the session, with its lease, would be held forever.
            if self.sessions.host(&id).is_some_and(|host| host.holds(to)) {
                return self.close_with_error(&id, &error);
            }
        }
        self.answer(to, Err(error));
    }

    /// Begins the end of the process.
    pub(super) fn end(&mut self, done: oneshot::Sender<()>) {
        for id in self.sessions.ids() {
            self.store_rest(&id);
            self.run_input(&id, Input::Ending);
        }
        // Set last: nothing may be closed before every session knows of the end.
        self.ending = Some(done);
        self.end_if_saved();
    }

    /// Ends once nothing is on its way to a store.
    pub(super) fn end_if_saved(&mut self) {
        if self.ending.is_none() || self.is_handing_over || !self.sessions.are_settled() {
            return;
        }
        for id in self.sessions.ids() {
            drop(self.remove_session(&id));
        }
        if let Some(done) = self.ending.take() {
            // Through the inbox, behind earlier answers of the stores.
            let inbox = self.inbox.clone();
            let files = self.trajectories.end();
            self.stores.close_all(move || files.finish(move || drop(inbox.send(Event::Saved(done)))));
        }
    }
}
