//! Thinking that is bound to its prompt. Some models accept a block of thinking only while everything before
//! it is unchanged: tools, system text and each message, with the same earlier thinking left out. A prompt
//! for such a model omits all other thinking. The budget states which models these are.

use super::history::cut;
use super::item::{Item, ItemPart};
use super::sent::Chain;
use super::{CutReason, Prompt, Source};
use crate::id::Ordinal;
use crate::message::Message;

/// Removes thinking that the model would refuse here, and reports it. Goes from front to back, because a
/// block's validity depends on what is shown before it. Removed thinking stays removed until something before
/// it changes, so prompts keep extending each other; when the earlier bytes return, so does the thinking.
pub(super) fn leave_out(prompt: &mut Prompt, source: Source<'_>) {
    let Some(since) = source.budget.bound_thinking else { return };
    let Some(last) = prompt.items.iter().rposition(Item::thinks) else { return };
    let mut chain = Chain::of(source.fixed);
    for at in 0..=last {
        let Some(item) = prompt.items.get_mut(at) else { return };
        let message = item.sources.first().and_then(|shown| source.transcript.message(shown.ord));
        if let Some(message) = message.filter(|_| item.thinks() && !holds(item, &chain, source, since)) {
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

/// `true` if the item's thinking was produced for the prompt before it.
fn holds(item: &Item, chain: &Chain, source: Source<'_>, since: Ordinal) -> bool {
    let message = item.sources.first().and_then(|shown| source.transcript.message(shown.ord));
    let follows = message.and_then(|message| message.body.thought()?.follows.as_deref());
    message.is_some_and(|message| message.ord >= since) && follows == Some(chain.hash())
}

/// Removes the thinking of an item and returns its tokens.
fn strip(item: &mut Item, message: &Message) -> u32 {
    item.parts.retain(|part| !matches!(part, ItemPart::Reasoning { .. }));
    let tokens = message.body.thought().map_or(0, |thought| thought.tokens).min(item.tokens);
    item.tokens -= tokens;
    tokens
}
