//! A session as one editor sees it. Events of the session become updates for the editor; what an update cannot express,
//! such as an answer that begins anew, is said in words.

use super::agents::Agents;
use super::content::block;
use super::row;
use crate::commands::report::progressed;
use agent_client_protocol_schema::v1::{
    CompactionStatus, CompactionUpdate, ContentBlock, ContentChunk, Notice, NoticeSeverity, Plan, PlanEntry,
    PlanEntryPriority, PlanEntryStatus, SessionInfoUpdate, SessionUpdate, UsageUpdate,
};
use protocol::context::compaction::CompactionView;
use protocol::event::{CompactionPhase, CompactionUpdateStatus, Event, Retrying};
use protocol::message::{Message, Part, Role, texts};
use protocol::model::DeltaOp;
use protocol::session::scope::{Todo, TodoStatus};
use protocol::session::snapshot::Snapshot;
use protocol::tool::ToolKind;
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

/// Updates that the editor said it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Takes {
    /// `compaction_update`.
    pub compactions: bool,
    /// `notice`.
    pub notices: bool,
}

/// State of what an editor was shown of a session.
#[derive(Debug)]
pub(super) struct View {
    folder: PathBuf,
    takes: Takes,
    /// Ids, given by this process, of requests that the editor shows by itself.
    own: HashSet<String>,
    /// Ids of messages that were shown.
    shown: HashSet<String>,
    /// Names of calls without a result, by their ids.
    calls: HashMap<String, String>,
    /// Ids of calls whose rows show a terminal.
    terminals: HashSet<String>,
    /// Ids of compactions that were shown.
    compactions: HashSet<String>,
    /// Numbers of attempts at a compaction that came to nothing, by its id: the next attempt has the same.
    attempts: HashMap<String, u32>,
    live: Live,
    title: Option<String>,
    todos: Vec<Todo>,
    agents: Agents,
    /// Sum of the session's costs, in US dollars.
    pub cost: Option<f64>,
    usage: (u64, u64),
}

/// The answer that is arriving.
#[derive(Debug, Default)]
struct Live {
    message: String,
    /// Text that was sent.
    text: String,
    /// Thinking that was sent, by the provider's block.
    thinking: HashMap<String, String>,
}

impl View {
    pub fn new(folder: PathBuf, takes: Takes) -> Self {
        Self {
            folder,
            takes,
            own: HashSet::new(),
            shown: HashSet::new(),
            calls: HashMap::new(),
            terminals: HashSet::new(),
            compactions: HashSet::new(),
            attempts: HashMap::new(),
            live: Live::default(),
            title: None,
            todos: Vec::new(),
            agents: Agents::default(),
            cost: None,
            usage: (0, 0),
        }
    }

    /// The text of the newest answer.
    pub fn answer(&self) -> &str {
        &self.live.text
    }

    /// Notes a request that the editor shows by itself.
    pub fn sent(&mut self, external_id: String) {
        self.own.insert(external_id);
    }

    /// Notes that the row of a call shows a terminal, which stays there.
    pub fn has_terminal(&mut self, call: &str) {
        self.terminals.insert(call.to_owned());
    }

    /// Takes a snapshot whose messages the editor has, such as that of a session which it resumes.
    pub fn knows(&mut self, snapshot: &Snapshot) {
        self.replay(snapshot);
    }

