//! Queued commands: a bounded queue with a priority lane, and the keys of accepted commands. Executing them
//! is not done here.

use crate::core::Core;
use crate::values::effect::Answer;
use crate::values::event::EventBody;
use crate::values::input::{ReplyTo, StartTurn};
use crate::values::queue::{Accepted, MOST_QUEUED, QueueItem, Work};
use crate::values::refusal::Refusal;
use crate::values::stored::{KEPT_KEYS, Write};
use engine::id::{ItemId, MessageId, TurnId};
use engine::message::Content;
use std::collections::VecDeque;

/// Queued commands, and the keys of accepted ones.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Queue {
    /// In order of execution.
    items: VecDeque<QueueItem>,
    /// Keys of accepted commands with their answers, oldest first.
    keys: VecDeque<(String, Accepted)>,
    /// `true` while nothing starts by itself: the process is new, or the store fails. The next command that
    /// starts something ends it.
    is_held: bool,
}

/// An incoming command; a request gets its ids when it is accepted.
pub(crate) enum NewWork {
    /// A user's request.
    Start(Box<StartTurn>),
    /// Any other command.
    Other(Work),
}

/// A queued request, with the ids reserved for it.
pub(crate) type ReservedRequest = (StartTurn, (TurnId, MessageId));

impl Queue {
    /// Restores a stored queue. Its items are shown, and start only with the next command.
    pub fn stored(items: Vec<QueueItem>, keys: Vec<(String, Accepted)>) -> Self {
        let is_held = !items.is_empty();
        Self { items: items.into(), keys: keys.into(), is_held }
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub fn is_full(&self) -> bool {
        self.items.len() >= MOST_QUEUED
    }

    pub fn items(&self) -> impl Iterator<Item = &QueueItem> {
        self.items.iter()
    }

    pub fn is_held(&self) -> bool {
        self.is_held
    }

    /// Lets nothing start by itself from now on.
    pub fn hold(&mut self) {
        self.is_held = true;
    }

    /// Lets queued commands start again: a client is back.
    pub fn release(&mut self) {
        self.is_held = false;
    }

    /// Answers a command whose key was accepted before with the same answer; returns `true` if it was.
    pub fn answered_before(&self, core: &mut Core<'_>, reply: ReplyTo, key: Option<&str>) -> bool {
        let known = self.keys.iter().find(|(known, _)| Some(known.as_str()) == key);
        let Some((key, accepted)) = known.cloned() else { return false };
        // If the store failed the first time, nobody was answered: what is acknowledged now is stored now.
        core.write(Write::Key { key, accepted: accepted.clone() });
        core.reply(reply, Ok(Answer::Accepted(accepted)));
        true
    }

    /// Answers an accepted command, and remembers its key.
    pub fn accept(&mut self, core: &mut Core<'_>, reply: ReplyTo, key: Option<String>, accepted: Accepted) {
        self.remember_key(core, key, &accepted);
        core.reply(reply, Ok(Answer::Accepted(accepted)));
    }

    /// Remembers the answer for a later command with this key.
    pub fn remember_key(&mut self, core: &mut Core<'_>, key: Option<String>, accepted: &Accepted) {
        let Some(key) = key else { return };
        core.write(Write::Key { key: key.clone(), accepted: accepted.clone() });
        self.keys.push_back((key, accepted.clone()));
        if self.keys.len() > KEPT_KEYS {
            self.keys.pop_front();
        }
    }

    /// `true` if this command breaks off the streaming answer: a priority request, with none queued before it.
    pub fn lets_interrupt(&self, priority: bool, work: &NewWork) -> bool {
        let is_first = !self.items.iter().any(|item| item.priority);
        priority && is_first && !self.is_full() && matches!(work, NewWork::Start(_))
    }

    /// Queues a command, and answers with its position.
    pub fn enqueue(
        &mut self,
        core: &mut Core<'_>,
        reply: ReplyTo,
        key: Option<String>,
        priority: bool,
        work: NewWork,
    ) {
        let (id, work) = promise(core, work);
        let (turn, message) = match &work {
            Work::Start { turn, message, .. } => (Some(turn.clone()), Some(message.clone())),
            Work::Retry { from: message, .. }
            | Work::Update { message, .. }
            | Work::Remove { message }
            | Work::Truncate { from: message } => (None, Some(message.clone())),
            Work::Regenerate => (None, None),
        };
        let item = QueueItem { id: id.clone(), priority, work };
        core.write_head();
        core.write(Write::Enqueue(Box::new(item.clone())));
        let position = Some(self.place(item));
        self.tell(core, None);
        let accepted = Accepted { turn, message, item: Some(id), position, session: None };
        self.accept(core, reply, key, accepted);
    }

    fn place(&mut self, item: QueueItem) -> u32 {
        let at = match item.priority {
            true => self.items.iter().take_while(|known| known.priority).count(),
            false => self.items.len(),
        };
        self.items.insert(at, item);
        u32::try_from(at + 1).unwrap_or(u32::MAX)
    }

    /// Takes out the next command.
    pub fn next(&mut self, core: &mut Core<'_>) -> Option<QueueItem> {
        let item = self.items.pop_front()?;
        core.write(Write::Dequeue(item.id.clone()));
        self.tell(core, None);
        Some(item)
    }

    /// Takes out the next command if it is a priority request.
    pub fn next_urgent(&mut self, core: &mut Core<'_>) -> Option<ReservedRequest> {
        self.items.front().filter(|item| item.is_urgent_request())?;
        match self.next(core)?.work {
            Work::Start { turn, message, start } => Some((*start, (turn, message))),
            _ => None,
        }
    }

    /// Removes commands, and emits the queue if there were any.
    pub fn remove(&mut self, core: &mut Core<'_>, is_meant: impl Fn(&QueueItem) -> bool) -> Vec<QueueItem> {
        let items = std::mem::take(&mut self.items);
        let (gone, stay): (Vec<_>, Vec<_>) = items.into_iter().partition(is_meant);
        self.items = stay.into();
        for item in &gone {
            core.write(Write::Dequeue(item.id.clone()));
        }
        if !gone.is_empty() {
            self.tell(core, None);
        }
        gone
    }

    /// Emits that a queued command could not be executed.
    pub fn failed(&self, core: &mut Core<'_>, id: ItemId, why: Refusal) {
        self.tell(core, Some((id, why)));
    }

    fn tell(&self, core: &mut Core<'_>, failed: Option<(ItemId, Refusal)>) {
        let items = self.items.iter().cloned().collect();
        core.emit(EventBody::QueueUpdated { items, failed });
    }

    /// Ends the wait for another process once the queue is empty or goes on. Committed together with what the
    /// queue starts, so that no other process starts it again.
    pub fn watch_task(&self, core: &mut Core<'_>) {
        if core.head().waits && (self.items.is_empty() || !self.is_held) {
            core.set_waits(false);
            core.write_head_as_it_was_used();
        }
    }
}

/// Assigns ids to a command that is queued.
fn promise(core: &mut Core<'_>, work: NewWork) -> (ItemId, Work) {
    let n = core.next_accepted();
    let session = core.id();
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

/// Checks a request as far as possible before its execution.
pub(crate) fn check_start(core: &Core<'_>, start: &StartTurn) -> Result<(), Refusal> {
    if Content::says_nothing(&start.content) {
        return Err(Refusal::Empty("the request is empty; a turn needs content"));
    }
    if let Some(turn) = core.turn_id().filter(|_| core.is_editors_turn_open()) {
        return Err(Refusal::TurnOpen { turn });
    }
    let model = start.model.as_ref().map_or(&core.settings().model, |(model, _)| model);
    core.settings().budget.budget(model.window)?;
    Ok(())
}
