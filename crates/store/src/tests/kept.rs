//! Shortened messages: the rows, contents and index entries of the old versions are deleted, on every
//! backend.

use crate::error::StoreError;
use crate::testing::{Backend, Bench, head, message, on_each, session, step, user};
use engine::id::Ordinal;
use engine::message::{Body, Message, NOT_KEPT};
use engine::search::{Query, Words};
use rusqlite::Connection;
use session::stored::Write;
use std::sync::Arc;

/// A tool result with this text, and the message that replaces it.
fn result(ord: u32, text: &str) -> (Write, Arc<Message>) {
    let said = message(ord, Body::result("c", text));
    let body = Body::Event { kind: NOT_KEPT.into(), text: "c".into() };
    let mut gone = message(ord, body);
    (gone.rev, gone.visible_to_model, gone.tokens) = (said.rev + 1, false, 0);
    gone.hash.clone_from(&said.hash);
    (Write::Message { turn: ord / 2, message: Arc::new(said) }, Arc::new(gone))
}

fn found(bench: &mut Bench, words: &str) -> usize {
    let query = Query { words: Words::of(words), before: None, skip: 0, limit: 9, hidden: true };
    bench
        .store()
        .search(&session("s"), &query)
        .unwrap()
        .hits
        .iter()
        .map(|hit| hit.ord)
        .collect::<std::collections::BTreeSet<_>>()
        .len()
}

/// The row keeps its position and hash, and a repeated step changes nothing.
#[test]
fn shortened_message_keeps_its_position_and_nothing_else() {
    on_each(|bench| {
        let large = "a planted needle ".repeat(10_000);
        let (said, gone) = result(2, &large);
        let early = [step("s", 0, 2), vec![said]].concat();
        bench.write("s", &early);
        assert_eq!(found(bench, "planted needle"), 1);
        let before = bench.load("s").unwrap();
        let (late, late_gone) = result(3, "a second needle");
        let end = [late, Write::LetGo { turn: 1, messages: vec![gone.clone(), late_gone.clone()] }];
        for _ in 0..2 {
            bench.write("s", &end);
            let stored = bench.load("s").unwrap();
            assert_eq!(stored.messages[..2], before.messages[..2]);
            assert_eq!(stored.messages[2..], [(1, gone.clone()), (1, late_gone.clone())]);
            assert_eq!(stored.messages[2].1.hash, before.messages[2].1.hash);
            assert_eq!((found(bench, "planted needle"), found(bench, "second needle")), (0, 0));
            assert_eq!(bench.row("s").messages, 4);
            bench.reopen();
        }
        let mut nowhere = (*gone).clone();
        nowhere.ord = Ordinal(9);
        let nowhere = Arc::new(nowhere);
        let error = bench.try_write("s", &[Write::LetGo { turn: 1, messages: vec![nowhere] }]).unwrap_err();
        assert!(matches!(error, StoreError::Refused { .. }), "{error}");
        let Some(file) = bench.file().filter(|_| bench.kind() == Backend::Sqlite) else { return };
        let file = Connection::open(file).unwrap();
        let count = |sql: &str| file.query_row(sql, [], |row| row.get::<_, u32>(0)).unwrap();
        assert_eq!(
            count("SELECT count(*) FROM chat_messages WHERE role = 'tool' OR ord >= 2 AND rev = 0"),
            0
        );
        assert_eq!(count("SELECT count(*) FROM blobs WHERE size > 16384"), 0);
        assert_eq!(count("SELECT count(*) FROM blob_refs"), 0);
    });
}

#[test]
fn a_list_shows_the_first_request_that_is_left() {
    on_each(|bench| {
        let asked = |ord| Write::Message {
            turn: 0,
            message: Arc::new(message(ord, user(&format!("request {ord}")))),
        };
        bench.write("s", &[Write::Head(Box::new(head("s"))), asked(0), asked(1)]);
        assert_eq!(bench.row("s").first_request.as_deref(), Some("request 0"));
        let (_, gone) = result(0, "");
        bench.write("s", &[Write::LetGo { turn: 0, messages: vec![gone] }]);
        assert_eq!(bench.row("s").first_request.as_deref(), Some("request 1"));
        assert_eq!(bench.row("s").messages, 2);
    });
}
