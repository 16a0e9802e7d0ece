//! Costs of requests to models: amounts, prices, and sums that say where their figures are from. Prices are arguments;
//! the crate `models` has the table.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Billionths of a dollar in a dollar.
const BILLIONTHS: f64 = 1e9;

/// US dollars, not negative. A whole number of billionths inside; a decimal number in stores and on the wire.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "f64", into = "f64")]
pub struct Dollars(u64);

impl Dollars {
    /// Creates an amount from billionths of a dollar.
    pub const fn of_billionths(billionths: u64) -> Self {
        Self(billionths)
    }

    fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

/// Rounds to billionths. A negative amount, or one that is no number, is 0.
impl From<f64> for Dollars {
    fn from(dollars: f64) -> Self {
        Self((dollars * BILLIONTHS).round() as u64)
    }
}

impl From<Dollars> for f64 {
    fn from(dollars: Dollars) -> Self {
        dollars.0 as f64 / BILLIONTHS
    }
}

/// A day, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Date {
    year: u16,
    month: u8,
    day: u8,
}

impl Date {
    /// Reads the day of an ISO 8601 date or time, such as `2026-11-22`; `None` if it begins with none.
    pub fn of(text: &str) -> Option<Self> {
        let mut parts = text.get(..10)?.splitn(3, '-');
        let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
        let date = Self { year: year.parse().ok()?, month: month.parse().ok()?, day: day.parse().ok()? };
        ((1..=12).contains(&date.month) && (1..=31).contains(&date.day)).then_some(date)
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl From<Date> for String {
    fn from(date: Date) -> Self {
        date.to_string()
    }
}

impl TryFrom<String> for Date {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::of(&text).ok_or("must be a date such as 2026-11-22")
    }
}

/// The source of a price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PriceSource {
    /// The settings.
    Settings,
    /// The table of this date.
    Table(Date),
}

/// Prices of a model, each for a million tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Price {
    /// The source of the prices.
    pub source: PriceSource,
    /// Input that the cache does not concern.
    pub input: Dollars,
    /// Output, thinking included.
    pub output: Dollars,
    /// Input read from the cache; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<Dollars>,
    /// Input written to the cache; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<Dollars>,
    /// The step for long prompts, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long: Option<LongPrompt>,
    /// The last day on which these prices hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Date>,
}

/// Other prices for the whole of a request with a long prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LongPrompt {
    /// The longest prompt at the usual prices, in tokens.
    pub above: u32,
    /// The prices of all input, in percent of the usual ones.
    pub input_percent: u32,
    /// The price of output, in percent of the usual one.
    pub output_percent: u32,
}

/// The tokens of a request, by price.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PricedTokens {
    /// Input that was neither read from nor written to the cache.
    pub input: u32,
    /// Input read from the cache.
    pub cache_read: u32,
    /// Input written to the cache.
    pub cache_write: u32,
    /// Output.
    pub output: u32,
}

impl Price {
    /// Returns the first of these prices that holds on a day; one that holds always, if the day is unknown.
    pub fn on(prices: &[Self], day: Option<Date>) -> Option<&Self> {
        let holds = |until: Date| day.is_some_and(|day| day <= until);
        prices.iter().find(|price| price.until.is_none_or(holds))
    }

    /// Returns the cost of a request, rounded to billionths of a dollar; `None` if it has tokens whose price is unknown.
    pub fn cost(&self, tokens: PricedTokens) -> Option<Dollars> {
        let PricedTokens { input, cache_read, cache_write, output } = tokens;
        let prompt = u64::from(input) + u64::from(cache_read) + u64::from(cache_write);
        let long = self.long.filter(|long| prompt > u64::from(long.above));
        let (on_input, on_output) = long.map_or((100, 100), |long| (long.input_percent, long.output_percent));
        let of = |tokens: u32, price: Option<Dollars>, percent: u32| match tokens {
            0 => Some(0),
            tokens => Some(u128::from(tokens) * u128::from(price?.0) * u128::from(percent)),
        };
        let parts = [
            of(input, Some(self.input), on_input)?,
            of(cache_read, self.cache_read, on_input)?,
            of(cache_write, self.cache_write, on_input)?,
            of(output, Some(self.output), on_output)?,
        ];
        // Percents of billionths of a dollar for a million tokens.
        const SCALE: u128 = 100 * 1_000_000;
        let billionths = (parts.iter().sum::<u128>() + SCALE / 2) / SCALE;
        Some(Dollars(u64::try_from(billionths).unwrap_or(u64::MAX)))
    }
}

