//! The thread that owns a store: order, answers, panics, the end. Some tests use an opener that fails on
//! purpose.

use crate::Store;
use crate::error::StoreError;
use crate::place::InMemory;
use crate::sqlite::{Opener, SqliteStore};
use crate::testing::{Folder, message, session, step, user};
use crate::worker::{Bounds, Handle, Waiting};
use crate::{Commit, Fence};
use engine::id::Time;
use session::stored::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// A worker with a store in a file.
fn on_file(folder: &Folder) -> Handle {
    let mut opener = Opener::new(folder.options());
    Handle::start(Box::new(move || Ok(Box::new(opener.open()?)))).unwrap()
}

#[test]
fn nothing_is_opened_before_the_first_job() {
    let folder = Folder::new();
    let handle = on_file(&folder);
    handle.close_and_wait().unwrap();
    assert!(!folder.0.exists());
    let handle = on_file(&folder);
    assert_eq!(handle.call(|store| Ok(store.diagnostics()?.sessions)), Ok(0));
    assert!(folder.file().exists());
}

#[test]
fn jobs_run_in_order_and_before_the_close() {
    let folder = Folder::new();
    let handle = on_file(&folder);
    let (sender, answers) = mpsc::channel();
    let fence = handle.call(|store| store.acquire(&session("s"), Time(1))).unwrap();
    for n in 0..100 {
        let sender = sender.clone();
        handle.submit(
            move |store| store.commit(&session("s"), fence, &step("s", n, 1)),
            move |done| sender.send((n, done)).unwrap(),
        );
    }
    let closed = sender.clone();
    handle.close(move |done| closed.send((100, done)).unwrap());
    let late = sender.clone();
    handle.submit(|store| store.diagnostics(), move |done| late.send((101, done.map(drop))).unwrap());
    drop(sender);
    let answers: Vec<_> = answers.iter().collect();
    let order: Vec<u32> = answers.iter().map(|(n, _)| *n).filter(|n| *n < 101).collect();
    assert!(order.is_sorted() && order.len() == 101, "{order:?}");
    for (n, done) in answers {
        assert_eq!(done, if n == 101 { Err(StoreError::Closed) } else { Ok(()) }, "{n}");
    }
    assert_eq!(handle.call(|store| store.diagnostics()), Err(StoreError::Closed));
    assert_eq!(handle.close_and_wait(), Err(StoreError::Closed));
    // Closing released the sessions and kept every commit.
    let mut store = folder.open();
    assert_eq!(store.load(&session("s")).unwrap().unwrap().messages.len(), 100);
    store.acquire(&session("s"), Time(1)).unwrap();
}

/// Transactions in a database's log, which is synced after each.
fn transactions(folder: &Folder) -> usize {
    let log = std::fs::read(folder.file().with_extension("db-wal")).unwrap();
    let frames = log.get(32..).unwrap_or_default().chunks_exact(24 + 4096);
    // The last frame of a transaction has the size of the file.
    frames.filter(|frame| frame[4..8] != [0; 4]).count()
}

#[test]
fn commits_that_wait_are_synced_once_and_each_has_its_own_outcome() {
    let folder = Folder::new();
    let handle = on_file(&folder);
    let ids = ["a", "b", "c", "d"];
    let fences = ids.map(|id| {
        let fence = handle.call(move |store| store.acquire(&session(id), Time(1))).unwrap();
        handle.call(move |store| store.commit(&session(id), fence, &step(id, 0, 1))).unwrap();
        fence
    });
    let before = transactions(&folder);
    let (free, waits) = mpsc::channel::<()>();
    handle.submit(move |_| waits.recv().map_err(|_| StoreError::Closed), drop);
    let (sender, answers) = mpsc::channel();
    for (id, fence) in ids.into_iter().zip(fences) {
        // One is not held under its fence, and another contradicts what is stored.
        let fence = if id == "b" { Fence(fence.0 + 7) } else { fence };
        let mut writes = step(id, 1, 1);
        if id == "c" {
            let other = Arc::new(message(0, user("something else")));
            writes.push(Write::Message { turn: 0, message: other });
        }
        let sender = sender.clone();
        let commit = Commit { session: session(id), fence, writes: Arc::new(writes) };
        handle.commit(commit, move |done| sender.send((id, done)).unwrap());
    }
    drop(sender);
    free.send(()).unwrap();
    let outcomes: Vec<_> = answers.iter().collect();
    assert!(
        matches!(
            &*outcomes,
            [
                ("a", Ok(())),
                ("b", Err(StoreError::FenceLost { .. })),
                ("c", Err(StoreError::Refused { .. })),
                ("d", Ok(())),
            ]
        ),
        "{outcomes:?}"
    );
    assert_eq!(transactions(&folder), before + 1);
    let stored =
        ids.map(|id| handle.call(move |store| store.load(&session(id))).unwrap().unwrap().messages.len());
    assert_eq!(stored, [2, 1, 1, 2], "one that fails leaves nothing behind and takes no other with it");
    handle.close_and_wait().unwrap();
}

