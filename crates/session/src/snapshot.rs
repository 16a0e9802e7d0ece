//! A session as a whole, for a follower that begins or has missed something, and its context as figures. Values, and
//! how they are taken; their form on a wire is the protocol's.

use super::Session;
use super::effect::Reason;
use super::event::Thread;
use super::queue::QueueItem;
use super::settings::Settings;
use super::state::{Pause, State, StateName, Then};
use super::stored::{Head, TurnStatus};
use super::usage::{Estimate, read_prompt};
use engine::compact::metadata::{Persisted, metadata, round_summary};
use engine::compact::record::{Compaction, Mode, Status, Trigger};
use engine::compact::trigger;
use engine::delta::Draft;
use engine::id::{CallId, CompactionId, MessageId, Time};
use engine::message::{Body, Message, Usage};
use engine::prompt::coverage::{Coverage, coverage};
use engine::prompt::item::Channel;
use engine::prompt::{self, Cut, Source};
use engine::settings::PerMille;
use engine::transcript::Round;
pub use engine::words::Measure;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A session as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// The stream of its events.
    pub stream: String,
    /// The last event that it includes.
    pub seq: u64,
    /// Its state.
    pub state: StateName,
    /// Why it failed, where it did.
    pub error: Option<String>,
    /// Its own row.
    pub head: Head,
    /// Its messages in order.
    pub messages: Vec<Arc<Message>>,
    /// How many stand before them, where only the newest are here. Turns are left out then, and so are records that are
    /// not in force.
    pub earlier: Option<u32>,
    /// Its turns in order.
    pub turns: Vec<TurnSnapshot>,
    /// Its compaction records, oldest first, with their metadata.
    pub compactions: Vec<(Compaction, Persisted)>,
    /// The rung that is asking a model, while one is, and why a compaction goes on.
    pub compacting: Option<(Mode, String)>,
    /// The answer that is being given.
    pub streaming: Option<(MessageId, Draft)>,
    /// Calls that wait for the user.
    pub pause: Vec<Reason>,
    /// Calls that wait for a result.
    pub pending: Vec<Reason>,
    /// What waits, in the order in which it is carried out.
    pub queue: Vec<QueueItem>,
    /// Title, draft and what it shares.
    pub thread: Thread,
    /// What it runs under.
    pub settings: Settings,
}

/// A turn of a snapshot.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnSnapshot {
    /// Its id.
    pub id: String,
    /// The editor's id of its request.
    pub external_id: Option<String>,
    /// How it ended.
    pub status: TurnStatus,
    /// Its rounds, each with its summary (source: 003).
    pub rounds: Vec<(Round, Option<String>)>,
    /// The summaries that were made in it.
    pub summaries: Vec<Persisted>,
}

/// The context as figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Inspection {
    /// Tokens of the prompt as it would be sent now.
    pub tokens: u32,
    /// Its limit.
    pub limit: u32,
    /// New tokens that fit before the nearest compaction that sizes set off.
    pub until_compaction: u32,
    /// The window.
    pub window: u32,
    /// Who counted.
    pub estimator: String,
    /// How well that is known.
    pub estimate: Estimate,
    /// Channel, name and tokens of its sections.
    pub sections: Vec<(Channel, String, u32)>,
    /// What became of each message.
    pub coverage: Coverage,
    /// What is not in it as it was said.
    pub cuts: Vec<Cut>,
    /// Its compaction records, oldest first.
    pub compactions: Vec<(Compaction, Persisted)>,
    /// What starts a compaction.
    pub triggers: Vec<Nearness>,
    /// What the model reported for its last answer.
    pub usage: Option<Usage>,
    /// The most that the model's provider turned out to take, in tokens, where it found a prompt too large.
    pub learned_limit: Option<u32>,
}

/// How near a trigger is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nearness {
    /// The trigger.
    pub trigger: Trigger,
    /// What it counts.
    pub measure: Measure,
    /// How much there is.
    pub now: u64,
    /// How much it starts at; nothing where it is switched off.
    pub at: Option<u64>,
    /// New tokens that are missing before it may start anything, however much there is: too little is new since the last
    /// compaction, or since an attempt at one came to nothing, was refused or undone.
    pub held_back: u32,
}

