//! After five compactions in a row with every kind of summary: user messages, changed files, commands with
//! their outcomes and pins are in the prompt, or a report names them: the block as far as it has room,
//! `context/ledger` all of them. Expectations are read from the transcripts, not from the ledger.

use super::enact::{Enactment, Summarizer, argument, said};
use crate::corpus::transcripts;
use engine::compact::ledger::CommandLine;
use engine::compact::ledger::files::FileLine;
use engine::compact::ledger::outcome::Outcome;
use engine::compact::policy::Policy;
use engine::compact::policy::presets::FOUR_STAGE;
use engine::compact::record::Compaction;
use engine::compact::secrets::masked;
use engine::id::Ordinal;
use engine::message::{Body, Content, ToolCall};
use engine::prompt::CutReason;
use engine::text::one_line;
use engine::transcript::Transcript;
use import::{Import, import};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

pub const FILES: [&str; 9] = [
    "claude-code-session-four.jsonl",
    "vscode-claude-session.jsonl",
    "pi-large-session.jsonl",
    "vscode-copilot-chat-mcp.json",
    "vscode-copilot.chatreplay.json",
    "sweagent-marshmallow-fc.traj",
    "codex-tui-oss-story.jsonl",
    "cline-session.messages.json",
    "openhands-llm-log-deepseek.json",
];

/// The least number of compactions in a row.
const IN_A_ROW: usize = 5;
/// Bytes by which a command line is recognized.
const KNOWN_BY: usize = 400;

#[test]
fn five_compactions_leave_everything_in_prompt_or_ledger() {
    let Some(folder) = transcripts() else { return };
    let (mut counted, mut named) = (0, 0);
    for file in FILES {
        let import = import(&std::fs::read(folder.join(file)).unwrap(), None).unwrap();
        for summarizer in Summarizer::ALL {
            // Tools are not offered: the chat replay's schemas alone would fill a small window.
            for window in [16_000, 32_000] {
                let name = format!("{file}, {window}, {summarizer:?}");
                let (counts, names) = after_five_compactions(&import, window, summarizer, &name);
                (counted, named) = (counted + counts, named + names);
            }
        }
    }
    assert!(counted > 100 && named > counted, "{counted} were only counted, {named} named");
}

/// Rounds dropped without a summary leave their ledger: in the block as far as it has room, completely in the
/// report.
#[test]
fn ledger_names_actions_of_dropped_rounds() {
    let Some(folder) = transcripts() else { return };
    let mut named = 0;
    // Results are not shortened, so rounds must be dropped.
    let policy = Policy { shorten_to: (50_000, 50_000), ..FOUR_STAGE };
    for file in FILES {
        let import = import(&std::fs::read(folder.join(file)).unwrap(), None).unwrap();
        let mut session = Enactment::under(&import, policy.clone(), 16_000, Summarizer::SaysNothing);
        session.live(&import);
        (0..40).for_each(|turn| sentinel_turn(&mut session, turn));
        let prompt = asked_for_more(&mut session);
        let transcript = session.bench.session.transcript();
        assert!(transcript.compactions().len() >= IN_A_ROW, "{file}");
        let record = transcript.in_force().unwrap().clone();
        assert!(record.dropped.is_some(), "{file}: {:?}", record.mode);
        assert!(record.block.contains("left out without a summary"), "{file}\n{}", record.block);
        assert!(record.block.contains("\n# Files changed"), "{file}\n{}", record.block);
        named += everything_is_there_or_named(&mut session, &prompt, file);
    }
    assert!(named > 500, "{named} named");
}

/// Counts of files and commands that the block only counts, and that the ledger names.
fn after_five_compactions(
    import: &Import,
    window: u32,
    summarizer: Summarizer,
    name: &str,
) -> (usize, usize) {
    let mut session = Enactment::new(import, window, summarizer);
    let prompt = compacted_in_a_row(&mut session, import, name);
    let transcript = session.bench.session.transcript();
    let record = transcript.in_force().unwrap();
    let all = prompt.join("\n");
    for ord in &record.reported_users {
        assert!(is_named(&record.block, ord.0), "{name}: user message {ord} is not named");
    }
    let done = Done::of(transcript);
    let left_out = |heading: &str| stated(&record.block, heading);
    let files: Vec<&String> = done.changed.keys().filter(|path| !all.contains(*path)).collect();
    assert!(files.len() <= left_out("# Files changed"), "{name}: changed files {files:?}\n{}", record.block);
    let commands: Vec<&String> = done
        .ran
        .iter()
        .filter(|(command, ran)| !shows(&all, command, ran))
        .map(|(command, _)| command)
        .collect();
    assert!(commands.len() <= left_out("# Commands run"), "{name}: {commands:?}\n{}", record.block);
    assert_eq!(all.matches("<conversation-summary>").count(), 1, "{name}: one block");
    assert!(!all.contains("rm -rf /\"}"), "{name}: a call in a summary is ignored");
    let only_counted = files.len() + commands.len();
    (only_counted, everything_is_there_or_named(&mut session, &prompt, name))
}

