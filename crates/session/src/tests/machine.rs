//! Random inputs drive the session machine, and a model checks its invariants after every step.

pub mod drive;
pub mod edges;
pub mod happening;
pub mod mirror;
pub mod model;
pub mod parts;
pub mod set;
pub mod shown;
pub mod table;
