//! What a command does: the ones that touch the whole session. Turns, tools, renders and compactions have files of
//! their own.

use super::effect::{Answer, Refusal};
use super::event::EventBody;
use super::input::{Command, Configure, GivenPrefix, Open, ReplyTo};
use super::reconcile::Report;
use super::state::{Rest, State, Then};
use super::stored::{Driver, TurnStatus};
use super::{Session, Step};
use crate::engine::prompt::system::Fixed;

impl Step<'_> {
    pub(super) fn command(&mut self, reply: ReplyTo, command: Command) {
        if let Some(driver) = driver_of(&command).filter(|driver| *driver != self.session.head.driver) {
            let _ = driver;
            self.reply(reply, Err(Refusal::OtherDriver(self.session.head.driver)));
            return;
        }
        match command {
            Command::Open(open) => self.open(reply, *open),
            Command::StartTurn(start) => self.start_turn(reply, *start),
            Command::CancelTurn => self.cancel_turn(reply),
            Command::EndTurn(status) => self.end_editors_turn(reply, status),
            Command::AppendRound(round) => self.append_round(reply, round),
            Command::Render(render) => self.render(reply, *render),
            Command::Compact { focus } => self.compact(reply, focus),
            Command::Decide(decisions) => self.decide(reply, &decisions),
            Command::ToolResult(result) => self.tool_result(reply, result),
            Command::Configure(configure) => self.configure(reply, *configure),
            Command::Inspect => {
                let inspected = self.session.inspect(self.around.counter.name());
                let answer = match (inspected, self.session.settings.budget()) {
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
            Command::Subscribe { since } => self.subscribe(reply, since),
        }
    }

    fn open(&mut self, reply: ReplyTo, open: Open) {
        if open.title.is_some() {
            self.session.head.title = open.title;
        }
        self.take_prefix(open.prefix);
        self.write_head();
        let given = open.history.is_some();
        self.end_interrupted();
        let mut report = match open.history {
            Some(history) if self.is_resting() => self.take_history(history),
            // What runs now is newer than what an editor that comes back has.
            Some(_) | None => Report::default(),
        };
        report.unreadable = std::mem::take(&mut self.session.unreadable);
        if given || !report.unreadable.is_empty() {
            self.emit(EventBody::RestoreReported(Box::new(report.clone())));
        }
        let snapshot = self.session.snapshot();
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
            let why = "the process that ran this turn was ended; what was said is kept";
            self.session.state = State::Resting(Rest::Failed(why.to_owned()));
        }
    }

    fn snapshot(&mut self, reply: ReplyTo) {
        let snapshot = self.session.snapshot();
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
            let fixed = Fixed::new("", &prefix.sections, prefix.tools.clone(), self.around.counter);
            self.session.fixed = fixed;
            self.write_head();
        }
    }

    fn configure(&mut self, reply: ReplyTo, configure: Configure) {
        if let Err(error) = configure.settings.budget() {
            self.reply(reply, Err(error.into()));
            return;
        }
        self.session.settings = configure.settings;
        self.session.head.settings = configure.own;
        if configure.title.is_some() {
            self.session.head.title = configure.title;
        }
        self.write_head();
        let title = self.session.head.title.clone();
        self.emit(EventBody::ThreadUpdated { title });
        self.reply(reply, Ok(Answer::Configured));
    }

    fn subscribe(&mut self, reply: ReplyTo, since: Option<(String, u64)>) {
        let Session { stream, events, .. } = &self.session;
        let missed = since.filter(|(known, _)| known == stream).and_then(|(_, seq)| events.since(seq));
        match missed {
            Some(events) => self.reply(reply, Ok(Answer::Events(events))),
            None => self.snapshot(reply),
        }
    }

    fn end_editors_turn(&mut self, reply: ReplyTo, status: TurnStatus) {
        if !self.is_resting() {
            let refusal = self.invalid();
            return self.reply(reply, Err(refusal));
        }
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
    pub(super) fn not_written(&mut self, why: String) {
        let ran = match &self.session.state {
            State::Resting(_) => false,
            State::Compacting(running) => running.job.then == Then::Generate,
            State::Streaming(_) | State::Paused(_) | State::WaitingIde(_) => true,
        };
        // A render that is stopped makes room for the next one.
        while !self.is_resting() {
            self.stop_running();
        }
        if ran {
            return self.fail(why);
        }
        self.enter(State::Resting(Rest::Failed(why)));
    }
}

/// The driver that a command belongs to, where it belongs to one.
fn driver_of(command: &Command) -> Option<Driver> {
    match command {
        Command::EndTurn(_) | Command::AppendRound(_) | Command::Render(_) => Some(Driver::Editor),
        Command::Decide(_) | Command::ToolResult(_) => Some(Driver::Sidecar),
        Command::Open(_)
        | Command::StartTurn(_)
        | Command::CancelTurn
        | Command::Compact { .. }
        | Command::Configure(_)
        | Command::Inspect
        | Command::Recall(_)
        | Command::Subscribe { .. } => None,
    }
}
