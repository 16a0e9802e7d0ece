//! Reads the excerpts of a block for the checker, and looks for their lines in the messages that the block covers.

use super::source::Said;
use serde_json::Value;

/// Headings of a block's excerpts.
const HEADINGS: [&str; 2] = ["# From files, ", "# From earlier messages, "];
/// Bytes of a line of an excerpt from which it may have been cut.
const CUT_LINE: usize = 390;

/// Returns the lines of the block's excerpts that no covered message has.
pub(super) fn invented<'b, 's>(block: &'b str, covered: impl Iterator<Item = &'s Said>) -> Vec<&'b str> {
    let shown: Vec<&str> = lines(block).collect();
    if shown.is_empty() {
        return shown;
    }
    let mut said = String::new();
    for message in covered {
        said.push_str(&message.text());
        message.calls.iter().for_each(|call| said.push_str(&strings(&call.arguments)));
    }
    let said = one_line(&said);
    shown.into_iter().filter(|line| !said.contains(&one_line(line))).collect()
}

/// The lines of a block's excerpts, without headings, marks of gaps, and lines that were masked or cut.
fn lines(block: &str) -> impl Iterator<Item = &str> {
    let mut is_excerpt = false;
    let inside = block.lines().take_while(|line| !line.starts_with("</conversation-summary>"));
    inside.filter(move |line| {
        if let Some(heading) = line.strip_prefix("# ") {
            is_excerpt = HEADINGS.iter().any(|start| line.starts_with(start))
                || (is_excerpt && !heading.starts_with("User messages that are not shown whole"));
        }
        let is_ours =
            is_gap(line) || line.starts_with('[') || HEADINGS.iter().any(|start| line.starts_with(start));
        let is_changed = line.contains("[secret]") || line.contains("&lt;") || line.len() >= CUT_LINE;
        is_excerpt && !is_ours && !is_changed
    })
}

/// `true` for the mark of a gap, perhaps with the number of the next line.
fn is_gap(line: &str) -> bool {
    line.strip_prefix('…').is_some_and(|rest| rest.trim_start().bytes().all(|byte| byte.is_ascii_digit()))
}

/// All strings of arguments, those within JSON text too.
fn strings(arguments: &Value) -> String {
    match arguments {
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(inner @ (Value::Object(_) | Value::Array(_))) => strings(&inner),
            _ => format!("\n{text}\n"),
        },
        Value::Array(list) => list.iter().map(strings).collect(),
        Value::Object(map) => map.values().map(strings).collect(),
        other => format!("\n{other}\n"),
    }
}

/// A text with single blanks for white space.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
