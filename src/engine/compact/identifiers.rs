//! The identifier index: exact names of a covered span that a summarizer cannot be trusted with, ranked by who used
//! them and when, grouped by where they came from, for a reader. What looks like a secret stays out.

use super::known_tools::about;
use super::ledger::paths_in;
use crate::engine::id::Ordinal;
use crate::engine::message::{Body, Mention, Message, ToolCall};
use crate::engine::prompt::Prompt;
use crate::engine::text::one_line;
use crate::engine::transcript::Transcript;
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// Shorter names are words that stand everywhere.
const LEAST_BYTES: usize = 5;

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

/// The identifiers of a text, in order, repeated as often as they stand there.
pub fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    IDENTIFIER.find_iter(text).map(|found| found.as_str()).filter(|id| id.len() >= LEAST_BYTES)
}

/// Where an identifier came from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A file that a call was about.
    File(String),
    /// A command that names no file, by its beginning.
    Command(String),
    /// What was said.
    Conversation,
}

impl Place {
    /// As the index names it.
    pub fn name(&self) -> String {
        match self {
            Place::File(path) => path.clone(),
            Place::Command(start) => format!("`{start}`"),
            Place::Conversation => "conversation".into(),
        }
    }

    fn of(call: &ToolCall) -> Self {
        let about = about(call);
        match (about.path, about.command) {
            (Some(path), _) => Place::File(path),
            (None, Some(command)) => match paths_in(&command).last() {
                Some(path) => Place::File(path.to_owned()),
                None => Place::Command(one_line(&command, 24)),
            },
            (None, None) => Place::Conversation,
        }
    }
}

/// An identifier with its worth and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked<'a> {
    /// The identifier.
    pub id: &'a str,
    /// The larger, the likelier it is needed, for its length.
    pub score: f64,
    /// Where it came from last.
    pub place: Place,
}

/// Who used an identifier, as weights.
const BY_USER: u8 = 4;
const BY_ARGUMENTS: u8 = 4;
const BY_ASSISTANT: u8 = 3;
const BY_RESULT: u8 = 2;
/// Further uses count less and less above this weight.
const SATURATION: f64 = 3.0;
/// Messages after which an identifier that nobody used is worth a quarter.
const FADING: f64 = 80.0;
/// A flag is needed exactly or not at all.
const FLAG: f64 = 2.0;
/// Two words with a slash between them, a tag, an address: seldom a path.
const NOISE: f64 = 0.1;
/// Bytes of such text per token.
const BYTES_PER_TOKEN: f64 = 3.6;

#[derive(Default)]
struct Use<'a> {
    weight: u32,
    last: usize,
    place: Option<&'a Place>,
}

