//! Flows across components: request, prompt, answer, tools, and again; compactions in between; queued work
//! once nothing runs.

use super::{Components, Step};
use crate::commands::queue::{NewWork, check_start};
use crate::compaction::descent::{self, Stage};
use crate::compaction::job::{Begin, End, Job, Then};
use crate::compaction::reviewed;
use crate::compaction::summarizing::Ended;
use crate::compaction::terms::beforehand;
use crate::context::prefix::renew_for_turn;
use crate::history::render::{self, rendered};
use crate::history::rewind::{self, Done, Follows, check_rewind};
use crate::state::State;
use crate::title::name_after;
use crate::tools::round::{self, Begun};
use crate::turn::answer::{self, AnswerOutcome, Broken, Cut};
use crate::turn::end::{close_running, end};
use crate::turn::generate::{self, Before, Generated};
use crate::turn::size::{self, Remedy, goes_beyond};
use crate::turn::{request, wrap_up};
use crate::values::decision::Decision;
use crate::values::effect::Answer;
use crate::values::event::{EventBody, Phase};
use crate::values::input::{Render, ReplyTo, Review, StartTurn, Timer};
use crate::values::queue::{MOST_QUEUED, Work};
use crate::values::refusal::Refusal;
use crate::values::rest::Rest;
use crate::values::stored::{Driver, TurnStatus};
use engine::compact::record::Mode;
use engine::id::{CallId, MessageId, TurnId};
use engine::message::{NewMessage, ToolResult};
use engine::prompt::request as model;

