//! Fills the room of a compaction: ledger, identifiers, narrative and tail become one record. Pure arithmetic over
//! what `plan` allows; which rung asks for it, and whether the result is taken, is the ladder's.

use super::identifiers::{self, Place, Seen};
use super::ledger::{Ledger, Shown, ledger};
use super::plan::{self, FirstRequest, Room, Tail};
use super::policy::Policy;
use super::record::{Action, Anchor, Compaction, Mode, Span, Status, Strength, Trigger};
use super::template::{BlockParts, block, ledger_text};
use crate::engine::id::Ordinal;
use crate::engine::message::Message;
use crate::engine::prompt::{self, Source, limit};
use crate::engine::text::first_line;
use crate::engine::tokens::{PER_MESSAGE, TokenCount};
use std::collections::{BTreeMap, BTreeSet};

/// How often what is left over is given to the tail.
const TAIL_PASSES: u32 = 4;

/// What every rung works on.
#[derive(Clone, Copy)]
pub struct Desk<'a> {
    /// What is rendered.
    pub source: Source<'a>,
    /// How it may be compacted.
    pub policy: &'a Policy,
    /// Who counts.
    pub counter: &'a dyn TokenCount,
    /// Tokens of the prompt that was too large.
    pub tokens_before: u32,
}

/// What a rung puts into its record beside what follows from the transcript.
#[derive(Debug, Clone, Default)]
pub struct Ingredients {
    /// The model's narrative.
    pub narrative: Option<String>,
    /// Shortened results of the newest round, as rung 4 makes them.
    pub newest: BTreeMap<Ordinal, Action>,
    /// Whether the first request is given up when it does not fit, and the block in force where rounds are dropped.
    pub gives_up: bool,
}