    /// Updates that show what the snapshot has and the editor has not: everything, in its order, to one that knows nothing.
    pub fn replay(&mut self, snapshot: &Snapshot) -> Vec<SessionUpdate> {
        let mut updates = Vec::new();
        let mut compactions: HashMap<&str, Vec<&CompactionView>> = HashMap::new();
        for compaction in &snapshot.compactions {
            compactions.entry(&compaction.anchor_round_id).or_default().push(compaction);
        }
        for (at, message) in snapshot.messages.iter().enumerate() {
            if !self.shown.contains(&message.id) {
                updates.extend(self.added(message, true));
            }
            let round = message.round_id.as_deref();
            let next = snapshot.messages.get(at + 1).and_then(|next| next.round_id.as_deref());
            if let Some(round) = round.filter(|round| next != Some(round)) {
                let made = compactions.remove(round).unwrap_or_default();
                updates.extend(made.into_iter().filter_map(|made| self.compacted(made)));
            }
        }
        let mut rest: Vec<_> = compactions.into_values().flatten().collect();
        rest.sort_by(|a, b| a.created_at.cmp(&b.created_at));
        updates.extend(rest.into_iter().filter_map(|made| self.compacted(made)));
        if let Some(streaming) = &snapshot.streaming {
            updates.extend(self.arriving(&streaming.message_id, &streaming.parts));
        }
        updates.extend(snapshot.agents.iter().filter_map(|agent| self.agents.told(agent)));
        updates.extend(self.titled(snapshot.title.as_ref()));
        updates.extend(self.planned(&snapshot.scope.todos));
        updates
    }

