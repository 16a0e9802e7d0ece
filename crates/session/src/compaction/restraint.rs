//! Limits on repeated compactions: a model that failed too often is not asked for a while, and an attempt
//! that came to nothing or was refused is not repeated with each turn. Stages without a model still run if a
//! prompt does not fit.

use super::job::{End, Job};
use crate::core::Core;
use engine::compact::ladder::NOTHING_GAINED;
use engine::compact::record::Mode;

/// Records whether the model wrote a summary, if one was asked.
pub(super) fn count_attempt(core: &mut Core<'_>, job: &Job, end: &End) {
    let is_summary = matches!(end, End::Made(record) if matches!(record.mode, Mode::Full | Mode::Simple));
    let is_asked = job.was_asked && !job.was_refused;
    if is_asked || is_summary {
        attempt_ended(core, !is_summary);
    }
}

/// Records the outcome of a summary request, and stores a change.
pub(super) fn attempt_ended(core: &mut Core<'_>, is_failure: bool) {
    if core.attempt_ended(is_failure) {
        core.write_head_as_it_was_used();
    }
}

/// Holds optional compactions back after one that came to nothing or that the user refused, until as much is
/// new as another one needs. A model's failure counts as a failed request instead.
pub(super) fn hold(core: &mut Core<'_>, job: &Job, end: &End) {
    let has_failed = job.was_asked && !job.was_refused;
    let held = match end {
        End::Made(_) if !job.was_refused => None,
        End::Made(_) => Some(core.next_ord()),
        End::Nothing(_) if job.must_end() => return,
        End::Nothing(why) if has_failed && why != NOTHING_GAINED => return,
        End::Nothing(_) => Some(core.next_ord()),
        End::CannotFit(_) => return,
    };
    if core.restraint_mut().hold(held, matches!(end, End::Made(_))) {
        core.write_head_as_it_was_used();
    }
}
