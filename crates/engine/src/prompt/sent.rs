//! What was sent last, kept as marks: a hash of everything up to some item, and what that weighs. Two of them tell how
//! much of a prompt a provider's cache can serve, without either text. Who sent it and why it differs is not told here.

use super::Prompt;
use super::item::{Item, ItemPart, Role};
use super::system::Fixed;
use crate::id::Ordinal;
use crate::message::Content;
use crate::text::{head, sha256_hex};
use serde::{Deserialize, Serialize, Serializer};

/// A prompt that was sent. In memory it has a mark after each item; what is stored of it has marks at distances from
/// the end that double, so that its size does not grow with the session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sent {
    /// The model that it was for, where it has a name.
    pub model: Option<String>,
    /// Hash of the tools, which stand before everything else.
    pub tools: String,
    /// Hash of system text and sections.
    pub sections: String,
    /// Raw tokens of all of it, tools included.
    pub tokens: u32,
    /// Messages that the session had.
    pub messages: u32,
    /// The newest message that it showed with its thinking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thought: Option<Ordinal>,
    /// Whether an answer stood last in it: a wire puts words of its own behind that, which no later prompt has there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    ends_with_answer: bool,
    #[serde(serialize_with = "thinned")]
    marks: Vec<Mark>,
}

/// Everything up to an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Mark {
    /// Items before it.
    #[serde(rename = "n")]
    items: u32,
    /// Their raw tokens, tools included.
    #[serde(rename = "t")]
    tokens: u32,
    /// Hash of them and the tools.
    #[serde(rename = "h")]
    hash: String,
}

/// How a prompt follows the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Follows {
    /// Whether all of the one before stands at its start.
    pub extends: bool,
    /// Raw tokens from the start on that both share; a little less where the older one comes from a store.
    pub reused: u32,
    /// Raw tokens that could have been shared: those of the smaller one.
    pub possible: u32,
}

/// Hexadecimal digits of a mark's hash that are kept.
const HASH: usize = 32;

fn hash(bytes: &[u8]) -> String {
    head(&sha256_hex(bytes), HASH).to_owned()
}

/// The hash of a prompt's beginning, which grows item by item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chain(String);

impl Chain {
    /// Of the tools alone.
    pub fn of(fixed: &Fixed) -> Self {
        Self(hash(fixed.tools_hash().as_bytes()))
    }

    /// With one more item.
    pub fn push(&mut self, item: &Item) {
        self.0 = hash(&[self.0.as_bytes(), &canonical(item)].concat());
    }

    /// The hash so far.
    pub fn hash(&self) -> &str {
        &self.0
    }
}

impl Sent {
    /// The marks of a prompt for this model.
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
            ends_with_answer: prompt.items.last().is_some_and(|item| item.role == Role::Assistant),
            marks,
        }
    }

    /// The hash of all of it, to which the thinking of its answer is bound. Nothing where the wire sends more than what is
    /// here.
    pub fn whole(&self) -> Option<&str> {
        self.marks.last().filter(|_| !self.ends_with_answer).map(|mark| mark.hash.as_str())
    }

    /// How `next`, which has all of its marks, follows this one.
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

/// The first two marks, and those whose distance from the end is a power of two.
fn thinned<S: Serializer>(marks: &[Mark], to: S) -> Result<S::Ok, S::Error> {
    let last = marks.len().saturating_sub(1);
    let is_kept = |at: usize| at < 2 || (last - at).is_power_of_two() || at == last;
    to.collect_seq(marks.iter().enumerate().filter(|(at, _)| is_kept(*at)).map(|(_, mark)| mark))
}

/// An item as a model reads it, each field behind its length.
fn canonical(item: &Item) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut fields = |texts: &[&str]| {
        for text in texts {
            bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
            bytes.extend_from_slice(text.as_bytes());
        }
    };
    fields(&[item.role.name()]);
    for part in &item.parts {
        match part {
            ItemPart::Content(Content::Text(text)) => fields(&["text", text]),
            ItemPart::Content(Content::Image(image)) => fields(&["image", &image.media_type, &image.data]),
            ItemPart::Content(Content::Resource { uri, text }) => fields(&["resource", uri, text]),
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
    bytes
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
    fn what_both_share_is_found_item_by_item() {
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
    fn what_is_stored_is_small_and_tells_an_extension_still() {
        let texts: Vec<String> = (0..1000).map(|n| n.to_string()).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let json = serde_json::to_string(&sent(&texts)).unwrap();
        assert!(json.len() < 2000, "{} bytes", json.len());
        let stored: Sent = serde_json::from_str(&json).unwrap();
        let longer = [&texts[..], &["more"]].concat();
        assert!(stored.followed_by(&sent(&longer)).extends);
        let mut changed = longer.clone();
        changed[900] = "changed";
        let follows = stored.followed_by(&sent(&changed));
        assert!(!follows.extends && (8000..=9000).contains(&follows.reused), "{follows:?}");
    }
}
