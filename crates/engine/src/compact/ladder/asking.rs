//! Rungs 1 and 2: the requests to a model. `answer` handles their outcomes.

use super::answer::Fingerprint;
use super::last::without_model;
use super::{Ask, Descent, Rung, Step, Waiting};
use crate::compact::compose::Inputs;
use crate::compact::record::{Compaction, Mode, ModeRequested};
use crate::compact::template;
use crate::id::Ordinal;
use crate::message::Body;
use crate::message::cut::joined;
use crate::prompt;
use crate::prompt::item::{Item, Role, Shown};
use crate::prompt::request::{Request, ToolChoice};
use crate::text::head;
use crate::tokens::{PER_MESSAGE, TokenCount};
use std::collections::VecDeque;
use std::sync::Arc;

/// Maximum number of pieces of a simple summary: the user waits for one call after the other.
const MOST_PIECES: usize = 16;

/// Starts the first rung that asks a model.
pub(super) fn ask_model(inputs: Inputs<'_>, descent: Descent) -> Step {
    match inputs.policy.summary_mode {
        ModeRequested::Simple => ask_simple(inputs, descent),
        ModeRequested::Auto | ModeRequested::Full => ask_full(inputs, descent),
    }
}

/// Rung 1: the conversation as it was sent, up to the slice's end, and one instruction. The request extends the live
/// prefix, so that a provider's cache applies. If it exceeds the limit, rung 2.
fn ask_full(inputs: Inputs<'_>, mut descent: Descent) -> Step {
    let slice = descent.slice;
    let live = prompt::draft(inputs.source, inputs.source.transcript.in_force());
    let is_later = |item: &Item| {
        let in_place = |shown| !matches!(shown, Shown::Kept | Shown::Pinned);
        item.sources.iter().any(|source| in_place(source.shown) && source.ord > slice.through)
    };
    let end = live.items.iter().position(is_later).unwrap_or(live.items.len());
    let mut items: Vec<Item> = live.items.into_iter().take(end).collect();
    let tokens = inputs.source.fixed.tool_tokens() + items.iter().map(|item| item.tokens).sum::<u32>();
    if tokens > inputs.source.budget.summary_request {
        descent.fell(Mode::Full, "the conversation so far does not fit a summary request");
        return after_full(inputs, descent);
    }
    let kept = |at: &usize| inputs.policy.summary_breakpoints && *at < items.len();
    let cache_breakpoints = live.plan.breakpoints().filter(kept).collect();
    let mut sources = items.iter().flat_map(|item| &item.sources);
    let truncated = sources.any(|source| source.shown == Shown::Shortened);
    items.push(user(inputs, template::instruction(inputs.source.budget.max_summary_tokens, inputs.focus)));
    let request = Request {
        items,
        tools: live.tools,
        tool_choice: ToolChoice::None,
        cache_breakpoints,
        ..summary_request(inputs)
    };
    ask(inputs, descent, request, Rung::Full, truncated)
}

/// Continues after a failed full summary: simple, unless the policy forces full.
pub(super) fn after_full(inputs: Inputs<'_>, descent: Descent) -> Step {
    match inputs.policy.summary_mode {
        ModeRequested::Full => without_model(inputs, descent),
        ModeRequested::Auto | ModeRequested::Simple => ask_simple(inputs, descent),
    }
}

/// Rung 2: a text transcript of the messages not covered yet, in pieces that fit, each with the narrative so far,
/// uncut.
fn ask_simple(inputs: Inputs<'_>, mut descent: Descent) -> Step {
    let slice = descent.slice;
    let transcript = inputs.source.transcript;
    let previous = transcript.in_force();
    let budget = inputs.source.budget;
    let overhead =
        budget.max_summary_tokens + inputs.counter.count(&template::instruction(0, inputs.focus)) + 100;
    let most = budget.summary_request.saturating_sub(overhead).max(budget.summary_request / 4);
    let mut pieces = VecDeque::new();
    let (mut piece, mut tokens) = (String::new(), 0);
    let from = previous.map_or(Ordinal(0), Compaction::resume_at);
    let mut truncated = false;
    for message in transcript.range(from, slice.through) {
        let is_for_model = message.visible_to_model && !transcript.is_excluded(message.ord);
        let answered = transcript.answered_by(message.ord);
        let Some(entry) = template::transcript_entry(message, answered).filter(|_| is_for_model) else {
            continue;
        };
        truncated |= shortens(&message.body, &entry);
        for part in parts_within(&entry, most, inputs.counter) {
            let size = inputs.counter.count(part) + 2;
            if tokens + size > most && !piece.is_empty() {
                pieces.push_back(std::mem::take(&mut piece));
                tokens = 0;
            }
            piece.push_str(part);
            piece.push_str("\n\n");
            tokens += size;
        }
    }
    pieces.push_back(piece);
    if pieces.len() > MOST_PIECES {
        let reason = format!("the conversation has {} pieces, and {MOST_PIECES} are summed up", pieces.len());
        descent.fell(Mode::Simple, reason);
        return without_model(inputs, descent);
    }
    let narrative = previous.and_then(|record| record.narrative.clone());
    ask_piece(inputs, descent, pieces, narrative.as_deref(), truncated)
}

