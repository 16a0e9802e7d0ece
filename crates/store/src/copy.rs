//! Copies all that a store has into another one. One thread reads sessions, another one commits them in groups, and loads each
//! back: hashes of all that was read and of all that is there are compared. A session is committed as a whole, and one that
//! is there already and equal is left alone, so an interrupted copy is continued by starting it again.

mod whole;

use crate::error::StoreError;
use crate::list::{ListQuery, SessionRow};
use crate::{Commit, Store};
use engine::id::{SessionId, Time};
use engine::memory::{Memory, MemoryPatch, MemoryQuery};
use engine::scope::{Scope, ScopePatch};
use session::stored::Head;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use whole::{Hashes, Whole, difference};

/// Rows of one page.
const PAGE: u32 = 100;
/// Sessions that are read ahead, and those of a group.
const AHEAD: usize = 8;
/// Messages of a group, about.
const MOST_MESSAGES: usize = 2_000;

/// The outcome of a copy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Copied {
    /// Sessions that were copied.
    pub sessions: u64,
    /// Their revisions.
    pub revisions: u64,
    /// Their messages.
    pub messages: u64,
    /// Older versions of these.
    pub versions: u64,
    /// Sessions that were there already and equal.
    pub known: u64,
    /// Scopes, standing approvals and memories of the sessions' workspaces.
    pub shared: u64,
    /// Parts that were not copied or are not equal, each as a sentence.
    pub left: Vec<String>,
}

/// A session that was read.
struct Read {
    id: SessionId,
    hashes: Hashes,
    whole: Whole,
}

/// Copies everything. `told` is called with each session once it is done.
///
/// # Errors
/// Errors of either store; what was copied before stays.
pub fn copy(
    from: &mut dyn Store,
    to: &mut dyn Store,
    now: Time,
    mut told: impl FnMut(&SessionId),
) -> Result<Copied, StoreError> {
    let mut copied = Copied::default();
    let mut rows = all(from)?;
    // A parent is there before the sessions that name it.
    rows.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
    let mut scopes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in &rows {
        let scope = row.work_scope.clone().unwrap_or_else(|| Head::own_scope(&row.id));
        scopes.entry(row.workspace.clone()).or_default().insert(scope);
    }
    let there: BTreeSet<SessionId> = all(to)?.into_iter().map(|row| row.id).collect();
    let (read, next) = sync_channel(AHEAD);
    thread::scope(|scope| {
        let reader = scope.spawn(|| read_all(from, &rows, now, read));
        let written = write_all(to, &there, now, next, &mut copied, &mut told);
        // Without a receiver the reader ends, too.
        let held = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        written.and(held)
    })
    .map(|held| copied.left.extend(held))?;
    for (workspace, names) in &scopes {
        share(from, to, workspace, names, &mut copied)?;
    }
    Ok(copied)
}

fn all(store: &mut dyn Store) -> Result<Vec<SessionRow>, StoreError> {
    let mut query = ListQuery { limit: PAGE, ..ListQuery::default() };
    let mut rows = Vec::new();
    loop {
        let page = store.list(&query)?;
        rows.extend(page.sessions);
        match page.next {
            Some(next) => query.after = Some(next),
            None => return Ok(rows),
        }
    }
}

/// Reads all sessions, as long as they are received. Returns what is left out because a process holds it.
fn read_all(
    from: &mut dyn Store,
    rows: &[SessionRow],
    now: Time,
    read: SyncSender<Read>,
) -> Result<Vec<String>, StoreError> {
    let mut held = Vec::new();
    for row in rows {
        // Nobody changes it while it is read.
        let fence = match from.acquire(&row.id, now) {
            Ok(fence) => fence,
            Err(error @ StoreError::Held { .. }) => {
                held.push(error.to_string());
                continue;
            }
            Err(error) => return Err(error),
        };
        let whole = Whole::load(from, &row.id);
        from.release(&row.id, fence)?;
        let Some(whole) = whole? else { continue };
        let (id, hashes) = (row.id.clone(), whole.hashes());
        if read.send(Read { id, hashes, whole }).is_err() {
            break;
        }
    }
    Ok(held)
}

/// Writes sessions as they come, in groups.
fn write_all(
    to: &mut dyn Store,
    there: &BTreeSet<SessionId>,
    now: Time,
    next: Receiver<Read>,
    copied: &mut Copied,
    told: &mut dyn FnMut(&SessionId),
) -> Result<(), StoreError> {
    while let Ok(first) = next.recv() {
        let mut messages = first.whole.messages();
        let mut group = vec![first];
        while group.len() < AHEAD
            && messages < MOST_MESSAGES
            && let Ok(more) = next.try_recv()
        {
            messages += more.whole.messages();
            group.push(more);
        }
        let ids: Vec<SessionId> = group.iter().map(|read| read.id.clone()).collect();
        for read in &group {
            let unreadable = read.whole.stored.unreadable.iter();
            let id = &read.id;
            copied.left.extend(unreadable.map(|unreadable| {
                format!("session {id}: {unreadable} could not be read and was not copied")
            }));
        }
        let (known, new): (Vec<_>, Vec<_>) = group.into_iter().partition(|read| there.contains(&read.id));
        for read in known {
            compare(to, &read, copied)?;
        }
        write(to, new, now, copied)?;
        ids.iter().for_each(&mut *told);
    }
    Ok(())
}

