//! Restores summaries that an editor kept as records of this transcript. Each entry gets a verdict, except bare
//! copies of a full entry. Restoring twice changes nothing.

use super::metadata::{OwnPart, SummaryEntry, own_part};
use super::plan::{self, Keep};
use super::record::{
    Action, Anchor, Compaction, Mode, ModeRequested, Placement, Span, Status, Strength, Trigger,
};
use super::template::{BLOCK_CLOSE, BLOCK_OPEN, escape, stands_for_something};
use crate::id::{CompactionId, Ordinal};
use crate::tokens::{PER_MESSAGE, TokenCount};
use crate::transcript::Transcript;
use std::collections::{BTreeMap, BTreeSet};

/// Result for one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Restored as a record, and in force.
    Restored(CompactionId),
    /// Restored from its round and text, because the rest cannot be read for this reason.
    FromText(CompactionId, String),
    /// The transcript has the record already.
    Already(CompactionId),
    /// The covered messages changed or are missing; not applied.
    Stale(String),
    /// No round or turn of the session matches the one that it names.
    Orphan,
    /// Equal to an earlier entry, or a newer summary covers all of it.
    Duplicate,
    /// Marks a failed summary, or cannot be read.
    Failure(String),
}

/// An entry with its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// Id of the round that the entry names.
    pub round_id: String,
    /// The result.
    pub verdict: Verdict,
}

/// Parameters of a restore.
#[derive(Clone, Copy)]
pub struct Restoring<'a> {
    /// The token counter.
    pub counter: &'a dyn TokenCount,
    /// Tokens for user messages of a span whose summary does not state which it kept.
    pub user_budget: u32,
}

/// Restores entries, oldest first, each with the index of the turn that carried it. Restored records are written to the
/// transcript.
pub fn restore(
    transcript: &mut Transcript,
    entries: &[(usize, SummaryEntry)],
    with: Restoring<'_>,
) -> Vec<Restored> {
    let mut seen = BTreeSet::new();
    let mut restored = Vec::new();
    // Entries with our own part come first. The same summary may also be stored with its round and text alone: such a
    // copy is left out.
    let is_copy = |bare: &SummaryEntry| {
        bare.own.is_none()
            && entries.iter().any(|(_, full)| {
                full.own.is_some() && full.round_id == bare.round_id && full.text == bare.text
            })
    };
    let (full, bare): (Vec<_>, Vec<_>) = entries.iter().partition(|(_, entry)| entry.own.is_some());
    let bare = bare.into_iter().filter(|(_, entry)| !is_copy(entry));
    for (turn, entry) in in_order(full).into_iter().chain(bare) {
        let key = (entry.round_id.clone(), entry.text.clone(), entry.own.clone());
        // Marks of failures are all equal, and none is a duplicate of a summary.
        let is_failure = entry.round_id.is_empty() && entry.text.is_empty();
        let verdict = match is_failure || seen.insert(key) {
            true => one(transcript, *turn, entry, with),
            false => Verdict::Duplicate,
        };
        restored.push(Restored { round_id: entry.round_id.clone(), verdict });
    }
    restored
}

/// Sorts entries by turn and time of creation: those that annotate no round come beside the others of their turn.
fn in_order(mut entries: Vec<&(usize, SummaryEntry)>) -> Vec<&(usize, SummaryEntry)> {
    entries.sort_by_cached_key(|(turn, entry)| {
        let own = entry.own.as_deref().and_then(|own| own_part(own, &entry.text).ok());
        (*turn, own.map(|own| (own.record.created_at.map(|time| time.0), own.record.resume_at())))
    });
    entries
}

fn one(transcript: &mut Transcript, turn: usize, entry: &SummaryEntry, with: Restoring<'_>) -> Verdict {
    if entry.round_id.is_empty() && entry.text.is_empty() && entry.own.is_none() {
        return Verdict::Failure("marks a failed summary".into());
    }
    let own = entry.own.as_deref().map(|own| own_part(own, &entry.text));
    let (made, damage) = match own {
        Some(Ok(own)) => (of_ours(transcript, turn, own), None),
        Some(Err(error)) if entry.round_id.is_empty() || entry.text.trim().is_empty() => {
            return Verdict::Failure(format!("cannot be read: {error}"));
        }
        // A summary is only given a round if its text alone stands for everything before it.
        Some(Err(error)) => (of_others(transcript, turn, entry, with), Some(error.to_string())),
        None => (of_others(transcript, turn, entry, with), None),
    };
    match (made.map(|record| write(transcript, record)), damage) {
        (Ok(Verdict::Restored(id)), Some(damage)) => Verdict::FromText(id, damage),
        (Ok(verdict) | Err(verdict), _) => verdict,
    }
}

