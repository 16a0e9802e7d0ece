//! Renders that wait until nothing runs; one is made at a time.

use crate::core::Core;
use crate::values::input::{Render, ReplyTo};
use crate::values::refusal::Refusal;
use std::collections::VecDeque;

/// Waiting renders in order, each with the request to answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Renders(VecDeque<(ReplyTo, Render)>);

impl Renders {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn contains(&self, reply: ReplyTo) -> bool {
        self.0.iter().any(|(waiting, _)| *waiting == reply)
    }

    pub fn push(&mut self, reply: ReplyTo, render: Render) {
        self.0.push_back((reply, render));
    }

    pub fn pop(&mut self) -> Option<(ReplyTo, Render)> {
        self.0.pop_front()
    }

    /// Drops a render whose answer nobody waits for.
    pub fn forget(&mut self, reply: ReplyTo) {
        self.0.retain(|(waiting, _)| *waiting != reply);
    }

    /// Refuses all waiting renders as cancelled.
    pub fn refuse(&mut self, core: &mut Core<'_>) {
        for (reply, _) in std::mem::take(&mut self.0) {
            core.reply(reply, Err(Refusal::Cancelled));
        }
    }
}
