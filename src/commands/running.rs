//! Work that runs beside a command's loop, such as tool calls, until it ends or is stopped.

use std::future::Future;
use tokio::task::{AbortHandle, JoinSet};

/// Pieces of work, each with its purpose, and their results.
#[derive(Debug)]
pub(super) struct Running<P, R> {
    set: JoinSet<R>,
    pieces: Vec<(P, AbortHandle)>,
}

impl<P, R: Send + 'static> Running<P, R> {
    pub fn new() -> Self {
        Self { set: JoinSet::new(), pieces: Vec::new() }
    }

    /// `true` if nothing runs.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Purposes of what runs.
    pub fn purposes(&self) -> impl Iterator<Item = &P> {
        self.pieces.iter().map(|(purpose, _)| purpose)
    }

    /// Begins a piece of work.
    pub fn begin(&mut self, purpose: P, work: impl Future<Output = R> + Send + 'static) {
        let handle = self.set.spawn(work);
        self.pieces.push((purpose, handle));
    }

    /// The next piece that ends; waits for ever while none runs. Cancel safe.
    pub async fn next(&mut self) -> (P, R) {
        loop {
            let (id, result) = match self.set.join_next_with_id().await {
                Some(Ok((id, result))) => (id, Some(result)),
                Some(Err(error)) => (error.id(), None),
                None => std::future::pending().await,
            };
            // A piece that was stopped has no purpose any more, even if it had ended already.
            let at = self.pieces.iter().position(|(_, handle)| handle.id() == id);
            let purpose = at.map(|at| self.pieces.remove(at).0);
            if let (Some(purpose), Some(result)) = (purpose, result) {
                return (purpose, result);
            }
        }
    }

    /// Stops the pieces for which this is `true`, and returns their purposes.
    pub fn stop_if(&mut self, is_meant: impl Fn(&P) -> bool) -> Vec<P> {
        let meant = self.pieces.extract_if(.., |(purpose, _)| is_meant(purpose));
        meant
            .map(|(purpose, handle)| {
                handle.abort();
                purpose
            })
            .collect()
    }
}
