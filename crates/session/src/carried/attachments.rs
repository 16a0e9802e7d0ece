//! What is so now and waits to be told with the next request, across restarts.

use engine::message::attachment::{self, Attachment};
use serde::{Deserialize, Serialize};

/// Attachments that wait, one of a name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WaitingAttachments(Vec<Attachment>);

impl WaitingAttachments {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn all(&self) -> &[Attachment] {
        &self.0
    }

    /// Adds these; the later of one name is the newer.
    pub(crate) fn put(&mut self, given: Vec<Attachment>) {
        attachment::put(&mut self.0, given);
    }

    pub(crate) fn take(&mut self) -> Vec<Attachment> {
        std::mem::take(&mut self.0)
    }

    /// Only these wait from now on; whether that is a change.
    pub(crate) fn replace(&mut self, rest: Vec<Attachment>) -> bool {
        let is_new = self.0 != rest;
        self.0 = rest;
        is_new
    }

    /// Drops those whose names begin so.
    pub(crate) fn drop_named(&mut self, prefix: &str) {
        self.0.retain(|attachment| !attachment.name.starts_with(prefix));
    }
}
