//! What the sidecar says, and what came of work: answers to the editor, updates of its sessions, further work.

use super::agent::{Agent, Asked, Done, How, Open, Work, result};
use super::command::Step;
use super::failure::{of_sidecar, refused};
use super::option::modes;
use super::outcome::{answers, ended, failed, is_cancelled, listed, read};
use super::permission::{Choice, Outcome};
use super::plan::Planning;
use super::requests::root;
use super::runner::Ran;
use super::servers::Preparation;
use super::session::{OpenSession, Prompt};
use super::view::said;
use crate::commands::client::Incoming;
use crate::commands::tools;
use agent_client_protocol_schema::v1::{
    CloseSessionResponse, DeleteSessionResponse, ForkSessionResponse, ListSessionsResponse,
    LoadSessionResponse, NewSessionResponse, Notice, NoticeSeverity, ResumeSessionResponse, SessionUpdate,
    SetSessionConfigOptionResponse, StopReason,
};
use protocol::context::ContextInspectParams;
use protocol::event::{Event, SessionEvent};
use protocol::methods::{
    ContextInspect, SessionConfigure, SessionFork, SessionList, SessionOpen, SessionTakeOver, ToolDecide,
    ToolResult, TurnCancel, TurnStart,
};
use protocol::session::SessionConfigureParams;
use protocol::session::snapshot::Snapshot;
use protocol::settings::GivenSettings;
use protocol::tool::{PendingCall, ToolDecideParams, ToolInvokeResult, ToolKind};
use protocol::turn::TurnStatus;
use serde_json::{Map, Value, json};
use std::io::Write;
use tower_lsp::jsonrpc::{Error, ErrorCode, Id};

impl Agent {
    /// Handles a message of the sidecar.
    pub(super) async fn heard(&mut self, heard: Incoming) {
        match heard {
            Incoming::Event(event) => self.happened(&event).await,
            Incoming::Invoke(id, call) => self.invoke(id, call),
            // Questions are asked when a pause tells of them.
            Incoming::Permission(id, _) => self.sidecar.answer(&id, &Value::Null).await,
            Incoming::Elicit(id, params) => self.elicit(id, params),
            Incoming::Withdrawn(id) => drop(
                self.work
                    .stop_if(|work| matches!(work, Work::Tool(of, ..) | Work::Elicit(of, _) if *of == id)),
            ),
            Incoming::Answer(number, outcome) => {
                if let Some(asked) = self.asked.remove(&number) {
                    self.answered(asked, outcome).await;
                }
            }
            Incoming::Told(text) => self.told(&text),
        }
    }

    /// Shows a message for the user: editors log what an agent writes to its error output.
    fn told(&self, text: &str) {
        // Nobody may read it.
        let _ = writeln!(std::io::stderr(), "{text}");
        if self.takes().notices {
            for session in self.sessions.keys() {
                self.update(session, [SessionUpdate::Notice(Notice::new(NoticeSeverity::Warning, text))]);
            }
        }
    }

    /// Handles the end of work.
    pub(super) async fn done(&mut self, work: Work, done: Done) {
        match (work, done) {
            (Work::Tool(id, session, call), Done::Ran(Ran { result, has_terminal })) => {
                if let Some(open) = self.sessions.get_mut(&session).filter(|_| has_terminal) {
                    open.view.has_terminal(&call);
                }
                self.sidecar.answer(&id, &result).await;
            }
            (Work::Resumed(session, call), Done::Ran(ran)) => {
                self.resumed(session, call, ran.result).await;
            }
            (Work::Question(session, reason), Done::Answered(Outcome::Decided(decision, change))) => {
                if let Some(change) = change.filter(|_| decision.decision.is_allowed()) {
                    self.shown.insert((session.clone(), decision.tool_call_id.clone()), change);
                }
                let params = ToolDecideParams { session_id: session.clone(), decisions: vec![decision] };
                let number = self.sidecar.ask::<ToolDecide>(&params).await;
                self.asked.insert(number, Asked::Decided(reason, session));
            }
            (Work::Question(session, _), Done::Answered(Outcome::Cancelled)) => {
                let shown_in = root(&self.parents, &session).to_owned();
                self.cancel(&shown_in, None).await;
            }
            (Work::Elicit(id, _), Done::Elicited(result)) => self.sidecar.answer(&id, &result).await,
            (Work::TakeOver(session, request), Done::Chose(Choice::TakeOver, content)) => {
                self.take_over(request, session, content).await;
            }
            (Work::TakeOver(session, request), Done::Chose(Choice::Leave, _)) => {
                let left =
                    format!("session {session} stays open in the other process; the prompt was not sent");
                self.editor.answer(&request, Err(refused(left)));
            }
            (work @ Work::TakeOver(..), Done::Chose(Choice::Cancel, _)) => self.unasked(vec![work]),
            (Work::Plan(session, _), Done::Planned(choice, prompt, turn)) => {
                Planning { agent: self }.chosen(session, choice, prompt, &turn).await;
            }
            (work, Done::Consented(prompt)) => Preparation { agent: self }.decided(work, prompt).await,
            _ => {}
        }
    }