/// The cost of requests to models, and where the figure is from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cost {
    /// US dollars, as far as they are known; absent if nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub dollars: Option<Dollars>,
    /// `true` if all or some of it is what providers reported. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reported: bool,
    /// `true` if all or some of it is computed from the price in the settings. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub settings: bool,
    /// Date of the price table from which all or some of it is computed, such as `2026-11-22`; of several tables, the
    /// oldest. Absent if none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub table: Option<Date>,
    /// Number of requests whose cost is unknown, or known only in part because they broke off: `dollars` is too low by
    /// that. Default: 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub incomplete: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Cost {
    /// A request whose cost is unknown.
    pub const UNKNOWN: Self =
        Self { dollars: None, reported: false, settings: false, table: None, incomplete: 1 };

    /// A cost that a provider reported.
    pub fn reported(dollars: Dollars) -> Self {
        Self { dollars: Some(dollars), reported: true, ..Self::default() }
    }

    /// A cost that was computed from a price.
    pub fn computed(dollars: Dollars, source: PriceSource) -> Self {
        let known = Self { dollars: Some(dollars), ..Self::default() };
        match source {
            PriceSource::Settings => Self { settings: true, ..known },
            PriceSource::Table(date) => Self { table: Some(date), ..known },
        }
    }

    /// Adds the cost of other requests.
    pub fn add(&mut self, other: Self) {
        let dollars = match (self.dollars, other.dollars) {
            (Some(ours), Some(theirs)) => Some(ours.plus(theirs)),
            (ours, theirs) => ours.or(theirs),
        };
        *self = Self {
            dollars,
            reported: self.reported || other.reported,
            settings: self.settings || other.settings,
            table: self.table.into_iter().chain(other.table).min(),
            incomplete: self.incomplete.saturating_add(other.incomplete),
        };
    }

    /// Returns `None` if no figure is known.
    pub fn known(self) -> Option<Self> {
        self.dollars.map(|_| self)
    }

    /// `true` if there was no request.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    const DAY: Date = Date { year: 2026, month: 11, day: 22 };

    fn price() -> Price {
        Price {
            source: PriceSource::Table(DAY),
            input: 2.0.into(),
            output: 10.0.into(),
            cache_read: Some(0.1.into()),
            cache_write: Some(2.5.into()),
            long: Some(LongPrompt { above: 272_000, input_percent: 200, output_percent: 150 }),
            until: None,
        }
    }

    #[test]
    fn each_kind_of_token_has_its_price() {
        let tokens = PricedTokens { input: 1000, cache_read: 10_000, cache_write: 2000, output: 300 };
        // 1000 × 2 + 10,000 × 0.1 + 2000 × 2.5 + 300 × 10 = 11,000 millionths.
        assert_eq!(price().cost(tokens), Some(Dollars::of_billionths(11_000_000)));
        let no_write = Price { cache_write: None, ..price() };
        assert_eq!(no_write.cost(tokens), None);
        assert_eq!(
            no_write.cost(PricedTokens { cache_write: 0, ..tokens }),
            Some(Dollars::of_billionths(6_000_000))
        );
    }

    #[test]
    fn long_prompt_raises_the_price_of_the_whole_request() {
        let of = |input, cache_read| {
            price().cost(PricedTokens { input, cache_read, output: 1000, ..PricedTokens::default() })
        };
        // 72,000 × 2 + 200,000 × 0.1 + 1000 × 10 = 174,000 millionths.
        assert_eq!(of(72_000, 200_000), Some(Dollars::of_billionths(174_000_000)));
        // (72,001 × 2 + 200,000 × 0.1) × 2 + 1000 × 15 = 343,004 millionths.
        assert_eq!(of(72_001, 200_000), Some(Dollars::of_billionths(343_004_000)));
    }

    #[test]
    fn fractions_of_a_billionth_are_rounded_once() {
        let tiny = Price { input: Dollars::of_billionths(400_000), output: 0.0.into(), ..price() };
        let of = |input, cache_read| tiny.cost(PricedTokens { input, cache_read, ..PricedTokens::default() });
        assert_eq!(of(1, 0), Some(Dollars::of_billionths(0)));
        assert_eq!(of(2, 0), Some(Dollars::of_billionths(1)));
        assert_eq!(of(u32::MAX, 0), Some(Dollars::of_billionths(3_435_973_836)));
    }

    #[test]
    fn first_price_that_still_holds_counts() {
        let on = |text: &str| Date::of(text);
        let until = |day: &str, input: f64| Price { until: on(day), input: input.into(), ..price() };
        let prices = [until("2026-11-30", 1.0), price()];
        let input = |day| Price::on(&prices, day).map(|price| price.input);
        assert_eq!(input(on("2026-11-30T23:59:59Z")), Some(1.0.into()));
        assert_eq!(input(on("2026-12-01")), Some(2.0.into()));
        assert_eq!(input(None), Some(2.0.into()));
        assert_eq!(Price::on(&prices[..1], on("2027-01-01")), None);
    }

    #[test]
    fn sum_says_where_its_parts_are_from() {
        let mut sum = Cost::default();
        assert_eq!((sum.is_empty(), sum.known()), (true, None));
        sum.add(Cost::UNKNOWN);
        assert_eq!((sum.is_empty(), sum.known()), (false, None));
        sum.add(Cost::reported(0.25.into()));
        sum.add(Cost::computed(0.5.into(), PriceSource::Settings));
        sum.add(Cost::computed(1.0.into(), PriceSource::Table(Date { day: 23, ..DAY })));
        sum.add(Cost::computed(0.0.into(), PriceSource::Table(DAY)));
        let wire = json!({
            "dollars": 1.75, "reported": true, "settings": true, "table": "2026-11-22", "incomplete": 1,
        });
        assert_eq!(serde_json::to_value(sum).unwrap(), wire);
        assert_eq!(serde_json::from_value::<Cost>(wire).unwrap(), sum);
        assert_eq!(serde_json::to_value(Cost::default()).unwrap(), json!({}));
    }

    #[test]
    fn only_a_day_is_a_date() {
        assert_eq!(Date::of("2026-11-22"), Some(DAY));
        for text in ["", "2026-11", "2026-13-01", "2026-11-32", "soon", "2026-1é-01", "22-11-2026"] {
            assert_eq!(Date::of(text), None, "{text}");
        }
    }

    #[test]
    fn amount_is_never_negative() {
        for dollars in [-1.0, -0.0, f64::NAN, f64::NEG_INFINITY] {
            assert_eq!(Dollars::from(dollars), Dollars::of_billionths(0), "{dollars}");
        }
    }

    proptest! {
        #[test]
        fn amounts_survive_the_wire(billionths in 0..1_000_000_000_000_000u64) {
            let dollars = Dollars(billionths);
            let text = serde_json::to_string(&dollars).unwrap();
            prop_assert_eq!(serde_json::from_str::<Dollars>(&text).unwrap(), dollars);
        }
    }
}
