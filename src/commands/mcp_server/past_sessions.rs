//! Sessions and memories of one folder, read over our own protocol. Every request names the folder, and the sidecar
//! refuses a session of another one.

use super::relay::{Request, Requests, ends};
use super::server::{Refused, arguments, result};
use super::tools::{
    EffectsParams, Found, FoundSessions, Hit, ListParams, Memories, MemoriesParams, Memory, Messages,
    ReadParams, Said, SearchParams, Session, Sessions,
};
use crate::commands::client::ClientError;
use crate::convert::Reading;
use engine::text::page;
use protocol::ledger::SessionLedgerParams;
use protocol::memory::{MemoryListParams, MemoryListResult, MemorySearchParams};
use protocol::message::{Content, Message, MessageInput, Role};
use protocol::methods::{
    MemoryList, MemorySearch, Method, SessionLedger, SessionList, SessionMessages, SessionSearch, read_result,
};
use protocol::session::search::{SessionHit, SessionSearchParams};
use protocol::session::{SessionListParams, SessionMessagesParams, SessionMessagesResult, SessionSummary};
use rmcp::model::CallToolResult;
use serde_json::{Map, Value};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Arguments of a call.
type Given = Map<String, Value>;

/// Text of one message among several, in bytes.
const SHORT_TEXT: usize = 4_000;
/// Text of all messages of a result, in bytes. One message is read in parts of this size.
const LONG_TEXT: usize = 32_000;
/// Messages that are read at once in search of an id.
const AT_ONCE: u32 = 100;

/// Reads from one folder.
#[derive(Debug, Clone)]
pub(super) struct PastSessions {
    folder: Arc<str>,
    requests: Requests,
}

impl PastSessions {
    /// Returns a reader of this folder, and the requests that it sends.
    pub fn of(folder: String) -> (Self, mpsc::Receiver<Request>) {
        let (requests, waiting) = ends();
        (Self { folder: folder.into(), requests }, waiting)
    }

    async fn ask<M: Method>(&self, params: &M::Params) -> Result<M::Result, ClientError> {
        let params = serde_json::to_value(params).map_err(|error| ClientError::No(error.to_string()))?;
        let value = self.requests.send(M::NAME, params).await?;
        read_result::<M>(value).map_err(|error| ClientError::No(error.message))
    }

    fn folder(&self) -> Option<String> {
        Some(self.folder.to_string())
    }

    pub async fn list(&self, given: Given) -> Result<CallToolResult, Refused> {
        let ListParams { cursor, limit } = arguments(given)?;
        let limit = Some(bounded(limit, 20, 100)?);
        let page = self
            .ask::<SessionList>(&SessionListParams {
                workspace_folder: self.folder(),
                query: None,
                cursor,
                limit,
            })
            .await?;
        let sessions = page.sessions.into_iter().map(session).collect();
        result(&Sessions { sessions, next_cursor: page.next_cursor })
    }

    pub async fn search(&self, given: Given) -> Result<CallToolResult, Refused> {
        let SearchParams { words, cursor, limit } = arguments(given)?;
        let limit = Some(bounded(limit, 5, 20)?);
        let page = self
            .ask::<SessionSearch>(&SessionSearchParams {
                workspace_folder: self.folder(),
                query: words,
                cursor,
                limit,
            })
            .await?;
        let found = page.sessions.into_iter().map(|found| Found {
            session: session(found.session),
            hits: found.hits.into_iter().map(hit).collect(),
        });
        result(&FoundSessions { sessions: found.collect(), next_cursor: page.next_cursor })
    }

    pub async fn read(&self, given: Given) -> Result<CallToolResult, Refused> {
        let ReadParams { session_id, from, limit, message_id, offset } = arguments(given)?;
        let limit = bounded(limit, 20, 100)?;
        match message_id {
            Some(message_id) => {
                let message = self.message(&session_id, &message_id).await?;
                let offset = offset.and_then(|offset| usize::try_from(offset).ok()).unwrap_or_default();
                let said = said(message, offset, LONG_TEXT)?;
                result(&Messages { messages: vec![said], next: None, unreadable: Vec::new() })
            }
            None if offset.is_some() => {
                Err(Refused::because("offset is only for a message named by messageId"))
            }
            None => self.run_of_messages(&session_id, from, limit).await,
        }
    }

