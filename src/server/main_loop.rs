//! The owner loop: one task owns every session, and everything that happens reaches it through one inbox, in order. It
//! hands inputs to machines and their effects to `perform`; it decides nothing about a prompt. A panic ends the session
//! that it happened in, with an answer to whoever waited.

use super::delivery::Delivery;
use super::dump::Dump;
use super::files::Files;
use super::follow::Follows;
use super::inbox::{Ask, Event};
use super::live::{Done, Live};
use super::opening::Opening;
use super::outgoing::Outgoing;
use super::pending::{Pending, Waiting};
use super::queued::Queued;
use super::settings::Layers;
use super::stores::Stores;
use super::trajectories::Trajectories;
use crate::convert;
use engine::id::{SessionId, Time};
use engine::tokens::TokenCount;
use protocol::error::{ErrorData, ProtocolError};
use protocol::server::ProgressToken;
use protocol::session::SessionCloseResult;
use serde::Serialize;
use serde_json::Value;
use session::input::{Command, Input, ReplyTo};
use session::{Around, Session};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::{mpsc, oneshot};
use tokio::time::MissedTickBehavior;

/// Everything that the server has in memory.
pub(super) struct MainLoop {
    /// To the client.
    pub outgoing: Outgoing,
    /// What a client that does not read is told later.
    pub delivery: Delivery,
    /// To this loop, for timers and the store.
    pub inbox: mpsc::UnboundedSender<Event>,
    /// Who counts tokens.
    pub counter: Box<dyn TokenCount>,
    /// Settings that all sessions share.
    pub layers: Layers,
    /// Files that say something of settings.
    pub files: Files,
    /// Where requests are written that go to a model.
    pub dump: Dump,
    /// Where sessions are stored.
    pub stores: Stores,
    /// Sessions that are open, or about to be. In the order of their ids, so that what is said of all of them is said in
    /// one order.
    pub sessions: BTreeMap<SessionId, Slot>,
    /// Sessions that are not opened in part.
    pub whole: BTreeSet<SessionId>,
    /// Sessions that another process writes and that are shown here.
    pub follows: Follows,
    /// Who waits for an answer.
    pub waiting: BTreeMap<ReplyTo, Waiting>,
    /// What we asked of the client, by the number of the request.
    pub asked: BTreeMap<i64, super::perform::Asked>,
    /// Sessions as files of their workspaces.
    pub trajectories: Trajectories,
    /// Models that we ask ourselves.
    pub models: super::models::Models,
    /// Loops that run.
    pub loops: BTreeMap<String, super::loops::Loop>,
    /// Tasks that are run here, or made here for others.
    pub tasks: super::tasks::Tasks,
    /// The last number of a request to the client.
    pub last_asked: i64,
    /// Timers so far.
    pub timers: u64,
    /// Who is told when everything is saved.
    pub ending: Option<oneshot::Sender<()>>,
    /// Whether what waited for a session is on its way to it: the process does not end in the middle of that.
    pub is_handing_over: bool,
    /// The session that was touched last: the one to blame for a panic.
    pub at_work: Option<SessionId>,
    /// Sessions of which a request was answered in this event: they may have nothing left to wait for.
    pub freed: BTreeSet<SessionId>,
    /// Requests for which nothing was under way when it was looked last.
    pub idle: BTreeSet<ReplyTo>,
}

/// How often it is looked whether each request waits for something, while any waits.
const BETWEEN_WATCHES: Duration = Duration::from_secs(1);

/// Who waits where nobody does.
pub(super) const NOBODY: ReplyTo = ReplyTo(u64::MAX);

/// A session that is open, or about to be.
pub(super) enum Slot {
    /// The store was asked for it.
    Opening(Box<Opening>),
    /// It is here.
    Live(Box<Live>),
}

impl Slot {
    /// Whether it is here and not only there for one answer.
    pub fn is_stored(&self) -> bool {
        matches!(self, Slot::Live(live) if live.store.is_some())
    }
}

impl MainLoop {
    /// A loop that knows nothing yet.
    pub fn new(
        outgoing: Outgoing,
        inbox: mpsc::UnboundedSender<Event>,
        counter: Box<dyn TokenCount>,
    ) -> Self {
        Self {
            outgoing,
            delivery: Delivery::default(),
            inbox,
            counter,
            layers: Layers::default(),
            files: Files::default(),
            dump: Dump::default(),
            stores: Stores::default(),
            sessions: BTreeMap::new(),
            whole: BTreeSet::new(),
            follows: Follows::default(),
            waiting: BTreeMap::new(),
            asked: BTreeMap::new(),
            trajectories: Trajectories::default(),
            models: super::models::Models::default(),
            loops: BTreeMap::new(),
            tasks: super::tasks::Tasks::default(),
            last_asked: 0,
            timers: 0,
            ending: None,
            is_handing_over: false,
            at_work: None,
            freed: BTreeSet::new(),
            idle: BTreeSet::new(),
        }
    }

