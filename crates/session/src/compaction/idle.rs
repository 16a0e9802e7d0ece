//! A session that nobody speaks in: after so many seconds it is compacted, so that who comes back begins with a short
//! prompt. One that is busy is skipped, and nothing of it counts as a word that was said.

use super::job::{Begin, Then};
use crate::core::Core;
use crate::values::input::Timer;
use engine::compact::record::Trigger;
use engine::compact::trigger;
use engine::id::Time;

/// Since when it is watched whether somebody speaks, and for how many seconds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct IdleWatch(Option<(Time, u32)>);

impl IdleWatch {
    /// Has the session told when it has rested long enough since something was last said in it; in a session that was
    /// opened later than that, at once. It `is_free` where nothing runs and nothing waits.
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

/// So long nothing was said: the compaction that is worth making, where one is.
pub(crate) fn expired(core: &Core<'_>) -> Option<Begin> {
    let silent = core.now().0.saturating_sub(core.head().updated_at.0);
    let policy = &core.settings().policy;
    let source = core.source(core.budget().ok()?);
    let may_begin = core.held_back(source) == 0;
    let begins = may_begin && trigger::idles(policy, silent) && trigger::may_shrink(source, policy);
    begins.then(|| Begin::new(Trigger::Idle, Then::Rest))
}
