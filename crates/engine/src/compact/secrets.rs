//! Masks values that no block may repeat: keys with known prefixes, long runs of mixed characters, values after a
//! secret's name. Better too many than too few: the original can be recalled.

use regex::{Captures, Regex};
use std::sync::LazyLock;

/// Prefixes of well-known keys, each with the number of letters and digits in a row that must follow. Prefixes
/// that also begin words, such as `ASIA`, need more.
const PREFIXES: &[(&str, usize)] = &[
    ("AIza", 12),
    ("AKIA", 8),
    ("ASIA", 12),
    ("csk-", 16),
    ("eyJ", 8),
    ("ghp_", 8),
    ("gho_", 8),
    ("ghr_", 8),
    ("ghs_", 8),
    ("ghu_", 8),
    ("github_pat_", 8),
    ("glpat-", 8),
    ("gsk_", 8),
    ("hf_", 8),
    ("npm_", 8),
    ("nvapi-", 8),
    ("pplx-", 16),
    ("pypi-", 8),
    ("rk_live", 8),
    ("sk-", 6),
    ("sk_", 8),
    ("xai-", 16),
    ("xox", 4),
    ("ya29.", 8),
];
/// Minimum of that number if the prefix is within a word, as in `inputs-sk-lamp2026`.
const WITHIN_WORD: usize = 12;
/// Characters from which a run of mixed characters is a key and no name.
const LONG_RUN: usize = 24;
/// Parts of names whose values are secret even if they consist of digits: a password, also in an address.
const NEVER_COUNTS: [&str; 4] = ["passw", "passphrase", "secret", "://"];
/// Replacement of a secret.
const MASK: &str = "[secret]";

/// Values after a secret's name, in an assignment, a flag, a header or an address. Each of the four has a group for
/// the name and one for the value.
#[allow(clippy::expect_used, reason = "a constant pattern; the tests compile it")]
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r#"(?i)((?:passw(?:or)?d|passphrase|secret|token|credentials?|(?:api|access|private)[_-]?key)["']?\s{0,2}[=:]\s{0,2}["']?)"#,
        r#"([^\s"',;&<`]+)"#,
        r"|(--[a-z-]*(?:password|secret|token|key)\s+)([^\s-]\S*)",
        r"|((?:bearer|basic)\s+)([A-Za-z0-9_.~+/=-]{8,})",
        r"|(://[^\s/:@]*:)([^\s/@]+)@",
    ))
    .expect("pattern")
});

/// `true` if a name, or a segment of a path, looks like a key or holds one.
pub fn looks_secret(id: &str) -> bool {
    id.split('/').any(|segment| is_mixed(segment) || holds_key(segment))
}

/// `true` for a long run of digits, upper-case and lower-case letters, as random keys are.
fn is_mixed(segment: &str) -> bool {
    let is = |test: fn(&u8) -> bool| segment.as_bytes().iter().any(test);
    segment.len() >= LONG_RUN
        && !segment.contains(['.', '-', '_'])
        && is(u8::is_ascii_digit)
        && is(u8::is_ascii_uppercase)
        && is(u8::is_ascii_lowercase)
}

/// `true` if a well-known key starts at a segment or at a word in it. One pass: a run may be a megabyte long.
fn holds_key(segment: &str) -> bool {
    // Length from which a later word completes a key whose prefix was found.
    let mut least = usize::MAX;
    let mut at = 0;
    for piece in segment.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let word = piece.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        if is_random(word, least) {
            return true;
        }
        let from_here = segment.get(at..).unwrap_or_default();
        // This runs for every word of every block, and few start with the letter of a key.
        let first = from_here.as_bytes().first();
        let is_prefix = |prefix: &str| prefix.as_bytes().first() == first && from_here.starts_with(prefix);
        for (prefix, length) in PREFIXES.iter().filter(|(prefix, _)| is_prefix(prefix)) {
            let required = if at == 0 { *length } else { WITHIN_WORD.max(*length) };
            if word.get(prefix.len()..).is_some_and(|rest| is_random(rest, required)) {
                return true;
            }
            least = least.min(required);
        }
        at += piece.len();
    }
    false
}

/// `true` if a word has at least `least` characters and is not prose: it has a digit or a capital, or is overlong.
fn is_random(word: &str, least: usize) -> bool {
    let is_odd = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
    word.len() >= least && (word.len() >= LONG_RUN || word.bytes().any(is_odd))
}

