//! What a client asks about a session's prompt: what it is made of, what it left out, a compaction. Parameters become
//! commands here and nowhere deeper.

use super::asking::{command, page_limit};
use super::inbox::{Context, Event};
use super::main_loop::{MainLoop, Slot, wire};
use super::stores;
use crate::convert;
use engine::id::{CompactionId, MessageId, Ordinal, PinId, SessionId};
use engine::prompt::pins::Pinned;
use engine::search::{self, Found, HITS, Hit, Query, Words};
use protocol::error::{ErrorData, ProtocolError};
use protocol::ledger::ContextLedgerParams;
use protocol::recall::{ContextRecallParams, ContextSearchParams, ContextSearchResult};
use session::input::{Command, Compact, ReplyTo};
use session::ledger::{LedgerQuery, NoCursor};
use session::recall::Recall;
use store::error::StoreError;

/// Carries out what a client asks for.
pub(super) fn ask(main: &mut MainLoop, to: ReplyTo, ask: Context) -> Result<(), ProtocolError> {
    match ask {
        Context::Inspect(params) => command(main, to, &params.session_id, Command::Inspect),
        Context::Compact(params) => {
            if let Some(waiting) = main.waiting.get_mut(&to) {
                waiting.progress = params.work_done_token.map(|token| (token, false));
            }
            let compact = Compact {
                focus: params.focus,
                redo: params.redo.map(CompactionId::new),
                keep: params.keep.iter().map(MessageId::new).collect(),
                preview: params.preview,
            };
            command(main, to, &params.session_id, Command::Compact(compact))
        }
        Context::Undo(params) => {
            let id = params.compaction_id.map(CompactionId::new);
            command(main, to, &params.session_id, Command::Undo(id))
        }
        Context::Edit(params) => {
            let compaction = CompactionId::new(&params.compaction_id);
            let edit = Command::Edit { compaction, narrative: params.narrative };
            command(main, to, &params.session_id, edit)
        }
        Context::Exclude(params) => {
            if params.message_ids.is_empty() {
                let reason = "it names no message; nothing was left out";
                return Err(ProtocolError::invalid("messageIds", reason));
            }
            let messages = params.message_ids.iter().map(MessageId::new).collect();
            command(main, to, &params.session_id, Command::Exclude(messages))
        }
        Context::Pin(params) => {
            let what = match (params.message_id, params.text) {
                (Some(id), None) => Pinned::Message(MessageId::new(id)),
                (None, Some(text)) => Pinned::Text(text.into()),
                _ => {
                    return Err(ProtocolError::invalid(
                        "messageId",
                        "a pin is a messageId or a text, one of both",
                    ));
                }
            };
            command(main, to, &params.session_id, Command::Pin(what))
        }
        Context::Unpin(params) => {
            command(main, to, &params.session_id, Command::Unpin(PinId::new(&params.pin_id)))
        }
        Context::Recall(params) => {
            let id = params.session_id.clone();
            command(main, to, &id, Command::Recall(recall(params)?))
        }
        Context::Search(params) => {
            let id = params.session_id.clone();
            command(main, to, &id, Command::Search(query(params)?))
        }
        Context::Ledger(params) => {
            let id = params.session_id.clone();
            command(main, to, &id, Command::Ledger(entries(params)?))
        }
    }
}

/// Bytes of a recall where nobody says how many.
const RECALL: usize = 256 * 1024;

/// The most that a search answers.
const MOST_HITS: u32 = 100;

fn query(params: ContextSearchParams) -> Result<Query, ProtocolError> {
    let before = params.cursor.map(|cursor| {
        let reason = || format!("`{cursor}` is no cursor of a search");
        cursor.parse().map(Ordinal).map_err(|_| ProtocolError::invalid("cursor", reason()))
    });
    Ok(Query {
        words: Words::of(&params.query),
        before: before.transpose()?,
        limit: page_limit(params.limit, HITS as u32, MOST_HITS)? as usize,
        hidden: true,
    })
}

/// Entries of a page of a ledger where nobody says how many.
const ENTRIES: u32 = 200;
/// The most entries of a page.
const MOST_ENTRIES: u32 = 1000;

fn entries(params: ContextLedgerParams) -> Result<LedgerQuery, ProtocolError> {
    let from = params.cursor.as_deref().map(str::parse).transpose();
    let from = from.map_err(|error: NoCursor| ProtocolError::invalid("cursor", error.to_string()))?;
    let limit = page_limit(params.limit, ENTRIES, MOST_ENTRIES)? as usize;
    Ok(LedgerQuery { from, limit })
}

/// The store searched a session: what it found is answered with what became of it in the prompt.
pub(super) fn searched(main: &mut MainLoop, id: &SessionId, to: ReplyTo, found: Result<Found, StoreError>) {
    let Some(Slot::Live(live)) = main.sessions.get(id) else {
        let data = ErrorData::UnknownSession { session_id: id.as_str().to_owned() };
        let message = format!("session {id} was closed before the search ended; open it again");
        return main.answer(to, Err(ProtocolError::new(data, message)));
    };
    let fates = live.session.fates().map_err(|error| ProtocolError::invalid("settings", error.to_string()));
    let found = found.map_err(|error| stores::error(&error));
    let value = found.and_then(|found| Ok((found, fates?))).and_then(|(found, fates)| {
        let hit = |hit: Hit| {
            // What left the session since is no hit any more.
            let status = fates.get(hit.ord.index()).copied().flatten()?;
            Some(convert::search_hit(hit, status))
        };
        wire(&ContextSearchResult {
            next_cursor: found.next.map(|next| next.to_string()),
            hits: found.hits.into_iter().filter_map(hit).collect(),
        })
    });
    main.answer(to, value);
}

impl MainLoop {
    /// Has the store search a session for whoever waits for it. One that no store has is searched here.
    pub(super) fn search(
        &mut self,
        id: &SessionId,
        to: ReplyTo,
        query: Query,
        told: impl FnOnce(Result<Found, StoreError>) -> Event + Send + 'static,
    ) {
        let (pending, session) = (self.pending(to), id.clone());
        let Some(Slot::Live(live)) = self.sessions.get(id) else { return };
        match &live.store {
            Some((store, _)) => store
                .submit(move |store| store.search(&session, &query), move |found| pending.send(told(found))),
            None => {
                let messages = live.session.transcript().messages().iter().rev();
                let found = search::find(messages.map(|message| &**message), &query);
                pending.send(told(Ok(found)));
            }
        }
    }
}

fn recall(params: ContextRecallParams) -> Result<Recall, ProtocolError> {
    let bytes = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    if params.limit == Some(0) {
        return Err(ProtocolError::invalid("limit", "nothing fits in 0 bytes"));
    }
    Ok(Recall {
        reference: params.reference,
        offset: params.offset.map_or(0, bytes),
        limit: params.limit.map_or(RECALL, bytes),
    })
}
