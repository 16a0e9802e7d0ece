//! Needed-identifier recall: of the exact names that the next tool calls used and that occurred only before, the
//! share that a compacted prompt still holds. Needs no model and no judge. Measures names, not understanding.

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

/// Number of messages after a compaction whose calls define the needed names.
pub const HORIZON: usize = 60;
/// Fewest needed names at which a compaction counts.
pub const LEAST_NEEDED: usize = 5;

/// Recall of one policy, summed over the compactions of a replay.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// Name of the policy.
    pub policy: String,
    /// Number of needed names.
    pub needed: usize,
    /// Number of needed names that the prompt held.
    pub held: usize,
    /// Number of compactions that counted.
    pub points: usize,
    /// Tokens of the prompts after these compactions, summed, without tools and system text.
    pub retained_tokens: u64,
    /// Needed names that were not held, each with the index of its compaction in `points`.
    pub missing: Vec<(usize, String)>,
}

impl Row {
    fn named(policy: &str) -> Self {
        Self { policy: policy.into(), ..Self::default() }
    }

    /// Returns `held ÷ needed`, or `None` if no name was needed.
    pub fn recall(&self) -> Option<f64> {
        (self.needed > 0).then(|| self.held as f64 / self.needed as f64)
    }

    /// Adds one compaction. A name is held if it occurs in `kept` or `found` returns `true` for it.
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

/// Measures each compaction during a replay.
pub struct Measure<'a> {
    messages: Vec<Measured>,
    counter: &'a dyn TokenCount,
    /// Recall under the replay's policy.
    pub own: Row,
    /// Recall of the newest messages, unchanged, in at most as many tokens.
    pub raw_tail: Row,
    /// Recall of user words, ledger and the newest rounds, as a policy of the same engine.
    pub words_and_ledger: Row,
    /// As `own`, with one search of the session for each missing name.
    pub with_search: Row,
    /// Compactions not counted, as too few names were needed after them.
    pub skipped: usize,
}

/// A message of the source, read in advance.
struct Measured {
    is_assistant: bool,
    said: String,
    arguments: String,
    tokens: u32,
}

impl<'a> Measure<'a> {
    /// Reads the whole source in advance, because later calls define the needed names.
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

    /// Names in the arguments of the next calls that occur before `at` and not between `at` and their first use.
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

    /// The newest messages before `at` that fit in `tokens`, and their tokens.
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

/// `true` if one search for this name, with a model's defaults, shows it.
fn finds(transcript: &Transcript, name: &str) -> bool {
    let query = Query { words: Words::of(name), before: None, limit: HITS, hidden: false };
    let found = search::find(transcript.messages().iter().rev().map(|message| &**message), &query);
    found.hits.iter().any(|hit| hit.excerpt.text.contains(name))
}

/// Returns the rows of several policies over one source and window, the simplest first. The rows that are not a
/// policy's own are those at the first policy's compactions.
pub fn rows<'m>(measures: &'m [Measure<'_>]) -> Vec<&'m Row> {
    let first = measures.first();
    let compared = first.map(|measure| [&measure.raw_tail, &measure.words_and_ledger]);
    let own = measures.iter().map(|measure| &measure.own);
    let searched = first.map(|measure| &measure.with_search);
    compared.into_iter().flatten().chain(own).chain(searched).collect()
}
