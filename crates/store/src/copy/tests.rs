//! Copies between each two backends.

use super::whole::{Whole, difference};
use super::{Copied, copy};
use crate::Store;
use crate::testing::{Bench, backends, compaction, enqueue, head, keep, key, message, session, step, user};
use engine::id::{Ordinal, Time};
use session::stored::Write;
use std::sync::Arc;

fn edit(ord: u32, rev: u32, text: &str) -> Write {
    let mut message = message(ord, user(text));
    message.rev = rev;
    Write::Message { turn: ord / 2, message: Arc::new(message) }
}

/// A session with edits before and after its revision, and one without.
fn fill(bench: &mut Bench) {
    bench.write("s", &step("s", 0, 8));
    bench.write("s", &[edit(3, 1, "three again"), Write::Compaction(Box::new(compaction("s/c0", 2)))]);
    bench.write("s", &[keep("kept")]);
    bench.write("s", &[edit(3, 2, "three once more"), edit(5, 1, "five again")]);
    bench.write("s", &[enqueue("q", false, "later"), key("k", "t"), Write::Draft(Some("d".into()))]);
    let mut other = step("other", 0, 4);
    other.push(Write::Truncate { from: Ordinal(3), turns: 2 });
    bench.write("other", &other);
}

fn hashes(store: &mut dyn Store, id: &str) -> super::Hashes {
    Whole::load(store, &session(id)).unwrap().unwrap().hashes()
}

#[test]
fn older_versions_and_revisions_are_copied_between_all_backends() {
    for kinds in backends().into_iter().flat_map(|from| backends().into_iter().map(move |to| (from, to))) {
        let (mut from, mut to) = (Bench::new(kinds.0), Bench::new(kinds.1));
        fill(&mut from);
        let versions = from.store().older_versions(&session("s")).unwrap();
        let versions: Vec<_> = versions.iter().map(|(_, message)| (message.ord.0, message.rev)).collect();
        assert_eq!(versions, [(3, 0), (3, 1), (5, 0)], "{kinds:?}");
        let mut told = Vec::new();
        let copied = copy(from.store(), to.store(), Time(1), |id| told.push(id.clone())).unwrap();
        let all = Copied { sessions: 2, revisions: 1, messages: 11, versions: 3, ..Copied::default() };
        assert_eq!(copied, all, "{kinds:?}");
        assert_eq!(told.len(), 2);
        for id in ["s", "other", "kept"] {
            assert_eq!(hashes(from.store(), id), hashes(to.store(), id), "{kinds:?}: {id}");
            assert_eq!(from.load(id), to.load(id), "{kinds:?}: {id}");
        }
        let again = copy(from.store(), to.store(), Time(1), |_| {}).unwrap();
        assert_eq!(again, Copied { known: 2, ..Copied::default() }, "{kinds:?}");
        // What is left over is copied, and the rest is known.
        to.delete("other");
        let rest = copy(from.store(), to.store(), Time(1), |_| {}).unwrap();
        assert_eq!(rest, Copied { sessions: 1, messages: 3, known: 1, ..Copied::default() }, "{kinds:?}");
    }
}

#[test]
fn every_part_that_differs_is_told() {
    let kind = backends()[0];
    let mut from = Bench::new(kind);
    fill(&mut from);
    let changes = [
        (edit(3, 3, "another"), "messages"),
        (Write::Draft(None), "draft"),
        (key("k2", "t"), "keys"),
        (enqueue("q2", false, "later"), "queue"),
        (Write::Head(Box::new(head("s"))), "head"),
        (keep("kept2"), "revisions"),
    ];
    for (change, part) in changes {
        let mut to = Bench::new(kind);
        copy(from.store(), to.store(), Time(1), |_| {}).unwrap();
        let title = crate::testing::head("s");
        let change = match change {
            Write::Head(_) => {
                Write::Head(Box::new(session::stored::Head { title: Some("x".into()), ..title }))
            }
            other => other,
        };
        to.write("s", &[change]);
        assert_eq!(difference(&hashes(from.store(), "s"), &hashes(to.store(), "s")), Some(part));
        let copied = copy(from.store(), to.store(), Time(1), |_| {}).unwrap();
        let left = format!("session s is there already and differs in its {part}; it was left as it is");
        assert_eq!(copied, Copied { known: 1, left: vec![left], ..Copied::default() });
    }
}
