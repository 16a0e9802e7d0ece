//! A chat: a user, a model and tools around a session, with the summaries of the test. All model requests are
//! recorded in order. No assertions.

use crate::bench::{Bench, result, settings, text, tool};
use engine::compact::policy::Policy;
use engine::delta::Delta;
use engine::message::{Body, ToolCall};
use engine::prompt::item::{Approval, Item, Role};
use engine::prompt::request::{Answer, StopReason};
use session::effect::Purpose;
use session::event::{EventBody, TurnEnd};
use session::input::{Command, Input, ModelCallId, ToolOutcome};
use session::settings::{ModelFacts, Settings};
use session::stored::Driver;

/// Writes a summary, from the number of earlier compactions and the request; `None` makes the call fail.
pub type Summarizer = Box<dyn FnMut(usize, &[Item]) -> Option<String>>;

/// A summary with this text as its state.
pub fn summary(state: &str) -> String {
    format!(
        "<summary>\n## Goal\nGo on.\n## Decisions\nNone.\n## State\n{state}\n## Next steps\nTests.\n## Open \
questions\nNone.\n</summary>"
    )
}

/// A short summary, numbered.
pub fn numbered(n: usize, _: &[Item]) -> Option<String> {
    Some(summary(&format!("summary number {n};")))
}

/// The texts of an item.
pub fn words(item: &Item) -> String {
    item.texts().map(|text| text.to_string()).collect::<Vec<_>>().join("\n")
}

/// A request for an answer.
pub struct Sent {
    pub items: Vec<Item>,
    /// The number of compactions before it.
    pub compactions: usize,
    /// The size of the prompt and its limit, in tokens.
    pub tokens: u32,
    pub limit: u32,
}

/// A session with scripted counterparts.
pub struct Chat {
    pub bench: Bench,
    summarizer: Summarizer,
    /// `true` while requests for summaries stay unanswered.
    pub is_held: bool,
    /// Requests for answers.
    pub sent: Vec<Sent>,
    /// Requests for summaries.
    pub summed_up: Vec<Vec<Item>>,
    last: Option<ModelCallId>,
}

impl Chat {
    /// Creates a chat with the sidecar as its driver, in this window, with this policy.
    pub fn new(
        window: u32,
        policy: Policy,
        summarizer: impl FnMut(usize, &[Item]) -> Option<String> + 'static,
    ) -> Self {
        let model = ModelFacts { window, ..settings().model };
        let settings = Settings { model, policy, round_limit: u32::MAX, ..settings() };
        let tools = vec![tool("read", Approval::Allow), tool("bash", Approval::Allow)];
        Self {
            bench: Bench::with(Driver::Sidecar, settings, tools),
            summarizer: Box::new(summarizer),
            is_held: false,
            sent: Vec::new(),
            summed_up: Vec::new(),
            last: None,
        }
    }

    /// Starts a turn.
    pub fn asks(&mut self, words: &str) {
        self.bench.asks(words);
        self.go_on();
    }

