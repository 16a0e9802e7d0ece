//! Needed-identifier recall: of the exact names that the next tool calls used and that stood only in the past, the
//! share that a compacted prompt still holds. Needs no model and no judge. It sees names, not understanding.

use super::{Render, Watch};
use engine::compact::compose::{Ingredients, Inputs};
use engine::compact::identifiers::identifiers;
use engine::compact::plan::Aim;
use engine::compact::policy::{Policy, WORDS_AND_LEDGER};
use engine::compact::record::{Compaction, Mode, Placement};
use engine::compact::slice;
use engine::message::{Body, argument_values};
use engine::prompt::item::Channel;
use engine::prompt::{self, Source};
use engine::search::{self, HITS, Query, Words};
use engine::tokens::TokenCount;
use engine::transcript::Transcript;
use import::{Entry, Import};
use serde::Serialize;
use std::collections::BTreeSet;

/// Messages after a compaction whose calls say what was needed.
pub const HORIZON: usize = 60;
/// A point at which fewer names were needed says nothing.
pub const LEAST_NEEDED: usize = 5;

/// What a policy kept over all points of a replay.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// The policy.
    pub policy: String,
    /// Names that were needed.
    pub needed: usize,
    /// Names of them that the prompt held.
    pub held: usize,
    /// Points that counted.
    pub points: usize,
    /// Tokens kept at these points, added up; tools and system text left out.
    pub retained_tokens: u64,
    /// Names that were needed and not held, with the number of the compaction that lost them.
    pub missing: Vec<(usize, String)>,
}

impl Row {
    fn named(policy: &str) -> Self {
        Self { policy: policy.into(), ..Self::default() }
    }

    /// `held ÷ needed`; nothing where nothing was needed.
    pub fn recall(&self) -> Option<f64> {
        (self.needed > 0).then(|| self.held as f64 / self.needed as f64)
    }

    /// A name counts as held where the kept text shows it, or `found` gives it back.
    fn add(&mut self, needed: &BTreeSet<String>, kept: &str, tokens: u32, found: impl Fn(&str) -> bool) {
        let ids: BTreeSet<&str> = identifiers(kept).collect();
        self.needed += needed.len();
        let (held, missing): (Vec<&String>, Vec<&String>) =
            needed.iter().partition(|id| ids.contains(id.as_str()) || kept.contains(*id) || found(id));
        self.held += held.len();
        self.missing.extend(missing.into_iter().map(|id| (self.points, id.clone())));
        self.points += 1;
        self.retained_tokens += u64::from(tokens);
    }
}

/// Measures each compaction of a replay while it goes on.
pub struct Measure<'a> {
    messages: Vec<Measured>,
    counter: &'a dyn TokenCount,
    /// What the policy of the replay kept.
    pub own: Row,
    /// The newest messages that weigh as much, unchanged.
    pub raw_tail: Row,
    /// User words, ledger and the newest rounds, as a policy of the same engine.
    pub words_and_ledger: Row,
    /// What the policy of the replay kept, with one search of the session for each name that it did not keep.
    pub with_search: Row,
    /// Compactions that are not counted, because too few names were needed after them.
    pub skipped: usize,
}

/// A message of the source as the measure reads it.
struct Measured {
    is_assistant: bool,
    said: String,
    arguments: String,
    tokens: u32,
}

impl<'a> Measure<'a> {
    /// Reads the whole source once: the measure knows the future.
    pub fn new(import: &Import, policy: &Policy, counter: &'a dyn TokenCount) -> Self {
        let messages = import.entries.iter().filter_map(|entry| match entry {
            Entry::Message(message) => Some(Measured::of(&message.body, counter)),
            Entry::Compaction(_) => None,
        });
        Self {
            messages: messages.collect(),
            counter,
            own: Row::named(&policy.name),
            raw_tail: Row::named("raw tail of the same size"),
            words_and_ledger: Row::named("user words and ledger"),
            with_search: Row::named(&format!("{} and a search", policy.name)),
            skipped: 0,
        }
    }

