//! Steps on their way to the store: what follows a step is done once it is stored. What becomes of a step that the store
//! did not take stands here too; how an effect becomes a deed is `perform`'s.

use super::inbox::Event;
use super::live::Done;
use super::main_loop::{MainLoop, Slot};
use super::stores;
use engine::id::SessionId;
use session::effect::Effect;
use session::event::EventBody;
use session::input::{Input, NotWritten};
use session::stored::TurnStatus;
use std::sync::Arc;
use store::error::StoreError;

/// Whether it tells that a turn came to its end.
fn ends_well(effect: &Effect) -> bool {
    let is_end = |body: &EventBody| matches!(body, EventBody::RuntimeUpdated { ended: Some(end), .. } if end.status == TurnStatus::Completed);
    matches!(effect, Effect::Emit(event) if is_end(&event.body))
}

impl MainLoop {
    /// Goes on with a session's steps until one must be stored first.
    pub fn pump(&mut self, id: &SessionId) {
        self.at_work = Some(id.clone());
        while let Some(Slot::Live(live)) = self.sessions.get_mut(id) {
            if live.is_writing || live.deleting.is_some() {
                return;
            }
            let Some(step) = live.steps.front_mut() else { break };
            match live.store.clone() {
                Some((store, fence)) if !step.writes.is_empty() => {
                    let mut writes = std::mem::take(&mut live.unwritten);
                    writes.append(&mut step.writes);
                    live.writing = Arc::new(writes);
                    live.is_writing = true;
                    let (writes, inbox) = (live.writing.clone(), self.inbox.clone());
                    let (session, answered) = (id.clone(), id.clone());
                    return store.submit(
                        move |store| store.commit(&session, fence, &writes),
                        move |done| drop(inbox.send(Event::Committed(answered, done))),
                    );
                }
                _ => {}
            }
            let Some(Done { effects, .. }) = live.steps.pop_front() else { break };
            for effect in effects {
                self.perform(id, effect);
            }
        }
        self.catch_up(id);
        // What was decided since may be all that the rest waited for.
        self.ask_rest(id);
        self.settle_file(id);
        self.let_go_if_done(id);
        self.end_if_saved();
    }

    /// The store took the oldest step, or did not. In that case nothing of it that goes on is done, and whoever waits
    /// is told why.
    pub fn committed(&mut self, id: &SessionId, done: Result<(), StoreError>) {
        self.at_work = Some(id.clone());
        let Some(Slot::Live(live)) = self.sessions.get_mut(id) else { return self.end_if_saved() };
        live.is_writing = false;
        let writing = std::mem::take(&mut live.writing);
        if let Err(error @ StoreError::FenceLost { .. }) = &done {
            live.unwritten = Arc::unwrap_or_clone(writing);
            return self.lost(id, error);
        }
        let effects = live.steps.pop_front().unwrap_or_default().effects;
        let Err(error) = done else {
            for effect in effects {
                self.perform(id, effect);
            }
            self.pump(id);
            return self.ask_rest(id);
        };
        live.unwritten = Arc::unwrap_or_clone(writing);
        let failure = stores::error(&error);
        live.fault = Some(failure.clone());
        if effects.is_empty() && !matches!(error, StoreError::Refused { .. }) {
            // Only tried again: nobody waits for it, and it was told.
            tracing::debug!(session = %id, %error, "what is left is still not stored");
            return self.pump(id);
        }
        tracing::warn!(session = %id, %error, "a step was not stored");
        let ended_turn = effects.iter().any(ends_well);
        for effect in effects {
            match effect {
                Effect::Reply(to, _) | Effect::Search(to, _) => self.answer(to, Err(failure.clone())),
                Effect::Emit(_)
                | Effect::CancelModel(_)
                | Effect::CancelTool(_)
                | Effect::CancelReview
                | Effect::Stop(_)
                | Effect::Trace(_) => self.perform(id, effect),
                Effect::Write(_)
                | Effect::Made(_)
                | Effect::AskModel(_)
                | Effect::InvokeTool(_)
                | Effect::RunTool(_)
                | Effect::Remember(_)
                | Effect::ChangeScope(_)
                | Effect::Memorize(_)
                | Effect::AskPermission(_)
                | Effect::AskReview(_)
                | Effect::Start(..) => {}
            }
        }
        if let StoreError::Refused { .. } = error {
            // Tried again it would be refused again, and all that comes after it with it.
            self.log(format!("session {id} was closed, what is stored of it is unchanged: {error}"));
            return self.give_up(id, &failure);
        }
        let failed = NotWritten { cause: stores::word(&failure), why: error.to_string(), ended_turn };
        self.run_input(id, Input::NotWritten(failed));
    }

    /// Tries once more to store what could not be stored, where nothing else is on its way.
    pub fn store_what_is_left(&mut self) {
        let is_left = |slot: &Slot| matches!(slot, Slot::Live(live) if !live.unwritten.is_empty() && live.steps.is_empty() && !live.is_writing);
        let left = self.sessions.iter().filter(|(_, slot)| is_left(slot));
        let ids: Vec<SessionId> = left.map(|(id, _)| id.clone()).collect();
        ids.iter().for_each(|id| self.store_rest(id));
    }

    /// Tries once more to store what could not be stored, without a next write to go with.
    pub fn store_rest(&mut self, id: &SessionId) {
        let Some(Slot::Live(live)) = self.sessions.get_mut(id) else { return };
        if live.unwritten.is_empty() {
            return;
        }
        let writes = std::mem::take(&mut live.unwritten);
        live.steps.push_back(Done { writes, effects: Vec::new() });
        self.pump(id);
    }
}
