//! JSON input for all formats: parsing per line or whole, with the places of errors, and field accessors.
//! Independent of formats and messages.

use crate::{Import, ImportError};
use engine::message::{Text, Usage};
use engine::text::json::paired;
use serde_json::{Map, Value};
use std::time::{Duration, UNIX_EPOCH};

pub(crate) type Object = Map<String, Value>;

/// Strips a UTF-8 byte order mark; fails on those of UTF-16.
pub(crate) fn without_mark(bytes: &[u8]) -> Result<&[u8], ImportError> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(ImportError::NotUtf8 { line: 1, byte: 0 });
    }
    Ok(bytes.strip_prefix(&[0xef, 0xbb, 0xbf]).unwrap_or(bytes))
}

/// The error for the first byte that is not UTF-8; `None` if there is none.
pub(crate) fn not_text(bytes: &[u8]) -> Option<ImportError> {
    let byte = std::str::from_utf8(bytes).err()?.valid_up_to();
    let before = bytes.get(..byte).unwrap_or_default();
    Some(ImportError::NotUtf8 { line: 1 + before.iter().filter(|b| **b == b'\n').count(), byte })
}

/// Non-empty lines with their numbers from 1, trimmed.
pub(crate) fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    bytes
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .enumerate()
        .filter(|(_, line)| !line.is_empty())
        .map(|(index, line)| (index + 1, line))
}

/// Calls `take` for each line's object with its place. Reports lines that are not objects or that `take` rejects.
pub(crate) fn each_record(
    bytes: &[u8],
    import: &mut Import,
    mut take: impl FnMut(&mut Import, &str, &Object) -> Result<(), String>,
) {
    for (number, line) in lines(bytes) {
        let place = format!("line {number}");
        let taken = match parse(line) {
            Ok((Value::Object(record), mended)) => {
                if mended {
                    import.skip(place.as_str(), MENDED);
                }
                take(import, &place, &record)
            }
            Ok(_) => Err("is not a JSON object".to_owned()),
            Err(reason) => Err(reason),
        };
        if let Err(reason) = taken {
            import.skip(place, reason);
        }
    }
}

const MENDED: &str = "has half of a surrogate pair, which was replaced by U+FFFD";

/// Parses a line; `true` if unpaired surrogates were replaced.
fn parse(line: &[u8]) -> Result<(Value, bool), String> {
    let text = std::str::from_utf8(line).map_err(|e| format!("is not UTF-8 at byte {}", e.valid_up_to()))?;
    match serde_json::from_str(text) {
        Ok(value) => Ok((value, false)),
        Err(error) if error.is_eof() => Err(format!("is cut off at column {}", error.column())),
        Err(error) => mended(text)
            .map(|value| (value, true))
            .ok_or_else(|| format!("is not JSON at column {}: {}", error.column(), words(&error))),
    }
}

/// Parses a whole file.
pub(crate) fn whole(bytes: &[u8], import: &mut Import) -> Result<Value, ImportError> {
    if let Some(error) = not_text(bytes) {
        return Err(error);
    }
    serde_json::from_slice(bytes).or_else(|error| {
        let value = std::str::from_utf8(bytes).ok().and_then(mended).ok_or_else(|| syntax(&error))?;
        import.skip("the file", MENDED);
        Ok(value)
    })
}

/// The error of a file that is not JSON.
pub(crate) fn syntax(error: &serde_json::Error) -> ImportError {
    ImportError::Syntax { line: error.line(), column: error.column(), reason: words(error) }
}

/// The list under this key, required by a whole-file format.
pub(crate) fn needed_list<'a>(
    root: &'a Value,
    key: &str,
    import: &Import,
) -> Result<&'a [Value], ImportError> {
    let found = root.get(key).and_then(Value::as_array).map(Vec::as_slice);
    found.ok_or_else(|| ImportError::NotThisFormat {
        format: import.format,
        place: format!("`{key}`"),
        reason: "is missing or not a list".into(),
    })
}

/// Calls `take` for each object of a list with its place. Reports items that are not objects or that `take` rejects.
pub(crate) fn each_item(
    items: &[Value],
    place: &str,
    import: &mut Import,
    mut take: impl FnMut(&mut Import, &str, &Object) -> Result<(), String>,
) {
    for (index, item) in items.iter().enumerate() {
        let place = format!("{place}[{index}]");
        let taken = match item.as_object() {
            Some(item) => take(import, &place, item),
            None => Err("is not an object".to_owned()),
        };
        if let Err(reason) = taken {
            import.skip(place, reason);
        }
    }
}

/// The parser's message without the position, which is reported separately.
fn words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

/// Parses a text with unpaired surrogate escapes, as written by editors that cut text at UTF-16 units; `None`
/// if it has none.
fn mended(text: &str) -> Option<Value> {
    match paired(text) {
        (_, 0) => None,
        (paired, _) => serde_json::from_str(&paired).ok(),
    }
}

