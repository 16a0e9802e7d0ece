//! From nothing to an old, compacted session's first prompt.

use crate::process::Process;
use crate::sessions::{Kind, Sessions, WINDOW, copies, named, open, open_newest};
use crate::table::{median, timed, times};

/// Prints the group's rows.
pub fn rows(sessions: &mut Sessions) {
    sessions.measure(|sessions, table, rounds| {
        let spawned = times(copies(rounds), || {
            let folder = sessions.copy(Kind::Compacted, rounds);
            let mut started = None;
            let time = timed(|| {
                let mut process = Process::sidecar(&folder.storage(), WINDOW);
                process.ask("prompt/render", &named());
                started = Some(process);
            });
            started.into_iter().for_each(Process::end);
            time
        });
        table.put(rounds, "start of the program to the first prompt", "ms", median(&spawned), "≤ 20 ms");

        let mut running = |method: &str, params| {
            let times = times(copies(rounds), || {
                let folder = sessions.copy(Kind::Compacted, rounds);
                let mut process = Process::sidecar(&folder.storage(), WINDOW);
                process.warm_up();
                let time = timed(|| process.ask(method, &params));
                process.end();
                time
            });
            median(&times)
        };
        let first = running("prompt/render", named());
        table.put(rounds, "first prompt, in a running process", "ms", first, "≤ 10 ms, flat");
        let newest = running("session/open", open_newest());
        table.put(rounds, "open with the newest 50 messages", "ms", newest, "");
        table.put(rounds, "open with all messages", "ms", running("session/open", open("s")), "");
    });
}
