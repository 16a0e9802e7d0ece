//! All that a message says, as one text. What is searched, recalled and hashed for a reader is this; what a prompt shows
//! of it is not decided here.

use super::cut::joined;
use super::{AssistantPart, Body, Message};
use crate::text::sha256_hex;

impl Body {
    /// All that it says, as one text: what is searched and what is recalled, so offsets are bytes of it. What users and
    /// tools said is [`joined`]; a model's answer is its texts and thinking in their order, then a line for each call: its
    /// tool and its arguments as they came.
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
    /// SHA-256 of all that it says, in lower-case hexadecimal: what a recall of it gives, whole.
    pub fn said_sha256(&self) -> &str {
        self.found.said_sha256.get_or_init(|| sha256_hex(self.body.said().as_bytes()).into())
    }
}