/// The prompt after a transcript and five compactions.
fn compacted_in_a_row(session: &mut Enactment, import: &Import, name: &str) -> Vec<String> {
    session.live(import);
    let mut made = 0;
    for turn in 0..20 {
        sentinel_turn(session, turn);
        made += usize::from(session.compacts());
        if made >= IN_A_ROW {
            break;
        }
    }
    assert!(made >= IN_A_ROW, "{name}: {made} compactions");
    asked_for_more(session)
}

/// The prompt of one more request.
fn asked_for_more(session: &mut Enactment) -> Vec<String> {
    session.asks(vec![Content::Text("What is left to do?".into())]);
    session.request().iter().map(said).collect()
}

/// Checks that user messages and pins are in the prompt verbatim, or `context/inspect` names the message, and
/// that the ledger names each changed file with its count and each command with its outcome.
///
/// Returns the number of these files and commands.
fn everything_is_there_or_named(session: &mut Enactment, prompt: &[String], name: &str) -> usize {
    let (ledger, cuts) = (session.ledger(), session.cuts());
    let transcript = session.bench.session.transcript();
    for ord in users_missing(transcript, prompt) {
        assert!(cuts.contains(&(Ordinal(ord), CutReason::UserMessage)), "{name}: user message {ord}");
    }
    for pin in &session.pinned {
        assert_eq!(prompt.iter().filter(|text| *text == pin).count(), 1, "{name}: {pin}");
    }
    let done = Done::of(transcript);
    for (path, times) in &done.changed {
        let path = masked(path);
        // One file is one line, however its path is spelled.
        let is_it = |file: &&FileLine| file.path == path || file.spellings.contains(&path);
        let files: Vec<u32> = ledger.files.iter().filter(is_it).map(|file| file.changed).collect();
        assert!(matches!(files[..], [changed] if changed >= *times), "{name}: {path}: {files:?} of {times}");
    }
    for (command, Ran { exit, times }) in &done.ran {
        let command = masked(&one_line(command, KNOWN_BY));
        let is_it = |line: &&CommandLine| {
            line.command == command && exit.is_none_or(|code| line.outcome == Outcome::Exit(code))
        };
        let ran: u32 = ledger.commands.iter().filter(is_it).map(|line| line.times).sum();
        assert!(ran >= *times, "{name}: {command:?}, {exit:?}: {ran} of {times} times");
    }
    done.changed.len() + done.ran.len()
}

/// Runs a turn that changes a file and has a command fail with its own exit code.
fn sentinel_turn(session: &mut Enactment, n: usize) {
    let call = |id: &str, tool: &str, arguments: serde_json::Value| {
        ToolCall::new(&format!("{id}-{n}"), tool, &arguments.to_string())
    };
    session.pins(&format!("Pinned fact {n}: the port is {}.", 4000 + n));
    session.asks(vec![Content::Text(format!("Sentinel request {n}: keep to rule {n}.").into())]);
    let path = format!("src/sentinel_{n}.rs");
    session.says("", vec![call("w", "write", json!({"path": path, "content": "x"}))]);
    session.tool_answers(&format!("written {n}\n").repeat(200), None);
    let command = format!("make sentinel-{n}");
    session.says("", vec![call("b", "bash", json!({"command": command}))]);
    session.tool_answers(&format!("line of output {n}\n").repeat(200), Some(i32::try_from(n).unwrap() + 40));
    session.says(&format!("Request {n} is done."), Vec::new());
}

