//! Rows beside the transcript: queued commands, keys, drafts, branches, and edits in lists. On each backend.

use crate::error::StoreError;
use crate::testing::{
    accepted, bodies, compaction, enqueue, head, keep, key, message, on_each, piece, queued, session, step,
    texts, user,
};
use engine::id::{ItemId, MessageId, Ordinal, Time};
use engine::message::{Body, Content};
use session::queue::{QueueItem, Work};
use session::stored::{Inherited, KEPT_KEYS, Origin, TitleFrom, Write};
use std::sync::Arc;

fn dequeue(id: &str) -> Write {
    Write::Dequeue(ItemId::new(id))
}

/// The ids of the queued commands.
fn waiting(queue: &[QueueItem]) -> Vec<&str> {
    queue.iter().map(|item| item.id.as_str()).collect()
}

#[test]
fn urgent_commands_come_first_each_lane_in_order() {
    on_each(|bench| {
        bench.write("s", &step("s", 0, 1));
        for (id, priority) in [("a", false), ("b", true), ("c", false), ("d", true), ("e", false)] {
            bench.write("s", &[enqueue(id, priority, id)]);
        }
        bench.reopen();
        let queue = bench.load("s").unwrap().queue;
        assert_eq!(waiting(&queue), ["b", "d", "a", "c", "e"]);
        assert_eq!(queue[0], queued("b", true, "b"));
        // The order of acceptance holds even after the last command was removed.
        bench.write("s", &[dequeue("b"), dequeue("e"), enqueue("f", false, "f"), enqueue("g", true, "g")]);
        bench.reopen();
        assert_eq!(waiting(&bench.load("s").unwrap().queue), ["d", "g", "a", "c", "f"]);
        for id in ["d", "a", "c", "f"] {
            bench.write("s", &[dequeue(id), dequeue(id), dequeue("nobody")]);
        }
        bench.write("s", &[enqueue("h", true, "h"), enqueue("a", false, "another one of this id")]);
        assert_eq!(waiting(&bench.load("s").unwrap().queue), ["g", "h", "a"]);
    });
}

#[test]
fn every_kind_of_work_waits_with_whatever_text() {
    on_each(|bench| {
        let words = |text: &str| {
            let image = engine::message::Image { mime_type: "image/png".into(), data: text.into() };
            vec![Content::Text(text.into()), Content::Image(image)]
        };
        let at = || MessageId::new("s/m0");
        let mut works = vec![Work::Regenerate, Work::Remove { message: at() }, Work::Truncate { from: at() }];
        works.push(Work::Retry { from: at(), content: None });
        for text in texts() {
            works.push(Work::Retry { from: at(), content: Some(words(&text)) });
            works.push(Work::Update { message: at(), content: words(&text), regenerate: true });
        }
        let items = works.into_iter().enumerate().map(|(n, work)| QueueItem {
            id: ItemId::new(format!("漢 \u{0} {n}")),
            priority: false,
            work,
        });
        let items: Vec<QueueItem> = items.collect();
        let writes: Vec<Write> = items.iter().map(|item| Write::Enqueue(Box::new(item.clone()))).collect();
        bench.write("s", &[step("s", 0, 0), writes.clone()].concat());
        bench.reopen();
        assert_eq!(bench.load("s").unwrap().queue, items);
        // A repeated step queues each command once.
        bench.write("s", &writes);
        assert_eq!(bench.load("s").unwrap().queue, items);
        let other = QueueItem { work: Work::Regenerate, ..items[4].clone() };
        let error = bench.try_write("s", &[Write::Enqueue(Box::new(other))]).unwrap_err();
        assert!(matches!(error, StoreError::Refused { .. }), "{error}");
        for text in texts() {
            bench.write("s", &[Write::Draft(Some(text.as_str().into()))]);
            bench.reopen();
            let stored = bench.load("s").unwrap();
            assert_eq!(stored.draft.as_deref(), Some(text.as_str()));
            assert_eq!(stored.unreadable, [""; 0]);
        }
        bench.write("s", &[Write::Draft(None)]);
        assert_eq!(bench.load("s").unwrap().draft, None);
    });
}

