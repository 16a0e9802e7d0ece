//! Prompts of servers as slash commands, and their resources as attachments of prompts.

use super::agent::{Agent, Asked};
use super::consent::{Step, Waiting};
use super::failure::refused;
use crate::commands::server_contents::{command, named};
use agent_client_protocol_schema::v1::{AvailableCommand, AvailableCommandInput, UnstructuredCommandInput};
use protocol::methods::{McpContent, McpContents, read_result};
use protocol::tool::server::{McpContentsParams, McpContentsResult};
use serde_json::Value;
use tower_lsp::jsonrpc::Error;

/// The commands for the prompts of servers.
pub(super) fn available(known: &McpContentsResult) -> Vec<AvailableCommand> {
    let prompts = known.prompts.iter().filter_map(|prompt| Some((command(prompt)?, prompt)));
    let commands = prompts.map(|(name, prompt)| {
        let arguments: Vec<&str> = prompt.arguments.iter().map(|argument| argument.name.as_str()).collect();
        let input = (!arguments.is_empty())
            .then(|| AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(arguments.join(" "))));
        let about =
            prompt.description.clone().unwrap_or_else(|| format!("Prompt of the server {}", prompt.server));
        AvailableCommand::new(name, about).input(input)
    });
    commands.collect()
}

impl Agent {
    /// Asks what the servers of a session offer for messages.
    pub(super) async fn learn_contents(&mut self, session: &str) {
        let params = McpContentsParams { session_id: session.to_owned() };
        let number = self.sidecar.ask::<McpContents>(&params).await;
        self.asked.insert(number, Asked::Contents(session.to_owned()));
    }

    pub(super) fn knows_contents(&mut self, session: &str, outcome: Result<Value, Error>) {
        let contents =
            outcome.ok().and_then(|value| read_result::<McpContents>(value).ok()).unwrap_or_default();
        let Some(open) = self.sessions.get_mut(session) else { return };
        let had_prompts = !open.contents.prompts.is_empty();
        open.contents = contents;
        if had_prompts || !open.contents.prompts.is_empty() {
            self.offer(session);
        }
    }

    /// Starts the turn of a prompt with the prompts and resources of servers that it names.
    pub(super) async fn start_with_contents(&mut self, waiting: Waiting) {
        let Waiting { request, session, content, .. } = waiting;
        let (content, reads) = match self.sessions.get(&session) {
            Some(open) => named(&open.contents, &session, content),
            None => (content, Vec::new()),
        };
        self.read_next(Waiting { request, session, content, decisions: Vec::new(), reads }).await;
    }

    async fn read_next(&mut self, mut waiting: Waiting) {
        if waiting.reads.is_empty() {
            return self.start(waiting.request, waiting.session, waiting.content).await;
        }
        let read = waiting.reads.remove(0);
        let number = self.sidecar.ask::<McpContent>(&read).await;
        self.asked.insert(number, Asked::Preparing(Step::Content, waiting));
    }

    pub(super) async fn content_read(&mut self, mut waiting: Waiting, outcome: Result<Value, Error>) {
        let read = outcome
            .and_then(|value| read_result::<McpContent>(value).map_err(|error| refused(error.message)));
        match read {
            Ok(read) => {
                waiting.content.0.extend(read.content.0);
                self.read_next(waiting).await;
            }
            Err(error) => self.editor.answer(&waiting.request, Err(error)),
        }
    }
}
