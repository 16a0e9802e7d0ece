//! Requests with large bodies: their parameters are read, and their texts counted, on threads of their own, so that other
//! sessions are served meanwhile. Later requests about the same session wait behind them, in order. What is applied is
//! the same as without these threads; only the order between sessions is another one.

use super::transfer;
use crate::server::client::replies::Replies;
use crate::server::mailbox::Mailbox;
use crate::server::requests::{Ask, Transfer, counting};
use crate::server::wire::answer::Form;
use crate::tokenizer::counted::Counted;
use protocol::error::{ErrorData, ProtocolError};
use protocol::transfer::SessionImportParams;
use serde_json::Value;
use session::input::{ReplyTo, Restore};
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use tokio::sync::oneshot;

/// Bytes of text from which on a request is read on another thread.
const LARGE: usize = 256 << 10;

/// Reads the parameters of a large request.
pub(in crate::server) type Job = Box<dyn FnOnce() -> Result<Ask, ProtocolError> + Send>;

/// A request as it arrived.
pub(in crate::server) struct Asked {
    /// The request.
    pub to: ReplyTo,
    /// The session that it names, if it names one.
    pub session: Option<String>,
    /// Its parameters.
    pub params: Params,
}

/// The parameters of a request.
pub(in crate::server) enum Params {
    /// Small ones, which were read.
    Read(Box<Ask>),
    /// Large ones, to be read.
    Large(Job),
}

/// A large request that was read.
pub(in crate::server) struct Read {
    /// The request.
    pub to: ReplyTo,
    /// The session that it names.
    pub session: Option<String>,
    /// Its parameters.
    pub done: Result<Prepared, ProtocolError>,
}

/// The parameters of a large request, with its texts counted.
pub(in crate::server) enum Prepared {
    /// Any request.
    Ask(Box<Ask>),
    /// An import whose conversation came with it, which is read too.
    Import(Box<SessionImportParams>, Box<Result<(Restore, Form), ProtocolError>>),
}

/// Large requests that are being read, and the requests behind them.
pub(in crate::server) struct Intake {
    mailbox: Mailbox<Read>,
    /// By session, while a large request of it is being read or applied: the requests behind it.
    lanes: BTreeMap<String, VecDeque<Asked>>,
    /// Number of large requests that name no session.
    unnamed: usize,
    /// Notified once everything is saved; the end waits for the requests before it.
    ending: Option<oneshot::Sender<()>>,
}

impl Intake {
    pub fn new(mailbox: Mailbox<Read>) -> Self {
        Self { mailbox, lanes: BTreeMap::new(), unnamed: 0, ending: None }
    }

    /// Takes a request. Returns it if it can be carried out now.
    pub fn take(
        &mut self,
        (replies, counter): (&mut Replies, &Arc<Counted>),
        asked: Asked,
    ) -> Option<(ReplyTo, Box<Ask>)> {
        let lane = asked.session.as_ref().and_then(|session| self.lanes.get_mut(session));
        if let Some(lane) = lane {
            lane.push_back(asked);
            return None;
        }
        let Asked { to, session, params } = asked;
        match params {
            Params::Read(ask) => Some((to, ask)),
            Params::Large(job) => {
                match &session {
                    Some(session) => drop(self.lanes.insert(session.clone(), VecDeque::new())),
                    None => self.unnamed += 1,
                }
                self.read(replies, counter, to, session, job);
                None
            }
        }
    }

    fn read(
        &self,
        replies: &mut Replies,
        counter: &Arc<Counted>,
        to: ReplyTo,
        session: Option<String>,
        job: Job,
    ) {
        let (pending, counter) = (replies.pending(to, &self.mailbox), counter.clone());
        tokio::task::spawn_blocking(move || {
            let read = AssertUnwindSafe(|| job().map(|ask| prepared(ask, &counter)));
            let done = catch_unwind(read).unwrap_or_else(|_| {
                let message = "internal error; the request was aborted and nothing was done";
                Err(ProtocolError::new(ErrorData::InternalError {}, message))
            });
            pending.send(Read { to, session, done });
        });
    }

    /// Takes the next request behind a large one that was applied, to be carried out now. A large one is read first.
    pub fn next(&mut self, (replies, counter): (&mut Replies, &Arc<Counted>), session: Option<&str>) -> Next {
        let Some(session) = session else {
            self.unnamed = self.unnamed.saturating_sub(1);
            return Next::Nothing;
        };
        let Some(next) = self.lanes.get_mut(session).and_then(VecDeque::pop_front) else {
            self.lanes.remove(session);
            return Next::Nothing;
        };
        match next.params {
            // Cancelled meanwhile.
            _ if !replies.is_waiting(next.to) => Next::More(None),
            Params::Read(ask) => Next::More(Some((next.to, ask))),
            Params::Large(job) => {
                self.read(replies, counter, next.to, next.session, job);
                Next::Wait
            }
        }
    }

    /// `true` if this request waits behind a large one.
    pub fn holds(&self, to: ReplyTo) -> bool {
        self.lanes.values().flatten().any(|asked| asked.to == to)
    }

    /// Holds back the end of the process until the requests before it are applied. Gives it back if there are none.
    pub fn end(&mut self, done: oneshot::Sender<()>) -> Option<oneshot::Sender<()>> {
        self.ending = Some(done);
        self.ended()
    }

    /// The end of the process that was held back, once nothing is before it.
    pub fn ended(&mut self) -> Option<oneshot::Sender<()>> {
        let is_idle = self.lanes.is_empty() && self.unnamed == 0;
        if is_idle { self.ending.take() } else { None }
    }
}

/// The next request behind a large one.
pub(in crate::server) enum Next {
    /// There is none: the session's requests are carried out as they arrive again.
    Nothing,
    /// A large one, which is being read.
    Wait,
    /// This one; there may be more behind it.
    More(Option<(ReplyTo, Box<Ask>)>),
}

fn prepared(ask: Ask, counter: &Counted) -> Prepared {
    match ask {
        Ask::Transfer(Transfer::Import(mut params)) if params.path.is_none() && params.chat_id.is_none() => {
            let data = params.data.take().unwrap_or_default();
            let restored = transfer::restore(&params, data.as_bytes());
            if let Ok((restore, _)) = &restored {
                counting::count_all(
                    restore.messages.iter().map(|taken| &taken.message.body),
                    &counter.ahead(),
                );
            }
            Prepared::Import(Box::new(params), Box::new(restored))
        }
        ask => {
            counting::count_ahead(&ask, &counter.ahead());
            Prepared::Ask(Box::new(ask))
        }
    }
}

/// `true` if parameters have so much text that they are read on another thread.
pub(in crate::server) fn is_large(params: &Value) -> bool {
    fn fits(value: &Value, left: &mut usize) -> bool {
        let bytes = match value {
            Value::String(text) => text.len(),
            Value::Array(values) => return values.iter().all(|value| fits(value, left)),
            Value::Object(fields) => return fields.values().all(|value| fits(value, left)),
            Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        };
        match left.checked_sub(bytes) {
            Some(rest) => {
                *left = rest;
                true
            }
            None => false,
        }
    }
    let mut left = LARGE;
    !fits(params, &mut left)
}
