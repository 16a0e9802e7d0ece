//! Reading of single calls.

use super::files::FileState;
use super::lines::{LedgerTokens, ListName};
use super::*;
use crate::id::{Ordinal, SessionId};
use crate::message::{Body, Effect, NewMessage, ToolCall, ToolResult};
use crate::tokens::QuarterOfChars;

fn run(rounds: &[(&str, &str, Option<ToolResult>)]) -> Ledger {
    let mut transcript = Transcript::new(SessionId::new("s"));
    transcript.append(NewMessage::user("go"), &QuarterOfChars);
    for (n, (tool, arguments, result)) in rounds.iter().enumerate() {
        let id = format!("c{n}");
        let call = ToolCall::new(&id, tool, arguments);
        transcript.append(NewMessage::new(Body::assistant("", vec![call])), &QuarterOfChars);
        if let Some(result) = result {
            let result = ToolResult { call: id, ..result.clone() };
            transcript.append(NewMessage::new(Body::Tool(result)), &QuarterOfChars);
        }
    }
    let kinds = Kinds { named: &[], declared: &[] };
    ledger(&transcript, Span { from: Ordinal(0), to: Ordinal(u32::MAX) }, kinds)
}

fn said(text: &str) -> Option<ToolResult> {
    match Body::result("", text) {
        Body::Tool(result) => Some(result),
        _ => None,
    }
}

fn file(path: &str, times: u32, sha256: Option<&str>, last: Ordinal) -> FileLine {
    let sha256 = sha256.map(str::to_owned);
    FileLine { state: FileState::Changed, changed: times, sha256, ..FileLine::new(path, last) }
}

