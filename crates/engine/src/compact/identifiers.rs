//! The identifier index: exact names of a covered span, which a summarizer might get wrong, ranked by kind and age of
//! their uses, grouped by origin. Names that look like secrets are left out.

use super::ledger::lines::shown;
use super::ledger::reader::paths_in;
use super::secrets::{looks_secret, masked};
use crate::id::Ordinal;
use crate::message::about::About;
use crate::message::{AssistantPart, Body, Content, Mention, Message, argument_values};
use crate::prompt::Prompt;
use crate::transcript::Transcript;
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// Minimum bytes of an identifier; shorter ones are common words.
const LEAST_BYTES: usize = 5;
/// Maximum bytes of a run of identifier characters; longer ones are data.
const MOST_BYTES: usize = 256;

/// Paths, flags, file names, snake_case, camelCase, PascalCase, hashes, numbers of three digits and more.
#[allow(clippy::expect_used, reason = "a constant pattern; the tests compile it")]
static IDENTIFIER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?-u)(?:[\w.@-]*/)+[\w.@-]+",
        r"|--[a-z][\w-]+",
        r"|\b[\w-]+\.(?:css|html|js|json|md|py|rs|sh|toml|ts|tsx|txt|yaml|yml)\b",
        r"|\b[A-Za-z]+(?:_[A-Za-z0-9]+)+\b",
        r"|\b[a-z]+(?:[A-Z][a-z0-9]+)+\b",
        r"|\b(?:[A-Z][a-z0-9]+){2,}\b",
        r"|\b[0-9a-f]{7,40}\b",
        r"|\b\d{3,}\b",
    ))
    .expect("pattern")
});

/// Returns the identifiers of a text in order, with repetitions. Each lies within one run of identifier characters;
/// runs that are too short or too long for a name are skipped.
pub fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '@' | '/' | '-');
    // A line break that is written as an escape is no part of the word behind it, and the end of a tag is no path.
    let (mut is_escape, mut is_tag) = (false, false);
    let runs = text.split_inclusive(move |c| !is_of_name(c)).map(move |piece| {
        let run = piece.trim_end_matches(move |c| !is_of_name(c));
        let word = run.strip_prefix(['n', 'r', 't']).filter(|word| word.starts_with(char::is_uppercase));
        let word = word.filter(|_| is_escape);
        let tag = run.strip_prefix('/').filter(|name| is_tag && !name.contains('/'));
        (is_escape, is_tag) = (piece.ends_with('\\'), piece.ends_with('<'));
        word.or(tag).unwrap_or(run)
    });
    runs.filter(|run| (LEAST_BYTES..=MOST_BYTES).contains(&run.len()))
        .flat_map(|run| IDENTIFIER.find_iter(run))
        .map(|found| without_line(found.as_str()))
        .filter(|id| id.len() >= LEAST_BYTES && !is_mode(id))
}

/// `true` for the end of the permissions that a list of files shows, which looks like a flag.
fn is_mode(id: &str) -> bool {
    id.starts_with("--") && id.ends_with('-')
}

/// A path without the number between hyphens with which a search shows lines around a match.
fn without_line(id: &str) -> &str {
    let number = id.strip_suffix('-').and_then(|rest| rest.rsplit_once('-'));
    match number {
        Some((path, line)) if !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit()) => path,
        _ => id,
    }
}

/// Origin of an identifier.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A file that a call was about.
    File(String),
    /// A command that names no file, cut to its start.
    Command(String),
    /// Messages, and calls without file or command.
    Conversation,
}

impl Place {
    /// The heading of its names in the index.
    pub fn name(&self) -> String {
        match self {
            Place::File(path) => shown(path, 200),
            Place::Command(start) => format!("`{start}`"),
            Place::Conversation => "conversation".into(),
        }
    }

    fn of(about: &About) -> Self {
        match (about.path(), &about.command) {
            (Some(path), _) => Place::File(path.to_owned()),
            (None, Some(command)) => match paths_in(command).last() {
                Some(path) => Place::File(path.to_owned()),
                None => Place::Command(shown(command, 24)),
            },
            (None, None) => Place::Conversation,
        }
    }
}

/// An identifier with score and origin.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked<'a> {
    /// The identifier.
    pub id: &'a str,
    /// Likelihood of being needed, relative to its length; higher is better.
    pub score: f64,
    /// Origin of its latest use.
    pub place: Place,
}

