//! Models: the `Model` trait, the events of an answer as it arrives, and error classes. Request and stream
//! formats are in `wire`, HTTP in `remote`; answers are not judged here.

pub mod address;
pub mod check;
pub mod counted;
pub mod error;
mod excerpt;
pub(crate) mod frames;
pub mod known;
pub mod listed;
pub mod options;
pub mod overflow;
pub mod remote;
pub mod retry;
pub mod scripted;
pub(crate) mod socket;
mod sockets;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod used;
pub mod wire;

use engine::delta::Delta;
use engine::prompt::request::{Answer, Request};
pub use error::ModelError;
use std::future::Future;
use std::pin::Pin;

/// The pending answer. Dropping it cancels the call and closes its connection.
pub type AnswerFuture<'a> = Pin<Box<dyn Future<Output = Result<Answer, ModelError>> + Send + 'a>>;

/// The pending count of a request.
pub type CountFuture<'a> = Pin<Box<dyn Future<Output = Result<Option<u32>, ModelError>> + Send + 'a>>;

/// Callback that receives the events of an answer as they arrive.
pub type OnProgress<'a> = &'a mut (dyn FnMut(Progress) + Send);

/// An event of an answer that is arriving.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    /// An addition to the answer.
    Delta(Delta),
    /// Data arrived that carries no delta: the call is alive.
    Alive,
    /// The attempt failed and is repeated after a delay. Deltas of the failed attempt are not part of the answer; until
    /// the next one has content, they are all that there is of it.
    Retrying(Retrying),
}

/// The retry of a failed call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retrying {
    /// The number of the attempt that comes next; the initial call is attempt 1.
    pub attempt: u32,
    /// The delay before that attempt, in milliseconds.
    pub delay_ms: u64,
    /// Why the previous attempt failed, for people.
    pub reason: String,
}

/// A language model, or a stand-in for one.
///
/// The futures are boxed so that the trait is usable as `dyn Model`: the model is a setting.
pub trait Model: Send {
    /// The model's name, as records and figures show it.
    fn name(&self) -> &str;

    /// Requests one answer. Nothing happens before the future is polled, and calls do not overlap. Events
    /// handed to `hear` stand even if the call then fails. The answer's own `parts` and `calls` hold only
    /// what was not handed to `hear`.
    fn answer<'a>(&'a mut self, request: &'a Request, hear: OnProgress<'a>) -> AnswerFuture<'a>;

    /// Requests the provider's own count of a request, in tokens; `None` from a model whose provider counts none.
    fn count_tokens<'a>(&'a mut self, _request: &'a Request) -> CountFuture<'a> {
        Box::pin(async { Ok(None) })
    }
}

#[cfg(test)]
mod tests;
