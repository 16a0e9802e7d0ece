//! Rules that allow commands by their beginning, such as `cargo test`: which beginnings make a safe rule, and which lines
//! a set of them covers.

mod programs;

use crate::path::name;
use crate::simple::commands;
use crate::{Kind, Reason, effects};
use programs::{ESCAPES, MODULES, NEVER, SCRIPTS, SUBCOMMANDS, TARGETS};

/// Most beginnings that are proposed for one line.
const MOST_PROPOSED: usize = 4;

/// The words with which commands that a rule covers begin.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Beginning(Vec<String>);

impl Beginning {
    /// The words, with spaces between them.
    pub fn text(&self) -> String {
        self.0.join(" ")
    }

    fn is_of(&self, words: &[String]) -> bool {
        words.starts_with(&self.0)
    }
}

/// Reads beginnings between semicolons, such as `cargo test; wc`. `None` if one of them makes no safe rule: a program
/// that runs others, one without the command that a rule about it needs, or words that a shell would expand.
pub fn read(text: &str) -> Option<Vec<Beginning>> {
    let one = |text: &str| {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        let least = least(&words)?;
        (words.len() >= least && words.iter().all(|word| is_plain(word))).then_some(Beginning(words))
    };
    text.split(';').map(one).collect()
}

/// `true` if these beginnings cover every command of a line, and the line is sure to run nothing else and to write, move
/// and delete no file that it names.
pub fn covers(beginnings: &[Beginning], line: &str) -> bool {
    let read = commands(line);
    let is_covered = |words: &Vec<String>| {
        beginnings.iter().any(|beginning| beginning.is_of(words) && !names_more(words, beginning.0.len()))
            && !escapes(words)
    };
    read.is_complete && !read.commands.is_empty() && read.commands.iter().all(is_covered) && is_tame(line)
}

/// `true` if a command of a line, as far as that can be told, begins as one of these.
pub fn meets(beginnings: &[Beginning], line: &str) -> bool {
    commands(line).commands.iter().any(|words| beginnings.iter().any(|beginning| beginning.is_of(words)))
}

/// Proposes the beginnings that, with those given already, would cover a line. `None` if there are none to add, or if no
/// safe rule covers it.
pub fn propose(line: &str, given: &[Beginning]) -> Option<Vec<Beginning>> {
    let mut new: Vec<Beginning> = Vec::new();
    let read = commands(line);
    for words in read.commands.into_iter().filter(|_| read.is_complete) {
        if new.len() > MOST_PROPOSED {
            return None;
        }
        if !given.iter().chain(&new).any(|beginning| beginning.is_of(&words)) {
            let beginning = words.get(..least(&words)?)?.to_vec();
            new.extend(beginning.iter().all(|word| is_plain(word)).then_some(Beginning(beginning)));
        }
    }
    let all = [given, &new].concat();
    ((1..=MOST_PROPOSED).contains(&new.len()) && covers(&all, line)).then_some(new)
}

/// The number of words that a rule about such a command has at least; `None` if no rule may be made.
fn least(words: &[String]) -> Option<usize> {
    let (program, rest) = words.split_first()?;
    let program = known(program);
    let second = rest.first().map_or("", String::as_str);
    let third = rest.get(1).map_or("", String::as_str);
    let is_name = |word: &str| !word.is_empty() && !word.starts_with('-');
    if program == "python" && second == "-m" {
        return MODULES.contains(&third).then_some(3);
    }
    if SCRIPTS.contains(&&*program) && second == "run" {
        return is_name(third).then_some(3);
    }
    if let Some((_, commands)) = SUBCOMMANDS.iter().find(|(name, _)| *name == program) {
        return commands.contains(&second).then_some(2);
    }
    if TARGETS.contains(&&*program) {
        return is_name(second).then_some(2);
    }
    if program == "gh" {
        const SHOWING: &[&str] = &["checks", "diff", "list", "status", "view"];
        return (matches!(second, "issue" | "pr" | "release" | "repo" | "run") && SHOWING.contains(&third))
            .then_some(3);
    }
    (!program.is_empty() && !NEVER.contains(&&*program)).then_some(1)
}

/// The name of a program as in the tables: some file systems ignore case, and a version may follow.
fn known(program: &str) -> String {
    let name = name(program).to_ascii_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    let unversioned = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    if unversioned.is_empty() { name.to_owned() } else { unversioned.to_owned() }
}

/// `true` for a word that every shell leaves as it is.
fn is_plain(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-./:@+".contains(&b))
}

/// `true` if a program that runs what its arguments name is given another name behind these words.
fn names_more(words: &[String], covered: usize) -> bool {
    let program = words.first().map(|program| known(program)).unwrap_or_default();
    TARGETS.contains(&&*program) && words.iter().skip(covered).any(|word| !word.starts_with('-'))
}

/// `true` if options let a command do something that its beginning does not say.
fn escapes(words: &[String]) -> bool {
    let Some((program, rest)) = words.split_first() else { return true };
    let program = known(program);
    let options = ESCAPES.iter().find(|(name, _)| *name == program).map_or(&[][..], |(_, options)| options);
    rest.iter().any(|word| options.iter().any(|option| is_option(word, option)))
}

/// `true` if a word gives an option: a long one perhaps shortened, a letter perhaps among others.
fn is_option(word: &str, option: &str) -> bool {
    let given = word.split('=').next().unwrap_or_default();
    if option == "=" {
        return !word.starts_with('-') && word.contains('=');
    }
    if option.starts_with("--") {
        return given.len() > 2 && given.starts_with("--") && option.starts_with(given);
    }
    match option.strip_prefix('-') {
        Some(letter) if letter.len() == 1 => word
            .strip_prefix('-')
            .is_some_and(|letters| !letters.starts_with('-') && letters.contains(letter)),
        Some(_) => given == option || given.strip_prefix('-') == Some(option),
        None => false,
    }
}

/// `true` if a line writes, moves and deletes no file that it names, as far as its text is known.
fn is_tame(line: &str) -> bool {
    let found = effects(line, None, None);
    found.effects.iter().all(|effect| matches!(effect.kind, Kind::Read | Kind::MakeFolder))
        && found.unknown.iter().all(|part| matches!(part.reason, Reason::Program | Reason::Worktree))
}
