//! When a session's file is written: however fast the session changes, one write is under way at most and
//! one waits at most, and the last state comes to the disk. Values only; writing is somebody else's.

/// What is known of a session and its file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Saver {
    /// Whether the session says something that the file does not.
    dirty: bool,
    /// Changes of the session so far.
    version: u64,
    /// The change up to which a write that is under way goes.
    in_flight: Option<u64>,
    /// Whether another write is wanted.
    queued: bool,
}

impl Saver {
    /// The session changed.
    pub const fn changed(&mut self) {
        self.version += 1;
        self.dirty = true;
        self.queued = true;
    }

    /// Whether the session says something that the file does not.
    pub const fn is_dirty(&self) -> bool {
        self.dirty
    }

    /// Whether a write would begin now.
    pub const fn is_due(&self) -> bool {
        self.in_flight.is_none() && self.queued
    }

    /// Whether a write is to begin now, of the session as it is. It is under way from then on.
    pub const fn begins(&mut self) -> bool {
        if !self.is_due() {
            return false;
        }
        self.queued = false;
        self.in_flight = Some(self.version);
        true
    }

    /// The write that was under way is done, or came to nothing. One that failed is tried again with the next change.
    pub fn done(&mut self, is_written: bool) {
        let written = self.in_flight.take();
        if is_written && written == Some(self.version) {
            self.dirty = false;
        }
    }

    /// What stood in the way of a write is gone.
    pub const fn try_again(&mut self) {
        self.queued = self.dirty;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_hundred_quick_changes_are_two_writes_and_the_last_state_is_written() {
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
    fn a_write_that_failed_leaves_it_dirty_and_is_tried_again_with_the_next_change() {
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
        fn whatever_comes_in_between_the_last_state_is_written(happenings in prop::collection::vec(0u8..3, 0..60)) {
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
