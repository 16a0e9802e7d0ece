//! The scope as a request last showed it, so that an unchanged one is not shown again.

use engine::id::Ordinal;
use engine::text::sha256_hex;
use serde::{Deserialize, Serialize};

/// What a request showed of the scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScopeTold {
    hash: String,
    /// The request.
    at: Ordinal,
}

impl ScopeTold {
    /// This text, shown with the request at this position.
    pub fn new(text: &str, at: Ordinal) -> Self {
        Self { hash: sha256_hex(text.as_bytes()), at }
    }

    /// `true` if this text was shown with a request at `from` or later, which prompts still show.
    pub fn holds(&self, text: &str, from: Ordinal) -> bool {
        self.at >= from && self.hash == sha256_hex(text.as_bytes())
    }

    /// `true` if its request is before this position.
    pub fn is_before(&self, from: Ordinal) -> bool {
        self.at < from
    }
}
