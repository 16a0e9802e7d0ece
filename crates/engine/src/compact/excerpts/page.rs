//! Lays out chosen pieces as text: those of files by file, in the order of their lines; the others by time.

use super::files::{FileId, KnownFiles, Rewrite};
use super::{Candidate, Chosen, Kind};
use crate::compact::ledger::lines::shown;
use crate::compact::secrets::masked;
use crate::id::Ordinal;
use std::collections::BTreeMap;

/// Stands for lines that are left out.
const GAP: &str = "…";
/// Heading of pieces of files.
const FROM_FILES: &str =
    "# From files, as last seen; … stands for other lines, a number behind it is that of the next line";
/// Stands before pieces of a file whose lines have no known number.
const ELSEWHERE: &str = "[elsewhere in the same file]";
/// Heading of the other pieces.
const FROM_MESSAGES: &str = "# From earlier messages, oldest first; … stands for left out text";
/// Stands for the number of a line that has none.
const NO_NUMBER: u32 = u32::MAX;
/// Follows the command of a search that found files which were changed since.
pub(super) const OLD: &str = "; files in it were changed since";
/// Bytes of a path or a command in the line before a piece.
const NAMED_BYTES: usize = 120;

/// What is known of the files that pieces are from.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    pub files: &'a KnownFiles,
    pub rewrites: &'a BTreeMap<FileId, Rewrite<'a>>,
    pub edited: &'a BTreeMap<FileId, Ordinal>,
    pub numbers: &'a BTreeMap<(FileId, u64), u32>,
}

impl Seen<'_> {
    /// `true` if the lines of a piece still have the numbers under which they were shown.
    fn has_numbers(self, candidate: &Candidate<'_>) -> bool {
        let Some(file) = candidate.file else { return false };
        let rewritten = self.rewrites.get(&file).map(|rewrite| rewrite.at);
        let last = self.edited.get(&file).copied().max(rewritten);
        candidate.kind.is_of_file() && last.is_none_or(|last| last < candidate.ord)
    }
}

/// Returns the text of the chosen pieces; empty without any.
pub(super) fn text(chosen: &[Chosen<'_, '_>], seen: Seen<'_>) -> String {
    let Seen { files, rewrites, numbers, .. } = seen;
    let mut of_files: BTreeMap<FileId, Vec<&Chosen<'_, '_>>> = BTreeMap::new();
    let mut others: Vec<&Chosen<'_, '_>> = Vec::new();
    for one in chosen {
        match one.candidate.file.filter(|_| one.candidate.kind.is_of_file()) {
            Some(file) => of_files.entry(file).or_default().push(one),
            None => others.push(one),
        }
    }
    let mut out = String::new();
    if !of_files.is_empty() {
        out.push_str(FROM_FILES);
        out.push('\n');
    }
    // The file that was used last stands last, next to the conversation that goes on.
    let mut of_files: Vec<(FileId, Vec<&Chosen<'_, '_>>)> = of_files.into_iter().collect();
    of_files.sort_by_key(|(_, pieces)| pieces.iter().map(|one| one.candidate.ord).max());
    for (file, mut pieces) in of_files {
        out.push_str(&format!("[{}]\n", shown(files.path(file), NAMED_BYTES)));
        let is_older = |rewrite: &&Rewrite<'_>| pieces.iter().any(|one| one.candidate.ord < rewrite.at);
        if let Some(Rewrite { at, command }) = rewrites.get(&file).filter(is_older) {
            let command = shown(command, NAMED_BYTES);
            out.push_str(&format!("[from before message {at}, where `{command}` may have changed it]\n"));
        }
        pieces.sort_by_key(|one| (first_number(one, file, numbers), order(one.candidate)));
        let placed = pieces.partition_point(|one| first_number(one, file, numbers) < NO_NUMBER);
        let (placed, elsewhere) = pieces.split_at(placed);
        put(&mut out, placed, seen, |_| None);
        if !placed.is_empty() && !elsewhere.is_empty() {
            out.push_str(&format!("{ELSEWHERE}\n"));
        }
        put(&mut out, elsewhere, seen, |_| None);
    }
    if !others.is_empty() {
        out.push_str(FROM_MESSAGES);
        out.push('\n');
    }
    others.sort_by_key(|one| order(one.candidate));
    put(&mut out, &others, seen, |one| Some(heading(one)));
    masked(&out)
}

fn order(candidate: &Candidate<'_>) -> (Ordinal, usize, usize) {
    (candidate.ord, candidate.piece.text, candidate.piece.place)
}

/// The number of a piece's first line whose number is known, else of the line that it replaced; pieces without one come
/// last.
fn first_number(one: &Chosen<'_, '_>, file: FileId, numbers: &BTreeMap<(FileId, u64), u32>) -> u32 {
    let mut lines = one.candidate.lines.iter();
    let number_of = |print: u64| numbers.get(&(file, print)).copied();
    let known = lines.find_map(|line| line.number.or_else(|| number_of(line.print?)));
    known.or_else(|| number_of(one.candidate.piece.replaces?)).unwrap_or(NO_NUMBER)
}

/// Appends pieces in this order, each after its heading if that is not the one before it.
fn put(
    out: &mut String,
    pieces: &[&Chosen<'_, '_>],
    seen: Seen<'_>,
    heading: impl Fn(&Chosen<'_, '_>) -> Option<String>,
) {
    let mut before: Option<&Chosen<'_, '_>> = None;
    let mut last_heading = None;
    for one in pieces {
        let candidate = one.candidate;
        let heading = heading(one);
        if heading != last_heading {
            out.push_str(&format!("{}\n", heading.as_deref().unwrap_or_default()));
            last_heading = heading;
            before = None;
        }
        let goes_on = before.is_some_and(|before| {
            let (of, at) = (before.candidate, candidate);
            let is_next =
                of.ord == at.ord && of.piece.text == at.piece.text && of.piece.place + 1 == at.piece.place;
            is_next && before.kept.last() == Some(&true)
        });
        let mut is_gap = !goes_on && (before.is_some() || candidate.piece.place > 0);
        for (line, kept) in candidate.lines.iter().zip(&one.kept) {
            if !kept {
                is_gap = true;
                continue;
            }
            if std::mem::take(&mut is_gap) {
                match line.number.filter(|_| seen.has_numbers(candidate)) {
                    Some(number) => out.push_str(&format!("{GAP} {number}\n")),
                    None => out.push_str(&format!("{GAP}\n")),
                }
            }
            out.push_str(&line.text);
            out.push('\n');
        }
        before = Some(one);
    }
}

fn heading(one: &Chosen<'_, '_>) -> String {
    let candidate = one.candidate;
    let old = if one.is_old { OLD } else { "" };
    let at = candidate.ord;
    let about = candidate.about.map(|text| shown(text, NAMED_BYTES)).unwrap_or_default();
    match candidate.kind {
        Kind::Request => format!("[message {at}, user]"),
        Kind::Words => format!("[message {at}, assistant]"),
        Kind::Arguments => format!("[message {at}, call]"),
        Kind::Edit | Kind::Write | Kind::Read | Kind::Search | Kind::Output if about.is_empty() => {
            format!("[message {at}, result{old}]")
        }
        Kind::Edit | Kind::Write | Kind::Read | Kind::Search | Kind::Output => {
            format!("[message {at}, result of `{about}`{old}]")
        }
    }
}
