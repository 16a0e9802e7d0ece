//! Token usage and costs that providers report.

use super::Beside;
use crate::cost::{Dollars, Price, PricedTokens};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The key in [`Beside::extra`] of the cost that a provider reports, in US dollars.
const COST: &str = "cost";

/// The key in [`Beside::extra`] of the number of times that the model ran for one answer, if the provider ran it more than
/// once. Its usage does not add up then.
pub const RUNS: &str = "modelRuns";

/// Token usage of a model request, as its provider reported it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Usage {
    /// Input tokens, those read from and written to a cache included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u32>,
    /// Output tokens, thinking included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u32>,
    /// Input tokens read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input_tokens: Option<u32>,
    /// Input tokens written to a cache for later requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_input_tokens: Option<u32>,
    /// Output tokens spent on thinking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u32>,
}

impl Usage {
    /// Adds the usage of another request. A counter that neither states stays unknown.
    pub fn add(&mut self, other: Usage) {
        let sum = |ours: Option<u32>, theirs: Option<u32>| match (ours, theirs) {
            (None, None) => None,
            (ours, theirs) => Some(ours.unwrap_or(0).saturating_add(theirs.unwrap_or(0))),
        };
        *self = Self {
            input_tokens: sum(self.input_tokens, other.input_tokens),
            output_tokens: sum(self.output_tokens, other.output_tokens),
            cached_input_tokens: sum(self.cached_input_tokens, other.cached_input_tokens),
            cache_write_input_tokens: sum(self.cache_write_input_tokens, other.cache_write_input_tokens),
            reasoning_tokens: sum(self.reasoning_tokens, other.reasoning_tokens),
        };
    }

    /// Merges a later report. Some providers repeat their counters, some count up, and some restart within an answer:
    /// each counter keeps its maximum.
    pub fn merge(&mut self, later: Usage) {
        // `None` is less than any number.
        self.input_tokens = self.input_tokens.max(later.input_tokens);
        self.output_tokens = self.output_tokens.max(later.output_tokens);
        self.cached_input_tokens = self.cached_input_tokens.max(later.cached_input_tokens);
        self.cache_write_input_tokens = self.cache_write_input_tokens.max(later.cache_write_input_tokens);
        self.reasoning_tokens = self.reasoning_tokens.max(later.reasoning_tokens);
    }

    /// Returns the cost of the request at this price; `None` if the counters do not say enough, contradict each other, or
    /// a price is unknown. A cache that is not reported was not used.
    pub fn cost(self, price: &Price) -> Option<Dollars> {
        let (cache_read, cache_write) =
            (self.cached_input_tokens.unwrap_or(0), self.cache_write_input_tokens.unwrap_or(0));
        let input = self.input_tokens?.checked_sub(cache_read)?.checked_sub(cache_write)?;
        price.cost(PricedTokens { input, cache_read, cache_write, output: self.output_tokens? })
    }
}

impl Beside {
    /// Returns the cost that a provider reported with the answer, which OpenRouter does beside the usage.
    pub fn reported_cost(&self) -> Option<Dollars> {
        let reported = self.extra.get(COST).and_then(Value::as_f64);
        reported.filter(|dollars| *dollars >= 0.0).map(Dollars::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::PriceSource;

    #[test]
    fn cost_needs_counters_that_are_whole_and_agree() {
        let price = Price {
            source: PriceSource::Settings,
            input: 3.0.into(),
            output: 15.0.into(),
            cache_read: Some(0.3.into()),
            cache_write: Some(3.75.into()),
            long: None,
            until: None,
        };
        let of = |input_tokens, output_tokens, cached_input_tokens, cache_write_input_tokens| {
            let reasoning_tokens = output_tokens;
            let usage = Usage {
                input_tokens,
                output_tokens,
                cached_input_tokens,
                cache_write_input_tokens,
                reasoning_tokens,
            };
            usage.cost(&price)
        };
        let dollars = |dollars: f64| Some(Dollars::from(dollars));
        assert_eq!(of(Some(1000), Some(100), None, None), dollars(0.0045));
        // 100 × 3 + 600 × 0.3 + 300 × 3.75 + 100 × 15 = 3105 millionths.
        assert_eq!(of(Some(1000), Some(100), Some(600), Some(300)), dollars(0.003105));
        assert_eq!(of(None, Some(100), None, None), None);
        assert_eq!(of(Some(1000), None, None, None), None);
        assert_eq!(of(Some(1000), Some(100), Some(600), Some(401)), None);
    }
}
