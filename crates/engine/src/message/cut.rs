//! Cuts of large tool results as a model sees them: head, tail, and how to fetch the rest. The cut is decided
//! once, when the result is appended, and its sizes are stored with the message: no setting and no restart
//! changes the bytes of a prompt. The result itself is stored whole. An answer's thinking is left out in the
//! same way, and so are files and attachments of a user message that an earlier one has. A compaction shortens old
//! results separately.

use super::repeats::Repeats;
use super::{AssistantPart, Body, Content, ToolResult, meta};
use crate::text::{head, tail};
use crate::tokens::{PER_IMAGE, PER_MESSAGE, TokenCount};
use serde::{Deserialize, Serialize};

/// Sizes at which a result over its limit is shown: head and tail of its [`joined`] text, cut at character
/// boundaries. Images follow the text. For an answer shown without its thinking, and for a user message, both are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cut {
    /// Bytes of the head.
    pub head: u32,
    /// Bytes of the tail.
    pub tail: u32,
    /// Tokens of the shortened message, with its overhead.
    pub tokens: u32,
    /// `true` if the cut applies only once its turn is over.
    #[serde(default, skip_serializing_if = "is_false")]
    pub after_turn: bool,
    /// `true` if the note on the rest does not say how to fetch it, because the model had no tool for that.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unnamed: bool,
    /// The parts of a user message that are shown as a reference while the prompt shows the same above.
    #[serde(default, skip_serializing_if = "Repeats::is_empty")]
    pub repeats: Repeats,
}

/// Thinking of earlier answers that prompts show. Decided for each answer when it is appended; all thinking
/// is stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ThinkingInPrompt {
    /// All of it.
    #[default]
    Keep,
    /// Only that of the running turn; the prefix breaks at a turn's end.
    StripCompletedTurns,
    /// None.
    Strip,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// The cut of an answer whose thinking does not stay in prompts, with its tokens; `None` if it stays, or if the
/// answer has no thinking, or only thinking: a message without content is shown to no model.
pub(crate) fn without_thinking(
    body: &Body,
    thinking: ThinkingInPrompt,
    counter: &dyn TokenCount,
) -> Option<Cut> {
    let Body::Assistant { parts, calls, beside } = body else { return None };
    let is_thinking = |part: &&AssistantPart| matches!(part, AssistantPart::Reasoning { .. });
    let has_other = !calls.is_empty() || !parts.iter().all(|part| is_thinking(&part));
    if thinking == ThinkingInPrompt::Keep || !has_other || !parts.iter().any(|part| is_thinking(&part)) {
        return None;
    }
    let parts = parts.iter().filter(|part| !is_thinking(part)).cloned().collect();
    let shown = Body::Assistant { parts, calls: calls.clone(), beside: beside.clone() };
    let after_turn = thinking == ThinkingInPrompt::StripCompletedTurns;
    let tokens = shown.tokens(counter);
    Some(Cut { head: 0, tail: 0, tokens, after_turn, unnamed: false, repeats: Repeats::default() })
}

/// Recounts the tokens of an answer's cut.
pub fn weighed_again(shown: Cut, body: &Body, counter: &dyn TokenCount) -> Cut {
    let thinking =
        if shown.after_turn { ThinkingInPrompt::StripCompletedTurns } else { ThinkingInPrompt::Strip };
    without_thinking(body, thinking, counter).unwrap_or(shown)
}

/// Bytes per token of the limit that are counted first. If that sample exceeds the limit, the rest of the
/// text is never tokenized: showing a cut must not cost the time of the whole.
const SAMPLE_PER_TOKEN: usize = 32;

