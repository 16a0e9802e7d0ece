//! `threadhold measure`: what compactions keep of the names that later tool calls needed, beside simpler ways.

use super::files::{colour, formats, policy, print, read, summarizer};
use super::{Failure, SUCCESS, UNFIT};
use crate::engine::settings::BudgetSettings;
use crate::replay::measure::Measure;
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
    /// The transcripts' format
    #[arg(long, default_value = "auto", value_name = "NAME", value_parser = formats())]
    format: String,
    /// The model's window in tokens; may be given several times
    #[arg(long, value_name = "TOKENS", default_values_t = [16_000, 32_000, 64_000])]
    window: Vec<u32>,
    /// How to compact: a built-in policy, or a policy file
    #[arg(long, default_value = "default", value_name = "NAME|FILE")]
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
        let policy = policy(&self.policy)?;
        let mut code = SUCCESS;
        for file in &self.files {
            let name = file.display().to_string();
            let import = read(file, &self.format)?;
            for window in &self.window {
                let options = Options {
                    window: *window,
                    policy: policy.clone(),
                    budget: BudgetSettings::default(),
                    max_result: None,
                };
                let mut model = summarizer(&self.summarizer)?;
                let mut measure = Measure::new(&import, &policy, &O200k);
                let replayed = replay(&import, &options, &O200k, &mut model, &mut measure)?;
                if !replayed.unfit.is_empty() {
                    code = UNFIT;
                }
                let unfit = replayed.unfit.len();
                if self.json {
                    print(&line(&name, *window, &measure, unfit))?;
                } else {
                    let table = measure_table(&name, *window, &measure, unfit, Style { colour: colour() });
                    print(&format!("{table}\n"))?;
                }
            }
        }
        Ok(code)
    }
}

fn line(file: &str, window: u32, measure: &Measure<'_>, unfit: usize) -> String {
    let rows: Vec<_> =
        measure.rows().iter().map(|row| json!({ "recall": row.recall(), "of": row })).collect();
    let line =
        json!({ "file": file, "window": window, "rows": rows, "skipped": measure.skipped, "unfit": unfit });
    line.to_string() + "\n"
}
