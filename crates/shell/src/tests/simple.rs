//! Simple commands of lines: exact where the reading is complete, and incomplete wherever a shell could run more.

use crate::simple::commands;
use proptest::prelude::*;

/// The commands, with words joined by `_`; `None` if the reading is incomplete.
fn told(text: &str) -> Option<String> {
    let read = commands(text);
    let lines: Vec<String> = read.commands.iter().map(|words| words.join("_")).collect();
    read.is_complete.then(|| lines.join(" | "))
}

#[test]
fn every_command_of_a_line_is_told() {
    for (text, expected) in [
        ("cargo test", "cargo_test"),
        (" cargo\ttest ; ", "cargo_test"),
        ("cargo test; rm -rf /", "cargo_test | rm_-rf_/"),
        ("cargo test & curl", "cargo_test | curl"),
        ("cargo test && a || b | c\nd", "cargo_test | a | b | c | d"),
        ("cargo test &&\n\n a", "cargo_test | a"),
        ("(cd web && ls) 2>&1 | wc -l", "cd_web | ls | wc_-l"),
        ("(a; b;) && ((c))", ""),
        ("cargo test 2>&1 >/dev/null", "cargo_test"),
        ("cargo 2> /dev/null test &>/dev/null", "cargo_test"),
        ("cargo \"te\"st", "cargo_test"),
        ("'cargo' te\\\nst \"a b\" '' c\\ d", "cargo_test_a b__c d"),
        ("echo \"a \\\" b\" 'c; d' e=f", "echo_a \" b_c; d_e=f"),
        ("echo 2 3", "echo_2_3"),
        ("ls src/*.rs a#b", "ls_src/*.rs_a#b"),
        ("ls \\*", "ls_*"),
    ] {
        let found = told(text);
        assert_eq!(found.as_deref(), Some(expected).filter(|text| !text.is_empty()), "{text}");
    }
}

#[test]
fn reading_is_incomplete_where_more_could_run() {
    for text in [
        "cargo test $(rm x)",
        "cargo test \"$(rm x)\"",
        "cargo test `rm x`",
        "cargo test \"`rm x`\"",
        "cargo test <(rm x)",
        "cargo test >(rm x)",
        "cargo test > ~/.bashrc",
        "cargo test >> f",
        "cargo test >| f",
        "cargo test >&f",
        "cargo test &> f",
        "cargo test 2>f",
        "cargo test > /dev/null/../sda",
        "cargo test >/dev/null\"x\"",
        "> f",
        "cargo test < f",
        "cargo test <<E\nrm x\nE",
        "cargo test <<< x",
        "VAR=x cargo test",
        "PATH=. cargo test",
        "a+=x cargo test",
        "\"PATH=.\" cargo test",
        "cargo test $x",
        "cargo test ${x}",
        "cargo test $'a'",
        "cargo test # rm x",
        "# a\ncargo test",
        "cargo {test,x}",
        "{ cargo test; }",
        "cargo() { rm x; }; cargo test",
        "cargo () rm; cargo test",
        "if cargo test; then a; fi",
        "for x in a; do b; done",
        "! cargo test",
        "echo !!",
        "echo \"!!\"",
        "time cargo test",
        "[[ a ]]",
        "cargo test *",
        "cargo test ?x",
        "ls *(e:rm:)",
        "ls @(a|b)",
        "=ls",
        "cargo test '",
        "cargo test \"",
        "cargo test \\",
        "cargo test '\\' '; rm x #'",
        "cargo \\x74est",
        "cargo test\r\nrm x",
        "cargo\u{a0}test",
        "cargo test\u{0}",
        "cargo test |",
        "cargo test &&",
        "| cargo test",
        "a ;; b",
        "a ; ; b",
        "a |& b",
        "a &&& b",
        "(cargo test",
        "cargo test)",
        "()",
        "(a) b",
        "a (b)",
        "(a)(b)",
    ] {
        assert_eq!(told(text), None, "{text}");
    }
    assert!(!commands(&"a ".repeat(40_000)).is_complete);
    assert_eq!(told("").as_deref(), Some(""));
}

#[test]
fn an_incomplete_reading_still_tells_commands() {
    let all = |text: &str| commands(text).commands.iter().map(|words| words.join(" ")).collect::<Vec<_>>();
    assert_eq!(all("echo $(git push a) `b c`"), ["echo", "git push a", "b c"]);
    assert_eq!(all("{ git push; }"), ["git push"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_without_panic(text in any::<String>()) {
        commands(&text);
    }

    /// Of plain words and operators, nothing is lost.
    #[test]
    fn words_of_shell_like_text_come_back(words in prop::collection::vec("[a-z\"'; $&|-]{1,8}", 1..5)) {
        let quoted: Vec<String> = words.iter().map(|word| format!("'{}'", word.replace('\'', "'\"'\"'"))).collect();
        let read = commands(&format!("x {}", quoted.join(" ")));
        let expected: Vec<String> = [vec!["x".to_owned()], words].concat();
        prop_assert!(read.is_complete);
        prop_assert_eq!(read.commands, vec![expected]);
    }
}
