//! Commands that wait until a session has time for them (source: 001): a bounded queue with a priority lane, and the
//! memory of what was accepted. What a command does when its turn comes is in `turn` and `rewind`.

use super::Step;
use super::effect::{Answer, Refusal};
use super::event::EventBody;
use super::input::{ReplyTo, StartTurn};
use super::state::{State, Then};
use super::stored::{KEPT_KEYS, Write};
use engine::id::{ItemId, MessageId, SessionId, TurnId};
use engine::message::Content;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Commands that may wait in a session.
pub const MOST_QUEUED: usize = 100;

/// A command that was accepted and waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueItem {
    /// Its id.
    pub id: ItemId,
    /// Whether it goes before those that are not urgent.
    pub priority: bool,
    /// What it does.
    pub work: Work,
}

/// What a command that can wait does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Work {
    /// A user asks for something (source: 001, UserMessage).
    Start {
        /// The turn that it will be.
        turn: TurnId,
        /// The request's message.
        message: MessageId,
        /// What is asked.
        start: Box<StartTurn>,
    },
    /// Everything from a message on is cut off, and the model answers again (source: 001, RetryFromIndex).
    Retry {
        /// The message.
        from: MessageId,
        /// The request's new words; the same where there are none.
        content: Option<Vec<Content>>,
    },
    /// The newest answer is cut off, and the model answers again (source: 001).
    Regenerate,
    /// A message gets other words (source: 001, UpdateMessage).
    Update {
        /// The message.
        message: MessageId,
        /// Its words from now on.
        content: Vec<Content>,
        /// Whether what follows it is cut off and the model answers again.
        regenerate: bool,
    },
    /// A message leaves, with what belongs to it (source: 001, RemoveMessage).
    Remove {
        /// The message.
        message: MessageId,
    },
    /// Everything from a message on is cut off (source: 001, TruncateMessages).
    Truncate {
        /// The message.
        from: MessageId,
    },
}

/// What an accepted command is answered with; given again where its key comes again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Accepted {
    /// The turn that it runs, or will.
    pub turn: Option<TurnId>,
    /// The message that it is about.
    pub message: Option<MessageId>,
    /// Where it waits.
    pub item: Option<ItemId>,
    /// Its place in the queue, from 1.
    pub position: Option<u32>,
    /// The session that it made.
    pub session: Option<SessionId>,
}

/// What waits, and what was accepted.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Queue {
    /// In the order in which it is carried out.
    pub items: VecDeque<QueueItem>,
    /// Keys of accepted commands with their answers, oldest first.
    pub keys: VecDeque<(String, Accepted)>,
    /// Whether nothing is begun by itself: the process is new, or the store fails. The next command that begins
    /// something ends it.
    pub is_held: bool,
}

impl Queue {
    fn place(&mut self, item: QueueItem) -> u32 {
        let at = match item.priority {
            true => self.items.iter().take_while(|known| known.priority).count(),
            false => self.items.len(),
        };
        self.items.insert(at, item);
        u32::try_from(at + 1).unwrap_or(u32::MAX)
    }

    fn remember(&mut self, key: String, accepted: Accepted) {
        self.keys.push_back((key, accepted));
        if self.keys.len() > KEPT_KEYS {
            self.keys.pop_front();
        }
    }
}

