//! A chat with a session: a user asks, a model answers, tools run, and whoever is asked for a summary does as the test
//! says. All that was asked of models is kept, in order. What must hold of it stands in the tests.

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

/// What a model says that is asked for a summary, by how many compactions were made before; nothing where it fails.
pub type Summarizer = Box<dyn FnMut(usize, &[Item]) -> Option<String>>;

/// A summary that holds these words.
pub fn summary(state: &str) -> String {
    format!(
        "<summary>\n## Goal\nGo on.\n## Decisions\nNone.\n## State\n{state}\n## Next steps\nTests.\n## Open \
questions\nNone.\n</summary>"
    )
}

/// Sums up in a few words, each time others.
pub fn numbered(n: usize, _: &[Item]) -> Option<String> {
    Some(summary(&format!("summary number {n};")))
}

/// All that an item says.
pub fn words(item: &Item) -> String {
    item.texts().map(|text| text.to_string()).collect::<Vec<_>>().join("\n")
}

/// A request to the model that answers.
pub struct Sent {
    pub items: Vec<Item>,
    /// Compactions that were made before it.
    pub compactions: usize,
    /// What it weighs, in tokens, and the most that it may.
    pub tokens: u32,
    pub limit: u32,
}

/// A session at one end, and everybody else at the other.
pub struct Chat {
    pub bench: Bench,
    summarizer: Summarizer,
    /// Whether nobody answers yet who is asked for a summary.
    pub is_held: bool,
    /// What the model was sent that answers.
    pub sent: Vec<Sent>,
    /// What the model was sent that sums up.
    pub summed_up: Vec<Vec<Item>>,
    last: Option<ModelCallId>,
}

impl Chat {
    /// A chat of the sidecar's loop, in this window, under this policy.
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

    /// The user asks.
    pub fn asks(&mut self, words: &str) {
        self.bench.asks(words);
        self.go_on();
    }

    /// The model calls tools so many at once, and each answers with about so many bytes.
    pub fn round(&mut self, calls: usize, bytes: u16) {
        let Some(call) = self.answering() else { return };
        // Numbers of calls begin anew in each process; the model's own ids do not.
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

    /// The model answers, and the turn is done.
    pub fn says(&mut self, words: &str) {
        let Some(call) = self.answering() else { return };
        self.answers(call, words, Vec::new());
    }

    /// A whole turn: a request, one round of about so many bytes, an answer.
    pub fn turn(&mut self, words: &str, bytes: u16) {
        self.asks(words);
        self.round(1, bytes);
        self.says("It is done.");
    }

    /// A whole turn in which nobody runs a tool.
    pub fn talk(&mut self, words: &str, answer: &str) {
        self.asks(words);
        self.says(answer);
    }

    /// The process ends without a word, and the next one opens the session.
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

    /// The call of the model that answers the turn.
    pub fn answering(&self) -> Option<ModelCallId> {
        self.bench.asked.iter().find(|(_, purpose, _)| *purpose == Purpose::Turn).map(|(call, ..)| *call)
    }

    /// Whoever is asked for a summary answers; what is asked of the model then is noted.
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

    /// What is asked of the model that sums up, where it is held back.
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

    /// What the model was sent last.
    pub fn newest(&self) -> &[Item] {
        &self.sent.last().expect("something was sent").items
    }

    /// How often a text stands in what the model was sent last.
    pub fn times(&self, what: &str) -> usize {
        self.newest().iter().map(|item| words(item).matches(what).count()).sum()
    }

    /// Places of the user messages of these words in what the model was sent last.
    pub fn places(&self, said: &str) -> Vec<usize> {
        let items = self.newest().iter().enumerate();
        items.filter(|(_, item)| item.role == Role::User && words(item) == said).map(|(at, _)| at).collect()
    }

    /// User messages that do not stand in what was sent last as they were said, and that no record reports.
    pub fn unaccounted(&self) -> Vec<String> {
        let transcript = self.bench.session.transcript();
        let reported = transcript.in_force().map_or(&[][..], |record| &record.reported_users);
        let users = transcript.messages().iter().filter(|message| {
            matches!(message.body, Body::User(_)) && !reported.contains(&message.ord) && !message.is_removed()
        });
        let said = users.map(|m| m.body.texts().iter().map(|text| text.to_string()).collect::<String>());
        said.filter(|said| self.places(said).len() != 1).collect()
    }

    /// How the last turn ended.
    pub fn ended(&self) -> TurnEnd {
        let ended = self.bench.events.iter().rev().find_map(|(_, body)| match body {
            EventBody::RuntimeUpdated { ended, .. } => ended.clone(),
            _ => None,
        });
        ended.expect("a turn ended")
    }
}
