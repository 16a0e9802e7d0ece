//! Data that clients attach under `_meta`, which no model sees.

use super::Content;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Data of a client about a message, a result or a part of it. It counts neither in the prompt's tokens nor in the hash,
/// because an editor's copy of a message may lack it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Meta {
    /// About the message, or in the content of a result about the result.
    Whole(Arc<Map<String, Value>>),
    /// About the part before it.
    Part(Arc<Map<String, Value>>),
}

impl Meta {
    /// Returns the data about a whole message or result, if its content has some.
    pub fn of_whole(content: &[Content]) -> Option<&Map<String, Value>> {
        content.iter().find_map(|part| match part {
            Content::Meta(Meta::Whole(fields)) => Some(&**fields),
            _ => None,
        })
    }
}

/// Data of a client about an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AnswerMeta {
    /// About the answer.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub whole: Map<String, Value>,
    /// About its parts, by their positions; calls follow the other parts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<u32, Map<String, Value>>,
}

impl AnswerMeta {
    /// Returns the data as an answer has it; `None` if there is none.
    pub fn of(
        whole: Option<Map<String, Value>>,
        parts: BTreeMap<u32, Map<String, Value>>,
    ) -> Option<Box<Self>> {
        let found = Self { whole: whole.unwrap_or_default(), parts };
        (!found.whole.is_empty() || !found.parts.is_empty()).then(|| Box::new(found))
    }

    /// Returns the data after all parts from this position on were left out or replaced.
    pub fn before(this: &Option<Box<Self>>, end: u32) -> Option<Box<Self>> {
        let this = this.as_ref()?;
        Self::of(
            Some(this.whole.clone()),
            this.parts.range(..end).map(|(at, meta)| (*at, meta.clone())).collect(),
        )
    }
}

/// Iterates over what is content, with the positions.
pub(crate) fn without(content: &[Content]) -> impl Iterator<Item = (usize, &Content)> {
    content.iter().enumerate().filter(|(_, part)| !matches!(part, Content::Meta(_)))
}
