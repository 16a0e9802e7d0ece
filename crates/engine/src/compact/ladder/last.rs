//! Rungs 3, 4 and 5, which need no model: ledger and identifiers alone, whole rounds dropped, the newest results
//! and arguments shortened, and the sizes of the parts that cannot be dropped.

use super::{CannotFit, Descent, NOTHING_GAINED, Reach, Step, fallback};
use crate::compact::compose::{Ingredients, Inputs};
use crate::compact::plan::{self, Aim};
use crate::compact::record::{Action, Compaction, Fallback, Mode, Strength};
use crate::compact::slice::{self, NothingToSummarize, Slice};
use crate::id::Ordinal;
use crate::prompt::limit;
use crate::prompt::segment::{Segment, segments};
use crate::transcript::Round;
use std::collections::BTreeMap;

fn accepted(mut record: Compaction, fallbacks: Vec<Fallback>) -> Step {
    record.fallbacks = fallbacks;
    Step::Accepted(Box::new(record))
}

/// Rungs 3 and 4. If the policy's retention keeps too much, they use the widest slice.
pub(super) fn without_model(inputs: Inputs<'_>, mut descent: Descent) -> Step {
    if descent.reach != Reach::Whole {
        return Step::Refused(descent.fallbacks);
    }
    let slice = descent.slice;
    let plain = Ingredients::default();
    let widest = slice::widest(inputs.source.transcript, inputs.policy).unwrap_or(slice);
    // The narrative in force is kept if there is room for it.
    let narrative = inputs.source.transcript.in_force().and_then(|record| record.narrative.as_deref());
    let with_old = Ingredients { narrative: narrative.map(str::to_owned), ..Ingredients::default() };
    let record = inputs
        .with_block(Mode::Ledger, slice, &with_old)
        .or_else(|| inputs.with_block(Mode::Ledger, slice, &plain))
        .or_else(|| inputs.with_block(Mode::Ledger, widest, &plain));
    if let Some(record) = record {
        return accepted(record, descent.fallbacks);
    }
    if inputs.aim == Aim::Summary {
        // The prompt fits: nothing is dropped from it.
        descent.fell(Mode::Ledger, NOTHING_GAINED);
        return Step::Refused(descent.fallbacks);
    }
    descent.fell(Mode::Ledger, "does not reach the target");
    by_dropping(inputs, descent)
}

/// Rung 4: drops whole rounds, then tries its last steps.
pub(super) fn by_dropping(inputs: Inputs<'_>, descent: Descent) -> Step {
    let widest = slice::widest(inputs.source.transcript, inputs.policy).unwrap_or(descent.slice);
    match inputs.dropped(Mode::Dropped, widest, &Ingredients::default()) {
        Some(record) => accepted(record, descent.fallbacks),
        None => last_steps(inputs, descent.fallbacks),
    }
}

/// The end of the ladder where nothing may be covered.
pub(super) fn without_slice(inputs: Inputs<'_>, nothing: NothingToSummarize, reach: Reach) -> Step {
    let fallbacks = vec![fallback(Mode::Ledger, nothing.reason())];
    match reach {
        Reach::Whole if inputs.aim == Aim::Room => last_steps(inputs, fallbacks),
        Reach::Whole | Reach::Model | Reach::Beside => Step::Refused(fallbacks),
    }
}

/// Rung 4's last steps: shortens the newest round's results and arguments, then drops everything but the current request
/// and the rest of that round; else rung 5.
fn last_steps(inputs: Inputs<'_>, fallbacks: Vec<Fallback>) -> Step {
    let slice = slice::widest(inputs.source.transcript, inputs.policy).ok();
    let half = Ingredients { newest: shortened_newest(inputs, slice, true), ..Ingredients::default() };
    let least = Ingredients {
        newest: shortened_newest(inputs, slice, false),
        gives_up: true,
        ..Ingredients::default()
    };
    let record = match slice {
        Some(slice) => inputs
            .only_newest(Some(slice), &half)
            .or_else(|| inputs.with_block(Mode::Dropped, slice, &half))
            .or_else(|| inputs.dropped(Mode::Dropped, slice, &half))
            .or_else(|| inputs.dropped(Mode::Dropped, slice, &least)),
        None => inputs.only_newest(None, &half).or_else(|| inputs.only_newest(None, &least)),
    };
    match record {
        Some(record) => accepted(Compaction { strength: Strength::High, ..record }, fallbacks),
        None => Step::CannotFit(cannot_fit(inputs, &least.newest)),
    }
}

/// Cuts the largest results of the newest round, and strings of its arguments, to a common size. With `to_half` the round
/// takes half of what tools, system and request leave; otherwise it is as small as possible.
fn shortened_newest(inputs: Inputs<'_>, slice: Option<Slice>, to_half: bool) -> BTreeMap<Ordinal, Action> {
    let transcript = inputs.source.transcript;
    let is_after = |round: &&Round| slice.is_none_or(|slice| round.assistant > slice.through);
    let Some(newest) = transcript.rounds().last().filter(is_after) else { return BTreeMap::new() };
    let results = newest.results.iter().flatten().copied();
    let messages: Vec<Ordinal> = std::iter::once(newest.assistant).chain(results).collect();
    let resume = transcript.in_force().map_or(Ordinal(0), Compaction::resume_at);
    let from = slice.map_or(resume, |slice| slice.through.next());
    let rest = segments(transcript, from, Ordinal(u32::MAX));
    let request = plan::running_requests(transcript, Ordinal(u32::MAX));
    let before = inputs.source.fixed.tokens_through(newest.assistant);
    let free = inputs.source.budget.limit.saturating_sub(before + request);
    limit::level(transcript, &messages, LEAST_STRING, inputs.counter, |actions| {
        let rounds = rest.iter().filter(|segment| !segment.is_user);
        to_half && rounds.map(|segment| segment.tokens(transcript, actions)).sum::<u32>() <= free / 2
    })
}

/// Minimum bytes of a shortened result, or string of the arguments, of the newest round.
const LEAST_STRING: usize = 400;

/// Returns the sizes of the smallest possible prompt, which holds only parts that are never dropped.
fn cannot_fit(inputs: Inputs<'_>, newest: &BTreeMap<Ordinal, Action>) -> CannotFit {
    let transcript = inputs.source.transcript;
    let running = transcript.turns().len().saturating_sub(1);
    let round = transcript.rounds().last().filter(|round| round.turn == running);
    let newest_round = round.map_or(0, |round| {
        let index = transcript.rounds().len() - 1;
        Segment { first: round.assistant, round: Some(index), is_user: false }.tokens(transcript, newest)
    });
    let current_message = plan::running_requests(transcript, Ordinal(u32::MAX));
    let fixed = inputs.source.fixed;
    let newest = round.map_or(Ordinal(u32::MAX), |round| round.assistant);
    let shown_in_place = fixed.pins.tokens_after(newest);
    let (tools, pins) = (fixed.tool_tokens(), fixed.memory_tokens() - shown_in_place);
    let system = fixed.tokens() - fixed.tool_tokens() - fixed.memory_tokens();
    CannotFit {
        window: inputs.source.budget.window,
        limit: inputs.source.budget.limit,
        needed: tools + system + pins + current_message + newest_round,
        tools,
        system,
        pins,
        current_message,
        newest_round,
    }
}