#[test]
fn commits_of_a_store_that_crashes_are_all_answered() {
    let handle = Handle::start(Box::new(|| Err(StoreError::Locked { path: "p".into() }))).unwrap();
    let (sender, answers) = mpsc::channel();
    for id in ["a", "b"] {
        let sender = sender.clone();
        let commit = Commit { session: session(id), fence: Fence(1), writes: Arc::default() };
        handle.commit(commit, move |done| sender.send(done).unwrap());
    }
    handle.close_and_wait().unwrap();
    let commit = Commit { session: session("a"), fence: Fence(1), writes: Arc::default() };
    handle.commit(commit, move |done| sender.send(done).unwrap());
    let locked = Err(StoreError::Locked { path: "p".into() });
    assert_eq!(answers.iter().collect::<Vec<_>>(), [locked.clone(), locked, Err(StoreError::Closed)]);
}

/// A worker whose store is reached as long as the flag is not set, with session `s` held; its store has to be opened anew.
fn away(bounds: Bounds) -> (Handle, Fence, Arc<AtomicBool>, mpsc::Receiver<Waiting>) {
    let is_away = Arc::new(AtomicBool::new(false));
    let (flag, mut opener) = (Arc::clone(&is_away), Opener::in_memory(InMemory::default()));
    let open = move || -> Result<Box<dyn Store>, StoreError> {
        if flag.load(Ordering::SeqCst) { Err(unreachable()) } else { Ok(Box::new(opener.open()?)) }
    };
    let (sender, told) = mpsc::channel();
    let told_to = Box::new(move |waiting| sender.send(waiting).unwrap());
    let handle = Handle::start_telling(Box::new(open), bounds, told_to).unwrap();
    let fence = handle.call(|store| store.acquire(&session("s"), Time(1))).unwrap();
    handle.call(|_| -> Result<(), StoreError> { panic!("so that it is opened anew") }).unwrap_err();
    (handle, fence, is_away, told)
}

fn unreachable() -> StoreError {
    StoreError::Away { path: "db".into(), reason: "refused".into() }
}

/// Commits this to session `s`; the receiver gets the outcome.
fn commit(handle: &Handle, fence: Fence, writes: Vec<Write>) -> mpsc::Receiver<Result<(), StoreError>> {
    let (sender, answer) = mpsc::channel();
    let commit = Commit { session: session("s"), fence, writes: Arc::new(writes) };
    handle.commit(commit, move |done| sender.send(done).unwrap());
    answer
}

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn commits_wait_for_a_store_that_is_away() {
    let (handle, fence, is_away, told) = away(Bounds { bytes: 1 << 20, time: HOUR });
    is_away.store(true, Ordering::SeqCst);
    let answers = [0, 1, 2].map(|n| commit(&handle, fence, step("s", n, 1)));
    assert_eq!(told.recv(), Ok(Waiting::Began(unreachable())));
    // Nothing overtakes them.
    assert_eq!(handle.call(|store| store.load(&session("s"))), Err(unreachable()));
    assert!(answers.iter().all(|answer| answer.try_recv().is_err()));
    is_away.store(false, Ordering::SeqCst);
    assert!(answers.iter().all(|answer| answer.recv() == Ok(Ok(()))));
    assert_eq!(told.recv(), Ok(Waiting::Ended));
    let stored = handle.call(|store| store.load(&session("s"))).unwrap().unwrap();
    assert_eq!(stored.messages.iter().map(|(_, message)| message.ord.0).collect::<Vec<_>>(), [0, 1, 2]);
    handle.close_and_wait().unwrap();
    assert!(told.recv().is_err(), "nothing else is told");
}

#[test]
fn what_waits_for_a_store_is_bounded_in_bytes() {
    let (handle, fence, is_away, told) = away(Bounds { bytes: 16_000, time: HOUR });
    is_away.store(true, Ordering::SeqCst);
    let small = commit(&handle, fence, step("s", 0, 1));
    assert_eq!(told.recv(), Ok(Waiting::Began(unreachable())));
    let large = Write::Message { turn: 0, message: Arc::new(message(1, user(&"x".repeat(16_000)))) };
    assert_eq!(commit(&handle, fence, vec![large]).recv(), Ok(Err(unreachable())));
    assert!(small.try_recv().is_err());
    // The end waits for nobody.
    assert_eq!(handle.close_and_wait(), Ok(()));
    assert_eq!(small.recv(), Ok(Err(unreachable())));
    assert_eq!(told.recv(), Ok(Waiting::GaveUp(unreachable())));
}

