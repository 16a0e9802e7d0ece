//! Commands that wait until a session has time for them: a bounded queue with a priority lane, and the memory of what was
//! accepted. What a command does when its turn comes is not known here.

use crate::core::Core;
use crate::values::effect::Answer;
use crate::values::event::EventBody;
use crate::values::input::{ReplyTo, StartTurn};
use crate::values::queue::{Accepted, MOST_QUEUED, QueueItem, Work};
use crate::values::refusal::Refusal;
use crate::values::stored::{KEPT_KEYS, Write};
use engine::id::{ItemId, MessageId, TurnId};
use std::collections::VecDeque;

/// What waits, and what was accepted.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Queue {
    /// In the order in which it is carried out.
    items: VecDeque<QueueItem>,
    /// Keys of accepted commands with their answers, oldest first.
    keys: VecDeque<(String, Accepted)>,
    /// Whether nothing is begun by itself: the process is new, or the store fails. The next command that begins
    /// something ends it.
    is_held: bool,
}

/// A command that comes in; a request gets its ids when it is accepted.
pub(crate) enum NewWork {
    /// A request.
    Start(Box<StartTurn>),
    /// Anything else.
    Other(Work),
}

/// A request that waited, with the ids that were promised for it.
pub(crate) type Promised = (StartTurn, (TurnId, MessageId));

impl Queue {
    /// What the store has. Nothing goes on by itself: what waits is shown, and begins with the next command.
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

    /// Nothing is begun by itself from now on.
    pub fn hold(&mut self) {
        self.is_held = true;
    }

    /// Somebody is there again: what waits goes on.
    pub fn release(&mut self) {
        self.is_held = false;
    }

    /// Answers a command whose key came before as it was answered then; whether it was.
    pub fn answered_before(&self, core: &mut Core<'_>, reply: ReplyTo, key: Option<&str>) -> bool {
        let known = self.keys.iter().find(|(known, _)| Some(known.as_str()) == key);
        let Some((key, accepted)) = known.cloned() else { return false };
        // Where the store failed the first time, nobody was told; what is acknowledged now is stored now.
        core.write(Write::Key { key, accepted: accepted.clone() });
        core.reply(reply, Ok(Answer::Accepted(accepted)));
        true
    }

    /// Answers an accepted command, and remembers its key.
    pub fn accept(&mut self, core: &mut Core<'_>, reply: ReplyTo, key: Option<String>, accepted: Accepted) {
        self.remember_key(core, key, &accepted);
        core.reply(reply, Ok(Answer::Accepted(accepted)));
    }

    /// What comes again under this key is answered so.
    pub fn remember_key(&mut self, core: &mut Core<'_>, key: Option<String>, accepted: &Accepted) {
        let Some(key) = key else { return };
        core.write(Write::Key { key: key.clone(), accepted: accepted.clone() });
        self.keys.push_back((key, accepted.clone()));
        if self.keys.len() > KEPT_KEYS {
            self.keys.pop_front();
        }
    }

    /// Whether a command of this kind goes into the answer that is being given: none that goes before others waits yet.
    pub fn lets_interrupt(&self, priority: bool, work: &NewWork) -> bool {
        let is_first = !self.items.iter().any(|item| item.priority);
        priority && is_first && !self.is_full() && matches!(work, NewWork::Start(_))
    }

    /// Gives a command its place, and says which.
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

    /// Takes out the command whose turn has come.
    pub fn next(&mut self, core: &mut Core<'_>) -> Option<QueueItem> {
        let item = self.items.pop_front()?;
        core.write(Write::Dequeue(item.id.clone()));
        self.tell(core, None);
        Some(item)
    }

    /// Takes out the request that goes before others and whose turn has come, where one does.
    pub fn next_urgent(&mut self, core: &mut Core<'_>) -> Option<Promised> {
        self.items.front().filter(|item| item.is_urgent_request())?;
        match self.next(core)?.work {
            Work::Start { turn, message, start } => Some((*start, (turn, message))),
            _ => None,
        }
    }

    /// Takes commands out of the queue, and says so.
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

    /// A command could not be carried out when its turn came.
    pub fn failed(&self, core: &mut Core<'_>, id: ItemId, why: Refusal) {
        self.tell(core, Some((id, why)));
    }

    fn tell(&self, core: &mut Core<'_>, failed: Option<(ItemId, Refusal)>) {
        let items = self.items.iter().cloned().collect();
        core.emit(EventBody::QueueUpdated { items, failed });
    }

    /// A session waits for no other process once its queue is empty or goes on. With what begins it in one commit, so
    /// that nobody begins it again.
    pub fn watch_task(&self, core: &mut Core<'_>) {
        if core.head().waits && (self.items.is_empty() || !self.is_held) {
            core.set_waits(false);
            core.write_head_as_it_was_used();
        }
    }
}

/// Gives a command that has to wait its ids.
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

/// Whether a request can be carried out, as far as can be said before its turn comes.
pub(crate) fn check_start(core: &Core<'_>, start: &StartTurn) -> Result<(), Refusal> {
    let is_empty = start.content.iter().all(|part| part.text().is_some_and(|text| text.is_empty()));
    if is_empty {
        return Err(Refusal::Empty("a turn begins with a request; this one says nothing"));
    }
    let model = start.model.as_ref().map_or(&core.settings().model, |(model, _)| model);
    core.settings().budget.budget(model.window)?;
    Ok(())
}
