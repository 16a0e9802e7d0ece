//! Replay of a recorded transcript through the same engine that serves an editor: before each assistant message the
//! prompt is rendered that the model would have been sent. Reads no file, writes no file: the commands do.

pub mod dump;
pub mod estimate;
pub mod measure;
pub mod report;
pub mod table;

use engine::compact::compose::Desk;
use engine::compact::ladder::{self, CannotFit, Outcome, Prepared, Step};
use engine::compact::plan::Aim;
use engine::compact::policy::{Consent, Policy};
use engine::compact::record::{Compaction, Mode, Trigger};
use engine::compact::trigger::{self, Attempts, Next};
use engine::id::SessionId;
use engine::message::{Body, Message};
use engine::prompt::coverage::{Coverage, coverage};
use engine::prompt::item::Item;
use engine::prompt::linearize::pair_faults;
use engine::prompt::order::SystemText;
use engine::prompt::sent::Sent;
use engine::prompt::system::Fixed;
use engine::prompt::{self, Prompt, Source};
use engine::settings::{Budget, BudgetSettings, SettingsError};
use engine::tokens::TokenCount;
use engine::transcript::Transcript;
use estimate::Estimates;
use import::{Entry, Import};
use models::Model;
use session::settings::most_result;
use std::cell::Cell;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// How a transcript is replayed.
#[derive(Debug, Clone)]
pub struct Options {
    /// The model's window in tokens.
    pub window: u32,
    /// How it is compacted.
    pub policy: Policy,
    /// Reserves and margins.
    pub budget: BudgetSettings,
    /// Tokens above which a result is shown by its head and its tail, as in a session; nothing shows every one whole.
    pub max_result: Option<u32>,
}

/// What a replay tells while it goes on.
pub trait Watch {
    /// A prompt was rendered, or could not be: before the assistant message that `transcript` does not hold yet.
    fn rendered(&mut self, render: &Render<'_>);

    /// A compaction was written; `before` is the transcript without it.
    fn compacted(&mut self, before: Source<'_>, record: &Compaction) {
        let _ = (before, record);
    }
}

/// One model call of the transcript.
#[derive(Debug)]
pub struct Render<'a> {
    /// Its number, from 0.
    pub index: u32,
    /// Everything that was said before it.
    pub transcript: &'a Transcript,
    /// The prompt, or what could not be made to fit.
    pub outcome: &'a Result<Prompt, Unfit>,
}

/// Why a render yielded no prompt.
#[derive(Debug, Clone, PartialEq)]
pub enum Unfit {
    /// The ladder came to its end.
    CannotFit(CannotFit),
    /// Compaction is off, and the prompt is over its limit.
    Exceeded(prompt::BudgetExceeded),
}

/// A compaction with the render that it was made for.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionAt {
    /// The render.
    pub render: u32,
    /// The record.
    pub record: Compaction,
}

/// What a replay found.
#[derive(Debug, Clone)]
pub struct Replayed {
    /// The whole transcript, with the compactions that were made on the way.
    pub transcript: Transcript,
    /// What prompts could weigh.
    pub budget: Budget,
    /// Who counted.
    pub estimator: String,
    /// Model calls.
    pub renders: u32,
    /// Renders over their limit. Zero, or there is a defect.
    pub over_budget: u32,
    /// Renders without a prompt.
    pub unfit: Vec<(u32, Unfit)>,
    /// Compactions in order.
    pub compactions: Vec<CompactionAt>,
    /// What became of each message in the last prompt; `unaccounted` is the worst of all.
    pub coverage: Coverage,
    /// Broken call and result pairs in all prompts. Zero, or there is a defect.
    pub orphans: u32,
    /// User messages in the last prompt.
    pub users: UserMessages,
    /// How much of each prompt was sent before.
    pub prefix: Prefix,
    /// Estimates against what the source's provider reported.
    pub estimates: Estimates,
    /// Bytes of text that were tokenised.
    pub tokenized_bytes: u64,
    /// Bytes of text that the source holds, tools and system text with it.
    pub text_bytes: u64,
}

/// User messages by how they reached the last prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct UserMessages {
    /// That were said.
    pub total: u32,
    /// That stand in it byte for byte.
    pub verbatim: u32,
    /// That do not, and are reported.
    pub reported: u32,
}

