//! The ledger of a whole session, read from its store.

use super::answer::unknown;
use super::{Json, to_json};
use crate::convert;
use crate::server::follow::opening;
use crate::server::given::own_settings;
use crate::server::requests::context::entries_on_page;
use crate::server::settings::Layers;
use engine::compact::known_tools::Kinds;
use engine::compact::ledger::reader::LedgerReader;
use engine::compact::record::Span;
use engine::id::{Ordinal, SessionId};
use engine::tokens::QuarterOfChars;
use protocol::error::ProtocolError;
use protocol::ledger::SessionLedgerParams;
use session::Session;
use session::ledger::LedgerPage;
use session::stored::Stored;

/// A page of the ledger: the entries before it, and the last message that is read; `None` for the newest.
pub(in crate::server) struct Query {
    skip: usize,
    until: Option<Ordinal>,
    limit: usize,
}

/// Parses `session/ledger`. A cursor is both numbers of a [`Query`], with a dot between them.
pub(in crate::server) fn query(params: &SessionLedgerParams) -> Result<Query, ProtocolError> {
    let limit = entries_on_page(params.limit)?;
    let Some(cursor) = params.cursor.as_deref() else { return Ok(Query { skip: 0, until: None, limit }) };
    let read = || {
        let (skip, until) = cursor.split_once('.')?;
        Some(Query { skip: skip.parse().ok()?, until: Some(Ordinal(until.parse().ok()?)), limit })
    };
    read().ok_or_else(|| {
        ProtocolError::invalid("cursor", format!("{cursor:?} is not a cursor of session/ledger"))
    })
}

/// The result for a stored session.
pub(in crate::server) fn of_session(
    id: &SessionId,
    (stored, layers, query): (Option<Stored>, Layers, Query),
) -> Result<Json, ProtocolError> {
    let Some(stored) = stored else { return Err(unknown(id)) };
    let settings = layers.effective(&stored.head.workspace, &own_settings(&stored.head.settings))?;
    // Estimates do: the result has no token counts.
    let session = Session::new(opening(stored, settings, String::new()), &QuarterOfChars);
    let transcript = session.transcript();
    let newest = transcript.messages().last().map(|message| message.ord);
    let until = query.until.map_or(newest, |until| newest.map(|newest| newest.min(until)));
    let Some(until) = until else { return to_json(&convert::ledger(transcript, LedgerPage::default())) };
    let kinds = Kinds { named: &session.settings().policy.tool_kinds, declared: &session.fixed().tools };
    let whole = LedgerReader::new(transcript, Ordinal(0), kinds).until(until);
    let page = whole.page(query.skip, query.limit);
    let next = page.next;
    let span = Some(Span { from: Ordinal(0), to: until });
    let page = LedgerPage { span, page, ..LedgerPage::default() };
    let mut result = convert::ledger(transcript, page);
    result.next_cursor = next.map(|skip| format!("{skip}.{}", until.0));
    to_json(&result)
}
