//! Requests about the memories of a folder.

use super::page_limit;
use crate::convert;
use crate::server::wire::{Json, to_json};
use engine::memory::{Memory, MemoryPage, MemoryPatch, MemoryQuery};
use engine::search::Words;
use protocol::error::ProtocolError;
use protocol::memory::{
    MemoryListParams, MemoryListResult, MemoryPutParams, MemoryPutResult, MemorySearchParams,
};
use uuid::Uuid;

/// Default number of memories on a page.
const PAGE: u32 = 50;
/// Most memories on a page.
const MOST_PAGE: u32 = 500;
/// The query of a list.
pub(in crate::server) fn list(params: &MemoryListParams) -> Result<MemoryQuery, ProtocolError> {
    Ok(MemoryQuery {
        area: params.area.clone(),
        active: params.active,
        words: None,
        skip: skip(params.cursor.as_deref())?,
        limit: limit(params.limit)?,
    })
}

/// The query of a search.
pub(in crate::server) fn search(params: &MemorySearchParams) -> Result<MemoryQuery, ProtocolError> {
    Ok(MemoryQuery {
        area: params.area.clone(),
        active: params.active,
        words: Some(Words::of(&params.query)),
        skip: skip(params.cursor.as_deref())?,
        limit: limit(params.limit)?,
    })
}

fn limit(limit: Option<u32>) -> Result<usize, ProtocolError> {
    Ok(page_limit(limit, PAGE, MOST_PAGE)? as usize)
}

fn skip(cursor: Option<&str>) -> Result<usize, ProtocolError> {
    let reason = |cursor| format!("{cursor:?} is not a cursor of a memory list");
    cursor
        .map_or(Ok(0), |cursor| cursor.parse().map_err(|_| ProtocolError::invalid("cursor", reason(cursor))))
}

/// Checks a memory to put. Returns its id, made here if missing, and the changes.
pub(in crate::server) fn put(params: MemoryPutParams) -> Result<(String, MemoryPatch), ProtocolError> {
    if params.importance.is_some_and(|importance| !(1..=5).contains(&importance)) {
        return Err(ProtocolError::invalid("importance", "must be from 1 to 5"));
    }
    if params.id.as_deref() == Some("") || params.area.as_deref() == Some("") {
        return Err(ProtocolError::invalid("id", "id and area must not be empty"));
    }
    if params.text.as_deref().is_some_and(|text| text.trim().is_empty()) {
        return Err(ProtocolError::invalid("text", "must not be empty"));
    }
    let id = params.id.unwrap_or_else(|| Uuid::now_v7().to_string());
    let patch = MemoryPatch {
        area: params.area,
        text: params.text.map(Into::into),
        importance: params.importance,
        tags: params.tags,
        active: params.active,
        source: None,
    };
    Ok((id, patch))
}

/// The result for a page of memories.
pub(in crate::server) fn listed(page: &MemoryPage) -> MemoryListResult {
    MemoryListResult {
        memories: page.memories.iter().map(convert::memory).collect(),
        next_cursor: page.next.map(|next| next.to_string()),
    }
}

/// The result for a memory that was put; an error if `put` is `None`: there is none of this id to change.
pub(in crate::server) fn answer(id: &str, put: Option<&Memory>) -> Result<Json, ProtocolError> {
    let none = || {
        ProtocolError::invalid(
            "text",
            format!("is missing: memory {id:?} is unknown, and a new one needs a text"),
        )
    };
    let memory = convert::memory(put.ok_or_else(none)?);
    to_json(&MemoryPutResult { memory })
}