    /// The model calls `calls` tools at once, each with a result of about `bytes` bytes.
    pub fn round(&mut self, calls: usize, bytes: u16) {
        let Some(call) = self.answering() else { return };
        // The session's call numbers restart in each process; the model's own ids must not.
        let sent = self.sent.len();
        let calls = (0..calls).map(|n| {
            let arguments = format!(r#"{{"path":"src/{sent}_{n}.rs"}}"#);
            ToolCall::new(&format!("c{sent}-{n}"), "read", &arguments)
        });
        self.answers(call, "", calls.collect());
        while let Some(call) = self.bench.invoked.pop() {
            let said = format!("{call}: {}", text(bytes));
            self.bench
                .step(Input::ToolDone(call.clone(), ToolOutcome::Answered(result(call.as_str(), &said))));
            self.go_on();
        }
    }

    /// The model answers, and the turn ends.
    pub fn says(&mut self, words: &str) {
        let Some(call) = self.answering() else { return };
        self.answers(call, words, Vec::new());
    }

    /// Runs a turn: a request, one round of about `bytes` bytes, an answer.
    pub fn turn(&mut self, words: &str, bytes: u16) {
        self.asks(words);
        self.round(1, bytes);
        self.says("It is done.");
    }

    /// Runs a turn without tools.
    pub fn talk(&mut self, words: &str, answer: &str) {
        self.asks(words);
        self.says(answer);
    }

    /// Crashes the process; the next one opens the session.
    pub fn restarts(&mut self) {
        self.bench.another_process();
        self.last = None;
        self.bench.command(Command::Open(Box::default()));
        self.go_on();
    }

    fn answers(&mut self, call: ModelCallId, said: &str, calls: Vec<ToolCall>) {
        self.bench.asked.retain(|(asked, ..)| *asked != call);
        if !said.is_empty() {
            self.bench.step(Input::ModelDelta(call, Delta::AppendContent(said.to_owned())));
        }
        self.bench.answer(call, calls);
        self.go_on();
    }

    /// The pending call for an answer.
    pub fn answering(&self) -> Option<ModelCallId> {
        self.bench.asked.iter().find(|(_, purpose, _)| *purpose == Purpose::Turn).map(|(call, ..)| *call)
    }

    /// Answers requests for summaries, then records a pending request for an answer.
    pub fn go_on(&mut self) {
        for _ in 0..100 {
            let at = self.bench.asked.iter().position(|(_, purpose, _)| *purpose == Purpose::Summary);
            let Some(at) = at.filter(|_| !self.is_held) else { return self.note() };
            let (call, _, items) = self.bench.asked.remove(at);
            let said = (self.summarizer)(self.bench.session.transcript().compactions().len(), &items);
            self.summed_up.push(items);
            match said {
                Some(said) => {
                    self.bench.step(Input::ModelDelta(call, Delta::AppendContent(said)));
                    let answer =
                        Answer { parts: None, calls: Some(Vec::new()), stop: StopReason::End, usage: None };
                    self.bench.step(Input::ModelDone(call, Ok(answer)));
                }
                None => self.bench.step(Input::ModelDone(call, Err("it is out of order".into()))),
            }
        }
        panic!("a hundred requests for summaries in a row");
    }

    /// The pending call for a summary, while these are held back.
    pub fn held(&self) -> Option<ModelCallId> {
        self.bench.asked.iter().find(|(_, purpose, _)| *purpose == Purpose::Summary).map(|(call, ..)| *call)
    }

    fn note(&mut self) {
        let asked = self.bench.asked.iter().find(|(_, purpose, _)| *purpose == Purpose::Turn);
        let Some((call, _, items)) = asked.filter(|(call, ..)| self.last != Some(*call)) else { return };
        self.last = Some(*call);
        let session = &self.bench.session;
        self.sent.push(Sent {
            items: items.clone(),
            compactions: session.transcript().compactions().len(),
            tokens: items.iter().map(|item| item.tokens).sum(),
            limit: session.settings().budget().expect("a window that leaves room").limit,
        });
    }

    /// The last request for an answer.
    pub fn newest(&self) -> &[Item] {
        &self.sent.last().expect("something was sent").items
    }

    /// The number of occurrences of a text in the last request.
    pub fn times(&self, what: &str) -> usize {
        self.newest().iter().map(|item| words(item).matches(what).count()).sum()
    }

    /// Positions of user messages with exactly these words in the last request.
    pub fn places(&self, said: &str) -> Vec<usize> {
        let items = self.newest().iter().enumerate();
        items.filter(|(_, item)| item.role == Role::User && words(item) == said).map(|(at, _)| at).collect()
    }

    /// User messages that are neither in the last request verbatim nor reported by the compaction.
    pub fn unaccounted(&self) -> Vec<String> {
        let transcript = self.bench.session.transcript();
        let reported = transcript.in_force().map_or(&[][..], |record| &record.reported_users);
        let users = transcript.messages().iter().filter(|message| {
            matches!(message.body, Body::User(_)) && !reported.contains(&message.ord) && !message.is_removed()
        });
        let said = users.map(|m| m.body.texts().iter().map(|text| text.to_string()).collect::<String>());
        said.filter(|said| self.places(said).len() != 1).collect()
    }

    /// The end of the last turn.
    pub fn ended(&self) -> TurnEnd {
        let ended = self.bench.events.iter().rev().find_map(|(_, body)| match body {
            EventBody::RuntimeUpdated { ended, .. } => ended.clone(),
            _ => None,
        });
        ended.expect("a turn ended")
    }
}
