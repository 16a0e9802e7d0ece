//! Tests of every backend: loading, steps, lists, leases, deletion. Tests of files are in the modules below.
//! `on_each` runs a test on each backend.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod damage;
mod erased;
mod follow;
mod kept;
mod lease;
mod memories;
mod part;
mod property;
mod revisions;
mod search;
mod segments;
mod shared;
mod tasks;
mod upgrade;
mod waiting;
mod worker;
mod written;

use crate::Fence;
use crate::error::StoreError;
use crate::list::{ListQuery, SessionRow};
use crate::testing::{
    Backend, Bench, bodies, compaction, expected, head, heard, keep, message, on_each, session, step, user,
};
use engine::compact::record::Status;
use engine::cost::Cost;
use engine::id::{Generation, Ordinal, SessionId, Time, TurnId};
use engine::message::{Body, Usage};
use engine::prompt::item::{Approval, Tool};
use engine::prompt::system::{CallerSection, OnOverflow, Place};
use session::stored::{Driver, Origin, TitleFrom, TurnFigures, TurnRow, TurnStatus, Write};
use std::sync::Arc;

#[test]
fn whole_session_comes_back_in_a_new_process() {
    on_each(|bench| {
        let mut first = head("s");
        first.title = Some("漢字 \u{0} title".into());
        first.title_from = Some(TitleFrom::Model);
        first.origin = Origin::Branch;
        first.accepted = 41;
        first.driver = Driver::Editor;
        first.kind = Some("review".into());
        first.parent = Some(session("older"));
        first.work_scope = Some("scope".into());
        first.generation = Generation(3);
        first.cuts = 2;
        first.settings = serde_json::json!({ "z": 1, "a": [0.1, 1e300, 0.30000000000000004], "$blob": "x" });
        first.prefix.sections = vec![CallerSection {
            place: Place::Memory,
            name: "rules".into(),
            content: "r".repeat(100_000),
            priority: 7,
            max_tokens: Some(9),
            on_overflow: OnOverflow::Shrink,
        }];
        first.prefix.tools = vec![Tool {
            rules: Vec::new(),
            ends_turn: None,
            name: "read".into(),
            description: "reads".into(),
            input_schema: serde_json::json!({ "type": "object", "$blob": { "$blob": "y" } }),
            kind: None,
            guidelines: Some("g".into()),
            approval: Approval::Ask,
            origin: None,
        }];
        let mut writes = vec![Write::Head(Box::new(first))];
        for (n, body) in bodies().into_iter().enumerate() {
            let mut message = message(n as u32, body);
            message.external_id = (n % 2 == 0).then(|| format!("ext \u{0} {n}"));
            message.created_at = (n % 3 == 0).then(|| "2025-01-01T00:00:00Z".to_owned());
            message.visible_to_model = n % 5 != 0;
            writes.push(Write::Message { turn: n as u32 / 4, message: Arc::new(message) });
        }
        for (index, status) in
            [TurnStatus::Completed, TurnStatus::Cancelled, TurnStatus::Failed, TurnStatus::Running]
                .into_iter()
                .enumerate()
        {
            let id = TurnId::new(format!("s/t{index}"));
            writes.push(Write::Turn(TurnRow {
                index: index as u32,
                id,
                status,
                started: None,
                decided: Vec::new(),
                figures: TurnFigures {
                    usage: Some(Usage { input_tokens: Some(9), ..Usage::default() }),
                    spent: Some(Cost { incomplete: 1, ..Cost::reported(0.25.into()) }),
                    interrupted: status == TurnStatus::Cancelled,
                    ..TurnFigures::default()
                },
            }));
        }
        let mut record = compaction("s/c0", 3);
        record.narrative = Some("n".repeat(40_000).into());
        writes.push(Write::Compaction(Box::new(record)));
        writes.push(Write::Compaction(Box::new(compaction("s/c1", 5))));
        let mut expected = expected(&writes);
        bench.write("s", &writes);
        assert_eq!(bench.load("s"), Some(expected.clone()));
        bench.reopen();
        assert_eq!(bench.load("s"), Some(expected.clone()));
        // An existing record counts as written; its status changes separately.
        let void = Write::CompactionStatus { id: compaction("s/c1", 5).id, status: Status::Void };
        bench.write("s", &[void]);
        expected.compactions[1].status = Status::Void;
        bench.reopen();
        assert_eq!(bench.load("s"), Some(expected));
        assert_eq!(bench.load("other"), None);
    });
}

