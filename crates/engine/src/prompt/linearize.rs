//! The last step before a wire: joining for wires that need alternating roles, and the checks that every
//! prompt must pass. Prompts are compared before joining; joining depends on roles only, so it is stable.

use super::item::{Item, Role};
use crate::id::CallId;
use std::collections::BTreeSet;

/// Joins adjacent messages of one role into one with separate parts, texts byte for byte. Tool results are
/// not joined, because each answers a call of its own.
pub fn join_neighbours(items: &[Item]) -> Vec<Item> {
    let mut joined: Vec<Item> = Vec::new();
    for item in items {
        match joined.last_mut() {
            Some(last) if last.role == item.role && item.role != Role::Tool => {
                last.parts.extend(item.parts.iter().cloned());
                last.calls.extend(item.calls.iter().cloned());
                last.sources.extend(item.sources.iter().copied());
                last.tokens += item.tokens;
            }
            _ => joined.push(item.clone()),
        }
    }
    joined
}

/// A broken pair, or two calls with one id: any provider rejects such a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PairFault {
    /// A call without a result after it.
    Unanswered(CallId),
    /// A result without a call of its id before it.
    Orphan(Option<CallId>),
    /// An id that an earlier call used.
    Twice(CallId),
}

/// Returns every broken pair of a prompt. Results must directly follow their assistant message, exactly one per call.
pub fn pair_faults(items: &[Item]) -> Vec<PairFault> {
    let mut faults = Vec::new();
    let mut seen = BTreeSet::new();
    let mut open: Vec<CallId> = Vec::new();
    for item in items {
        if item.role == Role::Tool {
            match item.call_id.as_ref().and_then(|id| open.iter().position(|waiting| waiting == id)) {
                Some(at) => {
                    open.remove(at);
                }
                None => faults.push(PairFault::Orphan(item.call_id.clone())),
            }
            continue;
        }
        faults.extend(open.drain(..).map(PairFault::Unanswered));
        for call in &item.calls {
            if !seen.insert(call.id.clone()) {
                faults.push(PairFault::Twice(call.id.clone()));
            }
            open.push(call.id.clone());
        }
    }
    faults.extend(open.into_iter().map(PairFault::Unanswered));
    faults
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::item::ItemPart;

    #[test]
    fn adjacent_user_messages_are_joined_with_separate_parts() {
        let items = [
            Item::made(Role::User, "first\n", 5),
            Item::made(Role::User, " second", 6),
            Item::made(Role::Assistant, "answer", 7),
            Item::made(Role::User, "third", 8),
        ];
        let joined = join_neighbours(&items);
        let roles: Vec<Role> = joined.iter().map(|item| item.role).collect();
        assert_eq!(roles, [Role::User, Role::Assistant, Role::User]);
        assert_eq!(joined[0].parts, [ItemPart::text("first\n"), ItemPart::text(" second")]);
        assert_eq!(joined[0].tokens, 11);
        assert_eq!(join_neighbours(&joined), joined, "a join is stable");
    }

    #[test]
    fn adjacent_system_messages_and_answers_are_joined() {
        let items = [
            Item::made(Role::System, "You are an agent.", 5),
            Item::made(Role::System, "summary", 6),
            Item::made(Role::User, "go", 2),
            Item::made(Role::Assistant, "one", 3),
            Item::made(Role::Assistant, "two", 4),
        ];
        let joined = join_neighbours(&items);
        let roles: Vec<Role> = joined.iter().map(|item| item.role).collect();
        assert_eq!(roles, [Role::System, Role::User, Role::Assistant]);
        assert_eq!(joined[0].parts, [ItemPart::text("You are an agent."), ItemPart::text("summary")]);
        assert_eq!(joined[2].tokens, 7);
    }

    #[test]
    fn broken_pairs_are_found_in_both_directions() {
        let id = CallId::new("c1");
        let call = |id: &CallId| super::super::item::ItemCall {
            id: id.clone(),
            name: "read".into(),
            arguments: "{}".into(),
        };
        let ask = Item { calls: vec![call(&id)], ..Item::made(Role::Assistant, "", 1) };
        let answer = Item { call_id: Some(id.clone()), ..Item::made(Role::Tool, "x", 1) };
        assert_eq!(pair_faults(&[ask.clone(), answer.clone()]), []);
        assert_eq!(pair_faults(std::slice::from_ref(&ask)), [PairFault::Unanswered(id.clone())]);
        assert_eq!(pair_faults(std::slice::from_ref(&answer)), [PairFault::Orphan(Some(id.clone()))]);
        let twice = [ask.clone(), answer.clone(), ask, answer];
        assert_eq!(pair_faults(&twice), [PairFault::Twice(id)]);
    }
}
