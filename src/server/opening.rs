//! Opening a session: the store is asked for it, commands that come meanwhile wait, and what it has not is made, where
//! somebody said of what. An id that nobody knows is an error.

use super::inbox::Event;
use super::listed::summary;
use super::live::Live;
use super::main_loop::{MainLoop, Slot, now};
use super::part::Partly;
use super::queued::{Opens, Queued};
use super::shared::{self, Kept, Loaded, Shared};
use super::stores;
use engine::id::{Generation, SessionId};
use protocol::error::{ErrorData, ProtocolError};
use protocol::event::SessionsChangedParams;
use protocol::settings::Settings;
use serde_json::Value;
use session::input::Input;
use session::part::{self, Claims};
use session::stored::{Carried, Driver, Head, Origin, Part, Prefix};
use session::{Opening as Begin, Session};
use std::collections::VecDeque;
use store::Fence;
use store::error::StoreError;
use store::worker::Handle;
use uuid::Uuid;

/// A session that a store was asked for.
pub(super) struct Opening {
    /// What waits for it, in order.
    pub queue: VecDeque<Queued>,
    /// The store that was asked last.
    store: Option<Handle>,
    /// The names of all that were asked, that one last.
    pub asked: Vec<String>,
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
    /// A session that this was asked of.
    pub fn of(item: Queued) -> Self {
        Self { queue: VecDeque::from([item]), store: None, asked: Vec::new() }
    }

    /// What would make it, up to where it ends again. The first of them says what it is to be and where.
    fn opens(&self) -> impl Iterator<Item = &Opens> {
        self.before_end().filter_map(|item| match item {
            Queued::Open(_, opens) => Some(&**opens),
            _ => None,
        })
    }

    /// How many of its newest messages are enough for what is asked first, and what that claims; nothing where it takes
    /// all of them.
    fn wanted(&self) -> Option<(u32, Claims)> {
        let command = match self.queue.front()? {
            Queued::Command(_, command) => &**command,
            Queued::Open(_, opens) if opens.settings.is_none() => &opens.command,
            _ => return None,
        };
        Some((part::newest_for(command)?, Claims::of_command(command)))
    }

    /// What is asked before it ends again.
    fn before_end(&self) -> impl Iterator<Item = &Queued> {
        self.queue.iter().take_while(|item| !item.is_end())
    }

    fn folder(&self) -> Option<&str> {
        self.before_end().find_map(|item| match item {
            Queued::Open(_, opens) => opens.folder.as_deref(),
            Queued::TakeOver(_, folder) => folder.as_deref(),
            _ => None,
        })
    }

    /// Whether it is taken from whoever writes it.
    fn takes_over(&self) -> bool {
        self.before_end().any(|item| matches!(item, Queued::TakeOver(..)))
    }
}

impl MainLoop {
    /// Asks a store for a session. Who waits for it is told where that cannot be done.
    pub fn open_slot(&mut self, id: &SessionId, opening: Opening) {
        if let Some(name) = self.next_store(id, &opening) {
            self.ask_store(id, Box::new(opening), name);
        }
    }

    /// The store to ask now: that of the folder where one is named, else each that may have it. One that nobody has is
    /// made in the client's folder.
    fn next_store(&self, id: &SessionId, opening: &Opening) -> Option<String> {
        let last = opening.asked.last();
        let other = |name: String| (last != Some(&name)).then_some(name);
        if let Some(folder) = opening.folder() {
            return other(self.stores.name(folder));
        }
        let mut candidates = self.stores.candidates(id).into_iter();
        let home = || other(self.stores.name(self.stores.home()));
        let is_made = opening.opens().next().is_some();
        candidates.find(|name| !opening.asked.contains(name)).or_else(|| is_made.then(home).flatten())
    }

    fn ask_store(&mut self, id: &SessionId, mut opening: Box<Opening>, name: String) {
        let store = match self.stores.of(Some(&name)) {
            Ok(store) => store,
            Err(error) => return self.refuse(id, &opening.queue, &error),
        };
        let (inbox, asked, answered, since) = (self.inbox.clone(), id.clone(), id.clone(), now());
        let wanted = opening.wanted().filter(|_| !self.whole.contains(id));
        let scope = opening.opens().next().and_then(|opens| opens.new.work_scope.clone());
        let new = (opening.folder().unwrap_or(self.stores.home()).to_owned(), scope);
        let takes_over = opening.takes_over();
        store.submit(
            move |store| shared::load(store, &asked, since, takes_over, new, wanted),
            move |loaded| drop(inbox.send(Event::Loaded(answered, Box::new(loaded)))),
        );
        opening.store = Some(store);
        opening.asked.push(name);
        self.sessions.insert(id.clone(), Slot::Opening(opening));
    }

    /// Answers all of these so.
    pub fn refuse(&mut self, id: &SessionId, queue: &VecDeque<Queued>, error: &ProtocolError) {
        for item in queue {
            match item {
                // It waits on, and is tried again.
                Queued::Task => tracing::debug!(session = %id, %error, "a task cannot be begun"),
                item => self.answer(item.to(), Err(error.clone())),
            }
        }
        self.stage_broke(id);
    }

    /// The store answered.
    pub fn loaded(&mut self, id: &SessionId, loaded: Result<Loaded, StoreError>) {
        self.at_work = Some(id.clone());
        self.is_handing_over = true;
        self.took(id, loaded);
        self.is_handing_over = false;
        if self.ending.is_some() {
            self.run_input(id, Input::Ending);
            self.end_if_saved();
        }
    }

