//! Search over each backend: hits, their order, and words that are no longer found. Also the index in a file.

use crate::blob::keyed_hash;
use crate::sqlite::SqliteStore;
use crate::testing::{
    Backend, Bench, Folder, bodies, head, keep, message, on_each, session, step, texts, user,
};
use crate::{Fence, Store};
use engine::id::{Ordinal, Time};
use engine::message::Body;
use engine::search::{Query, SearchPage, Speaker, Words};
use rusqlite::Connection;
use session::stored::Write;
use std::sync::Arc;

fn query(words: &str) -> Query {
    Query { words: Words::of(words), before: None, skip: 0, limit: 1000, hidden: true }
}

fn search(bench: &mut Bench, id: &str, words: &str) -> SearchPage {
    bench.store().search(&session(id), &query(words)).expect("a search")
}

/// The ordinals of the hits, in order.
fn places(bench: &mut Bench, id: &str, words: &str) -> Vec<u32> {
    search(bench, id, words).hits.into_iter().map(|hit| hit.ord.0).collect()
}

/// Bytes from which a body is long.
const LONG: usize = 1 << 19;

fn said(ord: u32, body: Body) -> Write {
    Write::Message { turn: 0, message: Arc::new(message(ord, body)) }
}

fn session_of(texts: &[&str]) -> Vec<Write> {
    let messages = texts.iter().enumerate().map(|(ord, text)| said(ord as u32, user(text)));
    std::iter::once(Write::Head(Box::new(head("s")))).chain(messages).collect()
}

#[test]
fn identifiers_are_found_whole_and_by_part_best_first() {
    on_each(|bench| {
        let large = format!("{} updatePendingMessagesDisplay {}", "a ".repeat(20_000), "b ".repeat(20_000));
        bench.write(
            "s",
            &[
                session_of(&["Fix updatePendingMessagesDisplay in src/tui/status.rs, é漢字 too"]),
                vec![
                    said(1, Body::result("c1", &large)),
                    said(2, Body::assistant("I ran it with --no-cache and -x; ERR_502.", Vec::new())),
                    said(3, Body::Event { kind: "notice".into(), text: "pendingmessages happened".into() }),
                ],
            ]
            .concat(),
        );
        bench.write("other", &[Write::Head(Box::new(head("other"))), said(0, user("pendingMessages"))]);
        for (words, found) in [
            ("updatePendingMessagesDisplay", &[0, 1][..]),
            ("PendingMessages", &[0, 3, 1]),
            ("dingmess src/tui", &[0]),
            ("status.rs", &[0]),
            ("--no-cache", &[2]),
            ("-x", &[2]),
            ("502", &[2]),
            ("漢字", &[0]),
            ("é", &[0]),
            ("pending_messages", &[0, 3, 1]),
            ("nowhere said", &[]),
            ("", &[]),
            (" \u{0} ", &[]),
        ] {
            assert_eq!(places(bench, "s", words), found, "{words:?}");
        }
        assert_eq!(places(bench, "nobody", "the"), Vec::<u32>::new());
        let hits = search(bench, "s", "pendingMessages").hits;
        assert_eq!(
            (hits[0].role, hits[1].role, hits[2].role),
            (Speaker::User, Speaker::Event, Speaker::Tool)
        );
        assert_eq!((hits[2].bytes, hits[2].id.as_str()), (large.len(), "s/m1"));
        assert!(hits[2].excerpt.text.contains("updatePendingMessagesDisplay"));
        assert!(hits[2].excerpt.text.len() <= 2700);
        let from = large.get(hits[2].excerpt.offset..).unwrap();
        assert!(from.starts_with(&hits[2].excerpt.text));
        let shown = Query { hidden: false, ..query("pendingMessages") };
        let shown = bench.store().search(&session("s"), &shown).unwrap();
        assert_eq!(shown.hits.iter().map(|hit| hit.ord.0).collect::<Vec<_>>(), [0, 1]);
    });
}

