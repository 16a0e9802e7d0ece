//! Events as a client reads them. What happens when is the session's.

use super::wire_session::{metadata, reasons, refused, restored, state, status, view};
use crate::engine::session::Session;
use crate::engine::session::event::{self, EventBody, Phase};
use crate::protocol::context::SectionTokens;
use crate::protocol::convert;
use crate::protocol::event::{CompactionPhase, Event, EventError, SessionEvent};

/// An event of this session.
pub(super) fn event(session: &Session, event: &event::Event) -> SessionEvent {
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
        EventBody::StreamDelta { message, delta } => Event::StreamDelta {
            message_id: message.as_str().to_owned(),
            ops: vec![convert::delta_op(delta)],
        },
        EventBody::StreamFinished { message, stop } => Event::StreamFinished {
            message_id: message.as_str().to_owned(),
            stop_reason: Some((*stop).into()),
        },
        EventBody::MessageAdded(message) => Event::MessageAdded { message: convert::message(message) },
        EventBody::MessagesTruncated { from, fork } => Event::MessagesTruncated {
            from_ord: from.0,
            fork: fork.as_ref().map(|fork| fork.as_str().to_owned()).unwrap_or_default(),
        },
        EventBody::ThreadUpdated { title } => Event::ThreadUpdated {
            title: title.clone(),
            settings: Some(super::settings::shown(session.settings())),
        },
        EventBody::RuntimeUpdated { state: now, turn, ended } => Event::RuntimeUpdated {
            state: state(*now),
            turn_id: turn.as_ref().map(|turn| turn.as_str().to_owned()),
            status: ended.as_ref().map(|ended| status(ended.status)),
            error: ended.as_ref().and_then(|ended| ended.error.as_ref()).map(|why| {
                let error = refused(session, why);
                EventError { code: error.code(), message: error.message, data: error.data }
            }),
            metadata: ended.as_ref().and_then(|ended| metadata(&ended.summaries)),
        },
        EventBody::PauseRequired(calls) => Event::PauseRequired { reasons: reasons(calls) },
        EventBody::PauseCleared => Event::PauseCleared {},
        EventBody::CompactionUpdated(update) => Event::CompactionUpdated {
            phase: phase(update.phase),
            mode: update.mode.map(Into::into),
            trigger: Some(update.trigger.into()),
            reason: update.reason.clone(),
            compaction: update
                .record
                .as_ref()
                .map(|(record, _)| Box::new(view(session.transcript(), record))),
            metadata: update.record.as_ref().and_then(|(_, summary)| metadata(std::slice::from_ref(summary))),
        },
        EventBody::ContextUpdated { tokens, limit, sections } => Event::ContextUpdated {
            tokens: *tokens,
            limit: *limit,
            tokens_until_compaction: limit.saturating_sub(*tokens),
            sections: sections
                .iter()
                .map(|(channel, section)| SectionTokens {
                    channel: (*channel).into(),
                    name: section.name.clone(),
                    tokens: section.tokens,
                })
                .collect(),
        },
        EventBody::RestoreReported(report) => Event::RestoreReported { report: restored(session, report) },
    }
}

fn phase(phase: Phase) -> CompactionPhase {
    match phase {
        Phase::Started => CompactionPhase::Started,
        Phase::Summarizing => CompactionPhase::Summarizing,
        Phase::FellBack => CompactionPhase::FellBack,
        Phase::Accepted => CompactionPhase::Accepted,
        Phase::Refused => CompactionPhase::Refused,
        Phase::Cancelled => CompactionPhase::Cancelled,
        Phase::CannotFit => CompactionPhase::CannotFit,
    }
}
