//! What was said, byte for byte, whatever became of it in prompts: covered, cut, dropped or hidden. A pure read in every
//! state. How a model asks for it is the `recall` tool's.

use crate::core::Conversation;
use crate::recall::{Recall, Recalled, SECTION};
use crate::values::refusal::Refusal;
use engine::message::{Body, Message, NOT_KEPT};
use engine::prompt::coverage::{self, Fate};
use engine::prompt::draft;
use engine::settings::SettingsError;
use engine::text::{page, sha256_hex};

/// A part of a message's text.
///
/// # Errors
/// [`Refusal::Unknown`] where no message of the session has this id, and no call of this id has a result;
/// [`Refusal::NotKept`] where it was said and went with its turn.
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

/// What became of each message in the prompt as it would be sent now, by position.
///
/// # Errors
/// The settings allow no prompt.
pub(crate) fn fates(conversation: &Conversation) -> Result<Vec<Option<Fate>>, SettingsError> {
    let budget = conversation.settings().budget()?;
    let source = conversation.source(budget);
    let in_force = conversation.transcript().in_force();
    Ok(coverage::fates(conversation.transcript(), in_force, &draft(source, in_force)).collect())
}

/// Whether this was said and went with its turn.
fn is_gone(conversation: &Conversation, reference: &str) -> bool {
    let is_it = |message: &Message| match &message.body {
        Body::Event { kind, text } => {
            kind == NOT_KEPT && (&**text == reference || message.id.as_str() == reference)
        }
        _ => false,
    };
    // A call that came later has the id for itself.
    match conversation.transcript().referred(reference) {
        Some(message) => is_it(message),
        None => conversation.transcript().messages().iter().any(|message| is_it(message)),
    }
}

/// All text of a message, for a model: nothing where there is none, or where no model may see it. Of what went with
/// its turn it says so.
pub(crate) fn recall_for_model(conversation: &Conversation, reference: &str) -> Option<String> {
    if is_gone(conversation, reference) {
        return Some("[this was said and is not kept: only requests and final answers are]".to_owned());
    }
    let message = conversation.transcript().referred(reference).filter(|message| !message.is_hidden())?;
    Some(message.body.said())
}
