//! Agents at work: calls that start one or wait for some, and what follows from the end of one. Limits are checked here,
//! with what a store says about the agents so far.

use super::Router;
use crate::server::client::replies::NOBODY;
use crate::server::given::own_settings;
use crate::server::host::SessionHost;
use crate::server::host::queued::{New, Opens, Queued};
use crate::server::services::agents::{
    self, AgentEvent, Look, Verdict, agent_id, answered, is_at_work, needs_process, refused,
};
use crate::server::services::shared::Place;
use crate::server::wire::agent::seen;
use crate::tool::{Delegation, OwnTool, StartAgent, WaitAgents};
use engine::id::{CallId, SessionId};
use engine::message::Content;
use engine::prompt::item::Tool;
use protocol::error::ProtocolError;
use protocol::settings::{AgentPreset, Model, Settings};
use session::agents::{AGENT, AgentLimits};
use session::effect::InvokeTool;
use session::event::{EventBody, TurnEnd};
use session::input::{Command, GivenPrefix, Input, StartTurn, ToolOutcome};
use session::stored::{Driver, Head, TurnStatus};
use store::error::StoreError;
use store::task::Task;

/// The handlers of what concerns agents.
pub(super) struct AgentHandler<'a> {
    pub router: &'a mut Router,
}

/// What an agent is made of, beside its task.
struct Made {
    settings: Settings,
    tools: Vec<Tool>,
    /// Names of the tools that it has; `None` for all of its parent.
    named: Option<Vec<String>>,
}