/// Returns the text with every value that looks like a secret replaced.
pub fn masked(text: &str) -> String {
    let named = NAMED.replace_all(text, |captures: &Captures<'_>| {
        let part = |at: usize| captures.get(at).map_or("", |part| part.as_str());
        let [name, value] = [1, 3, 5, 7]
            .map(|at| [part(at), part(at + 1)])
            .into_iter()
            .find(|[name, _]| !name.is_empty())
            .unwrap_or_default();
        // A count, as in `token: 12`, or a variable is no secret, and neither is a word: "basic authentication".
        let lower = name.to_ascii_lowercase();
        let may_count = !NEVER_COUNTS.iter().any(|of| lower.contains(of));
        let is_count = may_count && value.bytes().all(|byte| byte.is_ascii_digit());
        let is_word = captures.get(5).is_some() && value.bytes().all(|byte| byte.is_ascii_lowercase());
        let is_plain = is_count || value.starts_with('$') || is_word;
        let at = if captures.get(7).is_some() { "@" } else { "" };
        format!("{name}{}{at}", if is_plain { value } else { MASK })
    });
    let is_key_char = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | '/');
    let mut out = String::with_capacity(named.len());
    for piece in named.split_inclusive(|c| !is_key_char(c)) {
        let key = piece.trim_end_matches(|c| !is_key_char(c));
        let rest = piece.get(key.len()..).unwrap_or_default();
        out.push_str(if looks_secret(key) { MASK } else { key });
        out.push_str(rest);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_look_like_secrets_go_and_the_rest_stays() {
        for (text, expected) in [
            ("export API_KEY=abc123def && run", "export API_KEY=[secret] && run"),
            ("curl -H 'Authorization: Bearer abcdefgh12345'", "curl -H 'Authorization: Bearer [secret]'"),
            ("git clone https://me:hunter2@host/x.git", "git clone https://me:[secret]@host/x.git"),
            ("login --password hunter2 --user me", "login --password [secret] --user me"),
            (r#"{"password": "hunter2"}"#, r#"{"password": "[secret]"}"#),
            ("echo sk-abc123, done", "echo [secret], done"),
            ("psql password=$PGPASS", "psql password=$PGPASS"),
            ("login --password 123456", "login --password [secret]"),
            ("password: 8841", "password: [secret]"),
            ("git clone https://me:123456@host/x.git", "git clone https://me:[secret]@host/x.git"),
            ("sort --key 2 names.txt", "sort --key 2 names.txt"),
            ("run --max-tokens 100 token: 12", "run --max-tokens 100 token: 12"),
            ("cargo test --workspace 2>&1 | tail -20", "cargo test --workspace 2>&1 | tail -20"),
            ("src/engine/compact/ledger.rs é漢", "src/engine/compact/ledger.rs é漢"),
        ] {
            assert_eq!(masked(text), expected);
        }
        assert!(looks_secret("keys/AKIAABCDEFGH") && looks_secret("aB3".repeat(9).as_str()));
        assert!(!looks_secret("556e4f8a") && !looks_secret("LedgerOfAVeryLongNameIndeed"));
    }

    #[test]
    fn key_is_masked_anywhere_in_an_address_or_word() {
        for (text, expected) in [
            ("ghp_0123456789abcdefghij/v1", "[secret]"),
            ("POST https://proxy/sk-live-0123456789abcdef/chat: 401", "POST https:[secret]: 401"),
            ("AKIAIOSFODNN7EXAMPLE/20260101/us-east-1/bedrock/aws4_request", "[secret]"),
            ("header x-sk-0123456789abcdef", "header [secret]"),
            ("a/aB3aB3aB3aB3aB3aB3aB3aB3aB3/b", "[secret]"),
            ("sk-ant-api03-Ab3_dEf-0123456789abcdef", "[secret]"),
            ("sk-onlysmalllettersinthisone", "[secret]"),
            ("xai-0123456789abcdefABCDEF", "[secret]"),
            ("pplx-0123456789abcdefABCDEF", "[secret]"),
            ("nvapi-0123456789abcdefABCDEF", "[secret]"),
            ("csk-0123456789abcdefabcdef", "[secret]"),
            ("ghr_0123456789abcdefABCDEF", "[secret]"),
            ("ya29.a0AfB_0123456789abcdef", "[secret]"),
            ("xoxb-1234-5678-abcdef/v1", "[secret]"),
        ] {
            assert_eq!(masked(text), expected);
        }
    }

    #[test]
    fn paths_names_and_prose_that_resemble_keys_stay() {
        for text in [
            "parts/desk-sk-lamp/desk-sk-lamp-20260101.txt",
            "locales/sk-SK/messages.po and sk-SK",
            "include/linux/sk_buff.h and sk_buff/alloc_skb",
            "hf_hub_download from src/hf_hub/cache.py",
            "npm_config_registry=x, npm_modules/left-pad/index.js",
            "pplx-70b-online, xai-sdk-python/2, grok/xai-grok-4",
            "ASIA/Tokyo and ASIA_PACIFIC/east",
            "task-sk-2024-01 risk-free disk-sk",
            "usr/lib/x86_64-linux-gnu/libssl.so.3",
            "github_pat_docs/readme.md",
        ] {
            assert_eq!(masked(text), text);
        }
    }
}
