//! Options of the requests to a model, as configured: effort, thinking, and what is added to a request as it is. The
//! crate `models` validates them and maps them to each wire.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;

/// Options of the requests to a model. Empty, they change nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RequestOptions {
    /// The effort of answers; `None` for the model's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// The thinking before answers; `None` for the model's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Thinking>,
    /// The time for which the provider keeps a cached prefix; `None` for its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_ttl: Option<CacheTtl>,
    /// The models that the provider asks instead where one refuses to answer; `None` for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallbacks: Option<Fallbacks>,
    /// The size of a prompt, in the provider's tokens, from which the provider compacts it; `None` for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_compaction: Option<u32>,
    /// `true` if the provider is asked for the model's limits, `false` if not; `None` if only where it is known to list them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub look_up_limits: Option<bool>,
    /// The server whose manners an address has over the wire `openai-chat`; `None` for those known for its host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manners: Option<Manners>,
    /// Fields merged into the body of each request.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub extra_body: Map<String, Value>,
    /// Headers of each request, by names in lower case.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extra_headers: BTreeMap<String, HeaderValue>,
    /// Parameters added to the URL of each request.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub query: BTreeMap<String, String>,
}

impl RequestOptions {
    /// Returns `true` if no option is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the options that belong to the address, whichever model is asked there.
    #[must_use]
    pub fn of_address(&self) -> Self {
        let (extra_headers, query) = (self.extra_headers.clone(), self.query.clone());
        let Self { look_up_limits, manners, .. } = *self;
        Self { look_up_limits, manners, extra_headers, query, ..Self::default() }
    }
}

/// A server whose deviations from plain Chat Completions others share: gateways, and the same models at other hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Manners {
    /// Takes the newer name of the answer limit, `reasoning_effort` and a cache key.
    Openai,
    /// Takes cache marks and `reasoning`, and gets its `reasoning_details` back.
    Openrouter,
    /// Takes ids of calls of nine letters and digits only.
    Mistral,
    /// Takes `thinking`, and wants the thinking of answers with calls back as `reasoning_content`.
    Deepseek,
}

/// The effort of a model's answers, in the words of the providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Effort {
    /// No thinking.
    None,
    /// As little as possible.
    Minimal,
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// More than `high`.
    Xhigh,
    /// As much as the model can.
    Max,
}

impl Effort {
    /// Returns the word for it, the same in settings and requests.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
            Self::Max => "max",
        }
    }
}

/// A model's thinking before its answers: `off`, `adaptive`, or a number of tokens, at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Thinking {
    /// A word.
    Word(ThinkingWord),
    /// The most tokens of thinking.
    Budget(u32),
}

impl Thinking {
    /// No thinking.
    pub const OFF: Self = Self::Word(ThinkingWord::Off);
    /// As much as the model decides.
    pub const ADAPTIVE: Self = Self::Word(ThinkingWord::Adaptive);
}

/// The words of [`Thinking`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ThinkingWord {
    /// No thinking, where the model allows that.
    Off,
    /// As much as the model decides.
    Adaptive,
}

/// The models that a provider asks instead where one refuses to answer: `default`, or their names in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Fallbacks {
    /// A word.
    Word(FallbackWord),
    /// Names of models, as their provider spells them.
    Models(Vec<String>),
}

/// The words of [`Fallbacks`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum FallbackWord {
    /// The provider chooses the models.
    Default,
}

/// The time for which a provider keeps a cached prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum CacheTtl {
    /// Five minutes.
    #[serde(rename = "5m")]
    FiveMinutes,
    /// An hour; writes cost more.
    #[serde(rename = "1h")]
    Hour,
}

/// The value of an extra header: a text that is no secret, or the name of a key.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum HeaderValue {
    /// The value itself.
    Text(String),
    /// The key whose value is sent: one that the client gave with `model/key`, otherwise an environment variable.
    #[serde(rename_all = "camelCase")]
    Key {
        /// The name of the key, never the key itself.
        key_env: String,
    },
}

/// The value is left out: nobody can tell whether a text is a secret.
impl fmt::Debug for HeaderValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "Text({} bytes)", text.len()),
            Self::Key { key_env } => f.debug_struct("Key").field("key_env", key_env).finish(),
        }
    }
}
