//! Values that are derived from a message on first use and kept with it.

use super::about::About;
use super::{Body, Image, Message};
use crate::text::sha256_hex;
use std::sync::OnceLock;

/// Values derived from a message on first use. A copy with an empty cache is the same message, but `==` tells them
/// apart.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Derived {
    /// SHA-256 of [`Body::said`], lower-case hexadecimal.
    pub(crate) said_sha256: OnceLock<Box<str>>,
    /// Identifiers, each once.
    pub(crate) mentions: OnceLock<Vec<Mention>>,
    /// Subjects of the tool calls, in the order of the calls.
    about: OnceLock<Vec<About>>,
    /// SHA-256 of the images, in order.
    images: OnceLock<Vec<String>>,
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

impl Message {
    /// Returns the subjects of the tool calls, in order.
    pub fn about(&self) -> &[About] {
        self.found.about.get_or_init(|| match &self.body {
            Body::Assistant { calls, .. } => calls.iter().map(About::of).collect(),
            Body::User(_) | Body::Tool(_) | Body::Event { .. } => Vec::new(),
        })
    }

    /// Returns the SHA-256 of each image's `data` as given, in order.
    pub(crate) fn image_hashes(&self) -> &[String] {
        let hash = |image: &Image| sha256_hex(image.data.as_bytes());
        self.found.images.get_or_init(|| self.body.images().map(hash).collect())
    }
}
