//! The index: what a search reads of a long session, and that it has the same hits as other stores at every moment.

use super::{open, unique};
use crate::Store;
use crate::postgres::PostgresStore;
use crate::sqlite::SqliteStore;
use crate::testing::{Folder, head, keep, message, postgres, session, user};
use engine::id::{Ordinal, Time};
use engine::message::Body;
use engine::search::{Query, SearchPage, Words};
use session::stored::Write;
use std::sync::Arc;

fn query(words: &str) -> Query {
    Query { words: Words::of(words), before: None, skip: 0, limit: 20, hidden: true }
}

fn said(ord: u32, rev: u32, body: Body) -> Write {
    let mut message = message(ord, body);
    message.rev = rev;
    Write::Message { turn: 0, message: Arc::new(message) }
}

/// A text with a word of its own, one of every tenth message, and words of all.
fn text(ord: u32) -> String {
    let rare = if ord % 10 == 3 { "needleThread" } else { "common" };
    format!("message word{ord} about {rare} words and the parser of src/part{}.rs é漢", ord % 7)
}

fn long(messages: u32) -> Vec<Write> {
    let all = (0..messages).map(|ord| said(ord, 0, user(&text(ord))));
    std::iter::once(Write::Head(Box::new(head("s")))).chain(all).collect()
}

const QUERIES: [&str; 10] = [
    "word17",
    "needle parser",
    "thread about",
    "src/part3.rs message",
    "edleThread",
    "absent",
    "nowhere said k",
    "漢",
    "漢字",
    "\"\\u",
];

fn found(store: &mut dyn Store, id: &str, query: &Query) -> SearchPage {
    store.search(&session(id), query).unwrap()
}

fn index_all(store: &mut PostgresStore) {
    while store.tidy(false).unwrap() {}
}

#[test]
fn a_search_of_a_long_session_reads_few_rows() {
    let Some(server) = postgres::server() else { return };
    let mut store = open(server, &unique("long"));
    let fence = store.acquire(&session("s"), Time(1)).unwrap();
    let mut writes = long(10_000);
    let large = format!("{} onlyHere", "filler ".repeat(4000));
    writes.extend((10_000..10_020).map(|ord| said(ord, 0, Body::result("c", &large))));
    store.commit(&session("s"), fence, &writes).unwrap();
    let cost = |store: &mut PostgresStore, words: &str| {
        let before = store.traffic();
        let hits = found(store, "s", &query(words)).hits.len();
        let now = store.traffic();
        (hits, now.rows - before.rows, now.trips - before.trips)
    };
    let (hits, rows, _) = cost(&mut store, "word17");
    assert!(hits == 1 && rows > 10_000, "nothing is indexed before the first search: {rows}");
    index_all(&mut store);
    // The segment, a count, a count of each term; candidates; and the messages.
    for (words, hits, rows, trips) in [
        ("absentword", 0, 2, 3),
        ("sentwo-rd", 0, 2, 3),
        ("absent字", 0, 2, 3),
        ("word17", 1, 5, 4),
        ("onlyHere", 20, 46, 5),
        ("message", 20, 3 + 2 * 256, 4),
    ] {
        let cost = cost(&mut store, words);
        assert!(cost.0 == hits && cost.1 <= rows && cost.2 <= trips, "{words}: {cost:?}");
    }
    // What is committed later is read, until it is indexed while the store is idle.
    let later = |from: u32| (from..from + 200).map(|ord| said(ord, 0, user(&text(ord)))).collect::<Vec<_>>();
    store.commit(&session("s"), fence, &later(10_020)).unwrap();
    index_all(&mut store);
    assert_eq!(cost(&mut store, "absentword").1, 202);
    store.commit(&session("s"), fence, &later(10_220)).unwrap();
    index_all(&mut store);
    assert_eq!(cost(&mut store, "absentword").1, 2);
}

/// Sessions that share segments, are edited, cut and renamed, while their index is ahead of some of it.
#[test]
fn hits_are_those_of_a_file_however_far_the_index_is() {
    let Some(server) = postgres::server() else { return };
    let (folder, mut database) = (Folder::new(), open(server, &unique("same")));
    let mut file: SqliteStore = folder.open();
    let steps = [
        long(700),
        vec![said(3, 1, user("edited word3 needle")), said(650, 1, user("edited word17"))],
        vec![keep("kept")],
        vec![said(4, 1, user("edited after the revision, needle")), said(700, 0, user(&text(700)))],
        vec![Write::Truncate { from: Ordinal(300), turns: 1 }],
        vec![said(300, 0, user("needle again")), said(301, 0, user(&text(17)))],
        vec![Write::LetGo { turn: 0, messages: vec![Arc::new(message(13, user("let go")))] }],
    ];
    let (of_file, of_database) =
        (file.acquire(&session("s"), Time(1)).unwrap(), database.acquire(&session("s"), Time(1)).unwrap());
    for (number, writes) in steps.iter().enumerate() {
        file.commit(&session("s"), of_file, writes).unwrap();
        database.commit(&session("s"), of_database, writes).unwrap();
        for _ in 0..2 {
            for (id, words) in ["s", "kept"].iter().flat_map(|id| QUERIES.map(|words| (*id, words))) {
                for query in [query(words), Query { before: Some(Ordinal(200)), ..query(words) }] {
                    let is = found(&mut database, id, &query);
                    assert_eq!(is, found(&mut file, id, &query), "{number}: {id}: {words}");
                }
            }
            // The second time with all of it in the index.
            for id in ["s", "kept"] {
                database.index(&session(id)).unwrap();
            }
            index_all(&mut database);
        }
    }
    database.delete(&session("s")).unwrap().unwrap();
    assert_eq!(found(&mut database, "s", &query("needle")), SearchPage::default());
}

/// A role that may not write has its hits without an index.
#[test]
fn a_search_needs_no_right_to_write() {
    let Some(server) = postgres::server() else { return };
    let database = server.database();
    let options =
        |role: &str| crate::postgres::Options::new(&server.url(role, &database), None, "t").unwrap();
    let mut owner = crate::postgres::Opener::new(options("threadhold")).open().unwrap();
    let fence = owner.acquire(&session("s"), Time(1)).unwrap();
    owner.commit(&session("s"), fence, &long(400)).unwrap();
    server.sql_in("threadhold", &database, "REVOKE INSERT ON search_pieces FROM threadhold").unwrap();
    assert_eq!(found(&mut owner, "s", &query("word17")).hits.len(), 1);
    assert_eq!(found(&mut owner, "s", &query("word17")).hits.len(), 1);
}
