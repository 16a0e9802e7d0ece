//! Copies all that a store has into another one, session by session. A session is copied in one commit, and loaded from
//! both stores afterwards and compared; one that is there already and equal is left alone, so an interrupted copy is
//! continued by starting it again.

use crate::Store;
use crate::error::StoreError;
use crate::list::{ListQuery, RevisionRow, SessionRow};
use engine::id::{Ordinal, SessionId, Time};
use engine::memory::{Memory, MemoryPatch, MemoryQuery};
use engine::scope::{Scope, ScopePatch};
use session::stored::{Head, Stored, Write};
use std::collections::{BTreeMap, BTreeSet};

/// Rows of one page.
const PAGE: u32 = 100;

/// The outcome of a copy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Copied {
    /// Sessions that were copied.
    pub sessions: u64,
    /// Their revisions.
    pub revisions: u64,
    /// Their messages.
    pub messages: u64,
    /// Sessions that were there already and equal.
    pub known: u64,
    /// Scopes, standing approvals and memories of the sessions' workspaces.
    pub shared: u64,
    /// Parts that were not copied or are not equal, each as a sentence.
    pub left: Vec<String>,
}

/// A session as a copy must have it.
#[derive(Debug)]
struct Whole {
    stored: Stored,
    /// The oldest first.
    revisions: Vec<(RevisionRow, Stored)>,
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
        match from.acquire(&row.id, now) {
            Ok(fence) => {
                let done = one(from, to, (&row.id, now), &mut copied);
                from.release(&row.id, fence)?;
                done?;
            }
            Err(error @ StoreError::Held { .. }) => copied.left.push(error.to_string()),
            Err(error) => return Err(error),
        }
        told(&row.id);
    }
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

/// Copies a session, unless it is there.
fn one(
    from: &mut dyn Store,
    to: &mut dyn Store,
    (id, now): (&SessionId, Time),
    copied: &mut Copied,
) -> Result<(), StoreError> {
    let Some(source) = whole(from, id)? else { return Ok(()) };
    for unreadable in &source.stored.unreadable {
        copied.left.push(format!("session {id}: {unreadable} could not be read and was not copied"));
    }
    if let Some(there) = whole(to, id)? {
        match source.difference(&there) {
            None => copied.known += 1,
            Some(part) => copied.left.push(format!(
                "session {id} is there already and differs in its {part}; it was left as it is"
            )),
        }
        return Ok(());
    }
    let fence = to.acquire(id, now)?;
    let done = to.commit(id, fence, &source.writes());
    to.release(id, fence)?;
    done?;
    copied.sessions += 1;
    copied.revisions += source.revisions.len() as u64;
    copied.messages += source.stored.messages.len() as u64;
    let source = source.readable();
    let difference = whole(to, id)?.map_or(Some("presence"), |there| source.difference(&there));
    copied.left.extend(
        difference
            .map(|part| format!("session {id} was copied and differs in its {part} from what was read")),
    );
    Ok(())
}

fn whole(store: &mut dyn Store, id: &SessionId) -> Result<Option<Whole>, StoreError> {
    let Some(stored) = store.load(id)? else { return Ok(None) };
    let (mut revisions, mut before) = (Vec::new(), None);
    while let Some(page) = store.revisions(id, before, PAGE)? {
        for row in page.revisions {
            let stored = store.load(&row.revision.id)?;
            revisions.extend(stored.map(|stored| (row, stored)));
        }
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    revisions.reverse();
    Ok(Some(Whole { stored, revisions }))
}

impl Whole {
    /// Without the places that could not be read.
    fn readable(mut self) -> Self {
        self.stored.unreadable.clear();
        self.revisions.iter_mut().for_each(|(_, stored)| stored.unreadable.clear());
        self
    }

    /// The first part in which another one differs.
    fn difference(&self, other: &Self) -> Option<&'static str> {
        let states = std::iter::once((&self.stored, &other.stored));
        let revisions = self.revisions.iter().zip(&other.revisions);
        let mut states = states.chain(revisions.clone().map(|((_, is), (_, other))| (is, other)));
        let is_listed_alike = self.revisions.len() == other.revisions.len()
            && revisions.clone().all(|((is, _), (other, _))| is.revision == other.revision);
        if !is_listed_alike {
            return Some("revisions");
        }
        states.find_map(|(is, other)| {
            let same = [
                ("head", is.head == other.head),
                ("messages", is.messages == other.messages),
                ("turns", is.turns == other.turns),
                ("compactions", is.compactions == other.compactions),
                ("queue", is.queue == other.queue),
                ("keys", is.keys == other.keys),
                ("draft", is.draft == other.draft),
                ("unfinished answer", is.streamed == other.streamed),
                ("unreadable rows", is.unreadable == other.unreadable),
            ];
            same.into_iter().find(|(_, is_same)| !is_same).map(|(part, _)| part)
        })
    }

    /// The writes that make this session: each revision as the session once was, then the session.
    fn writes(&self) -> Vec<Write> {
        let mut writes = Vec::new();
        let mut before: Option<&Stored> = None;
        for (row, stored) in &self.revisions {
            let mut head = Head { id: self.stored.head.id.clone(), ..stored.head.clone() };
            head.origin = self.stored.head.origin;
            head.parent.clone_from(&self.stored.head.parent);
            writes.extend(step(before, stored, head));
            writes.push(Write::Revision(row.revision.clone()));
            before = Some(stored);
        }
        writes.extend(step(before, &self.stored, self.stored.head.clone()));
        writes.extend(self.stored.queue.iter().cloned().map(|item| Write::Enqueue(Box::new(item))));
        let keys = self.stored.keys.iter().cloned();
        writes.extend(keys.map(|(key, accepted)| Write::Key { key, accepted }));
        writes.extend(self.stored.draft.iter().cloned().map(|draft| Write::Draft(Some(draft))));
        writes.extend(self.stored.streamed.iter().cloned().map(Write::Streamed));
        writes
    }
}

/// The writes that turn one state of a session into a later one.
fn step(before: Option<&Stored>, after: &Stored, head: Head) -> Vec<Write> {
    let mut writes = vec![Write::Head(Box::new(head))];
    let known = before.map(|before| before.messages.as_slice()).unwrap_or_default();
    let same = known.iter().zip(&after.messages).take_while(|(was, is)| was == is).count();
    if same < known.len() {
        let from = known.get(same).map_or(Ordinal(0), |(_, message)| message.ord);
        let turns = after.messages.get(..same).and_then(<[_]>::last).map_or(0, |(turn, _)| turn + 1);
        writes.push(Write::Truncate { from, turns });
    }
    writes.extend(after.turns.iter().cloned().map(Write::Turn));
    for (turn, message) in after.messages.iter().skip(same) {
        writes.push(Write::Message { turn: *turn, message: message.clone() });
    }
    let known = before.map(|before| before.compactions.as_slice()).unwrap_or_default();
    for compaction in &after.compactions {
        match known.iter().find(|known| known.id == compaction.id) {
            Some(known) if known == compaction => {}
            Some(_) => {
                let (id, status) = (compaction.id.clone(), compaction.status);
                writes.push(Write::CompactionStatus { id, status });
            }
            None => writes.push(Write::Compaction(Box::new(compaction.clone()))),
        }
    }
    writes
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
