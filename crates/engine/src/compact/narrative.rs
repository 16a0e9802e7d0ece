//! Extracts the narrative from a model's answer of any shape: in the summary element or without one, after an analysis,
//! in a code fence, with headings of any level. Models follow the form only roughly, and a summary that is refused for
//! its form is paid for and lost. `accept` decides whether the narrative is used.

use super::template::{BLOCK_TAG, SECTIONS};
use std::borrow::Cow;

/// Elements that may hold the narrative; the first is the one that is asked for.
const SUMMARY_TAGS: [&str; 2] = ["summary", BLOCK_TAG];
/// Headings that models write in place of a requested one, with that one, in lower case.
const LIKE: &[(&str, &str)] = &[
    ("primary request and intent", "## Goal"),
    ("primary request", "## Goal"),
    ("request", "## Goal"),
    ("task", "## Goal"),
    ("objective", "## Goal"),
    ("goals", "## Goal"),
    ("requirements", "## Constraints"),
    ("constraints and corrections", "## Constraints"),
    ("user constraints", "## Constraints"),
    ("user feedback", "## Constraints"),
    ("key decisions", "## Decisions"),
    ("decisions made", "## Decisions"),
    ("key findings", "## Findings"),
    ("key technical concepts", "## Findings"),
    ("discoveries", "## Findings"),
    ("errors and fixes", "## Dead ends"),
    ("errors and dead ends", "## Dead ends"),
    ("failed approaches", "## Dead ends"),
    ("errors", "## Dead ends"),
    ("current state", "## State"),
    ("status", "## State"),
    ("progress", "## State"),
    ("done", "## State"),
    ("current work", "## In progress"),
    ("current task", "## In progress"),
    ("next", "## Next steps"),
    ("next step", "## Next steps"),
    ("optional next step", "## Next steps"),
    ("pending tasks", "## Next steps"),
    ("remaining work", "## Next steps"),
    ("todo", "## Next steps"),
    ("open issues", "## Open questions"),
    ("questions", "## Open questions"),
];
/// Summary elements, then the elements in which models think before they answer.
const OUTER_TAGS: [&str; 7] =
    [SUMMARY_TAGS[0], SUMMARY_TAGS[1], "analysis", "thinking", "think", "reasoning", "scratchpad"];
/// Delimiters of a code block.
const FENCES: [&str; 2] = ["```", "~~~"];

/// Returns the narrative of an answer, its sections at heading level two; `None` if it has no text but headings.
pub fn narrative(answer: &str) -> Option<String> {
    let answer = without_thinking(unfenced(answer));
    let mut text: &str = &answer;
    // An element that is empty or only repeats the form is not the answer; the text after it may be.
    while let Some((inside, after)) = element(text) {
        if has_text(inside) {
            text = inside;
            break;
        }
        text = after;
    }
    let text = untagged(text);
    let text = with_headings(unfenced(&text).trim());
    has_text(&text).then_some(text)
}

/// An opening or closing tag of an element.
#[derive(Clone, Copy)]
struct Tag<'t> {
    name: &'t str,
    closes: bool,
    start: usize,
    end: usize,
    /// `true` if only white space precedes it on its line.
    starts_line: bool,
    /// `true` if only white space follows it on its line.
    ends_line: bool,
}

/// Returns the tags of these names in a text, in order, ignoring case and attributes.
fn tags<'t>(text: &'t str, names: &'t [&'t str]) -> impl Iterator<Item = Tag<'t>> {
    // The next end of a tag or line. Searched again only once passed: many tags may be on one line.
    let mut stop = 0;
    text.match_indices('<').filter_map(move |(start, _)| {
        // Counted for the test that a broken answer with many tags takes one pass.
        #[cfg(test)]
        tests::LOOKS.set(tests::LOOKS.get() + 1);
        let rest = text.get(start + 1..)?;
        let (closes, rest) = rest.strip_prefix('/').map_or((false, rest), |rest| (true, rest));
        let is_tag_of = |name: &&&str| {
            let follows = rest.get(name.len()..).and_then(|behind| behind.chars().next());
            let is_named = rest.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name));
            is_named && follows.is_some_and(|c| c == '>' || c.is_whitespace())
        };
        let name = names.iter().find(is_tag_of)?;
        let at = text.len() - rest.len();
        if stop < at {
            stop = rest.find(['>', '\n']).map_or(text.len(), |found| at + found);
        }
        let behind = text.get(stop..)?.strip_prefix('>')?;
        let end = stop + 1;
        let behind = behind.trim_start_matches(is_space);
        let ends_line = behind.is_empty() || behind.starts_with('\n');
        Some(Tag { name, closes, start, end, starts_line: is_line_start(text.get(..start)?), ends_line })
    })
}

