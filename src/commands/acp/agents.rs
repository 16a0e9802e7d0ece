//! Background sessions as rows of the session that they work for: a row has the name and the status of an agent. Its
//! questions are asked in that session, and its messages are its own.

use agent_client_protocol_schema::v1::{
    SessionUpdate, ToolCall, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use protocol::session::agent::Agent;
use protocol::turn::TurnStatus;
use serde_json::{Map, json};
use std::collections::HashMap;

/// Rows that were shown.
#[derive(Debug, Default)]
pub(super) struct Agents {
    /// Titles and states of the rows, by the ids of their sessions.
    rows: HashMap<String, (String, ToolCallStatus)>,
}

impl Agents {
    /// The update for an agent that was added or changed, if it changes what its row shows.
    pub fn told(&mut self, agent: &Agent) -> Option<SessionUpdate> {
        let title = format!("Agent: {}", agent.name.as_deref().unwrap_or("(no name)"));
        let status = match agent.status {
            None => ToolCallStatus::Pending,
            Some(TurnStatus::Running) => ToolCallStatus::InProgress,
            Some(TurnStatus::Completed) => ToolCallStatus::Completed,
            Some(TurnStatus::Cancelled | TurnStatus::Failed) => ToolCallStatus::Failed,
        };
        let id = agent.session_id.clone();
        let row = (title.clone(), status);
        let before = self.rows.insert(id.clone(), row.clone());
        if before.as_ref() == Some(&row) {
            return None;
        }
        Some(if before.is_some() {
            let fields = ToolCallUpdateFields::new().title(title).status(status);
            SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id, fields))
        } else {
            // The row has the id of the session, which editors that know us can open.
            let ours = Map::from_iter([("threadhold".to_owned(), json!({ "sessionId": id }))]);
            SessionUpdate::ToolCall(ToolCall::new(id, title).status(status).meta(ours))
        })
    }
}
