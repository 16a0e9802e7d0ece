//! Tool calls: approvals, execution, results.

pub(crate) mod approvals;
pub(crate) mod calling;
pub(crate) mod found;
pub(crate) mod pause;
pub(crate) mod round;
