//! Commands of clients that have to wait.

pub(crate) mod queue;
pub(crate) mod renders;
