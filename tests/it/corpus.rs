//! Replays the corpus transcripts in three windows with the built binary, and checks its dumps.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests fail as tests do"
)]

mod command_line;
mod damage;
mod presets;
mod thinking;

use crate::checker::source::Source;
use crate::checker::{Checker, Fault};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Transcripts with format and the counts of `tests/corpus_counts.py`: messages, turns, rounds, calls,
/// results, calls without a result, renders.
const FILES: [(&str, &str, [u64; 7]); 9] = [
    ("claude-code-session-four.jsonl", "claude-code", [62, 3, 30, 27, 27, 0, 30]),
    ("vscode-claude-session.jsonl", "claude-code", [43, 2, 15, 25, 25, 0, 15]),
    ("pi-large-session.jsonl", "pi", [914, 88, 439, 391, 373, 18, 453]),
    ("vscode-copilot-chat-mcp.json", "vscode-chat", [8, 1, 4, 3, 3, 0, 4]),
    (CHATREPLAY, "chatreplay", [11, 2, 4, 2, 2, 0, 4]),
    ("sweagent-marshmallow-fc.traj", "swe-agent", [28, 1, 13, 13, 13, 0, 13]),
    ("codex-tui-oss-story.jsonl", "codex", [6, 3, 3, 0, 0, 0, 3]),
    (CLINE, "cline", [33, 5, 16, 11, 11, 0, 16]),
    ("openhands-llm-log-deepseek.json", "openhands", [9, 1, 4, 4, 3, 1, 4]),
];
/// The 69 tools of this one are larger than the smallest window.
const CHATREPLAY: &str = "vscode-copilot.chatreplay.json";
/// The first message of this one, with its file, leaves no room for the system text in the smallest window.
const CLINE: &str = "cline-session.messages.json";
/// From this window on, dumps are too large to write twice.
const LARGE: u32 = 128_000;

/// The folder of the transcripts, or `None` without a corpus. CI must have one.
pub(crate) fn transcripts() -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("THREADHOLD_CORPUS") else {
        assert!(std::env::var_os("CI").is_none(), "THREADHOLD_CORPUS is not set, and on CI it must be");
        println!("not run: THREADHOLD_CORPUS does not name the folder of the corpus");
        return None;
    };
    Some(PathBuf::from(folder).join("transcripts"))
}

/// The result of running the binary.
#[derive(Debug, PartialEq)]
struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Ran {
    /// The lines of `--json`.
    fn lines(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Runs the binary.
fn threadhold<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(arguments: I) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_threadhold"));
    let out = command.args(arguments).stdin(Stdio::null()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: out.status.code(), out: text(out.stdout), err: text(out.stderr) }
}

/// A test's folder, removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    /// Writes a file and returns its path.
    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// A path in the folder.
    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// The files of a dump by render.
fn dumps(folder: &str) -> BTreeMap<usize, PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let render = |path: &Path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        let digits = name.strip_suffix(".json").unwrap();
        assert_eq!(digits.len(), 5, "{name}");
        digits.parse().unwrap()
    };
    entries.map(|path| (render(&path), path)).collect()
}

fn checked(source: &Source, line: &Value, folder: &str) -> Vec<Fault> {
    let mut checker = Checker::new(source, line);
    for (render, path) in dumps(folder) {
        checker.prompt(render, serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap());
    }
    checker.finish()
}

/// The parts of a line that do not depend on the window.
fn figures(line: &Value) -> Value {
    let of = |key: &str| line[key].clone();
    json!({
        "format": of("format"),
        "counts": [
            of("messages"), of("turns"), of("rounds"), of("toolCalls"), of("toolResults"), of("orphanCalls"),
            of("renders"),
        ],
        "window": of("window"),
        "estimator": of("estimator"),
        "overBudget": of("overBudget"),
        "orphans": of("orphans"),
        "unaccounted": line["coverage"]["unaccounted"],
        "shareBetweenBreaks": line["prefix"]["shareBetweenBreaks"],
        "skippedRecords": of("skippedRecords"),
        "durationMs": of("durationMs"),
    })
}

