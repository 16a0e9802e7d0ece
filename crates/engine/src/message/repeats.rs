//! Files and attachments of a user message that an earlier message has unchanged: an editor sends the same rules and open
//! files with every turn. A prompt shows such a part once; later ones are a reference. Which parts these are is decided
//! once, when the message is appended, and stored with it. The content itself is stored whole.

use super::attachment::Attachment;
use super::cut::Cut;
use super::{Body, Content, Text};
use crate::tokens::{PER_MESSAGE, TokenCount};
use serde::{Deserialize, Serialize};

/// Bytes of the shortest text worth a reference.
const LEAST: usize = 200;
/// The replacement of a text that the prompt shows above.
const ABOVE: &str = "[the same as above, where it is shown whole]";

/// Parts of a user message, as bits by position. Parts beyond the 64th are always shown whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Repeats(u64);

impl Repeats {
    /// `true` if it has no part.
    pub fn is_empty(&self) -> bool {
        self.0 == 0
    }

    /// `true` if the part at this position is one of them.
    pub fn has(self, at: usize) -> bool {
        u32::try_from(at).is_ok_and(|at| self.0.checked_shr(at).is_some_and(|bits| bits & 1 == 1))
    }

    /// `true` if it has all parts of the other.
    pub(crate) fn holds(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) fn insert(&mut self, at: usize) {
        self.0 |= u32::try_from(at).ok().and_then(|at| 1_u64.checked_shl(at)).unwrap_or_default();
    }
}

/// The kind and name of a file or an attachment. A later part of the same name replaces an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Name<'a> {
    Resource(&'a str),
    File(&'a str),
    Attachment(&'a str),
}

/// Returns the name and the text of a file or an attachment; `None` for any other content.
pub(crate) fn named(part: &Content) -> Option<(Name<'_>, &Text)> {
    match part {
        Content::Resource { uri, text } => Some((Name::Resource(uri), text)),
        Content::ContextFile { path, text } => Some((Name::File(path), text)),
        Content::Attachment(Attachment { name, text }) => Some((Name::Attachment(name), text)),
        Content::Text(_) | Content::Image(_) | Content::ResourceLink(_) | Content::Meta(_) => None,
    }
}

/// Returns the reference that stands for a file or an attachment.
pub(crate) fn reference(part: &Content) -> Content {
    match part {
        Content::Resource { uri, .. } => Content::Resource { uri: uri.clone(), text: ABOVE.into() },
        Content::ContextFile { path, .. } => Content::ContextFile { path: path.clone(), text: ABOVE.into() },
        Content::Attachment(attachment) => Content::Attachment(Attachment::new(&attachment.name, ABOVE)),
        Content::Text(_) | Content::Image(_) | Content::ResourceLink(_) | Content::Meta(_) => part.clone(),
    }
}

/// Counts the tokens of a user message shown whole, with its cut if the newest earlier part of a part's name has the same
/// text. `earlier` are the messages before it, the newest first.
pub(crate) fn weigh<'a>(
    parts: &[Content],
    earlier: impl Iterator<Item = &'a Body> + Clone,
    counter: &dyn TokenCount,
) -> (u32, Option<Cut>) {
    let each: Vec<u32> = parts.iter().map(|part| part.tokens(counter)).collect();
    let whole = each.iter().sum::<u32>() + PER_MESSAGE;
    let (mut repeats, mut tokens) = (Repeats::default(), whole);
    for (at, part) in parts.iter().enumerate().take(u64::BITS as usize) {
        let Some((name, text)) = named(part).filter(|(_, text)| text.len() >= LEAST) else { continue };
        let same_name = |part: &'a Content| named(part).filter(|(other, _)| *other == name);
        let beside = parts[..at].iter().rev().filter_map(named).find(|(other, _)| *other == name);
        let before = || {
            earlier.clone().find_map(|body| match body {
                Body::User(parts) => parts.iter().rev().find_map(same_name),
                Body::Assistant { .. } | Body::Tool(_) | Body::Event { .. } => None,
            })
        };
        let newest = beside.map(|(_, text)| text).or_else(|| before().map(|(_, text)| text));
        let saved = each[at].saturating_sub(reference(part).tokens(counter));
        if newest == Some(text) && saved > 0 {
            repeats.insert(at);
            tokens -= saved;
        }
    }
    let cut = Cut { head: 0, tail: 0, tokens, after_turn: false, unnamed: false, repeats };
    (whole, (!repeats.is_empty()).then_some(cut))
}
