//! Exact token counts for models with a known vocabulary. Message overheads and the fallback are in
//! `engine::tokens`; factors for models that count otherwise are not here either.

pub mod counted;

use engine::text::head;
use engine::tokens::TokenCount;

/// Most bytes counted at once. Merging one word takes n·log n time, with a large factor once the word no
/// longer fits the processor's cache. Only hostile or encoded text has words this long.
const AT_ONCE: usize = 16 * 1024;

/// OpenAI's `o200k_base`: exact for its models since GPT-4o, an estimate for all others.
///
/// Text that looks like a special token, such as `<|endoftext|>`, is text like any other: here a user or a
/// tool wrote it, and providers treat it so.
///
/// The count is exact if each 16 KiB contain a safe point to cut; otherwise each cut can add two or three
/// tokens to the thousands on either side of it.
#[derive(Debug, Clone, Copy, Default)]
pub struct O200k;

impl TokenCount for O200k {
    fn name(&self) -> &str {
        "o200k_base"
    }

    fn count(&self, text: &str) -> u32 {
        let mut total = 0;
        let mut rest = text;
        while !rest.is_empty() {
            let (now, later) = rest.split_at_checked(first_cut(rest)).unwrap_or((rest, ""));
            total += o200k::count(now);
            rest = later;
        }
        u32::try_from(total).unwrap_or(u32::MAX)
    }
}

/// Cut position in `text`, which is not empty: its end, the last safe point within [`AT_ONCE`], or that
/// limit.
///
/// The vocabulary's pattern splits text into words before anything is merged, so a cut between two words
/// changes nothing. Two such places show in the characters beside them: before a blank that follows no white
/// space, and after a line feed before a letter or digit.
fn first_cut(text: &str) -> usize {
    if text.len() <= AT_ONCE {
        return text.len();
    }
    let window = head(text, AT_ONCE);
    let mut after: Option<(usize, char)> = None;
    for (at, before) in window.char_indices().rev() {
        if let Some((cut, after)) = after
            && ((after == ' ' && !before.is_whitespace()) || (before == '\n' && after.is_alphanumeric()))
        {
            return cut;
        }
        after = Some((at, before));
    }
    window.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    /// Pseudo-random numbers, the same in every run.
    fn numbers() -> impl FnMut(usize) -> usize {
        let mut state = 0x9e37_79b9_u64;
        move |below| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % below as u64) as usize
        }
    }

    #[test]
    fn known_counts() {
        // Counts of the reference implementation.
        for (text, tokens) in [("", 0), ("Hello world!", 3), ("hello world", 2), ("tiktoken is great!", 6)] {
            assert_eq!(O200k.count(text), tokens, "{text:?}");
        }
    }

    #[test]
    fn multibyte_text_is_counted_by_tokens_and_not_by_bytes() {
        for text in ["你好世界", "Привет, мир", "🙂🙂🙂", "é漢🙂"] {
            let tokens = O200k.count(text) as usize;
            assert!(tokens > 0 && tokens < text.len(), "{text}: {tokens}");
        }
        assert_eq!(O200k.count("你好世界"), 2);
    }

    #[test]
    fn special_tokens_are_text() {
        assert!(O200k.count("<|endoftext|>") > 1);
        assert!(O200k.count("<|endofprompt|>") > 1);
    }

    #[test]
    fn cutting_at_safe_points_changes_no_count() {
        let words = [
            "fn", " ", "  ", "\n", "\n\n", "\r\n", "\t", "x", "Path", "'s", "//", "{", "};", "/", "12345",
            "漢字", "🙂", "\u{301}", "É", "\u{a0}", "…", "don't", "_", " a", "\n b", "½",
        ];
        let mut below = numbers();
        for _ in 0..20 {
            let mut text = String::new();
            while text.len() < 5 * AT_ONCE {
                text.push_str(words[below(words.len())]);
            }
            assert_eq!(O200k.count(&text) as usize, o200k::count(&text));
        }
    }

    #[test]
    fn hostile_text_is_counted_quickly() {
        let mut below = numbers();
        let size = 1_000_000;
        let letters: String = (0..size).map(|_| char::from(b'a' + below(26) as u8)).collect();
        for (name, text) in [
            ("a", "a".repeat(size)),
            ("blanks", " ".repeat(size)),
            ("line feeds", "\n".repeat(size)),
            ("equals signs", "=".repeat(size)),
            ("tabs and line feeds", "\t\n".repeat(size / 2)),
            ("emoji", "🙂".repeat(size / 4)),
            ("combining marks", "\u{301}".repeat(size / 2)),
            ("letters", letters),
        ] {
            let start = Instant::now();
            let tokens = O200k.count(&text);
            assert!(tokens > 0);
            // It takes a fraction of a second; the rest is for a busy machine.
            assert!(start.elapsed() < Duration::from_secs(10), "{name}: {:?}", start.elapsed());
        }
    }

    #[test]
    fn cut_inside_a_word_adds_few_tokens() {
        let mut below = numbers();
        let letters: String = (0..20 * AT_ONCE).map(|_| char::from(b'a' + below(26) as u8)).collect();
        for text in [letters, "=".repeat(20 * AT_ONCE), "漢字".repeat(4 * AT_ONCE)] {
            let exact = o200k::count(&text);
            let cuts = text.len() / AT_ONCE;
            assert!((O200k.count(&text) as usize).abs_diff(exact) <= 3 * cuts + 1);
        }
    }
}