#[test]
fn a_step_is_written_whole_or_not_at_all() {
    on_each(|bench| {
        bench.write("s", &step("s", 0, 3));
        let before = bench.load("s");
        let row = bench.row("s");
        let mut other = message(0, user("something else stands here"));
        other.external_id = Some("other".into());
        let wrong: Vec<Write> = vec![
            Write::Message { turn: 0, message: Arc::new(other) },
            Write::CompactionStatus { id: compaction("s/c9", 0).id, status: Status::Void },
            keep("s"),
            Write::Head(Box::new(head("not s"))),
        ];
        for wrong in wrong {
            let mut changed = head("s");
            changed.title = Some("changed".into());
            let fine = [
                vec![Write::Head(Box::new(changed)), Write::Compaction(Box::new(compaction("s/c0", 1)))],
                step("s", 3, 2),
                vec![keep("fork"), Write::Truncate { from: Ordinal(1), turns: 0 }],
            ]
            .concat();
            let error = bench.try_write("s", &[fine, vec![wrong.clone()]].concat()).unwrap_err();
            assert!(matches!(error, StoreError::Refused { .. }), "{wrong:?}: {error}");
            assert_eq!(bench.load("s"), before, "{wrong:?}");
            assert_eq!(bench.row("s"), row, "{wrong:?}");
            assert_eq!(bench.load("fork"), None, "{wrong:?}");
        }
        let unknown = bench.try_write("unknown", &step("s", 0, 1)[1..]).unwrap_err();
        assert!(matches!(unknown, StoreError::Refused { .. }), "{unknown}");
    });
}

#[test]
fn a_step_that_is_tried_again_is_written_once() {
    on_each(|bench| {
        let writes = [step("s", 0, 4), vec![Write::Compaction(Box::new(compaction("s/c0", 1)))]].concat();
        bench.write("s", &writes);
        let (before, row) = (bench.load("s"), bench.row("s"));
        bench.write("s", &writes);
        assert_eq!(bench.load("s"), before);
        assert_eq!(bench.row("s"), row);
    });
}

/// A kill between two writes equals a failure there: summary and count are both old or both new.
#[test]
fn summary_and_count_move_together_and_covered_messages_stay() {
    on_each(|bench| {
        bench.write("s", &step("s", 0, 8));
        let pair = |bench: &mut Bench| {
            let row = bench.row("s");
            (row.summary, row.summarized_count)
        };
        assert_eq!(pair(bench), (None, 0));
        let [first, second] = [compaction("s/c0", 3), compaction("s/c1", 5)];
        let status = |id: &str, status| Write::CompactionStatus { id: compaction(id, 0).id, status };
        let failing = [Write::Compaction(Box::new(first.clone())), status("nobody", Status::Void)];
        assert!(bench.try_write("s", &failing).is_err());
        bench.reopen();
        assert_eq!(pair(bench), (None, 0));
        bench.write("s", &[Write::Compaction(Box::new(first.clone()))]);
        bench.reopen();
        assert_eq!(pair(bench), (Some(first.block.to_string()), 4));
        assert_eq!(bench.load("s").unwrap().messages.len(), 8);
        bench.write("s", &[Write::Compaction(Box::new(second.clone()))]);
        assert_eq!(pair(bench), (Some(second.block.to_string()), 6));
        assert!(
            bench.try_write("s", &[status("s/c1", Status::Void), status("nobody", Status::Void)]).is_err()
        );
        assert_eq!(pair(bench), (Some(second.block.to_string()), 6));
        bench.write("s", &[status("s/c1", Status::Void)]);
        assert_eq!(pair(bench), (Some(first.block.to_string()), 4));
        bench.write("s", &[status("s/c0", Status::Void)]);
        assert_eq!(pair(bench), (None, 0));
        assert_eq!(bench.load("s").unwrap().compactions.len(), 2);
    });
}

