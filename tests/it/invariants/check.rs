//! The rules that hold from render to render and at every compaction, checked during a replay.

use super::expect::{self, Said};
use super::generate::{Case, HIDDEN, REFUSED};
use super::rules;
use engine::compact::policy::Retention;
use engine::compact::record::{Compaction, Mode, Status, Trigger};
use engine::id::Ordinal;
use engine::message::{AssistantPart, Body, Message};
use engine::prompt::item::Role;
use engine::prompt::order::SystemText;
use engine::prompt::request::Request;
use engine::prompt::system::Fixed;
use engine::prompt::{self, Prompt, Source};
use engine::settings::{Budget, BudgetSettings};
use engine::tokens::TokenCount;
use engine::transcript::Transcript;
use models::scripted::Scripted;
use models::{AnswerFuture, Model, OnProgress};
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use threadhold::replay::{Options, Render, Replayed, Unfit, Watch, replay};

/// A model that puts a unique word into each summary and forwards its requests to the test.
struct Marked {
    inner: Scripted,
    answers: u32,
    asked: Sender<Request>,
}

impl Model for Marked {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn answer<'a>(&'a mut self, request: &'a Request, hear: OnProgress<'a>) -> AnswerFuture<'a> {
        self.answers += 1;
        let mark = format!("## State\n- sentinel_of_answer_{};", self.answers);
        // The receiver outlives the replay.
        let _ = self.asked.send(request.clone());
        let answer = self.inner.answer(request, hear);
        Box::pin(async move {
            let mut answer = answer.await?;
            for part in answer.parts.iter_mut().flatten() {
                if let AssistantPart::Text(text) = part {
                    *text = text.replace("## State", &mark).into();
                }
            }
            Ok(answer)
        })
    }
}

/// Observations from one or more replays.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Seen {
    /// Number of compactions by mode.
    pub modes: BTreeMap<Mode, u32>,
    /// Number of renders without a prompt.
    pub cannot_fit: u32,
    /// Debug output of each prompt, or of the reason that there is none.
    pub prompts: Vec<String>,
}

/// Checks the rules during one replay.
pub struct Watcher<'a> {
    counter: &'a dyn TokenCount,
    /// The part of every prompt before the messages.
    pub fixed: Fixed,
    budget: Budget,
    case: &'a Case,
    asked: Receiver<Request>,
    /// The previous prompt, or `None` after a compaction.
    last: Option<Vec<Said>>,
    /// Number of messages for the model at the previous render.
    last_for_model: usize,
    /// Hash, tokens and body of each message so far, to detect changes.
    said: Vec<(String, u32, Body)>,
    records: Vec<Compaction>,
    /// Model requests at earlier renders since the last compaction: a summary may be made ahead of time.
    asked_before: usize,
    /// Prompt tokens and number of messages after the last compaction.
    since: Option<(u32, usize)>,
    /// Observations so far.
    pub seen: Seen,
}

