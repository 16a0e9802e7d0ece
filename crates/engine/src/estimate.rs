//! Calibration of token counts by providers' reports: a factor and an offset per model, the last report as a
//! baseline, and the size of past errors. Pure: a report goes in, a scale comes out. Raw counts are stored
//! unscaled and scaled when read.
//!
//! A factor is learned from the difference between two reports of one thread, because everything common to
//! both, known or not, cancels out. The remaining difference between a whole report and its scaled count is
//! the offset: the provider's own framing of tools and messages or, for an imported transcript, a system
//! prompt missing from the file.

use super::settings::PerMille;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Calibration learned in a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Learned {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    models: BTreeMap<String, Calibration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline: Option<Report>,
    /// The counting version under which this was learned; [`COUNTING`] from the first report on.
    #[serde(skip_serializing_if = "is_first")]
    counting: u32,
}

/// Incremented when the same prompt gets different raw counts, to invalidate older calibration. 1: signatures
/// and ciphertexts no longer count as text.
const COUNTING: u32 = 1;

fn is_first(counting: &u32) -> bool {
    *counting == 0
}

/// Calibration of one model, the newest values last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Calibration {
    /// Ratios between the reports of one thread, in thousandths of the newly added raw tokens, with those tokens.
    ratios: Vec<(u32, u32)>,
    /// Reported and raw tokens of whole prompts.
    levels: Vec<(u32, u32)>,
    /// Errors of the estimates, in thousandths of the reported tokens.
    errors: Vec<u32>,
}

/// A provider's report of a prompt's size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The model's name.
    pub model: String,
    /// Reported input tokens, those read from a cache included.
    pub reported: u32,
    /// Raw tokens by our own count.
    pub raw: u32,
}

/// A report that cannot belong to this prompt: over two and a half times the estimate, or under two fifths of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{reported} tokens were reported and {estimated} were estimated; the report is ignored")]
pub struct Implausible {
    /// Reported tokens.
    pub reported: u32,
    /// Estimated tokens.
    pub estimated: u32,
}

/// A conversion of raw counts to the provider's counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale {
    /// In thousandths.
    factor: u32,
    /// The offset in tokens.
    beside: i64,
    /// `true` if the offset comes from the last report, so that only newer messages are estimated.
    is_anchored: bool,
}

/// The identity: raw counts unchanged.
pub(crate) const RAW: Scale = Scale { factor: 1000, beside: 0, is_anchored: false };

/// Models for which a session keeps calibration, at most.
const MOST_MODELS: usize = 8;
/// Values of each kind that are kept, the newest.
const MOST_RATIOS: usize = 31;
const MOST_LEVELS: usize = 9;
const MOST_ERRORS: usize = 16;
/// The fewest new tokens between two reports from which a ratio is learned.
const LEAST_NEW: u32 = 100;
/// The fewest ratios, and new tokens behind them, from which a factor is derived.
const LEAST_RATIOS: usize = 3;
const LEAST_WEIGHT: u64 = 1000;
/// The range of a factor, in thousandths.
const FACTORS: (u32, u32) = (500, 2000);
/// The fewest errors from which a margin is derived.
const LEAST_ERRORS: usize = 3;
/// The range of a margin, in thousandths.
const MARGINS: (u32, u32) = (10, 100);

impl Learned {
    /// Drops the last report, because the next prompt does not begin with the last one; only the model's
    /// calibration remains.
    pub fn forget_baseline(&mut self) {
        self.baseline = None;
    }

    /// Drops everything learned under an older counting version.
    pub fn forget_older_counts(&mut self) {
        if self.counting < COUNTING {
            *self = Self::default();
        }
    }

    /// Returns the last report, if still valid.
    pub fn baseline(&self) -> Option<&Report> {
        self.baseline.as_ref()
    }