/// Compares a session with the one that is there.
fn compare(to: &mut dyn Store, read: &Read, copied: &mut Copied) -> Result<(), StoreError> {
    let id = &read.id;
    let there = Whole::load(to, id)?.map(|there| there.hashes());
    match there.map_or(Some("presence"), |there| difference(&read.hashes, &there)) {
        None => copied.known += 1,
        Some(part) => copied
            .left
            .push(format!("session {id} is there already and differs in its {part}; it was left as it is")),
    }
    Ok(())
}

/// Writes new sessions, and looks at what is there then.
fn write(to: &mut dyn Store, group: Vec<Read>, now: Time, copied: &mut Copied) -> Result<(), StoreError> {
    let (mut commits, mut hashes) = (Vec::new(), Vec::new());
    for read in group {
        let fence = to.acquire(&read.id, now)?;
        copied.sessions += 1;
        copied.revisions += read.whole.revisions.len() as u64;
        copied.messages += read.whole.stored.messages.len() as u64;
        copied.versions += read.whole.older.len() as u64;
        commits.push(Commit { session: read.id.clone(), fence, writes: Arc::new(read.whole.writes()) });
        // Places that could not be read are not in the copy.
        let is_whole = read.whole.is_readable();
        hashes.push((read.id, if is_whole { read.hashes } else { read.whole.readable().hashes() }));
    }
    let done = to.commit_all(&commits);
    for commit in &commits {
        to.release(&commit.session, commit.fence)?;
    }
    drop(commits);
    done.into_iter().collect::<Result<(), _>>()?;
    for (id, read) in hashes {
        let there = Whole::load(to, &id)?.map(|there| there.hashes());
        let difference = there.map_or(Some("presence"), |there| difference(&read, &there));
        copied.left.extend(
            difference
                .map(|part| format!("session {id} was copied and differs in its {part} from what was read")),
        );
    }
    Ok(())
}

/// Copies what the sessions of a workspace share. What is there already stays.
fn share(
    from: &mut dyn Store,
    to: &mut dyn Store,
    workspace: &str,
    scopes: &BTreeSet<String>,
    copied: &mut Copied,
) -> Result<(), StoreError> {
    for name in scopes {
        let scope = from.scope(workspace, name)?;
        if scope.revision > 0 && to.scope(workspace, name)?.revision == 0 {
            to.put_scope(workspace, name, &patch_of(scope), None)?;
            copied.shared += 1;
        }
    }
    let there = to.approvals(workspace)?;
    for always in from.approvals(workspace)?.iter().filter(|always| !there.contains(always)) {
        to.approve(workspace, always)?;
        copied.shared += 1;
    }
    let there: BTreeSet<String> = memories(to, workspace)?.into_iter().map(|memory| memory.id).collect();
    for memory in memories(from, workspace)?.into_iter().filter(|memory| !there.contains(&memory.id)) {
        let Memory { id, area, text, importance, tags, active, source, created_at, updated_at } = memory;
        let new = MemoryPatch { text: Some(text.clone()), ..MemoryPatch::default() };
        to.put_memory(workspace, &id, new, created_at)?;
        let patch = MemoryPatch {
            area: Some(area),
            text: Some(text),
            importance: Some(importance),
            tags: Some(tags),
            active: Some(active),
            source,
        };
        to.put_memory(workspace, &id, patch, updated_at)?;
        copied.shared += 1;
    }
    Ok(())
}

fn patch_of(scope: Scope) -> ScopePatch {
    let Scope { todos, plan, pins, artifacts, .. } = scope;
    ScopePatch {
        todos: Some(todos),
        plan,
        pins: Some(pins),
        artifacts: Some(artifacts),
        ..ScopePatch::default()
    }
}

fn memories(store: &mut dyn Store, workspace: &str) -> Result<Vec<Memory>, StoreError> {
    let mut query = MemoryQuery { limit: PAGE as usize, ..MemoryQuery::default() };
    let mut found = Vec::new();
    loop {
        let page = store.memories(workspace, &query)?;
        found.extend(page.memories);
        match page.next {
            Some(next) => query.skip = next,
            None => return Ok(found),
        }
    }
}

#[cfg(test)]
mod tests;
