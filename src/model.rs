//! Asking a model: the trait that every wire implements and the classes of what can go wrong. No wire is here, no
//! retry, and no judgement of an answer.

pub mod overflow;
pub mod scripted;

use crate::engine::prompt::request::{Completion, Request};
use std::future::Future;
use std::pin::Pin;
use thiserror::Error;

/// The answer to come. Dropping it cancels the call.
pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<Completion, ModelError>> + Send + 'a>>;

/// Something that answers requests.
///
/// The future is boxed so that the trait can be used as `dyn Model`: which model summarizes is a setting.
pub trait Model: Send {
    /// The model's name as records and figures show it.
    fn name(&self) -> &str;

    /// Asks once. Nothing happens before the future is polled; there is one call at a time.
    fn complete<'a>(&'a mut self, request: &'a Request) -> Answer<'a>;
}

/// Why a model did not answer, by class: what to do next depends on the class, never on the wording.
///
/// A reason is the provider's text and is shown to people; whoever fills it in keeps keys out of it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ModelError {
    /// The request is larger than the window; the ladder goes on with the limit that was learned.
    #[error("the request is larger than the model's window")]
    ContextOverflow {
        /// The window as the provider stated it, in tokens.
        limit: Option<u32>,
        /// What the request needed as the provider stated it, in tokens.
        needed: Option<u32>,
    },
    /// Too many requests or tokens in a span of time.
    #[error("the model's rate limit is reached")]
    RateLimited {
        /// When the provider wants to be asked again.
        retry_after_ms: Option<u64>,
    },
    /// The provider has no room at the moment.
    #[error("the model is overloaded")]
    Overloaded,
    /// The key is missing, wrong or not allowed to do this.
    #[error("the model's key was not accepted")]
    Auth,
    /// No connection, or a broken one.
    #[error("the model could not be reached: {reason}")]
    Network {
        /// What broke.
        reason: String,
    },
    /// The provider would not answer this request. A model that says so itself gives a completion with
    /// [`StopReason::Refused`](crate::engine::prompt::request::StopReason::Refused).
    #[error("the model's provider refused the request")]
    Refused,
    /// The caller gave up.
    #[error("the call was cancelled")]
    Cancelled,
    /// The answer could not be read.
    #[error("the model's answer could not be read: {reason}")]
    CorruptStream {
        /// What was wrong with it.
        reason: String,
    },
    /// The provider did not understand the request; asking again does not help.
    #[error("the model's provider did not accept the request: {reason}")]
    BadRequest {
        /// What the provider said.
        reason: String,
    },
}