/// How much of each prompt a provider's cache could serve.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Prefix {
    /// Tokens that were the same as before, from the start on.
    pub reused: u64,
    /// The smaller of each prompt and the one before it, in tokens.
    pub possible: u64,
    /// The same two, without the renders at which a break was reported.
    pub between_breaks: (u64, u64),
    /// Reported breaks.
    pub breaks: u32,
}

/// Counts what it is asked to count.
struct Metered<'a> {
    inner: &'a dyn TokenCount,
    bytes: Cell<u64>,
}

impl TokenCount for Metered<'_> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn count(&self, text: &str) -> u32 {
        self.bytes.set(self.bytes.get() + text.len() as u64);
        self.inner.count(text)
    }
}

/// What stands in the system block where the source has no system text.
pub const DEFAULT_SYSTEM: &str = "You are a coding agent in an editor. Use the tools to read and change the \
workspace, and answer the user's newest message.";

/// The model that writes summaries, if there is one.
pub type Summarizer = Option<Box<dyn Model>>;

/// Replays an import. A model that does not answer at once never will: a replay has no clock, so its deadline is now.
pub fn replay(
    import: &Import,
    options: &Options,
    counter: &dyn TokenCount,
    model: &mut Summarizer,
    watch: &mut dyn Watch,
) -> Result<Replayed, SettingsError> {
    let metered = Metered { inner: counter, bytes: Cell::new(0) };
    let budget = options.budget.budget(options.window)?;
    let system = import.system.as_deref().unwrap_or(DEFAULT_SYSTEM);
    let fixed =
        Fixed::new(&SystemText::whole(system), &options.policy.order, &[], import.tools.clone(), &metered);
    let mut replayed = Replayed {
        transcript: Transcript::new(SessionId::new("replay")),
        budget,
        estimator: counter.name().to_owned(),
        renders: 0,
        over_budget: 0,
        unfit: Vec::new(),
        compactions: Vec::new(),
        coverage: Coverage::default(),
        orphans: 0,
        users: UserMessages::default(),
        prefix: Prefix::default(),
        estimates: Estimates::new(fixed.tokens()),
        tokenized_bytes: 0,
        text_bytes: (system.len() + tool_bytes(import)) as u64,
    };
    let most_result = options.max_result.map(|setting| most_result(setting, options.window));
    replayed.transcript.limit_results(most_result);
    let mut last: Option<Sent> = None;
    let mut memory = Memory::default();
    for entry in &import.entries {
        if entry.is_assistant() {
            let before = replayed.compactions.len();
            let transcript = &mut replayed.transcript;
            let step = Call { fixed: &fixed, budget, options, counter: &metered, index: replayed.renders };
            let outcome = step.prompt(transcript, &mut memory, model, watch, &mut replayed.compactions);
            let messages = replayed.transcript.messages().len();
            let sent = outcome.as_ref().ok().map(|prompt| Sent::of(prompt, &fixed, None, messages));
            let broken = replayed.compactions.len() > before;
            replayed.look_at(&outcome, last.as_ref(), sent.as_ref(), broken);
            watch.rendered(&Render {
                index: replayed.renders,
                transcript: &replayed.transcript,
                outcome: &outcome,
            });
            last = sent.or(last);
            if let Err(unfit) = outcome {
                replayed.unfit.push((replayed.renders, unfit));
            }
            replayed.renders += 1;
        }
        if let Entry::Message(message) = entry {
            replayed.estimates.answered(message, replayed.transcript.turns().len());
        }
        let known = replayed.transcript.messages().len();
        entry.clone().append_to(&mut replayed.transcript, &metered);
        if let Entry::Compaction(recorded) = entry {
            replayed.estimates.compacted(fixed.tokens(), &recorded.text, counter);
        }
        for message in replayed.transcript.messages().get(known..).unwrap_or_default() {
            replayed.estimates.said(message, counter);
        }
    }
    replayed.text_bytes += replayed
        .transcript
        .messages()
        .iter()
        .flat_map(|message| message.body.texts())
        .map(|text| text.len() as u64)
        .sum::<u64>();
    replayed.tokenized_bytes = metered.bytes.get();
    Ok(replayed)
}

fn tool_bytes(import: &Import) -> usize {
    import
        .tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + tool.input_schema.to_string().len())
        .sum()
}

/// One model call about to be made.
struct Call<'a> {
    fixed: &'a Fixed,
    budget: Budget,
    options: &'a Options,
    counter: &'a dyn TokenCount,
    index: u32,
}

/// What a session would remember from one model call to the next.
#[derive(Default)]
struct Memory {
    attempts: Attempts,
    /// A summary that was made ahead of time.
    prepared: Option<Box<Prepared>>,
}

