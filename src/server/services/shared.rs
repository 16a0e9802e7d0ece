//! Values that sessions of a folder share: scopes, approvals, memories. They are read when a session is
//! opened; a change is applied once it is stored, and then reaches every open session that shares it.
//! Sessions decide which memories a prompt shows.

use crate::convert;
use crate::server::client::Client;
use crate::server::client::replies::{NOBODY, Replies};
use crate::server::clock::now;
use crate::server::folder::spelled;
use crate::server::host::known_memories;
use crate::server::host::sessions::Sessions;
use crate::server::mailbox::{Mailbox, Pending};
use crate::server::requests::{Remembering, memory};
use crate::server::stores::{self, Stores};
use crate::server::wire::{Json, to_json};
use engine::id::{CallId, SessionId};
use engine::memory::Memory;
use engine::scope::{Scope, ScopePatch};
use protocol::error::ProtocolError;
use protocol::memory::MemoryDeleteResult;
use protocol::scope::{ScopeResult, ToolApprovalsResult};
use session::effect::Memorize;
use session::input::{Input, ReplyTo, ToolOutcome};
use session::stored::{Always, Head};
use std::sync::Arc;
use store::Store;
use store::error::StoreError;

/// A scope, by folder and name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::server) struct Place {
    /// The folder.
    pub workspace: String,
    /// The name.
    pub name: String,
}

impl Place {
    /// The scope of a session.
    pub fn of(head: &Head) -> Self {
        let name = head.work_scope.clone().unwrap_or_else(|| Head::own_scope(&head.id));
        Self { workspace: head.workspace.clone(), name }
    }
}

/// The outcome of reading or changing a shared value.
pub(in crate::server) enum SharedEvent {
    /// A scope, and its waiter.
    Scope { place: Place, scope: Result<Scope, StoreError>, then: Then },
    /// The approvals of a folder, perhaps for a request.
    Approvals { workspace: String, to: Option<ReplyTo>, all: Result<Vec<Always>, StoreError> },
    /// The result of a change of memories, and the memories of the folder after it.
    Memories { workspace: String, to: Option<ReplyTo>, done: Result<(Json, Vec<Memory>), ProtocolError> },
}

/// The waiter for a scope.
pub(in crate::server) enum Then {
    /// A request.
    Answer(ReplyTo),
    /// A call of a tool of ours, with its result.
    Tool(SessionId, CallId, ToolOutcome),
    /// Nobody.
    Nothing,
}

/// The consequences of a change.
pub(in crate::server) struct Done {
    /// Inputs for sessions, in order.
    pub inputs: Vec<(SessionId, Input)>,
    /// The answer to the request, after that.
    pub answer: Option<(ReplyTo, Result<Json, ProtocolError>)>,
}

/// Reads and changes shared values, without caching them.
pub(in crate::server) struct SharedState {
    mailbox: Mailbox<SharedEvent>,
}

impl SharedState {
    pub fn new(mailbox: Mailbox<SharedEvent>) -> Self {
        Self { mailbox }
    }

    /// Reads a scope, or changes it if there is a patch.
    pub fn scope(
        &self,
        (stores, replies): (&mut Stores, &mut Replies),
        place: Place,
        patch: Option<(ScopePatch, Option<u64>)>,
        then: Then,
    ) -> Result<(), ProtocolError> {
        let store = stores.of(Some(&place.workspace))?;
        let to = match &then {
            Then::Answer(to) => *to,
            Then::Tool(..) | Then::Nothing => NOBODY,
        };
        let (pending, at) = (self.pending(replies, to), place.clone());
        store.submit(
            move |store| match patch {
                Some((patch, if_revision)) => store.put_scope(&at.workspace, &at.name, &patch, if_revision),
                None => store.scope(&at.workspace, &at.name),
            },
            move |scope| pending.send(SharedEvent::Scope { place, scope, then }),
        );
        Ok(())
    }

    /// Changes the approvals of a folder.
    pub fn change_approvals(
        &self,
        (stores, replies): (&mut Stores, &mut Replies),
        workspace: String,
        to: Option<ReplyTo>,
        change: impl FnOnce(&mut dyn Store, &str) -> Result<(), StoreError> + Send + 'static,
    ) -> Result<(), ProtocolError> {
        let store = stores.of(Some(&workspace))?;
        let (pending, folder) = (self.pending(replies, to.unwrap_or(NOBODY)), workspace.clone());
        store.submit(
            move |store| {
                change(store, &folder)?;
                store.approvals(&folder)
            },
            move |all| pending.send(SharedEvent::Approvals { workspace, to, all }),
        );
        Ok(())
    }

    /// Changes the memories of a folder. `change` returns the result.
    pub fn change_memories(
        &self,
        (stores, replies): (&mut Stores, &mut Replies),
        workspace: String,
        to: Option<ReplyTo>,
        change: impl FnOnce(&mut dyn Store, &str) -> Result<Result<Json, ProtocolError>, StoreError>
        + Send
        + 'static,
    ) -> Result<(), ProtocolError> {
        let store = stores.of(Some(&workspace))?;
        let (pending, folder) = (self.pending(replies, to.unwrap_or(NOBODY)), workspace.clone());
        store.submit(
            move |store| {
                let value = change(store, &folder)?;
                let known = known_memories(store, &folder)?;
                Ok(value.map(|value| (value, known)))
            },
            move |done| {
                let done = done.map_err(|error| stores::error(&error)).flatten();
                pending.send(SharedEvent::Memories { workspace, to, done });
            },
        );
        Ok(())
    }

