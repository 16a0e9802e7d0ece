//! The ladder of promise P4 as states: each step either is done or waits for one answer of a model, and carries what
//! it waits for. It always ends, and it ends without a model. No call is made here.

use super::accept::accept;
use super::compose::{Desk, Ingredients};
use super::plan;
use super::policy::Stage;
use super::record::{Action, Compaction, Fallback, Mode, ModeRequested, Strength};
use super::slice::{self, NothingToSummarize, Slice};
use super::template;
use crate::engine::id::{Generation, Ordinal};
use crate::engine::message::Body;
use crate::engine::message::cut::joined;
use crate::engine::prompt;
use crate::engine::prompt::item::{Item, Role};
use crate::engine::prompt::request::{Completion, Request, ToolChoice};
use crate::engine::prompt::segment::{Segment, segments};
use crate::engine::prompt::{item::Shown, limit};
use crate::engine::text::head;
use crate::engine::tokens::{PER_MESSAGE, TokenCount};
use crate::engine::transcript::Round;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use thiserror::Error;

/// Where a compaction stands.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// A model must answer; give the answer to [`Waiting::answer`].
    Ask(Box<Ask>),
    /// Done: this record brings the prompt under its limit.
    Accepted(Box<Compaction>),
    /// Compaction is off: the overflow stays an overflow.
    Off,
    /// The source changed while a model was asked; nothing was applied.
    Stale,
    /// Nothing brings it under its limit; nothing is sent, nothing is lost.
    CannotFit(CannotFit),
}

/// A request to a model, and the state that waits for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// What to send.
    pub request: Request,
    /// The rung that asks.
    pub mode: Mode,
    /// What goes on when the answer is there.
    pub waiting: Waiting,
}

/// A compaction that waits for a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Waiting {
    slice: Slice,
    /// Generation and content of the slice when it was planned.
    source: (Generation, String),
    rung: Rung,
    fallbacks: Vec<Fallback>,
    input_truncated: bool,
}

/// What is waited for.
#[derive(Debug, Clone, PartialEq)]
enum Rung {
    /// The full summary.
    Full,
    /// A simple summary of one piece; these pieces are still to come.
    Simple(VecDeque<String>),
}

/// What a model did with a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It answered.
    Answered(Completion),
    /// The call failed; why, in words without secrets.
    Failed(String),
    /// The deadline passed.
    Deadline,
}

/// Nothing brings the prompt under its limit (rung 5). The sizes say what would have to be smaller.
#[derive(Debug, Clone, PartialEq, Eq, Error, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[error("{needed} tokens are needed for what cannot be given up, and the limit is {limit}")]
pub struct CannotFit {
    /// The model's window, in tokens.
    pub window: u32,
    /// The most a prompt may weigh, in tokens.
    pub limit: u32,
    /// Tokens of the smallest prompt that would still be one.
    pub needed: u32,
    /// Tokens of the tool definitions.
    pub tools: u32,
    /// Tokens of the system block.
    pub system: u32,
    /// Tokens of memories and pins.
    pub pins: u32,
    /// Tokens of the current user message.
    pub current_message: u32,
    /// Tokens of the newest round.
    pub newest_round: u32,
}

/// Starts a compaction of a prompt that is over its limit. `model` says whether one may be asked.
pub fn start(desk: Desk<'_>, model: bool) -> Step {
    if !desk.policy.enabled {
        return Step::Off;
    }
    let slice = match slice::slice(desk.source, desk.policy) {
        Ok(slice) => slice,
        Err(nothing) => return without_slice(desk, nothing),
    };
    let mut fallbacks = Vec::new();
    match limit_history(desk, slice) {
        Some(record) => return Step::Accepted(Box::new(record)),
        None if desk.policy.limit_history > Stage::Off => {
            fallbacks.push(fallback(Mode::LimitHistory, "does not reach the target"));
        }
        None => {}
    }
    if !model {
        return without_model(desk, slice, fallbacks);
    }
    match desk.policy.summary_mode {
        ModeRequested::Simple => ask_simple(desk, slice, fallbacks),
        ModeRequested::Auto | ModeRequested::Full => ask_full(desk, slice, fallbacks),
    }
}

fn fallback(mode: Mode, reason: impl Into<String>) -> Fallback {
    Fallback { mode, reason: reason.into() }
}

