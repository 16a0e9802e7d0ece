//! How messages that come are shown: large results by their head and their tail, answers without their thinking. It is
//! decided once, when a message is appended; the cutting itself is `message::cut`'s.

use super::Transcript;
use crate::message::cut::{self, Cut, ThinkingInPrompt};
use crate::message::{Body, NewMessage};
use crate::tokens::TokenCount;

impl Transcript {
    /// From now on a result whose text weighs more than this many tokens is shown by its head and its tail. What was
    /// appended before stays as it is shown.
    pub fn limit_results(&mut self, most: Option<u32>) {
        self.most_result = most;
    }

    /// Which thinking of the answers that come now stays in prompts. What was appended before stays as it is shown.
    pub fn limit_thinking(&mut self, thinking: ThinkingInPrompt) {
        self.thinking = thinking;
    }

    /// Whether a model can fetch what is not shown, so that results that are shortened from now on say how.
    pub fn name_results(&mut self, names: bool) {
        self.names_results = names;
    }

    /// Tokens of a message as prompts will show it, and how a large result is shown. One that no call waits for is
    /// never shown.
    pub(super) fn weigh(&self, new: &NewMessage, counter: &dyn TokenCount) -> (u32, Option<Cut>) {
        if let Some(cut) = new.shown {
            let tokens = if cut.after_turn { new.body.tokens(counter) } else { cut.tokens };
            return (tokens, Some(cut));
        }
        if let Some(cut) = cut::without_thinking(&new.body, self.thinking, counter) {
            let tokens = if cut.after_turn { new.body.tokens(counter) } else { cut.tokens };
            return (tokens, Some(cut));
        }
        if let (Body::Tool(result), Some(most), true) = (&new.body, self.most_result, new.visible_to_model)
            && let Some((_, call)) = self.open_call(&result.call, self.turns.len() - 1)
        {
            return cut::weigh(result, most, call.as_str(), counter);
        }
        (new.body.tokens(counter), None)
    }
}
