//! Changes of a session that another process writes: the events from what was shown to what is stored now, or
//! `None` if only a snapshot can express them. Knows neither store nor wire.

use engine::compact::metadata::Persisted;
use engine::compact::record::{Compaction, Status};
use engine::id::TurnId;
use engine::message::Message;
use session::Session;
use session::event::{CompactionUpdate, EventBody, Phase, TurnEnd};
use session::snapshot::{Snapshot, TurnSnapshot};
use session::state::StateName;
use session::stored::TurnStatus;
use std::sync::Arc;
use store::follow::Holder;

/// The state of a session as last shown.
#[derive(Debug)]
pub(super) struct Shown {
    /// The process that writes it.
    pub holder: Option<Holder>,
    /// The session's state.
    pub state: StateName,
    messages: usize,
    /// Without rounds, which follow from the messages.
    turns: Vec<TurnSnapshot>,
    compactions: Vec<(Compaction, Persisted)>,
    /// The other fields.
    rest: Snapshot,
}

impl Shown {
    /// The state of a session read from its store.
    pub fn of(session: &Session, holder: Option<Holder>) -> Self {
        let mut rest = session.snapshot();
        let messages = std::mem::take(&mut rest.messages).len();
        let mut turns = std::mem::take(&mut rest.turns);
        turns.iter_mut().for_each(|turn| turn.rounds = Vec::new());
        let compactions = std::mem::take(&mut rest.compactions);
        let state = session.state_elsewhere(holder.is_some());
        Self { holder, state, messages, turns, compactions, rest }
    }

    /// The newest turn.
    pub fn turn(&self) -> Option<TurnId> {
        self.turns.last().map(|turn| TurnId::new(&turn.id))
    }

    /// The events from this state to `new`, the state of `session`, whose messages from index `from` on are
    /// `added`; `None` if events cannot express the change.
    pub fn until(
        &self,
        new: &Self,
        session: &Session,
        from: usize,
        added: &[(u32, Arc<Message>)],
    ) -> Option<Vec<EventBody>> {
        let is_appended = from == self.messages && new.messages == from + added.len();
        let compactions = new.compactions.get(self.compactions.len()..)?;
        let is_known = new.compactions.starts_with(&self.compactions) && new.turns.len() >= self.turns.len();
        if !is_appended || !is_known || self.holder != new.holder || !self.rests_alike(&new.rest) {
            return None;
        }
        let mut events = Vec::new();
        let mut started: Vec<&str> = self.turns.iter().map(|turn| turn.id.as_str()).collect();
        for (_, message) in added {
            let turn = message.turn.as_str();
            if !started.contains(&turn) {
                started.push(turn);
                events.extend(new.turn_started(&message.turn));
            }
            let round = session.transcript().round_of(message.ord).map(|round| round.id.clone());
            events.push(EventBody::MessageAdded(Arc::clone(message), round));
        }
        events.extend(compactions.iter().map(accepted));
        if (&self.rest.thread, &self.rest.settings) != (&new.rest.thread, &new.rest.settings) {
            events.push(EventBody::ThreadUpdated(Box::new(new.rest.thread.clone())));
        }
        if self.rest.queue != new.rest.queue {
            events.push(EventBody::QueueUpdated { items: new.rest.queue.clone(), failed: None });
        }
        if self.rest.pause != new.rest.pause {
            let pause = new.rest.pause.clone();
            let is_over = pause.is_empty();
            events.push(if is_over { EventBody::PauseCleared } else { EventBody::PauseRequired(pause) });
        }
        events.extend(self.turns_until(new, session));
        Some(events)
    }

    /// Events for ended turns and for the current state.
    fn turns_until(&self, new: &Self, session: &Session) -> Vec<EventBody> {
        let status = |shown: &Self, at: usize| shown.turns.get(at).map(|turn| turn.status);
        let last = new.turns.len().checked_sub(1);
        let mut events = Vec::new();
        for (at, turn) in new.turns.iter().enumerate() {
            let is_last = Some(at) == last;
            let changed = status(self, at) != Some(turn.status);
            let ended = changed && turn.status != TurnStatus::Running;
            let known = self.turns.get(at);
            if ended || known.is_some_and(|known| known.figures != turn.figures) {
                events.push(new.turn_told(turn));
            }
            if ended || is_last && (changed || self.state != new.state) {
                let summaries = turn.summaries.clone();
                let id = TurnId::new(&turn.id);
                events.push(EventBody::RuntimeUpdated {
                    state: if is_last { new.state } else { session.state_after(&id) },
                    turn: Some(id),
                    ended: ended.then_some(TurnEnd {
                        status: turn.status,
                        error: None,
                        ended_by: None,
                        summaries,
                    }),
                });
            }
        }
        if last.is_none() && self.state != new.state {
            events.push(EventBody::RuntimeUpdated { state: new.state, turn: None, ended: None });
        }
        events
    }

    fn turn_started(&self, id: &TurnId) -> Option<EventBody> {
        let turn = self.turns.iter().find(|turn| turn.id == id.as_str())?;
        Some(EventBody::TurnStarted { turn: id.clone(), external_id: turn.external_id.clone() })
    }

    /// The event that tells the status of a turn.
    fn turn_told(&self, turn: &TurnSnapshot) -> EventBody {
        let id = TurnId::new(&turn.id);
        if turn.status == TurnStatus::Running {
            return EventBody::TurnStarted { turn: id, external_id: turn.external_id.clone() };
        }
        let made = self.compactions.iter().filter(|(record, _)| record.turn.as_ref() == Some(&id));
        let compactions = made.map(|(record, _)| record.id.clone()).collect();
        EventBody::TurnCompleted { turn: id, status: turn.status, figures: turn.figures, compactions }
    }

    /// `true` if everything that no event covers is equal.
    fn rests_alike(&self, new: &Snapshot) -> bool {
        let (old, head) = (&self.rest, &new.head);
        let known = &old.head;
        let is_same =
            (known.driver, &known.kind, &known.parent, &known.work_scope, known.generation, known.waits)
                == (head.driver, &head.kind, &head.parent, &head.work_scope, head.generation, head.waits);
        // Covered by events, or never shown; all other fields are compared.
        let told = Snapshot {
            stream: old.stream.clone(),
            seq: old.seq,
            state: old.state,
            error: old.error.clone(),
            head: old.head.clone(),
            settings: old.settings.clone(),
            thread: old.thread.clone(),
            queue: old.queue.clone(),
            pause: old.pause.clone(),
            pending: old.pending.clone(),
            ..new.clone()
        };
        is_same && told == *old
    }
}

fn accepted((record, metadata): &(Compaction, Persisted)) -> EventBody {
    EventBody::CompactionUpdated(Box::new(CompactionUpdate {
        id: record.id.clone(),
        tokens_before: Some(record.tokens_before),
        left: None,
        phase: if record.status == Status::Undone { Phase::Undone } else { Phase::Accepted },
        mode: Some(record.mode),
        trigger: record.trigger,
        reason: None,
        record: Some((record.clone(), metadata.clone())),
    }))
}