/// Rung 0: the history limiter, as far as the policy lets it go.
fn limit_history(desk: Desk<'_>, slice: Slice) -> Option<Compaction> {
    let transcript = desk.source.transcript;
    let (policy, counter) = (desk.policy, desk.counter);
    if policy.limit_history < Stage::FoldRepeats {
        return None;
    }
    let resume = transcript.in_force().map_or(Ordinal(0), Compaction::resume_at);
    let target = desk.target(slice, &Ingredients::default());
    let mut record = desk.blank(Mode::LimitHistory);
    record.strength = Strength::Low;
    record.actions.extend(limit::fold_repeats(transcript, resume, slice.through, counter));
    if let Some(done) = desk.sized(record.clone(), target) {
        return Some(done);
    }
    if policy.limit_history < Stage::ShortenResults {
        return None;
    }
    if let Some(mut done) = desk.shortened(slice, record.actions) {
        done.strength = Strength::Medium;
        return Some(done);
    }
    if policy.limit_history < Stage::LimitHistory {
        return None;
    }
    let dropped = desk.dropped(Mode::LimitHistory, slice, &Ingredients::default());
    dropped.filter(|record| record.tokens_after <= target)
}

/// Rung 1: the conversation as it was sent, up to the slice's end, and one instruction. The request extends the live
/// prefix, so a provider's cache serves it. Where that is over the limit by itself, rung 2.
fn ask_full(desk: Desk<'_>, slice: Slice, mut fallbacks: Vec<Fallback>) -> Step {
    let live = prompt::draft(desk.source, desk.source.transcript.in_force());
    let is_later = |item: &Item| {
        let in_place = |shown| !matches!(shown, Shown::Kept | Shown::Pinned);
        item.sources.iter().any(|source| in_place(source.shown) && source.ord > slice.through)
    };
    let end = live.items.iter().position(is_later).unwrap_or(live.items.len());
    let mut items: Vec<Item> = live.items.into_iter().take(end).collect();
    let tokens = desk.source.fixed.tool_tokens() + items.iter().map(|item| item.tokens).sum::<u32>();
    if tokens > desk.source.budget.limit {
        fallbacks.push(fallback(Mode::Full, "the conversation so far does not fit a summary request"));
        return after_full(desk, slice, fallbacks);
    }
    let kept = |at: &usize| desk.policy.summary_breakpoints && *at < items.len();
    let cache_breakpoints = live.plan.breakpoints().filter(kept).collect();
    let mut sources = items.iter().flat_map(|item| &item.sources);
    let truncated = sources.any(|source| source.shown == Shown::Shortened);
    items.push(user(desk, template::instruction(desk.source.budget.max_summary_tokens, desk.focus)));
    let request = Request {
        items,
        tools: live.tools,
        tool_choice: ToolChoice::None,
        cache_breakpoints,
        ..summary_request(desk)
    };
    ask(desk, slice, request, Rung::Full, fallbacks, truncated)
}

/// After a full summary failed: simple, unless full was forced.
fn after_full(desk: Desk<'_>, slice: Slice, fallbacks: Vec<Fallback>) -> Step {
    match desk.policy.summary_mode {
        ModeRequested::Full => without_model(desk, slice, fallbacks),
        ModeRequested::Auto | ModeRequested::Simple => ask_simple(desk, slice, fallbacks),
    }
}

