//! Messages and parts. A misplaced part is an error; a part of an unknown kind is left out and reported.

use super::{ConvertError, Reading, uri};
use engine::id::RoundId;
use engine::message as ours;
use engine::message::attachment::Attachment;
use engine::message::meta::{AnswerMeta, Meta};
use engine::message::{AssistantPart, Beside, Body, NewMessage, Text, ToolCall};
use engine::transcript::Transcript;
use protocol::message as wire;
use protocol::message::{
    Arguments, AssistantInput, Content, Effect, Message, MessageInput, Part, Role, Shown,
};
use protocol::model::{ToolCall as WireCall, Usage};
use protocol::prompt::{self, ContextFile};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

impl Reading {
    /// Reads the content of a user message or a tool result.
    pub fn content(&mut self, content: &Content) -> Result<Vec<ours::Content>, ConvertError> {
        let parts = self.each(&content.0, |reading, part| {
            let Some(content) = reading.content_part(part)? else { return Ok(Vec::new()) };
            let meta = part.meta().map(|meta| ours::Content::Meta(Meta::Part(meta.clone().into())));
            Ok(std::iter::once(content).chain(meta).collect())
        })?;
        Ok(parts.concat())
    }

    fn content_part(&mut self, part: &Part) -> Result<Option<ours::Content>, ConvertError> {
        Ok(Some(match part {
            Part::Text { text, .. } => ours::Content::Text(shared(text)),
            Part::Image { mime_type, data, .. } => {
                ours::Content::Image(ours::Image { mime_type: mime_type.clone(), data: shared(data) })
            }
            Part::Resource { uri, text, .. } => {
                ours::Content::Resource { uri: uri.clone(), text: shared(text) }
            }
            Part::ContextFile { path, text, .. } => {
                ours::Content::ContextFile { path: uri::path(path), text: shared(text) }
            }
            Part::ResourceLink { uri, name, title, description, mime_type, size, .. } => {
                ours::Content::ResourceLink(ours::ResourceLink {
                    uri: uri.clone(),
                    name: name.clone(),
                    title: title.clone(),
                    description: description.clone(),
                    mime_type: mime_type.clone(),
                    size: *size,
                })
            }
            Part::Attachment { name, text } => ours::Content::Attachment(Attachment::new(name, text)),
            Part::Reasoning { .. } | Part::ToolCall { .. } | Part::ToolResult { .. } => {
                return Err(self.misplaced(part, "the content of a user or a tool"));
            }
            Part::Raw { .. } | Part::Unknown(_) => {
                self.ignore(&unusable(part));
                return Ok(None);
            }
        }))
    }

    /// Reads a user's words, of which at least one part must be of a known kind.
    pub fn words(&mut self, content: &Content) -> Result<Vec<ours::Content>, ConvertError> {
        let parts = self.content(content)?;
        self.something(content, &parts)?;
        Ok(parts)
    }

    /// Reads a request of the user with its files.
    pub fn request(
        &mut self,
        content: &Content,
        files: Option<&[ContextFile]>,
    ) -> Result<Vec<ours::Content>, ConvertError> {
        let mut parts = self.field("content", |reading| reading.words(content))?;
        let files = files.unwrap_or_default().iter();
        parts.extend(files.map(|file| ours::Content::ContextFile {
            path: uri::path(&file.path),
            text: shared(&file.text),
        }));
        Ok(parts)
    }

    /// Reads a model's parts and calls, each in order.
    pub fn said(&mut self, content: &Content) -> Result<Said, ConvertError> {
        let (mut parts, mut calls) = (Vec::new(), Vec::new());
        let (mut metas, mut metas_of_calls) = (Vec::new(), Vec::new());
        self.each(&content.0, |reading, part| {
            let (before, before_calls) = (parts.len(), calls.len());
            match part {
                Part::Text { text, .. } => parts.push(AssistantPart::Text(shared(text))),
                Part::Reasoning { text, signature, block } => parts.push(AssistantPart::Reasoning {
                    text: shared(text),
                    signature: signature.as_deref().map(Text::from),
                    block: block.clone().map(Into::into),
                }),
                Part::Raw { wire } => parts.push(AssistantPart::Raw(wire.clone().into())),
                Part::ToolCall { id, name, arguments, source_id, .. } => {
                    let source_id = source_id.clone();
                    calls.push(ToolCall { source_id, ..ToolCall::new(id, name, &arguments.0) });
                }
                Part::Unknown(_) => reading.ignore(&unusable(part)),
                _ => return Err(reading.misplaced(part, "an assistant message")),
            }
            let meta = part.meta().cloned();
            metas.extend((parts.len() > before).then(|| meta.clone()));
            metas_of_calls.extend((calls.len() > before_calls).then_some(meta));
            Ok(())
        })?;
        let metas = (0..).zip(metas.into_iter().chain(metas_of_calls));
        let meta_of_parts = metas.filter_map(|(at, meta)| Some((at, meta?))).collect();
        Ok(Said { parts, calls, meta_of_parts })
    }