#[test]
fn the_newest_keys_are_kept_with_their_answers() {
    on_each(|bench| {
        bench.write("s", &[step("s", 0, 1), vec![key("k0", "t0"), key("\u{0}", "t1")]].concat());
        bench.write("other", &[step("other", 0, 1), vec![key("k0", "not this")]].concat());
        bench.reopen();
        let first = [("k0".to_owned(), accepted("t0")), ("\u{0}".to_owned(), accepted("t1"))];
        assert_eq!(bench.load("s").unwrap().keys, first);
        // A repeated key keeps its position.
        bench.write("s", &[key("k0", "t0")]);
        assert_eq!(bench.load("s").unwrap().keys, first);
        let many: Vec<Write> = (2..=KEPT_KEYS).map(|n| key(&format!("k{n}"), &format!("t{n}"))).collect();
        bench.write("s", &many);
        bench.reopen();
        let keys = bench.load("s").unwrap().keys;
        assert_eq!(keys.len(), KEPT_KEYS);
        assert_eq!(keys[0].0, "\u{0}");
        assert_eq!(keys.last().unwrap(), &(format!("k{KEPT_KEYS}"), accepted(&format!("t{KEPT_KEYS}"))));
        // A dropped key may return, and a key with a new answer becomes the newest.
        bench.write("s", &[key("k0", "again"), key("k3", "anew")]);
        let keys = bench.load("s").unwrap().keys;
        assert_eq!(keys.len(), KEPT_KEYS);
        assert_eq!((keys[0].0.as_str(), keys[1].0.as_str()), ("k2", "k4"));
        assert_eq!(
            keys[KEPT_KEYS - 2..],
            [("k0".into(), accepted("again")), ("k3".into(), accepted("anew"))]
        );
        assert_eq!(bench.load("other").unwrap().keys.len(), 1);
    });
}

#[test]
fn deletion_is_refused_while_a_copy_is_held_elsewhere() {
    on_each(|bench| {
        bench.write("s", &step("s", 0, 4));
        bench.write("f", &left_behind("f", "s"));
        bench.write("g", &left_behind("g", "f"));
        bench.write("g", &[keep("r")]);
        let held = bench.store().acquire(&session("g"), Time(1)).unwrap();
        bench.store().release(&session("g"), held).unwrap();
        let mut other = bench.another();
        let fence = other.acquire(&session("g"), Time(2)).unwrap();
        let refused = bench.store().delete(&session("s"));
        assert!(matches!(refused, Err(StoreError::Held { session: held, .. }) if held == session("g")));
        assert!(["s", "f", "g", "r"].into_iter().all(|id| bench.load(id).is_some()));
        other.release(&session("g"), fence).unwrap();
        drop(other);
        let deleted = bench.delete("s").unwrap();
        assert_eq!(deleted.copies, vec![session("f"), session("g")]);
        assert_eq!(deleted.scrubbed, bench.kind().can_scrub());
        assert_eq!(deleted.revisions, [session("r")]);
        assert!(["s", "f", "g", "r"].into_iter().all(|id| bench.load(id).is_none()));
    });
}

/// A copy as rewinds of earlier versions left it.
fn left_behind(id: &str, of: &str) -> Vec<Write> {
    let mut copy = head(id);
    (copy.parent, copy.origin) = (Some(session(of)), Origin::Rewind);
    vec![Write::Head(Box::new(copy))]
}

