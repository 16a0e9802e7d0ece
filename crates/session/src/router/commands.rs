//! Handlers of client commands.

use super::Step;
use crate::commands::queue::NewWork;
use crate::compaction::again::Again;
use crate::compaction::job::{Begin, Job, Then};
use crate::compaction::preview::preview;
use crate::context::figures::tell_next_context;
use crate::context::prefix::take_prefix;
use crate::context::{inspect, ledger, pins, recall, undo};
use crate::history::branch::branch;
use crate::history::outside::{Copied, restore, take_in};
use crate::history::reset::reset;
use crate::history::revert::revert;
use crate::history::take::{append_round, take_history};
use crate::state::State;
use crate::title::name_by;
use crate::tools::found::{found, rest_after};
use crate::tools::round::{run_own_again, unknown};
use crate::turn::answer;
use crate::turn::end::let_go;
use crate::values::acceptance::{self, Takes};
use crate::values::effect::{Answer, Effect};
use crate::values::event::EventBody;
use crate::values::input::{At, Command, Compact, Open, ReplyTo, StartTurn, TakeIn};
use crate::values::queue::{Accepted, Work};
use crate::values::refusal::Refusal;
use crate::values::report::Report;
use crate::values::rest::Rest;
use crate::values::stored::{Stored, TitleFrom, TurnStatus};
use crate::view::shown;
use engine::compact::record::Trigger;
use engine::id::{MessageId, Ordinal, SessionId, TurnId};
use engine::message::unreadable::is_unreadable;
use engine::words::StateName;

/// Fields that name a message by its id and its index.
const MESSAGE: [&str; 2] = ["messageId", "index"];

