//! Memories of a folder: what clients ask about them, and what open sessions of the folder are told when they change. Which
//! of them stand in a prompt is decided by the sessions.

use super::asking::page_limit;
use super::inbox::{Event, Remembering};
use super::main_loop::{MainLoop, NOBODY, Slot, now, wire};
use super::stores;
use crate::convert;
use engine::id::SessionId;
use engine::memory::{Memory, MemoryPage, MemoryPatch, MemoryQuery};
use engine::search::Words;
use protocol::error::ProtocolError;
use protocol::memory::{MemoryDeleteResult, MemoryListResult, MemoryPutParams, MemoryPutResult};
use serde_json::Value;
use session::effect::Memorize;
use session::input::{Input, ReplyTo};
use std::sync::Arc;
use store::Store;
use store::error::StoreError;
use uuid::Uuid;

/// Memories of a page where nobody says how many.
const PAGE: u32 = 50;
/// The most that a page holds.
const MOST_PAGE: u32 = 500;
/// Memories of a folder that its sessions know: more would never fit into a prompt.
const KNOWN: usize = 1000;

/// What became of a change of the memories.
pub(super) struct Changed {
    /// The folder.
    workspace: String,
    /// Who waits for an answer.
    to: Option<ReplyTo>,
    /// The answer, and what is remembered now.
    done: Result<(Value, Vec<Memory>), ProtocolError>,
}

/// Carries out what a client asks for.
pub(super) fn ask(main: &mut MainLoop, to: ReplyTo, ask: Remembering) -> Result<(), ProtocolError> {
    match ask {
        Remembering::Put(params) => put(main, to, params),
        Remembering::List(params) => {
            let query = MemoryQuery {
                area: params.area,
                active: params.active,
                words: None,
                skip: skip(params.cursor.as_deref())?,
                limit: limit(params.limit)?,
            };
            read(main, to, params.workspace_folder.as_deref(), query)
        }
        Remembering::Search(params) => {
            let query = MemoryQuery {
                area: params.area,
                active: params.active,
                words: Some(Words::of(&params.query)),
                skip: skip(params.cursor.as_deref())?,
                limit: limit(params.limit)?,
            };
            read(main, to, params.workspace_folder.as_deref(), query)
        }
        Remembering::Delete(params) => {
            let workspace = workspace(main, params.workspace_folder.as_deref());
            main.change_memories(workspace, Some(to), move |store, workspace| {
                let deleted = store.delete_memory(workspace, &params.id)?;
                Ok(wire(&MemoryDeleteResult { deleted }))
            })
        }
    }
}

fn workspace(main: &MainLoop, folder: Option<&str>) -> String {
    folder.map_or_else(|| main.stores.first_folder().to_owned(), super::folder::spelled)
}

fn limit(limit: Option<u32>) -> Result<usize, ProtocolError> {
    Ok(page_limit(limit, PAGE, MOST_PAGE)? as usize)
}

fn skip(cursor: Option<&str>) -> Result<usize, ProtocolError> {
    let reason = |cursor| format!("`{cursor}` is no cursor of a list of memories");
    cursor
        .map_or(Ok(0), |cursor| cursor.parse().map_err(|_| ProtocolError::invalid("cursor", reason(cursor))))
}

fn put(main: &mut MainLoop, to: ReplyTo, params: MemoryPutParams) -> Result<(), ProtocolError> {
    if params.importance.is_some_and(|importance| !(1..=5).contains(&importance)) {
        return Err(ProtocolError::invalid("importance", "it goes from 1 to 5"));
    }
    if params.id.as_deref() == Some("") || params.area.as_deref() == Some("") {
        return Err(ProtocolError::invalid("id", "neither an id nor an area can be empty"));
    }
    if params.text.as_deref().is_some_and(|text| text.trim().is_empty()) {
        return Err(ProtocolError::invalid("text", "there is nothing to remember in it"));
    }
    let workspace = workspace(main, params.workspace_folder.as_deref());
    let id = params.id.unwrap_or_else(|| Uuid::now_v7().to_string());
    let patch = MemoryPatch {
        area: params.area,
        text: params.text.map(Into::into),
        importance: params.importance,
        tags: params.tags,
        active: params.active,
        source: None,
    };
    main.change_memories(workspace, Some(to), move |store, workspace| {
        let put = store.put_memory(workspace, &id, patch, now())?;
        let none =
            || ProtocolError::invalid("text", format!("there is no memory {id}; a new one needs a text"));
        Ok(put
            .ok_or_else(none)
            .and_then(|memory| wire(&MemoryPutResult { memory: convert::memory(&memory) })))
    })
}

