//! Cases that a replay does not cover: user messages injected between the rounds of a turn, a render at every length
//! of a session, and a session that is never compacted.

use super::check::Watcher;
use super::expect;
use super::generate::Case;
use crate::facts::can_be_asked;
use engine::compact::compose::Inputs;
use engine::compact::ladder::{self, Outcome, Step};
use engine::compact::plan::Aim;
use engine::compact::record::Compaction;
use engine::id::{Ordinal, SessionId};
use engine::message::NewMessage;
use engine::prompt::item::{Item, Role};
use engine::prompt::system::Fixed;
use engine::prompt::{self, Prompt, Source};
use engine::settings::{Budget, BudgetSettings};
use engine::tokens::TokenCount;
use engine::transcript::Transcript;
use models::scripted::Scripted;
use models::testing::complete;
use protocol::model::ModelPurpose;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use threadhold::replay::{Render, Unfit, Watch};

/// Drives a session without the replay.
struct Driver<'a> {
    case: &'a Case,
    counter: &'a dyn TokenCount,
    fixed: Fixed,
    budget: Budget,
}

impl Driver<'_> {
    fn source<'t>(&'t self, transcript: &'t Transcript) -> Source<'t> {
        Source { transcript, fixed: &self.fixed, budget: self.budget }
    }

    /// Renders a prompt, with its compaction if one was made. The compaction is not recorded.
    fn render(&self, transcript: &Transcript) -> (Result<Prompt, Unfit>, Option<Compaction>) {
        let source = self.source(transcript);
        let exceeded = match prompt::render(source) {
            Ok(prompt) => return (Ok(prompt), None),
            Err(exceeded) => exceeded,
        };
        let tokens_before = exceeded.needed;
        let (policy, counter) = (&self.case.policy, self.counter);
        let inputs = Inputs { source, policy, counter, tokens_before, focus: None, aim: Aim::Room };
        let mut step = ladder::start(inputs, self.case.summarizer.is_some());
        while let Step::Ask(ask) = step {
            can_be_asked(&ask.request, ModelPurpose::Summary);
            let mut model = Scripted::echo();
            let outcome = match pin!(complete(&mut model, &ask.request))
                .poll(&mut Context::from_waker(Waker::noop()))
            {
                Poll::Ready(Ok(answer)) if self.case.summarizer == Some("echo") => Outcome::Answered(answer),
                _ => Outcome::Failed("it is away".into()),
            };
            step = ask.waiting.answer(inputs, "by hand", outcome);
        }
        match step {
            Step::Accepted(record) => {
                let outcome = prompt::render_with(source, Some(&record)).map_err(Unfit::Exceeded);
                (outcome, Some(*record))
            }
            Step::CannotFit(sizes) => (Err(Unfit::CannotFit(sizes)), None),
            Step::Off | Step::Stale | Step::Ask(_) | Step::Refused(_) | Step::Prepared(_) => {
                (Err(Unfit::Exceeded(exceeded)), None)
            }
        }
    }
}

fn driver<'a>(case: &'a Case, counter: &'a dyn TokenCount) -> (Driver<'a>, Watcher<'a>) {
    let budget = BudgetSettings::default().budget(case.window).expect("a window that leaves room");
    let (watcher, _) = Watcher::new(case, counter);
    (Driver { case, counter, fixed: watcher.fixed.clone(), budget }, watcher)
}

/// Drives a session with user messages injected before some of the model's answers. The model that writes summaries
/// fails.
pub fn hold_with_injections(case: &Case, at: &[bool], counter: &dyn TokenCount) {
    let case = Case { summarizer: case.summarizer.map(|_| "error"), ..case.clone() };
    let (driver, mut watcher) = driver(&case, counter);
    let mut transcript = Transcript::new(SessionId::new("injected"));
    transcript.limit_results(case.max_result);
    let mut index = 0;
    for entry in &case.import.entries {
        if entry.is_assistant() {
            if at.get(index as usize).is_some_and(|inject| *inject) {
                let words =
                    format!("and mind the tests, too\r\n{}", "漢字 ".repeat(30 * (index as usize % 7)));
                transcript.inject(NewMessage::user(&words), counter);
            }
            let (outcome, record) = driver.render(&transcript);
            if let Some(record) = record {
                watcher.compacted(driver.source(&transcript), &record);
                transcript.record(record);
            }
            watcher.rendered(&Render { index, transcript: &transcript, outcome: &outcome });
            index += 1;
        }
        entry.clone().append_to(&mut transcript, counter);
    }
}

/// Renders at every length of the session. Only compactions before an assistant message stay recorded.
pub fn hold_at_every_length(case: &Case, counter: &dyn TokenCount) {
    let (driver, watcher) = driver(case, counter);
    let mut transcript = Transcript::new(SessionId::new("lengths"));
    transcript.limit_results(case.max_result);
    for entry in &case.import.entries {
        let mut compacted = transcript.clone();
        let (outcome, record) = driver.render(&transcript);
        record.into_iter().for_each(|record| compacted.record(record));
        watcher.by_itself(&compacted, &outcome);
        if entry.is_assistant() {
            transcript = compacted;
        }
        entry.clone().append_to(&mut transcript, counter);
    }
}

/// Checks that every prompt shows all messages.
pub struct Whole;

impl Watch for Whole {
    fn rendered(&mut self, render: &Render<'_>) {
        let Ok(prompt) = render.outcome else { return };
        let is_system_text = |item: &&Item| item.role == Role::System && item.sources.is_empty();
        let messages = prompt.items.iter().skip_while(is_system_text);
        let found: Vec<expect::Said> = messages.map(expect::Said::from).collect();
        assert_eq!(found, expect::from_on(render.transcript, Ordinal(0), None));
    }
}
