//! The current time, and the deadlines of sessions.

use super::mailbox::Mailbox;
use engine::id::{SessionId, Time};
use session::input::Timer;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::task::AbortHandle;
use tokio::time::Instant;

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

    fn start(&mut self, session: &SessionId, timer: Timer, left: Duration) -> Deadline {
        self.last += 1;
        let (mailbox, number, session) = (self.mailbox.clone(), self.last, session.clone());
        let begun = Instant::now();
        let task = tokio::spawn(async move {
            tokio::time::sleep(left).await;
            mailbox.send(Expired { session, timer, number });
        });
        Deadline::Running { number, begun, left, task: task.abort_handle() }
    }
}

/// A deadline, aborted when dropped.
enum Deadline {
    Running {
        number: u64,
        begun: Instant,
        left: Duration,
        task: AbortHandle,
    },
    /// It does not pass; the time that is left.
    Paused(Duration),
}

impl Drop for Deadline {
    fn drop(&mut self) {
        if let Self::Running { task, .. } = self {
            task.abort();
        }
    }
}

/// The deadlines of one session.
#[derive(Default)]
pub(super) struct Timers(BTreeMap<Timer, Deadline>);

impl Timers {
    /// Starts a deadline, which replaces one of the same name.
    pub fn start(&mut self, clock: &mut Clock, session: &SessionId, timer: Timer, ms: u64) {
        let started = clock.start(session, timer.clone(), Duration::from_millis(ms));
        self.0.insert(timer, started);
    }

    /// Stops a deadline.
    pub fn stop(&mut self, timer: &Timer) {
        self.0.remove(timer);
    }

    /// Keeps a running deadline from passing, with the time that is left.
    pub fn pause(&mut self, timer: &Timer) {
        if let Some(deadline) = self.0.get_mut(timer)
            && let Deadline::Running { begun, left, .. } = *deadline
        {
            *deadline = Deadline::Paused(left.saturating_sub(begun.elapsed()));
        }
    }

    /// Continues a paused deadline.
    pub fn resume(&mut self, clock: &mut Clock, session: &SessionId, timer: Timer) {
        if let Some(deadline) = self.0.get_mut(&timer)
            && let Deadline::Paused(left) = *deadline
        {
            *deadline = clock.start(session, timer, left);
        }
    }

    /// Removes an expired deadline. Returns `false` if it was started anew, paused or stopped meanwhile.
    pub fn expire(&mut self, expired: &Expired) -> bool {
        let is_current = matches!(
            self.0.get(&expired.timer),
            Some(Deadline::Running { number, .. }) if *number == expired.number
        );
        if is_current {
            self.0.remove(&expired.timer);
        }
        is_current
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::mailbox::Mail;
    use engine::id::CallId;
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
    use tokio::time::{advance, timeout};

    const MINUTE: Duration = Duration::from_secs(60);

    fn clock() -> (Clock, UnboundedReceiver<Expired>) {
        let (sender, inbox) = unbounded_channel();
        let deliver = move |mail| {
            if let Mail::Event(expired) = mail {
                drop(sender.send(expired));
            }
        };
        (Clock::new(Mailbox::new(deliver)), inbox)
    }

    #[tokio::test(start_paused = true)]
    async fn paused_deadline_keeps_the_time_that_is_left() {
        let (mut clock, mut inbox) = clock();
        let (session, timer) = (SessionId::new("s"), Timer::Tool(CallId::new("c")));
        let mut timers = Timers::default();
        timers.start(&mut clock, &session, timer.clone(), 30 * 60_000);
        advance(10 * MINUTE).await;
        for _ in 0..2 {
            timers.pause(&timer);
            assert!(timeout(600 * MINUTE, inbox.recv()).await.is_err());
        }
        let begin = Instant::now();
        timers.resume(&mut clock, &session, timer.clone());
        timers.resume(&mut clock, &session, timer);
        let expired = inbox.recv().await.expect("an end");
        let passed = begin.elapsed();
        assert!((20 * MINUTE..21 * MINUTE).contains(&passed), "{passed:?}");
        assert!(timers.expire(&expired) && !timers.expire(&expired));
    }

    #[tokio::test(start_paused = true)]
    async fn deadline_that_expired_before_its_pause_is_dropped() {
        let (mut clock, mut inbox) = clock();
        let (session, mut timers) = (SessionId::new("s"), Timers::default());
        timers.start(&mut clock, &session, Timer::Review, 1);
        let expired = inbox.recv().await.expect("an end");
        timers.pause(&Timer::Review);
        assert!(!timers.expire(&expired));
    }
}