    /// Updates for an event.
    pub fn event(&mut self, event: &Event) -> Vec<SessionUpdate> {
        match event {
            Event::Snapshot { snapshot } => self.replay(snapshot),
            Event::StreamStarted { message_id, .. } => {
                self.live = Live { message: message_id.clone(), ..Live::default() };
                Vec::new()
            }
            Event::StreamDelta { message_id, ops } => {
                if self.live.message != *message_id {
                    self.live = Live { message: message_id.clone(), ..Live::default() };
                }
                ops.iter().flat_map(|op| self.changed(op)).collect()
            }
            Event::StreamReset { .. } => self.reset().into_iter().collect(),
            Event::MessageAdded { message } => self.added(message, false),
            Event::ToolProgress { tool_call_id, progress, total, message }
                if self.calls.contains_key(tool_call_id) =>
            {
                let said = progressed(*progress, *total, message.as_deref());
                vec![SessionUpdate::ToolCallUpdate(row::progressed(tool_call_id, &said))]
            }
            Event::AgentUpdated { agent } => self.agents.told(agent).into_iter().collect(),
            Event::ThreadUpdated { title, scope, .. } => {
                [self.titled(title.as_ref()), self.planned(&scope.todos)].into_iter().flatten().collect()
            }
            Event::ContextUpdated { tokens, limit, .. } => {
                self.usage = (u64::from(*tokens), u64::from(*limit));
                self.used().into_iter().collect()
            }
            Event::RuntimeUpdated { retrying: Some(retrying), .. } if self.takes.notices => {
                vec![SessionUpdate::Notice(retried(retrying))]
            }
            Event::CompactionUpdated { phase: CompactionPhase::Accepted, compaction: Some(made), .. } => {
                self.compacted(made).into_iter().collect()
            }
            Event::CompactionUpdated { compaction_id, status, reason, .. } => {
                self.compacts(compaction_id, *status, reason.as_deref()).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// The size of the prompt, once it is known, and what the session cost.
    pub fn used(&self) -> Option<SessionUpdate> {
        use agent_client_protocol_schema::v1::Cost;
        let (used, size) = self.usage;
        let usage = UsageUpdate::new(used, size);
        let usage = match self.cost {
            Some(dollars) => usage.cost(Cost::new(dollars, "USD")),
            None => usage,
        };
        (size > 0).then_some(SessionUpdate::UsageUpdate(usage))
    }

    fn changed(&mut self, op: &DeltaOp) -> Vec<SessionUpdate> {
        match op {
            DeltaOp::AppendContent { text } => {
                self.live.text.push_str(text);
                vec![said(&self.live.message, text)]
            }
            DeltaOp::AppendReasoning { text } => vec![thought(&self.live.message, text)],
            DeltaOp::SetThinkingBlocks { blocks } => {
                blocks.iter().filter_map(|block| self.thinks(block)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The new text of a block of thinking, which is the whole of it or the next piece.
    fn thinks(&mut self, block: &Map<String, Value>) -> Option<SessionUpdate> {
        let text = ["thinking", "text"].iter().find_map(|key| block.get(*key)?.as_str())?;
        let key = ["index", "id"].iter().find_map(|key| block.get(*key)).map(Value::to_string);
        let sent = self.live.thinking.entry(key.unwrap_or_default()).or_default();
        let fresh = text.strip_prefix(sent.as_str()).unwrap_or(text).to_owned();
        sent.push_str(&fresh);
        (!fresh.is_empty()).then(|| thought(&self.live.message, &fresh))
    }

    /// Shows what arrived of an answer before this process followed the session.
    fn arriving(&mut self, message: &str, parts: &[Part]) -> Vec<SessionUpdate> {
        if self.live.message != message {
            self.live = Live { message: message.to_owned(), ..Live::default() };
        }
        self.caught_up(&texts(parts)).into_iter().collect()
    }

    /// The rest of an answer's text, given its whole text so far.
    fn caught_up(&mut self, text: &str) -> Option<SessionUpdate> {
        let fresh = match text.strip_prefix(self.live.text.as_str()) {
            Some(rest) => rest.to_owned(),
            // Not what was streamed: the session holds this text.
            None => format!("\n\n{text}"),
        };
        text.clone_into(&mut self.live.text);
        (!fresh.is_empty()).then(|| said(&self.live.message, &fresh))
    }

    fn reset(&mut self) -> Option<SessionUpdate> {
        let text = std::mem::take(&mut self.live.text);
        self.live.thinking.clear();
        let again = "\n\n(The answer broke off. It begins anew.)\n\n";
        (!text.is_empty()).then(|| said(&self.live.message, again))
    }

    fn added(&mut self, message: &Message, is_replayed: bool) -> Vec<SessionUpdate> {
        self.shown.insert(message.id.clone());
        match message.role {
            Role::User if message.external_id.as_ref().is_some_and(|id| self.own.contains(id)) => Vec::new(),
            Role::User => {
                let chunk = |block| {
                    let chunk = ContentChunk::new(block).message_id(message.id.as_str());
                    SessionUpdate::UserMessageChunk(chunk)
                };
                message.parts.iter().filter_map(block).map(chunk).collect()
            }
            Role::Assistant => self.answered(message, is_replayed),
            Role::Tool => message.parts.iter().filter_map(|part| self.resulted(part)).collect(),
            Role::Event if message.kind.as_deref() == Some("question") => {
                vec![said(&message.id, &texts(&message.parts))]
            }
            Role::Event => Vec::new(),
        }
    }

    fn answered(&mut self, message: &Message, is_replayed: bool) -> Vec<SessionUpdate> {
        let mut updates = Vec::new();
        if self.live.message != message.id {
            self.live = Live { message: message.id.clone(), ..Live::default() };
        }
        if is_replayed && self.live.thinking.is_empty() {
            let thinking = message.parts.iter().filter_map(|part| match part {
                Part::Reasoning { text, .. } if !text.is_empty() => Some(thought(&message.id, text)),
                _ => None,
            });
            updates.extend(thinking);
        }
        updates.extend(self.caught_up(&texts(&message.parts)));
        for part in &message.parts {
            if let Part::ToolCall { id, name, arguments, .. } = part {
                self.calls.insert(id.clone(), name.clone());
                updates.push(SessionUpdate::ToolCall(row::called(&self.folder, id, name, &arguments.0)));
            }
        }
        updates
    }

    fn resulted(&mut self, part: &Part) -> Option<SessionUpdate> {
        let Part::ToolResult { tool_call_id, content, is_error, .. } = part else { return None };
        let name = self.calls.remove(tool_call_id);
        let kind = name.and_then(|name| crate::commands::tools::kind(&name));
        let is_error = *is_error == Some(true);
        let keeps = self.terminals.remove(tool_call_id) || (kind == Some(ToolKind::Edit) && !is_error);
        let ended = row::ended(tool_call_id, &content.0, is_error, keeps);
        Some(SessionUpdate::ToolCallUpdate(ended))
    }

    fn titled(&mut self, title: Option<&String>) -> Option<SessionUpdate> {
        if self.title.as_ref() == title {
            return None;
        }
        self.title = title.cloned();
        Some(SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().title(self.title.clone())))
    }

    fn planned(&mut self, todos: &[Todo]) -> Option<SessionUpdate> {
        if self.todos == todos {
            return None;
        }
        self.todos = todos.to_vec();
        let entry = |todo: &Todo| {
            let status = match todo.status {
                TodoStatus::Pending => PlanEntryStatus::Pending,
                TodoStatus::InProgress => PlanEntryStatus::InProgress,
                TodoStatus::Completed => PlanEntryStatus::Completed,
            };
            PlanEntry::new(todo.content.clone(), PlanEntryPriority::Medium, status)
        };
        Some(SessionUpdate::Plan(Plan::new(todos.iter().map(entry).collect())))
    }

    /// A compaction that was made, at its place among the messages.
    fn compacted(&mut self, made: &CompactionView) -> Option<SessionUpdate> {
        if !self.compactions.insert(made.id.clone()) {
            return None;
        }
        if self.takes.compactions {
            let summary = (!made.block.is_empty()).then(|| vec![ContentBlock::from(made.block.as_str())]);
            let update = CompactionUpdate::new(self.attempt(&made.id), CompactionStatus::Completed);
            return Some(SessionUpdate::CompactionUpdate(match summary {
                Some(summary) => update.summary(summary),
                None => update,
            }));
        }
        let CompactionView { tokens_before, tokens_after, .. } = made;
        let text = format!("\n\n(Compacted from {tokens_before} to {tokens_after} tokens.)\n\n");
        Some(said(&made.id, &text))
    }

    /// The id of a compaction for editors, where each has its own.
    fn attempt(&self, id: &str) -> String {
        match self.attempts.get(id) {
            Some(failed) => format!("{id}.{failed}"),
            None => id.to_owned(),
        }
    }

    /// A compaction that goes on, or ends without one.
    fn compacts(
        &mut self,
        id: &str,
        status: CompactionUpdateStatus,
        reason: Option<&str>,
    ) -> Option<SessionUpdate> {
        let status = match status {
            CompactionUpdateStatus::InProgress => CompactionStatus::InProgress,
            // A completed compaction is sent with its record.
            CompactionUpdateStatus::Completed => return None,
            CompactionUpdateStatus::Failed => CompactionStatus::Failed,
            CompactionUpdateStatus::Cancelled => CompactionStatus::Cancelled,
        };
        if !self.takes.compactions {
            return None;
        }
        let update = CompactionUpdate::new(self.attempt(id), status.clone());
        if status != CompactionStatus::InProgress {
            *self.attempts.entry(id.to_owned()).or_default() += 1;
        }
        let error = reason.filter(|_| status == CompactionStatus::Failed);
        Some(SessionUpdate::CompactionUpdate(match error {
            Some(reason) => update.error(reason.to_owned()),
            None => update,
        }))
    }
}

fn retried(retrying: &Retrying) -> Notice {
    let seconds = retrying.delay_ms.div_ceil(1_000);
    let title = format!("The model is asked again in {seconds} s (attempt {})", retrying.attempt);
    Notice::new(NoticeSeverity::Warning, title).description(retrying.reason.clone())
}

/// A piece of an answer.
pub(super) fn said(message: &str, text: &str) -> SessionUpdate {
    SessionUpdate::AgentMessageChunk(chunk(message, text))
}

fn thought(message: &str, text: &str) -> SessionUpdate {
    SessionUpdate::AgentThoughtChunk(chunk(message, text))
}

fn chunk(message: &str, text: &str) -> ContentChunk {
    ContentChunk::new(ContentBlock::from(text)).message_id(message)
}
