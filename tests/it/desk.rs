//! A small session to compact, and the ladder run to its end: what the scenario tests share. What is asked
//! of a model on the way can be asked of either kind; no other assertions.

use crate::facts::can_be_asked;
use engine::compact::compose::Desk;
use engine::compact::ladder::{self, Ask, Outcome, Step};
use engine::compact::plan::Aim;
use engine::compact::policy::{DEFAULT, Policy};
use engine::compact::record::Compaction;
use engine::id::SessionId;
use engine::message::{Body, NewMessage, ToolCall};
use engine::prompt::order::{Order, SystemText};
use engine::prompt::request::{Completion, StopReason};
use engine::prompt::system::Fixed;
use engine::prompt::{self, BudgetExceeded, Prompt, Source};
use engine::settings::{Budget, BudgetSettings};
use engine::tokens::QuarterOfChars;
use engine::transcript::Transcript;
use protocol::model::ModelPurpose;
use serde_json::json;

/// A session with what it is rendered under.
pub struct Session {
    pub transcript: Transcript,
    pub fixed: Fixed,
    pub budget: Budget,
    pub policy: Policy,
}

/// A summary as a model should write it.
pub const SUMMARY: &str = "<summary>\n## Goal\nparser with nom\n## Decisions\nno regex\n## State\nhalf done\n## Next steps\ntests\n## Open questions\nnone\n</summary>";

pub fn answered(text: &str) -> Outcome {
    Outcome::Answered(Completion { text: text.into(), calls: 0, stop: StopReason::End, output_tokens: None })
}

impl Session {
    /// Nothing said yet, under this window.
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

    /// A round: a file is read, and the result is `bytes` long.
    pub fn reads(&mut self, path: &str, bytes: usize) -> &mut Self {
        self.calls("read", &json!({ "path": path }).to_string(), &filler(path, bytes))
    }

    /// A round of one call.
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

    pub fn desk(&self) -> Desk<'_> {
        Desk {
            source: self.source(),
            policy: &self.policy,
            counter: &QuarterOfChars,
            tokens_before: prompt::draft(self.source(), self.transcript.in_force()).tokens,
            focus: None,
            aim: Aim::Room,
        }
    }

    /// Goes down the ladder; `model` answers each request. Without one no model is asked.
    pub fn descend(&self, model: Option<&mut dyn FnMut(&Ask) -> Outcome>) -> Step {
        let mut step = ladder::start(self.desk(), model.is_some());
        let Some(model) = model else { return step };
        while let Step::Ask(ask) = step {
            can_be_asked(&ask.request, ModelPurpose::Summary);
            let outcome = model(&ask);
            step = ask.waiting.answer(self.desk(), "test", outcome);
        }
        step
    }

    /// Compacts and writes the record.
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

/// Text that differs from place to place.
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

/// Three turns, several rounds, over the limit of an 8,000 window.
pub fn overflowing() -> Session {
    let mut session = Session::new(8000);
    session.policy.limit_history = engine::compact::policy::Stage::Off;
    session.user("Hello.").says("Hi.");
    session.user("Fix the parser.").reads("src/parser.rs", 7000);
    session.calls("edit", r#"{"path":"src/parser.rs"}"#, "done").says("The parser is fixed.");
    session.user("Use nom, not regex.").reads("Cargo.toml", 6000).reads("src/lib.rs", 6000);
    session.calls("bash", r#"{"command":"cargo test"}"#, &filler("test output", 7000));
    session
}
