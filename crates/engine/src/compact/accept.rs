//! Validation of a model's answer to a summary request. A refusal carries its reason and changes nothing.

use super::narrative;
use crate::prompt::request::{Completion, StopReason};
use crate::tokens::TokenCount;
use thiserror::Error;

/// Reason why an answer is not accepted as a summary.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    /// No text, or only headings.
    #[error("the answer was empty")]
    Empty,
    /// The answer is incomplete: it hit the length limit, was cancelled or failed.
    #[error("the answer was cut off")]
    Cut,
    /// The answer contains a tool call.
    #[error("the model called a tool in place of a summary")]
    ToolCall,
    /// The model or its provider declined.
    #[error("the model refused")]
    Declined,
    /// The summary is larger than the messages it would replace.
    #[error("the summary is larger than what it stands for: {tokens} tokens for {covered}")]
    NoGain {
        /// Tokens of the summary.
        tokens: u32,
        /// Tokens of the messages it would replace.
        covered: u32,
    },
    /// The summary exceeds its token budget.
    #[error("Summary too large: {tokens} tokens, at most {most}")]
    TooLarge {
        /// Tokens of the summary.
        tokens: u32,
        /// The token budget.
        most: u32,
    },
}

/// Returns the narrative of an answer, whatever its form. `most` is its token budget, `covered` the tokens that it
/// would replace. Beside [`Refusal::TooLarge`] the error holds the narrative, so that the model can be asked to
/// shorten it.
pub fn accept(
    answer: &Completion,
    most: u32,
    covered: u32,
    counter: &dyn TokenCount,
) -> Result<String, (Refusal, Option<String>)> {
    let narrative = narrative_of(answer).map_err(|refusal| (refusal, None))?;
    let tokens = counter.count(&narrative);
    match tokens {
        tokens if tokens > most => Err((Refusal::TooLarge { tokens, most }, Some(narrative))),
        tokens if tokens > covered => Err((Refusal::NoGain { tokens, covered }, None)),
        _ => Ok(narrative),
    }
}

fn narrative_of(answer: &Completion) -> Result<String, Refusal> {
    match answer.stop {
        StopReason::Length | StopReason::Paused | StopReason::Cancelled | StopReason::Failed => {
            return Err(Refusal::Cut);
        }
        StopReason::Refused => return Err(Refusal::Declined),
        StopReason::ToolUse => return Err(Refusal::ToolCall),
        StopReason::End if answer.calls > 0 => return Err(Refusal::ToolCall),
        StopReason::End => {}
    }
    narrative::narrative(&answer.text).ok_or(Refusal::Empty)
}

#[cfg(test)]
mod tests;
