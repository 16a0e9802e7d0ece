//! The newest sessions of a store and how they changed, for clients that asked for a list and need other
//! processes' changes of it. Pure values.

use engine::id::{SessionId, Time};
use session::state::StateName;
use std::collections::BTreeMap;
use store::list::{ListQuery, Page, SessionRow};

/// Number of sessions compared. Older ones change only by becoming newer.
const ROWS: u32 = 50;

/// The query for the sessions to compare.
pub(super) fn newest() -> ListQuery {
    ListQuery { limit: ROWS, ..ListQuery::default() }
}

/// The newest sessions of a store.
#[derive(Debug)]
pub(super) struct Newest {
    rows: BTreeMap<SessionId, SessionRow>,
    /// Latest creation time among them.
    made: Time,
    /// `true` if the store has more.
    has_more: bool,
}

/// Differences between two pages.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Changed {
    pub created: Vec<SessionRow>,
    pub updated: Vec<SessionRow>,
    pub deleted: Vec<SessionId>,
}

impl Newest {
    /// Converts the result of the query [`newest`].
    pub fn of(page: Page) -> Self {
        let made = page.sessions.iter().map(|row| row.created_at).max().unwrap_or_default();
        let rows = page.sessions.into_iter().map(|row| (row.id.clone(), row)).collect();
        Self { rows, made, has_more: page.next.is_some() }
    }

    /// Forgets a deleted session: whoever deleted it has reported that.
    pub fn forget(&mut self, id: &SessionId) {
        self.rows.remove(id);
    }

    /// `true` if one of those that `is_counted` is at work.
    pub fn has_work(&self, is_counted: impl Fn(&SessionId) -> bool) -> bool {
        let mut rows = self.rows.values();
        rows.any(|row| row.state == Some(StateName::Generating) && is_counted(&row.id))
    }

    /// Changes from this page to `new`.
    pub fn until(&self, new: &Self) -> Changed {
        let mut changed = Changed::default();
        for (id, row) in new.rows.iter().filter(|(id, row)| self.rows.get(*id) != Some(*row)) {
            // A session that was not among the newest may only have been used again.
            let is_old = self.rows.contains_key(id) || self.has_more && row.created_at <= self.made;
            if is_old { &mut changed.updated } else { &mut changed.created }.push(row.clone());
        }
        let oldest = new.rows.values().map(|row| row.updated_at).min().unwrap_or_default();
        let gone = self.rows.values().filter(|row| !new.rows.contains_key(&row.id));
        let gone = gone.filter(|row| !new.has_more || row.updated_at > oldest);
        changed.deleted.extend(gone.map(|row| row.id.clone()));
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use session::stored::Driver;
    use store::list::Cursor;

    fn row(id: &str, created_at: u64, updated_at: u64) -> SessionRow {
        SessionRow {
            id: SessionId::new(id),
            workspace: String::new(),
            title: None,
            driver: Driver::Sidecar,
            kind: None,
            parent: None,
            origin: Default::default(),
            work_scope: None,
            updated_at: Time(updated_at),
            created_at: Time(created_at),
            messages: 0,
            turns: 0,
            first_request: None,
            summary: None,
            summarized_count: 0,
            state: None,
        }
    }

    fn page(rows: &[SessionRow], has_more: bool) -> Newest {
        let next = has_more.then(|| Cursor { updated_at: Time(0), id: SessionId::new("x") });
        Newest::of(Page { sessions: rows.to_vec(), next })
    }

    #[test]
    fn changes_are_reported_and_mere_moves_are_not() {
        let (a, b, c) = (row("a", 1, 5), row("b", 2, 4), row("c", 3, 9));
        let used = row("a", 1, 8);
        let changed = page(&[a.clone(), b.clone()], false).until(&page(&[c.clone(), used.clone()], false));
        assert_eq!(
            changed,
            Changed { created: vec![c.clone()], updated: vec![used], deleted: vec![b.id.clone()] }
        );
        // On a full page the oldest one only makes room, and one that moves up is not new.
        let changed = page(&[a.clone(), b.clone()], true).until(&page(&[c.clone(), a.clone()], true));
        assert_eq!(changed, Changed { created: vec![c.clone()], ..Changed::default() });
        let came_up = row("old", 1, 9);
        let changed = page(&[c.clone(), a.clone()], true).until(&page(&[came_up.clone(), a], true));
        assert_eq!(changed, Changed { updated: vec![came_up], deleted: vec![c.id], ..Changed::default() });
    }

    #[test]
    fn only_a_turn_at_work_may_lose_its_writer() {
        let others = |id: &SessionId| id.as_str() != "mine";
        let states = [None, Some(StateName::Idle), Some(StateName::Paused), Some(StateName::Generating)];
        let has_work = |id: &str| {
            states.map(|state| page(&[SessionRow { state, ..row(id, 1, 1) }], false).has_work(others))
        };
        assert_eq!(has_work("a"), [false, false, false, true]);
        assert_eq!(has_work("mine"), [false; 4]);
    }
}
