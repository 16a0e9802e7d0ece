//! Options and operands of a command's words.

use crate::word::Word;

/// Options of a program that take a value.
pub(crate) struct Takes {
    /// Letters of short options.
    pub short: &'static str,
    /// Names of long options, without dashes.
    pub long: &'static [&'static str],
}

/// No option takes a value.
pub(crate) const NONE: Takes = Takes { short: "", long: &[] };

/// A command's words, sorted.
pub(crate) struct Options {
    /// Short options as letters and long ones as names, with their values, in order.
    given: Vec<(String, Option<Word>)>,
    /// The other words, in order.
    pub operands: Vec<Word>,
    /// Number of operands before `--`; `None` without it.
    pub dashes: Option<usize>,
}

impl Options {
    /// Sorts the words after a program's name.
    pub fn of(words: &[Word], takes: &Takes) -> Self {
        let mut options = Self { given: Vec::new(), operands: Vec::new(), dashes: None };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let text = word.text.as_str();
            if options.dashes.is_some() || text == "-" || !text.starts_with('-') {
                options.operands.push(word.clone());
            } else if text == "--" {
                options.dashes = Some(options.operands.len());
            } else if let Some(long) = text.strip_prefix("--") {
                let (name, value) =
                    long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
                let attached = value.map(|value| word.with(value));
                let value = attached.or_else(|| takes.long.contains(&name).then(|| words.next().cloned())?);
                options.given.push((name.to_owned(), value));
            } else {
                let mut letters = text.chars().skip(1);
                while let Some(letter) = letters.next() {
                    let value = takes.short.contains(letter).then(|| {
                        let rest: String = letters.by_ref().collect();
                        if rest.is_empty() { words.next().cloned() } else { Some(word.with(&rest)) }
                    });
                    options.given.push((letter.to_string(), value.flatten()));
                }
            }
        }
        options
    }

    /// `true` if one of these options is given.
    pub fn has(&self, names: &[&str]) -> bool {
        self.given.iter().any(|(name, _)| names.contains(&name.as_str()))
    }

    /// The value of the last of these options.
    pub fn value(&self, names: &[&str]) -> Option<&Word> {
        let mut of = self.given.iter().rev().filter(|(name, _)| names.contains(&name.as_str()));
        of.find_map(|(_, value)| value.as_ref())
    }
}
