//! Previews of compactions; nothing is changed.

use super::descent::reasons;
use super::job::Job;
use super::terms::{beforehand, may_ask, on_ladder};
use crate::core::Core;
use crate::values::effect::{Answer, Preview};
use crate::values::refusal::Refusal;
use engine::compact::compose::Inputs;
use engine::compact::ladder::{self, NOTHING_GAINED};
use engine::prompt;

/// Returns what this job would do, or why it would do nothing.
pub(crate) fn preview(core: &Core<'_>, job: &Job) -> Result<Answer, Refusal> {
    if let Some(why) = beforehand(core, job) {
        return Ok(Answer::Compacted(Err(why)));
    }
    let completes = may_ask(core, job);
    let asks = |inputs: Inputs<'_>| {
        let asks_model = matches!(ladder::start(inputs, completes), ladder::Step::Ask(_));
        let record = match ladder::start(inputs, false) {
            ladder::Step::Accepted(record) => *record,
            other => return Err(other),
        };
        let cuts = prompt::draft(inputs.source, Some(&record)).cuts;
        Ok(Preview { record, cuts, asks_model })
    };
    match on_ladder(core, job, asks) {
        Err(error) => Err(error.into()),
        Ok(Err(ladder::Step::CannotFit(sizes))) => Err(sizes.into()),
        Ok(Ok(preview)) if job.gains(&preview.record) => Ok(Answer::Previewed(Box::new(preview))),
        Ok(Err(ladder::Step::Refused(fallbacks))) => Ok(Answer::Compacted(Err(reasons(fallbacks)))),
        Ok(_) => Ok(Answer::Compacted(Err(NOTHING_GAINED.into()))),
    }
}
