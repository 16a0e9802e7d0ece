//! A proxy on loopback between sidecars and a server's socket that fails as networks do: it delays, and it cuts connections
//! in the middle of a message.

use crate::fire::driver::Chance;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{sleep, spawn};
use std::time::Duration;

/// How a network fails.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faults {
    /// The delay of each piece, in either direction.
    pub delay: Duration,
    /// Bytes after which a connection is cut, at most; 0 for never.
    pub cut_within: u64,
}

/// A running proxy. It ends with the process.
pub struct Proxy {
    port: u16,
    cuts: Arc<AtomicU64>,
}

impl Proxy {
    /// Starts one in front of the server with its socket in this folder.
    pub fn start(folder: &Path, faults: Faults, seed: u64) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (socket, cuts) = (folder.join(".s.PGSQL.5432"), Arc::new(AtomicU64::new(0)));
        let counted = Arc::clone(&cuts);
        spawn(move || {
            let mut chance = Chance(seed);
            for client in listener.incoming().flatten() {
                relay(client, &socket, faults, &mut chance, &counted);
            }
        });
        Self { port, cuts }
    }

    /// The URL of a database behind it.
    pub fn url(&self, role: &str, database: &str) -> String {
        format!("postgres://{role}@127.0.0.1:{}/{database}?connect_timeout=2", self.port)
    }

    /// The connections that were cut.
    pub fn cuts(&self) -> u64 {
        self.cuts.load(Ordering::Relaxed)
    }
}

/// The end of a connection, which is common to both directions.
struct Life {
    /// Bytes that still pass.
    left: AtomicU64,
    faults: Faults,
    cuts: Arc<AtomicU64>,
}

fn relay(client: TcpStream, socket: &PathBuf, faults: Faults, chance: &mut Chance, cuts: &Arc<AtomicU64>) {
    let Ok(server) = UnixStream::connect(socket) else { return };
    let left = if faults.cut_within == 0 { u64::MAX } else { chance.below(faults.cut_within) };
    let life = Arc::new(Life { left: AtomicU64::new(left), faults, cuts: Arc::clone(cuts) });
    let clone = |stream: &TcpStream| stream.try_clone().expect("a socket");
    let (up, down) = (clone(&client), clone(&client));
    let (to, from) = (server.try_clone().expect("a socket"), server.try_clone().expect("a socket"));
    let end = Arc::new(move || {
        drop(client.shutdown(Shutdown::Both));
        drop(server.shutdown(Shutdown::Both));
    });
    let (of_up, of_down, end_up) = (Arc::clone(&life), life, Arc::clone(&end));
    spawn(move || of_up.pass(up, to, &*end_up));
    spawn(move || of_down.pass(from, down, &*end));
}

impl Life {
    fn pass(&self, mut from: impl Read, mut to: impl Write, end: &dyn Fn()) {
        let mut bytes = [0; 8192];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            sleep(self.faults.delay);
            let count = count as u64;
            let before = self
                .left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| Some(left.saturating_sub(count)));
            let passes = before.unwrap_or_default().min(count) as usize;
            if to.write_all(bytes.get(..passes).unwrap_or_default()).is_err() {
                break;
            }
            if (passes as u64) < count {
                self.cuts.fetch_add(1, Ordering::Relaxed);
                break;
            }
        }
        end();
    }
}
