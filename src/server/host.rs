//! One open session: its machine, steps that wait for the store, pending calls, timers, file and shutdown.
//! Its methods are here and in [`self::perform`]; whatever needs another component is returned to the router
//! as a value.

mod calls;
mod client_model;
pub(super) mod delete;
mod event;
pub(super) mod filed;
mod loading;
mod offload;
mod opening;
mod own_tool;
mod parked;
mod part;
mod perform;
pub(super) mod queued;
pub(super) mod sessions;
mod steps;
mod threads;

pub(super) use event::{Confirmed, DeletionOutcome, HostEvent, HostEventKind, ServerSign};
pub(super) use loading::{Kept, Loaded, Shared, known_memories, new_head};
pub(super) use offload::{StepDone, StepOutcome};
pub(super) use opening::{Opened, Opening};
pub(super) use parked::ParkedItem;
pub(super) use part::{Counter, RestLoaded};
pub(super) use perform::{Advance, CatchUp, Committed, NotStored};

use super::client::Client;
use super::client::replies::Replies;
use super::clock::Timers;
use super::mailbox::Mailbox;
use super::wire::to_json;
use calls::Calls;
use filed::FileState;
use part::{PartOutcome, PartialSession};
use protocol::error::ProtocolError;
use protocol::event::{Event, SessionEvent};
use protocol::session::SessionCloseResult;
use queued::Queued;
use session::input::{Input, ReplyTo};
use session::state::StateName;
use session::stored::Part;
use session::{Opening as Begin, Session};
use std::collections::VecDeque;
use steps::Steps;
use store::Fence;
use store::error::StoreError;
use store::worker::Handle;
use threads::spawn_or_run;

/// A session that is open in this process.
pub(super) struct SessionHost {
    session: Session,
    /// Present while only the newest part is loaded.
    part: Option<Box<PartialSession>>,
    /// What waits for the step that is taken on another thread, while there is one: `session` is the one before it.
    offloaded: Option<VecDeque<ParkedItem>>,
    /// `true` if settings changed that could not be taken yet.
    has_deferred_settings: bool,
    counter: Counter,
    /// The store, and the fence to write under; `None` for a prompt of a history that is not kept.
    store: Option<(Handle, Fence)>,
    steps: Steps,
    calls: Calls,
    timers: Timers,
    file: FileState,
    leaving: Leaving,
    /// `true` if lists show that calls wait for the user.
    is_listed_paused: bool,
    mailbox: Mailbox<HostEvent>,
}

/// Shutdown state of a session.
#[derive(Default)]
struct Leaving {
    /// Set by a close: the session ends once everything is stored.
    is_closing: bool,
    /// The deletion request that is with the store, until whose answer nothing is written.
    deleting: Option<ReplyTo>,
    /// Items that arrived during the shutdown, handled after it.
    after: VecDeque<Queued>,
    /// Close requests, answered once the lease is released.
    closing: Vec<ReplyTo>,
}

/// The outcome of an input.
pub(super) enum Stepped {
    /// There is something to store or to perform.
    Taken,
    /// The input is taken on another thread, or waits: for such a step, or for the rest of the session.
    Parked,
    /// The machine panicked.
    Panicked,
}

/// The outcome of a store's answer about a partly loaded session.
pub(super) enum RestOutcome {
    /// Meant for another opening of the session.
    Stale,
    /// These items run now.
    Done(VecDeque<ParkedItem>),
    /// The whole session does not fit what was made of the part.
    Differs,
    /// The store failed.
    Failed(StoreError),
}

impl SessionHost {
    /// Opens a session, as its store gave it or new.
    pub fn open(
        mut begin: Begin,
        stored: Option<Kept>,
        store: Option<(Handle, Fence)>,
        counter: Counter,
        mailbox: Mailbox<HostEvent>,
    ) -> Self {
        let (session, part) = match stored {
            Some(Kept::Part(Part { stored, from }, claims)) => {
                begin.stored = Some(stored);
                let session = Session::in_part(begin.clone(), from, &*counter);
                (session, Some(Box::new(PartialSession::new(begin, from, claims, counter.clone()))))
            }
            whole => {
                begin.stored = match whole {
                    Some(Kept::Whole(stored)) => Some(stored),
                    _ => None,
                };
                (Session::new(begin, &*counter), None)
            }
        };
        Self {
            is_listed_paused: session.state().name() == StateName::Paused,
            session,
            part,
            offloaded: None,
            has_deferred_settings: false,
            counter,
            store,
            steps: Steps::default(),
            calls: Calls::new(mailbox.clone()),
            timers: Timers::default(),
            file: FileState::default(),
            leaving: Leaving::default(),
            mailbox,
        }
    }

