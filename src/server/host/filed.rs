//! State of an open session's file in the workspace: our writes, and what others changed.

use crate::trajectory::FileError;
use crate::trajectory::saver::Saver;
use import::trajectory::Trajectory;
use session::Session;
use session::event::{EventBody, Phase};

/// State of a session's file.
#[derive(Debug, Default)]
pub(in crate::server) struct FileState {
    saver: Saver,
    is_looked_at: bool,
    /// Another's version and its hash, until the session is at rest.
    changed: Option<(Box<Trajectory>, String)>,
    /// Number of the session's messages in the file, as this process last wrote or read it.
    known: Option<u32>,
    /// The error that was reported last.
    said: Option<FileError>,
}

impl FileState {
    pub fn is_looked_at(&self) -> bool {
        self.is_looked_at
    }

    /// Marks it as looked at. Returns `true` if that is new.
    pub fn look(&mut self) -> bool {
        !std::mem::replace(&mut self.is_looked_at, true)
    }

    /// `true` if there is work that needs the whole session.
    pub const fn waits(&self) -> bool {
        self.changed.is_some() || self.saver.is_due()
    }

    /// Marks the file as outdated.
    pub fn is_behind(&mut self) {
        self.saver.changed();
    }

    /// Marks the file as outdated if it contains what the event changes.
    pub fn note(&mut self, body: &EventBody) {
        let is_said = match body {
            EventBody::MessageAdded(..)
            | EventBody::MessageUpdated(..)
            | EventBody::MessageRemoved { .. }
            | EventBody::MessagesTruncated { .. }
            | EventBody::ThreadUpdated { .. } => true,
            EventBody::CompactionUpdated(update) => {
                matches!(update.phase, Phase::Accepted | Phase::Undone | Phase::Voided)
            }
            _ => false,
        };
        if is_said {
            self.saver.changed();
        }
    }

    /// Notes another's version of the file.
    pub fn set_changed(&mut self, trajectory: Box<Trajectory>, hash: String) {
        self.changed = Some((trajectory, hash));
        self.said = None;
    }

    /// Takes another's version, to take it in.
    pub fn take_changed(&mut self) -> Option<(Box<Trajectory>, String)> {
        self.changed.take()
    }

    /// Begins a write if one is due. Returns `false` for a chat without messages: it needs no file.
    pub fn begins(&mut self, session: &Session) -> bool {
        let is_empty = session.transcript().messages().is_empty() && self.known.is_none();
        !is_empty && self.saver.begins()
    }

    pub fn is_dirty(&self) -> bool {
        self.saver.is_dirty()
    }

    /// Ends a write, with the number of messages if it succeeded.
    pub fn written(&mut self, messages: Option<u32>) {
        self.saver.done(messages.is_some());
        if let Some(messages) = messages {
            self.known = Some(messages);
            self.said = None;
        }
    }

    pub fn known(&self) -> Option<u32> {
        self.known
    }

    /// Notes the number of messages in the file.
    pub fn set_known(&mut self, messages: usize) {
        self.known = Some(u32::try_from(messages).unwrap_or(u32::MAX));
    }

    /// Notes an error. Returns `true` if it is new, and so to be reported.
    pub fn says(&mut self, error: &FileError) -> bool {
        let is_new = self.said.as_ref() != Some(error);
        if is_new {
            self.said = Some(error.clone());
        }
        is_new
    }

    /// Retries a failed write.
    pub fn try_again(&mut self) {
        self.saver.try_again();
    }
}
