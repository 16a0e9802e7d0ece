//! A follower of a session: starts with a snapshot and folds event after event, as a client does. Comparing
//! it with the session finds whatever events leave out.

use crate::Session;
use crate::agents::Agent;
use crate::effect::AskedCall;
use crate::event::{EventBody, Phase, Thread};
use crate::queue::QueueItem;
use crate::settings::Settings;
use crate::snapshot::{Snapshot, TurnSnapshot};
use crate::state::{State, StateName};
use crate::stored::{TurnFigures, TurnStatus};
use engine::compact::metadata::Persisted;
use engine::compact::record::{Compaction, Mode, Status};
use engine::delta::{Delta, Draft};
use engine::id::{CallId, CompactionId, MessageId, RoundId, TurnId};
use engine::message::{Body, Message};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The state of a session as a client knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    pub stream: String,
    pub seq: u64,
    pub state: StateName,
    pub messages: Vec<Arc<Message>>,
    /// The round of each message that belongs to one.
    pub rounds: BTreeMap<MessageId, RoundId>,
    pub turns: Vec<Turn>,
    pub queue: Vec<QueueItem>,
    pub thread: Thread,
    pub settings: Settings,
    pub pause: Vec<AskedCall>,
    /// Calls that wait for a result.
    pub pending: BTreeSet<CallId>,
    pub streaming: Option<(MessageId, Draft)>,
    pub compactions: Vec<Compaction>,
    /// The metadata of compactions in force.
    pub kept: BTreeMap<CompactionId, Persisted>,
    pub compacting: Option<Mode>,
    pub agents: Vec<Agent>,
}

impl View {
    /// Returns a client's view of a snapshot.
    pub fn of(snapshot: &Snapshot) -> Self {
        Self {
            stream: snapshot.stream.clone(),
            seq: snapshot.seq,
            state: snapshot.state,
            messages: snapshot.messages.clone(),
            rounds: rounds_of(snapshot),
            turns: snapshot.turns.iter().map(Turn::of).collect(),
            queue: snapshot.queue.clone(),
            thread: snapshot.thread.clone(),
            settings: snapshot.settings.clone(),
            pause: snapshot.pause.clone(),
            pending: snapshot.pending.iter().map(|call| call.id.clone()).collect(),
            streaming: snapshot.streaming.clone(),
            compactions: snapshot.compactions.iter().map(|(record, _)| record.clone()).collect(),
            kept: {
                let in_force =
                    snapshot.compactions.iter().filter(|(record, _)| record.status == Status::InForce);
                in_force.map(|(record, metadata)| (record.id.clone(), metadata.clone())).collect()
            },
            compacting: snapshot.compacting.as_ref().map(|(mode, _)| *mode),
            agents: snapshot.agents.clone(),
        }
    }
}

/// A turn as a client knows it. Its rounds follow from its messages.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    pub id: TurnId,
    pub external_id: Option<String>,
    pub status: TurnStatus,
    pub figures: TurnFigures,
}

/// A client that follows a session.
#[derive(Debug, Clone)]
pub struct Mirror {
    pub view: View,
    /// The last reported end of each turn, with the state.
    ended: BTreeMap<TurnId, TurnStatus>,
    /// An answer that ended, and whose message is still to come.
    finished: Option<(MessageId, Draft)>,
}

/// The outcome of hearing an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// The next event.
    Next,
    /// An event heard before.
    Known,
    /// An event after a gap.
    Gap,
}

impl Mirror {
    pub fn new(snapshot: &Snapshot) -> Self {
        Self { view: View::of(snapshot), ended: BTreeMap::new(), finished: None }
    }

    /// Takes an event by the protocol's numbering. Settings come with the event that reports their change.
    pub fn hear(&mut self, seq: u64, body: &EventBody, settings: &Settings) -> Heard {
        if seq <= self.view.seq {
            return Heard::Known;
        }
        if seq > self.view.seq + 1 {
            return Heard::Gap;
        }
        self.view.seq = seq;
        self.fold(body, settings);
        self.view.pending = pending(&self.view);
        Heard::Next
    }