/// Replays every transcript twice and checks every prompt.
fn every_prompt_holds(window: u32, summarizer: &str) {
    let Some(transcripts) = transcripts() else { return };
    let folder = Folder::new(&format!("corpus-{window}-{summarizer}"));
    for (name, format, counts) in FILES {
        let file = transcripts.join(name).display().to_string();
        let window_text = window.to_string();
        let plain = ["replay", &file, "--window", &window_text, "--summarizer", summarizer, "--json"];
        let replay = |dump: &str| threadhold(plain.into_iter().chain(["--dump-prompts", dump]));
        let (first, second) = (folder.path("first"), folder.path("second"));
        let ran = replay(&first);
        let unfit: Option<(&str, &[u64])> = match name {
            CHATREPLAY if window == 8_000 => Some(("tools", &[0, 1, 2, 3])),
            CLINE if window == 8_000 => Some(("currentMessage", &[0, 1, 2])),
            _ => None,
        };
        let [line] = &ran.lines()[..] else { panic!("{name}: not one line: {}", ran.err) };
        println!("{}", row(name, summarizer, line));
        let expected = json!({
            "format": format, "counts": counts, "window": window, "estimator": "o200k_base", "overBudget": 0,
            "orphans": 0, "unaccounted": 0, "shareBetweenBreaks": 1.0, "skippedRecords": 0, "durationMs": null,
        });
        let bytes = std::fs::read(&file).unwrap();
        let faults = checked(&Source::read(format, &bytes), line, &first);
        assert_eq!(
            (ran.code, figures(line), faults),
            (Some(i32::from(unfit.is_some())), expected, vec![]),
            "{name}: {}",
            ran.err
        );
        match unfit {
            None => assert_eq!(line["cannotFit"], json!([]), "{name}"),
            Some((section, renders)) => does_not_fit(line, section, renders),
        }

        if window < LARGE {
            assert_eq!(replay(&second).out, ran.out, "{name}");
            let (one, two) = (dumps(&first), dumps(&second));
            assert!(one.keys().eq(two.keys()), "{name}");
            for (a, b) in one.values().zip(two.values()) {
                assert!(std::fs::read(a).unwrap() == std::fs::read(b).unwrap(), "{} differs", b.display());
            }
            std::fs::remove_dir_all(&second).unwrap();
        } else {
            assert_eq!(threadhold(plain).out, ran.out, "{name}");
        }
        std::fs::remove_dir_all(&first).unwrap();
    }
}