    /// Learns from a report and returns the estimate's error in thousandths, if there was an estimate.
    /// `knows_all` is `true` if the whole prompt is known; otherwise the model's first report sets the
    /// offset. `per_thousand` is the model's own factor, as in [`Self::scale_from`]: the error is that of the estimate
    /// that was used. Fails with [`Implausible`] if the report cannot belong to the prompt.
    pub fn take(
        &mut self,
        report: Report,
        knows_all: bool,
        per_thousand: Option<u32>,
    ) -> Result<Option<u32>, Implausible> {
        if report.reported == 0 || report.raw == 0 {
            return Ok(None);
        }
        self.counting = COUNTING;
        let is_new = !self.models.contains_key(&report.model);
        let is_first = self.known(&report.model).is_none();
        let estimated = self.scale_from(&report.model, per_thousand).read(report.raw);
        let is_odd = u64::from(report.reported) * 2 > u64::from(estimated) * 5
            || u64::from(report.reported) * 5 < u64::from(estimated) * 2;
        if is_odd && (knows_all || !is_first) {
            return Err(Implausible { reported: report.reported, estimated });
        }
        if is_new && self.models.len() >= MOST_MODELS {
            self.forget_least_known();
        }
        let known = self.models.entry(report.model.clone()).or_default();
        let before = self.baseline.take().filter(|before| before.model == report.model);
        if let Some(before) = before {
            let new = report.raw.saturating_sub(before.raw);
            let more = u64::from(report.reported.saturating_sub(before.reported));
            let ratio = u32::try_from(more * 1000 / u64::from(new.max(1))).unwrap_or(u32::MAX);
            if new >= LEAST_NEW && (400..=2500).contains(&ratio) {
                push(&mut known.ratios, (ratio, new), MOST_RATIOS);
            }
        }
        push(&mut known.levels, (report.reported, report.raw), MOST_LEVELS);
        let error = off_by(estimated, report.reported);
        if !is_first {
            push(&mut known.errors, error, MOST_ERRORS);
        }
        self.baseline = Some(report);
        Ok((!is_first).then_some(error))
    }

    /// Drops the model with the fewest reports other than the last report's, which is about to be compared.
    fn forget_least_known(&mut self) {
        let last = self.baseline.as_ref().map(|baseline| &baseline.model);
        let others = self.models.iter().filter(|(model, _)| Some(*model) != last);
        let least = others.min_by_key(|(_, known)| known.extent());
        if let Some(least) = least.map(|(model, _)| model.clone()) {
            self.models.remove(&least);
        }
    }

    /// Returns the scale for a prompt that begins with the last one.
    pub fn scale(&self, model: &str) -> Scale {
        self.scale_from(model, None)
    }

    /// As [`Learned::scale`], with a factor in thousandths to assume until reports taught one.
    pub fn scale_from(&self, model: &str, per_thousand: Option<u32>) -> Scale {
        let unanchored = self.unanchored_from(model, per_thousand);
        match self.baseline.as_ref().filter(|baseline| baseline.model == model) {
            Some(Report { reported, raw, .. }) => {
                let counted = i64::from(*raw) * i64::from(unanchored.factor) / 1000;
                Scale { beside: i64::from(*reported) - counted, is_anchored: true, ..unanchored }
            }
            None => unanchored,
        }
    }

    /// The calibration of a model, else that of the model of its family with the most reports, as families
    /// count alike.
    fn known(&self, model: &str) -> Option<&Calibration> {
        let alike = || {
            let of_family = self.models.iter().filter(|(name, _)| family(name) == family(model));
            of_family.map(|(_, known)| known).max_by_key(|known| known.extent())
        };
        self.models.get(model).or_else(alike)
    }

    /// `true` if there was a report of this model, or of its family.
    pub fn is_known(&self, model: &str) -> bool {
        self.known(model).is_some()
    }

    /// `true` if reports of this model, or of its family, taught a factor.
    pub fn is_taught(&self, model: &str) -> bool {
        self.known(model).is_some_and(|known| known.is_taught())
    }

    /// Returns the scale for any prompt of this model.
    pub fn unanchored(&self, model: &str) -> Scale {
        self.unanchored_from(model, None)
    }

    /// As [`Learned::unanchored`], with a factor in thousandths to assume until reports taught one.
    pub fn unanchored_from(&self, model: &str, per_thousand: Option<u32>) -> Scale {
        let before = per_thousand.unwrap_or(RAW.factor).clamp(FACTORS.0, FACTORS.1);
        let Some(known) = self.known(model) else { return Scale { factor: before, ..RAW } };
        let factor = known.factor(before);
        let beside = |(reported, raw): &(u32, u32)| {
            (i64::from(*reported) - i64::from(*raw) * i64::from(factor) / 1000, 1)
        };
        let beside = median(known.levels.iter().map(beside).collect());
        Scale { factor, beside: beside.unwrap_or_default(), is_anchored: false }
    }