#[test]
fn what_waits_for_a_store_is_bounded_in_time() {
    let (handle, fence, is_away, told) = away(Bounds { bytes: 1 << 20, time: Duration::from_millis(300) });
    is_away.store(true, Ordering::SeqCst);
    let waits = commit(&handle, fence, step("s", 0, 1));
    assert_eq!(told.recv(), Ok(Waiting::Began(unreachable())));
    assert_eq!(waits.recv(), Ok(Err(unreachable())));
    assert_eq!(told.recv(), Ok(Waiting::GaveUp(unreachable())));
    // What follows does not wait as long again.
    assert_eq!(commit(&handle, fence, step("s", 0, 1)).recv(), Ok(Err(unreachable())));
    is_away.store(false, Ordering::SeqCst);
    assert_eq!(commit(&handle, fence, step("s", 0, 1)).recv(), Ok(Ok(())));
    assert_eq!(told.recv(), Ok(Waiting::Ended));
    handle.close_and_wait().unwrap();
    assert!(told.recv().is_err(), "nothing else is told");
}

#[test]
fn nothing_waits_for_a_store_once_the_end_is_near() {
    let (handle, fence, is_away, told) = away(Bounds { bytes: 1 << 20, time: HOUR });
    is_away.store(true, Ordering::SeqCst);
    let waits = commit(&handle, fence, step("s", 0, 1));
    assert_eq!(told.recv(), Ok(Waiting::Began(unreachable())));
    handle.stop_waiting();
    assert_eq!(waits.recv(), Ok(Err(unreachable())));
    assert_eq!(told.recv(), Ok(Waiting::GaveUp(unreachable())));
    assert_eq!(commit(&handle, fence, step("s", 0, 1)).recv(), Ok(Err(unreachable())));
    handle.close_and_wait().unwrap();
}

#[test]
fn panic_is_an_answer_and_the_store_goes_on() {
    let folder = Folder::new();
    let handle = on_file(&folder);
    let fence = handle.call(|store| store.acquire(&session("s"), Time(1))).unwrap();
    handle.call(move |store| store.commit(&session("s"), fence, &step("s", 0, 1))).unwrap();
    let broken = handle.call(|_| -> Result<(), StoreError> { panic!("a defect") });
    assert_eq!(broken, Err(StoreError::Crashed { reason: "a defect".into() }));
    handle.submit(|_| Ok(()), |_| panic!("a defect in an answer"));
    handle.call(move |store| store.commit(&session("s"), fence, &step("s", 1, 1))).unwrap();
    let stored = handle.call(|store| store.load(&session("s"))).unwrap().unwrap();
    assert_eq!(stored.messages.len(), 2);
    handle.close_and_wait().unwrap();
}

#[test]
fn failed_opening_is_an_answer_and_is_retried() {
    let attempts = Arc::new(AtomicUsize::new(0));
    let (seen, memory) = (Arc::clone(&attempts), InMemory::default());
    let open = move || -> Result<Box<dyn Store>, StoreError> {
        match seen.fetch_add(1, Ordering::SeqCst) {
            0 => Err(StoreError::Locked { path: "p".into() }),
            1 => panic!("in opening"),
            _ => Ok(Box::new(SqliteStore::in_memory(&memory)?)),
        }
    };
    let handle = Handle::start(Box::new(open)).unwrap();
    let ask = || handle.call(|store| Ok(store.diagnostics()?.backend));
    assert_eq!(ask(), Err(StoreError::Locked { path: "p".into() }));
    assert_eq!(ask(), Err(StoreError::Crashed { reason: "in opening".into() }));
    assert_eq!(ask(), Ok("memory"));
    assert_eq!(ask(), Ok("memory"));
    assert_eq!(attempts.load(Ordering::SeqCst), 3);
}

#[test]
fn thread_ends_with_its_last_handle_and_closes_the_store() {
    struct Told(mpsc::Sender<()>);
    impl Drop for Told {
        fn drop(&mut self) {
            let _ = self.0.send(());
        }
    }
    let (sender, ended) = mpsc::channel();
    let told = Told(sender);
    let memory = InMemory::default();
    let shared = memory.clone();
    let handle = Handle::start(Box::new(move || {
        let _ = &told;
        Ok(Box::new(SqliteStore::in_memory(&shared)?))
    }))
    .unwrap();
    let copy = handle.clone();
    copy.call(|store| store.acquire(&session("s"), Time(1))).unwrap();
    drop((handle, copy));
    ended.recv().unwrap();
    SqliteStore::in_memory(&memory).unwrap().acquire(&session("s"), Time(1)).unwrap();
}

/// The file itself grows only at a checkpoint.
#[test]
fn idle_store_is_checkpointed() {
    let folder = Folder::new();
    let handle = on_file(&folder);
    let fence = handle.call(|store| store.acquire(&session("s"), Time(1))).unwrap();
    let size = || std::fs::metadata(folder.file()).unwrap().len();
    let before = size();
    for n in 0..300 {
        handle.call(move |store| store.commit(&session("s"), fence, &step("s", n, 1))).unwrap();
    }
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while size() == before {
        assert!(std::time::Instant::now() < deadline, "no checkpoint ran");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    handle.close_and_wait().unwrap();
}
