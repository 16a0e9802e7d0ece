//! The last sent prompt as marks: a hash of everything up to some item, and its tokens. Comparing the marks
//! of two prompts tells how much of the later one a provider's cache can serve, without either text.

use super::Prompt;
use super::item::{Item, ItemPart, Role};
use super::system::Fixed;
use crate::id::Ordinal;
use crate::message::Content;
use crate::text::{head, hex, sha256_hex};
use serde::{Deserialize, Serialize, Serializer};
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// A sent prompt. In memory it has a mark after each item; the stored form has marks at doubling distances
/// from the end, so that its size barely grows with the session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sent {
    /// The requested model, if it has a name.
    pub model: Option<String>,
    /// Hash of the tools, which precede everything else.
    pub tools: String,
    /// Hash of system text and sections.
    pub sections: String,
    /// Raw tokens of the whole prompt, tools included.
    pub tokens: u32,
    /// The number of messages in the session.
    pub messages: u32,
    /// The newest message shown with its thinking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thought: Option<Ordinal>,
    /// `true` if the last item was an answer: some wires then append text of their own, which no later prompt
    /// contains there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    ends_with_answer: bool,
    /// `true` if a compaction of the provider was in it: the provider then reads less than the prompt holds, and what it
    /// reports tells nothing about our count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub compacted_by_provider: bool,
    #[serde(serialize_with = "thinned")]
    marks: Arc<[Mark]>,
}

/// The prefix that ends before an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Mark {
    /// The number of items in the prefix.
    #[serde(rename = "n")]
    items: u32,
    /// Raw tokens of the prefix, tools included.
    #[serde(rename = "t")]
    tokens: u32,
    /// Hash of the prefix, tools included.
    #[serde(rename = "h")]
    hash: String,
}

/// A comparison of a prompt with the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Follows {
    /// `true` if the prompt begins with the whole previous one.
    pub extends: bool,
    /// Raw tokens of the common prefix; slightly too low if the previous prompt was loaded from a store.
    pub reused: u32,
    /// Raw tokens of the smaller of both prompts, the most that they could share.
    pub possible: u32,
}

/// Hexadecimal digits kept of a mark's hash.
const HASH: usize = 32;

fn shortened(hash: &str) -> String {
    head(hash, HASH).to_owned()
}

/// The hash of a growing prefix of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chain(String);

impl Chain {
    /// Hashes the tools alone.
    pub fn of(fixed: &Fixed) -> Self {
        Self(shortened(&sha256_hex(fixed.tools_hash().as_bytes())))
    }

    /// Appends an item.
    pub fn push(&mut self, item: &Item) {
        let mut hash = Sha256::new_with_prefix(&self.0);
        canonical(item, &mut |bytes| hash.update(bytes));
        self.0 = shortened(&hex(&hash.finalize()));
    }

    /// Returns the hash so far.
    pub fn hash(&self) -> &str {
        &self.0
    }
}

impl Sent {
    /// Computes the marks of a prompt for this model. `messages` is the number of messages in the session.
    pub fn of(prompt: &Prompt, fixed: &Fixed, model: Option<&str>, messages: usize) -> Self {
        let mut chain = Chain::of(fixed);
        let mut mark = Mark { items: 0, tokens: fixed.tool_tokens(), hash: chain.hash().to_owned() };
        let mut marks = vec![mark.clone()];
        for item in &prompt.items {
            chain.push(item);
            let tokens = mark.tokens + item.tokens;
            mark = Mark { items: mark.items + 1, tokens, hash: chain.hash().to_owned() };
            marks.push(mark.clone());
        }
        let thinks = prompt.items.iter().rev().find(|item| item.thinks());
        Self {
            model: model.map(str::to_owned),
            tools: fixed.tools_hash().to_owned(),
            sections: fixed.sections_hash().to_owned(),
            tokens: prompt.tokens,
            messages: u32::try_from(messages).unwrap_or(u32::MAX),
            thought: thinks.and_then(|item| item.sources.first()).map(|source| source.ord),
            compacted_by_provider: prompt.items.iter().any(Item::is_compacted_by_provider),
            ends_with_answer: prompt.items.last().is_some_and(|item| item.role == Role::Assistant),
            marks: marks.into(),
        }
    }

    /// Returns the hash of the whole prompt, to which its answer's thinking is bound; `None` if the wire sent
    /// more than that.
    pub fn whole(&self) -> Option<&str> {
        self.marks.last().filter(|_| !self.ends_with_answer).map(|mark| mark.hash.as_str())
    }