#[test]
fn an_edit_is_a_new_version_and_counts_once() {
    on_each(|bench| {
        bench.write("s", &step("s", 0, 3));
        let mut edit = message(1, user("said better"));
        edit.rev = 1;
        bench.write("s", &[Write::Message { turn: 0, message: Arc::new(edit.clone()) }]);
        bench.reopen();
        let stored = bench.load("s").unwrap();
        assert_eq!(stored.messages.len(), 3);
        assert_eq!(*stored.messages[1].1, edit);
        assert_eq!(bench.row("s").messages, 3);
    });
}

#[test]
fn session_is_found_by_the_editors_message_ids() {
    on_each(|bench| {
        bench.write("a", &step("a", 0, 4));
        bench.write("b", &step("b", 0, 4));
        bench.write("a", &[keep("c")]);
        let mut elsewhere = head("d");
        elsewhere.workspace = "elsewhere".into();
        bench.write("d", &[vec![Write::Head(Box::new(elsewhere))], step("a", 0, 2)[1..].to_vec()].concat());
        let mut find = |ids: &[&str], workspace: &str| {
            let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
            bench.store().find(&ids, workspace).unwrap().map(|id| id.to_string())
        };
        assert_eq!(find(&["nobody", "b-0"], "w").as_deref(), Some("b"));
        // Not the revision, which has the same messages.
        assert_eq!(find(&["a-0", "a-2"], "w").as_deref(), Some("a"));
        assert_eq!(find(&["a-0", "b-0", "b-2"], "w").as_deref(), Some("b"));
        assert_eq!(find(&["a-0"], "elsewhere").as_deref(), Some("d"));
        // An assistant message does not count.
        assert_eq!(find(&["a-1"], "w"), None);
        assert_eq!(find(&["a-0' OR 1=1 --"], "w"), None);
        assert_eq!(find(&[], "w"), None);
    });
}

#[test]
fn a_list_is_paged_without_gaps_and_searched() {
    on_each(|bench| {
        for n in 0..23_u64 {
            let id = format!("s{n:02}");
            let mut row = head(&id);
            // Several have one time, so that the id decides.
            row.updated_at = Time(100 + n / 5);
            row.title = (n == 7).then(|| "Der GRÖSSTE Fisch 100%_".to_owned());
            row.workspace = if n == 22 { "other".into() } else { "w".into() };
            bench.write(&id, &[Write::Head(Box::new(row))]);
        }
        let mut asked = message(0, user("where is the needle?"));
        asked.id = engine::id::MessageId::new("x");
        bench.write("s09", &[Write::Message { turn: 0, message: Arc::new(asked) }]);
        bench.write("s11", &[Write::Compaction(Box::new(compaction("s11/c0", 2)))]);
        let everything = bench.list(&ListQuery { limit: 100, ..ListQuery::default() });
        assert_eq!(everything.sessions.len(), 23);
        assert_eq!(everything.next, None);
        let order = |rows: &[SessionRow]| rows.iter().map(|row| row.id.to_string()).collect::<Vec<_>>();
        assert_eq!(order(&everything.sessions)[..5], ["s20", "s21", "s22", "s15", "s16"]);
        for limit in 1..25 {
            let mut query = ListQuery { workspace: Some("w".into()), limit, ..ListQuery::default() };
            let mut seen = Vec::new();
            loop {
                let page = bench.list(&query);
                assert!(page.sessions.len() <= limit as usize);
                seen.extend(order(&page.sessions));
                query.after = page.next;
                if query.after.is_none() {
                    break;
                }
            }
            let mut expected = order(&everything.sessions);
            expected.retain(|id| id != "s22");
            assert_eq!(seen, expected, "{limit}");
        }
        let mut found = |text: &str| {
            let page = bench.list(&ListQuery { text: Some(text.into()), limit: 1, ..ListQuery::default() });
            assert_eq!(page.next, None);
            order(&page.sessions).first().cloned()
        };
        assert_eq!(found("grösste fisch").as_deref(), Some("s07"));
        assert_eq!(found("%_").as_deref(), Some("s07"));
        assert_eq!(found("NEEDLE").as_deref(), Some("s09"));
        assert_eq!(found("block of s11/C0").as_deref(), Some("s11"));
        assert_eq!(found("nowhere"), None);
    });
}

