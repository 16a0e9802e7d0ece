//! Any steps in any order give equal state and equal errors on every backend, also after a crash.

use crate::list::{ListQuery, SessionRow};
use crate::task::{Task, Waiting};
use crate::testing::{
    Backend, Bench, compaction, enqueue, head, keep, key, message, piece, postgres, session, user,
};
use engine::compact::record::Status;
use engine::id::{Generation, ItemId, MessageId, Ordinal, SessionId, Time, TurnId};
use engine::message::Body;
use engine::scope::{Scope, ScopePatch};
use engine::search::{Query, SearchPage, Words};
use proptest::prelude::*;
use proptest::sample::select;
use session::stored::{
    Always, Inherited, Origin, Stored, TitleFrom, TurnFigures, TurnRow, TurnStatus, Write,
};
use std::mem::discriminant;
use std::sync::Arc;

/// Few, so that steps affect the same sessions.
const SESSIONS: [&str; 3] = ["a", "b", "c"];
const WORKSPACES: [&str; 2] = ["w", "v"];
/// Scope names; one is a session's id.
const NAMES: [&str; 2] = ["a", "scope"];

/// An operation on a bench.
#[derive(Debug, Clone)]
enum Act {
    Step(&'static str, Vec<Write>),
    Delete(&'static str),
    Crash,
    /// Workspace and name, a change, the expected revision.
    Share((&'static str, &'static str), ScopePatch, Option<u64>),
    /// A workspace, a pattern, and `true` to approve or `false` to revoke.
    Approve(&'static str, Option<String>, bool),
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-c\u{0}漢\"$ ]{0,6}",
        1 => select(vec!["large 漢\u{0} ".repeat(2000), "other ".repeat(4000)]),
    ]
}

fn write(own: &'static str) -> impl Strategy<Value = Write> {
    let head = (select(&WORKSPACES[..]), 0..4_u64, 0..3_u32, proptest::option::of(text())).prop_map(
        move |(workspace, time, cuts, title)| {
            let mut head = head(own);
            head.workspace = workspace.into();
            head.updated_at = Time(time);
            head.generation = Generation(cuts);
            head.cuts = cuts;
            head.accepted = cuts;
            head.origin = [Origin::New, Origin::Background, Origin::Branch][cuts as usize];
            head.parent = (cuts > 0).then(|| session(SESSIONS[time as usize % 3]));
            head.waits = time > 1;
            head.title_from = title.as_ref().map(|_| TitleFrom::Request);
            head.work_scope = (time > 1).then(|| NAMES[time as usize - 2].to_owned());
            head.settings = serde_json::json!({ "title": title.clone(), "half": 0.1 + time as f64 });
            head.prefix.tools = Vec::new();
            head.title = title;
            Write::Head(Box::new(head))
        },
    );
    let said = (0..6_u32, 0..3_u32, 0..5_u8, text(), any::<bool>()).prop_map(
        move |(ord, rev, who, text, visible)| {
            let body = match who {
                0 | 1 => user(&text),
                2 => Body::assistant(&text, Vec::new()),
                3 => Body::Event { kind: "removed".into(), text: text.into() },
                _ => Body::result("c", &text),
            };
            let mut message = message(ord, body);
            message.id = MessageId::new(format!("{own}/m{ord}"));
            message.turn = TurnId::new(format!("{own}/t{}", ord / 2));
            message.rev = rev;
            message.visible_to_model = visible;
            message.external_id = (who > 0).then(|| format!("e{ord}"));
            Write::Message { turn: ord / 2, message: Arc::new(message) }
        },
    );
    let turn = (0..4_u32, any::<bool>()).prop_map(move |(index, runs)| {
        let status = if runs { TurnStatus::Running } else { TurnStatus::Completed };
        Write::Turn(TurnRow {
            index,
            id: TurnId::new(format!("{own}/t{index}")),
            status,
            started: (index % 2 == 1).then_some(Ordinal(index)),
            decided: Vec::new(),
            figures: TurnFigures { duration_ms: (!runs).then_some(7), ..TurnFigures::running(Time(3)) },
        })
    });
    let record = (0..3_u32, 0..6_u32, proptest::option::of(text())).prop_map(move |(id, to, narrative)| {
        let mut record = compaction(&format!("{own}/c{id}"), to);
        record.narrative = narrative.map(Into::into);
        if to == 5 {
            record.covers = None;
            record.block = "".into();
        }
        Write::Compaction(Box::new(record))
    });
    let status = (0..3_u32, select(vec![Status::InForce, Status::Void, Status::Recorded])).prop_map(
        move |(id, status)| Write::CompactionStatus { id: compaction(&format!("{own}/c{id}"), 0).id, status },
    );
    let fork = select(&SESSIONS[..]).prop_map(keep);
    let cut = (0..6_u32, 0..4_u32).prop_map(|(from, turns)| Write::Truncate { from: Ordinal(from), turns });
    let gone = (0..6_u32, 0..3_u32, text()).prop_map(move |(ord, rev, text)| {
        let mut message = message(ord, Body::Event { kind: "notKept".into(), text: text.into() });
        message.id = MessageId::new(format!("{own}/m{ord}"));
        message.rev = rev;
        Write::LetGo { turn: ord / 2, messages: vec![Arc::new(message)] }
    });
    let waits = (0..4_u8, any::<bool>(), text())
        .prop_map(|(id, priority, text)| enqueue(&id.to_string(), priority, &text));
    let goes = (0..4_u8).prop_map(|id| Write::Dequeue(ItemId::new(id.to_string())));
    let known = (0..3_u8, 0..2_u8).prop_map(|(name, turn)| key(&name.to_string(), &turn.to_string()));
    let draft = proptest::option::of(text()).prop_map(|draft| Write::Draft(draft.map(Into::into)));
    let streamed = prop_oneof![3 => text().prop_map(|text| piece(&text)), 1 => Just(Write::StreamEnded)];
    prop_oneof![
        3 => head, 8 => said, 3 => turn, 2 => record, 2 => status, 2 => fork, 1 => cut, 1 => gone,
        3 => waits, 2 => goes, 2 => known, 1 => draft,
        1 => streamed,
    ]
}

/// Writes, some of them in a branch.
fn writes(own: &'static str) -> impl Strategy<Value = Vec<Write>> {
    let branch = select(&SESSIONS[..]).prop_flat_map(move |to| {
        let begin = Write::Head(Box::new(head(to)));
        let record = prop_oneof![3 => Just(None), 1 => (0..3_u32).prop_map(Some)];
        let inherited = (0..7_u32, 0..5_u32, record).prop_map(move |(messages, turns, record)| {
            let compactions = record.map(|n| compaction(&format!("{own}/c{n}"), 0).id);
            Inherited { messages: Ordinal(messages), turns, compactions }
        });
        let rest = prop::collection::vec(write(to), 0..4);
        (any::<u8>(), inherited, rest).prop_map(move |(begins, inherited, writes)| {
            let begin = (begins > 25).then(|| begin.clone());
            let writes = begin.into_iter().chain(writes).collect();
            Write::Branch { to: session(to), inherited, writes }
        })
    });
    prop::collection::vec(prop_oneof![12 => write(own).boxed(), 2 => branch.boxed()], 1..4)
}

fn share() -> impl Strategy<Value = Act> {
    let place = (select(&WORKSPACES[..]), select(&NAMES[..]));
    let scope = (place, proptest::option::of(0..3_u64), text()).prop_map(|(place, revision, plan)| {
        Act::Share(place, ScopePatch { plan: Some(plan.into()), ..ScopePatch::default() }, revision)
    });
    let approval = (select(&WORKSPACES[..]), proptest::option::of(text()), any::<bool>())
        .prop_map(|(workspace, pattern, holds)| Act::Approve(workspace, pattern, holds));
    prop_oneof![scope, approval]
}

fn act() -> impl Strategy<Value = Act> {
    let step =
        select(&SESSIONS[..]).prop_flat_map(|id| writes(id).prop_map(move |writes| Act::Step(id, writes)));
    // Sessions are often created early, so that other steps find them.
    let make = select(&SESSIONS[..]).prop_map(|id| Act::Step(id, vec![Write::Head(Box::new(head(id)))]));
    prop_oneof![
        12 => step,
        3 => make,
        1 => select(&SESSIONS[..]).prop_map(Act::Delete),
        1 => Just(Act::Crash),
        2 => share(),
    ]
}

/// Waiting sessions of each workspace, and tasks of each session.
type Tasks = ([Vec<Waiting>; 2], Vec<Vec<Task>>);

/// Scopes and approvals of each workspace.
type Shared = [([Scope; 2], Vec<Always>); 2];

/// The observable state: sessions, list rows, sessions found by external ids, search results, shared values,
/// tasks.
type Everything = (Vec<Option<Stored>>, Vec<SessionRow>, Vec<Option<String>>, Vec<SearchPage>, Shared, Tasks);

/// Reads the observable state.
fn everything(bench: &mut Bench) -> Everything {
    let stored = SESSIONS.map(|id| bench.load(id)).to_vec();
    stored.iter().flatten().for_each(|stored| super::part::is_of(bench.store(), stored));
    let mut rows = bench.list(&ListQuery { limit: 9, ..ListQuery::default() }).sessions;
    for text in ["a", "漢", "LARGE"] {
        let workspace = Some(WORKSPACES[0].to_owned());
        let query = ListQuery { workspace, text: Some(text.into()), after: None, limit: 2 };
        rows.extend(bench.list(&query).sessions);
    }
    let found = [vec!["e0"], vec!["e2", "e4"], vec!["e1", "e3", "e5"]]
        .map(|ids| {
            let ids: Vec<String> = ids.into_iter().map(str::to_owned).collect();
            bench.store().find(&ids, WORKSPACES[0]).unwrap().map(|id| id.to_string())
        })
        .to_vec();
    let searched = SESSIONS
        .map(|id| {
            ["a", "b 漢", "abc", "large", "\"$"].map(|words| {
                let query = Query {
                    words: Words::of(words),
                    before: Some(Ordinal(5)),
                    skip: 1,
                    limit: 3,
                    hidden: true,
                };
                bench.store().search(&session(id), &query).unwrap()
            })
        })
        .concat();
    let store = bench.store();
    let shared = WORKSPACES.map(|workspace| {
        let scopes = NAMES.map(|name| store.scope(workspace, name).unwrap());
        (scopes, store.approvals(workspace).unwrap())
    });
    let waiting = WORKSPACES.map(|workspace| store.waiting(workspace).unwrap());
    let tasks = SESSIONS.map(|id| store.tasks(&session(id)).unwrap()).to_vec();
    (stored, rows, found, searched, shared, (waiting, tasks))
}

/// Applies an operation to each bench; the outcomes must be of the same kind.
fn each(benches: &mut [Bench], act: &Act) {
    let outcome = |bench: &mut Bench| match act {
        Act::Step(id, writes) => {
            bench.try_write(id, writes).map(|()| None).map_err(|error| discriminant(&error))
        }
        Act::Delete(id) => {
            // The parent and children may hold the same messages.
            let rows = bench.list(&ListQuery { limit: 9, ..ListQuery::default() }).sessions;
            let deleted = bench.store().delete(&session(id));
            if let Ok(Some(deleted)) = &deleted {
                let is_gone = |known: &SessionId| known.as_str() == *id || deleted.revisions.contains(known);
                let is_of = |row: &&SessionRow| row.parent.as_ref().is_some_and(is_gone) && !is_gone(&row.id);
                assert!(!rows.iter().filter(is_of).any(|row| row.origin == Origin::Rewind));
                let mut parents =
                    rows.iter().filter(|row| is_gone(&row.id)).filter_map(|row| row.parent.as_ref());
                let has_parent = parents.any(|id| !is_gone(id) && rows.iter().any(|row| row.id == *id));
                let is_alone = !rows.iter().any(|row| is_of(&row)) && !has_parent;
                assert_eq!(deleted.scrubbed, is_alone && bench.kind().can_scrub());
            }
            let gone = deleted.map_err(|error| discriminant(&error))?;
            Ok(gone.map(|deleted| (deleted.copies, deleted.revisions, deleted.branches)))
        }
        Act::Share((workspace, name), patch, revision) => {
            let put = bench.store().put_scope(workspace, name, patch, *revision);
            put.map(|_| None).map_err(|error| discriminant(&error))
        }
        Act::Approve(workspace, pattern, holds) => {
            let always = Always { tool: "run".into(), pattern: pattern.clone(), rejected: false };
            let store = bench.store();
            let done =
                if *holds { store.approve(workspace, &always) } else { store.revoke(workspace, &always) };
            done.map(|()| None).map_err(|error| discriminant(&error))
        }
        Act::Crash => {
            bench.reopen();
            Ok(None)
        }
    };
    let outcomes: Vec<_> = benches.iter_mut().map(outcome).collect();
    assert!(outcomes.iter().all(|outcome| *outcome == outcomes[0]), "{act:?}: {outcomes:?}");
}

/// Applies operations to each of these backends; all must keep the same as the model, the last one.
fn keep_the_same(kinds: &[Backend], acts: &[Act]) -> Result<(), TestCaseError> {
    let mut benches: Vec<Bench> = kinds.iter().copied().map(Bench::new).collect();
    for act in acts {
        each(&mut benches, act);
    }
    let mut kept: Vec<Everything> = benches.iter_mut().map(everything).collect();
    let model = kept.pop().expect("the model");
    for (kept, kind) in kept.iter().zip(kinds) {
        prop_assert_eq!(kept, &model, "{:?}", kind);
    }
    let again = benches.iter_mut().map(|bench| {
        bench.reopen();
        everything(bench)
    });
    let mut again: Vec<Everything> = again.collect();
    let mut model_again = again.pop().expect("the model");
    for (again, kind) in again.iter().zip(kinds) {
        prop_assert_eq!(again, &model_again, "{:?}", kind);
    }
    // The process of the running turns has ended; all else is unchanged.
    model_again.5.1.clone_from(&model.5.1);
    prop_assert_eq!(model_again, model);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn all_backends_keep_the_same(acts in prop::collection::vec(act(), 1..24)) {
        keep_the_same(&[Backend::Sqlite, Backend::Memory, Backend::Model], &acts)?;
    }
}

proptest! {
    // Each operation waits for a server.
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
    #[test]
    fn postgres_keeps_the_same(acts in prop::collection::vec(act(), 1..24)) {
        if postgres::server().is_some() {
            keep_the_same(&[Backend::Postgres, Backend::Model], &acts)?;
        }
    }
}
