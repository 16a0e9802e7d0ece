//! Words of a text: what the vocabulary's pattern cuts it into before tokens are merged. A token is part of one word.
//!
//! The pattern is a regular expression of seven alternatives, of which the first that matches counts. The functions here
//! are those alternatives, in their order, each with its part of the expression. They look at the classes of characters
//! alone, so no expression is compiled.

use crate::format::{BLOCK, Class};
use std::iter;

/// The number of each block's contents.
static BLOCKS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/blocks"));
/// The classes of the characters of each block.
static CLASSES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/classes"));

/// The words of `text`, which are all of it.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    iter::from_fn(move || {
        let (word, after) = rest.split_at_checked(first(rest)?)?;
        rest = after;
        Some(word)
    })
}

/// The length of the first word of `text`, unless it is empty.
fn first(text: &str) -> Option<usize> {
    let rest = letters(text)
        .or_else(|| number(text))
        .or_else(|| punctuation(text))
        .or_else(|| line_ends(text))
        .or_else(|| spaces(text))?;
    Some(text.len() - rest.len())
}

/// Characters that can stand before the letters of a word.
const BEFORE: Class = Class::OTHER.or(Class::MARK).or(Class::SPACE);
/// Characters of a word's first part.
const UPPER: Class = Class::UPPER.or(EITHER);
/// Characters of a word's second part.
const LOWER: Class = Class::LOWER.or(EITHER);
/// Characters of both parts.
const EITHER: Class = Class::CASELESS.or(Class::MARK);

/// Strips a word with lower case, or else one without, and returns the rest; `None` if there is neither:
/// `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?` and
/// `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?`.
fn letters(text: &str) -> Option<&str> {
    let mut chars = text.chars();
    let before = class(chars.next()?);
    let word = if before.is_of(BEFORE) { chars.as_str() } else { text };
    lower(word)
        // A mark that does not stand before a word is the word's first character.
        .or_else(|| if before.is_of(EITHER) { lower(text) } else { None })
        .or_else(|| Some(skip(word, UPPER)).filter(|rest| rest.len() < word.len()))
        .map(contraction)
}

/// Strips `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+` and returns the rest; `None` if it does not match.
fn lower(text: &str) -> Option<&str> {
    let end = skip(text, UPPER);
    let rest = skip(end, LOWER);
    if rest.len() < end.len() {
        return Some(rest);
    }
    // The first part took all, and gives back as much as the second needs.
    let (upper, _) = text.split_at_checked(text.len() - end.len())?;
    let last = upper.rfind(|char| class(char).is_of(EITHER))?;
    let mut chars = text.get(last..)?.chars();
    chars.next();
    Some(chars.as_str())
}

/// Strips `(?i:'s|'t|'re|'ve|'m|'ll|'d)?` and returns the rest. One of its letters has a third form: `ſ`.
fn contraction(text: &str) -> &str {
    let mut chars = text.chars();
    if chars.next() != Some('\'') {
        return text;
    }
    let second = match chars.next() {
        Some('s' | 'S' | 'ſ' | 't' | 'T' | 'm' | 'M' | 'd' | 'D') => return chars.as_str(),
        Some('r' | 'R' | 'v' | 'V') => 'e',
        Some('l' | 'L') => 'l',
        _ => return text,
    };
    match chars.next() {
        Some(char) if char.eq_ignore_ascii_case(&second) => chars.as_str(),
        _ => text,
    }
}

/// Strips `\p{N}{1,3}` and returns the rest; `None` if it does not match.
fn number(text: &str) -> Option<&str> {
    let mut rest = text;
    for _ in 0..3 {
        rest = rest.strip_prefix(|char| class(char) == Class::NUMBER).unwrap_or(rest);
    }
    Some(rest).filter(|rest| rest.len() < text.len())
}

/// Strips ` ?[^\s\p{L}\p{N}]+[\r\n/]*` and returns the rest; `None` if it does not match.
fn punctuation(text: &str) -> Option<&str> {
    let signs = text.strip_prefix(' ').unwrap_or(text);
    let rest = skip(signs, Class::OTHER.or(Class::MARK));
    (rest.len() < signs.len()).then(|| rest.trim_start_matches(['\r', '\n', '/']))
}

/// Strips `\s*[\r\n]+` and returns the rest; `None` if it does not match.
fn line_ends(text: &str) -> Option<&str> {
    let rest = skip(text, Class::SPACE.or(Class::BREAK));
    let (blank, _) = text.split_at_checked(text.len() - rest.len())?;
    text.get(blank.rfind(['\r', '\n'])? + 1..)
}

/// Strips `\s+(?!\S)`, or else `\s+`, and returns the rest; `None` if neither matches. Of blanks before a word, the last is
/// the word's.
fn spaces(text: &str) -> Option<&str> {
    let rest = skip(text, Class::SPACE);
    let (blank, _) = text.split_at_checked(text.len() - rest.len())?;
    let (last, _) = blank.char_indices().next_back()?;
    text.get(if rest.is_empty() || last == 0 { blank.len() } else { last }..)
}

/// The rest of `text` behind the characters of `set` at its start.
#[inline]
fn skip(text: &str, set: Class) -> &str {
    text.trim_start_matches(|char| class(char).is_of(set))
}

/// The class of a character.
#[inline]
pub fn class(char: char) -> Class {
    let char = char as usize;
    let block = usize::from(BLOCKS[char / BLOCK]);
    Class::from_bits(CLASSES[block * BLOCK + char % BLOCK])
}
