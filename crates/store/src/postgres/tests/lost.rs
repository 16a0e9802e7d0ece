//! Connections that are lost: between calls, in a transaction, and while a commit is under way.

use super::unique;
use crate::error::StoreError;
use crate::postgres::{Opener, Options, PostgresStore};
use crate::testing::postgres::{self, Server};
use crate::testing::{session, step};
use crate::{Commit, Store};
use engine::id::{SessionId, Time};
use session::stored::Write;
use std::io::{Read, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// Ends all connections of a tenant's store at the server.
fn cut(server: &Server, application: &str) {
    let sql = format!(
        "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE application_name = '{application}'"
    );
    server.sql(&sql);
}

fn open(server: &Server, name: &str) -> PostgresStore {
    let url = format!("{}?application_name={name}", server.url("threadhold", "threadhold"));
    Opener::new(Options::new(&url, None, name).unwrap()).open().unwrap()
}

fn ords(store: &mut PostgresStore, id: &SessionId) -> Vec<u32> {
    let stored = store.load(id).unwrap();
    stored.map_or_else(Vec::new, |stored| stored.messages.iter().map(|(_, message)| message.ord.0).collect())
}

#[test]
fn a_lost_connection_is_opened_again_by_the_next_call() {
    let Some(server) = postgres::server() else { return };
    let name = unique("cut");
    let mut store = open(server, &name);
    let s = session("s");
    let fence = store.acquire(&s, Time(1)).unwrap();
    let mut pulse = store.pulse().unwrap();
    for n in 0..3 {
        cut(server, &name);
        store.commit(&s, fence, &step("s", n, 1)).unwrap();
        cut(server, &name);
        assert_eq!(ords(&mut store, &s), (0..=n).collect::<Vec<_>>());
        // What was committed meanwhile was not heard.
        assert!(store.pulse().unwrap() > pulse);
        pulse = store.pulse().unwrap();
    }
}

#[test]
fn nothing_acknowledged_is_lost_when_the_server_crashes() {
    let Some(server) = Server::start() else { return };
    let mut store = open(&server, "crash");
    let s = session("s");
    let fence = store.acquire(&s, Time(1)).unwrap();
    store.commit(&s, fence, &step("s", 0, 1)).unwrap();
    server.crash();
    let away = store.commit(&s, fence, &step("s", 1, 1)).unwrap_err();
    assert!(matches!(away, StoreError::Away { .. }), "{away}");
    assert!(matches!(store.load(&s), Err(StoreError::Away { .. })));
    server.resume();
    store.commit(&s, fence, &step("s", 1, 1)).unwrap();
    assert_eq!(ords(&mut store, &s), [0, 1]);
}

/// A proxy that forwards everything, and ends a connection when its client commits messages: before that is forwarded, or
/// before the answer is.
struct Proxy {
    folder: PathBuf,
    cut: Arc<Mutex<Option<Cut>>>,
    /// Ends new connections at once.
    is_closed: Arc<AtomicBool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    Request,
    Answer,
}

impl Proxy {
    fn start(server: &Server) -> Self {
        let folder = std::env::temp_dir().join(unique("p"));
        std::fs::create_dir(&folder).unwrap();
        let listener = UnixListener::bind(folder.join(".s.PGSQL.5432")).unwrap();
        let (cut, target) = (Arc::new(Mutex::new(None)), server.folder().join(".s.PGSQL.5432"));
        let (shared, is_closed) = (Arc::clone(&cut), Arc::new(AtomicBool::new(false)));
        let closed = Arc::clone(&is_closed);
        thread::spawn(move || {
            for client in listener.incoming() {
                if closed.load(Ordering::SeqCst) {
                    continue;
                }
                let (Ok(client), Ok(server)) = (client, UnixStream::connect(&target)) else { return };
                forward(client, server, &shared);
            }
        });
        Self { folder, cut, is_closed }
    }

    fn url(&self) -> String {
        let folder = self.folder.display().to_string().replace('/', "%2F");
        format!("postgres://threadhold@{folder}/threadhold")
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn forward(client: UnixStream, server: UnixStream, cut: &Arc<Mutex<Option<Cut>>>) {
    let is_deaf = Arc::new(AtomicBool::new(false));
    let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let (cut, deaf) = (Arc::clone(cut), Arc::clone(&is_deaf));
    thread::spawn(move || {
        let (mut bytes, mut since) = ([0; 1 << 16], Vec::new());
        while let Ok(many @ 1..) = from.read(&mut bytes) {
            let said = &bytes[..many];
            since.extend_from_slice(said);
            let has = |word: &[u8]| since.windows(word.len()).any(|found| found == word);
            let (ends, wrote) = (has(b"COMMIT\0"), has(b"INSERT INTO chat_messages"));
            if ends {
                since.clear();
            }
            match cut.lock().unwrap().take_if(|_| ends && wrote) {
                Some(Cut::Request) => break,
                Some(Cut::Answer) => deaf.store(true, Ordering::SeqCst),
                None => {}
            }
            if to.write_all(said).is_err() {
                break;
            }
        }
        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    });
    let (mut from, mut to) = (server, client);
    thread::spawn(move || {
        let mut bytes = [0; 1 << 16];
        while let Ok(many @ 1..) = from.read(&mut bytes) {
            if is_deaf.load(Ordering::SeqCst) || to.write_all(&bytes[..many]).is_err() {
                break;
            }
        }
        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    });
}

#[test]
fn unknown_outcome_of_a_commit_is_looked_up() {
    let Some(server) = postgres::server() else { return };
    let proxy = Proxy::start(server);
    let tenant = unique("unknown");
    let mut store = Opener::new(Options::new(&proxy.url(), None, &tenant).unwrap()).open().unwrap();
    let s = session("s");
    let fence = store.acquire(&s, Time(1)).unwrap();
    store.commit(&s, fence, &step("s", 0, 1)).unwrap();
    // Pieces have no position: one that was written twice would be there twice.
    let piece = crate::testing::piece("once");
    for (n, how) in (1..).zip([Cut::Request, Cut::Answer, Cut::Answer, Cut::Request]) {
        *proxy.cut.lock().unwrap() = Some(how);
        store.commit(&s, fence, &[step("s", n, 1), vec![piece.clone()]].concat()).unwrap();
        assert_eq!(*proxy.cut.lock().unwrap(), None, "the connection was cut");
        let stored = store.load(&s).unwrap().unwrap();
        assert_eq!((stored.messages.len(), stored.streamed.len()), (n as usize + 1, n as usize), "{how:?}");
    }
}

/// The outcome of a commit stays unknown while the server is away; the next attempt looks for it.
#[test]
fn unknown_outcome_is_looked_up_once_the_server_is_back() {
    let Some(server) = postgres::server() else { return };
    let proxy = Proxy::start(server);
    let tenant = unique("later");
    let mut store = Opener::new(Options::new(&proxy.url(), None, &tenant).unwrap()).open().unwrap();
    let s = session("s");
    let fence = store.acquire(&s, Time(1)).unwrap();
    store.commit(&s, fence, &step("s", 0, 1)).unwrap();
    let commit = |writes: Vec<Write>| Commit { session: s.clone(), fence, writes: Arc::new(writes) };
    let piece = crate::testing::piece("once");
    for (n, how) in (1..).zip([Cut::Answer, Cut::Request]) {
        let mut commits = vec![commit([step("s", n, 1), vec![piece.clone()]].concat())];
        *proxy.cut.lock().unwrap() = Some(how);
        proxy.is_closed.store(true, Ordering::SeqCst);
        for _ in 0..2 {
            let outcomes = store.commit_all(&commits);
            assert!(matches!(&*outcomes, [Err(StoreError::Away { .. })]), "{outcomes:?}");
        }
        proxy.is_closed.store(false, Ordering::SeqCst);
        // With one that waited behind it.
        commits.push(commit(vec![piece.clone()]));
        assert_eq!(store.commit_all(&commits), [Ok(()), Ok(())]);
        let stored = store.load(&s).unwrap().unwrap();
        assert_eq!(
            (stored.messages.len(), stored.streamed.len()),
            (n as usize + 1, 2 * n as usize),
            "{how:?}"
        );
    }
}
