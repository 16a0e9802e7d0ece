//! Work off the loop that a request waits for: a job of a store, or of the thread that has the files. Whoever does the work
//! holds a [`Pending`], which answers the request even where the work is dropped or panics. So a request cannot wait for
//! a job that is gone.

use super::inbox::{Event, Reply};
use super::main_loop::{MainLoop, Slot};
use super::wire_session::Asked;
use engine::id::SessionId;
use protocol::error::{ErrorData, ProtocolError};
use protocol::restore::Diagnostic;
use protocol::server::ProgressToken;
use serde_json::Value;
use session::input::ReplyTo;
use tokio::sync::mpsc;

/// Somebody who waits for an answer.
pub(super) struct Waiting {
    /// Where it goes.
    pub reply: Reply,
    /// The session that it is about.
    pub session: Option<SessionId>,
    /// The turn that it names, where it does.
    pub turn: Option<String>,
    /// The form of the answer, where there are several.
    pub asked: Asked,
    /// Where progress is told meanwhile, and whether it was begun.
    pub progress: Option<(ProgressToken, bool)>,
    /// What is to be said in the answer beside it.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether a job off the loop has it: a [`Pending`] exists.
    is_pending: bool,
}

impl Waiting {
    /// A request that came just now.
    pub fn new(reply: Reply) -> Self {
        Self {
            reply,
            session: None,
            turn: None,
            asked: Asked::default(),
            progress: None,
            diagnostics: Vec::new(),
            is_pending: false,
        }
    }
}

/// The duty to bring the outcome of a job back to the loop, exactly once.
pub(super) struct Pending {
    to: ReplyTo,
    inbox: Option<mpsc::UnboundedSender<Event>>,
}

impl Pending {
    /// Brings back what came of the job; the loop goes on with the request.
    pub fn send(mut self, event: Event) {
        self.bring(event);
    }

    /// Brings back the answer itself.
    pub fn answer(mut self, value: Result<Value, ProtocolError>) {
        self.bring(Event::Ready(self.to, value));
    }

    fn bring(&mut self, event: Event) {
        if let Some(inbox) = self.inbox.take() {
            drop(inbox.send(Event::Back(self.to, Box::new(event))));
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let message = "the work for this request was given up; what was acknowledged is stored";
        let lost = ProtocolError::new(ErrorData::InternalError {}, message);
        self.bring(Event::Ready(self.to, Err(lost)));
    }
}

impl MainLoop {
    /// A request, perhaps nobody's, waits for a job off this loop from now on.
    pub fn pending(&mut self, to: ReplyTo) -> Pending {
        if let Some(waiting) = self.waiting.get_mut(&to) {
            waiting.is_pending = true;
        }
        Pending { to, inbox: Some(self.inbox.clone()) }
    }

    /// The job of a request came back.
    pub fn came_back(&mut self, to: ReplyTo) {
        if let Some(waiting) = self.waiting.get_mut(&to) {
            waiting.is_pending = false;
            // Wherever the request goes from here, its session may be waiting for it no longer.
            self.freed.extend(waiting.session.clone());
        }
    }

    /// Lets sessions go that only waited for a request which has its answer now.
    pub fn let_go_freed(&mut self) {
        while let Some(id) = self.freed.pop_first() {
            self.let_go_if_done(&id);
        }
    }

    /// Answers requests that wait for nothing that is under way, and frees what they occupy. No request should ever get
    /// here. It takes two looks in a row: a wrong answer would be worse than a late one.
    pub fn watch_requests(&mut self) {
        let idle = self.waiting.keys().copied().filter(|to| !self.is_under_way(*to)).collect();
        let before = std::mem::replace(&mut self.idle, idle);
        let stuck: Vec<ReplyTo> = self.idle.intersection(&before).copied().collect();
        stuck.into_iter().for_each(|to| self.free(to));
    }

    /// Whether something will happen that leads to the answer of this request.
    fn is_under_way(&self, to: ReplyTo) -> bool {
        let Some(waiting) = self.waiting.get(&to) else { return false };
        if waiting.is_pending {
            return true;
        }
        let Some(id) = &waiting.session else { return false };
        match self.sessions.get(id) {
            Some(Slot::Opening(opening)) => opening.queue.iter().any(|item| item.to() == to),
            Some(Slot::Live(live)) if live.awaits_store() || live.session.will_answer(to) => true,
            // Its end waits for those who wait for something else of it.
            Some(Slot::Live(live)) if live.waits_for_end(to) => {
                self.awaits(id).into_iter().any(|other| self.is_under_way(other))
            }
            Some(Slot::Live(_)) | None => self.is_awaited_by_follower(id, to),
        }
    }

    /// Answers a request that nothing else will answer.
    fn free(&mut self, to: ReplyTo) {
        let Some(waiting) = self.waiting.get(&to) else { return };
        let session = waiting.session.clone();
        tracing::error!(request = to.0, session = ?session, "a request waited for nothing that is under way");
        let message = "internal error; the request waited for nothing that is under way and was given up";
        let error = ProtocolError::new(ErrorData::InternalError {}, message);
        if let Some(id) = session {
            self.let_go_if_done(&id);
            // That may have been all it waited for: a close is answered once the lease is given back.
            if !self.waiting.contains_key(&to) || self.is_under_way(to) {
                return;
            }
            // What holds it would never let go of it, nor of the session's lease.
            let holds = |slot: &Slot| matches!(slot, Slot::Live(live) if live.holds(to));
            if self.sessions.get(&id).is_some_and(holds) {
                return self.give_up(&id, &error);
            }
        }
        self.answer(to, Err(error));
    }
}