impl Step<'_> {
    /// Answers a command whose key came before as it was answered then; whether it was.
    pub(super) fn answered_before(&mut self, reply: ReplyTo, key: Option<&str>) -> bool {
        let known = self.session.queue.keys.iter().find(|(known, _)| Some(known.as_str()) == key);
        let Some((key, accepted)) = known.cloned() else { return false };
        // Where the store failed the first time, nobody was told; what is acknowledged now is stored now.
        self.write(Write::Key { key, accepted: accepted.clone() });
        self.reply(reply, Ok(Answer::Accepted(accepted)));
        true
    }

    /// Answers an accepted command, and remembers its key.
    pub(super) fn accept_command(&mut self, reply: ReplyTo, key: Option<String>, accepted: Accepted) {
        self.remember_key(key, &accepted);
        self.reply(reply, Ok(Answer::Accepted(accepted)));
    }

    /// What comes again under this key is answered so.
    pub(super) fn remember_key(&mut self, key: Option<String>, accepted: &Accepted) {
        let Some(key) = key else { return };
        self.write(Write::Key { key: key.clone(), accepted: accepted.clone() });
        self.session.queue.remember(key, accepted.clone());
    }

    /// Takes a command in that may have to wait: does it now, or gives it a place. Nothing of it happens where it is
    /// refused, and nothing twice where its key came before.
    pub(super) fn take_work(&mut self, reply: ReplyTo, key: Option<String>, priority: bool, work: NewWork) {
        if self.answered_before(reply, key.as_deref()) {
            // Somebody is there again: what waited when the process ended goes on.
            self.session.queue.is_held = false;
            return;
        }
        if let Err(refusal) = self.check(&work) {
            return self.reply(reply, Err(refusal));
        }
        let is_free = self.is_resting() && self.session.queue.items.is_empty();
        if is_free || self.interrupts(priority, &work) {
            self.session.queue.is_held = false;
            let done = match work {
                NewWork::Start(start) => Ok(self.start(*start, None)),
                NewWork::Other(work) => self.do_work(work),
            };
            return match done {
                Ok(Done { accepted, generates }) => {
                    self.accept_command(reply, key, accepted);
                    self.generate_if(generates);
                }
                Err(refusal) => self.reply(reply, Err(refusal)),
            };
        }
        self.session.queue.is_held = false;
        if self.session.queue.items.len() >= MOST_QUEUED {
            let limit = u32::try_from(MOST_QUEUED).unwrap_or(u32::MAX);
            return self.reply(reply, Err(Refusal::QueueFull { limit }));
        }
        self.enqueue(reply, key, priority, work);
    }

    /// Gives a command its place, and says which.
    pub(super) fn enqueue(&mut self, reply: ReplyTo, key: Option<String>, priority: bool, work: NewWork) {
        let (id, work) = self.promise(work);
        let (turn, message) = match &work {
            Work::Start { turn, message, .. } => (Some(turn.clone()), Some(message.clone())),
            Work::Retry { from: message, .. }
            | Work::Update { message, .. }
            | Work::Remove { message }
            | Work::Truncate { from: message } => (None, Some(message.clone())),
            Work::Regenerate => (None, None),
        };
        let item = QueueItem { id: id.clone(), priority, work };
        self.write_head();
        self.write(Write::Enqueue(Box::new(item.clone())));
        let position = Some(self.session.queue.place(item));
        self.emit_queue(None);
        let accepted = Accepted { turn, message, item: Some(id), position, session: None };
        self.accept_command(reply, key, accepted);
    }

    /// Whether a request goes into the answer that is being given: that is broken off, and what was said stays.
    fn interrupts(&self, priority: bool, work: &NewWork) -> bool {
        let is_first = !self.session.queue.items.iter().any(|item| item.priority);
        let is_turn = matches!(&self.session.state, State::Streaming(_));
        let is_full = self.session.queue.items.len() >= MOST_QUEUED;
        priority && is_turn && is_first && !is_full && matches!(work, NewWork::Start(_))
    }

    /// Whether a command can be carried out, as far as can be said before its turn comes.
    pub(super) fn check(&self, work: &NewWork) -> Result<(), Refusal> {
        match work {
            NewWork::Start(start) => {
                let is_empty =
                    start.content.iter().all(|part| part.text().is_some_and(|text| text.is_empty()));
                if is_empty {
                    return Err(Refusal::Empty("a turn begins with a request; this one says nothing"));
                }
                let model = start.model.as_ref().map_or(&self.session.settings.model, |(model, _)| model);
                self.session.settings.budget.budget(model.window)?;
                Ok(())
            }
            NewWork::Other(work) => self.session.check_rewind(work),
        }
    }

    /// Gives a command that has to wait its ids.
    fn promise(&mut self, work: NewWork) -> (ItemId, Work) {
        self.session.head.accepted += 1;
        let (session, n) = (&self.session.head.id, self.session.head.accepted);
        let work = match work {
            NewWork::Start(start) => Work::Start {
                turn: TurnId::new(format!("{session}/t.q{n}")),
                message: MessageId::new(format!("{session}/m.q{n}")),
                start,
            },
            NewWork::Other(work) => work,
        };
        (ItemId::new(format!("{session}/q{n}")), work)
    }

    /// Carries out a command whose turn has come.
    fn do_work(&mut self, work: Work) -> Result<Done, Refusal> {
        match work {
            Work::Start { turn, message, start } => Ok(self.start(*start, Some((turn, message)))),
            Work::Retry { from, content } => self.retry(&from, content),
            Work::Regenerate => self.regenerate(),
            Work::Update { message, content, regenerate } => self.update(&message, content, regenerate),
            Work::Remove { message } => self.remove(&message),
            Work::Truncate { from } => self.truncate(&from),
        }
    }

    fn generate_if(&mut self, generates: bool) {
        if generates {
            self.generate(None);
        }
    }

    /// Begins what waits, as long as nothing runs.
    pub(super) fn next_in_queue(&mut self) {
        while self.is_resting() && self.session.renders.is_empty() && !self.session.queue.is_held {
            let Some(item) = self.session.queue.items.pop_front() else { return };
            self.write(Write::Dequeue(item.id.clone()));
            let id = item.id;
            self.emit_queue(None);
            match self.do_work(item.work) {
                Ok(done) => self.generate_if(done.generates),
                Err(why) => self.emit_queue(Some((id, why))),
            }
        }
    }

    /// Puts urgent requests that wait into the running turn, between two rounds; whether there was one.
    pub(super) fn inject_urgent(&mut self) -> bool {
        let mut any = false;
        while self.session.queue.items.front().is_some_and(QueueItem::is_urgent_request) {
            let Some(QueueItem { id, work, .. }) = self.session.queue.items.pop_front() else { break };
            self.write(Write::Dequeue(id));
            self.emit_queue(None);
            if let Work::Start { turn, message, start } = work {
                drop(self.put_in(*start, Some((turn, message))));
                any = true;
            }
        }
        any
    }

    /// Takes a command out of the queue.
    pub(super) fn cancel_queued(&mut self, reply: ReplyTo, id: &ItemId) {
        match self.dequeue(|item| item.id == *id) {
            gone if gone.is_empty() => {
                let id = id.as_str().to_owned();
                self.reply(reply, Err(Refusal::Unknown { what: "itemId", id }));
            }
            gone => self.reply(reply, Ok(Answer::Dequeued(gone))),
        }
    }

    /// Takes commands out of the queue, and says so.
    pub(super) fn dequeue(&mut self, is_meant: impl Fn(&QueueItem) -> bool) -> Vec<QueueItem> {
        let items = std::mem::take(&mut self.session.queue.items);
        let (gone, stay): (Vec<_>, Vec<_>) = items.into_iter().partition(is_meant);
        self.session.queue.items = stay.into();
        for item in &gone {
            self.write(Write::Dequeue(item.id.clone()));
        }
        if !gone.is_empty() {
            self.emit_queue(None);
        }
        gone
    }

    fn emit_queue(&mut self, failed: Option<(ItemId, Refusal)>) {
        let items = self.session.queue.items.iter().cloned().collect();
        self.emit(EventBody::QueueUpdated { items, failed });
    }

    /// Whether a turn of ours is under way that a word could be put into.
    pub(super) fn runs_turn(&self) -> bool {
        match &self.session.state {
            State::Resting(_) => false,
            State::Compacting(_) | State::Reviewing(_) => {
                self.session.state.job().is_some_and(|job| job.then == Then::Generate)
            }
            State::Streaming(_) | State::Paused(_) | State::Calling(_) => true,
        }
    }
}