    /// Reads a model's answer within a round.
    pub fn assistant(&mut self, input: &AssistantInput) -> Result<NewMessage, ConvertError> {
        let said = self.field("parts", |reading| reading.said(&input.parts))?;
        let beside = our_beside(input.usage, &input.citations, &input.extra);
        Ok(NewMessage {
            external_id: input.external_id.clone(),
            created_at: input.created_at.clone(),
            ..NewMessage::new(said.body(beside, input.meta.as_ref()))
        })
    }

    /// Reads a message; a tool message becomes one for each of its results.
    pub fn message(&mut self, input: &MessageInput) -> Result<Vec<NewMessage>, ConvertError> {
        let bodies = match input.role {
            Role::User => {
                let mut content = self.field("parts", |reading| reading.content(&input.parts))?;
                content.extend(meta_of_whole(input.meta.as_ref()));
                vec![Body::User(content)]
            }
            Role::Assistant => {
                let said = self.field("parts", |reading| reading.said(&input.parts))?;
                let beside = our_beside(input.usage, &input.citations, &input.extra);
                vec![said.body(beside, input.meta.as_ref())]
            }
            Role::Tool => self.field("parts", |reading| reading.results_of(&input.parts))?,
            Role::Event => {
                let parts = self.field("parts", |reading| reading.content(&input.parts))?;
                let text: String = parts.iter().filter_map(ours::Content::text).map(|text| &**text).collect();
                let kind = input.kind.clone().unwrap_or_default();
                vec![Body::Event { kind, text: text.into() }]
            }
        };
        let bodies = bodies.into_iter().enumerate();
        Ok(bodies
            .map(|(at, body)| NewMessage {
                body,
                external_id: input.external_id.clone().filter(|_| at == 0),
                visible_to_model: input.visible_to_model.unwrap_or(true),
                created_at: input.created_at.clone(),
                shown: None,
            })
            .collect())
    }

    fn results_of(&mut self, content: &Content) -> Result<Vec<Body>, ConvertError> {
        let results = self.each(&content.0, |reading, part| match part {
            Part::ToolResult { tool_call_id, content, is_error, exit_code, effects, arguments, meta } => {
                let mut content = reading.field("content", |reading| reading.content(content))?;
                content.extend(meta_of_whole(meta.as_ref()));
                Ok(Some(Body::Tool(ours::ToolResult {
                    call: tool_call_id.clone(),
                    content,
                    is_error: is_error.unwrap_or(false),
                    exit_code: *exit_code,
                    effects: our_effects(effects.as_deref()),
                    verdict: arguments.as_ref().map(|given| ours::Verdict {
                        arguments: Some((&*given.0).into()),
                        ..ours::Verdict::new(true, None)
                    }),
                })))
            }
            Part::Raw { .. } | Part::Unknown(_) => {
                reading.ignore(&unusable(part));
                Ok(None)
            }
            _ => Err(reading.misplaced(part, "a tool message, which holds toolResult parts")),
        })?;
        Ok(results.into_iter().flatten().collect())
    }

    fn misplaced(&self, part: &Part, place: &str) -> ConvertError {
        let reason = format!("a part of kind {:?} is not allowed in {place}", kind(part));
        ConvertError { field: format!("{}.type", self.path), reason }
    }
}

/// What a model said: its parts and calls, each in order, and the data of a client about them by their positions.
pub struct Said {
    pub parts: Vec<AssistantPart>,
    pub calls: Vec<ToolCall>,
    meta_of_parts: BTreeMap<u32, wire::Meta>,
}

