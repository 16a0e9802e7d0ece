//! Calls of tools: who decides about them, who runs them, and what becomes of their results.

pub(crate) mod approvals;
pub(crate) mod calling;
pub(crate) mod found;
pub(crate) mod pause;
pub(crate) mod round;
