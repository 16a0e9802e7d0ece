//! The table of commands that a session accepts in each state, for the protocol's handbook.

use session::acceptance::{TABLE, Takes};
use session::state::StateName;
use session::stored::Driver;
use std::fmt::Write as _;

/// The machine's table of commands and states, as Markdown.
pub fn acceptance() -> String {
    const COLUMNS: [StateName; 4] =
        [StateName::Idle, StateName::Generating, StateName::Paused, StateName::WaitingIde];
    let mut out = String::from(
        "| command | method | driver | at rest | `generating`, `executingTools` | `paused` | `waitingIde` |\n",
    );
    out.push_str("|---|---|---|---|---|---|---|\n");
    for row in TABLE {
        let driver = match row.driver {
            None => "both",
            Some(Driver::Sidecar) => "sidecar",
            Some(Driver::Editor) => "editor",
        };
        let _ = write!(out, "| {} | `{}` | {driver} |", row.command.name(), row.method);
        for state in COLUMNS {
            let takes = match row.takes(state) {
                Takes::Now => "now",
                Takes::Queued => "queued",
                Takes::Refused => "refused",
            };
            let _ = write!(out, " {takes} |");
        }
        out.push('\n');
    }
    out
}
