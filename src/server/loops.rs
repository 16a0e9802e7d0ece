//! Loops in this process: their stages' sessions are opened one after the other, and what becomes of them is told. Which
//! stage is next is the engine's to say.

use super::asking::prefix;
use super::inbox::Looping;
use super::main_loop::{MainLoop, NOBODY, Slot, wire};
use super::opening::{New, given_id, new_id};
use super::queued::{Opens, Queued};
use crate::convert::Reading;
use engine::id::SessionId;
use engine::message::Body;
use engine::stages::{Next, Over, StageEnd, Stages, Until};
use protocol::error::{ErrorData, ProtocolError};
use protocol::methods::{self, Named};
use protocol::stages::{
    LoopStartParams, LoopStartResult, LoopStatus, LoopStopResult, LoopUpdatedParams, Stage,
};
use session::event::TurnEnd;
use session::input::{Command, Open, ReplyTo, StartTurn};
use session::state::StateName;
use session::stored::{Driver, TurnStatus};

/// A loop that runs.
pub(super) struct Loop {
    stages: Stages,
    /// What is asked in each.
    asks: Vec<Asks>,
    folder: String,
    parent: Option<SessionId>,
    work_scope: String,
    /// The session of the stage that runs.
    session: SessionId,
}

/// A stage, read.
struct Asks {
    open: Open,
    start: StartTurn,
    settings: Option<protocol::settings::Settings>,
}

/// Carries out what a client asks for.
pub(super) fn ask(main: &mut MainLoop, to: ReplyTo, ask: Looping) -> Result<(), ProtocolError> {
    match ask {
        Looping::Start(params) => start(main, to, params),
        Looping::Stop(params) => {
            let Some(session) = main.loops.get(&params.loop_id).map(|running| running.session.clone()) else {
                let data = ErrorData::StaleReference { field: "loopId".into(), id: params.loop_id };
                return Err(ProtocolError::new(data, "no loop of this id runs here; nothing was done"));
            };
            main.loop_over(&params.loop_id, LoopStatus::Cancelled);
            let cancel = Command::CancelTurn { turn: None, queued: true };
            main.hand(&session, Queued::Command(NOBODY, Box::new(cancel)));
            let value = wire(&LoopStopResult {});
            main.answer(to, value);
            Ok(())
        }
    }
}

fn start(main: &mut MainLoop, to: ReplyTo, params: LoopStartParams) -> Result<(), ProtocolError> {
    let until = params.until.unwrap_or_default();
    let default = Until::default();
    let until = Until {
        tool: until.tool.map_or(default.tool, |tool| Some(tool).filter(|tool| !tool.is_empty())),
        todos_done: until.todos_done.unwrap_or(default.todos_done),
        passes: until.passes.unwrap_or(default.passes),
    };
    let asks: Vec<Asks> =
        params.stages.into_iter().map(|stage| asks(main, to, stage)).collect::<Result<_, _>>()?;
    let Some(stages) = Stages::new(asks.len(), until) else {
        return Err(ProtocolError::invalid("stages", "a loop needs a stage"));
    };
    let loop_id = new_id().as_str().to_owned();
    let work_scope = params.work_scope.unwrap_or_else(|| loop_id.clone());
    let running = Loop {
        stages,
        asks,
        folder: super::folder::spelled(&params.workspace_folder),
        parent: params.parent_id.as_deref().map(given_id).transpose()?,
        work_scope: work_scope.clone(),
        session: new_id(),
    };
    main.loops.insert(loop_id.clone(), running);
    let value = wire(&LoopStartResult { loop_id: loop_id.clone(), work_scope });
    main.answer(to, value);
    main.begin_stage(&loop_id);
    Ok(())
}

/// A stage, read before anything of the loop begins.
fn asks(main: &mut MainLoop, to: ReplyTo, stage: Stage) -> Result<Asks, ProtocolError> {
    let settings = main.given(to, stage.settings.as_ref())?;
    main.layers.effective(main.stores.home(), &settings.clone().unwrap_or_default())?;
    let content = Reading::new().field("stages", |reading| reading.content(&stage.content))?;
    if Body::User(content.clone()).is_empty() {
        return Err(ProtocolError::invalid("stages", "a stage asks for something; this one says nothing"));
    }
    let prefix = prefix(stage.sections.as_deref(), stage.tools.as_deref())?;
    Ok(Asks {
        open: Open { title: stage.title, prefix, ..Open::default() },
        start: StartTurn { content, ..StartTurn::default() },
        settings,
    })
}

