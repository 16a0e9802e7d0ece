//! Agents of the sessions that are open here: which are being started, which sessions wait for some, and what a store
//! says about them. An agent is a session with its own history that begins as a stored request; waiting is a question
//! to the store that is asked again whenever an agent ends.

use crate::server::mailbox::Mailbox;
use crate::server::wire::notice;
use crate::tool::{StartAgent, WaitAgents};
use engine::id::{CallId, SessionId};
use engine::message::{Content, ToolResult};
use engine::text::sha256_hex;
use engine::words::StateName;
use session::Session;
use session::agents::{AGENT, Agent};
use session::input::ToolOutcome;
use session::stored::TurnStatus;
use std::collections::{BTreeMap, BTreeSet};
use store::Store;
use store::error::StoreError;
use store::task::{Task, TaskState};
use store::worker::Handle;

/// A store's answer about the agents of a session.
pub(in crate::server) enum AgentEvent {
    /// All of them, for a call that starts another one.
    Counted { parent: SessionId, call: CallId, start: Box<StartAgent>, agents: Result<Vec<Task>, StoreError> },
    /// All of them, and the outcomes of the calls that wait.
    Looked { parent: SessionId, found: Result<Look, StoreError> },
}

/// The agents of a session, and the outcomes of its calls that wait for some.
pub(in crate::server) struct Look {
    pub agents: Vec<Task>,
    pub verdicts: Vec<(CallId, Verdict)>,
}

/// What a call that waits comes to.
pub(in crate::server) enum Verdict {
    /// Not all agents are done.
    Waits,
    /// The result.
    Says(ToolOutcome),
    /// All agents are done.
    Answers(Vec<Answer>),
}

/// The answer of an agent that is done.
pub(in crate::server) struct Answer {
    agent: SessionId,
    /// Its name, how it ended and what it said last.
    name: String,
    how: String,
    said: String,
}

/// Agents that are being started or waited for.
pub(in crate::server) struct Agents {
    mailbox: Mailbox<AgentEvent>,
    /// Agents that are not stored yet, each with the call that starts it.
    starting: BTreeMap<SessionId, (SessionId, CallId)>,
    /// Sessions with a call that waits.
    waiting: BTreeSet<SessionId>,
    /// Why agents failed that ran here. No store has that.
    failures: BTreeMap<SessionId, String>,
}

/// A call that waits, as a store needs it.
struct Awaited {
    call: CallId,
    /// The agents that are meant; `None` for all but `returned`.
    agents: Option<Vec<String>>,
}

impl Agents {
    pub fn new(mailbox: Mailbox<AgentEvent>) -> Self {
        let (starting, failures) = (BTreeMap::new(), BTreeMap::new());
        Self { mailbox, starting, waiting: BTreeSet::new(), failures }
    }

