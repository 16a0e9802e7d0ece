//! The history limiter of document 001: repeated content is folded, old tool results are shortened. Whole rounds are
//! dropped by the ladder, pairs are mended by `history`. Each function proposes; nothing is changed here.

use super::history::{acted_on, joined};
use crate::engine::compact::plan::Segment;
use crate::engine::compact::record::Action;
use crate::engine::id::Ordinal;
use crate::engine::message::{Body, Content};
use crate::engine::tokens::{PER_MESSAGE, TokenCount};
use crate::engine::transcript::Transcript;
use std::collections::BTreeMap;

/// A result shorter than this many bytes is not worth folding.
const LEAST_REPEAT: usize = 200;
/// Bytes around a cut that the note about it takes; shortening less than this gains nothing.
const NOTE: usize = 120;

/// Folds results and context files whose text stands again, in the same range, in a newer message (source: 001).
pub fn fold_repeats(
    transcript: &Transcript,
    from: Ordinal,
    to: Ordinal,
    counter: &dyn TokenCount,
) -> BTreeMap<Ordinal, Action> {
    let mut newest: BTreeMap<String, Ordinal> = BTreeMap::new();
    let mut actions = BTreeMap::new();
    for message in transcript.range(from, Ordinal(u32::MAX)).iter().rev() {
        let content = match &message.body {
            Body::Tool(result) if !transcript.is_stray(message.ord) => &result.content,
            _ => continue,
        };
        let text = joined(content);
        if text.len() < LEAST_REPEAT {
            continue;
        }
        match newest.get(&text) {
            Some(newer) if message.ord <= to => {
                let mut action = Action::Repeat { newer: *newer, tokens: 0 };
                set_tokens(&mut action, content, counter);
                actions.insert(message.ord, action);
            }
            Some(_) => {}
            None => {
                newest.insert(text, message.ord);
            }
        }
    }
    actions
}

/// Shortens every result of a round that is longer than its head and its tail together.
pub fn shorten_round(
    transcript: &Transcript,
    segment: &Segment,
    keep: (u32, u32),
    counter: &dyn TokenCount,
) -> BTreeMap<Ordinal, Action> {
    let Some(round) = segment.round.and_then(|index| transcript.rounds().get(index)) else {
        return BTreeMap::new();
    };
    let results = round.results.iter().flatten();
    results.filter_map(|ord| Some((*ord, shorten(transcript, *ord, keep, counter)?))).collect()
}

/// Shortens one result to `head` and `tail` bytes; nothing where that would not make it smaller.
pub fn shorten(
    transcript: &Transcript,
    ord: Ordinal,
    (head, tail): (u32, u32),
    counter: &dyn TokenCount,
) -> Option<Action> {
    let message = transcript.message(ord)?;
    let Body::Tool(result) = &message.body else { return None };
    let has_picture = result.content.iter().any(|part| matches!(part, Content::Image(_)));
    if !has_picture && joined(&result.content).len() <= (head + tail) as usize + NOTE {
        return None;
    }
    let mut action = Action::Shorten { head, tail, tokens: 0 };
    set_tokens(&mut action, &result.content, counter);
    (action.tokens() < message.tokens).then_some(action)
}

/// Cuts the largest of these results to one common size, as large as `fits` allows, and never below `least` bytes.
pub fn level(
    transcript: &Transcript,
    results: &[Ordinal],
    least: usize,
    counter: &dyn TokenCount,
    fits: impl Fn(&BTreeMap<Ordinal, Action>) -> bool,
) -> BTreeMap<Ordinal, Action> {
    let bytes_of = |ord: &Ordinal| match transcript.message(*ord).map(|message| &message.body) {
        Some(Body::Tool(result)) => joined(&result.content).len(),
        _ => 0,
    };
    let mut size = results.iter().map(bytes_of).max().unwrap_or_default();
    let mut actions = BTreeMap::new();
    while size > least && !fits(&actions) {
        size = (size * 3 / 4).max(least);
        let half = u32::try_from(size / 2).unwrap_or(u32::MAX);
        let shortened =
            results.iter().filter_map(|ord| Some((*ord, shorten(transcript, *ord, (half, half), counter)?)));
        actions.extend(shortened);
    }
    actions
}

fn set_tokens(action: &mut Action, content: &[Content], counter: &dyn TokenCount) {
    let counted = counter.count(&acted_on(content, *action)) + PER_MESSAGE;
    match action {
        Action::Shorten { tokens, .. } | Action::Repeat { tokens, .. } => *tokens = counted,
    }
}
