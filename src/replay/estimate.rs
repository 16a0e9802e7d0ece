//! Estimates against what the source's provider reported. The source's own prompt is what is weighed: all
//! that was said before an answer, whole, whatever our own compactions left out. What that prompt had beside the
//! transcript, such as a system text that the file does not hold, is a constant that the first reports tell.

use engine::estimate::{Learned, Report, off_by};
use engine::message::{Body, Message, NewMessage, ToolCall};
use engine::tokens::{PER_CALL, TokenCount};
use serde::Serialize;
use std::collections::BTreeMap;

/// What is found while a transcript is replayed.
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
    /// The same before it was known, by the best that was known then.
    first: Vec<u32>,
    /// Errors on what was new since the report before, by the best that was known then, each with its turn.
    new: Vec<(usize, u32)>,
    /// Calls that no result answered yet, by the source's id, with their raw tokens.
    open: BTreeMap<String, u32>,
}

/// The figures, each a share of what was reported.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EstimateLine {
    /// Reports in the source.
    reports: u32,
    /// Those that could not be of their prompt.
    implausible: u32,
    /// What raw counts were taken times at the end.
    factor: f64,
    /// Tokens that the source's prompts had beside what the file holds, at the end.
    beside: i64,
    /// With the report before as a baseline.
    anchored: Errors,
    /// Without one.
    unanchored: Errors,
    /// Before the factor was taught, by the best that was known.
    before_factor: Errors,
    /// Of the new tokens alone, from the second report on, by the best that was known then.
    new_tokens: Errors,
    /// The same for each turn that has any.
    turns: Vec<TurnErrors>,
}

/// How far estimates were off that were made before the report was seen, and after earlier ones taught the factor.
#[derive(Debug, Clone, Serialize)]
pub struct Errors {
    /// Estimates.
    count: usize,
    /// The one in the middle.
    median: f64,
    /// The largest.
    worst: f64,
}

/// How far estimates of new tokens were off in one turn.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TurnErrors {
    /// The turn, from 1.
    turn: usize,
    /// Estimates.
    count: usize,
    /// The one in the middle.
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
    /// Begins with what stands before the messages.
    pub fn new(fixed: u32) -> Self {
        Self { raw: fixed, ..Self::default() }
    }

    /// The source's provider says what the prompt of this answer weighed, which is part of this turn.
    pub fn answered(&mut self, answer: &NewMessage, turn: usize) {
        let Body::Assistant { beside, .. } = &answer.body else { return };
        // Programs leave calls out that nothing answered: no provider takes them.
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
        if self.learned.take(report, false).is_err() {
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

    /// Something was said; the source's next prompt shows it whole.
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

    /// The source compacted: its prompt goes on from this text.
    pub fn compacted(&mut self, fixed: u32, text: &str, counter: &dyn TokenCount) {
        self.open.clear();
        self.raw = fixed + counter.count(text);
        self.learned.forget_baseline();
    }

    /// The figures; nothing where the source has no reports.
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