    async fn answered(&mut self, asked: Asked, outcome: Result<Value, Error>) {
        let outcome = outcome.map_err(of_sidecar);
        match asked {
            Asked::Found(open) => match outcome {
                Ok(_) => self.open(open).await,
                Err(error) => self.editor.answer(&open.request, Err(error)),
            },
            Asked::Forked(open) => match outcome.and_then(read::<SessionFork>) {
                Ok(forked) => self.open(Open { session: Some(forked.session_id), ..open }).await,
                Err(error) => self.editor.answer(&open.request, Err(error)),
            },
            Asked::Opened(open) => match outcome.and_then(read::<SessionOpen>) {
                Ok(opened) => self.opened(&open, opened.snapshot).await,
                Err(error) => self.editor.answer(&open.request, Err(error)),
            },
            Asked::Listed(request) => {
                let listed = outcome.and_then(read::<SessionList>).map(|page| {
                    let sessions = page.sessions.into_iter().filter_map(listed).collect();
                    result(&ListSessionsResponse::new(sessions).next_cursor(page.next_cursor))
                });
                self.editor.answer(&request, listed);
            }
            Asked::Closed(request, session) => {
                let closed = outcome.map(|_| result(&CloseSessionResponse::new()));
                if closed.is_ok() {
                    self.forget(&session);
                }
                self.editor.answer(&request, closed);
            }
            Asked::Deleted(request, session) => {
                let deleted = outcome.map(|_| result(&DeleteSessionResponse::new()));
                if deleted.is_ok() {
                    self.forget(&session);
                }
                self.editor.answer(&request, deleted);
            }
            Asked::Started(request, session, told, had_new_mode) => {
                if outcome.is_err()
                    && let Some(open) = self.sessions.get_mut(&session)
                {
                    (open.told, open.has_new_mode) = (told, open.has_new_mode || had_new_mode);
                }
                self.started(&request, &session, outcome).await;
            }
            Asked::Decided(reason, session) => {
                // Decided or withdrawn already; anything else leaves the call waiting.
                if outcome.is_err_and(|error| error.code != ErrorCode::InvalidParams) {
                    self.question(&session, &[reason]);
                }
            }
            Asked::Commanded(request, session, command) => match outcome.map(|value| command.step(value)) {
                Ok(Ok(Step::Said(text))) => {
                    if self.sessions.contains_key(&session) {
                        let id = uuid::Uuid::now_v7().to_string();
                        self.update(&session, [said(&id, &text)]);
                    }
                    self.editor.answer(&request, Ok(ended(StopReason::EndTurn, None)));
                }
                Ok(Ok(Step::Next(next))) => {
                    let folder = self.sessions.get(&session).map(|open| open.folder.display().to_string());
                    let folder = folder.unwrap_or_default();
                    let number = next.ask(&mut self.sidecar, &session, &folder).await;
                    self.asked.insert(number, Asked::Commanded(request, session, next));
                }
                Ok(Err(reason)) => self.editor.answer(&request, Err(refused(reason))),
                Err(error) if is_cancelled(&error) => {
                    self.editor.answer(&request, Ok(ended(StopReason::Cancelled, None)));
                }
                Err(error) => self.editor.answer(&request, Err(error)),
            },
            Asked::Cancelled(session) => {
                let removed = outcome.and_then(read::<TurnCancel>).map(|cancelled| cancelled.removed);
                let Some(open) = self.sessions.get_mut(&session) else { return };
                let turns = removed.unwrap_or_default().into_iter().filter_map(|item| item.turn_id);
                let prompts: Vec<_> = turns.flat_map(|turn| open.ends(&turn)).collect();
                self.end(prompts, &Ok(StopReason::Cancelled), None);
            }
            Asked::Configured(request, session) => {
                let configured = outcome.and_then(read::<SessionConfigure>).map(|configured| {
                    let choices = self.choices.options(&configured.settings);
                    if let Some(open) = self.sessions.get_mut(&session) {
                        open.settings = configured.settings;
                    }
                    result(&SetSessionConfigOptionResponse::new(choices))
                });
                self.editor.answer(&request, configured);
            }
            Asked::Inspected(session) => {
                let spent = outcome.and_then(read::<ContextInspect>).ok().and_then(|seen| seen.spent);
                let Some(open) = self.sessions.get_mut(&session) else { return };
                open.is_inspected = false;
                let waiting = std::mem::take(&mut open.ended);
                if let Some(dollars) = spent.and_then(|spent| spent.total.dollars) {
                    open.view.cost = Some(f64::from(dollars));
                    let used = open.view.used();
                    self.update(&session, used);
                }
                for (prompt, outcome) in waiting {
                    self.editor.answer(&prompt.request, outcome);
                }
            }
            Asked::TakenOver(request, session, content) => match outcome.and_then(read::<SessionTakeOver>) {
                Ok(taken) => {
                    self.follows(&session, &taken.snapshot).await;
                    self.start(request, session, content).await;
                }
                Err(error) => self.editor.answer(&request, Err(error)),
            },
            Asked::Contents(session) => Preparation { agent: self }.knows_contents(&session, outcome),
            Asked::Preparing(step, prompt) => {
                Preparation { agent: self }.prepared(step, prompt, outcome).await
            }
            Asked::Unwatched => {}
        }
    }