impl Step<'_> {
    pub(super) fn command(&mut self, reply: ReplyTo, command: Command) {
        if let Some(row) = command.name().and_then(acceptance::row) {
            let driver = self.core.head().driver;
            if row.driver.is_some_and(|of| of != driver) {
                return self.core.reply(reply, Err(Refusal::OtherDriver(driver)));
            }
            let is_in_turn = self.only_waits() && row.is_only_at_rest();
            // While the editor's loop runs its turn, the session itself rests.
            let rests = self.own.state.is_resting();
            let state = if rests { StateName::Idle } else { self.own.state.name() };
            if is_in_turn || row.takes(state) == Takes::Refused {
                let refusal = self.invalid();
                return self.core.reply(reply, Err(refusal));
            }
        }
        if !std::mem::replace(&mut self.own.is_begun, true) {
            self.begin();
        }
        match command {
            Command::Open(open) => self.open(reply, *open),
            Command::StartTurn(start) => {
                let (key, priority) = (start.key.clone(), start.priority);
                self.take_work(reply, key, priority, NewWork::Start(start));
            }
            Command::Retry { from, content, key } => {
                let fields = ["fromMessageId", "fromIndex"];
                self.rewind(reply, key, (&from, fields), |from| Work::Retry { from, content });
            }
            Command::Regenerate { key } => {
                self.take_work(reply, key, false, NewWork::Other(Work::Regenerate));
            }
            Command::Update { message, content, regenerate, key } => {
                let work = |message| Work::Update { message, content, regenerate };
                self.rewind(reply, key, (&message, MESSAGE), work);
            }
            Command::Remove { message, key } => {
                self.rewind(reply, key, (&message, MESSAGE), |message| Work::Remove { message });
            }
            Command::Truncate { from, key } => {
                self.rewind(reply, key, (&from, MESSAGE), |from| Work::Truncate { from });
            }
            Command::CancelTurn { turn, queued } => self.cancel_turn(reply, turn, queued),
            Command::CancelQueued(id) => {
                let gone = self.own.queue.remove(&mut self.core, |item| item.id == id);
                let unknown = || Refusal::Unknown { what: "itemId", id: id.as_str().to_owned() };
                let answer = if gone.is_empty() { Err(unknown()) } else { Ok(Answer::Dequeued(gone)) };
                self.core.reply(reply, answer);
            }
            Command::Branch { to, up_to, title, key } => self.branch(reply, to, up_to, title, key),
            Command::Revert { to, key } => self.revert(reply, *to, key),
            Command::Reset { keep_queue, key } => self.reset(reply, keep_queue, key),
            Command::Restore(given) => {
                let restored = restore(&mut self.core, *given).inspect(|_| self.find_state());
                self.core.reply(reply, restored.map(Answer::Imported));
            }
            Command::TakeIn(given) => self.take_in(reply, *given),
            Command::SetDraft(draft) => {
                self.core.set_draft(draft.filter(|draft| !draft.is_empty()));
                self.done(reply);
            }
            Command::Notice { kind, text } => {
                self.core.notify_later(kind, text);
                self.done(reply);
            }
            Command::StoreTask(start) => self.store_task(reply, start),
            Command::RunTask => {
                // If another process was faster, nothing is left to begin.
                if self.core.head().waits && !self.only_waits() {
                    self.own.queue.release();
                }
                self.done(reply);
            }
            Command::EndTurn(status) => self.end_editors_turn(reply, status),
            Command::AppendRound(round) => {
                let appended = append_round(&mut self.core, round);
                self.core.reply(reply, appended);
            }
            Command::Render(render) => self.render(reply, *render),
            Command::Compact(compact) => self.compact_for(reply, compact),
            Command::Undo(id) => undo::undo(&mut self.core, reply, id.as_ref()),
            Command::Edit { compaction, narrative } => {
                undo::edit(&mut self.core, reply, &compaction, &narrative);
            }
            Command::Exclude(messages) => undo::exclude(&mut self.core, reply, &messages),
            Command::Pin(what) => pins::pin(&mut self.core, reply, what),
            Command::Unpin(id) => pins::unpin(&mut self.core, reply, &id),
            Command::Decide(decisions) => {
                let decided = self.take_decisions(&decisions);
                let state = self.own.state.name();
                self.core.reply(reply, decided.map(|()| Answer::Done(state)));
            }
            Command::ToolResult(result) => {
                let call = engine::id::CallId::new(&result.call);
                let taken = self.take_result(&call, result);
                // As after a decision; a refused result changes nothing.
                if taken.is_ok() {
                    self.own.queue.release();
                }
                let state = self.own.state.name();
                self.core.reply(reply, taken.map(|()| Answer::Done(state)));
            }
            Command::Configure(configure) => self.configure(reply, *configure),
            Command::Inspect(newest) => {
                let counter = self.core.counter().name();
                let inspected = inspect::inspect(&self.core, newest, counter, self.core.now());
                self.core.reply(reply, inspected.map(|found| Answer::Inspected(Box::new(found))));
            }
            Command::Recall(query) => {
                let recalled = recall::recall(&self.core, query).map(Answer::Recalled);
                self.core.reply(reply, recalled);
            }
            Command::Ledger(query) => {
                let page = ledger::ledger(&self.core, query).map(|page| Answer::Ledger(Box::new(page)));
                self.core.reply(reply, page);
            }
            // The index is in the store, and all messages are stored before this effect is performed.
            Command::Search(query) => self.core.push(Effect::Search(reply, query)),
            Command::Subscribe { since, newest } => self.subscribe(reply, since, newest),
        }
    }

    fn done(&mut self, reply: ReplyTo) {
        let state = self.own.state.name();
        self.core.reply(reply, Ok(Answer::Done(state)));
    }

    /// Handles the first command in this process: a turn that ran when its process ended and waits for nobody has failed.
    fn begin(&mut self) {
        let pieces = std::mem::take(&mut self.own.streamed);
        let core = &mut self.core;
        if answer::recover(core, pieces, self.own.state.is_resting()) {
            // A fork rests idle whatever it was copied from.
            let is_failed = matches!(self.own.state, State::Resting(Rest::Failed(_)));
            let status = if is_failed { TurnStatus::Failed } else { TurnStatus::Cancelled };
            core.interrupt_turn(status, None);
            let_go(core, status);
        }
        self.interrupt_editors_turn();
        if let State::Calling(calling) = &self.own.state {
            run_own_again(&mut self.core, calling);
            for call in calling.servers().clone() {
                // Fails only for a call that does not run.
                drop(self.take_result(&call, unknown(&call)));
            }
        }
    }

    /// Ends an open turn of the editor's loop: whoever ran it is gone, or begins anew.
    fn interrupt_editors_turn(&mut self) {
        if self.own.state.is_resting() && self.core.is_editors_turn_open() {
            self.core.interrupt_turn(TurnStatus::Cancelled, None);
            self.rest_with_editor();
        }
    }

    /// Takes a command that changes the past, once its message is resolved. The message comes with the fields that name
    /// it, by id and by index.
    fn rewind(
        &mut self,
        reply: ReplyTo,
        key: Option<String>,
        (at, fields): (&At, [&'static str; 2]),
        work: impl FnOnce(MessageId) -> Work,
    ) {
        // The first answer stands, even if the message is gone by now.
        if self.own.queue.answered_before(&mut self.core, reply, key.as_deref()) {
            return;
        }
        match self.core.at(at).map(|message| message.id.clone()) {
            Ok(id) => self.take_work(reply, key, false, NewWork::Other(work(id))),
            Err(refusal) => self.core.reply(reply, Err(refusal.of_fields(fields))),
        }
    }

    fn open(&mut self, reply: ReplyTo, open: Open) {
        let core = &mut self.core;
        if open.title.is_some() {
            core.set_title(open.title, Some(TitleFrom::Client));
        }
        if !core.head().waits || core.is_turn_running() {
            // A request that waits for another process keeps the prefix that it was made with.
            take_prefix(core, open.prefix);
        }
        // Looking at a session does not count as use.
        core.write_head_as_it_was_used();
        let given = open.history.is_some();
        let before = self.extent();
        let mut report = match open.history {
            Some(history) if self.own.state.is_resting() => {
                let is_idle = self.is_idle();
                take_history(&mut self.core, history, is_idle)
            }
            // What runs now is newer than the history of an editor that reconnects.
            Some(_) | None => Report::default(),
        };
        report.left_out = open.left_out;
        self.rest_anew(before);
        self.interrupt_editors_turn();
        report.unreadable = std::mem::take(&mut self.own.unreadable);
        if !report.unreadable.is_empty() {
            let messages = self.core.transcript().messages().iter();
            let lost = messages.filter(|message| is_unreadable(message));
            report.lost = lost.map(|message| message.id.clone()).collect();
        }
        if given || !report.unreadable.is_empty() {
            self.core.emit(EventBody::RestoreReported(Box::new(report.clone())));
        }
        self.tell_deltas();
        let snapshot = shown(&self.core, self.own.standing(), open.newest);
        self.core.reply(reply, Ok(Answer::Opened(Box::new((snapshot, report)))));
    }

    /// Emits the gathered deltas: a snapshot holds the answer so far, so its event number must be behind them.
    fn tell_deltas(&mut self) {
        if let State::Streaming(running) = &mut self.own.state {
            running.tell(&mut self.core);
        }
    }

    fn subscribe(&mut self, reply: ReplyTo, since: Option<(String, u64)>, newest: Option<u32>) {
        if let Some(events) = since.and_then(|(stream, seq)| self.core.events_since(&stream, seq)) {
            return self.core.reply(reply, Ok(Answer::Events(events)));
        }
        self.tell_deltas();
        let snapshot = shown(&self.core, self.own.standing(), newest);
        self.core.reply(reply, Ok(Answer::Snapshot(Box::new(snapshot))));
    }

    /// Cancels a turn: the answer so far is kept, open calls are answered. A queued one is removed from the queue.
    fn cancel_turn(&mut self, reply: ReplyTo, turn: Option<TurnId>, queued: bool) {
        let newest = self.core.turn_id();
        let is_newest = turn.is_none() || turn == newest;
        let mut gone = match &turn {
            Some(turn) if !is_newest => self.own.queue.remove(&mut self.core, |item| item.is_turn(turn)),
            _ => Vec::new(),
        };
        if let Some(turn) = turn.filter(|_| !is_newest && gone.is_empty()) {
            let id = turn.as_str().to_owned();
            return self.core.reply(reply, Err(Refusal::Unknown { what: "turnId", id }));
        }
        if queued {
            gone.extend(self.own.queue.remove(&mut self.core, |_| true));
        }
        if !is_newest || (self.own.state.is_resting() && !self.runs_turn()) {
            return self.core.reply(reply, Ok(Answer::TurnCancelled(None, gone)));
        }
        let ran = self.runs_turn();
        if ran {
            // Renders that wait are of this turn.
            self.own.renders.refuse(&mut self.core);
        }
        self.stop(ran);
        self.core.reply(reply, Ok(Answer::TurnCancelled(newest, gone)));
    }

    /// Stops what runs; if a turn ran, that is cancelled.
    fn stop(&mut self, ran: bool) {
        self.stop_running();
        if ran {
            self.end_turn(TurnStatus::Cancelled);
        }
    }

    /// Prepares for the end of the process: an answer so far is kept, for the user saw it. Waits stay as they are.
    pub(super) fn ending(&mut self) {
        self.own.renders.refuse(&mut self.core);
        self.own.queue.hold();
        self.own.titler.forget(&mut self.core);
        self.own.background.cancel(&mut self.core);
        match &self.own.state {
            State::Resting(_) | State::Paused(_) | State::Calling(_) => {}
            State::Streaming(_) | State::Compacting(_) | State::Reviewing(_) => {
                let ran = self.runs_own_turn();
                self.stop_running();
                if ran {
                    // Nobody cancelled it.
                    let began = self.core.turns().last().and_then(|row| row.figures.began);
                    self.core.interrupt_turn(TurnStatus::Cancelled, began);
                    self.end_turn(TurnStatus::Cancelled);
                }
            }
        }
        self.core.write_deferred_head();
    }

    /// Stops what is done only for a request whose answer nobody waits for.
    pub(super) fn abandoned(&mut self, reply: ReplyTo) {
        self.own.renders.forget(reply);
        if self.own.state.job().and_then(|job| job.then.reply()) == Some(reply) {
            self.stop_running();
        }
    }

    fn branch(
        &mut self,
        reply: ReplyTo,
        to: SessionId,
        up_to: Option<At>,
        title: Option<String>,
        key: Option<String>,
    ) {
        if self.own.queue.answered_before(&mut self.core, reply, key.as_deref()) {
            return;
        }
        match branch(&mut self.core, &to, up_to, title) {
            Ok(()) => {
                let accepted = Accepted { session: Some(to), ..Accepted::default() };
                self.own.queue.accept(&mut self.core, reply, key, accepted);
            }
            Err(refusal) => self.core.reply(reply, Err(refusal)),
        }
    }

    /// Begins a new chat under the same id. What runs is stopped first, and the revision keeps everything.
    fn reset(&mut self, reply: ReplyTo, keep_queue: bool, key: Option<String>) {
        if self.own.queue.answered_before(&mut self.core, reply, key.as_deref()) {
            return;
        }
        let runs = self.runs_turn();
        // Waiting renders are for the old chat; one begun now would go on in the new one.
        self.own.renders.refuse(&mut self.core);
        self.stop_running();
        if runs {
            self.end_turn(TurnStatus::Cancelled);
        }
        let core = &mut self.core;
        let gone = if keep_queue { Vec::new() } else { self.own.queue.remove(core, |_| true) };
        // The title would be for the old chat.
        self.own.titler.cancel(core);
        self.own.background.cancel(core);
        let revision = reset(core);
        self.own.state = State::Resting(Rest::Idle);
        let accepted = Accepted { session: revision, ..Accepted::default() };
        self.own.queue.remember_key(core, key, &accepted);
        core.reply(reply, Ok(Answer::Reset(accepted, gone)));
    }

    fn revert(&mut self, reply: ReplyTo, to: Stored, key: Option<String>) {
        if self.own.queue.answered_before(&mut self.core, reply, key.as_deref()) {
            return;
        }
        let runs = self.core.turns().last().is_some_and(|turn| turn.status == TurnStatus::Running);
        if runs || !self.own.is_free() {
            let refusal = self.invalid();
            return self.core.reply(reply, Err(refusal));
        }
        let revision = revert(&mut self.core, to);
        if revision.is_some() {
            self.find_state();
            tell_next_context(&mut self.core);
        }
        let accepted = Accepted { session: revision, ..Accepted::default() };
        self.own.queue.accept(&mut self.core, reply, key, accepted);
    }

    fn take_in(&mut self, reply: ReplyTo, given: TakeIn) {
        if !self.own.is_free() {
            let refusal = self.invalid();
            return self.core.reply(reply, Err(refusal));
        }
        let session = match take_in(&mut self.core, given) {
            Copied::Same => None,
            Copied::Changed(revision) => {
                self.find_state();
                revision
            }
        };
        self.core.reply(reply, Ok(Answer::Accepted(Accepted { session, ..Accepted::default() })));
    }

    /// Cuts of the transcript and its end: another pair after a change by the editor's history.
    pub(super) fn extent(&self) -> (u32, Ordinal) {
        (self.core.transcript().cuts(), self.core.next_ord())
    }

    /// Rests as follows from the last turn, if the editor's history changed the messages since `before`.
    pub(super) fn rest_anew(&mut self, before: (u32, Ordinal)) {
        let rest = rest_after(&self.core, self.core.last_turn());
        // A failure that stays keeps its reason.
        let is_other = self.own.state.is_resting() && self.own.state.name() != rest.name();
        if is_other && self.extent() != before {
            self.stand_still(State::Resting(rest));
        }
    }

    /// Finds and emits the state of a session whose messages were taken in from elsewhere.
    fn find_state(&mut self) {
        self.own.state = found(&self.core, &self.own.approvals).into();
        self.core.emit_state(self.own.state.name(), None);
    }

    /// Accepts the first request of a session without executing it: another process does. Which one and when
    /// is decided elsewhere.
    fn store_task(&mut self, reply: ReplyTo, start: Box<StartTurn>) {
        if !self.core.transcript().messages().is_empty() || !self.own.queue.is_empty() {
            return self.core.reply(reply, Err(Refusal::NotEmpty));
        }
        let (key, content) = (start.key.clone(), start.content.clone());
        let work = NewWork::Start(start);
        if let Err(refusal) = self.check(&work) {
            return self.core.reply(reply, Err(refusal));
        }
        // A list that shows the waiting session needs its title.
        name_by(&mut self.core, &content);
        self.core.set_waits(true);
        self.own.queue.hold();
        self.own.queue.enqueue(&mut self.core, reply, key, false, work);
    }

    fn end_editors_turn(&mut self, reply: ReplyTo, status: TurnStatus) {
        let Some(turn) = self.core.turn_id() else {
            return self.core.reply(reply, Err(Refusal::Empty("the session has no turn to end")));
        };
        match status {
            TurnStatus::Completed | TurnStatus::Running | TurnStatus::Cancelled => self.end_turn(status),
            TurnStatus::Failed => self.fail("the editor reported that the turn failed".to_owned()),
        }
        let summaries = self.core.summaries_of(self.core.last_turn());
        self.core.reply(reply, Ok(Answer::TurnEnded { turn, summaries }));
    }

    /// Compacts on request, or previews that.
    fn compact_for(&mut self, reply: ReplyTo, compact: Compact) {
        let Compact { focus, redo, keep, preview: is_preview } = compact;
        let counter = self.core.counter();
        let budget = self.core.budget().map_err(Refusal::from);
        let again = match budget.and_then(|_| Again::of(&self.core, redo, keep, counter)) {
            Ok(again) => again,
            Err(refusal) => return self.core.reply(reply, Err(refusal)),
        };
        let begin = Begin { focus, again, ..Begin::new(Trigger::Manual, Then::Report(reply)) };
        if !is_preview {
            return self.compact(begin);
        }
        let job = Job::new(&self.core, begin, self.rest());
        let answer = preview(&self.core, &job);
        self.core.reply(reply, answer);
    }
}
