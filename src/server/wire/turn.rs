//! Turns of a snapshot, with their rounds.

use crate::convert;
use engine::transcript::Transcript;
use protocol::snapshot::{RoundView, TurnView};
use session::snapshot::TurnSnapshot;

/// Converts a turn.
pub(super) fn view(transcript: &Transcript, turn: &TurnSnapshot) -> TurnView {
    let id_at = |ord| transcript.message(ord).map(|message| message.id.as_str().to_owned());
    let rounds = turn.rounds.iter().map(|(round, summary)| RoundView {
        id: round.id.as_str().to_owned(),
        external_id: transcript.message(round.assistant).and_then(|message| message.external_id.clone()),
        assistant: id_at(round.assistant).unwrap_or_default(),
        results: round.results.iter().flatten().filter_map(|ord| id_at(*ord)).collect(),
        summary: summary.clone(),
    });
    TurnView {
        id: turn.id.clone(),
        external_id: turn.external_id.clone(),
        status: turn.status,
        rounds: rounds.collect(),
        metadata: (!turn.summaries.is_empty()).then(|| convert::turn_metadata(&turn.summaries)),
        interrupted: turn.figures.interrupted,
        usage: turn.figures.usage,
        cost: turn.figures.spent.and_then(|spent| spent.dollars).map(f64::from),
        spent: turn.figures.spent,
        duration_ms: turn.figures.duration_ms,
    }
}
