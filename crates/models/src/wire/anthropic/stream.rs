//! Parser of the Messages stream. The request body is in the parent module.

use crate::error::Refusal;
use crate::wire::calls::Calls;
use crate::wire::{Reader, append, cannot_be_read, ended_early, extra, has_any, json_of, number_of, text_of};
use crate::{ModelError, OnProgress, Progress};
use engine::delta::Delta;
use engine::message::{RUNS, Usage};
use engine::prompt::request::{Answer, StopReason};
use engine::text::json;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// An answer being parsed.
#[derive(Debug, Default)]
pub(in crate::wire) struct Messages {
    /// Incomplete blocks, by index.
    open: BTreeMap<u64, Block>,
    calls: Calls,
    used: Used,
    stop: Option<String>,
    is_over: bool,
}

/// The kind of an incomplete block.
#[derive(Debug)]
enum Block {
    /// Text or thinking; its deltas hold all of it.
    Words,
    /// A tool call.
    Call,
    /// A block that the provider makes on its own; handed on once complete.
    Servers {
        block: Map<String, Value>,
        /// The arguments, as JSON text.
        input: String,
    },
}

impl Reader for Messages {
    fn event(&mut self, event: &str, hear: OnProgress<'_>) -> Result<(), ModelError> {
        let Some(event) = json_of(event)? else { return Ok(()) };
        match text_of(&event, "type").unwrap_or_default() {
            "message_start" => {
                let Some(message) = event.get("message") else { return Ok(()) };
                if let Some(usage) = message.get("usage") {
                    self.used(usage, hear);
                }
                transformed(message, hear);
            }
            "content_block_start" => {
                let block = event.get("content_block").and_then(Value::as_object);
                let block = block.ok_or_else(|| cannot_be_read(&event.to_string()))?;
                self.begin(index(&event)?, block.clone(), hear);
            }
            "content_block_delta" => {
                let delta = event.get("delta").ok_or_else(|| cannot_be_read(&event.to_string()))?;
                self.more(index(&event)?, delta, hear)?;
            }
            "content_block_stop" => self.whole(index(&event)?, hear),
            "message_delta" => self.ending(&event, hear),
            "message_stop" => {
                while let Some((index, _)) = self.open.first_key_value() {
                    self.whole(*index, hear);
                }
                self.is_over = true;
            }
            // Some servers send an error without a type in place of an event.
            _ if event.get("error").is_some_and(|error| !error.is_null()) => {
                return Err(Refusal::in_stream(&event).class());
            }
            // A ping, or an event of a later version.
            _ => {}
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn end(self: Box<Self>) -> Result<Answer, ModelError> {
        if !self.is_over {
            return Err(ended_early());
        }
        let stop = match self.stop.as_deref() {
            Some("tool_use") => StopReason::ToolUse,
            // The window filled up during the answer: the same as an output limit.
            Some("max_tokens" | "model_context_window_exceeded") => StopReason::Length,
            Some("refusal") => StopReason::Refused,
            None | Some("pause_turn") if !self.calls.is_empty() => StopReason::ToolUse,
            Some("pause_turn") => StopReason::Paused,
            _ => StopReason::End,
        };
        Ok(Answer { parts: None, calls: None, stop, usage: self.used.usage() })
    }
}

impl Messages {
    fn used(&mut self, usage: &Value, hear: OnProgress<'_>) {
        self.used.take(usage);
        if self.used.runs > 1 {
            extra(RUNS, json!(self.used.runs), hear);
        }
        if let Some(usage) = self.used.usage() {
            hear(Progress::Delta(Delta::SetUsage(usage)));
        }
    }

    fn begin(&mut self, index: u64, mut block: Map<String, Value>, hear: OnProgress<'_>) {
        let text = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let open = match &*text("type") {
            "text" => {
                append(Delta::AppendContent, &text("text"), hear);
                Block::Words
            }
            "thinking" | "redacted_thinking" => {
                block.insert("index".to_owned(), json!(index));
                hear(Progress::Delta(Delta::SetThinkingBlocks(vec![block])));
                Block::Words
            }
            "tool_use" => {
                let (id, name) = (text("id"), text("name"));
                let id = Some(&*id).filter(|id| !id.is_empty());
                // An empty object only opens the call.
                let input =
                    block.get("input").filter(|input| input.as_object().is_some_and(|of| !of.is_empty()));
                self.calls.add(Some(index), id, Some(&name), input, hear);
                Block::Call
            }
            _ => Block::Servers { block, input: String::new() },
        };
        self.open.insert(index, open);
    }

    fn more(&mut self, index: u64, delta: &Value, hear: OnProgress<'_>) -> Result<(), ModelError> {
        let text = |name: &str| text_of(delta, name).unwrap_or_default();
        match (text("type"), self.open.get_mut(&index)) {
            ("input_json_delta", Some(Block::Call)) => {
                self.calls.add(Some(index), None, None, delta.get("partial_json"), hear);
            }
            ("input_json_delta", Some(Block::Servers { input, .. })) => input.push_str(text("partial_json")),
            ("input_json_delta", _) => return Err(cannot_be_read(&delta.to_string())),
            (_, Some(Block::Servers { block, .. })) => grow(block, delta),
            ("text_delta", _) => append(Delta::AppendContent, text("text"), hear),
            ("thinking_delta", _) => append(Delta::AppendReasoning, text("thinking"), hear),
            ("signature_delta", _) => {
                let block = [
                    ("type", json!("thinking")),
                    ("index", json!(index)),
                    ("signature", json!(text("signature"))),
                ];
                let block = block.map(|(key, value)| (key.to_owned(), value)).into_iter().collect();
                hear(Progress::Delta(Delta::SetThinkingBlocks(vec![block])));
            }
            ("citations_delta", _) => {
                if let Some(citation) = delta.get("citation") {
                    hear(Progress::Delta(Delta::AddCitation(citation.clone())));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, index: u64, hear: OnProgress<'_>) {
        match self.open.remove(&index) {
            Some(Block::Call) => self.calls.whole(index, None, hear),
            Some(Block::Servers { mut block, input }) => {
                if let Ok(input) = json::read::<Value>(&input) {
                    block.insert("input".to_owned(), input);
                }
                let told = told(&block);
                hear(Progress::Delta(Delta::AddServerContentBlock(Value::Object(block))));
                if let Some((key, value)) = told {
                    extra(key, value, hear);
                }
            }
            Some(Block::Words) | None => {}
        }
    }

    fn ending(&mut self, event: &Value, hear: OnProgress<'_>) {
        if let Some(usage) = event.get("usage") {
            self.used(usage, hear);
        }
        let Some(delta) = event.get("delta") else { return };
        transformed(delta, hear);
        if let Some(stop) = text_of(delta, "stop_reason") {
            self.stop = Some(stop.to_owned());
            if !matches!(stop, "end_turn" | "tool_use" | "max_tokens" | "refusal") {
                extra("stopReason", json!(stop), hear);
            }
        }
        if let Some(details) = delta.get("stop_details").filter(|details| !details.is_null()) {
            extra("stopDetails", details.clone(), hear);
        }
    }
}

/// Returns what a client tells of a provider's block, with its key: a compaction with its summary if that can be read,
/// unless it failed, and the models between which an answer passed.
fn told(block: &Map<String, Value>) -> Option<(&'static str, Value)> {
    match block.get("type").and_then(Value::as_str)? {
        "compaction" => {
            let summary = block.get("content").and_then(Value::as_str);
            let is_made = summary.is_some() || block.get("encrypted_content").is_some_and(Value::is_string);
            let summary = summary.map(|summary| ("summary".to_owned(), json!(summary)));
            is_made.then(|| ("serverCompaction", Value::Object(Map::from_iter(summary))))
        }
        "fallback" => {
            let models = ["from", "to", "trigger"].into_iter();
            let models = models.filter_map(|key| Some((key.to_owned(), block.get(key)?.clone())));
            Some(("fallback", Value::Object(models.collect())))
        }
        _ => None,
    }
}

/// Hands on what the provider changed in the prompt, such as thinking that it left out.
fn transformed(of: &Value, hear: OnProgress<'_>) {
    if let Some(changes) = of.get("input_transformations").filter(|changes| has_any(changes)) {
        extra("inputTransformations", changes.clone(), hear);
    }
}

/// Merges a delta into a provider's block: strings are appended, other values replaced.
fn grow(block: &mut Map<String, Value>, delta: &Value) {
    let pieces = delta.as_object().into_iter().flatten().filter(|(key, _)| *key != "type");
    for (key, piece) in pieces {
        match (block.get_mut(key), piece) {
            (Some(Value::String(known)), Value::String(piece)) => known.push_str(piece),
            _ => drop(block.insert(key.clone(), piece.clone())),
        }
    }
}

fn index(event: &Value) -> Result<u64, ModelError> {
    event.get("index").and_then(Value::as_u64).ok_or_else(|| cannot_be_read(&event.to_string()))
}

/// The last reported counters. `input` excludes tokens read from and written to the cache; the prompt
/// includes them.
#[derive(Debug, Default, Clone, Copy)]
struct Used {
    input: Option<u32>,
    written: Option<u32>,
    cached: Option<u32>,
    output: Option<u32>,
    thought: Option<u32>,
    /// Times that the model ran, if the report states them.
    runs: usize,
}

impl Used {
    /// Merges a report. When the provider compacts on its own, the model runs several times, each reported in
    /// `iterations`: the prompt is the largest of them, the output their sum.
    fn take(&mut self, usage: &Value) {
        let later = Self::of(usage);
        *self = Self {
            input: later.input.or(self.input),
            written: later.written.or(self.written),
            cached: later.cached.or(self.cached),
            output: later.output.or(self.output),
            thought: later.thought.or(self.thought),
            runs: self.runs,
        };
        let each: Vec<Self> =
            usage.get("iterations").and_then(Value::as_array).into_iter().flatten().map(Self::of).collect();
        if let Some(largest) = each.iter().max_by_key(|used| used.prompt()) {
            let output = each.iter().filter_map(|used| used.output).reduce(u32::saturating_add);
            let thought = each.iter().filter_map(|used| used.thought).reduce(u32::saturating_add);
            let (output, thought) = (output.or(self.output), thought.or(self.thought));
            *self = Self { output, thought, runs: each.len(), ..*largest };
        }
    }

    fn of(usage: &Value) -> Self {
        Self {
            input: number_of(usage, "input_tokens"),
            written: number_of(usage, "cache_creation_input_tokens"),
            cached: number_of(usage, "cache_read_input_tokens"),
            output: number_of(usage, "output_tokens"),
            thought: usage
                .get("output_tokens_details")
                .and_then(|details| number_of(details, "thinking_tokens")),
            runs: 0,
        }
    }

    fn prompt(&self) -> Option<u32> {
        [self.input, self.written, self.cached].into_iter().flatten().reduce(u32::saturating_add)
    }

    fn usage(&self) -> Option<Usage> {
        let usage = Usage {
            input_tokens: self.prompt(),
            output_tokens: self.output,
            cached_input_tokens: self.cached,
            cache_write_input_tokens: self.written,
            reasoning_tokens: self.thought,
        };
        (usage != Usage::default()).then_some(usage)
    }
}