    /// `true` if agents may end in other processes.
    pub fn need_looks(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Sessions with a call that waits.
    pub fn waiting(&self) -> Vec<SessionId> {
        self.waiting.iter().cloned().collect()
    }

    /// Notes that a session waits.
    pub fn waits(&mut self, parent: SessionId) {
        self.waiting.insert(parent);
    }

    /// Forgets that a session waits: it goes on, or is not open here.
    pub fn forget(&mut self, parent: &SessionId) {
        self.waiting.remove(parent);
    }

    /// Asks for the agents of a session, for a call that starts another one.
    pub fn count(&self, store: &Handle, parent: SessionId, call: CallId, start: StartAgent) {
        let (mailbox, of) = (self.mailbox.clone(), parent.clone());
        store.submit(
            move |store| store.tasks(&of),
            move |agents| {
                mailbox.send(AgentEvent::Counted { parent, call, start: Box::new(start), agents });
            },
        );
    }

    /// Asks whether the agents are done that these calls of a session wait for.
    pub fn look(&mut self, store: &Handle, session: &Session, calls: Vec<(CallId, WaitAgents)>) {
        let parent = session.id().clone();
        self.waiting.insert(parent.clone());
        let returned = returned(session);
        let calls: Vec<Awaited> =
            calls.into_iter().map(|(call, wait)| Awaited { call, agents: wait.agents }).collect();
        let (mailbox, of) = (self.mailbox.clone(), parent.clone());
        store.submit(
            move |store| look(store, &of, &calls, &returned),
            move |found| mailbox.send(AgentEvent::Looked { parent, found }),
        );
    }

    /// Notes that a call starts this agent.
    pub fn starts(&mut self, agent: SessionId, parent: SessionId, call: CallId) {
        self.starting.insert(agent, (parent, call));
    }

    /// Takes the call that starts this agent, once the agent is stored or cannot be.
    pub fn started(&mut self, agent: &SessionId) -> Option<(SessionId, CallId)> {
        self.starting.remove(agent)
    }

    /// Number of agents of a session that are not stored yet.
    pub fn starting(&self, parent: &SessionId) -> usize {
        self.starting.values().filter(|(of, _)| of == parent).count()
    }

    /// The outcome of a call that waited. The reasons of failures are known here by now: the end of an agent is handled
    /// before any look that found it.
    pub fn outcome(&self, verdict: Verdict) -> ToolOutcome {
        let text = |answer: Answer| {
            let Answer { agent, name, how, said } = answer;
            let why = self.failures.get(&agent).map_or_else(String::new, |why| format!(": {why}"));
            format!("{}{name:?} {how}{why}]\n{said}", header(&agent))
        };
        match verdict {
            Verdict::Waits => ToolOutcome::Waits,
            Verdict::Says(outcome) => outcome,
            Verdict::Answers(answers) => {
                let texts: Vec<String> = answers.into_iter().map(text).collect();
                answered(vec![texts.join("\n\n")])
            }
        }
    }

    /// Notes how the turn of an agent ended.
    pub fn ended(&mut self, agent: &SessionId, failure: Option<String>) {
        match failure {
            Some(why) => drop(self.failures.insert(agent.clone(), why)),
            None => drop(self.failures.remove(agent)),
        }
    }
}

/// The id of the agent that this call of a session starts: the same if the call is run again.
pub(in crate::server) fn agent_id(parent: &SessionId, call: &CallId) -> SessionId {
    let root: String = parent.as_str().chars().take(100).collect();
    let hash = sha256_hex(format!("{parent}\n{call}").as_bytes());
    SessionId::new(format!("{root}-agent-{:.8}", hash))
}

/// `true` if an agent is at work, or waits for somebody.
pub(in crate::server) fn is_at_work(task: &Task) -> bool {
    match task.state {
        TaskState::Waiting | TaskState::Running => true,
        TaskState::Interrupted | TaskState::Ended(_) => false,
    }
}

/// `true` if a process must open an agent for it to go on: its request waits, or it waits for agents of its own.
pub(in crate::server) fn needs_process(task: &Task) -> bool {
    task.state == TaskState::Waiting
        || task.state == TaskState::Running && task.rest == Some(StateName::WaitingUserInput)
}

/// A stored background session, as its parent shows it.
pub(in crate::server) fn seen(task: &Task) -> Agent {
    let waits =
        [StateName::Paused, StateName::WaitingIde, StateName::WaitingUserInput, StateName::ExecutingTools];
    let (state, status) = match task.state {
        TaskState::Waiting => (StateName::Idle, None),
        TaskState::Running => {
            let rest = task.rest.filter(|rest| waits.contains(rest));
            (rest.unwrap_or(StateName::Generating), Some(TurnStatus::Running))
        }
        TaskState::Interrupted => (StateName::Error, Some(TurnStatus::Failed)),
        TaskState::Ended(TurnStatus::Failed) => (StateName::Error, Some(TurnStatus::Failed)),
        TaskState::Ended(status) => (task.rest.unwrap_or(StateName::Idle), Some(status)),
    };
    Agent { session: task.session.clone(), title: task.title.clone(), kind: task.kind.clone(), state, status }
}

/// The head of an agent's answer in a result, by which it is known to be returned.
fn header(agent: &SessionId) -> String {
    format!("[agent {agent} ")
}

/// Agents whose answer a result of this session returned before.
fn returned(session: &Session) -> Vec<SessionId> {
    let messages = session.transcript().messages().iter();
    let texts: Vec<_> = messages.flat_map(|message| message.body.texts()).collect();
    let is_returned = |agent: &&Agent| {
        let head = header(&agent.session);
        texts.iter().any(|text| text.lines().any(|line| line.starts_with(&head)))
    };
    session.agents().iter().filter(is_returned).map(|agent| agent.session.clone()).collect()
}

/// Looks whether the agents are done that each of these calls waits for.
fn look(
    store: &mut dyn Store,
    parent: &SessionId,
    calls: &[Awaited],
    returned: &[SessionId],
) -> Result<Look, StoreError> {
    let agents = store.tasks(parent)?;
    let mut verdicts = Vec::new();
    for Awaited { call, agents: named } in calls {
        let is_agent = |task: &&Task| task.kind.as_deref() == Some(AGENT);
        let all: Vec<&Task> = agents.iter().filter(is_agent).collect();
        let unknown = named.iter().flatten().find(|id| !all.iter().any(|task| task.session.as_str() == **id));
        let meant = |task: &&&Task| match named {
            Some(ids) => ids.iter().any(|id| task.session.as_str() == id),
            None => !returned.contains(&task.session),
        };
        let awaited: Vec<&Task> = all.iter().filter(meant).copied().collect();
        let verdict = if let Some(id) = unknown {
            let known: Vec<&str> = all.iter().map(|task| task.session.as_str()).collect();
            let known = if known.is_empty() { "none was started".to_owned() } else { known.join(", ") };
            Verdict::Says(refused(format!(
                "[no agent of this session has the id {id:?}; its agents: {known}; nothing was waited for]"
            )))
        } else if all.is_empty() {
            Verdict::Says(refused("[this session has no agents; start one with start_agent]".to_owned()))
        } else if awaited.iter().any(|task| is_at_work(task)) {
            Verdict::Waits
        } else if awaited.is_empty() {
            Verdict::Says(answered(vec!["[the answers of all agents were returned before]".to_owned()]))
        } else {
            let answers = awaited.into_iter().map(|task| answer(store, task));
            Verdict::Answers(answers.collect::<Result<_, _>>()?)
        };
        verdicts.push((call.clone(), verdict));
    }
    Ok(Look { agents, verdicts })
}

/// The answer of an agent that is done.
fn answer(store: &mut dyn Store, task: &Task) -> Result<Answer, StoreError> {
    let stored = store.load(&task.session)?;
    let said = stored.as_ref().and_then(notice::final_answer);
    let how = match task.state {
        TaskState::Interrupted => "interrupted: its process ended; it is not restarted by itself",
        TaskState::Ended(TurnStatus::Cancelled) => "cancelled",
        TaskState::Ended(TurnStatus::Failed) => "failed",
        _ if task.rest == Some(StateName::WaitingUserInput) => {
            "stopped: it asked the user, or reached a limit of its turn"
        }
        _ => "completed",
    };
    Ok(Answer {
        agent: task.session.clone(),
        name: task.title.clone().unwrap_or_else(|| "unnamed".to_owned()),
        how: how.to_owned(),
        said: said.unwrap_or_else(|| "[it gave no answer]".to_owned()),
    })
}

/// The result of a call, for its model.
pub(in crate::server) fn answered(texts: Vec<String>) -> ToolOutcome {
    let content = texts.into_iter().map(|text| Content::Text(text.into())).collect();
    ToolOutcome::Answered(ToolResult { content, ..ToolResult::default() })
}

/// The result of a call that could not be carried out, for its model.
pub(in crate::server) fn refused(text: String) -> ToolOutcome {
    let content = vec![Content::Text(text.into())];
    ToolOutcome::Answered(ToolResult { content, is_error: true, ..ToolResult::default() })
}