    /// Returns the part of the model's window to reserve for errors: the 90th percentile of past errors, or
    /// `unmeasured` if there are too few.
    pub fn margin(&self, model: &str, unmeasured: PerMille) -> PerMille {
        let Some(known) = self.known(model).filter(|known| known.errors.len() >= LEAST_ERRORS) else {
            return unmeasured;
        };
        let mut errors = known.errors.clone();
        errors.sort_unstable();
        let at = (errors.len() * 9).div_ceil(10).saturating_sub(1);
        let most = errors.get(at).copied().unwrap_or_default();
        PerMille::new(most.clamp(MARGINS.0, MARGINS.1))
    }
}

/// Returns an estimate's error in thousandths of the reported tokens.
pub fn off_by(estimated: u32, reported: u32) -> u32 {
    let off = u64::from(estimated.abs_diff(reported)) * 1000;
    u32::try_from(off / u64::from(reported.max(1))).unwrap_or(u32::MAX)
}

/// The prefix of a model's name that its family shares.
fn family(model: &str) -> &str {
    model.split(['-', '/', ':', '@']).next().unwrap_or(model)
}

impl Calibration {
    /// How much is known of the model, to be compared with another's.
    fn extent(&self) -> (usize, usize) {
        (self.ratios.len(), self.levels.len())
    }

    fn is_taught(&self) -> bool {
        let weight: u64 = self.ratios.iter().map(|(_, new)| u64::from(*new)).sum();
        self.ratios.len() >= LEAST_RATIOS && weight >= LEAST_WEIGHT
    }

    /// The learned factor, or `before` if there is none yet.
    fn factor(&self, before: u32) -> u32 {
        if !self.is_taught() {
            return before;
        }
        let ratios = self.ratios.iter().map(|(ratio, new)| (i64::from(*ratio), u64::from(*new)));
        let factor = median(ratios.collect()).and_then(|median| u32::try_from(median).ok());
        factor.unwrap_or(before).clamp(FACTORS.0, FACTORS.1)
    }
}

/// The weighted median.
fn median(mut weighted: Vec<(i64, u64)>) -> Option<i64> {
    weighted.sort_unstable();
    let half = weighted.iter().map(|(_, weight)| weight).sum::<u64>().div_ceil(2);
    let mut below = 0;
    weighted.into_iter().find_map(|(value, weight)| {
        below += weight;
        (below >= half).then_some(value)
    })
}

fn push<T>(to: &mut Vec<T>, value: T, most: usize) {
    to.push(value);
    if to.len() > most {
        to.remove(0);
    }
}

impl Scale {
    /// Returns the factor, in thousandths.
    pub fn factor(self) -> u32 {
        self.factor
    }

    /// Returns the offset: tokens that the provider counts beyond ours.
    pub fn beside(self) -> i64 {
        self.beside
    }

    /// Scales a whole prompt's raw tokens.
    pub fn read(self, raw: u32) -> u32 {
        let tokens = i64::from(raw) * i64::from(self.factor) / 1000 + self.beside;
        u32::try_from(tokens.max(0)).unwrap_or(u32::MAX)
    }

    /// Scales the raw tokens of a part of a prompt, without the offset.
    pub fn read_part(self, raw: u32) -> u32 {
        Scale { beside: 0, ..self }.read(raw)
    }

    /// Returns the most raw tokens that scale to no more than `limit`.
    pub fn raw_limit(self, limit: u32) -> u32 {
        if self == RAW {
            return limit;
        }
        let raw = (i64::from(limit) - self.beside).max(0) * 1000 / i64::from(self.factor.max(1));
        u32::try_from(raw).unwrap_or(u32::MAX)
    }

    /// Scales the parts of a whole prompt so that they add up to its scaled size.
    pub fn read_parts(self, raw: &[u32]) -> Vec<u32> {
        let whole: u64 = raw.iter().map(|part| u64::from(*part)).sum();
        let total = u64::from(self.read(u32::try_from(whole).unwrap_or(u32::MAX)));
        let (mut before, mut told) = (0, 0);
        let part = |part: &u32| {
            before += u64::from(*part);
            let up_to = before * total / whole.max(1);
            let own = up_to - told;
            told = up_to;
            u32::try_from(own).unwrap_or(u32::MAX)
        };
        raw.iter().map(part).collect()
    }