impl Call<'_> {
    /// Renders; where a compaction is due, goes down the ladder and renders again.
    fn prompt(
        &self,
        transcript: &mut Transcript,
        memory: &mut Memory,
        model: &mut Summarizer,
        watch: &mut dyn Watch,
        compactions: &mut Vec<CompactionAt>,
    ) -> Result<Prompt, Unfit> {
        let source = self.source(transcript);
        let (trigger, rendered) = match trigger::next(source, &self.options.policy, false) {
            Next::Send(prompt) => {
                self.prepare(source, memory, model, prompt.tokens);
                return Ok(*prompt);
            }
            Next::Refuse(exceeded) => return Err(Unfit::Exceeded(exceeded)),
            Next::Try(trigger, prompt) => (trigger, Ok(prompt)),
            Next::Must(trigger, exceeded) => (trigger, Err(exceeded)),
        };
        let tokens_before = rendered.as_ref().map_or_else(|exceeded| exceeded.needed, |prompt| prompt.tokens);
        let aim = if rendered.is_ok() { Aim::of(trigger) } else { Aim::Room };
        let policy = aim.policy(self.options.policy.clone(), tokens_before, source.budget.limit);
        let desk = Desk { policy: &policy, aim, ..self.desk(source, tokens_before) };
        let prepared = memory.prepared.take().filter(|_| aim == Aim::Room);
        let prepared = prepared.and_then(|prepared| prepared.applied(desk));
        let (trigger, step) = match prepared {
            Some(record) => (Trigger::Background, Step::Accepted(Box::new(record))),
            None => (trigger, self.descend(desk, rendered.is_err(), memory, model)),
        };
        let mut record = match (step, rendered) {
            (Step::Accepted(record), Err(_)) => *record,
            (Step::Accepted(record), Ok(_)) if record.tokens_after < tokens_before => *record,
            // The prompt goes out as it is.
            (_, Ok(prompt)) => return Ok(*prompt),
            (Step::CannotFit(sizes), Err(_)) => return Err(Unfit::CannotFit(sizes)),
            (
                Step::Off | Step::Stale | Step::Ask(_) | Step::Refused(_) | Step::Prepared(_),
                Err(exceeded),
            ) => {
                return Err(Unfit::Exceeded(exceeded));
            }
        };
        record.trigger = trigger;
        // There is nobody who could look at it.
        record.unreviewed = self.options.policy.consent == Consent::Ask;
        watch.compacted(source, &record);
        compactions.push(CompactionAt { render: self.index, record: record.clone() });
        transcript.record(record);
        let source = self.source(transcript);
        let prompt = prompt::render(source).map_err(Unfit::Exceeded)?;
        self.prepare(source, memory, model, prompt.tokens);
        Ok(prompt)
    }

    fn source<'t>(&'t self, transcript: &'t Transcript) -> Source<'t> {
        Source { transcript, fixed: self.fixed, budget: self.budget }
    }

    fn desk<'d>(&'d self, source: Source<'d>, tokens_before: u32) -> Desk<'d> {
        let (policy, counter) = (&self.options.policy, self.counter);
        Desk { source, policy, counter, tokens_before, focus: None, aim: Aim::Room }
    }

    /// Whether the summarizer may be asked now.
    fn may_ask(&self, source: Source<'_>, memory: &Memory, model: &Summarizer) -> bool {
        let policy = &self.options.policy;
        model.is_some() && policy.consent != Consent::Off && memory.attempts.may_ask(source, policy)
    }

    /// From state to state, with the model's answers between.
    fn descend(&self, desk: Desk<'_>, must_fit: bool, memory: &mut Memory, model: &mut Summarizer) -> Step {
        let may_ask = self.may_ask(desk.source, memory, model);
        let first = if must_fit { ladder::start(desk, may_ask) } else { ladder::offer(desk, may_ask) };
        self.answered(first, desk, memory, model)
    }

    fn answered(&self, first: Step, desk: Desk<'_>, memory: &mut Memory, model: &mut Summarizer) -> Step {
        let was_asked = matches!(first, Step::Ask(_));
        let mut step = first;
        while let Step::Ask(ask) = step {
            let Some(model) = model.as_deref_mut() else { return Step::Ask(ask) };
            let outcome = answer_now(model, &ask.request);
            step = ask.waiting.answer(desk, model.name(), outcome);
        }
        let is_summary = match &step {
            Step::Accepted(record) => matches!(record.mode, Mode::Full | Mode::Simple),
            Step::Prepared(_) => true,
            Step::Ask(_) | Step::Off | Step::Stale | Step::Refused(_) | Step::CannotFit(_) => false,
        };
        if was_asked || is_summary {
            memory.attempts.ended(desk.source.transcript, !is_summary, desk.policy);
        }
        step
    }

    /// Has a summary made ahead of time. Where there is no clock it is there at once.
    fn prepare(&self, source: Source<'_>, memory: &mut Memory, model: &mut Summarizer, tokens: u32) {
        let policy = &self.options.policy;
        let desk = self.desk(source, tokens);
        memory.prepared = memory.prepared.take().filter(|prepared| prepared.is_fresh(desk));
        let is_due = memory.prepared.is_none()
            && policy.consent == Consent::Auto
            && self.may_ask(source, memory, model)
            && trigger::prepares(source, policy, tokens);
        if is_due && let Step::Prepared(prepared) = self.answered(ladder::prepare(desk), desk, memory, model)
        {
            memory.prepared = Some(prepared);
        }
    }
}

