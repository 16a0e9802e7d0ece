//! Changes to a conversation's past: histories taken in, rewinds and the way back, branches.

pub(crate) mod branch;
pub(crate) mod cut;
pub(crate) mod outside;
pub(crate) mod reconcile;
pub(crate) mod render;
pub(crate) mod reset;
pub(crate) mod revert;
pub(crate) mod rewind;
pub(crate) mod take;