/// Weights of uses by user, call arguments, assistant text and results.
const BY_USER: u8 = 4;
const BY_ARGUMENTS: u8 = 4;
const BY_ASSISTANT: u8 = 3;
const BY_RESULT: u8 = 2;
/// Weight above which further uses count less and less.
const SATURATION: f64 = 3.0;
/// Messages without a use after which the score of an identifier falls to a quarter.
const FADING: f64 = 80.0;
/// Messages that the ranking looks back. At this age a score has fallen below 1/600.
pub(crate) const REACH: u32 = 2000;
/// Factor for command-line flags: a flag is needed exactly or not at all.
const FLAG: f64 = 2.0;
/// Factor for text that is seldom a name: two words around a slash, a tag, an address, a hash that only results show.
const NOISE: f64 = 0.1;
/// Factor for names that no user and no call used.
const SEEN_ONLY: f64 = 0.35;
/// Bytes per token of identifiers.
const BYTES_PER_TOKEN: f64 = 3.6;

#[derive(Default)]
struct Use<'a> {
    weight: u32,
    last: usize,
    /// `true` if the user or a call named it.
    is_used: bool,
    place: Option<&'a Place>,
}

/// Returns the identifiers of the messages up to `through`, highest score first. The kind of use matters little beside
/// its age. Messages more than [`REACH`] back are not read, so that the cost does not grow with the session.
pub(crate) fn rank(transcript: &Transcript, through: Ordinal) -> Vec<Ranked<'_>> {
    let from = Ordinal(through.0.saturating_sub(REACH));
    let places = places(transcript, from, through);
    let mut uses: BTreeMap<&str, Use<'_>> = BTreeMap::new();
    let messages = transcript.range(from, through);
    let is_for_model = |message: &Message| message.visible_to_model && !transcript.is_excluded(message.ord);
    for (message, here) in messages.iter().zip(&places).filter(|(message, _)| is_for_model(message)) {
        for mention in mentions(message) {
            let entry = uses.entry(&mention.id).or_default();
            entry.weight += u32::from(mention.weight);
            entry.is_used |= mention.weight >= BY_USER.min(BY_ARGUMENTS);
            entry.last = message.ord.index();
            entry.place = here.get(mention.call.map_or(0, usize::from)).or(entry.place);
        }
    }
    let now = transcript.messages().len();
    let mut ranked: Vec<Ranked<'_>> = uses
        .into_iter()
        .filter(|(id, _)| !looks_secret(id))
        .map(|(id, used)| Ranked {
            id,
            score: score(id, &used, now),
            place: used.place.cloned().unwrap_or(Place::Conversation),
        })
        .collect();
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(b.id)));
    ranked
}

fn score(id: &str, used: &Use<'_>, now: usize) -> f64 {
    let age = now.saturating_sub(used.last) as f64;
    let by_use = if used.is_used { 1.0 } else { SEEN_ONLY };
    let class = match id {
        _ if id.starts_with("--") && !id.contains('/') => FLAG,
        _ if is_noise(id) => NOISE,
        // A log prints dozens of hashes, and a call takes up one of them.
        _ if !used.is_used && is_hash(id) => NOISE,
        _ => 1.0,
    };
    let worth = (1.0 + f64::from(used.weight) / SATURATION).ln() / (1.0 + age / FADING).powi(2);
    worth * by_use * class / (id.len() as f64 / BYTES_PER_TOKEN + 1.0)
}

/// `true` for hexadecimal digits, decimal numbers included.
fn is_hash(id: &str) -> bool {
    id.bytes().all(|byte| byte.is_ascii_hexdigit()) && id.bytes().any(|byte| byte.is_ascii_digit())
}

fn is_noise(id: &str) -> bool {
    let Some((_, last)) = id.rsplit_once('/') else { return false };
    let is_relative = ["./", "../", "@"].iter().any(|start| id.starts_with(start));
    id.starts_with("//")
        || id.ends_with(['.', '-'])
        || (!last.contains('.') && id.matches('/').count() <= 1 && !is_relative)
}

/// Returns for each message of the range the origins of its calls; for a result, that of the call it answers.
fn places(transcript: &Transcript, from: Ordinal, through: Ordinal) -> Vec<Vec<Place>> {
    let mut places = vec![Vec::new(); transcript.range(from, through).len()];
    let mut set = |ord: Ordinal, value: Vec<Place>| {
        if let Some(slot) = ord.index().checked_sub(from.index()).and_then(|at| places.get_mut(at)) {
            *slot = value;
        }
    };
    let rounds = transcript.rounds().iter().skip(transcript.first_round_from(from));
    for round in rounds.take_while(|round| round.assistant <= through) {
        let Some(message) = transcript.message(round.assistant) else { continue };
        let of_calls: Vec<Place> = message.about().iter().map(Place::of).collect();
        for (place, answer) in of_calls.iter().zip(&round.results) {
            if let Some(ord) = answer {
                set(*ord, vec![place.clone()]);
            }
        }
        set(round.assistant, of_calls);
    }
    places
}

