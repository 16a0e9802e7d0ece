//! The user's hand on what stands in the place of the history (promise P6): a compaction is undone, made again, edited;
//! messages are left out. Records are added or go out of force; none is changed, and nothing that was said is touched.

use super::breaks::BreakCause;
use super::effect::{Answer, Refusal, Undone};
use super::event::{CompactionUpdate, EventBody, Phase};
use super::input::ReplyTo;
use super::settings::ModelFacts;
use super::stored::{TurnStatus, Write};
use super::usage::read_prompt;
use super::{Session, Step};
use engine::compact::by_hand;
use engine::compact::compose::Desk;
use engine::compact::metadata::{Persisted, metadata};
use engine::compact::plan::Aim;
use engine::compact::record::{Compaction, Status};
use engine::compact::trigger;
use engine::id::{CompactionId, MessageId, Ordinal, TurnId};
use engine::message::Body;
use engine::prompt::item::SectionSize;
use engine::prompt::pins::{Pinned, Pins};
use engine::prompt::system::Fixed;
use engine::prompt::{self, Prompt, Source};
use engine::settings::Budget;
use engine::tokens::TokenCount;
use engine::transcript::{Round, Transcript, Turn};
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// Why a compaction stays in force, and what can be done in the place of undoing it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("compaction {compaction} stays in force; nothing was changed")]
pub struct CannotUndo {
    /// The compaction.
    pub compaction: CompactionId,
    /// The most that a prompt may weigh, in tokens.
    pub limit: u32,
    /// What it would weigh without the compaction, in tokens; 0 where that was not the reason.
    pub needed: u32,
    /// What it would be made of.
    pub sections: Vec<SectionSize>,
    /// What can be done, the least change first.
    pub ways: Vec<Way>,
}

/// Something that can be done in the place of an undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// A newer compaction hides it: undo that one first.
    UndoFirst(CompactionId),
    /// Compact again from the originals, with a focus, and messages to keep.
    Redo(CompactionId),
    /// Bring messages back as pins.
    Pin {
        /// Those that would fit, the newest first.
        messages: Vec<MessageId>,
        /// Tokens that new pins may have together.
        most: u32,
    },
    /// A model with a window of so many tokens.
    Window(u32),
}

/// Messages that a refusal names as ways on, at most.
const MOST_NAMED: usize = 20;

/// What a compaction changes beside its own record, in the same step: the record that it is made again in the place of,
/// and messages that the user wants to keep.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Again {
    /// The record that goes out of force.
    pub replaces: Option<CompactionId>,
    /// What is pinned.
    pub keep: Vec<Pinned>,
    /// The record that is out of force already: nothing of it has to go.
    pub gone: Option<CompactionId>,
}

impl Again {
    /// Whether nothing changes beside the record.
    pub(super) fn is_plain(&self) -> bool {
        self.replaces.is_none() && self.keep.is_empty()
    }

    /// The session as it will be, for the ladder to work on.
    pub(super) fn staged(&self, session: &Session, counter: &dyn TokenCount) -> Option<(Transcript, Fixed)> {
        if self.is_plain() {
            return None;
        }
        let (mut transcript, mut fixed) = (session.transcript.clone(), session.fixed.clone());
        if let Some(replaced) = &self.replaces {
            transcript.set_status(replaced, Status::Undone);
        }
        fixed.pins = Pins::new(&session.with_pins(&self.keep), &transcript, counter);
        Some((transcript, fixed))
    }
}

impl Session {
    /// The record in force that is meant.
    fn meant(&self, id: Option<&CompactionId>) -> Result<&Compaction, Refusal> {
        let Some(newest) = self.transcript.in_force() else {
            return Err(match id {
                Some(id) => self.not_in_force(id),
                None => Refusal::Unusable { field: "compactionId", why: "no compaction is in force" },
            });
        };
        match id {
            Some(id) if *id != newest.id => Err(self.not_in_force(id)),
            _ => Ok(newest),
        }
    }