/// The identifiers of these messages, the worthiest for its length first. Who used it matters little beside how long
/// ago.
pub fn rank<'a>(transcript: &'a Transcript, lost: &BTreeSet<Ordinal>) -> Vec<Ranked<'a>> {
    let places = places(transcript, lost);
    let mut uses: BTreeMap<&str, Use<'_>> = BTreeMap::new();
    let for_the_model = |message: &&std::sync::Arc<Message>| message.visible_to_model;
    for message in lost.iter().filter_map(|ord| transcript.message(*ord)).filter(for_the_model) {
        let here = places.get(&message.ord).map_or(&[][..], Vec::as_slice);
        for mention in mentions(message) {
            let entry = uses.entry(&mention.id).or_default();
            entry.weight += u32::from(mention.weight);
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
    let class = match id {
        _ if id.starts_with("--") && !id.contains('/') => FLAG,
        _ if is_noise(id) => NOISE,
        _ => 1.0,
    };
    let worth = (1.0 + f64::from(used.weight) / SATURATION).ln() / (1.0 + age / FADING).powi(2);
    worth * class / (id.len() as f64 / BYTES_PER_TOKEN + 1.0)
}

fn is_noise(id: &str) -> bool {
    let Some((_, last)) = id.rsplit_once('/') else { return false };
    let is_relative = ["./", "../", "@"].iter().any(|start| id.starts_with(start));
    id.starts_with("//")
        || id.ends_with(['.', '-'])
        || (!last.contains('.') && id.matches('/').count() <= 1 && !is_relative)
}

/// The places of each message: of an assistant's calls, and for a result of the call that it answers.
fn places(transcript: &Transcript, lost: &BTreeSet<Ordinal>) -> BTreeMap<Ordinal, Vec<Place>> {
    let mut places = BTreeMap::new();
    let Some(last) = lost.last() else { return places };
    for round in transcript.rounds().iter().take_while(|round| round.assistant <= *last) {
        let is_lost = |ord: &Ordinal| lost.contains(ord);
        if !is_lost(&round.assistant) && !round.results.iter().flatten().any(is_lost) {
            continue;
        }
        let Some(Body::Assistant { calls, .. }) = transcript.message(round.assistant).map(|m| &m.body) else {
            continue;
        };
        let of_calls: Vec<Place> = calls.iter().map(Place::of).collect();
        for (place, answer) in of_calls.iter().zip(&round.results) {
            if let Some(ord) = answer {
                places.insert(*ord, vec![place.clone()]);
            }
        }
        places.insert(round.assistant, of_calls);
    }
    places
}

/// The identifiers of a message, each once with its heaviest use.
fn mentions(message: &Message) -> &[Mention] {
    message.mentions.get_or_init(|| {
        let mut found: BTreeMap<&str, (u8, Option<u16>)> = BTreeMap::new();
        for (text, weight, call) in said(message) {
            for id in identifiers(text) {
                let entry = found.entry(id).or_insert((weight, call));
                if weight > entry.0 {
                    *entry = (weight, call);
                }
            }
        }
        found.into_iter().map(|(id, (weight, call))| Mention { id: id.into(), weight, call }).collect()
    })
}

/// The texts of a message with the weight of their speaker, and the call whose arguments they are.
fn said(message: &Message) -> Vec<(&str, u8, Option<u16>)> {
    let texts = message.body.texts();
    let weight = match &message.body {
        Body::Event { .. } => return Vec::new(),
        Body::User(_) => BY_USER,
        Body::Tool(_) => BY_RESULT,
        Body::Assistant { parts, .. } => {
            let said = texts.iter().take(parts.len()).map(|text| (&***text, BY_ASSISTANT, Some(u16::MAX)));
            let asked = texts.iter().skip(parts.len()).enumerate();
            let asked = asked.map(|(n, text)| (&***text, BY_ARGUMENTS, u16::try_from(n).ok()));
            return said.chain(asked).collect();
        }
    };
    texts.into_iter().map(|text| (&**text, weight, None)).collect()
}

/// What no index may repeat: keys by their known beginnings, and long runs of mixed characters.
pub fn looks_secret(id: &str) -> bool {
    const BEGINNINGS: &[&str] =
        &["AKIA", "AIza", "eyJ", "ghp_", "gho_", "github_pat_", "glpat-", "sk-", "sk_", "xox"];
    let name = id.rsplit('/').next().unwrap_or(id);
    let is = |test: fn(&u8) -> bool| name.as_bytes().iter().any(test);
    BEGINNINGS.iter().any(|start| name.starts_with(start))
        || (name.len() >= 24
            && !name.contains(['.', '-', '_'])
            && is(u8::is_ascii_digit)
            && is(u8::is_ascii_uppercase)
            && is(u8::is_ascii_lowercase))
}

/// What the reader of a prompt sees anyway; the index need not say it again.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    text: String,
    ids: BTreeSet<String>,
}

impl Seen {
    /// What a prompt and the rest of its block show.
    pub fn in_prompt(prompt: &Prompt, block: &str) -> Self {
        let mut text = String::from(block);
        for shown in prompt.items.iter().flat_map(|item| item.texts()) {
            text.push('\n');
            text.push_str(shown);
        }
        let ids = identifiers(&text).map(str::to_owned).collect();
        Self { text, ids }
    }

    fn shows(&self, id: &str) -> bool {
        self.ids.contains(id) || self.text.contains(id)
    }

    fn add(&mut self, text: &str) {
        self.text.push('\n');
        self.text.push_str(text);
    }
}

/// The worthiest identifiers that fit into about `tokens` and are not seen, by place. A place that `known` names has
/// its heading already.
pub fn index<'a>(
    ranked: &'a [Ranked<'a>],
    mut seen: Seen,
    known: &BTreeSet<Place>,
    tokens: u32,
) -> BTreeMap<Place, Vec<&'a str>> {
    let mut left = f64::from(tokens) * BYTES_PER_TOKEN;
    let mut groups: BTreeMap<Place, Vec<&str>> = BTreeMap::new();
    for entry in ranked {
        if seen.shows(entry.id) || seen.shows(entry.id.trim_end_matches(['.', '-'])) {
            continue;
        }
        let is_headed = known.contains(&entry.place) || groups.contains_key(&entry.place);
        let heading = if is_headed { String::new() } else { entry.place.name() };
        let cost = entry.id.len() + 1 + if is_headed { 0 } else { heading.len() + 4 };
        if cost as f64 > left {
            break;
        }
        left -= cost as f64;
        seen.add(&heading);
        seen.add(entry.id);
        groups.entry(entry.place.clone()).or_default().push(entry.id);
    }
    groups
}
