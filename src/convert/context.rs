//! Compactions and coverage as clients see them, and the metadata that they persist.

use super::iso;
use engine::compact::metadata::{self, Persisted};
use engine::compact::record::Compaction;
use engine::id::{CompactionId, Ordinal};
use engine::prompt::coverage::{self as ours, MessageStatus};
use engine::prompt::pins::{self, Pinned};
use engine::search::Hit;
use engine::transcript::Transcript;
use protocol::context::{
    self, CompactionPreview, CompactionView, Coverage, Fallback, LearnedLimit, Pin, Spending, TriggerState,
    WindowSource,
};
use protocol::error::{ErrorData, WayOn};
use protocol::recall::SearchHit;
use protocol::restore::{SummaryMetadata, TurnMetadata};
use protocol::session::search::SessionHit;
use session::Session;
use session::effect::Preview;
use session::snapshot::{PromptLimit, TriggerDistance};
use session::spent::Spent;
use session::undo::{Alternative, CannotUndo};
use session::usage::Estimate;

/// Converts a record, with the metadata that a client persists.
pub fn compaction_view(transcript: &Transcript, record: &Compaction) -> CompactionView {
    let (metadata, threadhold) = match metadata::metadata(transcript, record) {
        Persisted::Summary(summary) => (Some(summary_metadata(&summary)), None),
        Persisted::Own(own) => (None, Some(own)),
    };
    CompactionView {
        id: record.id.as_str().to_owned(),
        status: record.status,
        mode: record.mode,
        mode_requested: record.mode_requested,
        trigger: record.trigger,
        anchor_round_id: record.anchor.round_id.as_str().to_owned(),
        covers_from_ord: record.covers.map(|span| span.from.0),
        covers_to_ord: record.covers.map(|span| span.to.0),
        placement: record.placement,
        block: record.block.to_string(),
        tokens_before: record.tokens_before,
        tokens_after: record.tokens_after,
        estimator: record.estimator.clone(),
        num_rounds: record.num_rounds,
        focus: record.focus.clone(),
        unreviewed: record.unreviewed,
        model: record.model.clone(),
        asked_again: (record.asked_again > 0).then_some(record.asked_again),
        spent: record.cost,
        input_truncated: record.input_truncated,
        excluded_ids: ids(transcript, record.excluded.iter()),
        replaces: record.replaces.as_ref().map(|replaced| replaced.as_str().to_owned()),
        fallbacks: record
            .fallbacks
            .iter()
            .map(|fallback| Fallback {
                mode: fallback.mode,
                reason: fallback.reason.clone(),
                asked: fallback.asked,
            })
            .collect(),
        strength: record.strength,
        created_at: record.created_at.map(iso),
        duration_ms: record.duration_ms,
        turn_id: record.turn.as_ref().map(|turn| turn.as_str().to_owned()),
        metadata,
        threadhold,
    }
}

/// Converts the preview of a compaction.
pub fn preview(session: &Session, preview: &Preview) -> CompactionPreview {
    let Preview { record, cuts, asks_model } = preview;
    CompactionPreview {
        mode: record.mode,
        asks_model: *asks_model,
        block: record.block.to_string(),
        covers_from_ord: record.covers.map(|span| span.from.0),
        covers_to_ord: record.covers.map(|span| span.to.0),
        num_rounds: record.num_rounds,
        kept_user_ids: ids(session.transcript(), record.kept_users.iter()),
        cuts: super::cuts(session, cuts),
        tokens_before: record.tokens_before,
        tokens_after: record.tokens_after,
        estimator: record.estimator.clone(),
    }
}

fn ids<'a>(transcript: &Transcript, ords: impl Iterator<Item = &'a Ordinal>) -> Vec<String> {
    let messages = ords.filter_map(|ord| transcript.message(*ord));
    messages.map(|message| message.id.as_str().to_owned()).collect()
}

/// Converts a pin of this size.
pub fn pin(pin: &pins::Pin, tokens: u32) -> Pin {
    let (message_id, text) = match &pin.what {
        Pinned::Message(id) => (Some(id.as_str().to_owned()), None),
        Pinned::Text(text) => (None, Some(text.to_string())),
    };
    Pin { pin_id: pin.id.as_str().to_owned(), message_id, text, tokens }
}