#[test]
fn messages_of_one_time_stamp_keep_their_order() {
    on_each(|bench| {
        let mut writes = session_of(&["a", "b", "c", "d"]);
        for write in &mut writes {
            if let Write::Message { message, .. } = write {
                Arc::make_mut(message).created_at = Some("2026-01-01T00:00:00Z".to_owned());
            }
        }
        writes[1..].reverse();
        bench.write("s", &writes);
        bench.reopen();
        let ords: Vec<u32> = bench.load("s").unwrap().messages.iter().map(|(_, m)| m.ord.0).collect();
        assert_eq!(ords, [0, 1, 2, 3]);
        assert_eq!(places(bench, "s", "b"), [1]);
    });
}

#[test]
fn pages_add_up_to_the_whole() {
    on_each(|bench| {
        bench.write("s", &step("s", 0, 57));
        for words in ["says", "s", "sa ys"] {
            let (mut skip, mut all) = (0, Vec::new());
            loop {
                let page = Query { skip, limit: 10, ..query(words) };
                let page = bench.store().search(&session("s"), &page).unwrap();
                assert!(page.hits.len() <= 10);
                all.extend(page.hits.into_iter().map(|hit| hit.ord.0));
                match page.next {
                    Some(next) => skip = next,
                    None => break,
                }
            }
            all.sort_unstable();
            assert_eq!(all, (0..57).collect::<Vec<_>>(), "{words}");
        }
    });
}

#[test]
fn any_query_is_plain_words() {
    on_each(|bench| {
        let mut writes = vec![Write::Head(Box::new(head("s")))];
        let hostile = "say \"it's\" NEAR(a b) col:x* ^y -z {a} + AND OR NOT (\" \\ ; DROP TABLE 'x' --";
        writes.push(said(0, user(hostile)));
        // Each search reads what is not indexed, of a database over a wire: what is long is said last, and to files.
        let is_database = bench.kind() == Backend::Postgres;
        let (short, long): (Vec<_>, Vec<_>) = bodies().into_iter().partition(|body| body.bytes() < LONG);
        writes.extend((1..).zip(short).map(|(ord, body)| said(ord, body)));
        bench.write("s", &writes);
        for word in hostile.split_whitespace() {
            assert!(places(bench, "s", word).contains(&0), "{word}");
        }
        assert_eq!(places(bench, "s", hostile).first(), Some(&0));
        if !is_database {
            let next = writes.len() as u32 - 1;
            let long: Vec<Write> = (next..).zip(long).map(|(ord, body)| said(ord, body)).collect();
            bench.write("s", &long);
        }
        for text in texts().into_iter().filter(|text| !is_database || text.len() < LONG) {
            // Any text is a query of plain words, and is found where it occurs.
            let found = places(bench, "s", &text);
            assert_eq!(found.is_empty(), Words::of(&text).is_empty(), "{text:.40}");
        }
        assert_eq!(places(bench, "s", &"nobodysaidthis ".repeat(60_000)), Vec::<u32>::new());
        assert_eq!(places(bench, "s", &"\"".repeat(1 << 20)), Vec::<u32>::new());
        assert!(!places(bench, "s", &"x".repeat(16 * 1024)).is_empty(), "a term longer than any other");
    });
}

#[test]
fn removed_and_edited_words_are_not_found() {
    on_each(|bench| {
        bench.write("s", &session_of(&["first words", "second words", "third words"]));
        assert_eq!(places(bench, "s", "second"), [1]);
        let mut edit = message(1, user("changed words"));
        edit.rev = 1;
        let kept = keep("kept");
        bench.write("s", &[kept, Write::Message { turn: 0, message: Arc::new(edit) }]);
        assert_eq!(places(bench, "s", "second"), Vec::<u32>::new());
        assert_eq!((places(bench, "s", "changed"), places(bench, "s", "words")), (vec![1], vec![2, 1, 0]));
        assert_eq!(places(bench, "kept", "second"), [1], "the revision keeps the old text");
        bench.write("s", &[Write::Truncate { from: Ordinal(1), turns: 1 }]);
        assert_eq!(places(bench, "s", "words"), [0]);
        bench.write("s", &[said(1, user("fourth words"))]);
        bench.reopen();
        assert_eq!((places(bench, "s", "words"), places(bench, "s", "third")), (vec![1, 0], vec![]));
        assert_eq!(places(bench, "kept", "words"), [2, 1, 0]);
        bench.delete("s");
        assert_eq!(places(bench, "s", "words"), Vec::<u32>::new());
        assert_eq!(
            places(bench, "kept", "words"),
            Vec::<u32>::new(),
            "the revision is deleted with its session"
        );
    });
}

