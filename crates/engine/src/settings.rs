//! Validated settings of rendering and compaction, and the budget derived from them. Does not read files or
//! the environment: every value here is valid.

use super::id::Ordinal;
use thiserror::Error;

/// A share in thousandths, so that budgets are integers and equal on every machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PerMille(u32);

impl PerMille {
    /// Creates a share of 0 to 1,000 thousandths; higher values are clamped.
    pub const fn new(thousandths: u32) -> Self {
        Self(if thousandths > 1000 { 1000 } else { thousandths })
    }

    /// Returns the share in thousandths.
    pub fn thousandths(self) -> u32 {
        self.0
    }

    /// Converts a ratio from 0 to 1 with at most three decimals; `None` for anything else.
    pub fn from_ratio(ratio: f64) -> Option<Self> {
        let thousandths = (ratio * 1000.0).round();
        let is_share = (0.0..=1.0).contains(&ratio) && (ratio * 1000.0 - thousandths).abs() < 1e-6;
        is_share.then_some(Self(thousandths as u32))
    }

    /// Returns the ratio from 0 to 1.
    pub fn as_ratio(self) -> f64 {
        f64::from(self.0) / 1000.0
    }

    /// Returns this share of `whole`, rounded down.
    pub fn of(self, whole: u32) -> u32 {
        u32::try_from(u64::from(whole) * u64::from(self.0) / 1000).unwrap_or(u32::MAX)
    }
}

/// The most tokens of a prompt, as users set it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threshold {
    /// A share of the model's window.
    Ratio(PerMille),
    /// A number of tokens, at least 100.
    Tokens(u32),
}

/// A setting that is out of range or unknown.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum SettingsError {
    /// The threshold is neither a ratio nor a valid count.
    #[error("threshold {0} is neither a ratio above 0 and up to 1 nor a count of at least 100 tokens")]
    Threshold(f64),
    /// The window leaves no room for a prompt.
    #[error("a window of {window} tokens leaves no room for a prompt; at least {least} are needed")]
    Window {
        /// The requested window, in tokens.
        window: u32,
        /// The smallest window that works, in tokens.
        least: u32,
    },
    /// The threshold leaves no room for a prompt in this window.
    #[error("a prompt of at most {limit} tokens has no room for a conversation; at least {least} are needed")]
    Limit {
        /// The limit of a prompt that follows from the threshold, in tokens.
        limit: u32,
        /// The smallest limit, in tokens.
        least: u32,
    },
    /// No policy has this name.
    #[error("unknown policy {name:?}; known: {known}")]
    Policy {
        /// The requested name.
        name: String,
        /// The known names.
        known: String,
    },
}

impl Threshold {
    /// Returns the ratio or count, as in [`Threshold::from_number`].
    pub fn as_number(self) -> f64 {
        match self {
            Threshold::Ratio(share) => share.as_ratio(),
            Threshold::Tokens(tokens) => f64::from(tokens),
        }
    }

    /// Returns the most tokens of a window that a prompt may take.
    pub fn of(self, window: u32) -> u32 {
        match self {
            Threshold::Ratio(share) => share.of(window),
            Threshold::Tokens(tokens) => tokens.min(window),
        }
    }

    /// Converts a ratio in (0, 1] or a count of at least 100 tokens. Fails with [`SettingsError::Threshold`]
    /// otherwise.
    pub fn from_number(value: f64) -> Result<Self, SettingsError> {
        if value > 0.0 && value <= 1.0 {
            Ok(Self::Ratio(PerMille::new((value * 1000.0).round() as u32)))
        } else if (100.0..=f64::from(u32::MAX)).contains(&value) {
            Ok(Self::Tokens(value as u32))
        } else {
            Err(SettingsError::Threshold(value))
        }
    }
}

/// The reserved parts of the window. [`BudgetSettings::budget`] computes the budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetSettings {
    /// The user's limit of a prompt, if any; it applies where the window leaves more.
    pub threshold: Option<Threshold>,
    /// Tokens reserved for the answer, capped at a quarter of the window.
    pub reserved_output: u32,
    /// The longest accepted summary in tokens, capped at a sixteenth of the window, or at [`SHORT_SUMMARY`] and an eighth
    /// if that is more.
    pub max_summary_tokens: u32,
    /// Tokens of the instruction that asks for a summary, capped at a sixteenth of the window.
    pub instruction_tokens: u32,
    /// The share reserved for the estimator's error; 3 % before any measurement.
    pub margin: PerMille,
}

impl Default for BudgetSettings {
    fn default() -> Self {
        Self {
            threshold: None,
            reserved_output: 4096,
            max_summary_tokens: 4096,
            instruction_tokens: 400,
            margin: PerMille::new(30),
        }
    }
}