    /// Reads messages from a position on, or the newest.
    async fn run_of_messages(
        &self,
        session_id: &str,
        from: Option<u32>,
        limit: u32,
    ) -> Result<CallToolResult, Refused> {
        let end = from.map(|from| from.saturating_add(limit));
        let read = self.messages(session_id, end, limit).await?;
        let mut next = match end {
            // The position before a page is that of its first message, even if that was removed.
            Some(end) if self.messages(session_id, None, 1).await?.before >= end => Some(end),
            _ => None,
        };
        let (mut messages, mut bytes) = (Vec::new(), 0);
        for message in read.messages {
            if message.ord < from.unwrap_or_default() || message.role == Role::Event {
                continue;
            }
            let ord = message.ord;
            let said = said(message, 0, SHORT_TEXT)?;
            bytes += said.text.len();
            if bytes > LONG_TEXT && !messages.is_empty() {
                next = Some(ord);
                break;
            }
            messages.push(said);
        }
        result(&Messages { messages, next, unreadable: read.unreadable })
    }

    /// Reads one message.
    async fn message(&self, session_id: &str, message_id: &str) -> Result<Message, Refused> {
        let mut before = None;
        loop {
            let read = self.messages(session_id, before, AT_ONCE).await?;
            if let Some(found) = read.messages.into_iter().find(|message| message.id == message_id) {
                return Ok(found);
            }
            if read.before == 0 {
                let reason = format!("unknown message {message_id:?} in session {session_id:?}");
                return Err(Refused::because(reason));
            }
            before = Some(read.before);
        }
    }

    async fn messages(
        &self,
        session_id: &str,
        before: Option<u32>,
        limit: u32,
    ) -> Result<SessionMessagesResult, ClientError> {
        self.ask::<SessionMessages>(&SessionMessagesParams {
            session_id: session_id.to_owned(),
            workspace_folder: self.folder(),
            before,
            limit: Some(limit),
        })
        .await
    }

    pub async fn effects(&self, given: Given) -> Result<CallToolResult, Refused> {
        let EffectsParams { session_id, cursor, limit } = arguments(given)?;
        let limit = Some(bounded(limit, 100, 300)?);
        let workspace_folder = self.folder();
        let params = SessionLedgerParams { session_id, workspace_folder, cursor, limit };
        result(&self.ask::<SessionLedger>(&params).await?)
    }

    pub async fn memories(&self, given: Given) -> Result<CallToolResult, Refused> {
        let MemoriesParams { words, cursor, limit } = arguments(given)?;
        let (limit, active, workspace_folder) = (Some(bounded(limit, 20, 100)?), Some(true), self.folder());
        let MemoryListResult { memories, next_cursor } = match words {
            Some(query) => {
                let params =
                    MemorySearchParams { query, workspace_folder, area: None, active, cursor, limit };
                self.ask::<MemorySearch>(&params).await?
            }
            None => {
                let params = MemoryListParams { workspace_folder, area: None, active, cursor, limit };
                self.ask::<MemoryList>(&params).await?
            }
        };
        let memories = memories.into_iter().map(|memory| Memory {
            text: memory.text,
            area: memory.area,
            importance: memory.importance,
            tags: memory.tags,
            updated_at: memory.updated_at,
        });
        result(&Memories { memories: memories.collect(), next_cursor })
    }
}

/// The size of a page: `asked`, or `usual` if it is missing.
fn bounded(asked: Option<u32>, usual: u32, most: u32) -> Result<u32, Refused> {
    match asked {
        Some(asked) if asked == 0 || asked > most => {
            Err(Refused::because(format!("limit is {asked} and must be from 1 to {most}")))
        }
        asked => Ok(asked.unwrap_or(usual)),
    }
}

fn session(row: SessionSummary) -> Session {
    Session {
        session_id: row.session_id,
        title: row.title,
        messages: row.messages,
        created_at: row.created_at,
        updated_at: row.updated_at,
    }
}

fn hit(hit: SessionHit) -> Hit {
    Hit {
        message_id: hit.reference,
        position: hit.ord,
        role: name(hit.role),
        snippet: hit.excerpt,
        offset: hit.offset,
    }
}

fn name(role: Role) -> String {
    let name = match role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
        Role::Event => "event",
    };
    name.to_owned()
}

/// A part of a message's text, which is the text that searches give offsets in.
fn said(message: Message, offset: usize, limit: usize) -> Result<Said, Refused> {
    let Message { id, ord, role, parts, kind, created_at, .. } = message;
    let input = MessageInput {
        external_id: None,
        role,
        parts: Content(parts),
        kind,
        visible_to_model: None,
        created_at: None,
        usage: None,
        citations: None,
        extra: None,
        meta: None,
    };
    let read = Reading::new().message(&input).map_err(|error| Refused::because(error.to_string()))?;
    let whole = read.first().map(|message| message.body.said()).unwrap_or_default();
    let part = page(&whole, offset, limit);
    Ok(Said {
        message_id: id,
        position: ord,
        role: name(role),
        time: created_at,
        text: part.text.to_owned(),
        offset: part.offset as u64,
        bytes: whole.len() as u64,
        next_offset: part.next.map(|next| next as u64),
    })
}
