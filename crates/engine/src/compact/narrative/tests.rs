//! Thinking before a summary: what is left of an answer, and how much of it is looked at.

use super::*;
use proptest::prelude::*;
use std::cell::Cell;

thread_local! {
    /// Places that were looked at because a tag may begin there.
    pub(super) static LOOKS: Cell<usize> = const { Cell::new(0) };
}

/// The same by its definition: the first element of thinking is taken out until there is none before the summary.
fn one_at_a_time(answer: &str) -> String {
    let mut kept = String::new();
    let mut rest = answer;
    while let Some((before, after)) = first_thought(rest) {
        kept.push_str(before);
        rest = after;
    }
    kept.push_str(rest);
    if says_something(&kept) { kept } else { answer.to_owned() }
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
fn each_tag_of_thinking_is_looked_at_once() {
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
    fn one_pass_leaves_what_one_at_a_time_does(
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
