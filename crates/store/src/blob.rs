//! Serialized values: JSON text with large strings taken out, and check sums over rows. Pure; the backend
//! stores the strings.
//!
//! A string of more than [`LARGE`] bytes becomes `{"$blob": hash}`. An object that looks like a reference but
//! is none gets another `$` before its key, so content is never mistaken for one.

use engine::text::{head, sha256_hex};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::mem;

/// The longest string that stays in its row, in bytes.
pub(super) const LARGE: usize = 16 * 1024;

/// The key of a reference.
const KEY: &str = "$blob";
/// The end of the key in JSON text; a text without it has no reference.
pub(super) const KEY_END: &str = "$blob\"";

/// A string that is stored separately, under the hash of its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Blob {
    /// SHA-256 in hexadecimal.
    pub hash: String,
    /// The string itself.
    pub text: String,
}

impl Blob {
    /// Hashes a string.
    pub fn new(text: String) -> Self {
        Self { hash: sha256_hex(text.as_bytes()), text }
    }
}

/// A hash of a text under a key, in eight letters and digits. Two texts have the same hash in one of 2^41 cases.
pub(super) fn keyed_hash(key: &[u8], text: &str) -> String {
    let mut rest = keyed_number(key, text);
    let digits = std::iter::repeat_with(|| {
        let digit = char::from_digit((rest % 36) as u32, 36).unwrap_or_default();
        rest /= 36;
        digit
    });
    digits.take(8).collect()
}

/// A hash of a text under a key.
pub(super) fn keyed_number(key: &[u8], text: &str) -> u64 {
    let hash = sha256_hex(&[key, text.as_bytes()].concat());
    u64::from_str_radix(head(&hash, 16), 16).unwrap_or_default()
}

/// `true` if a JSON text may have a reference.
pub(super) fn has_reference(text: &str) -> bool {
    text.contains(KEY_END)
}

/// Serializes a value as JSON text; returns it with the strings taken out.
pub(super) fn split(value: &impl Serialize) -> serde_json::Result<(String, Vec<Blob>)> {
    let mut blobs = Vec::new();
    let text = serde_json::to_string(value)?;
    if text.len() <= LARGE && !has_reference(&text) {
        return Ok((text, blobs));
    }
    drop(text);
    let mut value = serde_json::to_value(value)?;
    take_out(&mut value, &mut blobs);
    Ok((value.to_string(), blobs))
}