impl Desk<'_> {
    fn room(&self, through: Ordinal, with: &Ingredients) -> Option<Room> {
        let first = if with.gives_up { FirstRequest::Budgeted } else { FirstRequest::Exempt };
        let after = plan::tokens_after(self.source.transcript, through, &with.newest);
        plan::room(self.source, self.policy, through, after, first)
    }

    /// A record without any content: nothing covered beyond what was, nothing changed.
    pub fn blank(&self, mode: Mode) -> Compaction {
        let transcript = self.source.transcript;
        let through = transcript.messages().last().map_or(Ordinal(0), |message| message.ord);
        let previous = transcript.in_force();
        Compaction {
            id: transcript.next_compaction_id(),
            generation: transcript.generation(),
            anchor: previous.map_or_else(|| plan::anchor(transcript, through), |p| p.anchor.clone()),
            covers: previous.and_then(|p| p.covers),
            dropped: previous.and_then(|p| p.dropped),
            source_hash: previous.map(|p| p.source_hash.clone()).unwrap_or_default(),
            block: previous.map_or_else(|| "".into(), |p| p.block.clone()),
            block_tokens: previous.map_or(0, |p| p.block_tokens),
            narrative: previous.and_then(|p| p.narrative.clone()),
            actions: previous.map(|p| p.actions.clone()).unwrap_or_default(),
            kept_users: previous.map(|p| p.kept_users.clone()).unwrap_or_default(),
            reported_users: previous.map(|p| p.reported_users.clone()).unwrap_or_default(),
            open_requests: previous.map(|p| p.open_requests.clone()).unwrap_or_default(),
            tokens_before: self.tokens_before,
            tokens_after: 0,
            estimator: self.counter.name().to_owned(),
            trigger: Trigger::BudgetExceeded,
            mode_requested: self.policy.summary_mode,
            mode,
            strength: Strength::Absent,
            fallbacks: Vec::new(),
            model: None,
            input_truncated: false,
            num_rounds: previous.map_or(0, |p| p.num_rounds),
            previous: previous.map(|p| p.id.clone()),
            status: Status::InForce,
        }
    }

    /// The record with its size, if it brings the prompt to `most` tokens or less.
    pub fn sized(&self, mut record: Compaction, most: u32) -> Option<Compaction> {
        record.tokens_after = prompt::draft(self.source, Some(&record)).tokens;
        (record.tokens_after <= most).then_some(record)
    }

    /// A record that covers everything up to `through` but a tail, with a block of all that fits. Nothing where that
    /// does not reach the target.
    pub fn with_block(&self, mode: Mode, through: Ordinal, with: &Ingredients) -> Option<Compaction> {
        let room = self.room(through, with)?;
        let mut raw = self.policy.raw_tail.of(room.space);
        let short = self.policy.short_tail.of(room.space);
        let mut best: Option<Compaction> = None;
        for _ in 0..TAIL_PASSES {
            let tail = plan::tail(self.source, self.policy, through, &room.words, (raw, short), self.counter);
            let used = tail.tokens;
            let Some(record) = self.filled(mode, &room, tail, with) else { break };
            // What ledger and index did not need goes to the tail.
            let left = room.target.saturating_sub(record.tokens_after);
            best = Some(record);
            if left < room.space / 20 {
                break;
            }
            raw = used + left;
        }
        best
    }

    /// A record that covers nothing more: the largest results up to `through` shortened, one after the other, until the
    /// prompt reaches its target, and the names that this hides listed. Nothing where that is not enough.
    pub fn shortened(&self, through: Ordinal, actions: BTreeMap<Ordinal, Action>) -> Option<Compaction> {
        let transcript = self.source.transcript;
        let room = self.room(through, &Ingredients::default())?;
        let previous = transcript.in_force();
        let resume = previous.map_or(Ordinal(0), Compaction::resume_at);
        let blank = self.blank(Mode::LimitHistory);
        let results: Vec<Ordinal> = plan::segments(transcript, resume, through)
            .iter()
            .filter_map(|segment| transcript.rounds().get(segment.round?))
            .flat_map(|round| round.results.iter().flatten().copied())
            .collect();
        let for_names = self.policy.identifiers.of(room.space) / 2;
        let fits = |cut: &BTreeMap<Ordinal, Action>| {
            let mut record = blank.clone();
            record.actions.extend(cut);
            record.actions.extend(&actions);
            prompt::draft(self.source, Some(&record)).tokens + for_names <= room.target
        };
        let least = (self.policy.shorten_to.0 + self.policy.shorten_to.1) as usize;
        let mut cut = limit::level(transcript, &results, least, self.counter, fits);
        cut.extend(&actions);
        let with =
            Ingredients { narrative: blank.narrative.map(|text| text.to_string()), ..Ingredients::default() };
        let tail = Tail { start: resume, actions: cut, tokens: 0 };
        self.filled(Mode::LimitHistory, &room, tail, &with)
    }

    /// The block for this tail, with an index as large as the target allows.
    fn filled(&self, mode: Mode, room: &Room, tail: Tail, with: &Ingredients) -> Option<Compaction> {
        let transcript = self.source.transcript;
        let cutting = plan::cut_before(transcript, tail.start, &room.words);
        let base = match cutting.span {
            Some(span) => self.over(mode, span),
            None => self.blank(mode),
        };
        let mut record = Compaction {
            covers: cutting.span,
            dropped: None,
            narrative: with.narrative.as_deref().map(Into::into),
            kept_users: cutting.kept_users,
            reported_users: cutting.reported_users,
            open_requests: cutting.open_requests,
            actions: tail.actions,
            block: "".into(),
            block_tokens: 0,
            ..base
        };
        record.actions.extend(&with.newest);
        let without = prompt::draft(self.source, Some(&record));
        let space = room.target.checked_sub(without.tokens)?;
        let ledger = match cutting.span {
            Some(span) => ledger(transcript, span, &self.source.fixed.tools),
            None => Ledger::default(),
        };
        let weigh_line = |line: &str| self.counter.count(line);
        let mut shown = ledger.shown(self.policy.ledger.of(room.space), weigh_line);
        let mut parts = BlockParts {
            ledger: ledger_text(&ledger, &shown, &BTreeMap::new()),
            narrative: with.narrative.clone(),
            covers_open_request: !record.open_requests.is_empty(),
            reported_users: self.reported(&record.reported_users),
            dropped: false,
        };
        let weigh = |parts: &BlockParts| self.counter.count(&block(parts)) + PER_MESSAGE;
        let mut bare = weigh(&parts);
        if bare > space {
            shown = Shown::default();
            parts.ledger = String::new();
            bare = weigh(&parts);
        }
        let covered = cutting.span.map_or(&[][..], |span| transcript.range(span.from, span.to));
        let lost = covered.iter().map(|message| message.ord).chain(record.actions.keys().copied()).collect();
        let ranked = identifiers::rank(transcript, &lost);
        let seen = Seen::in_prompt(&without, &block(&parts));
        let known: BTreeSet<Place> = shown.files.iter().map(|file| Place::File(file.path.clone())).collect();
        let mut for_index = space.saturating_sub(bare).min(self.policy.identifiers.of(room.space));
        loop {
            if for_index > 0 {
                let names = identifiers::index(&ranked, seen.clone(), &known, for_index);
                parts.ledger = ledger_text(&ledger, &shown, &names);
            }
            let tokens = weigh(&parts);
            if tokens <= space {
                record.block = block(&parts).into();
                record.block_tokens = tokens;
                return self.sized(record, room.target);
            }
            if for_index == 0 {
                return None;
            }
            // The index is laid out by an estimate of its weight; what it is over by, and a little, comes off.
            for_index = for_index.saturating_sub((tokens - space) + for_index / 50 + 1);
            parts.ledger = ledger_text(&ledger, &shown, &BTreeMap::new());
        }
    }

    /// A record over this span, hanging at its last round.
    fn over(&self, mode: Mode, span: Span) -> Compaction {
        let transcript = self.source.transcript;
        let rounds = transcript.first_round_from(span.to.next()) - transcript.first_round_from(span.from);
        Compaction {
            anchor: self.anchor(span.to),
            source_hash: transcript.source_hash(span.from, span.to),
            num_rounds: u32::try_from(rounds).unwrap_or(u32::MAX),
            ..self.blank(mode)
        }
    }

    fn anchor(&self, through: Ordinal) -> Anchor {
        plan::anchor(self.source.transcript, through)
    }

    fn reported(&self, ords: &[Ordinal]) -> Vec<String> {
        let line = |message: &std::sync::Arc<Message>| {
            let texts = message.body.texts();
            let bytes: usize = texts.iter().map(|text| text.len()).sum();
            let start = texts.first().map_or_else(String::new, |text| first_line(text, 80));
            format!("- message {} ({bytes} bytes): {start}", message.ord)
        };
        ords.iter().filter_map(|ord| self.source.transcript.message(*ord)).map(line).collect()
    }

    /// Rung 4's first step: whole rounds dropped from the oldest on, until the prompt reaches the target; all that may
    /// be dropped, where it does not.
    pub fn dropped(&self, mode: Mode, through: Ordinal, with: &Ingredients) -> Option<Compaction> {
        let transcript = self.source.transcript;
        let room = self.room(through, with)?;
        let resume = transcript.in_force().map_or(Ordinal(0), Compaction::resume_at);
        let starts: Vec<Ordinal> = plan::segments(transcript, resume, through)
            .iter()
            .skip(1)
            .filter(|segment| segment.round.is_some() || starts_turn(self.source, segment.first))
            .map(|segment| segment.first)
            .chain([through.next()])
            .collect();
        let drop_before = |start: Ordinal| {
            let cutting = plan::cut_before(transcript, start, &room.words);
            let mut base = self.blank(mode);
            if with.gives_up {
                base =
                    Compaction { covers: None, block: "".into(), block_tokens: 0, narrative: None, ..base };
            }
            let from = base.covers.map_or(Ordinal(0), |span| span.to.next());
            let dropped = cutting.span.map(|span| Span { from, to: span.to })?;
            let actions = base.actions.iter().filter(|(ord, _)| **ord >= start);
            let mut record = Compaction {
                anchor: self.anchor(dropped.to),
                dropped: Some(dropped),
                source_hash: transcript.source_hash(Ordinal(0), dropped.to),
                kept_users: cutting.kept_users,
                reported_users: cutting.reported_users,
                open_requests: cutting.open_requests,
                actions: actions.map(|(ord, action)| (*ord, *action)).collect(),
                strength: Strength::High,
                ..base
            };
            record.actions.extend(&with.newest);
            Some(record)
        };
        // The more is dropped, the smaller the prompt: the first start that fits is found by halving.
        let fits = |start: &Ordinal| {
            drop_before(*start).and_then(|record| self.sized(record, room.target)).is_some()
        };
        let at = starts.partition_point(|start| !fits(start));
        let start = starts.get(at).or(starts.last())?;
        self.sized(drop_before(*start)?, self.source.budget.limit)
    }
}

fn starts_turn(source: Source<'_>, ord: Ordinal) -> bool {
    let turns = source.transcript.turns();
    source.transcript.turn_at(ord).and_then(|turn| turns.get(turn)).is_some_and(|turn| turn.first == ord)
}