impl Step<'_> {
    /// Starts a turn with a user's request, whose ids may have been reserved while it was queued. It is
    /// stored before anything else is done.
    pub(super) fn start(&mut self, start: StartTurn, promised: Option<(TurnId, MessageId)>) -> Done {
        if !self.own.state.is_resting() {
            return self.inject((start, promised));
        }
        close_running(&mut self.core);
        renew_for_turn(&mut self.core);
        self.core.announce_stripped();
        let new = self.request(start);
        let ord = self.core.append_turn(new, promised);
        self.core.limits_mut().1.report(None);
        self.core.set_turn(self.core.last_turn(), TurnStatus::Running);
        name_after(&mut self.core, ord);
        self.core.write_head();
        let is_ours = self.core.head().driver == Driver::Sidecar;
        self.rest_with_editor();
        let follows = if is_ours { Follows::Answer } else { Follows::Nothing };
        Done { accepted: request::accepted(&self.core, ord), follows }
    }

    /// Adds a user's message to the running turn. A streaming answer is broken off; what there is of it stays.
    fn inject(&mut self, (start, promised): (StartTurn, Option<(TurnId, MessageId)>)) -> Done {
        self.stop_running();
        let new = self.request(start);
        let ord = self.core.inject(new, promised);
        self.core.write_head();
        Done { accepted: request::accepted(&self.core, ord), follows: Follows::Answer }
    }

    fn request(&mut self, start: StartTurn) -> NewMessage {
        if start.model.as_ref().is_some_and(|(model, _)| self.core.settings().model != *model) {
            self.own.background.cancel(&mut self.core);
        }
        request::take(&mut self.core, start)
    }

    /// Asks the model to continue, after a compaction if one is due.
    pub(super) fn generate(&mut self, before: Before) {
        match generate::ask(&mut self.core, before) {
            Generated::Sent(streaming, tokens) => {
                self.own.state = State::Streaming(streaming);
                self.own.background.prepare(&mut self.core, tokens);
            }
            Generated::Compact(begin) => self.compact(*begin),
            Generated::Fail(why) => self.fail(why),
            Generated::Nothing => {}
        }
    }

    /// Handles a model's answer to a turn.
    pub(super) fn answered(&mut self, outcome: Result<model::Answer, Broken>) {
        let running = match std::mem::replace(&mut self.own.state, State::Resting(Rest::Idle)) {
            State::Streaming(running) => *running,
            other => return self.own.state = other,
        };
        match answer::take(&mut self.core, running, outcome) {
            AnswerOutcome::Again => self.generate(Before::Nothing),
            AnswerOutcome::TooLarge { overflow, asked, why } => {
                match size::refused(&mut self.core, overflow, asked, why) {
                    Remedy::Again => self.generate(Before::Nothing),
                    Remedy::Compact(begin) => self.compact(*begin),
                    Remedy::Fail(why) => self.fail(why),
                }
            }
            AnswerOutcome::Failed(why) => self.fail(why),
            AnswerOutcome::Calls => {
                let begun = round::begin(&mut self.core, &self.own.approvals);
                self.calls_begun(begun);
            }
            AnswerOutcome::Continued(cut) => self.round_over(Some(cut)),
            AnswerOutcome::Completed => self.end_turn(TurnStatus::Completed),
        }
    }

    fn calls_begun(&mut self, begun: Begun) {
        match begun {
            Begun::Paused(pause) => self.own.state = State::Paused(pause),
            Begun::Calling(calling) => self.own.state = State::Calling(calling),
            Begun::Answered => self.round_over(None),
        }
    }

    /// Continues the turn when all calls have a result or its answer was cut, unless a call ended it or its limits are
    /// reached.
    fn round_over(&mut self, cut: Option<Cut>) {
        if round::ends_turn(&mut self.core) {
            return self.end_turn(TurnStatus::Completed);
        }
        if let Some(used) = wrap_up::used_up(&self.core) {
            return self.fail(used);
        }
        if self.inject_urgent() {
            return self.generate(Before::Nothing);
        }
        if wrap_up::is_over(&mut self.core) || round::is_at_limit(&mut self.core) {
            return self.end_turn(TurnStatus::Completed);
        }
        // Directly behind the answer that it speaks of.
        if let Some(cut) = cut {
            answer::go_on(&mut self.core, cut);
        }
        wrap_up::ask(&mut self.core);
        self.generate(Before::Nothing);
    }

    /// Takes the result of a call that runs. Fails for any other call, without a change.
    pub(super) fn take_result(&mut self, call: &CallId, result: ToolResult) -> Result<(), Refusal> {
        let before = self.own.state.name();
        let is_open = match &mut self.own.state {
            State::Calling(calling) => calling.end(call),
            _ => false,
        };
        if !is_open {
            let id = call.as_str().to_owned();
            return Err(match self.core.transcript().has_call(call) {
                true => Refusal::Settled { what: "tool call", id },
                false => Refusal::Unknown { what: "tool call", id },
            });
        }
        self.core.stop(Timer::Tool(call.clone()));
        round::answer(&mut self.core, call, result);
        match &self.own.state {
            State::Calling(calling) if calling.is_over() => self.round_over(None),
            // The editor's calls are done, some of our own still run.
            state if state.name() != before => self.core.emit_state(state.name(), None),
            _ => {}
        }
        Ok(())
    }

    /// Takes decisions, all of them or none.
    pub(super) fn take_decisions(&mut self, decisions: &[Decision]) -> Result<(), Refusal> {
        let State::Paused(pause) = &mut self.own.state else { return Err(self.invalid()) };
        pause.decide(decisions)?;
        // A client is back: commands queued when the process ended follow this turn.
        self.own.queue.release();
        self.own.approvals.remember(&mut self.core, decisions);
        self.core.note_decided(decisions);
        if !pause.open().is_empty() {
            // Acknowledged decisions are stored, even if others are still open.
            self.core.change_last_turn(|_| {});
            let asked = self.own.approvals.asked(&self.core, pause.open());
            self.core.emit(EventBody::PauseRequired(asked));
            return Ok(());
        }
        let begun = round::resume(&mut self.core, &self.own.approvals, pause);
        self.calls_begun(begun);
        Ok(())
    }

    /// Ends the newest turn as failed.
    pub(super) fn fail(&mut self, why: impl Into<Refusal>) {
        let why = why.into();
        self.turn_ended(TurnStatus::Failed, Some(why));
    }

    /// Ends the newest turn, and emits that.
    pub(super) fn end_turn(&mut self, status: TurnStatus) {
        self.turn_ended(status, None);
    }

    fn turn_ended(&mut self, status: TurnStatus, error: Option<Refusal>) {
        let (rest, is_first) = end(&mut self.core, status, error);
        self.own.state = State::Resting(rest);
        if is_first {
            self.own.titler.ask(&mut self.core);
        }
    }

    /// Begins a compaction, with the prepared summary if that serves.
    pub(super) fn compact(&mut self, begin: Begin) {
        let job = Job::new(&self.core, begin, self.rest());
        let job = match self.own.background.use_for(&mut self.core, job) {
            Ok(stage) => return self.staged(stage),
            Err(job) => *job,
        };
        descent::tell(&mut self.core, Phase::Started, &job, None, Some(job.reason()));
        let stage = match beforehand(&self.core, &job) {
            Some(why) => Stage::nothing(job, why),
            None => descent::begin(&mut self.core, job),
        };
        self.staged(stage);
    }

    /// The rest of the session; idle if it does not rest.
    pub(super) fn rest(&self) -> Rest {
        match &self.own.state {
            State::Resting(rest) => rest.clone(),
            State::Streaming(_)
            | State::Compacting(_)
            | State::Reviewing(_)
            | State::Paused(_)
            | State::Calling(_) => Rest::Idle,
        }
    }

    /// Waits for what a compaction waits for, or does what follows it.
    fn staged(&mut self, stage: Stage) {
        match stage {
            Stage::Summarizing { running, goes_on: true } => self.own.state = State::Compacting(running),
            Stage::Summarizing { running, goes_on: false } => self.stand_still(State::Compacting(running)),
            Stage::Reviewing(reviewing) => {
                self.stand_still(State::Reviewing(reviewing.clone()));
                reviewing.ask(&mut self.core);
            }
            Stage::Ended(job, end) => self.compacted(*job, end),
        }
    }

    /// Enters a state that waits, and emits it if its name is another one.
    pub(super) fn stand_still(&mut self, state: State) {
        let was = std::mem::replace(&mut self.own.state, state).name();
        let name = self.own.state.name();
        if was != name {
            self.core.emit_state(name, None);
        }
    }

    /// Continues a compaction after its summary call.
    pub(super) fn summary_ended(&mut self, ended: Ended) {
        match std::mem::replace(&mut self.own.state, State::Resting(Rest::Idle)) {
            State::Compacting(running) => {
                let stage = descent::resume(&mut self.core, *running, ended);
                self.staged(stage);
            }
            other => self.own.state = other,
        }
    }

    /// Continues with the user's review; `None` if the client cannot ask the user.
    pub(super) fn reviewed(&mut self, review: Option<Review>) {
        match std::mem::replace(&mut self.own.state, State::Resting(Rest::Idle)) {
            State::Reviewing(reviewing) => {
                let stage = reviewed::answered(&mut self.core, *reviewing, review);
                self.staged(stage);
            }
            other => {
                self.own.state = other;
                self.core.trace("an answer about a compaction came late and was dropped");
            }
        }
    }

    /// Continues when the deadline of a review has passed.
    pub(super) fn review_expired(&mut self) {
        match std::mem::replace(&mut self.own.state, State::Resting(Rest::Idle)) {
            State::Reviewing(reviewing) => {
                let stage = reviewed::expired(&mut self.core, *reviewing);
                self.staged(stage);
            }
            other => self.own.state = other,
        }
    }

    /// Does what follows a compaction, and begins the render that waits next.
    fn compacted(&mut self, job: Job, end: End) {
        descent::close(&mut self.core, &job, &end);
        if job.then == Then::Generate {
            return self.goes_on(job, end);
        }
        self.own.state = State::Resting(job.rest);
        let core = &mut self.core;
        match (job.then, end) {
            (Then::Generate | Then::Rest, _) => {}
            (Then::Report(reply), End::Made(record)) => {
                let metadata = core.persisted(&record);
                core.reply(reply, Ok(Answer::Compacted(Ok(Box::new((*record, metadata))))));
            }
            (Then::Report(reply), End::Nothing(why)) => core.reply(reply, Ok(Answer::Compacted(Err(why)))),
            (Then::Report(reply), End::CannotFit(sizes)) => core.reply(reply, Err(sizes.into())),
            (Then::Render(rendering), End::Made(record)) => rendered(core, *rendering, Some(*record), None),
            (Then::Render(rendering), End::Nothing(why)) => match job.exceeded {
                Some(exceeded) => core.reply(rendering.reply, Err(exceeded.into())),
                None => rendered(core, *rendering, None, Some(why)),
            },
            (Then::Render(rendering), End::CannotFit(sizes)) => match job.exceeded {
                Some(_) => core.reply(rendering.reply, Err(sizes.into())),
                None => rendered(core, *rendering, None, Some(sizes.to_string())),
            },
        }
        self.rest_again();
    }

    /// Continues the turn after its compaction.
    fn goes_on(&mut self, job: Job, end: End) {
        match end {
            // A message that came meanwhile is added before the model is asked.
            End::Made(_) if self.inject_urgent() => self.generate(Before::Nothing),
            End::Made(_) => self.generate(Before::Made),
            End::Nothing(why) => match job.exceeded {
                Some(exceeded) => {
                    self.core.trace(why);
                    self.fail(exceeded);
                }
                // The prompt is sent as it is.
                None => self.generate(Before::Tried),
            },
            End::CannotFit(_) if goes_beyond(&mut self.core) => self.generate(Before::Nothing),
            End::CannotFit(sizes) => self.fail(sizes),
        }
    }

    /// Emits that the session rests, and begins the renders that wait.
    fn rest_again(&mut self) {
        if !self.own.state.is_resting() {
            return;
        }
        self.core.emit_state(self.own.state.name(), None);
        while let Some((reply, render)) = self.own.renders.pop() {
            self.render(reply, render);
            if !self.own.state.is_resting() {
                break;
            }
        }
    }

    pub(super) fn render(&mut self, reply: ReplyTo, render: Render) {
        if !self.own.state.is_resting() {
            return self.own.renders.push(reply, render);
        }
        let is_idle = self.is_idle();
        let before = self.extent();
        let begin = render::begin(&mut self.core, reply, render, is_idle);
        self.rest_anew(before);
        self.rest_with_editor();
        if let Some(begin) = begin {
            self.compact(begin);
        }
    }

    /// Stops whatever runs, and keeps what there is of it. The caller sets the state, but after a render or a
    /// reported compaction: those are answered, and the session rests.
    pub(super) fn stop_running(&mut self) {
        let core = &mut self.core;
        match std::mem::replace(&mut self.own.state, State::Resting(Rest::Idle)) {
            State::Resting(rest) => self.own.state = State::Resting(rest),
            State::Streaming(running) => answer::break_off(core, *running),
            State::Compacting(mut running) => {
                running.cancel(core);
                let mode = running.mode();
                self.stopped(running.into_job(), mode);
            }
            State::Reviewing(reviewing) => {
                reviewing.cancel(core);
                let mode = reviewing.mode();
                self.stopped(reviewing.into_job(), mode);
            }
            State::Paused(_) => {
                core.emit(EventBody::PauseCleared);
                let calls = core.unanswered();
                round::answer_cancelled(core, calls);
            }
            State::Calling(calling) => round::answer_cancelled(core, calling.all()),
        }
    }

    /// Cancels a compaction: nothing of it stays, and who asked for it is answered.
    fn stopped(&mut self, job: Job, mode: Mode) {
        self.own.state = State::Resting(job.rest.clone());
        descent::tell(&mut self.core, Phase::Cancelled, &job, Some(mode), None);
        if let Some(reply) = job.then.reply() {
            self.core.reply(reply, Err(Refusal::Cancelled));
        }
        if job.then != Then::Generate {
            self.rest_again();
        }
    }

    /// Executes a command now, or queues it. A refused one changes nothing, and one whose key is known is not
    /// executed again.
    pub(super) fn take_work(&mut self, reply: ReplyTo, key: Option<String>, priority: bool, work: NewWork) {
        if self.own.queue.answered_before(&mut self.core, reply, key.as_deref()) {
            // A client is back: commands queued when the process ended go on.
            return self.own.queue.release();
        }
        if let Err(refusal) = self.check(&work) {
            return self.core.reply(reply, Err(refusal));
        }
        if self.own.queue.is_empty() {
            self.end_wait();
        }
        let is_streaming = matches!(self.own.state, State::Streaming(_));
        let interrupts = is_streaming && self.own.queue.lets_interrupt(priority, &work);
        self.own.queue.release();
        if self.own.is_free() || interrupts {
            let done = match work {
                NewWork::Start(start) => Ok(self.start(*start, None)),
                NewWork::Other(work) => self.do_work(work),
            };
            return match done {
                Ok(Done { accepted, follows }) => {
                    self.own.queue.accept(&mut self.core, reply, key, accepted);
                    self.follow(follows);
                }
                Err(refusal) => self.core.reply(reply, Err(refusal)),
            };
        }
        if self.own.queue.is_full() {
            let limit = u32::try_from(MOST_QUEUED).unwrap_or(u32::MAX);
            return self.core.reply(reply, Err(Refusal::QueueFull { limit }));
        }
        self.own.queue.enqueue(&mut self.core, reply, key, priority, work);
    }

    /// Checks a command as far as possible before its execution.
    pub(super) fn check(&self, work: &NewWork) -> Result<(), Refusal> {
        match work {
            NewWork::Start(start) => check_start(&self.core, start),
            NewWork::Other(work) => check_rewind(&self.core, work),
        }
    }

    /// Executes a command now.
    fn do_work(&mut self, work: Work) -> Result<Done, Refusal> {
        let core = &mut self.core;
        let done = match work {
            Work::Start { turn, message, start } => return Ok(self.start(*start, Some((turn, message)))),
            Work::Retry { from, content } => rewind::retry(core, &from, content),
            Work::Regenerate => rewind::regenerate(core),
            Work::Update { message, content, regenerate } => {
                rewind::update(core, &message, content, regenerate)
            }
            Work::Remove { message } => rewind::remove(core, &message),
            Work::Truncate { from } => rewind::truncate(core, &from),
        }?;
        if done.follows == Follows::Rest {
            self.own.state = State::Resting(Rest::Idle);
        }
        Ok(done)
    }

    fn follow(&mut self, follows: Follows) {
        if follows == Follows::Answer {
            self.generate(Before::Nothing);
        }
    }

    /// Starts queued commands while nothing runs.
    pub(super) fn next_in_queue(&mut self) {
        if !self.own.queue.is_empty() && !self.own.queue.is_held() && self.own.renders.is_empty() {
            self.end_wait();
        }
        // What waits follows the turn of an editor's loop.
        let has_room =
            |own: &Components| own.state.is_resting() && own.state != State::Resting(Rest::EditorsTurn);
        while has_room(self.own) && self.own.renders.is_empty() && !self.own.queue.is_held() {
            let Some(item) = self.own.queue.next(&mut self.core) else { return };
            match self.do_work(item.work) {
                Ok(done) => self.follow(done.follows),
                Err(why) => self.own.queue.failed(&mut self.core, item.id, why),
            }
        }
    }

    /// Adds queued urgent requests to the running turn, between two rounds; returns `true` if there was one.
    fn inject_urgent(&mut self) -> bool {
        let mut any = false;
        while let Some((start, promised)) = self.own.queue.next_urgent(&mut self.core) {
            self.inject((start, Some(promised)));
            any = true;
        }
        any
    }
}
