//! The cost of a request to a model, once it is over: as its provider reports it, otherwise computed from its usage at the
//! price of that time.

use crate::carried::spent::Spent;
use crate::core::Core;
use engine::cost::{Cost, Date, Price};
use engine::delta::Draft;
use engine::message::{Beside, RUNS};
use engine::words::Purpose;

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// With a whole answer.
    Whole,
    /// It broke off, or was broken off, after a part of its answer. What was reported until then is too little.
    Cut,
    /// Before anything came: no provider charges for that, unless it says so.
    Nothing,
}

impl Ended {
    /// The end of a request without a whole answer, after this much of it.
    pub fn without_end(draft: &Draft) -> Self {
        if draft.parts.is_empty() && draft.calls.is_empty() { Self::Nothing } else { Self::Cut }
    }
}

/// Adds the cost of a request to what the session spent, and returns it.
pub(crate) fn spend(
    core: &mut Core<'_>,
    purpose: Purpose,
    prices: &[Price],
    beside: &Beside,
    ended: Ended,
) -> Cost {
    let cost = cost(core, prices, beside, ended);
    if !cost.is_empty() {
        let had_answers = !core.transcript().rounds().is_empty();
        let spent = core.spent_mut().get_or_insert(Spent { began_late: had_answers, ..Spent::default() });
        spent.add(purpose, cost);
        core.write_head_as_it_was_used();
    }
    cost
}

fn cost(core: &Core<'_>, prices: &[Price], beside: &Beside, ended: Ended) -> Cost {
    if let Some(reported) = beside.reported_cost() {
        return Cost::reported(reported);
    }
    let usage = beside.usage.filter(|_| !beside.extra.contains_key(RUNS));
    let price = Price::on(prices, Date::of(core.stamp()));
    let computed = usage.zip(price).and_then(|(usage, price)| Some((usage.cost(price)?, price.source)));
    match (computed, ended) {
        (Some((dollars, source)), Ended::Whole) => Cost::computed(dollars, source),
        (Some((dollars, source)), _) => Cost { incomplete: 1, ..Cost::computed(dollars, source) },
        (None, Ended::Nothing) if beside.usage.is_none() => Cost::default(),
        (None, _) => Cost::UNKNOWN,
    }
}
