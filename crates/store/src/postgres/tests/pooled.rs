//! A store behind pgbouncer, which gives each transaction another connection of the server.

use super::unique;
use crate::Store;
use crate::postgres::{Opener, Options, PostgresStore};
use crate::testing::postgres::Server;
use crate::testing::{keep, session, step};
use engine::id::{Ordinal, Time};
use session::stored::Write;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// A running pgbouncer with two connections of a server, in transaction mode.
struct Pooler {
    folder: PathBuf,
    process: Child,
}

impl Pooler {
    /// Starts one; `None` where pgbouncer is not installed, a panic under CI.
    fn start(server: &Server) -> Option<Self> {
        let folder = server.folder().join(unique("pool"));
        let (of_server, own) = (server.folder().display(), folder.display());
        assert!(server.run("mkdir").arg(&folder).status().unwrap().success());
        let settings = format!(
            "[databases]\nthreadhold = host={of_server} dbname=threadhold\n[pgbouncer]\npool_mode = transaction\n\
             default_pool_size = 2\nlisten_addr =\nunix_socket_dir = {own}\nlisten_port = 6432\nauth_type = trust\n\
             auth_file = {own}/users\nlogfile = {own}/log\n"
        );
        fs::write(folder.join("users"), "\"threadhold\" \"\"\n").unwrap();
        fs::write(folder.join("ini"), settings).unwrap();
        let mut command = server.run("pgbouncer");
        command.arg(folder.join("ini")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let is_missing =
            server.run("which").arg("pgbouncer").output().is_ok_and(|found| !found.status.success());
        if is_missing {
            let missing = "pgbouncer is not installed; the test of a store behind it did not run";
            assert!(std::env::var_os("CI").is_none(), "{missing}");
            #[allow(clippy::print_stderr, reason = "a test that did not run must say so")]
            {
                eprintln!("{missing}");
            }
            return None;
        }
        let pooler = Self { folder, process: command.spawn().unwrap() };
        let deadline = Instant::now() + Duration::from_secs(60);
        while !pooler.folder.join(".s.PGSQL.6432").exists() {
            assert!(
                Instant::now() < deadline,
                "pgbouncer: {:?}",
                fs::read_to_string(pooler.folder.join("log"))
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(pooler)
    }

    fn options(&self, tenant: &str) -> Options {
        let folder = self.folder.display().to_string().replace('/', "%2F");
        Options::new(&format!("postgres://threadhold@{folder}:6432/threadhold"), None, tenant).unwrap()
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = (self.process.kill(), self.process.wait());
    }
}

#[test]
fn stores_behind_a_pooler_of_transactions_see_each_other() {
    let Some(server) = Server::start() else { return };
    let Some(pooler) = Pooler::start(&server) else { return };
    let tenant = unique("pooled");
    let open = |options| -> PostgresStore { Opener::new(options).open().unwrap() };
    // Those that are told to look for changes see each at once. One that listens all the same may see them late, for a
    // notification is for whoever has that connection of the server; what it reads is right.
    let mut first = open(pooler.options(&tenant).without_notifications());
    let mut second = open(pooler.options(&tenant).without_notifications());
    let mut listening = open(pooler.options(&tenant));
    let fence = first.acquire(&session("s"), Time(1)).unwrap();
    for n in 0..20 {
        let heard = second.pulse().unwrap();
        first.commit(&session("s"), fence, &step("s", n, 1)).unwrap();
        assert!(second.pulse().unwrap() > heard, "commit {n}");
        for other in [&mut second, &mut listening] {
            assert_eq!(other.load(&session("s")).unwrap().unwrap().messages.len(), n as usize + 1);
            assert!(other.acquire(&session("s"), Time(2)).is_err());
        }
    }
    first.commit(&session("s"), fence, &[keep("r"), Write::Truncate { from: Ordinal(4), turns: 2 }]).unwrap();
    // Many at once on two connections.
    let writers: Vec<_> = (0..6)
        .map(|n| {
            let (mut store, id) = (open(pooler.options(&tenant)), format!("s{n}"));
            std::thread::spawn(move || {
                let fence = store.acquire(&session(&id), Time(1)).unwrap();
                for ord in 0..10 {
                    store.commit(&session(&id), fence, &step(&id, ord, 1)).unwrap();
                }
                store.load(&session(&id)).unwrap().unwrap().messages.len()
            })
        })
        .collect();
    let written: Vec<usize> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
    assert_eq!(written, [10; 6]);
    let taken = second.take_over(&session("s"), Time(3)).unwrap();
    assert!(first.commit(&session("s"), fence, &step("s", 4, 1)).is_err());
    second.commit(&session("s"), taken, &step("s", 4, 1)).unwrap();
    assert_eq!(listening.load(&session("s")).unwrap().unwrap().messages.len(), 5);
}
