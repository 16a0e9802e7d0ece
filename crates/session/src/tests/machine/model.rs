//! The invariants of a session after every step: a bench, two followers, and their notes.

mod queued;
mod stored;

use crate::breaks::BreakCause;
use crate::effect::{Answer, Effect, Purpose, Refusal};
use crate::event::{EventBody, Phase};
use crate::input::{Command, Input, ModelCallId, Timer};
use crate::queue::Accepted;
use crate::snapshot::Snapshot;
use crate::state::{State, StateName};
use crate::stored::{Announced, Driver, Write};
use crate::tests::bench::Bench;
use crate::tests::machine::edges;
use crate::tests::machine::mirror::{Heard, Mirror, View};
use crate::tests::machine::shown::Shown;
use engine::compact::record::Status;
use engine::id::{CallId, CompactionId, ItemId, MessageId, Ordinal};
use engine::message::Body;
use engine::prompt::item::Item;
use engine::prompt::request::Request;
use queued::accepted;
use std::collections::{BTreeMap, BTreeSet};

/// A session whose every step is checked.
pub struct Model {
    pub bench: Bench,
    /// A follower that hears every event.
    mirror: Mirror,
    /// A follower that misses some events and catches up.
    second: Mirror,
    /// The number of next events that `second` misses.
    pub misses: u32,
    is_lagging: bool,
    /// The number of events checked.
    heard: usize,
    /// The first answers to acknowledged commands with a key.
    keys: BTreeMap<String, Accepted>,
    /// Items that have left the queue.
    left: BTreeSet<ItemId>,
    /// Calls that a conversation from elsewhere left open.
    elsewhere: BTreeSet<CallId>,
    /// The position of every message that ever existed.
    ids: BTreeMap<MessageId, Ordinal>,
    /// The sources of the compactions in force.
    sources: BTreeMap<CompactionId, Vec<(Ordinal, String)>>,
    /// The conversation as the prompt shows it.
    shown: Shown,
    /// The last prompt sent, and the causes of a break reported since.
    sent: Option<Request>,
    told: Option<Announced>,
    /// Outcomes seen: state changes, events, answers.
    pub seen: BTreeSet<String>,
}

impl Model {
    pub fn new(bench: Bench) -> Self {
        let mirror = Mirror::new(&bench.session.snapshot());
        Self {
            heard: bench.events.len(),
            bench,
            second: mirror.clone(),
            mirror,
            misses: 0,
            is_lagging: false,
            keys: BTreeMap::new(),
            left: BTreeSet::new(),
            elsewhere: BTreeSet::new(),
            ids: BTreeMap::new(),
            sources: BTreeMap::new(),
            shown: Shown::default(),
            sent: None,
            told: None,
            seen: BTreeSet::new(),
        }
    }

    /// Sends a command; returns the answer, if there is one yet.
    pub fn command(&mut self, command: Command) -> Option<Result<Answer, Refusal>> {
        let answer = self.watched(command);
        self.catch_up();
        answer
    }

    fn watched(&mut self, command: Command) -> Option<Result<Answer, Refusal>> {
        let before = self.bench.session.snapshot();
        let is_deferred = self.bench.session.has_deferred_head();
        let is_open = matches!(command, Command::Open(_));
        let first = key_of(&command).and_then(|key| self.keys.get(key).cloned());
        self.seen.extend(crate::tests::machine::parts::compare(&mut self.bench, &command));
        self.elsewhere.extend(crate::tests::history::outside::unanswered(&command));
        let to = self.bench.command(command.clone());
        let answer = self.bench.reply(to).cloned();
        let how = match &answer {
            None => "later".to_owned(),
            Some(Ok(answer)) => match accepted(answer).map(|accepted| accepted.item.is_some()) {
                Some(true) => "queued".to_owned(),
                _ => "done".to_owned(),
            },
            Some(Err(refusal)) => word(refusal),
        };
        self.seen.extend(command.name().map(|command| format!("{} {how}", command.name())));
        self.look(&before, Some(&command));
        let is_of_other = matches!(answer, Some(Err(Refusal::OtherDriver(_))));
        if let Some(first) = first.filter(|_| !is_of_other && self.bench.is_stored) {
            let again = answer.as_ref().and_then(|answer| answer.as_ref().ok()).and_then(accepted);
            assert_eq!(again, Some(&first), "a key that comes again is answered as the first time");
            self.nothing_changed(&before, is_deferred);
        } else if let (Some(key), Some(Ok(answer))) = (key_of(&command), &answer) {
            let accepted = accepted(answer).expect("what is accepted says so");
            self.keys.insert(key.to_owned(), accepted.clone());
        }
        match &answer {
            Some(Err(_)) if !is_begun_before_it_fails(&command) && self.bench.is_stored => {
                self.nothing_changed(&before, false);
            }
            Some(Ok(Answer::Opened(opened))) => {
                self.mirror = Mirror::new(&opened.0);
                // What waits may begin once the session is open.
                let settings = self.bench.session.settings().clone();
                let later = self.bench.events.iter().filter(|(seq, _)| *seq > opened.0.seq);
                for (seq, body) in later {
                    assert_eq!(self.mirror.hear(*seq, body, &settings), Heard::Next, "numbers have no gap");
                }
                if self.second.view.stream == opened.0.stream {
                    self.second = self.mirror.clone();
                }
            }
            // A client that could not open the session opens it again.
            Some(Err(_)) if is_open => {
                self.mirror = Mirror::new(&self.bench.session.snapshot());
                self.second = self.mirror.clone();
            }
            Some(Ok(Answer::Snapshot(snapshot))) => assert_eq!(View::of(snapshot), self.mirror.view),
            _ => {}
        }
        answer
    }

