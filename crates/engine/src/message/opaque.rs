//! What an answer's thinking weighs. A provider bills what the model reads again, never the bytes of a signature or of a
//! ciphertext: thinking that shows its text weighs its text, and thinking that shows none what its provider reported.

use super::{AssistantPart, Body, Usage};
use crate::tokens::TokenCount;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What is known of an answer's thinking. It goes where the answer goes, is sent to nobody and has no part in the hash.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Thought {
    /// Raw tokens of the thinking, which are among the message's. Messages from before thinking was weighed by itself have
    /// no [`Thought`] and are weighed again when they are loaded.
    pub tokens: u32,
    /// Hash of the prompt that was answered, as `prompt::sent` marks it. Missing where nobody knows that prompt: an import,
    /// an edit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<String>,
}

/// Keys of a provider's block whose texts only the provider can read.
const OPAQUE: [&str; 5] = ["signature", "data", "encrypted_content", "encrypted_index", "thought_signature"];

/// Base64 characters of a signature or of redacted thinking for each token in it. In 511 signed blocks of Claude 4.5
/// whose text stands beside them a signature has about 200 characters, and 1.5 for each byte of the text; a token of
/// English has four bytes. Two redacted blocks of 744 and 296 characters stand in a recorded answer of 189 tokens, of
/// which the visible text takes 95: this gives 106.
const CHARS_PER_TOKEN: usize = 6;
/// Characters that an opaque text has without anything in it.
const EMPTY_CHARS: usize = 200;
/// The same for `encrypted_content`: in a recorded session 1,060 characters made the next prompt 46 tokens longer.
const EMPTY_CIPHER_CHARS: usize = 800;

/// Raw tokens of an opaque text of which nothing is reported.
fn estimate(key: &str, text: &str) -> u32 {
    let empty = if key == "encrypted_content" { EMPTY_CIPHER_CHARS } else { EMPTY_CHARS };
    u32::try_from(text.len().saturating_sub(empty) / CHARS_PER_TOKEN).unwrap_or(u32::MAX)
}

/// The opaque texts of a block with their keys.
fn opaque(block: &Map<String, Value>) -> impl Iterator<Item = (&str, &str)> {
    OPAQUE.into_iter().filter_map(|key| Some((key, block.get(key)?.as_str()?)))
}

/// Raw tokens of the thinking among these parts of one answer, of which the provider reported this use.
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
        let beside = block.iter().flat_map(|block| opaque(block)).map(|(key, text)| estimate(key, text));
        hidden = beside.fold(hidden.saturating_add(signed), u32::saturating_add);
    }
    let reported = usage.and_then(|usage| usage.reasoning_tokens).filter(|_| has_hidden);
    match reported {
        Some(reported) => reported.max(shown),
        None => shown.saturating_add(hidden),
    }
}

/// Raw tokens of a provider's own block: its JSON, and what is estimated of the texts that only the provider can read.
pub(crate) fn raw_block(wire: &Value, counter: &dyn TokenCount) -> u32 {
    let mut readable = wire.clone();
    let hidden = take_opaque(&mut readable);
    counter.count(&readable.to_string()).saturating_add(hidden)
}

/// Empties the opaque texts in a value; what they weigh.
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
    /// Notes what the thinking in it weighs; what is known of the prompt that it followed stays. Whether it has any.
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

    /// What is known of its thinking; nothing where it has none.
    pub fn thought(&self) -> Option<&Thought> {
        match self {
            Body::Assistant { beside, .. } => beside.thought.as_ref(),
            Body::User(_) | Body::Tool(_) | Body::Event { .. } => None,
        }
    }

    /// Whether something in it was weighed with its opaque texts, as it was once.
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
    fn weighing_keeps_what_is_known_of_the_prompt() {
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
