//! Parts of messages in all formats: text, images, thinking, calls, results, tools. The formats share the
//! shapes of two providers and of each other, so one reader serves all.

use super::json::{Object, arguments, each_item, flag, needed, number, object, owned, sum, text};
use super::verdict::refusal;
use crate::Import;
use engine::message::attachment::Attachment;
use engine::message::meta::Meta;
use engine::message::{AssistantPart, Beside, Content, Image, ToolCall, ToolResult, Usage};
use engine::prompt::item::{Approval, Tool};
use serde_json::Value;

/// Reads the content of a user message or a result: one text, or a list whose unreadable parts are skipped alone.
pub(crate) fn contents(
    value: Option<&Value>,
    place: &str,
    import: &mut Import,
) -> Result<Vec<Content>, String> {
    contents_beside("", value, place, import)
}

/// As [`contents`], without the parts of type `other`, which the caller reads.
fn contents_beside(
    other: &str,
    value: Option<&Value>,
    place: &str,
    import: &mut Import,
) -> Result<Vec<Content>, String> {
    let mut found = Vec::new();
    for (part, place) in listed(value, place)? {
        if part.get("type").is_some_and(|kind| kind == other) {
            continue;
        }
        match content(part) {
            Ok(Some(content)) => {
                found.push(content);
                let meta = part.get("_meta").and_then(Value::as_object);
                found.extend(meta.map(|meta| Content::Meta(Meta::Part(meta.clone().into()))));
            }
            Ok(None) => {}
            Err(reason) => import.skip(place, reason),
        }
    }
    Ok(found)
}

/// The type of a block that holds a tool's result.
const RESULT: &str = "tool_result";

/// A reader of contents that skips unreadable parts.
pub(crate) type ReadContents = fn(Option<&Value>, &str, &mut Import) -> Result<Vec<Content>, String>;

/// Splits a user's message into result blocks and other content, which is `None` if there are only results.
/// `read` reads the content of results in the format of their tools.
pub(crate) fn results_and_words(
    content: &Value,
    place: &str,
    import: &mut Import,
    read: ReadContents,
) -> Result<(Vec<ToolResult>, Option<Vec<Content>>), String> {
    let blocks = content.as_array().map_or(&[][..], Vec::as_slice);
    let mut results = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        let Some(block) = block.as_object().filter(|block| text(block, "type") == Some(RESULT)) else {
            continue;
        };
        let place = format!("{place}, content[{index}]");
        let result = read(block.get("content"), &place, import).and_then(|content| {
            let is_error = flag(block, "is_error");
            Ok(ToolResult {
                call: needed(block, "tool_use_id")?.to_owned(),
                exit_code: if is_error { stated_code(&content) } else { None },
                verdict: refusal(&content),
                content,
                is_error,
                ..ToolResult::default()
            })
        });
        match result {
            Ok(result) => results.push(result),
            Err(reason) => import.skip(place, reason),
        }
    }
    let is_result = |block: &Value| block.get("type").is_some_and(|kind| kind == RESULT);
    if !blocks.is_empty() && blocks.iter().all(is_result) {
        return Ok((results, None));
    }
    let words = contents_beside(RESULT, Some(content), place, import)?;
    // Unreadable parts are reported separately; a message of nothing else is omitted.
    Ok((results, (!words.is_empty() || blocks.is_empty()).then_some(words)))
}

/// Reads a tool definition, in the shape of chat completions or plain.
pub(crate) fn tool(value: &Value) -> Option<Tool> {
    let of = value.get("function").unwrap_or(value).as_object()?;
    let schema = ["parameters", "inputSchema", "input_schema"].into_iter().find_map(|key| of.get(key));
    Some(Tool {
        rules: Vec::new(),
        name: owned(of, "name")?,
        description: owned(of, "description").unwrap_or_default(),
        input_schema: schema.cloned().unwrap_or_else(|| Value::Object(Object::new())),
        kind: None,
        guidelines: None,
        approval: Approval::default(),
        ends_turn: None,
        origin: None,
    })
}

/// The content of an assistant message.
#[derive(Default)]
pub(crate) struct Said {
    /// Text, thinking and provider's blocks.
    pub(crate) parts: Vec<AssistantPart>,
    /// Tool calls.
    pub(crate) calls: Vec<ToolCall>,
}

/// Reads an assistant message of a foreign source. Empty texts are dropped, because providers reject them.
pub(crate) fn said(value: Option<&Value>, place: &str, import: &mut Import) -> Result<Said, String> {
    let mut said = said_exactly(value, place, import)?;
    said.parts.retain(|part| !matches!(part, AssistantPart::Text(text) if text.is_empty()));
    Ok(said)
}

