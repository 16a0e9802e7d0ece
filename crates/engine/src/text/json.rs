//! JSON from programs whose strings are 16-bit units: such a program may cut a surrogate pair in two and escape the half
//! that is left, which no text here can hold. Reading it, and nothing about what it says.

use serde::de::DeserializeOwned;
use std::borrow::Cow;

/// What stands in the place of half a pair, behind its backslash.
const REPLACEMENT: &str = "ufffd";

/// Reads a value; each unpaired surrogate escape in it is read as U+FFFD.
///
/// # Errors
/// The reader's own, with a place in `json` as it came.
pub fn read<T: DeserializeOwned>(json: &str) -> serde_json::Result<T> {
    serde_json::from_str(json).or_else(|error| match paired(json) {
        (_, 0) => Err(error),
        (paired, _) => serde_json::from_str(&paired).map_err(|_| error),
    })
}

/// The same JSON with each unpaired surrogate escape as that of U+FFFD, and how many there were. Pairs and escaped
/// backslashes (`\\ud83d`) stay as they are, and so does text that is no JSON.
pub fn paired(json: &str) -> (Cow<'_, str>, usize) {
    // An escape of a surrogate is rare, and a body may have megabytes.
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
                // What is escaped is passed over: a backslash begins nothing then.
                _ => after.chars().next().map_or(0, char::len_utf8),
            };
    }
    match replaced {
        0 => (Cow::Borrowed(json), 0),
        _ => (Cow::Owned(out + json.get(kept..).unwrap_or_default()), replaced),
    }
}

/// The unit of `uXXXX`.
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
    fn a_value_is_read_with_its_errors_where_they_were() {
        let read = read::<Value>;
        assert_eq!(read(r#"{"a":"x\ud83dy\\ud83d"}"#).unwrap(), json!({ "a": "x\u{fffd}y\\ud83d" }));
        let error = read(r#"["\ud83d", nothing]"#).unwrap_err();
        assert_eq!(
            error.to_string(),
            serde_json::from_str::<Value>(r#"["\ud83d", nothing]"#).unwrap_err().to_string()
        );
    }
}
