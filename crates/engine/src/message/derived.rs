//! Values that are derived from a message on first use and kept with it.

use super::about::About;
use super::pieces::Pieces;
use std::sync::OnceLock;

/// Values derived from a message on first use. A copy with an empty cache is the same message, but `==` tells them
/// apart.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Derived {
    /// SHA-256 of [`Body::said`], lower-case hexadecimal.
    pub(crate) said_sha256: OnceLock<Box<str>>,
    /// Identifiers, each once.
    pub(crate) mentions: OnceLock<Vec<Mention>>,
    /// The texts in pieces, for the excerpts of a compaction.
    pub(crate) pieces: OnceLock<Pieces>,
    /// Subjects of the tool calls, in the order of the calls.
    pub(super) about: OnceLock<Vec<About>>,
    /// SHA-256 of the images, in order.
    pub(super) images: OnceLock<Vec<String>>,
}

/// An identifier that a message contains, and the heaviest role that used it there.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mention {
    pub id: Box<str>,
    /// The weight of the role that used it, for the index.
    pub weight: u8,
    /// The position of the call whose arguments contain it; `None` if it is in the text.
    pub call: Option<u16>,
}
