//! Expected content of prompts, computed from the messages alone: the result of each call, the effect of an action on
//! a result, the tokens of an item. Independent of the engine's rendering, so that both must agree.

use engine::compact::record::{Action, Compaction};
use engine::id::{CallId, Ordinal};
use engine::message::cut::Cut;
use engine::message::{AssistantPart, Body, Content, Message, Text};
use engine::prompt::item::{Item, ItemPart, Role, Tool};
use engine::tokens::TokenCount;
use engine::transcript::Transcript;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The stand-in for a missing result, and its tokens.
pub const STAND_IN: (&str, u32) = ("[no result was recorded: the call was interrupted]", 20);

/// The content of an item, without its sources and tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    pub role: Role,
    pub parts: Vec<ItemPart>,
    pub calls: Vec<(CallId, Text, String)>,
    pub call_id: Option<CallId>,
}

impl From<&Item> for Said {
    fn from(item: &Item) -> Self {
        let call =
            |c: &engine::prompt::item::ItemCall| (c.id.clone(), c.name.clone(), c.arguments.to_string());
        Self {
            role: item.role,
            parts: item.parts.clone(),
            calls: item.calls.iter().map(call).collect(),
            call_id: item.call_id.clone(),
        }
    }
}

/// `true` if the message is visible to the model and has content.
pub fn is_for_the_model(message: &Message) -> bool {
    let something = match &message.body {
        Body::User(parts) => {
            let is_content = |part: &&Content| !matches!(part, Content::Meta(_));
            parts.iter().filter(is_content).any(|part| part.text().is_none_or(|text| !text.is_empty()))
        }
        Body::Assistant { parts, calls, .. } => {
            let says =
                |part: &AssistantPart| matches!(part, AssistantPart::Text(text) if !text.trim().is_empty());
            !calls.is_empty() || parts.iter().any(says)
        }
        Body::Tool(_) => true,
        Body::Event { .. } => false,
    };
    message.visible_to_model && something
}

/// Returns the result of each call, by the ordinal of its assistant message and the call's index. A result answers the
/// first open call of its id in the newest assistant message, within its turn.
pub fn answers(transcript: &Transcript) -> BTreeMap<(Ordinal, usize), Ordinal> {
    let mut answers = BTreeMap::new();
    let mut asked: Option<(&Message, BTreeSet<usize>)> = None;
    for message in transcript.messages() {
        match &message.body {
            Body::Assistant { calls, .. } => {
                asked = is_for_the_model(message).then(|| (&**message, (0..calls.len()).collect()));
            }
            Body::Tool(result) if message.visible_to_model => {
                let Some((assistant, open)) = asked.as_mut().filter(|(by, _)| by.turn == message.turn) else {
                    continue;
                };
                let Body::Assistant { calls, .. } = &assistant.body else { continue };
                let is_asked = |at: &usize| {
                    calls[*at].source_id.as_deref().unwrap_or(calls[*at].id.as_str()) == result.call
                };
                let found = open.iter().copied().find(is_asked);
                if let Some(at) = found {
                    open.remove(&at);
                    answers.insert((assistant.ord, at), message.ord);
                }
            }
            _ => {}
        }
    }
    answers
}

/// Returns what a model sees of content: all but data of a client.
fn content(parts: &[Content]) -> Vec<ItemPart> {
    parts.iter().filter(|part| !matches!(part, Content::Meta(_))).cloned().map(ItemPart::Content).collect()
}

/// Returns all text of a result.
pub fn joined(content: &[Content]) -> String {
    let texts: Vec<String> = content
        .iter()
        .filter_map(|part| match part {
            Content::Meta(_) => None,
            Content::Text(text) => Some(text.to_string()),
            Content::Image(image) => Some(format!("[picture, {}]", image.mime_type)),
            Content::Resource { uri: name, text } | Content::ContextFile { path: name, text } => {
                Some(format!("{name}\n{text}"))
            }
            Content::ResourceLink(link) => Some(link.framed().to_string()),
            Content::Attachment(attachment) => Some(attachment.framed()),
        })
        .collect();
    // Leading empty texts add no lines.
    let first = texts.iter().position(|text| !text.is_empty()).unwrap_or(texts.len());
    texts[first..].join("\n")
}

