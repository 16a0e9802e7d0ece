//! Conversion between wire types and the engine's values, by hand and both ways. Input is read by a
//! [`Reading`], which knows its position, so that every error names its field; output cannot fail. Enums that
//! mean the same on both sides have `From`, in the protocol crate. Nothing here decides about a session.

mod acceptance;
mod answer;
mod context;
mod effects;
mod ledger;
mod memory;
mod message;
mod prompt;
mod queue;
mod time;
mod tool;
mod turn;
pub mod uri;
mod worktree;

pub use acceptance::acceptance;
pub use answer::{answer, complete_params, delta, delta_op, streaming};
pub use context::{
    cannot_undo, compaction_view, coverage, estimate, learned_limit, pin, preview, search_hit, session_hit,
    spending, trigger_state, turn_metadata, window_source,
};
pub use effects::command_effects;
pub use ledger::ledger;
pub use memory::memory;
pub use message::{attachments, body_parts, content_parts, message, message_in, messages, meta_of_whole};
pub use prompt::{breakpoints, cuts, fit, plan, prompt_messages, section, section_tokens};
pub use queue::{always, queue_item, scope, scope_patch, standing};
pub use time::{iso, moment};
pub use tool::tool;
pub use turn::{history, round, turn};
pub use uri::{has_drive, path, path_of_url, uri_of};
pub use worktree::{changes_error, worktree_changes};

use protocol::error::ProtocolError;
use protocol::message::Content;
use session::effect::Diagnostic;
use std::fmt::Write as _;
use thiserror::Error;

/// A field that the engine cannot take.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{field}: {reason}")]
pub struct ConvertError {
    /// Path of the field, such as `history[2].rounds[0].assistant.parts[1]`.
    pub field: String,
    /// The fault.
    pub reason: String,
}

impl From<ConvertError> for ProtocolError {
    fn from(error: ConvertError) -> Self {
        ProtocolError::invalid(error.field, error.reason)
    }
}

/// The kind of diagnostic that reports ignored parts.
const IGNORED_PART: &str = "ignoredPart";

/// A position in the parameters, and what was left out so far.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    path: String,
    /// Parts that were left out because their kind is unknown.
    ignored: Vec<Diagnostic>,
}

impl Reading {
    /// Starts at the top of the parameters.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a field of this name.
    pub fn field<T>(&mut self, name: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.path.len();
        if before > 0 {
            self.path.push('.');
        }
        self.path.push_str(name);
        let done = read(self);
        self.path.truncate(before);
        done
    }

    /// Reads each item of the list at this position, up to the first that fails.
    pub fn each<'a, T, U>(
        &mut self,
        items: &'a [T],
        mut read: impl FnMut(&mut Self, &'a T) -> Result<U, ConvertError>,
    ) -> Result<Vec<U>, ConvertError> {
        let before = self.path.len();
        let mut done = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            let _ = write!(self.path, "[{at}]");
            let one = read(self, item);
            self.path.truncate(before);
            done.push(one?);
        }
        Ok(done)
    }

    /// Returns the diagnostics of what was left out, for the answer.
    pub fn left_out(self) -> Vec<Diagnostic> {
        self.ignored
    }

    fn fail(&self, reason: impl Into<String>) -> ConvertError {
        ConvertError { field: self.path.clone(), reason: reason.into() }
    }

    /// Leaves out the part at this position, whose kind is unknown or has no use here.
    fn ignore(&mut self, reason: &str) {
        let message = format!("{}.type: {reason}; the part was left out", self.path);
        self.ignored.push(Diagnostic { kind: IGNORED_PART, message });
    }

    /// Fails for content of which no part is left, if there was one: a request says something.
    fn something<T>(&self, given: &Content, read: &[T]) -> Result<(), ConvertError> {
        let [first, ..] = given.0.as_slice() else { return Ok(()) };
        if !read.is_empty() {
            return Ok(());
        }
        Err(ConvertError { field: format!("{}[0].type", self.path), reason: message::unusable(first) })
    }
}

#[cfg(test)]
mod tests;
