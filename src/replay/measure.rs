//! Measures what a compaction keeps, without a model and without a judge: of the names, edit lines, phrases and figures
//! that the following messages of a recorded session used and that stood only before it, the share that the compacted
//! prompt still holds, and the share of the others that a search finds; then what its block says of files and refusals. A
//! proxy: it measures facts, not understanding.

mod compare;
mod exam;
mod facts;
mod index;
mod question;
pub mod state;
pub mod summary;
pub mod table;

use super::{Render, Watch};
use engine::compact::compose::{Ingredients, Inputs};
use engine::compact::identifiers::identifiers;
use engine::compact::plan::Aim;
use engine::compact::policy::{Policy, WORDS_AND_LEDGER};
use engine::compact::record::{Compaction, Mode, Placement};
use engine::compact::slice;
use engine::message::argument_values;
use engine::prompt::item::Channel;
use engine::prompt::{self, Source};
use engine::search::{HITS, Query, Words};
use engine::tokens::TokenCount;
use engine::transcript::Transcript;
use exam::Needed;
pub use exam::{Exam, HORIZON};
use facts::{Kind, normalized};
use index::Index;
use serde::Serialize;
use state::StateScores;
use std::collections::{BTreeSet, HashMap};

/// Facts of one kind, counted over the compactions of a replay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Score {
    /// Number of facts that were needed.
    pub needed: usize,
    /// Number of them that the prompt held.
    pub held: usize,
    /// Number of the others that a search with the words of the future shows; `None` if nothing was searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<usize>,
}

impl Score {
    /// Returns `held ÷ needed`, or `None` if nothing was needed.
    pub fn kept(self) -> Option<f64> {
        share(self.held, self.needed)
    }

    /// Number of facts that the prompt did not hold.
    pub fn lost(self) -> usize {
        self.needed.saturating_sub(self.held)
    }

    /// Adds the counts of another score.
    fn add(&mut self, other: Self) {
        self.needed += other.needed;
        self.held += other.held;
        self.found = self.found.zip(other.found).map(|(a, b)| a + b).or(self.found).or(other.found);
    }
}

fn share(part: usize, of: usize) -> Option<f64> {
    (of > 0).then(|| part as f64 / of as f64)
}

/// Facts that one policy, or a simpler method, held after the compactions of a replay.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// Name of the policy or method.
    pub policy: String,
    /// Number of compactions.
    pub compactions: usize,
    /// Tokens of the prompts after these compactions, summed, without tools and system text.
    pub retained_tokens: u64,
    /// Identifiers in the arguments of calls.
    pub names: Score,
    /// Lines that edits quote as old text.
    pub lines: Score,
    /// Phrases and figures in the assistant's words.
    pub quotes: Score,
    /// The state of the work in the blocks; `None` for a method that makes none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<StateScores>,
}

impl Row {
    fn named(policy: &str) -> Self {
        Self { policy: policy.into(), ..Self::default() }
    }

    fn score(&mut self, kind: Kind) -> &mut Score {
        match kind {
            Kind::Name => &mut self.names,
            Kind::Line => &mut self.lines,
            Kind::Quote => &mut self.quotes,
        }
    }

    /// Edit lines, phrases and figures together: what a search must find. Names are left out, because there are many
    /// and a compacted prompt holds nearly all of them.
    pub fn lines_and_quotes(&self) -> Score {
        let mut sum = self.lines;
        sum.add(self.quotes);
        sum
    }

    /// Adds one compaction and returns the facts that `kept` does not hold.
    fn add<'n, 'a>(&mut self, needed: &'n [Needed<'a>], kept: &str, tokens: u32) -> Vec<&'n Needed<'a>> {
        let ids: BTreeSet<&str> = identifiers(kept).collect();
        let plain = normalized(kept);
        self.compactions += 1;
        self.retained_tokens += u64::from(tokens);
        let mut lost = Vec::new();
        for fact in needed {
            let is_held = match fact.kind {
                Kind::Name => ids.contains(fact.text) || kept.contains(fact.text),
                Kind::Line | Kind::Quote => plain.contains(fact.text),
            };
            let score = self.score(fact.kind);
            score.needed += 1;
            score.held += usize::from(is_held);
            if !is_held {
                lost.push(fact);
            }
        }
        lost
    }
}

/// Measures each compaction during a replay.
pub struct Measure<'a> {
    exam: &'a Exam,
    policy: &'a Policy,
    counter: &'a dyn TokenCount,
    /// `true` to measure the simpler methods too.
    compares: bool,
    index: Index,
    own: Row,
    /// The simpler methods, at the compactions of the policy: at most as many tokens.
    others: Vec<Row>,
}

