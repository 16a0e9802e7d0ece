//! The query that finds a lost fact: the words with which the recorded session went on, as a model would type them, not
//! the fact itself.

use super::exam::{Exam, Needed};
use super::facts::Kind;
use regex::Regex;
use std::collections::HashSet;
use std::sync::LazyLock;

/// Most words of a query, without the file's name.
const MOST_WORDS: usize = 8;
/// Fewer words than this are completed by the assistant's earlier messages.
const LEAST_WORDS: usize = 4;

/// Words that say nothing about a subject.
const COMMON: &[&str] = &[
    "the", "and", "for", "that", "this", "with", "now", "let", "check", "see", "have", "has", "was", "are",
    "not", "but", "you", "can", "will", "from", "into", "all", "its", "need", "also", "should", "would",
    "there", "then", "them", "they", "some", "any", "look", "looking", "good", "great", "perfect", "update",
    "add", "make", "using", "use", "when", "where", "which", "what",
];

#[allow(clippy::expect_used, reason = "a constant pattern; the tests compile it")]
static WORD: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"[A-Za-z_]\w{3,}").expect("pattern"));

/// Up to eight words of what the assistant says as it uses the fact, and the name of the file of its first call. Words
/// of a name, phrase or figure are left out. A message with too few words takes those before it, down to the
/// compaction before message `at`.
pub(super) fn query(exam: &Exam, at: usize, needed: &Needed<'_>) -> String {
    let said = |index: usize| exam.messages.get(index).filter(|message| message.is_assistant);
    let mut text = said(needed.by).map(|message| message.said.clone()).unwrap_or_default();
    let mut first = needed.by;
    while WORD.find_iter(&text).take(LEAST_WORDS).count() < LEAST_WORDS && first > at {
        first -= 1;
        if let Some(message) = said(first) {
            text = format!("{} {text}", message.said);
        }
    }
    let own = needed.text.to_lowercase();
    let own: HashSet<&str> = own.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let mut words: Vec<String> = Vec::new();
    for word in WORD.find_iter(&text) {
        let word = word.as_str().to_lowercase();
        // An edit is announced with words that its lines hold too; nobody types the line itself.
        let is_given_away = needed.kind != Kind::Line && own.contains(word.as_str());
        if words.len() < MOST_WORDS
            && !is_given_away
            && !COMMON.contains(&word.as_str())
            && !words.contains(&word)
        {
            words.push(word);
        }
    }
    let file = said(needed.by).and_then(|message| message.files.first());
    let file = file.and_then(|path| path.rsplit('/').next()).map(str::to_owned);
    words.extend(file.filter(|file| needed.kind == Kind::Line || !needed.text.contains(file.as_str())));
    words.join(" ")
}
