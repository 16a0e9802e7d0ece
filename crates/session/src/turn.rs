//! A turn: request, prompt, answer, and again.

pub(crate) mod answer;
pub(crate) mod end;
pub(crate) mod generate;
pub(crate) mod request;
pub(crate) mod size;
pub(crate) mod streaming;
pub(crate) mod wrap_up;
