//! Edits of a whole session: a fork, and a cut in its middle. Both keep the messages as they were.

use crate::process::Process;
use crate::sessions::{Kind, Sessions, copies, named, settle};
use crate::table::{Table, median, timed};
use serde_json::{Value, json};

/// Prints the group's rows.
pub fn rows(sessions: &mut Sessions) {
    sessions.measure(|sessions, table, rounds| {
        let fork = (0..copies(rounds)).map(|_| {
            let (process, _folder) = sessions.opened(Kind::Compacted, rounds);
            edit(process, "session/fork", &named())
        });
        put(table, rounds, "fork", &fork.collect::<Vec<_>>());

        // Only a session whose loop is the sidecar's can be cut without the editor's history.
        let cut = (0..copies(rounds)).map(|_| {
            let folder = sessions.copy(Kind::Driven, rounds);
            let mut process = Process::sidecar(&folder.storage(), Kind::Driven.window());
            settle(&mut process);
            // A round has two messages.
            let middle = json!({ "sessionId": "s", "messageId": format!("s/m{rounds}") });
            edit(process, "message/truncate", &middle)
        });
        put(table, rounds, "cut in the middle", &cut.collect::<Vec<_>>());
    });
}

/// Milliseconds and KiB written.
fn edit(mut process: Process, method: &str, params: &Value) -> (f64, Option<f64>) {
    let before = process.written();
    let time = timed(|| process.ask(method, params));
    let written = process.written().zip(before).map(|(after, before)| after - before);
    process.end();
    (time, written)
}

fn put(table: &mut Table, rounds: usize, what: &str, edits: &[(f64, Option<f64>)]) {
    let times: Vec<f64> = edits.iter().map(|edit| edit.0).collect();
    let written: Vec<f64> = edits.iter().filter_map(|edit| edit.1).collect();
    table.put(rounds, what, "ms", median(&times), "≤ 5 ms");
    table.put(rounds, &format!("{what}: written"), "KiB", median(&written), "≤ 64 KiB");
}