fn acted_on(content: &[Content], action: Action, call: Option<&str>) -> String {
    match action {
        Action::Repeat { .. } => "[the same as in a newer message below]".into(),
        Action::Shorten { head, tail, .. } => head_and_tail(&joined(content), head, tail, call),
    }
}

/// The arguments of an answer's call: each string of them in head and tail if the record shortened the answer.
fn arguments(whole: &str, message: &Message, record: Option<&Compaction>) -> String {
    let action = record.and_then(|record| record.actions.get(&message.ord));
    let Some(Action::Shorten { head, tail, named, .. }) = action else { return whole.to_owned() };
    let cut = |text: &str| {
        let short = head_and_tail(text, *head, *tail, None);
        let recalled = format!("not shown; all of it can be recalled as \"{}\" …]", message.id);
        let short = if *named { short.replacen("not shown …]", &recalled, 1) } else { short };
        if short.len() < text.len() { short } else { text.to_owned() }
    };
    fn strings(value: &mut Value, cut: &dyn Fn(&str) -> String) {
        match value {
            Value::String(text) => *text = cut(text),
            Value::Array(list) => list.iter_mut().for_each(|value| strings(value, cut)),
            Value::Object(map) => map.values_mut().for_each(|value| strings(value, cut)),
            _ => {}
        }
    }
    match serde_json::from_str::<Value>(whole) {
        Ok(mut value) => {
            strings(&mut value, &cut);
            value.to_string()
        }
        Err(_) => cut(whole),
    }
}

/// Head and tail of a text. `call`, which recalls the rest, is set if the result was cut when it was appended.
fn head_and_tail(whole: &str, head: u32, tail: u32, call: Option<&str>) -> String {
    let first = whole.get(..whole.floor_char_boundary(head as usize)).unwrap_or_default();
    let from = whole.ceil_char_boundary(whole.len().saturating_sub(tail as usize));
    let last = whole.get(from..).unwrap_or_default();
    let (out, of) = (whole.len().saturating_sub(first.len() + last.len()), whole.len());
    let fetch = match call {
        Some(call) => format!("; they can be recalled as \"{call}\" from byte {}", first.len()),
        None => String::new(),
    };
    format!("{first}\n[… {out} of {of} bytes not shown{fetch} …]\n{last}")
}

/// The parts of a result that was cut when it was appended: head and tail, and its pictures.
fn cut(content: &[Content], cut: Cut, call: &str) -> Vec<ItemPart> {
    let text = head_and_tail(&joined(content), cut.head, cut.tail, (!cut.unnamed).then_some(call));
    let pictures = content.iter().filter(|part| matches!(part, Content::Image(_))).cloned();
    std::iter::once(ItemPart::text(text)).chain(pictures.map(ItemPart::Content)).collect()
}

/// Returns the content of a user message's item, or `None` if the model sees none.
pub fn user(message: &Message) -> Option<Said> {
    let Body::User(parts) = &message.body else { return None };
    let parts = content(parts);
    is_for_the_model(message).then_some(Said { role: Role::User, parts, calls: vec![], call_id: None })
}

