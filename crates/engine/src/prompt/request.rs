//! What is asked of a model and what comes back, as values. Not the asking: that is `models`, where the wires
//! are, and not what an answer is worth: that is `compact`'s.

use super::item::{Item, Tool};
use crate::delta::Draft;
use crate::message::{AssistantPart, Beside, ToolCall, Usage};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One call of a model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Request {
    /// What it reads, in order. In a request for a summary the last item is the instruction.
    pub items: Vec<Item>,
    /// The tools that it is told of.
    pub tools: Arc<[Tool]>,
    /// Whether it may use them.
    pub tool_choice: ToolChoice,
    /// Whether it is asked for its likeliest answer, which needs little thought: a summary, a title. A switch and no
    /// number, because nothing here wants another one.
    pub temperature_zero: bool,
    /// The most that it may answer, in tokens; the model's own limit where there is none.
    pub max_output: Option<u32>,
    /// What the window has left for the answer, in tokens: no provider takes a limit that goes beyond it.
    pub room: Option<u32>,
    /// Indexes into `items` after which a provider's cache may keep the prefix.
    pub cache_breakpoints: Vec<usize>,
}

impl Request {
    /// The same for a model that may not be told to use none of its tools: it is told of none where it is to use none,
    /// and the prefix that its provider has in its cache is lost.
    #[must_use]
    pub fn without_forbidden_tools(mut self) -> Self {
        if self.tool_choice == ToolChoice::None {
            self.tools = Arc::default();
            self.tool_choice = ToolChoice::Auto;
        }
        self
    }
}

/// Whether a model may use the tools that it is told of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ToolChoice {
    /// As it likes.
    #[default]
    Auto,
    /// Not at all. The tools are still sent, because a provider's cache depends on them.
    None,
}

/// A whole answer of a model to a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Text and thinking in their order. Nothing where the deltas before it said it.
    pub parts: Option<Vec<AssistantPart>>,
    /// The calls. Nothing where the deltas before it set them.
    pub calls: Option<Vec<ToolCall>>,
    /// Why it ended.
    pub stop: StopReason,
    /// What it used, as the provider reported it. It adds to what was streamed.
    pub usage: Option<Usage>,
}

/// What an answer is worth as a summary.
#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    /// What it said.
    pub text: String,
    /// How many tool calls are in the answer.
    pub calls: usize,
    /// Why it ended.
    pub stop: StopReason,
    /// Tokens of the answer as the provider reported them.
    pub output_tokens: Option<u32>,
}

/// Why there is no answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failure {
    /// For people, without secrets.
    pub why: String,
    /// That the request was too large, where that is why.
    pub overflow: Option<Overflow>,
    /// Whether thinking of earlier answers was refused, because it no longer stands behind the prompt that it followed.
    pub refuses_thinking: bool,
    /// The same for programs.
    pub cause: Cause,
}

/// Why there is no answer, for programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// In a word: the class of a provider's error, `timeout`, or `client` where the client's model failed.
    pub word: &'static str,
    /// The status of HTTP, where there is one.
    pub status: Option<u16>,
    /// When the provider wants to be asked again, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// What the provider said, without secrets.
    pub said: Option<String>,
}

impl Cause {
    /// A cause of which nothing but its word is known.
    pub fn of(word: &'static str) -> Self {
        Self { word, status: None, retry_after_ms: None, said: None }
    }
}

/// What the client's model does is the client's.
impl Default for Cause {
    fn default() -> Self {
        Self::of("client")
    }
}

/// A request was larger than a provider takes. What of it the provider stated, in its own tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Overflow {
    /// What of it was too large.
    pub part: Part,
    /// The most that it takes: of the answer alone where that is the part, else of all.
    pub limit: Option<u32>,
    /// What the prompt had; of the answer alone, what was asked for it.
    pub needed: Option<u32>,
}

/// A part of a request that a provider may find too large.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Part {
    /// The prompt.
    #[default]
    Prompt,
    /// The prompt together with the room that is asked for the answer.
    Both,
    /// The room that is asked for the answer.
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

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum StopReason {
    /// It was finished.
    End,
    /// It reached a length limit.
    Length,
    /// It waits for the results of its tool calls.
    ToolUse,
    /// The provider or the model would not answer.
    Refused,
    /// Somebody stopped it; what is there was shown. Only the sidecar says this.
    Cancelled,
    /// The call broke off; what is there was shown. Only the sidecar says this: a client answers with an error.
    Failed,
}

impl Answer {
    /// The answer as text, with the number of its calls. `streamed` is what came before it.
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

    /// What was said, what was asked for and what came beside it, with what was streamed before. An answer that states
    /// its own words says nothing about what stands beside them, so that stays.
    pub fn said(self, streamed: &Draft) -> (Vec<AssistantPart>, Vec<ToolCall>, Beside) {
        let mut beside = streamed.beside.clone();
        beside.merge_usage(self.usage);
        let parts = self.parts.unwrap_or_else(|| streamed.said());
        (parts, self.calls.unwrap_or_else(|| streamed.asked()), beside)
    }
}
