//! A session that nobody speaks in (source: 004): after so many seconds it is compacted, so that who comes back begins
//! with a short prompt. One that is busy is skipped, and nothing of it counts as a word that was said.

use super::Step;
use super::compaction::Begin;
use super::effect::Effect;
use super::input::Timer;
use super::state::Then;
use engine::compact::record::Trigger;
use engine::compact::trigger;
use engine::prompt::Source;

impl Step<'_> {
    /// Has the session told when it has rested long enough since something was last said in it; in a session that was
    /// opened later than that, at once.
    pub(super) fn watch_idleness(&mut self) {
        let secs = self.session.settings.policy.triggers.idle_secs;
        let is_free = self.is_resting() && self.session.queue.items.is_empty();
        let last = self.session.head.updated_at;
        let watched = secs
            .filter(|_| is_free && !self.session.transcript.messages().is_empty())
            .map(|secs| (last, secs));
        if self.session.idle_from == watched {
            return;
        }
        match (watched, self.session.idle_from) {
            (Some((last, secs)), _) => {
                let silent = self.around.now.0.saturating_sub(last.0);
                self.effects
                    .push(Effect::Start(Timer::Idle, (u64::from(secs) * 1000).saturating_sub(silent)));
            }
            (None, Some(_)) => self.effects.push(Effect::Stop(Timer::Idle)),
            (None, None) => {}
        }
        self.session.idle_from = watched;
    }

    /// So long nothing was said.
    pub(super) fn idled(&mut self) {
        let silent = self.around.now.0.saturating_sub(self.session.head.updated_at.0);
        let is_free = self.is_resting() && self.session.queue.items.is_empty();
        let policy = &self.session.settings.policy;
        let Ok(budget) = self.session.budget() else { return };
        let source = Source { transcript: &self.session.transcript, fixed: &self.session.fixed, budget };
        let may_begin = is_free && self.session.held_back(source) == 0;
        if !may_begin || !trigger::idles(policy, silent) || !trigger::may_shrink(source, policy) {
            return;
        }
        self.begin_compaction(Begin::new(Trigger::Idle, Then::Rest));
    }
}
