//! Tool servers in a chat: those that wait for consent, and the prompts and resources that a line names, which are read
//! before it is sent.

use super::command::of_session;
use crate::commands::client::{Client, ClientError};
use crate::commands::tools::server_contents::{command, named};
use crate::commands::tools::servers::consent;
use protocol::message::Content;
use protocol::methods::{McpContent, McpContents, McpList};
use protocol::tool::server::{McpContentsParams, McpServerStatus, McpState};

/// The servers of a session that are not started before the user allows them, each as a note.
pub(super) async fn waiting(client: &mut Client, session: &str) -> Vec<String> {
    // The session goes on without them.
    let Ok(listed) = client.call::<McpList>(&of_session(session)).await else { return Vec::new() };
    let waiting = listed.servers.iter().filter(|server| server.state == McpState::Waiting);
    let note = |server: &McpServerStatus| {
        format!("({}; it is not started before /allow {}, see /help)", consent(server), server.name)
    };
    waiting.map(note).collect()
}

/// The content of the message that a line becomes. The servers are asked only if the line may name one.
pub(super) async fn meant(client: &mut Client, session: &str, line: &str) -> Result<Content, ClientError> {
    let content = Content::text(line);
    let mut words = line.split_whitespace();
    if !words.any(|word| word.starts_with(['/', '@']) && word.contains(':')) {
        return Ok(content);
    }
    let params = McpContentsParams { session_id: session.to_owned() };
    let known = client.call::<McpContents>(&params).await?;
    let (mut content, reads) = named(&known, session, content);
    if line.starts_with('/') && reads.is_empty() {
        let prompts: Vec<String> =
            known.prompts.iter().filter_map(command).map(|name| format!("/{name}")).collect();
        let all = if prompts.is_empty() { "none".to_owned() } else { prompts.join(" ") };
        return Err(ClientError::No(format!("no tool server has this prompt; there are: {all}")));
    }
    for read in reads {
        content.0.extend(client.call::<McpContent>(&read).await?.content.0);
    }
    Ok(content)
}
