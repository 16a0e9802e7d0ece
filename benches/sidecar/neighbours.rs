//! A small session's prompts on the connection on which a large session is busy.

use crate::compaction;
use crate::process::Process;
use crate::sessions::{Kind, Sessions, copies, fill, named, open, settle};
use crate::table::{Table, longest, median, ms, percentile};
use serde_json::{Value, json};
use std::time::Instant;

/// The small session.
const SMALL: &str = "small";
/// Its rounds.
const ROUNDS: usize = 20;
/// A prompt that takes longer, in milliseconds, has waited for the large session.
const GOAL: f64 = 5.0;
/// Its prompts while nothing else is asked.
const ALONE: usize = 201;

/// A request of the large session that takes long.
struct Work {
    name: &'static str,
    kind: Kind,
    /// `true` if the session is read before, so that only the work itself is measured.
    is_read: bool,
    method: &'static str,
    params: fn() -> Value,
}

const WORKS: [Work; 3] = [
    Work {
        name: "first compaction",
        kind: Kind::Raw,
        is_read: true,
        method: "prompt/render",
        params: compaction::first,
    },
    Work {
        name: "open with all messages",
        kind: Kind::Compacted,
        is_read: false,
        method: "session/open",
        params: || open("s"),
    },
    Work { name: "fork", kind: Kind::Compacted, is_read: true, method: "session/fork", params: named },
];

/// Prints the group's rows.
pub fn rows(sessions: &mut Sessions) {
    sessions.measure(|sessions, table, rounds| {
        for work in &WORKS {
            let (mut own, mut trips, mut alone) = (Vec::new(), Vec::new(), Vec::new());
            let mut is_work = true;
            for _ in 0..copies(rounds) {
                let folder = sessions.copy(work.kind, rounds);
                let mut process = Process::sidecar(&folder.storage(), work.kind.window());
                fill(&mut process, SMALL, ROUNDS, Some(1));
                if work.is_read {
                    process.ask("prompt/render", &named());
                    settle(&mut process);
                }
                alone.extend((0..ALONE).map(|_| trip(&mut process, None).0));
                let start = Instant::now();
                let busy = process.request(work.method, &(work.params)());
                let (end, answer) = loop {
                    let (time, answered) = trip(&mut process, Some(busy));
                    trips.push(time);
                    if let Some(answered) = answered {
                        break answered;
                    }
                };
                own.push(ms(end - start));
                is_work &= work.kind != Kind::Raw || compaction::is_compacted(&answer);
                process.end();
            }
            if !is_work {
                (own, trips, alone) = Default::default();
            }
            put(table, rounds, work.name, &own, &trips, &alone);
        }
    });
}

/// Asks for the small session's prompt and returns its milliseconds. If the response to the other request came
/// before it, returns that and its time.
fn trip(process: &mut Process, busy: Option<i64>) -> (f64, Option<(Instant, Vec<u8>)>) {
    let start = Instant::now();
    let asked = process.request("prompt/render", &json!({ "sessionId": SMALL }));
    let mut answered = None;
    loop {
        let (id, body) = process.response();
        if busy == Some(id) {
            answered = Some((Instant::now(), body));
        }
        if id == asked {
            return (ms(start.elapsed()), answered);
        }
    }
}

fn put(table: &mut Table, rounds: usize, work: &str, own: &[f64], trips: &[f64], alone: &[f64]) {
    let mut row = |what: &str, value, goal| table.put(rounds, &format!("{work}: {what}"), "ms", value, goal);
    row("the large session's own time", median(own), "");
    row("the small one's prompt before it", median(alone), "");
    row("during it, median", median(trips), "");
    row("during it, p99", percentile(trips, 0.99), "≤ 5 ms");
    row("during it, longest", longest(trips), "");
    // Each prompt waits for the one before, so that a wait of seconds is one prompt of thousands: no percentile shows it.
    let waited = trips.iter().filter(|time| **time > GOAL).fold(0.0, |sum, time| sum + time);
    let share = (!trips.is_empty()).then(|| waited / trips.iter().sum::<f64>() * 100.0);
    table.put(rounds, &format!("{work}: share of its time in prompts over {GOAL} ms"), "%", share, "");
    let count = (!trips.is_empty()).then_some(trips.len() as f64);
    table.put(rounds, &format!("{work}: prompts of the small one during it"), "", count, "");
}
