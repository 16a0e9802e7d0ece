//! The history limiter: repeated content is folded, old tool results are shortened. The ladder drops whole
//! rounds; `history` completes broken pairs. Each function returns proposals and changes nothing.

use super::history::{REPEATED, acted_on, arguments_acted_on};
use super::segment::Segment;
use crate::compact::record::Action;
use crate::id::{CallId, Ordinal};
use crate::message::arguments::longest_string;
use crate::message::cut::joined;
use crate::message::{Body, Content, ToolCall};
use crate::tokens::{PER_MESSAGE, TokenCount};
use crate::transcript::Transcript;
use std::collections::BTreeMap;

/// Bytes of the shortest result worth folding.
const LEAST_REPEAT: usize = 200;
/// Bytes of the note at a cut; shortening by less gains nothing.
const NOTE: usize = 120;

/// Folds results and context files whose content a newer message repeats.
pub(crate) fn fold_repeats(
    transcript: &Transcript,
    from: Ordinal,
    to: Ordinal,
    counter: &dyn TokenCount,
) -> BTreeMap<Ordinal, Action> {
    let mut newest: BTreeMap<String, Ordinal> = BTreeMap::new();
    let mut actions = BTreeMap::new();
    let range = transcript.range(from, Ordinal(u32::MAX)).iter().rev();
    for message in range.filter(|message| !transcript.is_excluded(message.ord)) {
        let texts: Vec<String> = match &message.body {
            Body::Tool(result) if !transcript.is_stray(message.ord) => vec![joined(&result.content)],
            // Its references need the older copy.
            Body::User(_) if message.shown.is_some() => continue,
            Body::User(parts) => {
                context_files(parts).map(|file| joined(std::slice::from_ref(file))).collect()
            }
            _ => continue,
        };
        if texts.is_empty() || texts.iter().any(|text| text.len() < LEAST_REPEAT) {
            continue;
        }
        match texts.iter().map(|text| newest.get(text)).collect::<Option<Vec<_>>>() {
            Some(newer) if message.ord <= to => {
                let newer = newer.first().map_or(message.ord, |newer| **newer);
                let tokens = match &message.body {
                    Body::User(parts) => message.tokens - files_tokens(parts, counter),
                    _ => counter.count(REPEATED) + PER_MESSAGE,
                };
                actions.insert(message.ord, Action::Repeat { newer, tokens });
            }
            Some(_) => {}
            None => texts.into_iter().for_each(|text| {
                newest.entry(text).or_insert(message.ord);
            }),
        }
    }
    actions
}

fn context_files(parts: &[Content]) -> impl Iterator<Item = &Content> {
    parts.iter().filter(|part| matches!(part, Content::ContextFile { .. }))
}

/// Tokens saved by folding all context files of a message.
fn files_tokens(parts: &[Content], counter: &dyn TokenCount) -> u32 {
    let note = counter.count(REPEATED);
    let files = context_files(parts).filter_map(Content::text);
    files.map(|text| counter.count(text).saturating_sub(note)).sum()
}

/// Shortens every result of a round that is longer than its head and tail together.
pub(crate) fn shorten_round(
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

/// Shortens one result, or the strings of an answer's arguments, to `head` and `tail` bytes; `None` if that does not save
/// tokens.
fn shorten(
    transcript: &Transcript,
    ord: Ordinal,
    (head, tail): (u32, u32),
    counter: &dyn TokenCount,
) -> Option<Action> {
    let message = transcript.message(ord)?;
    let result = match &message.body {
        Body::Tool(result) => result,
        Body::Assistant { calls, .. } => {
            let named = transcript.names_results();
            let action = Action::Shorten { head, tail, tokens: 0, named };
            let is_long = |call: &ToolCall| longest_string(&call.arguments) > (head + tail) as usize + NOTE;
            if !calls.iter().any(is_long) {
                return None;
            }
            // The note in a string may have more tokens than what it stands for.
            let (mut whole, mut short) = (0, 0);
            for call in calls {
                whole += counter.count(&call.arguments);
                short += counter.count(&arguments_acted_on(&call.arguments, action, message.id.as_str()));
            }
            let tokens = (message.tokens + short).saturating_sub(whole);
            return (tokens < message.tokens).then_some(Action::Shorten { head, tail, tokens, named });
        }
        Body::User(_) | Body::Event { .. } => return None,
    };
    let has_picture = result.content.iter().any(|part| matches!(part, Content::Image(_)));
    if !has_picture && joined(&result.content).len() <= (head + tail) as usize + NOTE {
        return None;
    }
    let named = transcript.names_results();
    let is_told = named || message.shown.is_some_and(|cut| !cut.unnamed);
    let call = is_told.then(|| transcript.call_answered_by(ord)).flatten();
    let action = Action::Shorten { head, tail, tokens: 0, named };
    let text = acted_on(&result.content, action, call.map(CallId::as_str));
    let tokens = counter.count(&text) + PER_MESSAGE;
    (tokens < message.tokens).then_some(Action::Shorten { head, tail, tokens, named })
}

/// Cuts the largest of these results, and of the strings in the arguments of these answers, to one common size, as large
/// as `fits` allows, but not below `least` bytes. The size is estimated first, so that each message is tokenized once or
/// twice instead of once per size.
pub fn level(
    transcript: &Transcript,
    messages: &[Ordinal],
    least: usize,
    counter: &dyn TokenCount,
    fits: impl Fn(&BTreeMap<Ordinal, Action>) -> bool,
) -> BTreeMap<Ordinal, Action> {
    let bytes_of = |ord: &Ordinal| {
        let Some(message) = transcript.message(*ord) else { return 0 };
        match (&message.body, message.shown) {
            (Body::Tool(_), Some(cut)) => (cut.head + cut.tail) as usize + NOTE,
            (Body::Tool(result), None) => joined(&result.content).len(),
            (Body::Assistant { calls, .. }, _) => {
                calls.iter().map(|call| longest_string(&call.arguments)).max().unwrap_or_default()
            }
            _ => 0,
        }
    };
    let sizes: Vec<(Ordinal, usize)> = messages.iter().map(|ord| (*ord, bytes_of(ord))).collect();
    let half_of = |size: usize| u32::try_from(size / 2).unwrap_or(u32::MAX);
    let estimated = |size: usize| -> BTreeMap<Ordinal, Action> {
        let cut = sizes.iter().filter(|(_, bytes)| *bytes > size + NOTE).filter_map(|(ord, bytes)| {
            let whole = u64::from(transcript.message(*ord)?.tokens);
            let tokens = whole * (size + NOTE) as u64 / *bytes as u64;
            let half = half_of(size);
            let tokens = u32::try_from(tokens).unwrap_or(u32::MAX);
            Some((
                *ord,
                Action::Shorten { head: half, tail: half, tokens, named: transcript.names_results() },
            ))
        });
        cut.collect()
    };
    let exact = |size: usize| -> BTreeMap<Ordinal, Action> {
        let half = half_of(size);
        let cut =
            messages.iter().filter_map(|ord| Some((*ord, shorten(transcript, *ord, (half, half), counter)?)));
        cut.collect()
    };
    let smaller = |size: usize| (size * 3 / 4).max(least);
    let mut size = sizes.iter().map(|(_, bytes)| *bytes).max().unwrap_or_default();
    while size > least && !fits(&estimated(size)) {
        size = smaller(size);
    }
    let mut actions = exact(size);
    while size > least && !fits(&actions) {
        size = smaller(size);
        actions = exact(size);
    }
    actions
}
