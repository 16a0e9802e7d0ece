//! Recall of messages byte for byte, whatever became of them in prompts: covered, cut, dropped or hidden.
//! Read-only, in every state. Models use it through the `recall` tool.

use crate::core::Conversation;
use crate::recall::{Recall, Recalled, SECTION};
use crate::values::refusal::Refusal;
use engine::id::Ordinal;
use engine::message::{Body, Message, NOT_KEPT};
use engine::prompt::coverage::{self, MessageStatus};
use engine::prompt::draft;
use engine::settings::SettingsError;
use engine::text::{page, sha256_hex};
use std::collections::BTreeMap;

/// Returns a page of a message's text.
///
/// # Errors
/// [`Refusal::Unknown`] if the reference names no message, no call with a result and no section of the
/// caller's; [`Refusal::NotKept`] if the text was dropped at the end of its turn.
pub(crate) fn recall(conversation: &Conversation, recall: Recall) -> Result<Recalled, Refusal> {
    let Recall { reference, offset, limit } = recall;
    if is_gone(conversation, &reference) {
        return Err(Refusal::NotKept { what: "ref", id: reference });
    }
    let message = conversation.transcript().referred(&reference);
    let section = || {
        let name = reference.strip_prefix(SECTION)?;
        let section = conversation.head().prefix.sections.iter().find(|section| section.name == name)?;
        Some(section.content.clone())
    };
    let Some(whole) = message.map(|message| message.body.said()).or_else(section) else {
        return Err(Refusal::Unknown { what: "ref", id: reference });
    };
    let page = page(&whole, offset, limit);
    Ok(Recalled {
        text: page.text.to_owned(),
        offset: page.offset,
        total: whole.len(),
        next: page.next,
        sha256: sha256_hex(whole.as_bytes()),
        reference,
    })
}

/// The status of these messages in the prompt as it would be sent now.
///
/// # Errors
/// The settings allow no prompt.
pub(crate) fn message_statuses(
    conversation: &Conversation,
    of: &[Ordinal],
) -> Result<BTreeMap<Ordinal, MessageStatus>, SettingsError> {
    let budget = conversation.settings().budget()?;
    if of.is_empty() {
        return Ok(BTreeMap::new());
    }
    let (transcript, in_force) = (conversation.transcript(), conversation.transcript().in_force());
    let prompt = draft(conversation.source(budget), in_force);
    let statuses = coverage::message_statuses(transcript, in_force, &prompt, of.iter().copied());
    Ok(statuses.filter_map(|(ord, status)| Some((ord, status?))).collect())
}

/// `true` if this was dropped at the end of its turn.
fn is_gone(conversation: &Conversation, reference: &str) -> bool {
    let is_it = |message: &Message| match &message.body {
        Body::Event { kind, text } => {
            kind == NOT_KEPT && (&**text == reference || message.id.as_str() == reference)
        }
        _ => false,
    };
    // A later call of the same id takes precedence.
    match conversation.transcript().referred(reference) {
        Some(message) => is_it(message),
        None => conversation.transcript().messages().iter().any(|message| is_it(message)),
    }
}

/// Returns all text of a message for a model: `None` if there is none or no model may see it, a note if the
/// text was dropped at the end of its turn.
pub(crate) fn recall_for_model(conversation: &Conversation, reference: &str) -> Option<String> {
    if is_gone(conversation, reference) {
        return Some("[this was said and is not kept: only requests and final answers are]".to_owned());
    }
    let message = conversation.transcript().referred(reference).filter(|message| !message.is_hidden())?;
    Some(message.body.said())
}
