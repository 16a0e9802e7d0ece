//! What sessions share: scopes, approvals, and the sidecar's own tools, which read and change them. They are read with a
//! session when it is opened, and every open session that shares them is told of a change once it is stored.

use super::inbox::{Event, Sharing};
use super::main_loop::{MainLoop, NOBODY, Slot, wire};
use super::opening::given_id;
use super::stores;
use crate::convert;
use crate::tool::{Context, OwnTool};
use engine::id::{CallId, Ordinal, SessionId, Time};
use engine::memory::Memory;
use engine::scope::{Scope, ScopePatch};
use engine::search::Found;
use models::address;
use protocol::error::{ErrorData, ProtocolError};
use protocol::model::ModelKeyResult;
use protocol::scope::{ScopeResult, ToolApprovalsParams, ToolApprovalsResult};
use secrecy::SecretString;
use serde_json::Value;
use session::effect::InvokeTool;
use session::input::{Input, ReplyTo, ToolOutcome};
use session::part::Claims;
use session::stored::{Always, Head, Part, Stored};
use std::sync::Arc;
use store::error::StoreError;
use store::{Fence, Store};

/// A session as its store gives it, with what it shares.
pub(super) struct Loaded {
    /// The right to write it.
    pub fence: Fence,
    /// What there is of it.
    pub stored: Option<Kept>,
    /// What it shares.
    pub shared: Shared,
}

/// What a store has of a session.
pub(super) enum Kept {
    /// All.
    Whole(Stored),
    /// As much as was wanted. What was claimed is new to it.
    Part(Part, Claims),
}

impl Kept {
    /// Its own row.
    pub fn head(&self) -> &Head {
        match self {
            Self::Whole(stored) | Self::Part(Part { stored, .. }, _) => &stored.head,
        }
    }
}

/// What a session shares.
#[derive(Default)]
pub(super) struct Shared {
    /// Its scope.
    pub scope: Scope,
    /// What was approved in its workspace.
    pub approvals: Vec<Always>,
    /// What its workspace remembers.
    pub memories: Vec<Memory>,
}

/// A scope by its folder and its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The folder.
    pub workspace: String,
    /// The name.
    pub name: String,
}

/// A scope that was read or changed, or was not.
pub(super) struct ScopeDone {
    /// Which.
    place: Place,
    /// What it is now.
    scope: Result<Scope, StoreError>,
    /// Who waits for that.
    then: Then,
}

/// Who waits for a scope.
enum Then {
    /// A client.
    Answer(ReplyTo),
    /// A call of a tool of ours, with its result.
    Tool(SessionId, CallId, ToolOutcome),
    /// Nobody.
    Nothing,
}

/// Takes a session from its store, with what it shares, from another process too where it is to be taken over; only a part
/// of it, where that holds what is `wanted`. `new` is the folder and the scope of one that is not there.
pub(super) fn load(
    store: &mut dyn Store,
    id: &SessionId,
    since: Time,
    takes_over: bool,
    new: (String, Option<String>),
    wanted: Option<(u32, Claims)>,
) -> Result<Loaded, StoreError> {
    let fence = if takes_over { store.take_over(id, since) } else { store.acquire(id, since) }?;
    let read = |store: &mut dyn Store| {
        let stored = match wanted {
            Some((newest, claims)) => part(store, id, newest, claims)?,
            None => None,
        };
        let stored = match stored {
            Some(part) => Some(part),
            None => store.load(id)?.map(Kept::Whole),
        };
        let (workspace, scope) = match stored.as_ref().map(Kept::head) {
            Some(head) => (head.workspace.clone(), head.work_scope.clone()),
            None => new,
        };
        let scope = scope.unwrap_or_else(|| Head::own_scope(id));
        let shared = Shared {
            scope: store.scope(&workspace, &scope)?,
            approvals: store.approvals(&workspace)?,
            memories: super::memory::known(store, &workspace)?,
        };
        Ok(Loaded { fence, stored, shared })
    };
    match read(store) {
        Ok(loaded) => Ok(loaded),
        Err(error) => {
            store.release(id, fence)?;
            Err(error)
        }
    }
}

/// As much of a session as is wanted, where that is enough.
fn part(
    store: &mut dyn Store,
    id: &SessionId,
    newest: u32,
    claims: Claims,
) -> Result<Option<Kept>, StoreError> {
    let Some(part) = store.load_part(id, newest)? else { return Ok(None) };
    let is_known = !claims.is_empty() && store.is_known(id, &claims, part.from)?;
    Ok((!is_known).then_some(Kept::Part(part, claims)))
}

