//! Loops in this process: the sessions of their stages are opened one after the other, and progress is
//! reported. The engine decides which stage is next; a loop returns its actions as [`Step`]s.

use crate::convert::Reading;
use crate::server::client::replies::NOBODY;
use crate::server::folder::given_folder;
use crate::server::given::{given_id, new_id};
use crate::server::host::queued::{New, Opens, Queued};
use crate::server::requests::prefix;
use crate::server::wire::notice;
use engine::id::SessionId;
use engine::message::Body;
use engine::message::attachment::Attachment;
use engine::stages::{Next, Over, StageEnd, Stages, Until};
use engine::text;
use protocol::error::{ErrorData, ProtocolError};
use protocol::settings::{GivenSettings, Settings};
use protocol::stages::{LoopStartParams, LoopStartResult, LoopStatus, LoopUpdatedParams, Stage};
use session::Session;
use session::event::TurnEnd;
use session::input::{Command, Open, StartTurn};
use session::state::StateName;
use session::stored::{Driver, TurnStatus};
use std::collections::BTreeMap;

/// Running loops, by id.
#[derive(Default)]
pub(in crate::server) struct Loops {
    running: BTreeMap<String, Loop>,
}

/// An action of a loop.
pub(in crate::server) enum Step {
    /// Notify the client.
    Notify(LoopUpdatedParams),
    /// Hand an item to a session.
    Hand(SessionId, Queued),
    /// Close the session of an ended stage, unless it still has a message of the user to handle.
    CloseAtRest(SessionId),
}

struct Loop {
    stages: Stages,
    /// The request of each stage.
    asks: Vec<Asks>,
    folder: String,
    parent: Option<SessionId>,
    work_scope: String,
    /// The session of the stage that runs.
    session: SessionId,
    /// What the stage before it found, for the request of that stage.
    before: Option<Attachment>,
}

/// A parsed stage.
struct Asks {
    open: Open,
    start: StartTurn,
    settings: Option<Settings>,
}

/// A parsed loop.
pub(in crate::server) struct Start {
    loop_id: String,
    running: Loop,
}

impl Start {
    /// Parses a loop before any of it begins; `read` checks the settings of a stage.
    pub fn read(
        params: LoopStartParams,
        mut read: impl FnMut(Option<&GivenSettings>) -> Result<Option<Settings>, ProtocolError>,
    ) -> Result<Self, ProtocolError> {
        let until = params.until.unwrap_or_default();
        let default = Until::default();
        let until = Until {
            tool: until.tool.map_or(default.tool, |tool| Some(tool).filter(|tool| !tool.is_empty())),
            todos_done: until.todos_done.unwrap_or(default.todos_done),
            passes: until.passes.unwrap_or(default.passes),
        };
        let stages = params.stages.into_iter();
        let asks: Vec<Asks> = stages.map(|stage| asks(stage, &mut read)).collect::<Result<_, _>>()?;
        let Some(stages) = Stages::new(asks.len(), until) else {
            return Err(ProtocolError::invalid("stages", "must not be empty"));
        };
        let loop_id = new_id().as_str().to_owned();
        let running = Loop {
            stages,
            asks,
            folder: given_folder(&params.workspace_folder)?,
            parent: params.parent_id.as_deref().map(given_id).transpose()?,
            work_scope: params.work_scope.unwrap_or_else(|| loop_id.clone()),
            session: new_id(),
            before: None,
        };
        Ok(Self { loop_id, running })
    }

    /// The folder of the loop, and the session that it reports to.
    pub fn place(&self) -> (String, Option<SessionId>) {
        (self.running.folder.clone(), self.running.parent.clone())
    }

    /// The result for the client.
    pub fn answer(&self) -> LoopStartResult {
        LoopStartResult { loop_id: self.loop_id.clone(), work_scope: self.running.work_scope.clone() }
    }
}

/// Name of the attachment with the answer of the stage before.
const STAGE_BEFORE: &str = "stageBefore";
/// Most bytes of that answer.
const ANSWER_BYTES: usize = 16_000;

/// The answer of a stage, for the request of the next one.
fn found_by(session: &Session) -> Option<Attachment> {
    let answer = notice::final_answer_of_open(session)?;
    let title = session.head().title.as_deref().unwrap_or("unnamed");
    let said = text::head(&answer, ANSWER_BYTES);
    let more = answer.len() - said.len();
    let rest = if more > 0 { format!("\n[{more} more bytes are in its session]") } else { String::new() };
    Some(Attachment::new(
        STAGE_BEFORE,
        &format!("The stage before this one, {title:?}, ended with:\n{said}{rest}"),
    ))
}

fn asks(
    stage: Stage,
    read: &mut impl FnMut(Option<&GivenSettings>) -> Result<Option<Settings>, ProtocolError>,
) -> Result<Asks, ProtocolError> {
    let settings = read(stage.settings.as_ref())?;
    let content = Reading::new().field("stages", |reading| reading.content(&stage.content))?;
    if Body::User(content.clone()).is_empty() {
        return Err(ProtocolError::invalid("stages", "has a stage with empty content"));
    }
    let prefix = prefix(stage.sections.as_deref(), stage.tools.as_deref())?;
    Ok(Asks {
        open: Open { title: stage.title, prefix, ..Open::default() },
        start: StartTurn { content, ..StartTurn::default() },
        settings,
    })
}