    /// Answers the request that opened a session, after its messages if it wants them.
    async fn opened(&mut self, open: &Open, snapshot: Snapshot) {
        let id = snapshot.session_id.clone();
        let mut session = OpenSession::new(open.folder.clone(), self.takes(), &snapshot);
        match open.how {
            How::Load => {
                let replay = session.view.replay(&snapshot);
                self.update(&id, replay);
            }
            How::New | How::Resume | How::Fork => session.view.knows(&snapshot),
        }
        self.knows_agents(&snapshot);
        // A session that is loaded again keeps what waits for its turns.
        if let Some(before) = self.sessions.remove(&id) {
            session = OpenSession {
                view: session.view,
                settings: session.settings,
                held_by: session.held_by,
                ..before
            };
        }
        let (modes, choices) = (modes(session.mode), self.choices.options(&session.settings));
        self.sessions.insert(id.clone(), session);
        let answer = match open.how {
            How::New => result(&NewSessionResponse::new(id.clone()).modes(modes).config_options(choices)),
            How::Load => result(&LoadSessionResponse::new().modes(modes).config_options(choices)),
            How::Resume => result(&ResumeSessionResponse::new().modes(modes).config_options(choices)),
            How::Fork => result(&ForkSessionResponse::new(id.clone()).modes(modes).config_options(choices)),
        };
        self.works(&snapshot);
        self.editor.answer(&open.request, Ok(answer));
        self.offer(&id);
        Preparation { agent: self }.learn_contents(&id).await;
        if open.how == How::New && snapshot.settings.own_tools.as_ref().is_none_or(Vec::is_empty) {
            self.plans(&id).await;
        }
        self.goes_on(&id, &snapshot).await;
    }

    /// Offers the model the todo list, which editors show as the plan, unless the user chose other tools of the sidecar.
    async fn plans(&mut self, session: &str) {
        let settings = GivenSettings(Map::from_iter([("ownTools".to_owned(), json!(["todo"]))]));
        let params = SessionConfigureParams {
            session_id: session.to_owned(),
            settings: Some(settings),
            title: None,
            forget_learned_limits: None,
        };
        let number = self.sidecar.ask::<SessionConfigure>(&params).await;
        self.asked.insert(number, Asked::Unwatched);
    }

