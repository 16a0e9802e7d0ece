//! `threadhold measure`: what a compaction keeps of the facts that the rest of a recorded session needed, next to
//! simpler methods, and what a search finds of the others.

use super::files::{colour, formats, policy, print, read, summarizer};
use super::{Failure, SUCCESS, UNFIT};
use crate::replay::measure::summary::totals;
use crate::replay::measure::table::{table, totals_table};
use crate::replay::measure::{Exam, Measure, Row, rows};
use crate::replay::table::Style;
use crate::replay::{Options, replay};
use crate::tokenizer::O200k;
use clap::Args;
use engine::compact::policy::presets::ALL;
use engine::compact::policy::{Policy, WORDS_AND_LEDGER};
use engine::settings::BudgetSettings;
use serde_json::json;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(super) struct MeasureCommand {
    /// Recorded transcripts
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The transcripts' format
    #[arg(long, default_value = "auto", value_name = "NAME", value_parser = formats())]
    format: String,
    /// The model's context window in tokens; repeatable
    #[arg(long, value_name = "TOKENS", default_values_t = [8_000, 16_000, 32_000, 64_000])]
    window: Vec<u32>,
    /// The compaction policy: a built-in policy, or a policy file; repeatable
    #[arg(long, default_value = "default", value_name = "NAME|FILE")]
    policy: Vec<String>,
    /// Compare all built-in policies that compact
    #[arg(long, conflicts_with = "policy")]
    all_policies: bool,
    /// The model that writes summaries: scripted, scripted:FILE or none
    #[arg(long, default_value = "none", value_name = "NAME")]
    summarizer: String,
    /// Print one JSON object per file and window, and of several files one for all of them per window
    #[arg(long)]
    json: bool,
}

impl MeasureCommand {
    pub(super) fn run(&self) -> Result<u8, Failure> {
        let policies = self.policies()?;
        let style = Style { colour: colour() };
        let mut code = SUCCESS;
        let mut sessions = vec![Vec::new(); self.window.len()];
        for file in &self.files {
            let name = file.display().to_string();
            let import = read(file, &self.format)?;
            let exam = Exam::of(&import, &O200k);
            for (window, sessions) in self.window.iter().zip(&mut sessions) {
                let mut measures = Vec::new();
                let mut unfit = 0;
                for policy in &policies {
                    let options = Options {
                        window: *window,
                        policy: policy.clone(),
                        budget: BudgetSettings::default(),
                        max_result: None,
                        recorded: false,
                    };
                    let mut model = summarizer(&self.summarizer)?;
                    let mut measure = Measure::new(&exam, policy, &O200k, measures.is_empty());
                    let replayed = replay(&import, &options, &O200k, &mut model, &mut measure)?;
                    unfit += replayed.unfit.len();
                    measures.push(measure);
                }
                if unfit > 0 {
                    code = UNFIT;
                }
                let rows = rows(measures);
                if self.json {
                    print(&line(&name, *window, &rows, unfit))?;
                } else {
                    print(&format!("{}\n", table(&name, *window, &rows, unfit, style)))?;
                }
                sessions.push(rows);
            }
        }
        if self.files.len() > 1 {
            self.print_totals(&sessions, style)?;
        }
        Ok(code)
    }

    /// Prints all files together, per window.
    fn print_totals(&self, sessions: &[Vec<Vec<Row>>], style: Style) -> Result<(), Failure> {
        for (window, sessions) in self.window.iter().zip(sessions) {
            let totals = totals(sessions);
            if self.json {
                print(&format!("{}\n", json!({ "window": window, "totals": totals })))?;
            } else {
                print(&format!("{}\n", totals_table(*window, &totals, style)))?;
            }
        }
        Ok(())
    }

    fn policies(&self) -> Result<Vec<Policy>, Failure> {
        if !self.all_policies {
            return self.policy.iter().map(|name| policy(name)).collect();
        }
        // The policy for comparison has a row in any case.
        let is_compared = |policy: &Policy| policy.enabled && *policy != WORDS_AND_LEDGER;
        Ok(ALL.iter().map(|preset| preset.policy.clone()).filter(is_compared).collect())
    }
}

fn line(file: &str, window: u32, rows: &[Row], unfit: usize) -> String {
    format!("{}\n", json!({ "file": file, "window": window, "rows": rows, "unfit": unfit }))
}