/// Halves an entry until each part has at most `most` tokens.
fn parts_within<'t>(entry: &'t str, most: u32, counter: &dyn TokenCount) -> Vec<&'t str> {
    let first = head(entry, entry.len() / 2);
    if counter.count(entry) + 2 <= most || first.is_empty() {
        return vec![entry];
    }
    let rest = entry.get(first.len()..).unwrap_or_default();
    let mut parts = parts_within(first, most, counter);
    parts.extend(parts_within(rest, most, counter));
    parts
}

/// `true` if an entry is shorter than its message.
fn shortens(body: &Body, entry: &str) -> bool {
    match body {
        Body::User(parts) => joined(parts).len() > entry.len(),
        Body::Tool(result) => joined(&result.content).len() > entry.len(),
        Body::Assistant { .. } => body.bytes() > entry.len(),
        Body::Event { .. } => false,
    }
}

pub(super) fn ask_piece(
    inputs: Inputs<'_>,
    descent: Descent,
    mut pieces: VecDeque<String>,
    narrative: Option<&str>,
    input_truncated: bool,
) -> Step {
    let piece = pieces.pop_front().unwrap_or_default();
    let text =
        template::simple_request(narrative, &piece, inputs.source.budget.max_summary_tokens, inputs.focus);
    let request = Request { items: vec![user(inputs, text)], ..summary_request(inputs) };
    ask(inputs, descent, request, Rung::Simple(pieces), input_truncated)
}

/// Asks once to shorten a summary that is too long; `None` if that was done or the request would not fit.
pub(super) fn ask_shorter(
    inputs: Inputs<'_>,
    descent: &Descent,
    rung: &Rung,
    long: &str,
    input_truncated: bool,
) -> Option<Step> {
    let most = inputs.source.budget.max_summary_tokens;
    let item = user(inputs, template::shorten_request(long, inputs.counter.count(long), most));
    if descent.was_shortened || item.tokens > inputs.source.budget.summary_request {
        return None;
    }
    let mut descent = descent.clone();
    descent.was_shortened = true;
    let request = Request { items: vec![item], ..summary_request(inputs) };
    match ask(inputs, descent, request, rung.clone(), input_truncated) {
        Step::Ask(mut ask) => {
            ask.waiting.is_shortening = true;
            Some(Step::Ask(ask))
        }
        other => Some(other),
    }
}

fn user(inputs: Inputs<'_>, text: String) -> Item {
    let tokens = inputs.counter.count(&text) + PER_MESSAGE;
    Item::made(Role::User, text, tokens)
}

fn summary_request(inputs: Inputs<'_>) -> Request {
    Request {
        items: Vec::new(),
        tools: Arc::default(),
        tool_choice: ToolChoice::Auto,
        temperature_zero: true,
        max_output: Some(inputs.source.budget.max_summary_tokens),
        // The caller knows the model.
        room: None,
        cache_breakpoints: Vec::new(),
    }
}

fn ask(
    inputs: Inputs<'_>,
    mut descent: Descent,
    request: Request,
    rung: Rung,
    input_truncated: bool,
) -> Step {
    descent.asked += 1;
    let mode = rung.mode();
    let source = Fingerprint::of(inputs, descent.slice);
    let waiting = Waiting { descent, source, rung, is_shortening: false, input_truncated };
    Step::Ask(Box::new(Ask { request, mode, waiting }))
}
