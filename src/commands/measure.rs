//! `threadhold measure`: how many names that later tool calls needed survive a compaction, next to simpler
//! methods.

use super::files::{colour, formats, policy, print, read, summarizer};
use super::{Failure, SUCCESS, UNFIT};
use crate::replay::measure::{Measure, rows};
use crate::replay::table::{Style, measure_table};
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
    #[arg(long, value_name = "TOKENS", default_values_t = [16_000, 32_000, 64_000])]
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
    /// Print one JSON object per file and window
    #[arg(long)]
    json: bool,
}

impl MeasureCommand {
    pub(super) fn run(&self) -> Result<u8, Failure> {
        let policies = self.policies()?;
        let mut code = SUCCESS;
        for file in &self.files {
            let name = file.display().to_string();
            let import = read(file, &self.format)?;
            for window in &self.window {
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
                    let mut measure = Measure::new(&import, policy, &O200k);
                    let replayed = replay(&import, &options, &O200k, &mut model, &mut measure)?;
                    unfit += replayed.unfit.len();
                    measures.push(measure);
                }
                if unfit > 0 {
                    code = UNFIT;
                }
                if self.json {
                    print(&line(&name, *window, &measures, unfit))?;
                } else {
                    let table = measure_table(&name, *window, &measures, unfit, Style { colour: colour() });
                    print(&format!("{table}\n"))?;
                }
            }
        }
        Ok(code)
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

fn line(file: &str, window: u32, measures: &[Measure<'_>], unfit: usize) -> String {
    let rows: Vec<_> =
        rows(measures).into_iter().map(|row| json!({ "recall": row.recall(), "of": row })).collect();
    let skipped = measures.first().map_or(0, |measure| measure.skipped);
    json!({ "file": file, "window": window, "rows": rows, "skipped": skipped, "unfit": unfit }).to_string()
        + "\n"
}
