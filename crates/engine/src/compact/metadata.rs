//! A compaction as the editor persists it and hands it back: `{toolCallRoundId, text}` with our own part
//! as one JSON string, because an editor may rewrite keys that mean something to it. One that stands for nothing, because
//! it only shortens or drops, annotates no round: to an editor that keeps only those two fields its text would hide all
//! that came before. Of such a one the editor persists our own part alone, beside the summaries of its turn.

use super::record::{Compaction, Mode, Status, Trigger};
use super::template::stands_for_something;
use crate::id::{CompactionId, Ordinal, RoundId, SessionId, TurnId};
use crate::transcript::{Round, Transcript};
use serde::{Deserialize, Serialize};

/// 003's `metadata.summary`, an entry of `metadata.summaries`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SummaryMetadata {
    /// The round that is annotated.
    pub tool_call_round_id: RoundId,
    /// The exact rendered block.
    pub text: String,
    /// [`OwnPart`] as one JSON string.
    pub threadhold: String,
}

/// What the editor persists of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Persisted {
    /// The annotation of a round.
    Summary(SummaryMetadata),
    /// [`OwnPart`] with its block as one JSON string, of a record that annotates no round.
    Own(String),
}

impl Persisted {
    /// About as many bytes as its own part has.
    pub fn weight(&self) -> usize {
        match self {
            Self::Summary(summary) => summary.threadhold.len(),
            Self::Own(own) => own.len(),
        }
    }
}

/// A summary as an editor kept it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SummaryEntry {
    /// 003's `toolCallRoundId`; `previous` in an older form; empty in the mark of a failed summary.
    pub round_id: String,
    /// The exact block; empty where our own part has it.
    pub text: String,
    /// Our own part, one JSON string; nothing in a summary that others wrote.
    pub own: Option<String>,
}

/// What we need beside 003's fields to render the same bytes again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OwnPart {
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
    /// Everything, so that the record can be made again where our own store is gone. Beside a `text` it has no block.
    pub record: Compaction,
}

/// The metadata of a record.
pub fn metadata(transcript: &Transcript, record: &Compaction) -> Persisted {
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
        record: record.clone(),
    };
    let as_json = |own: &OwnPart| serde_json::to_string(own).unwrap_or_default();
    if !annotates(record) {
        return Persisted::Own(as_json(&own));
    }
    let beside = OwnPart { record: Compaction { block: "".into(), ..own.record }, ..own };
    Persisted::Summary(SummaryMetadata {
        tool_call_round_id: record.anchor.round_id.clone(),
        text: record.block.to_string(),
        threadhold: as_json(&beside),
    })
}

/// Whether a record annotates its round: its block alone stands for all that came before. One that only shortens results
/// or drops rounds does not.
fn annotates(record: &Compaction) -> bool {
    let shortens = matches!(record.mode, Mode::LimitHistory | Mode::Dropped);
    !shortens && record.covers.is_some() && record.dropped.is_none() && stands_for_something(&record.block)
}

/// A round's summary, as an editor shows it: the block of the newest compaction in force that is anchored at this round. An
/// editor may use the id of a round again in another turn, so the place counts too.
pub fn round_summary<'t>(transcript: &'t Transcript, round: &Round) -> Option<&'t str> {
    let is_here = |record: &&Compaction| {
        let (id, from) = (&record.anchor.round_id, record.anchor.ord);
        let anchored = transcript.rounds().iter().rfind(|known| known.id == *id && known.assistant <= from);
        *id == round.id && anchored.is_some_and(|anchored| anchored.assistant == round.assistant)
    };
    let in_force = transcript.compactions().iter().rev().filter(|record| record.status == Status::InForce);
    in_force.filter(|record| annotates(record)).find(is_here).map(|record| &*record.block)
}

/// Own parts of records that annotate no round as one JSON list; nothing where there are none.
pub fn listed(all: &[Persisted]) -> Option<String> {
    let own = |persisted: &Persisted| match persisted {
        Persisted::Summary(_) => None,
        Persisted::Own(own) => Some(own.clone()),
    };
    let own: Vec<String> = all.iter().filter_map(own).collect();
    (!own.is_empty()).then(|| format!("[{}]", own.join(",")))
}

/// The entries of such a list; one that cannot be read, where it is damaged.
pub fn unlisted(list: &str) -> Vec<SummaryEntry> {
    let entry = |own: String| SummaryEntry { own: Some(own), ..SummaryEntry::default() };
    match serde_json::from_str::<Vec<serde_json::Value>>(list) {
        Ok(own) => own.iter().map(|own| entry(own.to_string())).collect(),
        Err(_) => vec![entry(list.to_owned())],
    }
}

/// Our own part of metadata that the editor handed back, the record with its block; why not, where it is damaged.
pub(crate) fn own_part(own: &str, text: &str) -> Result<OwnPart, serde_json::Error> {
    let own: OwnPart = serde_json::from_str(own)?;
    let block = if text.is_empty() { own.record.block.clone() } else { text.into() };
    Ok(OwnPart { record: Compaction { block, ..own.record }, ..own })
}
