//! Parser of the Chat Completions stream. Servers differ, so everything that one of them omits is optional:
//! ids, indexes, a separate chunk for usage, `[DONE]`.

use super::super::calls::Calls;
use super::super::{Reader, append, cannot_be_read, count_of, ended_early, list_of, number_of, text_of};
use crate::error::Refusal;
use crate::{ModelError, OnProgress, Progress};
use engine::delta::Delta;
use engine::message::Usage;
use engine::prompt::request::{Answer, StopReason};
use engine::text::json;
use serde_json::{Map, Value};

/// Prefix of the block types under `reasoning_details`.
pub(super) const DETAIL: &str = "reasoning.";
/// The type of blocks whose `text` is the thinking.
pub(super) const DETAIL_TEXT: &str = "reasoning.text";

/// Finish reasons; one that is not listed is a normal end.
const STOPS: &[(&str, StopReason)] = &[
    ("length", StopReason::Length),
    ("max_tokens", StopReason::Length),
    ("model_length", StopReason::Length),
    ("tool_calls", StopReason::ToolUse),
    ("function_call", StopReason::ToolUse),
    ("content_filter", StopReason::Refused),
    ("sensitive", StopReason::Refused),
];
/// Finish reasons that are server failures.
const FAILURES: &[&str] = &["error", "network_error", "insufficient_system_resource"];

/// Parser of the Chat Completions stream.
#[derive(Debug, Default)]
pub struct Chat {
    calls: Calls,
    /// Thinking blocks so far.
    details: Vec<Map<String, Value>>,
    /// `true` if `details` has changes that were not handed on.
    has_news: bool,
    citations: Vec<Value>,
    is_refused: bool,
    stop: Option<StopReason>,
    is_over: bool,
}