/// Tokens of a summary that a small window has room for too.
const SHORT_SUMMARY: u32 = 2048;
/// The smallest supported window, in tokens.
const LEAST_WINDOW: u32 = 1000;
/// The smallest limit of a prompt, in tokens: a request and a few rounds must have room.
const LEAST_LIMIT: u32 = 500;

impl BudgetSettings {
    /// Returns the budget of a model with this window, in tokens. Fails with [`SettingsError::Window`] or
    /// [`SettingsError::Limit`] if too little remains for a prompt.
    pub fn budget(&self, window: u32) -> Result<Budget, SettingsError> {
        if window < LEAST_WINDOW {
            return Err(SettingsError::Window { window, least: LEAST_WINDOW });
        }
        let reserved_output = self.reserved_output.min(window / 4);
        let most_of_window = (window / 16).max(SHORT_SUMMARY.min(window / 8));
        let max_summary_tokens = self.max_summary_tokens.min(most_of_window);
        let for_summary = max_summary_tokens + self.instruction_tokens.min(window / 16);
        let margin = self.margin.of(window);
        let most = window.saturating_sub(reserved_output + margin);
        let summary_request = window.saturating_sub(for_summary + margin);
        let limit = self.threshold.map_or(most, |threshold| threshold.of(window).min(most));
        if limit < LEAST_LIMIT {
            return Err(SettingsError::Limit { limit, least: LEAST_LIMIT });
        }
        Ok(Budget { window, limit, max_summary_tokens, summary_request, bound_thinking: None })
    }
}

/// Limits of a prompt. Created only by [`BudgetSettings::budget`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// The model's window in tokens.
    pub window: u32,
    /// The largest allowed prompt, in tokens.
    pub limit: u32,
    /// The longest accepted summary, in tokens.
    pub max_summary_tokens: u32,
    /// The largest allowed request for a summary, in tokens; another model may write the summary.
    pub summary_request: u32,
    /// Set for models that accept thinking only after the prompt it followed: the first message whose
    /// thinking may be shown. `None` for all other models.
    pub bound_thinking: Option<Ordinal>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_follows_threshold() {
        let settings = BudgetSettings::default();
        assert_eq!(settings.budget(128_000).map(|b| b.limit), Ok(128_000 - 4096 - 3840));
        assert_eq!(settings.budget(16_000).map(|b| b.limit), Ok(16_000 - 4000 - 480));
        let half = BudgetSettings { threshold: Threshold::from_number(0.5).ok(), ..settings.clone() };
        assert_eq!(half.budget(128_000).map(|b| b.limit), Ok(64_000));
        let count = BudgetSettings { threshold: Threshold::from_number(20_000.0).ok(), ..settings };
        assert_eq!(count.budget(128_000).map(|b| b.limit), Ok(20_000));
    }

    #[test]
    fn threshold_is_the_most_tokens_of_a_prompt_in_any_window() {
        let limit = |threshold: f64, window: u32| {
            let threshold = Threshold::from_number(threshold).ok();
            BudgetSettings { threshold, ..BudgetSettings::default() }
                .budget(window)
                .map(|budget| budget.limit)
        };
        assert_eq!(limit(8000.0, 128_000), Ok(8000));
        assert_eq!(limit(6000.0, 12_000), Ok(6000));
        assert_eq!(limit(0.99, 12_000), limit(1.0, 12_000));
        assert_eq!(limit(200_000.0, 128_000), limit(1.0, 128_000));
        assert_eq!(limit(100.0, 128_000), Err(SettingsError::Limit { limit: 100, least: 500 }));
        assert_eq!(limit(0.001, 128_000), Err(SettingsError::Limit { limit: 128, least: 500 }));
    }

    #[test]
    fn summary_may_be_longer_in_a_large_window() {
        let summary = |window: u32| {
            let budget = BudgetSettings::default().budget(window).expect("a budget");
            (budget.max_summary_tokens, budget.summary_request)
        };
        assert_eq!(summary(8000), (1000, 8000 - 1000 - 400 - 240));
        assert_eq!(summary(32_000), (2048, 32_000 - 2048 - 400 - 960));
        assert_eq!(summary(64_000), (4000, 64_000 - 4000 - 400 - 1920));
        assert_eq!(summary(200_000), (4096, 200_000 - 4096 - 400 - 6000));
    }

    #[test]
    fn threshold_between_ratio_and_count_is_an_error() {
        for bad in [0.0, -1.0, 1.5, 99.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(Threshold::from_number(bad), Err(SettingsError::Threshold(_))), "{bad}");
        }
        assert!(matches!(BudgetSettings::default().budget(12), Err(SettingsError::Window { .. })));
    }
}
