//! Moments: milliseconds inside, ISO-8601 in UTC on the wire.

use super::{ConvertError, Reading};
use engine::id::Time;
use std::time::{Duration, UNIX_EPOCH};

/// The end of the year 9999, beyond which the format has no room.
const LAST: u64 = 253_402_300_799_999;

/// A moment as `2026-01-02T03:04:05.678Z`. One after the year 9999 is written as that year's end.
pub fn iso(time: Time) -> String {
    humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(time.0.min(LAST))).to_string()
}

/// The moment that a text names; nothing, where it names none after 1970 began.
pub fn moment(text: &str) -> Option<Time> {
    let since = humantime::parse_rfc3339(text).ok()?.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since.as_millis()).ok().map(Time)
}

impl Reading {
    /// The moment that a text names.
    pub fn moment(&self, text: &str) -> Result<Time, ConvertError> {
        moment(text).ok_or_else(|| self.fail("must be a time such as 2026-01-02T03:04:05.678Z"))
    }
}