    /// Takes the snapshot of a session that was taken over.
    async fn follows(&mut self, id: &str, snapshot: &Snapshot) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        let updates = session.view.replay(snapshot);
        self.update(id, updates);
        self.synced(id, snapshot).await;
    }

    /// Takes a snapshot in place of events that were not sent: prompts may have ended, questions may have changed, and
    /// the process that wrote the session may be gone.
    async fn synced(&mut self, id: &str, snapshot: &Snapshot) {
        self.knows_agents(snapshot);
        self.works(snapshot);
        let Some(session) = self.sessions.get_mut(id) else { return };
        let was_held = session.held_by.is_some();
        session.held_by.clone_from(&snapshot.held_by);
        session.settings.clone_from(&snapshot.settings);
        let over = snapshot.turns.iter().filter(|turn| turn.status != TurnStatus::Running);
        for turn in over {
            let prompts = session.ends(&turn.id);
            let reason = session.reason(turn.status).map_or_else(|| failed(None), Ok);
            session.ended.extend(answers(prompts, &reason, Some(&turn.id)));
        }
        let ended = std::mem::take(&mut session.ended);
        for (prompt, outcome) in ended {
            self.editor.answer(&prompt.request, outcome);
        }
        match &snapshot.pause {
            Some(pause) if snapshot.held_by.is_none() => self.question(id, &pause.reasons),
            _ => drop(self.work.stop_if(|work| matches!(work, Work::Question(session, _) if session == id))),
        }
        if was_held {
            self.goes_on(id, snapshot).await;
        }
    }

    fn works(&self, snapshot: &Snapshot) {
        let is_working = snapshot.turns.iter().any(|turn| turn.status == TurnStatus::Running);
        self.editor.works(&snapshot.session_id, is_working);
    }

    /// Notes the background sessions of a snapshot.
    fn knows_agents(&mut self, snapshot: &Snapshot) {
        for agent in &snapshot.agents {
            self.parents.insert(agent.session_id.clone(), snapshot.session_id.clone());
        }
    }

    /// Goes on with what was pending when the session was left: questions are asked again, reads run again. A call that
    /// may have done its work is answered as interrupted, unless it runs here.
    async fn goes_on(&mut self, id: &str, snapshot: &Snapshot) {
        if snapshot.held_by.is_some() {
            return;
        }
        if let Some(pause) = &snapshot.pause {
            return self.question(id, &pause.reasons);
        }
        for call in &snapshot.pending_calls {
            let PendingCall { tool_call_id, name, arguments, .. } = call;
            let runs = self.work.purposes().any(|work| match work {
                Work::Tool(_, session, call) | Work::Resumed(session, call) => {
                    session == id && call == tool_call_id
                }
                _ => false,
            });
            if runs {
                continue;
            }
            if matches!(tools::kind(name), Some(ToolKind::Read | ToolKind::Search)) {
                let Some(call) = self.call(id, tool_call_id, name, &arguments.0) else { continue };
                let work = self.runner().run(call, None);
                let purpose = Work::Resumed(id.to_owned(), tool_call_id.clone());
                self.work.begin(purpose, async { Done::Ran(work.await) });
            } else if tools::kind(name).is_some() {
                self.resumed(id.to_owned(), tool_call_id.clone(), tools::interrupted()).await;
            }
        }
    }

    async fn resumed(&mut self, session: String, call: String, ran: ToolInvokeResult) {
        let params = tools::late(session, call, ran);
        let number = self.sidecar.ask::<ToolResult>(&params).await;
        self.asked.insert(number, Asked::Unwatched);
    }

    async fn started(&mut self, request: &Id, session: &str, outcome: Result<Value, Error>) {
        let outcome = outcome.and_then(read::<TurnStart>);
        let Some(open) = self.sessions.get_mut(session) else { return };
        let at = open.prompts.iter().position(|prompt| prompt.request == *request);
        let Some(prompt) = at.and_then(|at| open.prompts.get_mut(at)) else { return };
        match outcome {
            Ok(started) => {
                prompt.turn = Some(started.turn_id.clone());
                // A queued one is part of the conversation once its turn comes.
                if started.item_id.is_none() {
                    self.editor.accepted(request, &started.message_id);
                }
                (prompt.message, prompt.item) = (Some(started.message_id), started.item_id);
                if prompt.is_cancelled {
                    self.cancel(session, Some(started.turn_id)).await;
                }
            }
            Err(error) => {
                open.prompts.retain(|prompt| prompt.request != *request);
                self.editor.answer(request, Err(error));
            }
        }
    }

    async fn happened(&mut self, event: &SessionEvent) {
        let id = &event.session_id;
        match &event.event {
            Event::AgentUpdated { agent } => {
                self.parents.insert(agent.session_id.clone(), id.clone());
            }
            Event::PauseRequired { reasons, agent } => {
                if let Some(agent) = agent {
                    self.parents.insert(id.clone(), agent.parent_id.clone());
                }
                self.question(id, reasons);
            }
            Event::PauseCleared {} => {
                drop(self.work.stop_if(|work| matches!(work, Work::Question(session, _) if session == id)));
            }
            _ => {}
        }
        let Some(session) = self.sessions.get_mut(id) else { return };
        let updates = session.view.event(&event.event);
        self.update(id, updates);
        let Some(session) = self.sessions.get_mut(id) else { return };
        match &event.event {
            Event::Snapshot { snapshot } => self.synced(id, snapshot).await,
            Event::TurnStarted { .. } => self.editor.works(id, true),
            Event::MessageAdded { message } => {
                if let Some(prompt) = session.joins(&message.id, &message.turn_id) {
                    self.editor.accepted(prompt, &message.id);
                }
            }
            Event::StreamFinished { stop_reason, .. } => session.stop = *stop_reason,
            Event::ThreadUpdated { settings: Some(settings), .. } => session.settings.clone_from(settings),
            Event::QueueUpdated { failed: Some(failure), .. } => {
                let prompts: Vec<_> = session.fails(&failure.item_id).into_iter().collect();
                self.end(prompts, &failed(Some(&failure.error)), None);
            }
            Event::TurnCompleted { .. } => {
                session.is_inspected = true;
                let params = ContextInspectParams { session_id: id.clone(), compactions: Some(1) };
                let number = self.sidecar.ask::<ContextInspect>(&params).await;
                self.asked.insert(number, Asked::Inspected(id.clone()));
            }
            Event::RuntimeUpdated { turn_id: Some(turn), status: Some(status), error, .. }
                if *status != TurnStatus::Running =>
            {
                let prompts = session.ends(turn);
                let had_none = prompts.is_empty();
                let reason = session.reason(*status).map_or_else(|| failed(error.as_ref()), Ok);
                let prompts = Planning { agent: self }.ask(id, turn, *status, prompts);
                let Some(session) = self.sessions.get_mut(id) else { return };
                if had_none {
                    self.editor.works(id, false);
                }
                if session.is_inspected {
                    session.ended.extend(answers(prompts, &reason, Some(turn)));
                } else {
                    self.end(prompts, &reason, Some(turn));
                }
                self.shown.retain(|(of, _), _| of != id);
            }
            Event::SessionTakenOver {} => {
                let prompts = std::mem::take(&mut session.prompts);
                self.end(prompts, &Ok(StopReason::Cancelled), None);
            }
            _ => {}
        }
    }

    /// Answers prompts whose turn ended.
    pub(super) fn end(&self, prompts: Vec<Prompt>, reason: &Result<StopReason, Error>, turn: Option<&str>) {
        for (prompt, outcome) in answers(prompts, reason, turn) {
            self.editor.answer(&prompt.request, outcome);
        }
    }

    /// Drops what belongs to a session that is no longer open.
    pub(super) fn forget(&mut self, session: &str) {
        if let Some(open) = self.sessions.remove(session) {
            self.end(open.prompts, &Ok(StopReason::Cancelled), None);
            self.leave_out(open.behind);
            for (prompt, outcome) in open.ended {
                self.editor.answer(&prompt.request, outcome);
            }
        }
        self.shown.retain(|(of, _), _| of != session);
        let stopped = self.work.stop_if(|work| match work {
            Work::Resumed(of, _)
            | Work::Question(of, _)
            | Work::Plan(of, _)
            | Work::TakeOver(of, _)
            | Work::Elicit(_, of) => of == session,
            Work::Tool(..) => false,
        });
        self.unasked(stopped);
    }
}
