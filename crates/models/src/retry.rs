//! Delays before retries: the provider's requested delay, or exponential backoff. The caller supplies time and chance.

use super::ModelError;
use engine::prompt::request::Cause;
use std::time::SystemTime;

/// The most attempts, the first included.
pub(crate) const MOST_ATTEMPTS: u32 = 5;
/// The delay before the second attempt, in milliseconds; it doubles with each further one.
const FIRST_DELAY: u64 = 500;
/// The longest delay of our own, in milliseconds.
const MOST_DELAY: u64 = 8_000;
/// The classes of errors after which a retry may help.
pub const PASSING: [&str; 3] = ["rateLimited", "overloaded", "network"];
/// The longest delay that a provider may request, in milliseconds; a longer one ends the retries.
const MOST_WANTED: u64 = 60_000;

/// Returns the delay before the next attempt, in milliseconds, or `None` if there is none. The provider's
/// `should_retry` overrides the error's class. A requested delay of zero, or a time in the past, is ignored:
/// all clients would retry at once. `chance`, from 0 to 1, is the jitter.
pub(crate) fn delay(
    error: &ModelError,
    should_retry: Option<bool>,
    attempt: u32,
    chance: f64,
) -> Option<u64> {
    after(should_retry.unwrap_or(error.is_passing()), error.retry_after_ms(), attempt, chance)
}

/// Returns the delay before a client's model is asked again, in milliseconds, or `None` if it is not. The client names the
/// class of the failure as this crate does.
pub fn delay_after(cause: &Cause, attempt: u32, chance: f64) -> Option<u64> {
    after(PASSING.contains(&cause.word), cause.retry_after_ms, attempt, chance)
}

fn after(passes: bool, wanted: Option<u64>, attempt: u32, chance: f64) -> Option<u64> {
    if !passes || attempt >= MOST_ATTEMPTS {
        return None;
    }
    match wanted.filter(|wanted| *wanted > 0) {
        Some(wanted) => (wanted <= MOST_WANTED).then(|| wanted + up_to(wanted / 10, chance)),
        None => {
            let doubled = FIRST_DELAY.saturating_mul(1 << attempt.saturating_sub(1).min(16)).min(MOST_DELAY);
            Some(doubled * 3 / 4 + up_to(doubled / 4, chance))
        }
    }
}

/// Returns the jitter of a delay, from 0 to 1, from the clock's microseconds.
pub fn chance() -> f64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    f64::from(now.subsec_micros() % 1000) / 1000.0
}

fn up_to(most: u64, chance: f64) -> u64 {
    (most as f64 * chance.clamp(0.0, 1.0)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overloaded(retry_after_ms: Option<u64>) -> ModelError {
        ModelError::Overloaded { status: None, retry_after_ms, reason: String::new() }
    }

    #[test]
    fn delays_double_up_to_their_end() {
        let delays: Vec<_> = (1..=6).map(|attempt| delay(&overloaded(None), None, attempt, 1.0)).collect();
        assert_eq!(delays, [Some(500), Some(1000), Some(2000), Some(4000), None, None]);
        assert_eq!(delay(&overloaded(None), None, 1, 0.0), Some(375));
    }

    #[test]
    fn requested_delay_is_kept_up_to_a_minute() {
        assert_eq!(delay(&overloaded(Some(18_642)), None, 1, 0.0), Some(18_642));
        assert_eq!(delay(&overloaded(Some(18_642)), None, 1, 1.0), Some(20_506), "jitter is added");
        assert_eq!(delay(&overloaded(Some(3_600_000)), None, 1, 0.5), None);
    }

    #[test]
    fn requested_delay_of_zero_is_ignored() {
        let delays: Vec<_> = (1..=4).map(|attempt| delay(&overloaded(Some(0)), None, attempt, 1.0)).collect();
        assert_eq!(delays, [Some(500), Some(1000), Some(2000), Some(4000)]);
    }

    #[test]
    fn failures_of_a_client_are_retried_by_their_class() {
        let cause = |word| Cause { retry_after_ms: Some(900), ..Cause::of(word) };
        for word in PASSING {
            assert_eq!(delay_after(&cause(word), 4, 0.0), Some(900));
            assert_eq!(delay_after(&cause(word), 5, 0.0), None);
        }
        for word in ["client", "quota", "auth", "corruptStream", "contextOverflow"] {
            assert_eq!(delay_after(&cause(word), 1, 0.0), None, "{word}");
        }
        assert!(overloaded(None).is_passing() && PASSING.contains(&overloaded(None).class()));
    }

    #[test]
    fn permanent_errors_are_not_retried() {
        let quota = ModelError::Quota { status: None, reason: String::new() };
        assert_eq!(delay(&quota, None, 1, 0.5), None);
        assert_eq!(delay(&quota, Some(true), 1, 1.0), Some(500), "unless the provider asks for it");
        assert_eq!(delay(&overloaded(None), Some(false), 1, 0.5), None);
    }
}
