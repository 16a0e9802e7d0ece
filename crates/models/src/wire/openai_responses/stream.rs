//! Parser of the Responses stream. The request body is in the parent module.

use super::{CALLS_BEFORE, PHASE};
use crate::error::Refusal;
use crate::wire::calls::Calls;
use crate::wire::{
    Reader, append, cannot_be_read, count_of, ended_early, extra, has_any, json_of, number_of, text_of,
};
use crate::{ModelError, OnProgress, Progress};
use engine::delta::Delta;
use engine::message::Usage;
use engine::prompt::request::{Answer, StopReason};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// An answer being parsed.
#[derive(Debug, Default)]
pub(in crate::wire) struct Responses {
    /// Items so far, by `output_index`.
    items: BTreeMap<u64, Item>,
    calls: Calls,
    is_refusal: bool,
    usage: Option<Usage>,
    ended: Option<Ended>,
}

/// An incomplete item.
#[derive(Debug)]
enum Item {
    /// Text of the answer.
    Message {
        /// `true` if some of it was streamed.
        is_heard: bool,
        /// Calls of the answer before it.
        calls: usize,
    },
    /// Thinking.
    Thought {
        /// `true` if some of it was streamed.
        is_heard: bool,
    },
    /// A tool call.
    Call,
    /// An item that the provider makes on its own; handed on once complete.
    Servers,
}

/// The provider's end marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    Whole,
    Cut,
    Filtered,
}

impl Reader for Responses {
    fn event(&mut self, event: &str, hear: OnProgress<'_>) -> Result<(), ModelError> {
        let Some(event) = json_of(event)? else { return Ok(()) };
        let text = |name: &str| text_of(&event, name).unwrap_or_default();
        match text("type") {
            "response.output_item.added" => self.begin(place(&event)?, item(&event)?, hear),
            "response.output_item.done" => self.whole(place(&event)?, item(&event)?, hear),
            "response.output_text.delta" => self.words(place(&event)?, text("delta"), hear),
            "response.refusal.delta" => {
                self.is_refusal = true;
                self.words(place(&event)?, text("delta"), hear);
            }
            "response.output_text.annotation.added" => {
                if let Some(annotation) = event.get("annotation") {
                    hear(Progress::Delta(Delta::AddCitation(annotation.clone())));
                }
            }
            // Each part after the first begins a paragraph.
            "response.reasoning_summary_part.added"
                if number_of(&event, "summary_index").is_some_and(|at| at > 0) =>
            {
                self.thinking(place(&event)?, "\n\n", hear);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.thinking(place(&event)?, text("delta"), hear);
            }
            "response.function_call_arguments.delta" => {
                let at = place(&event)?;
                if !matches!(self.items.get(&at), Some(Item::Call)) {
                    return Err(cannot_be_read(&event.to_string()));
                }
                self.calls.add(Some(at), None, None, event.get("delta"), hear);
            }
            "response.completed" => self.over(&event, Ended::Whole, hear),
            "response.incomplete" => {
                let details = event.pointer("/response/incomplete_details/reason").and_then(Value::as_str);
                let is_filtered = details == Some("content_filter");
                self.over(&event, if is_filtered { Ended::Filtered } else { Ended::Cut }, hear);
            }
            "response.failed" | "error" => return Err(refused(&event)),
            // Some servers send an error without a type in place of an event.
            _ if event.get("error").is_some_and(|error| !error.is_null()) => return Err(refused(&event)),
            // Events that repeat what is known, or of a later version.
            _ => {}
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.ended.is_some()
    }

    fn end(self: Box<Self>) -> Result<Answer, ModelError> {
        let stop = match self.ended.ok_or_else(ended_early)? {
            Ended::Filtered => StopReason::Refused,
            Ended::Cut => StopReason::Length,
            Ended::Whole if self.is_refusal => StopReason::Refused,
            Ended::Whole if self.calls.is_empty() => StopReason::End,
            Ended::Whole => StopReason::ToolUse,
        };
        Ok(Answer { parts: None, calls: None, stop, usage: self.usage })
    }
}

impl Responses {
    fn begin(&mut self, at: u64, item: &Map<String, Value>, hear: OnProgress<'_>) {
        let text = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default();
        let begun = match text("type") {
            "message" => Item::Message { is_heard: false, calls: self.calls.len() },
            "reasoning" => {
                // The encrypted content is complete only in the final event.
                let known = item.iter().filter(|(key, _)| matches!(key.as_str(), "type" | "id"));
                let mut block: Map<String, Value> =
                    known.map(|(key, value)| (key.clone(), value.clone())).collect();
                block.insert("index".to_owned(), json!(at));
                let before = self.calls.len();
                if before > 0 {
                    block.insert(CALLS_BEFORE.to_owned(), json!(before));
                }
                hear(Progress::Delta(Delta::SetThinkingBlocks(vec![block])));
                Item::Thought { is_heard: false }
            }
            "function_call" => {
                let id = Some(text("call_id")).filter(|id| !id.is_empty());
                self.calls.add(Some(at), id, Some(text("name")), item.get("arguments"), hear);
                Item::Call
            }
            _ => Item::Servers,
        };
        self.items.insert(at, begun);
    }

