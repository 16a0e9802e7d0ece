//! A compaction as the editor persists it and hands it back (source: 003): `{toolCallRoundId, text}` with our own part
//! as one JSON string, because an editor may rewrite keys that mean something to it.

use super::record::{Compaction, Mode, Trigger};
use crate::engine::id::{CompactionId, Ordinal, RoundId, SessionId, TurnId};
use crate::engine::transcript::Transcript;
use serde::{Deserialize, Serialize};

/// 003's `metadata.summary`, an entry of `metadata.summaries`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SummaryMetadata {
    /// The round that is annotated.
    pub tool_call_round_id: RoundId,
    /// The exact rendered block; may be empty where only actions apply.
    pub text: String,
    /// [`OwnPart`] as one JSON string.
    pub threadhold: String,
}

/// A summary as an editor kept it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SummaryEntry {
    /// 003's `toolCallRoundId`; `previous` in an older form; empty in the mark of a failed summary.
    pub round_id: String,
    /// The exact block.
    pub text: String,
    /// Our own part, one JSON string; nothing in a summary that others wrote.
    pub own: Option<String>,
}

/// What we need beside 003's fields to render the same bytes again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnPart {
    /// The session.
    pub session_id: SessionId,
    /// The turn that ran when it was made.
    pub turn_id: Option<TurnId>,
    /// The record.
    pub compaction_id: CompactionId,
    /// Hash of what the covered range said.
    pub source_hash: String,
    /// The last message that it speaks of.
    pub head_ord: Option<Ordinal>,
    /// Hash of what was said after the covered range, up to that message.
    pub head_hash: Option<String>,
    /// User messages that stay before the block.
    pub kept_user_ids: Vec<String>,
    /// Tokens of the prompt before.
    pub tokens_before: u32,
    /// Tokens of the prompt after.
    pub tokens_after: u32,
    /// Who counted.
    pub estimator: String,
    /// What started it.
    pub trigger: Trigger,
    /// The rung that made it.
    pub mode: Mode,
    /// The model that wrote the narrative.
    pub model: Option<String>,
    /// Everything, so that the record can be made again where our own store is gone. The block stands in `text`.
    pub record: Compaction,
}

/// The metadata of a record.
pub fn metadata(transcript: &Transcript, record: &Compaction) -> SummaryMetadata {
    let head = record.newest_named();
    let kept = record.kept_users.iter().filter_map(|ord| transcript.message(*ord));
    let own = OwnPart {
        session_id: transcript.session().clone(),
        turn_id: record.turn.clone(),
        compaction_id: record.id.clone(),
        source_hash: record.source_hash.clone(),
        head_ord: head,
        head_hash: head.map(|head| transcript.source_hash(record.resume_at(), head)),
        kept_user_ids: kept.map(|message| message.id.as_str().to_owned()).collect(),
        tokens_before: record.tokens_before,
        tokens_after: record.tokens_after,
        estimator: record.estimator.clone(),
        trigger: record.trigger,
        mode: record.mode,
        model: record.model.clone(),
        record: Compaction { block: "".into(), ..record.clone() },
    };
    SummaryMetadata {
        tool_call_round_id: record.anchor.round_id.clone(),
        text: record.block.to_string(),
        threadhold: serde_json::to_string(&own).unwrap_or_default(),
    }
}

/// Our own part of metadata that the editor handed back, the record with its block; why not, where it is damaged.
pub fn own_part(own: &str, text: &str) -> Result<OwnPart, serde_json::Error> {
    let own: OwnPart = serde_json::from_str(own)?;
    Ok(OwnPart { record: Compaction { block: text.into(), ..own.record }, ..own })
}
