//! Requests for the text of a message, byte for byte and in pages, and their answers.

/// The name of the tool with which a model fetches text that its prompt does not show.
pub const RECALL: &str = "recall";
/// The prefix of references to the caller's own sections.
pub const SECTION: &str = "section:";

/// A request for a page of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recall {
    /// A message id, a call id for the call's result, or [`SECTION`] and the name of a caller's section.
    pub reference: String,
    /// The start, in bytes. Inside a character it is moved back to the character's first byte.
    pub offset: usize,
    /// The longest page, in bytes. A longer single character is returned whole.
    pub limit: usize,
}

/// A page of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recalled {
    /// The reference of the request.
    pub reference: String,
    /// The text of the page.
    pub text: String,
    /// The start of the page, in bytes.
    pub offset: usize,
    /// The size of the whole text, in bytes.
    pub total: usize,
    /// The start of the next page, if there is one.
    pub next: Option<usize>,
    /// The SHA-256 of the whole text, in lower-case hexadecimal.
    pub sha256: String,
}