    /// Runs until nobody can reach it any more.
    pub async fn run(mut self, mut events: mpsc::UnboundedReceiver<Event>) {
        let mut watch = tokio::time::interval(BETWEEN_WATCHES);
        watch.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                event = events.recv() => match event {
                    Some(event) => self.guarded(event),
                    None => return,
                },
                // Nobody waits: the process is not woken up.
                _ = watch.tick(), if !self.waiting.is_empty() => self.guarded(Event::Watch),
            }
        }
    }

    /// Takes an event. A panic in it ends the session that it happened in and answers who asked, and nothing else.
    fn guarded(&mut self, event: Event) {
        let asked = match &event {
            Event::Asked(to, ..) | Event::Back(to, _) => Some(*to),
            _ => None,
        };
        self.at_work = None;
        let taken = catch_unwind(AssertUnwindSafe(|| {
            self.take(event);
            self.let_go_freed();
        }));
        if taken.is_ok() {
            return;
        }
        self.is_handing_over = false;
        if let Some(id) = self.at_work.take() {
            self.broke(&id);
        }
        if let Some(to) = asked {
            let message = "the request met a defect and was given up; what was acknowledged is stored";
            self.answer(to, Err(ProtocolError::new(ErrorData::InternalError {}, message)));
        }
        self.end_if_saved();
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Hello(hello) => self.hello(*hello),
            Event::Configured(settings) => self.configured(settings),
            Event::File(which, found) => self.file_is(which, found),
            Event::Asked(to, ask, reply) => {
                self.waiting.insert(to, Waiting::new(reply));
                if let Err(error) = self.ask(to, *ask) {
                    self.answer(to, Err(error));
                }
            }
            Event::Abandoned(to) => self.abandoned(to),
            Event::Back(to, event) => {
                self.came_back(to);
                self.take(*event);
            }
            Event::Watch => self.watch_requests(),
            Event::Delta(delta) => self.delta(delta),
            Event::Answered(answer) => self.answered(*answer),
            Event::Said(id, call, said) => self.said(&id, call, said),
            Event::Replied(id, call, replied) => self.replied(&id, call, *replied),
            Event::Loaded(id, loaded) => self.loaded(&id, *loaded),
            Event::Came(came) => self.came(*came),
            Event::Scope(done) => self.scope_done(*done),
            Event::Approvals(workspace, to, all) => self.approvals_done(&workspace, to, all),
            Event::Memories(changed) => self.memories_changed(*changed),
            Event::Searched(id, to, found) => super::context::searched(self, &id, to, found),
            Event::Looked(id, call, found) => self.looked(&id, call, found),
            Event::Ran(id, call, outcome) => self.run_input(&id, Input::ToolDone(call, outcome)),
            Event::Found(to, params, found) => self.found(to, *params, found),
            Event::Committed(id, committed) => self.committed(&id, committed),
            Event::Deleted(gone) => self.deleted(*gone),
            Event::Ready(to, value) => self.answer(to, value),
            Event::Trajectory(told) => self.trajectory_told(*told),
            Event::Expired(id, timer, number) => self.expired(&id, timer, number),
            Event::Look => self.look(),
            Event::Told(told) => self.told(*told),
            Event::Leases(looked) => self.looked_at_leases(*looked),
            Event::Confirmed(confirmed) => self.confirmed(*confirmed),
            Event::TasksWait(folder, found) => self.tasks_wait(&folder, found),
            Event::TasksEnded(id, found) => self.tasks_ended(&id, found),
            Event::Drained => self.drained(),
            Event::Ending(done) => self.end(done),
            Event::Saved(done) => drop(done.send(())),
        }
    }

    /// Hands an input to a session, and performs what it wants done once its writes are stored.
    pub fn run_input(&mut self, id: &SessionId, input: Input) {
        self.at_work = Some(id.clone());
        let Some(Slot::Live(live)) = self.sessions.get_mut(id) else { return };
        if live.part.is_some() {
            return self.run_in_part(id, input);
        }
        let now = now();
        let stamp = convert::iso(now);
        let around = Around { now, stamp: &stamp, counter: &*self.counter };
        let session: &mut Session = &mut live.session;
        match catch_unwind(AssertUnwindSafe(|| session.step(input, around))) {
            Ok(effects) => {
                live.steps.push_back(Done::of(effects));
                self.pump(id);
            }
            Err(_) => self.broke(id),
        }
    }

    /// Hands a command to a session that is open, or opens it first.
    pub fn command(&mut self, to: ReplyTo, id: &SessionId, command: Command) {
        self.hand(id, Queued::Command(to, Box::new(command)));
    }

    /// Hands a command to a session that is here.
    pub fn run_command(&mut self, to: ReplyTo, id: &SessionId, command: Command) {
        match self.other_turn(to, id) {
            Some(error) => self.answer(to, Err(error)),
            None => self.run_input(id, Input::Command(to, command)),
        }
    }

    /// A turn that is named must be the newest one: nothing can be done about the others.
    fn other_turn(&self, to: ReplyTo, id: &SessionId) -> Option<ProtocolError> {
        let turn = self.waiting.get(&to)?.turn.as_deref()?;
        let Some(Slot::Live(live)) = self.sessions.get(id) else { return None };
        let newest = live.session.transcript().turns().last().map_or("none", |newest| newest.id.as_str());
        if newest == turn {
            return None;
        }
        let data = ErrorData::StaleReference { field: "turnId".into(), id: turn.to_owned() };
        let message = format!("turn {turn} is not the newest turn, {newest} is; nothing was done");
        Some(ProtocolError::new(data, message))
    }

    /// A session's machine panicked. What it acknowledged is stored, and it can be opened again.
    pub fn broke(&mut self, id: &SessionId) {
        tracing::error!(session = %id, "a panic ended this session; it can be opened again");
        self.tell_parent_of_breakdown(id);
        self.stage_broke(id);
        self.log(format!(
            "session {id} met a defect and was closed; what was acknowledged is stored, open it again to go on"
        ));
        let message =
            "the session met a defect and was closed. What was acknowledged is stored; open it again";
        self.give_up(id, &ProtocolError::new(ErrorData::InternalError {}, message));
    }

    /// Lets a session go that cannot go on, and says so to everybody who waits for it. What was asked behind its end
    /// is done afterwards.
    pub fn give_up(&mut self, id: &SessionId, error: &ProtocolError) {
        for to in self.awaits(id) {
            self.answer(to, Err(error.clone()));
        }
        self.let_go(id);
    }

    /// Who waits for something of this session, but for those who wait for its end.
    pub fn awaits(&self, id: &SessionId) -> Vec<ReplyTo> {
        let live = match self.sessions.get(id) {
            Some(Slot::Live(live)) => Some(live),
            Some(Slot::Opening(_)) | None => None,
        };
        let about = self.waiting.iter().filter(|(_, waiting)| waiting.session.as_ref() == Some(id));
        let all = about.map(|(to, _)| *to);
        all.filter(|to| live.is_none_or(|live| !live.waits_for_end(*to))).collect()
    }

    /// Answers, if somebody still waits.
    pub fn answer(&mut self, to: ReplyTo, mut value: Result<Value, ProtocolError>) {
        if let (NOBODY, Err(error)) = (to, &value) {
            self.log(format!("something that a session was to be told did not reach it: {error}"));
        }
        let Some(waiting) = self.waiting.remove(&to) else { return };
        self.freed.extend(waiting.session);
        if let Some((token, true)) = waiting.progress {
            self.progress(&token, serde_json::json!({ "kind": "end", "message": ended(&value) }));
        }
        for diagnostic in waiting.diagnostics {
            let list = value.as_mut().ok().and_then(|value| {
                let place =
                    if value.get("restore").is_some() { "/restore/diagnostics" } else { "/diagnostics" };
                value.pointer_mut(place)?.as_array_mut()
            });
            match (list, wire(&diagnostic)) {
                (Some(list), Ok(diagnostic)) => list.push(diagnostic),
                _ => self.warn(diagnostic.message),
            }
        }
        self.outgoing.answer(waiting.reply, value);
    }

    /// Tells how far something is that a client waits for.
    pub fn progress(&self, token: &ProgressToken, value: Value) {
        // Where it begins and ends is told whatever waits: clients show it until it ends.
        if self.delivery.is_held() && value["kind"] == "report" {
            return;
        }
        self.outgoing.notification("$/progress", &serde_json::json!({ "token": token, "value": value }));
    }

    /// The handler of a request is gone.
    fn abandoned(&mut self, to: ReplyTo) {
        let Some(waiting) = self.waiting.remove(&to) else { return };
        if let Some((token, true)) = &waiting.progress {
            self.progress(token, serde_json::json!({ "kind": "end", "message": "cancelled" }));
        }
        let Some(id) = waiting.session else { return };
        match self.sessions.get_mut(&id) {
            Some(Slot::Live(live)) if live.waits_for_end(to) => live.after.retain(|item| item.to() != to),
            Some(Slot::Live(_)) => self.run_input(&id, Input::Abandoned(to)),
            Some(Slot::Opening(opening)) => opening.queue.retain(|item| item.to() != to),
            None => {}
        }
        self.let_go_if_done(&id);
    }

    /// Says something to whoever reads the client's log.
    pub fn log(&mut self, message: String) {
        if self.delivery.keeps_log_back() {
            return tracing::warn!("not told to the client, which does not read: {message}");
        }
        let params = serde_json::json!({ "type": 2, "message": message });
        self.outgoing.notification("window/logMessage", &params);
    }

    /// Takes a session out of memory. Nobody waits for it any more, but for what is to be done when it is gone.
    pub fn let_go(&mut self, id: &SessionId) {
        let after = self.take_out(id);
        after.into_iter().for_each(|item| self.hand(id, item));
    }

    /// Takes a session out of memory; what is to be done when it is gone.
    fn take_out(&mut self, id: &SessionId) -> VecDeque<Queued> {
        self.write_last(id);
        let Some(Slot::Live(mut live)) = self.sessions.remove(id) else { return VecDeque::new() };
        self.keep_task(id);
        for request in
            live.models.values().chain(live.tools.values()).chain(&live.permission).chain(&live.review)
        {
            self.asked.remove(request);
            self.outgoing.cancel(*request);
        }
        let closing = std::mem::take(&mut live.closing);
        for to in &closing {
            // They wait for the lease, no longer for the session: that may be opened again meanwhile.
            if let Some(waiting) = self.waiting.get_mut(to) {
                waiting.session = None;
            }
        }
        let closed = match live.fault.take().filter(|_| !live.unwritten.is_empty()) {
            Some(fault) => Err(fault),
            None => wire(&SessionCloseResult {}),
        };
        match live.store.clone() {
            Some((store, fence)) => {
                let id = id.clone();
                let closing: Vec<Pending> = closing.into_iter().map(|to| self.pending(to)).collect();
                store.submit(
                    move |store| store.release(&id, fence),
                    move |released| {
                        if let Err(error) = released {
                            tracing::warn!(%error, "a lease could not be given back");
                        }
                        closing.into_iter().for_each(|to| to.answer(closed.clone()));
                    },
                );
            }
            None => closing.into_iter().for_each(|to| self.answer(to, closed.clone())),
        }
        std::mem::take(&mut live.after)
    }

    /// The process is about to end.
    fn end(&mut self, done: oneshot::Sender<()>) {
        let ids: Vec<SessionId> = self.sessions.keys().cloned().collect();
        for id in ids {
            self.store_rest(&id);
            self.run_input(&id, Input::Ending);
        }
        // Not before: nothing may be let go while a session has not heard of it.
        self.ending = Some(done);
        self.end_if_saved();
    }

    /// Ends once nothing is on its way to a store.
    pub fn end_if_saved(&mut self) {
        if self.ending.is_none() || self.is_handing_over {
            return;
        }
        let is_saved = |slot: &Slot| match slot {
            Slot::Live(live) => live.is_settled(),
            // What was asked of it is still answered.
            Slot::Opening(_) => false,
        };
        if !self.sessions.values().all(is_saved) {
            return;
        }
        let ids: Vec<SessionId> = self.sessions.keys().cloned().collect();
        for id in ids {
            drop(self.take_out(&id));
        }
        if let Some(done) = self.ending.take() {
            // Through the inbox: what the stores answered before is in it.
            let inbox = self.inbox.clone();
            let files = std::mem::take(&mut self.trajectories);
            self.stores.close_all(move || files.finish(move || drop(inbox.send(Event::Saved(done)))));
        }
    }

    pub(super) fn ask(&mut self, to: ReplyTo, ask: Ask) -> Result<(), ProtocolError> {
        super::asking::ask(self, to, ask)
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

/// A value as a wire shows it.
pub(super) fn wire(value: &impl Serialize) -> Result<Value, ProtocolError> {
    serde_json::to_value(value).map_err(|error| {
        ProtocolError::new(ErrorData::InternalError {}, format!("the answer could not be written: {error}"))
    })
}

/// The time.
pub(super) fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
