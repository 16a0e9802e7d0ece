//! `threadhold replay`: files in, a table or JSON lines out, prompts into a folder where one is given.

use super::files::{colour, print, read, summarizer};
use super::{Failure, SUCCESS, UNFIT};
use crate::engine::compact::policy::Policy;
use crate::engine::compact::record::Compaction;
use crate::engine::prompt::Source;
use crate::engine::settings::BudgetSettings;
use crate::replay::dump::dump;
use crate::replay::report::Report;
use crate::replay::table::{Rows, Style, table};
use crate::replay::{Options, Render, Watch, replay};
use crate::tokenizer::O200k;
use clap::Args;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[derive(Debug, Args)]
pub(super) struct Replay {
    /// Recorded transcripts
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// auto, claude-code, pi, vscode-chat, chatreplay, swe-agent or jsonl
    #[arg(long, default_value = "auto", value_name = "NAME")]
    format: String,
    /// The model's window in tokens
    #[arg(long, default_value_t = 128_000, value_name = "TOKENS")]
    window: u32,
    /// How to compact: default, last-turns, words-and-ledger, limiter, off
    #[arg(long, default_value = "default", value_name = "NAME")]
    policy: String,
    /// Who writes summaries: scripted, scripted:FILE or none
    #[arg(long, default_value = "scripted", value_name = "NAME")]
    summarizer: String,
    /// One JSON object per file and line
    #[arg(long)]
    json: bool,
    /// Say how long each file took (durationMs)
    #[arg(long)]
    timings: bool,
    /// Write each prompt as DIR/NNNNN.json
    #[arg(long, value_name = "DIR")]
    dump_prompts: Option<PathBuf>,
}

impl Replay {
    pub(super) fn run(&self) -> Result<u8, Failure> {
        let options = Options {
            window: self.window,
            policy: Policy::named(&self.policy)?,
            budget: BudgetSettings::default(),
        };
        options.budget.budget(self.window)?;
        let mut code = SUCCESS;
        for (index, file) in self.files.iter().enumerate() {
            let dir = self.dump_prompts.as_ref().map(|dir| match self.files.len() {
                1 => dir.clone(),
                _ => dir.join(index.to_string()),
            });
            if self.one(file, dir, &options)? {
                code = UNFIT;
            }
        }
        Ok(code)
    }

    /// Replays one file; whether a prompt could not be made to fit.
    fn one(&self, file: &Path, dir: Option<PathBuf>, options: &Options) -> Result<bool, Failure> {
        let started = Instant::now();
        let name = file.display().to_string();
        let import = read(file, &self.format)?;
        let mut model = summarizer(&self.summarizer)?;
        let mut watch = Console::new(&name, dir)?;
        let replayed = replay(&import, options, &O200k, &mut model, &mut watch)?;
        watch.finish()?;
        let duration = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        if self.json {
            let report = Report::new(&name, &import, &replayed, self.timings.then_some(duration));
            print(&(serde_json::to_string(&report).unwrap_or_default() + "\n"));
        } else {
            print(&table(&name, &import, &replayed, &watch.rows, Style { colour: colour() }));
            if self.timings {
                print(&format!("{duration} ms\n"));
            }
            print("\n");
        }
        Ok(!replayed.unfit.is_empty())
    }
}

/// Rows for the table, progress for people who wait, prompts for the dump folder.
struct Console {
    rows: Rows,
    name: String,
    dir: Option<PathBuf>,
    failure: Option<Failure>,
    said: Option<Instant>,
    started: Instant,
}

impl Console {
    fn new(name: &str, dir: Option<PathBuf>) -> Result<Self, Failure> {
        if let Some(dir) = &dir {
            std::fs::create_dir_all(dir)
                .map_err(|error| Failure::Write { file: dir.display().to_string(), error })?;
        }
        Ok(Self {
            rows: Rows::default(),
            name: name.into(),
            dir,
            failure: None,
            said: None,
            started: Instant::now(),
        })
    }

    /// A line on standard error, once a replay has taken over a second, and then each second.
    fn progress(&mut self, render: u32) {
        if self.said.unwrap_or(self.started).elapsed() > Duration::from_secs(1) {
            self.said = Some(Instant::now());
            let end = if std::io::stderr().is_terminal() { '\r' } else { '\n' };
            let _ = write!(std::io::stderr(), "{}: {render} prompts{end}", self.name);
        }
    }

    fn finish(&mut self) -> Result<(), Failure> {
        if self.said.is_some() && std::io::stderr().is_terminal() {
            let _ = writeln!(std::io::stderr());
        }
        self.failure.take().map_or(Ok(()), Err)
    }
}

impl Watch for Console {
    fn rendered(&mut self, render: &Render<'_>) {
        self.rows.rendered(render);
        self.progress(render.index);
        if let (Some(dir), Ok(prompt), None) = (&self.dir, render.outcome, &self.failure) {
            let file = dir.join(format!("{:05}.json", render.index));
            let text = serde_json::to_string(&dump(prompt)).unwrap_or_default();
            if let Err(error) = std::fs::write(&file, text) {
                self.failure = Some(Failure::Write { file: file.display().to_string(), error });
            }
        }
    }

    fn compacted(&mut self, before: Source<'_>, record: &Compaction) {
        self.rows.compacted(before, record);
    }
}
