//! Replay of a recorded transcript through the same session that serves an editor. Before each assistant message, the
//! prompt for that model call is rendered. Does no file IO; the commands read and write.

pub mod dump;
pub mod estimate;
pub mod measure;
mod player;
pub mod report;
pub mod table;

use engine::compact::ladder::CannotFit;
use engine::compact::policy::Policy;
use engine::compact::record::Compaction;
use engine::message::Message;
use engine::prompt::coverage::{Coverage, coverage};
use engine::prompt::item::Item;
use engine::prompt::linearize::pair_faults;
use engine::prompt::sent::Sent;
use engine::prompt::{BudgetExceeded, Prompt, Source, draft};
use engine::settings::{Budget, BudgetSettings};
use engine::tokens::TokenCount;
use engine::transcript::Transcript;
use estimate::Estimates;
use import::{Entry, Import};
use models::Model;
use player::{Player, Rendered};
use session::effect::Refusal;
use std::cell::Cell;

/// Settings of a replay.
#[derive(Debug, Clone)]
pub struct Options {
    /// The model's context window, in tokens.
    pub window: u32,
    /// The compaction policy.
    pub policy: Policy,
    /// Reserves and margins of the prompt budget.
    pub budget: BudgetSettings,
    /// Tokens above which a tool result is shown as head and tail; `None` for the session's default.
    pub max_result: Option<u32>,
    /// `true` to go on from the compactions that the source recorded; `false` to render from all messages.
    pub recorded: bool,
}

/// Receives the prompts and compactions of a replay, in order.
pub trait Watch {
    /// Called for each render, before the assistant message is appended to the transcript.
    fn rendered(&mut self, render: &Render<'_>);

    /// Called for each compaction, before [`Watch::rendered`]; `before` is the transcript without it.
    fn compacted(&mut self, before: Source<'_>, record: &Compaction) {
        let _ = (before, record);
    }
}

/// One model call of the transcript.
#[derive(Debug)]
pub struct Render<'a> {
    /// Number of the call, from 0.
    pub index: u32,
    /// The messages before the call, with all compactions so far.
    pub transcript: &'a Transcript,
    /// The prompt, or the reason that there is none.
    pub outcome: &'a Result<Prompt, Unfit>,
}

/// Reason that a render yielded no prompt.
#[derive(Debug, Clone, PartialEq)]
pub enum Unfit {
    /// No stage of the compaction ladder made the prompt fit.
    CannotFit(CannotFit),
    /// Compaction is off, and the prompt is over its limit.
    Exceeded(BudgetExceeded),
}

/// A compaction and the render that triggered it.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionAt {
    /// Number of the render, from 0.
    pub render: u32,
    /// The compaction's record.
    pub record: Compaction,
}

/// The result of a replay.
#[derive(Debug, Clone)]
pub struct Replayed {
    /// The whole transcript, with the compactions made during the replay.
    pub transcript: Transcript,
    /// The token budget of every prompt.
    pub budget: Budget,
    /// Name of the token counter.
    pub estimator: String,
    /// Number of model calls.
    pub renders: u32,
    /// Renders over their limit; not zero only by a defect.
    pub over_budget: u32,
    /// Renders without a prompt: number and reason.
    pub unfit: Vec<(u32, Unfit)>,
    /// Compactions in order.
    pub compactions: Vec<CompactionAt>,
    /// Coverage of the messages by the last prompt; `unaccounted` is the maximum of all prompts.
    pub coverage: Coverage,
    /// Broken call and result pairs in all prompts; not zero only by a defect.
    pub orphans: u32,
    /// User messages in the last prompt.
    pub users: UserMessages,
    /// Prefixes shared by successive prompts.
    pub prefix: Prefix,
    /// Estimates compared with the reports of the source's provider.
    pub estimates: Estimates,
    /// Bytes of text that were tokenised.
    pub tokenized_bytes: u64,
    /// Bytes of text in the source, tools and system text included.
    pub text_bytes: u64,
}

/// Counts of user messages by their form in the last prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct UserMessages {
    /// All that are not hidden from the model.
    pub total: u32,
    /// Shown byte for byte.
    pub verbatim: u32,
    /// Not shown byte for byte, but reported as cut.
    pub reported: u32,
}

/// Sums of the prompt prefixes that a provider's cache could serve.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Prefix {
    /// Tokens of the prefix shared with the previous prompt.
    pub reused: u64,
    /// Tokens of the smaller of each prompt and the previous one.
    pub possible: u64,
    /// `reused` and `possible` without the renders that compacted.
    pub between_breaks: (u64, u64),
    /// Renders that compacted, which breaks the prefix.
    pub breaks: u32,
}

/// Adds up the bytes passed to the inner counter.
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

/// The model that writes summaries, or `None` to compact without one.
pub type Summarizer = Option<Box<dyn Model>>;

/// Replays an import.
///
/// # Errors
/// Fails if the window leaves no room for a prompt, or the session refuses a render for a reason other than size.
pub fn replay(
    import: &Import,
    options: &Options,
    counter: &dyn TokenCount,
    model: &mut Summarizer,
    watch: &mut dyn Watch,
) -> Result<Replayed, Refusal> {
    let anchored = options.recorded.then(|| import.clone().with_anchors());
    let import = anchored.as_ref().unwrap_or(import);
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
    let mut is_recorded = false;
    for entry in &import.entries {
        let message = match entry {
            Entry::Message(message) => message,
            // Without the option the original messages are all shown, and the source's summary of them is not.
            Entry::Compaction(recorded) => {
                replayed.estimates.compacted(player.fixed().tokens(), &recorded.text, counter);
                let before = player.transcript().clone();
                let summary = recorded.summary().filter(|_| options.recorded);
                if let Some(mut record) = summary.and_then(|summary| player.go_on_from(summary)) {
                    let after = Source { transcript: player.transcript(), fixed: player.fixed(), budget };
                    record.tokens_after = draft(after, Some(&record)).tokens;
                    let source = Source { transcript: &before, fixed: player.fixed(), budget };
                    watch.compacted(source, &record);
                    replayed.compactions.push(CompactionAt { render: replayed.renders, record });
                    is_recorded = true;
                }
                continue;
            }
        };
        // An assistant message before the first turn has no prompt.
        if entry.is_assistant() && !player.transcript().turns().is_empty() {
            let records = player.transcript().compactions().len();
            let Rendered { outcome, made } = player.render()?;
            let is_broken = made.is_some() || std::mem::take(&mut is_recorded);
            if let Some(record) = made {
                let before = player.transcript().with_records(records);
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
    /// Adds the figures of one render.
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

/// User messages not hidden from the model.
fn said_by_users(transcript: &Transcript) -> impl Iterator<Item = &Message> {
    let requests = transcript.turns().iter().flat_map(|turn| &turn.requests);
    let messages = requests.filter_map(|ord| transcript.message(*ord)).map(|message| &**message);
    messages.filter(|message| message.body.has_user_words() && !message.is_hidden())
}

/// Compares the user messages of a prompt with those of the transcript.
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