    fn not_in_force(&self, id: &CompactionId) -> Refusal {
        let named = || id.as_str().to_owned();
        let known = self.transcript.compactions().iter().find(|record| record.id == *id);
        match (known.map(|record| record.status), self.transcript.in_force()) {
            (None, _) => Refusal::Unknown { what: "compactionId", id: named() },
            (Some(Status::InForce), Some(newest)) => Refusal::CannotUndo(Box::new(CannotUndo {
                compaction: id.clone(),
                limit: 0,
                needed: 0,
                sections: Vec::new(),
                ways: vec![Way::UndoFirst(newest.id.clone())],
            })),
            (Some(_), _) => Refusal::Settled { what: "compactionId", id: named() },
        }
    }

    /// What another status of some records means for the next prompt.
    fn drafted(&self, changes: &BTreeMap<CompactionId, Status>, budget: Budget) -> Prompt {
        let mut transcript = self.transcript.clone();
        changes.iter().for_each(|(id, status)| transcript.set_status(id, *status));
        let source = Source { transcript: &transcript, fixed: &self.fixed, budget };
        prompt::draft(source, transcript.in_force())
    }

    /// What can be done where the prompt without this record does not fit.
    fn ways_on(&self, record: &Compaction, without: &Prompt) -> Result<Vec<Way>, Refusal> {
        let budget = self.budget()?;
        let with = self.drafted(&BTreeMap::new(), budget);
        let shown = |prompt: &Prompt| -> BTreeSet<Ordinal> {
            prompt.items.iter().flat_map(|item| &item.sources).map(|source| source.ord).collect()
        };
        let is_shown = shown(&with);
        let hidden = shown(without).into_iter().rev().filter(|ord| !is_shown.contains(ord));
        let most = self.most_pinned()?.saturating_sub(self.fixed.pins.tokens());
        let mut left = most;
        let mut messages = Vec::new();
        for message in hidden.filter_map(|ord| self.transcript.message(ord)) {
            if message.tokens <= left && messages.len() < MOST_NAMED {
                left -= message.tokens;
                messages.push(message.id.clone());
            }
        }
        let mut ways = vec![Way::Redo(record.id.clone())];
        ways.extend((!messages.is_empty()).then_some(Way::Pin { messages, most }));
        ways.extend(self.window_for(without.tokens).map(Way::Window));
        Ok(ways)
    }

    /// The smallest window, in tokens, whose limit is no less than this many raw tokens; none where a ceiling is in its way.
    fn window_for(&self, needed: u32) -> Option<u32> {
        let scale = self.scale(&self.settings.model);
        let fits = |window: u32| {
            let model = ModelFacts { window, ..self.settings.model.clone() };
            self.budget_in(scale, &model, None).is_ok_and(|budget| budget.limit >= needed)
        };
        let (mut small, mut large) = (1, scale.read(needed).checked_mul(4)?);
        if !fits(large) {
            return None;
        }
        while small < large {
            let middle = small + (large - small) / 2;
            if fits(middle) { large = middle } else { small = middle + 1 }
        }
        Some(small)
    }

    /// The summaries that a turn still has, oldest first.
    fn summaries_left(&self, turn: Option<&TurnId>) -> Vec<Persisted> {
        let at = self.transcript.turns().iter().position(|known| Some(&known.id) == turn);
        at.map_or_else(Vec::new, |at| self.summaries_of(at))
    }

    /// New tokens that are missing before a compaction is made that need not be: the user undid one or refused one, or an
    /// attempt at one came to nothing.
    pub(super) fn held_back(&self, source: Source<'_>) -> u32 {
        let missing = |since| trigger::missing_since(source, &self.settings.policy, since);
        let carried = &self.head.carried;
        carried.held.max(carried.undone).map_or(0, missing)
    }

    /// New tokens that fit before a compaction that sizes set off, in a prompt of this many raw tokens.
    pub(super) fn tokens_until(&self, source: Source<'_>, tokens: u32) -> u32 {
        trigger::tokens_until(source, &self.settings.policy, tokens, self.held_back(source))
    }

