//! An open session: what the editor was shown of it, and the prompts whose turns have not ended.

use super::option::Mode;
use super::view::{Takes, View};
use agent_client_protocol_schema::v1::StopReason;
use protocol::message::Content;
use protocol::model::StopReason as Stop;
use protocol::session::Driver;
use protocol::session::snapshot::{HeldBy, Snapshot};
use protocol::settings::Settings;
use protocol::tool::server::McpContentsResult;
use protocol::turn::TurnStatus;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;
use tower_lsp::jsonrpc::{Error, Id};

/// A prompt of the editor, which is answered at the end of its turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Prompt {
    /// The editor's request.
    pub request: Id,
    /// The turn, once the sidecar has accepted the prompt.
    pub turn: Option<String>,
    /// The prompt's message.
    pub message: Option<String>,
    /// Id of the prompt in the queue.
    pub item: Option<String>,
    /// `true` if the editor cancelled the prompt before it had a turn.
    pub is_cancelled: bool,
}

impl Default for Prompt {
    fn default() -> Self {
        Self { request: Id::Null, turn: None, message: None, item: None, is_cancelled: false }
    }
}

/// An open session.
#[derive(Debug)]
pub(super) struct OpenSession {
    pub folder: PathBuf,
    pub mode: Mode,
    /// The mode that the model was told of last.
    pub told: Mode,
    /// `true` if the tools in force are not those of `mode`.
    pub has_new_mode: bool,
    pub settings: Settings,
    pub view: View,
    pub prompts: Vec<Prompt>,
    /// The prompt that is being prepared for its turn, by its request.
    pub preparing: Option<Id>,
    /// Prompts behind it, in order.
    pub behind: Vec<(Id, Content)>,
    /// Prompts whose turns ended, which are answered once the cost of the turn was told.
    pub ended: Vec<(Prompt, Result<Value, Error>)>,
    /// `true` if the cost of a turn was asked for.
    pub is_inspected: bool,
    /// The process that writes the session, if it is another one.
    pub held_by: Option<HeldBy>,
    /// `true` if the session's own editor runs its turns.
    pub is_of_editor: bool,
    /// Definitions of servers that the user was asked about.
    pub asked_servers: BTreeSet<String>,
    /// Prompts and resources of the servers, as last listed.
    pub contents: McpContentsResult,
    /// Reason why the last answer ended.
    pub stop: Option<Stop>,
}

impl OpenSession {
    pub fn new(folder: PathBuf, takes: Takes, snapshot: &Snapshot) -> Self {
        Self {
            view: View::new(folder.clone(), takes),
            folder,
            mode: Mode::default(),
            told: Mode::default(),
            has_new_mode: false,
            settings: snapshot.settings.clone(),
            prompts: Vec::new(),
            preparing: None,
            behind: Vec::new(),
            ended: Vec::new(),
            is_inspected: false,
            held_by: snapshot.held_by.clone(),
            is_of_editor: snapshot.driver == Driver::Editor,
            asked_servers: BTreeSet::new(),
            contents: McpContentsResult::default(),
            stop: None,
        }
    }

    /// Changes the mode.
    pub fn choose_mode(&mut self, mode: Mode) {
        self.has_new_mode |= self.mode != mode;
        self.mode = mode;
    }

    /// Notes that a prompt waited in the queue and became part of this turn. Returns its request.
    pub fn joins(&mut self, message: &str, turn: &str) -> Option<&Id> {
        let joined = self.prompts.iter_mut().find(|prompt| prompt.message.as_deref() == Some(message));
        joined.map(|prompt| {
            prompt.turn = Some(turn.to_owned());
            &prompt.request
        })
    }

    /// Takes the prompt that could not be carried out when its turn came.
    pub fn fails(&mut self, item: &str) -> Option<Prompt> {
        let at = self.prompts.iter().position(|prompt| prompt.item.as_deref() == Some(item))?;
        Some(self.prompts.remove(at))
    }

    /// Takes the prompts of a turn.
    pub fn ends(&mut self, turn: &str) -> Vec<Prompt> {
        self.prompts.extract_if(.., |prompt| prompt.turn.as_deref() == Some(turn)).collect()
    }

    /// The reason why a turn ended; `None` if it failed.
    pub fn reason(&self, status: TurnStatus) -> Option<StopReason> {
        match (status, self.stop) {
            (TurnStatus::Cancelled, _) => Some(StopReason::Cancelled),
            (TurnStatus::Failed, _) => None,
            (_, Some(Stop::Length)) => Some(StopReason::MaxTokens),
            (_, Some(Stop::Refused)) => Some(StopReason::Refusal),
            _ => Some(StopReason::EndTurn),
        }
    }

    /// `true` if no model is named that the sidecar can ask.
    pub fn lacks_model(&self) -> bool {
        crate::commands::report::model(&self.settings).is_none()
    }
}
