//! What is asked of a session and cannot be done at once, because the session is on its way in or out: it waits in
//! order, and is done when the way is over. With it what ends a session here: close and delete.

use super::inbox::Event;
use super::main_loop::{MainLoop, NOBODY, Slot, wire};
use super::opening::{New, Opening, own_settings};
use super::settings::with_own;
use super::stores;
use super::trajectories::Filed;
use engine::id::SessionId;
use protocol::error::{ErrorData, ProtocolError};
use protocol::event::SessionsChangedParams;
use protocol::session::SessionConfigureParams;
use protocol::settings::Settings;
use protocol::transfer::ExportFormat;
use session::input::{Command, Configure, Input, ReplyTo};
use std::collections::VecDeque;
use store::Deleted;
use store::error::StoreError;
use store::worker::Handle;

/// Something that a client asks of a session.
pub(super) enum Queued {
    /// Of a session that must be there.
    Command(ReplyTo, Box<Command>),
    /// Of one that is made where it is not there.
    Open(ReplyTo, Box<Opens>),
    /// Of one that must be there, perhaps in the store of this folder: it is written here from now on, whoever writes it.
    TakeOver(ReplyTo, Option<String>),
    /// Settings change; which there are is known when the session is here.
    Configure(ReplyTo, Box<SessionConfigureParams>),
    /// It is written as a file's content.
    Export(ReplyTo, ExportFormat),
    /// It waits for a process that serves its folder, which this one does: what it waits with begins.
    Task,
    /// It is to be let go.
    Close(ReplyTo),
    /// It is to be destroyed.
    Delete(ReplyTo),
}

/// See [`Queued::Open`].
pub(super) struct Opens {
    /// What is done first.
    pub command: Command,
    /// Where it is stored; where the client's folder is if nobody says.
    pub folder: Option<String>,
    /// What it is to be, where the store has none.
    pub new: New,
    /// Settings of its own that are to hold from now on.
    pub settings: Option<Settings>,
    /// Whether it is enough to read it, where another process writes it.
    pub follow: bool,
}

impl Opens {
    /// How many of its newest messages are to be shown; nothing where all are.
    pub fn newest(&self) -> Option<u32> {
        match &self.command {
            Command::Open(open) => open.newest,
            _ => None,
        }
    }
}

/// A store's answer to a deletion.
pub(super) struct Gone {
    /// The session.
    pub session: SessionId,
    /// Who asked.
    pub to: ReplyTo,
    /// Stores that may have it if this one has not.
    left: VecDeque<String>,
    /// What the store did.
    done: Result<Option<Deleted>, StoreError>,
}

impl Queued {
    /// Who waits for its answer.
    pub const fn to(&self) -> ReplyTo {
        match self {
            Self::Command(to, _)
            | Self::Open(to, _)
            | Self::TakeOver(to, _)
            | Self::Configure(to, _)
            | Self::Export(to, _)
            | Self::Close(to)
            | Self::Delete(to) => *to,
            Self::Task => NOBODY,
        }
    }

    /// Whether what stands behind it finds no open session.
    pub const fn is_end(&self) -> bool {
        matches!(self, Self::Close(_) | Self::Delete(_))
    }
}

impl MainLoop {
    /// Does what is asked of a session, or has it wait until that can be done.
    pub fn hand(&mut self, id: &SessionId, item: Queued) {
        if let Some(waiting) = self.waiting.get_mut(&item.to()) {
            waiting.session = Some(id.clone());
        }
        // What destroys a session asks nobody who only reads it.
        let is_followed = self.is_followed(id) && !matches!(item, Queued::Delete(_));
        match self.sessions.get_mut(id) {
            Some(Slot::Opening(opening)) => opening.queue.push_back(item),
            Some(Slot::Live(live)) => match item {
                item if live.is_leaving() => live.after.push_back(item),
                item => {
                    if let Some(item) = self.waits_for_rest(id, item) {
                        self.run_queued(id, item);
                    }
                }
            },
            None if is_followed => self.hand_followed(id, item),
            None => match item {
                Queued::Command(..)
                | Queued::Open(..)
                | Queued::TakeOver(..)
                | Queued::Export(..)
                | Queued::Task => self.open_slot(id, Opening::of(item)),
                Queued::Configure(to, _) | Queued::Close(to) => {
                    let data = ErrorData::UnknownSession { session_id: id.as_str().to_owned() };
                    let message = format!("session {id} is not open here; nothing was done. Open it first");
                    self.answer(to, Err(ProtocolError::new(data, message)));
                }
                Queued::Delete(to) => {
                    let left = self.stores.candidates(id).into();
                    self.delete_next(id, to, left);
                }
            },
        }
    }

    /// Does it, now that the session is here.
    fn run_queued(&mut self, id: &SessionId, item: Queued) {
        if item.to() != NOBODY {
            self.keep_task(id);
        }
        match item {
            Queued::Task => self.take_task(id),
            Queued::Command(to, command) => self.run_command(to, id, *command),
            Queued::Open(to, opens) => {
                if let Some(settings) = opens.settings {
                    self.replace_settings(id, &settings);
                }
                self.run_command(to, id, opens.command);
            }
            Queued::TakeOver(to, folder) => self.make_sure(id, to, folder),
            Queued::Configure(to, params) => match self.configure(to, id, *params) {
                Ok(configure) => self.run_command(to, id, Command::Configure(Box::new(configure))),
                Err(error) => self.answer(to, Err(error)),
            },
            Queued::Export(to, format) => {
                if self.waits_for_whole(id, Queued::Export(to, format)).is_some() {
                    self.export(to, id, format);
                }
            }
            Queued::Close(to) => {
                let Some(Slot::Live(live)) = self.sessions.get_mut(id) else { return };
                // What runs is stopped, what is to be stored is stored, the lease is given back.
                live.is_closing = true;
                live.closing.push(to);
                self.store_rest(id);
                self.run_input(id, Input::Ending);
            }
            Queued::Delete(to) => {
                let Some(Slot::Live(live)) = self.sessions.get_mut(id) else { return };
                match live.store.clone() {
                    Some((store, _)) => {
                        live.deleting = Some(to);
                        self.submit_delete(id, to, &store, VecDeque::new());
                    }
                    // It is only there for one answer, and no store has it.
                    None => self.answer(to, Err(nothing_deleted(id))),
                }
            }
        }
    }

