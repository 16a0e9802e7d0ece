//! Requests of the client that wait for an answer: what each is about, and which sessions a given answer frees. Each is
//! answered once; the watchdog answers one that waits for nothing that is under way.

use super::{Client, Reply};
use crate::server::mailbox::{Mailbox, Pending};
use crate::server::wire::answer::Form;
use crate::server::wire::to_value;
use engine::id::SessionId;
use protocol::error::ProtocolError;
use protocol::restore::Diagnostic;
use protocol::server::ProgressToken;
use serde_json::{Value, json};
use session::input::ReplyTo;
use std::collections::{BTreeMap, BTreeSet};

/// Stands for the waiter where nobody waits.
pub(in crate::server) const NOBODY: ReplyTo = ReplyTo(u64::MAX);

/// The requests that wait.
#[derive(Default)]
pub(in crate::server) struct Replies {
    waiting: BTreeMap<ReplyTo, Waiting>,
    /// Sessions of which a request was answered in this event: they may have nothing left to wait for.
    freed: BTreeSet<SessionId>,
    /// Requests for which nothing was under way when the watchdog looked last.
    idle: BTreeSet<ReplyTo>,
}

struct Waiting {
    reply: Reply,
    /// The session that it is about.
    session: Option<SessionId>,
    /// The turn that it names.
    turn: Option<String>,
    form: Form,
    /// Where progress is told meanwhile, and whether it was begun.
    progress: Option<(ProgressToken, bool)>,
    /// To be added to the answer's diagnostics.
    diagnostics: Vec<Diagnostic>,
    /// True if a job off the router has it: a [`Pending`] exists.
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

    /// Notes the session that a request is about.
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

    /// Notes which form the answer has.
    pub fn set_form(&mut self, to: ReplyTo, form: Form) {
        if let Some(waiting) = self.waiting.get_mut(&to) {
            waiting.form = form;
        }
    }

    pub fn form(&self, to: ReplyTo) -> Form {
        self.waiting.get(&to).map(|waiting| waiting.form.clone()).unwrap_or_default()
    }

    /// Notes where progress of a request is told.
    pub fn set_progress(&mut self, to: ReplyTo, token: Option<ProgressToken>) {
        if let Some(waiting) = self.waiting.get_mut(&to) {
            waiting.progress = token.map(|token| (token, false));
        }
    }

    /// Adds to what the answer says beside itself.
    pub fn add_diagnostics(&mut self, to: ReplyTo, diagnostics: impl Iterator<Item = Diagnostic>) {
        if let Some(waiting) = self.waiting.get_mut(&to) {
            waiting.diagnostics.extend(diagnostics);
        }
    }

    /// A request, perhaps nobody's, waits for a job off the router from now on.
    pub fn pending<E>(&mut self, to: ReplyTo, mailbox: &Mailbox<E>) -> Pending<E> {
        if let Some(waiting) = self.waiting.get_mut(&to) {
            waiting.is_pending = true;
        }
        mailbox.pending(to)
    }

    /// The job of a request came back.
    pub fn came_back(&mut self, to: ReplyTo) {
        if let Some(waiting) = self.waiting.get_mut(&to) {
            waiting.is_pending = false;
            // Wherever the request goes from here, its session may be waiting for it no longer.
            self.freed.extend(waiting.session.clone());
        }
    }

    pub fn is_pending(&self, to: ReplyTo) -> bool {
        self.waiting.get(&to).is_some_and(|waiting| waiting.is_pending)
    }

    /// A session that a request was answered of, each once.
    pub fn next_freed(&mut self) -> Option<SessionId> {
        self.freed.pop_first()
    }

    /// The requests that are about this session.
    pub fn about(&self, id: &SessionId) -> impl Iterator<Item = ReplyTo> {
        let about = self.waiting.iter().filter(move |(_, waiting)| waiting.session.as_ref() == Some(id));
        about.map(|(to, _)| *to)
    }

    /// Answers, if somebody still waits.
    pub fn answer(&mut self, client: &mut Client, to: ReplyTo, mut value: Result<Value, ProtocolError>) {
        if let (NOBODY, Err(error)) = (to, &value) {
            client.log(format!("something that a session was to be told did not reach it: {error}"));
        }
        let Some(waiting) = self.waiting.remove(&to) else { return };
        self.freed.extend(waiting.session);
        if let Some((token, true)) = waiting.progress {
            client.progress(&token, json!({ "kind": "end", "message": ended(&value) }));
        }
        for diagnostic in waiting.diagnostics {
            let list = value.as_mut().ok().and_then(|value| {
                let place =
                    if value.get("restore").is_some() { "/restore/diagnostics" } else { "/diagnostics" };
                value.pointer_mut(place)?.as_array_mut()
            });
            match (list, to_value(&diagnostic)) {
                (Some(list), Ok(diagnostic)) => list.push(diagnostic),
                _ => client.warn(diagnostic.message),
            }
        }
        client.answer(waiting.reply, value);
    }

    /// The handler of a request is gone. Gives the session that the request was about.
    pub fn abandon(&mut self, client: &Client, to: ReplyTo) -> Option<SessionId> {
        let waiting = self.waiting.remove(&to)?;
        if let Some((token, true)) = &waiting.progress {
            client.progress(token, json!({ "kind": "end", "message": "cancelled" }));
        }
        waiting.session
    }

    /// Tells requests about this session how far they are.
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

    /// The requests that wait.
    pub fn all(&self) -> impl Iterator<Item = ReplyTo> {
        self.waiting.keys().copied()
    }

    /// Notes the requests that wait for nothing that is under way: those of them that did so when it was looked last, for
    /// a wrong answer would be worse than a late one.
    pub fn stuck(&mut self, idle: BTreeSet<ReplyTo>) -> Vec<ReplyTo> {
        let before = std::mem::replace(&mut self.idle, idle);
        self.idle.intersection(&before).copied().collect()
    }
}

/// How it ended for which progress was told, in words.
fn ended(value: &Result<Value, ProtocolError>) -> &str {
    match value {
        Err(error) => &error.message,
        Ok(value) => match value.get("reason").and_then(Value::as_str) {
            Some(reason) => reason,
            None if value.get("messages").is_some() => "the prompt is ready",
            None => "the conversation is compacted",
        },
    }
}
