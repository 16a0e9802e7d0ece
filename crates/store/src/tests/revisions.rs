//! Revisions over each backend: what they keep, who lists them, and what their session's deletion takes along.

use crate::error::StoreError;
use crate::list::{ListQuery, RevisionPage, RevisionRow};
use crate::testing::{compaction, head, keep, message, on_each, revision, session, step, user};
use engine::id::{Ordinal, Time};
use session::stored::{Inherited, Origin, Write};
use std::sync::Arc;

#[test]
fn a_revision_keeps_what_the_session_then_loses() {
    on_each(|bench| {
        let large = user(&"large 漢 ".repeat(10_000));
        let mut writes = step("s", 0, 6);
        writes.push(Write::Message { turn: 3, message: Arc::new(message(6, large)) });
        writes.push(Write::Compaction(Box::new(compaction("s/c0", 1))));
        bench.write("s", &writes);
        let whole = bench.load("s").unwrap();
        bench.write("s", &[keep("r"), Write::Truncate { from: Ordinal(2), turns: 1 }]);
        bench.reopen();
        let kept = bench.load("r").unwrap();
        assert_eq!(kept.head.id, session("r"));
        assert_eq!((&kept.head.parent, kept.head.origin), (&Some(session("s")), Origin::Revision));
        assert_eq!(kept.head.title, whole.head.title);
        assert_eq!((&kept.messages, &kept.turns), (&whole.messages, &whole.turns));
        assert_eq!((kept.compactions, kept.unreadable), (whole.compactions.clone(), Vec::new()));
        let rest = bench.load("s").unwrap();
        assert_eq!(rest.messages, whole.messages[..2]);
        assert_eq!(rest.turns, whole.turns[..1]);
        assert_eq!((bench.row("s").messages, bench.row("s").turns), (2, 1));
        let deleted = bench.delete("s").unwrap();
        // What both have counts once.
        assert_eq!((deleted.messages, deleted.turns, deleted.compactions), (7, 3, 1));
        assert_eq!((deleted.revisions, deleted.copies), (vec![session("r")], Vec::new()));
        assert_eq!((bench.load("s"), bench.load("r")), (None, None));
        assert_eq!(bench.delete("s"), None);
    });
}

#[test]
fn revisions_are_listed_with_their_session_alone() {
    on_each(|bench| {
        bench.write("s", &step("s", 0, 2));
        bench.write("other", &step("other", 0, 2));
        for (n, id) in ["r1", "r2", "r3"].into_iter().enumerate() {
            let mut after = head("s");
            after.cuts = n as u32 + 1;
            bench.write("s", &[keep(id), Write::Head(Box::new(after))]);
        }
        bench.reopen();
        let row = |id: &str, number| RevisionRow { revision: revision(id), number, messages: 2 };
        let mut page = |before, limit| bench.store().revisions(&session("s"), before, limit).unwrap();
        let first = RevisionPage { revisions: vec![row("r3", 2), row("r2", 1)], next: Some(1) };
        assert_eq!(page(None, 2), Some(first));
        let last = RevisionPage { revisions: vec![row("r1", 0)], next: None };
        assert_eq!(page(Some(1), 2), Some(last));
        assert_eq!(page(None, 3).map(|page| page.next), Some(None));
        let store = bench.store();
        assert_eq!(store.revisions(&session("other"), None, 9), Ok(Some(RevisionPage::default())));
        assert_eq!(store.revisions(&session("nothing"), None, 9), Ok(None));
        let facts = store.diagnostics().unwrap();
        assert_eq!((facts.sessions, facts.messages), (2, 4));
        for workspace in [None, Some("w".to_owned())] {
            let all = bench.list(&ListQuery { workspace, limit: 9, ..ListQuery::default() });
            let ids: Vec<&str> = all.sessions.iter().map(|row| row.id.as_str()).collect();
            assert_eq!(ids, ["other", "s"]);
        }
    });
}

#[test]
fn a_revision_is_read_but_never_opened_or_written() {
    on_each(|bench| {
        bench.write("s", &step("s", 0, 2));
        // Acquired before it exists, as by a client that knows its id.
        let fence = bench.store().acquire(&session("r"), Time(1)).unwrap();
        bench.write("s", &[keep("r")]);
        let refused = || StoreError::IsRevision { session: session("r"), of: session("s") };
        let before = bench.load("r").unwrap();
        let store = bench.store();
        assert_eq!(store.commit(&session("r"), fence, &step("r", 2, 1)), Err(refused()));
        assert_eq!(store.acquire(&session("r"), Time(1)), Err(refused()));
        assert_eq!(store.take_over(&session("r"), Time(1)), Err(refused()));
        assert_eq!(store.delete(&session("r")), Err(refused()));
        let page = store.messages(&session("r"), None, 9).unwrap().unwrap();
        assert_eq!(page.messages.len(), 2);
        assert_eq!(bench.load("r"), Some(before));
    });
}

#[test]
fn deletion_names_the_branches_that_stay() {
    on_each(|bench| {
        bench.write("s", &step("s", 0, 2));
        let mut branch = head("b");
        (branch.parent, branch.origin) = (Some(session("s")), Origin::Branch);
        let branch = vec![Write::Head(Box::new(branch))];
        bench.write(
            "s",
            &[Write::Branch { to: session("b"), inherited: Inherited::default(), writes: branch }, keep("r")],
        );
        let deleted = bench.delete("s").unwrap();
        assert_eq!(
            (deleted.revisions, deleted.branches, deleted.scrubbed),
            (vec![session("r")], vec![session("b")], false)
        );
        assert!(bench.load("b").is_some());
    });
}