impl Said {
    /// Makes it an answer, with the data beside it.
    pub fn body(self, beside: Beside, meta: Option<&wire::Meta>) -> Body {
        let Self { parts, calls, meta_of_parts } = self;
        let meta = AnswerMeta::of(meta.cloned(), meta_of_parts);
        Body::Assistant { parts, calls, beside: Beside { meta, ..beside } }
    }
}

/// Converts the data of a client about a message or a result.
pub fn meta_of_whole(meta: Option<&wire::Meta>) -> Option<ours::Content> {
    meta.map(|meta| ours::Content::Meta(Meta::Whole(meta.clone().into())))
}

/// Reads attachments.
pub fn attachments(given: Option<&[prompt::Attachment]>) -> Vec<Attachment> {
    let given = given.unwrap_or_default().iter();
    given.map(|attachment| Attachment::new(&attachment.name, &attachment.text)).collect()
}

fn shared(text: &str) -> Text {
    text.into()
}

fn our_beside(
    usage: Option<Usage>,
    citations: &Option<Vec<Value>>,
    extra: &Option<Map<String, Value>>,
) -> Beside {
    Beside {
        citations: citations.clone().unwrap_or_default(),
        usage,
        extra: extra.clone().unwrap_or_default(),
        ..Beside::default()
    }
}

/// Says why a part has no place in content.
pub(super) fn unusable(part: &Part) -> String {
    match part {
        Part::Unknown(part) => format!("unknown part kind {:?}", part.kind()),
        part => format!("a part of kind {:?} says nothing here", kind(part)),
    }
}

fn kind(part: &Part) -> &str {
    match part {
        Part::Text { .. } => "text",
        Part::Image { .. } => "image",
        Part::Resource { .. } => "resource",
        Part::ResourceLink { .. } => "resourceLink",
        Part::ContextFile { .. } => "contextFile",
        Part::Attachment { .. } => "attachment",
        Part::Reasoning { .. } => "reasoning",
        Part::ToolCall { .. } => "toolCall",
        Part::ToolResult { .. } => "toolResult",
        Part::Raw { .. } => "raw",
        Part::Unknown(part) => part.kind(),
    }
}

pub(super) fn our_effects(effects: Option<&[Effect]>) -> Vec<ours::Effect> {
    let effects = effects.unwrap_or_default().iter();
    effects
        .map(|effect| ours::Effect { path: uri::path(&effect.path), sha256: effect.sha256.clone() })
        .collect()
}

/// Converts content to parts.
pub fn content_parts(content: &[ours::Content]) -> Vec<Part> {
    let parts = content.iter().enumerate().filter_map(|(at, part)| {
        let meta = match content.get(at + 1) {
            Some(ours::Content::Meta(Meta::Part(meta))) => Some((**meta).clone()),
            _ => None,
        };
        content_part(part, meta)
    });
    parts.collect()
}

/// Converts a part of content; `None` for data of a client.
fn content_part(part: &ours::Content, meta: Option<wire::Meta>) -> Option<Part> {
    Some(match part {
        ours::Content::Text(text) => Part::Text { text: text.to_string(), meta },
        ours::Content::Image(image) => {
            Part::Image { mime_type: image.mime_type.clone(), data: image.data.to_string(), meta }
        }
        ours::Content::Resource { uri, text } => {
            Part::Resource { uri: uri.clone(), text: text.to_string(), meta }
        }
        ours::Content::ResourceLink(link) => {
            let ours::ResourceLink { uri, name, title, description, mime_type, size } = link.clone();
            Part::ResourceLink { uri, name, title, description, mime_type, size, meta }
        }
        ours::Content::ContextFile { path, text } => {
            Part::ContextFile { path: path.clone(), text: text.to_string(), meta }
        }
        ours::Content::Attachment(Attachment { name, text }) => {
            Part::Attachment { name: name.clone(), text: text.to_string() }
        }
        ours::Content::Meta(_) => return None,
    })
}

fn said_part(part: &AssistantPart, meta: Option<wire::Meta>) -> Part {
    match part {
        AssistantPart::Text(text) => Part::Text { text: text.to_string(), meta },
        AssistantPart::Reasoning { text, signature, block } => Part::Reasoning {
            text: text.to_string(),
            signature: signature.as_ref().map(|s| s.to_string()),
            block: block.as_deref().cloned(),
        },
        AssistantPart::Raw(wire) => Part::Raw { wire: (**wire).clone() },
    }
}

