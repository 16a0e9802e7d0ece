//! Asking a model: the trait that every model implements, what it says while it answers, and the classes of what can go
//! wrong. How a provider is spoken to is in `wire`, the posting in `remote`; no judgement of an answer is here.

pub mod address;
pub mod error;
mod excerpt;
pub(crate) mod frames;
pub mod known;
pub mod overflow;
pub mod remote;
pub mod retry;
pub mod scripted;
pub(crate) mod socket;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod wire;

use engine::delta::{Delta, Draft};
use engine::prompt::request::{Answer, Completion, Request};
pub use error::ModelError;
use std::future::Future;
use std::pin::Pin;

/// The answer to come. Dropping it cancels the call and closes its connection.
pub type Answering<'a> = Pin<Box<dyn Future<Output = Result<Answer, ModelError>> + Send + 'a>>;

/// The answer to come, as text.
pub(crate) type Completing<'a> = Pin<Box<dyn Future<Output = Result<Completion, ModelError>> + Send + 'a>>;

/// Who is told what a model says while it answers.
pub type Hear<'a> = &'a mut (dyn FnMut(Said) + Send);

/// What a model says while it answers.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// The answer goes on.
    Delta(Delta),
    /// Something came that says nothing: the call is alive.
    Alive,
    /// The provider could not answer and is asked again after a while. Nothing was shown of what was said before, if
    /// anything was, and it is not part of the answer.
    Retrying(Retrying),
}

/// A call that is made again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retrying {
    /// Which attempt comes next; the first one is 1.
    pub attempt: u32,
    /// After how long, in milliseconds.
    pub delay_ms: u64,
    /// Why the one before came to nothing, for people.
    pub reason: String,
}

/// Something that answers requests.
///
/// The futures are boxed so that the trait can be used as `dyn Model`: which model answers is a setting.
pub trait Model: Send {
    /// The model's name as records and figures show it.
    fn name(&self) -> &str;

    /// Asks once. Nothing happens before the future is polled; there is one call at a time. What was handed to `hear`
    /// stands, also where the call then fails; the answer states of its words and calls only what it did not hear.
    fn answer<'a>(&'a mut self, request: &'a Request, hear: Hear<'a>) -> Answering<'a>;

    /// Asks once, for what the answer is as text.
    fn complete<'a>(&'a mut self, request: &'a Request) -> Completing<'a> {
        Box::pin(async move {
            let mut draft = Draft::default();
            let mut fold = |said| {
                if let Said::Delta(delta) = said {
                    // Arguments of a call that was never set are nobody's.
                    drop(draft.fold(delta));
                }
            };
            let answer = self.answer(request, &mut fold).await?;
            Ok(answer.completion(&draft))
        })
    }
}

#[cfg(test)]
mod tests;