    /// The position of the next message.
    pub(super) fn next_ord(&self) -> Ordinal {
        Ordinal(u32::try_from(self.transcript.messages().len()).unwrap_or(u32::MAX))
    }

    /// These messages with all that belongs to them, if the user may leave them out.
    fn to_exclude(&self, ids: &[MessageId], shown: &BTreeSet<Ordinal>) -> Result<BTreeSet<Ordinal>, Refusal> {
        let unusable = |why| Refusal::Unusable { field: "messageIds", why };
        let last = self.transcript.turns().len().saturating_sub(1);
        let requests = self.transcript.turns().last().map_or(&[][..], |turn| &turn.requests);
        let runs = self.turns.last().is_some_and(|row| row.status == TurnStatus::Running);
        let running = self.transcript.rounds_of(last).last().filter(|_| runs);
        let mut all = BTreeSet::new();
        for id in ids {
            let message = self.find(id)?;
            if message.is_hidden() || matches!(message.body, Body::Event { .. }) {
                return Err(unusable("no model sees this message anyway"));
            }
            if requests.contains(&message.ord) {
                return Err(unusable("the current request stays"));
            }
            let with_it = self.belonging_to(message.ord, shown);
            if running.is_some_and(|round| with_it.contains(&round.assistant)) {
                return Err(unusable("the newest round of a turn that runs stays"));
            }
            if with_it.iter().any(|ord| self.fixed.pins.holds(*ord)) {
                return Err(unusable("it is pinned; unpin it first"));
            }
            if !self.transcript.is_excluded(message.ord) && !shown.contains(&message.ord) {
                return Err(unusable(
                    "a compaction stands for it, so it is in no prompt; compact again with redo",
                ));
            }
            all.extend(with_it);
        }
        all.retain(|ord| !self.transcript.is_excluded(*ord));
        if all.is_empty() {
            return Err(unusable("all of it is left out already"));
        }
        Ok(all)
    }

    /// A message with what no prompt may show without it: a call with its results, and with a turn's request the rounds
    /// that are shown of the turn. An answer to nothing says nothing, and no prompt begins with one.
    fn belonging_to(&self, ord: Ordinal, shown: &BTreeSet<Ordinal>) -> BTreeSet<Ordinal> {
        let whole = |round: &Round| {
            std::iter::once(round.assistant).chain(round.results.iter().flatten().copied()).collect()
        };
        let is_of = |round: &&Round| round.assistant == ord || round.results.contains(&Some(ord));
        if let Some(round) = self.transcript.rounds().iter().rev().find(is_of) {
            return whole(round);
        }
        let is_begun_by = |turn: &Turn| turn.requests.first() == Some(&ord);
        let turn = self.transcript.turns().iter().position(is_begun_by);
        let rounds = turn.map_or(&[][..], |turn| self.transcript.rounds_of(turn)).iter();
        let rounds = rounds
            .filter(|round| shown.contains(&round.assistant))
            .flat_map(|round| -> BTreeSet<_> { whole(round) });
        std::iter::once(ord).chain(rounds).collect()
    }

    /// What a compaction changes beside its record, where the user may want that.
    pub(super) fn again(
        &self,
        redo: Option<CompactionId>,
        keep: Vec<MessageId>,
        counter: &dyn TokenCount,
    ) -> Result<Again, Refusal> {
        let known = |record: &&Compaction| Some(&record.id) == redo.as_ref();
        let status = self.transcript.compactions().iter().find(known).map(|record| record.status);
        let (replaces, gone) = match (redo.clone(), status) {
            // What is out of force already needs nothing more to be made again.
            (gone, Some(Status::Undone)) => (None, gone),
            (None, _) => (None, None),
            (Some(id), _) => (Some(self.meant(Some(&id))?.id.clone()), None),
        };
        let keep: Vec<Pinned> = keep.into_iter().map(Pinned::Message).collect();
        self.check_pins(&keep, counter)?;
        Ok(Again { replaces, keep, gone })
    }
}

