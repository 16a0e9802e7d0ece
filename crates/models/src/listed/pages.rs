//! A provider's whole list of models, page by page. Pure: requests are made in `remote`.

use super::{entries, limits};
use crate::address::{is_bedrock, is_vertex};
use crate::error::Refusal;
use crate::options::with_parameters;
use crate::{ModelError, known};
use engine::endpoint::{Endpoint, Wire};
use serde_json::Value;
use std::cmp::Reverse;
use std::time::Duration;
use thiserror::Error;

/// The most pages that are read; later ones are left out.
const MOST_PAGES: usize = 20;
/// The most models that are read; later ones are left out.
const MOST_MODELS: usize = 10_000;
/// The models of a page that are asked for: the most that Anthropic and Gemini give.
const PAGE: &str = "1000";
/// The longest name that is believed, in bytes.
const MOST_NAME: usize = 256;

/// A model in its provider's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedModel {
    /// The name in requests.
    pub name: String,
    /// The name for people, if the provider lists another one.
    pub label: Option<String>,
    /// The context window, in tokens: the listed one, otherwise the one that is known for the name.
    pub window: Option<u32>,
    /// `true` if the window is the listed one.
    pub is_listed: bool,
}

/// Why there is no list of models.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NoList {
    /// A request for it failed.
    #[error(transparent)]
    Failed(#[from] ModelError),
    /// The deadline passed.
    #[error("the list of models did not arrive within {} s", waited.as_secs())]
    Late {
        /// The deadline.
        waited: Duration,
    },
    /// The service has no list in the form of its wire.
    #[error("the provider has no list of models at this address")]
    Unsupported,
    /// No model is listed.
    #[error("the provider lists no models")]
    Empty,
}

impl NoList {
    /// The class, as the protocol names it.
    pub fn class(&self) -> &'static str {
        match self {
            Self::Failed(error) => error.class(),
            Self::Late { .. } => "network",
            Self::Unsupported => "unsupported",
            Self::Empty => "empty",
        }
    }
}

/// A list that is being read.
#[derive(Debug)]
pub(crate) struct Pages {
    wire: Wire,
    /// The cursor of the next page; `None` after the last one.
    next: Option<Cursor>,
    read: usize,
    models: Vec<Dated>,
}

/// The place of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Cursor {
    First,
    After(String),
}

/// A model with the time of its creation, in seconds since 1970, where the provider lists one.
#[derive(Debug)]
struct Dated {
    created: Option<u64>,
    model: ListedModel,
}

impl Pages {
    /// Begins with the first page; `None` where no service lists its models.
    pub(crate) fn of(endpoint: &Endpoint) -> Option<Self> {
        let has_list = endpoint.wire != Wire::Scripted && !is_vertex(endpoint) && !is_bedrock(endpoint);
        has_list.then_some(Self {
            wire: endpoint.wire,
            next: Some(Cursor::First),
            read: 0,
            models: Vec::new(),
        })
    }

    /// The path of the next page below the base URL; `None` after the last one.
    pub(crate) fn path(&self) -> Option<String> {
        let cursor = self.next.as_ref()?;
        let (path, size, after) = match self.wire {
            Wire::Ollama => ("/api/tags", None, None),
            Wire::Anthropic => ("/models", Some("limit"), Some("after_id")),
            Wire::Gemini => ("/models", Some("pageSize"), Some("pageToken")),
            Wire::OpenaiChat | Wire::OpenaiResponses | Wire::Scripted => ("/models", None, None),
        };
        let after = match cursor {
            Cursor::First => None,
            Cursor::After(id) => after.map(|name| (name, id.as_str())),
        };
        Some(with_parameters(path, size.map(|name| (name, PAGE)).into_iter().chain(after)))
    }

    /// Reads the page at [`Self::path`].
    ///
    /// # Errors
    ///
    /// Fails if the body is no list.
    pub(crate) fn take(&mut self, body: &Value) -> Result<(), ModelError> {
        let none = Vec::new();
        // An empty list is null, or missing, with some servers.
        let is_empty = ["data", "models"].iter().any(|field| body.get(field).is_some_and(Value::is_null))
            || (self.wire == Wire::Gemini
                && body.as_object().is_some_and(|body| !body.contains_key("error")));
        let page = match entries(body) {
            Some(page) => page,
            None if is_empty => &none,
            None if body.get("error").is_some() => return Err(Refusal::in_stream(body).class()),
            None => {
                return Err(ModelError::CorruptStream { reason: "the list of models is no list".to_owned() });
            }
        };
        let room = MOST_MODELS.saturating_sub(self.models.len());
        self.models.extend(page.iter().filter_map(|entry| model(self.wire, entry)).take(room));
        self.read += 1;
        let is_full = self.read == MOST_PAGES || self.models.len() == MOST_MODELS;
        let next = self.after(body, page).map(Cursor::After).filter(|_| !is_full);
        // A page that names itself as the next one would be read forever.
        self.next = next.filter(|next| self.next.as_ref() != Some(next));
        Ok(())
    }

    /// The cursor behind a page, if one follows.
    fn after(&self, body: &Value, page: &[Value]) -> Option<String> {
        let text = |value: &Value, field: &str| value.get(field)?.as_str().map(str::to_owned);
        let cursor = match self.wire {
            Wire::Anthropic if body.get("has_more").and_then(Value::as_bool) == Some(true) => {
                text(body, "last_id").or_else(|| text(page.last()?, "id"))
            }
            Wire::Gemini => text(body, "nextPageToken"),
            _ => None,
        };
        cursor.filter(|cursor| !cursor.is_empty())
    }

    /// The models, with those whose window is unknown last: at OpenAI they are the ones for images, speech and search.
    /// Otherwise newest first where the provider tells their age, and in its order where not.
    ///
    /// # Errors
    ///
    /// Fails if there is none.
    pub(crate) fn end(mut self) -> Result<Vec<ListedModel>, NoList> {
        self.models.sort_by_key(|Dated { created, model }| (model.window.is_none(), Reverse(*created)));
        let models: Vec<_> = self.models.into_iter().map(|Dated { model, .. }| model).collect();
        if models.is_empty() { Err(NoList::Empty) } else { Ok(models) }
    }
}

/// The model of an entry; `None` if it cannot be asked.
fn model(wire: Wire, entry: &Value) -> Option<Dated> {
    let text = |field: &str| {
        let text = entry.get(field).and_then(Value::as_str).map(str::trim);
        text.filter(|text| (1..=MOST_NAME).contains(&text.len()) && !text.contains(char::is_control))
    };
    let methods = entry.get("supportedGenerationMethods").and_then(Value::as_array);
    let (name, label) = match wire {
        Wire::Gemini => {
            if methods.is_some_and(|methods| !methods.iter().any(|method| method == "generateContent")) {
                return None;
            }
            (text("name").map(|name| name.strip_prefix("models/").unwrap_or(name)), text("displayName"))
        }
        Wire::Ollama => (text("model").or(text("name")), None),
        Wire::Anthropic => (text("id"), text("display_name")),
        Wire::OpenaiChat | Wire::OpenaiResponses | Wire::Scripted => {
            (text("id").or(text("name")), text("name"))
        }
    };
    let name = name?;
    let listed = limits(entry).window;
    let known = || known::served(Some(wire), name).map(|known| known.window);
    let model = ListedModel {
        name: name.to_owned(),
        label: label.filter(|label| *label != name).map(str::to_owned),
        window: listed.or_else(known),
        is_listed: listed.is_some(),
    };
    Some(Dated { created: entry.get("created").and_then(Value::as_u64), model })
}

#[cfg(test)]
mod tests;
