//! Idle sessions are compacted after a number of seconds, so that the next request starts with a short
//! prompt. Busy ones are skipped, and an idle compaction is no activity itself.

use super::job::{Begin, Then};
use crate::core::Core;
use crate::values::input::Timer;
use engine::compact::record::Trigger;
use engine::compact::trigger;
use engine::id::Time;

/// Time of the last activity, and the idle seconds after which the session is compacted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct IdleWatch(Option<(Time, u32)>);

impl IdleWatch {
    /// Starts or stops the idle timer. It runs from the last activity, so in a session that was opened later
    /// it may expire at once. `is_free` if nothing runs and nothing waits.
    pub fn watch(&mut self, core: &mut Core<'_>, is_free: bool) {
        let secs = core.settings().policy.triggers.idle_secs;
        let last = core.head().updated_at;
        let watched =
            secs.filter(|_| is_free && !core.transcript().messages().is_empty()).map(|secs| (last, secs));
        if self.0 == watched {
            return;
        }
        match (watched, self.0) {
            (Some((last, secs)), _) => {
                let silent = core.now().0.saturating_sub(last.0);
                core.start(Timer::Idle, (u64::from(secs) * 1000).saturating_sub(silent));
            }
            (None, Some(_)) => core.stop(Timer::Idle),
            (None, None) => {}
        }
        self.0 = watched;
    }
}

/// Returns the compaction to begin when the idle timer has expired, if one is worthwhile.
pub(crate) fn expired(core: &Core<'_>) -> Option<Begin> {
    let silent = core.now().0.saturating_sub(core.head().updated_at.0);
    let policy = &core.settings().policy;
    let source = core.source(core.budget().ok()?);
    let may_begin = core.held_back(source) == 0;
    let begins = may_begin && trigger::idles(policy, silent) && trigger::may_shrink(source, policy);
    begins.then(|| Begin::new(Trigger::Idle, Then::Rest))
}
