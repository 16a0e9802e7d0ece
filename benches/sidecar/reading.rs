//! Requests that only read a compacted session.

use crate::sessions::{Kind, Sessions, named};
use crate::table::{median, timed, times};
use serde_json::{Value, json};

/// Requests of each kind.
const TIMES: usize = 5;

/// Prints the group's rows.
pub fn rows(sessions: &mut Sessions) {
    sessions.measure(|sessions, table, rounds| {
        let (mut process, _folder) = sessions.opened(Kind::Compacted, rounds);
        let inspect = json!({ "sessionId": "s", "compactions": 20 });
        let absent = json!({ "sessionId": "s", "query": "zzyzxabsent" });
        let mut put = |what: &str, count, method: &str, params: &Value, goal| {
            let times = times(count, || timed(|| process.ask(method, params)));
            table.put(rounds, what, "ms", median(&times), goal);
        };
        let inspected = "`context/inspect`, the newest 20 compactions";
        put(inspected, TIMES, "context/inspect", &inspect, "≤ 5 ms");
        put("`context/ledger`", TIMES, "context/ledger", &named(), "≤ 5 ms");
        let first = "`context/search` for an absent word, the first time";
        put(first, 1, "context/search", &absent, "≤ 10 ms");
        put("the same search again", TIMES, "context/search", &absent, "≤ 10 ms");
        process.end();
    });
}