/// Replays a case and checks every rule in every render.
pub fn hold(case: &Case, counter: &dyn TokenCount) -> (Replayed, Seen) {
    let options = Options {
        window: case.window,
        policy: case.policy.clone(),
        budget: BudgetSettings::default(),
        max_result: case.max_result,
        recorded: false,
    };
    let (mut watcher, sender) = Watcher::new(case, counter);
    let mut model = case.summarizer.map(|behaviour| -> Box<dyn Model> {
        let fixture = format!(r#"{{ "name": "scripted", "then": "{behaviour}" }}"#);
        let inner = Scripted::from_json(&fixture).expect("a known behaviour");
        Box::new(Marked { inner, answers: 0, asked: sender })
    });
    let replayed = replay(&case.import, &options, counter, &mut model, &mut watcher).expect("a window");
    assert_eq!((replayed.over_budget, replayed.orphans, replayed.coverage.unaccounted), (0, 0, 0));
    (replayed, watcher.seen)
}

impl<'a> Watcher<'a> {
    /// Returns a watcher, and the channel for the model's requests.
    pub fn new(case: &'a Case, counter: &'a dyn TokenCount) -> (Self, Sender<Request>) {
        let system = case.import.system.as_deref().map(SystemText::whole).unwrap_or_default();
        let (sender, asked) = channel();
        let watcher = Watcher {
            counter,
            fixed: Fixed::new(&system, &case.policy.order, &[], case.import.tools.clone(), counter),
            budget: BudgetSettings::default().budget(case.window).expect("a window that leaves room"),
            case,
            asked,
            last: None,
            last_for_model: 0,
            said: Vec::new(),
            records: Vec::new(),
            asked_before: 0,
            since: None,
            seen: Seen::default(),
        };
        (watcher, sender)
    }
}

impl Watch for Watcher<'_> {
    fn compacted(&mut self, before: Source<'_>, record: &Compaction) {
        *self.seen.modes.entry(record.mode).or_default() += 1;
        let asked: Vec<Request> = self.asked.try_iter().collect();
        self.few_requests_that_fit(before.transcript, &asked);
        self.answers_are_judged(before.transcript, record, self.asked_before + asked.len());
        self.asked_before = 0;
        self.shrinks(before, record);
        self.last = None;
    }

    fn rendered(&mut self, render: &Render<'_>) {
        let asked: Vec<Request> = self.asked.try_iter().collect();
        self.few_requests_that_fit(render.transcript, &asked);
        self.asked_before += asked.len();
        self.nothing_was_changed(render.transcript);
        match render.outcome {
            Ok(prompt) => {
                self.extends(render.transcript, prompt);
                self.seen.prompts.push(format!("{prompt:?}"));
            }
            Err(unfit) => {
                self.seen.cannot_fit += 1;
                self.seen.prompts.push(format!("{unfit:?}"));
            }
        }
        self.by_itself(render.transcript, render.outcome);
    }
}

