//! Compactions as the editor persists and returns them: `{toolCallRoundId, text}` with our own part as one JSON
//! string, because an editor may rewrite keys that mean something to it. A record that only shortens or drops
//! annotates no round: in an editor that keeps only those two fields, its text would hide all earlier messages. Of
//! such a record the editor persists our own part alone, beside the summaries of its turn.

use super::record::{Compaction, Mode, Status, Trigger};
use super::template::stands_for_something;
use crate::id::{CompactionId, Ordinal, RoundId, SessionId, TurnId};
use crate::transcript::Transcript;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The editor's `metadata.summary`, an entry of `metadata.summaries`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SummaryMetadata {
    /// Id of the annotated round.
    pub tool_call_round_id: RoundId,
    /// The exact rendered block.
    pub text: String,
    /// [`OwnPart`] as one JSON string.
    pub threadhold: String,
}

/// Metadata of a record, as the editor persists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Persisted {
    /// The annotation of a round.
    Summary(SummaryMetadata),
    /// [`OwnPart`] with its block as one JSON string, of a record that annotates no round.
    Own(String),
}

impl Persisted {
    /// Approximate size: the bytes of its own part.
    pub fn weight(&self) -> usize {
        match self {
            Self::Summary(summary) => summary.threadhold.len(),
            Self::Own(own) => own.len(),
        }
    }
}

/// A summary as the editor returned it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SummaryEntry {
    /// The `toolCallRoundId`; `previous` in an older form; empty in the mark of a failed summary.
    pub round_id: String,
    /// The exact block; empty if our own part has it.
    pub text: String,
    /// Our own part as one JSON string; `None` in a summary that others wrote.
    pub own: Option<String>,
    /// Of a summary by which the source of an import replaced its history: the tokens of the compacted prompt, 0 if not
    /// stated. `None` for all others.
    pub recorded: Option<u32>,
}

/// Data beside the editor's two fields from which the same bytes can be rendered again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OwnPart {
    pub session_id: SessionId,
    /// The turn that was running at the time.
    pub turn_id: Option<TurnId>,
    pub compaction_id: CompactionId,
    /// Hash of the covered messages.
    pub source_hash: String,
    /// The newest message that the record refers to.
    pub head_ord: Option<Ordinal>,
    /// Hash of the messages after the covered range, up to that one.
    pub head_hash: Option<String>,
    /// Ids of the user messages kept before the block.
    pub kept_user_ids: Vec<String>,
    /// Tokens of the prompt before.
    pub tokens_before: u32,
    /// Tokens of the prompt after.
    pub tokens_after: u32,
    /// Name of the token counter.
    pub estimator: String,
    pub trigger: Trigger,
    /// The rung that made it.
    pub mode: Mode,
    /// The model that wrote the narrative.
    pub model: Option<String>,
    /// The whole record, in case our own store is lost; without its block if that is in `text`.
    pub record: Compaction,
}

/// Returns the metadata of a record.
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

/// `true` if a record annotates its round: its block alone replaces all earlier messages. One that only shortens
/// results or drops rounds does not.
fn annotates(record: &Compaction) -> bool {
    let shortens = matches!(record.mode, Mode::LimitHistory | Mode::Dropped);
    !shortens && record.covers.is_some() && record.dropped.is_none() && stands_for_something(&record.block)
}

/// Returns the rounds' summaries for the editor, by the position of the round: the block of the newest compaction in
/// force that is anchored there. An editor may reuse a round's id in another turn, so the position is compared, too.
pub fn round_summaries(transcript: &Transcript) -> BTreeMap<Ordinal, &str> {
    let mut summaries = BTreeMap::new();
    let in_force = transcript.compactions().iter().rev().filter(|record| record.status == Status::InForce);
    for record in in_force.filter(|record| annotates(record)) {
        let until = transcript.first_round_from(record.anchor.ord.next());
        let mut rounds = transcript.rounds().get(..until).unwrap_or_default().iter();
        if let Some(anchored) = rounds.rfind(|round| round.id == record.anchor.round_id) {
            summaries.entry(anchored.assistant).or_insert(&*record.block);
        }
    }
    summaries
}

/// Returns the own parts of records that annotate no round as one JSON list; `None` if there are none.
pub fn listed(all: &[Persisted]) -> Option<String> {
    let own = |persisted: &Persisted| match persisted {
        Persisted::Summary(_) => None,
        Persisted::Own(own) => Some(own.clone()),
    };
    let own: Vec<String> = all.iter().filter_map(own).collect();
    (!own.is_empty()).then(|| format!("[{}]", own.join(",")))
}

/// Returns the entries of such a list; a damaged list is one entry that cannot be read.
pub fn unlisted(list: &str) -> Vec<SummaryEntry> {
    let entry = |own: String| SummaryEntry { own: Some(own), ..SummaryEntry::default() };
    match serde_json::from_str::<Vec<serde_json::Value>>(list) {
        Ok(own) => own.iter().map(|own| entry(own.to_string())).collect(),
        Err(_) => vec![entry(list.to_owned())],
    }
}

/// Parses our own part of returned metadata and puts the block back into its record. Fails if it is damaged.
pub(crate) fn own_part(own: &str, text: &str) -> Result<OwnPart, serde_json::Error> {
    let own: OwnPart = serde_json::from_str(own)?;
    let block = if text.is_empty() { own.record.block.clone() } else { text.into() };
    Ok(OwnPart { record: Compaction { block, ..own.record }, ..own })
}
