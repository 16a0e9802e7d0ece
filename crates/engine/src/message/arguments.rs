//! The arguments of a call as a prompt shows them where they are too large: each long string is cut to head and tail, so
//! that they stay JSON of the same shape.

use super::cut::head_and_tail_noting;
use serde_json::Value;

/// Returns the bytes of the longest string in the arguments, or of the arguments if they are not JSON.
pub(crate) fn longest_string(arguments: &str) -> usize {
    match serde_json::from_str(arguments) {
        Ok(value) => longest_in(&value),
        Err(_) => arguments.len(),
    }
}

fn longest_in(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(list) => list.iter().map(longest_in).max().unwrap_or_default(),
        Value::Object(map) => map.values().map(longest_in).max().unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// Returns the arguments with at most `first` bytes of the head and `last` bytes of the tail of each string, and a note
/// between them. Arguments that are not JSON are cut as one string. `reference` is the id for fetching the whole message,
/// if the note is to state it.
pub(crate) fn shortened(arguments: &str, first: usize, last: usize, reference: Option<&str>) -> String {
    let fetch = reference.map_or_else(String::new, |id| format!("; all of it can be recalled as \"{id}\""));
    let cut = |text: &str| {
        let short = head_and_tail_noting(text, first, last, &fetch);
        (short.len() < text.len()).then_some(short)
    };
    match serde_json::from_str(arguments) {
        Ok(mut value) => {
            cut_strings(&mut value, &cut);
            value.to_string()
        }
        Err(_) => cut(arguments).unwrap_or_else(|| arguments.to_owned()),
    }
}

fn cut_strings(value: &mut Value, cut: &dyn Fn(&str) -> Option<String>) {
    match value {
        Value::String(text) => {
            if let Some(short) = cut(text) {
                *text = short;
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| cut_strings(value, cut)),
        Value::Object(map) => map.values_mut().for_each(|value| cut_strings(value, cut)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_at_any_depth_are_cut_and_the_shape_stays() {
        let long = "a long line of a file\n".repeat(50);
        let arguments =
            serde_json::json!({ "path": "a.rs", "edits": [{ "new": long, "at": 3 }], "all": true });
        let short = shortened(&arguments.to_string(), 40, 40, Some("s/m1"));
        let mut short: Value = serde_json::from_str(&short).expect("JSON");
        let text = short["edits"][0]["new"].take();
        let text = text.as_str().expect("a string");
        assert!(text.starts_with("a long line") && text.ends_with("of a file\n"), "{text}");
        assert!(
            text.contains("1020 of 1100 bytes not shown; all of it can be recalled as \"s/m1\""),
            "{text}"
        );
        assert_eq!(
            short,
            serde_json::json!({ "path": "a.rs", "edits": [{ "new": null, "at": 3 }], "all": true })
        );
    }

    #[test]
    fn arguments_that_are_not_json_are_cut_as_one_string() {
        let broken = format!("{{\"text\": \"{}", "x".repeat(2000));
        let short = shortened(&broken, 20, 20, None);
        assert!(short.starts_with("{\"text\": \"xx") && short.len() < 120, "{short}");
        assert_eq!((longest_string(&broken), longest_string("{\"a\":[\"xyz\"]}")), (broken.len(), 3));
    }
}