impl AgentHandler<'_> {
    /// Carries out a call of a session that starts an agent or waits for some. Returns `false` for any other call.
    pub fn delegate(&mut self, id: &SessionId, call: &InvokeTool) -> bool {
        let Some(host) = self.router.sessions.host(id) else { return false };
        let Some(delegation) = OwnTool::named(&call.name).and_then(|tool| tool.delegates(&call.arguments))
        else {
            return false;
        };
        let outcome = match (delegation, host.store()) {
            (Err(why), _) => refused(why),
            (Ok(_), None) => refused("[agents need a session that is stored; nothing was done]".to_owned()),
            (Ok(Delegation::Start(start)), Some(store)) => {
                self.router.agents.count(store, id.clone(), call.call.clone(), start);
                return true;
            }
            (Ok(Delegation::Wait(wait)), Some(store)) => {
                self.router.agents.look(store, host.session(), vec![(call.call.clone(), wait)]);
                self.router.follows.start_looking();
                return true;
            }
        };
        host.tool_ran(call, outcome);
        true
    }

    /// Handles a store's answer.
    pub fn event(&mut self, event: AgentEvent) {
        match event {
            AgentEvent::Counted { parent, call, start, agents } => {
                let started = self.start(&parent, &call, *start, agents);
                if let Err(why) = started {
                    self.router.run_input(&parent, Input::ToolDone(call, refused(why)));
                }
            }
            AgentEvent::Looked { parent, found } => self.looked(&parent, found),
        }
    }

    /// Starts an agent within the limits; the error is the answer for the model.
    fn start(
        &mut self,
        parent: &SessionId,
        call: &CallId,
        start: StartAgent,
        agents: Result<Vec<Task>, StoreError>,
    ) -> Result<(), String> {
        let Some(host) = self.router.sessions.host(parent) else { return Ok(()) };
        let session = host.session();
        let agents = agents.map_err(|error| format!("[no agent was started: {error}]"))?;
        let id = agent_id(parent, call);
        if let Some(known) = agents.iter().find(|task| task.session == id) {
            // The process ended after the agent was stored and before the result was.
            let outcome = started(&id, known.title.as_deref());
            self.router.run_input(parent, Input::ToolDone(call.clone(), outcome));
            return Ok(());
        }
        let (limits, depth) = (session.settings().agents, session.head().carried.depth + 1);
        let starting = self.router.agents.starting(parent);
        let left = within(limits, depth, &agents, starting)?;
        let made = self.made(parent, &start, depth, left)?;
        let Some(host) = self.router.sessions.host(parent) else { return Ok(()) };
        let head = host.session().head();
        let new = New {
            driver: Driver::Sidecar,
            kind: Some(AGENT.to_owned()),
            parent: Some(parent.clone()),
            work_scope: Some(Place::of(head).name),
            title: start.name,
            depth,
        };
        let sections = Some(head.prefix.sections.clone());
        let request = StartTurn {
            content: vec![Content::Text(start.task.into())],
            prefix: GivenPrefix { sections, tools: Some(made.tools) },
            ..StartTurn::default()
        };
        let opens = Opens {
            command: Command::StoreTask(Box::new(request)),
            folder: Some(head.workspace.clone()),
            new,
            settings: Some(made.settings),
            follow: false,
        };
        self.router.servers.set_agent(&id, parent, made.named);
        self.router.agents.starts(id.clone(), parent.clone(), call.clone());
        self.router.hand(&id, Queued::Open(NOBODY, Box::new(opens)));
        self.router.hand(&id, Queued::Task);
        Ok(())
    }

    /// Settings and tools of an agent: those of its parent, with what the call or its preset says.
    fn made(&self, parent: &SessionId, start: &StartAgent, depth: u64, left: u64) -> Result<Made, String> {
        let Some(host) = self.router.sessions.host(parent) else { return Err(String::new()) };
        let (session, head) = (host.session(), host.session().head());
        let own = own_settings(&head.settings);
        let wrong = |error: ProtocolError| format!("[no agent was started: {error}]");
        let merged = self.router.config.layers().merged(&head.workspace, &own).map_err(wrong)?;
        let presets = merged.agent_presets.clone().unwrap_or_default();
        let preset = start.preset.as_deref().map(|name| preset(name, presets)).transpose()?;
        let model = match (&start.model, preset.as_ref().and_then(|preset| preset.model.clone())) {
            (Some(name), _) => Some(other_model(merged.model.unwrap_or_default(), name)),
            (None, Some(model)) => Some(model),
            (None, None) => own.model.clone(),
        };
        let named = start.tools.as_ref().or(preset.as_ref().and_then(|preset| preset.tools.as_ref()));
        let own_tools = &session.settings().own_tools;
        let known: Vec<&str> = all_tools(head).chain(own_tools).map(|tool| tool.name.as_str()).collect();
        if let Some(unknown) = named.into_iter().flatten().find(|name| !known.contains(&name.as_str())) {
            let known = known.join(", ");
            return Err(format!(
                "[no agent was started: this session has no tool {unknown:?}; it has: {known}]"
            ));
        }
        let is_named = |tool: &&Tool| named.is_none_or(|named| named.contains(&tool.name));
        let may_start = depth < u64::from(session.settings().agents.depth);
        let delegates = [OwnTool::StartAgent, OwnTool::WaitAgents].map(OwnTool::name);
        // An agent's questions would wait for a user who talks to its parent.
        let asks = OwnTool::AskQuestions.name();
        let is_fit = |tool: &&Tool| {
            (may_start || !delegates.contains(&tool.name.as_str())) && (named.is_some() || tool.name != asks)
        };
        let finish = OwnTool::AgentFinish.name();
        let mut own_names: Vec<String> =
            own_tools.iter().filter(is_named).filter(is_fit).map(|tool| tool.name.clone()).collect();
        if !own_names.iter().any(|name| name == finish) {
            own_names.push(finish.to_owned());
        }
        let role = preset.as_ref().and_then(|preset| preset.role.clone()).or_else(|| own.role.clone());
        let settings = Settings { model, role, own_tools: Some(own_names), agent_tokens: Some(left), ..own };
        self.router.config.effective(&head.workspace, &settings).map_err(wrong)?;
        let tools = head.prefix.tools.iter().filter(is_named).cloned().collect();
        Ok(Made { settings, tools, named: named.cloned() })
    }

    /// Answers the call that started an agent, once the agent is stored; `failure` says why it cannot be.
    pub fn stored(&mut self, agent: &SessionId, failure: Option<String>) {
        let Some((parent, call)) = self.router.agents.started(agent) else { return };
        let title = self.router.sessions.host(agent).and_then(|host| host.session().head().title.clone());
        let outcome = match failure {
            None => started(agent, title.as_deref()),
            Some(why) => refused(format!("[no agent was started: {why}]")),
        };
        self.router.run_input(&parent, Input::ToolDone(call, outcome));
    }

    /// Handles the store's answer about agents that a session waits for.
    fn looked(&mut self, parent: &SessionId, found: Result<Look, StoreError>) {
        self.router.agents.forget(parent);
        let Look { agents, verdicts } = match found {
            Ok(found) => found,
            Err(error) => {
                tracing::debug!(session = %parent, %error, "its agents cannot be read; it is tried again");
                return self.wait_on(parent);
            }
        };
        // A session that is being closed waits on in its store, for the process that opens it next.
        if self.router.sessions.host(parent).is_none_or(SessionHost::is_leaving) {
            return;
        }
        if self.router.agents.starting(parent) > 0 {
            // Agents that the same round starts are awaited, too.
            let verdicts = verdicts.into_iter().map(|(call, _)| (call, Verdict::Waits)).collect();
            return self.tell(parent, verdicts);
        }
        for task in &agents {
            if self.router.sessions.has(&task.session) {
                continue;
            }
            self.router.run_input(parent, Input::Agent(Box::new(agents::seen(task))));
            if task.kind.as_deref() == Some(AGENT) && needs_process(task) {
                self.router.hand(&task.session, Queued::Task);
            }
        }
        self.tell(parent, verdicts);
    }

    /// Hands a session the outcomes of its calls that wait.
    fn tell(&mut self, parent: &SessionId, verdicts: Vec<(CallId, Verdict)>) {
        let waits = verdicts.iter().any(|(_, verdict)| matches!(verdict, Verdict::Waits));
        for (call, verdict) in verdicts {
            let outcome = self.router.agents.outcome(verdict);
            self.router.run_input(parent, Input::ToolDone(call, outcome));
        }
        if waits {
            self.wait_on(parent);
        }
    }

    /// Keeps looking for the agents of a session, if it is open here.
    fn wait_on(&mut self, parent: &SessionId) {
        if self.router.sessions.host(parent).is_some_and(|host| !host.is_leaving()) {
            self.router.agents.waits(parent.clone());
        }
    }

    /// Asks again whether the agents are done that a session waits for.
    pub fn look(&mut self, parent: &SessionId) {
        let Some(host) = self.router.sessions.host(parent).filter(|host| !host.is_leaving()) else {
            return self.router.agents.forget(parent);
        };
        let calls: Vec<(CallId, WaitAgents)> = waits(host.session().own_calls());
        match host.store() {
            Some(store) if !calls.is_empty() => self.router.agents.look(store, host.session(), calls),
            _ => self.router.agents.forget(parent),
        }
    }

    /// Asks so for all sessions that wait.
    pub fn look_at_all(&mut self) {
        for parent in self.router.agents.waiting() {
            self.look(&parent);
        }
    }

    /// Follows an event of a session: its parent shows its state, and goes on if it waited for its end. Its own agents
    /// are cancelled with it.
    pub fn follow(&mut self, id: &SessionId, event: &EventBody) {
        let Some(host) = self.router.sessions.host(id) else { return };
        let ended = match event {
            EventBody::RuntimeUpdated { ended, .. } => ended.as_ref(),
            EventBody::ThreadUpdated(_) => None,
            _ => return,
        };
        let (session, head) = (host.session(), host.session().head());
        let parent = head.parent.clone().filter(|_| head.origin == session::stored::Origin::Background);
        let news = parent.map(|parent| (parent, seen(session)));
        if let Some(TurnEnd { status, error, .. }) = ended {
            let failure = error.as_ref().map(ToString::to_string);
            self.router.agents.ended(id, failure.filter(|_| head.is_agent()));
            if *status == TurnStatus::Cancelled {
                self.cancel_agents(id);
            }
        }
        let Some((parent, agent)) = news else { return };
        if self.router.sessions.host(&parent).is_some() {
            self.router.run_input(&parent, Input::Agent(Box::new(agent)));
            if ended.is_some() {
                self.look(&parent);
            }
        }
    }

    /// Cancels the agents of a session that are not done.
    pub fn cancel_agents(&mut self, id: &SessionId) {
        let Some(host) = self.router.sessions.host(id) else { return };
        let is_open = |status: Option<TurnStatus>| matches!(status, None | Some(TurnStatus::Running));
        let agents = host.session().agents().iter();
        let open = agents.filter(|agent| agent.kind.as_deref() == Some(AGENT) && is_open(agent.status));
        let open: Vec<SessionId> = open.map(|agent| agent.session.clone()).collect();
        for agent in open {
            let is_here = self.router.sessions.has(&agent);
            let cancel = Command::CancelTurn { turn: None, queued: true };
            self.router.hand(&agent, Queued::Command(NOBODY, Box::new(cancel)));
            if !is_here {
                self.router.hand(&agent, Queued::Close(NOBODY));
            }
        }
    }
}

