//! Model names as vendors, hosts and routers write them, split into family words and version. Comparing these
//! lets a name newer than the table find its family.

use serde::Deserialize;

/// A larger number is not a version but a date, or a version without its dot (`gpt-35-turbo`).
const MOST_VERSION: u32 = 19;

/// A parsed model name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub struct Name {
    /// The name in lower case, without vendor prefix and variant suffix. A dot counts as a dash.
    plain: String,
    /// The words without numbers: `claude`, `opus`.
    words: Vec<String>,
    /// The version; empty if there is none.
    version: Vec<u32>,
    /// `true` if the name has a date, or another number that is not part of the version.
    is_dated: bool,
    /// `true` for a `latest` alias.
    is_latest: bool,
}

/// Returns the value of the line that matches a model's name: the longest dated line that is a prefix of the
/// name; otherwise, of the lines of the same family that are not newer, the newest, and of those the most
/// specific.
pub fn find<'t, T>(lines: impl Iterator<Item = (&'t Name, &'t T)> + Clone, name: &str) -> Option<&'t T> {
    let name = Name::from(name.to_owned());
    let dated = lines.clone().filter(|(line, _)| line.is_dated && name.plain.starts_with(&line.plain));
    let dated = dated.max_by_key(|(line, _)| line.plain.len());
    let alike = lines.filter(|(line, _)| !line.is_dated && name.has_come_to(line));
    let newest = alike.max_by_key(|(line, _)| (line.version.clone(), line.words.len()));
    dated.or(newest).map(|(_, known)| known)
}

/// Returns the values of the lines for exactly the version and the words of a model's name, in order. A date, and the
/// revision that Bedrock appends to a name, make no difference.
pub fn find_exact<'t, T>(lines: impl Iterator<Item = (&'t Name, &'t T)>, name: &str) -> Vec<&'t T> {
    let name = Name::from(name.to_owned());
    let words = |line: &Name| {
        let revised = name.words.split_last().filter(|(last, _)| *last == "v");
        line.words == name.words || revised.is_some_and(|(_, words)| line.words == words)
    };
    let is_it = |line: &Name| !name.is_latest && words(line) && line.version == name.version;
    lines.filter(|(line, _)| is_it(line)).map(|(_, known)| known).collect()
}

impl Name {
    /// `true` if this name is of the line's family and not older.
    fn has_come_to(&self, line: &Self) -> bool {
        let is_newest = self.is_latest && self.version.is_empty();
        self.words.starts_with(&line.words) && (is_newest || line.version <= self.version)
    }

    /// Adds the next part: a word, a number, or a word with its number (`o3`, `qwen3`, `4o`). Returns `true`
    /// if the part ended in a number.
    fn take(&mut self, part: &str, was_number: bool) -> bool {
        let digits = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
        if digits(part) {
            self.number(part, was_number);
            return true;
        }
        let before = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let after = part.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_word = |word: &str| !word.is_empty() && word.chars().all(char::is_alphabetic);
        match (part.strip_prefix(before), part.strip_suffix(after)) {
            _ if part == "latest" => self.is_latest = true,
            (Some(number), _) if is_word(before) && digits(number) => {
                self.words.push(before.to_owned());
                self.number(number, false);
                return true;
            }
            // The model's size (`8b`) does not affect its window.
            (_, Some(number)) if matches!(after, "b" | "m") && digits(number) => (),
            (_, Some(number)) if is_word(after) && after != "k" && digits(number) => {
                self.number(number, was_number);
                self.words.push(after.to_owned());
            }
            _ => self.words.push(part.to_owned()),
        }
        false
    }

    /// Adds a number to the version, unless a word stands between or a date began.
    fn number(&mut self, digits: &str, follows: bool) {
        let number = digits.parse().ok().filter(|number| *number <= MOST_VERSION);
        match number.filter(|_| digits == "0" || !digits.starts_with('0')) {
            Some(number) if !self.is_dated && (follows || self.version.is_empty()) => {
                self.version.push(number)
            }
            Some(_) => (),
            None => self.is_dated = true,
        }
    }
}

impl From<String> for Name {
    fn from(name: String) -> Self {
        let name = name.to_lowercase();
        let name = name.rsplit('/').next().unwrap_or_default();
        let mut plain = name.split([':', '[', '(']).next().unwrap_or_default();
        // Bedrock puts a region and a vendor before dots; neither contains a digit.
        while let Some((before, rest)) = plain.split_once('.')
            && !before.contains(|c: char| c.is_ascii_digit())
        {
            plain = rest;
        }
        let mut read = Self { plain: plain.replace(['.', '_', '@'], "-"), ..Self::default() };
        let mut was_number = false;
        for part in read.plain.clone().split('-').filter(|part| !part.is_empty()) {
            was_number = read.take(part, was_number);
        }
        read
    }
}
