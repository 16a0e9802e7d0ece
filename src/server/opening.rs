//! Opening a session: the store is asked for it, commands that come meanwhile wait, and what it has not is made, where
//! somebody said of what. An id that nobody knows is an error.

use super::inbox::Event;
use super::live::Live;
use super::main_loop::{MainLoop, Slot, now};
use super::stores;
use super::wire_session::summary;
use crate::engine::id::{Generation, SessionId};
use crate::engine::session::input::{Command, Configure, Input, ReplyTo};
use crate::engine::session::stored::{Driver, Head, Prefix, Stored};
use crate::engine::session::{Opening as Begin, Session};
use crate::protocol::error::{ErrorData, ProtocolError};
use crate::protocol::event::SessionsChangedParams;
use crate::protocol::methods::{self, Named};
use crate::protocol::settings::Settings;
use crate::store::Fence;
use crate::store::error::StoreError;
use crate::store::worker::Handle;
use serde_json::Value;
use uuid::Uuid;

/// A session that the store was asked for.
pub(super) struct Opening {
    /// What waits for it, in order.
    pub commands: Vec<(ReplyTo, Command)>,
    /// What it is to be, where the store has none.
    pub new: Option<New>,
    /// Settings of its own that are to hold from now on.
    pub settings: Option<Settings>,
    /// Its store.
    store: Option<Handle>,
    /// Its folder.
    pub folder: Option<String>,
}

/// What a session is to be that is made.
#[derive(Default)]
pub(super) struct New {
    pub driver: Driver,
    pub kind: Option<String>,
    pub parent: Option<SessionId>,
    pub work_scope: Option<String>,
}

impl Opening {
    /// A session that must be there.
    pub fn found(to: ReplyTo, command: Command) -> Self {
        Self { commands: vec![(to, command)], new: None, settings: None, store: None, folder: None }
    }

    /// A session of a folder, made where it is not there.
    pub fn made(to: ReplyTo, command: Command, folder: Option<String>, new: New) -> Self {
        Self { commands: vec![(to, command)], new: Some(new), settings: None, store: None, folder }
    }
}

impl MainLoop {
    /// Asks the store for a session. Who waits for it is told where that cannot be done.
    pub fn open_slot(&mut self, id: &SessionId, mut opening: Opening) {
        let store = match self.stores.of(opening.folder.as_deref()) {
            Ok(store) => store,
            Err(error) => return self.refuse(&opening.commands, &error),
        };
        let (inbox, asked, answered, since) = (self.inbox.clone(), id.clone(), id.clone(), now());
        store.submit(
            move |store| {
                let fence = store.acquire(&asked, since)?;
                match store.load(&asked) {
                    Ok(stored) => Ok((fence, stored)),
                    Err(error) => {
                        store.release(&asked, fence)?;
                        Err(error)
                    }
                }
            },
            move |loaded| drop(inbox.send(Event::Loaded(answered, Box::new(loaded)))),
        );
        opening.store = Some(store);
        self.sessions.insert(id.clone(), Slot::Opening(Box::new(opening)));
    }

    fn refuse(&mut self, commands: &[(ReplyTo, Command)], error: &ProtocolError) {
        for (to, _) in commands {
            self.answer(*to, Err(error.clone()));
        }
    }

    /// The store answered.
    pub fn loaded(&mut self, id: &SessionId, loaded: Result<(Fence, Option<Stored>), StoreError>) {
        self.at_work = Some(id.clone());
        self.took(id, loaded);
        if self.ending.is_some() {
            self.run_input(id, Input::Ending);
            self.end_if_saved();
        }
    }