#[test]
fn revision_copies_no_queue_keys_or_draft() {
    on_each(|bench| {
        let large = "large 漢 ".repeat(10_000);
        let waits = vec![enqueue("a", true, &large), key("k", "t"), Write::Draft(Some("draft".into()))];
        bench.write("s", &[step("s", 0, 4), waits].concat());
        bench.write("s", &[keep("f")]);
        let (origin, copy) = (bench.load("s").unwrap(), bench.load("f").unwrap());
        assert_eq!((copy.queue, copy.keys, copy.draft), (Vec::new(), Vec::new(), None));
        assert_eq!((copy.head.origin, copy.messages), (Origin::Revision, origin.messages.clone()));
        assert_eq!((origin.queue.len(), origin.keys.len(), origin.draft.as_deref()), (1, 1, Some("draft")));
        assert_eq!(origin.head.origin, Origin::New);
        // The queued command's content belongs to the original alone.
        bench.write("s", &[dequeue("a"), Write::Truncate { from: Ordinal(0), turns: 0 }]);
        assert!(bench.load("s").unwrap().unreadable.is_empty());
    });
}

#[test]
fn branch_is_made_whole_or_not_at_all() {
    on_each(|bench| {
        bench.write("s", &step("s", 0, 2));
        let branch =
            |writes: Vec<Write>| Write::Branch { to: session("b"), inherited: Inherited::default(), writes };
        let mut first = head("b");
        first.parent = Some(session("s"));
        first.origin = Origin::Branch;
        first.title_from = Some(TitleFrom::Request);
        first.work_scope = Some("scope".into());
        let begin = Write::Head(Box::new(first.clone()));
        let status = engine::compact::record::Status::Void;
        let wrong = [
            vec![],
            vec![Write::Draft(None)],
            vec![Write::Head(Box::new(head("c")))],
            vec![begin.clone(), Write::CompactionStatus { id: compaction("nobody", 0).id, status }],
            vec![
                begin.clone(),
                Write::Branch {
                    to: session("b"),
                    inherited: Inherited::default(),
                    writes: vec![begin.clone()],
                },
            ],
            vec![begin.clone(), keep("s")],
        ];
        for wrong in wrong {
            let error = bench.try_write("s", &[Write::Draft(Some("d".into())), branch(wrong)]).unwrap_err();
            assert!(matches!(error, StoreError::Refused { .. }), "{error}");
            assert_eq!((bench.load("b"), bench.load("s").unwrap().draft), (None, None));
        }
        let unknown = bench.try_write("nobody", &[branch(vec![begin.clone()])]).unwrap_err();
        assert!(matches!(unknown, StoreError::Refused { .. }), "{unknown}");
        let inside = [
            vec![begin],
            step("s", 0, 4)[1..].to_vec(),
            vec![
                Write::Compaction(Box::new(compaction("b/c0", 1))),
                enqueue("a", false, "a"),
                key("k", "t"),
                Write::Draft(Some("draft".into())),
            ],
        ]
        .concat();
        bench.write("s", &[branch(inside.clone()), Write::Truncate { from: Ordinal(1), turns: 1 }]);
        bench.reopen();
        assert_eq!(bench.load("b"), Some(crate::testing::expected(&inside)));
        assert_eq!(bench.load("s").unwrap().messages.len(), 1);
        let row = bench.row("b");
        assert_eq!((row.origin, row.work_scope.as_deref()), (Origin::Branch, Some("scope")));
        assert_eq!((row.messages, row.turns, row.summarized_count), (4, 2, 2));
        // The branch exists now, and outlives its parent.
        assert!(bench.try_write("s", &[branch(inside[..1].to_vec())]).is_err());
        bench.delete("s");
        assert_eq!(bench.load("b").unwrap().messages.len(), 4);
        bench.write("b", &step("b", 4, 1)[1..]);
    });
}