/// The calls that wait for agents, with their arguments.
fn waits(calls: Vec<InvokeTool>) -> Vec<(CallId, WaitAgents)> {
    let wait = |call: InvokeTool| match OwnTool::named(&call.name)?.delegates(&call.arguments)? {
        Ok(Delegation::Wait(wait)) => Some((call.call, wait)),
        _ => None,
    };
    calls.into_iter().filter_map(wait).collect()
}

/// The tokens left for one more agent; an error for the model if a limit is reached.
fn within(limits: AgentLimits, depth: u64, agents: &[Task], starting: usize) -> Result<u64, String> {
    let agents: Vec<&Task> = agents.iter().filter(|task| task.kind.as_deref() == Some(AGENT)).collect();
    if depth > u64::from(limits.depth) {
        let most = limits.depth;
        return Err(format!(
            "[agent limit reached: agents may stand at most {most} levels deep (agentDepth); no agent was started; do the \
             task yourself]"
        ));
    }
    let (running, most) = (agents.iter().filter(|task| is_at_work(task)).count() + starting, limits.running);
    if running >= usize::try_from(most).unwrap_or(usize::MAX) {
        return Err(format!(
            "[agent limit reached: {running} agents of this session are at work and the limit is {most} (mostAgents); no \
             agent was started; wait for one with wait_agents]"
        ));
    }
    let used: u64 = agents.iter().map(|task| task.used).sum();
    match limits.tokens.saturating_sub(used) {
        0 => {
            let most = limits.tokens;
            Err(format!(
                "[agent limit reached: the agents of this session used {used} tokens and the limit is {most} (agentTokens); \
                 no agent was started; do the task yourself]"
            ))
        }
        left => Ok(left),
    }
}

