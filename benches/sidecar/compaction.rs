//! Compactions without a model, as the editor waits for them in `prompt/render`.

use crate::sessions::{Kind, LINES, Sessions, WINDOW, append, copies, named};
use crate::table::{median, timed, times};
use serde_json::{Value, json};

/// Later compactions of each session.
const LATER: usize = 9;
/// New rounds before each.
const NEW: usize = 30;

/// Parameters of the first prompt of a raw session under the usual window.
pub fn first() -> Value {
    json!({ "sessionId": "s", "model": { "window": WINDOW } })
}

/// `true` if a prompt follows a compaction. A short session fits the window as it is.
pub fn is_compacted(answer: &[u8]) -> bool {
    String::from_utf8_lossy(answer).contains("\"compactionId\"")
}

/// Prints the group's rows.
pub fn rows(sessions: &mut Sessions) {
    sessions.measure(|sessions, table, rounds| {
        let (mut process, _folder) = sessions.opened(Kind::Compacted, rounds);
        let mut numbers = rounds + 100..;
        let later = times(LATER, || {
            for n in numbers.by_ref().take(NEW) {
                process.ask("round/append", &append("s", n, LINES));
            }
            let force = json!({ "sessionId": "s", "summarize": "force" });
            timed(|| process.ask("prompt/render", &force))
        });
        process.end();
        table.put(rounds, "later compaction, 30 new rounds", "ms", median(&later), "≤ 20 ms, flat");

        let mut answer = Vec::new();
        let all = times(copies(rounds), || {
            let (mut process, _folder) = sessions.opened(Kind::Raw, rounds);
            process.ask("prompt/render", &named());
            let time = timed(|| answer = process.ask("prompt/render", &first()));
            process.end();
            time
        });
        let all = median(&all).filter(|_| is_compacted(&answer));
        table.put(
            rounds,
            "first compaction, of all rounds",
            "ms",
            all,
            "≤ 30 ms of the loop: see neighbours",
        );
    });
}
