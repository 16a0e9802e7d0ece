//! Builds a record from ledger, identifiers, narrative and tail, within the token budget that `plan` allows. Pure
//! arithmetic; the ladder chooses the rung and decides whether to accept the result.

mod dropped;
mod reported;

use super::excerpts::{Past, Shown};
use super::identifiers::{self, Place, Ranked, Seen};
use super::known_tools::Kinds;
use super::ledger::Ledger;
use super::ledger::lines::{LedgerTokens, List};
use super::ledger::reader::LedgerReader;
use super::plan::{self, Aim, Keep, Room, Tail, UserWords};
use super::policy::Policy;
use super::record::{Action, Compaction, Mode, Span, Status, Strength, Trigger};
use super::slice::Slice;
use super::template::{BlockParts, RECALL, block, escape, ledger_text};
use crate::id::Ordinal;
use crate::prompt::segment::segments;
use crate::prompt::{self, Prompt, Source, limit};
use crate::settings::PerMille;
use crate::tokens::{PER_MESSAGE, TokenCount};
use std::collections::{BTreeMap, BTreeSet};

/// Number of passes that give unused tokens to the tail.
const TAIL_PASSES: u32 = 4;
/// Number of passes that fit excerpts to their tokens.
const EXCERPT_PASSES: u32 = 4;
/// Divisor: beyond their share, names get at most a twentieth of the space, of what excerpts left.
const UNUSED_DIVISOR: u32 = 20;
/// Tokens for the changed files in a small prompt, if that is at most a fifth of the free space.
const LEAST_FOR_CHANGES: u32 = 800;
/// Tokens for a block below which no model is asked: a smaller block has no room for a narrative beside its frame.
const LEAST_SUMMARY: u32 = 200;

/// Inputs of every rung.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    /// Transcript, fixed sections and budget of the prompt.
    pub source: Source<'a>,
    /// The compaction policy.
    pub policy: &'a Policy,
    /// The token counter.
    pub counter: &'a dyn TokenCount,
    /// Tokens of the prompt before the compaction.
    pub tokens_before: u32,
    /// Topic that a summary should emphasize, as worded by the requester.
    pub focus: Option<&'a str>,
    /// The purpose of the compaction.
    pub aim: Aim,
}

/// Contents of a rung's record that do not follow from the transcript.
#[derive(Debug, Clone, Default)]
pub struct Ingredients {
    /// The narrative: a new one, or that of the record in force.
    pub narrative: Option<String>,
    /// `true` if the narrative was made from all that the block covers.
    pub is_told: bool,
    /// Shortened results and arguments of the newest round, as rung 4 makes them.
    pub newest: BTreeMap<Ordinal, Action>,
    /// `true` if only the user messages of the running turn are kept.
    pub gives_up: bool,
}

/// Contents of a block that do not depend on its tail; read once for all tails that are tried.
struct Material<'a> {
    ranked: Vec<Ranked<'a>>,
    past: Past<'a>,
    ledger: LedgerReader<'a>,
}

