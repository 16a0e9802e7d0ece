//! Outcomes of a review: accepted, edited, refused, or no answer in time.

use super::descent::{Stage, apply, descend, tell};
use super::job::Job;
use super::review::Reviewing;
use super::terms::on_ladder;
use super::warning::warn_of_review;
use crate::core::Core;
use crate::values::effect::Effect;
use crate::values::event::Phase;
use crate::values::input::Review;
use engine::compact::ladder;
use engine::compact::record::Compaction;

/// Continues with the user's answer; `None` if the client cannot ask the user.
pub(crate) fn answered(core: &mut Core<'_>, reviewing: Reviewing, review: Option<Review>) -> Stage {
    let (record, mut job) = reviewing.end(core);
    match review {
        None => apply(core, Compaction { unreviewed: true, ..record }, job),
        Some(Review::Accept) => apply(core, record, job),
        Some(Review::Unusable(why)) => apply_as_shown(core, record, job, why),
        Some(Review::Edit(text)) => {
            match on_ladder(core, &job, |inputs| ladder::edited(inputs, &record, &text)) {
                Ok(Ok(edited)) => apply(core, Compaction { trigger: record.trigger, ..edited }, job),
                Ok(Err(why)) => {
                    let why = format!("the edited text cannot be used: {why}");
                    apply_as_shown(core, record, job, why)
                }
                Err(error) => Stage::nothing(job, error.to_string()),
            }
        }
        Some(Review::Refuse) => {
            job.was_refused = true;
            let why = "the user refused it";
            if job.exceeded.is_none() {
                return Stage::nothing(job, why);
            }
            tell(core, Phase::FellBack, &job, Some(record.mode), Some(why.into()));
            let step = on_ladder(core, &job, |inputs| ladder::below(inputs, &record));
            descend(core, step, job)
        }
    }
}

/// Continues when the review's deadline has passed.
pub(crate) fn expired(core: &mut Core<'_>, reviewing: Reviewing) -> Stage {
    let (record, job) = reviewing.end(core);
    core.push(Effect::CancelReview);
    apply(core, Compaction { unreviewed: true, ..record }, job)
}

/// Applies the record as shown, and tells the user why the answer could not be used.
fn apply_as_shown(core: &mut Core<'_>, record: Compaction, mut job: Job, why: String) -> Stage {
    warn_of_review(core, &mut job, &why);
    tell(core, Phase::FellBack, &job, Some(record.mode), Some(why));
    apply(core, Compaction { unreviewed: true, ..record }, job)
}
