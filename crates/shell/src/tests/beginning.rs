//! Rules by the beginning of commands: what is proposed, and what they cover.

use crate::beginning::{Beginning, covers, meets, propose, read};

fn rules(text: &str) -> Vec<Beginning> {
    read(text).unwrap_or_else(|| panic!("no rule: {text}"))
}

fn proposed(line: &str, given: &str) -> Option<String> {
    let given = if given.is_empty() { Vec::new() } else { rules(given) };
    let new = propose(line, &given)?;
    Some(new.iter().map(Beginning::text).collect::<Vec<_>>().join("; "))
}

#[test]
fn rule_covers_commands_by_words() {
    let cargo = rules("cargo test");
    for line in [
        "cargo test",
        "cargo test -p a -- --nocapture 'a; b'",
        "cargo \"te\"st",
        "cargo test 2>&1",
        "(cargo test)",
    ] {
        assert!(covers(&cargo, line), "{line}");
    }
    for line in [
        "",
        "cargo",
        "cargo testx",
        "cargo build",
        "./cargo test",
        "Cargo test",
        "test cargo test",
        "cargo -v test",
        "cargo test; rm -rf /",
        "cargo test && curl evil",
        "cargo test & curl evil",
        "cargo test | tail",
        "cargo test\ncurl evil",
        "cargo test $(rm x)",
        "cargo test `rm x`",
        "cargo test > ~/.bashrc",
        "cargo test <(rm x)",
        "cargo test <<E\nE",
        "cargo test # a",
        "PATH=. cargo test",
        "alias cargo=rm; cargo test",
        "cargo() { rm x; }; cargo test",
        "cargo test --config 'target.a.runner=\"rm\"'",
        "cargo test --conf=a",
        "Set-Alias cargo rm; cargo test",
    ] {
        assert!(!covers(&cargo, line), "{line}");
    }
    assert!(covers(&rules("cargo test; cd; tail"), "cd web && cargo test 2>&1 | tail -20"));
}

#[test]
fn options_that_run_programs_or_write_are_not_covered() {
    for (rule, line) in [
        ("find", "find . -name a -exec rm {} ;"),
        ("find", "find . -exec rm a"),
        ("find", "find . -delete"),
        ("fd", "fd a -x rm"),
        ("fd", "fd a -Hx rm"),
        ("git fetch", "git fetch --upload-pack=evil"),
        ("git fetch", "git fetch --upl evil"),
        ("git diff", "git diff --output=f"),
        ("git grep", "git grep -Oevil a"),
        ("go test", "go test -exec evil"),
        ("go test", "go test --exec=evil"),
        ("make test", "make test SHELL=evil"),
        ("make test", "make -f evil test"),
        ("make test", "make test deploy"),
        ("just test", "just test release"),
        ("go build", "go build -ldflags=-extld=evil"),
        ("npm test", "npm test --script-shell evil"),
        ("rg", "rg --pre evil a"),
        ("sort", "sort -uo f"),
        ("touch", "touch f"),
        ("cp", "cp a b"),
        ("tee", "tee f"),
        ("git mv", "git mv a b"),
    ] {
        assert!(!covers(&rules(rule), line), "{line}");
    }
    for (rule, line) in [
        ("find", "find . -name '*.rs' -newer a"),
        ("git diff", "git diff --stat HEAD^ -- src"),
        ("rg", "rg --pretty 'a|b' src"),
        ("make test", "make test -j4"),
        ("git push", "git push -u origin main"),
    ] {
        assert!(covers(&rules(rule), line), "{line}");
    }
}

#[test]
fn rules_about_programs_that_run_others_are_refused() {
    for text in [
        "",
        ";",
        "cargo test;",
        "cargo",
        "cargo evil",
        "git",
        "git -c",
        "git rebase",
        "git config",
        "bash",
        "/bin/sh",
        "SH",
        "env",
        "sudo cargo test",
        "xargs",
        "python",
        "python3.12",
        "python3 -c",
        "python -m timeit",
        "node a.js",
        "npm",
        "npm run",
        "npm exec",
        "npx tsc",
        "make",
        "make -f",
        "docker run",
        "uv run",
        "sed",
        "awk",
        "curl",
        ".",
        "eval",
        "alias",
        "export",
        "cargo test *",
        "cargo 'test'",
        "cargo $x",
        "PATH=. cargo test",
        "time",
        "gh",
        "gh api",
        "test",
        "[",
        "printf",
    ] {
        assert_eq!(read(text), None, "{text}");
    }
    for text in [
        "cargo test",
        "cargo test -p a",
        "ls",
        "./check.sh",
        "python3 -m pytest",
        "npm run build:all",
        "gh pr view",
    ] {
        assert_eq!(rules(text).iter().map(Beginning::text).collect::<Vec<_>>(), [text]);
    }
    assert_eq!(rules(" cargo  test ;ls").len(), 2);
}

#[test]
fn shortest_sensible_beginning_is_proposed() {
    for (line, given, expected) in [
        ("cargo test -p a", "", "cargo test"),
        ("ls -la src", "", "ls"),
        ("npm run build -- --watch", "", "npm run build"),
        ("python -m pytest -q", "", "python -m pytest"),
        ("./check.sh fast", "", "./check.sh"),
        ("make test -j4", "", "make test"),
        ("cd web && cargo test 2>&1 | tail -5", "", "cd; cargo test; tail"),
        ("cd web && cargo test 2>&1 | tail -5", "cd; tail", "cargo test"),
        ("cargo test a && cargo test b", "", "cargo test"),
    ] {
        assert_eq!(proposed(line, given).as_deref(), Some(expected), "{line}");
    }
    for (line, given) in [
        ("", ""),
        ("cargo test", "cargo test"),
        ("cargo test $x", ""),
        ("cargo test > f", ""),
        ("cargo", ""),
        ("bash -c 'cargo test'", ""),
        ("cargo test; sudo a", ""),
        ("rm -rf target", ""),
        ("a; b; c; d; e", ""),
        ("git -c a=b status", ""),
        ("find . -delete", ""),
        ("find . -delete", "find"),
        ("'a b' c", ""),
    ] {
        assert_eq!(proposed(line, given), None, "{line}");
    }
}

#[test]
fn rejection_meets_any_command_of_a_line() {
    let push = rules("git push");
    for line in ["git push", "a && git push -f", "x=$(git push)", "(git push) > f"] {
        assert!(meets(&push, line), "{line}");
    }
    assert!(!meets(&push, "git pull; echo git push"));
}