    fn fold(&mut self, body: &EventBody, settings: &Settings) {
        let view = &mut self.view;
        match body {
            EventBody::TurnStarted { turn: id, external_id } => {
                let (status, figures) = (TurnStatus::Running, TurnFigures::default());
                // It runs again, and the state may be the same as before.
                self.ended.remove(id);
                match view.turns.iter_mut().find(|turn| turn.id == *id) {
                    Some(known) => (known.status, known.figures) = (status, figures),
                    None => {
                        let external_id = external_id.clone();
                        view.turns.push(Turn { id: id.clone(), external_id, status, figures });
                    }
                }
            }
            EventBody::TurnCompleted { turn: id, status, figures, .. } => {
                assert_ne!(*status, TurnStatus::Running);
                let turn = view.turns.iter_mut().find(|turn| turn.id == *id).expect("a turn that is known");
                (turn.status, turn.figures) = (*status, TurnFigures { began: None, ..*figures });
            }
            EventBody::StreamStarted { message, .. } => {
                view.streaming = Some((message.clone(), Draft::default()));
            }
            EventBody::StreamDelta { message, deltas } => {
                let (streaming, draft) = view.streaming.as_mut().expect("a stream was started");
                assert_eq!(message, streaming);
                fold(draft, deltas);
            }
            EventBody::StreamReset { message } => {
                let (streaming, draft) = view.streaming.as_mut().expect("a stream was started");
                assert_eq!(message, streaming);
                *draft = Draft::default();
            }
            EventBody::StreamFinished { message, .. } => {
                self.finished = view.streaming.take();
                assert_eq!(self.finished.as_ref().map(|(streaming, _)| streaming), Some(message));
            }
            EventBody::MessageAdded(message, round) => {
                let turn = view.turns.last().map(|turn| &turn.id);
                assert_eq!(turn, Some(&message.turn), "a turn is told before its messages");
                view.rounds.extend(round.clone().map(|round| (message.id.clone(), round)));
                let last = view.messages.last();
                assert!(last.is_none_or(|last| last.ord < message.ord), "a message is added at the end");
                if let Some((_, draft)) = self.finished.take_if(|(finished, _)| *finished == message.id)
                    && let Body::Assistant { parts, .. } = &message.body
                {
                    assert_eq!(*parts, draft.said(), "what was streamed is the message");
                }
                view.messages.push(message.clone());
            }
            EventBody::MessageUpdated(message, round) => {
                let turn = view.turns.iter_mut().find(|turn| turn.id == message.turn).expect("its turn");
                let known = view.messages.iter_mut().find(|known| known.id == message.id);
                let known = known.expect("a message that is known");
                if turn.external_id == known.external_id {
                    turn.external_id.clone_from(&message.external_id);
                }
                *known = message.clone();
                view.rounds.remove(&message.id);
                view.rounds.extend(round.clone().map(|round| (message.id.clone(), round)));
            }
            EventBody::MessageRemoved { message } => {
                let at = view.messages.iter().position(|known| known.id == *message);
                let gone = view.messages.remove(at.expect("a message that is known"));
                view.rounds.remove(message);
                let turn = view.turns.iter_mut().find(|turn| turn.id == gone.turn).expect("its turn");
                if turn.external_id == gone.external_id {
                    turn.external_id = None;
                }
                view.drop_empty_turns();
            }
            EventBody::MessagesTruncated { from, .. } => {
                view.messages.retain(|message| message.ord < *from);
                let left: BTreeSet<&MessageId> = view.messages.iter().map(|message| &message.id).collect();
                view.rounds.retain(|message, _| left.contains(message));
                view.drop_empty_turns();
            }
            EventBody::QueueUpdated { items, .. } => view.queue.clone_from(items),
            EventBody::ThreadUpdated(thread) => {
                view.thread = (**thread).clone();
                view.settings = settings.clone();
            }
            EventBody::RuntimeUpdated { state, turn, ended } => {
                view.state = *state;
                if let Some(turn) = turn {
                    self.ended.remove(turn);
                    self.ended.extend(ended.as_ref().map(|ended| (turn.clone(), ended.status)));
                }
            }
            EventBody::Retrying { state, .. } => view.state = *state,
            EventBody::PauseRequired(asked) => view.pause.clone_from(asked),
            EventBody::PauseCleared => view.pause.clear(),
            EventBody::AgentUpdated(agent) => {
                match view.agents.iter_mut().find(|known| known.session == agent.session) {
                    Some(known) => *known = agent.clone(),
                    None => view.agents.push(agent.clone()),
                }
            }
            EventBody::CompactionUpdated(update) => {
                match update.phase {
                    Phase::Summarizing | Phase::Reviewing => view.compacting = update.mode,
                    Phase::Accepted | Phase::Refused | Phase::Cancelled | Phase::CannotFit => {
                        view.compacting = None;
                    }
                    Phase::Started | Phase::FellBack | Phase::Voided | Phase::Undone => {}
                }
                if let Some((record, metadata)) = &update.record {
                    view.kept.remove(&record.id);
                    if record.status == Status::InForce {
                        view.kept.insert(record.id.clone(), metadata.clone());
                    }
                    match view.compactions.iter_mut().find(|known| known.id == record.id) {
                        Some(known) => *known = record.clone(),
                        None => view.compactions.push(record.clone()),
                    }
                }
            }
            EventBody::ContextUpdated { .. }
            | EventBody::ToolProgress { .. }
            | EventBody::PrefixBroken { .. }
            | EventBody::RestoreReported(_) => {}
        }
    }