/// Converts the reason that a compaction cannot be undone.
pub fn cannot_undo(error: &CannotUndo) -> ErrorData {
    let id = |id: &CompactionId| id.as_str().to_owned();
    let way = |way: &Alternative| match way {
        Alternative::UndoFirst(newer) => WayOn::UndoFirst { compaction_id: id(newer) },
        Alternative::Redo(same) => WayOn::Redo { compaction_id: id(same) },
        Alternative::Pin { messages, most } => WayOn::Pin {
            message_ids: messages.iter().map(|message| message.as_str().to_owned()).collect(),
            most_tokens: *most,
        },
        Alternative::Window(tokens) => WayOn::Window { tokens: *tokens },
    };
    ErrorData::CannotUndo {
        compaction_id: id(&error.compaction),
        limit: error.limit,
        needed: error.needed,
        sections: protocol::failures::sizes(&error.sections),
        ways: error.ways.iter().map(way).collect(),
    }
}

/// Converts the distance to a trigger.
pub fn trigger_state(state: &TriggerDistance) -> TriggerState {
    TriggerState {
        trigger: state.trigger,
        measure: state.measure,
        now: state.now,
        at: state.at,
        held_back_tokens: (state.held_back > 0).then_some(state.held_back),
    }
}

/// Converts what a session spent.
pub fn spending(spent: Spent) -> Spending {
    let Spent { answers, summaries, titles, began_late } = spent;
    Spending { total: spent.total(), answers, summaries, titles, began_late }
}

/// Converts a learned limit.
pub fn window_source(source: session::settings::WindowSource) -> Option<WindowSource> {
    match source {
        session::settings::WindowSource::Given => None,
        session::settings::WindowSource::Known => Some(WindowSource::Table),
        session::settings::WindowSource::Listed => Some(WindowSource::Provider),
    }
}

/// Converts a learned limit.
pub fn learned_limit(learned: PromptLimit) -> LearnedLimit {
    let PromptLimit { tokens, source, left } = learned;
    LearnedLimit { tokens, source, prompts_left: left }
}

fn summary_metadata(metadata: &metadata::SummaryMetadata) -> SummaryMetadata {
    SummaryMetadata {
        tool_call_round_id: metadata.tool_call_round_id.as_str().to_owned(),
        text: metadata.text.clone(),
        threadhold: Some(metadata.threadhold.clone()),
        ..SummaryMetadata::default()
    }
}

/// The metadata of a turn for a client to persist: `summary` is the newest, `summaries` are all, oldest
/// first, and `threadhold` has those that annotate no round. Empty ones are `None`.
pub fn turn_metadata(all: &[Persisted]) -> TurnMetadata {
    let summaries: Vec<SummaryMetadata> = all
        .iter()
        .filter_map(|persisted| match persisted {
            Persisted::Summary(summary) => Some(summary_metadata(summary)),
            Persisted::Own(_) => None,
        })
        .collect();
    TurnMetadata {
        summary: summaries.last().cloned(),
        summaries: (!summaries.is_empty()).then_some(summaries),
        threadhold: metadata::listed(all),
        ..TurnMetadata::default()
    }
}

/// Converts a hit, with the state of its message in the prompt.
pub fn search_hit(hit: Hit, status: MessageStatus) -> SearchHit {
    SearchHit {
        reference: hit.id.as_str().to_owned(),
        ord: hit.ord.0,
        role: hit.role,
        turn_id: hit.turn.as_str().to_owned(),
        excerpt: hit.excerpt.text,
        offset: hit.excerpt.offset as u64,
        status,
        bytes: hit.bytes as u64,
    }
}

/// Converts a hit of a search over sessions.
pub fn session_hit(hit: Hit) -> SessionHit {
    SessionHit {
        reference: hit.id.as_str().to_owned(),
        ord: hit.ord.0,
        role: hit.role,
        turn_id: hit.turn.as_str().to_owned(),
        excerpt: hit.excerpt.text,
        offset: hit.excerpt.offset as u64,
    }
}

/// Converts the counts of messages by their state in the prompt.
pub fn coverage(coverage: &ours::Coverage) -> Coverage {
    Coverage {
        raw: coverage.raw,
        shortened: coverage.shortened,
        covered: coverage.covered,
        dropped: coverage.dropped,
        hidden: coverage.hidden,
    }
}

/// Converts the accuracy of a session's counts.
pub fn estimate(estimate: Estimate) -> context::Estimate {
    context::Estimate {
        factor: f64::from(estimate.factor) / 1000.0,
        margin: f64::from(estimate.margin) / 1000.0,
        last_report: estimate.last.map(|report| context::UsageReport {
            model: report.model,
            reported_tokens: report.reported,
            counted_tokens: report.raw,
        }),
    }
}
