//! Requests about a session's prompt: its content, what it leaves out, its compactions. Parameters become
//! commands here and nowhere deeper.

use super::{Context, page_limit};
use engine::id::{CompactionId, MessageId, PinId};
use engine::prompt::pins::Pinned;
use engine::search::{HITS, Query, Words};
use protocol::error::ProtocolError;
use protocol::ledger::ContextLedgerParams;
use protocol::recall::{ContextRecallParams, ContextSearchParams};
use protocol::server::ProgressToken;
use session::input::{Command, Compact};
use session::ledger::{LedgerQuery, NoCursor};
use session::recall::Recall;

/// Returns the session, the command and the progress token.
pub(in crate::server) fn command(
    ask: Context,
) -> Result<(String, Command, Option<ProgressToken>), ProtocolError> {
    let (session, command) = match ask {
        Context::Inspect(params) => (params.session_id, Command::Inspect(params.compactions)),
        Context::Compact(params) => {
            let compact = Compact {
                focus: params.focus,
                redo: params.redo.map(CompactionId::new),
                keep: params.keep.iter().map(MessageId::new).collect(),
                preview: params.preview,
            };
            return Ok((params.session_id, Command::Compact(compact), params.work_done_token));
        }
        Context::Undo(params) => {
            let id = params.compaction_id.map(CompactionId::new);
            (params.session_id, Command::Undo(id))
        }
        Context::Edit(params) => {
            let compaction = CompactionId::new(&params.compaction_id);
            let edit = Command::Edit { compaction, narrative: params.narrative };
            (params.session_id, edit)
        }
        Context::Exclude(params) => {
            if params.message_ids.is_empty() {
                let reason = "must not be empty";
                return Err(ProtocolError::invalid("messageIds", reason));
            }
            let messages = params.message_ids.iter().map(MessageId::new).collect();
            (params.session_id, Command::Exclude(messages))
        }
        Context::Pin(params) => {
            let what = match (params.message_id, params.text) {
                (Some(id), None) => Pinned::Message(MessageId::new(id)),
                (None, Some(text)) => Pinned::Text(text.into()),
                _ => {
                    return Err(ProtocolError::invalid(
                        "messageId",
                        "exactly one of messageId and text is needed",
                    ));
                }
            };
            (params.session_id, Command::Pin(what))
        }
        Context::Unpin(params) => (params.session_id, Command::Unpin(PinId::new(&params.pin_id))),
        Context::Recall(params) => {
            let id = params.session_id.clone();
            (id, Command::Recall(recall(params)?))
        }
        Context::Search(params) => {
            let id = params.session_id.clone();
            (id, Command::Search(query(params)?))
        }
        Context::Ledger(params) => {
            let id = params.session_id.clone();
            (id, Command::Ledger(entries(params)?))
        }
    };
    Ok((session, command, None))
}

/// Default size of a recall, in bytes.
const RECALL: usize = 256 * 1024;

/// Most hits of a search.
const MOST_HITS: u32 = 100;

fn query(params: ContextSearchParams) -> Result<Query, ProtocolError> {
    let skip = params.cursor.map(|cursor| {
        let reason = || format!("{cursor:?} is not a search cursor");
        cursor.parse().map_err(|_| ProtocolError::invalid("cursor", reason()))
    });
    Ok(Query {
        words: Words::of(&params.query),
        before: None,
        skip: skip.transpose()?.unwrap_or_default(),
        limit: page_limit(params.limit, HITS as u32, MOST_HITS)? as usize,
        hidden: true,
    })
}

/// Default number of ledger entries on a page.
const ENTRIES: u32 = 200;
/// Most ledger entries on a page.
const MOST_ENTRIES: u32 = 1000;

/// Number of ledger entries on a page.
pub(in crate::server) fn entries_on_page(limit: Option<u32>) -> Result<usize, ProtocolError> {
    Ok(page_limit(limit, ENTRIES, MOST_ENTRIES)? as usize)
}

fn entries(params: ContextLedgerParams) -> Result<LedgerQuery, ProtocolError> {
    let from = params.cursor.as_deref().map(str::parse).transpose();
    let from = from.map_err(|error: NoCursor| ProtocolError::invalid("cursor", error.to_string()))?;
    Ok(LedgerQuery { from, limit: entries_on_page(params.limit)? })
}

fn recall(params: ContextRecallParams) -> Result<Recall, ProtocolError> {
    let bytes = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    if params.limit == Some(0) {
        return Err(ProtocolError::invalid("limit", "must be at least 1"));
    }
    Ok(Recall {
        reference: params.reference,
        offset: params.offset.map_or(0, bytes),
        limit: params.limit.map_or(RECALL, bytes),
    })
}