/// Carries out what a client asks for.
pub(super) fn ask(main: &mut MainLoop, to: ReplyTo, ask: Sharing) -> Result<(), ProtocolError> {
    match ask {
        Sharing::GetScope(params) => {
            let place = place(main, params.session_id, params.work_scope, params.workspace_folder)?;
            main.change_scope(place, None, None, Then::Answer(to))
        }
        Sharing::PutScope(params) => {
            let patch = convert::scope_patch(&params);
            let place = place(main, params.session_id, params.work_scope, params.workspace_folder)?;
            main.change_scope(place, Some(patch), params.if_revision, Then::Answer(to))
        }
        Sharing::Approvals(params) => approvals(main, to, params),
        Sharing::Key(params) => {
            if !address::is_key_name(&params.name) {
                return Err(ProtocolError::invalid(
                    "name",
                    "must be the name of a key: letters, digits and underscores",
                ));
            }
            main.models.set_key(params.name, params.value.map(|key| SecretString::from(key.0)));
            main.answer(to, wire(&ModelKeyResult {}));
            Ok(())
        }
    }
}

/// The scope that is meant: a session's, which must be open here, or the one of this name.
fn place(
    main: &MainLoop,
    session: Option<String>,
    name: Option<String>,
    folder: Option<String>,
) -> Result<Place, ProtocolError> {
    if let Some(id) = session {
        let id = given_id(&id)?;
        return match main.sessions.get(&id) {
            Some(Slot::Live(live)) => Ok(Place::of(live.session.head())),
            _ => {
                let data = ErrorData::UnknownSession { session_id: id.as_str().to_owned() };
                let message = format!("session {id} is not open here; nothing was done. Open it first");
                Err(ProtocolError::new(data, message))
            }
        };
    }
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        return Err(ProtocolError::invalid("workScope", "either a session or the name of a scope is needed"));
    };
    let workspace = folder.as_deref().map_or_else(|| main.stores.home().to_owned(), super::folder::spelled);
    Ok(Place { workspace, name })
}

fn approvals(main: &mut MainLoop, to: ReplyTo, params: ToolApprovalsParams) -> Result<(), ProtocolError> {
    let folder = params.workspace_folder.as_deref();
    let workspace = folder.map_or_else(|| main.stores.home().to_owned(), super::folder::spelled);
    let revoked: Vec<Always> = params.revoke.iter().flatten().map(convert::always).collect();
    main.change_approvals(workspace, Some(to), move |store, workspace| {
        revoked.iter().try_for_each(|always| store.revoke(workspace, always))
    })
}

impl Place {
    /// The scope of a session.
    fn of(head: &Head) -> Self {
        let name = head.work_scope.clone().unwrap_or_else(|| Head::own_scope(&head.id));
        Self { workspace: head.workspace.clone(), name }
    }
}

impl MainLoop {
    /// Reads a scope, or changes it.
    fn change_scope(
        &mut self,
        place: Place,
        patch: Option<ScopePatch>,
        if_revision: Option<u64>,
        then: Then,
    ) -> Result<(), ProtocolError> {
        let store = self.stores.of(Some(&place.workspace))?;
        let to = match &then {
            Then::Answer(to) => *to,
            Then::Tool(..) | Then::Nothing => NOBODY,
        };
        let (pending, at) = (self.pending(to), place.clone());
        store.submit(
            move |store| match patch {
                Some(patch) => store.put_scope(&at.workspace, &at.name, &patch, if_revision),
                None => store.scope(&at.workspace, &at.name),
            },
            move |scope| pending.send(Event::Scope(Box::new(ScopeDone { place, scope, then }))),
        );
        Ok(())
    }

    /// A scope was read or changed: all who share it know it from now on, and who waited goes on.
    pub fn scope_done(&mut self, done: ScopeDone) {
        let ScopeDone { place, scope, then } = done;
        if let Ok(scope) = &scope {
            let shared = Arc::new(scope.clone());
            for id in self.sharing(|head| Place::of(head) == place) {
                self.run_input(&id, Input::Scope(shared.clone()));
            }
        }
        match then {
            Then::Answer(to) => {
                let result = |scope| ScopeResult { work_scope: place.name, scope: convert::scope(&scope) };
                let value =
                    scope.map_err(|error| stores::error(&error)).and_then(|scope| wire(&result(scope)));
                self.answer(to, value);
            }
            Then::Tool(id, call, outcome) => {
                let outcome = match scope {
                    Ok(_) => outcome,
                    Err(error) => ToolOutcome::Failed(error.to_string()),
                };
                self.run_input(&id, Input::ToolDone(call, outcome));
            }
            Then::Nothing => {}
        }
    }

    /// Changes what is approved in a workspace, and tells all its open sessions.
    fn change_approvals(
        &mut self,
        workspace: String,
        to: Option<ReplyTo>,
        change: impl FnOnce(&mut dyn Store, &str) -> Result<(), StoreError> + Send + 'static,
    ) -> Result<(), ProtocolError> {
        let store = self.stores.of(Some(&workspace))?;
        let (pending, folder) = (self.pending(to.unwrap_or(NOBODY)), workspace.clone());
        store.submit(
            move |store| {
                change(store, &folder)?;
                store.approvals(&folder)
            },
            move |all| pending.send(Event::Approvals(workspace, to, all)),
        );
        Ok(())
    }