/// Returns the items of the messages from `from` on, raw except for results cut on arrival or by the record.
pub fn from_on(transcript: &Transcript, from: Ordinal, record: Option<&Compaction>) -> Vec<Said> {
    let answers = answers(transcript);
    let mut said = Vec::new();
    for message in transcript.messages().iter().filter(|m| m.ord >= from && is_for_the_model(m)) {
        match &message.body {
            Body::Assistant { parts, calls, .. } => {
                let part = |part: &AssistantPart| match part {
                    AssistantPart::Text(text) => ItemPart::Content(Content::Text(text.clone())),
                    AssistantPart::Reasoning { text, signature, block } => ItemPart::Reasoning {
                        text: text.clone(),
                        signature: signature.clone(),
                        block: block.clone(),
                    },
                    AssistantPart::Raw(wire) => ItemPart::Raw(wire.clone()),
                };
                said.push(Said {
                    role: Role::Assistant,
                    parts: parts.iter().map(part).collect(),
                    calls: calls
                        .iter()
                        .map(|c| (c.id.clone(), c.name.clone(), arguments(&c.arguments, message, record)))
                        .collect(),
                    call_id: None,
                });
                for (at, call) in calls.iter().enumerate() {
                    let answer = answers.get(&(message.ord, at));
                    let message = answer.and_then(|ord| transcript.message(*ord));
                    let parts = match message.map(|m| (&m.body, m.shown)) {
                        Some((Body::Tool(result), shown)) => {
                            let action = answer.and_then(|ord| record?.actions.get(ord));
                            let id = call.id.as_str();
                            match (action, shown) {
                                (None, None) => content(&result.content),
                                (None, Some(shown)) => cut(&result.content, shown, id),
                                (Some(action), shown) => {
                                    let is_named = shown.is_some_and(|cut| !cut.unnamed);
                                    let text = acted_on(&result.content, *action, is_named.then_some(id));
                                    vec![ItemPart::text(text)]
                                }
                            }
                        }
                        _ => vec![ItemPart::text(STAND_IN.0)],
                    };
                    let call_id = Some(call.id.clone());
                    said.push(Said { role: Role::Tool, parts, calls: vec![], call_id });
                }
            }
            _ => said.extend(user(message)),
        }
    }
    said
}

/// Returns the bytes of a provider's own data in an answer.
pub fn opaque_bytes(body: &Body) -> usize {
    let Body::Assistant { parts, .. } = body else { return 0 };
    let json = parts.iter().filter_map(|part| match part {
        AssistantPart::Reasoning { block, .. } => block.as_deref().map(|block| json!(block).to_string()),
        AssistantPart::Raw(wire) => Some(wire.to_string()),
        AssistantPart::Text(_) => None,
    });
    json.map(|text| text.len()).sum()
}

/// Returns the tokens of an item, counted from its text.
pub fn weight(item: &Item, counter: &dyn TokenCount) -> u32 {
    if item.role == Role::Tool && item.sources.is_empty() {
        return STAND_IN.1;
    }
    let part = |part: &ItemPart| match part {
        ItemPart::Content(Content::Text(text)) => counter.count(text),
        ItemPart::Content(Content::Image(_)) => 765,
        ItemPart::Content(
            Content::Resource { uri: name, text } | Content::ContextFile { path: name, text },
        ) => counter.count(name) + counter.count(text) + 4,
        ItemPart::Content(Content::Meta(_)) => panic!("a prompt has data of a client"),
        ItemPart::Content(Content::ResourceLink(link)) => counter.count(&link.framed()),
        ItemPart::Content(Content::Attachment(attachment)) => counter.count(&attachment.framed()),
        // The signature and the rest of the block do not count as text.
        ItemPart::Reasoning { text, .. } => counter.count(text),
        ItemPart::Raw(wire) => counter.count(&wire.to_string()),
    };
    let parts: u32 = item.parts.iter().map(part).sum();
    let calls: u32 =
        item.calls.iter().map(|call| counter.count(&call.name) + counter.count(&call.arguments) + 8).sum();
    parts + calls + 4
}

/// Returns the tokens of the tool definitions.
pub fn tools(tools: &[Tool], counter: &dyn TokenCount) -> u32 {
    let one = |tool: &Tool| {
        let texts = [tool.name.as_str(), &tool.description, &tool.input_schema.to_string()];
        texts.map(|text| counter.count(text)).iter().sum::<u32>() + 8
    };
    tools.iter().map(one).sum()
}
