//! The ladder as a state machine: a step is done, or waits for one outcome of a model and carries the state to go on
//! with. The ladder always ends, also without a model. No call is made here.

mod answer;
mod asking;
mod last;

use super::accept::Refusal;
use super::compose::{Ingredients, Inputs};
use super::plan::Aim;
use super::policy::Stage;
use super::record::{Compaction, Fallback, Mode, Strength};
use super::slice::{self, Slice};
use crate::id::Ordinal;
use crate::prompt::limit;
use crate::prompt::request::{Completion, Request};
use answer::Fingerprint;
use asking::ask_model;
use last::{by_dropping, without_model, without_slice};
use std::collections::VecDeque;
use thiserror::Error;

/// Reason for refusing an optional compaction that would gain nothing.
pub const NOTHING_GAINED: &str = "nothing would be gained: the prompt is small, or all of it must stay";

/// Result of a step of the ladder.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// A model must be asked; pass its outcome to [`Waiting::answer`].
    Ask(Box<Ask>),
    /// Done: this record brings the prompt to its target, or under its limit.
    Accepted(Box<Compaction>),
    /// The policy disables compaction; an overflow remains.
    Off,
    /// The source changed while a model was asked; nothing was applied.
    Stale,
    /// No rung succeeded, and none had to; the reason of each.
    Refused(Vec<Fallback>),
    /// A summary was made ahead of time; see [`prepare`].
    Prepared(Box<Prepared>),
    /// No rung brings the prompt under its limit; nothing is sent or lost.
    CannotFit(CannotFit),
}

/// A request to a model, and the state that waits for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// The request to send.
    pub request: Request,
    /// The rung that asks.
    pub mode: Mode,
    /// The state that takes the outcome.
    pub waiting: Waiting,
}

/// A compaction that waits for a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Waiting {
    descent: Descent,
    /// Fingerprint of the slice at the time of the request.
    source: Fingerprint,
    rung: Rung,
    /// `true` if the request is to shorten a summary; there is at most one.
    is_shortening: bool,
    input_truncated: bool,
}

/// State that a descent carries from rung to rung.
#[derive(Debug, Clone, PartialEq)]
struct Descent {
    slice: Slice,
    reach: Reach,
    /// `true` if begun ahead of time, so that the session may have messages after its slice.
    is_ahead: bool,
    /// Rungs that failed, with reasons.
    fallbacks: Vec<Fallback>,
    /// Requests to a model since the last of them.
    asked: u32,
    /// `true` once the one request to shorten was made.
    was_shortened: bool,
}

/// Last rung that a descent may try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// All rungs: the prompt must fit.
    Whole,
    /// Up to the last rung that asks a model; if that fails, the prompt is sent as it is.
    Model,
    /// Like `Model`, without rung 0 and beside a running turn; the result is kept until it is needed.
    Beside,
}

/// The requested kind of summary.
#[derive(Debug, Clone, PartialEq)]
enum Rung {
    Full,
    /// A simple summary of one piece; these pieces follow.
    Simple(VecDeque<String>),
}

/// A summary of its slice, made ahead of time. Messages after the slice stay raw.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    descent: Descent,
    source: Fingerprint,
    mode: Mode,
    narrative: String,
    model: String,
    input_truncated: bool,
}

/// Outcome of a request to a model.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The model answered.
    Answered(Completion),
    /// The call failed; the reason, without secrets.
    Failed(String),
    /// The deadline passed.
    Deadline,
}

/// Error of rung 5: no rung brings the prompt under its limit. The sizes show what would have to be smaller.
#[derive(Debug, Clone, PartialEq, Eq, Error, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[error("the smallest possible prompt needs {needed} tokens and the limit is {limit}")]
pub struct CannotFit {
    /// The model's window, in tokens.
    pub window: u32,
    /// The limit of a prompt, in tokens.
    pub limit: u32,
    /// Tokens of the smallest possible prompt.
    pub needed: u32,
    /// Tokens of the tool definitions.
    pub tools: u32,
    /// Tokens of the system block.
    pub system: u32,
    /// Tokens of memories and pins.
    pub pins: u32,
    /// Tokens of the current user message.
    pub current_message: u32,
    /// Tokens of the newest round, its results shortened.
    pub newest_round: u32,
}

/// Starts a compaction of a prompt that is over its limit. `model`: a model may be asked.
pub fn start(inputs: Inputs<'_>, model: bool) -> Step {
    begin(inputs, model, Reach::Whole)
}

/// Starts an optional compaction: rung 0, then the rungs that ask a model.
pub fn offer(inputs: Inputs<'_>, model: bool) -> Step {
    begin(inputs, model, Reach::Model)
}

/// Starts a summary ahead of time, kept for [`Prepared::applied`]. Refused if rung 0 would suffice: that is tried first
/// when the prompt must shrink, and needs no model.
pub fn prepare(inputs: Inputs<'_>) -> Step {
    match asks_nobody(inputs) {
        true => Step::Refused(vec![fallback(Mode::LimitHistory, "old results can be shortened in time")]),
        false => begin(inputs, true, Reach::Beside),
    }
}

/// `true` if rung 0 brings the prompt to its target, so that no model is needed.
pub fn asks_nobody(inputs: Inputs<'_>) -> bool {
    let slice = slice::slice(inputs.source, inputs.policy).ok().filter(|_| inputs.policy.enabled);
    slice.and_then(|slice| limit_history(inputs, slice)).is_some()
}

