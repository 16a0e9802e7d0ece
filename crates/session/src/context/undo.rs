//! Manual changes to what stands in place of the history: a compaction is undone or edited, messages are left
//! out. Records are added or go out of force; messages stay untouched.

use crate::context::figures::{read_prompt, tell_next_context};
use crate::context::pins::most_pinned;
use crate::context::records::{commit, meant, set_status, summaries_left};
use crate::core::{Conversation, Core};
use crate::values::effect::{Answer, Undone};
use crate::values::input::ReplyTo;
use crate::values::refusal::Refusal;
use crate::values::settings::ModelFacts;
use crate::values::undo::{Alternative, CannotUndo};
use engine::compact::by_hand;
use engine::compact::compose::Inputs;
use engine::compact::plan::Aim;
use engine::compact::record::{Compaction, Status};
use engine::id::{CompactionId, MessageId, Ordinal};
use engine::message::Body;
use engine::prompt::item::SectionSize;
use engine::prompt::{self, Prompt, Source};
use engine::settings::Budget;
use engine::transcript::{Round, Turn};
use engine::words::{BreakCause, TurnStatus};
use std::collections::{BTreeMap, BTreeSet};

/// Messages that a refusal names, at most.
const MOST_NAMED: usize = 20;

/// The next prompt if some records had another status.
fn drafted(conversation: &Conversation, changes: &BTreeMap<CompactionId, Status>, budget: Budget) -> Prompt {
    let mut transcript = conversation.transcript().clone();
    changes.iter().for_each(|(id, status)| transcript.set_status(id, *status));
    let source = Source { transcript: &transcript, fixed: conversation.fixed(), budget };
    prompt::draft(source, transcript.in_force())
}

/// Alternatives to an undo after which the prompt would not fit.
fn ways_on(
    conversation: &Conversation,
    record: &Compaction,
    without: &Prompt,
) -> Result<Vec<Alternative>, Refusal> {
    let budget = conversation.budget()?;
    let with = drafted(conversation, &BTreeMap::new(), budget);
    let shown = |prompt: &Prompt| -> BTreeSet<Ordinal> {
        prompt.items.iter().flat_map(|item| &item.sources).map(|source| source.ord).collect()
    };
    let is_shown = shown(&with);
    let hidden = shown(without).into_iter().rev().filter(|ord| !is_shown.contains(ord));
    let most = most_pinned(conversation)?.saturating_sub(conversation.fixed().pins.tokens());
    let mut left = most;
    let mut messages = Vec::new();
    for message in hidden.filter_map(|ord| conversation.transcript().message(ord)) {
        if message.tokens <= left && messages.len() < MOST_NAMED {
            left -= message.tokens;
            messages.push(message.id.clone());
        }
    }
    let mut ways = vec![Alternative::Redo(record.id.clone())];
    ways.extend((!messages.is_empty()).then_some(Alternative::Pin { messages, most }));
    ways.extend(window_for(conversation, without.tokens).map(Alternative::Window));
    Ok(ways)
}

