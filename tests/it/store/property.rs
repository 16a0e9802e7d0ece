//! Any steps, in any order, leave the same on every backend, after a crash too; and what is refused, is refused by all.

use super::cases::{Backend, Bench, compaction, head, message, session, user};
use proptest::prelude::*;
use proptest::sample::select;
use std::mem::discriminant;
use std::sync::Arc;
use threadhold::engine::compact::record::Status;
use threadhold::engine::id::{Generation, Ordinal, Time, TurnId};
use threadhold::engine::message::Body;
use threadhold::engine::session::stored::{Stored, TurnRow, TurnStatus, Write};
use threadhold::store::list::{ListQuery, SessionRow};

/// Few, so that steps meet.
const SESSIONS: [&str; 3] = ["a", "b", "c"];
const WORKSPACES: [&str; 2] = ["w", "v"];

/// What is done to a bench.
#[derive(Debug, Clone)]
enum Act {
    Step(&'static str, Vec<Write>),
    Delete(&'static str),
    Crash,
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
            head.settings = serde_json::json!({ "title": title.clone(), "half": 0.1 + time as f64 });
            head.prefix.tools = Vec::new();
            head.title = title;
            Write::Head(Box::new(head))
        },
    );
    let said =
        (0..6_u32, 0..2_u32, 0..4_u8, text(), any::<bool>()).prop_map(|(ord, rev, who, text, visible)| {
            let body = match who {
                0 | 1 => user(&text),
                2 => Body::assistant(&text, Vec::new()),
                _ => Body::result("c", &text),
            };
            let mut message = message(ord, body);
            message.rev = rev;
            message.visible_to_model = visible;
            message.external_id = (who > 0).then(|| format!("e{ord}"));
            Write::Message { turn: ord / 2, message: Arc::new(message) }
        });
    let turn = (0..4_u32, any::<bool>()).prop_map(|(index, runs)| {
        let status = if runs { TurnStatus::Running } else { TurnStatus::Completed };
        Write::Turn(TurnRow {
            index,
            id: TurnId::new(format!("t{index}")),
            status,
            started: (index % 2 == 1).then_some(Ordinal(index)),
            decided: Vec::new(),
        })
    });
    let record = (0..3_u32, 0..6_u32, proptest::option::of(text())).prop_map(|(id, to, narrative)| {
        let mut record = compaction(&format!("c{id}"), to);
        record.narrative = narrative.map(Into::into);
        if to == 5 {
            record.covers = None;
            record.block = "".into();
        }
        Write::Compaction(Box::new(record))
    });
    let status = (0..3_u32, select(vec![Status::InForce, Status::Void, Status::Recorded]))
        .prop_map(|(id, status)| Write::CompactionStatus { id: compaction(&format!("c{id}"), 0).id, status });
    let fork = select(&SESSIONS[..]).prop_map(|to| Write::Fork { to: session(to) });
    let cut = (0..6_u32, 0..4_u32).prop_map(|(from, turns)| Write::Truncate { from: Ordinal(from), turns });
    prop_oneof![3 => head, 8 => said, 3 => turn, 2 => record, 2 => status, 1 => fork, 1 => cut]
}

fn act() -> impl Strategy<Value = Act> {
    let step = select(&SESSIONS[..]).prop_flat_map(|id| {
        prop::collection::vec(write(id), 1..4).prop_map(move |writes| Act::Step(id, writes))
    });
    // Most sessions are made early, or nothing else would find one.
    let make = select(&SESSIONS[..]).prop_map(|id| Act::Step(id, vec![Write::Head(Box::new(head(id)))]));
    prop_oneof![
        12 => step,
        3 => make,
        1 => select(&SESSIONS[..]).prop_map(Act::Delete),
        1 => Just(Act::Crash),
    ]
}

/// Everything that a bench gives back.
fn everything(bench: &mut Bench) -> (Vec<Option<Stored>>, Vec<SessionRow>, Vec<Option<String>>) {
    let stored = SESSIONS.map(|id| bench.load(id)).to_vec();
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
    (stored, rows, found)
}

/// Does the same on both; what comes of it must be the same kind of thing.
fn both(benches: &mut [Bench; 2], act: &Act) {
    let outcomes = benches.each_mut().map(|bench| match act {
        Act::Step(id, writes) => bench.try_write(id, writes).map_err(|error| discriminant(&error)),
        Act::Delete(id) => {
            let deleted = bench.delete(id);
            assert!(deleted.is_none_or(|deleted| deleted.scrubbed));
            Ok(())
        }
        Act::Crash => {
            bench.reopen();
            Ok(())
        }
    });
    assert_eq!(outcomes[0], outcomes[1], "{act:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn all_backends_keep_the_same(acts in prop::collection::vec(act(), 1..24)) {
        let mut benches = [Backend::Sqlite, Backend::Memory].map(Bench::new);
        for act in &acts {
            both(&mut benches, act);
        }
        let kept = benches.each_mut().map(everything);
        prop_assert_eq!(&kept[0], &kept[1]);
        benches[0].reopen();
        prop_assert_eq!(&everything(&mut benches[0]), &kept[1]);
    }
}