/// Reads an assistant message, empty texts included.
pub(crate) fn said_exactly(value: Option<&Value>, place: &str, import: &mut Import) -> Result<Said, String> {
    let mut said = Said::default();
    for (part, place) in listed(value, place)? {
        if let Err(reason) = said.take(part) {
            import.skip(place, reason);
        }
    }
    Ok(said)
}

impl Said {
    fn take(&mut self, part: &Value) -> Result<(), String> {
        if let Value::String(text) = part {
            self.parts.push(AssistantPart::Text(text.as_str().into()));
            return Ok(());
        }
        let part = part.as_object().ok_or("is not an object")?;
        match Kind::of(part) {
            Kind::Text => self.parts.push(AssistantPart::Text(needed(part, "text")?.into())),
            Kind::Named("thinking") => self.parts.push(AssistantPart::Reasoning {
                text: text(part, "thinking").unwrap_or_default().into(),
                signature: text(part, "signature").or(text(part, "thinkingSignature")).map(Into::into),
                block: None,
            }),
            Kind::Named("reasoning") => self.parts.push(AssistantPart::Reasoning {
                text: needed(part, "text")?.into(),
                signature: text(part, "signature").map(Into::into),
                block: object(part, "block").map(|block| block.clone().into()),
            }),
            Kind::Named("raw") => {
                let wire = part.get("wire").ok_or("is a block of a provider without its `wire`")?;
                self.parts.push(AssistantPart::Raw(wire.clone().into()));
            }
            Kind::Named("redacted_thinking") => {
                return Err("is thinking that only its provider can read".into());
            }
            Kind::Named("tool_use") => self.calls.push(call(part, part.get("input"))?),
            Kind::Named("toolCall") => {
                let mut call = call(part, part.get("arguments"))?;
                call.source_id = owned(part, "sourceId");
                self.calls.push(call);
            }
            Kind::Opaque => self.parts.extend(opaque_thinking(part)),
            Kind::NotContent => {}
            other => return Err(other.unknown()),
        }
        Ok(())
    }
}

/// Reads calls in the shape of chat completions: `{id, function: {name, arguments}}`.
pub(crate) fn function_calls(list: &[Value], place: &str, import: &mut Import) -> Vec<ToolCall> {
    let mut calls = Vec::new();
    each_item(list, place, import, |_, _, of| {
        let function = object(of, "function").ok_or("has no `function`")?;
        let (id, name) = (needed(of, "id")?, needed(function, "name")?);
        calls.push(ToolCall::new(id, name, &arguments(function.get("arguments"))));
        Ok(())
    });
    calls
}

/// An image by URL, or by a `data:` URL.
pub(crate) fn image_at(url: &str) -> Content {
    let inline = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    let (mime_type, data) = inline.unwrap_or(("image/*", url));
    Content::Image(Image { mime_type: mime_type.into(), data: data.into() })
}

/// The concatenated text, without images.
pub(crate) fn joined(contents: &[Content]) -> String {
    contents.iter().filter_map(Content::text).map(|text| &**text).collect()
}

/// The exit code in a failed command's text: on the first line in Claude Code, on the last in pi.
pub(crate) fn stated_code(contents: &[Content]) -> Option<i32> {
    let text = joined(contents);
    let first = text.lines().next().and_then(|line| line.strip_prefix("Exit code "));
    let last = text.lines().next_back().and_then(|line| line.strip_prefix("Command exited with code "));
    first.or(last)?.trim().parse().ok()
}

/// A call with id and name beside its arguments.
pub(crate) fn call(of: &Object, input: Option<&Value>) -> Result<ToolCall, String> {
    Ok(ToolCall::new(needed(of, "id")?, needed(of, "name")?, &arguments(input)))
}

/// The type of a part. The Copilot extension numbers its types, all other formats name them.
enum Kind<'a> {
    Text,
    Picture,
    Opaque,
    NotContent,
    Named(&'a str),
    Numbered(u64),
    Missing,
}

impl<'a> Kind<'a> {
    fn of(part: &'a Object) -> Self {
        match part.get("type") {
            Some(Value::String(name)) => match name.as_str() {
                "text" | "input_text" | "output_text" => Kind::Text,
                name => Kind::Named(name),
            },
            Some(Value::Number(number)) => match number.as_u64() {
                Some(0) => Kind::Picture,
                Some(1) => Kind::Text,
                Some(2) => Kind::Opaque,
                // A cache mark: the provider caches the prompt up to it.
                Some(3) => Kind::NotContent,
                other => Kind::Numbered(other.unwrap_or(u64::MAX)),
            },
            _ => Kind::Missing,
        }
    }

    fn unknown(&self) -> String {
        match self {
            Kind::Named(name) => format!("is a part of an unknown type, `{name}`"),
            Kind::Numbered(number) => format!("is a part of an unknown type, {number}"),
            Kind::Missing => "is a part without a type".into(),
            Kind::Text | Kind::Picture | Kind::Opaque | Kind::NotContent => {
                "is a part that is not allowed here".into()
            }
        }
    }
}