/// The smallest window, in tokens, with a limit of at least so many raw tokens; `None` if a ceiling prevents it.
fn window_for(conversation: &Conversation, needed: u32) -> Option<u32> {
    let scale = conversation.scale(&conversation.settings().model);
    let fits = |window: u32| {
        let model = ModelFacts { window, ..conversation.settings().model.clone() };
        conversation.budget_in(scale, &model, None).is_ok_and(|budget| budget.limit >= needed)
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

/// These messages with all that belongs to them. Fails if one must stay.
fn to_exclude(
    conversation: &Conversation,
    ids: &[MessageId],
    shown: &BTreeSet<Ordinal>,
) -> Result<BTreeSet<Ordinal>, Refusal> {
    let unusable = |why| Refusal::Unusable { field: "messageIds", why };
    let last = conversation.transcript().turns().len().saturating_sub(1);
    let requests = conversation.transcript().turns().last().map_or(&[][..], |turn| &turn.requests);
    let runs = conversation.turns().last().is_some_and(|row| row.status == TurnStatus::Running);
    let running = conversation.transcript().rounds_of(last).last().filter(|_| runs);
    let mut all = BTreeSet::new();
    for id in ids {
        let message = conversation.find(id)?;
        if message.is_hidden() || matches!(message.body, Body::Event { .. }) {
            return Err(unusable("has a message that is never shown to a model"));
        }
        if requests.contains(&message.ord) {
            return Err(unusable("has the current request, which cannot be excluded"));
        }
        let with_it = belonging_to(conversation, message.ord, shown);
        if running.is_some_and(|round| with_it.contains(&round.assistant)) {
            return Err(unusable(
                "has a message of the newest round of a running turn, which cannot be excluded",
            ));
        }
        if with_it.iter().any(|ord| conversation.fixed().pins.holds(*ord)) {
            return Err(unusable("has a pinned message; unpin it first"));
        }
        if !conversation.transcript().is_excluded(message.ord) && !shown.contains(&message.ord) {
            return Err(unusable(
                "has a message that a compaction replaces already; compact again with redo",
            ));
        }
        all.extend(with_it);
    }
    all.retain(|ord| !conversation.transcript().is_excluded(*ord));
    if all.is_empty() {
        return Err(unusable("has only messages that are excluded already"));
    }
    Ok(all)
}

/// A message with what no prompt may show without it: a call with its results, a turn's request with the
/// rounds shown of the turn. An answer without its request says nothing, and no prompt begins with one.
fn belonging_to(conversation: &Conversation, ord: Ordinal, shown: &BTreeSet<Ordinal>) -> BTreeSet<Ordinal> {
    let whole = |round: &Round| {
        std::iter::once(round.assistant).chain(round.results.iter().flatten().copied()).collect()
    };
    let is_of = |round: &&Round| round.assistant == ord || round.results.contains(&Some(ord));
    if let Some(round) = conversation.transcript().rounds().iter().rev().find(is_of) {
        return whole(round);
    }
    let is_begun_by = |turn: &Turn| turn.requests.first() == Some(&ord);
    let turn = conversation.transcript().turns().iter().position(is_begun_by);
    let rounds = turn.map_or(&[][..], |turn| conversation.transcript().rounds_of(turn)).iter();
    let rounds = rounds
        .filter(|round| shown.contains(&round.assistant))
        .flat_map(|round| -> BTreeSet<_> { whole(round) });
    std::iter::once(ord).chain(rounds).collect()
}

/// Takes a compaction out of force: the next prompt is as it would have been without it.
pub(crate) fn undo(core: &mut Core<'_>, reply: ReplyTo, id: Option<&CompactionId>) {
    match changes_of_undo(core, id) {
        Ok((id, changes)) => {
            core.announce(BreakCause::Undo);
            for (id, status) in changes {
                set_status(core, &id, status);
            }
            let at = core.next_ord();
            core.restraint_mut().undone(at);
            // The prompt changes from its start anyway, and memories may hold the summary that is out of force.
            match core.read_memories() {
                true => core.write_head(),
                false => core.write_head_as_it_was_used(),
            }
            tell_next_context(core);
            let turn = core.record(&id).and_then(|record| record.turn.clone());
            let left = summaries_left(core, turn.as_ref());
            core.reply(reply, Ok(Answer::Undone(Box::new(Undone { id, turn, left }))));
        }
        Err(refusal) => core.reply(reply, Err(refusal)),
    }
}

/// The status changes of an undo. Fails if the prompt that follows does not fit.
fn changes_of_undo(
    conversation: &Conversation,
    id: Option<&CompactionId>,
) -> Result<(CompactionId, BTreeMap<CompactionId, Status>), Refusal> {
    let record = meant(conversation, id)?;
    let mut changes = BTreeMap::from([(record.id.clone(), Status::Undone)]);
    let mut records = conversation.transcript().compactions().iter();
    let replaced = records.find(|known| Some(&known.id) == record.replaces.as_ref());
    // A record that the user replaced with this one comes back; one that this only copies to another place does not.
    let is_copy = |of: &Compaction| {
        let same = (of.mode, of.covers, &of.narrative) == (record.mode, record.covers, &record.narrative);
        same && of.placement != record.placement
    };
    let comes_back = |of: &&Compaction| of.status == Status::Undone && !is_copy(of);
    if let Some(replaced) = replaced.filter(comes_back) {
        changes.insert(replaced.id.clone(), Status::InForce);
    }
    let without = drafted(conversation, &changes, conversation.budget()?);
    if without.tokens > without.limit {
        let ways = ways_on(conversation, record, &without)?;
        let without = read_prompt(without, conversation.scale_now());
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

/// Leaves messages out of every prompt from now on.
pub(crate) fn exclude(core: &mut Core<'_>, reply: ReplyTo, ids: &[MessageId]) {
    let made = make_by_hand(core, |inputs, conversation| {
        let draft = prompt::draft(inputs.source, inputs.source.transcript.in_force());
        let shown = draft.items.iter().flat_map(|item| &item.sources).map(|source| source.ord).collect();
        let record = by_hand::excluding(&inputs, &to_exclude(conversation, ids, &shown)?);
        Ok(Compaction {
            turn: conversation.transcript().turns().last().map(|turn| turn.id.clone()),
            ..record
        })
    });
    made_by_hand(core, reply, BreakCause::Exclude, made);
}

/// Replaces the narrative of an accepted compaction.
pub(crate) fn edit(core: &mut Core<'_>, reply: ReplyTo, id: &CompactionId, narrative: &str) {
    let narrative = narrative.trim();
    let made = make_by_hand(core, |inputs, conversation| {
        let unusable = |field, why| Refusal::Unusable { field, why };
        let of = meant(conversation, Some(id))?;
        if narrative.is_empty() {
            return Err(unusable("narrative", "must not be empty; context/undo undoes the compaction"));
        }
        let sized = |name: &str, tokens| vec![SectionSize { name: name.to_owned(), tokens }];
        let (most, tokens) = (inputs.source.budget.max_summary_tokens, inputs.counter.count(narrative));
        if tokens > most {
            let sections = sized("narrative", tokens);
            return Err(Refusal::NoRoom { what: "the narrative", limit: most, needed: tokens, sections });
        }
        let record = by_hand::edited(&inputs, of, narrative)
            .ok_or_else(|| unusable("compactionId", "has no text to edit"))?;
        let limit = inputs.source.budget.limit;
        if record.tokens_after > limit && record.tokens_after > inputs.tokens_before {
            let sections = sized("narrative", tokens);
            let needed = record.tokens_after;
            return Err(Refusal::NoRoom { what: "the prompt with this narrative", limit, needed, sections });
        }
        Ok(record)
    });
    made_by_hand(core, reply, BreakCause::Edit, made);
}

/// Makes a record without the ladder.
fn make_by_hand(
    core: &Core<'_>,
    make: impl FnOnce(Inputs<'_>, &Conversation) -> Result<Compaction, Refusal>,
) -> Result<Compaction, Refusal> {
    let source = core.source(core.budget()?);
    let tokens_before = prompt::draft(source, core.transcript().in_force()).tokens;
    let (policy, counter) = (&core.settings().policy, core.counter());
    make(Inputs { source, policy, counter, tokens_before, focus: None, aim: Aim::Room }, core)
}

fn made_by_hand(core: &mut Core<'_>, reply: ReplyTo, cause: BreakCause, made: Result<Compaction, Refusal>) {
    match made {
        Ok(record) => {
            core.announce(cause);
            let record = commit(core, record, None);
            tell_next_context(core);
            let metadata = core.persisted(&record);
            core.reply(reply, Ok(Answer::Compacted(Ok(Box::new((record, metadata))))));
        }
        Err(refusal) => core.reply(reply, Err(refusal)),
    }
}
