//! Thinking that is bound to its prompt. Some models take a block of thinking back only while everything before it is what
//! it was when the block came: tools, system text, and each message, with earlier thinking left out where it was left out
//! then. A prompt for such a model shows no other thinking. Which model is such a one is the budget's to say.

use super::history::cut;
use super::item::{Item, ItemPart};
use super::sent::Chain;
use super::{CutReason, Prompt, Source};
use crate::id::Ordinal;
use crate::message::Message;

/// Leaves out the thinking that its model would refuse here, and reports it. From the front on: whether a block holds
/// depends on what is shown of the messages before it. What was left out stays left out as long as nothing before it
/// changes, so the prompts go on being extended; and where the earlier bytes come back, so does the thinking.
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

/// Whether the thinking of an item came for the prompt before it.
fn holds(item: &Item, chain: &Chain, source: Source<'_>, since: Ordinal) -> bool {
    let message = item.sources.first().and_then(|shown| source.transcript.message(shown.ord));
    let follows = message.and_then(|message| message.body.thought()?.follows.as_deref());
    message.is_some_and(|message| message.ord >= since) && follows == Some(chain.hash())
}

/// Takes the thinking out of an item; what it weighed.
fn strip(item: &mut Item, message: &Message) -> u32 {
    item.parts.retain(|part| !matches!(part, ItemPart::Reasoning { .. }));
    let tokens = message.body.thought().map_or(0, |thought| thought.tokens).min(item.tokens);
    item.tokens -= tokens;
    tokens
}