pub(crate) fn text<'a>(of: &'a Object, key: &str) -> Option<&'a str> {
    of.get(key).and_then(Value::as_str)
}

pub(crate) fn owned(of: &Object, key: &str) -> Option<String> {
    text(of, key).map(str::to_owned)
}

pub(crate) fn needed<'a>(of: &'a Object, key: &str) -> Result<&'a str, String> {
    text(of, key).ok_or_else(|| format!("has no text in `{key}`"))
}

pub(crate) fn object<'a>(of: &'a Object, key: &str) -> Option<&'a Object> {
    of.get(key).and_then(Value::as_object)
}

/// A list field; empty if it is absent or not a list.
pub(crate) fn list<'a>(of: &'a Object, key: &str) -> &'a [Value] {
    of.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A boolean field; `false` if it is absent.
pub(crate) fn flag(of: &Object, key: &str) -> bool {
    of.get(key).and_then(Value::as_bool).unwrap_or(false)
}

/// A number field; `None` if it exceeds 32 bits.
pub(crate) fn number(of: &Object, key: &str) -> Option<u32> {
    of.get(key).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok())
}

/// The sum of these number fields; `None` if one is missing.
pub(crate) fn sum(of: &Object, keys: &[&str]) -> Option<u32> {
    keys.iter().map(|key| number(of, key)).try_fold(0u32, |sum, number| sum.checked_add(number?))
}

/// Usage in the form of chat completions.
pub(crate) fn function_usage(of: &Object) -> Option<Usage> {
    let usage = Usage {
        input_tokens: number(of, "prompt_tokens"),
        output_tokens: number(of, "completion_tokens"),
        cached_input_tokens: object(of, "prompt_tokens_details").and_then(|of| number(of, "cached_tokens")),
        cache_write_input_tokens: None,
        reasoning_tokens: object(of, "completion_tokens_details")
            .and_then(|of| number(of, "reasoning_tokens")),
    };
    (usage != Usage::default()).then_some(usage)
}

pub(crate) fn code(of: &Object, key: &str) -> Option<i32> {
    of.get(key).and_then(Value::as_i64).and_then(|n| i32::try_from(n).ok())
}

/// Arguments of a call: text verbatim, an object as compact JSON in its key order, `{}` if absent.
pub(crate) fn arguments(value: Option<&Value>) -> Text {
    match value {
        None | Some(Value::Null) => "{}".into(),
        Some(Value::String(text)) => text.as_str().into(),
        Some(other) => other.to_string().into(),
    }
}

/// The first millisecond of the year 10000, which ISO-8601 cannot express.
const YEAR_10000: u64 = 253_402_300_800_000;

/// Converts milliseconds since 1970 to `2026-01-02T03:04:05.678Z`; `None` outside of the years 1970 to 9999.
pub(crate) fn iso_time(millis: Option<&Value>) -> Option<String> {
    let millis = millis?.as_u64().filter(|millis| *millis < YEAR_10000)?;
    Some(humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(millis)).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_formatted_as_iso_8601() {
        let at = |millis: i64| iso_time(Some(&Value::from(millis)));
        assert_eq!(at(0).as_deref(), Some("1970-01-01T00:00:00.000Z"));
        assert_eq!(at(1_759_432_900_204).as_deref(), Some("2025-10-02T19:21:40.204Z"));
        assert_eq!(at(951_782_399_999).as_deref(), Some("2000-02-28T23:59:59.999Z"));
        assert_eq!(at(951_782_400_000).as_deref(), Some("2000-02-29T00:00:00.000Z"));
        assert_eq!(at(253_402_300_799_999).as_deref(), Some("9999-12-31T23:59:59.999Z"));
        assert_eq!(at(253_402_300_800_000), None);
        assert_eq!(at(-1), None);
    }

    #[test]
    fn unpaired_surrogate_costs_one_character() {
        let (value, was_mended) = parse(br#"{"a":"x\ud83dy\\ud83d \ud83d\ude00\u00e9"}"#).unwrap();
        assert!(was_mended);
        assert_eq!(value["a"], "x\u{fffd}y\\ud83d \u{1f600}\u{e9}");
        assert!(parse(br#"{"a":"\ud83"#).is_err());
    }

    #[test]
    fn truncated_line_is_reported_as_such() {
        assert_eq!(parse(br#"{"a": [1, 2"#).unwrap_err(), "is cut off at column 11");
        assert!(parse(b"{\"a\": \xff}").unwrap_err().contains("UTF-8 at byte 6"));
    }

    #[test]
    fn arguments_keep_text_or_key_order() {
        let value: Value = serde_json::from_str(r#"{"z": 1, "a": "é"}"#).unwrap();
        assert_eq!(&*arguments(Some(&value)), r#"{"z":1,"a":"é"}"#);
        assert_eq!(&*arguments(Some(&Value::from("{ \"broken\""))), "{ \"broken\"");
        assert_eq!(&*arguments(None), "{}");
    }
}
