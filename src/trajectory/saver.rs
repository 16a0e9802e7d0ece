//! Scheduling of a session's file writes: at most one in flight and one queued, and the last state always
//! reaches the disk. Pure state; the caller writes.

/// Write state of a session's file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Saver {
    /// `true` if the session has changes that the file lacks.
    dirty: bool,
    /// Number of changes so far.
    version: u64,
    /// The version that the write in flight covers.
    in_flight: Option<u64>,
    /// `true` if another write is wanted.
    queued: bool,
}

impl Saver {
    /// Notes a change of the session.
    pub const fn changed(&mut self) {
        self.version += 1;
        self.dirty = true;
        self.queued = true;
    }

    /// `true` if the session has changes that the file lacks.
    pub const fn is_dirty(&self) -> bool {
        self.dirty
    }

    /// `true` if a write is queued and none is in flight.
    pub const fn is_due(&self) -> bool {
        self.in_flight.is_none() && self.queued
    }

    /// Begins a write of the current state. Returns `false` if none is due.
    pub const fn begins(&mut self) -> bool {
        if !self.is_due() {
            return false;
        }
        self.queued = false;
        self.in_flight = Some(self.version);
        true
    }

    /// Ends the write in flight. A failed one is retried with the next change.
    pub fn done(&mut self, is_written: bool) {
        let written = self.in_flight.take();
        if is_written && written == Some(self.version) {
            self.dirty = false;
        }
    }

    /// Queues a write again if the file is behind, once the cause of a failure is removed.
    pub const fn try_again(&mut self) {
        self.queued = self.dirty;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quick_changes_cause_two_writes_and_keep_the_last_state() {
        let (mut saver, mut under_way, mut written) = (Saver::default(), Vec::new(), Vec::new());
        for change in 1..=100 {
            saver.changed();
            if saver.begins() {
                under_way.push(change);
            }
            assert!(under_way.len() <= 1, "{under_way:?}");
        }
        while let Some(change) = under_way.pop() {
            written.push(change);
            saver.done(true);
            if saver.begins() {
                under_way.push(100);
            }
        }
        assert_eq!(written, [1, 100]);
        assert!(!saver.is_dirty());
    }

    #[test]
    fn failed_write_is_retried_with_the_next_change() {
        let mut saver = Saver::default();
        saver.changed();
        assert!(saver.begins());
        saver.done(false);
        assert!(saver.is_dirty() && !saver.begins());
        saver.try_again();
        assert!(saver.begins());
        saver.done(false);
        saver.changed();
        assert!(saver.begins());
        saver.done(true);
        assert!(!saver.is_dirty() && !saver.begins());
    }

    proptest! {
        #[test]
        fn last_state_is_always_written(happenings in prop::collection::vec(0u8..3, 0..60)) {
            let (mut saver, mut state, mut on_disk, mut under_way) = (Saver::default(), 0u64, 0u64, None);
            for happening in happenings {
                match (happening, under_way) {
                    (0, _) => {
                        state += 1;
                        saver.changed();
                    }
                    (1, Some(written)) => {
                        on_disk = written;
                        under_way = None;
                        saver.done(true);
                    }
                    _ => {}
                }
                if saver.begins() {
                    prop_assert_eq!(under_way, None);
                    under_way = Some(state);
                }
            }
            while let Some(written) = under_way.take() {
                on_disk = written;
                saver.done(true);
                under_way = saver.begins().then_some(state);
            }
            prop_assert_eq!(on_disk, state);
            prop_assert!(!saver.is_dirty());
        }
    }
}
