//! The current time, and the deadlines of sessions.

use super::mailbox::Mailbox;
use engine::id::{SessionId, Time};
use session::input::Timer;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::task::AbortHandle;

/// The current time.
pub(super) fn now() -> Time {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX))
}

/// An expired timer. Its event may already be in the inbox when the timer is stopped or started anew, so that
/// `number` tells it from others of its name, also from those of an earlier opening of the session.
pub(super) struct Expired {
    /// The session of the deadline.
    pub session: SessionId,
    /// The name of the timer.
    pub timer: Timer,
    number: u64,
}

/// Starts and numbers timers.
pub(super) struct Clock {
    mailbox: Mailbox<Expired>,
    /// Number of the newest timer; no number is reused.
    last: u64,
}

impl Clock {
    pub fn new(mailbox: Mailbox<Expired>) -> Self {
        Self { mailbox, last: 0 }
    }

    fn start(&mut self, session: &SessionId, timer: Timer, ms: u64) -> (u64, AbortHandle) {
        self.last += 1;
        let (mailbox, number, session) = (self.mailbox.clone(), self.last, session.clone());
        let task = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            mailbox.send(Expired { session, timer, number });
        });
        (number, task.abort_handle())
    }
}

/// The deadlines of one session, stopped when dropped.
#[derive(Default)]
pub(super) struct Timers {
    running: BTreeMap<Timer, (u64, AbortHandle)>,
}

impl Timers {
    /// Starts a deadline, which replaces one of the same name.
    pub fn start(&mut self, clock: &mut Clock, session: &SessionId, timer: Timer, ms: u64) {
        let started = clock.start(session, timer.clone(), ms);
        if let Some((_, before)) = self.running.insert(timer, started) {
            before.abort();
        }
    }

    /// Stops a deadline.
    pub fn stop(&mut self, timer: &Timer) {
        if let Some((_, running)) = self.running.remove(timer) {
            running.abort();
        }
    }

    /// Removes an expired deadline. Returns `false` if it was started anew or stopped meanwhile.
    pub fn expire(&mut self, expired: &Expired) -> bool {
        let is_current =
            self.running.get(&expired.timer).is_some_and(|(number, _)| *number == expired.number);
        if is_current {
            self.running.remove(&expired.timer);
        }
        is_current
    }
}

impl Drop for Timers {
    fn drop(&mut self) {
        self.running.values().for_each(|(_, timer)| timer.abort());
    }
}
