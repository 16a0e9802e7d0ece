//! What no block may repeat: keys by their known beginnings, long runs of mixed characters, values that stand behind a
//! secret's name. Better too much than too little; the original can be recalled.

use regex::{Captures, Regex};
use std::sync::LazyLock;

/// How the well-known keys begin.
const BEGINNINGS: &[&str] = &[
    "AKIA",
    "AIza",
    "ASIA",
    "eyJ",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "gsk_",
    "hf_",
    "npm_",
    "pypi-",
    "rk_live",
    "sk-",
    "sk_",
    "xox",
];
/// A mixed run of this many characters is no name.
const LONG: usize = 24;
/// What stands in its place.
const HIDDEN: &str = "[secret]";

/// Values behind a secret's name, in an assignment, a flag, a header or an address.
#[allow(clippy::expect_used, reason = "a constant pattern; the tests compile it")]
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r#"(?i)((?:passw(?:or)?d|passphrase|secret|token|credentials?|(?:api|access|private)[_-]?key)["']?\s{0,2}[=:]\s{0,2}["']?)"#,
        r#"([^\s"',;&<]+)"#,
        r"|(--[a-z-]*(?:password|secret|token|key)\s+)([^\s-]\S*)",
        r"|((?:bearer|basic)\s+)([A-Za-z0-9_.~+/=-]{8,})",
        r"|(://[^\s/:@]*:)([^\s/@]+)@",
    ))
    .expect("pattern")
});

/// Whether a name looks like a key.
pub fn looks_secret(id: &str) -> bool {
    let name = id.rsplit('/').next().unwrap_or(id);
    let is = |test: fn(&u8) -> bool| name.as_bytes().iter().any(test);
    BEGINNINGS.iter().any(|start| name.starts_with(start))
        || (name.len() >= LONG
            && !name.contains(['.', '-', '_'])
            && is(u8::is_ascii_digit)
            && is(u8::is_ascii_uppercase)
            && is(u8::is_ascii_lowercase))
}

/// The text with every value that looks like a secret taken out.
pub fn masked(text: &str) -> String {
    let named = NAMED.replace_all(text, |found: &Captures<'_>| {
        let part = |at: usize| found.get(at).map_or("", |part| part.as_str());
        let [name, value] = [1, 3, 5, 7]
            .map(|at| [part(at), part(at + 1)])
            .into_iter()
            .find(|[name, _]| !name.is_empty())
            .unwrap_or_default();
        let is_plain = value.bytes().all(|byte| byte.is_ascii_digit()) || value.starts_with('$');
        let at = if found.get(7).is_some() { "@" } else { "" };
        format!("{name}{}{at}", if is_plain { value } else { HIDDEN })
    });
    let is_of_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | '/');
    let mut out = String::with_capacity(named.len());
    for piece in named.split_inclusive(|c| !is_of_key(c)) {
        let key = piece.trim_end_matches(|c| !is_of_key(c));
        let rest = piece.get(key.len()..).unwrap_or_default();
        out.push_str(if looks_secret(key) { HIDDEN } else { key });
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
            ("run --max-tokens 100 token: 12", "run --max-tokens 100 token: 12"),
            ("cargo test --workspace 2>&1 | tail -20", "cargo test --workspace 2>&1 | tail -20"),
            ("src/engine/compact/ledger.rs é漢", "src/engine/compact/ledger.rs é漢"),
        ] {
            assert_eq!(masked(text), expected);
        }
        assert!(looks_secret("keys/AKIAABCDEFGH") && looks_secret("aB3".repeat(9).as_str()));
        assert!(!looks_secret("556e4f8a") && !looks_secret("LedgerOfAVeryLongNameIndeed"));
    }
}
