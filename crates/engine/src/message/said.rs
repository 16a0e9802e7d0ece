//! A message's full text, as searched, recalled and hashed. A prompt may show less of it.

use super::cut::joined;
use super::{AssistantPart, Body, Message};
use crate::text::sha256_hex;

impl Body {
    /// Returns the full text. Offsets of searches and recalls are bytes of it. User messages and results are
    /// [`joined`]; a model's answer is its texts and thinking in order, then a line for each call with the
    /// tool's name and its arguments verbatim.
    pub fn said(&self) -> String {
        match self {
            Body::User(parts) => joined(parts),
            Body::Tool(result) => joined(&result.content),
            Body::Event { text, .. } => text.to_string(),
            Body::Assistant { parts, calls, .. } => {
                let parts = parts.iter().map(|part| match part {
                    AssistantPart::Text(text) | AssistantPart::Reasoning { text, .. } => text.to_string(),
                    AssistantPart::Raw(block) => block.to_string(),
                });
                let calls = calls.iter().map(|call| format!("{} {}", call.name, call.arguments));
                parts.chain(calls).collect::<Vec<_>>().join("\n")
            }
        }
    }
}

impl Message {
    /// Returns the SHA-256 of [`Body::said`], in lower-case hexadecimal.
    pub fn said_sha256(&self) -> &str {
        self.found.said_sha256.get_or_init(|| sha256_hex(self.body.said().as_bytes()).into())
    }
}