    /// Sends any other input.
    pub fn input(&mut self, input: Input) {
        let before = self.bench.session.snapshot();
        self.bench.step(input);
        self.look(&before, None);
        self.catch_up();
    }

    /// Sends an input that nothing waits for: it may be logged, and that is all.
    pub fn late(&mut self, input: Input) {
        let before = self.bench.session.snapshot();
        self.bench.step(input);
        self.nothing_changed(&before, false);
        self.look(&before, None);
    }

    /// Ends or kills the process, and opens the session in the next one.
    pub fn another_process(&mut self, is_ended: bool) {
        if is_ended {
            self.input(Input::Ending);
        }
        let before = self.bench.session.snapshot();
        let is_whole = self.bench.unwritten.is_empty();
        self.bench.another_process();
        self.heard = 0;
        self.mirror = Mirror::new(&self.bench.session.snapshot());
        if !is_whole {
            // Messages that were never stored are lost, and their ids are free again.
            let stored = self.bench.session.snapshot().messages;
            self.ids = stored.iter().map(|message| (message.id.clone(), message.ord)).collect();
            self.left.clear();
            self.sources.clear();
            self.shown = Shown::default();
            self.sent = None;
        }
        self.watched(Command::Open(Box::default()));
        assert!(self.bench.asked.is_empty(), "no model is asked by itself");
        if is_whole {
            let queue = self.bench.session.snapshot().queue;
            assert_eq!(queue, before.queue, "what waits goes on waiting");
        }
        // The second follower knows the old numbering only.
        self.is_lagging = true;
        self.catch_up();
    }

    /// Has the second follower ask for the events that it missed.
    pub fn catch_up(&mut self) {
        if !std::mem::take(&mut self.is_lagging) {
            return;
        }
        let since = (self.second.view.stream.clone(), self.second.view.seq);
        let known = self.second.view.stream == self.bench.session.stream();
        match self.watched(Command::Subscribe { since: Some(since), newest: None }) {
            Some(Ok(Answer::Events(events))) => {
                assert!(known, "another numbering is another snapshot");
                let settings = self.bench.session.settings().clone();
                for event in events {
                    assert_eq!(self.second.hear(event.seq, &event.body, &settings), Heard::Next);
                }
            }
            Some(Ok(Answer::Snapshot(snapshot))) => self.second = Mirror::new(&snapshot),
            other => panic!("a follower is always answered: {other:?}"),
        }
        let snapshot = self.bench.session.snapshot();
        self.second.agrees(&self.bench.session, &snapshot).expect("a follower that caught up");
        self.is_lagging = false;
    }

    /// Catches up once more, as the last event may be one of those missed.
    pub fn finish(&mut self) {
        self.misses = 0;
        self.is_lagging = true;
        self.catch_up();
    }