fn read(
    main: &mut MainLoop,
    to: ReplyTo,
    folder: Option<&str>,
    query: MemoryQuery,
) -> Result<(), ProtocolError> {
    let workspace = workspace(main, folder);
    let store = main.stores.of(Some(&workspace))?;
    let pending = main.pending(to);
    store.submit(
        move |store| store.memories(&workspace, &query),
        move |page| {
            let value = page.map_err(|error| stores::error(&error)).and_then(|page| wire(&listed(&page)));
            pending.answer(value);
        },
    );
    Ok(())
}

fn listed(page: &MemoryPage) -> MemoryListResult {
    MemoryListResult {
        memories: page.memories.iter().map(convert::memory).collect(),
        next_cursor: page.next.map(|next| next.to_string()),
    }
}

/// What sessions of a folder may show.
pub(super) fn known(store: &mut dyn Store, workspace: &str) -> Result<Vec<Memory>, StoreError> {
    let query = MemoryQuery { active: Some(true), limit: KNOWN, ..MemoryQuery::default() };
    Ok(store.memories(workspace, &query)?.memories)
}

impl MainLoop {
    /// Changes what is remembered for a folder, and tells all its open sessions.
    fn change_memories(
        &mut self,
        workspace: String,
        to: Option<ReplyTo>,
        change: impl FnOnce(&mut dyn Store, &str) -> Result<Result<Value, ProtocolError>, StoreError>
        + Send
        + 'static,
    ) -> Result<(), ProtocolError> {
        let store = self.stores.of(Some(&workspace))?;
        let (pending, folder) = (self.pending(to.unwrap_or(NOBODY)), workspace.clone());
        store.submit(
            move |store| {
                let value = change(store, &folder)?;
                let known = known(store, &folder)?;
                Ok(value.map(|value| (value, known)))
            },
            move |done| {
                let done = done.map_err(|error| stores::error(&error)).flatten();
                pending.send(Event::Memories(Box::new(Changed { workspace, to, done })));
            },
        );
        Ok(())
    }

    /// What is remembered for a folder changed.
    pub(super) fn memories_changed(&mut self, changed: Changed) {
        let Changed { workspace, to, done } = changed;
        let value = match done {
            Ok((value, known)) => {
                let known: Arc<[Memory]> = known.into();
                for id in self.sharing(|head| head.workspace == workspace) {
                    self.run_input(&id, Input::Memories(known.clone()));
                }
                Ok(value)
            }
            Err(error) => {
                if to.is_none() {
                    self.log(format!("what a session is to be remembered by could not be kept: {error}"));
                }
                Err(error)
            }
        };
        if let Some(to) = to {
            self.answer(to, value);
        }
    }

    /// Keeps something that a session is to be remembered by.
    pub(super) fn memorize(&mut self, id: &SessionId, memorize: Memorize) {
        let Some(Slot::Live(live)) = self.sessions.get(id).filter(|slot| slot.is_stored()) else { return };
        let workspace = live.session.head().workspace.clone();
        let keep = move |store: &mut dyn Store, workspace: &str| {
            store.put_memory(workspace, &memorize.id, memorize.memory, now())?;
            Ok(Ok(Value::Null))
        };
        if let Err(error) = self.change_memories(workspace, None, keep) {
            self.log(format!("a summary could not be remembered: {error}"));
        }
    }
}
