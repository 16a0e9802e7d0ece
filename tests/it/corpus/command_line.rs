//! Output and exit codes of the command line, on files of a few lines.

use super::{Folder, Ran, dumps, threadhold};
use serde_json::{Value, json};

/// A session of one request, one tool call and one answer, in the format of pi.
const SESSION: &str = r#"{"type":"session","id":"s","cwd":"/w"}
{"type":"message","id":"1","message":{"role":"user","content":"say what is in a.txt"}}
{"type":"message","id":"2","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"read","arguments":{"path":"a.txt"}}]}}
{"type":"message","id":"3","message":{"role":"toolResult","toolCallId":"c","content":[{"type":"text","text":"hello"}]}}
{"type":"message","id":"4","message":{"role":"assistant","content":[{"type":"text","text":"It says hello."}]}}
"#;

/// Runs a command that must fail with code 2 and without standard output; returns standard error.
fn complaint(arguments: &[&str]) -> String {
    let ran = threadhold(arguments);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{arguments:?}: {}", ran.err);
    assert!(!ran.err.contains('\u{1b}'), "{:?}", ran.err);
    ran.err
}

/// Lines of standard error, without the progress lines that appear after one second.
fn complaints(err: &str) -> Vec<&str> {
    let is_progress = |line: &&str| line.ends_with(" prompts") && !line.contains('\u{1b}');
    err.lines().filter(|line| !is_progress(line)).collect()
}

#[test]
fn a_misspelled_command_gets_a_suggestion() {
    let said = complaint(&["replya"]);
    assert!(said.contains("unrecognized subcommand 'replya'") && said.contains("'replay'"), "{said}");
    let said = complaint(&["replay", "f", "--jsn"]);
    assert!(said.contains("'--jsn'") && said.contains("'--json'"), "{said}");
}

#[test]
fn bad_usage_names_the_bad_and_the_known_values() {
    let folder = Folder::new("usage");
    let file = folder.file("s.jsonl", SESSION);
    let complaint_of = |more: &[&str]| complaint(&[&["replay", &file], more].concat());
    let said = complaint_of(&["--format", "cursor"]);
    assert!(said.contains("'cursor'") && said.contains("claude-code"), "{said}");
    let said = complaint_of(&["--policy", "best"]);
    assert!(said.contains("\"best\"") && said.contains("lastTurns (coqui"), "{said}");
    let policy = folder.file("p.toml", "base = \"rounds\"\nrawTial = 0.5\n");
    let said = complaint_of(&["--policy", &policy]);
    assert!(said.contains("p.toml: unknown key \"rawTial\"; known: name, "), "{said}");
    let missing = folder.path("q.toml");
    assert!(complaint_of(&["--policy", &missing]).contains("cannot read"));
    assert_eq!(
        complaint_of(&["--summarizer", "oracle"]),
        "threadhold: --summarizer oracle: expected scripted, scripted:FILE or none\n"
    );
    assert_eq!(
        complaint_of(&["--window", "10"]),
        "threadhold: a window of 10 tokens leaves no room for a prompt; at least 1000 are needed\n"
    );
    assert!(complaint_of(&["--window", "-5"]).contains("'-5'"));
    assert!(complaint_of(&["--window", "wide"]).contains("'wide'"));
    assert!(complaint(&["replay"]).contains("<FILE>..."));
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let folder = Folder::new("files");
    let missing = folder.path("nothing.jsonl");
    let said = complaint(&["replay", &missing]);
    assert!(said.starts_with(&format!("threadhold: cannot read {missing}: ")), "{said}");
    for (name, text, reason) in [
        ("empty.jsonl", "", "the file is empty"),
        ("prose.txt", "Dear reader,\n", "unknown format"),
        ("cut.json", "{\"requests\": [\n  {\"message\": }", "the file is not JSON at line 2, column 15"),
        ("hollow.jsonl", "{\"type\":\"user\",\"uuid\":\"u\"}\n", "no message could be read"),
    ] {
        let file = folder.file(name, text);
        let said = complaint(&["replay", &file, "--json"]);
        assert!(said.starts_with(&format!("threadhold: {file}: {reason}")), "{said}");
    }
    let script = folder.path("script.json");
    let file = folder.file("s.jsonl", SESSION);
    let said = complaint(&["replay", &file, "--summarizer", &format!("scripted:{script}")]);
    assert!(said.starts_with(&format!("threadhold: --summarizer scripted:{script}: ")), "{said}");
    let said = complaint(&["replay", &file, "--dump-prompts", &format!("{file}/inside")]);
    assert!(said.starts_with(&format!("threadhold: cannot write {file}/inside: ")), "{said}");
}

#[test]
fn a_line_holds_all_figures_of_its_file() {
    let folder = Folder::new("line");
    let file = folder.file("s.jsonl", SESSION);
    let ran = threadhold(["replay", &file, "--json"]);
    assert_eq!((ran.code, complaints(&ran.err)), (Some(0), vec![]));
    let [line] = &ran.lines()[..] else { panic!("not one line") };
    let expected = json!({
        "file": file, "format": "pi", "messages": 4, "turns": 1, "rounds": 2, "toolCalls": 1, "toolResults": 1,
        "orphanCalls": 0, "messageTokens": 42, "renders": 2, "window": 128_000, "limit": 128_000 - 4_096 - 3_840,
        "estimator": "o200k_base", "overBudget": 0, "cannotFit": [], "compactions": [],
        "coverage": {
            "messages": 3, "raw": 3, "shortened": 0, "covered": 0, "dropped": 0, "hidden": 0, "unaccounted": 0,
        },
        "orphans": 0, "userMessages": {"total": 1, "verbatim": 1, "reported": 0},
        "prefix": {"share": 1.0, "shareBetweenBreaks": 1.0, "breaks": 0},
        "work": line["work"], "skippedRecords": 0,
    });
    assert_eq!(line, &expected);
    assert!(
        line["work"]["tokenizedBytes"].as_u64() > Some(0) && line["work"]["textBytes"].as_u64() > Some(0)
    );
}

/// Lines of a session in the format of pi.
fn session(messages: Vec<Value>) -> String {
    let head = json!({ "type": "session", "id": "s", "cwd": "/w" });
    let message = |(n, message)| json!({ "type": "message", "id": format!("m{n}"), "message": message });
    let lines = std::iter::once(head).chain(messages.into_iter().enumerate().map(message));
    lines.map(|line| line.to_string() + "\n").collect()
}

/// The estimates are compared with the reports of the source's provider, as a whole and turn by turn.
#[test]
fn a_line_reports_estimate_errors_as_a_whole_and_per_turn() {
    let folder = Folder::new("estimates");
    // 105 tokens, the framing of a message included.
    let asks = || json!({ "role": "user", "content": "and on ".repeat(50) });
    // Ten tokens.
    let says = |reported: Option<u32>| {
        let usage =
            reported.map(|input| json!({ "input": input, "output": 5, "cacheRead": 0, "cacheWrite": 0 }));
        let text = json!([{ "type": "text", "text": "one two three four five six" }]);
        json!({ "role": "assistant", "model": "m", "usage": usage, "content": text })
    };
    let messages = vec![
        asks(),
        says(Some(1000)),
        // Twice the estimate.
        asks(),
        says(Some(1230)),
        // Equal to the estimate, then twice the estimate again.
        asks(),
        says(Some(1345)),
        says(Some(1365)),
        // A turn without a report.
        asks(),
        says(None),
    ];
    let ran = threadhold(["replay", &folder.file("s.jsonl", &session(messages)), "--json"]);
    let line = &ran.lines()[0];
    let none = json!({ "count": 0, "median": 0.0, "worst": 0.0 });
    let expected = json!({
        "reports": 4, "implausible": 0, "factor": 1.0, "beside": line["estimate"]["beside"],
        "anchored": none, "unanchored": none,
        "beforeFactor": { "count": 3, "median": 0.007, "worst": 0.093 },
        "newTokens": { "count": 3, "median": 0.5, "worst": 0.5 },
        "turns": [{ "turn": 2, "count": 1, "median": 0.5 }, { "turn": 3, "count": 2, "median": 0.5 }],
    });
    assert_eq!((&line["estimate"], &line["messageTokens"]), (&expected, &json!(4 * 105 + 5 * 10)));
}

/// The target of a compaction is the midpoint between the tokens that must stay and the limit, less a quarter of that
/// space where the newest round is large.
#[test]
fn a_line_reports_each_compaction_with_its_target() {
    let folder = Folder::new("compactions");
    let mut messages = vec![json!({ "role": "user", "content": "Read all." })];
    for n in 0..4 {
        let call = json!({ "type": "toolCall", "id": n.to_string(), "name": "read", "arguments": { "path": "a.txt" } });
        messages.push(json!({ "role": "assistant", "content": [call] }));
        let text = format!("part {n} {}", "of it ".repeat(500));
        let content = json!([{ "type": "text", "text": text }]);
        messages.push(json!({ "role": "toolResult", "toolCallId": n.to_string(), "content": content }));
    }
    messages.push(json!({ "role": "assistant", "content": [{ "type": "text", "text": "Done." }] }));
    let file = folder.file("long.jsonl", &session(messages));
    let dump = folder.path("prompts");
    let policy = folder.file("p.toml", "limitHistory = \"shortenResults\"\n");
    let ran = threadhold([
        "replay",
        &file,
        "--window",
        "4000",
        "--json",
        "--policy",
        &policy,
        "--dump-prompts",
        &dump,
    ]);
    let line = &ran.lines()[0];
    let limit = line["limit"].as_u64().unwrap();
    let tokens = |render: usize| -> u64 {
        let prompt: Value = serde_json::from_slice(&std::fs::read(&dumps(&dump)[&render]).unwrap()).unwrap();
        prompt["tokens"].as_u64().unwrap()
    };
    // The first prompt holds only the fixed part; the second one adds a round.
    let (fixed, round) = (tokens(0), tokens(1) - tokens(0));
    let must_stay = fixed + round;
    let target = must_stay + (limit - must_stay) / 2 * 3 / 4;
    let expected = json!([{
        "id": "replay/c0", "render": 3, "trigger": "budgetExceeded", "mode": "limitHistory",
        "tokensBefore": fixed + 3 * round, "tokensAfter": tokens(3), "target": target,
        "coversFromOrd": null, "coversToOrd": null,
    }]);
    assert_eq!(line["compactions"], expected);
    assert!(tokens(3) <= target && fixed + 3 * round > limit);
}

#[test]
fn duration_is_reported_only_with_timings() {
    let folder = Folder::new("timings");
    let file = folder.file("s.jsonl", SESSION);
    let keys = |more: &[&str]| -> Vec<String> {
        let ran = threadhold([&["replay", &file, "--json"], more].concat());
        ran.lines()[0].as_object().unwrap().keys().cloned().collect()
    };
    let plain = keys(&[]);
    assert!(!plain.iter().any(|key| key == "durationMs"), "{plain:?}");
    assert_eq!(keys(&["--timings"]), [plain, vec!["durationMs".to_owned()]].concat());
}

#[test]
fn several_files_give_one_line_and_one_folder_each() {
    let folder = Folder::new("several");
    let files = [folder.file("one.jsonl", SESSION), folder.file("two.jsonl", SESSION)];
    let dump = folder.path("dump");
    let ran = threadhold(["replay", &files[0], &files[1], "--json", "--dump-prompts", &dump]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let named: Vec<Value> = ran.lines().iter().map(|line| line["file"].clone()).collect();
    assert_eq!(named, files.each_ref().map(|file| json!(file)));
    for index in ["0", "1"] {
        let renders: Vec<usize> = dumps(&format!("{dump}/{index}")).into_keys().collect();
        assert_eq!(renders, [0, 1]);
    }
    assert_eq!(std::fs::read_dir(&dump).unwrap().count(), 2);

    let missing = folder.path("missing.jsonl");
    let ran = threadhold(["replay", &files[0], &missing, "--json"]);
    assert_eq!((ran.code, ran.lines().len()), (Some(2), 1), "the files before the missing one are reported");
    assert!(ran.err.contains(&missing), "{}", ran.err);
}

#[test]
fn a_dump_holds_the_messages_of_the_model_request() {
    let folder = Folder::new("dump");
    let file = folder.file("s.jsonl", SESSION);
    let dump = folder.path("prompts");
    let ran = threadhold(["replay", &file, "--json", "--dump-prompts", &dump]);
    let read = |path| -> Value { serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap() };
    let prompts: Vec<Value> = dumps(&dump).into_values().map(read).collect();
    let [_, prompt] = &prompts[..] else { panic!("not two prompts") };
    let limit = &ran.lines()[0]["limit"];
    let call = json!({"id": "c", "name": "read", "arguments": {"path": "a.txt"}});
    let expected = json!({
        "messages": [
            {"role": "user", "content": "say what is in a.txt", "sources": [{"ord": 0, "as": "raw"}]},
            {"role": "assistant", "content": "", "toolCalls": [call], "sources": [{"ord": 1, "as": "raw"}]},
            {"role": "tool", "content": "hello", "toolCallId": "c", "sources": [{"ord": 2, "as": "raw"}]},
        ],
        "tools": [], "tokens": prompt["tokens"], "limit": limit,
    });
    assert_eq!(prompt, &expected);
}

#[test]
fn an_orphan_call_gets_a_stand_in_and_is_counted() {
    let folder = Folder::new("orphan");
    let kept: Vec<&str> = SESSION.lines().filter(|line| !line.contains("toolResult")).collect();
    let file = folder.file("s.jsonl", &kept.join("\n"));
    let dump = folder.path("prompts");
    let ran = threadhold(["replay", &file, "--json", "--dump-prompts", &dump]);
    let line = &ran.lines()[0];
    assert_eq!((ran.code, &line["orphanCalls"], &line["orphans"]), (Some(0), &json!(1), &json!(0)));
    let prompt: Value = serde_json::from_slice(&std::fs::read(&dumps(&dump)[&1]).unwrap()).unwrap();
    let expected = json!({
        "role": "tool", "content": "[no result was recorded: the call was interrupted]", "toolCallId": "c",
    });
    assert_eq!(prompt["messages"][2], expected);
}

#[test]
fn an_oversized_prompt_exits_with_code_1_and_sizes() {
    let folder = Folder::new("unfit");
    let long = SESSION.replace("say what is in a.txt", &"word ".repeat(5_000));
    let file = folder.file("long.jsonl", &long);
    let ran = threadhold(["replay", &file, "--window", "2000", "--json"]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    let unfit = ran.lines()[0]["cannotFit"].clone();
    assert_eq!(unfit.as_array().unwrap().len(), 2);
    let current = &unfit[0]["sections"][3];
    assert_eq!(current["name"], "currentMessage");
    assert!(current["tokens"].as_u64() > unfit[0]["limit"].as_u64(), "{unfit}");

    let short = folder.file("short.jsonl", SESSION);
    let ran = threadhold(["replay", &file, &short, "--window", "2000", "--json"]);
    assert_eq!((ran.code, ran.lines().len()), (Some(1), 2), "the other file is replayed too");
}

#[test]
fn a_table_without_a_terminal_has_no_colours() {
    let folder = Folder::new("table");
    let file = folder.file("s.jsonl", SESSION);
    let Ran { code, out, err } = threadhold(["replay", &file]);
    assert_eq!((code, complaints(&err)), (Some(0), vec![]));
    assert!(out.contains(&file) && !out.contains('\u{1b}'), "{out:?}");
}