    /// What is approved in a workspace is known.
    pub fn approvals_done(
        &mut self,
        workspace: &str,
        to: Option<ReplyTo>,
        all: Result<Vec<Always>, StoreError>,
    ) {
        let value: Result<Value, ProtocolError> = match all {
            Ok(all) => {
                let approved = all.iter().map(convert::approved).collect();
                let all: Arc<[Always]> = all.into();
                for id in self.sharing(|head| head.workspace == workspace) {
                    self.run_input(&id, Input::Approvals(all.clone()));
                }
                wire(&ToolApprovalsResult { approved })
            }
            Err(error) => {
                self.log(format!("what is approved in {workspace} could not be stored or read: {error}"));
                Err(stores::error(&error))
            }
        };
        if let Some(to) = to {
            self.answer(to, value);
        }
    }

    /// Open sessions that are stored and of which this holds.
    pub(super) fn sharing(&self, is_meant: impl Fn(&Head) -> bool) -> Vec<SessionId> {
        let live = self.sessions.iter().filter_map(|(id, slot)| match slot {
            Slot::Live(live) if live.store.is_some() && is_meant(live.session.head()) => Some(id.clone()),
            Slot::Live(_) | Slot::Opening(_) => None,
        });
        live.collect()
    }

    /// Runs a tool of ours, after what it looks for was searched.
    pub(super) fn run_tool(&mut self, id: &SessionId, call: InvokeTool) {
        match OwnTool::named(&call.name).and_then(|tool| tool.looks_for(&call.arguments)) {
            Some(mut query) => {
                // Who asks for words has just said them: that is not what is looked for.
                query.before = query.before.into_iter().chain(self.newest_round(id)).min();
                let session = id.clone();
                self.search(id, NOBODY, query, move |found| Event::Looked(session, call, found));
            }
            None => self.run_tool_with(id, call, None),
        }
    }

    /// Where the newest round of a session begins.
    fn newest_round(&self, id: &SessionId) -> Option<Ordinal> {
        let Some(Slot::Live(live)) = self.sessions.get(id) else { return None };
        live.session.transcript().rounds().last().map(|round| round.assistant)
    }

    /// What a tool of ours looked for was searched.
    pub(super) fn looked(&mut self, id: &SessionId, call: InvokeTool, found: Result<Found, StoreError>) {
        match found {
            Ok(found) => self.run_tool_with(id, call, Some(&found)),
            Err(error) => {
                self.run_input(id, Input::ToolDone(call.call, ToolOutcome::Failed(error.to_string())))
            }
        }
    }

    /// Runs a tool of ours. What it changes is stored before its result counts.
    fn run_tool_with(&mut self, id: &SessionId, call: InvokeTool, found: Option<&Found>) {
        let Some(Slot::Live(live)) = self.sessions.get(id) else { return };
        let session = &live.session;
        let Some(tool) = OwnTool::named(&call.name) else {
            let outcome = ToolOutcome::Failed(format!("no tool of ours is named {}", call.name));
            return drop(self.inbox.send(Event::Ran(id.clone(), call.call, outcome)));
        };
        let recall = |reference: &str| session.recall_for_model(reference);
        let page = usize::try_from(session.settings().most_result()).unwrap_or(usize::MAX);
        let context = Context { todos: &session.scope().todos, recall: &recall, found, page };
        let ran = tool.run(&call.arguments, context);
        let outcome = ToolOutcome::Answered(ran.result);
        let place = Place::of(session.head());
        let is_stored = live.store.is_some();
        match ran.todos.filter(|_| is_stored) {
            Some(todos) => {
                let patch = ScopePatch { todos: Some(todos), ..ScopePatch::default() };
                let then = Then::Tool(id.clone(), call.call.clone(), outcome);
                if let Err(error) = self.change_scope(place, Some(patch), None, then) {
                    let failed = ToolOutcome::Failed(error.message);
                    drop(self.inbox.send(Event::Ran(id.clone(), call.call, failed)));
                }
            }
            None => drop(self.inbox.send(Event::Ran(id.clone(), call.call, outcome))),
        }
    }

    /// Changes the scope of a session, for the session itself.
    pub(super) fn change_own_scope(&mut self, id: &SessionId, patch: ScopePatch) {
        let Some(Slot::Live(live)) = self.sessions.get(id).filter(|slot| slot.is_stored()) else { return };
        let place = Place::of(live.session.head());
        if let Err(error) = self.change_scope(place, Some(patch), None, Then::Nothing) {
            self.log(format!("what session {id} shares could not be changed: {error}"));
        }
    }

    /// Calls like these need no question any more, in this session's workspace.
    pub(super) fn remember(&mut self, id: &SessionId, always: Always) {
        let Some(Slot::Live(live)) = self.sessions.get(id).filter(|slot| slot.is_stored()) else { return };
        let workspace = live.session.head().workspace.clone();
        let approve = move |store: &mut dyn Store, workspace: &str| store.approve(workspace, &always);
        if let Err(error) = self.change_approvals(workspace, None, approve) {
            self.log(format!("an approval could not be kept: {error}"));
        }
    }
}