    /// A session that is opened again with settings of its own has those from then on.
    fn replace_settings(&mut self, id: &SessionId, settings: &Settings) {
        let Some(Slot::Live(live)) = self.sessions.get(id) else { return };
        if let Ok(own) = wire(settings)
            && let Ok(settings) = self.layers.effective(&live.session.head().workspace, settings)
        {
            let configure = Command::Configure(Box::new(Configure { settings, own, title: None }));
            // Nobody waits for this one's answer.
            self.run_input(id, Input::Command(NOBODY, configure));
        }
    }

    fn configure(
        &mut self,
        to: ReplyTo,
        id: &SessionId,
        params: SessionConfigureParams,
    ) -> Result<Configure, ProtocolError> {
        let given = self.given(to, params.settings.as_ref())?;
        let (mut own, folder) = match self.sessions.get(id) {
            Some(Slot::Live(live)) => {
                let head = live.session.head();
                (head.settings.clone(), head.workspace.as_str())
            }
            Some(Slot::Opening(_)) | None => (serde_json::Value::Null, self.stores.home()),
        };
        if let Some(settings) = &given {
            own = with_own(&own_settings(&own), settings)?;
        }
        let settings = self.layers.effective(folder, &own_settings(&own))?;
        self.follow_policy(settings.policy_file.as_deref());
        Ok(Configure { settings, own, title: params.title })
    }

    /// Asks the first of these stores to destroy a session that is not open here.
    fn delete_next(&mut self, id: &SessionId, to: ReplyTo, mut left: VecDeque<String>) {
        let Some(name) = left.pop_front() else { return self.answer(to, Err(nothing_deleted(id))) };
        match self.stores.of(Some(&name)) {
            Ok(store) => self.submit_delete(id, to, &store, left),
            Err(error) => self.answer(to, Err(error)),
        }
    }

    fn submit_delete(&mut self, id: &SessionId, to: ReplyTo, store: &Handle, left: VecDeque<String>) {
        let (pending, asked, session) = (self.pending(to), id.clone(), id.clone());
        store.submit(
            move |store| store.delete(&asked),
            move |done| pending.send(Event::Deleted(Box::new(Gone { session, to, left, done }))),
        );
    }

    /// A store destroyed a session, or did not. Nobody is told before: where it fails, the session stays open.
    pub fn deleted(&mut self, gone: Gone) {
        let Gone { session: id, to, left, done } = gone;
        self.at_work = Some(id.clone());
        let mut is_open = false;
        if let Some(Slot::Live(live)) = self.sessions.get_mut(&id)
            && live.deleting == Some(to)
        {
            live.deleting = None;
            is_open = true;
        }
        let workspace = match self.sessions.get(&id) {
            Some(Slot::Live(live)) if is_open => live.session.head().workspace.clone(),
            _ => String::new(),
        };
        let deleted = match done {
            Ok(Some(deleted)) => deleted,
            // Nothing of it was stored yet, and now nothing will be.
            Ok(None) if is_open => Deleted { workspace, scrubbed: true, ..Deleted::default() },
            Ok(None) => return self.delete_next(&id, to, left),
            Err(error) => {
                self.answer(to, Err(stores::error(&error)));
                if is_open {
                    let Some(Slot::Live(live)) = self.sessions.get_mut(&id) else { return };
                    let after = std::mem::take(&mut live.after);
                    self.pump(&id);
                    after.into_iter().for_each(|item| self.hand(&id, item));
                }
                return;
            }
        };
        let copies = deleted.copies.clone();
        let changed = SessionsChangedParams {
            deleted: std::iter::once(&id).chain(&copies).map(|id| id.as_str().to_owned()).collect(),
            ..SessionsChangedParams::default()
        };
        self.tell_sessions(changed);
        self.forget(&id);
        self.remove_file(&id, to, deleted);
        if is_open {
            self.drop_deleted(&id);
        }
        for copy in copies {
            self.forget(&copy);
            self.drop_deleted(&copy);
        }
    }

    /// A session that no store has any more is here no longer either.
    fn drop_deleted(&mut self, id: &SessionId) {
        let Some(Slot::Live(live)) = self.sessions.get_mut(id) else { return };
        // There is nothing that it could go to.
        live.unwritten.clear();
        live.file = Filed::default();
        let data = ErrorData::UnknownSession { session_id: id.as_str().to_owned() };
        let message = format!("session {id} was deleted; nothing of it is left");
        self.give_up(id, &ProtocolError::new(data, message));
    }
}

fn nothing_deleted(id: &SessionId) -> ProtocolError {
    let data = ErrorData::UnknownSession { session_id: id.as_str().to_owned() };
    ProtocolError::new(data, format!("no session {id} is stored here; nothing was deleted"))
}