/// Counts the tokens of a result's message as a prompt shows it, with its cut if the text has more than
/// `most` tokens. `reference` is the id for fetching the rest; `None` if the model cannot.
pub(crate) fn weigh(
    result: &ToolResult,
    most: u32,
    reference: Option<&str>,
    counter: &dyn TokenCount,
) -> (u32, Option<Cut>) {
    let whole_tokens =
        || result.content.iter().map(|part| part.tokens(counter)).sum::<u32>().saturating_add(PER_MESSAGE);
    // A token has at least one byte, so most results need no further check.
    let bytes: usize = result.content.iter().filter_map(Content::text).map(|text| text.len()).sum();
    if bytes <= most as usize {
        return (whole_tokens(), None);
    }
    let text = joined(&result.content);
    let images = result.content.iter().filter(|part| matches!(part, Content::Image(_))).count();
    let overhead = PER_IMAGE.saturating_mul(u32::try_from(images).unwrap_or(u32::MAX)) + PER_MESSAGE;
    let sample = head(&text, SAMPLE_PER_TOKEN.saturating_mul(most as usize));
    let sample_tokens = if sample.len() < text.len() { counter.count(sample) } else { 0 };
    let (counted_bytes, counted_tokens) = match sample_tokens > most {
        true => (sample.len(), sample_tokens),
        false => {
            let tokens = whole_tokens();
            let counted_tokens = tokens.saturating_sub(overhead);
            if counted_tokens <= most {
                return (tokens, None);
            }
            (text.len(), counted_tokens)
        }
    };
    let count_cut = |keep: usize| {
        let half = keep / 2;
        counter.count(&head_and_tail(&text, half, half, reference))
    };
    let scaled = |of: usize, part: u32, whole: u32| {
        usize::try_from(of as u64 * u64::from(part) / u64::from(whole.max(1))).unwrap_or(of)
    };
    // The first guess takes tokens as even over the text; each further one is smaller by at least a sixteenth.
    let mut keep = scaled(counted_bytes, most.saturating_sub(count_cut(0)), counted_tokens);
    let mut cut_tokens = count_cut(keep);
    while cut_tokens > most && keep > 0 {
        keep = scaled(keep, most, cut_tokens).min(keep - keep.div_ceil(16));
        cut_tokens = count_cut(keep);
    }
    // The note on the rest may have more tokens than the rest.
    if cut_tokens >= counted_tokens {
        return (whole_tokens(), None);
    }
    let half = u32::try_from(keep / 2).unwrap_or(u32::MAX);
    let tokens = cut_tokens + overhead;
    let (after_turn, unnamed) = (false, reference.is_none());
    let repeats = Repeats::default();
    (tokens, Some(Cut { head: half, tail: half, tokens, after_turn, unnamed, repeats }))
}

/// Returns at most `first` bytes of the head and `last` bytes of the tail of a text, with a note between them
/// on the bytes left out and, given a `reference`, the id for fetching them.
pub(crate) fn head_and_tail(whole: &str, first: usize, last: usize, reference: Option<&str>) -> String {
    let fetch = reference.map_or_else(String::new, |reference| {
        format!("; they can be recalled as \"{reference}\" from byte {}", head(whole, first).len())
    });
    head_and_tail_noting(whole, first, last, &fetch)
}

/// Returns head and tail with a note between them that ends with `fetch`.
pub(super) fn head_and_tail_noting(whole: &str, first: usize, last: usize, fetch: &str) -> String {
    let (first, last) = (head(whole, first), tail(whole, last));
    let left_out = whole.len().saturating_sub(first.len() + last.len());
    format!("{first}\n[… {left_out} of {} bytes not shown{fetch} …]\n{last}", whole.len())
}

/// Joins the text of a user message or a result, with a placeholder for each image. Offsets of a recall and
/// of a cut are bytes of this text.
pub fn joined(content: &[Content]) -> String {
    let mut out = String::new();
    for (_, part) in meta::without(content) {
        if !out.is_empty() {
            out.push('\n');
        }
        match part {
            Content::Meta(_) => {}
            Content::Image(image) => out.push_str(&format!("[picture, {}]", image.mime_type)),
            Content::Resource { uri: name, text } | Content::ContextFile { path: name, text } => {
                out.push_str(name);
                out.push('\n');
                out.push_str(text);
            }
            Content::Text(text) => out.push_str(text),
            Content::ResourceLink(link) => out.push_str(&link.framed()),
            Content::Attachment(attachment) => out.push_str(&attachment.framed()),
        }
    }
    out
}

impl Cut {
    /// Returns the result as a model sees it: head and tail, then the images.
    pub fn shown(self, content: &[Content], reference: &str) -> Vec<Content> {
        let reference = (!self.unnamed).then_some(reference);
        let text = head_and_tail(&joined(content), self.head as usize, self.tail as usize, reference).into();
        let images = content.iter().filter(|part| matches!(part, Content::Image(_))).cloned();
        std::iter::once(Content::Text(text)).chain(images).collect()
    }
}