impl Loops {
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Starts a loop.
    pub fn start(&mut self, start: Start) -> Vec<Step> {
        let Start { loop_id, running } = start;
        self.running.insert(loop_id.clone(), running);
        self.begin_stage(&loop_id)
    }

    /// Stops a loop at the client's request.
    pub fn stop(&mut self, loop_id: String) -> Result<Vec<Step>, ProtocolError> {
        let Some(running) = self.running.get(&loop_id) else {
            let message = format!("unknown loop {loop_id:?}; nothing was done");
            let data = ErrorData::StaleReference { field: "loopId".into(), id: loop_id };
            return Err(ProtocolError::new(data, message));
        };
        let cancel = Box::new(Command::CancelTurn { turn: None, queued: true });
        let cancel = Step::Hand(running.session.clone(), Queued::Command(NOBODY, cancel));
        let mut steps = self.over(&loop_id, LoopStatus::Cancelled);
        steps.push(cancel);
        Ok(steps)
    }

    /// Opens the session of the current stage, and starts its turn.
    fn begin_stage(&self, loop_id: &str) -> Vec<Step> {
        let Some(running) = self.running.get(loop_id) else { return Vec::new() };
        let Some(Asks { open, start, settings }) = running.asks.get(running.stages.stage()) else {
            return Vec::new();
        };
        let id = running.session.clone();
        let new = New {
            driver: Driver::Sidecar,
            kind: Some("stage".to_owned()),
            parent: running.parent.clone(),
            work_scope: Some(running.work_scope.clone()),
            ..New::default()
        };
        let opens = Opens {
            command: Command::Open(Box::new(open.clone())),
            folder: Some(running.folder.clone()),
            new,
            settings: settings.clone(),
            follow: false,
        };
        let attachments = start.attachments.iter().cloned().chain(running.before.clone()).collect();
        let start = Command::StartTurn(Box::new(StartTurn { attachments, ..start.clone() }));
        let mut steps = self.tell(loop_id, LoopStatus::Running);
        steps.push(Step::Hand(id.clone(), Queued::Open(NOBODY, Box::new(opens))));
        steps.push(Step::Hand(id, Queued::Command(NOBODY, Box::new(start))));
        steps
    }

    /// Continues the loop whose stage this session is, when its turn has ended.
    pub fn turn_ended(&mut self, session: &Session, end: &TurnEnd, state: StateName) -> Vec<Step> {
        let Some(loop_id) = self.loop_of(session.id()) else { return Vec::new() };
        // As of that end: a queued message may run by now.
        let how = match (end.status, state) {
            (TurnStatus::Cancelled, _) => StageEnd::Cancelled,
            (TurnStatus::Failed, _) => StageEnd::Failed,
            (_, StateName::WaitingUserInput) => StageEnd::Waits,
            _ => StageEnd::Completed(end.ended_by.clone()),
        };
        if let Some(running) = self.running.get_mut(&loop_id) {
            running.before = found_by(session);
        }
        self.go_on(&loop_id, &how, session.scope().is_done())
    }

    /// Ends the loop whose stage this session is, when it has failed.
    pub fn session_broke(&mut self, id: &SessionId) -> Vec<Step> {
        match self.loop_of(id) {
            Some(loop_id) => self.go_on(&loop_id, &StageEnd::Failed, false),
            None => Vec::new(),
        }
    }

    fn loop_of(&self, id: &SessionId) -> Option<String> {
        let mut loops = self.running.iter();
        loops.find(|(_, running)| running.session == *id).map(|(loop_id, _)| loop_id.clone())
    }

    fn go_on(&mut self, loop_id: &str, how: &StageEnd, todos_done: bool) -> Vec<Step> {
        let Some(running) = self.running.get_mut(loop_id) else { return Vec::new() };
        let over = match running.stages.ended(how, todos_done) {
            Next::Begin(_) => {
                let ended = std::mem::replace(&mut running.session, new_id());
                let mut steps = self.begin_stage(loop_id);
                steps.push(Step::CloseAtRest(ended));
                return steps;
            }
            Next::Wait => return self.tell(loop_id, LoopStatus::Waiting),
            Next::Over(over) => over,
        };
        let status = match over {
            Over::Tool => LoopStatus::EndedByTool,
            Over::TodosDone => LoopStatus::TodosDone,
            Over::Passes => LoopStatus::PassesDone,
            Over::Cancelled => LoopStatus::Cancelled,
            Over::Failed => LoopStatus::Failed,
        };
        self.over(loop_id, status)
    }

    fn over(&mut self, loop_id: &str, status: LoopStatus) -> Vec<Step> {
        let steps = self.tell(loop_id, status);
        self.running.remove(loop_id);
        steps
    }

    fn tell(&self, loop_id: &str, status: LoopStatus) -> Vec<Step> {
        let Some(running) = self.running.get(loop_id) else { return Vec::new() };
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        vec![Step::Notify(LoopUpdatedParams {
            loop_id: loop_id.to_owned(),
            status,
            stage: count(running.stages.stage()),
            pass: count(running.stages.pass()),
            session_id: running.session.as_str().to_owned(),
        })]
    }
}