impl MainLoop {
    /// Opens the session of a loop's stage, and asks what the stage asks.
    fn begin_stage(&mut self, loop_id: &str) {
        let Some(running) = self.loops.get(loop_id) else { return };
        let Some(Asks { open, start, settings }) = running.asks.get(running.stages.stage()) else { return };
        let id = running.session.clone();
        let new = New {
            driver: Driver::Sidecar,
            kind: Some("stage".to_owned()),
            parent: running.parent.clone(),
            work_scope: Some(running.work_scope.clone()),
        };
        let opens = Opens {
            command: Command::Open(Box::new(open.clone())),
            folder: Some(running.folder.clone()),
            new,
            settings: settings.clone(),
            follow: false,
        };
        let start = Command::StartTurn(Box::new(start.clone()));
        self.tell_loop(loop_id, LoopStatus::Running);
        self.hand(&id, Queued::Open(NOBODY, Box::new(opens)));
        self.hand(&id, Queued::Command(NOBODY, Box::new(start)));
    }

    /// A turn of a session ended: a loop whose stage it is goes on.
    pub(super) fn stage_ended(&mut self, id: &SessionId, end: &TurnEnd, state: StateName) {
        let Some(loop_id) = self.loop_of(id) else { return };
        let Some(Slot::Live(live)) = self.sessions.get(id) else { return };
        // As it was then: what waited in the stage's queue may run by now.
        let how = match (end.status, state) {
            (TurnStatus::Cancelled, _) => StageEnd::Cancelled,
            (TurnStatus::Failed, _) => StageEnd::Failed,
            (_, StateName::WaitingUserInput) => StageEnd::Waits,
            _ => StageEnd::Completed(end.ended_by.clone()),
        };
        let todos_done = live.session.scope().is_done();
        self.go_on(&loop_id, &how, todos_done);
    }

    /// A session broke: a loop whose stage it is is over.
    pub(super) fn stage_broke(&mut self, id: &SessionId) {
        if let Some(loop_id) = self.loop_of(id) {
            self.go_on(&loop_id, &StageEnd::Failed, false);
        }
    }

    fn loop_of(&self, id: &SessionId) -> Option<String> {
        let mut loops = self.loops.iter();
        loops.find(|(_, running)| running.session == *id).map(|(loop_id, _)| loop_id.clone())
    }

    fn go_on(&mut self, loop_id: &str, how: &StageEnd, todos_done: bool) {
        let Some(running) = self.loops.get_mut(loop_id) else { return };
        let over = match running.stages.ended(how, todos_done) {
            Next::Begin(_) => {
                let ended = std::mem::replace(&mut running.session, new_id());
                self.begin_stage(loop_id);
                // Nobody waits for it, unless the user said something to it that is not done yet.
                let is_at_rest = |slot: &Slot| matches!(slot, Slot::Live(live) if live.session.is_at_rest());
                if self.sessions.get(&ended).is_some_and(is_at_rest) {
                    self.hand(&ended, Queued::Close(NOBODY));
                }
                return;
            }
            Next::Wait => return self.tell_loop(loop_id, LoopStatus::Waiting),
            Next::Over(over) => over,
        };
        let status = match over {
            Over::Tool => LoopStatus::EndedByTool,
            Over::TodosDone => LoopStatus::TodosDone,
            Over::Passes => LoopStatus::PassesDone,
            Over::Cancelled => LoopStatus::Cancelled,
            Over::Failed => LoopStatus::Failed,
        };
        self.loop_over(loop_id, status);
    }

    fn loop_over(&mut self, loop_id: &str, status: LoopStatus) {
        self.tell_loop(loop_id, status);
        self.loops.remove(loop_id);
    }

    fn tell_loop(&self, loop_id: &str, status: LoopStatus) {
        let Some(running) = self.loops.get(loop_id) else { return };
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let params = LoopUpdatedParams {
            loop_id: loop_id.to_owned(),
            status,
            stage: count(running.stages.stage()),
            pass: count(running.stages.pass()),
            session_id: running.session.as_str().to_owned(),
        };
        self.outgoing.notification(methods::LoopUpdated::NAME, &params);
    }
}
