//! What was said, byte for byte, whatever became of it in prompts: covered, cut, dropped or hidden. A pure read in every
//! state. How a model asks for it is the `recall` tool's.

use super::Session;
use super::effect::Refusal;
use engine::message::{Body, Message, NOT_KEPT};
use engine::prompt::coverage::{Fate, fates};
use engine::prompt::{Source, draft};
use engine::settings::SettingsError;
use engine::text::{page, sha256_hex};

/// The name of the tool with which a model fetches what it does not see.
pub const RECALL: &str = "recall";
/// How the references of a caller's own sections begin.
pub const SECTION: &str = "section:";

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recall {
    /// A message's id, the id of a call for its result, or [`SECTION`] and the name of a section of the caller's.
    pub reference: String,
    /// Where to begin, in bytes; inside a character it is that character's start.
    pub offset: usize,
    /// The most to give, in bytes; a single character that is longer is given all the same.
    pub limit: usize,
}

/// A part of what was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recalled {
    /// What was asked for.
    pub reference: String,
    /// The bytes.
    pub text: String,
    /// Where they begin.
    pub offset: usize,
    /// Bytes of all of it.
    pub total: usize,
    /// Where it goes on, where it does.
    pub next: Option<usize>,
    /// SHA-256 of all of it, in lower-case hexadecimal.
    pub sha256: String,
}

impl Session {
    /// A part of a message's text.
    ///
    /// # Errors
    /// [`Refusal::Unknown`] where no message of the session has this id, and no call of this id has a result;
    /// [`Refusal::NotKept`] where it was said and went with its turn.
    pub fn recall(&self, recall: Recall) -> Result<Recalled, Refusal> {
        let Recall { reference, offset, limit } = recall;
        if self.is_gone(&reference) {
            return Err(Refusal::NotKept { what: "ref", id: reference });
        }
        let message = self.transcript.referred(&reference);
        let section = || {
            let name = reference.strip_prefix(SECTION)?;
            let section = self.head.prefix.sections.iter().find(|section| section.name == name)?;
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
    pub fn fates(&self) -> Result<Vec<Option<Fate>>, SettingsError> {
        let budget = self.settings.budget()?;
        let source = Source { transcript: &self.transcript, fixed: &self.fixed, budget };
        let in_force = self.transcript.in_force();
        Ok(fates(&self.transcript, in_force, &draft(source, in_force)).collect())
    }

    /// Whether this was said and went with its turn.
    fn is_gone(&self, reference: &str) -> bool {
        let is_it = |message: &Message| match &message.body {
            Body::Event { kind, text } => {
                kind == NOT_KEPT && (&**text == reference || message.id.as_str() == reference)
            }
            _ => false,
        };
        // A call that came later has the id for itself.
        match self.transcript.referred(reference) {
            Some(message) => is_it(message),
            None => self.transcript.messages().iter().any(|message| is_it(message)),
        }
    }

    /// All text of a message, for a model: nothing where there is none, or where no model may see it. Of what went with
    /// its turn it says so.
    pub fn recall_for_model(&self, reference: &str) -> Option<String> {
        if self.is_gone(reference) {
            return Some("[this was said and is not kept: only requests and final answers are]".to_owned());
        }
        let message = self.transcript.referred(reference).filter(|message| !message.is_hidden())?;
        Some(message.body.said())
    }
}