/// `true` for white space other than a line end.
fn is_space(c: char) -> bool {
    c != '\n' && c.is_whitespace()
}

/// `true` if the last line of `before` has only white space.
fn is_line_start(before: &str) -> bool {
    let before = before.trim_end_matches(is_space);
    before.is_empty() || before.ends_with('\n')
}

/// Returns the content of the summary element and the text after it. An unclosed element holds the rest.
fn element(text: &str) -> Option<(&str, &str)> {
    SUMMARY_TAGS.iter().find_map(|name| {
        let names = std::slice::from_ref(name);
        let opens = || tags(text, names).filter(|tag| !tag.closes);
        // A preamble may mention the tag within a line.
        let open = opens().find(|tag| tag.starts_line).or_else(|| opens().next())?;
        let close = tags(text, names).filter(|tag| tag.closes && tag.start >= open.end).last();
        let (end, after) = close.map_or((text.len(), text.len()), |close| (close.start, close.end));
        Some((text.get(open.end..end)?, text.get(after..)?))
    })
}

/// Removes thinking elements before the summary; returns the whole answer if no text is left.
fn without_thinking(answer: &str) -> Cow<'_, str> {
    let mut kept = String::new();
    let mut from = 0;
    let mut open: Option<Tag<'_>> = None;
    for tag in tags(answer, &OUTER_TAGS) {
        if let Some(opened) = open {
            if tag.closes && tag.name == opened.name {
                kept.push_str(answer.get(from..opened.start).unwrap_or_default());
                from = tag.end;
                open = None;
            }
            continue;
        }
        // Text right after a thinking element counts as the start of a line.
        let Some(true) = answer.get(from..tag.start).map(is_line_start) else { continue };
        match (SUMMARY_TAGS.contains(&tag.name), tag.closes) {
            (true, false) => break,
            (false, false) => open = Some(tag),
            // The model's chat template opened it, so that the answer has only its end.
            (false, true) if tag.ends_line => from = tag.end,
            (_, true) => {}
        }
    }
    kept.push_str(answer.get(from..).unwrap_or_default());
    if has_text(&kept) { Cow::Owned(kept) } else { Cow::Borrowed(answer) }
}

/// Removes leftover tags of summary elements, nested or unpaired, and keeps their content.
fn untagged(text: &str) -> String {
    let mut kept = String::new();
    let mut from = 0;
    for tag in tags(text, &SUMMARY_TAGS) {
        kept.push_str(text.get(from..tag.start).unwrap_or_default());
        from = tag.end;
    }
    kept.push_str(text.get(from..).unwrap_or_default());
    kept
}

/// Returns the content of a code fence around the whole text, else the text.
fn unfenced(text: &str) -> &str {
    let trimmed = text.trim();
    let Some(fence) = FENCES.iter().find(|fence| trimmed.starts_with(**fence)) else { return text };
    let Some((first, rest)) = trimmed.split_once('\n') else { return text };
    let Some(inside) = rest.trim_end().strip_suffix(fence) else { return text };
    let is_alone = inside.is_empty() || inside.ends_with('\n');
    // Fences inside it come in pairs, one with the name of a language and one without.
    let mut depth = 0_i32;
    for line in inside.lines().filter_map(|line| line.trim().strip_prefix(fence)) {
        depth += if line.is_empty() { -1 } else { 1 };
        if depth < 0 {
            return text;
        }
    }
    let is_opening = !first.trim_start_matches(['`', '~']).contains(['`', '~']);
    if is_alone && depth == 0 && is_opening { inside } else { text }
}

