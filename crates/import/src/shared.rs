//! Parts that several formats read alike: JSON with the places of its errors, parts of messages, messages in the form of
//! chat completions, additions of programs to the user's messages, and the user's verdicts. Independent of the
//! formats.

pub(super) mod completions;
pub(super) mod json;
pub(super) mod noise;
pub(super) mod parts;
pub(super) mod verdict;