/// Deserializes a value; `fetch` returns the string of a hash, or the reason why it cannot.
pub(super) fn join<T: DeserializeOwned>(
    text: &str,
    fetch: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<T, String> {
    if !has_reference(text) {
        return serde_json::from_str(text).map_err(|error| error.to_string());
    }
    let mut value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    put_back(&mut value, fetch)?;
    serde_json::from_value(value).map_err(|error| error.to_string())
}

fn take_out(value: &mut Value, blobs: &mut Vec<Blob>) {
    match value {
        Value::String(text) if text.len() > LARGE => {
            let blob = Blob::new(mem::take(text));
            *value = Value::Object(Map::from_iter([(KEY.to_owned(), Value::String(blob.hash.clone()))]));
            blobs.push(blob);
        }
        Value::Array(list) => list.iter_mut().for_each(|value| take_out(value, blobs)),
        Value::Object(map) => {
            map.values_mut().for_each(|value| take_out(value, blobs));
            if let Some((key, inner)) = looks_like_reference(map) {
                *map = Map::from_iter([(format!("${key}"), inner)]);
            }
        }
        _ => {}
    }
}

fn put_back(value: &mut Value, fetch: &mut dyn FnMut(&str) -> Result<String, String>) -> Result<(), String> {
    match value {
        Value::Array(list) => list.iter_mut().try_for_each(|value| put_back(value, fetch)),
        Value::Object(map) => {
            let Some((key, mut inner)) = looks_like_reference(map) else {
                return map.values_mut().try_for_each(|value| put_back(value, fetch));
            };
            if key == KEY {
                let hash = inner.as_str().ok_or("a reference without a hash")?;
                *value = Value::String(fetch(hash)?);
                return Ok(());
            }
            put_back(&mut inner, fetch)?;
            *map = Map::from_iter([(key.replacen('$', "", 1), inner)]);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Takes the only entry out of an object if its key is `$blob` with any number of `$` before it.
fn looks_like_reference(map: &mut Map<String, Value>) -> Option<(String, Value)> {
    let key = map.keys().next().filter(|_| map.len() == 1)?.clone();
    let is_one = key.strip_suffix(KEY).is_some_and(|before| before.chars().all(|c| c == '$'));
    let inner = map.get_mut(&key).filter(|_| is_one)?.take();
    Some((key, inner))
}

/// A check sum over the columns of a row: 64-bit FNV-1a as SQLite's signed integer. Each step is a bijection,
/// so every change of a single byte is detected. Against accidents only.
pub(super) fn check_sum(columns: &[&[u8]]) -> i64 {
    let mut state: u64 = 0xcbf2_9ce4_8422_2325;
    let mut eat = |bytes: &[u8]| {
        for byte in bytes {
            state = (state ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for column in columns {
        eat(&(column.len() as u64).to_le_bytes());
        eat(column);
    }
    state.cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn there_and_back(value: &Value) -> (String, usize) {
        let (text, blobs) = split(value).unwrap();
        let mut fetch = |hash: &str| {
            let found = blobs.iter().find(|blob| blob.hash == hash);
            found.map(|blob| blob.text.clone()).ok_or_else(|| "not there".to_owned())
        };
        assert_eq!(join::<Value>(&text, &mut fetch).as_ref(), Ok(value));
        (text, blobs.len())
    }

    #[test]
    fn objects_that_look_like_references_survive() {
        let hash = sha256_hex(b"x");
        for value in [
            json!({ "$blob": hash }),
            json!({ "$$blob": hash }),
            json!({ "$blob": { "$blob": "y" } }),
            json!([{ "$$$blob": [{ "$blob": null }] }]),
            json!({ "$blob": 1, "other": 2 }),
            json!({ "x$blob": "\"$blob\"" }),
            json!("{\"$blob\":\"x\"}"),
        ] {
            assert_eq!(there_and_back(&value).1, 0, "{value}");
        }
    }

    #[test]
    fn large_strings_are_taken_out_and_come_back() {
        let large = "漢\u{0}\n".repeat(LARGE);
        let value =
            json!({ "$blob": [large.clone(), "small", { "text": large.clone() }], "k": "a".repeat(LARGE) });
        let (text, blobs) = there_and_back(&value);
        assert_eq!(blobs, 2);
        assert!(text.len() < 2 * LARGE);
        assert_eq!(there_and_back(&json!({ "$blob": large })).1, 1);
    }

    #[test]
    fn a_reference_to_nothing_says_so() {
        let text = json!({ "$blob": "gone" }).to_string();
        let found = join::<Value>(&text, &mut |hash| Err(format!("{hash} is not there")));
        assert_eq!(found, Err("gone is not there".to_owned()));
    }

    #[test]
    fn no_flipped_bit_goes_unseen() {
        let row = b"some row with a body".to_vec();
        let sum = check_sum(&[b"key", &row]);
        for bit in 0..row.len() * 8 {
            let mut flipped = row.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(check_sum(&[b"key", &flipped]), sum, "bit {bit}");
        }
        assert_ne!(check_sum(&[b"a", b"b"]), check_sum(&[b"ab", b""]));
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            proptest::num::f64::NORMAL.prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
            Just(Value::from("é".repeat(LARGE))),
        ];
        let key = prop_oneof![Just("$blob".to_owned()), Just("$$blob".to_owned()), "[a$]{0,3}"];
        leaf.prop_recursive(4, 24, 3, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map(key.clone(), inner, 0..3)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_value_comes_back(value in value()) {
            there_and_back(&value);
        }
    }
}
