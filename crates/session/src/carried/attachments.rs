//! Attachments that wait for the next request, across restarts.

use engine::message::attachment::{self, Attachment};
use serde::{Deserialize, Serialize};

/// Waiting attachments, at most one of a name.
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

    /// Adds attachments; one replaces an older one of the same name.
    pub(crate) fn put(&mut self, given: Vec<Attachment>) {
        attachment::put(&mut self.0, given);
    }

    pub(crate) fn take(&mut self) -> Vec<Attachment> {
        std::mem::take(&mut self.0)
    }

    /// Replaces all waiting attachments; returns `true` if that is a change.
    pub(crate) fn replace(&mut self, rest: Vec<Attachment>) -> bool {
        let is_new = self.0 != rest;
        self.0 = rest;
        is_new
    }

    /// Drops the attachments whose names begin with `prefix`.
    pub(crate) fn drop_named(&mut self, prefix: &str) {
        self.0.retain(|attachment| !attachment.name.starts_with(prefix));
    }
}
