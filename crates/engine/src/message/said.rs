//! A message's full text, as searched, recalled and hashed. A prompt may show less of it.

use super::cut::joined;
use super::{AssistantPart, Body, Message, ToolCall, is_note_of_text};
use crate::text::sha256_hex;

impl Body {
    /// Returns the full text. Offsets of searches and recalls are bytes of it. User messages and results are
    /// [`joined`]; a model's answer is its texts and thinking in order, then a line for each call with the
    /// tool's name and its arguments verbatim.
    pub fn said(&self) -> String {
        let parts: Vec<String> = self.said_parts().into_iter().map(|part| part.text).collect();
        parts.join("\n")
    }

    /// Returns the parts of the full text, which a line break separates.
    pub(crate) fn said_parts(&self) -> Vec<SaidPart<'_>> {
        let plain = |text: String| SaidPart { text, call: None, is_opaque: false };
        match self {
            Body::User(parts) => vec![plain(joined(parts))],
            Body::Tool(result) => vec![plain(joined(&result.content))],
            Body::Event { text, .. } => vec![plain(text.to_string())],
            Body::Assistant { parts, calls, .. } => {
                let parts = parts.iter().filter_map(|part| match part {
                    AssistantPart::Text(text) | AssistantPart::Reasoning { text, .. } => {
                        Some(plain(text.to_string()))
                    }
                    AssistantPart::Raw(block) if is_note_of_text(block) => None,
                    AssistantPart::Raw(block) => {
                        Some(SaidPart { text: block.to_string(), call: None, is_opaque: true })
                    }
                });
                let calls = calls.iter().map(|call| SaidPart {
                    text: format!("{} {}", call.name, call.arguments),
                    call: Some(call),
                    is_opaque: false,
                });
                parts.chain(calls).collect()
            }
        }
    }
}

/// A part of a message's full text.
#[derive(Debug)]
pub(crate) struct SaidPart<'a> {
    /// The text.
    pub text: String,
    /// The call, if the text is a tool's name and arguments.
    pub call: Option<&'a ToolCall>,
    /// `true` for a provider's own block, which says nothing to a reader.
    pub is_opaque: bool,
}

impl Message {
    /// Returns the SHA-256 of [`Body::said`], in lower-case hexadecimal.
    pub fn said_sha256(&self) -> &str {
        self.found.said_sha256.get_or_init(|| sha256_hex(self.body.said().as_bytes()).into())
    }
}
