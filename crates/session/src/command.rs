//! What a command does: the ones that touch the whole session. Turns, tools, renders and compactions have files of
//! their own.

use super::acceptance::{self, Takes};
use super::effect::{Answer, Effect, Refusal};
use super::event::{EventBody, TurnEnd};
use super::input::{At, Command, Configure, GivenPrefix, NotWritten, Open, ReplyTo};
use super::queue::{NewWork, Work};
use super::reconcile::Report;
use super::settings::Settings;
use super::state::{Rest, State};
use super::stored::{Driver, TitleFrom, TurnStatus};
use super::{Session, Step};
use engine::id::MessageId;

impl Step<'_> {
    pub(super) fn command(&mut self, reply: ReplyTo, command: Command) {
        if let Some(row) = command.name().and_then(acceptance::row) {
            if row.driver.is_some_and(|driver| driver != self.session.head.driver) {
                return self.reply(reply, Err(Refusal::OtherDriver(self.session.head.driver)));
            }
            if row.takes(self.session.state.name()) == Takes::Refused {
                let refusal = self.invalid();
                return self.reply(reply, Err(refusal));
            }
        }
        if !std::mem::replace(&mut self.session.is_begun, true) {
            self.end_interrupted();
            self.run_own_again();
        }
        match command {
            Command::Open(open) => self.open(reply, *open),
            Command::StartTurn(start) => {
                let (key, priority) = (start.key.clone(), start.priority);
                self.take_work(reply, key, priority, NewWork::Start(start));
            }
            Command::Retry { from, content, key } => {
                self.rewind(reply, key, &from, |from| Work::Retry { from, content });
            }
            Command::Regenerate { key } => {
                self.take_work(reply, key, false, NewWork::Other(Work::Regenerate));
            }
            Command::Update { message, content, regenerate, key } => {
                let work = |message| Work::Update { message, content, regenerate };
                self.rewind(reply, key, &message, work);
            }
            Command::Remove { message, key } => {
                self.rewind(reply, key, &message, |message| Work::Remove { message });
            }
            Command::Truncate { from, key } => {
                self.rewind(reply, key, &from, |from| Work::Truncate { from });
            }
            Command::CancelTurn { turn, queued } => self.cancel_turn(reply, turn, queued),
            Command::CancelQueued(id) => self.cancel_queued(reply, &id),
            Command::Branch { to, up_to, title, key } => self.branch(reply, to, up_to, title, key),
            Command::Reset { keep_queue, key } => self.reset(reply, keep_queue, key),
            Command::Restore(restore) => self.restore(reply, *restore),
            Command::TakeIn(given) => self.take_in(reply, *given),
            Command::SetDraft(draft) => self.set_draft(reply, draft),
            Command::Notice { kind, text } => {
                self.session.notices.push((kind, text));
                let state = self.session.state.name();
                self.reply(reply, Ok(Answer::Done(state)));
            }
            Command::StoreTask(start) => self.store_task(reply, start),
            Command::RunTask => self.run_task(reply),
            Command::EndTurn(status) => self.end_editors_turn(reply, status),
            Command::AppendRound(round) => self.append_round(reply, round),
            Command::Render(render) => self.render(reply, *render),
            Command::Compact(compact) => self.compact(reply, compact),
            Command::Undo(id) => self.undo(reply, id.as_ref()),
            Command::Edit { compaction, narrative } => self.edit(reply, &compaction, &narrative),
            Command::Exclude(messages) => self.exclude(reply, &messages),
            Command::Pin(what) => self.pin(reply, what),
            Command::Unpin(id) => self.unpin(reply, &id),
            Command::Decide(decisions) => self.decide(reply, &decisions),
            Command::ToolResult(result) => self.tool_result(reply, result),
            Command::Configure(configure) => self.configure(reply, *configure),
            Command::Inspect => {
                let inspected = self.session.inspect(self.around.counter.name(), self.around.now);
                let answer = match (inspected, self.session.budget()) {
                    (Some(inspection), _) => Ok(Answer::Inspected(Box::new(inspection))),
                    (None, Err(error)) => Err(error.into()),
                    (None, Ok(_)) => Err(Refusal::Empty("there is nothing to inspect")),
                };
                self.reply(reply, answer);
            }
            Command::Recall(recall) => {
                let recalled = self.session.recall(recall).map(Answer::Recalled);
                self.reply(reply, recalled);
            }
            Command::Ledger(query) => {
                let page = self.session.ledger(query).map(|page| Answer::Ledger(Box::new(page)));
                self.reply(reply, page);
            }
            // The index is the store's, and all that was said is stored before this is done.
            Command::Search(query) => self.effects.push(Effect::Search(reply, query)),
            Command::Subscribe { since, newest } => self.subscribe(reply, since, newest),
        }
    }

    /// Takes in what changes the past, once it is known what it is about.
    fn rewind(&mut self, reply: ReplyTo, key: Option<String>, at: &At, work: impl FnOnce(MessageId) -> Work) {
        // The first answer stands, also where the message is gone by now.
        if self.answered_before(reply, key.as_deref()) {
            return;
        }
        match self.session.resolve(at) {
            Ok(id) => self.take_work(reply, key, false, NewWork::Other(work(id))),
            Err(refusal) => self.reply(reply, Err(refusal)),
        }
    }

    fn open(&mut self, reply: ReplyTo, open: Open) {
        if open.title.is_some() {
            self.session.head.title = open.title;
            self.session.head.title_from = Some(TitleFrom::Client);
        }
        // Who only looks at a session says nothing in it.
        if !self.session.head.waits {
            // What waits for another process is carried out as it was asked for.
            self.take_prefix(open.prefix);
        }
        self.write_head_as_it_was_used();
        let given = open.history.is_some();
        let mut report = match open.history {
            Some(history) if self.is_resting() => self.take_history(history),
            // What runs now is newer than what an editor that comes back has.
            Some(_) | None => Report::default(),
        };
        report.unreadable = std::mem::take(&mut self.session.unreadable);
        if given || !report.unreadable.is_empty() {
            self.emit(EventBody::RestoreReported(Box::new(report.clone())));
        }
        self.tell_deltas();
        let snapshot = self.session.shown(open.newest);
        self.reply(reply, Ok(Answer::Opened(Box::new((snapshot, report)))));
    }

    /// A turn that ran when its process was ended, and that waits for nobody, does not run any more.
    fn end_interrupted(&mut self) {
        let is_ours = self.session.head.driver == Driver::Sidecar && self.is_resting();
        let runs = self.session.turns.last().is_some_and(|row| row.status == TurnStatus::Running);
        if is_ours && runs {
            // No event: whoever opens a session gets all of it.
            let last = self.session.turns.len() - 1;
            self.set_turn(last, TurnStatus::Failed);
            self.let_go(TurnStatus::Failed);
            let why = "this turn was cut off: its process ended, or the session was taken over; what was said is kept";
            self.session.state = State::Resting(Rest::Failed(why.to_owned()));
        }
    }

    fn snapshot(&mut self, reply: ReplyTo, newest: Option<u32>) {
        // It holds all that was said, so all of that must be told before its number.
        self.tell_deltas();
        let snapshot = self.session.shown(newest);
        self.reply(reply, Ok(Answer::Snapshot(Box::new(snapshot))));
    }

    /// Takes tools and sections on, where they are given and others than before.
    pub(super) fn take_prefix(&mut self, given: GivenPrefix) {
        let prefix = &mut self.session.head.prefix;
        let mut changed = false;
        if let Some(sections) = given.sections.filter(|sections| *sections != prefix.sections) {
            prefix.sections = sections;
            changed = true;
        }
        if let Some(tools) = given.tools.filter(|tools| *tools != prefix.tools) {
            prefix.tools = tools;
            changed = true;
        }
        if changed {
            self.session.freeze(self.around.counter);
            self.write_head();
        }
    }

    fn configure(&mut self, reply: ReplyTo, configure: Configure) {
        if let Err(error) = configure.settings.budget() {
            self.reply(reply, Err(error.into()));
            return;
        }
        self.session.head.settings = configure.own;
        if configure.title.is_some() {
            self.session.head.title = configure.title;
            self.session.head.title_from = Some(TitleFrom::Client);
        }
        self.write_head();
        self.take_settings(configure.settings);
        self.reply(reply, Ok(Answer::Configured));
    }

    /// Other settings hold from now on; who shows them is told.
    pub(super) fn take_settings(&mut self, settings: Settings) {
        let old = std::mem::replace(&mut self.session.settings, settings);
        if old.model != self.session.settings.model {
            self.cancel_background();
            self.forget_other_limit();
        }
        if old.policy != self.session.settings.policy && self.session.head.carried.held.take().is_some() {
            self.write_head_as_it_was_used();
        }
        let new = &self.session.settings;
        let text = |of: &Settings| (of.system.clone(), of.policy.order.clone());
        if old.own_tools != new.own_tools || text(&old) != text(new) {
            self.session.freeze(self.around.counter);
        }
        if old.memory.core != self.session.settings.memory.core
            && self.session.is_stored
            && self.read_memories()
        {
            self.write_head_as_it_was_used();
        }
        self.emit_thread();
    }

    fn subscribe(&mut self, reply: ReplyTo, since: Option<(String, u64)>, newest: Option<u32>) {
        let Session { stream, events, .. } = &self.session;
        let missed = since.filter(|(known, _)| known == stream).and_then(|(_, seq)| events.since(seq));
        match missed {
            Some(events) => self.reply(reply, Ok(Answer::Events(events))),
            None => self.snapshot(reply, newest),
        }
    }

    fn end_editors_turn(&mut self, reply: ReplyTo, status: TurnStatus) {
        let Some(turn) = self.turn_id() else {
            return self.reply(reply, Err(Refusal::Empty("there is no turn that could end")));
        };
        match status {
            TurnStatus::Completed => self.end_turn(status, Rest::Completed),
            TurnStatus::Running | TurnStatus::Cancelled => self.end_turn(status, Rest::Idle),
            TurnStatus::Failed => self.fail("the editor says that the turn failed".to_owned()),
        }
        let summaries = self.session.summaries_of(self.session.turns.len().saturating_sub(1));
        self.reply(reply, Ok(Answer::TurnEnded { turn, summaries }));
    }

    /// What was written could not be stored: nothing goes on that nobody could find again. It is still here, and is
    /// stored with what comes next.
    pub(super) fn not_written(&mut self, failed: NotWritten) {
        let why = Refusal::NotStored { cause: failed.cause, why: failed.why };
        let ran = self.runs_turn();
        self.session.queue.is_held = true;
        // Who was to be asked beside the turn may never have been.
        self.cancel_background();
        // A render that is stopped makes room for the next one.
        while !self.is_resting() {
            self.stop_running();
        }
        if ran {
            return self.fail(why);
        }
        self.session.state = State::Resting(Rest::Failed(why.to_string()));
        if failed.ended_turn {
            // Its end was told, and is taken back: what it said is kept.
            self.set_turn(self.session.turns.len().saturating_sub(1), TurnStatus::Failed);
        }
        let error =
            TurnEnd { status: TurnStatus::Failed, error: Some(why), ended_by: None, summaries: Vec::new() };
        let (state, turn) = (self.session.state.name(), self.turn_id());
        self.emit(EventBody::RuntimeUpdated { state, turn, ended: failed.ended_turn.then_some(error) });
    }
}
