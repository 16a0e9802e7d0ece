//! `threadhold measure`: what compactions keep of the names that later tool calls needed, beside simpler ways.

use super::files::{colour, print, read, summarizer};
use super::{Failure, SUCCESS, UNFIT};
use crate::engine::compact::policy::Policy;
use crate::engine::settings::BudgetSettings;
use crate::replay::measure::{Measure, Row};
use crate::replay::table::{Style, measure_table};
use crate::replay::{Options, replay};
use crate::tokenizer::O200k;
use clap::Args;
use serde_json::json;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(super) struct MeasureCommand {
    /// Recorded transcripts
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// auto, claude-code, pi, vscode-chat, chatreplay, swe-agent or jsonl
    #[arg(long, default_value = "auto", value_name = "NAME")]
    format: String,
    /// The model's window in tokens; may be given several times
    #[arg(long, value_name = "TOKENS", default_values_t = [16_000, 32_000, 64_000])]
    window: Vec<u32>,
    /// How to compact: default, last-turns, words-and-ledger, limiter
    #[arg(long, default_value = "default", value_name = "NAME")]
    policy: String,
    /// Who writes summaries: scripted, scripted:FILE or none
    #[arg(long, default_value = "none", value_name = "NAME")]
    summarizer: String,
    /// One JSON object per file and window
    #[arg(long)]
    json: bool,
}

impl MeasureCommand {
    pub(super) fn run(&self) -> Result<u8, Failure> {
        let policy = Policy::named(&self.policy)?;
        let mut code = SUCCESS;
        for file in &self.files {
            let name = file.display().to_string();
            let import = read(file, &self.format)?;
            for window in &self.window {
                let options =
                    Options { window: *window, policy: policy.clone(), budget: BudgetSettings::default() };
                let mut model = summarizer(&self.summarizer)?;
                let mut measure = Measure::new(&import, &policy, &O200k);
                let replayed = replay(&import, &options, &O200k, &mut model, &mut measure)?;
                if !replayed.unfit.is_empty() {
                    code = UNFIT;
                }
                let rows = [&measure.raw_tail, &measure.words_and_ledger, &measure.own];
                if self.json {
                    print(&line(&name, *window, rows));
                } else {
                    print(&measure_table(&name, *window, &rows, Style { colour: colour() }));
                    print("\n");
                }
            }
        }
        Ok(code)
    }
}

fn line(file: &str, window: u32, rows: [&Row; 3]) -> String {
    let rows: Vec<_> = rows.iter().map(|row| json!({ "recall": row.recall(), "of": row })).collect();
    json!({ "file": file, "window": window, "rows": rows }).to_string() + "\n"
}
