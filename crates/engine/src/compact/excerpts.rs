//! Excerpts: pieces of the covered messages that are likely to be needed word for word, chosen by one score and laid out
//! by file and time. Which pieces exist follows from the messages alone, so that later compactions cut nothing again.

mod changed;
mod files;
mod page;
pub(crate) mod pieces;

use super::known_tools::{Kinds, changes};
use super::ledger::outcome::Outcome;
use super::policy::ExcerptWeights;
use crate::id::Ordinal;
use crate::message::about::About;
use crate::message::pieces::{Line, Origin, Piece};
use crate::message::{AssistantPart, Body, Message, ToolResult, argument_values};
use crate::prompt::Prompt;
use crate::prompt::item::ToolKind;
use crate::transcript::Transcript;
use changed::Changed;
use files::{FileId, Gone, KnownFiles, Rewrite, Rewrites, searches, shown_by};
use page::Seen;
use pieces::prints;
use shell::Effects;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// How far back pieces are read, as a multiple of the prompt's limit in tokens: older ones are not worth the time.
const REACH: u32 = 8;
/// Newest texts of the assistant whose names count as being talked about.
const SAID_TEXTS: usize = 3;
/// Names of them that count in a piece, and places in its text that count against it, at most.
const MOST_SAID: usize = 3;
const MOST_PLACES: usize = 10;
/// Bytes of a result of an edit below which it only says that it was done.
const ACKNOWLEDGEMENT: usize = 400;
/// Minimum new bytes of a piece of a file.
const LEAST_OF_FILE: usize = 12;
/// Minimum new bytes of any other piece.
const LEAST_BYTES: usize = 60;
/// Minimum new bytes of a piece, in thousandths of its bytes or of [`SHARE_OF`], whichever are fewer.
const LEAST_THOUSANDTHS: usize = 340;
/// Bytes of a piece from which that minimum no longer grows.
const SHARE_OF: usize = 200;
/// Bytes per token where nothing better is known.
const BYTES_PER_TOKEN: f64 = 3.5;
/// Bytes of a piece of the assistant's newest words that states more than the next call.
const LAST_WORDS: usize = 200;
/// Divisor: those words get at most a tenth of the excerpts' bytes.
const LAST_WORDS_DIVISOR: usize = 10;
/// Bytes of the line before a piece that is not from the same place as the one before it.
const HEADING: usize = 16;

/// The kind of a piece; its weight is the policy's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Edit,
    Write,
    Read,
    Words,
    Request,
    Search,
    Output,
    Arguments,
}

impl Kind {
    /// `true` if its lines are those of a file.
    fn is_of_file(self) -> bool {
        matches!(self, Kind::Edit | Kind::Write | Kind::Read)
    }
}

/// A piece with all that its choice depends on.
#[derive(Debug, Clone)]
struct Candidate<'t> {
    piece: &'t Piece,
    /// Its lines as later changes within them left them.
    lines: Cow<'t, [Line]>,
    ord: Ordinal,
    kind: Kind,
    file: Option<FileId>,
    /// The command or tool whose result it is.
    about: Option<&'t str>,
    score: f64,
}

/// A piece that was chosen, and which of its lines.
#[derive(Debug, Clone)]
struct Chosen<'p, 't> {
    candidate: &'p Candidate<'t>,
    kept: Vec<bool>,
    /// `true` for a search that found files which were changed since.
    is_old: bool,
}

/// The pieces of the past, the best first.
#[derive(Debug, Clone)]
pub(crate) struct Past<'t> {
    candidates: Vec<Candidate<'t>>,
    files: KnownFiles,
    gone: Gone<'t>,
    rewrites: BTreeMap<FileId, Rewrite<'t>>,
    /// The last edit of each file, after which the numbers of its lines are others.
    edited: BTreeMap<FileId, Ordinal>,
    changed: Changed,
    /// Numbers of lines, as tools stated them; the newest wins.
    numbers: BTreeMap<(FileId, u64), u32>,
    bytes_per_token: f64,
}

/// Lines that a prompt shows, by their fingerprints.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shown(BTreeSet<u64>);

