//! Compactions: begun, awaited, reviewed, prepared ahead of time.

pub(crate) mod again;
pub(crate) mod background;
pub(crate) mod descent;
pub(crate) mod idle;
pub(crate) mod job;
pub(crate) mod preview;
pub(crate) mod restraint;
pub(crate) mod review;
pub(crate) mod reviewed;
pub(crate) mod summarizing;
pub(crate) mod terms;
pub(crate) mod warning;