impl<'a> Measure<'a> {
    /// Prepares the measure of one policy. `compares`: also measures simpler methods at the policy's compactions.
    pub fn new(exam: &'a Exam, policy: &'a Policy, counter: &'a dyn TokenCount, compares: bool) -> Self {
        let mut own = Row { state: Some(StateScores::default()), ..Row::named(&policy.name) };
        for kind in Kind::ALL {
            own.score(kind).found = Some(0);
        }
        Self { exam, policy, counter, compares, index: Index::default(), own, others: Vec::new() }
    }

    /// Measures the simpler methods.
    fn compare(&mut self, before: Source<'_>, record: &Compaction, needed: &[Needed<'_>], tokens: u32) {
        let at = before.transcript.messages().len();
        let inputs = Inputs {
            source: before,
            policy: &WORDS_AND_LEDGER,
            counter: self.counter,
            tokens_before: record.tokens_before,
            focus: None,
            aim: Aim::Room,
        };
        let slice = slice::slice(before, inputs.policy).ok();
        let ledger = slice.and_then(|slice| inputs.with_block(Mode::Ledger, slice, &Ingredients::default()));
        let held = [
            ("raw tail of the same size", compare::raw_tail(self.exam, at, tokens)),
            ("tail with shortened results", compare::short_tail(self.exam, at, tokens)),
            ("last five files and a tail", compare::last_files(self.exam, at, tokens)),
            ("user words and ledger", shown(before, ledger.as_ref().unwrap_or(record))),
        ];
        if self.others.is_empty() {
            self.others = held.iter().map(|(name, _)| Row::named(name)).collect();
        }
        for (row, (_, (text, tokens))) in self.others.iter_mut().zip(held) {
            row.add(needed, &text, tokens);
        }
    }

    /// Counts the lost facts that a search shows.
    fn search(&mut self, transcript: &Transcript, lost: &[&Needed<'_>]) {
        let at = transcript.messages().len();
        // Facts of one message often have the same query.
        let mut known: HashMap<String, Vec<String>> = HashMap::new();
        for fact in lost {
            let query = question::query(self.exam, at, fact);
            let index = &mut self.index;
            let shown = known.entry(query).or_insert_with_key(|query| first_hits(index, transcript, query));
            let is_found = shown.iter().any(|shown| shown.contains(fact.text));
            if let Some(found) = &mut self.own.score(fact.kind).found {
                *found += usize::from(is_found);
            }
        }
    }
}

/// The normalized excerpts of the first page of hits.
fn first_hits(index: &mut Index, transcript: &Transcript, query: &str) -> Vec<String> {
    let query = Query { words: Words::of(query), before: None, skip: 0, limit: HITS, hidden: false };
    let found = index.search(transcript, &query);
    found.hits.iter().map(|hit| normalized(&hit.excerpt.text)).collect()
}

/// The session's part of a prompt, as text and in tokens, without tools and system text. A compaction block counts
/// in any placement.
fn shown(source: Source<'_>, record: &Compaction) -> (String, u32) {
    let prompt = prompt::draft(source, Some(record));
    let is_system = |item: &&prompt::item::Item| item.role != prompt::item::Role::System;
    let texts = prompt.items.iter().filter(is_system).flat_map(|item| {
        let said = item.parts.iter().filter_map(|part| part.as_text()).map(|text| text.to_string());
        said.chain(item.calls.iter().map(|call| argument_values(&call.arguments))).collect::<Vec<_>>()
    });
    let in_system = (record.placement != Placement::UserAtBoundary).then(|| record.block.to_string());
    let texts: Vec<String> = texts.chain(in_system).collect();
    let sections = prompt.plan.sections.iter().filter(|section| section.channel != Channel::System);
    (texts.join("\n"), sections.map(|section| section.tokens).sum())
}

impl Watch for Measure<'_> {
    fn rendered(&mut self, _: &Render<'_>) {}

    fn compacted(&mut self, before: Source<'_>, record: &Compaction) {
        let needed = self.exam.needed(before.transcript.messages().len());
        let (kept, tokens) = shown(before, record);
        let lost = self.own.add(&needed, &kept, tokens);
        if let Some(state) = &mut self.own.state {
            state.add(before, record, self.policy, &kept);
        }
        self.search(before.transcript, &lost);
        if self.compares {
            self.compare(before, record, &needed, tokens);
        }
    }
}

/// Returns the rows of several policies over one source and window, the simplest first. The rows that are not a
/// policy's own are those at the first policy's compactions.
pub fn rows(measures: Vec<Measure<'_>>) -> Vec<Row> {
    let mut own = Vec::new();
    let mut others = Vec::new();
    for measure in measures {
        others.extend(measure.others);
        own.push(measure.own);
    }
    others.extend(own);
    others
}