fn call_part(call: &ToolCall, meta: Option<wire::Meta>) -> Part {
    Part::ToolCall {
        id: call.id.as_str().to_owned(),
        name: call.name.to_string(),
        arguments: Arguments(call.arguments.to_string()),
        source_id: call.source_id.clone(),
        meta,
    }
}

pub(super) fn wire_call(call: &ToolCall) -> WireCall {
    WireCall {
        id: call.id.as_str().to_owned(),
        name: call.name.to_string(),
        arguments: Arguments(call.arguments.to_string()),
    }
}

/// Converts a message's body to parts.
pub fn body_parts(body: &Body) -> Vec<Part> {
    match body {
        Body::User(content) => content_parts(content),
        Body::Assistant { parts, calls, beside } => {
            let mut metas = (0..).map(|at| beside.meta.as_ref()?.parts.get(&at).cloned());
            let mut next = || metas.next().flatten();
            let said: Vec<Part> = parts.iter().map(|part| said_part(part, next())).collect();
            said.into_iter().chain(calls.iter().map(|call| call_part(call, next()))).collect()
        }
        Body::Tool(result) => {
            let effects = result.effects.iter();
            let effects: Vec<Effect> = effects
                .map(|effect| Effect { path: effect.path.clone(), sha256: effect.sha256.clone() })
                .collect();
            vec![Part::ToolResult {
                tool_call_id: result.call.clone(),
                content: Content(content_parts(&result.content)),
                is_error: result.is_error.then_some(true),
                exit_code: result.exit_code,
                effects: (!effects.is_empty()).then_some(effects),
                arguments: result
                    .verdict
                    .as_ref()
                    .and_then(|verdict| verdict.arguments.as_ref().map(|given| Arguments(given.to_string()))),
                meta: Meta::of_whole(&result.content).cloned(),
            }]
        }
        Body::Event { text, .. } => vec![Part::text(&**text)],
    }
}

/// Converts a message of a session that belongs to this round.
pub fn message_in(message: &ours::Message, round: Option<&RoundId>) -> Message {
    Message { round_id: round.map(|round| round.as_str().to_owned()), ..self::message(message) }
}

/// Converts the newest messages of a transcript, each with its round if the answer that opened it is among them.
pub fn messages(transcript: &Transcript, newest: &[Arc<ours::Message>]) -> Vec<Message> {
    let first = newest.first().map(|message| message.ord);
    let messages = newest.iter().map(|message| {
        let round = transcript.round_of(message.ord).filter(|round| first <= Some(round.assistant));
        message_in(message, round.map(|round| &round.id))
    });
    messages.collect()
}

/// Converts a message of a session, whose round is not known.
pub fn message(message: &ours::Message) -> Message {
    let (role, kind) = match &message.body {
        Body::User(_) => (Role::User, None),
        Body::Assistant { .. } => (Role::Assistant, None),
        Body::Tool(_) => (Role::Tool, None),
        Body::Event { kind, .. } => (Role::Event, Some(kind.clone())),
    };
    let Beside { citations, usage, extra, meta, .. } = match &message.body {
        Body::Assistant { beside, .. } => beside.clone(),
        Body::User(_) | Body::Tool(_) | Body::Event { .. } => Beside::default(),
    };
    let meta = match &message.body {
        Body::User(content) => Meta::of_whole(content).cloned(),
        _ => meta.map(|meta| meta.whole).filter(|meta| !meta.is_empty()),
    };
    Message {
        id: message.id.as_str().to_owned(),
        external_id: message.external_id.clone(),
        ord: message.ord.0,
        rev: message.rev,
        turn_id: message.turn.as_str().to_owned(),
        round_id: None,
        role,
        parts: body_parts(&message.body),
        kind,
        visible_to_model: message.visible_to_model,
        created_at: message.created_at.clone(),
        shown: message.shown.map(|cut| Shown { head_bytes: cut.head, tail_bytes: cut.tail }),
        tokens: message.tokens,
        usage,
        citations: (!citations.is_empty()).then_some(citations),
        extra: (!extra.is_empty()).then_some(extra),
        meta,
    }
}