/// The identifiers of a message, each once with its heaviest use.
fn mentions(message: &Message) -> &[Mention] {
    message.found.mentions.get_or_init(|| {
        let mut found: BTreeMap<String, (u8, Option<u16>)> = BTreeMap::new();
        let mut add = |text: &str, weight: u8, call: Option<u16>| {
            for id in identifiers(&masked(text)) {
                match found.get_mut(id) {
                    Some(known) if known.0 >= weight => {}
                    Some(known) => *known = (weight, call),
                    None => {
                        found.insert(id.to_owned(), (weight, call));
                    }
                }
            }
        };
        match &message.body {
            Body::Event { .. } => {}
            Body::User(parts) => {
                parts.iter().filter_map(Content::text).for_each(|text| add(text, BY_USER, None));
            }
            Body::Tool(result) => {
                result.content.iter().filter_map(Content::text).for_each(|text| add(text, BY_RESULT, None));
            }
            Body::Assistant { parts, calls, .. } => {
                for (n, call) in calls.iter().enumerate() {
                    add(&argument_values(&call.arguments), BY_ARGUMENTS, u16::try_from(n).ok());
                }
                for text in parts.iter().filter_map(AssistantPart::text) {
                    add(text, BY_ASSISTANT, Some(u16::MAX));
                }
            }
        }
        found.into_iter().map(|(id, (weight, call))| Mention { id: id.into(), weight, call }).collect()
    })
}

/// Identifiers that the prompt shows anyway, so that the index can omit them.
#[derive(Debug, Clone, Default)]
pub struct Seen(BTreeSet<String>);

impl Seen {
    /// Collects the identifiers of a prompt and of the rest of its block.
    pub(crate) fn in_prompt(prompt: &Prompt, block: &str) -> Self {
        let mut seen = Self::default();
        seen.add(block);
        for item in &prompt.items {
            item.parts.iter().filter_map(|part| part.as_text()).for_each(|said| seen.add(said));
            item.calls.iter().for_each(|call| seen.add(&argument_values(&call.arguments)));
        }
        seen
    }

    fn add(&mut self, text: &str) {
        for id in identifiers(text).filter(|id| !self.0.contains(*id)).map(str::to_owned).collect::<Vec<_>>()
        {
            self.0.insert(id);
        }
    }

    fn shows(&self, id: &str) -> bool {
        self.0.contains(id) || self.0.contains(id.trim_end_matches(['.', '-']))
    }
}

/// Returns the first identifiers of `ranked` that fit about `tokens`, by origin. Origins in `known` need no tokens
/// for a heading.
pub fn index<'a>(
    ranked: &[&'a Ranked<'a>],
    known: &BTreeSet<Place>,
    tokens: u32,
) -> BTreeMap<Place, Vec<&'a str>> {
    let mut left = f64::from(tokens) * BYTES_PER_TOKEN;
    let mut groups: BTreeMap<Place, Vec<&str>> = BTreeMap::new();
    for entry in ranked {
        let is_headed = known.contains(&entry.place) || groups.contains_key(&entry.place);
        let heading = if is_headed { 0 } else { entry.place.name().len() + 4 };
        let cost = (entry.id.len() + 1 + heading) as f64;
        if cost > left {
            break;
        }
        left -= cost;
        groups.entry(entry.place.clone()).or_default().push(entry.id);
    }
    groups
}

/// Returns the entries of a ranking that are not in `seen`, in order.
pub(crate) fn unseen<'a>(ranked: &'a [Ranked<'a>], seen: &Seen) -> Vec<&'a Ranked<'a>> {
    ranked.iter().filter(|entry| !seen.shows(entry.id)).collect()
}

#[cfg(test)]
mod tests {
    use super::identifiers;

    #[test]
    fn names_are_told_from_what_is_written_around_them() {
        for (text, wanted) in [
            ("see src/a.rs and parse_line()", vec!["src/a.rs", "parse_line"]),
            (r"one\nSourceFile", vec!["SourceFile"]),
            ("<user_name>x</user_name> </command-name>", vec!["user_name", "user_name"]),
            ("src/a.rs-27- fn main", vec!["src/a.rs"]),
            ("sort </usr/lib/x", vec!["/usr/lib/x"]),
            ("-rw-r--r-- 1 me staff 120 a.txt --follow", vec!["a.txt", "--follow"]),
        ] {
            assert_eq!(identifiers(text).collect::<Vec<_>>(), wanted, "{text}");
        }
    }
}