/// Kind of a line.
enum Line<'t> {
    /// The heading of a requested section.
    Section(&'static str),
    /// Another heading of the first level.
    Title(&'t str),
    /// Another heading.
    Heading,
    /// Any other line, also within code; `true` if it has text and is no fence.
    Text(bool),
}

/// Returns the lines of a text with their kinds.
fn lines(text: &str) -> impl Iterator<Item = (&str, Line<'_>)> {
    let mut open: Option<&str> = None;
    text.lines().map(move |line| {
        let fence = FENCES.iter().find(|fence| line.trim_start().starts_with(**fence)).copied();
        let kind = match (open, fence) {
            (None, Some(_)) => {
                open = fence;
                Line::Text(false)
            }
            (Some(opened), Some(fence)) if opened == fence => {
                open = None;
                Line::Text(false)
            }
            (Some(_), _) => Line::Text(has_word(line)),
            (None, None) => kind(line),
        };
        (line, kind)
    })
}

fn kind(line: &str) -> Line<'_> {
    if let Some(section) = section(line) {
        return Line::Section(section);
    }
    let marks = line.trim_start().len() - line.trim_start().trim_start_matches('#').len();
    match line.trim_start().get(marks..).and_then(|rest| rest.strip_prefix(' ')) {
        Some(title) if marks == 1 => Line::Title(title.trim()),
        Some(_) if (2..=6).contains(&marks) => Line::Heading,
        _ => Line::Text(has_word(line)),
    }
}

fn has_word(line: &str) -> bool {
    line.chars().any(char::is_alphanumeric)
}

/// Returns the section whose heading a line is: its name with marks of a heading, emphasis or list, or with a colon.
fn section(line: &str) -> Option<&'static str> {
    let bare = |text: &str| text.trim().trim_matches(['#', '*', '_', ':', ' ']).to_owned();
    let name = bare(line);
    let number = name.trim_start_matches(|c: char| c.is_ascii_digit());
    let unnumbered = number.strip_prefix(['.', ')']).filter(|_| number.len() < name.len());
    let name = unnumbered.map_or(name.clone(), bare);
    // Without any mark the words are text, not a heading.
    if name == line.trim() {
        return None;
    }
    let name = name.replace(['-', '_'], " ");
    named(&name)
}

/// Returns the section that a heading names, by its own or a similar name.
fn named(name: &str) -> Option<&'static str> {
    let own =
        SECTIONS.iter().copied().find(|known| known.trim_start_matches("## ").eq_ignore_ascii_case(name));
    own.or_else(|| LIKE.iter().find(|(like, _)| like.eq_ignore_ascii_case(name)).map(|(_, own)| *own))
}

/// Returns the section and the text of a line that has both: a bold name, then text.
fn section_with_text(line: &str) -> Option<(&'static str, &str)> {
    let bold = line.trim_start_matches(['-', '*', ' ', '\t']);
    let is_bold = line.strip_suffix(bold).is_some_and(|marks| marks.ends_with("**"));
    let (name, text) = bold.split_once("**").filter(|_| is_bold)?;
    let text = text.trim_start_matches([':', ' ', '—', '-']);
    let section = named(name.trim_matches([':', ' ']))?;
    (!text.trim().is_empty()).then_some((section, text))
}

fn has_text(text: &str) -> bool {
    lines(text).any(|(_, line)| matches!(line, Line::Text(true)))
}

/// Returns the text with the requested headings in their requested form, and none of level one: in the block those are
/// the ledger's.
fn with_headings(text: &str) -> String {
    let line = |(line, kind): (&str, Line<'_>)| match kind {
        Line::Section(section) => section.to_owned(),
        Line::Title(title) => format!("## {title}"),
        Line::Heading | Line::Text(false) => line.to_owned(),
        Line::Text(true) => match section_with_text(line) {
            Some((section, text)) => format!("{section}\n{text}"),
            None => line.to_owned(),
        },
    };
    lines(text).map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
