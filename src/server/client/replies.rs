//! Requests of the client that wait for an answer: their sessions, and which of these an answer frees. Each
//! is answered once; the watchdog answers a request that waits for nothing.

use super::{Client, Reply};
use crate::server::mailbox::{Mailbox, Pending};
use crate::server::wire::answer::Form;
use crate::server::wire::{Json, to_json, to_value};
use engine::id::SessionId;
use protocol::error::ProtocolError;
use protocol::restore::Diagnostic;
use protocol::server::ProgressToken;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use session::input::ReplyTo;
use std::collections::{BTreeMap, BTreeSet};

/// Stands for the request if nobody waits.
pub(in crate::server) const NOBODY: ReplyTo = ReplyTo(u64::MAX);

/// The requests that wait for an answer.
#[derive(Default)]
pub(in crate::server) struct Replies {
    waiting: BTreeMap<ReplyTo, Waiting>,
    /// Sessions of requests answered during this event: they may have nothing left to wait for.
    freed: BTreeSet<SessionId>,
    /// Requests that waited for nothing at the watchdog's last check.
    idle: BTreeSet<ReplyTo>,
}

struct Waiting {
    reply: Reply,
    /// The session of the request.
    session: Option<SessionId>,
    /// The turn that it names.
    turn: Option<String>,
    form: Form,
    /// The token for progress, and whether that has begun.
    progress: Option<(ProgressToken, bool)>,
    /// To be added to the answer's diagnostics.
    diagnostics: Vec<Diagnostic>,
    /// `true` while a job outside of the router has it: a [`Pending`] exists.
    is_pending: bool,
}