    /// Checks a step.
    fn look(&mut self, before: &Snapshot, command: Option<&Command>) {
        let events = self.bench.events.split_off(self.heard);
        let settings = self.bench.session.settings().clone();
        let mut promised = Vec::new();
        let updates = events.iter().filter_map(|(_, body)| match body {
            EventBody::CompactionUpdated(update) => Some((update.phase, update.id.clone())),
            _ => None,
        });
        let updates: Vec<(Phase, CompactionId)> = updates.collect();
        let is_restored = matches!(command, Some(Command::Revert { .. }));
        for (seq, body) in &events {
            self.seen.insert(kind(body));
            match body {
                EventBody::QueueUpdated { items, .. } => promised.extend(self.queue_goes_to(items)),
                EventBody::RuntimeUpdated { state, .. } => self.state_goes_to(*state),
                EventBody::MessageAdded(message, _) => {
                    let known = self.ids.insert(message.id.clone(), message.ord);
                    // A restored message comes back under its id.
                    let expected = known.filter(|ord| is_restored && *ord == message.ord);
                    assert_eq!(known, expected, "{} meant another message before", message.id);
                }
                EventBody::MessageUpdated(message, _) => {
                    assert_eq!(self.ids.get(&message.id), Some(&message.ord), "{}", message.id);
                }
                _ => {}
            }
            assert_eq!(self.mirror.hear(*seq, body, &settings), Heard::Next, "numbers have no gap");
            let is_of_other_stream = self.second.view.stream != self.bench.session.stream();
            if self.misses > 0 {
                self.misses -= 1;
            } else if is_of_other_stream || self.second.hear(*seq, body, &settings) == Heard::Gap {
                self.is_lagging = true;
            }
        }
        self.bench.events.extend(events);
        self.heard = self.bench.events.len();
        for message in promised {
            assert!(self.ids.contains_key(&message), "{message} was promised and never came");
        }
        let after = self.bench.session.snapshot();
        let is_opened = matches!(command, Some(Command::Open(_)));
        if !is_opened {
            self.mirror.agrees(&self.bench.session, &after).expect("what events tell is what is");
        }
        if !matches!(command, Some(Command::Reset { .. })) {
            assert_eq!(before.head.generation, after.head.generation);
        }
        self.what_is_sent();
        self.what_runs();
        self.what_is_summed_up(&after);
        if self.shown.look(self.bench.session.transcript(), &updates) {
            self.seen.insert("undone to the earlier bytes".to_owned());
        }
        if self.bench.unwritten.is_empty() {
            self.is_stored(before, &after);
        }
    }

    /// Checks that each prompt begins with the previous one, or that the break is reported with its cost.
    fn what_is_sent(&mut self) {
        for effect in std::mem::take(&mut self.bench.effects) {
            let request = match &effect {
                Effect::Emit(event) => {
                    if let EventBody::PrefixBroken { causes, reused, lost } = &event.body {
                        assert!(!causes.contains(&BreakCause::Unknown), "a break has no cause: {causes:?}");
                        self.seen.extend(causes.iter().map(|cause| format!("broken by {cause:?}")));
                        assert!(reused + lost > 0);
                        self.told = Some(causes.clone());
                    }
                    None
                }
                Effect::AskModel(ask) if ask.purpose == Purpose::Turn => Some(ask.request.clone()),
                Effect::Reply(_, answer) => match &**answer {
                    Ok(Answer::Rendered(rendered)) => Some(Request {
                        items: rendered.prompt.items.clone(),
                        tools: rendered.prompt.tools.clone(),
                        cache_breakpoints: rendered.prompt.plan.breakpoints().collect(),
                        ..Request::default()
                    }),
                    _ => None,
                },
                _ => None,
            };
            self.bench.effects.push(effect);
            let Some(request) = request else { continue };
            assert!(request.cache_breakpoints.len() <= 4);
            let told = self.told.take();
            if let Some(before) = &self.sent {
                let is_same = |(a, b): (&Item, &Item)| {
                    (a.role, &a.parts, &a.calls, &a.call_id) == (b.role, &b.parts, &b.calls, &b.call_id)
                };
                let shared = before.items.iter().zip(&request.items).take_while(|pair| is_same(*pair));
                let extends = before.tools == request.tools && shared.count() == before.items.len();
                assert!(extends || told.is_some(), "a prefix break was not reported");
                let is_other_model = told.as_ref().is_some_and(|causes| causes.contains(&BreakCause::Model));
                assert!(
                    !extends || told.is_none() || is_other_model,
                    "no prefix broke, and {told:?} was told"
                );
            }
            self.sent = Some(request);
        }
    }

    fn state_goes_to(&mut self, to: StateName) {
        let from = self.mirror.view.state;
        if from != to {
            self.seen.insert(edges::named(from, to));
            assert!(edges::may_follow(from, to), "{} does not leave to {}", from.name(), to.name());
        }
    }

