//! The thinking to ask a Claude model for, in the way that the model takes.

use crate::known::{self, LeastThinking, ThinkingAmount};
use crate::options::LEAST_BUDGET;
use crate::wire::Terms;
use engine::endpoint::Wire;
use engine::endpoint::options::{RequestOptions, Thinking, ThinkingWord};
use serde_json::{Value, json};

/// The budget of thinking of a model that takes no adaptive thinking, in tokens.
const USUAL_BUDGET: u32 = 8_192;

/// Returns the budget of thinking, in tokens, if this model is to be told one.
pub(super) fn budget(terms: &Terms, options: &RequestOptions) -> Option<u32> {
    match (known::thinking_amount(&terms.model), options.thinking?) {
        (ThinkingAmount::Budget, Thinking::Word(ThinkingWord::Adaptive)) => Some(USUAL_BUDGET),
        (ThinkingAmount::Budget | ThinkingAmount::Both, Thinking::Budget(tokens)) => Some(tokens),
        _ => None,
    }
}

/// Returns the parameter `thinking`; `None` for the model's own, also where it cannot be switched off, or where the
/// answer's limit leaves no room for a budget. What a model does not take is asked for in the way that it takes.
pub(super) fn parameter(terms: &Terms, options: &RequestOptions, max_tokens: u32) -> Option<Value> {
    let mut thinking = unbound(terms, options, max_tokens)?;
    let binds = known::binds_thinking(Some(Wire::Anthropic), &terms.model);
    if binds && thinking["type"] == "adaptive" {
        // Prompts omit thinking behind something that changed. Should a provider see a change that we do not, it leaves
        // the block out instead of refusing the request.
        thinking["block_binding"] = json!({ "prefix_mismatch_behavior": "drop_block" });
    }
    Some(thinking)
}

fn unbound(terms: &Terms, options: &RequestOptions, max_tokens: u32) -> Option<Value> {
    // The newest models leave their thinking empty otherwise.
    let summarized = || json!({ "type": "adaptive", "display": "summarized" });
    let is_summarized = known::thinks_between_calls(&terms.model);
    // A model that always thinks can be told so, which leaves its thinking as it is.
    let usual = || {
        let always = known::least_thinking(&terms.model) == LeastThinking::Always;
        let binds = known::binds_thinking(Some(Wire::Anthropic), &terms.model);
        (always && binds).then(|| json!({ "type": "adaptive" }))
    };
    let Some(thinking) = options.thinking else {
        return if is_summarized { Some(summarized()) } else { usual() };
    };
    if let Some(tokens) = budget(terms, options) {
        let tokens = tokens.min(max_tokens.saturating_sub(1));
        return (tokens >= LEAST_BUDGET).then(|| json!({ "type": "enabled", "budget_tokens": tokens }));
    }
    match thinking {
        Thinking::Word(ThinkingWord::Off) => match known::least_thinking(&terms.model) {
            LeastThinking::Off => Some(json!({ "type": "disabled" })),
            LeastThinking::BetweenTools => Some(json!({ "type": "between_tools" })),
            LeastThinking::Always if is_summarized => Some(summarized()),
            LeastThinking::Always => usual(),
        },
        Thinking::Word(ThinkingWord::Adaptive) | Thinking::Budget(_) => {
            let is_new = known::thinking_amount(&terms.model) == ThinkingAmount::Adaptive;
            Some(if is_new { summarized() } else { json!({ "type": "adaptive" }) })
        }
    }
}
