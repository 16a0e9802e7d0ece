//! Every count is that of the implementation that the vocabulary is from.

use crate::words::{class, words};
use proptest::prelude::*;
use std::sync::LazyLock;
use tiktoken::CoreBpe;

static REFERENCE: LazyLock<CoreBpe> = LazyLock::new(tiktoken::encoding::o200k_base);

/// Pieces of text that the vocabulary's pattern tells apart, and that stand next to one another in few real texts.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        proptest::sample::select(vec![
            " ",
            "  ",
            "\t",
            "\n",
            "\r\n",
            "\r",
            "\u{a0}",
            "\u{2028}",
            "\u{3000}",
            "'s",
            "'S",
            "'ſ",
            "'ſt",
            "'t",
            "'re",
            "'RE",
            "'ve",
            "'m",
            "'ll",
            "'lL",
            "'d",
            "'",
            "/",
            "//",
            "{",
            "};",
            "…",
            "🙂",
            "\u{301}",
            "\u{20dd}",
            "ǅ",
            "ʰ",
            "漢",
            "字",
            "ａ",
            "Ａ",
            "é",
            "É",
            "ß",
            "Ж",
            "ж",
            "½",
            "٣",
            "Ⅷ",
            "1",
            "12345",
            "_",
            "x",
            "X",
            "the",
            "The",
            "THE",
            "getPath",
            "HTTPServer",
            "\u{0}",
            "\u{7f}",
            "\u{e000}",
            "\u{10ffff}",
            "<|endoftext|>",
            "==========",
        ])
        .prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
        "[a-zA-Z]{1,40}",
        r"\PC{0,8}",
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, ..ProptestConfig::default() })]

    #[test]
    fn counts_are_those_of_the_reference(text in pieces()) {
        prop_assert_eq!(crate::count(&text), REFERENCE.count(&text));
    }

    #[test]
    fn words_are_the_whole_text(text in pieces()) {
        prop_assert_eq!(words(&text).collect::<String>(), text);
    }
}

#[test]
fn every_token_is_one_token() {
    for rank in 0.. {
        let token = REFERENCE.decode(&[rank]);
        if token.is_empty() {
            assert_eq!(rank, 199_998);
            break;
        }
        assert_eq!(crate::vocabulary::rank(&token), Some(rank), "{token:?}");
    }
}

#[test]
fn characters_count_as_in_the_reference() {
    // The first and the last of each run of characters of one class, and some in between.
    for (before, char) in ('\0'..=char::MAX).zip('\u{1}'..=char::MAX) {
        if class(before) == class(char) && u32::from(char) % 251 != 0 {
            continue;
        }
        for char in [before, char] {
            for text in
                [format!("{char}"), format!(" {char}x"), format!("A{char}b{char}"), format!("{char}\n{char}")]
            {
                assert_eq!(crate::count(&text), REFERENCE.count(&text), "{text:?}");
            }
        }
    }
}

#[test]
fn words_are_those_of_the_pattern() {
    for (text, expected) in [
        ("don't stop", vec!["don't", " stop"]),
        ("x'ſy", vec!["x'ſ", "y"]),
        ("X'REx'lLx'v", vec!["X'RE", "x'lL", "x", "'v"]),
        ("getHTTPPath", vec!["get", "HTTPPath"]),
        ("HTTP", vec!["HTTP"]),
        ("\u{301}A", vec!["\u{301}", "A"]),
        ("漢AB", vec!["漢", "AB"]),
        ("!!\u{301}x", vec!["!!\u{301}", "x"]),
        ("!\u{301}x", vec!["!\u{301}x"]),
        ("1234½", vec!["123", "4½"]),
        ("  \n  x", vec!["  \n", " ", " x"]),
        (" \t", vec![" \t"]),
        ("};\r\n//\nx", vec!["};\r\n//\n", "x"]),
        (" /x", vec![" /", "x"]),
    ] {
        assert_eq!(words(text).collect::<Vec<_>>(), expected, "{text:?}");
    }
}

#[test]
fn words_count_the_same_again() {
    for text in ["unbelievablyuncommonword", "unbelievablyuncommonwordthatistoolongtokeep", "word", "ſ"] {
        assert_eq!([(); 3].map(|()| crate::count(text)), [REFERENCE.count(text); 3]);
    }
}

#[test]
fn long_words_count_as_in_the_reference() {
    let letters = |seed: u64, length: usize| {
        let mut state = seed;
        std::iter::repeat_with(move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(b'a' + (state >> 33) as u8 % 26)
        })
        .take(length)
        .collect::<String>()
    };
    for text in
        [letters(1, 100), letters(2, 20_000), "a".repeat(20_000), "=".repeat(20_000), "漢字".repeat(5_000)]
    {
        assert_eq!(crate::count(&text), REFERENCE.count(&text));
    }
}
