//! Sidecars as processes behind pipes, each driven by an editor of its own that does not pause: over one server, and over
//! a file each. A request is answered when its commit is durable.

use crate::folder::Folder;
use crate::machine::figures;
use crate::process::Process;
use crate::rush;
use crate::table::{head, row, timed};
use crate::turn::{RESULT, ROUNDS, SAID, text};
use crate::{given, sidecars};
use serde_json::{Value, json};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};
use store::testing::postgres::Server;

/// The model's window in tokens.
const WINDOW: u32 = 32_000;

/// Prints the group's rows.
pub fn rows(server: &Server) {
    let most = sidecars();
    head();
    for count in [10, 50, most] {
        let database = server.database();
        let url = server.url("threadhold", &database);
        let storage =
            |n: usize| json!({ "backend": "postgres", "url": url, "tenant": format!("team-{}", n % 20) });
        let what = format!("{count} processes, 20 tenants");
        run(&what, count, &storage, || {
            let connections = format!("{:.0}", figures(server, &database).connections);
            row(&format!("{what}: connections"), &connections, "", "", "");
        });
    }
    let folders: Vec<Folder> = (0..most).map(|_| Folder::new()).collect();
    run(&format!("{most} processes, a file each"), most, &|n| folders[n].storage(), || {});
}

/// Lets editors work for the seconds of the bench and prints the rows. `midway` is called meanwhile.
fn run(what: &str, count: usize, storage: &(dyn Fn(usize) -> Value + Sync), midway: impl FnOnce()) {
    let seconds = given("THREADHOLD_BENCH_SECONDS", 20);
    let begin = Barrier::new(count + 1);
    let work = |n: usize| {
        let mut process = Process::sidecar(&storage(n), WINDOW);
        let session = format!("s{n}");
        let opening = json!({ "workspaceFolder": "/w", "sessionId": session, "driver": "editor" });
        process.ask("session/open", &opening);
        process.warm_up();
        begin.wait();
        let (times, turns) =
            turns(&mut process, &session, Instant::now() + Duration::from_secs(seconds as u64));
        let memory = process.memory().unwrap_or_default();
        process.end();
        (times, turns, memory)
    };
    thread::scope(|scope| {
        let work = &work;
        let all: Vec<_> = (0..count).map(|n| scope.spawn(move || work(n))).collect();
        begin.wait();
        thread::sleep(Duration::from_secs(seconds as u64) / 2);
        midway();
        let (mut times, mut turns, mut memory) = (Vec::new(), 0.0, 0.0);
        for one in all {
            let (more, other, resident) = one.join().expect("a sidecar");
            times.extend(more);
            turns += other;
            memory += resident;
        }
        rush::print(what, seconds, &times, turns);
        row(
            &format!("{what}: memory of a process"),
            &format!("{:.1} MiB", memory / count as f64),
            "",
            "",
            "",
        );
    });
}

/// Turns until then. Returns the milliseconds of each request, and the turns.
fn turns(process: &mut Process, session: &str, until: Instant) -> (Vec<f64>, f64) {
    let (mut times, mut turns) = (Vec::new(), 0.0);
    for turn in 0u32.. {
        let begin = json!({ "sessionId": session, "content": text(session, turn, SAID) });
        times.push(timed(|| process.ask("turn/start", &begin)));
        for round in 0..ROUNDS {
            if Instant::now() >= until {
                return (times, turns);
            }
            let id = format!("c{turn}-{round}");
            let call = json!({ "type": "toolCall", "id": id, "name": "read_file", "arguments": "{}" });
            let append = json!({ "sessionId": session, "round": {
                "id": format!("r{turn}-{round}"),
                "assistant": { "parts": [{ "type": "text", "text": "I look." }, call] },
                "results": [{ "toolCallId": id, "content": text(session, turn * ROUNDS + round, RESULT) }],
            } });
            times.push(timed(|| process.ask("round/append", &append)));
            turns += 1.0 / f64::from(ROUNDS);
        }
        times.push(timed(|| process.ask("turn/end", &json!({ "sessionId": session }))));
    }
    (times, turns)
}
