//! `session/open`, `session/list`, `session/search` and `turn/start`.

use super::{page_limit, prefix};
use crate::convert::{self, Reading};
use crate::server::folder::spelled;
use crate::server::given::given_id;
use crate::server::host::queued::{New, Opens};
use crate::server::settings::model_facts;
use crate::server::wire::to_value;
use engine::message::Content;
use engine::search::Words;
use protocol::edit::SessionHistoryParams;
use protocol::error::ProtocolError;
use protocol::session::search::SessionSearchParams;
use protocol::session::{SessionListParams, SessionOpenParams};
use protocol::settings::Settings;
use protocol::turn::TurnStartParams;
use session::input::{Command, Open, StartTurn};
use session::stored::Driver;
use store::list::{Cursor, ListQuery, NoCursor};
use store::session_search::SessionQuery;

/// Default number of sessions or messages on a page.
const PAGE: u32 = 50;
/// Most sessions or messages on a page.
const MOST_PAGE: u32 = 500;

/// Parses `session/open` in this folder, with settings that were checked.
pub(in crate::server) fn open(
    params: SessionOpenParams,
    folder: String,
    settings: Option<Settings>,
) -> Result<Opens, ProtocolError> {
    let mut reading = Reading::new();
    let history = params.history.as_deref();
    let history = history
        .map(|history| reading.field("history", |reading| convert::history(reading, history)))
        .transpose()?;
    let command = Command::Open(Box::new(Open {
        history,
        prefix: prefix(params.sections.as_deref(), params.tools.as_deref())?,
        title: params.title,
        newest: params.snapshot_messages,
        left_out: reading.left_out(),
    }));
    let new = New {
        driver: params.driver.map_or(Driver::Sidecar, Driver::from),
        kind: params.kind,
        parent: params.parent_id.as_deref().map(given_id).transpose()?,
        work_scope: params.work_scope,
        ..New::default()
    };
    let follow = params.follow.unwrap_or_default();
    Ok(Opens { command, folder: Some(folder), new, settings, follow })
}

/// The query of a list.
pub(in crate::server) fn list(params: &SessionListParams) -> Result<ListQuery, ProtocolError> {
    Ok(ListQuery {
        workspace: params.workspace_folder.as_deref().map(spelled),
        text: params.query.clone(),
        after: after(params.cursor.as_deref())?,
        limit: limit(params.limit)?,
    })
}

/// The place in a list of sessions where a page begins.
fn after(cursor: Option<&str>) -> Result<Option<Cursor>, ProtocolError> {
    let after = cursor.map(str::parse).transpose();
    after.map_err(|error: NoCursor| ProtocolError::invalid("cursor", error.to_string()))
}

/// Default number of sessions that a search finds.
const FOUND: u32 = 20;
/// Most sessions that a search finds.
const MOST_FOUND: u32 = 100;

/// The query of a search over sessions.
pub(in crate::server) fn search(params: &SessionSearchParams) -> Result<SessionQuery, ProtocolError> {
    Ok(SessionQuery {
        workspace: params.workspace_folder.as_deref().map(spelled),
        words: Words::of(&params.query),
        after: after(params.cursor.as_deref())?,
        limit: page_limit(params.limit, FOUND, MOST_FOUND)?,
    })
}

/// The number before which a page of revisions begins, and its size.
pub(in crate::server) fn history(params: &SessionHistoryParams) -> Result<(Option<u32>, u32), ProtocolError> {
    let cursor = params.cursor.as_deref();
    let before = cursor.map(|cursor| {
        let no_cursor =
            |_| ProtocolError::invalid("cursor", format!("{cursor:?} is not a cursor of session/history"));
        cursor.parse().map_err(no_cursor)
    });
    Ok((before.transpose()?, limit(params.limit)?))
}

/// Number of sessions, messages or revisions on a page.
pub(in crate::server) fn limit(limit: Option<u32>) -> Result<u32, ProtocolError> {
    page_limit(limit, PAGE, MOST_PAGE)
}

/// Parses `turn/start`.
pub(in crate::server) fn start_turn(params: TurnStartParams) -> Result<StartTurn, ProtocolError> {
    let mut content = Reading::new().field("content", |reading| reading.content(&params.content))?;
    let files = params.context_files.into_iter().flatten();
    content.extend(files.map(|file| Content::ContextFile { path: file.path, text: file.text.into() }));
    content.extend(convert::meta_of_whole(params.meta.as_ref()));
    Ok(StartTurn {
        content,
        attachments: convert::attachments(params.attachments.as_deref()),
        external_id: params.external_id,
        prefix: prefix(params.sections.as_deref(), params.tools.as_deref())?,
        model: match &params.model {
            Some(model) => Some((model_facts(model)?, to_value(model)?)),
            None => None,
        },
        priority: params.priority.unwrap_or_default(),
        key: params.idempotency_key,
    })
}