fn numbers(folder: &Folder, sql: &str) -> i64 {
    Connection::open(folder.file()).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn a_deleted_session_leaves_no_entry() {
    let folder = Folder::new();
    let mut store = folder.open();
    let fence = store.acquire(&session("s"), Time(1)).unwrap();
    for ord in 0..50 {
        store.commit(&session("s"), fence, &step("s", ord, 1)).unwrap();
    }
    let entries = || numbers(&folder, "SELECT count(*) FROM search_pieces_docsize");
    assert_eq!(entries(), 0, "a commit adds nothing");
    store.search(&session("s"), &query("says")).unwrap();
    assert_eq!(entries(), 50);
    store.delete(&session("s")).unwrap();
    for table in ["search_pieces_docsize", "search_pieces_idx", "search_sessions"] {
        assert_eq!(numbers(&folder, &format!("SELECT count(*) FROM {table}")), 0, "{table}");
    }
    // The number is not used again.
    let fence = store.acquire(&session("s"), Time(1)).unwrap();
    store.commit(&session("s"), fence, &step("s", 0, 1)).unwrap();
    store.search(&session("s"), &query("says")).unwrap();
    assert_eq!(numbers(&folder, "SELECT n FROM search_sessions"), 2);
}

/// A store in a file, with a session that is held under this fence.
fn opened() -> (Folder, SqliteStore, Fence) {
    let folder = Folder::new();
    let mut store = folder.open();
    let fence = store.acquire(&session("s"), Time(1)).unwrap();
    (folder, store, fence)
}

/// A file with unindexed messages: it was never searched, or an older version wrote it.
fn unindexed(messages: u32) -> Folder {
    let (folder, mut store, fence) = opened();
    let mut writes = vec![Write::Head(Box::new(head("s")))];
    writes.extend((0..messages).map(|ord| said(ord, user(&format!("word{ord} {}", "filler ".repeat(2000))))));
    store.commit(&session("s"), fence, &writes).unwrap();
    store.close().unwrap();
    folder
}

#[test]
fn unindexed_messages_are_found_and_indexed_by_parts() {
    let folder = unindexed(200);
    let mut store = folder.open();
    let find = |store: &mut dyn Store, words: &str| -> Vec<u32> {
        store.search(&session("s"), &query(words)).unwrap().hits.into_iter().map(|hit| hit.ord.0).collect()
    };
    let indexed = || numbers(&folder, "SELECT indexed FROM chat_activity");
    assert_eq!(indexed(), 0, "opening fills nothing");
    // New messages are searched before older ones are indexed.
    let fence = store.acquire(&session("s"), Time(1)).unwrap();
    store.commit(&session("s"), fence, &[said(200, user("word200"))]).unwrap();
    assert_eq!(find(&mut store, "word17"), [17]);
    let first = indexed();
    assert!(0 < first && first < 201, "{first}");
    let mut parts = 1;
    while indexed() < 201 {
        assert_eq!(find(&mut store, "word3 filler").first(), Some(&3));
        parts += 1;
        assert!(parts < 10);
    }
    assert_eq!(find(&mut store, "word17"), [17]);
    store.commit(&session("s"), fence, &[said(201, user("word201"))]).unwrap();
    assert_eq!(indexed(), 201, "a commit adds nothing");
    assert_eq!((find(&mut store, "word201"), indexed()), (vec![201], 202));
}

#[test]
fn idle_store_indexes_what_was_committed_in_small_pieces() {
    let (folder, mut store, fence) = opened();
    let mut writes = vec![Write::Head(Box::new(head("s")))];
    writes.extend((0..50).map(|ord| said(ord, user(&format!("word{ord} {}", "filler ".repeat(1000))))));
    let indexed = || numbers(&folder, "SELECT indexed FROM chat_activity");
    store.commit(&session("s"), fence, &writes[..2]).unwrap();
    while store.tidy(false).unwrap() {}
    assert_eq!(indexed(), 0, "nobody searched it");
    assert_eq!(store.search(&session("s"), &query("word0")).unwrap().hits.len(), 1);
    assert_eq!(indexed(), 1);
    store.commit(&session("s"), fence, &writes[2..]).unwrap();
    assert_eq!(indexed(), 1);
    let mut pieces = vec![];
    while store.tidy(false).unwrap() {
        pieces.push(indexed());
    }
    assert!(pieces.len() > 3 && pieces.is_sorted(), "{pieces:?}");
    assert_eq!(indexed(), 50);
    assert!(!store.tidy(false).unwrap(), "nothing is left");
    store.commit(&session("s"), fence, &[said(50, user("word50"))]).unwrap();
    store.tidy(true).unwrap();
    assert_eq!(indexed(), 50, "a store that is busy indexes nothing");
}

/// A search for words that nobody said looks at serialized bodies, and reads only those that may have them.
#[test]
fn no_body_that_has_the_words_is_passed_over() {
    let long = "a\"b\\c/d \u{212a}elvin K\u{130}x \u{17f}t <tag attr='1'> caf\u{e9} [x](y) {\"image\": 1}";
    let mut all = bodies();
    all.push(user(long));
    all.push(Body::assistant(
        long,
        vec![engine::message::ToolCall::new("c", "run", r#"{"a":"x\ny \"q\" /z"}"#)],
    ));
    for body in all {
        let json = serde_json::to_string(&body).unwrap();
        let said = body.said();
        let words = said.split_whitespace().filter(|word| word.len() < 40);
        let parts = words.flat_map(|word| {
            let inner = word.char_indices().filter_map(|(at, _)| word.get(at..));
            let upper = [word.to_uppercase(), word.to_lowercase()];
            inner.map(str::to_owned).chain(upper).collect::<Vec<_>>()
        });
        for word in parts {
            let words = Words::of(&word);
            assert!(words.find(&said).is_none() || words.may_be_in(&json), "{word:?} is in {said:?}");
        }
    }
    let words = Words::of("absent");
    assert!(!words.may_be_in(&serde_json::to_string(&user("something else")).unwrap()));
}

/// The order of hits is the engine's; the index proposes candidates by its own BM25. Both must agree about which pieces
/// are best, or the best would not be proposed.
#[test]
fn order_of_hits_is_that_of_the_index() {
    let (folder, mut store, fence) = opened();
    let mut writes = vec![Write::Head(Box::new(head("s")))];
    writes.extend((0..100).map(|ord| {
        let rare = if ord % 10 == 3 { "needle thread" } else { "common words" };
        let half = if ord % 3 == 0 { "parser" } else { "printer" };
        said(ord, user(&format!("message {ord} about {rare} and the {half}")))
    }));
    store.commit(&session("s"), fence, &writes).unwrap();
    for words in ["needle parser", "thread", "the printer of a needle", "message 17 about"] {
        let hits = store.search(&session("s"), &query(words)).unwrap().hits;
        let ours: Vec<u32> = hits.into_iter().map(|hit| hit.ord.0).collect();
        let connection = Connection::open(folder.file()).unwrap();
        let key: Vec<u8> =
            connection.query_row("SELECT key FROM search_sessions", [], |row| row.get(0)).unwrap();
        let asked: Vec<String> = Words::of(words).terms().iter().map(|term| keyed_hash(&key, term)).collect();
        let mut statement = connection
            .prepare(
                "SELECT (rowid >> 14) & 0x1ffffff FROM search_pieces WHERE search_pieces MATCH ?1
                      ORDER BY bm25(search_pieces), rowid DESC",
            )
            .unwrap();
        let theirs: Vec<u32> = statement
            .query_map([asked.join(" OR ")], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(ours, theirs, "{words}");
    }
}
