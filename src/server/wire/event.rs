//! Events as a client reads them. The session decides when they occur.

use super::agent::{agent, asking};
use super::answer::{asked, metadata, pins, queue, restored, view};
use super::refused::refused;
use crate::convert;
use engine::compact::record::Trigger;
use protocol::context::SectionTokens;
use protocol::event::{Event, EventError, QueueFailure, Retrying, SessionEvent};
use protocol::turn::{TurnOutcome, TurnStatus};
use session::Session;
use session::effect::Refusal;
use session::event::{self, CompactionUpdate, EventBody, Phase};

/// Converts an event of this session.
pub(in crate::server) fn event(session: &Session, event: &event::Event) -> SessionEvent {
    SessionEvent {
        session_id: session.id().as_str().to_owned(),
        stream: session.stream().to_owned(),
        seq: event.seq,
        event: body(session, &event.body),
    }
}

fn body(session: &Session, body: &EventBody) -> Event {
    match body {
        EventBody::StreamStarted { message, turn } => Event::StreamStarted {
            message_id: message.as_str().to_owned(),
            turn_id: turn.as_str().to_owned(),
        },
        EventBody::StreamDelta { message, deltas } => Event::StreamDelta {
            message_id: message.as_str().to_owned(),
            ops: deltas.iter().map(convert::delta_op).collect(),
        },
        EventBody::StreamReset { message } => Event::StreamReset { message_id: message.as_str().to_owned() },
        EventBody::StreamFinished { message, stop } => {
            Event::StreamFinished { message_id: message.as_str().to_owned(), stop_reason: Some(*stop) }
        }
        EventBody::TurnStarted { turn, external_id } => {
            Event::TurnStarted { turn_id: turn.as_str().to_owned(), external_id: external_id.clone() }
        }
        EventBody::TurnCompleted { turn, status, figures, compactions } => Event::TurnCompleted {
            turn_id: turn.as_str().to_owned(),
            outcome: match status {
                TurnStatus::Completed => TurnOutcome::Completed,
                TurnStatus::Failed => TurnOutcome::Failed,
                TurnStatus::Cancelled | TurnStatus::Running => TurnOutcome::Cancelled,
            },
            interrupted: figures.interrupted,
            usage: figures.usage,
            cost: figures.spent.and_then(|spent| spent.dollars).map(f64::from),
            spent: figures.spent,
            compactions: compactions.iter().map(|id| id.as_str().to_owned()).collect(),
            duration_ms: figures.duration_ms,
        },
        EventBody::MessageAdded(message, round) => {
            Event::MessageAdded { message: convert::message_in(message, round.as_ref()) }
        }
        EventBody::MessageUpdated(message, round) => {
            Event::MessageUpdated { message: convert::message_in(message, round.as_ref()) }
        }
        EventBody::MessageRemoved { message } => {
            Event::MessageRemoved { message_id: message.as_str().to_owned() }
        }
        EventBody::QueueUpdated { items, failed } => Event::QueueUpdated {
            queue: queue(items),
            failed: failed.as_ref().map(|(item, why)| QueueFailure {
                item_id: item.as_str().to_owned(),
                error: error(session, why),
            }),
        },
        EventBody::MessagesTruncated { from, revision } => Event::MessagesTruncated {
            from_ord: from.0,
            revision: revision.as_ref().map(|revision| revision.as_str().to_owned()).unwrap_or_default(),
        },
        EventBody::ThreadUpdated(thread) => Event::ThreadUpdated {
            title: thread.title.clone(),
            generation: thread.generation.0,
            draft: thread.draft.as_ref().map(ToString::to_string),
            scope: convert::scope(&thread.scope),
            pins: pins(session, &thread.pins),
            settings: Some(Box::new(crate::server::settings::shown(session.settings()))),
        },
        EventBody::RuntimeUpdated { state: now, turn, ended } => Event::RuntimeUpdated {
            state: (*now),
            turn_id: turn.as_ref().map(|turn| turn.as_str().to_owned()),
            status: ended.as_ref().map(|ended| ended.status),
            error: ended.as_ref().and_then(|ended| ended.error.as_ref()).map(|why| error(session, why)),
            metadata: ended.as_ref().and_then(|ended| metadata(&ended.summaries)),
            retrying: None,
        },
        EventBody::Retrying { state: now, turn, retry } => Event::RuntimeUpdated {
            state: (*now),
            turn_id: turn.as_ref().map(|turn| turn.as_str().to_owned()),
            status: None,
            error: None,
            metadata: None,
            retrying: Some(Retrying {
                attempt: retry.attempt,
                delay_ms: retry.delay_ms,
                reason: retry.reason.clone(),
            }),
        },
        EventBody::ToolProgress { call, progress } => Event::ToolProgress {
            tool_call_id: call.as_str().to_owned(),
            progress: progress.done,
            total: progress.total,
            message: progress.message.clone(),
        },
        EventBody::PauseRequired(calls) => {
            Event::PauseRequired { reasons: asked(calls), agent: asking(session) }
        }
        EventBody::AgentUpdated(one) => Event::AgentUpdated { agent: agent(one) },
        EventBody::PauseCleared => Event::PauseCleared {},
        EventBody::CompactionUpdated(update) => Event::CompactionUpdated {
            compaction_id: update.id.as_str().to_owned(),
            status: update.phase.into(),
            phase: update.phase,
            mode: update.mode,
            trigger: Some(update.trigger),
            reason: update.reason.clone(),
            tokens_before: update.tokens_before,
            tokens_after: update.record.as_ref().map(|(record, _)| record.tokens_after),
            compaction: update
                .record
                .as_ref()
                .map(|(record, _)| Box::new(view(session.transcript(), record))),
            metadata: match (&update.left, &update.record) {
                (Some(left), _) => Some(convert::turn_metadata(left)),
                (None, Some((_, summary))) => metadata(std::slice::from_ref(summary)),
                (None, None) => None,
            },
        },
        EventBody::PrefixBroken { causes, reused, lost } => Event::PrefixBroken {
            causes: causes.iter().copied().collect(),
            reused_tokens: *reused,
            lost_tokens: *lost,
        },
        EventBody::ContextUpdated { tokens, limit, until_compaction, sections, estimator } => {
            Event::ContextUpdated {
                tokens: *tokens,
                limit: *limit,
                tokens_until_compaction: *until_compaction,
                sections: sections
                    .iter()
                    .map(|(channel, section)| SectionTokens {
                        channel: (*channel),
                        name: section.name.clone(),
                        tokens: section.tokens,
                    })
                    .collect(),
                estimator: estimator.clone(),
            }
        }
        EventBody::RestoreReported(report) => Event::RestoreReported { report: restored(session, report) },
    }
}

fn error(session: &Session, why: &Refusal) -> EventError {
    let error = refused(session, why);
    EventError { code: error.code(), message: error.message, data: error.data }
}

/// The progress message of a compaction; `None` once it is over.
pub(in crate::server) fn progress(update: &CompactionUpdate) -> Option<&'static str> {
    match update.phase {
        Phase::Started if update.trigger == Trigger::Manual => Some("compacting the conversation"),
        Phase::Started => Some("the conversation is too long, making room"),
        Phase::Summarizing => Some("summing up the conversation"),
        Phase::FellBack => Some("the summary failed, trying another way"),
        Phase::Reviewing => Some("waiting for a look at the summary"),
        Phase::Accepted
        | Phase::Refused
        | Phase::Cancelled
        | Phase::CannotFit
        | Phase::Voided
        | Phase::Undone => None,
    }
}
