//! Rounds of a compacted session: the time that the editor waits in each, and the bytes that one writes.

use crate::peer;
use crate::sessions::{Kind, LINES, MORE, Sessions, append, named};
use crate::table::{longest, median, timed, times};

/// Rounds with a prompt after each.
const ROUNDS: usize = 81;
/// Rounds without.
const APPENDS: usize = 41;

/// Prints the group's rows.
pub fn rows(sessions: &mut Sessions) {
    sessions.measure(|sessions, table, rounds| {
        let (mut process, _folder) = sessions.opened(Kind::Compacted, rounds);
        let mut numbers = rounds + 100..;
        let mut next = |lines| append("s", numbers.next().unwrap_or_default(), lines);
        // The first round in a new process pays for what is prepared once.
        process.ask("round/append", &next(LINES));
        process.ask("prompt/render", &named());

        let both = times(ROUNDS, || {
            let round = next(LINES);
            timed(|| {
                process.ask("round/append", &round);
                process.ask("prompt/render", &named())
            })
        });
        let goal = "≤ 1 ms at 5,000, ≤ 1.2 ms at 50,000";
        table.put(rounds, "append a round, make the prompt", "ms", median(&both), goal);
        table.put(rounds, "the longest of these", "ms", longest(&both), "");

        let alone = times(APPENDS, || {
            let round = next(LINES);
            timed(|| process.ask("round/append", &round))
        });
        table.put(rounds, "append a round", "ms", median(&alone), "");
        process.ask("prompt/render", &named());

        let again = times(APPENDS, || timed(|| process.ask("prompt/render", &named())));
        table.put(rounds, "the prompt again, nothing new", "ms", median(&again), "≤ 0.5 ms, flat");

        let before = process.written();
        for _ in 0..APPENDS {
            process.ask("round/append", &next(MORE));
        }
        let written = process.written().zip(before).map(|(after, before)| (after - before) / APPENDS as f64);
        table.put(rounds, "written per appended round of 3.1 kB", "KiB", written, "≤ 16 KiB");
        process.end();
        peer::put(table, rounds);
    });
}
