//! The figures of a replay as JSON, one object per file: the contract of `replay --json`. Byte-identical between runs,
//! except for the duration, which is optional.

use super::estimate::EstimateLine;
use super::{Replayed, Unfit, UserMessages};
use engine::compact::record::{Compaction, Mode, Span, Trigger};
use engine::id::{CompactionId, Ordinal};
use engine::message::Body;
use engine::prompt::coverage::Coverage;
use engine::prompt::item::SectionSize;
use import::Import;
use serde::Serialize;

/// One line of `replay --json`.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    file: String,
    format: &'static str,
    messages: usize,
    turns: usize,
    rounds: usize,
    tool_calls: usize,
    tool_results: usize,
    orphan_calls: usize,
    /// Tokens of all messages not hidden from the model, each counted once.
    message_tokens: u64,
    renders: u32,
    window: u32,
    limit: u32,
    estimator: String,
    over_budget: u32,
    cannot_fit: Vec<CannotFitLine>,
    compactions: Vec<CompactionLine>,
    coverage: Coverage,
    orphans: u32,
    user_messages: UserMessages,
    prefix: PrefixLine,
    #[serde(skip_serializing_if = "Option::is_none")]
    estimate: Option<EstimateLine>,
    work: Work,
    skipped_records: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
}

#[derive(Debug, Clone, Serialize)]
struct CannotFitLine {
    render: u32,
    needed: u32,
    limit: u32,
    sections: Vec<SectionSize>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct CompactionLine {
    id: CompactionId,
    render: u32,
    trigger: Trigger,
    mode: Mode,
    tokens_before: u32,
    tokens_after: u32,
    /// Maximum prompt size aimed at, in tokens. Its distance to the limit bounds the number of compactions.
    target: Option<u32>,
    covers_from_ord: Option<Ordinal>,
    covers_to_ord: Option<Ordinal>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct PrefixLine {
    share: f64,
    share_between_breaks: f64,
    breaks: u32,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Work {
    tokenized_bytes: u64,
    text_bytes: u64,
}

/// Counts of a transcript's parts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of messages, hidden ones included.
    pub messages: usize,
    /// Number of turns.
    pub turns: usize,
    /// Number of rounds.
    pub rounds: usize,
    /// Number of tool calls.
    pub calls: usize,
    /// Number of tool results, those without a call included.
    pub results: usize,
    /// Number of calls without a result.
    pub orphan_calls: usize,
    /// Tokens of the messages not hidden from the model, each as it is first shown.
    pub tokens: u64,
}

impl Counts {
    /// Counts the parts of a transcript.
    pub fn of(transcript: &engine::transcript::Transcript) -> Self {
        let results = transcript.messages().iter().filter(|m| matches!(m.body, Body::Tool(_))).count();
        let shown = transcript.messages().iter().filter(|message| !message.is_hidden());
        let answers = || transcript.rounds().iter().flat_map(|round| &round.results);
        Self {
            messages: transcript.messages().len(),
            turns: transcript.turns().len(),
            rounds: transcript.rounds().len(),
            calls: answers().count(),
            results,
            orphan_calls: answers().filter(|answer| answer.is_none()).count(),
            tokens: shown.map(|message| u64::from(message.tokens)).sum(),
        }
    }
}

impl Report {
    /// Builds the report of one file.
    pub fn new(file: &str, import: &Import, replayed: &Replayed, duration_ms: Option<u64>) -> Self {
        let counts = Counts::of(&replayed.transcript);
        Self {
            file: file.to_owned(),
            format: import.format.name(),
            messages: counts.messages,
            turns: counts.turns,
            rounds: counts.rounds,
            tool_calls: counts.calls,
            tool_results: counts.results,
            orphan_calls: counts.orphan_calls,
            message_tokens: counts.tokens,
            renders: replayed.renders,
            window: replayed.budget.window,
            limit: replayed.budget.limit,
            estimator: replayed.estimator.clone(),
            estimate: replayed.estimates.line(),
            over_budget: replayed.over_budget,
            cannot_fit: replayed
                .unfit
                .iter()
                .map(|(render, unfit)| CannotFitLine::new(*render, unfit))
                .collect(),
            compactions: replayed
                .compactions
                .iter()
                .map(|at| CompactionLine::new(at.render, &at.record))
                .collect(),
            coverage: replayed.coverage,
            orphans: replayed.orphans,
            user_messages: replayed.users,
            prefix: PrefixLine {
                share: share(replayed.prefix.reused, replayed.prefix.possible),
                share_between_breaks: share(
                    replayed.prefix.between_breaks.0,
                    replayed.prefix.between_breaks.1,
                ),
                breaks: replayed.prefix.breaks,
            },
            work: Work { tokenized_bytes: replayed.tokenized_bytes, text_bytes: replayed.text_bytes },
            skipped_records: import.skipped.len(),
            duration_ms,
        }
    }
}

/// Returns the share, rounded to six places, or 1 if `whole` is 0.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 1.0 } else { (part as f64 / whole as f64 * 1e6).round() / 1e6 }
}

impl CannotFitLine {
    fn new(render: u32, unfit: &Unfit) -> Self {
        match unfit {
            Unfit::Exceeded(e) => {
                Self { render, needed: e.needed, limit: e.limit, sections: e.sections.clone() }
            }
            Unfit::CannotFit(sizes) => {
                let sections = [
                    ("tools", sizes.tools),
                    ("system", sizes.system),
                    ("pins", sizes.pins),
                    ("currentMessage", sizes.current_message),
                    ("newestRound", sizes.newest_round),
                ];
                let sections = sections.map(|(name, tokens)| SectionSize { name: name.into(), tokens });
                Self { render, needed: sizes.needed, limit: sizes.limit, sections: sections.to_vec() }
            }
        }
    }
}

impl CompactionLine {
    /// The range spans all messages no longer shown: covered by the block, or left out in mode `dropped`.
    fn new(render: u32, record: &Compaction) -> Self {
        let from = record.covers.or(record.dropped).map(|Span { from, .. }| from);
        let to = record.dropped.or(record.covers).map(|Span { to, .. }| to);
        Self {
            id: record.id.clone(),
            render,
            trigger: record.trigger,
            mode: record.mode,
            tokens_before: record.tokens_before,
            tokens_after: record.tokens_after,
            target: record.target,
            covers_from_ord: from,
            covers_to_ord: to,
        }
    }
}
