//! When a call is made again: when the provider wants it, else later each time. Time is the caller's, and so is chance.

use super::ModelError;

/// Attempts in all.
pub(crate) const MOST_ATTEMPTS: u32 = 5;
/// Before the second attempt, in milliseconds; twice as long before each one after it.
const FIRST_DELAY: u64 = 500;
/// The longest that we choose ourselves, in milliseconds.
const MOST_DELAY: u64 = 8_000;
/// The longest that a provider may choose, in milliseconds: who wants more is not waited for.
const MOST_WANTED: u64 = 60_000;

/// The delay before the next attempt, in milliseconds, after this one failed; nothing where it is not made. What the
/// provider says about it (`should_retry`) goes before its error's class. One that wants it at once, or at a time gone by,
/// wants nothing of use: it would be asked by everybody again and again. `chance` is from 0 to 1, so that many who failed
/// together do not come back together.
pub(crate) fn delay(
    error: &ModelError,
    should_retry: Option<bool>,
    attempt: u32,
    chance: f64,
) -> Option<u64> {
    if !should_retry.unwrap_or(error.is_passing()) || attempt >= MOST_ATTEMPTS {
        return None;
    }
    match error.retry_after_ms().filter(|wanted| *wanted > 0) {
        Some(wanted) => (wanted <= MOST_WANTED).then(|| wanted + up_to(wanted / 10, chance)),
        None => {
            let doubled = FIRST_DELAY.saturating_mul(1 << attempt.saturating_sub(1).min(16)).min(MOST_DELAY);
            Some(doubled * 3 / 4 + up_to(doubled / 4, chance))
        }
    }
}

/// A part of `most` that chance says.
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
    fn what_a_provider_wants_is_done_within_reason() {
        assert_eq!(delay(&overloaded(Some(18_642)), None, 1, 0.0), Some(18_642));
        assert_eq!(
            delay(&overloaded(Some(18_642)), None, 1, 1.0),
            Some(20_506),
            "not all at the same moment"
        );
        assert_eq!(delay(&overloaded(Some(3_600_000)), None, 1, 0.5), None);
    }

    #[test]
    fn who_wants_it_at_once_is_asked_later_each_time() {
        let delays: Vec<_> = (1..=4).map(|attempt| delay(&overloaded(Some(0)), None, attempt, 1.0)).collect();
        assert_eq!(delays, [Some(500), Some(1000), Some(2000), Some(4000)]);
    }

    #[test]
    fn what_does_not_pass_is_not_tried_again() {
        let quota = ModelError::Quota { status: None, reason: String::new() };
        assert_eq!(delay(&quota, None, 1, 0.5), None);
        assert_eq!(delay(&quota, Some(true), 1, 1.0), Some(500), "but where the provider wants it");
        assert_eq!(delay(&overloaded(None), Some(false), 1, 0.5), None);
    }
}
