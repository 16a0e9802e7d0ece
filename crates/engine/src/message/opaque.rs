//! The token weight of an answer's thinking. A provider bills the thinking that the model reads again, never the
//! bytes of a signature or ciphertext: thinking with text weighs its text, thinking without text weighs what the
//! provider reported.

use super::{AssistantPart, Body, Usage};
use crate::tokens::TokenCount;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The weight and origin of an answer's thinking. Stored with the answer, never sent, and not part of the hash.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Thought {
    /// Raw tokens of the thinking, included in the message's. Messages stored before thinking was counted
    /// separately have no [`Thought`] and are counted again when loaded.
    pub tokens: u32,
    /// Hash of the answered prompt, as computed in `prompt::sent`. Missing if that prompt is unknown, as
    /// after an import or an edit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<String>,
}

/// Keys of a provider's block whose values only the provider can read.
const OPAQUE: [&str; 5] = ["signature", "data", "encrypted_content", "encrypted_index", "thought_signature"];

/// Base64 characters per token of a signature or of redacted thinking. In 511 signed blocks of Claude 4.5
/// with visible text, a signature has about 200 characters plus 1.5 for each byte of the text; a token of
/// English has four bytes. A recorded answer of 189 tokens, 95 of them visible text, has two redacted blocks
/// of 744 and 296 characters: estimated at 106 tokens, where 94 were left.
const CHARS_PER_TOKEN: usize = 6;
/// Characters of an opaque text that encrypts nothing.
const EMPTY_CHARS: usize = 200;
/// As [`EMPTY_CHARS`], for `encrypted_content`: in a recorded session 1,060 characters added 46 tokens to the
/// next prompt.
const EMPTY_CIPHER_CHARS: usize = 800;

/// Estimates the raw tokens of an opaque text without reported usage.
fn estimate(key: &str, text: &str) -> u32 {
    let empty = if key == "encrypted_content" { EMPTY_CIPHER_CHARS } else { EMPTY_CHARS };
    u32::try_from(text.len().saturating_sub(empty) / CHARS_PER_TOKEN).unwrap_or(u32::MAX)
}

/// The opaque texts of a block as (key, text).
fn opaque(block: &Map<String, Value>) -> impl Iterator<Item = (&str, &str)> {
    OPAQUE.into_iter().filter_map(|key| Some((key, block.get(key)?.as_str()?)))
}

/// Counts the raw tokens of the thinking in one answer's parts. `usage` is the provider's report for that answer.
pub fn thinking(parts: &[AssistantPart], usage: Option<Usage>, counter: &dyn TokenCount) -> u32 {
    let (mut shown, mut hidden, mut has_hidden) = (0u32, 0u32, false);
    for part in parts {
        let AssistantPart::Reasoning { text, signature, block } = part else { continue };
        if !text.is_empty() {
            shown = shown.saturating_add(counter.count(text));
            continue;
        }
        has_hidden = true;
        let signed = signature.as_deref().map_or(0, |signature| estimate("signature", signature));
        let in_block = block.iter().flat_map(|block| opaque(block)).map(|(key, text)| estimate(key, text));
        hidden = in_block.fold(hidden.saturating_add(signed), u32::saturating_add);
    }
    // The report covers all thinking of the answer, readable text included.
    let reported = usage.and_then(|usage| usage.reasoning_tokens).filter(|_| has_hidden);
    match reported {
        Some(reported) => reported.max(shown),
        None => shown.saturating_add(hidden),
    }
}

/// Counts the raw tokens of a provider's own block: its readable JSON plus an estimate for its opaque texts.
pub(crate) fn raw_block(wire: &Value, counter: &dyn TokenCount) -> u32 {
    let mut readable = wire.clone();
    let hidden = take_opaque(&mut readable);
    counter.count(&readable.to_string()).saturating_add(hidden)
}