impl Replies {
    pub fn insert(&mut self, to: ReplyTo, reply: Reply) {
        let waiting = Waiting {
            reply,
            session: None,
            turn: None,
            form: Form::default(),
            progress: None,
            diagnostics: Vec::new(),
            is_pending: false,
        };
        self.waiting.insert(to, waiting);
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    pub fn is_waiting(&self, to: ReplyTo) -> bool {
        self.waiting.contains_key(&to)
    }

    /// Notes the session of a request.
    pub fn set_session(&mut self, to: ReplyTo, session: Option<SessionId>) {
        if let Some(waiting) = self.waiting.get_mut(&to) {
            waiting.session = session;
        }
    }

    pub fn session(&self, to: ReplyTo) -> Option<&SessionId> {
        self.waiting.get(&to)?.session.as_ref()
    }

    /// Notes the turn that a request names.
    pub fn set_turn(&mut self, to: ReplyTo, turn: Option<String>) {
        if let Some(waiting) = self.waiting.get_mut(&to) {
            waiting.turn = turn;
        }
    }

    pub fn turn(&self, to: ReplyTo) -> Option<&str> {
        self.waiting.get(&to)?.turn.as_deref()
    }

    /// Notes the form of the answer.
    pub fn set_form(&mut self, to: ReplyTo, form: Form) {
        if let Some(waiting) = self.waiting.get_mut(&to) {
            waiting.form = form;
        }
    }

    pub fn form(&self, to: ReplyTo) -> Form {
        self.waiting.get(&to).map(|waiting| waiting.form.clone()).unwrap_or_default()
    }

    /// Notes the progress token of a request.
    pub fn set_progress(&mut self, to: ReplyTo, token: Option<ProgressToken>) {
        if let Some(waiting) = self.waiting.get_mut(&to) {
            waiting.progress = token.map(|token| (token, false));
        }
    }

    /// Adds diagnostics to the answer.
    pub fn add_diagnostics(&mut self, to: ReplyTo, diagnostics: impl Iterator<Item = Diagnostic>) {
        if let Some(waiting) = self.waiting.get_mut(&to) {
            waiting.diagnostics.extend(diagnostics);
        }
    }

    /// Lets a request, perhaps [`NOBODY`]'s, wait for a job outside of the router.
    pub fn pending<E>(&mut self, to: ReplyTo, mailbox: &Mailbox<E>) -> Pending<E> {
        if let Some(waiting) = self.waiting.get_mut(&to) {
            waiting.is_pending = true;
        }
        mailbox.pending(to)
    }

    /// Notes that the job of a request came back.
    pub fn came_back(&mut self, to: ReplyTo) {
        if let Some(waiting) = self.waiting.get_mut(&to) {
            waiting.is_pending = false;
            // Whatever follows, nothing may need the request's session any more.
            self.freed.extend(waiting.session.clone());
        }
    }

    pub fn is_pending(&self, to: ReplyTo) -> bool {
        self.waiting.get(&to).is_some_and(|waiting| waiting.is_pending)
    }

    /// Takes a session of an answered request, each once.
    pub fn next_freed(&mut self) -> Option<SessionId> {
        self.freed.pop_first()
    }

    /// The requests of this session.
    pub fn about(&self, id: &SessionId) -> impl Iterator<Item = ReplyTo> {
        let about = self.waiting.iter().filter(move |(_, waiting)| waiting.session.as_ref() == Some(id));
        about.map(|(to, _)| *to)
    }

    /// Answers a request, if it still waits.
    pub fn answer(&mut self, client: &mut Client, to: ReplyTo, mut value: Result<Json, ProtocolError>) {
        if let (NOBODY, Err(error)) = (to, &value) {
            client.log(format!("an internal request to a session failed: {error}"));
        }
        let Some(waiting) = self.waiting.remove(&to) else { return };
        self.freed.extend(waiting.session);
        if let Some((token, true)) = waiting.progress {
            client.progress(&token, json!({ "kind": "end", "message": ended(&value) }));
        }
        if !waiting.diagnostics.is_empty() {
            value = with_diagnostics(client, value, waiting.diagnostics);
        }
        client.answer(waiting.reply, value);
    }

    /// Drops a request whose handler is gone. Returns its session.
    pub fn abandon(&mut self, client: &Client, to: ReplyTo) -> Option<SessionId> {
        let waiting = self.waiting.remove(&to)?;
        if let Some((token, true)) = &waiting.progress {
            client.progress(token, json!({ "kind": "end", "message": "cancelled" }));
        }
        waiting.session
    }

    /// Reports progress to the requests of this session.
    pub fn progress(&mut self, client: &Client, id: &SessionId, message: &str) {
        let told = self.waiting.values_mut().filter(|waiting| waiting.session.as_ref() == Some(id));
        for (token, begun) in told.filter_map(|waiting| waiting.progress.as_mut()) {
            let value = match std::mem::replace(begun, true) {
                false => {
                    json!({ "kind": "begin", "title": "threadhold", "message": message, "cancellable": true })
                }
                true => json!({ "kind": "report", "message": message }),
            };
            client.progress(token, value);
        }
    }

    /// All requests that wait.
    pub fn all(&self) -> impl Iterator<Item = ReplyTo> {
        self.waiting.keys().copied()
    }

    /// Notes the requests that wait for nothing. Returns those that did so at the last check, too: a wrong
    /// answer would be worse than a late one.
    pub fn stuck(&mut self, idle: BTreeSet<ReplyTo>) -> Vec<ReplyTo> {
        let before = std::mem::replace(&mut self.idle, idle);
        self.idle.intersection(&before).copied().collect()
    }
}

/// Adds what is to be known beside a result: to its own diagnostics if it has some, else as a message to the user.
fn with_diagnostics(
    client: &mut Client,
    answer: Result<Json, ProtocolError>,
    diagnostics: Vec<Diagnostic>,
) -> Result<Json, ProtocolError> {
    // A result that is nested too deeply to be read again stays as it is.
    let mut value: Option<Value> =
        answer.as_ref().ok().and_then(|text| serde_json::from_str(text.get()).ok());
    let mut list = value.as_mut().and_then(|value| {
        let place = if value.get("restore").is_some() { "/restore/diagnostics" } else { "/diagnostics" };
        value.pointer_mut(place)?.as_array_mut()
    });
    for diagnostic in diagnostics {
        match (&mut list, to_value(&diagnostic)) {
            (Some(list), Ok(diagnostic)) => list.push(diagnostic),
            _ => client.warn(diagnostic.message),
        }
    }
    match value {
        Some(value) => to_json(&value),
        None => answer,
    }
}

/// What the last progress message depends on.
#[derive(Default, Deserialize)]
struct Outcome {
    reason: Option<String>,
    messages: Option<IgnoredAny>,
}

/// The last progress message of an answered request.
fn ended(answer: &Result<Json, ProtocolError>) -> String {
    let outcome: Outcome = match answer {
        Err(error) => return error.message.clone(),
        Ok(text) => serde_json::from_str(text.get()).unwrap_or_default(),
    };
    match outcome {
        Outcome { reason: Some(reason), .. } => reason,
        Outcome { messages: Some(_), .. } => "the prompt is ready".to_owned(),
        _ => "the conversation is compacted".to_owned(),
    }
}
