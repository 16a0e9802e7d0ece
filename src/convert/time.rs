//! Times: milliseconds inside, ISO 8601 in UTC on the wire.

use engine::id::Time;
use std::time::{Duration, UNIX_EPOCH};

/// The end of the year 9999, the last that the format can express.
const LAST: u64 = 253_402_300_799_999;

/// Formats a time as `2026-01-02T03:04:05.678Z`. One after the year 9999 becomes that year's end.
pub fn iso(time: Time) -> String {
    humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(time.0.min(LAST))).to_string()
}

/// Parses a time; `None` if it is invalid or before 1970.
pub fn moment(text: &str) -> Option<Time> {
    let since = humantime::parse_rfc3339(text).ok()?.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since.as_millis()).ok().map(Time)
}
