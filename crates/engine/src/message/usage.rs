//! Token usage that providers report.

use serde::{Deserialize, Serialize};

/// Token usage of a model request, as its provider reported it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Usage {
    /// Input tokens, those read from a cache included.
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
}