/// Continues below a record that the user refused, without a model: the next rung, if there is one.
pub fn below(inputs: Inputs<'_>, refused: &Compaction) -> Step {
    let slice = match slice::slice(inputs.source, inputs.policy) {
        Ok(slice) => slice,
        Err(nothing) => return without_slice(inputs, nothing, Reach::Whole),
    };
    let mut descent = Descent::new(slice, Reach::Whole);
    descent.fallbacks.clone_from(&refused.fallbacks);
    descent.asked = refused.asked();
    descent.fell(refused.mode, "the user refused it");
    match refused.mode {
        Mode::LimitHistory | Mode::Full | Mode::Simple => without_model(inputs, descent),
        Mode::Ledger => by_dropping(inputs, descent),
        Mode::Dropped | Mode::Excluded | Mode::Edited | Mode::Recorded => Step::Refused(descent.fallbacks),
    }
}

/// Returns the record with the user's text as its narrative and the same span. Fails with a reason if the text is over
/// the limit of a summary, the record has no text, or the prompt would not reach its target.
pub fn edited(inputs: Inputs<'_>, record: &Compaction, text: &str) -> Result<Compaction, String> {
    let is_summary = !matches!(record.mode, Mode::LimitHistory | Mode::Dropped);
    let covers = record.covers.filter(|_| is_summary).ok_or("it has no text that could be changed")?;
    let (most, tokens) = (inputs.source.budget.max_summary_tokens, inputs.counter.count(text));
    if tokens > most {
        return Err(Refusal::TooLarge { tokens, most }.to_string());
    }
    let slice = slice::slice(inputs.source, inputs.policy).map_err(|nothing| nothing.reason())?;
    let with =
        Ingredients { narrative: Some(text.trim().to_owned()), is_told: true, ..Ingredients::default() };
    let made = inputs.with_same_span(record, covers, slice, &with);
    let made = made.ok_or("the prompt would not reach its target")?;
    Ok(Compaction {
        fallbacks: record.fallbacks.clone(),
        model: record.model.clone(),
        asked_again: record.asked_again,
        cost: None,
        input_truncated: record.input_truncated,
        ..made
    })
}

fn begin(inputs: Inputs<'_>, model: bool, reach: Reach) -> Step {
    if !inputs.policy.enabled {
        return Step::Off;
    }
    let slice = match slice::slice(inputs.source, inputs.policy) {
        Ok(slice) => slice,
        Err(nothing) => return without_slice(inputs, nothing, reach),
    };
    let mut descent = Descent::new(slice, reach);
    if inputs.aim == Aim::Summary && !inputs.has_room(slice) {
        return Step::Refused(vec![fallback(Mode::Full, NOTHING_GAINED)]);
    }
    if reach != Reach::Beside {
        match limit_history(inputs, slice) {
            Some(record) => return Step::Accepted(Box::new(record)),
            None if inputs.policy.limit_history > Stage::Off => {
                descent.fell(Mode::LimitHistory, "does not reach the target");
            }
            None => {}
        }
    }
    match model {
        true if inputs.has_room(slice) => ask_model(inputs, descent),
        true => {
            descent.fell(Mode::Full, "what must stay leaves no room for a summary");
            without_model(inputs, descent)
        }
        false => without_model(inputs, descent),
    }
}

impl Descent {
    fn new(slice: Slice, reach: Reach) -> Self {
        let is_ahead = reach == Reach::Beside;
        Self { slice, reach, is_ahead, fallbacks: Vec::new(), asked: 0, was_shortened: false }
    }

    fn fell(&mut self, mode: Mode, reason: impl Into<String>) {
        let asked = std::mem::take(&mut self.asked);
        self.fallbacks.push(Fallback { asked: Some(asked), ..fallback(mode, reason) });
    }
}

fn fallback(mode: Mode, reason: impl Into<String>) -> Fallback {
    Fallback { mode, reason: reason.into(), asked: Some(0) }
}

/// Rung 0: the history limiter, up to the stage that the policy allows.
fn limit_history(inputs: Inputs<'_>, slice: Slice) -> Option<Compaction> {
    let transcript = inputs.source.transcript;
    let (policy, counter) = (inputs.policy, inputs.counter);
    if policy.limit_history < Stage::FoldRepeats {
        return None;
    }
    let resume = transcript.in_force().map_or(Ordinal(0), Compaction::resume_at);
    let target = inputs.target(slice, &Ingredients::default());
    let mut record = inputs.blank(Mode::LimitHistory);
    record.strength = Strength::Low;
    record.actions.extend(limit::fold_repeats(transcript, resume, slice.through, counter));
    if let Some(done) = inputs.sized(record.clone(), target) {
        return Some(done);
    }
    if policy.limit_history < Stage::ShortenResults {
        return None;
    }
    if let Some(mut done) = inputs.shortened(slice, record.actions) {
        done.strength = Strength::Medium;
        return Some(done);
    }
    if policy.limit_history < Stage::LimitHistory {
        return None;
    }
    let dropped = inputs.dropped(Mode::LimitHistory, slice, &Ingredients::default());
    dropped.filter(|record| record.tokens_after <= target)
}

impl Rung {
    fn mode(&self) -> Mode {
        match self {
            Rung::Full => Mode::Full,
            Rung::Simple(_) => Mode::Simple,
        }
    }
}
