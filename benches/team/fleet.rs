//! Sidecars at the pace of people: each round of a turn takes ten seconds and commits three pieces of its answer. Every turn
//! begins with a list; one sidecar of ten follows the session of another one; after each turn the session is searched.
//! What a larger number costs follows from the figures of a round.

use crate::machine::figures;
use crate::table::{head, median, ms, percentile, row};
use crate::turn::{ROUNDS, Sidecar};
use crate::{given, sidecars};
use engine::search::{Query, Words};
use std::collections::BTreeMap;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};
use store::Store;
use store::follow::Mark;
use store::list::ListQuery;
use store::postgres::{Opener, Options};
use store::testing::postgres::Server;
use store::testing::session;

/// Time of a round, and pieces of its answer that are committed meanwhile.
const ROUND: Duration = Duration::from_secs(10);
const PIECES: u32 = 3;
/// Sidecars of a tenant.
const TENANT: usize = 20;

/// Milliseconds of each kind of call.
type Times = BTreeMap<&'static str, Vec<f64>>;

/// Prints the group's rows.
pub fn rows(server: &Server) {
    let (count, seconds) = (sidecars(), given("THREADHOLD_BENCH_SECONDS", 180));
    let database = server.database();
    let url = server.url("threadhold", &database);
    let begin = Barrier::new(count + 1);
    let mut before = None;
    let work = |n: usize| {
        let options = Options::new(&url, None, &format!("team-{}", n / TENANT)).expect("options");
        let store: Box<dyn Store> = Box::new(Opener::new(options).open().expect("a store"));
        let sidecar = Sidecar::new(store, format!("s{n}"));
        begin.wait();
        live(sidecar, n, Instant::now() + Duration::from_secs(seconds as u64))
    };
    let all: Vec<(Times, f64)> = thread::scope(|scope| {
        let work = &work;
        let all: Vec<_> = (0..count).map(|n| scope.spawn(move || work(n))).collect();
        begin.wait();
        before = Some(figures(server, &database));
        let mut done: Vec<(Times, f64)> = Vec::new();
        let after_most = Duration::from_secs(seconds as u64).mul_f64(0.9);
        thread::sleep(after_most);
        let now = figures(server, &database);
        if let Some(before) = before {
            let share = (now.processor - before.processor) / after_most.as_secs_f64() * 100.0;
            head();
            row("processor time of the server, of one core", &format!("{share:.0} %"), "", "", "");
            row("connections", &format!("{:.0}", now.connections), "", "", "");
            row("memory of a connection", &format!("{:.1} MiB", now.memory / now.connections), "", "", "");
        }
        done.extend(all.into_iter().map(|one| one.join().expect("a sidecar")));
        done
    });
    let after = figures(server, &database);
    let rounds: f64 = all.iter().map(|(_, rounds)| rounds).sum();
    let mut times = Times::new();
    for (kind, more) in all.into_iter().flat_map(|(times, _)| times) {
        times.entry(kind).or_default().extend(more);
    }
    for (kind, times) in &times {
        let per_second = times.len() as f64 / seconds as f64;
        row(&format!("{kind}: per second"), &format!("{per_second:.1}"), "", "", "");
        row(&format!("{kind}: p50"), &format!("{:.1} ms", median(times).unwrap_or_default()), "", "", "");
        row(
            &format!("{kind}: p99"),
            &format!("{:.1} ms", percentile(times, 0.99).unwrap_or_default()),
            "",
            "",
            "",
        );
    }
    row("rounds", &format!("{rounds:.0}"), "", "", "");
    if let Some(before) = before {
        let of_round = |bytes: f64| format!("{:.2} kB", bytes / rounds / 1e3);
        row("write-ahead log of a round", &of_round(after.log - before.log), "", "", "");
        row("bytes of a round in the database", &of_round(after.bytes - before.bytes), "", "", "");
    }
}

/// Works until then. Returns the times of its calls and its rounds.
fn live(mut sidecar: Sidecar, n: usize, until: Instant) -> (Times, f64) {
    let mut times = Times::new();
    // Not all at the same moment.
    let mut next = Instant::now() + ROUND.mul_f64((n * 37 % 100) as f64 / 100.0);
    let (mut rounds, mut mark): (f64, Option<Mark>) = (0.0, None);
    let followed = session(&format!("s{}", n / TENANT * TENANT + (n + 1) % TENANT));
    let mut pulse = sidecar.store.pulse().expect("a pulse");
    loop {
        let mut timed = |kind, call: &mut dyn FnMut()| {
            let start = Instant::now();
            call();
            times.entry(kind).or_default().push(ms(start.elapsed()));
        };
        let list = ListQuery { workspace: None, text: None, after: None, limit: 50 };
        timed("list", &mut || drop(sidecar.store.list(&list).expect("a list")));
        let commits = sidecar.turn(PIECES);
        let pause = ROUND.mul_f64(f64::from(ROUNDS) / commits.len() as f64);
        for commit in commits {
            next += pause;
            // A follower looks whenever another sidecar committed.
            while Instant::now() < next.min(until) {
                let now = sidecar.store.pulse().expect("a pulse");
                if n.is_multiple_of(10) && std::mem::replace(&mut pulse, now) != now {
                    timed("follow", &mut || {
                        let state = sidecar.store.follow(&followed, mark.as_ref()).expect("it is read");
                        mark = state.map(|state| state.mark);
                    });
                }
                thread::sleep(Duration::from_millis(250).min(next.saturating_duration_since(Instant::now())));
            }
            if Instant::now() >= until {
                return (times, rounds);
            }
            timed("commit", &mut || sidecar.commit(&commit));
            rounds += pause.as_secs_f64() / ROUND.as_secs_f64();
        }
        let words = Query {
            words: Words::of("word17 nobodysaidthis"),
            before: None,
            skip: 0,
            limit: 20,
            hidden: true,
        };
        let own = session(&sidecar.name);
        timed("search", &mut || drop(sidecar.store.search(&own, &words).expect("a search")));
    }
}
