//! What was said: taken in, taken back, and carried on elsewhere.

pub(crate) mod branch;
pub(crate) mod cut;
pub(crate) mod outside;
pub(crate) mod reconcile;
pub(crate) mod render;
pub(crate) mod reset;
pub(crate) mod rewind;
pub(crate) mod take;
