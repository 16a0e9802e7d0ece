//! Typed ways into the router's one inbox: a component names its own events alone, and the router says what they are to it.
//! Work off the router that a request waits for holds a [`Pending`], which answers the request even where the work is
//! dropped or panics, so that no request waits for a job that is gone.

use protocol::error::{ErrorData, ProtocolError};
use serde_json::Value;
use session::input::ReplyTo;
use std::sync::Arc;

/// A sender into the inbox for the events of one component.
pub(super) struct Mailbox<E>(Arc<dyn Fn(Mail<E>) + Send + Sync>);

/// A piece of mail.
pub(super) enum Mail<E> {
    /// Something happened.
    Event(E),
    /// The job of a request ended with this.
    Back(ReplyTo, E),
    /// The job of a request ended with the request's answer.
    Answer(ReplyTo, Result<Value, ProtocolError>),
}

impl<E> Clone for Mailbox<E> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<E> Mailbox<E> {
    /// A mailbox whose mail is handed to this function, on any thread.
    pub fn new(deliver: impl Fn(Mail<E>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(deliver))
    }

    /// Sends an event. After the router's end it goes nowhere.
    pub fn send(&self, event: E) {
        (self.0)(Mail::Event(event));
    }

    /// The duty to bring back what comes of a request's job. [`super::client::replies::Replies::pending`] notes that it exists.
    pub fn pending(&self, to: ReplyTo) -> Pending<E> {
        Pending { to, mailbox: Some(self.clone()) }
    }
}

/// The duty to bring the outcome of a job back to the router, exactly once.
pub(super) struct Pending<E> {
    to: ReplyTo,
    mailbox: Option<Mailbox<E>>,
}

impl<E> Pending<E> {
    /// Brings back what came of the job; the router goes on with the request.
    pub fn send(mut self, event: E) {
        let to = self.to;
        self.bring(Mail::Back(to, event));
    }

    /// Brings back the answer itself.
    pub fn answer(mut self, value: Result<Value, ProtocolError>) {
        let to = self.to;
        self.bring(Mail::Answer(to, value));
    }

    fn bring(&mut self, mail: Mail<E>) {
        if let Some(mailbox) = self.mailbox.take() {
            (mailbox.0)(mail);
        }
    }
}

impl<E> Drop for Pending<E> {
    fn drop(&mut self) {
        let message = "the work for this request was given up; what was acknowledged is stored";
        let lost = ProtocolError::new(ErrorData::InternalError {}, message);
        let to = self.to;
        self.bring(Mail::Answer(to, Err(lost)));
    }
}
