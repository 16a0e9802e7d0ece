//! Names of files that were changed, for telling which results of searches are old.

use crate::id::Ordinal;
use shell::path::name;
use shell::{Effect, Kind};
use std::collections::BTreeMap;

/// The last change of the files of each name.
#[derive(Debug, Clone, Default)]
pub(super) struct Changed(BTreeMap<String, Ordinal>);

impl Changed {
    /// Adds what a call changed; calls come in their order.
    pub fn add(&mut self, at: Ordinal, effects: &[Effect]) {
        let changed = effects.iter().filter(|effect| !matches!(effect.kind, Kind::Read | Kind::MakeFolder));
        let paths = changed.flat_map(|effect| [Some(&effect.path), effect.from.as_ref()]).flatten();
        self.0.extend(paths.map(|path| (name(path).to_owned(), at)));
    }

    /// `true` if one of these lines names a file that was changed after this message.
    pub fn after<'l>(&self, ord: Ordinal, mut lines: impl Iterator<Item = &'l str>) -> bool {
        let later = || self.0.iter().filter(|(_, at)| **at > ord).map(|(name, _)| name);
        lines.any(|line| later().any(|name| names(line, name)))
    }
}

/// `true` if a text has this file name as a whole.
fn names(text: &str, name: &str) -> bool {
    let is_apart = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && !"_-.".contains(c));
    !name.is_empty()
        && text.match_indices(name).any(|(at, _)| {
            let (before, after) = (text.get(..at), text.get(at + name.len()..));
            // A point or a hyphen behind a name may be the sentence's or the search's.
            let after = after.map(|after| after.trim_start_matches(['.', '-']));
            is_apart(before.and_then(|text| text.chars().next_back()))
                && is_apart(after.and_then(|text| text.chars().next()))
        })
}
