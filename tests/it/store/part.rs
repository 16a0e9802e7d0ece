//! The rows that a session's next prompt is made of: as many however long it is, and with the rest all of it. Counts of
//! rows and bytes, never times.

#![allow(clippy::print_stdout, reason = "what was measured is told")]

use super::cases::{Backend, Bench, Folder, compaction, head, on_each, session};
use engine::compact::record::{Compaction, Span, Status};
use engine::id::{Ordinal, Time};
use engine::message::{Body, Content, NewMessage, ToolCall};
use engine::tokens::QuarterOfChars;
use engine::transcript::Transcript;
use session::part::Claims;
use session::stored::{Part, Stored, TurnRow, TurnStatus, Write};
use std::fs;
use std::sync::Arc;
use store::Store;

/// Rounds of a turn.
const ROUNDS: u32 = 10;

/// A session of so many rounds, ten to a turn, whose compaction stands for all but its newest turn and two rounds before.
pub fn long(rounds: u32) -> Vec<Write> {
    long_with(rounds, head("s"))
}

/// The same under another head.
pub fn long_with(rounds: u32, head: session::stored::Head) -> Vec<Write> {
    let mut transcript = Transcript::new(head.id.clone());
    let text = |what: &str, n: u32| format!("{what} {n}: {}", "it goes on like this. ".repeat(12));
    for round in 0..rounds {
        if round % ROUNDS == 0 {
            let mut request = NewMessage::new(Body::User(vec![Content::Text(text("request", round).into())]));
            request.external_id = Some(format!("request-{}", round / ROUNDS));
            transcript.append_turn(request, &QuarterOfChars);
        }
        let call = ToolCall::new(&format!("c{round}"), "read", "{\"path\": \"src/a.rs\"}");
        transcript
            .append(NewMessage::new(Body::assistant(&text("answer", round), vec![call])), &QuarterOfChars);
        transcript.append(
            NewMessage::new(Body::result(&format!("c{round}"), &text("result", round))),
            &QuarterOfChars,
        );
    }
    let mut writes = vec![Write::Head(Box::new(head))];
    for (index, turn) in (0..).zip(transcript.turns()) {
        let (started, decided, status) = (None, Vec::new(), TurnStatus::Completed);
        writes.push(Write::Turn(TurnRow { index, id: turn.id.clone(), status, started, decided }));
    }
    for message in transcript.messages() {
        let turn = transcript.turn_at(message.ord).unwrap() as u32;
        writes.push(Write::Message { turn, message: Arc::clone(message) });
    }
    let shown = transcript.rounds().len().saturating_sub(ROUNDS as usize + 2);
    if let Some(last) = shown.checked_sub(1).and_then(|at| transcript.rounds().get(at)) {
        let users: Vec<Ordinal> = transcript.turns().iter().flat_map(|turn| turn.requests.clone()).collect();
        let open = users.iter().copied().rfind(|ord| *ord <= last.last);
        let kept = users.iter().copied().filter(|ord| *ord < last.last && Some(*ord) != open);
        writes.push(Write::Compaction(Box::new(Compaction {
            covers: Some(Span { from: Ordinal(0), to: last.last }),
            actions: Default::default(),
            excluded: Default::default(),
            kept_users: kept.rev().take(3).collect::<Vec<_>>().into_iter().rev().collect(),
            open_requests: open.into_iter().collect(),
            ..compaction("s/c0", 0)
        })));
    }
    writes
}

/// Whatever a store gives as a part is one of this session, and with the rest it is the session.
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
fn a_part_is_what_the_newest_compaction_shows_and_with_the_rest_it_is_the_session() {
    on_each(|empty| {
        let mut bench = bench(empty.kind(), 50);
        let stored = bench.load("s").unwrap();
        is_of(bench.store(), &stored);
        let part = bench.store().load_part(&session("s"), 0).unwrap().unwrap();
        // Ten rounds with their request, two before them, the round before those, three requests and the open one.
        assert_eq!(part.stored.messages.len(), 21 + 4 + 2 + 3 + 1);
        let more = bench.store().load_part(&session("s"), 60).unwrap().unwrap();
        assert_eq!(more.stored.messages.len(), 60 + 3);
        // All of it is no part.
        assert_eq!(bench.store().load_part(&session("s"), 105).unwrap(), None);
    });
}

#[test]
fn there_is_no_part_where_the_newest_record_is_not_in_force() {
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
fn what_was_heard_before_a_part_is_known() {
    on_each(|empty| {
        let mut bench = bench(empty.kind(), 50);
        bench.write("s", &[super::cases::key("k1", "t")]);
        let part = bench.store().load_part(&session("s"), 0).unwrap().unwrap();
        let mut known = |key: Option<&str>, request: Option<&str>| {
            let claims = Claims { key: key.map(str::to_owned), external_id: request.map(str::to_owned) };
            bench.store().is_known(&session("s"), &claims, part.from).unwrap()
        };
        assert!(known(Some("k1"), None) && known(None, Some("request-0")));
        assert!(!known(Some("k2"), None) && !known(None, Some("request-9")) && !known(None, None));
        // It is in the part.
        assert!(!known(None, Some("request-4")));
    });
}

#[test]
fn what_was_said_is_given_page_by_page_from_the_end() {
    on_each(|empty| {
        let mut bench = bench(empty.kind(), 50);
        let stored = bench.load("s").unwrap();
        let mut ords = Vec::new();
        let mut before = None;
        while before != Some(Ordinal(0)) {
            let page = bench.store().messages(&session("s"), before, 40).unwrap().unwrap();
            assert!(page.messages.len() <= 40 && page.unreadable.is_empty());
            let page = page.messages;
            before = page.first().map(|message| message.ord);
            ords.splice(0..0, page.iter().map(|message| message.ord.0));
        }
        assert_eq!(ords, (0..105).collect::<Vec<_>>());
        assert_eq!(stored.messages.len(), 105);
        assert_eq!(bench.store().messages(&session("nobody"), None, 9).unwrap(), None);
    });
}

/// Bytes that this thread has read from files.
#[cfg(target_os = "linux")]
fn read_so_far() -> u64 {
    let io = fs::read_to_string("/proc/thread-self/io").unwrap();
    io.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn p11_the_rows_and_bytes_of_a_first_prompt_do_not_grow_with_the_session() {
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
    // A tree that is deeper by one costs a page for each place that is looked up.
    assert!(all.iter().all(|(_, bytes)| *bytes <= all[0].1 * 6 / 5 + 8 * 4096), "{all:?}");
}