/// Empties the opaque texts in a value and returns their estimated tokens.
fn take_opaque(value: &mut Value) -> u32 {
    match value {
        Value::Array(list) => list.iter_mut().map(take_opaque).fold(0, u32::saturating_add),
        Value::Object(map) => {
            let weigh = |(key, value): (&String, &mut Value)| match value {
                Value::String(text) if OPAQUE.contains(&key.as_str()) && text.len() > EMPTY_CHARS => {
                    estimate(key, &std::mem::take(text))
                }
                other => take_opaque(other),
            };
            map.iter_mut().map(weigh).fold(0, u32::saturating_add)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

impl Body {
    /// Stores the weight of the answer's thinking, keeping [`Thought::follows`]. Returns `true` if the answer
    /// has any thinking or provider's block.
    pub fn weigh_thinking(&mut self, counter: &dyn TokenCount) -> bool {
        let Body::Assistant { parts, beside, .. } = self else { return false };
        if !parts.iter().any(|part| !matches!(part, AssistantPart::Text(_))) {
            beside.thought = None;
            return false;
        }
        let tokens = thinking(parts, beside.usage, counter);
        beside.thought.get_or_insert_default().tokens = tokens;
        true
    }

    /// Returns the weight and origin of the answer's thinking; `None` if it has none.
    pub fn thought(&self) -> Option<&Thought> {
        match self {
            Body::Assistant { beside, .. } => beside.thought.as_ref(),
            Body::User(_) | Body::Tool(_) | Body::Event { .. } => None,
        }
    }

    /// `true` if the answer was stored by a version that counted opaque texts as plain text.
    pub fn was_weighed_whole(&self) -> bool {
        let is_other = |part: &AssistantPart| !matches!(part, AssistantPart::Text(_));
        matches!(self, Body::Assistant { parts, beside, .. }
            if beside.thought.is_none() && parts.iter().any(is_other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Beside;
    use crate::tokens::QuarterOfChars;
    use serde_json::json;
    use std::sync::Arc;

    fn thought(text: &str, signature: usize, block: Value) -> AssistantPart {
        AssistantPart::Reasoning {
            text: text.into(),
            signature: (signature > 0).then(|| "s".repeat(signature).into()),
            block: block.as_object().filter(|block| !block.is_empty()).cloned().map(Arc::new),
        }
    }

    fn tokens(parts: &[AssistantPart], reasoning_tokens: Option<u32>) -> u32 {
        thinking(parts, Some(Usage { reasoning_tokens, ..Usage::default() }), &QuarterOfChars)
    }

    #[test]
    fn signature_beside_its_text_weighs_nothing() {
        let readable =
            thought(&"t".repeat(400), 9_000, json!({ "index": 3, "encrypted_content": "e".repeat(5_000) }));
        assert_eq!(tokens(std::slice::from_ref(&readable), None), 100);
        assert_eq!(tokens(&[readable], Some(700)), 100);
    }

    #[test]
    fn thinking_without_text_weighs_what_was_reported() {
        let hidden = thought("", 6_200, json!({}));
        assert_eq!(tokens(&[hidden.clone(), hidden.clone()], Some(321)), 321);
        assert_eq!(tokens(&[thought("tttt", 500, json!({})), hidden.clone()], Some(321)), 321);
        assert_eq!(tokens(&[hidden], Some(0)), 0);
    }

    #[test]
    fn unreported_thinking_weighs_an_estimate_of_its_length() {
        assert_eq!(tokens(&[thought("", 6_200, json!({}))], None), 1_000);
        let redacted =
            |chars: usize| thought("", 0, json!({ "type": "redacted_thinking", "data": "d".repeat(chars) }));
        assert_eq!(tokens(&[redacted(744), redacted(296)], None), 106);
        let cipher = json!({ "type": "reasoning", "id": "rs_1", "encrypted_content": "e".repeat(1_060) });
        assert_eq!(tokens(&[thought("", 0, cipher)], None), 43);
    }

    #[test]
    fn provider_block_weighs_its_readable_json_and_an_estimate() {
        let found = |secret: usize| json!({ "type": "web_search_tool_result", "content": [{ "encrypted_content": "e".repeat(secret), "url": "u" }] });
        let readable = QuarterOfChars.count(&found(0).to_string());
        assert_eq!(raw_block(&found(6_800), &QuarterOfChars), readable + 1_000);
    }

    #[test]
    fn weighing_keeps_hash_of_answered_prompt() {
        let mut body = Body::Assistant {
            parts: vec![thought("hmmm", 300, json!({}))],
            calls: Vec::new(),
            beside: Beside::default(),
        };
        assert!(body.was_weighed_whole());
        assert!(body.weigh_thinking(&QuarterOfChars));
        assert_eq!(body.thought(), Some(&Thought { tokens: 1, follows: None }));
        if let Body::Assistant { beside, .. } = &mut body {
            beside.thought = Some(Thought { tokens: 9, follows: Some("h".into()) });
        }
        assert!(body.weigh_thinking(&QuarterOfChars) && !body.was_weighed_whole());
        assert_eq!(body.thought(), Some(&Thought { tokens: 1, follows: Some("h".into()) }));
    }
}