    /// Takes note of a state that is emitted. Returns `true` if lists show it: calls wait for the user from now on, or
    /// no more.
    pub fn pauses_or_goes_on(&mut self, state: StateName) -> bool {
        let is_paused = state == StateName::Paused;
        std::mem::replace(&mut self.is_listed_paused, is_paused) != is_paused
    }

    pub fn session(&self) -> &Session {
        &self.session
    }

    /// `true` if it is stored, `false` if it exists for one answer only.
    pub fn is_stored(&self) -> bool {
        self.store.is_some()
    }

    /// The store of the session.
    pub fn store(&self) -> Option<&Handle> {
        self.store.as_ref().map(|(store, _)| store)
    }

    pub fn fence(&self) -> Option<Fence> {
        self.store.as_ref().map(|(_, fence)| *fence)
    }

    /// The machine and the state of its file.
    pub fn file(&mut self) -> (&Session, &mut FileState) {
        (&self.session, &mut self.file)
    }

    pub fn is_filed(&self) -> bool {
        self.file.is_looked_at()
    }

    /// `true` while a step is taken on another thread.
    pub fn is_offloaded(&self) -> bool {
        self.offloaded.is_some()
    }

    pub fn is_part(&self) -> bool {
        self.part.is_some()
    }

    /// `true` if every step is stored and performed.
    pub fn is_settled(&self) -> bool {
        let is_here = self.part.as_ref().is_none_or(|part| part.is_settled());
        let is_stepped = self.steps.is_empty() && !self.steps.is_writing() && self.offloaded.is_none();
        is_stepped && self.leaving.deleting.is_none() && is_here
    }

    /// `true` if it is wholly loaded and stored.
    pub fn is_whole_and_stored(&self) -> bool {
        self.part.is_none() && self.offloaded.is_none() && !self.steps.has_unwritten()
    }

    pub fn is_writing(&self) -> bool {
        self.steps.is_writing()
    }

    /// `true` if it accepts no more requests.
    pub const fn is_leaving(&self) -> bool {
        self.leaving.is_closing || self.leaving.deleting.is_some()
    }

    /// `true` if it ends once nothing waits for it: it exists for one answer only, or is being closed.
    pub fn is_passing(&self) -> bool {
        self.store.is_none() || self.leaving.is_closing
    }

    pub fn is_deleting(&self) -> bool {
        self.leaving.deleting.is_some()
    }

    /// `true` if it is held under this fence and not being deleted.
    pub fn is_here_under(&self, fence: Fence) -> bool {
        !self.is_deleting() && self.fence() == Some(fence)
    }

    /// `true` if it is open under this fence and not shutting down.
    pub fn is_open_under(&self, fence: Fence) -> bool {
        !self.is_leaving() && self.fence() == Some(fence)
    }

    /// `true` if a pending answer of the store or of another thread moves it on.
    pub fn awaits_others(&self) -> bool {
        self.steps.is_writing()
            || self.offloaded.is_some()
            || self.leaving.deleting.is_some()
            || self.part.as_ref().is_some_and(|part| part.is_asked())
    }

    /// `true` if this request waits here rather than in the machine.
    pub fn holds(&self, to: ReplyTo) -> bool {
        self.waits_for_end(to)
            || self.part.as_ref().is_some_and(|part| part.holds(to))
            || self.offloaded.as_ref().is_some_and(|waits| parked::hold(waits, to))
    }

    /// `true` if this request waits for the session's end.
    pub fn waits_for_end(&self, to: ReplyTo) -> bool {
        self.leaving.closing.contains(&to) || self.leaving.after.iter().any(|item| item.to() == to)
    }