    /// Compares with the session all that a snapshot has, after adding the deltas that are gathered and not sent yet.
    pub fn agrees(&self, session: &Session, snapshot: &Snapshot) -> Result<(), String> {
        let mut ours = self.view.clone();
        if let (Some((_, draft)), State::Streaming(running)) = (&mut ours.streaming, session.state()) {
            fold(draft, running.untold());
        }
        let theirs = View::of(snapshot);
        if ours != theirs {
            return Err(parting(&format!("{ours:#?}"), &format!("{theirs:#?}")));
        }
        for turn in &snapshot.turns {
            let told = self.ended.get(&TurnId::new(&turn.id));
            if told.is_some_and(|told| *told != turn.status) {
                return Err(format!("turn {} was told to be {told:?} and is {:?}", turn.id, turn.status));
            }
        }
        Ok(())
    }
}

impl Turn {
    fn of(turn: &TurnSnapshot) -> Self {
        Self {
            id: TurnId::new(&turn.id),
            external_id: turn.external_id.clone(),
            status: turn.status,
            // No client is told when a turn began.
            figures: TurnFigures { began: None, ..turn.figures },
        }
    }
}

impl View {
    /// Drops the turns of which no message is left.
    fn drop_empty_turns(&mut self) {
        let left: BTreeSet<&TurnId> = self.messages.iter().map(|message| &message.turn).collect();
        self.turns.retain(|turn| left.contains(&turn.id));
    }
}

/// Returns the round of each message of a snapshot that belongs to one.
fn rounds_of(snapshot: &Snapshot) -> BTreeMap<MessageId, RoundId> {
    let ids: BTreeMap<_, _> = snapshot.messages.iter().map(|message| (message.ord, &message.id)).collect();
    let rounds = snapshot.turns.iter().flat_map(|turn| &turn.rounds).flat_map(|(round, _)| {
        let messages = std::iter::once(round.assistant).chain(round.results.iter().flatten().copied());
        messages.map(|ord| (ord, round.id.clone()))
    });
    rounds.filter_map(|(ord, round)| Some(((*ids.get(&ord)?).clone(), round))).collect()
}

/// Returns the lines around the first difference of two texts.
fn parting(ours: &str, theirs: &str) -> String {
    let at = ours.lines().zip(theirs.lines()).take_while(|(ours, theirs)| ours == theirs).count();
    let context = |text: &str| text.lines().skip(at.saturating_sub(3)).take(8).collect::<Vec<_>>().join("\n");
    format!("by events:\n{}\nas it is:\n{}", context(ours), context(theirs))
}

fn fold(draft: &mut Draft, deltas: &[Delta]) {
    deltas.iter().for_each(|delta| draft.fold(delta.clone()).expect("a delta that was folded before"));
}

/// Returns the calls of the newest answer that have no result, while calls run.
fn pending(view: &View) -> BTreeSet<CallId> {
    let mut open = BTreeSet::new();
    if !matches!(view.state, StateName::ExecutingTools | StateName::WaitingIde) {
        return open;
    }
    for message in &view.messages {
        match &message.body {
            Body::Assistant { calls, .. } => open = calls.iter().map(|call| call.id.clone()).collect(),
            Body::Tool(result) => drop(open.remove(&CallId::new(&result.call))),
            Body::User(_) | Body::Event { .. } => {}
        }
    }
    open
}