/// Polls a call once.
fn answer_now(model: &mut dyn Model, request: &engine::prompt::request::Request) -> Outcome {
    let call = pin!(model.complete(request));
    match call.poll_once() {
        Poll::Ready(Ok(completion)) => Outcome::Answered(completion),
        Poll::Ready(Err(error)) => Outcome::Failed(error.to_string()),
        Poll::Pending => Outcome::Deadline,
    }
}

trait PollOnce: Future + Sized {
    fn poll_once(self: std::pin::Pin<&mut Self>) -> Poll<Self::Output> {
        self.poll(&mut Context::from_waker(Waker::noop()))
    }
}

impl<F: Future> PollOnce for F {}

impl Replayed {
    /// Takes the figures of one render.
    fn look_at(
        &mut self,
        outcome: &Result<Prompt, Unfit>,
        last: Option<&Sent>,
        sent: Option<&Sent>,
        broken: bool,
    ) {
        self.prefix.breaks += u32::from(broken);
        self.users.total = said_by_users(&self.transcript).count() as u32;
        let Ok(prompt) = outcome else { return };
        self.over_budget += u32::from(prompt.tokens > prompt.limit);
        self.orphans += u32::try_from(pair_faults(&prompt.items).len()).unwrap_or(u32::MAX);
        let unaccounted = self.coverage.unaccounted;
        self.coverage = coverage(&self.transcript, self.transcript.in_force(), prompt);
        self.coverage.unaccounted = self.coverage.unaccounted.max(unaccounted);
        self.users = users(&self.transcript, prompt);
        if let Some((last, next)) = last.zip(sent) {
            let follows = last.followed_by(next);
            let (reused, possible) = (u64::from(follows.reused), u64::from(follows.possible));
            self.prefix.reused += reused;
            self.prefix.possible += possible;
            if !broken {
                self.prefix.between_breaks.0 += reused;
                self.prefix.between_breaks.1 += possible;
            }
        }
    }

    /// Compactions that were made here, recorded ones left out.
    pub fn own_compactions(&self) -> impl Iterator<Item = &CompactionAt> {
        self.compactions.iter().filter(|at| at.record.trigger != Trigger::Recorded)
    }
}

/// User messages that a model may see.
fn said_by_users(transcript: &Transcript) -> impl Iterator<Item = &Message> {
    let messages = transcript.messages().iter().map(|message| &**message);
    messages.filter(|message| matches!(message.body, Body::User(_)) && !message.is_hidden())
}

/// User messages that stand whole in a prompt, compared with what was said.
fn users(transcript: &Transcript, prompt: &Prompt) -> UserMessages {
    let mut users = UserMessages::default();
    let cut: std::collections::BTreeSet<_> = prompt.cuts.iter().filter_map(|cut| cut.ord).collect();
    let mut shown = std::collections::BTreeMap::new();
    for item in &prompt.items {
        for source in &item.sources {
            shown.insert(source.ord, item);
        }
    }
    for message in said_by_users(transcript) {
        users.total += 1;
        let whole =
            |item: &&Item| item.parts.iter().filter_map(|part| part.as_text()).eq(message.body.texts());
        if shown.get(&message.ord).is_some_and(whole) {
            users.verbatim += 1;
        } else if cut.contains(&message.ord) {
            users.reported += 1;
        }
    }
    users
}