    /// Number of the next event to send. Events that wait for the store are not sent yet.
    pub fn next_seq(&self) -> u64 {
        self.steps.first_untold().unwrap_or_else(|| self.session.snapshot().seq + 1)
    }

    /// Hands an input to the machine.
    pub fn step(&mut self, input: Input) -> Stepped {
        if let Some(waits) = &mut self.offloaded {
            waits.push_back(ParkedItem::Input(Box::new(input)));
            return Stepped::Parked;
        }
        if let Some(part) = &mut self.part {
            return match part.step(&mut self.session, input) {
                Ok(Some(effects)) => {
                    self.steps.push(effects);
                    Stepped::Taken
                }
                Ok(None) => Stepped::Parked,
                Err(part::Panicked) => Stepped::Panicked,
            };
        }
        if session::long::may_take_long(&self.session, &input) {
            let (mailbox, session) = (self.mailbox.clone(), self.session.id().clone());
            let send = move |stepped| {
                let what = HostEventKind::StepDone(Box::new(stepped));
                mailbox.send(HostEvent { session, what });
            };
            self.offloaded = Some(VecDeque::new());
            offload::begin(&self.session, input, self.counter.clone(), send);
            return Stepped::Parked;
        }
        match offload::step(&mut self.session, input, super::clock::now(), &*self.counter) {
            Ok(effects) => {
                self.steps.push(effects);
                Stepped::Taken
            }
            Err(part::Panicked) => Stepped::Panicked,
        }
    }

    /// Handles the outcome of a step that was taken on another thread.
    pub fn step_done(&mut self, stepped: StepDone) -> StepOutcome {
        if !stepped.is_of(self.session.stream()) {
            return StepOutcome::Stale;
        }
        let Some(waits) = self.offloaded.take() else { return StepOutcome::Stale };
        let Ok((session, effects)) = stepped.taken() else { return StepOutcome::Panicked };
        let before = std::mem::replace(&mut self.session, session);
        // It takes as long as the session is.
        spawn_or_run("drop", move || drop(before));
        self.steps.push(effects);
        StepOutcome::Done(waits)
    }

    /// Notes that the settings changed, if they cannot be taken before a step on another thread or the rest is there.
    /// Returns `true` then. Whatever follows from them must see them in force.
    pub fn defer_settings(&mut self) -> bool {
        let waits = self.offloaded.is_some() || self.part.is_some();
        if waits {
            self.has_deferred_settings = true;
            self.want_rest();
        }
        waits
    }

    /// Returns `true` once after settings were deferred, as soon as they can be taken.
    pub fn take_deferred_settings(&mut self) -> bool {
        self.offloaded.is_none() && self.part.is_none() && std::mem::take(&mut self.has_deferred_settings)
    }

    /// Queues an item behind others that wait for the session. Gives it back if it can run now.
    pub fn wait_in_line(&mut self, item: Queued) -> Option<Queued> {
        if let Some(waits) = &mut self.offloaded {
            waits.push_back(ParkedItem::Item(item));
            return None;
        }
        match &mut self.part {
            Some(part) if !part.is_free() => {
                part.push(item);
                None
            }
            _ => Some(item),
        }
    }

    /// Queues an item until the whole session is loaded. Gives it back if it is.
    pub fn wait_for_whole(&mut self, item: Queued) -> Option<Queued> {
        let Some(part) = &mut self.part else { return Some(item) };
        part.push(item);
        self.want_rest();
        None
    }

    /// Requests the rest of the session.
    pub fn want_rest(&mut self) {
        if let Some(part) = &mut self.part {
            part.want();
        }
        self.ask_rest();
    }

    /// Asks the store for the rest, if it is wanted and all steps are with the store.
    pub fn ask_rest(&mut self) {
        let (Some(part), Some((store, _))) = (&mut self.part, &self.store) else { return };
        if self.steps.are_with_store() {
            let mailbox = self.mailbox.clone();
            part.ask(&self.session, store, move |session, came| {
                mailbox.send(HostEvent { session, what: HostEventKind::Rest(Box::new(came)) });
            });
        }
    }

