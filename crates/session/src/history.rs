//! Changes to a conversation's past: histories taken in, rewinds, branches.

pub(crate) mod branch;
pub(crate) mod cut;
pub(crate) mod outside;
pub(crate) mod reconcile;
pub(crate) mod render;
pub(crate) mod reset;
pub(crate) mod rewind;
pub(crate) mod take;
