//! What an open session has of its file in the workspace: whether it is written, what somebody else made of it.

use crate::trajectory::FileError;
use crate::trajectory::saver::Saver;
use import::trajectory::Trajectory;
use session::Session;
use session::event::{EventBody, Phase};

/// See the file's header.
#[derive(Debug, Default)]
pub(in crate::server) struct Filed {
    saver: Saver,
    is_looked_at: bool,
    /// A version of somebody else's, with its hash, until the session has time for it.
    changed: Option<(Box<Trajectory>, String)>,
    /// Messages of the session that it holds, where this process brought them there or took them from there.
    known: Option<u32>,
    /// The fault that was told last.
    said: Option<FileError>,
}

impl Filed {
    pub fn is_looked_at(&self) -> bool {
        self.is_looked_at
    }

    /// Marks it as looked at. Returns whether that is new.
    pub fn look(&mut self) -> bool {
        !std::mem::replace(&mut self.is_looked_at, true)
    }

    /// Returns whether there is something to be done that needs all of the session.
    pub const fn waits(&self) -> bool {
        self.changed.is_some() || self.saver.is_due()
    }

    /// The file does not say what the session says.
    pub fn is_behind(&mut self) {
        self.saver.changed();
    }

    /// Notes an event: some say what the file is to say too.
    pub fn note(&mut self, body: &EventBody) {
        let is_said = match body {
            EventBody::MessageAdded(_)
            | EventBody::MessageUpdated(_)
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

    /// Notes a version of somebody else's.
    pub fn set_changed(&mut self, trajectory: Box<Trajectory>, hash: String) {
        self.changed = Some((trajectory, hash));
        self.said = None;
    }

    /// Takes the version of somebody else's, to be taken in now.
    pub fn take_changed(&mut self) -> Option<(Box<Trajectory>, String)> {
        self.changed.take()
    }

    /// Returns whether it is written now. A chat in which nothing was ever said needs no file.
    pub fn begins(&mut self, session: &Session) -> bool {
        let is_empty = session.transcript().messages().is_empty() && self.known.is_none();
        !is_empty && self.saver.begins()
    }

    pub fn is_dirty(&self) -> bool {
        self.saver.is_dirty()
    }

    /// Notes the end of a write, with the number of messages where it was written.
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

    /// Notes how many messages it holds.
    pub fn set_known(&mut self, messages: usize) {
        self.known = Some(u32::try_from(messages).unwrap_or(u32::MAX));
    }

    /// Notes why it is not written. Returns whether that is to be told.
    pub fn says(&mut self, error: &FileError) -> bool {
        let is_new = self.said.as_ref() != Some(error);
        if is_new {
            self.said = Some(error.clone());
        }
        is_new
    }

    /// Lets it be written again.
    pub fn try_again(&mut self) {
        self.saver.try_again();
    }
}
