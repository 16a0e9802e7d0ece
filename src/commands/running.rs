//! Work that runs beside a command's loop, such as tool calls, until it ends or is stopped.

use std::future::Future;
use tokio::task::{AbortHandle, JoinSet};

/// Pieces of work, each with its purpose, and their results.
#[derive(Debug)]
pub(super) struct Running<P, R> {
    set: JoinSet<(P, R)>,
    handles: Vec<(P, AbortHandle)>,
}

impl<P: Clone + PartialEq + Send + 'static, R: Send + 'static> Running<P, R> {
    pub fn new() -> Self {
        Self { set: JoinSet::new(), handles: Vec::new() }
    }

    /// `true` if nothing runs.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty()
    }

    /// `true` if a piece of work with this purpose runs.
    pub fn contains(&self, purpose: &P) -> bool {
        self.handles.iter().any(|(other, _)| other == purpose)
    }

    /// Begins a piece of work.
    pub fn begin(&mut self, purpose: P, work: impl Future<Output = R> + Send + 'static) {
        let of = purpose.clone();
        let handle = self.set.spawn(async move { (of, work.await) });
        self.handles.push((purpose, handle));
    }

    /// The next piece that ends; waits for ever while none runs. Cancel safe.
    pub async fn next(&mut self) -> (P, R) {
        loop {
            match self.set.join_next().await {
                Some(Ok((purpose, result))) => {
                    self.handles.retain(|(other, _)| *other != purpose);
                    return (purpose, result);
                }
                // It was stopped.
                Some(Err(_)) => {}
                None => std::future::pending().await,
            }
        }
    }

    /// Stops the pieces for which this is `true`.
    pub fn stop_if(&mut self, is_meant: impl Fn(&P) -> bool) {
        let meant = self.handles.extract_if(.., |(purpose, _)| is_meant(purpose));
        meant.for_each(|(_, handle)| handle.abort());
    }
}
