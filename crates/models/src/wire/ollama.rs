//! Ollama's native chat: the request body and the parser of its lines. Its OpenAI-compatible endpoint is
//! `openai_chat`'s.

use super::calls::Calls;
use super::content::{self, Picture, Piece};
use super::joined::{Joined, join};
use super::openai_chat::function;
use super::{Post, Reader, Terms, cannot_be_read, ended_early, number_of};
use crate::error::Refusal;
use crate::{ModelError, OnProgress, Progress};
use engine::delta::Delta;
use engine::endpoint::options::{RequestOptions, Thinking};
use engine::message::Usage;
use engine::prompt::item::Item;
use engine::prompt::request::{Answer, Request, StopReason, ToolChoice};
use engine::text::json;
use serde_json::{Map, Value, json};

/// Builds the request for Ollama.
///
/// The window is always sent: the server's default is small. `truncate` and `shift` make an oversized prompt
/// an error: by default the server silently drops its beginning. Servers that do not know these fields ignore
/// them.
pub fn post(request: &Request, terms: &Terms, options: &RequestOptions) -> Post {
    let mut parameters = Map::new();
    parameters.insert("num_ctx".into(), terms.window.into());
    if let Some(most) = content::most_output(request, terms, options) {
        parameters.insert("num_predict".into(), most.into());
    }
    if request.temperature_zero {
        parameters.insert("temperature".into(), 0.into());
    }
    let mut body = Map::new();
    body.insert("model".into(), terms.model.as_str().into());
    body.insert("messages".into(), messages(request, terms.images).into());
    // Ollama has no `tool_choice`: tools that must not be used are left out.
    if !request.tools.is_empty() && request.tool_choice != ToolChoice::None {
        body.insert("tools".into(), request.tools.iter().map(function).collect());
    }
    body.insert("stream".into(), true.into());
    body.insert("truncate".into(), false.into());
    body.insert("shift".into(), false.into());
    if let Some(think) = think(request, terms, options) {
        body.insert("think".into(), think);
    }
    body.insert("options".into(), parameters.into());
    Post { path: "/api/chat".into(), headers: Vec::new(), body: body.into() }
}

/// The thinking to ask for: a switch or a word; `None` for the model's own.
fn think(request: &Request, terms: &Terms, options: &RequestOptions) -> Option<Value> {
    match (content::is_off(terms, options), content::effort(request, options)) {
        (true, _) | (_, Some("none")) => Some(false.into()),
        (_, Some(effort)) => Some(effort.into()),
        (_, None) => {
            (options.thinking == Some(Thinking::ADAPTIVE) && !request.temperature_zero).then(|| true.into())
        }
    }
}

fn messages(request: &Request, images: bool) -> Vec<Value> {
    let mut messages: Vec<Joined<'_, Piece<'_>>> = Vec::new();
    for item in &request.items {
        join(&mut messages, item, content::pieces(item, images));
    }
    let calls = || request.items.iter().flat_map(|item| &item.calls);
    let tool_name = |item: &Item| {
        calls()
            .find(|call| Some(&call.id) == item.call_id.as_ref())
            .map(|call| content::tool_name(&call.name).into_owned())
    };
    messages.into_iter().map(|message| wire_message(message, tool_name)).collect()
}

fn wire_message(mut joined: Joined<'_, Piece<'_>>, tool_name: impl Fn(&Item) -> Option<String>) -> Value {
    // Ollama accepts images by value alone.
    for piece in &mut joined.pieces {
        if matches!(piece, Piece::Picture(Picture::Address(_))) {
            *piece = Piece::Text(content::NO_PICTURE.into());
        }
    }
    let mut message = Map::new();
    message.insert("role".into(), joined.role_name().into());
    message.insert("content".into(), content::text(&joined.pieces).into());
    let pictures = joined.pieces.iter().filter_map(|piece| match piece {
        Piece::Picture(Picture::Value { base64, .. }) => Some(Value::from(*base64)),
        Piece::Picture(Picture::Address(_)) | Piece::Text(_) => None,
    });
    put_list(&mut message, "images", pictures.collect());
    let thought: String =
        joined.items.iter().flat_map(|item| &item.parts).filter_map(content::thought).collect();
    if !thought.is_empty() {
        message.insert("thinking".into(), thought.into());
    }
    let calls = joined.items.iter().flat_map(|item| &item.calls).map(|call| {
        let (name, arguments) = (content::tool_name(&call.name), content::arguments(&call.arguments));
        let function = json!({"name": name, "arguments": arguments});
        json!({"id": call.id.as_str(), "function": function})
    });
    put_list(&mut message, "tool_calls", calls.collect());
    if let Some((item, id)) = joined.items.first().and_then(|item| Some((item, item.call_id.as_ref()?))) {
        // Older servers use the name, newer ones the id.
        if let Some(name) = tool_name(item) {
            message.insert("tool_name".into(), name.into());
        }
        message.insert("tool_call_id".into(), id.as_str().into());
    }
    message.into()
}

fn put_list(message: &mut Map<String, Value>, key: &str, list: Vec<Value>) {
    if !list.is_empty() {
        message.insert(key.to_owned(), list.into());
    }
}

/// Parser of the lines of Ollama's chat.
#[derive(Debug, Default)]
pub struct Ollama {
    calls: Calls,
    stop: Option<StopReason>,
}

impl Reader for Ollama {
    fn event(&mut self, event: &str, hear: OnProgress<'_>) -> Result<(), ModelError> {
        let line = json::read(event).ok().filter(Value::is_object);
        let line = line.ok_or_else(|| cannot_be_read(event))?;
        if line.get("error").is_some_and(|error| !error.is_null()) {
            return Err(Refusal::in_stream(&line).class());
        }
        let said = line.get("message").unwrap_or(&Value::Null);
        let text = |key| said.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        if let Some(thought) = text("thinking") {
            hear(Progress::Delta(Delta::AppendReasoning(thought.to_owned())));
        }
        // Older servers leave thinking tags in the content; they cannot be told from text.
        if let Some(content) = text("content") {
            hear(Progress::Delta(Delta::AppendContent(content.to_owned())));
        }
        for call in said.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            let function = call.get("function").unwrap_or(call);
            let name = function.get("name").and_then(Value::as_str).unwrap_or_default();
            let id = call.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
            // Calls arrive whole.
            self.calls.add_whole(id, name, function.get("arguments"), hear);
        }
        if line.get("done").and_then(Value::as_bool) == Some(true) {
            let usage = Usage {
                input_tokens: number_of(&line, "prompt_eval_count"),
                output_tokens: number_of(&line, "eval_count"),
                ..Usage::default()
            };
            if usage != Usage::default() {
                hear(Progress::Delta(Delta::SetUsage(usage)));
            }
            self.stop = Some(match line.get("done_reason").and_then(Value::as_str) {
                Some("length") => StopReason::Length,
                _ if !self.calls.is_empty() => StopReason::ToolUse,
                _ => StopReason::End,
            });
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.stop.is_some()
    }

    fn end(self: Box<Self>) -> Result<Answer, ModelError> {
        let stop = self.stop.ok_or_else(ended_early)?;
        Ok(Answer { parts: None, calls: None, stop, usage: None })
    }
}