    /// Checks that what was asked for is what the state waits for, and nothing else.
    fn what_runs(&self) {
        let session = &self.bench.session;
        let of_turn: Vec<ModelCallId> =
            self.bench.asked.iter().filter(|ask| ask.1 != Purpose::Title).map(|ask| ask.0).collect();
        let beside = session.components().background().call();
        let (model, tools, deltas) = match session.state() {
            State::Streaming(running) => (Some(running.call()), BTreeSet::new(), Some(running.call())),
            State::Compacting(running) => (Some(running.call()), BTreeSet::new(), None),
            State::Calling(calling) => (None, calling.all(), None),
            State::Resting(_) | State::Paused(_) | State::Reviewing(_) => (None, BTreeSet::new(), None),
        };
        let waited_for: BTreeSet<ModelCallId> = model.into_iter().chain(beside).collect();
        assert_eq!(BTreeSet::from_iter(of_turn), waited_for, "a model is asked only while it is waited for");
        assert!(
            beside.is_none() || !matches!(session.state(), State::Compacting(_)),
            "one compaction at a time"
        );
        for call in &self.bench.invoked {
            assert!(tools.contains(call), "{call} runs and nobody waits for it");
        }
        for timer in &self.bench.timers {
            let is_wanted = match timer {
                Timer::Model(call) => self.bench.asked.iter().any(|ask| ask.0 == *call),
                Timer::Tool(call) => tools.contains(call),
                Timer::Deltas(call) | Timer::Journal(call) => deltas == Some(*call),
                Timer::Review => matches!(session.state(), State::Reviewing(_)),
                Timer::Idle => session.is_at_rest() && session.settings().policy.triggers.idle_secs.is_some(),
            };
            assert!(is_wanted, "{timer:?} runs for nothing");
        }
        for (call, ..) in &self.bench.asked {
            assert!(self.bench.timers.contains(&Timer::Model(*call)), "a model has a deadline");
        }
        let may_wait = matches!(session.state(), State::Compacting(_) | State::Reviewing(_));
        assert!(may_wait || self.bench.open_replies.is_empty(), "nobody is left without an answer");
        let is_answered = session.transcript().rounds().last().is_none_or(|round| {
            let asked = session.transcript().message(round.assistant).map(|message| &message.body);
            let Some(Body::Assistant { calls, .. }) = asked else { return true };
            let mut calls = calls.iter().zip(&round.results);
            calls.all(|(call, result)| {
                result.is_some() || crate::tests::history::outside::is_of(call, &self.elsewhere)
            })
        });
        let must = match session.state() {
            State::Streaming(_) => true,
            State::Resting(_) => self.bench.driver == Driver::Sidecar,
            _ => false,
        };
        assert!(is_answered || !must, "a call has no result and nobody waits for it");
    }

    /// Checks that a compaction is in force only while all messages that it speaks of are unchanged.
    fn what_is_summed_up(&mut self, after: &Snapshot) {
        let messages = self.bench.session.transcript().messages();
        let records = after.compactions.iter().map(|(record, _)| record);
        for record in records.filter(|record| record.status == Status::InForce) {
            assert!(record.newest_named().is_none_or(|newest| newest.index() < messages.len()));
            let spoken_of = messages.iter().filter(|message| record.speaks_of(message.ord));
            let source: Vec<_> = spoken_of.map(|message| (message.ord, message.hash.clone())).collect();
            let made_from = self.sources.entry(record.id.clone()).or_insert_with(|| source.clone());
            assert_eq!(*made_from, source, "{} is obeyed, and its source changed", record.id);
        }
    }

    /// Checks that the step had no effect but its answer; it may write the session's row if that `is_deferred`.
    fn nothing_changed(&self, before: &Snapshot, is_deferred: bool) {
        let rests = !matches!(
            before.state,
            StateName::Generating | StateName::ExecutingTools | StateName::Paused | StateName::WaitingIde
        );
        let is_held = rests && !before.queue.is_empty();
        if is_held {
            // A command resumes the queue that was held since the process began.
            return;
        }
        for effect in &self.bench.effects {
            let is_word = match effect {
                Effect::Reply(..) | Effect::Search(..) | Effect::Trace(_) => true,
                // A repeated key is stored again, unchanged.
                Effect::Write(Write::Key { .. }) => true,
                Effect::Write(Write::Head(_)) => is_deferred,
                _ => false,
            };
            assert!(is_word, "nothing was to happen, and this did: {effect:?}");
        }
        assert_eq!(*before, self.bench.session.snapshot());
    }
}

/// Returns the name of a value's variant.
fn word(value: &impl std::fmt::Debug) -> String {
    format!("{value:?}").split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned()
}

/// Returns the kind of an event; of a compaction, its phase.
fn kind(body: &EventBody) -> String {
    match body {
        EventBody::CompactionUpdated(update) => word(&update.phase),
        EventBody::StreamDelta { .. } => "StreamDelta".to_owned(),
        _ => word(body),
    }
}

/// Renders merge their history and compactions announce their start before they can fail.
fn is_begun_before_it_fails(command: &Command) -> bool {
    matches!(command, Command::Render(_) | Command::Compact(_))
}

fn key_of(command: &Command) -> Option<&str> {
    match command {
        Command::StartTurn(start) => start.key.as_deref(),
        Command::Retry { key, .. }
        | Command::Regenerate { key }
        | Command::Update { key, .. }
        | Command::Remove { key, .. }
        | Command::Truncate { key, .. }
        | Command::Branch { key, .. }
        | Command::Revert { key, .. }
        | Command::Reset { key, .. } => key.as_deref(),
        _ => None,
    }
}
