//! Parser of the `streamGenerateContent` stream. The request body is in the parent module.

use super::{OF_CALL, OWN_PART, SIGNATURE};
use crate::error::Refusal;
use crate::wire::calls::Calls;
use crate::wire::{Reader, append, ended_early, extra, json_of, list_of, number_of, text_of};
use crate::{ModelError, OnProgress, Progress};
use engine::delta::Delta;
use engine::message::Usage;
use engine::prompt::request::{Answer, StopReason};
use serde_json::{Map, Value, json};

/// The first candidate of an answer being parsed; no other is requested.
#[derive(Debug, Default)]
pub(in crate::wire) struct Candidate {
    calls: Calls,
    /// Signed parts so far; numbers their blocks.
    signed: u64,
    usage: Option<Usage>,
    stop: Option<StopReason>,
}

/// Reasons for an end that the provider's filters give.
const FILTERED: &[&str] = &[
    "SAFETY",
    "RECITATION",
    "LANGUAGE",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "ESCALATION",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
];

/// Reasons for an end in which the model failed: the same request may succeed.
const FAILED: &[&str] = &["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"];

impl Reader for Candidate {
    fn event(&mut self, event: &str, hear: OnProgress<'_>) -> Result<(), ModelError> {
        let Some(event) = json_of(event)? else { return Ok(()) };
        // Without server-sent events the chunks come as a list, and so do errors.
        match event.as_array() {
            Some(chunks) => chunks.iter().try_for_each(|chunk| self.chunk(chunk, hear)),
            None => self.chunk(&event, hear),
        }
    }

    fn is_over(&self) -> bool {
        // The counts stand in the last chunk, or behind it.
        self.stop.is_some() && self.usage.is_some()
    }

    fn end(self: Box<Self>) -> Result<Answer, ModelError> {
        let stop = self.stop.ok_or_else(ended_early)?;
        Ok(Answer { parts: None, calls: None, stop, usage: self.usage })
    }
}

impl Candidate {
    fn chunk(&mut self, chunk: &Value, hear: OnProgress<'_>) -> Result<(), ModelError> {
        if chunk.get("error").is_some_and(|error| !error.is_null()) {
            return Err(Refusal::in_stream(chunk).class());
        }
        let candidate = list_of(chunk, "candidates").first().unwrap_or(&Value::Null);
        for part in candidate.get("content").map(|content| list_of(content, "parts")).unwrap_or_default() {
            self.part(part, hear);
        }
        // Each chunk repeats the counts so far.
        self.usage = chunk.get("usageMetadata").and_then(usage).or(self.usage);
        if let Some(reason) = text_of(candidate, "finishReason") {
            self.finish(reason, text_of(candidate, "finishMessage"), hear)?;
        }
        let blocked = chunk.pointer("/promptFeedback/blockReason").and_then(Value::as_str);
        if let Some(reason) = blocked.filter(|_| self.stop.is_none()) {
            extra("stopDetails", json!({ "blockReason": reason }), hear);
            self.stop = Some(StopReason::Refused);
        }
        if let Some(usage) = self.usage.filter(|_| self.stop.is_some()) {
            hear(Progress::Delta(Delta::SetUsage(usage)));
        }
        Ok(())
    }

    /// Adds a part. A signature belongs to exactly its part, and is stored with its place.
    fn part(&mut self, part: &Value, hear: OnProgress<'_>) {
        let signature = text_of(part, "thoughtSignature").filter(|signature| !signature.is_empty());
        let is_thought = part.get("thought").and_then(Value::as_bool) == Some(true);
        if let Some(call) = part.get("functionCall") {
            let at = self.calls.len();
            let id = text_of(call, "id").filter(|id| !id.is_empty());
            self.calls.add_whole(id, text_of(call, "name").unwrap_or_default(), call.get("args"), hear);
            self.sign(signature, &[("type", json!(SIGNATURE)), (OF_CALL, json!(at))], hear);
        } else if let Some(text) = text_of(part, "text") {
            if is_thought {
                append(Delta::AppendReasoning, text, hear);
                self.sign(signature, &[("type", json!("thinking"))], hear);
            } else {
                append(Delta::AppendContent, text, hear);
                let is_apart = text.is_empty().then_some((OWN_PART, json!(true)));
                let fields = [("type", json!(SIGNATURE))].into_iter().chain(is_apart);
                self.sign(signature, &fields.collect::<Vec<_>>(), hear);
            }
        } else if part.is_object() {
            hear(Progress::Delta(Delta::AddServerContentBlock(part.clone())));
        }
    }

    fn sign(&mut self, signature: Option<&str>, fields: &[(&str, Value)], hear: OnProgress<'_>) {
        let Some(signature) = signature else { return };
        let mut block: Map<String, Value> =
            fields.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        block.insert("index".to_owned(), json!(self.signed));
        block.insert("signature".to_owned(), json!(signature));
        self.signed += 1;
        hear(Progress::Delta(Delta::SetThinkingBlocks(vec![block])));
    }

    fn finish(&mut self, reason: &str, why: Option<&str>, hear: OnProgress<'_>) -> Result<(), ModelError> {
        let stop = match reason {
            "STOP" if self.calls.is_empty() => StopReason::End,
            "STOP" => StopReason::ToolUse,
            // One request streams no more than this; the answer would go on in another one.
            "MAX_TOKENS" | "CONTINUATION" => StopReason::Length,
            _ if FILTERED.contains(&reason) => StopReason::Refused,
            _ if FAILED.contains(&reason) => {
                let why = why.map(|why| format!(": {why}")).unwrap_or_default();
                let reason = format!("the model's answer was malformed ({reason}{why})");
                return Err(ModelError::Overloaded { status: None, retry_after_ms: None, reason });
            }
            "MISSING_THOUGHT_SIGNATURE" => {
                let reason = why.unwrap_or("a tool call lacks its thought signature").to_owned();
                return Err(ModelError::BadRequest { status: None, reason });
            }
            _ if self.calls.is_empty() => StopReason::End,
            _ => StopReason::ToolUse,
        };
        if !matches!(reason, "STOP" | "MAX_TOKENS") {
            extra("stopReason", json!(reason), hear);
        }
        if let Some(why) = why {
            extra("stopDetails", json!({ "explanation": why }), hear);
        }
        self.stop = Some(stop);
        Ok(())
    }
}

/// The counts of a chunk. The prompt includes cached tokens; thinking is counted beside the candidates.
fn usage(counts: &Value) -> Option<Usage> {
    let thought = number_of(counts, "thoughtsTokenCount");
    let said = number_of(counts, "candidatesTokenCount");
    let usage = Usage {
        input_tokens: number_of(counts, "promptTokenCount"),
        output_tokens: [said, thought].into_iter().flatten().reduce(u32::saturating_add),
        cached_input_tokens: number_of(counts, "cachedContentTokenCount"),
        reasoning_tokens: thought,
        ..Usage::default()
    };
    (usage != Usage::default()).then_some(usage)
}
