//! Sidecars that commit turns without a pause, over one server, and over a file each.

use crate::machine::figures;
use crate::table::{head, ms, percentile, row};
use crate::turn::Sidecar;
use crate::{given, sidecars};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use store::Store;
use store::place;
use store::postgres::{Opener, Options};
use store::sqlite::SqliteStore;
use store::testing::Folder;
use store::testing::postgres::Server;

/// Prints the group's rows.
pub fn rows(server: &Server) {
    let seconds = given("THREADHOLD_BENCH_SECONDS", 20);
    let most = sidecars();
    head();
    for (count, tenants) in [(10, 1), (50, 1), (most, 1), (most, 20)] {
        let database = server.database();
        let url = server.url("threadhold", &database);
        let open = |n: usize| -> Box<dyn Store> {
            let options = Options::new(&url, None, &format!("team-{}", n % tenants)).expect("options");
            Box::new(Opener::new(options).open().expect("a store"))
        };
        let what = format!("{count} sidecars, {tenants} tenants");
        let before = figures(server, &database);
        let (times, turns) = run(count, seconds, &open, || {
            let now = figures(server, &database);
            row(&format!("{what}: connections"), &format!("{:.0}", now.connections), "", "", "");
            row(
                &format!("{what}: memory of a connection"),
                &format!("{:.1} MiB", now.memory / now.connections),
                "",
                "",
                "",
            );
        });
        let log = (figures(server, &database).log - before.log) / times.len() as f64;
        print(&what, seconds, &times, turns);
        row(&format!("{what}: write-ahead log of a commit"), &format!("{:.1} kB", log / 1e3), "", "", "");
    }
    let folders: Vec<Folder> = (0..most).map(|_| Folder::new()).collect();
    let open = |n: usize| -> Box<dyn Store> {
        Box::new(SqliteStore::open(place::Options::in_folder(&folders[n].0)).expect("a store"))
    };
    let (times, turns) = run(most, seconds, &open, || {});
    print(&format!("{most} sidecars, a file each"), seconds, &times, turns);
}

/// Prints turns and commits per second, and the time of a commit.
pub fn print(what: &str, seconds: usize, times: &[f64], turns: f64) {
    let show = |share| format!("{:.1} ms", percentile(times, share).unwrap_or_default());
    let seconds = seconds as f64;
    row(&format!("{what}: turns per second"), &format!("{:.1}", turns / seconds), "", "", "");
    row(&format!("{what}: commits per second"), &format!("{:.0}", times.len() as f64 / seconds), "", "", "");
    row(&format!("{what}: a commit, p50"), &show(0.5), "", "", "");
    row(&format!("{what}: a commit, p99"), &show(0.99), "", "", "");
}

/// Lets sidecars commit for so long. Returns the milliseconds of each commit, and the turns. `midway` is called meanwhile.
fn run(
    count: usize,
    seconds: usize,
    open: &(dyn Fn(usize) -> Box<dyn Store> + Sync),
    midway: impl FnOnce(),
) -> (Vec<f64>, f64) {
    let (begin, is_over) = (Barrier::new(count + 1), AtomicBool::new(false));
    let work = |n: usize| {
        let mut sidecar = Sidecar::new(open(n), format!("s{n}"));
        begin.wait();
        let (mut times, mut turns) = (Vec::new(), 0.0);
        'all: loop {
            let commits = sidecar.turn(0);
            let share = 1.0 / commits.len() as f64;
            for commit in commits {
                if is_over.load(Ordering::Relaxed) {
                    break 'all;
                }
                let start = Instant::now();
                sidecar.commit(&commit);
                times.push(ms(start.elapsed()));
                turns += share;
            }
        }
        (times, turns)
    };
    thread::scope(|scope| {
        let work = &work;
        let all: Vec<_> = (0..count).map(|n| scope.spawn(move || work(n))).collect();
        begin.wait();
        let half = Duration::from_secs(seconds as u64) / 2;
        thread::sleep(half);
        midway();
        thread::sleep(half);
        is_over.store(true, Ordering::Relaxed);
        let done = all.into_iter().map(|one| one.join().expect("a sidecar"));
        done.fold((Vec::new(), 0.0), |(mut times, turns), (more, other)| {
            times.extend(more);
            (times, turns + other)
        })
    })
}
