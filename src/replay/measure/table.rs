//! The tables of `measure` for people. Programs use `--json`.

use super::summary::{LEAST_NEEDED, Total, Weighed};
use super::{Row, Score};
use crate::replay::table::Style;
use std::fmt::Write;

/// Returns the table of one file and window. `unfit` counts prompts that did not fit, over all policies.
pub fn table(file: &str, window: u32, rows: &[Row], unfit: usize, style: Style) -> String {
    let mut out = String::new();
    let compactions = rows.first().map_or(0, |row| row.compactions);
    let _ = writeln!(out, "{}, window {window}: {compactions} compactions", style.paint("1", file));
    if unfit > 0 {
        let _ = writeln!(out, "{}", style.paint("31", &format!("{unfit} prompts could not be made to fit")));
    }
    if compactions == 0 {
        return out;
    }
    let _ = writeln!(
        out,
        "{:<30} {:>7}  {:<15} {:<15} {:<15} found by search",
        "policy", "tokens", "names", "lines", "quotes"
    );
    for row in rows {
        let of = |score: Score| counted(score.kept(), score.held, score.needed);
        let sum = row.lines_and_quotes();
        let found = sum.found.map(|found| counted(super::share(found, sum.lost()), found, sum.lost()));
        let line = format!(
            "{:<30} {:>7}  {:<15} {:<15} {:<15} {}",
            row.policy,
            per(row.retained_tokens, row.compactions),
            of(row.names),
            of(row.lines),
            of(row.quotes),
            found.unwrap_or_default()
        );
        let _ = writeln!(out, "{}", line.trim_end());
    }
    for (policy, state) in rows.iter().filter_map(|row| Some((&row.policy, row.state?))) {
        let of = |score: Score| counted(score.kept(), score.held, score.needed);
        let (files, refusals) = (of(state.files), of(state.refusals));
        let wrong = state.wrong_files;
        let _ = writeln!(out, "{policy}: files listed {files}, wrong lines {wrong}, refusals {refusals}");
    }
    out
}

/// Returns the table of all files at one window: the mean of the sessions, then all facts pooled.
pub fn totals_table(window: u32, totals: &[Total], style: Style) -> String {
    let mut out = String::new();
    let title = format!("all files, window {window}");
    let _ = writeln!(
        out,
        "{}: mean of the sessions with {LEAST_NEEDED} facts or more / all facts pooled (facts)",
        style.paint("1", &title)
    );
    let _ = writeln!(
        out,
        "{:<30} {:>7} {:>5}  {:<19} {:<19} {:<19} found by search",
        "policy", "tokens", "times", "names", "lines", "quotes"
    );
    for total in totals {
        let line = format!(
            "{:<30} {:>7} {:>5}  {:<19} {:<19} {:<19} {}",
            total.policy,
            per(total.retained_tokens, total.compactions),
            total.compactions,
            both(total.names),
            both(total.lines),
            both(total.quotes),
            both(total.found)
        );
        let _ = writeln!(out, "{}", line.trim_end());
    }
    for total in totals.iter().filter(|total| total.files.of + total.refusals.of > 0) {
        let shown = |weighed| Some(both(weighed)).filter(|text| !text.is_empty()).unwrap_or("–".to_owned());
        let (files, refusals) = (shown(total.files), shown(total.refusals));
        let _ = writeln!(
            out,
            "{}: files listed {files}, wrong lines {}, refusals {refusals}",
            total.policy, total.wrong_files
        );
    }
    out
}

fn per(tokens: u64, compactions: usize) -> u64 {
    tokens / compactions.max(1) as u64
}

fn counted(share: Option<f64>, part: usize, of: usize) -> String {
    share.map_or_else(|| "–".to_owned(), |share| format!("{share:.2} {part}/{of}"))
}

fn both(weighed: Weighed) -> String {
    let shown = |share: Option<f64>| share.map_or_else(|| "–".to_owned(), |share| format!("{share:.2}"));
    match weighed.pooled {
        None => String::new(),
        pooled => format!("{} / {} ({})", shown(weighed.mean), shown(pooled), weighed.of),
    }
}
