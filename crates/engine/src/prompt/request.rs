//! Requests to a model and their answers, as values. The crate `models` sends them; `compact` judges summaries.

use super::item::{Item, Tool};
use crate::delta::Draft;
use crate::message::{AssistantPart, Beside, ToolCall, Usage};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A request to a model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Request {
    /// Messages in order. In a request for a summary the last item is the instruction.
    pub items: Vec<Item>,
    /// Tool definitions.
    pub tools: Arc<[Tool]>,
    /// The permission to call them.
    pub tool_choice: ToolChoice,
    /// `true` for the most likely answer with little thinking, as for a summary or a title. A flag and not a
    /// number, because no other temperature is used.
    pub temperature_zero: bool,
    /// The most tokens of the answer; `None` for the model's own limit.
    pub max_output: Option<u32>,
    /// Tokens that the window leaves for the answer; no provider accepts a higher limit.
    pub room: Option<u32>,
    /// Indexes into `items` after which a provider's cache may keep the prefix.
    pub cache_breakpoints: Vec<usize>,
}

impl Request {
    /// Drops all tools if none may be called, for a model that does not support such a restriction. The
    /// prefix in its provider's cache is then lost.
    #[must_use]
    pub fn without_forbidden_tools(mut self) -> Self {
        if self.tool_choice == ToolChoice::None {
            self.tools = Arc::default();
            self.tool_choice = ToolChoice::Auto;
        }
        self
    }
}

/// The permission to call tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// No calls. The tools are still sent, because a provider's cache depends on them.
    None,
}

/// A model's whole answer in a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Text and thinking in order; `None` if the preceding deltas contain them.
    pub parts: Option<Vec<AssistantPart>>,
    /// The calls; `None` if the preceding deltas contain them.
    pub calls: Option<Vec<ToolCall>>,
    /// The reason for the end.
    pub stop: StopReason,
    /// Usage as the provider reported it; merged with that of the deltas.
    pub usage: Option<Usage>,
}

/// An answer as a candidate for a summary.
#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    /// Text without thinking.
    pub text: String,
    /// The number of tool calls in the answer.
    pub calls: usize,
    /// The reason for the end.
    pub stop: StopReason,
    /// Output tokens as the provider reported them.
    pub output_tokens: Option<u32>,
}

/// The failure of a request to a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failure {
    /// The message for people, without secrets.
    pub why: String,
    /// Set if the request was too large.
    pub overflow: Option<Overflow>,
    /// `true` if thinking of earlier answers was rejected because the prompt before it has changed.
    pub refuses_thinking: bool,
    /// Set if the request was not sent because its provider counted more tokens than it may have: that count.
    pub counted: Option<u32>,
    /// The reason for programs.
    pub cause: Cause,
}

/// The reason of a failure, for programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// The class of a provider's error, `timeout`, or `client` if the client's model failed.
    pub word: &'static str,
    /// The HTTP status, if any.
    pub status: Option<u16>,
    /// The provider's requested delay before a retry, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// The provider's message, without secrets.
    pub said: Option<String>,
}

impl Cause {
    /// Creates a cause with only its class.
    pub fn of(word: &'static str) -> Self {
        Self { word, status: None, retry_after_ms: None, said: None }
    }
}

/// The class `client`: failures of the client's own model carry no cause.
impl Default for Cause {
    fn default() -> Self {
        Self::of("client")
    }
}

/// A request was larger than its provider accepts. Figures are the provider's, in its own tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Overflow {
    /// The part that was too large.
    pub part: Part,
    /// The limit: of the answer for [`Part::Answer`], else of the whole request.
    pub limit: Option<u32>,
    /// The size of the prompt; for [`Part::Answer`], the requested length of the answer.
    pub needed: Option<u32>,
}

/// A part of a request that a provider may find too large.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Part {
    /// The prompt.
    #[default]
    Prompt,
    /// The prompt together with the requested length of the answer.
    Both,
    /// The requested length of the answer.
    Answer,
}

impl From<String> for Failure {
    fn from(why: String) -> Self {
        Self { why, ..Self::default() }
    }
}

impl From<&str> for Failure {
    fn from(why: &str) -> Self {
        why.to_owned().into()
    }
}

/// The reason for an answer's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum StopReason {
    /// The answer is complete.
    End,
    /// The answer reached a length limit.
    Length,
    /// The provider paused the answer, and continues it when it gets it back unchanged.
    Paused,
    /// The model waits for the results of its tool calls.
    ToolUse,
    /// The provider or the model refused to answer.
    Refused,
    /// The answer was cancelled; the partial text was shown. Set only by the sidecar.
    Cancelled,
    /// The request failed midway; the partial text was shown. Set only by the sidecar: a client returns an error.
    Failed,
}

impl Answer {
    /// Returns the answer's text and number of calls. `streamed` holds the preceding deltas.
    pub fn completion(self, streamed: &Draft) -> Completion {
        let stop = self.stop;
        let (parts, calls, beside) = self.said(streamed);
        let output_tokens = beside.usage.and_then(|usage| usage.output_tokens);
        let text = parts.iter().filter_map(|part| match part {
            AssistantPart::Text(text) => Some(&**text),
            AssistantPart::Reasoning { .. } | AssistantPart::Raw(_) => None,
        });
        Completion { text: text.collect(), calls: calls.len(), stop, output_tokens }
    }

    /// Merges the answer with the preceding deltas. Parts and calls of the answer replace the streamed ones;
    /// citations and other accompanying data are kept.
    pub fn said(self, streamed: &Draft) -> (Vec<AssistantPart>, Vec<ToolCall>, Beside) {
        let mut beside = streamed.beside.clone();
        beside.merge_usage(self.usage);
        let parts = self.parts.unwrap_or_else(|| streamed.said());
        (parts, self.calls.unwrap_or_else(|| streamed.asked()), beside)
    }
}
