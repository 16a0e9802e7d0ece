//! Partial loading: the number of rows does not depend on the session's length, and part and rest make the
//! whole. Counts rows and bytes, never time.

#![allow(clippy::print_stdout, reason = "what was measured is told")]

use crate::Store;
use crate::testing::{Backend, Bench, Folder, compaction, head, long_with, on_each, session};
use engine::compact::record::{Compaction, Status};
use engine::id::{Ordinal, Time};
use session::part::Claims;
use session::stored::{Part, Stored, Write};
use std::fs;

/// See [`long_with`], for session `s`.
pub fn long(rounds: u32) -> Vec<Write> {
    long_with(rounds, head("s"))
}

/// Checks that a part equals the session's own, and that part and rest make the session.
pub fn is_of(store: &mut dyn Store, stored: &Stored) {
    let id = stored.head.id.clone();
    for newest in [0, 3] {
        let Some(part) = store.load_part(&id, newest).unwrap() else { continue };
        assert_eq!(Some(&part), Part::of(stored, newest).as_ref());
        let rest = store.load_rest(&id, part.from).unwrap();
        assert_eq!(part.with(rest, &[]), *stored);
    }
}

fn bench(kind: Backend, rounds: u32) -> Bench {
    let mut bench = Bench::new(kind);
    bench.write("s", &long(rounds));
    bench
}

#[test]
fn part_and_rest_make_the_whole_session() {
    on_each(|empty| {
        let mut bench = bench(empty.kind(), 50);
        let stored = bench.load("s").unwrap();
        is_of(bench.store(), &stored);
        let part = bench.store().load_part(&session("s"), 0).unwrap().unwrap();
        // Ten rounds with their request, two before them, the round before those, three kept requests and the
        // open one.
        assert_eq!(part.stored.messages.len(), 21 + 4 + 2 + 3 + 1);
        let more = bench.store().load_part(&session("s"), 60).unwrap().unwrap();
        assert_eq!(more.stored.messages.len(), 60 + 3);
        // The whole session is not a part.
        assert_eq!(bench.store().load_part(&session("s"), 105).unwrap(), None);
    });
}

#[test]
fn no_part_where_the_newest_record_is_undone() {
    on_each(|empty| {
        let mut bench = bench(empty.kind(), 50);
        let id = compaction("s/c0", 0).id;
        bench.write("s", &[Write::CompactionStatus { id: id.clone(), status: Status::Undone }]);
        assert_eq!(bench.store().load_part(&session("s"), 0).unwrap(), None);
        bench.write("s", &[Write::CompactionStatus { id, status: Status::InForce }]);
        assert!(bench.store().load_part(&session("s"), 0).unwrap().is_some());
        let undone = Compaction { status: Status::Undone, ..compaction("s/c1", 0) };
        bench.write("s", &[Write::Compaction(Box::new(undone))]);
        assert_eq!(bench.store().load_part(&session("s"), 0).unwrap(), None);
        assert_eq!(bench.store().load_part(&session("nobody"), 0).unwrap(), None);
    });
}

#[test]
fn keys_and_requests_before_a_part_are_known() {
    on_each(|empty| {
        let mut bench = bench(empty.kind(), 50);
        bench.write("s", &[crate::testing::key("k1", "t")]);
        let part = bench.store().load_part(&session("s"), 0).unwrap().unwrap();
        let mut known = |key: Option<&str>, request: Option<&str>| {
            let claims = Claims { key: key.map(str::to_owned), external_id: request.map(str::to_owned) };
            bench.store().is_known(&session("s"), &claims, part.from).unwrap()
        };
        assert!(known(Some("k1"), None) && known(None, Some("request-0")));
        assert!(!known(Some("k2"), None) && !known(None, Some("request-9")) && !known(None, None));
        // It is inside the part.
        assert!(!known(None, Some("request-4")));
    });
}

#[test]
fn messages_are_paged_from_the_end() {
    on_each(|empty| {
        let mut bench = bench(empty.kind(), 50);
        let stored = bench.load("s").unwrap();
        let mut ords = Vec::new();
        let mut before = None;
        while before != Some(Ordinal(0)) {
            let page = bench.store().messages(&session("s"), before, 40).unwrap().unwrap();
            assert!(page.messages.len() <= 40 && page.unreadable.is_empty());
            before = Some(page.start);
            let page = page.messages;
            assert_eq!(page.first().map(|message| message.ord), before);
            ords.splice(0..0, page.iter().map(|message| message.ord.0));
        }
        assert_eq!(ords, (0..105).collect::<Vec<_>>());
        assert_eq!(stored.messages.len(), 105);
        assert_eq!(bench.store().messages(&session("nobody"), None, 9).unwrap(), None);
    });
}

/// The bytes that this thread has read so far.
#[cfg(target_os = "linux")]
fn read_so_far() -> u64 {
    let io = fs::read_to_string("/proc/thread-self/io").unwrap();
    io.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn first_prompt_reads_the_same_however_long_the_session() {
    let measure = |rounds: u32| {
        let folder = Folder::new();
        let mut store = folder.open();
        let fence = store.acquire(&session("s"), Time(1)).unwrap();
        store.commit(&session("s"), fence, &long(rounds)).unwrap();
        store.close().unwrap();
        let mut store = folder.open();
        let before = read_so_far();
        let part = store.load_part(&session("s"), 0).unwrap().unwrap();
        let bytes = read_so_far() - before;
        let rows = part.stored.messages.len() + part.stored.turns.len() + part.stored.compactions.len() + 1;
        let before = read_so_far();
        store.load(&session("s")).unwrap();
        println!(
            "{rounds} rounds: {rows} rows, {bytes} bytes; the rest of it {} bytes",
            read_so_far() - before
        );
        (rows, bytes)
    };
    let all = [50, 500, 5_000].map(measure);
    assert!(all.iter().all(|(rows, _)| *rows == all[0].0), "{all:?}");
    // A tree one level deeper costs one page per lookup.
    assert!(all.iter().all(|(_, bytes)| *bytes <= all[0].1 * 6 / 5 + 8 * 4096), "{all:?}");
}
