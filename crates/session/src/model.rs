//! Model calls, as the components that wait for them see them.

pub(crate) mod cost;
pub(crate) mod deadline;
pub(crate) mod quiet;
