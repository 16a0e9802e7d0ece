//! A minimal reader of Rust for tidy: separates code from comments and strings, and finds the paths that code
//! names.

/// Blanks comments and the contents of strings, keeping lines, so that text names nothing.
pub fn code_of(text: &str) -> String {
    let mut code = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            'r' if !in_word(&code) => raw_string(rest).unwrap_or(0),
            '"' => string(rest),
            '\'' => character(rest),
            _ => 0,
        };
        let (blank, after) = rest.split_at(if length == 0 { first.len_utf8() } else { length });
        if length == 0 {
            code.push(first);
        } else {
            code.extend(blank.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        }
        rest = after;
    }
    code
}

/// `true` if this code ends within a word. A lone `b` does not count: it belongs to a byte string.
fn in_word(code: &str) -> bool {
    let before = code.strip_suffix('b').filter(|before| !before.ends_with(is_word)).unwrap_or(code);
    before.ends_with(is_word)
}

/// `true` if an identifier may contain this character.
pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The length of the string that starts here, its quotes included.
fn string(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of the raw string that starts here, if one does.
fn raw_string(text: &str) -> Option<usize> {
    let hashes = text.strip_prefix('r')?.chars().take_while(|c| *c == '#').count();
    let close = format!("\"{}", "#".repeat(hashes));
    let inside = text.get(1 + hashes..)?.strip_prefix('"')?;
    Some(inside.find(&close).map_or(text.len(), |end| 2 + hashes + end + close.len()))
}

/// The length of the character that starts here; none for a lifetime.
fn character(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), _) => text.get(3..).and_then(|after| after.find('\'')).map_or(0, |end| end + 4),
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 0,
    }
}

/// The paths that code names, with line numbers: our own from `crate` on, as seen from the module `home`,
/// others as written. Groups are expanded: `use std::{fs, env}` names two.
pub fn named(code: &str, home: &[&str]) -> Vec<(usize, Vec<String>)> {
    let mut found = Vec::new();
    let mut rest = code;
    let mut before = ' ';
    while let Some(first) = rest.chars().next() {
        let word: usize = rest.chars().take_while(|c| is_word(*c)).map(char::len_utf8).sum();
        let (_, after) = rest.split_at(word.max(first.len_utf8()));
        if word > 0 && before != ':' && after.starts_with("::") {
            let line = 1 + code.len().checked_sub(rest.len()).map_or(0, |at| newlines(code, at));
            let mut paths = Vec::new();
            rest = take_path(rest, &[], &mut paths);
            found.extend(paths.into_iter().map(|path| (line, from_root(path, home))));
            before = ' ';
        } else {
            before = first;
            rest = after;
        }
    }
    found
}

fn newlines(code: &str, to: usize) -> usize {
    code.bytes().take(to).filter(|byte| *byte == b'\n').count()
}

/// Reads one path, or all paths of a group, and returns the rest of the text.
fn take_path<'a>(text: &'a str, before: &[String], found: &mut Vec<Vec<String>>) -> &'a str {
    if let Some(mut rest) = text.strip_prefix('{') {
        loop {
            rest = take_path(rest.trim_start(), before, found);
            // `as name` does not affect the named path.
            rest = rest.trim_start_matches(|c| c != ',' && c != '}');
            match rest.strip_prefix(',').map(str::trim_start) {
                Some(more) if !more.starts_with('}') => rest = more,
                Some(more) => return more.strip_prefix('}').unwrap_or(more),
                None => return rest.strip_prefix('}').unwrap_or(rest),
            }
        }
    }
    let end = text.find(|c| !is_word(c)).unwrap_or(text.len());
    let (word, after) = text.split_at(end);
    let mut path = before.to_vec();
    if !word.is_empty() && word != "self" {
        path.push(word.to_owned());
    }
    match after.strip_prefix("::") {
        Some(more) if more.starts_with(|c: char| is_word(c) || c == '{') => take_path(more, &path, found),
        _ => {
            found.push(path);
            after
        }
    }
}

/// Resolves a path from the crate's root: `super` goes up from `home`, and the library's own name is the
/// root.
fn from_root(path: Vec<String>, home: &[&str]) -> Vec<String> {
    let climbs = path.iter().take_while(|segment| *segment == "super").count();
    if climbs > 0 {
        let above = home.iter().take(home.len().saturating_sub(climbs)).map(|segment| (*segment).to_owned());
        return ["crate".to_owned()].into_iter().chain(above).chain(path.into_iter().skip(climbs)).collect();
    }
    if path.first().is_some_and(|root| root == env!("CARGO_PKG_NAME")) {
        return ["crate".to_owned()].into_iter().chain(path.into_iter().skip(1)).collect();
    }
    path
}

#[test]
fn prose_is_blanked_and_code_is_not() {
    let cases = [
        ("a // b \"c\"\nd", "a d"),
        ("a /* b\nc */ d", "a d"),
        ("f(\"a // \\\" b\") + c", "f( ) + c"),
        ("f(r\"a\\\") + c", "f( ) + c"),
        ("f(r#\"a\"b\"#) + c", "f( ) + c"),
        ("f(br#\"a\"b\"#) + c", "f(b ) + c"),
        ("f(b\"a\") + c", "f(b ) + c"),
        ("f('\"') + c + '\\'' + '\\u{1f600}'", "f( ) + c + +"),
        ("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)"),
        ("for r in rows { r#type }", "for r in rows { r#type }"),
    ];
    for (text, code) in cases {
        let found = code_of(text);
        assert_eq!(found.split_whitespace().collect::<Vec<_>>().join(" "), code, "{text}");
        assert_eq!(found.chars().count(), text.chars().count(), "{text}");
    }
}

#[test]
fn a_group_names_each_of_its_members() {
    let home = ["engine", "prompt", "item"];
    let names =
        |code| named(code, &home).into_iter().map(|(line, path)| (line, path.join("::"))).collect::<Vec<_>>();
    let two = vec![(2, "std::fs".to_owned()), (2, "std::env::var".to_owned())];
    assert_eq!(names("\nuse std::{fs, env::var as look};"), two);
    assert_eq!(names("super::super::id::CallId"), [(1, "crate::engine::id::CallId".to_owned())]);
    assert_eq!(names("use crate::engine::prompt::{self};"), [(1, "crate::engine::prompt".to_owned())]);
    assert_eq!(names("use super::*;"), [(1, "crate::engine::prompt".to_owned())]);
    assert_eq!(names("a::b::<c::d>(e)"), [(1, "a::b".to_owned()), (1, "c::d".to_owned())]);
    assert_eq!(names("use a::{\n  b::{c, d},\n  e,\n};").len(), 3);
}