impl Shown {
    /// Collects the lines of a prompt.
    pub fn in_prompt(prompt: &Prompt) -> Self {
        let mut shown = Self::default();
        for item in &prompt.items {
            item.parts.iter().filter_map(|part| part.as_text()).for_each(|text| shown.0.extend(prints(text)));
            item.calls.iter().for_each(|call| shown.0.extend(prints(&argument_values(&call.arguments))));
        }
        shown
    }
}

/// A call that a result answers.
struct Call<'t> {
    name: &'t str,
    about: &'t About,
    is_good: bool,
}

impl<'t> Past<'t> {
    /// Reads the pieces of the messages up to `through`, for a prompt of at most `limit` tokens that is to have `target`
    /// after the compaction.
    pub fn read(
        transcript: &'t Transcript,
        through: Ordinal,
        kinds: Kinds<'_>,
        weights: &ExcerptWeights,
        (limit, target): (u32, u32),
    ) -> Self {
        let from = start(transcript, through, limit.saturating_mul(REACH));
        let near = weights.near_share.of(target);
        let calls = calls(transcript, from);
        let mut past = Self {
            candidates: Vec::new(),
            files: KnownFiles::default(),
            gone: Gone::default(),
            rewrites: BTreeMap::new(),
            edited: BTreeMap::new(),
            changed: Changed::default(),
            numbers: BTreeMap::new(),
            bytes_per_token: BYTES_PER_TOKEN,
        };
        let rewrites = past.read_changes(transcript, from, &calls, kinds);
        let said = said(transcript);
        let all = transcript.range(from, Ordinal(u32::MAX));
        let (mut tokens, mut bytes, mut after) = (0_u64, 0_u64, 0_u32);
        let mut merged: BTreeSet<(FileId, &str)> = BTreeSet::new();
        for message in all.iter().rev() {
            let is_left_out =
                !message.visible_to_model || message.is_hidden() || transcript.is_excluded(message.ord);
            if is_left_out {
                continue;
            }
            after = after.saturating_add(message.tokens);
            if message.ord > through {
                continue;
            }
            if message.shown.is_none() {
                tokens += u64::from(message.tokens);
                bytes += message.body.bytes() as u64;
            }
            let age = transcript.messages().len().saturating_sub(message.ord.index());
            let answered = calls.get(&message.ord);
            for piece in &pieces::of(message).pieces {
                let Some((kind, file, about)) =
                    past.placed(message, piece, answered.map(Vec::as_slice), kinds)
                else {
                    continue;
                };
                if let Some(file) = file.filter(|_| kind.is_of_file()) {
                    for (print, number) in
                        piece.lines.iter().filter_map(|line| Some((line.print?, line.number?)))
                    {
                        past.numbers.entry((file, print)).or_insert(number);
                    }
                }
                let is_near = kind.is_of_file() && after <= near;
                let score = weights.of(kind) - weights.age.as_number() * (age as f64).ln_1p()
                    + if is_near { weights.near.as_number() } else { 0.0 }
                    + weights.named.as_number() * count_common(&piece.names, &said).min(MOST_SAID) as f64
                    + weights.quoted.as_number() * piece.marks as f64
                    - weights.place.as_number() * piece.place.min(MOST_PLACES) as f64;
                let mut lines = Cow::Borrowed(piece.lines.as_slice());
                for (n, line) in piece.lines.iter().enumerate() {
                    let Some(file) = file.filter(|_| kind.is_of_file()) else { break };
                    let Some((changed, new)) = past.gone.changed(file, message.ord, line) else { continue };
                    merged.insert((file, new));
                    if let Some(line) = lines.to_mut().get_mut(n) {
                        *line = changed;
                    }
                }
                past.candidates.push(Candidate { piece, lines, ord: message.ord, kind, file, about, score });
            }
        }
        // The new part of a line says nothing beside the line.
        past.candidates.retain(|one| match (&*one.lines, one.file) {
            ([line], Some(file)) if one.kind == Kind::Edit => !merged.contains(&(file, &*line.text)),
            _ => true,
        });
        let folder = transcript.folder();
        let deletions = rewrites.deletions(&past.files, folder);
        let is_there = |candidate: &Candidate<'_>| {
            let deleted = candidate.file.and_then(|file| deletions.get(&file));
            !candidate.kind.is_of_file() || deleted.is_none_or(|at| *at < candidate.ord)
        };
        past.candidates.retain(is_there);
        let all = past.files.all();
        past.rewrites = all.filter_map(|(file, path)| Some((file, rewrites.last(path, folder)?))).collect();
        // A stable sort: of equal pieces the newest comes first.
        past.candidates.sort_by(|a, b| b.score.total_cmp(&a.score));
        if tokens > 0 {
            past.bytes_per_token = (bytes as f64 / tokens as f64).clamp(1.5, 5.0);
        }
        past
    }

    /// Reads which lines later changes took away, and returns what calls did to files beside that. Calls that failed
    /// changed nothing.
    fn read_changes(
        &mut self,
        transcript: &'t Transcript,
        from: Ordinal,
        calls: &BTreeMap<Ordinal, Vec<Call<'t>>>,
        kinds: Kinds<'_>,
    ) -> Rewrites<'t> {
        let mut rewrites = Rewrites::default();
        for message in transcript.range(from, Ordinal(u32::MAX)) {
            let Some(calls) =
                calls.get(&message.ord).filter(|_| matches!(message.body, Body::Assistant { .. }))
            else {
                continue;
            };
            let all_replaced = &pieces::of(message).replaced;
            for (n, call) in calls.iter().enumerate().filter(|(_, call)| call.is_good) {
                let Call { name, about, .. } = *call;
                match (kinds.of_call(name, about), about.command.as_deref()) {
                    (kind, _) if kind.changes_files() => {
                        let changes = changes(kind, name, about);
                        rewrites.deleted(message.ord, &changes);
                        self.changed.add(message.ord, &changes);
                    }
                    (ToolKind::Execute, Some(command)) => {
                        let Effects { effects, unknown, .. } = about.effects();
                        rewrites.deleted(message.ord, effects);
                        self.changed.add(message.ord, effects);
                        if !all_replaced.iter().any(|replaced| replaced.call == n) {
                            rewrites.written(message.ord, command, effects, unknown);
                        }
                    }
                    _ => {}
                }
            }
            for replaced in all_replaced {
                let Some(call) = calls.get(replaced.call).filter(|call| call.is_good) else { continue };
                if let Some(path) = replaced.file.as_deref().or(call.about.path()) {
                    let file = self.files.of(path);
                    self.gone.add(file, message.ord, replaced);
                    self.edited.insert(file, message.ord);
                }
            }
        }
        rewrites
    }

    /// Returns kind, file and subject of a piece; `None` for one that says nothing.
    fn placed(
        &mut self,
        message: &'t Message,
        piece: &'t Piece,
        calls: Option<&[Call<'t>]>,
        kinds: Kinds<'_>,
    ) -> Option<(Kind, Option<FileId>, Option<&'t str>)> {
        let call = calls.and_then(|calls| calls.get(piece.call.unwrap_or_default()));
        let own = |files: &mut KnownFiles| {
            let path = piece.file.as_deref().or_else(|| call?.about.path());
            path.map(|path| files.of(path))
        };
        Some(match piece.origin {
            Origin::Request => (Kind::Request, None, None),
            Origin::Words => (Kind::Words, None, None),
            Origin::Edit | Origin::Write if !call?.is_good => return None,
            Origin::Edit => (Kind::Edit, own(&mut self.files), None),
            Origin::Write => (Kind::Write, own(&mut self.files), None),
            Origin::Arguments => {
                let call = call?;
                let kind = kinds.of_call(call.name, call.about);
                if matches!(kind, ToolKind::Todo | ToolKind::Read) {
                    return None;
                }
                (Kind::Arguments, None, None)
            }
            Origin::Result => {
                let Some(call) = call else { return Some((Kind::Output, None, None)) };
                let kind = kinds.of_call(call.name, call.about);
                let command = call.about.command.as_deref().filter(|_| kind == ToolKind::Execute);
                let path = command.map_or_else(|| call.about.path(), shown_by);
                let file = path.map(|path| self.files.of(path));
                let about = command.or(Some(call.name));
                match kind {
                    ToolKind::Todo => return None,
                    kind if kind.changes_files() && message.body.bytes() < ACKNOWLEDGEMENT => return None,
                    kind if file.is_some() && call.is_good && kind.names_files() => (Kind::Read, file, about),
                    ToolKind::Search => (Kind::Search, None, about),
                    ToolKind::Execute if command.is_some_and(searches) => (Kind::Search, None, about),
                    _ => (Kind::Output, None, about),
                }
            }
        })
    }

    /// Chooses pieces of the messages before `start` for about `tokens`: the best first, each without lines that the
    /// prompt shows already and without those that its file has no more. If a narrative tells it all (`is_told`),
    /// earlier words of the assistant are left out: it says what came of them, and a refuted guess reads like a finding.
    /// Returns them laid out.
    pub fn text(&self, start: Ordinal, shown: &Shown, is_told: bool, tokens: u32) -> String {
        let most = (f64::from(tokens) * self.bytes_per_token) as usize;
        let mut shown = shown.clone();
        let mut chosen: Vec<Chosen<'_, 't>> = Vec::new();
        let mut used = 0;
        let mut places: BTreeSet<(Option<FileId>, Option<Ordinal>)> = BTreeSet::new();
        let last_words = self.last_words(start, most / LAST_WORDS_DIVISOR);
        let is_wanted = |one: &&Candidate<'_>| one.ord < start && !(is_told && one.kind == Kind::Words);
        let others = self.candidates.iter().filter(is_wanted);
        for candidate in last_words.iter().copied().chain(others) {
            let kept = self.fresh(candidate, &shown);
            let lines = || candidate.lines.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(line, _)| line);
            let bytes: usize = lines().map(|line| line.text.len() + 1).sum();
            let least = if candidate.kind.is_of_file() { LEAST_OF_FILE } else { LEAST_BYTES };
            if bytes < least || bytes * 1000 < LEAST_THOUSANDTHS * candidate.piece.bytes.min(SHARE_OF) {
                continue;
            }
            let of_file = candidate.file.filter(|_| candidate.kind.is_of_file());
            let place = (of_file, Some(candidate.ord).filter(|_| of_file.is_none()));
            let named = match of_file {
                Some(file) => self.files.path(file).len(),
                None => candidate.about.map_or(0, str::len).min(120),
            };
            let is_old = candidate.kind == Kind::Search
                && self.changed.after(candidate.ord, lines().map(|line| &*line.text));
            let mark = if is_old { page::OLD.len() } else { 0 };
            let heading = if places.contains(&place) { 4 } else { HEADING + named + mark };
            if used + bytes + heading > most {
                if used * 100 > most * 93 {
                    break;
                }
                continue;
            }
            used += bytes + heading;
            places.insert(place);
            shown.0.extend(lines().filter_map(|line| line.print));
            chosen.push(Chosen { candidate, kept, is_old });
        }
        let seen = Seen {
            files: &self.files,
            rewrites: &self.rewrites,
            edited: &self.edited,
            numbers: &self.numbers,
        };
        page::text(&chosen, seen)
    }

    /// The assistant's newest words before `start`, of at most `most` bytes: what it last said of its work and its next
    /// steps comes before all scores.
    fn last_words(&self, start: Ordinal, most: usize) -> Vec<&Candidate<'t>> {
        let words = || self.candidates.iter().filter(|one| one.kind == Kind::Words && one.ord < start);
        let says = |one: &&Candidate<'_>| one.piece.bytes >= LAST_WORDS;
        let Some(last) = words().filter(says).map(|one| one.ord).max() else { return Vec::new() };
        let mut pieces: Vec<&Candidate<'t>> = words().filter(|one| one.ord == last).collect();
        // A plan ends a text rather than beginning it.
        pieces.sort_by_key(|one| std::cmp::Reverse((one.piece.text, one.piece.place)));
        let mut left = most;
        pieces
            .into_iter()
            .map_while(|one| {
                left = left.checked_sub(one.piece.bytes)?;
                Some(one)
            })
            .collect()
    }

    /// Tells which lines of a piece are new to the prompt and still true.
    fn fresh(&self, candidate: &Candidate<'_>, shown: &Shown) -> Vec<bool> {
        let of_file = candidate.file.filter(|_| candidate.kind.is_of_file());
        let is_fresh = |print: u64| {
            !shown.0.contains(&print)
                && !of_file.is_some_and(|file| self.gone.holds(file, candidate.ord, print))
        };
        let lines = &candidate.lines;
        let mut kept: Vec<bool> = lines.iter().map(|line| line.print.is_none_or(is_fresh)).collect();
        // Brackets and blank lines between lines that are left out say nothing.
        for run in kept.chunk_by_mut(|one, next| one == next).scan(0, |at, run| {
            *at += run.len();
            Some((*at - run.len(), run))
        }) {
            let (at, run) = run;
            let says = lines.iter().skip(at).take(run.len()).any(|line| line.print.is_some());
            run.iter_mut().for_each(|kept| *kept &= says);
        }
        kept
    }
}