    /// Puts a session into memory, and does what waited for it.
    fn took(&mut self, id: &SessionId, loaded: Result<(Fence, Option<Stored>), StoreError>) {
        let Some(Slot::Opening(opening)) = self.sessions.remove(id) else { return };
        let Opening { commands, new, settings, store, folder } = *opening;
        let (fence, stored) = match loaded {
            Ok(loaded) => loaded,
            Err(error) => return self.refuse(&commands, &stores::error(&error)),
        };
        let Some(store) = store else { return };
        if stored.is_none() && new.is_none() {
            let given_back = id.clone();
            store.submit(move |store| store.release(&given_back, fence), |_| ());
            let data = ErrorData::UnknownSession { session_id: id.as_str().to_owned() };
            let message = format!(
                "no session {id} is stored here; open one with session/open, with the editor's history where there is one"
            );
            return self.refuse(&commands, &ProtocolError::new(data, message));
        }
        let is_new = stored.is_none();
        let head = match &stored {
            Some(stored) => stored.head.clone(),
            None => self.head(id, folder.as_deref(), new.unwrap_or_default()),
        };
        if let Err(error) = self.begin(head, stored, settings, Some((store.clone(), fence))) {
            let given_back = id.clone();
            store.submit(move |store| store.release(&given_back, fence), |_| ());
            return self.refuse(&commands, &error);
        }
        for (to, command) in commands {
            self.run_command(to, id, command);
        }
        if is_new && let Some(Slot::Live(live)) = self.sessions.get(id) {
            let created = vec![summary(&live.session)];
            let changed = SessionsChangedParams { created, ..SessionsChangedParams::default() };
            self.outgoing.notification(methods::SessionsChanged::NAME, &changed);
        }
    }

    /// A new session's own row.
    pub fn head(&self, id: &SessionId, folder: Option<&str>, new: New) -> Head {
        let at = now();
        Head {
            id: id.clone(),
            workspace: folder.unwrap_or(self.stores.home()).to_owned(),
            title: None,
            driver: new.driver,
            kind: new.kind,
            parent: new.parent,
            work_scope: new.work_scope,
            generation: Generation::default(),
            cuts: 0,
            prefix: Prefix::default(),
            settings: Value::Null,
            created_at: at,
            updated_at: at,
        }
    }

    /// Puts a session into memory.
    pub fn begin(
        &mut self,
        mut head: Head,
        stored: Option<Stored>,
        settings: Option<Settings>,
        store: Option<(Handle, Fence)>,
    ) -> Result<(), ProtocolError> {
        if let Some(settings) = settings {
            head.settings = super::main_loop::wire(&settings)?;
        }
        let settings = self.layers.effective(&own_settings(&head.settings))?;
        let id = head.id.clone();
        let stream = Uuid::now_v7().simple().to_string();
        let session = Session::new(Begin { head, settings, stored, stream }, &*self.counter);
        self.sessions.insert(id, Slot::Live(Box::new(Live::new(session, store))));
        Ok(())
    }

    /// Opens a session for good, or comes back to one that is open.
    pub fn open(&mut self, to: ReplyTo, id: SessionId, opening: Opening) {
        if let Some(waiting) = self.waiting.get_mut(&to) {
            waiting.session = Some(id.clone());
        }
        match self.sessions.get_mut(&id) {
            None => self.open_slot(&id, opening),
            Some(Slot::Opening(before)) => before.commands.extend(opening.commands),
            Some(Slot::Live(live)) => {
                if let Some(settings) = &opening.settings
                    && let Ok(own) = super::main_loop::wire(settings)
                    && let Ok(settings) = self.layers.effective(settings)
                {
                    let title = live.session.head().title.clone();
                    let configure = Command::Configure(Box::new(Configure { settings, own, title }));
                    // Nobody waits for this one's answer.
                    self.run_input(&id, Input::Command(ReplyTo(u64::MAX), configure));
                }
                for (to, command) in opening.commands {
                    self.run_input(&id, Input::Command(to, command));
                }
            }
        }
    }
}

/// A session's own layer of settings. What an older version wrote and this one cannot read counts as not set.
pub(super) fn own_settings(stored: &Value) -> Settings {
    serde_json::from_value(stored.clone()).unwrap_or_default()
}

/// An id for a session that was given none.
pub(super) fn new_id() -> SessionId {
    SessionId::new(Uuid::now_v7().to_string())
}

/// An id that a client gave. It is part of other ids and of file names.
pub(super) fn given_id(id: &str) -> Result<SessionId, ProtocolError> {
    let is_good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '~' | ':');
    if (1..=128).contains(&id.len()) && id.chars().all(is_good) {
        return Ok(SessionId::new(id));
    }
    let reason = "an id has 1 to 128 characters out of letters, digits and - _ . ~ :";
    Err(ProtocolError::invalid("sessionId", reason))
}
