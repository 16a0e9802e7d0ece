//! Texts that nobody writes: nothing panics, and limits hold.

use super::told;
use crate::{MOST_BYTES, Reason, effects, effects_of_words};
use proptest::prelude::*;

const SEEDS: &[&str] = &[
    "cd web && rm -rf src/{a,b}.rs \"$x\" 'y z' 2>&1 | tee -a log",
    "cat > a.txt <<'EOF' && sed -i '' 's/a/b/' f\ntext\nEOF",
    "for f in *.js; do mv \"$f\" \"${f%.js}.ts\"; done; if [ -f a ]; then git mv a b; fi",
    "bash -lc \"apply_patch <<'E'\n*** Begin Patch\n*** Update File: a\n*** Move to: b\n*** End Patch\nE\"",
    "f() { sudo env A=1 timeout 5 perl -pi.bak -e 's/x/y/' $'q\\x41'; }; f {1..9} ${a[@]} <(cat b) &> c",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text_is_read_without_panic(text in any::<String>(), cwd in any::<String>()) {
        effects(&text, Some(&cwd), None);
        effects_of_words(&[text.as_str(), cwd.as_str()], None);
    }

    #[test]
    fn shell_like_text_is_read_without_panic(text in "[a-c \"'$(){}<>|&;\\\\\n\\[\\]*=/~!#%@,.é-]{0,80}") {
        effects(&text, None, None);
    }

    #[test]
    fn changed_commands_are_read_without_panic(
        seed in prop::sample::select(SEEDS),
        at in any::<prop::sample::Index>(),
        length in 0usize..12,
        put in "[ -~\n]{0,6}",
    ) {
        let characters: Vec<char> = seed.chars().collect();
        let at = at.index(characters.len());
        let (before, after) = (&characters[..at], &characters[(at + length).min(characters.len())..]);
        let text: String = before.iter().copied().chain(put.chars()).chain(after.iter().copied()).collect();
        effects(&text, Some("/w"), None);
    }
}

/// The grammar's scanner reads memory that is not its own behind a brace before such a character.
#[test]
fn any_character_may_stand_behind_a_brace() {
    for character in ['é', '漢', '🙂', '\u{2f47e}', '\u{9afc0}', '\u{fb61c}', '\u{10ffff}'] {
        for text in
            [format!("rm {{{character}"), format!("{{{character}..9}} a"), format!("rm a{{1..{character}")]
        {
            effects(&text, None, None);
        }
    }
}

#[test]
fn deep_and_long_texts_meet_limits() {
    let nested = |open: &str, close: &str| format!("{}rm a{}", open.repeat(4000), close.repeat(4000));
    for text in [
        nested("{ ", "; }"),
        nested("( ", ")"),
        nested("if true; then ", "; fi"),
        nested("$(", ")"),
        nested("\"$(", ")\""),
        "rm a && ".repeat(3000) + "rm b",
        "rm a | ".repeat(3000) + "rm b",
        "{".repeat(20_000),
        format!("rm {}", "{a,b}".repeat(500)),
        format!("rm {}", "{".repeat(9000) + &",}".repeat(9000)),
        "f() { f; f; }; f".to_owned(),
        "for a in {1..90}; do for b in {1..90}; do for c in {1..90}; do rm $a$b$c; done; done; done"
            .to_owned(),
        "a=xx; ".to_owned() + &"a=$a$a; ".repeat(4000) + "rm $a",
        "a=(x y); ".to_owned() + &"a=(${a[@]} ${a[@]}); ".repeat(2000) + "rm ${a[@]}",
        "x=1; ".repeat(6000) + &"if a; then b; fi; ".repeat(1500),
        (0..6000).map(|n| format!("x{n}=1; ")).collect::<String>() + "if a; then b; fi",
        "eval ".repeat(300) + "rm a",
        "sudo ".repeat(300) + "rm a",
    ] {
        let found = effects(&text, None, None);
        assert!(found.effects.len() <= 1000 && found.unknown.len() <= 1000, "{}", text.len());
    }
    let chain = effects(&("rm a && ".repeat(3000) + "rm b"), None, None);
    assert_eq!(told(&chain), ["delete a", "delete b"]);
    let long = effects(&"x".repeat(MOST_BYTES + 1), None, None);
    assert_eq!((long.effects.len(), long.unknown[0].reason), (0, Reason::Limit));
    assert!(long.unknown[0].part.len() < 200);
}