fn preset(name: &str, presets: Vec<AgentPreset>) -> Result<AgentPreset, String> {
    let known: Vec<String> = presets.iter().map(|preset| preset.name.clone()).collect();
    presets.into_iter().find(|preset| preset.name == name).ok_or_else(|| {
        let known = if known.is_empty() { "there are none".to_owned() } else { known.join(", ") };
        format!("[no agent was started: unknown preset {name:?}; presets: {known}]")
    })
}

/// Another model of the same provider. What was said of the known model does not hold for it, what was said of its
/// address does.
fn other_model(known: Model, name: &str) -> Model {
    if known.name.as_deref() == Some(name) {
        return known;
    }
    let Model {
        wire,
        base_url,
        key_env,
        web_socket,
        roles,
        usage,
        count_tokens,
        look_up_limits,
        manners,
        extra_headers,
        query,
        ..
    } = known;
    let name = Some(name.to_owned());
    let at = Model {
        wire,
        base_url,
        key_env,
        web_socket,
        look_up_limits,
        manners,
        extra_headers,
        query,
        ..Model::default()
    };
    Model { name, roles, usage, count_tokens, ..at }
}

/// The result of a call that started an agent.
fn started(agent: &SessionId, title: Option<&str>) -> ToolOutcome {
    let name = title.unwrap_or("unnamed");
    answered(vec![format!("agent {agent} was started; its name is {name:?}; wait_agents returns its answer")])
}

/// The tools of a session that are not the sidecar's own.
fn all_tools(head: &Head) -> impl Iterator<Item = &Tool> {
    head.prefix.tools.iter().chain(&head.prefix.server_tools)
}