/// What a command has done.
pub(super) struct Done {
    /// Its answer.
    pub accepted: Accepted,
    /// Whether the model is to answer now. Whoever sent the command is told first.
    pub generates: bool,
}

impl Done {
    /// Nothing follows.
    pub fn of(accepted: Accepted) -> Self {
        Self { accepted, generates: false }
    }
}

/// A command that comes in; a request gets its ids when it is accepted.
pub(super) enum NewWork {
    /// A request.
    Start(Box<StartTurn>),
    /// Anything else.
    Other(Work),
}

impl QueueItem {
    /// About as many bytes as its text has.
    pub fn weight(&self) -> usize {
        let texts =
            |content: &[Content]| content.iter().filter_map(Content::text).map(|text| text.len()).sum();
        64 + match &self.work {
            Work::Start { start, .. } => texts(&start.content),
            Work::Retry { content: Some(content), .. } | Work::Update { content, .. } => texts(content),
            Work::Retry { content: None, .. }
            | Work::Regenerate
            | Work::Remove { .. }
            | Work::Truncate { .. } => 0,
        }
    }

    /// Whether it is this turn.
    pub(super) fn is_turn(&self, id: &TurnId) -> bool {
        matches!(&self.work, Work::Start { turn, .. } if turn == id)
    }

    fn is_urgent_request(&self) -> bool {
        self.priority && matches!(self.work, Work::Start { .. })
    }
}
