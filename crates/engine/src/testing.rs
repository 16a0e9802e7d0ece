//! Test helpers for this crate and others (feature `testing`): a small session to compact, the ladder run to its end,
//! and messages with data of a client. Each request on the way is checked with [`can_be_asked`]; no other assertions.
#![allow(clippy::expect_used, clippy::panic, missing_docs, reason = "helpers of tests fail as tests do")]

use crate::compact::compose::Inputs;
use crate::compact::ladder::{self, Ask, Outcome, Step};
use crate::compact::plan::Aim;
use crate::compact::policy::{DEFAULT, Policy};
use crate::compact::record::Compaction;
use crate::id::SessionId;
use crate::message::meta::{AnswerMeta, Meta};
use crate::message::{AssistantPart, Beside, Body, Content, NewMessage, ToolCall};
use crate::prompt::item::Role;
use crate::prompt::linearize::pair_faults;
use crate::prompt::order::{Order, SystemText};
use crate::prompt::request::{Completion, Request, StopReason, ToolChoice};
use crate::prompt::system::Fixed;
use crate::prompt::{self, BudgetExceeded, Prompt, Source};
use crate::settings::{Budget, BudgetSettings};
use crate::tokens::QuarterOfChars;
use crate::transcript::Transcript;
use serde_json::{Map, Value, json};

/// A session with its rendering inputs.
pub struct Session {
    pub transcript: Transcript,
    pub fixed: Fixed,
    pub budget: Budget,
    pub policy: Policy,
}

/// A well-formed summary.
pub const SUMMARY: &str = "<summary>\n## Goal\nparser with nom\n## Decisions\nno regex\n## State\nhalf done\n## Next steps\ntests\n## Open questions\nnone\n</summary>";

pub fn answered(text: &str) -> Outcome {
    Outcome::Answered(Completion { text: text.into(), calls: 0, stop: StopReason::End, output_tokens: None })
}

impl Session {
    /// Creates an empty session under this window.
    pub fn new(window: u32) -> Self {
        Self {
            transcript: Transcript::new(SessionId::new("s")),
            fixed: Fixed::new(
                &SystemText::whole("You are an agent."),
                &Order::DEFAULT,
                &[],
                Vec::new(),
                &QuarterOfChars,
            ),
            budget: BudgetSettings::default().budget(window).expect("a window"),
            policy: DEFAULT,
        }
    }

    pub fn user(&mut self, text: &str) -> &mut Self {
        self.transcript.append(NewMessage::user(text), &QuarterOfChars);
        self
    }

    pub fn says(&mut self, text: &str) -> &mut Self {
        self.transcript.append(NewMessage::new(Body::assistant(text, Vec::new())), &QuarterOfChars);
        self
    }

    /// Adds a round that reads a file; the result has `bytes` bytes.
    pub fn reads(&mut self, path: &str, bytes: usize) -> &mut Self {
        self.calls("read", &json!({ "path": path }).to_string(), &filler(path, bytes))
    }

    /// Adds a round of one call.
    pub fn calls(&mut self, tool: &str, arguments: &str, result: &str) -> &mut Self {
        let id = format!("call_{}", self.transcript.messages().len());
        let call = ToolCall::new(&id, tool, arguments);
        self.transcript.append(NewMessage::new(Body::assistant("", vec![call])), &QuarterOfChars);
        self.transcript.append(NewMessage::new(Body::result(&id, result)), &QuarterOfChars);
        self
    }