/// User messages that are not in the prompt verbatim.
fn users_missing(transcript: &Transcript, prompt: &[String]) -> BTreeSet<u32> {
    let shown: BTreeSet<&str> = prompt.iter().map(|text| &**text).collect();
    let users = transcript.messages().iter().filter(|message| matches!(message.body, Body::User(_)));
    let texts = |message: &engine::message::Message| {
        message.body.texts().iter().map(|text| text.to_string()).collect::<Vec<_>>().join("\n")
    };
    let hidden = users.filter(|message| message.visible_to_model && !message.body.texts().is_empty());
    hidden.filter(|message| !shown.contains(&*texts(message))).map(|message| message.ord.0).collect()
}

/// `true` if the block names the message, by itself or in a range.
fn is_named(block: &str, ord: u32) -> bool {
    block.lines().any(|line| {
        let numbers: Vec<u32> =
            line.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect();
        match numbers.as_slice() {
            [one, ..] if line.starts_with("- message ") => *one == ord,
            [_, from, to, ..] if line.contains(" more, from message ") => (*from..=*to).contains(&ord),
            _ => false,
        }
    })
}

/// The number of entries under this heading that a block says it leaves out.
fn stated(block: &str, heading: &str) -> usize {
    let line = block.lines().find(|line| line.starts_with(heading)).unwrap_or_default();
    let (before, _) = line.split_once(" left out").unwrap_or_default();
    let of_some = before.rsplit('(').next().and_then(|number| number.parse().ok());
    // A list without room is counted at the block's end.
    let whole = format!("{}: ", heading.trim_start_matches("# "));
    let of_all = block.lines().flat_map(|line| line.split(" · ")).find_map(|part| part.strip_prefix(&whole));
    of_some.or_else(|| of_all.and_then(|number| number.parse().ok())).unwrap_or_default()
}

/// Changes and commands in the covered part of a transcript, with counts, read without the ledger.
#[derive(Default)]
struct Done {
    changed: BTreeMap<String, u32>,
    ran: BTreeMap<String, Ran>,
}

/// Runs of a command.
#[derive(Default)]
struct Ran {
    /// The exit code of the newest run, if the tool stated it.
    exit: Option<i32>,
    times: u32,
}

impl Done {
    fn of(transcript: &Transcript) -> Self {
        let mut done = Self::default();
        let resume = transcript.in_force().map_or(Ordinal(0), Compaction::resume_at);
        for round in transcript.rounds().iter().take_while(|round| round.assistant < resume) {
            let Some(Body::Assistant { calls, .. }) = transcript.message(round.assistant).map(|m| &m.body)
            else {
                continue;
            };
            for (call, answer) in calls.iter().zip(&round.results) {
                let result = answer.and_then(|ord| transcript.message(ord)).and_then(|m| match &m.body {
                    Body::Tool(result) => Some(result),
                    _ => None,
                });
                let name = call.name.to_lowercase();
                let failed = result.is_none_or(|result| result.is_error);
                // One editor reads files with a command of its edit tool.
                let reads = argument(call, &["command"]).as_deref() == Some("view");
                let changes = !reads
                    && ["write", "edit", "create", "replace", "insert"].iter().any(|w| name.contains(w));
                if let Some(path) = argument(call, &["path", "file_path", "filePath"])
                    && changes
                    && !failed
                {
                    *done.changed.entry(path).or_default() += 1;
                }
                if let Some(command) = argument(call, &["command"])
                    && name.contains("bash")
                {
                    let ran = done.ran.entry(command).or_default();
                    ran.exit = result.and_then(|result| result.exit_code);
                    ran.times += 1;
                }
            }
        }
        done
    }
}

/// `true` if a prompt shows a command, and its exit code if the tool stated one.
fn shows(prompt: &str, command: &str, Ran { exit, .. }: &Ran) -> bool {
    let words: Vec<&str> = command.split_whitespace().collect();
    let start: String = words.join(" ").chars().take(60).collect();
    prompt.lines().any(|line| {
        let line: Vec<&str> = line.split_whitespace().collect();
        let line = line.join(" ");
        line.contains(&start) && exit.is_none_or(|code| line.contains(&format!("exit {code}")))
    }) || raw(prompt, command, *exit)
}

/// `true` if the call itself is in the prompt, and so its result.
fn raw(prompt: &str, command: &str, exit: Option<i32>) -> bool {
    exit.is_none() && prompt.contains(&json!(command).to_string())
}