    /// Compares with the next prompt, which must have all of its marks.
    pub fn followed_by(&self, next: &Sent) -> Follows {
        let is_there =
            |mark: &&Mark| next.marks.get(mark.items as usize).is_some_and(|known| known.hash == mark.hash);
        let shared = self.marks.iter().rev().find(is_there);
        let is_same_model = self.model == next.model;
        Follows {
            extends: is_same_model && shared == self.marks.last(),
            reused: shared.filter(|_| is_same_model).map_or(0, |mark| mark.tokens),
            possible: self.tokens.min(next.tokens),
        }
    }
}

/// Keeps the first two marks, the last, and those whose distance from the end is a power of two.
fn thinned<S: Serializer>(marks: &Arc<[Mark]>, to: S) -> Result<S::Ok, S::Error> {
    // By items and not by places in the list: marks that were stored before are stored again as they are.
    let last = marks.last().map_or(0, |mark| mark.items);
    let is_kept = |items: u32| items < 2 || items == last || last.saturating_sub(items).is_power_of_two();
    to.collect_seq(marks.iter().filter(|mark| is_kept(mark.items)))
}

/// Passes an item on as a model reads it, each field after its length.
fn canonical(item: &Item, take: &mut dyn FnMut(&[u8])) {
    let mut fields = |texts: &[&str]| {
        for text in texts {
            take(&(text.len() as u64).to_le_bytes());
            take(text.as_bytes());
        }
    };
    fields(&[item.role.name()]);
    for part in &item.parts {
        match part {
            ItemPart::Content(Content::Text(text)) => fields(&["text", text]),
            ItemPart::Content(Content::Image(image)) => fields(&["image", &image.mime_type, &image.data]),
            ItemPart::Content(Content::Resource { uri, text }) => fields(&["resource", uri, text]),
            ItemPart::Content(Content::Meta(_)) => {}
            ItemPart::Content(Content::ResourceLink(link)) => fields(&["resourceLink", &link.framed()]),
            ItemPart::Content(Content::ContextFile { path, text }) => fields(&["contextFile", path, text]),
            ItemPart::Content(Content::Attachment(attachment)) => {
                fields(&["attachment", &attachment.framed()]);
            }
            ItemPart::Reasoning { text, signature, block } => {
                let block = block.as_deref().map(|block| serde_json::to_string(block).unwrap_or_default());
                let signature = signature.as_deref().unwrap_or_default();
                fields(&["reasoning", text, signature, &block.unwrap_or_default()]);
            }
            ItemPart::Raw(wire) => fields(&["raw", &wire.to_string()]),
        }
    }
    for call in &item.calls {
        fields(&["call", call.id.as_str(), &call.name, &call.arguments]);
    }
    fields(&[item.call_id.as_ref().map_or("", |call| call.as_str())]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::PromptPlan;

    fn prompt(texts: &[&str]) -> Prompt {
        let items: Vec<Item> = texts.iter().map(|text| Item::made(Role::User, *text, 10)).collect();
        Prompt {
            tokens: 10 * u32::try_from(items.len()).unwrap(),
            items,
            tools: Default::default(),
            plan: PromptPlan::default(),
            limit: 1000,
            cuts: Vec::new(),
            compaction: None,
        }
    }

    fn sent(texts: &[&str]) -> Sent {
        Sent::of(&prompt(texts), &Fixed::default(), Some("m"), texts.len())
    }

    #[test]
    fn common_prefix_is_found_item_by_item() {
        let before = sent(&["a", "b", "c"]);
        let follows = |texts: &[&str]| before.followed_by(&sent(texts));
        assert_eq!(follows(&["a", "b", "c", "d"]), Follows { extends: true, reused: 30, possible: 30 });
        assert_eq!(follows(&["a", "b", "c"]), Follows { extends: true, reused: 30, possible: 30 });
        assert_eq!(follows(&["a", "b"]), Follows { extends: false, reused: 20, possible: 20 });
        assert_eq!(follows(&["a", "x", "c", "d"]), Follows { extends: false, reused: 10, possible: 30 });
        let other = Sent { model: Some("n".into()), ..sent(&["a", "b", "c"]) };
        assert_eq!(before.followed_by(&other), Follows { extends: false, reused: 0, possible: 30 });
    }

    #[test]
    fn stored_marks_are_small_and_still_detect_extensions() {
        let texts: Vec<String> = (0..1000).map(|n| n.to_string()).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let json = serde_json::to_string(&sent(&texts)).unwrap();
        assert!(json.len() < 2000, "{} bytes", json.len());
        let stored: Sent = serde_json::from_str(&json).unwrap();
        assert_eq!(serde_json::to_string(&stored).unwrap(), json, "stored again, it is the same");
        let longer = [&texts[..], &["more"]].concat();
        assert!(stored.followed_by(&sent(&longer)).extends);
        let mut changed = longer.clone();
        changed[900] = "changed";
        let follows = stored.followed_by(&sent(&changed));
        assert!(!follows.extends && (8000..=9000).contains(&follows.reused), "{follows:?}");
    }
}
