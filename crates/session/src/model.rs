//! Calls of a model, as what waits for them sees them.

pub(crate) mod deadline;
pub(crate) mod quiet;