/// Checks that exactly these renders do not fit, and that each names this section as the cause.
fn does_not_fit(line: &Value, section: &str, renders: &[u64]) {
    let unfit = line["cannotFit"].as_array().unwrap();
    assert_eq!(unfit.iter().map(|of| of["render"].as_u64().unwrap()).collect::<Vec<_>>(), renders);
    for of in unfit {
        let sections = of["sections"].as_array().unwrap();
        let names: Vec<&str> = sections.iter().map(|section| section["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["tools", "system", "pins", "currentMessage", "newestRound"]);
        let tokens = |section: &Value| section["tokens"].as_u64().unwrap();
        let largest = sections.iter().max_by_key(|section| tokens(section)).unwrap();
        let (needed, limit) = (of["needed"].as_u64().unwrap(), of["limit"].as_u64().unwrap());
        assert!(largest["name"] == section && needed > limit && needed >= tokens(largest), "{of}");
        // It leaves no room for the system text and the tools.
        let beside: u64 = sections.iter().take(2).filter(|of| of["name"] != section).map(tokens).sum();
        assert!(tokens(largest) + beside > limit, "{of}");
        assert_eq!(of["limit"], line["limit"]);
    }
}

/// A row of the table that `--nocapture` prints.
fn row(name: &str, summarizer: &str, line: &Value) -> String {
    let mut modes: BTreeMap<&str, u32> = BTreeMap::new();
    for compaction in line["compactions"].as_array().unwrap() {
        *modes.entry(compaction["mode"].as_str().unwrap()).or_default() += 1;
    }
    let modes: Vec<String> = modes.iter().map(|(mode, n)| format!("{n} {mode}")).collect();
    let coverage: Vec<String> = ["raw", "shortened", "covered", "dropped", "hidden", "unaccounted"]
        .map(|key| format!("{key} {}", line["coverage"][key]))
        .to_vec();
    format!(
        "{name:31} {:>6} {summarizer:8} | {:>3} renders, {} unfit | {} | {} | words {}/{} | prefix {}",
        line["window"].to_string(),
        line["renders"].to_string(),
        line["cannotFit"].as_array().unwrap().len(),
        if modes.is_empty() { "no compaction".into() } else { modes.join(", ") },
        coverage.join(", "),
        line["userMessages"]["verbatim"],
        line["userMessages"]["total"],
        line["prefix"]["share"],
    )
}

#[test]
fn every_prompt_at_8_000_holds_with_a_summarizer() {
    every_prompt_holds(8_000, "scripted");
}

#[test]
fn every_prompt_at_8_000_holds_without_a_model() {
    every_prompt_holds(8_000, "none");
}

#[test]
fn every_prompt_at_32_000_holds_with_a_summarizer() {
    every_prompt_holds(32_000, "scripted");
}

#[test]
fn every_prompt_at_32_000_holds_without_a_model() {
    every_prompt_holds(32_000, "none");
}

#[test]
fn every_prompt_at_128_000_holds_with_a_summarizer() {
    every_prompt_holds(LARGE, "scripted");
}

#[test]
fn every_prompt_at_128_000_holds_without_a_model() {
    every_prompt_holds(LARGE, "none");
}

/// With a previous report as a baseline estimates are off by at most 2 %, without one by 10 %.
#[test]
fn estimates_come_near_to_what_providers_reported() {
    let Some(transcripts) = transcripts() else { return };
    for (name, reports, taught) in [("pi-large-session.jsonl", 400, 390), (CHATREPLAY, 4, 0)] {
        let file = transcripts.join(name).display().to_string();
        // The source's own prompts are estimated, whatever the window is.
        for window in ["32000", "1000000"] {
            let ran = threadhold(["replay", &file, "--window", window, "--summarizer", "none", "--json"]);
            let [line] = &ran.lines()[..] else { panic!("{name}: not one line: {}", ran.err) };
            let estimate = &line["estimate"];
            println!("{name} {window}: {estimate}");
            let of = |kind: &str, figure: &str| estimate[kind][figure].as_f64().unwrap();
            assert!(estimate["reports"].as_u64().unwrap() >= reports, "{estimate}");
            assert_eq!(estimate["implausible"], 0, "{estimate}");
            assert!(of("anchored", "count") >= f64::from(taught), "{estimate}");
            assert!(of("anchored", "worst") <= 0.02, "{estimate}");
            assert!(of("unanchored", "worst") <= 0.1, "{estimate}");
            // Four requests are too few to learn a factor.
            assert!(taught > 0 || of("beforeFactor", "median") <= 0.02, "{estimate}");
            assert!(taught > 0 || of("beforeFactor", "worst") <= 0.1, "{estimate}");
            assert!(taught == 0 || of("newTokens", "median") < 0.3, "{estimate}");
            // Each estimate of new tokens belongs to one turn, and turns are in order.
            let turns = estimate["turns"].as_array().unwrap();
            let told: Vec<u64> = turns.iter().map(|turn| turn["turn"].as_u64().unwrap()).collect();
            assert!(
                told.is_sorted_by(|one, next| one < next) && told.last() <= line["turns"].as_u64().as_ref()
            );
            let counts: u64 = turns.iter().map(|turn| turn["count"].as_u64().unwrap()).sum();
            assert_eq!(Some(counts), estimate["newTokens"]["count"].as_u64(), "{estimate}");
            assert!(counts + 4 >= reports && told.len() >= 2, "{estimate}");
        }
    }
}