fn write(transcript: &mut Transcript, record: Compaction) -> Verdict {
    let covered = transcript.in_force().map_or(Ordinal(0), Compaction::resume_at);
    if record.resume_at() < covered {
        return Verdict::Duplicate;
    }
    let id = record.id.clone();
    transcript.record(record);
    Verdict::Restored(id)
}

/// Restores a record of ours: its source is found by anchor and hash, wherever it is now.
fn of_ours(transcript: &Transcript, turn: usize, own: OwnPart) -> Result<Compaction, Verdict> {
    let mut record = own.record;
    if let Some(known) = transcript.compactions().iter().find(|known| known.id == record.id) {
        if (&known.source_hash, &known.block) != (&record.source_hash, &record.block) {
            record.id = transcript.next_compaction_id();
        } else {
            return Err(match known.status {
                Status::Void => {
                    Verdict::Stale("the messages that it replaces are no longer in the session".into())
                }
                // A record that the user took out of force stays so, whatever an editor's older copy says.
                Status::InForce | Status::Undone | Status::Recorded => Verdict::Already(known.id.clone()),
            });
        }
    }
    if record.covers.is_some() && record.block.trim().is_empty() {
        // Its messages would be gone from the prompt without anything in their place.
        return Err(Verdict::Failure("has no text; its messages stay as they were".into()));
    }
    let at = anchored(transcript, &record.anchor).ok_or(Verdict::Orphan)?;
    let by = i64::from(at.0) - i64::from(record.anchor.ord.0);
    move_by(&mut record, by)
        .ok_or_else(|| Verdict::Stale("the session does not have its first message".into()))?;
    // Its round may have another id here.
    record.anchor = plan::anchor(transcript, record.anchor.ord);
    let head = record.newest_named();
    if head.is_some_and(|head| transcript.message(head).is_none()) {
        return Err(Verdict::Stale("it refers to messages that the session does not have".into()));
    }
    let span = record.dropped.or(record.covers);
    let source = span.map_or_else(String::new, |span| transcript.source_hash(span.from, span.to));
    if source != record.source_hash {
        return Err(Verdict::Stale("the messages that it replaces were changed".into()));
    }
    let after = head.map(|head| transcript.source_hash(record.resume_at(), head));
    if after != own.head_hash {
        return Err(Verdict::Stale("the messages that it shortens were changed".into()));
    }
    if !transcript.turns().iter().any(|known| Some(&known.id) == record.turn.as_ref()) {
        // The turn's id may contain another session's id.
        record.turn = transcript.turns().get(turn).map(|turn| turn.id.clone());
    }
    record.generation = transcript.generation();
    record.status = Status::InForce;
    record.previous = transcript.in_force().map(|previous| previous.id.clone());
    Ok(record)
}

/// Finds the message of an anchor: at its position, else in its round, else the only one with the same hash.
fn anchored(transcript: &Transcript, anchor: &Anchor) -> Option<Ordinal> {
    let is_it = |ord: &Ordinal| transcript.message(*ord).is_some_and(|message| message.hash == anchor.hash);
    if is_it(&anchor.ord) {
        return Some(anchor.ord);
    }
    let rounds = transcript.rounds().iter().filter(|round| round.id == anchor.round_id);
    let mut inside = rounds.flat_map(|round| (round.assistant.0..=round.last.0).map(Ordinal));
    if let Some(ord) = inside.find(is_it) {
        return Some(ord);
    }
    let mut same = transcript.messages().iter().map(|message| message.ord).filter(is_it);
    same.next().filter(|_| same.next().is_none())
}

/// Moves every position in a record; `None` if one would be before the beginning.
fn move_by(record: &mut Compaction, by: i64) -> Option<()> {
    if by == 0 {
        return Some(());
    }
    let moved = |ord: Ordinal| u32::try_from(i64::from(ord.0) + by).ok().map(Ordinal);
    let all = |ords: &[Ordinal]| ords.iter().map(|ord| moved(*ord)).collect::<Option<Vec<_>>>();
    let span = |span: Option<Span>| match span {
        Some(Span { from, to }) => Some(Some(Span { from: moved(from)?, to: moved(to)? })),
        None => Some(None),
    };
    record.anchor.ord = moved(record.anchor.ord)?;
    record.covers = span(record.covers)?;
    record.dropped = span(record.dropped)?;
    record.kept_users = all(&record.kept_users)?;
    record.reported_users = all(&record.reported_users)?;
    record.open_requests = all(&record.open_requests)?;
    record.excluded = record.excluded.iter().map(|ord| moved(*ord)).collect::<Option<_>>()?;
    let mut actions = BTreeMap::new();
    for (ord, action) in &record.actions {
        let action = match *action {
            Action::Repeat { newer, tokens } => Action::Repeat { newer: moved(newer)?, tokens },
            shorten @ Action::Shorten { .. } => shorten,
        };
        actions.insert(moved(*ord)?, action);
    }
    record.actions = actions;
    Some(())
}