#[test]
fn only_the_holder_writes() {
    on_each(|bench| {
        let s = session("s");
        let lost =
            |result: Result<(), StoreError>| assert!(matches!(result, Err(StoreError::FenceLost { .. })));
        lost(bench.store().commit(&s, Fence(1), &step("s", 0, 1)));
        let fence = bench.store().acquire(&s, Time(5)).unwrap();
        assert_eq!(bench.store().acquire(&s, Time(6)), Ok(fence));
        lost(bench.store().commit(&s, Fence(fence.0 + 1), &step("s", 0, 1)));
        bench.store().commit(&s, fence, &step("s", 0, 1)).unwrap();
        let mut other = bench.another();
        let held = other.acquire(&s, Time(7)).unwrap_err();
        assert_eq!(held, StoreError::Held { session: s.clone(), holder: bench.holder(Time(5)) });
        assert!(matches!(other.delete(&s), Err(StoreError::Held { .. })));
        lost(other.commit(&s, fence, &step("s", 1, 1)));
        // Reading needs no lease.
        assert_eq!(other.load(&s).unwrap(), bench.load("s"));
        // Another session is not affected.
        other.acquire(&session("t"), Time(7)).unwrap();
        bench.store().release(&s, Fence(fence.0 + 1)).unwrap();
        assert!(other.acquire(&s, Time(8)).is_err());
        bench.store().release(&s, fence).unwrap();
        let next = other.acquire(&s, Time(8)).unwrap();
        assert!(next > fence);
        lost(bench.store().commit(&s, fence, &step("s", 1, 1)));
        other.commit(&s, next, &step("s", 1, 1)).unwrap();
        // A dropped store holds nothing, closed or not.
        drop(other);
        let last = bench.store().acquire(&s, Time(9)).unwrap();
        assert!(last > next);
        bench.store().commit(&s, last, &step("s", 2, 1)).unwrap();
        assert_eq!(bench.load("s").unwrap().messages.len(), 3);
    });
}

#[test]
fn take_over_makes_the_only_writer() {
    on_each(|bench| {
        let s = session("s");
        let mut other = bench.another();
        let fence = bench.store().acquire(&s, Time(5)).unwrap();
        bench.store().commit(&s, fence, &step("s", 0, 1)).unwrap();
        assert_eq!(bench.store().holds(&s, fence), Ok(()));
        let before = bench.store().pulse().unwrap();
        let taken = other.take_over(&s, Time(6)).unwrap();
        assert!(taken > fence);
        heard(&mut *other, bench.store());
        assert_ne!(bench.store().pulse().unwrap(), before, "who loses it can see that something happened");
        let holder = Some(bench.holder(Time(6)));
        let lost = Err(StoreError::FenceLost { session: s.clone(), holder });
        assert_eq!(bench.store().holds(&s, fence), lost);
        assert_eq!(bench.store().commit(&s, fence, &step("s", 1, 1)), lost);
        // A lost session cannot be released, nor acquired without a take-over.
        bench.store().release(&s, fence).unwrap();
        assert!(matches!(bench.store().acquire(&s, Time(7)), Err(StoreError::Held { .. })));
        assert_eq!(other.holds(&s, taken), Ok(()));
        assert_eq!(other.take_over(&s, Time(8)), Ok(taken), "a repeated call returns the same fence");
        other.commit(&s, taken, &step("s", 1, 1)).unwrap();
        let back = bench.store().take_over(&s, Time(9)).unwrap();
        assert!(back > taken);
        assert!(matches!(other.commit(&s, taken, &step("s", 2, 1)), Err(StoreError::FenceLost { .. })));
        bench.store().commit(&s, back, &step("s", 2, 1)).unwrap();
        bench.store().release(&s, back).unwrap();
        assert_eq!(other.holds(&s, taken), Err(StoreError::FenceLost { session: s.clone(), holder: None }));
        assert_eq!(bench.load("s").unwrap().messages.len(), 3);
        // A session without a holder, and one that was never written.
        assert!(other.take_over(&s, Time(10)).unwrap() > back);
        other.take_over(&session("new"), Time(10)).unwrap();
    });
}