    /// Completes an item. It is repeated in full, so what was not streamed is taken from it.
    fn whole(&mut self, at: u64, item: &Map<String, Value>, hear: OnProgress<'_>) {
        if !self.items.contains_key(&at) {
            self.begin(at, item, hear);
        }
        match self.items.get(&at) {
            Some(&Item::Message { is_heard, calls }) => {
                let mut has_words = is_heard;
                for part in list(item, "content").filter(|_| !is_heard) {
                    self.is_refusal |= part.get("refusal").is_some();
                    let text = text_of(part, "text").or_else(|| text_of(part, "refusal")).unwrap_or_default();
                    has_words |= !text.is_empty();
                    append(Delta::AppendContent, text, hear);
                }
                if has_words {
                    note(item, calls, hear);
                }
            }
            Some(Item::Thought { is_heard }) => {
                if !is_heard {
                    let parts = list(item, "summary").chain(list(item, "content"));
                    let texts: Vec<&str> = parts.filter_map(|part| text_of(part, "text")).collect();
                    append(Delta::AppendReasoning, &texts.join("\n\n"), hear);
                }
                let mut block = item.clone();
                block.insert("index".to_owned(), json!(at));
                hear(Progress::Delta(Delta::SetThinkingBlocks(vec![block])));
            }
            Some(Item::Call) => {
                self.calls.whole(at, item.get("arguments").and_then(Value::as_str), hear);
            }
            Some(Item::Servers) => {
                hear(Progress::Delta(Delta::AddServerContentBlock(Value::Object(item.clone()))));
                if item.get("type").is_some_and(|kind| kind == "compaction") {
                    // Its summary is encrypted.
                    extra("serverCompaction", json!({}), hear);
                }
            }
            None => {}
        }
    }

    fn words(&mut self, at: u64, text: &str, hear: OnProgress<'_>) {
        let (was_heard, calls) = match self.items.get(&at) {
            Some(Item::Message { is_heard, calls }) => (*is_heard, *calls),
            _ => (false, self.calls.len()),
        };
        self.items.insert(at, Item::Message { is_heard: was_heard || !text.is_empty(), calls });
        append(Delta::AppendContent, text, hear);
    }

    fn thinking(&mut self, at: u64, text: &str, hear: OnProgress<'_>) {
        self.items.insert(at, Item::Thought { is_heard: true });
        append(Delta::AppendReasoning, text, hear);
    }

    fn over(&mut self, event: &Value, ended: Ended, hear: OnProgress<'_>) {
        self.ended = Some(ended);
        let changes = event.pointer("/response/input_transformations").filter(|changes| has_any(changes));
        if let Some(changes) = changes {
            extra("inputTransformations", changes.clone(), hear);
        }
        let Some(used) = event.pointer("/response/usage").filter(|usage| usage.is_object()) else { return };
        let within = |of: &str, name: &str| used.get(of).and_then(|details| number_of(details, name));
        let usage = Usage {
            input_tokens: number_of(used, "input_tokens"),
            output_tokens: number_of(used, "output_tokens"),
            cached_input_tokens: within("input_tokens_details", "cached_tokens"),
            cache_write_input_tokens: within("input_tokens_details", "cache_write_tokens"),
            reasoning_tokens: within("output_tokens_details", "reasoning_tokens"),
        };
        self.usage = Some(usage);
        hear(Progress::Delta(Delta::SetUsage(usage)));
    }
}

/// Notes what belongs to a text beside its words: its phase, without which the next answer gets worse, and the calls
/// before it.
fn note(item: &Map<String, Value>, calls: usize, hear: OnProgress<'_>) {
    let mut note = Map::from_iter([("type".to_owned(), json!("message"))]);
    note.extend(
        item.get(PHASE).filter(|phase| phase.is_string()).map(|phase| (PHASE.to_owned(), phase.clone())),
    );
    note.extend((calls > 0).then(|| (CALLS_BEFORE.to_owned(), json!(calls))));
    if note.len() > 1 {
        hear(Progress::Delta(Delta::AddServerContentBlock(Value::Object(note))));
    }
}

/// An error event. Over a socket, its `status` is the HTTP status that a POST would have had.
fn refused(event: &Value) -> ModelError {
    let status = event.get("status").and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok());
    Refusal { status: status.unwrap_or(200), ..Refusal::in_stream(event) }.class()
}

fn list<'a>(item: &'a Map<String, Value>, key: &str) -> impl Iterator<Item = &'a Value> {
    item.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn place(event: &Value) -> Result<u64, ModelError> {
    count_of(event, "output_index").ok_or_else(|| cannot_be_read(&event.to_string()))
}

fn item(event: &Value) -> Result<&Map<String, Value>, ModelError> {
    event.get("item").and_then(Value::as_object).ok_or_else(|| cannot_be_read(&event.to_string()))
}
