//! A turn by the length of its session: round trips, statements, rows, bytes sent, bytes of the server's log.

use crate::machine::figures;
use crate::table::{Table, median, ms};
use crate::turn::Sidecar;
use engine::search::{Query, Words};
use std::time::Instant;
use store::postgres::{Opener, Options};
use store::testing::postgres::Server;
use store::testing::session;

/// Lengths in messages.
const LENGTHS: [usize; 3] = [10, 1_000, 10_000];
/// Turns of each.
const TURNS: usize = 5;

/// Prints the group's rows.
pub fn rows(server: &Server) {
    let mut table = Table::new(&LENGTHS);
    for length in LENGTHS {
        let database = server.database();
        let options = Options::new(&server.url("threadhold", &database), None, "team").expect("options");
        // Its traffic is counted by a store of the same type that is not behind a trait.
        let store = Opener::new(options).open().expect("a store");
        let traffic = store.counter();
        let mut sidecar = Sidecar::new(Box::new(store), "s".to_owned());
        sidecar.fill(u32::try_from(length).expect("a length"));
        server.sql_in("postgres", &database, "CHECKPOINT").expect("a checkpoint");
        // The first change of each page after it is logged whole.
        for commit in sidecar.turn(0) {
            sidecar.commit(&commit);
        }
        let (before, log) = (traffic(), figures(server, &database).log);
        let (mut commits, mut times) = (0.0, Vec::new());
        for _ in 0..TURNS {
            for commit in sidecar.turn(0) {
                let start = Instant::now();
                sidecar.commit(&commit);
                times.push(ms(start.elapsed()));
                commits += 1.0;
            }
        }
        let (after, turns) = (traffic(), TURNS as f64);
        let log = figures(server, &database).log - log;
        let mut row = |what: &str, unit, value: f64| table.put(length, what, unit, value, "");
        row("commits of a turn", "", commits / turns);
        row("round trips of a turn", "", (after.trips - before.trips) as f64 / turns);
        row("statements of a turn", "", (after.statements - before.statements) as f64 / turns);
        row("rows received in a turn", "", (after.rows - before.rows) as f64 / turns);
        row("sent in a turn", "kB", (after.sent - before.sent) as f64 / turns / 1e3);
        row("write-ahead log of a turn", "kB", log / turns / 1e3);
        row("a commit, median", "ms", median(&times).unwrap_or_default());
        let words =
            Query { words: Words::of("nobodysaidthis"), before: None, skip: 0, limit: 20, hidden: true };
        let size = figures(server, &database).bytes;
        sidecar.store.search(&session("s"), &words).expect("a search");
        while sidecar.store.tidy(false).expect("it is tidied") {}
        row("bytes of its index", "kB", (figures(server, &database).bytes - size) / 1e3);
        let (before, start) = (traffic(), Instant::now());
        sidecar.store.search(&session("s"), &words).expect("a search");
        row("search of an absent word", "ms", ms(start.elapsed()));
        row("rows received for it", "", (traffic().rows - before.rows) as f64);
    }
    table.print_by("messages");
}
