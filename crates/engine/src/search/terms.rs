//! The terms of a text: words, identifiers, and the parts of identifiers, in lower case. An index that splits at white
//! space and at ASCII punctuation leaves them as they are.

use super::words::folded;

/// The most characters of a term; the rest of a longer one, such as encoded data, is left out.
const MOST_CHARS: usize = 40;
/// The first character of scripts without blanks between words; each character is a term.
const WITHOUT_BLANKS: char = '\u{2e80}';

/// The terms of a text in order, with repetitions. An identifier such as `readFile` or `read_file` gives its parts and
/// then itself without separators.
pub fn terms(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    for run in text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|run| !run.is_empty()) {
        let first = out.len();
        let mut part = String::new();
        let mut chars = run.chars().peekable();
        let mut last = None;
        while let Some(c) = chars.next() {
            let is_boundary = c == '_'
                || c >= WITHOUT_BLANKS
                || (c.is_uppercase()
                    && last.is_some_and(|last: char| {
                        last.is_lowercase()
                            || (last.is_uppercase() && chars.peek().is_some_and(|c| c.is_lowercase()))
                    }));
            if is_boundary {
                push(&mut out, &mut part);
            }
            if c != '_' {
                part.push(c);
            }
            if c >= WITHOUT_BLANKS {
                push(&mut out, &mut part);
            }
            last = Some(c);
        }
        push(&mut out, &mut part);
        if out.len() > first + 1 && !run.contains(|c: char| c >= WITHOUT_BLANKS) {
            let mut whole: String = run.chars().filter(|c| *c != '_').collect();
            push(&mut out, &mut whole);
        }
    }
    out
}

fn push(out: &mut Vec<String>, part: &mut String) {
    if !part.is_empty() {
        let start: String = part.chars().take(MOST_CHARS).collect();
        out.push(folded(&start));
        part.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_give_their_parts_and_themselves() {
        let found = |text: &str| terms(text).join(" ");
        assert_eq!(
            found("Call updatePendingMessages now"),
            "call update pending messages updatependingmessages now"
        );
        assert_eq!(found("src/read_file.rs:12 --dry-run"), "src read file readfile rs 12 dry run");
        assert_eq!(found("parseHTTPBody ERR_502 a3f9"), "parse http body parsehttpbody err 502 err502 a3f9");
        assert_eq!(found("é漢字 İx __init__"), "é 漢 字 İx init");
        assert_eq!(found(" \u{0}\"()* =>"), "");
        assert_eq!(terms(&"w".repeat(1 << 20)), ["w".repeat(MOST_CHARS)]);
    }
}
