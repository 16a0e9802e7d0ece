//! A replay as a table for people: a row per turn, compactions marked, totals. Programs use `--json`.

use super::report::Counts;
use super::{Render, Replayed, Unfit, Watch};
use engine::compact::record::Compaction;
use engine::id::Ordinal;
use engine::prompt::Source;
use engine::text::first_line;
use import::Import;
use std::fmt::Write;

/// Collects the rows during a replay.
#[derive(Debug, Default)]
pub struct Rows {
    rows: Vec<TurnRow>,
    compacted: Vec<(u32, u32, String)>,
}

#[derive(Debug, Default)]
struct TurnRow {
    turn: usize,
    request: String,
    renders: u32,
    tokens: u32,
    compactions: Vec<(u32, u32, String)>,
    unfit: u32,
}

impl Watch for Rows {
    fn rendered(&mut self, render: &Render<'_>) {
        let turn = render.transcript.turns().len();
        if self.rows.last().is_none_or(|row| row.turn != turn) {
            self.rows.push(TurnRow { turn, request: request(render), ..TurnRow::default() });
        }
        let Some(row) = self.rows.last_mut() else { return };
        row.renders += 1;
        row.compactions.append(&mut self.compacted);
        match render.outcome {
            Ok(prompt) => row.tokens = prompt.tokens,
            Err(_) => row.unfit += 1,
        }
    }

    fn compacted(&mut self, _: Source<'_>, record: &Compaction) {
        let mode = serde_json::to_value(record.mode).ok();
        let mode = mode.as_ref().and_then(|mode| mode.as_str()).unwrap_or_default().to_owned();
        self.compacted.push((record.tokens_before, record.tokens_after, mode));
    }
}

fn request(render: &Render<'_>) -> String {
    let last = render.transcript.turns().last().and_then(|turn| turn.requests.last());
    let message = last.and_then(|ord: &Ordinal| render.transcript.message(*ord));
    let texts = message.map(|message| message.body.texts()).unwrap_or_default();
    texts.first().map_or_else(|| "(no request)".into(), |text| first_line(text, 44))
}

/// Style of the output.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    /// `true` to write ANSI colours, for a terminal.
    pub colour: bool,
}

impl Style {
    pub(super) fn paint(self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// Returns the table of one file.
pub fn table(file: &str, import: &Import, replayed: &Replayed, rows: &Rows, style: Style) -> String {
    let counts = Counts::of(&replayed.transcript);
    let mut out = String::new();
    let limit = replayed.budget.limit;
    let _ = writeln!(
        out,
        "{} ({}): {} messages, {} turns, {} tool calls, {} results, {} calls without a result",
        style.paint("1", file),
        import.format.name(),
        counts.messages,
        counts.turns,
        counts.calls,
        counts.results,
        counts.orphan_calls
    );
    let _ =
        writeln!(out, "window {}, limit {limit} tokens by {}", replayed.budget.window, replayed.estimator);
    let _ =
        writeln!(out, "\n{:>5}  {:<46} {:>6}  {:>7}  {:>5}", "turn", "request", "calls", "tokens", "full");
    for row in &rows.rows {
        let full = u64::from(row.tokens) * 100 / u64::from(limit.max(1));
        let _ = writeln!(
            out,
            "{:>5}  {:<46} {:>6}  {:>7}  {full:>4}%",
            row.turn,
            padded(&row.request, 46),
            row.renders,
            row.tokens
        );
        for (before, after, mode) in &row.compactions {
            let line = format!("       compacted ({mode}): {before} → {after} tokens");
            let _ = writeln!(out, "{}", style.paint("33", &line));
        }
        if row.unfit > 0 {
            let line = format!("       {} prompts could not be made to fit", row.unfit);
            let _ = writeln!(out, "{}", style.paint("31", &line));
        }
    }
    totals(&mut out, import, replayed, style);
    out
}

fn totals(out: &mut String, import: &Import, replayed: &Replayed, style: Style) {
    let c = replayed.coverage;
    let users = replayed.users;
    let _ = writeln!(
        out,
        "\n{} prompts, {} compactions, {} over the limit, {} that could not fit",
        replayed.renders,
        replayed.compactions.len(),
        replayed.over_budget,
        replayed.unfit.len()
    );
    let _ = writeln!(
        out,
        "last prompt that fitted: {} messages raw, {} shortened, {} covered, {} dropped, {} hidden, {} unaccounted",
        c.raw, c.shortened, c.covered, c.dropped, c.hidden, c.unaccounted
    );
    let _ = writeln!(
        out,
        "user messages: {} of {} byte for byte, {} reported",
        users.verbatim, users.total, users.reported
    );
    if replayed.prefix.possible > 0 {
        let share = replayed.prefix.reused as f64 * 100.0 / replayed.prefix.possible as f64;
        let _ = writeln!(out, "prompts that begin as the one before: {share:.1} % of their tokens");
    }
    if let Some((render, unfit)) = replayed.unfit.first() {
        let why = match unfit {
            Unfit::CannotFit(sizes) => format!(
                "{sizes}: tools {}, system {}, pins {}, current message {}, newest round {}",
                sizes.tools, sizes.system, sizes.pins, sizes.current_message, sizes.newest_round
            ),
            Unfit::Exceeded(exceeded) => exceeded.to_string(),
        };
        let _ = writeln!(out, "{}", style.paint("31", &format!("prompt {render} could not fit: {why}")));
    }
    for skipped in import.skipped.iter().take(5) {
        let _ = writeln!(out, "set aside: {}: {}", skipped.place, skipped.reason);
    }
    if import.skipped.len() > 5 {
        let _ = writeln!(out, "set aside: {} more", import.skipped.len() - 5);
    }
}

/// Cuts or pads a text to `width` characters.
fn padded(text: &str, width: usize) -> String {
    let cut: String = text.chars().take(width).collect();
    format!("{cut:<width$}")
}
