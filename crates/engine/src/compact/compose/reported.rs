//! Lines of a block that name the user messages which are hidden.

use super::Inputs;
use crate::id::Ordinal;
use crate::message::{Body, Message};
use crate::text::first_line;

impl Inputs<'_> {
    /// Returns lines that name hidden user messages, in order; the oldest that do not fit share a line with their
    /// range.
    pub(super) fn reported(&self, ords: &[Ordinal], tokens: u32) -> Vec<String> {
        let line = |message: &std::sync::Arc<Message>| {
            let texts: Vec<&str> = match &message.body {
                Body::Tool(result) => result.user_words().into_iter().collect(),
                body => body.texts().into_iter().map(|text| &**text).collect(),
            };
            let bytes: usize = texts.iter().map(|text| text.len()).sum();
            let start = texts.first().map_or_else(String::new, |text| first_line(text, 80));
            format!("- message {} ({bytes} bytes): {start}", message.ord)
        };
        let mut left = tokens;
        let mut lines = Vec::new();
        for message in ords.iter().rev().filter_map(|ord| self.source.transcript.message(*ord)) {
            let line = line(message);
            let weight = self.counter.count(&line) + 1;
            if weight > left {
                break;
            }
            left -= weight;
            lines.push(line);
        }
        if let Some(rest) = ords.len().checked_sub(lines.len()).filter(|rest| *rest > 0) {
            let last = ords.get(rest - 1).copied().unwrap_or_default();
            let first = ords.first().copied().unwrap_or_default();
            lines.push(format!("- {rest} more, from message {first} to {last}"));
        }
        lines.reverse();
        lines
    }
}
