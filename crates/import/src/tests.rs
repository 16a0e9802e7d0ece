//! Import of real transcripts and of malformed ones. Each format's own file tests its records.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests fail as tests do"
)]

mod samples;

use crate::{Entry, Format, Import, ImportError, detect, export_jsonl, import};
use engine::compact::record::Status;
use engine::id::SessionId;
use engine::message::Body;
use engine::tokens::QuarterOfChars;
use engine::transcript::Transcript;
use proptest::prelude::*;
use proptest::sample::Index;
use samples::samples;
use serde_json::{Value, json};
use std::path::PathBuf;

/// A transcript of the corpus with the counts of `tests/corpus_counts.py`: messages, user and assistant
/// messages among them, turns, rounds, calls, results, calls without a result.
const FILES: [(&str, Format, [usize; 8]); 9] = [
    ("claude-code-session-four.jsonl", Format::ClaudeCode, [62, 5, 30, 3, 30, 27, 27, 0]),
    ("vscode-claude-session.jsonl", Format::ClaudeCode, [43, 3, 15, 2, 15, 25, 25, 0]),
    ("pi-large-session.jsonl", Format::Pi, [914, 88, 453, 88, 439, 391, 373, 18]),
    ("vscode-copilot-chat-mcp.json", Format::VscodeChat, [8, 1, 4, 1, 4, 3, 3, 0]),
    ("vscode-copilot.chatreplay.json", Format::Chatreplay, [11, 3, 4, 2, 4, 2, 2, 0]),
    ("sweagent-marshmallow-fc.traj", Format::SweAgent, [28, 1, 13, 1, 13, 13, 13, 0]),
    (CODEX, Format::Codex, [6, 3, 3, 3, 3, 0, 0, 0]),
    ("cline-session.messages.json", Format::Cline, [33, 5, 16, 5, 16, 11, 11, 0]),
    (OPENHANDS, Format::OpenHands, [9, 1, 4, 1, 4, 4, 3, 1]),
];

const CODEX: &str = "codex-tui-oss-story.jsonl";
const OPENHANDS: &str = "openhands-llm-log-deepseek.json";