impl Inputs<'_> {
    fn room(&self, slice: Slice, with: &Ingredients) -> Option<Room> {
        // A retention by count fixes the tail; else the tail takes the tokens that the target leaves.
        let share = slice.leaves_tail.then_some(self.policy.target_ratio);
        self.room_of(slice, with, share)
    }

    /// Returns the token budget. Under [`Aim::Summary`] the free tokens of the prompt must shrink to `share`, or by any
    /// amount if that is `None`.
    fn room_of(&self, slice: Slice, with: &Ingredients, share: Option<PerMille>) -> Option<Room> {
        let keep = if with.gives_up { Keep::CurrentOnly } else { Keep::Words };
        let transcript = self.source.transcript;
        let mut actions = transcript.in_force().map(|record| record.actions.clone()).unwrap_or_default();
        actions.extend(&with.newest);
        let after = plan::tokens_after(transcript, slice.through, &actions);
        let room = plan::room(self.source, self.policy, slice.through, after, keep)?;
        Some(match self.aim {
            Aim::Room => room,
            Aim::Summary => room.below(self.tokens_before, share),
        })
    }

    /// `true` if a block for this slice may have at least `LEAST_SUMMARY` tokens.
    pub(crate) fn has_room(&self, slice: Slice) -> bool {
        self.room_of(slice, &Ingredients::default(), None).is_some_and(|room| room.space >= LEAST_SUMMARY)
    }

    /// Returns the most tokens of a prompt after a compaction of this slice; 0 if the parts that cannot be dropped
    /// exceed the limit by themselves.
    pub fn target(&self, slice: Slice, with: &Ingredients) -> u32 {
        self.room(slice, with).map_or(0, |room| room.target)
    }

    /// Returns a record that changes nothing: it carries on coverage, block and actions of the record in force.
    pub(crate) fn blank(&self, mode: Mode) -> Compaction {
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
            placement: previous.map_or(self.policy.placement, |p| p.placement),
            block: previous.map_or_else(|| "".into(), |p| p.block.clone()),
            block_tokens: previous.map_or(0, |p| p.block_tokens),
            narrative: previous.and_then(|p| p.narrative.clone()),
            actions: previous.map(|p| p.actions.clone()).unwrap_or_default(),
            kept_users: previous.map(|p| p.kept_users.clone()).unwrap_or_default(),
            reported_users: previous.map(|p| p.reported_users.clone()).unwrap_or_default(),
            open_requests: previous.map(|p| p.open_requests.clone()).unwrap_or_default(),
            excluded: previous.map(|p| p.excluded.clone()).unwrap_or_default(),
            tokens_before: self.tokens_before,
            tokens_after: 0,
            target: None,
            estimator: self.counter.name().to_owned(),
            trigger: Trigger::BudgetExceeded,
            mode_requested: self.policy.summary_mode,
            mode,
            strength: Strength::Absent,
            fallbacks: Vec::new(),
            focus: self.focus.map(str::to_owned),
            unreviewed: false,
            model: None,
            asked_again: 0,
            cost: None,
            input_truncated: false,
            num_rounds: previous.map_or(0, |p| p.num_rounds),
            previous: previous.map(|p| p.id.clone()),
            replaces: None,
            turn: transcript.turns().last().map(|turn| turn.id.clone()),
            created_at: None,
            duration_ms: None,
            status: Status::InForce,
        }
    }

    /// Sets size and target of the record; `None` if its prompt exceeds `most` tokens.
    pub(crate) fn sized(&self, mut record: Compaction, most: u32) -> Option<Compaction> {
        record.target = Some(most);
        record.tokens_after = prompt::draft(self.source, Some(&record)).tokens;
        (record.tokens_after <= most).then_some(record)
    }

    /// Returns a record that only shortens the newest results, if that suffices. With a slice its block also lists the
    /// names that this hides.
    pub(crate) fn only_newest(&self, slice: Option<Slice>, with: &Ingredients) -> Option<Compaction> {
        let Some(slice) = slice else {
            let mut record = self.blank(Mode::Dropped);
            record.actions.extend(&with.newest);
            return self.sized(record, self.source.budget.limit);
        };
        let room = self.room(slice, with)?;
        let previous = self.source.transcript.in_force();
        let narrative = previous.and_then(|record| record.narrative.as_deref()).map(str::to_owned);
        let with = Ingredients { narrative, ..with.clone() };
        let actions = previous.map(|record| record.actions.clone()).unwrap_or_default();
        let start = previous.map_or(Ordinal(0), Compaction::resume_at);
        let tail = Tail { start, actions, tokens: 0 };
        self.filled(Mode::Dropped, &room, tail, &with, &self.material(slice, &with, room.target))
    }

    /// Returns a record that covers the slice except a tail, with a block of all that fits; `None` if the target is
    /// not reached.
    pub fn with_block(&self, mode: Mode, slice: Slice, with: &Ingredients) -> Option<Compaction> {
        self.with_block_until(mode, slice, slice.through, with)
    }

    /// Like [`Self::with_block`], for a narrative made earlier: it covers messages up to `told`, and the rest of the
    /// slice stays raw.
    pub(crate) fn with_block_until(
        &self,
        mode: Mode,
        slice: Slice,
        told: Ordinal,
        with: &Ingredients,
    ) -> Option<Compaction> {
        let room = self.room(slice, with)?;
        let made = self.within(mode, slice, told, with, &room);
        if made.is_some() {
            return made;
        }
        if self.aim == Aim::Room {
            // Rounds since an earlier summary stay raw. It is still better used than made again.
            return (told < slice.through)
                .then(|| self.within(mode, slice, told, with, &room.widened()))
                .flatten();
        }
        // A requested summary is accepted if the prompt shrinks at all.
        self.within(mode, slice, told, with, &self.room_of(slice, with, None)?)
    }

    /// Like [`Self::with_block`], with the span and actions of `record` and a target not below its size.
    pub(crate) fn with_same_span(
        &self,
        record: &Compaction,
        covers: Span,
        slice: Slice,
        with: &Ingredients,
    ) -> Option<Compaction> {
        let room = self.room(slice, with)?;
        let room = Room { target: room.target.max(record.tokens_after), ..room };
        let tail = Tail { start: covers.to.next(), actions: record.actions.clone(), tokens: 0 };
        self.filled(record.mode, &room, tail, with, &self.material(slice, with, room.target))
    }

    fn within(
        &self,
        mode: Mode,
        slice: Slice,
        told: Ordinal,
        with: &Ingredients,
        room: &Room,
    ) -> Option<Compaction> {
        let material = self.material(slice, with, room.target);
        let narrative = with.narrative.as_deref().map_or(0, |text| self.counter.count(text));
        let free = room.space.saturating_sub(narrative);
        let mut raw = self.policy.raw_tail.of(free);
        let mut short = self.policy.short_tail.of(free);
        let mut best: Option<Compaction> = None;
        for _ in 0..TAIL_PASSES {
            let words = &room.words;
            let tail = plan::tail(self.source, self.policy, slice, told, words, (raw, short), self.counter);
            let used = tail.tokens;
            let Some(record) = self.filled(mode, room, tail, with, &material) else {
                if best.is_some() || (raw, short) == (0, 0) {
                    break;
                }
                // Beside a long narrative there may be no room for a tail at all.
                (raw, short) = (0, 0);
                continue;
            };
            // Tokens that ledger and index did not use go to the tail.
            let left = room.target.saturating_sub(record.tokens_after);
            best = Some(record);
            if left < room.space / 20 || !slice.leaves_tail {
                break;
            }
            raw = used + left;
        }
        best
    }

    /// Returns a record that covers nothing more: it cuts the largest results of the slice to a common size and lists
    /// the names that this hides. `None` if the target is not reached.
    pub fn shortened(&self, slice: Slice, actions: BTreeMap<Ordinal, Action>) -> Option<Compaction> {
        let transcript = self.source.transcript;
        let room = self.room(slice, &Ingredients::default())?;
        let previous = transcript.in_force();
        let resume = previous.map_or(Ordinal(0), Compaction::resume_at);
        let blank = self.blank(Mode::LimitHistory);
        let results: Vec<Ordinal> = segments(transcript, resume, slice.through)
            .iter()
            .filter_map(|segment| transcript.rounds().get(segment.round?))
            .flat_map(|round| round.results.iter().flatten().copied())
            .collect();
        let for_names = self.policy.identifiers.of(room.space) / 2;
        // Results that were shortened before stay at least as short.
        let with_older = |cut: &BTreeMap<Ordinal, Action>| {
            let mut all = blank.actions.clone();
            for (ord, action) in cut.iter().chain(&actions) {
                let known = all.entry(*ord).or_insert(*action);
                if action.tokens() < known.tokens() {
                    *known = *action;
                }
            }
            all
        };
        let fits = |cut: &BTreeMap<Ordinal, Action>| {
            let record = Compaction { actions: with_older(cut), ..blank.clone() };
            prompt::draft(self.source, Some(&record)).tokens + for_names <= room.target
        };
        let least = (self.policy.shorten_to.0 + self.policy.shorten_to.1) as usize;
        let cut = limit::level(transcript, &results, least, self.counter, fits);
        if !fits(&cut) {
            return None;
        }
        let narrative = blank.narrative.as_deref().map(str::to_owned);
        let with = Ingredients { narrative, ..Ingredients::default() };
        let tail = Tail { start: resume, actions: with_older(&cut), tokens: 0 };
        self.filled(Mode::LimitHistory, &room, tail, &with, &self.material(slice, &with, room.target))
    }

    /// Returns the identifiers of the slice, and of the newest results where those are shortened, the pieces for
    /// excerpts and the ledger so far. What the prompt shows is filtered out later.
    fn material(&self, slice: Slice, with: &Ingredients, target: u32) -> Material<'_> {
        let transcript = self.source.transcript;
        let last = with.newest.keys().next_back().copied().unwrap_or(slice.through);
        let sizes = (self.source.budget.limit, target);
        Material {
            ranked: identifiers::rank(transcript, last.max(slice.through)),
            past: Past::read(transcript, slice.through, self.kinds(), &self.policy.excerpt_weights, sizes),
            ledger: self.ledger_so_far(),
        }
    }

    /// Tokens for the ledger. In a small prompt its share would not name the files that were changed.
    fn ledger_tokens(&self, space: u32) -> LedgerTokens {
        let all = self.policy.ledger.of(space);
        LedgerTokens { all, changed: if all == 0 { 0 } else { LEAST_FOR_CHANGES.min(space / 5) } }
    }

    fn kinds(&self) -> Kinds<'_> {
        Kinds { named: &self.policy.tool_kinds, declared: &self.source.fixed.tools }
    }

    /// The ledger of the messages that the record in force hides; its reading can be continued.
    fn ledger_so_far(&self) -> LedgerReader<'_> {
        LedgerReader::hidden(self.source.transcript, self.kinds())
    }

    /// Returns the record for this tail, with an index as large as the target allows; `None` if it exceeds the target.
    fn filled(
        &self,
        mode: Mode,
        room: &Room,
        tail: Tail,
        with: &Ingredients,
        material: &Material<'_>,
    ) -> Option<Compaction> {
        let mut record = self.cut(mode, tail.start, &room.words);
        record.covers = record.dropped.take();
        record.narrative = with.narrative.as_deref().map(Into::into);
        record.actions.retain(|ord, _| *ord > room.through);
        record.actions.extend(tail.actions);
        record.actions.extend(&with.newest);
        let without = prompt::draft(self.source, Some(&record));
        let space = room.target.checked_sub(without.tokens)?;
        let mut parts = BlockParts {
            narrative: with.narrative.clone(),
            covers: record.covers.is_some(),
            ..self.bare_parts(&record, room.space)
        };
        // Beside a long narrative the ledger gets at most half of the remaining tokens, the index the rest.
        let left = space.saturating_sub(self.weigh(&parts));
        let most = self.ledger_tokens(room.space).min(left / 2);
        let lists = self.ledger_within(&mut parts, space, most, &material.ledger.clone().of(&record));
        let for_names = self.policy.identifiers.of(room.space);
        let left = space.saturating_sub(self.weigh(&parts));
        let most = left.saturating_sub(for_names).min(self.policy.excerpts.of(room.space));
        let left = left.saturating_sub(self.excerpts_within(
            &mut parts,
            (&record, with.is_told),
            &without,
            most,
            &material.past,
        ));
        let ranked = identifiers::unseen(&material.ranked, &Seen::in_prompt(&without, &block(&parts)));
        let lines = lists.iter().flat_map(|list| &list.lines);
        let known: BTreeSet<Place> = lines.flat_map(|line| line.places.iter().cloned()).collect();
        let without_names = parts.ledger.clone();
        let mut for_index = left.min(for_names + room.space / UNUSED_DIVISOR);
        loop {
            if for_index > 0 {
                let names = identifiers::index(&ranked, &known, for_index);
                parts.ledger = ledger_text(&lists, &names);
            }
            let tokens = self.weigh(&parts);
            if tokens <= space {
                record.block = block(&parts).into();
                record.block_tokens = tokens;
                return self.sized(record, room.target);
            }
            if for_index == 0 {
                return None;
            }
            // The size of the index is an estimate: retry without the excess and a little more.
            for_index = for_index.saturating_sub((tokens - space) + for_index / 50 + 1);
            parts.ledger.clone_from(&without_names);
        }
    }

    /// Puts at most `most` tokens of the ledger into a block that must fit `space`. With less space: only the counts of
    /// its entries, or nothing.
    fn ledger_within(
        &self,
        parts: &mut BlockParts,
        space: u32,
        most: LedgerTokens,
        ledger: &Ledger,
    ) -> Vec<List> {
        for tokens in [most, most.part(2), most.part(4), LedgerTokens::default()] {
            let lists = ledger.shown(tokens, |line| self.counter.count(line));
            parts.ledger = ledger_text(&lists, &BTreeMap::new());
            if self.weigh(parts) <= space {
                return lists;
            }
        }
        parts.ledger = String::new();
        Vec::new()
    }

    /// Puts excerpts of at most `most` tokens into a block, and returns how many they have.
    fn excerpts_within(
        &self,
        parts: &mut BlockParts,
        (record, is_told): (&Compaction, bool),
        prompt: &Prompt,
        most: u32,
        past: &Past<'_>,
    ) -> u32 {
        let Some(span) = record.covers.filter(|_| most > 0) else { return 0 };
        let shown = Shown::in_prompt(prompt);
        let mut aim = most;
        for _ in 0..EXCERPT_PASSES {
            let excerpts = past.text(span.to.next(), &shown, is_told, aim);
            // Pieces are sized by bytes; the text as a whole tells how many tokens that makes.
            let made = self.counter.count(&escape(&excerpts));
            if made <= most {
                parts.excerpts = excerpts;
                return made;
            }
            aim = u32::try_from(u64::from(aim) * u64::from(most) / u64::from(made)).unwrap_or(aim);
            aim -= aim / 50;
        }
        0
    }

    fn weigh(&self, parts: &BlockParts) -> u32 {
        self.counter.count(&block(parts)) + PER_MESSAGE
    }

    /// Returns the frame of a block: placement, date, flags, and the user messages that are not shown.
    fn bare_parts(&self, record: &Compaction, space: u32) -> BlockParts {
        BlockParts {
            placement: record.placement,
            last_active: plan::last_active(self.source.transcript),
            covers: true,
            covers_open_request: !record.open_requests.is_empty(),
            recalls: self.source.fixed.tools.iter().any(|tool| tool.name == RECALL),
            reported_users: self.reported(&record.reported_users, space / 8),
            ..BlockParts::default()
        }
    }

    /// Returns a record that drops everything before `start` and is anchored at the last round there. Actions from
    /// `start` on stay.
    fn cut(&self, mode: Mode, start: Ordinal, words: &UserWords) -> Compaction {
        let transcript = self.source.transcript;
        let cutting = plan::cut_before(transcript, start, words);
        let blank = self.blank(mode);
        let (anchor, source_hash, rounds) = match cutting.span {
            Some(Span { from, to }) => {
                let rounds = transcript.first_round_from(to.next()) - transcript.first_round_from(from);
                (plan::anchor(transcript, to), transcript.source_hash(from, to), rounds)
            }
            None => (blank.anchor.clone(), blank.source_hash.clone(), 0),
        };
        let actions = blank.actions.iter().filter(|(ord, _)| **ord >= start);
        Compaction {
            anchor,
            source_hash,
            num_rounds: u32::try_from(rounds).unwrap_or(u32::MAX),
            covers: None,
            dropped: cutting.span,
            narrative: None,
            kept_users: cutting.kept_users,
            reported_users: cutting.reported_users,
            open_requests: cutting.open_requests,
            actions: actions.map(|(ord, action)| (*ord, *action)).collect(),
            placement: self.policy.placement,
            block: "".into(),
            block_tokens: 0,
            ..blank
        }
    }
}
