//! Replay of a recorded transcript through the same session that serves an editor: before each assistant message the
//! prompt is rendered that the model would have been sent. Reads no file, writes no file: the commands do.

pub mod dump;
pub mod estimate;
pub mod measure;
mod player;
pub mod report;
pub mod table;

use engine::compact::ladder::CannotFit;
use engine::compact::policy::Policy;
use engine::compact::record::Compaction;
use engine::message::{Body, Message};
use engine::prompt::coverage::{Coverage, coverage};
use engine::prompt::item::Item;
use engine::prompt::linearize::pair_faults;
use engine::prompt::sent::Sent;
use engine::prompt::{BudgetExceeded, Prompt, Source};
use engine::settings::{Budget, BudgetSettings};
use engine::tokens::TokenCount;
use engine::transcript::Transcript;
use estimate::Estimates;
use import::{Entry, Import};
use models::Model;
use player::{Player, Rendered};
use session::effect::Refusal;
use std::cell::Cell;

/// How a transcript is replayed.
#[derive(Debug, Clone)]
pub struct Options {
    /// The model's window in tokens.
    pub window: u32,
    /// How it is compacted.
    pub policy: Policy,
    /// Reserves and margins.
    pub budget: BudgetSettings,
    /// Tokens above which a result is shown by its head and its tail, the default of a session where nothing is said.
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
    Exceeded(BudgetExceeded),
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

/// The model that writes summaries, if there is one.
pub type Summarizer = Option<Box<dyn Model>>;

/// Replays an import.
///
/// # Errors
/// The settings allow no prompt in this window.
pub fn replay(
    import: &Import,
    options: &Options,
    counter: &dyn TokenCount,
    model: &mut Summarizer,
    watch: &mut dyn Watch,
) -> Result<Replayed, Refusal> {
    let metered = Metered { inner: counter, bytes: Cell::new(0) };
    let budget = options.budget.budget(options.window)?;
    let mut player = Player::new(import, options, &metered, model);
    let mut replayed = Replayed {
        transcript: player.transcript().clone(),
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
        estimates: Estimates::new(player.fixed().tokens()),
        tokenized_bytes: 0,
        text_bytes: (import.system.as_ref().map_or(0, String::len) + tool_bytes(import)) as u64,
    };
    let mut last: Option<Sent> = None;
    for entry in &import.entries {
        let message = match entry {
            Entry::Message(message) => message,
            // The originals are here: a summary that the source made of them stands in no prompt.
            Entry::Compaction(recorded) => {
                replayed.estimates.compacted(player.fixed().tokens(), &recorded.text, counter);
                continue;
            }
        };
        // An answer that nothing was said before has no prompt.
        if entry.is_assistant() && !player.transcript().turns().is_empty() {
            let before = player.transcript().clone();
            let Rendered { outcome, made } = player.render()?;
            let is_broken = made.is_some();
            if let Some(record) = made {
                let source = Source { transcript: &before, fixed: player.fixed(), budget };
                watch.compacted(source, &record);
                replayed.compactions.push(CompactionAt { render: replayed.renders, record });
            }
            let transcript = player.transcript();
            let messages = transcript.messages().len();
            let sent = outcome.as_ref().ok().map(|prompt| Sent::of(prompt, player.fixed(), None, messages));
            replayed.look_at(transcript, &outcome, last.as_ref(), sent.as_ref(), is_broken);
            watch.rendered(&Render { index: replayed.renders, transcript, outcome: &outcome });
            last = sent.or(last);
            if let Err(unfit) = outcome {
                replayed.unfit.push((replayed.renders, unfit));
            }
            replayed.renders += 1;
        }
        replayed.estimates.answered(message, player.transcript().turns().len());
        let known = player.transcript().messages().len();
        player.append(message.clone());
        for message in player.transcript().messages().get(known..).unwrap_or_default() {
            replayed.estimates.said(message, counter);
        }
    }
    replayed.transcript = player.transcript().clone();
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

impl Replayed {
    /// Takes the figures of one render.
    fn look_at(
        &mut self,
        transcript: &Transcript,
        outcome: &Result<Prompt, Unfit>,
        last: Option<&Sent>,
        sent: Option<&Sent>,
        broken: bool,
    ) {
        self.prefix.breaks += u32::from(broken);
        self.users.total = said_by_users(transcript).count() as u32;
        let Ok(prompt) = outcome else { return };
        self.over_budget += u32::from(prompt.tokens > prompt.limit);
        self.orphans += u32::try_from(pair_faults(&prompt.items).len()).unwrap_or(u32::MAX);
        let unaccounted = self.coverage.unaccounted;
        self.coverage = coverage(transcript, transcript.in_force(), prompt);
        self.coverage.unaccounted = self.coverage.unaccounted.max(unaccounted);
        self.users = users(transcript, prompt);
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