#[test]
fn files_commands_tests_and_todos_are_read_from_the_rounds() {
    let changed = ToolResult {
        effects: vec![Effect { path: "a.rs".into(), sha256: "ff".into() }],
        ..ToolResult::default()
    };
    let ledger = run(&[
        ("read", r#"{"path":"a.rs"}"#, said("text")),
        ("read", r#"{"path":"b.rs"}"#, said("text")),
        ("edit", r#"{"path":"a.rs"}"#, Some(changed)),
        ("bash", r#"{"command":"cargo test"}"#, said("FAILED\n\nCommand exited with code 101")),
        ("bash", r#"{"command":"ls"}"#, None),
        ("bash", r#"{"command":"ls -l"}"#, Some(ToolResult { is_error: true, ..ToolResult::default() })),
        (
            "TodoWrite",
            r#"{"todos":[{"content":"one","status":"completed"},{"content":"two","status":"pending"}]}"#,
            said("ok"),
        ),
    ]);
    assert_eq!(ledger.files, [FileLine::new("b.rs", Ordinal(3)), file("a.rs", 1, Some("ff"), Ordinal(5)),]);
    let outcomes: Vec<Outcome> = ledger.commands.iter().map(|line| line.outcome).collect();
    assert_eq!(outcomes, [Outcome::Exit(101), Outcome::Unknown, Outcome::Error]);
    let run = ledger.last_test.expect("a run");
    let said = TestReport { failing: Vec::new(), last_lines: vec!["FAILED".to_owned()] };
    assert_eq!((run.outcome, run.report, run.last), (Outcome::Exit(101), said, Ordinal(7)));
    assert_eq!(ledger.todos, [("two".to_owned(), "pending".to_owned())]);
}

#[test]
fn a_change_makes_an_older_hash_unknown() {
    let reported = ToolResult {
        effects: vec![Effect { path: "a".into(), sha256: "ff".into() }],
        ..ToolResult::default()
    };
    let ledger =
        run(&[("write", r#"{"path":"a"}"#, Some(reported)), ("write", r#"{"path":"a"}"#, said("done"))]);
    let file = file("a", 2, None, Ordinal(3));
    assert_eq!(ledger.files, [file]);
}

/// Runs commands, each with the exit code of its result, in a workspace folder; the lines of files and what may have
/// changed them.
fn after(folder: Option<&str>, commands: &[(&str, i32)]) -> Vec<String> {
    let mut transcript = Transcript::new(SessionId::new("s"));
    folder.into_iter().for_each(|folder| transcript.set_folder(folder));
    transcript.append(NewMessage::user("go"), &QuarterOfChars);
    for (n, (command, code)) in commands.iter().enumerate() {
        let id = format!("c{n}");
        // A tool with its arguments, or a shell's command.
        let (tool, arguments) =
            command.split_once(' ').filter(|(_, rest)| rest.starts_with('{')).map_or_else(
                || ("bash", serde_json::json!({ "command": command }).to_string()),
                |(tool, arguments)| (tool, arguments.to_owned()),
            );
        let call = ToolCall::new(&id, tool, &arguments);
        transcript.append(NewMessage::new(Body::assistant("", vec![call])), &QuarterOfChars);
        let result = ToolResult { call: id, exit_code: Some(*code), ..ToolResult::default() };
        transcript.append(NewMessage::new(Body::Tool(result)), &QuarterOfChars);
    }
    let kinds = Kinds { named: &[], declared: &[] };
    let ledger = ledger(&transcript, Span { from: Ordinal(0), to: Ordinal(u32::MAX) }, kinds);
    let lists = ledger.shown(LedgerTokens { all: 1_000_000, changed: 0 }, |_| 1).into_iter();
    let of_files =
        |name| matches!(name, ListName::Changed | ListName::Deleted | ListName::Read | ListName::Unclear);
    let lines = lists.filter(|list| of_files(list.name)).flat_map(|list| {
        let start = match list.name {
            ListName::Read => "read ",
            ListName::Unclear => "unclear ",
            ListName::Deleted => "deleted ",
            _ => "",
        };
        list.lines.into_iter().map(move |line| line.text.replacen("- ", start, 1))
    });
    lines.collect()
}

#[test]
fn commands_tell_which_files_they_change() {
    let ok = |command| (command, 0);
    for (commands, expected) in [
        (vec![ok("sed -i 's/a/b/' src/a.rs"), ok("sed -i 's/b/c/' src/a.rs")], vec!["src/a.rs (2 times)"]),
        (vec![ok("edit {\"path\":\"src/a.rs\"}"), ok("rm src/a.rs")], vec!["deleted src/a.rs"]),
        (
            vec![
                ok("create_file {\"path\":\"src/a.rs\"}"),
                ok("git mv src/a.rs src/b.rs"),
                ok("cat src/c.rs"),
            ],
            vec!["src/b.rs (2 times): renamed from src/a.rs", "read src/c.rs"],
        ),
        (vec![ok("mv a.rs b.rs"), ok("mv b.rs c.rs")], vec!["c.rs (2 times): renamed from a.rs"]),
        (vec![ok("mv a.rs b.rs"), ok("mv b.rs a.rs")], vec!["a.rs (2 times)"]),
        (vec![ok("rm a.rs"), ok("echo x > a.rs")], vec!["a.rs (2 times)"]),
        (vec![ok("edit {\"path\":\"lib/a.rs\"}"), ok("rm -rf lib")], vec!["deleted lib"]),
        (
            vec![ok("edit {\"path\":\"lib/a.rs\"}"), ok("mv lib src")],
            vec!["src: renamed from lib", "src/a.rs"],
        ),
        (vec![ok("mkdir lib && mv a.rs lib")], vec!["lib/a.rs: renamed from a.rs"]),
        (vec![ok("mv a.rs lib")], vec!["lib/a.rs: perhaps renamed from a.rs"]),
        (
            vec![ok("touch x/a.log x/b.txt"), ok("rm x/*.log")],
            vec!["x/b.txt", "deleted x/a.log", "deleted x/*.log"],
        ),
        (vec![ok("cat a.rs"), ("sed -i 's/a/b/' a.rs", 1)], vec!["a.rs: perhaps changed"]),
        (vec![ok("edit {\"path\":\"a.rs\"}"), ("rm a.rs", 1)], vec!["a.rs: perhaps deleted"]),
        (vec![("rm a.rs", 1), ok("rm a.rs")], vec!["deleted a.rs"]),
        (vec![ok("[ -f a.rs ] && mv a.rs b.rs")], vec!["a.rs: perhaps renamed to b.rs"]),
        (vec![ok("edit {\"path\":\"d/a.rs\"}"), ok("rm d/a.rs"), ok("ls d/a.rs")], vec!["deleted d/a.rs"]),
        (vec![ok("mv d/a.rs d/b.rs"), ok("git log -- d/a.rs")], vec!["d/b.rs: renamed from d/a.rs"]),
        (vec![ok("delete_file {\"path\":\"a.rs\"}")], vec!["deleted a.rs"]),
        (
            vec![ok("move_file {\"source\":\"a.rs\",\"destination\":\"b.rs\"}")],
            vec!["b.rs: renamed from a.rs"],
        ),
        (
            vec![ok(
                "apply_patch {\"input\":\"*** Begin Patch\\n*** Add File: a\\n*** Delete File: b\\n*** End Patch\"}",
            )],
            vec!["a: created", "deleted b"],
        ),
        (
            vec![ok("bash {\"command\":[\"bash\",\"-lc\",\"rm 'a b'\"],\"workdir\":\"web\"}")],
            vec!["deleted web/a b"],
        ),
        (
            vec![ok("git stash pop"), ok("python3 gen.py"), ok("git stash pop"), ok("cargo test")],
            vec!["unclear `git stash pop`, `python3 gen.py`"],
        ),
    ] {
        assert_eq!(after(None, &commands), expected, "{commands:?}");
    }
}

#[test]
fn spellings_of_one_path_are_one_line() {
    let ok = |command| (command, 0);
    for (folder, commands, expected) in [
        (
            Some("/w"),
            vec![
                ok("edit {\"path\":\"/w/src/a.rs\"}"),
                ok("edit {\"path\":\"src/a.rs\"}"),
                ok("cd src && touch a.rs"),
            ],
            vec!["src/a.rs (3 times)"],
        ),
        (
            Some("file:///w/"),
            vec![ok("rm /w/a.rs ./b.rs /x/c.rs")],
            vec!["deleted /x/c.rs", "deleted b.rs", "deleted a.rs"],
        ),
        (
            None,
            vec![
                ok("cd /w && cargo test"),
                ok("edit {\"path\":\"src/a.rs\"}"),
                ok("edit {\"path\":\"/w/src/a.rs\"}"),
            ],
            vec!["src/a.rs (2 times)"],
        ),
        (
            None,
            vec![ok("cd /data && ls"), ok("edit {\"path\":\"a.rs\"}"), ok("edit {\"path\":\"/data/a.rs\"}")],
            vec!["/data/a.rs", "a.rs"],
        ),
    ] {
        assert_eq!(after(folder, &commands), expected, "{commands:?}");
    }
}

#[test]
fn newest_outcome_of_a_command_replaces_the_older_one() {
    let ledger = run(&[
        ("bash", r#"{"command":"make x"}"#, said("exit code 2")),
        ("bash", r#"{"command":"ls"}"#, said("a")),
        ("bash", r#"{"command":"make x"}"#, said("exit code 0")),
    ]);
    let line =
        |command: &str, outcome, times, last| CommandLine { command: command.into(), outcome, times, last };
    assert_eq!(
        ledger.commands,
        [line("ls", Outcome::Ok, 1, Ordinal(3)), line("make x", Outcome::Exit(0), 2, Ordinal(5))]
    );
}

#[test]
fn refused_command_changes_nothing() {
    let verdict = Some(Verdict::new(false, None));
    let refused = ToolResult { verdict, is_error: true, ..ToolResult::default() };
    let ledger = run(&[("bash", r#"{"command":"rm src/a.rs && git stash"}"#, Some(refused))]);
    assert_eq!(ledger.files, [FileLine::new("src/a.rs", Ordinal(1))]);
    assert_eq!(ledger.unclear, []);
}

#[test]
fn test_run_that_was_refused_or_not_begun_replaces_none() {
    let test = r#"{"command":"cargo test"}"#;
    let failed = ("bash", test, said("test a::b ... FAILED\n\nCommand exited with code 101"));
    let refused =
        ToolResult { verdict: Some(Verdict::new(false, None)), is_error: true, ..ToolResult::default() };
    let not_begun = said("<tool_use_error>the shell is busy</tool_use_error>");
    let expected = run(std::slice::from_ref(&failed)).last_test;
    assert!(expected.is_some());
    for after in [Some(refused), not_begun] {
        assert_eq!(run(&[failed.clone(), ("bash", test, after)]).last_test, expected);
    }
}

/// A pipe ends with 0 whatever its first program did.
#[test]
fn failure_behind_a_pipe_is_kept_with_its_message_until_it_is_mended() {
    let failed = "test a::b ... FAILED\n---- a::b stdout ----\nthread 'a::b' panicked at src/a.rs:3:5:\n\
                  assertion failed\ntest result: FAILED. 1 passed; 1 failed";
    let first = ("bash", r#"{"command":"mise run test 2>&1 | tail -40"}"#, said(failed));
    let build = r#"{"command":"cargo build"}"#;
    let broken = ("bash", build, said("error[E0308]: mismatched types\nCommand exited with code 101"));
    let search = ("bash", r#"{"command":"grep -rn nothing src"}"#, said("exit code 1"));
    let found = run(&[first.clone(), search.clone()]);
    let failure = found.last_failure.expect("a failure");
    assert_eq!((failure.outcome, &*failure.message[0]), (Outcome::Reported, "---- a::b stdout ----"));
    assert_eq!(found.last_test.expect("a run").report.failing, ["a::b"]);
    assert_eq!(found.commands[0].outcome, Outcome::Reported);
    let failure = run(&[first.clone(), broken.clone(), search]).last_failure.expect("a failure");
    assert_eq!((&*failure.command, failure.outcome), ("cargo build", Outcome::Exit(101)));
    assert_eq!(run(&[first.clone(), broken, ("bash", build, said("Finished"))]).last_failure, None);
    let well = ("bash", r#"{"command":"cargo test a::b"}"#, said("test result: ok. 1 passed; 0 failed"));
    assert_eq!(run(&[first, well]).last_failure, None, "a later run of tests ended well");
}

#[test]
fn failure_is_mended_once_the_same_check_passes_behind_other_filters() {
    let broken = (
        "bash",
        r#"{"command":"cargo clippy 2>&1 | tail -20"}"#,
        said("error[E0425]: cannot find\nerror: could not compile `a`"),
    );
    let other = ("bash", r#"{"command":"cargo clippy -p other"}"#, said("Finished"));
    let failure = run(&[broken.clone(), other]).last_failure.expect("another check");
    assert_eq!(failure.command, "cargo clippy 2>&1 | tail -20");
    let same = ("bash", r#"{"command":"cd app && cargo clippy 2>&1 | grep -c warning"}"#, said("0"));
    assert_eq!(run(&[broken, same]).last_failure, None);
}

#[test]
fn relative_and_absolute_paths_are_one_line_without_a_folder() {
    let ok = |command| (command, 0);
    for (commands, expected) in [
        (
            vec![ok("sed -i 's/a/b/' src/a.rs"), ok("edit {\"path\":\"/w/app/src/a.rs\"}")],
            vec!["src/a.rs (2 times)"],
        ),
        (
            vec![
                ok("edit {\"path\":\"/w/app/src/a.rs\"}"),
                ok("sed -i 's/a/b/' src/a.rs"),
                ok("rm src/a.rs"),
            ],
            vec!["deleted /w/app/src/a.rs"],
        ),
        // Of two files that end so, none is meant for certain; a name alone is too common.
        (
            vec![
                ok("edit {\"path\":\"/w/a/src/lib.rs\"}"),
                ok("edit {\"path\":\"/w/b/src/lib.rs\"}"),
                ok("sed -i 's/a/b/' src/lib.rs"),
            ],
            vec!["src/lib.rs", "/w/b/src/lib.rs", "/w/a/src/lib.rs"],
        ),
        (
            vec![ok("edit {\"path\":\"/w/a/main.rs\"}"), ok("sed -i 's/a/b/' main.rs")],
            vec!["main.rs", "/w/a/main.rs"],
        ),
    ] {
        assert_eq!(after(None, &commands), expected);
    }
}
