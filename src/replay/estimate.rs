//! Estimates compared with the reports of the source's provider. Estimated is the source's own prompt: all messages
//! before an answer, whole, whatever our compactions left out. Anything in it beyond the transcript, such as a system
//! prompt missing from the file, is a constant offset learned from the first reports.

use engine::estimate::{Learned, Report, off_by};
use engine::message::{Body, Message, NewMessage, ToolCall};
use engine::tokens::{PER_CALL, TokenCount};
use serde::Serialize;
use std::collections::BTreeMap;

/// Estimates of the source's prompts, collected during a replay.
#[derive(Debug, Clone, Default)]
pub struct Estimates {
    learned: Learned,
    /// Raw tokens of the source's prompt so far.
    raw: u32,
    model: String,
    reports: u32,
    implausible: u32,
    /// Errors in thousandths, once the model's factor is known.
    anchored: Vec<u32>,
    unanchored: Vec<u32>,
    /// Errors in thousandths before the factor was known.
    first: Vec<u32>,
    /// Errors on the tokens added since the previous report, in thousandths, each with its turn.
    new: Vec<(usize, u32)>,
    /// Raw tokens of the unanswered calls, by the source's id.
    open: BTreeMap<String, u32>,
}

/// Figures of a replay's estimates; errors are shares of the reported tokens.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EstimateLine {
    /// Number of reports in the source.
    reports: u32,
    /// Reports too far from the estimate to belong to their prompt.
    implausible: u32,
    /// Factor of raw counts at the end.
    factor: f64,
    /// Offset at the end: tokens of the source's prompts beyond the file.
    beside: i64,
    /// Errors with the previous report as a baseline.
    anchored: Errors,
    /// Errors without a baseline.
    unanchored: Errors,
    /// Errors before the factor was learned.
    before_factor: Errors,
    /// Errors on the new tokens alone, from the second report on.
    new_tokens: Errors,
    /// `new_tokens` by turn, without turns that have none.
    turns: Vec<TurnErrors>,
}

/// Errors of estimates, each made before its report was seen, as shares of the reported tokens.
#[derive(Debug, Clone, Serialize)]
pub struct Errors {
    /// Number of estimates.
    count: usize,
    /// Upper median of the errors.
    median: f64,
    /// Largest error.
    worst: f64,
}

/// Errors on the new tokens of one turn.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TurnErrors {
    /// Number of the turn, from 1.
    turn: usize,
    /// Number of estimates.
    count: usize,
    /// Upper median of the errors.
    median: f64,
}

impl Errors {
    fn of(thousandths: &[u32]) -> Self {
        let mut sorted = thousandths.to_vec();
        sorted.sort_unstable();
        let share = |value: Option<&u32>| f64::from(value.copied().unwrap_or_default()) / 1000.0;
        Self { count: sorted.len(), median: share(sorted.get(sorted.len() / 2)), worst: share(sorted.last()) }
    }
}

impl Estimates {
    /// Starts at `fixed` raw tokens, the part of a prompt before its messages.
    pub fn new(fixed: u32) -> Self {
        Self { raw: fixed, ..Self::default() }
    }

    /// Compares the estimate with the report in this answer, if any; `turn` is the answer's.
    pub fn answered(&mut self, answer: &NewMessage, turn: usize) {
        let Body::Assistant { beside, .. } = &answer.body else { return };
        // The source's prompt omits unanswered calls: no provider accepts them.
        let open: u32 = std::mem::take(&mut self.open).into_values().sum();
        self.raw = self.raw.saturating_sub(open);
        let Some(reported) = beside.usage.and_then(|usage| usage.input_tokens).filter(|tokens| *tokens > 0)
        else {
            return;
        };
        if let Some(model) = beside.extra.get("model").and_then(|model| model.as_str()) {
            self.model = model.to_owned();
        }
        self.reports += 1;
        let (anchored, unanchored) = (self.learned.scale(&self.model), self.learned.unanchored(&self.model));
        let before = self.learned.baseline().cloned();
        let is_taught = self.learned.is_taught(&self.model);
        let report = Report { model: self.model.clone(), reported, raw: self.raw };
        if self.learned.take(report, false, None).is_err() {
            self.implausible += 1;
            return;
        }
        if let Some(before) = &before {
            let new = reported.saturating_sub(before.reported);
            if new > 0 {
                let estimated = anchored.read_part(self.raw.saturating_sub(before.raw));
                self.new.push((turn, off_by(estimated, new)));
            }
        }
        if !is_taught {
            if self.reports > 1 {
                self.first.push(off_by(anchored.read(self.raw), reported));
            }
            return;
        }
        self.unanchored.push(off_by(unanchored.read(self.raw), reported));
        if before.is_some() {
            self.anchored.push(off_by(anchored.read(self.raw), reported));
        }
    }

    /// Adds a message, whole, to the source's next prompt.
    pub fn said(&mut self, message: &Message, counter: &dyn TokenCount) {
        let is_shown = !message.is_hidden() && !matches!(message.body, Body::Event { .. });
        match &message.body {
            Body::Assistant { calls, .. } => {
                let source =
                    |call: &ToolCall| call.source_id.clone().unwrap_or_else(|| call.id.as_str().into());
                let tokens =
                    |call: &ToolCall| counter.count(&call.name) + counter.count(&call.arguments) + PER_CALL;
                self.open.extend(calls.iter().map(|call| (source(call), tokens(call))));
            }
            Body::Tool(result) => drop(self.open.remove(&result.call)),
            Body::User(_) | Body::Event { .. } => {}
        }
        if is_shown {
            self.raw += match message.shown {
                None => message.tokens,
                Some(_) => message.body.tokens(counter),
            };
        }
    }

    /// Restarts the source's prompt from `text`, the source's own summary.
    pub fn compacted(&mut self, fixed: u32, text: &str, counter: &dyn TokenCount) {
        self.open.clear();
        self.raw = fixed + counter.count(text);
        self.learned.forget_baseline();
    }

    /// Returns the figures, or `None` if the source has no reports.
    pub fn line(&self) -> Option<EstimateLine> {
        let scale = self.learned.unanchored(&self.model);
        (self.reports > 0).then(|| EstimateLine {
            reports: self.reports,
            implausible: self.implausible,
            factor: f64::from(scale.factor()) / 1000.0,
            beside: scale.beside(),
            anchored: Errors::of(&self.anchored),
            unanchored: Errors::of(&self.unanchored),
            before_factor: Errors::of(&self.first),
            new_tokens: Errors::of(&self.new.iter().map(|(_, error)| *error).collect::<Vec<_>>()),
            turns: self.turns(),
        })
    }

    fn turns(&self) -> Vec<TurnErrors> {
        let of_one = self.new.chunk_by(|(one, _), (next, _)| one == next);
        of_one
            .filter_map(|errors| {
                let (turn, _) = errors.first()?;
                let errors = Errors::of(&errors.iter().map(|(_, error)| *error).collect::<Vec<_>>());
                Some(TurnErrors { turn: *turn, count: errors.count, median: errors.median })
            })
            .collect()
    }
}
