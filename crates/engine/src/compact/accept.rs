//! What a model's answer to a summary request must be. Everything else is refused with its reason, and nothing that
//! stood before is touched by a refusal.

use super::narrative;
use crate::prompt::request::{Completion, StopReason};
use crate::tokens::TokenCount;
use thiserror::Error;

/// Why an answer is no summary.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    /// Nothing was said, or nothing but the headings.
    #[error("the answer was empty")]
    Empty,
    /// The answer ended at its length limit.
    #[error("the answer was cut off")]
    Cut,
    /// The model called a tool in place of answering.
    #[error("the model called a tool in place of a summary")]
    ToolCall,
    /// The model or its provider declined.
    #[error("the model refused")]
    Declined,
    /// It would take more room than what it stands for.
    #[error("the summary is larger than what it stands for: {tokens} tokens for {covered}")]
    NoGain {
        /// Its size in tokens.
        tokens: u32,
        /// The size of what it stands for, in tokens.
        covered: u32,
    },
    /// It is longer than what was set aside for it.
    #[error("Summary too large: {tokens} tokens, at most {most}")]
    TooLarge {
        /// Its size in tokens.
        tokens: u32,
        /// The most that is accepted, in tokens.
        most: u32,
    },
}

/// The narrative in an answer, or why there is none; beside it the narrative where only its length is wrong. Its form is
/// no reason to refuse it. `covered` is the size of what it stands for, in tokens.
pub fn accept(
    answer: &Completion,
    most: u32,
    covered: u32,
    counter: &dyn TokenCount,
) -> Result<String, (Refusal, Option<String>)> {
    let narrative = said(answer).map_err(|refusal| (refusal, None))?;
    let tokens = counter.count(&narrative);
    match tokens {
        tokens if tokens > most => Err((Refusal::TooLarge { tokens, most }, Some(narrative))),
        tokens if tokens > covered => Err((Refusal::NoGain { tokens, covered }, None)),
        _ => Ok(narrative),
    }
}

fn said(answer: &Completion) -> Result<String, Refusal> {
    match answer.stop {
        StopReason::Length | StopReason::Cancelled | StopReason::Failed => return Err(Refusal::Cut),
        StopReason::Refused => return Err(Refusal::Declined),
        StopReason::ToolUse => return Err(Refusal::ToolCall),
        StopReason::End if answer.calls > 0 => return Err(Refusal::ToolCall),
        StopReason::End => {}
    }
    narrative::narrative(&answer.text).ok_or(Refusal::Empty)
}

#[cfg(test)]
mod tests;
