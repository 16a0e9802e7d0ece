//! Thinking that is bound to its prompt. Some models accept a block of thinking only while everything before
//! it is unchanged: tools, system text and each message, with the same earlier thinking left out. A prompt
//! for such a model omits all other thinking. The budget states which models these are.
//!
//! A compaction that a provider made on its own is bound for every model: it stands for all that was before it, and would
//! bring back what an edit, a rewind or a compaction of ours has removed since.

use super::history::cut;
use super::item::{Item, ItemPart};
use super::sent::Chain;
use super::{CutReason, Prompt, Source};
use crate::message::{Message, is_provider_compaction};

/// Removes thinking that the model would refuse here, and reports it, and compactions of a provider that stand for other
/// messages than those before them. Goes from front to back, because a block's validity depends on what is shown before
/// it. Removed thinking stays removed until something before it changes, so prompts keep extending each other; when the
/// earlier bytes return, so does the thinking.
pub(super) fn leave_out(prompt: &mut Prompt, source: Source<'_>) {
    let since = source.budget.bound_thinking;
    let is_bound = |item: &Item| since.is_some() && item.thinks() || item.is_compacted_by_provider();
    let Some(last) = prompt.items.iter().rposition(is_bound) else { return };
    let mut chain = Chain::of(source.fixed);
    for at in 0..=last {
        let Some(item) = prompt.items.get_mut(at) else { return };
        let message = item.sources.first().and_then(|shown| source.transcript.message(shown.ord));
        let follows = message.is_some_and(|message| follows(message, &chain));
        if !follows && item.is_compacted_by_provider() {
            item.parts.retain(|part| !matches!(part, ItemPart::Raw(wire) if is_provider_compaction(wire)));
        }
        let is_refused = |ord| since.is_some_and(|since| !follows || ord < since);
        if let Some(message) = message.filter(|message| item.thinks() && is_refused(message.ord)) {
            let tokens = strip(item, message);
            let kept = item.text_bytes();
            chain.push(item);
            prompt.cuts.push(cut(message, CutReason::Thinking, kept));
            let of = |section: &&mut super::Section| section.items.contains(&at);
            if let Some(section) = prompt.plan.sections.iter_mut().find(of) {
                section.tokens = section.tokens.saturating_sub(tokens);
            }
        } else {
            chain.push(item);
        }
    }
}

/// `true` if the message was produced for the prompt before it.
fn follows(message: &Message, chain: &Chain) -> bool {
    message.body.thought().and_then(|thought| thought.follows.as_deref()) == Some(chain.hash())
}

/// Removes the thinking of an item and returns its tokens.
fn strip(item: &mut Item, message: &Message) -> u32 {
    item.parts.retain(|part| !matches!(part, ItemPart::Reasoning { .. }));
    let tokens = message.body.thought().map_or(0, |thought| thought.tokens).min(item.tokens);
    item.tokens -= tokens;
    tokens
}
