//! Rounds per second that one sidecar takes over many sessions, each with at most one outstanding request.

use crate::folder::Folder;
use crate::process::{Process, frame, request, response};
use crate::sessions::{MORE, WINDOW, append, open};
use crate::table::{head, row};
use serde_json::json;
use std::io::Write;
use std::sync::mpsc::channel;
use std::time::Instant;

/// Sessions.
const SESSIONS: usize = 100;
/// Rounds of each.
const ROUNDS: usize = 40;

/// Prints the group's rows.
pub fn rows() {
    let folder = Folder::new();
    let mut process = Process::sidecar(&folder.storage(), WINDOW);
    let name = |session: usize| format!("s{session}");
    for session in 0..SESSIONS {
        process.ask("session/open", &open(&name(session)));
        process.ask("turn/start", &json!({ "sessionId": name(session), "content": "Go." }));
    }
    // Made before the clock starts. The id says whose it is.
    let frames = |session| {
        let one = move |n| {
            let id = 1_000_000 + i64::try_from(n * SESSIONS + session).unwrap_or_default();
            frame(&request(id, "round/append", &append(&name(session), n, MORE)))
        };
        (0..ROUNDS).map(one).collect::<Vec<String>>().into_iter()
    };
    let mut waiting: Vec<_> = (0..SESSIONS).map(frames).collect();
    let (written, processor) = (process.written(), process.processor());
    let (input, output) = process.pipes();
    let (free, free_sessions) = channel();
    let start = Instant::now();
    // One thread that writes and reads would block for ever once both pipes are full.
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for session in free_sessions {
                let next: Option<String> = waiting.get_mut::<usize>(session).and_then(Iterator::next);
                if let Some(frame) = next {
                    input.write_all(frame.as_bytes()).expect("it reads");
                }
            }
        });
        for session in 0..SESSIONS {
            free.send(session).expect("the writer runs");
        }
        for _ in 0..SESSIONS * ROUNDS {
            let (id, _) = response(output);
            let session = usize::try_from(id).unwrap_or_default() % SESSIONS;
            free.send(session).expect("the writer runs");
        }
        drop(free);
    });
    let (seconds, count) = (start.elapsed().as_secs_f64(), (SESSIONS * ROUNDS) as f64);
    let show = |value: Option<f64>, unit: &str| {
        value.map_or("not told here".to_owned(), |value| format!("{value:.2} {unit}"))
    };
    let spent = process.processor().zip(processor).map(|(after, before)| {
        let spent = after.saturating_sub(before);
        spent.as_secs_f64() * 1000.0 / count
    });
    let written = process.written().zip(written).map(|(after, before)| (after - before) / count);
    head();
    let what = format!("rounds of 3.1 kB per second, {SESSIONS} sessions");
    row(&what, &format!("{:.0}", count / seconds), "", "", "≥ 3,000");
    row("processor time per round", &show(spent, "ms"), "", "", "");
    row("written per round", &show(written, "KiB"), "", "", "");
    process.end();
}
