//! One writer per session across processes: a killed process holds nothing, and its acknowledged writes are
//! kept.

use crate::Store;
use crate::error::StoreError;
use crate::follow;
use crate::place::Options;
use crate::sqlite::SqliteStore;
use crate::testing::{Folder, session, step};
use engine::id::Time;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The variable that tells the other process the folder.
const FOLDER: &str = "THREADHOLD_TEST_STORE";
const NAME: &str = "tests::lease::a_killed_holder_holds_nothing_and_lost_nothing";

/// Runs as the test and as the process that the test kills.
#[test]
fn a_killed_holder_holds_nothing_and_lost_nothing() {
    match std::env::var_os(FOLDER) {
        Some(folder) => hold(Path::new(&folder)),
        None => kill_a_holder(),
    }
}

/// Writes steps, reports each as acknowledged, and waits to be killed.
fn hold(folder: &Path) {
    let mut store = SqliteStore::open(Options::in_folder(folder)).unwrap();
    let fence = store.acquire(&session("s"), Time(77)).unwrap();
    for n in 0..20 {
        store.commit(&session("s"), fence, &step("s", n, 1)).unwrap();
        fs::write(folder.join("acknowledged"), n.to_string()).unwrap();
    }
    fs::write(folder.join("ready"), "").unwrap();
    // Returns at the latest when the test ends.
    let _ = std::io::stdin().read(&mut [0]);
}

struct Holder(Child);

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn kill_a_holder() {
    let folder = Folder::new();
    fs::create_dir_all(&folder.0).unwrap();
    let child = Command::new(std::env::current_exe().unwrap())
        .args([NAME, "--exact"])
        .env(FOLDER, &folder.0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut holder = Holder(child);
    let deadline = Instant::now() + Duration::from_secs(60);
    while !folder.0.join("ready").exists() {
        assert!(Instant::now() < deadline && holder.0.try_wait().unwrap().is_none(), "it never held");
        thread::sleep(Duration::from_millis(5));
    }
    let mut store = folder.open();
    let held = store.acquire(&session("s"), Time(1)).unwrap_err();
    assert_eq!(
        held,
        StoreError::Held { session: session("s"), holder: follow::Holder::here(holder.0.id(), Time(77)) }
    );
    holder.0.kill().unwrap();
    holder.0.wait().unwrap();
    let fence = store.acquire(&session("s"), Time(2)).unwrap();
    assert_eq!(fence.0, 2);
    let acknowledged: usize = fs::read_to_string(folder.0.join("acknowledged")).unwrap().parse().unwrap();
    let stored = store.load(&session("s")).unwrap().unwrap();
    assert_eq!(stored.messages.len(), acknowledged + 1);
    assert!(stored.unreadable.is_empty());
    store.commit(&session("s"), fence, &step("s", 20, 1)).unwrap();
}

/// The number of holder files.
fn holders(folder: &Folder) -> usize {
    let entries = fs::read_dir(folder.0.join("holders")).unwrap().flatten();
    entries.filter(|entry| entry.path().extension().is_some_and(|ending| ending == "lock")).count()
}

#[test]
fn holder_files_go_with_holders_or_at_next_opening() {
    let folder = Folder::new();
    let mut one = folder.open();
    let two = folder.open();
    assert_eq!(holders(&folder), 2);
    one.close().unwrap();
    drop((one, two));
    assert_eq!(holders(&folder), 0);
    // A file left by a killed process.
    fs::write(folder.0.join("holders/dead.lock"), "pid 1\n").unwrap();
    let store = folder.open();
    assert_eq!(holders(&folder), 1);
    drop(store);
}

#[test]
fn a_session_that_was_never_written_leaves_no_lease() {
    let folder = Folder::new();
    let mut store = folder.open();
    for n in 0..3 {
        store.acquire(&session(&n.to_string()), Time(1)).unwrap();
    }
    store.release(&session("0"), crate::Fence(1)).unwrap();
    let other = rusqlite::Connection::open(folder.file()).unwrap();
    let leases = || other.query_row("SELECT count(*) FROM leases", [], |row| row.get::<_, u32>(0)).unwrap();
    assert_eq!(leases(), 2);
    drop(store);
    drop(folder.open());
    assert_eq!(leases(), 0);
}

/// Several windows may start at once: one creates the file, all open it.
#[test]
fn many_open_a_new_store_at_once() {
    let folder = Folder::new();
    let opened: Vec<_> = (0..6)
        .map(|n| {
            let options = folder.options();
            thread::spawn(move || {
                let mut store = SqliteStore::open(options)?;
                let id = session(&n.to_string());
                let fence = store.acquire(&id, Time(1))?;
                store.commit(&id, fence, &step(id.as_str(), 0, 2))
            })
        })
        .collect();
    for store in opened {
        store.join().unwrap().unwrap();
    }
    assert_eq!(folder.open().diagnostics().unwrap().sessions, 6);
}