    /// Carries out a request about memories.
    pub fn ask_memories(
        &self,
        (stores, replies): (&mut Stores, &mut Replies),
        to: ReplyTo,
        ask: Remembering,
    ) -> Result<(), ProtocolError> {
        let folder = |folder: Option<&str>, stores: &Stores| {
            folder.map_or_else(|| stores.first_folder().to_owned(), spelled)
        };
        let (query, workspace) = match ask {
            Remembering::Put(params) => {
                let workspace = folder(params.workspace_folder.as_deref(), stores);
                let (id, patch) = memory::put(params)?;
                return self.change_memories(
                    (stores, replies),
                    workspace,
                    Some(to),
                    move |store, workspace| {
                        let put = store.put_memory(workspace, &id, patch, now())?;
                        Ok(memory::answer(&id, put.as_ref()))
                    },
                );
            }
            Remembering::Delete(params) => {
                let workspace = folder(params.workspace_folder.as_deref(), stores);
                return self.change_memories(
                    (stores, replies),
                    workspace,
                    Some(to),
                    move |store, workspace| {
                        let deleted = store.delete_memory(workspace, &params.id)?;
                        Ok(to_json(&MemoryDeleteResult { deleted }))
                    },
                );
            }
            Remembering::List(params) => {
                (memory::list(&params)?, folder(params.workspace_folder.as_deref(), stores))
            }
            Remembering::Search(params) => {
                (memory::search(&params)?, folder(params.workspace_folder.as_deref(), stores))
            }
        };
        let store = stores.of(Some(&workspace))?;
        let pending = self.pending(replies, to);
        store.submit(
            move |store| store.memories(&workspace, &query),
            move |page| {
                let page = page.map_err(|error| stores::error(&error));
                pending.answer(page.and_then(|page| to_json(&memory::listed(&page))));
            },
        );
        Ok(())
    }

    /// Stores what a session of this folder is to be remembered by.
    pub fn memorize(
        &self,
        at: (&mut Stores, &mut Replies),
        workspace: String,
        memorize: Memorize,
    ) -> Result<(), ProtocolError> {
        self.change_memories(at, workspace, None, move |store, workspace| {
            store.put_memory(workspace, &memorize.id, memorize.memory, now())?;
            Ok(to_json(&()))
        })
    }

    /// The consequences of a read or a change.
    pub fn done(&self, event: SharedEvent, sessions: &Sessions, client: &mut Client) -> Done {
        match event {
            SharedEvent::Scope { place, scope, then } => scope_done(sessions, place, scope, then),
            SharedEvent::Approvals { workspace, to, all } => {
                let mut inputs = Vec::new();
                let value = match all {
                    Ok(all) => {
                        let decisions = all.iter().map(convert::standing).collect();
                        let all: Arc<[Always]> = all.into();
                        let sharing = sessions.sharing(|head| head.workspace == workspace).into_iter();
                        inputs.extend(sharing.map(|id| (id, Input::Approvals(all.clone()))));
                        to_json(&ToolApprovalsResult { decisions })
                    }
                    Err(error) => {
                        client.log(format!(
                            "the approvals of {workspace} could not be stored or read: {error}"
                        ));
                        Err(stores::error(&error))
                    }
                };
                Done { inputs, answer: to.map(|to| (to, value)) }
            }
            SharedEvent::Memories { workspace, to, done } => {
                let mut inputs = Vec::new();
                let value = done.map(|(value, known)| {
                    let known: Arc<[Memory]> = known.into();
                    let sharing = sessions.sharing(|head| head.workspace == workspace).into_iter();
                    inputs.extend(sharing.map(|id| (id, Input::Memories(known.clone()))));
                    value
                });
                if let (None, Err(error)) = (to, &value) {
                    client.log(format!("the memory of a session could not be stored: {error}"));
                }
                Done { inputs, answer: to.map(|to| (to, value)) }
            }
        }
    }

    fn pending(&self, replies: &mut Replies, to: ReplyTo) -> Pending<SharedEvent> {
        replies.pending(to, &self.mailbox)
    }
}

fn scope_done(sessions: &Sessions, place: Place, scope: Result<Scope, StoreError>, then: Then) -> Done {
    let mut inputs = Vec::new();
    if let Ok(scope) = &scope {
        let shared = Arc::new(scope.clone());
        let sharing = sessions.sharing(|head| Place::of(head) == place).into_iter();
        inputs.extend(sharing.map(|id| (id, Input::Scope(shared.clone()))));
    }
    let mut answer = None;
    match then {
        Then::Answer(to) => {
            let result = |scope| ScopeResult { work_scope: place.name, scope: convert::scope(&scope) };
            let scope = scope.map_err(|error| stores::error(&error));
            answer = Some((to, scope.and_then(|scope| to_json(&result(scope)))));
        }
        Then::Tool(id, call, outcome) => {
            let outcome = match scope {
                Ok(_) => outcome,
                Err(error) => ToolOutcome::Failed(error.to_string()),
            };
            inputs.push((id, Input::ToolDone(call, outcome)));
        }
        Then::Nothing => {}
    }
    Done { inputs, answer }
}