    /// Names in the arguments of the next calls that stood before `at` and that nothing showed again before that use.
    fn needed(&self, at: usize) -> BTreeSet<String> {
        let (past, future) = self.messages.split_at(at.min(self.messages.len()));
        let texts = past.iter().flat_map(|m| [m.said.as_str(), m.arguments.as_str()]);
        let before: BTreeSet<&str> = texts.flat_map(identifiers).collect();
        let mut shown: BTreeSet<&str> = BTreeSet::new();
        let mut needed = BTreeSet::new();
        for message in future.iter().take(HORIZON) {
            if message.is_assistant {
                let used =
                    identifiers(&message.arguments).filter(|id| before.contains(id) && !shown.contains(id));
                needed.extend(used.map(str::to_owned));
                shown.extend(identifiers(&message.arguments));
            }
            shown.extend(identifiers(&message.said));
        }
        needed
    }

    /// The newest messages before `at` that weigh `tokens` at most.
    fn tail(&self, at: usize, tokens: u32) -> (String, u32) {
        let mut kept = Vec::new();
        let mut used = 0;
        for message in self.messages.iter().take(at).rev() {
            if used + message.tokens > tokens {
                break;
            }
            used += message.tokens;
            kept.push(format!("{}\n{}", message.said, message.arguments));
        }
        kept.reverse();
        (kept.join("\n"), used)
    }
}

impl Measured {
    fn of(body: &Body, counter: &dyn TokenCount) -> Self {
        let is_assistant = matches!(body, Body::Assistant { .. });
        let (said, arguments) = match body {
            Body::Assistant { parts, calls, .. } => {
                let said: Vec<&str> =
                    parts.iter().filter_map(|part| part.text().map(|text| &**text)).collect();
                let arguments: Vec<String> =
                    calls.iter().map(|call| argument_values(&call.arguments)).collect();
                (said.join("\n"), arguments.join("\n"))
            }
            _ => (body.texts().iter().map(|text| &***text).collect::<Vec<_>>().join("\n"), String::new()),
        };
        Self { is_assistant, said, arguments, tokens: body.tokens(counter) }
    }
}

/// What a prompt shows of the session, as text, with its weight; tools and system block left out. A compaction block
/// counts, wherever it stands.
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
        let at = before.transcript.messages().len();
        let needed = self.needed(at);
        if needed.len() < LEAST_NEEDED {
            self.skipped += 1;
            return;
        }
        let (kept, tokens) = shown(before, record);
        self.own.add(&needed, &kept, tokens, |_| false);
        let mut with_search = std::mem::take(&mut self.with_search);
        with_search.add(&needed, &kept, tokens, |name| finds(before.transcript, name));
        self.with_search = with_search;
        let (tail, tail_tokens) = self.tail(at, tokens);
        self.raw_tail.add(&needed, &tail, tail_tokens, |_| false);
        let inputs = Inputs {
            source: before,
            policy: &WORDS_AND_LEDGER,
            counter: self.counter,
            tokens_before: record.tokens_before,
            focus: None,
            aim: Aim::Room,
        };
        let slice = slice::slice(before, inputs.policy).ok();
        let other = slice.and_then(|slice| inputs.with_block(Mode::Ledger, slice, &Ingredients::default()));
        let (kept, tokens) = shown(before, other.as_ref().unwrap_or(record));
        self.words_and_ledger.add(&needed, &kept, tokens, |_| false);
    }
}

/// Whether one search for this name, as a model makes it, shows it.
fn finds(transcript: &Transcript, name: &str) -> bool {
    let query = Query { words: Words::of(name), before: None, limit: HITS, hidden: false };
    let found = search::find(transcript.messages().iter().rev().map(|message| &**message), &query);
    found.hits.iter().any(|hit| hit.excerpt.text.contains(name))
}

/// The rows of several policies over one source and window, the simplest first; what is compared with them is taken
/// where the first of them compacted.
pub fn rows<'m>(measures: &'m [Measure<'_>]) -> Vec<&'m Row> {
    let first = measures.first();
    let compared = first.map(|measure| [&measure.raw_tail, &measure.words_and_ledger]);
    let own = measures.iter().map(|measure| &measure.own);
    let searched = first.map(|measure| &measure.with_search);
    compared.into_iter().flatten().chain(own).chain(searched).collect()
}
