//! Failures across processes: changed order, summaries that come back twice or not at all, half a step on
//! disk, impossible stored records. `wire::restore` tests the binary across a crash.

use super::chat::{Chat, numbered};
use super::failures::BY_MODEL;
use crate::bench::{SUMMARY as SHORT, id};
use engine::compact::record::{Compaction, Span};
use engine::id::{Ordinal, RoundId, Time};
use engine::prompt::item::Item;
use engine::scope::Scope;
use engine::tokens::QuarterOfChars;
use session::effect::Answer;
use session::input::Command;
use session::stored::{TurnStatus, Write};
use session::{Opening, Session as Machine};
use std::fs;
use std::sync::Arc;
use store::testing::Folder;
use store::{Fence, Store};

/// The prompts of a chat of 24 turns whose process ends after these turns.
fn lived(ends_after: impl Fn(usize) -> bool) -> Vec<Vec<Item>> {
    let mut chat = Chat::new(4000, BY_MODEL, numbered);
    for n in 0..24 {
        chat.turn(&format!("request number {n};"), 1800);
        if ends_after(n) {
            chat.restarts();
        }
    }
    assert!(chat.bench.session.transcript().compactions().len() > 2);
    chat.sent.into_iter().map(|sent| sent.items).collect()
}

/// All messages have one time stamp. However often the process ends, every prompt is byte identical, and its
/// summary is on every turn.
#[test]
fn restarts_change_no_later_prompt() {
    let through = lived(|_| false);
    assert!(through == lived(|_| true), "a new process for every turn");
    for at in 0..24 {
        assert!(through == lived(|n| n == at), "a new process after turn {at}");
    }
}

/// Reopens a session with changed compaction records.
fn reopened(chat: &mut Chat, change: impl Fn(&mut Compaction)) {
    let mut stored = chat.bench.store.load(&id()).unwrap().expect("it is stored");
    stored.compactions.iter_mut().for_each(change);
    let opening = Opening {
        head: stored.head.clone(),
        settings: chat.bench.session.settings().clone(),
        stored: Some(stored),
        stream: "another".into(),
        scope: Scope::default(),
        approvals: Vec::new(),
        memories: Vec::new(),
        agents: Vec::new(),
    };
    chat.bench.session = Machine::new(opening, &QuarterOfChars);
    chat.bench.asked.clear();
    chat.bench.timers.clear();
}

/// A description, whether it must be reported, and the change.
type Damage = (&'static str, bool, fn(&mut Compaction));

/// Impossible contents of a stored record.
const DAMAGES: [Damage; 7] = [
    ("it covers more than was said", true, |record| {
        record.covers = Some(Span { from: Ordinal(0), to: Ordinal(9000) });
    }),
    ("it drops more than was said", true, |record| {
        record.dropped = Some(Span { from: Ordinal(0), to: Ordinal(u32::MAX) });
    }),
    ("its range is upside down", true, |record| {
        record.covers = Some(Span { from: Ordinal(7), to: Ordinal(2) });
    }),
    ("nothing is the round that it hangs at", false, |record| {
        record.anchor.round_id = RoundId::new("nowhere");
        record.anchor.ord = Ordinal(9000);
    }),
    ("it keeps words that nobody said", true, |record| {
        record.kept_users = vec![Ordinal(8000), Ordinal(3)];
        record.open_requests = vec![Ordinal(9000)];
    }),
    ("it was made before the beginning and after the end of time", false, |record| {
        record.created_at = Some(Time(u64::MAX));
        record.duration_ms = Some(u64::MAX);
    }),
    ("it was made from something else", false, |record| record.source_hash = "00".into()),
];

/// Whatever stored records say, the next turn runs with its request and the newest messages.
#[test]
fn damaged_records_neither_block_turns_nor_hide_messages() {
    for (what, is_reported, damage) in DAMAGES {
        let mut chat = Chat::new(4000, BY_MODEL, numbered);
        for n in 0..9 {
            chat.turn(&format!("request number {n};"), 1800);
        }
        assert!(chat.bench.session.transcript().in_force().is_some());
        reopened(&mut chat, damage);
        let opened = chat.bench.command(Command::Open(Box::default()));
        let Some(Ok(Answer::Opened(opened))) = chat.bench.reply(opened) else { panic!("{what}: it opens") };
        assert_eq!(opened.1.unreadable.is_empty(), !is_reported, "{what}: {:?}", opened.1.unreadable);
        chat.asks("What now?");
        assert_eq!(chat.places("What now?").len(), 1, "{what}");
        chat.round(1, 100);
        assert_eq!(chat.places("What now?").len(), 1, "{what}");
        chat.says("This.");
        assert_eq!(chat.ended().status, TurnStatus::Completed, "{what}");
        chat.asks("And then?");
        assert!(chat.times("This.") == 1, "{what}: what was said a moment ago is shown");
    }
}

/// The files of a store after a kill.
fn left(from: &Folder, wal: &[u8]) -> Folder {
    let to = Folder::new();
    fs::create_dir_all(&to.0).unwrap();
    fs::copy(from.file(), to.file()).unwrap();
    fs::write(to.0.join("threadhold.db-wal"), wal).unwrap();
    to
}

/// A kill at any byte that a compaction writes: another process finds the old state or the whole new one. The
/// database's log is cut, which has all statements of the step.
#[test]
fn kill_at_any_byte_leaves_old_or_new_state() {
    let mut chat = Chat::new(4000, BY_MODEL, numbered);
    for n in 0..9 {
        chat.turn(&format!("request number {n};"), 1800);
    }
    let stored = chat.bench.store.load(&id()).unwrap().expect("it is stored");
    let folder = Folder::new();
    let mut store = folder.open();
    let fence = store.acquire(&id(), Time(1)).unwrap();
    let mut writes = vec![Write::Head(Box::new(stored.head.clone()))];
    writes.extend(stored.turns.iter().cloned().map(Write::Turn));
    writes.extend(
        stored
            .messages
            .iter()
            .map(|(turn, message)| Write::Message { turn: *turn, message: Arc::clone(message) }),
    );
    store.commit(&id(), fence, &writes).unwrap();
    let old = store.load(&id()).unwrap();
    let wal = || fs::read(folder.0.join("threadhold.db-wal")).unwrap();
    let before = wal().len();
    let record = Compaction { narrative: Some(SHORT.repeat(300).into()), ..stored.compactions[0].clone() };
    let renamed = session::stored::Head { title: Some("after".into()), ..stored.head.clone() };
    let step = [Write::Head(Box::new(renamed)), Write::Compaction(Box::new(record))];
    store.commit(&id(), Fence(fence.0), &step).unwrap();
    let new = store.load(&id()).unwrap();
    let whole = wal();
    assert!(whole.len() > before + 4096, "it was written behind what was there");
    assert_ne!(old, new);
    let mut found = [0, 0];
    let cuts = (before..whole.len()).step_by(509).chain([whole.len() - 1, whole.len()]);
    for cut in cuts {
        let killed = left(&folder, &whole[..cut]);
        let state = killed.open().load(&id()).unwrap();
        let at = [&old, &new].iter().position(|known| **known == state);
        found[at.unwrap_or_else(|| panic!("neither old nor new, cut at {cut} of {}", whole.len()))] += 1;
    }
    assert!(found[0] > 5 && found[1] > 0, "{found:?}");
}
