//! A turn near the end of its window: the model is asked to wrap up, and the turn ends some rounds later.

use crate::core::Core;
use crate::values::refusal::Refusal;
use engine::id::Ordinal;
use engine::message::{BUDGET_EXIT, Body, WRAP_UP};

/// Rounds left after the request to wrap up.
const GRACE_ROUNDS: usize = 2;
/// Text of the request to wrap up.
const NOTICE: &str = "[The context window is nearly full. Bring this work to a good stopping point: finish \
what you are doing, begin nothing new, and say within two more rounds what is done and what is left.]";

/// Between two rounds, returns `true` if the turn ends here because the model was asked to wrap up long enough ago; the
/// user is notified.
pub(crate) fn is_over(core: &mut Core<'_>) -> bool {
    let Some(asked) = asked_at(core) else { return false };
    let turn = core.transcript().turns().len().saturating_sub(1);
    let rounds = core.transcript().rounds_of(turn).iter();
    if rounds.filter(|round| round.assistant > asked).count() < GRACE_ROUNDS {
        return false;
    }
    let text =
        "The context window is nearly full, so the turn ends here. Say how to go on, or that it is enough.";
    core.notice(BUDGET_EXIT, text.to_owned());
    true
}

/// Before the next round, asks the model once to wrap up if its window is nearly full, by the last usage and not by a
/// sum.
pub(crate) fn ask(core: &mut Core<'_>) {
    if asked_at(core).is_some() {
        return;
    }
    let limit = core.budget().map_or(0, |budget| core.scale_now().read(budget.limit));
    let share = core.settings().policy.budget_exit.map(|share| share.of(limit));
    if share.zip(core.trial().reported()).is_some_and(|(share, read)| read >= share) {
        let body = Body::Event { kind: WRAP_UP.to_owned(), text: NOTICE.into() };
        let new = core.stamped(body);
        core.append(new);
    }
}

/// The newest request of this turn to wrap up.
fn asked_at(core: &Core<'_>) -> Option<Ordinal> {
    let turn = core.transcript().turns().len().saturating_sub(1);
    let first = core.transcript().turns().get(turn).map(|turn| turn.first).unwrap_or_default();
    let said = core.transcript().messages().iter().skip(first.index());
    let asked = said.filter(|message| matches!(&message.body, Body::Event { kind, .. } if kind == WRAP_UP));
    asked.map(|message| message.ord).next_back()
}

/// The reason to end the turn of an agent that used up its tokens; `None` for any other.
pub(crate) fn used_up(core: &Core<'_>) -> Option<Refusal> {
    let (used, limit) = (core.head().carried.used(), core.settings().agents.tokens);
    (core.head().is_agent() && used >= limit).then_some(Refusal::TokensUsed { used, limit })
}
