//! What a client asks for that has to wait.

pub(crate) mod queue;
pub(crate) mod renders;