    /// Puts a session into memory, and does what waited for it.
    fn took(&mut self, id: &SessionId, loaded: Result<Loaded, StoreError>) {
        if !matches!(self.sessions.get(id), Some(Slot::Opening(_))) {
            return;
        }
        let Some(Slot::Opening(mut opening)) = self.sessions.remove(id) else { return };
        let Loaded { fence, stored, shared } = match loaded {
            Ok(loaded) => loaded,
            Err(error @ StoreError::Held { .. }) => return self.held(id, *opening, &error),
            Err(error) => return self.refuse(id, &opening.queue, &stores::error(&error)),
        };
        let Some(store) = opening.store.take() else { return };
        let (released, at) = (id.clone(), store.clone());
        let release = move || at.submit(move |store| store.release(&released, fence), |_| ());
        // All who asked for it took that back.
        if opening.queue.is_empty() {
            return release();
        }
        if stored.is_none()
            && let Some(next) = self.next_store(id, &opening)
        {
            release();
            return self.ask_store(id, opening, next);
        }
        let folder = opening.folder().map(str::to_owned);
        let end = opening.queue.iter().position(Queued::is_end).map_or(opening.queue.len(), |at| at + 1);
        let mut queue = opening.queue;
        let behind = queue.split_off(end);
        let mut new = None;
        let mut settings = None;
        for item in &mut queue {
            if let Queued::Open(_, opens) = item {
                new.get_or_insert_with(|| std::mem::take(&mut opens.new));
                settings = opens.settings.take().or(settings);
            }
        }
        let is_new = stored.is_none();
        let head = match (&stored, new) {
            (Some(kept), _) => kept.head().clone(),
            (None, Some(new)) => self.head(id, folder.as_deref(), new),
            (None, None) => {
                release();
                let data = ErrorData::UnknownSession { session_id: id.as_str().to_owned() };
                let message = format!(
                    "no session {id} is stored here; open one with session/open, with the editor's history where there is one"
                );
                self.refuse(id, &queue, &ProtocolError::new(data, message));
                return behind.into_iter().for_each(|item| self.hand(id, item));
            }
        };
        if let Err(error) = self.begin(head, stored, settings, shared, Some((store, fence))) {
            release();
            self.refuse(id, &queue, &error);
            return behind.into_iter().for_each(|item| self.hand(id, item));
        }
        if let Some(name) = opening.asked.pop() {
            self.stores.remember(id, name);
        }
        self.go_on_here(id);
        self.read_instructions(id);
        for item in queue {
            self.hand(id, item);
        }
        if is_new && let Some(Slot::Live(live)) = self.sessions.get(id) {
            let created = vec![summary(&live.session)];
            let changed = SessionsChangedParams { created, ..SessionsChangedParams::default() };
            self.tell_sessions(changed);
        }
        behind.into_iter().for_each(|item| self.hand(id, item));
    }

    /// A new session's own row.
    pub fn head(&self, id: &SessionId, folder: Option<&str>, new: New) -> Head {
        let at = now();
        Head {
            id: id.clone(),
            workspace: folder.unwrap_or(self.stores.home()).to_owned(),
            title: None,
            title_from: None,
            origin: if new.parent.is_some() { Origin::Background } else { Origin::New },
            driver: new.driver,
            kind: new.kind,
            parent: new.parent,
            work_scope: new.work_scope,
            generation: Generation::default(),
            cuts: 0,
            accepted: 0,
            prefix: Prefix::default(),
            waits: false,
            carried: Carried::default(),
            settings: Value::Null,
            created_at: at,
            updated_at: at,
        }
    }

    /// Puts a session into memory.
    pub fn begin(
        &mut self,
        mut head: Head,
        stored: Option<Kept>,
        settings: Option<Settings>,
        shared: Shared,
        store: Option<(Handle, Fence)>,
    ) -> Result<(), ProtocolError> {
        let is_given = settings.is_some();
        if let Some(settings) = settings {
            head.settings = super::main_loop::wire(&settings)?;
        }
        let mut own = own_settings(&head.settings);
        let settings = match self.layers.effective(&head.workspace, &own) {
            // Its file is gone, or says something else now: that is no reason to keep the session from anybody.
            Err(error) if !is_given && own.policy.take().is_some() => {
                let settings = self.layers.effective(&head.workspace, &own)?;
                self.warn(format!("session {}: {error}; the policy {} holds", head.id, settings.policy.name));
                settings
            }
            settings => settings?,
        };
        self.follow_policy(settings.policy_file.as_deref());
        let id = head.id.clone();
        let stream = Uuid::now_v7().simple().to_string();
        let Shared { scope, approvals, memories } = shared;
        let (stored, part) = match stored {
            Some(Kept::Part(Part { stored, from }, claims)) => (Some(stored), Some((from, claims))),
            Some(Kept::Whole(stored)) => (Some(stored), None),
            None => (None, None),
        };
        let begin = Begin { head, settings, stored, stream, scope, approvals, memories };
        let live = match part {
            Some((from, claims)) => {
                let session = Session::in_part(begin.clone(), from, &*self.counter);
                let mut live = Live::new(session, store);
                live.part = Some(Box::new(Partly::new(begin, from, claims)));
                live
            }
            None => Live::new(Session::new(begin, &*self.counter), store),
        };
        if live.store.is_some() {
            // Another process may take it over.
            self.start_looking();
        }
        self.sessions.insert(id, Slot::Live(Box::new(live)));
        Ok(())
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