/// A file of the corpus; `None` without a corpus, which CI must have.
fn corpus(name: &str) -> Option<Vec<u8>> {
    let Some(folder) = std::env::var_os("THREADHOLD_CORPUS") else {
        assert!(std::env::var_os("CI").is_none(), "THREADHOLD_CORPUS is not set, and on CI it must be");
        println!("not run: THREADHOLD_CORPUS does not name the folder of the corpus");
        return None;
    };
    let path = PathBuf::from(folder).join("transcripts").join(name);
    Some(std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

fn stored(import: Import) -> Transcript {
    import.into_transcript(SessionId::new("s"), &QuarterOfChars)
}

fn counts(transcript: &Transcript) -> [usize; 8] {
    let bodies = || transcript.messages().iter().map(|message| &message.body);
    let count = |is: fn(&Body) -> bool| bodies().filter(|body| is(body)).count();
    let calls =
        bodies().map(|body| if let Body::Assistant { calls, .. } = body { calls.len() } else { 0 }).sum();
    let results = |answered: bool| {
        let all = transcript.rounds().iter().flat_map(|round| &round.results);
        all.filter(|result| result.is_some() == answered).count()
    };
    assert_eq!(
        results(true) + transcript.messages().iter().filter(|m| transcript.is_stray(m.ord)).count(),
        { count(|body| matches!(body, Body::Tool(_))) }
    );
    [
        bodies().count(),
        count(|body| matches!(body, Body::User(_))),
        count(|body| matches!(body, Body::Assistant { .. })),
        // System rows at the start form a turn without a request.
        transcript.turns().iter().filter(|turn| !turn.requests.is_empty()).count(),
        transcript.rounds().len(),
        calls,
        results(true),
        results(false),
    ]
}

#[test]
fn corpus_transcripts_match_an_independent_count() {
    for (name, format, expected) in FILES {
        let Some(bytes) = corpus(name) else { return };
        let read = import(&bytes, None).unwrap();
        assert_eq!(read.format, format, "{name}");
        assert_eq!(read.skipped, [], "{name}");
        assert!(!read.entries.iter().any(|entry| matches!(entry, Entry::Compaction(_))), "{name}");
        assert_eq!(counts(&stored(read)), expected, "{name}");
    }
}

#[test]
fn titles_tools_and_system_texts_are_kept() {
    let read = |name| corpus(name).map(|bytes| import(&bytes, None).unwrap());
    let Some(replay) = read("vscode-copilot.chatreplay.json") else { return };
    assert_eq!(replay.tools.len(), 69);
    assert!(replay.system.unwrap().starts_with("You are an expert AI programming assistant"));
    let Some(swe) = read("sweagent-marshmallow-fc.traj") else { return };
    assert!(swe.system.unwrap().starts_with("SETTING: You are an autonomous programmer"));
    let Some(openhands) = read(OPENHANDS) else { return };
    assert_eq!(openhands.tools.len(), 3);
    assert!(openhands.system.unwrap().ends_with("</PROCESS_MANAGEMENT>"));
    let Some(cline) = read("cline-session.messages.json") else { return };
    assert!(cline.system.unwrap().starts_with("You are Cline, an AI coding agent."));
    let Some(claude) = read("vscode-claude-session.jsonl") else { return };
    assert!(
        claude.title.unwrap().starts_with("API Error: 401"),
        "the summary record is a title and no compaction"
    );
}

#[test]
fn text_bytes_are_preserved() {
    let Some(bytes) = corpus("vscode-copilot-chat-mcp.json") else { return };
    let transcript = stored(import(&bytes, None).unwrap());
    let texts: Vec<&str> =
        transcript.messages().iter().flat_map(|m| m.body.texts()).map(|text| &**text).collect();
    assert_eq!(texts[0], "вызови метод update_entry_fields");
    assert!(texts.contains(&"{\"document_id\": \"18\", \"first\": 5, \"page\": 1}"));
}

/// The text of each message, without calls' arguments.
fn texts(import: &Import) -> Vec<String> {
    let bodies = import.entries.iter().filter_map(|entry| match entry {
        Entry::Message(message) => Some(&message.body),
        Entry::Compaction(_) => None,
    });
    let said = bodies.map(|body| match body {
        Body::Assistant { parts, .. } => {
            parts.iter().filter_map(|part| part.text()).map(|text| &**text).collect()
        }
        other => other.texts().iter().map(|text| &***text).collect(),
    });
    said.collect()
}

#[test]
fn terminal_log_gives_requests_and_answers() {
    let Some(bytes) = corpus(CODEX) else { return };
    let whole = texts(&import(&bytes, None).unwrap());
    assert_eq!([&*whole[0], &*whole[2], &*whole[4]], ["hello", "hello again", "write me a long story"]);
    assert!(whole[1].ends_with("politely.Hello! How can I help you today?"), "{}", whole[1]);
    // Without the whole answers the deltas give the same text; a log that ends in the story keeps its part.
    let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    let is_delta = |line: &&&[u8]| {
        !String::from_utf8_lossy(line).contains("\"agent_message\"")
            && !String::from_utf8_lossy(line).contains("task_complete")
    };
    let deltas: Vec<&[u8]> = lines.iter().filter(is_delta).copied().collect();
    assert_eq!(texts(&import(&deltas.join(&b'\n'), None).unwrap())[1], whole[1]);
    let cut = texts(&import(&lines[..5_000].join(&b'\n'), None).unwrap());
    assert!(cut[5].len() > 3_000 && whole[5].starts_with(&cut[5]));
}

#[test]
fn calls_written_as_text_are_restored() {
    let Some(bytes) = corpus(OPENHANDS) else { return };
    let mut log: Value = serde_json::from_slice(&bytes).unwrap();
    let native = import(&bytes, None).unwrap();
    log.as_object_mut().unwrap().remove("raw_messages");
    log["response"] = log["raw_response"].clone();
    let written = import(log.to_string().as_bytes(), None).unwrap();
    assert_eq!(written.skipped, []);
    assert_eq!(counts(&stored(written.clone())), counts(&stored(native.clone())));
    // The system text then lists the tools at its end.
    assert_eq!(texts(&written)[1..], texts(&native)[1..]);
    let asked = |import: &Import| -> Vec<(String, Value)> {
        let transcript = stored(import.clone());
        let calls = transcript.messages().iter().flat_map(|message| match &message.body {
            Body::Assistant { calls, .. } => calls.clone(),
            _ => Vec::new(),
        });
        calls.map(|call| (call.name.to_string(), serde_json::from_str(&call.arguments).unwrap())).collect()
    };
    assert_eq!(asked(&written), asked(&native));
    let codes = stored(native)
        .messages()
        .iter()
        .filter_map(|message| match &message.body {
            Body::Tool(result) => Some(result.exit_code),
            _ => None,
        })
        .collect::<Vec<_>>();
    assert_eq!(codes, [Some(0), None, Some(0)]);
}

#[test]
fn corpus_transcripts_survive_the_native_format() {
    for (name, _, _) in FILES {
        let Some(bytes) = corpus(name) else { return };
        let read = import(&bytes, None).unwrap();
        let again = import(export_jsonl(&read).as_bytes(), None).unwrap();
        assert_eq!(again.entries, read.entries, "{name}");
        assert_eq!(
            (again.title.as_ref(), again.system.as_ref(), &again.tools),
            (read.title.as_ref(), read.system.as_ref(), &read.tools)
        );
        let transcript = stored(read);
        let out = Import::of_transcript(&transcript, None, None, &[]);
        let mut entries = again.entries;
        for entry in &mut entries {
            if let Entry::Message(message) = entry {
                // Files lack the thinking's weight, which a transcript adds.
                message.body.weigh_thinking(&QuarterOfChars);
            }
        }
        assert_eq!(out.entries, entries, "{name}");
    }
}

#[test]
fn cut_file_keeps_its_beginning_or_names_the_cut() {
    for (name, format, _) in FILES {
        let Some(bytes) = corpus(name) else { return };
        for part in 1..8 {
            let cut = &bytes[..bytes.len() * part / 8];
            match import(cut, None) {
                Ok(read) => assert!(!read.entries.is_empty() && read.skipped.len() <= 1, "{name} {part}"),
                Err(ImportError::Syntax { line, .. } | ImportError::NotUtf8 { line, .. }) => {
                    assert!(line >= 1)
                }
                // The first line alone exceeds this cut.
                Err(other) => {
                    assert!(matches!(other, ImportError::NothingRead { .. }), "{name} {part}: {other}")
                }
            }
            assert_eq!(detect(cut), Some(format), "{name} {part}");
        }
    }
}

#[test]
fn error_names_fault_place_and_remedy() {
    let message = |bytes: &[u8], format| import(bytes, format).unwrap_err().to_string();
    let cases = [
        (message(b" \r\n", None), "the file is empty; give the file that the session was saved to"),
        (
            message(b"hello", None),
            "unknown format; name the right one with --format; known: claude-code, pi, vscode-chat, chatreplay, \
             swe-agent, codex, cline, gemini-cli, aider, opencode, openhands, openai, anthropic, jsonl, trajectory",
        ),
        (
            message(b"{\"requests\": [\n  {\"message\": }", None),
            "the file is not JSON at line 2, column 15: expected value; repair it there, or export it again",
        ),
        (
            message(b"{}", Some(Format::SweAgent)),
            "not a swe-agent file: `history` is missing or not a list; give another file, or name its format with \
             --format",
        ),
        (
            message(b"\xff\xfeh\0i\0", None),
            "the file is not UTF-8 at line 1 (byte 0); save it as UTF-8, or export it again",
        ),
        (
            message(b"{\"requests\": [\n\"\xff\"]}", None),
            "the file is not UTF-8 at line 2 (byte 16); save it as UTF-8, or export it again",
        ),
        (
            message(b"{\"type\":\"user\",\"uuid\":\"u\"}", None),
            "no message could be read from this claude-code file (1 set aside); first: \
             line 1 has no `message`; name the right format with --format, or export the session again",
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
    assert_eq!("cursor".parse::<Format>(), Err(ImportError::UnknownFormat { known: names() }));
    assert!(Format::ALL.into_iter().all(|format| format.name().parse() == Ok(format)));
}

fn names() -> String {
    Format::ALL.map(Format::name).join(", ")
}

/// Replaces one value of a tree, counted in pre-order.
fn replace_nth(value: &mut Value, nth: &mut usize, junk: &Value) {
    if *nth == 0 {
        *value = junk.clone();
    }
    *nth = nth.wrapping_sub(1);
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| replace_nth(item, nth, junk)),
        Value::Object(fields) => fields.values_mut().for_each(|field| replace_nth(field, nth, junk)),
        _ => {}
    }
}

fn size(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(fields) => fields.values().map(size).sum(),
        _ => 0,
    }
}

fn as_source(lines: &[Value]) -> Vec<u8> {
    lines.iter().map(|line| format!("{line}\r\n")).collect::<String>().into_bytes()
}

/// Reads the bytes as every format; a successful import must also convert to a transcript.
fn no_panic(bytes: &[u8]) {
    for format in std::iter::once(None).chain(Format::ALL.map(Some)) {
        match import(bytes, format) {
            Ok(read) => {
                let again = import(export_jsonl(&read).as_bytes(), Some(Format::Jsonl)).unwrap();
                assert_eq!(again.entries, read.entries);
                let transcript = stored(read);
                assert!(transcript.compactions().iter().all(|record| record.status == Status::Recorded));
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

#[test]
fn samples_are_read_completely() {
    for (format, lines) in samples() {
        let read = import(&as_source(&lines), None).unwrap();
        assert_eq!((read.format, read.skipped), (format, vec![]));
    }
}

/// Machine-generated files: the work for each part must not grow with the file.
#[test]
fn file_of_many_small_parts_is_read_quickly() {
    let event = |msg: &str| {
        format!("{{\"dir\":\"to_tui\",\"kind\":\"codex_event\",\"payload\":{{\"msg\":{msg}}}}}\n")
    };
    let section = event("{\"type\":\"agent_reasoning_section_break\"}");
    let delta = event("{\"type\":\"agent_reasoning_delta\",\"delta\":\"x\"}");
    let other = event("{\"type\":\"agent_reasoning\",\"text\":\"y\"}");
    let stray = event("{\"type\":\"exec_command_end\",\"call_id\":\"a\",\"stdout\":\"\"}");
    no_panic(format!("{section}{delta}{other}{stray}").repeat(20_000).as_bytes());
    for words in [
        "</parameter>",
        "<parameter=a>",
        "<function=f>",
        "<function=",
        "<function=f>\n<parameter=a></parameter>x",
    ] {
        let log =
            json!({"messages": [{"role": "assistant", "content": words.repeat(100_000)}], "latency_sec": 1});
        no_panic(log.to_string().as_bytes());
    }
}

#[test]
fn deep_nesting_is_an_error_and_no_overflow() {
    for open in [
        "[",
        "{\"requests\":",
        "{\"history\":[",
        "{\"type\":\"user\",\"uuid\":\"u\",\"message\":{\"content\":[",
        "{\"messages\":[{\"role\":\"user\",\"content\":[",
        "{\"dir\":\"to_tui\",\"kind\":\"codex_event\",\"payload\":{\"msg\":",
    ] {
        no_panic(open.repeat(200_000).as_bytes());
        no_panic(format!("{open}{}", "[".repeat(100_000)).as_bytes());
        no_panic(format!("{open}{}1{}", "[".repeat(120), "]".repeat(120)).as_bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        no_panic(&bytes);
    }

    #[test]
    fn wrong_types_never_panic(
        sample in any::<Index>(), line in any::<Index>(), nodes in prop::collection::vec(any::<Index>(), 1..3), junk in 0..9usize,
    ) {
        let (_, mut lines) = sample.get(&samples()).clone();
        let line = line.index(lines.len());
        let junk = [
            json!(null), json!(true), json!(-1), json!(1e300), json!(u64::MAX), json!(""), json!("c"), json!([[], {}, "x", 5]),
            json!({"type": "text", "content": [7]}),
        ][junk].clone();
        for node in nodes {
            let mut nth = node.index(size(&lines[line]));
            replace_nth(&mut lines[line], &mut nth, &junk);
        }
        no_panic(&as_source(&lines));
    }

    #[test]
    fn truncated_or_altered_sources_never_panic(
        sample in any::<Index>(), cut in any::<Index>(), changes in prop::collection::vec((any::<Index>(), any::<u8>()), 0..3),
    ) {
        let mut bytes = as_source(&sample.get(&samples()).1);
        bytes.truncate(cut.index(bytes.len()) + 1);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        no_panic(&bytes);
    }
}

/// Another program finds the time of the last change under the name that it gave it.
#[test]
fn time_of_the_last_change_moves_under_each_name() {
    let theirs = r#"{"id": "s", "created_at": "2025-01-01", "updated_at": "2025-01-02", "messages": []}"#;
    let now = crate::trajectory::read(theirs.as_bytes()).unwrap();
    let content = crate::trajectory::Content {
        id: "s".to_owned(),
        title: None,
        created_at: "2025-01-01".to_owned(),
        updated_at: "2026-03-04".to_owned(),
        messages: Vec::new(),
        summaries: Vec::new(),
    };
    let written = crate::trajectory::write(&content, Some(&now));
    let written: serde_json::Value = serde_json::from_str(&written).unwrap();
    let times =
        ["createdAt", "created_at", "updatedAt", "updated_at"].map(|name| written[name].as_str().unwrap());
    assert_eq!(times, ["2025-01-01", "2025-01-01", "2026-03-04", "2026-03-04"]);
}
