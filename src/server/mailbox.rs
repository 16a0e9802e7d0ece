//! Typed senders into the router's inbox: a component names only its own events, and the router wraps them.
//! Work outside the router for a request holds a [`Pending`], which answers the request even if the work is
//! dropped or panics, so that no request waits forever.

use super::wire::Json;
use protocol::error::{ErrorData, ProtocolError};
use session::input::ReplyTo;
use std::sync::Arc;

/// A sender into the inbox for the events of one component.
pub(super) struct Mailbox<E>(Arc<dyn Fn(Mail<E>) + Send + Sync>);

/// A message of a component.
pub(super) enum Mail<E> {
    /// An event.
    Event(E),
    /// The job of a request ended with this event.
    Back(ReplyTo, E),
    /// The job of a request ended with its answer.
    Answer(ReplyTo, Result<Json, ProtocolError>),
}

impl<E> Clone for Mailbox<E> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<E> Mailbox<E> {
    /// A mailbox that delivers to this function, on any thread.
    pub fn new(deliver: impl Fn(Mail<E>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(deliver))
    }

    /// Sends an event; it is dropped once the router has ended.
    pub fn send(&self, event: E) {
        (self.0)(Mail::Event(event));
    }

    /// A handle for the outcome of a request's job; [`super::client::replies::Replies::pending`] also
    /// registers it.
    pub fn pending(&self, to: ReplyTo) -> Pending<E> {
        Pending { to, mailbox: Some(self.clone()) }
    }
}

/// Returns the outcome of a job to the router, exactly once.
pub(super) struct Pending<E> {
    to: ReplyTo,
    mailbox: Option<Mailbox<E>>,
}

impl<E> Pending<E> {
    /// Sends the outcome; the router continues the request.
    pub fn send(mut self, event: E) {
        let to = self.to;
        self.finish(Mail::Back(to, event));
    }

    /// Sends the request's answer.
    pub fn answer(mut self, value: Result<Json, ProtocolError>) {
        let to = self.to;
        self.finish(Mail::Answer(to, value));
    }

    fn finish(&mut self, mail: Mail<E>) {
        if let Some(mailbox) = self.mailbox.take() {
            (mailbox.0)(mail);
        }
    }
}

impl<E> Drop for Pending<E> {
    fn drop(&mut self) {
        let message = "internal error; the request was aborted and acknowledged changes are stored";
        let lost = ProtocolError::new(ErrorData::InternalError {}, message);
        let to = self.to;
        self.finish(Mail::Answer(to, Err(lost)));
    }
}
