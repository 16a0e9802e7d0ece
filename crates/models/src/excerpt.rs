//! Excerpts of providers' messages: short, and without credentials. Gateways repeat the upstream's
//! credentials, and providers the rejected key, masked or cut.

use engine::compact::secrets::masked;
use engine::text::{head, one_line};
use std::collections::BTreeSet;
use std::ops::Range;

/// Replaces our own key.
const HIDDEN: &str = "[key]";
/// The shortest key that is hidden, and the shortest prefix of it at the end of a cut excerpt, in bytes.
/// Anything shorter would match within ordinary words.
const LEAST: usize = 4;
/// The shortest part of a key that is hidden anywhere, in bytes.
const LEAST_PART: usize = 8;
/// The most of a body that is searched, in bytes.
const MOST_READ: usize = 64 << 10;

/// Returns the beginning of these words as one line of at most `bytes` bytes, credentials masked.
pub(super) fn excerpt(words: &str, bytes: usize) -> String {
    // Masked before it is cut: half a credential is not recognized.
    one_line(&masked(head(words, MOST_READ)), bytes)
}

/// Hides our own key in a reason, whole or in part. A cut reason may end in a prefix of the key.
pub(super) fn without_key(reason: &str, key: &str) -> String {
    if key.len() < LEAST {
        return reason.to_owned();
    }
    let mut hidden = String::with_capacity(reason.len());
    let mut at = 0;
    for part in parts_of(reason, key) {
        hidden.push_str(reason.get(at..part.start).unwrap_or_default());
        hidden.push_str(HIDDEN);
        at = part.end;
    }
    hidden.push_str(reason.get(at..).unwrap_or_default());
    let kept = hidden.trim_end_matches('…');
    let starts = (LEAST..key.len()).rev().filter_map(|end| key.get(..end));
    match starts.into_iter().find_map(|start| kept.strip_suffix(start)) {
        Some(before) => format!("{before}{HIDDEN}…"),
        None => hidden,
    }
}

/// The ranges of parts of the key, in order, on character boundaries.
fn parts_of(reason: &str, key: &str) -> Vec<Range<usize>> {
    let length = LEAST_PART.min(key.len());
    let known: BTreeSet<&[u8]> = key.as_bytes().windows(length).collect();
    let mut parts: Vec<Range<usize>> = Vec::new();
    for (at, window) in reason.as_bytes().windows(length).enumerate() {
        if !known.contains(window) {
            continue;
        }
        let (start, end) = (reason.floor_char_boundary(at), reason.ceil_char_boundary(at + length));
        match parts.last_mut() {
            Some(last) if start <= last.end => last.end = end,
            _ => parts.push(start..end),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "qk7Rmz4w-Tp9xLc2v-Hn5yBd8s";

    #[test]
    fn eight_characters_of_the_key_are_hidden_wherever_they_stand() {
        for (reason, expected) in [
            ("key qk7Rmz4w-Tp9xLc2v-Hn5yBd8s is wrong", "key [key] is wrong"),
            ("key qk7Rmz4w-Tp9xLc2v-Hn... is wrong", "key [key]... is wrong"),
            ("key ****Hn5yBd8s is wrong", "key ****[key] is wrong"),
            ("key qk7Rmz4w****Hn5yBd8s is wrong", "key [key]****[key] is wrong"),
            ("in the middle -Tp9xLc2 of it", "in the middle [key] of it"),
            ("é漢qk7Rmz4wqk7Rmz4w漢", "é漢[key]漢"),
            ("seven qk7Rmz4 stay, as do Tp9xLc and n5yBd8s", "seven qk7Rmz4 stay, as do Tp9xLc and n5yBd8s"),
            ("cut qk7R…", "cut [key]…"),
            ("", ""),
        ] {
            assert_eq!(without_key(reason, KEY), expected);
        }
        assert_eq!(without_key("key abcde, not abcd", "abcde"), "key [key], not [key]…");
        assert_eq!(without_key("abc", "abc"), "abc");
    }

    #[test]
    fn credentials_are_masked_before_the_excerpt_is_cut() {
        let token = "ghp_0123456789abcdefghij";
        for bytes in 1..60 {
            assert!(!excerpt(&format!("the token is {token} and so on"), bytes).contains("ghp"), "{bytes}");
        }
        assert_eq!(
            excerpt(&format!("the token is\n{token} and so on"), 60),
            "the token is [secret] and so on"
        );
    }
}
