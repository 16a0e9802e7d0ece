//! What a block says of the files, and what a prompt holds of the user's words about refused calls, next to what the covered
//! messages say of both.

use super::Score;
use super::facts::normalized;
use engine::compact::known_tools::Kinds;
use engine::compact::ledger::files::{FileLine, FileState};
use engine::compact::ledger::ledger;
use engine::compact::policy::Policy;
use engine::compact::record::Compaction;
use engine::message::Body;
use engine::prompt::Source;
use serde::Serialize;

/// Start of the heading of the list of changed files in a block.
const CHANGED: &str = "# Files changed";

/// What compactions say of the state of the work, counted over a replay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StateScores {
    /// Files that covered calls changed and that were not deleted later, and those of them that the block lists.
    pub files: Score,
    /// Number of lines of that list whose file was not changed, or was deleted.
    pub wrong_files: usize,
    /// The user's words about refused calls in covered messages, and those of them that the prompt holds.
    pub refusals: Score,
}

impl StateScores {
    /// Adds one compaction of the messages in `before`; `kept` is its prompt's text.
    pub(super) fn add(&mut self, before: Source<'_>, record: &Compaction, policy: &Policy, kept: &str) {
        let Some(span) = record.covers else { return };
        let kinds = Kinds { named: &policy.tool_kinds, declared: &before.fixed.tools };
        let files = ledger(before.transcript, span, kinds).files;
        let is_there = |file: &&FileLine| file.is_touched() && file.state != FileState::Deleted;
        let changed: Vec<&FileLine> = files.iter().filter(is_there).collect();
        let listed: Vec<&str> = listed(&record.block).collect();
        let is_listed = |file: &&&FileLine| listed.iter().any(|path| is_same(path, &file.path));
        self.files.needed += changed.len();
        self.files.held += changed.iter().filter(is_listed).count();
        let is_wrong = |path: &&&str| !changed.iter().any(|file| is_same(path, &file.path));
        self.wrong_files += listed.iter().filter(is_wrong).count();
        let plain = normalized(kept);
        for message in before.transcript.range(span.from, span.to) {
            let Body::Tool(result) = &message.body else { continue };
            let Some(words) = result.user_words() else { continue };
            self.refusals.needed += 1;
            self.refusals.held += usize::from(plain.contains(&normalized(words)));
        }
    }
}

/// The paths in a block's list of changed files.
fn listed(block: &str) -> impl Iterator<Item = &str> {
    let mut is_list = false;
    block.lines().filter_map(move |line| {
        if line.starts_with("# ") {
            is_list = line.starts_with(CHANGED);
        }
        let path = line.strip_prefix("- ").filter(|_| is_list)?;
        let ends = [" (", " sha256 ", ": "].iter().filter_map(|end| path.find(end)).min();
        path.get(..ends.unwrap_or(path.len()))
    })
}

/// `true` if one path is the other, or its end after a slash.
fn is_same(one: &str, other: &str) -> bool {
    let ends = |long: &str, short: &str| {
        long.strip_suffix(short).is_some_and(|start| start.is_empty() || start.ends_with('/'))
    };
    ends(one, other) || ends(other, one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_changed_files_are_read_from_a_block() {
        let block = "<conversation-summary>\nBackground: x\n\n# Files changed, newest first, with names from them\n\
                     - src/a.rs (3 times) sha256 0123: parse\n- docs/b.md: renamed from c.md\n\
                     # Files deleted, newest first\n- d.md\n# Commands run\n- `ls` → ok";
        assert_eq!(listed(block).collect::<Vec<_>>(), ["src/a.rs", "docs/b.md"]);
        assert!(is_same("/w/src/a.rs", "src/a.rs") && !is_same("/w/xsrc/a.rs", "src/a.rs"));
    }
}
