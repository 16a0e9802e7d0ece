//! Loads a session from its store: its lease, as much of it as is wanted, and its shared values.

use crate::server::clock::now;
use crate::server::host::queued::New;
use crate::server::services::agents;
use engine::id::{Generation, SessionId, Time};
use engine::memory::{Memory, MemoryQuery};
use engine::scope::Scope;
use serde_json::Value;
use session::agents::Agent;
use session::part::Claims;
use session::stored::{Always, Carried, Head, Origin, Part, Prefix, Stored, TitleFrom};
use store::error::StoreError;
use store::{Fence, Store, Workspaces};

/// Most memories of a folder that a session knows: more would never fit into a prompt.
const KNOWN: usize = 1000;

/// A session from its store, with its shared values.
pub(in crate::server) struct Loaded {
    /// The fence to write under.
    pub fence: Fence,
    /// `None` if the store has none with this id.
    pub stored: Option<Kept>,
    /// The scope, approvals and memories that it shares.
    pub shared: Shared,
}

/// The loaded extent of a session.
pub(in crate::server) enum Kept {
    /// The whole session.
    Whole(Stored),
    /// The newest part, and the claims that are new to the session.
    Part(Part, Claims),
}

impl Kept {
    /// The session's own row.
    pub fn head(&self) -> &Head {
        match self {
            Self::Whole(stored) | Self::Part(Part { stored, .. }, _) => &stored.head,
        }
    }
}

/// Values that a session shares with others.
#[derive(Default)]
pub(in crate::server) struct Shared {
    /// The scope of the session.
    pub scope: Scope,
    /// The approvals of its workspace.
    pub approvals: Vec<Always>,
    /// The memories of its workspace.
    pub memories: Vec<Memory>,
    /// The sessions that run in the background for it.
    pub agents: Vec<Agent>,
}

/// The session that a request means.
pub(in crate::server) struct Asked {
    /// The folders that it may belong to.
    pub meant: Workspaces,
    /// The session to create if it does not exist.
    pub new: Created,
    /// The newest messages that suffice, with the claims to check; `None` for the whole session.
    pub wanted: Option<(u32, Claims)>,
}

/// A session that does not exist yet.
pub(in crate::server) struct Created {
    /// Its folder.
    pub folder: String,
    /// The scope that it shares, if it has none of its own.
    pub work_scope: Option<String>,
    /// The session that it reports to.
    pub parent: Option<SessionId>,
}

/// Acquires a session, or takes it over, and loads it with its shared values; only a part if that suffices
/// for `wanted`.
pub(in crate::server) fn load(
    store: &mut dyn Store,
    id: &SessionId,
    since: Time,
    takes_over: bool,
    Asked { meant, new, wanted }: Asked,
) -> Result<Loaded, StoreError> {
    // Before the lease: a session of another folder is neither acquired nor taken from its holder.
    store::of_workspace(store, id, &meant)?;
    let Created { folder, work_scope, parent } = new;
    if let Some(parent) = parent {
        // It reports to its parent, and has its todos and approvals.
        store::of_workspace(store, &parent, &Workspaces::Named(folder.clone()))?;
    }
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
            None => (folder, work_scope),
        };
        let scope = scope.unwrap_or_else(|| Head::own_scope(id));
        let shared = Shared {
            scope: store.scope(&workspace, &scope)?,
            approvals: store.approvals(&workspace)?,
            memories: known_memories(store, &workspace)?,
            agents: store.tasks(id)?.iter().map(agents::seen).collect(),
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

/// The newest part of a session; `None` if it does not suffice.
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

/// The row of a new session in this folder.
pub(in crate::server) fn new_head(id: &SessionId, workspace: &str, new: New) -> Head {
    let at = now();
    Head {
        id: id.clone(),
        workspace: workspace.to_owned(),
        title_from: new.title.as_ref().map(|_| TitleFrom::Client),
        title: new.title,
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
        carried: Carried::of_agent(new.depth),
        settings: Value::Null,
        created_at: at,
        updated_at: at,
    }
}

/// The active memories of a folder, at most [`KNOWN`].
pub(in crate::server) fn known_memories(
    store: &mut dyn Store,
    workspace: &str,
) -> Result<Vec<Memory>, StoreError> {
    let query = MemoryQuery { active: Some(true), limit: KNOWN, ..MemoryQuery::default() };
    Ok(store.memories(workspace, &query)?.memories)
}
