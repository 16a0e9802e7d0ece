//! Removal of thinking before a summary: the result, and the number of positions inspected.

use super::*;
use proptest::prelude::*;
use std::cell::Cell;

thread_local! {
    /// Positions that were inspected because a tag may start there.
    pub(super) static LOOKS: Cell<usize> = const { Cell::new(0) };
}

/// Reference for `without_thinking`: removes the first thinking element until none precedes the summary.
fn one_at_a_time(answer: &str) -> String {
    let mut kept = String::new();
    let mut rest = answer;
    while let Some((before, after)) = first_thought(rest) {
        kept.push_str(before);
        rest = after;
    }
    kept.push_str(rest);
    if has_text(&kept) { kept } else { answer.to_owned() }
}

fn first_thought(text: &str) -> Option<(&str, &str)> {
    let summary = tags(text, &SUMMARY_TAGS).find(|tag| !tag.closes && tag.starts_line);
    let end = summary.map_or(text.len(), |tag| tag.start);
    let mut all = tags(text, &OUTER_TAGS[SUMMARY_TAGS.len()..]);
    let first = all.find(|tag| tag.starts_line && (!tag.closes || tag.ends_line))?;
    if first.start >= end {
        return None;
    }
    if first.closes {
        return Some(("", text.get(first.end..)?));
    }
    let close = all.find(|tag| tag.closes && tag.name == first.name)?;
    Some((text.get(..first.start)?, text.get(close.end..)?))
}

#[test]
fn each_thinking_tag_is_inspected_once() {
    let summary = "<summary>\nIt is done.\n</summary>";
    for thought in ["<think></think>", "<think>\n</think>\n", "</think>\n", "<think <think", "x<think>\n"] {
        let answer = format!("{}{summary}", thought.repeat(500));
        LOOKS.set(0);
        without_thinking(&answer);
        let tags = answer.matches('<').count();
        assert!(LOOKS.get() <= tags, "{thought:?}: {} looks at {tags} tags", LOOKS.get());
    }
}

proptest! {
    #[test]
    fn single_pass_matches_the_reference(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "<think>", "</think>", "<analysis>", "</analysis>", "<THINK a=1>", "<summary>", "</summary>",
                "<think ", "<conversation-summary>", "</", ">", "\n", "\r\n", " ", "words", "é", "```", "## Goal",
            ]),
            0..24,
        ),
    ) {
        let answer = pieces.concat();
        prop_assert_eq!(without_thinking(&answer), one_at_a_time(&answer));
    }
}