impl Session {
    /// The session as it is.
    pub fn snapshot(&self) -> Snapshot {
        let messages = self.transcript.messages().iter();
        // All that was said in a turn may be removed.
        let is_there = |at: &usize| {
            let first = self.transcript.turns().get(*at).map(|turn| turn.first);
            let last = self.transcript.last_of_turn(*at);
            let said = first.zip(last).map(|(first, last)| self.transcript.range(first, last));
            said.is_some_and(|said| said.iter().any(|message| !message.is_removed()))
        };
        let turns = (0..self.transcript.turns().len()).filter(is_there);
        Snapshot {
            messages: messages.filter(|message| !message.is_removed()).cloned().collect(),
            turns: turns.filter_map(|at| self.turn(at)).collect(),
            compactions: self.compactions(),
            ..self.without_messages()
        }
    }

    /// Everything but what was said.
    fn without_messages(&self) -> Snapshot {
        let (compacting, streaming) = match &self.state {
            State::Compacting(running) => (Some((running.mode, running.job.reason())), None),
            State::Reviewing(reviewing) => (Some((reviewing.record.mode, reviewing.job.reason())), None),
            State::Streaming(running) => (None, Some((running.message.clone(), running.draft.clone()))),
            State::Resting(_) | State::Paused(_) | State::Calling(_) => (None, None),
        };
        Snapshot {
            stream: self.stream.clone(),
            seq: self.events.last(),
            state: self.state.name(),
            error: self.error(),
            head: self.head.clone(),
            messages: Vec::new(),
            earlier: None,
            turns: Vec::new(),
            compactions: Vec::new(),
            compacting,
            streaming,
            pause: match &self.state {
                State::Paused(Pause { open, .. }) => self.asked(open),
                _ => Vec::new(),
            },
            pending: match &self.state {
                State::Calling(calling) => self.reasons(calling.all().iter(), "no result has come"),
                _ => Vec::new(),
            },
            queue: self.queue.items.iter().cloned().collect(),
            thread: self.thread(),
            settings: self.settings.clone(),
        }
    }

    /// The session as it is, with this many of its newest messages at most, where that is said.
    pub fn shown(&self, newest: Option<u32>) -> Snapshot {
        newest.map_or_else(|| self.snapshot(), |newest| self.end(newest))
    }

    fn end(&self, newest: u32) -> Snapshot {
        let newest = usize::try_from(newest).unwrap_or(usize::MAX);
        let earlier = self.transcript.messages().len().saturating_sub(newest);
        let messages = self.transcript.messages().iter().skip(earlier);
        let in_force = self.transcript.in_force().into_iter();
        Snapshot {
            messages: messages.filter(|message| !message.is_removed()).cloned().collect(),
            earlier: Some(u32::try_from(earlier).unwrap_or(u32::MAX)),
            compactions: in_force
                .map(|record| (record.clone(), metadata(&self.transcript, record)))
                .collect(),
            ..self.without_messages()
        }
    }

    fn error(&self) -> Option<String> {
        match &self.state {
            State::Resting(super::state::Rest::Failed(why)) => Some(why.clone()),
            _ => None,
        }
    }

    fn turn(&self, at: usize) -> Option<TurnSnapshot> {
        let turn = self.transcript.turns().get(at)?;
        let rounds = self.transcript.rounds_of(at).iter().map(|round| {
            let summary = round_summary(&self.transcript, round).map(str::to_owned);
            (round.clone(), summary)
        });
        Some(TurnSnapshot {
            id: turn.id.as_str().to_owned(),
            external_id: self.transcript.message(turn.first).and_then(|message| message.external_id.clone()),
            status: self.turns.get(at).map_or(TurnStatus::Completed, |row| row.status),
            rounds: rounds.collect(),
            summaries: self.summaries_of(at),
        })
    }

    /// The metadata of the summaries that were made while this turn ran, oldest first.
    pub(super) fn summaries_of(&self, at: usize) -> Vec<Persisted> {
        let Some(turn) = self.transcript.turns().get(at) else { return Vec::new() };
        let made = self
            .transcript
            .compactions()
            .iter()
            .filter(|record| record.turn.as_ref() == Some(&turn.id) && record.status == Status::InForce);
        made.map(|record| metadata(&self.transcript, record)).collect()
    }

    fn compactions(&self) -> Vec<(Compaction, Persisted)> {
        let records = self.transcript.compactions().iter();
        records.map(|record| (record.clone(), metadata(&self.transcript, record))).collect()
    }

