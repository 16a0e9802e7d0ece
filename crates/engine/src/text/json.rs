//! JSON from programs with UTF-16 strings: such a program may split a surrogate pair and escape the remaining
//! half, which no Rust string can hold.

use serde::de::DeserializeOwned;
use std::borrow::Cow;

/// The replacement of an unpaired surrogate, without the backslash.
const REPLACEMENT: &str = "ufffd";

/// Deserializes a value; each unpaired surrogate escape becomes U+FFFD.
///
/// # Errors
/// The deserializer's own, with positions in the original `json`.
pub fn read<T: DeserializeOwned>(json: &str) -> serde_json::Result<T> {
    serde_json::from_str(json).or_else(|error| match paired(json) {
        (_, 0) => Err(error),
        (paired, _) => serde_json::from_str(&paired).map_err(|_| error),
    })
}

/// Replaces each unpaired surrogate escape by that of U+FFFD, and returns the number of replacements. Pairs
/// and escaped backslashes (`\\ud83d`) stay as they are, and so does text that is not JSON.
pub fn paired(json: &str) -> (Cow<'_, str>, usize) {
    // A surrogate escape is rare, and a body may have megabytes.
    if !json.contains("\\ud") && !json.contains("\\uD") {
        return (Cow::Borrowed(json), 0);
    }
    let (mut out, mut replaced) = (String::new(), 0);
    let (mut kept, mut at) = (0, 0);
    while let Some(found) = json.get(at..).and_then(|rest| rest.find('\\')) {
        let name = at + found + 1;
        let after = json.get(name..).unwrap_or_default();
        let next = after.get(5..).and_then(|rest| rest.strip_prefix('\\'));
        at = name
            + match (escape(after), next.and_then(escape)) {
                (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 11,
                (Some(0xd800..=0xdfff), _) => {
                    out.push_str(json.get(kept..name).unwrap_or_default());
                    out.push_str(REPLACEMENT);
                    replaced += 1;
                    kept = name + 5;
                    5
                }
                // Skips the escaped character: a backslash there starts no escape.
                _ => after.chars().next().map_or(0, char::len_utf8),
            };
    }
    match replaced {
        0 => (Cow::Borrowed(json), 0),
        _ => (Cow::Owned(out + json.get(kept..).unwrap_or_default()), replaced),
    }
}

/// The code unit of `uXXXX`.
fn escape(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix('u')?.get(..4)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn unpaired_surrogates_are_replaced_and_all_else_stays() {
        for (text, expected, count) in [
            (r#""\ud83d""#, r#""\ufffd""#, 1),
            (r#""\uD83D \udc00""#, r#""\ufffd \ufffd""#, 2),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#, 1),
            (r#""\ude00\ud83d""#, r#""\ufffd\ufffd""#, 2),
            (r#""\ud83d\\ude00""#, r#""\ufffd\\ude00""#, 1),
            (r#""\ud83d\n\u00e9 é漢🙂""#, r#""\ufffd\n\u00e9 é漢🙂""#, 1),
            (r#""pair \ud83d\ude00 escaped \\ud83d \\\\ud83d""#, "", 0),
            (r#"{"\udfff":"\\\ud800"}"#, r#"{"\ufffd":"\\\ufffd"}"#, 2),
            (r#""\ud8"#, "", 0),
            (r#""\ud83"#, "", 0),
            ("\"\\ud83é\"", "", 0),
            ("\\ud", "", 0),
            ("\\", "", 0),
            ("", "", 0),
        ] {
            let same = if count == 0 { text } else { expected };
            assert_eq!(paired(text), (Cow::Borrowed(same), count), "{text}");
        }
    }

    #[test]
    fn errors_keep_positions_of_original_text() {
        let read = read::<Value>;
        assert_eq!(read(r#"{"a":"x\ud83dy\\ud83d"}"#).unwrap(), json!({ "a": "x\u{fffd}y\\ud83d" }));
        let error = read(r#"["\ud83d", nothing]"#).unwrap_err();
        assert_eq!(
            error.to_string(),
            serde_json::from_str::<Value>(r#"["\ud83d", nothing]"#).unwrap_err().to_string()
        );
    }
}