#[test]
fn a_list_shows_the_first_request_as_it_stands_now() {
    on_each(|bench| {
        bench.write("s", &step("s", 0, 6));
        let version = |ord: u32, rev: u32, body: Body| {
            let mut message = message(ord, body);
            message.rev = rev;
            message.visible_to_model = !matches!(message.body, Body::Event { .. });
            Write::Message { turn: ord / 2, message: Arc::new(message) }
        };
        let removed = || Body::Event { kind: "removed".into(), text: "".into() };
        let large = format!("large {}", "漢".repeat(10_000));
        bench.write("s", &[version(0, 1, user("edited"))]);
        assert_eq!(bench.row("s").first_request.as_deref(), Some("edited"));
        bench.write("s", &[version(2, 1, user(&large)), version(1, 1, removed())]);
        assert_eq!(bench.row("s").first_request.as_deref(), Some("edited"));
        bench.write("s", &[version(0, 2, removed())]);
        assert!(bench.row("s").first_request.unwrap().starts_with("large 漢漢"));
        // An older version changes nothing.
        bench.write("s", &[version(2, 3, user("newer")), version(2, 2, removed())]);
        assert_eq!(bench.row("s").first_request.as_deref(), Some("newer"));
        bench.write("s", &[version(4, 1, user("edited, too")), version(2, 4, removed())]);
        assert_eq!(bench.row("s").first_request.as_deref(), Some("edited, too"));
        bench.reopen();
        let ours = bench.load("s").unwrap();
        assert_eq!(ours.messages.len(), 6);
        let places: Vec<_> = ours.messages.iter().map(|(_, m)| (m.ord.0, m.rev)).collect();
        assert_eq!(places, [(0, 2), (1, 1), (2, 4), (3, 0), (4, 1), (5, 0)]);
        // A removed message keeps its position.
        assert_eq!(bench.row("s").messages, 6);
        bench.write("s", &[version(4, 2, removed())]);
        assert_eq!(bench.row("s").first_request, None);
        bench.write("s", &[version(2, 5, user("brought back"))]);
        assert_eq!(bench.row("s").first_request.as_deref(), Some("brought back"));
        bench.write("s", &[keep("f"), Write::Truncate { from: Ordinal(2), turns: 1 }]);
        assert_eq!((bench.row("s").first_request, bench.row("s").messages), (None, 2));
    });
}

#[test]
fn a_new_version_of_any_kind_is_what_comes_back() {
    on_each(|bench| {
        let all = bodies();
        let writes = |rev: u32, bodies: &[Body]| -> Vec<Write> {
            let versions = bodies.iter().enumerate().map(|(n, body)| {
                let mut message = message(n as u32, body.clone());
                message.rev = rev;
                Write::Message { turn: 0, message: Arc::new(message) }
            });
            versions.collect()
        };
        let reversed: Vec<Body> = all.iter().rev().cloned().collect();
        bench.write("s", &[step("s", 0, 0), writes(0, &all)].concat());
        bench.write("s", &writes(1, &reversed));
        bench.reopen();
        let found: Vec<Body> =
            bench.load("s").unwrap().messages.iter().map(|(_, message)| message.body.clone()).collect();
        assert!(found == reversed);
    });
}

#[test]
fn pieces_of_an_answer_are_kept_until_its_end() {
    on_each(|bench| {
        bench.write("s", &step("s", 0, 1));
        let known = bench.store().follow(&session("s"), None).unwrap().unwrap().mark;
        for text in texts() {
            bench.write("s", &[piece(&text)]);
        }
        let news = bench.store().follow(&session("s"), Some(&known)).unwrap().unwrap();
        assert_eq!(news.change, None, "nothing new for a follower");
        bench.reopen();
        let stored = bench.load("s").unwrap();
        let kept: Vec<Write> = stored.streamed.into_iter().map(Write::Streamed).collect();
        assert_eq!(kept, texts().iter().map(|text| piece(text)).collect::<Vec<_>>());
        assert_eq!(stored.unreadable, [""; 0]);
        // The next prompt needs the answer first, so no part is loaded.
        assert_eq!(bench.store().load_part(&session("s"), 1), Ok(None));
        bench.write("s", &[keep("r"), Write::StreamEnded]);
        bench.reopen();
        for id in ["s", "r"] {
            assert_eq!(bench.load(id).unwrap().streamed, []);
        }
        bench.write("s", &[piece("again")]);
        assert!(bench.delete("s").is_some());
        bench.write("s", &step("s", 0, 1));
        assert_eq!(bench.load("s").unwrap().streamed, []);
    });
}