    pub fn source(&self) -> Source<'_> {
        Source { transcript: &self.transcript, fixed: &self.fixed, budget: self.budget }
    }

    pub fn render(&self) -> Result<Prompt, BudgetExceeded> {
        prompt::render(self.source())
    }

    pub fn inputs(&self) -> Inputs<'_> {
        Inputs {
            source: self.source(),
            policy: &self.policy,
            counter: &QuarterOfChars,
            tokens_before: prompt::draft(self.source(), self.transcript.in_force()).tokens,
            focus: None,
            aim: Aim::Room,
        }
    }

    /// Runs the ladder; `model` answers each request. Without one no model is called.
    pub fn descend(&self, model: Option<&mut dyn FnMut(&Ask) -> Outcome>) -> Step {
        let mut step = ladder::start(self.inputs(), model.is_some());
        let Some(model) = model else { return step };
        while let Step::Ask(ask) = step {
            can_be_asked(&ask.request);
            let outcome = model(&ask);
            step = ask.waiting.answer(self.inputs(), "test", outcome);
        }
        step
    }

    /// Compacts and records the compaction.
    pub fn compact(&mut self, outcome: Option<Outcome>) -> Compaction {
        let step = match outcome {
            None => self.descend(None),
            Some(outcome) => self.descend(Some(&mut |_| outcome.clone())),
        };
        let Step::Accepted(record) = step else { panic!("not accepted: {step:?}") };
        self.transcript.record((*record).clone());
        *record
    }
}

/// Asserts that a request for a summary suits every kind of model: each call directly precedes its results;
/// the first message is the system's or a user's; and for a model that cannot be forbidden to call tools, the
/// tools can be dropped.
pub fn can_be_asked(request: &Request) {
    assert_eq!(pair_faults(&request.items), [], "a call and its results stand together");
    let without_tools = request.clone().without_forbidden_tools();
    assert_eq!(without_tools.items, request.items);
    assert!(without_tools.tools.is_empty(), "forbidden tools are dropped");
    assert_eq!(without_tools.tool_choice, ToolChoice::Auto, "no restriction remains");
    let first = request.items.first().map(|item| item.role);
    assert!(matches!(first, Some(Role::System | Role::User)), "{first:?} comes first");
}

/// Returns deterministic text of `bytes` bytes with numbered lines.
pub fn filler(seed: &str, bytes: usize) -> String {
    let mut text = String::new();
    let mut line = 0;
    while text.len() < bytes {
        text.push_str(&format!("{seed} line {line} of some ordinary file content\n"));
        line += 1;
    }
    text.truncate(bytes);
    text
}

/// Creates a session of several turns and rounds that exceeds an 8,000-token window.
pub fn overflowing() -> Session {
    let mut session = Session::new(8000);
    session.policy.limit_history = crate::compact::policy::Stage::Off;
    session.user("Hello.").says("Hi.");
    session.user("Fix the parser.").reads("src/parser.rs", 7000);
    session.calls("edit", r#"{"path":"src/parser.rs"}"#, "done").says("The parser is fixed.");
    session.user("Use nom, not regex.").reads("Cargo.toml", 6000).reads("src/lib.rs", 6000);
    session.calls("bash", r#"{"command":"cargo test"}"#, &filler("test output", 7000));
    session
}

/// Data of a client.
fn data(text: String) -> Map<String, Value> {
    Map::from_iter([(text, json!({ "a": [0.5] }))])
}

/// Content whose parts, but for attachments, have data where there is a text, and so has the whole.
pub fn content_with_data(parts: Vec<(Content, Option<String>)>, of_whole: Option<String>) -> Vec<Content> {
    let parts = parts.into_iter().flat_map(|(part, text)| {
        let text = text.filter(|_| !matches!(part, Content::Attachment(_)));
        let data = text.map(|text| Content::Meta(Meta::Part(data(text).into())));
        std::iter::once(part).chain(data)
    });
    parts.chain(of_whole.map(|text| Content::Meta(Meta::Whole(data(text).into())))).collect()
}

/// An answer with data about it, its texts and its calls, where there is a text.
pub fn answer_with_data(
    parts: Vec<AssistantPart>,
    calls: Vec<ToolCall>,
    beside: Beside,
    text: Option<String>,
) -> Body {
    let is_text = |part: &AssistantPart| matches!(part, AssistantPart::Text(_));
    let has_data = (0..).zip(parts.iter().map(is_text).chain(calls.iter().map(|_| true)));
    let at = has_data.filter_map(|(at, has_data)| has_data.then_some(at));
    let about = text.map(data);
    let of_parts = at.filter_map(|at| Some((at, about.clone()?))).collect();
    Body::Assistant { parts, calls, beside: Beside { meta: AnswerMeta::of(about, of_parts), ..beside } }
}