    /// Handles the answer about the rest.
    pub fn rest_came(&mut self, came: RestLoaded) -> RestOutcome {
        if !came.is_of(self.session.stream()) {
            return RestOutcome::Stale;
        }
        let Some(part) = self.part.take() else { return RestOutcome::Stale };
        let (part, grown) = part.grow(came, &self.session);
        self.part = part;
        match grown {
            PartOutcome::Same(waits) => RestOutcome::Done(waits),
            PartOutcome::Whole(whole, waits) => {
                self.session = *whole;
                RestOutcome::Done(waits)
            }
            PartOutcome::Differs => RestOutcome::Differs,
            PartOutcome::Failed(error) => RestOutcome::Failed(error),
        }
    }

    /// Begins a close, which is answered at the end of the session.
    pub fn begin_close(&mut self, to: ReplyTo) {
        self.leaving.is_closing = true;
        self.leaving.closing.push(to);
    }

    /// Begins a deletion. Returns the store that must delete it, if it has one.
    pub fn begin_delete(&mut self, to: ReplyTo) -> Option<Handle> {
        let (store, _) = self.store.clone()?;
        self.leaving.deleting = Some(to);
        Some(store)
    }

    /// Ends a deletion. Returns `false` if this request did not begin one.
    pub fn end_delete(&mut self, to: ReplyTo) -> bool {
        self.leaving.deleting.take_if(|asked| *asked == to).is_some()
    }

    /// Queues an item until the session has ended.
    pub fn push_after(&mut self, item: Queued) {
        self.leaving.after.push_back(item);
    }

    /// Drops this request's items that wait for the end.
    pub fn forget_after(&mut self, to: ReplyTo) {
        self.leaving.after.retain(|item| item.to() != to);
    }

    /// Takes the items that wait for an end that was called off.
    pub fn take_after(&mut self) -> VecDeque<Queued> {
        std::mem::take(&mut self.leaving.after)
    }

    /// Drops unwritten data: no store has the session any more.
    pub fn forget_stored(&mut self) {
        self.steps.drop_unwritten();
        self.file = FileState::default();
    }

    /// Handles a lost lease: nothing more is stored, the file is the new writer's, and the client is
    /// notified.
    pub fn lose(&mut self, client: &mut Client, fault: ProtocolError) {
        let id = self.session.id().clone();
        let taken = SessionEvent {
            session_id: id.as_str().to_owned(),
            stream: self.session.stream().to_owned(),
            seq: self.next_seq(),
            event: Event::SessionTakenOver {},
        };
        let left = self.steps.give_up(fault);
        self.file = FileState::default();
        if !client.holds_back(&id) {
            client.send_event(&taken);
        }
        if left > 0 {
            client.log(format!(
                "session \"{id}\" was taken over before {left} of its messages were stored; they are no longer shown here"
            ));
        }
    }

    /// Ends the session: cancels its requests to the client, releases its lease and answers closes after
    /// that. Returns the items to handle then.
    pub fn leave(mut self, client: &mut Client, replies: &mut Replies) -> VecDeque<Queued> {
        self.cancel_requests(client);
        let Leaving { closing, after, .. } = std::mem::take(&mut self.leaving);
        // Closes wait for the lease, not for the session, which may be reopened meanwhile.
        closing.iter().for_each(|to| replies.set_session(*to, None));
        let closed = match self.steps.take_fault() {
            Some(fault) => Err(fault),
            None => to_json(&SessionCloseResult {}),
        };
        let Some((store, fence)) = self.store.take() else {
            closing.into_iter().for_each(|to| replies.answer(client, to, closed.clone()));
            return after;
        };
        let id = self.session.id().clone();
        let closing: Vec<_> = closing.into_iter().map(|to| self.pending(replies, to)).collect();
        store.submit(
            move |store| store.release(&id, fence),
            move |released| {
                if let Err(error) = released {
                    tracing::warn!(%error, "a lease could not be given back");
                }
                closing.into_iter().for_each(|to| to.answer(closed.clone()));
            },
        );
        after
    }
}
