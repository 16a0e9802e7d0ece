//! The machine is driven by anything that can happen to it, and every step is held against a model of what must stay true.

pub mod drive;
pub mod edges;
pub mod happening;
pub mod mirror;
pub mod model;
pub mod parts;
pub mod set;
pub mod shown;
pub mod table;