impl Reader for Chat {
    fn event(&mut self, event: &str, hear: OnProgress<'_>) -> Result<(), ModelError> {
        let event = event.trim();
        if event == "[DONE]" {
            self.tell_details(hear);
            self.is_over = true;
            return Ok(());
        }
        if event.is_empty() {
            return Ok(());
        }
        let chunk: Value = json::read(event).map_err(|_| cannot_be_read(event))?;
        // Some servers wrap the object in a list.
        if is_error(chunk.get(0).unwrap_or(&chunk)) {
            return Err(Refusal::in_stream(&chunk).class());
        }
        if !chunk.is_object() {
            return Err(cannot_be_read(event));
        }
        // A list beside the answer that every chunk repeats.
        for citation in list_of(&chunk, "citations") {
            self.cite(citation, hear);
        }
        for choice in
            list_of(&chunk, "choices").iter().filter(|choice| count_of(choice, "index").unwrap_or(0) == 0)
        {
            self.choice(choice, hear)?;
        }
        if let Some(usage) = chunk.get("usage").filter(|usage| usage.is_object()) {
            hear(Progress::Delta(Delta::SetUsage(used(usage))));
            if let Some(cost) = usage.get("cost").filter(|cost| cost.is_number()) {
                let extra = [("cost".to_owned(), cost.clone())].into_iter().collect();
                hear(Progress::Delta(Delta::MergeExtra(extra)));
            }
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn end(self: Box<Self>) -> Result<Answer, ModelError> {
        let stop = match self.stop.ok_or_else(ended_early)? {
            _ if self.is_refused => StopReason::Refused,
            StopReason::End if !self.calls.is_empty() => StopReason::ToolUse,
            stop => stop,
        };
        Ok(Answer { parts: None, calls: None, stop, usage: None })
    }
}

impl Chat {
    fn choice(&mut self, choice: &Value, hear: OnProgress<'_>) -> Result<(), ModelError> {
        if is_error(choice) {
            return Err(Refusal::in_stream(choice).class());
        }
        // A server that does not stream sends a whole `message`.
        let said = choice.get("delta").filter(|delta| delta.is_object()).or_else(|| choice.get("message"));
        if let Some(said) = said {
            self.thought(said, hear);
            self.said(said, hear);
            self.asked(said, hear);
            for annotation in list_of(said, "annotations") {
                self.cite(annotation, hear);
            }
        }
        match text(choice, "finish_reason") {
            None => Ok(()),
            Some(reason) if FAILURES.contains(&reason) => {
                let reason = format!("the answer ended with {reason:?}");
                Err(ModelError::Overloaded { status: None, retry_after_ms: None, reason })
            }
            Some(reason) => {
                self.tell_details(hear);
                let known = STOPS.iter().find(|(known, _)| *known == reason);
                let stop = known.map_or(StopReason::End, |(_, stop)| *stop);
                if stop != StopReason::Length {
                    self.calls.close(hear);
                }
                self.stop = Some(stop);
                Ok(())
            }
        }
    }

    fn thought(&mut self, said: &Value, hear: OnProgress<'_>) {
        // Some servers send the same text under both names.
        let mut thought =
            text(said, "reasoning").or_else(|| text(said, "reasoning_content")).map(str::to_owned);
        for detail in list_of(said, "reasoning_details").iter().filter_map(Value::as_object) {
            self.has_news = true;
            add_detail(&mut self.details, detail);
        }
        if thought.is_none() {
            let details = list_of(said, "reasoning_details");
            let texts = details.iter().filter_map(|detail| text(detail, "text").or(text(detail, "summary")));
            thought = Some(texts.collect());
        }
        append(Delta::AppendReasoning, &thought.unwrap_or_default(), hear);
    }

    fn said(&mut self, said: &Value, hear: OnProgress<'_>) {
        match said.get("content") {
            Some(Value::String(content)) => self.say(content, hear),
            Some(Value::Array(parts)) => {
                for part in parts {
                    let thinking = list_of(part, "thinking");
                    let thought: String = thinking.iter().filter_map(|part| text(part, "text")).collect();
                    append(Delta::AppendReasoning, &thought, hear);
                    self.say(text(part, "text").unwrap_or_default(), hear);
                }
            }
            _ => {}
        }
        if let Some(refusal) = text(said, "refusal") {
            self.is_refused = true;
            self.say(refusal, hear);
        }
    }

    fn say(&mut self, content: &str, hear: OnProgress<'_>) {
        if !content.is_empty() {
            self.tell_details(hear);
            hear(Progress::Delta(Delta::AppendContent(content.to_owned())));
        }
    }

    fn asked(&mut self, said: &Value, hear: OnProgress<'_>) {
        let old = said.get("function_call").filter(|call| call.is_object());
        let calls = list_of(said, "tool_calls");
        if !calls.is_empty() || old.is_some() {
            self.tell_details(hear);
        }
        for call in calls {
            let function = call.get("function").unwrap_or(call);
            let id = text(call, "id");
            self.calls.add(
                count_of(call, "index"),
                id,
                text(function, "name"),
                function.get("arguments"),
                hear,
            );
        }
        if let Some(call) = old {
            self.calls.add(Some(0), None, text(call, "name"), call.get("arguments"), hear);
        }
    }

    fn cite(&mut self, citation: &Value, hear: OnProgress<'_>) {
        if !self.citations.contains(citation) {
            self.citations.push(citation.clone());
            hear(Progress::Delta(Delta::AddCitation(citation.clone())));
        }
    }

    /// Hands on the thinking blocks as they are now; a block replaces its text that was streamed before.
    /// Called where other content begins and not for each piece, so that long thinking costs linear time.
    fn tell_details(&mut self, hear: OnProgress<'_>) {
        if std::mem::take(&mut self.has_news) {
            hear(Progress::Delta(Delta::SetThinkingBlocks(self.details.clone())));
        }
    }
}

/// Merges a piece into the block of its type and index. Text is appended; of other fields the later value
/// counts.
fn add_detail(details: &mut Vec<Map<String, Value>>, piece: &Map<String, Value>) {
    let key = |detail: &Map<String, Value>| (detail.get("type").cloned(), detail.get("index").cloned());
    let Some(known) = details.iter_mut().find(|known| key(known) == key(piece)) else {
        details.push(piece.clone());
        return;
    };
    for (name, value) in piece {
        match (known.get_mut(name), value) {
            (Some(Value::String(so_far)), Value::String(more)) if matches!(&**name, "text" | "summary") => {
                so_far.push_str(more);
            }
            (Some(_), Value::Null) => {}
            (_, value) => drop(known.insert(name.clone(), value.clone())),
        }
    }
}

/// `true` for the error forms of the various servers, whatever the status is.
fn is_error(value: &Value) -> bool {
    let says = |key: &str| text(value, key) == Some("error");
    value.get("error").is_some_and(|error| !error.is_null()) || says("object") || says("type")
}

fn used(usage: &Value) -> Usage {
    let within = |details, key| usage.get(details).and_then(|details| number_of(details, key));
    Usage {
        input_tokens: number_of(usage, "prompt_tokens"),
        output_tokens: number_of(usage, "completion_tokens"),
        // One number under three names; the prompt's count includes it.
        cached_input_tokens: within("prompt_tokens_details", "cached_tokens")
            .or_else(|| number_of(usage, "prompt_cache_hit_tokens"))
            .or_else(|| number_of(usage, "cached_tokens")),
        cache_write_input_tokens: within("prompt_tokens_details", "cache_write_tokens"),
        reasoning_tokens: within("completion_tokens_details", "reasoning_tokens"),
    }
}

/// The string under a key, unless it is empty.
fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    text_of(value, key).filter(|text| !text.is_empty())
}
