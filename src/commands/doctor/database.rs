//! `threadhold doctor --storage URL`: explains what keeps a PostgreSQL database from being used.

use crate::commands::files::print;
use crate::commands::{Failure, SUCCESS, UNFIT};
use std::fmt::Write;
use store::postgres::Options;
use store::postgres::check::{Checked, check};

/// Returns [`UNFIT`] if the database cannot be used.
pub(super) fn run(options: &Options) -> Result<u8, Failure> {
    let checked = check(options).map_err(Failure::Runtime)?;
    print(&report(options, &checked))?;
    Ok(if checked.wrong.is_empty() { SUCCESS } else { UNFIT })
}

fn report(options: &Options, checked: &Checked) -> String {
    let tls = if options.demands_tls() { "demanded" } else { "not demanded" };
    let mut report =
        format!("database {}\ntenant   {}\ntls      {tls}\n", options.place().display(), options.tenant());
    let facts = checked.facts.iter().map(|(about, fact)| (*about, fact));
    let notes = checked.notes.iter().map(|note| ("note", note));
    let wrong = checked.wrong.iter().map(|wrong| ("wrong", wrong));
    for (about, said) in facts.chain(notes).chain(wrong) {
        let _ = writeln!(report, "{about:8} {said}");
    }
    if checked.wrong.is_empty() {
        report += "ok       the database can be used\n";
    }
    report
}