/// Makes a record of a summary with only a round and a text: it covers everything up to the end of that round.
/// `previous` is the turn before the one that carried it; a turn's id means its last message.
fn of_others(
    transcript: &Transcript,
    turn: usize,
    entry: &SummaryEntry,
    with: Restoring<'_>,
) -> Result<Compaction, Verdict> {
    if entry.text.trim().is_empty() {
        return Err(Verdict::Failure("has no text; its messages stay as they were".into()));
    }
    if !stands_for_something(&entry.text) {
        let why = "has neither a summary nor a ledger; its messages stay as they were";
        return Err(Verdict::Failure(why.into()));
    }
    let through = named(transcript, turn, &entry.round_id).ok_or(Verdict::Orphan)?;
    let block = match entry.text.contains(BLOCK_OPEN) {
        true => entry.text.clone(),
        false => format!("{BLOCK_OPEN}\n{}\n{BLOCK_CLOSE}", escape(&entry.text)),
    };
    let same = |known: &&Compaction| known.anchor.ord == through && *known.block == *block;
    if let Some(known) = transcript.compactions().iter().find(same) {
        return Err(Verdict::Already(known.id.clone()));
    }
    let words = plan::user_words(transcript, through, with.user_budget, Keep::Words);
    let cutting = plan::cut_before(transcript, through.next(), &words);
    let rounds = transcript.first_round_from(through.next());
    let source_hash = cutting.span.map(|span| transcript.source_hash(span.from, span.to)).unwrap_or_default();
    Ok(Compaction {
        id: transcript.next_compaction_id(),
        generation: transcript.generation(),
        anchor: plan::anchor(transcript, through),
        covers: cutting.span,
        dropped: None,
        source_hash,
        block_tokens: with.counter.count(&block) + PER_MESSAGE,
        placement: Placement::UserAtBoundary,
        block: block.into(),
        narrative: Some(entry.text.as_str().into()),
        actions: BTreeMap::new(),
        kept_users: cutting.kept_users,
        reported_users: cutting.reported_users,
        open_requests: cutting.open_requests,
        excluded: BTreeSet::new(),
        tokens_before: entry.recorded.unwrap_or(0),
        tokens_after: 0,
        target: None,
        estimator: with.counter.name().to_owned(),
        trigger: if entry.recorded.is_some() { Trigger::Recorded } else { Trigger::Restored },
        mode_requested: ModeRequested::Auto,
        mode: if entry.recorded.is_some() { Mode::Recorded } else { Mode::Full },
        strength: Strength::Absent,
        fallbacks: Vec::new(),
        focus: None,
        unreviewed: false,
        model: None,
        asked_again: 0,
        cost: None,
        input_truncated: false,
        num_rounds: u32::try_from(rounds).unwrap_or(u32::MAX),
        previous: transcript.in_force().map(|previous| previous.id.clone()),
        replaces: None,
        turn: transcript.turns().get(turn).map(|turn| turn.id.clone()),
        created_at: None,
        duration_ms: None,
        status: Status::InForce,
    })
}

/// The last message that a summary at this round covers.
fn named(transcript: &Transcript, turn: usize, id: &str) -> Option<Ordinal> {
    if id == "previous" {
        return transcript.last_of_turn(turn.checked_sub(1)?);
    }
    // An editor may number its rounds anew in each turn, and a summary never covers messages after its own turn.
    let rounds = transcript.rounds().iter().filter(|round| round.turn <= turn);
    if let Some(round) = rounds.rev().find(|round| round.id.as_str() == id) {
        return Some(round.last);
    }
    let is_it = |at: usize| {
        let Some(turn) = transcript.turns().get(at) else { return false };
        let request = transcript.message(turn.first).and_then(|message| message.external_id.as_deref());
        turn.id.as_str() == id || request == Some(id)
    };
    (0..transcript.turns().len()).find(|at| is_it(*at)).and_then(|at| transcript.last_of_turn(at))
}
