//! `threadhold replay`: files in, a table or JSON lines out, and prompts into a folder if one is given.

use super::files::{colour, formats, policy, print, read, summarizer};
use super::{BAD, Failure, SUCCESS, UNFIT};
use crate::replay::dump::dump;
use crate::replay::report::Report;
use crate::replay::table::{Rows, Style, table};
use crate::replay::{Options, Render, Watch, replay};
use crate::server::dump::{make_folder, write};
use crate::tokenizer::O200k;
use clap::Args;
use engine::compact::record::Compaction;
use engine::prompt::Source;
use engine::settings::BudgetSettings;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[derive(Debug, Args)]
pub(super) struct Replay {
    /// Recorded transcripts
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The transcripts' format
    #[arg(long, default_value = "auto", value_name = "NAME", value_parser = formats())]
    format: String,
    /// The model's context window in tokens
    #[arg(long, default_value_t = 128_000, value_name = "TOKENS")]
    window: u32,
    /// The compaction policy: a built-in policy, or a policy file
    #[arg(long, default_value = "default", value_name = "NAME|FILE")]
    policy: String,
    /// The model that writes summaries: scripted, scripted:FILE or none
    #[arg(long, default_value = "scripted", value_name = "NAME")]
    summarizer: String,
    /// Show larger tool results by head and tail, as a session does; without it every result is whole
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..))]
    max_tool_result_tokens: Option<u32>,
    /// Go on from the compactions that the transcript's own program recorded; without it every prompt starts from all
    /// messages
    #[arg(long)]
    recorded: bool,
    /// Print one JSON object per file
    #[arg(long)]
    json: bool,
    /// Report the time per file (durationMs)
    #[arg(long)]
    timings: bool,
    /// Write each prompt to DIR/NNNNN.json
    #[arg(long, value_name = "DIR")]
    dump_prompts: Option<PathBuf>,
}

impl Replay {
    pub(super) fn run(&self) -> Result<u8, Failure> {
        let options = Options {
            window: self.window,
            policy: policy(&self.policy)?,
            budget: BudgetSettings::default(),
            max_result: self.max_tool_result_tokens,
            recorded: self.recorded,
        };
        options.budget.budget(self.window)?;
        summarizer(&self.summarizer)?;
        let mut code = SUCCESS;
        for (index, file) in self.files.iter().enumerate() {
            let dir = self.dump_prompts.as_ref().map(|dir| match self.files.len() {
                1 => dir.clone(),
                _ => dir.join(index.to_string()),
            });
            match self.one(file, dir, &options) {
                Ok(fits) => code = code.max(if fits { SUCCESS } else { UNFIT }),
                // The other files are replayed even if one cannot be read.
                Err(failure) => {
                    failure.report();
                    code = BAD;
                }
            }
        }
        Ok(code)
    }

    /// Replays one file. Returns `true` if every prompt could be made to fit.
    fn one(&self, file: &Path, dir: Option<PathBuf>, options: &Options) -> Result<bool, Failure> {
        let started = Instant::now();
        let name = file.display().to_string();
        let import = read(file, &self.format)?;
        let mut model = summarizer(&self.summarizer)?;
        let total = import.entries.iter().filter(|entry| entry.is_assistant()).count();
        let mut watch = Console::new(&name, total, dir)?;
        let replayed = replay(&import, options, &O200k, &mut model, &mut watch)?;
        watch.finish()?;
        let duration = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        if self.json {
            let report = Report::new(&name, &import, &replayed, self.timings.then_some(duration));
            print(&(serde_json::to_string(&report).unwrap_or_default() + "\n"))?;
        } else {
            let took = if self.timings { format!("{duration} ms\n") } else { String::new() };
            let table = table(&name, &import, &replayed, &watch.rows, Style { colour: colour() });
            print(&format!("{table}{took}\n"))?;
        }
        Ok(replayed.unfit.is_empty())
    }
}

/// Collects rows for the table, prints progress and dumps prompts.
struct Console {
    rows: Rows,
    name: String,
    total: usize,
    dir: Option<PathBuf>,
    failure: Option<Failure>,
    said: Option<Instant>,
    started: Instant,
}

impl Console {
    fn new(name: &str, total: usize, dir: Option<PathBuf>) -> Result<Self, Failure> {
        if let Some(dir) = &dir {
            make_folder(dir)
                .and_then(|()| clear(dir))
                .map_err(|error| Failure::Write { file: dir.display().to_string(), error })?;
        }
        Ok(Self {
            rows: Rows::default(),
            name: name.into(),
            total,
            dir,
            failure: None,
            said: None,
            started: Instant::now(),
        })
    }

    /// Prints a line to standard error, once a replay has taken over a second, and then each second.
    fn progress(&mut self, render: u32) {
        if self.said.unwrap_or(self.started).elapsed() > Duration::from_secs(1) {
            self.said = Some(Instant::now());
            let end = if std::io::stderr().is_terminal() { '\r' } else { '\n' };
            let _ = write!(std::io::stderr(), "{}: {render} of {} prompts{end}", self.name, self.total);
        }
    }

    fn finish(&mut self) -> Result<(), Failure> {
        if self.said.is_some() && std::io::stderr().is_terminal() {
            let _ = writeln!(std::io::stderr());
        }
        self.failure.take().map_or(Ok(()), Err)
    }
}

/// Removes the prompts of an earlier run: a prompt that does not fit has no file, and an old one of its
/// number would be taken for it.
fn clear(dir: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let is_number = stem.len() == 5 && stem.bytes().all(|byte| byte.is_ascii_digit());
        if is_number && path.extension().is_some_and(|extension| extension == "json") {
            std::fs::remove_file(path)?;
        }
    }
    Ok(())
}

impl Watch for Console {
    fn rendered(&mut self, render: &Render<'_>) {
        self.rows.rendered(render);
        self.progress(render.index);
        if let (Some(dir), Ok(prompt), None) = (&self.dir, render.outcome, &self.failure) {
            let file = dir.join(format!("{:05}.json", render.index));
            let text = serde_json::to_string(&dump(prompt)).unwrap_or_default();
            if let Err(error) = write(&file, &text) {
                self.failure = Some(Failure::Write { file: file.display().to_string(), error });
            }
        }
    }

    fn compacted(&mut self, before: Source<'_>, record: &Compaction) {
        self.rows.compacted(before, record);
    }
}