fn content(part: &Value) -> Result<Option<Content>, String> {
    if let Value::String(text) = part {
        return Ok(Some(Content::Text(text.as_str().into())));
    }
    let part = part.as_object().ok_or("is not an object")?;
    let url_in = |key: &str| match part.get(key) {
        Some(Value::Object(image)) => needed(image, "url").map(str::to_owned),
        _ => needed(part, key).map(str::to_owned),
    };
    Ok(Some(match Kind::of(part) {
        Kind::Text => Content::Text(needed(part, "text")?.into()),
        Kind::Picture => image_at(&url_in("imageUrl")?),
        Kind::Named("image_url" | "input_image") => image_at(&url_in("image_url")?),
        Kind::Named("image") => image(part)?,
        Kind::Named("resource") => {
            Content::Resource { uri: needed(part, "uri")?.into(), text: needed(part, "text")?.into() }
        }
        Kind::Named("resourceLink" | "resource_link") => {
            needed(part, "uri")?;
            let link = serde_json::from_value(Value::Object(part.clone()));
            Content::ResourceLink(link.map_err(|_| "is a resource link with a wrong field".to_owned())?)
        }
        Kind::Named("file") => {
            Content::ContextFile { path: needed(part, "path")?.into(), text: needed(part, "content")?.into() }
        }
        Kind::Named("contextFile") => {
            Content::ContextFile { path: needed(part, "path")?.into(), text: needed(part, "text")?.into() }
        }
        Kind::Named("attachment") => {
            Content::Attachment(Attachment::new(needed(part, "name")?, needed(part, "text")?))
        }
        Kind::Opaque | Kind::NotContent => return Ok(None),
        other => return Err(other.unknown()),
    }))
}

/// Data that a source reports for an answer: its usage, and the model if there is usage.
pub(crate) fn reported(usage: Option<Usage>, model: Option<&str>) -> Beside {
    let model = model.filter(|_| usage.is_some());
    let extra = model.map(|model| ("model".to_owned(), Value::from(model)));
    Beside { usage, extra: extra.into_iter().collect(), ..Beside::default() }
}

/// Usage in the form of Anthropic's Messages. Input tokens are the uncached, cached and cache-written ones.
pub(crate) fn anthropic_usage(of: &Object) -> Option<Usage> {
    let input = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
    let there: Vec<&str> = input.into_iter().filter(|key| of.contains_key(*key)).collect();
    let usage = Usage {
        input_tokens: sum(of, &there),
        output_tokens: number(of, "output_tokens"),
        cached_input_tokens: number(of, "cache_read_input_tokens"),
        cache_write_input_tokens: number(of, "cache_creation_input_tokens"),
        reasoning_tokens: object(of, "output_tokens_details").and_then(|of| number(of, "thinking_tokens")),
    };
    usage.input_tokens.is_some_and(|read| read > 0).then_some(usage)
}

/// Anthropic keeps the data in `source`; pi, Cline and the native format keep it beside the type; Codex has a
/// URL there.
fn image(part: &Object) -> Result<Content, String> {
    let of = object(part, "source").unwrap_or(part);
    if let Some(url) = text(of, "url").or(text(of, "image_url")) {
        return Ok(image_at(url));
    }
    let mime_type = ["media_type", "mediaType", "mimeType"].into_iter().find_map(|key| text(of, key));
    let mime_type = mime_type.ok_or("is a picture without a media type")?.into();
    Ok(Content::Image(Image { mime_type, data: needed(of, "data")?.into() }))
}

/// Thinking in an opaque part of the Copilot extension. Its other opaque parts are the provider's state.
fn opaque_thinking(part: &Object) -> Option<AssistantPart> {
    let value = object(part, "value").filter(|value| text(value, "type") == Some("thinking"))?;
    object(value, "thinking").map(thinking)
}

/// The Copilot extension's record of thinking: `{text, encrypted}`; the text may be a list of pieces.
pub(crate) fn thinking(of: &Object) -> AssistantPart {
    let text_of = match of.get("text") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(pieces)) => pieces.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    };
    let signature = text(of, "encrypted").map(Into::into);
    AssistantPart::Reasoning { text: text_of.into(), signature, block: None }
}

/// The parts of a content field with their places: none, one text, or a list.
fn listed<'a>(value: Option<&'a Value>, place: &str) -> Result<Vec<(&'a Value, String)>, String> {
    Ok(match value {
        None | Some(Value::Null) => Vec::new(),
        Some(text @ Value::String(_)) => vec![(text, place.to_owned())],
        Some(Value::Array(parts)) => {
            let at = |index: usize| format!("{place}, content[{index}]");
            parts.iter().enumerate().map(|(index, part)| (part, at(index))).collect()
        }
        Some(_) => return Err("has a content that is neither text nor a list".into()),
    })
}
