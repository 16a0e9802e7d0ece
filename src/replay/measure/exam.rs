//! The messages of a source, read in advance, and what a compaction between two of them had to keep: facts that the
//! following messages use, that stood before it, and that no message in between shows again.

use super::facts::{self, Kind, normalized};
use engine::compact::identifiers::identifiers;
use engine::message::about::About;
use engine::message::{AssistantPart, Body, argument_values};
use engine::text::{head, tail};
use engine::tokens::TokenCount;
use import::{Entry, Import};
use std::collections::{HashMap, HashSet};

/// Number of messages after a compaction whose facts count.
pub const HORIZON: usize = 60;
/// Bytes shown at each end of a shortened result.
const RESULT_END: usize = 200;
/// Tokens of a message beyond its text.
const OVERHEAD: u32 = 4;

/// A source, prepared for any number of measures.
pub struct Exam {
    pub(super) messages: Vec<Measured>,
}

/// A message of the source.
pub(super) struct Measured {
    pub(super) is_assistant: bool,
    /// Words of the author, without reasoning, which no prompt owes to a model.
    pub(super) said: String,
    /// The values of the calls' arguments.
    pub(super) arguments: String,
    /// Said and arguments, and their tokens.
    pub(super) whole: Sized,
    /// As `whole`, with a result cut to its two ends.
    pub(super) short: Sized,
    /// Files of the calls, or of the call that this answers.
    pub(super) files: Vec<String>,
    facts: Vec<Used>,
}

/// A text and its tokens.
#[derive(Clone)]
pub(super) struct Sized {
    pub(super) text: String,
    pub(super) tokens: u32,
}

/// A fact that a message uses.
struct Used {
    kind: Kind,
    text: String,
    /// Index of the newest earlier message that shows it.
    seen: usize,
}

/// A fact that a compaction had to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Needed<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    /// Index of the message that uses it.
    pub(super) by: usize,
}

impl Sized {
    fn new(text: String, counter: &dyn TokenCount) -> Self {
        let tokens = counter.count(&text).saturating_add(OVERHEAD);
        Self { text, tokens }
    }
}

impl Exam {
    /// Reads the whole source, because later messages define what was needed.
    pub fn of(import: &Import, counter: &dyn TokenCount) -> Self {
        let mut messages: Vec<Measured> = Vec::new();
        let mut plain: Vec<String> = Vec::new();
        let mut names: HashMap<String, usize> = HashMap::new();
        let mut calls: HashMap<String, Vec<String>> = HashMap::new();
        for entry in &import.entries {
            let Entry::Message(message) = entry else { continue };
            let mut measured = Measured::of(&message.body, &mut calls, counter);
            let at = messages.len();
            let text = normalized(&measured.whole.text);
            if let Body::Assistant { calls, .. } = &message.body {
                measured.facts = used_names(&measured.arguments, &names);
                let others = facts::facts(&measured.said, calls).into_iter().filter_map(|(kind, text)| {
                    let seen = plain.iter().rposition(|plain| plain.contains(&text))?;
                    Some(Used { kind, text, seen })
                });
                measured.facts.extend(others);
            }
            for name in identifiers(&measured.whole.text) {
                match names.get_mut(name) {
                    Some(seen) => *seen = at,
                    None => drop(names.insert(name.to_owned(), at)),
                }
            }
            plain.push(text);
            messages.push(measured);
        }
        Self { messages }
    }

    /// The facts that a compaction before message `at` had to keep, in the order of their first use.
    pub(super) fn needed(&self, at: usize) -> Vec<Needed<'_>> {
        let mut got = HashSet::new();
        let mut needed = Vec::new();
        for (by, message) in self.messages.iter().enumerate().skip(at).take(HORIZON) {
            for fact in message.facts.iter().filter(|fact| fact.seen < at) {
                if got.insert((fact.kind, fact.text.as_str())) {
                    needed.push(Needed { kind: fact.kind, text: &fact.text, by });
                }
            }
        }
        needed
    }
}

/// The identifiers of the arguments that an earlier message shows, each once.
fn used_names(arguments: &str, names: &HashMap<String, usize>) -> Vec<Used> {
    let mut got = HashSet::new();
    let known = identifiers(arguments)
        .filter(|name| got.insert(*name))
        .filter_map(|name| Some(Used { kind: Kind::Name, text: name.to_owned(), seen: *names.get(name)? }));
    known.collect()
}

impl Measured {
    fn of(body: &Body, calls_so_far: &mut HashMap<String, Vec<String>>, counter: &dyn TokenCount) -> Self {
        let (said, arguments, files) = match body {
            Body::Assistant { parts, calls, .. } => {
                let said: Vec<&str> = parts
                    .iter()
                    .filter_map(|part| match part {
                        AssistantPart::Text(text) => Some(&**text),
                        AssistantPart::Reasoning { .. } | AssistantPart::Raw(_) => None,
                    })
                    .collect();
                let arguments: Vec<String> =
                    calls.iter().map(|call| argument_values(&call.arguments)).collect();
                let mut files = Vec::new();
                for call in calls {
                    let paths = About::of(call).paths;
                    files.extend(paths.iter().cloned());
                    calls_so_far.insert(call.id.as_str().to_owned(), paths);
                }
                (said.join("\n"), arguments.join("\n"), files)
            }
            Body::Tool(result) => {
                let files = calls_so_far.get(&result.call).cloned().unwrap_or_default();
                (texts(body), String::new(), files)
            }
            Body::User(_) | Body::Event { .. } => (texts(body), String::new(), Vec::new()),
        };
        let whole = Sized::new(format!("{said}\n{arguments}"), counter);
        let short = match body {
            Body::Tool(_) if said.len() > 2 * RESULT_END => {
                let text = format!("{}\n…\n{}", head(&said, RESULT_END), tail(&said, RESULT_END));
                Sized::new(text, counter)
            }
            _ => whole.clone(),
        };
        let is_assistant = matches!(body, Body::Assistant { .. });
        Self { is_assistant, said, arguments, whole, short, files, facts: Vec::new() }
    }
}

fn texts(body: &Body) -> String {
    body.texts().iter().map(|text| &***text).collect::<Vec<_>>().join("\n")
}
