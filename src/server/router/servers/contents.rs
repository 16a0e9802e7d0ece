//! Prompts and resources of a session's servers, which a user can put into a message. Servers are asked outside of the
//! router.

use super::ServerHandler;
use crate::convert;
use crate::server::given::given_id;
use crate::server::wire::{refused, to_json};
use mcp::{Contents, Server};
use protocol::error::{ErrorData, ProtocolError};
use protocol::message::Content;
use protocol::tool::server::{
    McpArgument, McpContentParams, McpContentResult, McpContentsParams, McpContentsResult, McpPrompt,
    McpResource,
};
use session::input::ReplyTo;
use std::sync::Arc;

impl ServerHandler<'_> {
    /// Lists what the servers of a session offer.
    pub fn contents(&mut self, to: ReplyTo, params: &McpContentsParams) -> Result<(), ProtocolError> {
        let servers = self.servers(&params.session_id)?;
        let pending = self.router.servers.pending(&mut self.router.replies, to);
        tokio::spawn(async move {
            let asked = servers
                .into_iter()
                .map(|(name, server)| (name, tokio::spawn(async move { server.contents().await })));
            let mut all = McpContentsResult::default();
            for (name, asked) in asked.collect::<Vec<_>>() {
                // The reason is in the server's status.
                if let Ok(Ok(contents)) = asked.await {
                    add(&mut all, &name, contents);
                }
            }
            pending.answer(to_json(&all));
        });
        Ok(())
    }

    /// Reads a prompt or a resource.
    pub fn content(&mut self, to: ReplyTo, params: McpContentParams) -> Result<(), ProtocolError> {
        let McpContentParams { session_id, server: name, prompt, arguments, uri } = params;
        if prompt.is_some() == uri.is_some() {
            return Err(ProtocolError::invalid("prompt", "one of prompt and uri is required"));
        }
        let found = self.servers(&session_id)?.into_iter().find(|(known, _)| *known == name);
        let Some((_, server)) = found else {
            let data = ErrorData::StaleReference { field: "server".into(), id: name.clone() };
            return Err(ProtocolError::new(
                data,
                format!("the session has no server {name:?} that it can use"),
            ));
        };
        let pending = self.router.servers.pending(&mut self.router.replies, to);
        tokio::spawn(async move {
            let read = match (prompt, uri) {
                (Some(prompt), _) => server.prompt(&prompt, arguments.unwrap_or_default()).await,
                (None, uri) => server.resource(&uri.unwrap_or_default()).await,
            };
            pending.answer(match read {
                Ok(content) => {
                    to_json(&McpContentResult { content: Content(convert::content_parts(&content)) })
                }
                Err(error) => {
                    let data = ErrorData::StaleReference { field: "server".into(), id: name };
                    Err(ProtocolError::new(data, error.to_string()))
                }
            });
        });
        Ok(())
    }

    /// The servers that an open session can use, by name.
    fn servers(&mut self, session: &str) -> Result<Vec<(String, Arc<Server>)>, ProtocolError> {
        let id = given_id(session)?;
        if self.router.sessions.host(&id).is_none() {
            return Err(refused::not_open(&id));
        }
        let offered = self.offered(&id).into_iter();
        Ok(offered.filter_map(|offered| Some((offered.name, offered.server.ok()?.1))).collect())
    }
}

fn add(all: &mut McpContentsResult, server: &str, contents: Contents) {
    all.prompts.extend(contents.prompts.into_iter().map(|prompt| {
        McpPrompt {
            server: server.to_owned(),
            name: prompt.name,
            description: prompt.description,
            arguments: prompt
                .arguments
                .into_iter()
                .map(|(name, description, required)| McpArgument { name, description, required })
                .collect(),
        }
    }));
    all.resources.extend(contents.resources.into_iter().map(|resource| McpResource {
        server: server.to_owned(),
        uri: resource.uri,
        name: resource.name,
        description: resource.description,
        mime_type: resource.mime_type,
    }));
}
