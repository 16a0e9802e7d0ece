//! Entries of the session list, for stored, open and just created sessions, and of revisions. The store selects them.

use crate::convert;
use protocol::edit;
use protocol::session::SessionSummary;
use protocol::session::search::{FoundSession, SessionSearchResult};
use session::Session;
use session::effect::Made;
use session::stored::{Head, Revision};
use store::list::{RevisionRow, SessionRow};
use store::session_search::{SessionFound, SessionSearchPage};

pub(in crate::server) fn row(row: &SessionRow) -> SessionSummary {
    SessionSummary {
        session_id: row.id.as_str().to_owned(),
        workspace_folder: row.workspace.clone(),
        workspace_uri: convert::uri_of(&row.workspace),
        driver: row.driver,
        title: row.title.clone().or_else(|| row.first_request.clone()),
        kind: row.kind.clone(),
        parent_id: row.parent.as_ref().map(|parent| parent.as_str().to_owned()),
        origin: row.origin,
        work_scope: row.work_scope.clone(),
        state: row.state,
        messages: row.messages,
        turns: row.turns,
        summary: row.summary.clone(),
        summarized_count: row.summarized_count,
        created_at: convert::iso(row.created_at),
        updated_at: convert::iso(row.updated_at),
    }
}

/// A page of sessions that a search found.
pub(in crate::server) fn found(page: SessionSearchPage) -> SessionSearchResult {
    let session = |found: SessionFound| FoundSession {
        session: row(&found.row),
        hits: found.hits.into_iter().map(convert::session_hit).collect(),
    };
    SessionSearchResult {
        next_cursor: page.next.map(|next| next.to_string()),
        sessions: page.sessions.into_iter().map(session).collect(),
    }
}

/// The entry of a revision.
pub(in crate::server) fn revision(row: &RevisionRow) -> edit::Revision {
    let Revision { id, cause, at, words } = &row.revision;
    edit::Revision {
        revision_id: id.as_str().to_owned(),
        cause: *cause,
        created_at: convert::iso(*at),
        messages: row.messages,
        text: words.clone(),
    }
}

/// The entry of an open session.
pub(in crate::server) fn summary(session: &Session) -> SessionSummary {
    let transcript = session.transcript();
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let in_force = transcript.in_force();
    SessionSummary {
        state: Some(session.state().name()),
        messages: count(transcript.messages().len()),
        turns: count(transcript.turns().len()),
        summary: in_force.map(|record| record.block.to_string()),
        summarized_count: in_force.map_or(0, |record| record.resume_at().0),
        ..of(session.head())
    }
}

/// The entry of a session that another one created from itself.
pub(in crate::server) fn made(made: &Made) -> SessionSummary {
    SessionSummary {
        messages: made.messages,
        turns: made.turns,
        summary: made.summary.as_ref().map(|block| block.to_string()),
        summarized_count: made.summarized,
        ..of(&made.head)
    }
}

/// The entry of a session without messages.
fn of(head: &Head) -> SessionSummary {
    SessionSummary {
        session_id: head.id.as_str().to_owned(),
        workspace_folder: head.workspace.clone(),
        workspace_uri: convert::uri_of(&head.workspace),
        driver: head.driver,
        title: head.title.clone(),
        kind: head.kind.clone(),
        parent_id: head.parent.as_ref().map(|parent| parent.as_str().to_owned()),
        origin: head.origin,
        work_scope: head.work_scope.clone(),
        state: head.carried.state,
        messages: 0,
        turns: 0,
        summary: None,
        summarized_count: 0,
        created_at: convert::iso(head.created_at),
        updated_at: convert::iso(head.updated_at),
    }
}