    /// Returns the estimator's name with the scale applied to its counts.
    pub fn named(self, counter: &str, model: &str) -> String {
        let counted = match self.factor {
            1000 => counter.to_owned(),
            factor => format!("{counter}×{}.{:02} {model}", factor / 1000, factor % 1000 / 10),
        };
        if self.is_anchored { format!("reported+{counted}") } else { counted }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn report(reported: u32, raw: u32) -> Report {
        Report { model: "m".into(), reported, raw }
    }

    /// A provider that counts 1.2 times as many tokens, plus 400.
    fn taught(reports: u32) -> Learned {
        let mut learned = Learned::default();
        for n in 1..=reports {
            let raw = 1000 * n;
            learned.take(report(raw * 12 / 10 + 400, raw), true, None).unwrap();
        }
        learned
    }

    #[test]
    fn factor_is_learned_from_differences_and_the_rest_is_offset() {
        let learned = taught(12);
        let scale = learned.unanchored("m");
        assert_eq!((scale.factor(), scale.read(50_000)), (1200, 60_400));
        assert_eq!(scale.named("o200k", "claude"), "o200k×1.20 claude");
        assert_eq!(learned.unanchored("other"), RAW);
        assert_eq!(RAW.named("o200k", "claude"), "o200k");
    }

    #[test]
    fn only_messages_after_the_last_report_are_estimated() {
        let mut learned = taught(12);
        learned.take(report(15_000, 13_000), true, None).unwrap();
        let scale = learned.scale("m");
        assert_eq!((scale.read(13_000), scale.read(13_500)), (15_000, 15_600));
        assert_eq!(scale.named("o200k", "m"), "reported+o200k×1.20 m");
        learned.forget_baseline();
        assert_eq!(learned.scale("m"), learned.unanchored("m"));
        assert_eq!(learned.scale("m").factor(), 1200, "the factor stays");
    }

    #[test]
    fn implausible_reports_are_not_learned_from() {
        let mut learned = taught(5);
        let before = learned.clone();
        assert!(learned.take(report(100_000, 6000), true, None).is_err());
        assert!(learned.take(report(200, 6000), true, None).is_err());
        assert_eq!(learned, before);
        // The first report of a partly known prompt sets the offset.
        let mut learned = Learned::default();
        assert!(learned.take(report(10_000, 50), true, None).is_err());
        assert_eq!(learned.take(report(10_000, 50), false, None), Ok(None));
        assert_eq!(learned.unanchored("m").read(150), 10_100);
    }

    #[test]
    fn margin_follows_past_errors() {
        let unmeasured = PerMille::new(30);
        assert_eq!(Learned::default().margin("m", unmeasured), unmeasured);
        assert_eq!(taught(30).margin("m", unmeasured), PerMille::new(10));
        let mut learned = taught(12);
        let mut raw = 12_000;
        for n in 0..16_u32 {
            raw += 1000;
            let reported = raw * 12 / 10 + 400;
            let off = if n % 2 == 0 { reported * 5 / 100 } else { 0 };
            learned.take(report(reported + off, raw), true, None).unwrap();
        }
        assert!(learned.margin("m", unmeasured) > PerMille::new(30));
    }

    /// The errors are those of the estimate that was used.
    #[test]
    fn margin_is_least_where_the_models_own_factor_is_right() {
        let mut learned = Learned::default();
        for n in 1..=6 {
            learned.take(report(1600 * n, 1000 * n), true, Some(1600)).unwrap();
        }
        assert_eq!(learned.margin("m", PerMille::new(30)), PerMille::new(10));
    }

    #[test]
    fn model_with_the_fewest_reports_makes_room_for_another() {
        let mut learned = Learned::default();
        let of = |model: &str, n: u32| Report { model: model.to_owned(), reported: 1000 * n, raw: 1000 * n };
        for n in 1..=4 {
            learned.take(of("a", n), true, None).unwrap();
        }
        for number in 0..MOST_MODELS {
            learned.take(of(&format!("m{number}"), 1), true, None).unwrap();
        }
        assert_eq!(learned.models.len(), MOST_MODELS);
        assert!(learned.models.contains_key("a") && !learned.models.contains_key("m0"));
    }

    proptest! {
        #[test]
        fn scaled_parts_respect_limit_and_add_up(
            factor in 500u32..2000, beside in -5000i64..20_000, limit in 1u32..1_000_000,
            parts in prop::collection::vec(0u32..50_000, 1..12),
        ) {
            let scale = Scale { factor, beside, is_anchored: false };
            let raw = scale.raw_limit(limit);
            prop_assert!(raw == 0 || scale.read(raw) <= limit);
            let whole: u32 = parts.iter().sum();
            let read = scale.read_parts(&parts);
            if whole > 0 {
                prop_assert_eq!(read.iter().sum::<u32>(), scale.read(whole));
            }
        }
    }
}
