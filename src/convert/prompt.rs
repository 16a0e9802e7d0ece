//! Prompts as they are sent: items, plan, sizes, cuts. Items are not joined.

use super::message::content_parts;
use engine::message::Content;
use engine::prompt as ours;
use engine::prompt::item::{Item, ItemPart};
use engine::prompt::system::CallerSection;
use engine::prompt::{KEEP, Prompt, PromptPlan};
use engine::text::sha256_hex;
use protocol::context::SectionTokens;
use protocol::message::{self, Arguments, Part};
use protocol::prompt::{Cut, PlanSection, PromptMessage, PromptRole, Section};
use session::Session;
use session::recall::SECTION;
use session::settings::ModelFacts;

/// Indexes of the messages after which a provider's cache may keep a prompt.
pub fn breakpoints(prompt: &Prompt) -> Vec<usize> {
    let marked = prompt.plan.sections.iter().filter(|section| section.cache_breakpoint);
    let mut ends: Vec<usize> = marked
        .filter(|section| !section.items.is_empty())
        .filter_map(|section| section.items.end.checked_sub(1))
        .collect();
    ends.dedup();
    ends
}

/// Converts items to messages, in order, with these breakpoints.
pub fn prompt_messages(items: &[Item], breakpoints: &[usize]) -> Vec<PromptMessage> {
    let items = items.iter().enumerate();
    items
        .map(|(at, item)| PromptMessage {
            role: item.role,
            parts: item_parts(item),
            cache_breakpoint: breakpoints.contains(&at).then_some(true),
        })
        .collect()
}

/// Adapts messages to a model: a role that it does not know becomes the user's, and an image that it cannot
/// see becomes a text.
pub fn fit(mut messages: Vec<PromptMessage>, model: &ModelFacts) -> Vec<PromptMessage> {
    for message in &mut messages {
        let is_known = match message.role {
            PromptRole::System => model.system_role,
            PromptRole::Tool => model.tool_role,
            PromptRole::User | PromptRole::Assistant => true,
        };
        if !is_known {
            message.role = PromptRole::User;
        }
        if !model.images {
            message.parts.iter_mut().for_each(name_picture);
        }
    }
    messages
}

fn name_picture(part: &mut Part) {
    match part {
        Part::Image { mime_type, .. } => *part = Part::text(format!("[picture, {mime_type}]")),
        Part::ToolResult { content, .. } => content.0.iter_mut().for_each(name_picture),
        _ => {}
    }
}

fn item_parts(item: &Item) -> Vec<Part> {
    let said = item.parts.iter().flat_map(|part| match part {
        // Text fits every wire, and the framing is ours.
        ItemPart::Content(Content::Attachment(attachment)) => vec![Part::text(attachment.framed())],
        ItemPart::Content(Content::ResourceLink(link)) => vec![Part::text(&*link.framed())],
        ItemPart::Content(content) => content_parts(std::slice::from_ref(content)),
        ItemPart::Reasoning { text, signature, block } => vec![Part::Reasoning {
            text: text.to_string(),
            signature: signature.as_ref().map(|signature| signature.to_string()),
            block: block.as_deref().cloned(),
        }],
        ItemPart::Raw(wire) => vec![Part::Raw { wire: (**wire).clone() }],
    });
    if let Some(call) = &item.call_id {
        return vec![Part::ToolResult {
            tool_call_id: call.as_str().to_owned(),
            content: message::Content(said.collect()),
            is_error: None,
            exit_code: None,
            effects: None,
            arguments: None,
            meta: None,
        }];
    }
    let calls = item.calls.iter().map(|call| Part::ToolCall {
        id: call.id.as_str().to_owned(),
        name: call.name.to_string(),
        arguments: Arguments(call.arguments.to_string()),
        source_id: None,
        meta: None,
    });
    said.chain(calls).collect()
}

/// Converts a plan. `marked` is `false` if no breakpoints are wanted.
pub fn plan(plan: &PromptPlan, marked: bool) -> Vec<PlanSection> {
    let sections = plan.sections.iter();
    sections
        .map(|section| PlanSection {
            channel: section.channel,
            name: section.name.clone(),
            messages: [index(section.items.start), index(section.items.end)],
            tokens: section.tokens,
            priority: (section.priority != KEEP).then_some(section.priority),
            cache_breakpoint: marked && section.cache_breakpoint,
        })
        .collect()
}

fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// The sizes of a plan's sections.
pub fn section_tokens(plan: &PromptPlan) -> Vec<SectionTokens> {
    let sections = plan.sections.iter();
    sections
        .map(|section| SectionTokens {
            channel: section.channel,
            name: section.name.clone(),
            tokens: section.tokens,
        })
        .collect()
}

/// Converts the cuts of a session's prompt.
pub fn cuts(session: &Session, cuts: &[ours::Cut]) -> Vec<Cut> {
    let sections = &session.head().prefix.sections;
    cuts.iter()
        .map(|cut| {
            let message = cut.ord.and_then(|ord| session.transcript().message(ord));
            let section = cut.section.as_deref();
            let content = section.and_then(|name| sections.iter().find(|section| section.name == name));
            Cut {
                ord: cut.ord.map(|ord| ord.0),
                reference: message
                    .map(|message| message.id.as_str().to_owned())
                    .or_else(|| section.map(|name| format!("{SECTION}{name}"))),
                sha256: message
                    .map(|message| message.said_sha256().to_owned())
                    .or_else(|| content.map(|section| sha256_hex(section.content.as_bytes()))),
                reason: cut.reason,
                original_bytes: cut.original_bytes as u64,
                kept_bytes: cut.kept_bytes as u64,
            }
        })
        .collect()
}

/// Converts a caller's section.
pub fn section(section: &CallerSection) -> Section {
    Section {
        channel: Some(section.place),
        name: section.name.clone(),
        content: section.content.clone(),
        priority: (section.priority != KEEP).then_some(section.priority),
        max_tokens: section.max_tokens,
        on_overflow: Some(section.on_overflow),
    }
}