impl ExcerptWeights {
    fn of(&self, kind: Kind) -> f64 {
        match kind {
            Kind::Edit | Kind::Write => self.edit,
            Kind::Read => self.read,
            Kind::Words | Kind::Request => self.words,
            Kind::Search => self.search,
            Kind::Output | Kind::Arguments => self.output,
        }
        .as_number()
    }
}

/// The first message of the newest ones up to `through` that have this many tokens.
fn start(transcript: &Transcript, through: Ordinal, tokens: u32) -> Ordinal {
    let mut left = tokens;
    let mut start = through;
    for message in transcript.range(Ordinal(0), through).iter().rev() {
        start = message.ord;
        match left.checked_sub(message.tokens) {
            Some(rest) => left = rest,
            None => break,
        }
    }
    start
}

/// The calls of each assistant message from `from` on, and for each result the call that it answers.
fn calls(transcript: &Transcript, from: Ordinal) -> BTreeMap<Ordinal, Vec<Call<'_>>> {
    let mut calls = BTreeMap::new();
    // A result just after `from` answers a call before it.
    let first = transcript.first_round_from(from).saturating_sub(1);
    for round in transcript.rounds().iter().skip(first) {
        let Some(message) = transcript.message(round.assistant) else { continue };
        let Body::Assistant { calls: made, .. } = &message.body else { continue };
        let mut of_message = Vec::new();
        for ((call, about), answer) in made.iter().zip(message.about()).zip(&round.results) {
            let result = answer.and_then(|ord| result(transcript, ord));
            let is_good = result.is_some() && Outcome::of(result).is_good();
            if let Some(ord) = answer {
                calls.insert(*ord, vec![Call { name: &call.name, about, is_good }]);
            }
            of_message.push(Call { name: &call.name, about, is_good });
        }
        calls.insert(round.assistant, of_message);
    }
    calls
}

fn result(transcript: &Transcript, ord: Ordinal) -> Option<&ToolResult> {
    match &transcript.message(ord)?.body {
        Body::Tool(result) => Some(result),
        _ => None,
    }
}

/// Fingerprints of the names in the newest texts of the assistant.
fn said(transcript: &Transcript) -> BTreeSet<u64> {
    let texts = transcript.messages().iter().rev().filter_map(|message| match &message.body {
        Body::Assistant { parts, .. } => {
            let texts: Vec<&str> =
                parts.iter().filter_map(words).filter(|text| !text.trim().is_empty()).collect();
            (!texts.is_empty()).then_some(texts)
        }
        _ => None,
    });
    let names = texts.take(SAID_TEXTS).flatten().flat_map(super::identifiers::identifiers);
    names.map(pieces::print).collect()
}

fn words(part: &AssistantPart) -> Option<&str> {
    match part {
        AssistantPart::Text(text) => Some(text),
        AssistantPart::Reasoning { .. } | AssistantPart::Raw(_) => None,
    }
}

fn count_common(names: &[u64], said: &BTreeSet<u64>) -> usize {
    names.iter().filter(|name| said.contains(name)).count()
}
