//! The workspace folder, and the sizes at which new messages are shown: large results by head and tail, answers without
//! their thinking, user messages without what an earlier one has.
//! Decided once, when a message is appended; `message::cut` does the cutting.

use super::Transcript;
use crate::message::cut::{self, Cut, ThinkingInPrompt};
use crate::message::{Body, NewMessage, repeats};
use crate::tokens::TokenCount;

impl Transcript {
    /// Sets the tokens above which new results are shown by head and tail. Messages appended before are unaffected.
    pub fn limit_results(&mut self, most: Option<u32>) {
        self.most_result = most;
    }

    /// Sets which thinking of new answers stays in prompts. Messages appended before are unaffected.
    pub fn limit_thinking(&mut self, thinking: ThinkingInPrompt) {
        self.thinking = thinking;
    }

    /// Sets whether a model can fetch cut parts; results shortened from now on then state how.
    pub fn name_results(&mut self, names: bool) {
        self.names_results = names;
    }

    /// Sets the workspace folder: an absolute path or a `file://` URI. Others, such as a remote one, are none.
    pub fn set_folder(&mut self, folder: &str) {
        let folder = folder.strip_prefix("file://").unwrap_or(folder);
        if shell::path::is_absolute(folder) && self.folder.as_deref() != Some(folder) {
            self.folder = Some(folder.trim_end_matches('/').to_owned()).filter(|folder| !folder.is_empty());
        }
    }

    /// Returns the workspace folder without a trailing slash, which relative paths in calls are below.
    pub fn folder(&self) -> Option<&str> {
        self.folder.as_deref()
    }

    /// Counts the tokens of a message as prompts will show it, with its cut if it is shortened. A result
    /// without an open call is never shown, so never cut.
    pub(super) fn weigh(&self, new: &NewMessage, counter: &dyn TokenCount) -> (u32, Option<Cut>) {
        if let Some(cut) = new.shown {
            let is_whole_at_first = cut.after_turn || !cut.repeats.is_empty();
            let tokens = if is_whole_at_first { new.body.tokens(counter) } else { cut.tokens };
            return (tokens, Some(cut));
        }
        if let Some(cut) = cut::without_thinking(&new.body, self.thinking, counter) {
            let tokens = if cut.after_turn { new.body.tokens(counter) } else { cut.tokens };
            return (tokens, Some(cut));
        }
        if let (Body::Tool(result), Some(most), true) = (&new.body, self.most_result, new.visible_to_model)
            && let Some((_, call)) = self.open_call(&result.call, self.turns.len() - 1)
        {
            return cut::weigh(result, most, self.names_results.then_some(call.as_str()), counter);
        }
        if let (Body::User(parts), true) = (&new.body, new.visible_to_model) {
            let earlier = self.messages.iter().rev().filter(|message| message.visible_to_model);
            return repeats::weigh(parts, earlier.map(|message| &message.body), counter);
        }
        (new.body.tokens(counter), None)
    }
}
