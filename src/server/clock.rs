//! The current time, and the deadlines of sessions.

use super::mailbox::Mailbox;
use engine::id::{SessionId, Time};
use session::input::Timer;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::task::AbortHandle;

/// The current time.
pub(super) fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// A deadline passed. `number` distinguishes it from older ones of its name, also in earlier openings of the
/// session.
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
    /// Number of timers so far.
    count: u64,
}

impl Clock {
    pub fn new(mailbox: Mailbox<Expired>) -> Self {
        Self { mailbox, count: 0 }
    }

    fn start(&mut self, session: &SessionId, timer: Timer, ms: u64) -> (u64, AbortHandle) {
        self.count += 1;
        let (mailbox, number, session) = (self.mailbox.clone(), self.count, session.clone());
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

    /// Removes an expired deadline. Returns `false` if it was moved or stopped meanwhile.
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