/// Rung 2: a text transcript of what is not covered yet, in pieces that fit, each with the narrative so far, uncut.
fn ask_simple(desk: Desk<'_>, slice: Slice, fallbacks: Vec<Fallback>) -> Step {
    let transcript = desk.source.transcript;
    let previous = transcript.in_force();
    let budget = desk.source.budget;
    let overhead =
        budget.max_summary_tokens + desk.counter.count(&template::instruction(0, desk.focus)) + 100;
    let most = budget.limit.saturating_sub(overhead).max(budget.limit / 4);
    let mut pieces = VecDeque::new();
    let (mut piece, mut tokens) = (String::new(), 0);
    let from = previous.map_or(Ordinal(0), Compaction::resume_at);
    let mut truncated = false;
    for message in transcript.range(from, slice.through) {
        let is_for_model = message.visible_to_model && !transcript.is_excluded(message.ord);
        let Some(entry) = template::transcript_entry(message).filter(|_| is_for_model) else { continue };
        truncated |= shortens(&message.body, &entry);
        for part in parts_within(&entry, most, desk.counter) {
            let size = desk.counter.count(part) + 2;
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
    let narrative = previous.and_then(|record| record.narrative.clone());
    ask_piece(desk, slice, pieces, narrative.as_deref(), fallbacks, truncated)
}

/// An entry whole, or halved until each part weighs `most` tokens at most.
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

/// Whether an entry says less than its message.
fn shortens(body: &Body, entry: &str) -> bool {
    match body {
        Body::User(parts) => joined(parts).len() > entry.len(),
        Body::Tool(result) => joined(&result.content).len() > entry.len(),
        Body::Assistant { .. } => body.bytes() > entry.len(),
        Body::Event { .. } => false,
    }
}

fn ask_piece(
    desk: Desk<'_>,
    slice: Slice,
    mut pieces: VecDeque<String>,
    narrative: Option<&str>,
    fallbacks: Vec<Fallback>,
    input_truncated: bool,
) -> Step {
    let piece = pieces.pop_front().unwrap_or_default();
    let text = template::simple_request(narrative, &piece, desk.source.budget.max_summary_tokens, desk.focus);
    let request = Request { items: vec![user(desk, text)], ..summary_request(desk) };
    ask(desk, slice, request, Rung::Simple(pieces), fallbacks, input_truncated)
}

fn user(desk: Desk<'_>, text: String) -> Item {
    let tokens = desk.counter.count(&text) + PER_MESSAGE;
    Item::made(Role::User, text, tokens)
}

fn summary_request(desk: Desk<'_>) -> Request {
    Request {
        items: Vec::new(),
        tools: Arc::default(),
        tool_choice: ToolChoice::Auto,
        temperature_zero: true,
        max_output: Some(desk.source.budget.max_summary_tokens),
        cache_breakpoints: Vec::new(),
    }
}

fn ask(
    desk: Desk<'_>,
    slice: Slice,
    request: Request,
    rung: Rung,
    fallbacks: Vec<Fallback>,
    input_truncated: bool,
) -> Step {
    let mode = match rung {
        Rung::Full => Mode::Full,
        Rung::Simple(_) => Mode::Simple,
    };
    let waiting = Waiting { slice, source: fingerprint(desk, slice), rung, fallbacks, input_truncated };
    Step::Ask(Box::new(Ask { request, mode, waiting }))
}

fn fingerprint(desk: Desk<'_>, slice: Slice) -> (Generation, String) {
    let transcript = desk.source.transcript;
    (transcript.generation(), transcript.source_hash(Ordinal(0), slice.through))
}

impl Waiting {
    /// Why earlier rungs did not serve.
    pub fn fallbacks(&self) -> &[Fallback] {
        &self.fallbacks
    }

    /// Goes on with what the model did. An answer for a source that changed meanwhile is discarded.
    pub fn answer(self, desk: Desk<'_>, model: &str, outcome: Outcome) -> Step {
        let Waiting { slice, source, rung, mut fallbacks, input_truncated } = self;
        if fingerprint(desk, slice) != source {
            return Step::Stale;
        }
        let narrative = match outcome {
            Outcome::Answered(answer) => accept(&answer, desk.source.budget.max_summary_tokens, desk.counter)
                .map_err(|r| r.to_string()),
            Outcome::Failed(reason) => Err(reason),
            Outcome::Deadline => Err("the model did not answer before its deadline".into()),
        };
        match (narrative, rung) {
            (Ok(narrative), Rung::Simple(pieces)) if !pieces.is_empty() => {
                ask_piece(desk, slice, pieces, Some(&narrative), fallbacks, input_truncated)
            }
            (Ok(narrative), rung) => {
                let mode = if rung == Rung::Full { Mode::Full } else { Mode::Simple };
                let with = Ingredients { narrative: Some(narrative), ..Ingredients::default() };
                match desk.with_block(mode, slice, &with) {
                    Some(mut record) => {
                        record.model = Some(model.to_owned());
                        record.input_truncated = input_truncated;
                        accepted(record, fallbacks)
                    }
                    None => {
                        fallbacks.push(fallback(mode, "the summary does not reach the target"));
                        without_model(desk, slice, fallbacks)
                    }
                }
            }
            (Err(reason), Rung::Full) => {
                fallbacks.push(fallback(Mode::Full, reason));
                after_full(desk, slice, fallbacks)
            }
            (Err(reason), Rung::Simple(_)) => {
                fallbacks.push(fallback(Mode::Simple, reason));
                without_model(desk, slice, fallbacks)
            }
        }
    }
}

fn accepted(mut record: Compaction, fallbacks: Vec<Fallback>) -> Step {
    record.fallbacks = fallbacks;
    Step::Accepted(Box::new(record))
}

/// Rungs 3 and 4, which need no model. A retention that leaves too much is no reason to give up: then the slice rule
/// of document 003 says how far they may go.
fn without_model(desk: Desk<'_>, slice: Slice, mut fallbacks: Vec<Fallback>) -> Step {
    let plain = Ingredients::default();
    let widest = slice::widest(desk.source.transcript, desk.policy).unwrap_or(slice);
    // A summary that could not be renewed stays as it was, where there is room for it (source: 002).
    let narrative = desk.source.transcript.in_force().and_then(|record| record.narrative.as_deref());
    let with_old = Ingredients { narrative: narrative.map(str::to_owned), ..Ingredients::default() };
    let record = desk
        .with_block(Mode::Ledger, slice, &with_old)
        .or_else(|| desk.with_block(Mode::Ledger, slice, &plain))
        .or_else(|| desk.with_block(Mode::Ledger, widest, &plain));
    if let Some(record) = record {
        return accepted(record, fallbacks);
    }
    fallbacks.push(fallback(Mode::Ledger, "does not reach the target"));
    if let Some(record) = desk.dropped(Mode::Dropped, widest, &plain) {
        return accepted(record, fallbacks);
    }
    last_steps(desk, fallbacks)
}

/// The end of the ladder where nothing may be covered.
fn without_slice(desk: Desk<'_>, nothing: NothingToSummarize) -> Step {
    last_steps(desk, vec![fallback(Mode::Ledger, nothing.reason())])
}

/// Rung 4's last steps: the newest round's results shortened by rule, then everything given up but the current request
/// and what is left of the newest round; rung 5.
fn last_steps(desk: Desk<'_>, fallbacks: Vec<Fallback>) -> Step {
    let slice = slice::widest(desk.source.transcript, desk.policy).ok();
    let half = Ingredients { newest: shortened_newest(desk, slice, true), ..Ingredients::default() };
    let least = Ingredients {
        newest: shortened_newest(desk, slice, false),
        gives_up: true,
        ..Ingredients::default()
    };
    let record = match slice {
        Some(slice) => desk
            .only_newest(Some(slice), &half)
            .or_else(|| desk.with_block(Mode::Dropped, slice, &half))
            .or_else(|| desk.dropped(Mode::Dropped, slice, &half))
            .or_else(|| desk.dropped(Mode::Dropped, slice, &least)),
        None => desk.only_newest(None, &half).or_else(|| desk.only_newest(None, &least)),
    };
    match record {
        Some(record) => accepted(Compaction { strength: Strength::High, ..record }, fallbacks),
        None => Step::CannotFit(cannot_fit(desk, &least.newest)),
    }
}

/// The results of the newest round, the largest cut to a common size: so that the round takes half of what tools,
/// system and request leave, or as small as they may become.
fn shortened_newest(desk: Desk<'_>, slice: Option<Slice>, to_half: bool) -> BTreeMap<Ordinal, Action> {
    let transcript = desk.source.transcript;
    let is_after = |round: &&Round| slice.is_none_or(|slice| round.assistant > slice.through);
    let Some(newest) = transcript.rounds().last().filter(is_after) else { return BTreeMap::new() };
    let results: Vec<Ordinal> = newest.results.iter().flatten().copied().collect();
    let resume = transcript.in_force().map_or(Ordinal(0), Compaction::resume_at);
    let from = slice.map_or(resume, |slice| slice.through.next());
    let rest = segments(transcript, from, Ordinal(u32::MAX));
    let request = plan::running_requests(transcript, Ordinal(u32::MAX));
    let before = desk.source.fixed.tokens_through(newest.assistant);
    let free = desk.source.budget.limit.saturating_sub(before + request);
    limit::level(transcript, &results, LEAST_RESULT, desk.counter, |actions| {
        let rounds = rest.iter().filter(|segment| !segment.is_user);
        to_half && rounds.map(|segment| segment.tokens(transcript, actions)).sum::<u32>() <= free / 2
    })
}

/// Bytes below which a newest result is not shortened any further.
const LEAST_RESULT: usize = 400;

/// The sizes of the smallest prompt that would still be one: nothing in it but what is never given up.
fn cannot_fit(desk: Desk<'_>, newest: &BTreeMap<Ordinal, Action>) -> CannotFit {
    let transcript = desk.source.transcript;
    let running = transcript.turns().len().saturating_sub(1);
    let round = transcript.rounds().last().filter(|round| round.turn == running);
    let newest_round = round.map_or(0, |round| {
        let index = transcript.rounds().len() - 1;
        Segment { first: round.assistant, round: Some(index), is_user: false }.tokens(transcript, newest)
    });
    let current_message = plan::running_requests(transcript, Ordinal(u32::MAX));
    let fixed = desk.source.fixed;
    let newest = round.map_or(Ordinal(u32::MAX), |round| round.assistant);
    let shown_in_place = fixed.pins.tokens_after(newest);
    let (tools, pins) = (fixed.tool_tokens(), fixed.memory_tokens() - shown_in_place);
    let system = fixed.tokens() - fixed.tool_tokens() - fixed.memory_tokens();
    CannotFit {
        window: desk.source.budget.window,
        limit: desk.source.budget.limit,
        needed: tools + system + pins + current_message + newest_round,
        tools,
        system,
        pins,
        current_message,
        newest_round,
    }
}
