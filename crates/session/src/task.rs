//! A task (source: 000): a request that one process takes in and another one carries out. A terminal may make one; only
//! who serves the folder runs it. Who that is, and when, is not decided here.

use super::Step;
use super::effect::{Answer, Refusal};
use super::input::{ReplyTo, StartTurn};
use super::queue::NewWork;

impl Step<'_> {
    /// Accepts a request, the first of a session, and does nothing about it.
    pub(super) fn store_task(&mut self, reply: ReplyTo, start: Box<StartTurn>) {
        let is_new = self.session.transcript.messages().is_empty() && self.session.queue.items.is_empty();
        if !is_new {
            return self.reply(reply, Err(Refusal::NotEmpty));
        }
        let (key, content) = (start.key.clone(), start.content.clone());
        let work = NewWork::Start(start);
        if let Err(refusal) = self.check(&work) {
            return self.reply(reply, Err(refusal));
        }
        // Whoever sees that it waits sees what for.
        self.name_by(&content);
        self.session.head.waits = true;
        self.session.queue.is_held = true;
        self.enqueue(reply, key, false, work);
    }

    /// What waited for this process begins. Where another one was faster nothing is left to begin.
    pub(super) fn run_task(&mut self, reply: ReplyTo) {
        if self.session.head.waits {
            self.session.queue.is_held = false;
        }
        let state = self.session.state.name();
        self.reply(reply, Ok(Answer::Done(state)));
    }

    /// A session waits for no other process once its queue is empty or goes on. With what begins it in one commit, so
    /// that nobody begins it again.
    pub(super) fn watch_task(&mut self) {
        let queue = &self.session.queue;
        if self.session.head.waits && (queue.items.is_empty() || !queue.is_held) {
            self.session.head.waits = false;
            self.write_head_as_it_was_used();
        }
    }
}