impl Step<'_> {
    /// A compaction goes out of force: the next prompt is what it would have been without it.
    pub(super) fn undo(&mut self, reply: ReplyTo, id: Option<&CompactionId>) {
        match self.changes_of_undo(id) {
            Ok((id, changes)) => {
                self.announce(BreakCause::Undo);
                for (id, status) in changes {
                    self.set_status(&id, status);
                }
                self.session.head.carried.undone = Some(self.session.next_ord());
                // The prompt's beginning changes anyway, and a summary that is out of force may be remembered.
                match self.read_memories() {
                    true => self.write_head(),
                    false => self.write_head_as_it_was_used(),
                }
                self.tell_next_context();
                let records = self.session.transcript.compactions();
                let turn =
                    records.iter().find(|record| record.id == id).and_then(|record| record.turn.clone());
                let left = self.session.summaries_left(turn.as_ref());
                self.reply(reply, Ok(Answer::Undone(Box::new(Undone { id, turn, left }))));
            }
            Err(refusal) => self.reply(reply, Err(refusal)),
        }
    }

    /// Other statuses that an undo gives, where the prompt that follows fits.
    fn changes_of_undo(
        &self,
        id: Option<&CompactionId>,
    ) -> Result<(CompactionId, BTreeMap<CompactionId, Status>), Refusal> {
        let session = &*self.session;
        let record = session.meant(id)?;
        let mut changes = BTreeMap::from([(record.id.clone(), Status::Undone)]);
        let mut records = session.transcript.compactions().iter();
        let replaced = records.find(|known| Some(&known.id) == record.replaces.as_ref());
        // What the user put this one in the place of stood in the prompt before it; its copy in another place did not.
        let is_copy = |of: &Compaction| {
            let same = (of.mode, of.covers, &of.narrative) == (record.mode, record.covers, &record.narrative);
            same && of.placement != record.placement
        };
        let comes_back = |of: &&Compaction| of.status == Status::Undone && !is_copy(of);
        if let Some(replaced) = replaced.filter(comes_back) {
            changes.insert(replaced.id.clone(), Status::InForce);
        }
        let without = session.drafted(&changes, session.budget()?);
        if without.tokens > without.limit {
            let ways = session.ways_on(record, &without)?;
            let without = read_prompt(without, session.scale(&session.settings.model));
            return Err(Refusal::CannotUndo(Box::new(CannotUndo {
                compaction: record.id.clone(),
                limit: without.limit,
                needed: without.tokens,
                sections: without.plan.sizes(),
                ways,
            })));
        }
        Ok((record.id.clone(), changes))
    }

    /// A record comes into force or goes out of it, by the user's word.
    pub(super) fn set_status(&mut self, id: &CompactionId, status: Status) {
        self.session.transcript.set_status(id, status);
        self.write(Write::CompactionStatus { id: id.clone(), status });
        self.tell_record(id, None);
    }

    /// Tells a record that is in force or was undone, as it stands; why, where it is told once more.
    pub(super) fn tell_record(&mut self, id: &CompactionId, why: Option<&str>) {
        let transcript = &self.session.transcript;
        let Some(record) = transcript.compactions().iter().find(|record| record.id == *id).cloned() else {
            return;
        };
        let left = self.session.summaries_left(record.turn.as_ref());
        let phase = if record.status == Status::InForce { Phase::Accepted } else { Phase::Undone };
        let metadata = metadata(transcript, &record);
        self.emit(EventBody::CompactionUpdated(Box::new(CompactionUpdate {
            id: id.clone(),
            phase,
            mode: Some(record.mode),
            trigger: record.trigger,
            reason: why.map(str::to_owned),
            tokens_before: Some(record.tokens_before),
            left: (phase == Phase::Undone).then_some(left),
            record: Some((record, metadata)),
        })));
    }

    /// Messages are left out of every prompt from now on.
    pub(super) fn exclude(&mut self, reply: ReplyTo, ids: &[MessageId]) {
        let made = self.by_hand(|desk, session| {
            let draft = prompt::draft(desk.source, desk.source.transcript.in_force());
            let shown = draft.items.iter().flat_map(|item| &item.sources).map(|source| source.ord).collect();
            let record = by_hand::excluding(&desk, &session.to_exclude(ids, &shown)?);
            Ok(Compaction { turn: session.transcript.turns().last().map(|turn| turn.id.clone()), ..record })
        });
        self.made_by_hand(reply, BreakCause::Exclude, made);
    }

    /// The user gives an accepted compaction another narrative.
    pub(super) fn edit(&mut self, reply: ReplyTo, id: &CompactionId, narrative: &str) {
        let narrative = narrative.trim();
        let made = self.by_hand(|desk, session| {
            let unusable = |field, why| Refusal::Unusable { field, why };
            let of = session.meant(Some(id))?;
            if narrative.is_empty() {
                return Err(unusable(
                    "narrative",
                    "it says nothing; context/undo takes the compaction out of force",
                ));
            }
            let sized = |name: &str, tokens| vec![SectionSize { name: name.to_owned(), tokens }];
            let (most, tokens) = (desk.source.budget.max_summary_tokens, desk.counter.count(narrative));
            if tokens > most {
                let sections = sized("narrative", tokens);
                return Err(Refusal::NoRoom {
                    what: "Summary too large: it",
                    limit: most,
                    needed: tokens,
                    sections,
                });
            }
            let record = by_hand::edited(&desk, of, narrative)
                .ok_or_else(|| unusable("compactionId", "it has no text that could be changed"))?;
            let limit = desk.source.budget.limit;
            if record.tokens_after > limit && record.tokens_after > desk.tokens_before {
                let sections = sized("narrative", tokens);
                let needed = record.tokens_after;
                return Err(Refusal::NoRoom { what: "the prompt with it", limit, needed, sections });
            }
            Ok(record)
        });
        self.made_by_hand(reply, BreakCause::Edit, made);
    }

    /// Makes a record without the ladder.
    fn by_hand(
        &self,
        make: impl FnOnce(Desk<'_>, &Session) -> Result<Compaction, Refusal>,
    ) -> Result<Compaction, Refusal> {
        let session = &*self.session;
        let budget = session.budget()?;
        let source = Source { transcript: &session.transcript, fixed: &session.fixed, budget };
        let tokens_before = prompt::draft(source, session.transcript.in_force()).tokens;
        let policy = &session.settings.policy;
        let counter = self.around.counter;
        make(Desk { source, policy, counter, tokens_before, focus: None, aim: Aim::Room }, session)
    }

    fn made_by_hand(&mut self, reply: ReplyTo, cause: BreakCause, made: Result<Compaction, Refusal>) {
        match made {
            Ok(record) => {
                self.announce(cause);
                let record = self.commit(record, None);
                self.tell_next_context();
                let metadata = metadata(&self.session.transcript, &record);
                self.reply(reply, Ok(Answer::Compacted(Ok(Box::new((record, metadata))))));
            }
            Err(refusal) => self.reply(reply, Err(refusal)),
        }
    }

    /// Writes a record and tells it, after the one that it is put in the place of went out of force.
    pub(super) fn commit(&mut self, record: Compaction, why: Option<&str>) -> Compaction {
        if let Some(replaced) = record.replaces.clone() {
            self.set_status(&replaced, Status::Undone);
        }
        let record = Compaction { created_at: Some(self.around.now), ..record };
        self.session.transcript.record(record.clone());
        self.write(Write::Compaction(Box::new(record.clone())));
        let metadata = metadata(&self.session.transcript, &record);
        self.emit(EventBody::CompactionUpdated(Box::new(CompactionUpdate {
            id: record.id.clone(),
            phase: Phase::Accepted,
            mode: Some(record.mode),
            trigger: record.trigger,
            reason: why.map(str::to_owned),
            tokens_before: Some(record.tokens_before),
            left: None,
            record: Some((record.clone(), metadata)),
        })));
        record
    }
}
