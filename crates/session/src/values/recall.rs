//! What was said, as it is asked for and given: byte for byte, in pages.

/// The name of the tool with which a model fetches what it does not see.
pub const RECALL: &str = "recall";
/// How the references of a caller's own sections begin.
pub const SECTION: &str = "section:";

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recall {
    /// A message's id, the id of a call for its result, or [`SECTION`] and the name of a section of the caller's.
    pub reference: String,
    /// Where to begin, in bytes; inside a character it is that character's start.
    pub offset: usize,
    /// The most to give, in bytes; a single character that is longer is given all the same.
    pub limit: usize,
}

/// A part of what was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recalled {
    /// What was asked for.
    pub reference: String,
    /// The bytes.
    pub text: String,
    /// Where they begin.
    pub offset: usize,
    /// Bytes of all of it.
    pub total: usize,
    /// Where it goes on, where it does.
    pub next: Option<usize>,
    /// SHA-256 of all of it, in lower-case hexadecimal.
    pub sha256: String,
}