impl Watcher<'_> {
    /// Checks all rules of a single render.
    pub fn by_itself(&self, transcript: &Transcript, outcome: &Result<Prompt, Unfit>) {
        match outcome {
            Ok(prompt) => self.prompt(transcript, prompt),
            Err(unfit) => self.explains_itself(transcript, unfit),
        }
    }

    fn prompt(&self, transcript: &Transcript, prompt: &Prompt) {
        let record = transcript.in_force();
        let source = Source { transcript, fixed: &self.fixed, budget: self.budget };
        assert_eq!(prompt::render(source).as_ref(), Ok(prompt), "the same inputs give the same prompt");
        self.weighs_what_it_says(prompt);
        rules::pairs(prompt);
        rules::sections_and_order(transcript, record, prompt);
        rules::the_block(transcript, record, prompt);
        rules::alternates(prompt);
        rules::user_words(transcript, record, prompt);
        rules::the_request(transcript, prompt);
        rules::every_message_once(transcript, record, prompt);
        rules::repeats_are_true(transcript, record, prompt);
    }

    /// Checks that a prompt is within its limit and that its tokens are those of its text.
    fn weighs_what_it_says(&self, prompt: &Prompt) {
        assert_eq!(prompt.limit, self.budget.limit);
        assert!(prompt.tokens <= prompt.limit, "{} of {}", prompt.tokens, prompt.limit);
        let mut sum = expect::tools(&prompt.tools, self.counter);
        for item in &prompt.items {
            let weight = expect::weight(item, self.counter);
            assert_eq!(item.tokens, weight, "the tokens of {item}");
            sum += weight;
        }
        assert_eq!(prompt.tokens, sum, "the estimate is the sum of tools and items");
        let sections: u32 = prompt.plan.sections.iter().map(|section| section.tokens).sum();
        assert_eq!(prompt.tokens, sections);
        assert!(
            self.counter.count(expect::STAND_IN.0) + 4 <= expect::STAND_IN.1,
            "a stand-in is not underestimated"
        );
    }

    /// Checks that messages never change during a replay, and that records are only added.
    fn nothing_was_changed(&mut self, transcript: &Transcript) {
        for (message, (hash, tokens, body)) in transcript.messages().iter().zip(&self.said) {
            assert_eq!((&message.hash, message.tokens, &message.body), (hash, *tokens, body), "unchanged");
            assert_eq!(message.rev, 0);
        }
        assert!(transcript.messages().len() >= self.said.len());
        assert!(transcript.compactions().starts_with(&self.records), "records are only added");
        let new = &transcript.messages()[self.said.len()..];
        let tokens = |m: &Message| m.shown.map_or_else(|| m.body.tokens(self.counter), |cut| cut.tokens);
        self.said.extend(new.iter().map(|m| (m.body.hash(), tokens(m), m.body.clone())));
        for (message, (hash, tokens, _)) in transcript.messages().iter().zip(&self.said) {
            assert_eq!((&message.hash, message.tokens), (hash, *tokens));
        }
        self.records = transcript.compactions().to_vec();
    }

    /// Checks that a prompt begins with the previous one between compactions.
    fn extends(&mut self, transcript: &Transcript, prompt: &Prompt) {
        let now: Vec<Said> = prompt.items.iter().map(Said::from).collect();
        let for_model = expect::from_on(transcript, Ordinal(0), None).len();
        if let Some(last) = &self.last {
            let same = last.iter().zip(&now).take_while(|(a, b)| a == b).count();
            assert_eq!(same, last.len(), "item {same} differs from the previous prompt");
            if for_model > self.last_for_model {
                assert!(now.len() > last.len(), "new messages are shown");
            }
        }
        self.last = Some(now);
        self.last_for_model = for_model;
    }

    /// Checks that the sizes of a prompt that cannot fit are correct and exceed the limit.
    fn explains_itself(&self, transcript: &Transcript, unfit: &Unfit) {
        let Unfit::CannotFit(sizes) = unfit else { panic!("the ladder cannot end with {unfit:?}") };
        let parts = [sizes.tools, sizes.system, sizes.pins, sizes.current_message, sizes.newest_round];
        assert_eq!(parts.iter().sum::<u32>(), sizes.needed, "the sizes add up: {sizes:?}");
        assert_eq!((sizes.window, sizes.limit), (self.budget.window, self.budget.limit));
        assert_eq!(sizes.tools, expect::tools(&self.case.import.tools, self.counter));
        let requests = rules::request_of_the_running_turn(transcript);
        let current: u32 =
            requests.iter().filter_map(|ord| transcript.message(*ord)).map(|message| message.tokens).sum();
        assert_eq!(sizes.current_message, current);
        assert!(sizes.needed > sizes.limit, "the fixed part would fit: {sizes:?}");
    }

    /// Checks that the model's requests are bounded in number and fit in its window.
    ///
    /// One full summary, and simple ones over pieces: two neighbouring pieces are larger than a quarter of the limit.
    fn few_requests_that_fit(&self, transcript: &Transcript, asked: &[Request]) {
        let tokens: usize = transcript.messages().iter().map(|message| message.tokens as usize + 40).sum();
        let most = 2 + 8 * tokens / self.budget.limit as usize;
        assert!(asked.len() <= most, "{} requests for {tokens} tokens", asked.len());
        for request in asked {
            let items: u32 = request.items.iter().map(|item| item.tokens).sum();
            let answer = request.max_output.expect("a summary has a limit");
            assert_eq!(answer, self.budget.max_summary_tokens);
            let total = items + expect::tools(&request.tools, self.counter) + answer;
            assert!(
                total <= self.budget.window,
                "a request of {total} for a window of {}",
                self.budget.window
            );
            for item in &request.items {
                assert_eq!(item.tokens, expect::weight(item, self.counter));
                assert!(item.texts().all(|text| !text.contains(HIDDEN)), "hidden text in a request");
            }
        }
    }

    /// Checks that a refused answer leaves no trace, and that the narrative is new or unchanged.
    fn answers_are_judged(&self, transcript: &Transcript, record: &Compaction, asked: usize) {
        let is_summed_up = matches!(record.mode, Mode::Full | Mode::Simple);
        assert_eq!(record.model.is_some(), is_summed_up);
        if self.case.summarizer.is_none_or(|behaviour| REFUSED.contains(&behaviour)) {
            assert!(!is_summed_up, "{:?} is no summary", self.case.summarizer);
        }
        if is_summed_up {
            assert!(asked > 0);
            let narrative = record.narrative.as_deref().expect("a summary has a narrative");
            // The mark is in the state section, which a summary of the goal alone does not have.
            let marks = usize::from(self.case.summarizer != Some("missingSections"));
            assert_eq!(narrative.matches("sentinel_of_answer_").count(), marks);
            for outside in ["<summary>", "</summary>"] {
                assert!(!narrative.contains(outside));
            }
        } else if let Some(narrative) = &record.narrative {
            let before = transcript.in_force().expect("an earlier record with the narrative");
            assert_eq!(Some(narrative), before.narrative.as_ref(), "the old narrative is unchanged");
        }
    }

    /// Checks that a compaction shrinks the prompt, to its target unless it drops, and not without new tokens.
    ///
    /// The bound: the tokens added since the last compaction exceed those that it left free below the limit. So the
    /// number of compactions is at most the sum of new tokens, divided by the fewest tokens left free.
    fn shrinks(&mut self, before: Source<'_>, record: &Compaction) {
        let Source { transcript, budget, .. } = before;
        let old = prompt::draft(before, transcript.in_force());
        let new = prompt::draft(before, Some(record));
        assert_eq!(record.status, Status::InForce);
        assert_eq!((record.tokens_before, record.tokens_after), (old.tokens, new.tokens));
        let triggers = &self.case.policy.triggers;
        let due = match record.trigger {
            Trigger::PreTurnTokens => triggers.pre_turn.expect("it is on").of(budget.limit),
            Trigger::Background | Trigger::UserTurns | Trigger::Messages => 0,
            _ => budget.limit + 1,
        };
        assert!(record.tokens_before >= due, "{:?} at {}", record.trigger, record.tokens_before);
        assert!(record.tokens_after <= budget.limit && record.tokens_after < record.tokens_before);
        assert!(record.target.is_some_and(|target| record.tokens_after <= target && target <= budget.limit));
        assert!(transcript.compactions().iter().all(|older| older.id != record.id));
        assert_eq!(record.previous.as_ref(), transcript.in_force().map(|older| &older.id));
        // The sum covers only retention by rounds: other retentions keep more that must stay.
        if record.mode != Mode::Dropped && self.case.policy.retention == Retention::Rounds {
            let users: u32 = new.items.iter().filter(|i| i.role == Role::User).map(|i| i.tokens).sum();
            let newest: u32 = new.items[new_round(&new)..].iter().map(|item| item.tokens).sum();
            let fixed = before.fixed.tokens() + users - record.block_tokens + newest;
            let target = fixed + budget.limit.saturating_sub(fixed) / 2;
            assert!(record.tokens_after <= target, "{} is over the target {target}", record.tokens_after);
            // If no aim can be reached with a note of the removed text, the limit is the aim.
            let aimed = record.target.filter(|aimed| *aimed < budget.limit);
            assert!(aimed <= Some(target), "{aimed:?} was aimed at, not {target}");
        }
        if let Some((left, messages)) = self.since {
            let came: u32 =
                transcript.messages()[messages..].iter().map(|m| m.tokens + stand_ins(&m.body)).sum();
            // Below the limit, only after as many tokens as lie between target and limit.
            let free = budget.limit.saturating_sub(before.fixed.tokens());
            let is_enough =
                left + came > budget.limit || came >= free - self.case.policy.target_ratio.of(free);
            assert!(is_enough, "compacted again after {came} new tokens on {left}");
        }
        self.since = Some((record.tokens_after, transcript.messages().len()));
    }
}

fn stand_ins(body: &Body) -> u32 {
    match body {
        Body::Assistant { calls, .. } => calls.len() as u32 * expect::STAND_IN.1,
        _ => 0,
    }
}

/// Index of the first item of the newest round.
fn new_round(prompt: &Prompt) -> usize {
    prompt.items.iter().rposition(|item| item.role == Role::Assistant).unwrap_or(prompt.items.len())
}