#[test]
fn a_closed_store_refuses_and_frees() {
    on_each(|bench| {
        bench.write("s", &step("s", 0, 1));
        let mut other = bench.another();
        assert!(other.acquire(&session("s"), Time(1)).is_err());
        bench.store().close().unwrap();
        bench.store().close().unwrap();
        assert_eq!(bench.store().load(&session("s")), Err(StoreError::Closed));
        assert_eq!(bench.store().diagnostics(), Err(StoreError::Closed));
        other.acquire(&session("s"), Time(1)).unwrap();
    });
}

#[test]
fn diagnostics_say_what_is_there() {
    on_each(|bench| {
        bench.write("a", &step("a", 0, 3));
        bench.write("b", &step("b", 0, 2));
        let (kind, path) = (bench.kind(), bench.file());
        let found = bench.store().diagnostics().unwrap();
        assert_eq!((found.sessions, found.messages), (2, 5));
        match kind {
            Backend::Postgres => assert!(found.path.is_some_and(|path| path.starts_with("postgres:"))),
            _ => assert_eq!(found.path, path),
        }
        match kind {
            Backend::Memory => assert_eq!((found.backend, found.bytes), ("memory", 0)),
            Backend::Postgres => {
                assert_eq!((found.backend, found.schema_version), ("postgres", 3));
                assert!(found.journal.starts_with("PostgreSQL "), "{}", found.journal);
            }
            Backend::Model => assert_eq!((found.backend, found.bytes), ("model", 0)),
            Backend::Sqlite => {
                assert_eq!((found.backend, found.schema_version), ("sqlite", 11));
                assert_eq!(found.journal, "wal, synchronous full");
                assert!(found.bytes > 4096);
            }
        }
    });
}

/// Ids are bound as parameters, never put into a statement or a path.
#[test]
fn hostile_ids_are_only_names() {
    on_each(|bench| {
        for id in ["'; DROP TABLE chat_sessions; --", "../../etc", "漢\u{0}字", " ", "\u{202e}"] {
            bench.write(id, &step(id, 0, 2));
            assert_eq!(bench.load(id).unwrap().head.id, SessionId::new(id));
        }
        bench.reopen();
        assert_eq!(bench.list(&ListQuery { limit: 10, ..ListQuery::default() }).sessions.len(), 5);
        assert!(bench.delete("漢\u{0}字").is_some());
        assert_eq!(bench.list(&ListQuery { limit: 10, ..ListQuery::default() }).sessions.len(), 4);
    });
}

#[test]
fn a_body_of_each_kind_is_among_the_cases() {
    let kinds: Vec<_> = bodies().iter().map(std::mem::discriminant).collect();
    for body in [
        user(""),
        Body::assistant("", Vec::new()),
        Body::result("", ""),
        Body::Event { kind: String::new(), text: "".into() },
    ] {
        assert!(kinds.contains(&std::mem::discriminant(&body)));
    }
}