    /// What clients keep of the compactions in force.
    pub(super) fn kept_by_clients(&self) -> BTreeMap<CompactionId, Persisted> {
        let kept = self.compactions().into_iter().filter(|(record, _)| record.status == Status::InForce);
        kept.map(|(record, metadata)| (record.id, metadata)).collect()
    }

    /// Name and arguments of calls of the newest round.
    pub(super) fn reasons<'a>(&self, calls: impl Iterator<Item = &'a CallId>, reason: &str) -> Vec<Reason> {
        let newest =
            self.transcript.rounds().last().and_then(|round| self.transcript.message(round.assistant));
        let Some(Body::Assistant { calls: known, .. }) = newest.map(|message| &message.body) else {
            return Vec::new();
        };
        let found = calls.filter_map(|id| known.iter().find(|call| call.id == *id));
        let with = |call: &engine::message::ToolCall| Reason {
            call: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
            reason: reason.to_owned(),
        };
        found.map(with).collect()
    }

    /// The context as figures, over its limit or not.
    pub(super) fn inspect(&self, counter: &str, now: Time) -> Option<Inspection> {
        let scale = self.scale(&self.settings.model);
        let budget = self.budget().ok()?;
        let source = Source { transcript: &self.transcript, fixed: &self.fixed, budget };
        let in_force = self.transcript.in_force();
        let drafted = prompt::draft(source, in_force);
        let coverage = coverage(&self.transcript, in_force, &drafted);
        let raw = drafted.tokens;
        let until_compaction = self.tokens_until(source, raw);
        let drafted = read_prompt(drafted, scale);
        let sections = drafted.plan.sections.iter();
        Some(Inspection {
            tokens: drafted.tokens,
            limit: drafted.limit,
            until_compaction: scale.read_part(until_compaction),
            window: budget.window,
            estimator: scale.named(counter, self.settings.model.key()),
            estimate: self.estimate(),
            sections: sections.map(|s| (s.channel, s.name.clone(), s.tokens)).collect(),
            coverage,
            compactions: self.compactions(),
            triggers: self.nearness(source, raw, &drafted, now),
            learned_limit: self.learned_limit(&self.settings.model).map(|limit| scale.read(limit)),
            cuts: drafted.cuts,
            usage: self.transcript.messages().iter().rev().find_map(|message| match &message.body {
                Body::Assistant { beside, .. } => beside.usage,
                _ => None,
            }),
        })
    }

    /// How near each trigger is for this prompt.
    fn nearness(&self, source: Source<'_>, raw: u32, prompt: &prompt::Prompt, now: Time) -> Vec<Nearness> {
        let triggers = self.settings.policy.triggers;
        let (turns, messages) =
            (trigger::shown_turns(&self.transcript), trigger::shown_messages(&self.transcript));
        let idle = now.0.saturating_sub(self.head.updated_at.0) / 1000;
        let share = |of: Option<PerMille>| of.map(|share| u64::from(share.of(prompt.limit)));
        let tokens = u64::from(prompt.tokens);
        let policy = &self.settings.policy;
        let scale = self.scale(&self.settings.model);
        let held = self.held_back(source);
        let since_last = trigger::missing(source, policy, raw).max(held);
        let to_prepare = trigger::missing_to_prepare(source, policy, raw).max(held);
        let near = |trigger, measure, now, at, missing| {
            let held_back = scale.read_part(missing).max(u32::from(missing > 0));
            Nearness { trigger, measure, now, at, held_back }
        };
        let (of_turns, of_messages) = (triggers.user_turns.map(u64::from), triggers.messages.map(u64::from));
        let of_silence = triggers.idle_secs.map(u64::from);
        vec![
            near(Trigger::BudgetExceeded, Measure::Tokens, tokens, Some(u64::from(prompt.limit)), 0),
            near(Trigger::PreTurnTokens, Measure::Tokens, tokens, share(triggers.pre_turn), since_last),
            near(Trigger::Background, Measure::Tokens, tokens, share(triggers.background), to_prepare),
            near(Trigger::UserTurns, Measure::Turns, turns.into(), of_turns, since_last),
            near(Trigger::Messages, Measure::Messages, messages.into(), of_messages, since_last),
            near(Trigger::Idle, Measure::Seconds, idle, of_silence, held),
        ]
    }

    /// Whether somebody waits for what this session is doing.
    pub fn is_awaited(&self) -> bool {
        self.state.job().is_some_and(|job| matches!(job.then, Then::Report(_) | Then::Render(_)))
    }
}
