//! Answers of a session as results for the client, put together from values that `convert` converts.

use super::agent::agent;
use super::listed;
use super::refused::refused;
use super::turn;
use super::{Json, to_json};
use crate::convert;
use crate::server::given::own_settings;
use crate::server::settings::{Layers, shown};
use engine::compact::metadata::Persisted;
use engine::compact::record::Compaction;
use engine::compact::restore::{Restored, Verdict};
use engine::id::{Ordinal, SessionId};
use engine::message::ToolCall;
use engine::prompt::pins::Pin;
use engine::search::{Hit, SearchPage};
use engine::transcript::Transcript;
use protocol::context::{
    self, CompactionView, ContextCompactResult, ContextInspectResult, ContextPinResult, ContextUndoResult,
    SectionTokens,
};
use protocol::edit::{
    EditResult, QueueRemoveResult, SessionForkResult, SessionHistoryResult, SessionResetResult,
};
use protocol::error::{ErrorData, ProtocolError};
use protocol::event::CompactionPhase;
use protocol::message::Arguments;
use protocol::prompt::PromptRenderResult;
use protocol::recall::{ContextRecallResult, ContextSearchResult};
use protocol::restore::{self, RestoreEntry, RestoreReport, RestoreSource};
use protocol::session::{
    SessionConfigureResult, SessionDeleteResult, SessionListResult, SessionMessagesResult, SessionOpenResult,
    SessionSubscribeResult,
};
use protocol::snapshot::{self, Compression, Pause};
use protocol::task::TaskStartResult;
use protocol::tool::{PauseCause, PauseReason, PendingCall, ToolDecideResult};
use protocol::transfer::SessionImportResult;
use protocol::turn::{RoundAppendResult, TurnCancelResult, TurnEndResult, TurnStartResult};
use session::Session;
use session::effect::{Answer, AskCause, AskedCall, Diagnostic, Refusal, Rendered};
use session::queue::{Accepted, QueueItem};
use session::reconcile::Report;
use session::settings::Settings;
use session::snapshot::{Inspection, Snapshot};
use session::state::State;
use store::list::{Page, RevisionPage};
use store::{Deleted, MessagePage};

/// The form of an answer that can have several.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::server) enum Form {
    /// A turn.
    Turn,
    /// A task.
    Task,
    /// Another session.
    Fork,
    /// A new chat.
    Reset,
    /// A session imported from a conversation.
    Import {
        /// The format that it was read as.
        format: &'static str,
        /// The parts that could not be read.
        skipped: Vec<String>,
        /// Number of messages that were read.
        messages: usize,
        /// What is repaired in them.
        diagnostics: Vec<Diagnostic>,
    },
    /// Anything else that changes the past.
    #[default]
    Edit,
}

impl Form {
    /// The form of an import, with what became of the source's summaries.
    fn with(mut self, summaries: Vec<Restored>) -> Self {
        if let Self::Import { diagnostics, .. } = &mut self {
            diagnostics.extend(session::diagnostics(&Report { summaries, ..Report::default() }));
        }
        self
    }
}

/// Converts an answer to a result or an error. `is_kept` is `true` if the session is stored.
pub(in crate::server) fn answer(
    session: &Session,
    layers: &Layers,
    is_kept: bool,
    form: Form,
    answer: Result<Answer, Refusal>,
) -> Result<Json, ProtocolError> {
    match answer.map_err(|refusal| refused(session, &refusal))? {
        Answer::Opened(opened) => {
            let (snapshot, report) = *opened;
            to_json(&SessionOpenResult {
                restore: restored(session, &report),
                snapshot: whole(session, snapshot),
            })
        }
        Answer::Snapshot(snapshot) => to_json(&SessionSubscribeResult {
            events: None,
            snapshot: Some(Box::new(whole(session, *snapshot))),
        }),
        Answer::Events(events) => {
            let events = events.iter().map(|event| super::event::event(session, event)).collect();
            to_json(&SessionSubscribeResult { events: Some(events), snapshot: None })
        }
        Answer::Accepted(accepted) => accepted_as(session, form, accepted),
        Answer::Imported(summaries) => accepted_as(session, form.with(summaries), Accepted::default()),
        Answer::Dequeued(gone) => to_json(&QueueRemoveResult { removed: queue(&gone) }),
        Answer::TurnCancelled(turn, gone) => to_json(&TurnCancelResult {
            turn_id: turn.map(|turn| turn.as_str().to_owned()),
            state: session.state().name(),
            removed: queue(&gone),
        }),
        Answer::TurnEnded { turn, summaries } => to_json(&TurnEndResult {
            turn_id: turn.as_str().to_owned(),
            metadata: convert::turn_metadata(&summaries),
        }),
        Answer::RoundAppended { round, messages, diagnostics: said } => to_json(&RoundAppendResult {
            round_id: round.map(|round| round.as_str().to_owned()).unwrap_or_default(),
            message_ids: messages.iter().map(|message| message.as_str().to_owned()).collect(),
            diagnostics: diagnostics(&said),
        }),
        Answer::Rendered(rendered) => to_json(&prompt(session, is_kept, *rendered)),
        Answer::Compacted(Ok(made)) => to_json(&ContextCompactResult {
            compaction: Some(view(session.transcript(), &made.0)),
            metadata: Some(convert::turn_metadata(std::slice::from_ref(&made.1))),
            ..ContextCompactResult::default()
        }),
        Answer::Previewed(preview) => to_json(&ContextCompactResult {
            preview: Some(convert::preview(session, &preview)),
            ..ContextCompactResult::default()
        }),
        Answer::Undone(undone) => to_json(&ContextUndoResult {
            compaction_id: undone.id.as_str().to_owned(),
            in_force_id: session.transcript().in_force().map(|record| record.id.as_str().to_owned()),
            turn_id: undone.turn.map(|turn| turn.as_str().to_owned()),
            metadata: convert::turn_metadata(&undone.left),
        }),
        Answer::Pinned(pin) => to_json(&ContextPinResult {
            pin_id: pin.as_str().to_owned(),
            pins: pins(session, session.pins()),
        }),
        Answer::Compacted(Err(reason)) => {
            to_json(&ContextCompactResult { reason: Some(reason), ..ContextCompactResult::default() })
        }
        Answer::Reset(accepted, gone) => to_json(&SessionResetResult {
            revision: accepted.session.map(|revision| revision.as_str().to_owned()),
            removed: queue(&gone),
        }),
        Answer::Configured => {
            to_json(&SessionConfigureResult { settings: shown(session.settings()), diagnostics: Vec::new() })
        }
        Answer::Done(now) => to_json(&ToolDecideResult { state: now }),
        Answer::Recalled(recalled) => to_json(&ContextRecallResult {
            reference: recalled.reference,
            text: recalled.text,
            offset: recalled.offset as u64,
            total_bytes: recalled.total as u64,
            next_offset: recalled.next.map(|next| next as u64),
            sha256: recalled.sha256,
        }),
        Answer::Ledger(page) => to_json(&convert::ledger(session.transcript(), *page)),
        Answer::Inspected(inspection) => to_json(&inspected(session, layers, *inspection)),
    }
}

/// The result of a command that is carried out or queued.
fn accepted_as(of: &Session, form: Form, accepted: Accepted) -> Result<Json, ProtocolError> {
    let turn_id = accepted.turn.map(|turn| turn.as_str().to_owned());
    let message_id = accepted.message.map(|message| message.as_str().to_owned());
    let item_id = accepted.item.map(|item| item.as_str().to_owned());
    let session = accepted.session.map(|session| session.as_str().to_owned());
    match form {
        Form::Turn => to_json(&TurnStartResult {
            turn_id: turn_id.unwrap_or_default(),
            message_id: message_id.unwrap_or_default(),
            item_id,
            queued_position: accepted.position,
        }),
        Form::Task => to_json(&TaskStartResult { session_id: of.id().as_str().to_owned() }),
        Form::Fork => to_json(&SessionForkResult { session_id: session.unwrap_or_default() }),
        Form::Reset => to_json(&SessionResetResult { revision: session, removed: Vec::new() }),
        Form::Import { format, skipped, messages, diagnostics } => to_json(&SessionImportResult {
            session_id: of.id().as_str().to_owned(),
            format: format.to_owned(),
            messages: u32::try_from(messages).unwrap_or(u32::MAX),
            skipped,
            diagnostics: self::diagnostics(&diagnostics),
        }),
        Form::Edit => to_json(&EditResult {
            turn_id,
            message_id,
            revision: session,
            item_id,
            queued_position: accepted.position,
        }),
    }
}

/// Converts queued commands.
pub(in crate::server) fn queue(items: &[QueueItem]) -> Vec<snapshot::QueueItem> {
    items.iter().map(convert::queue_item).collect()
}

/// Converts a record with its metadata.
pub(in crate::server) fn view(transcript: &Transcript, record: &Compaction) -> CompactionView {
    convert::compaction_view(transcript, record)
}

/// Converts pins, with their sizes.
pub(in crate::server) fn pins(session: &Session, pins: &[Pin]) -> Vec<context::Pin> {
    pins.iter().map(|pin| convert::pin(pin, session.pin_tokens(&pin.id))).collect()
}

/// Converts calls that wait for the user.
pub(in crate::server) fn asked(calls: &[AskedCall]) -> Vec<PauseReason> {
    let each = calls.iter().map(|AskedCall { call, cause, pattern }| PauseReason {
        tool_call_id: call.id.as_str().to_owned(),
        name: call.name.to_string(),
        arguments: Arguments(call.arguments.to_string()),
        cause: match cause {
            AskCause::Rule(_) => PauseCause::Rule,
            AskCause::Untrusted => PauseCause::Untrusted,
            AskCause::NotJson => PauseCause::NotJson,
            AskCause::Tool => PauseCause::Tool,
        },
        reason: cause.to_string(),
        pattern: pattern.clone(),
    });
    each.collect()
}

/// Converts the snapshot of a session.
pub(in crate::server) fn whole(session: &Session, snapshot: Snapshot) -> snapshot::Snapshot {
    let transcript = session.transcript();
    let in_force = transcript.in_force();
    let turn_id = transcript.turns().last().map(|turn| turn.id.as_str().to_owned()).unwrap_or_default();
    snapshot::Snapshot {
        session_id: snapshot.head.id.as_str().to_owned(),
        stream: snapshot.stream,
        seq: snapshot.seq,
        state: snapshot.state,
        driver: snapshot.head.driver,
        title: snapshot.thread.title,
        generation: snapshot.thread.generation.0,
        parent_id: snapshot.head.parent.as_ref().map(|parent| parent.as_str().to_owned()),
        origin: snapshot.head.origin,
        scope: convert::scope(&snapshot.thread.scope),
        messages: convert::messages(transcript, &snapshot.messages),
        earlier_messages: snapshot.earlier,
        turns: snapshot.turns.iter().map(|turn| turn::view(transcript, turn)).collect(),
        queue: queue(&snapshot.queue),
        compression: Compression {
            running: snapshot.compacting.is_some(),
            phase: snapshot.compacting.as_ref().map(|_| match session.state() {
                State::Reviewing(_) => CompactionPhase::Reviewing,
                _ => CompactionPhase::Summarizing,
            }),
            mode: snapshot.compacting.as_ref().map(|(mode, _)| *mode),
            reason: snapshot.compacting.map(|(_, reason)| reason),
        },
        streaming: snapshot.streaming.map(|(message, draft)| convert::streaming(message.as_str(), &draft)),
        draft: snapshot.thread.draft.as_ref().map(ToString::to_string),
        pause: (!snapshot.pause.is_empty()).then(|| Pause { reasons: asked(&snapshot.pause) }),
        pending_calls: snapshot.pending.iter().map(|call| pending(call, &turn_id)).collect(),
        compactions: snapshot.compactions.iter().map(|(record, _)| view(transcript, record)).collect(),
        pins: pins(session, &snapshot.thread.pins),
        summary: in_force.map(|record| record.block.to_string()).filter(|block| !block.is_empty()),
        summarized_count: in_force.map_or(0, |record| record.resume_at().0),
        settings: shown(&snapshot.settings),
        usage: None,
        agents: snapshot.agents.iter().map(agent).collect(),
        waits: (snapshot.head.waits && !session.waits_for_agents()).then_some(true),
        held_by: None,
    }
}

/// The result for a page of messages.
pub(in crate::server) fn messages(id: &SessionId, page: Option<MessagePage>) -> Result<Json, ProtocolError> {
    let Some(page) = page else { return Err(unknown(id)) };
    to_json(&SessionMessagesResult {
        before: page.start.0,
        messages: page.messages.iter().filter(|m| !m.is_removed()).map(|m| convert::message(m)).collect(),
        unreadable: page.unreadable,
    })
}

fn pending(call: &ToolCall, turn: &str) -> PendingCall {
    PendingCall {
        tool_call_id: call.id.as_str().to_owned(),
        turn_id: turn.to_owned(),
        name: call.name.to_string(),
        arguments: Arguments(call.arguments.to_string()),
    }
}

/// Metadata of a turn; `None` if there are no summaries.
pub(in crate::server) fn metadata(summaries: &[Persisted]) -> Option<restore::TurnMetadata> {
    (!summaries.is_empty()).then(|| convert::turn_metadata(summaries))
}

/// Converts the report of a restored history.
pub(in crate::server) fn restored(session: &Session, report: &Report) -> RestoreReport {
    let mut out = RestoreReport {
        source: match (session.was_stored(), report.given > 0) {
            (true, true) => RestoreSource::Both,
            (true, false) => RestoreSource::Store,
            (false, true) => RestoreSource::History,
            (false, false) => RestoreSource::New,
        },
        restored: Vec::new(),
        already: Vec::new(),
        stale: Vec::new(),
        orphans: Vec::new(),
        duplicates: Vec::new(),
        failures: Vec::new(),
        revision: report.revision.as_ref().map(|revision| revision.as_str().to_owned()),
        truncated_messages: report.truncated,
        appended_messages: report.appended,
        unreadable: report.unreadable.clone(),
        diagnostics: diagnostics(&session::diagnostics(report)),
    };
    for restored in &report.summaries {
        let entry = |reason: &str| RestoreEntry {
            tool_call_round_id: restored.round_id.clone(),
            reason: reason.to_owned(),
        };
        match &restored.verdict {
            Verdict::Restored(id) => out.restored.push(id.as_str().to_owned()),
            Verdict::FromText(id, why) => {
                out.restored.push(id.as_str().to_owned());
                out.failures.push(entry(&format!(
                    "threadhold's part of the summary cannot be read: {why}; the summary was restored from its text"
                )));
            }
            Verdict::Already(id) => out.already.push(id.as_str().to_owned()),
            Verdict::Stale(why) => out.stale.push(entry(why)),
            Verdict::Orphan => out.orphans.push(entry("no round of the session has this id")),
            Verdict::Duplicate => {
                out.duplicates.push(entry("the summary exists already, or a newer one covers all of it"))
            }
            Verdict::Failure(why) => out.failures.push(entry(why)),
        }
    }
    out
}

fn diagnostics(diagnostics: &[Diagnostic]) -> Vec<restore::Diagnostic> {
    let each = diagnostics.iter();
    each.map(|d| restore::Diagnostic { kind: d.kind.to_owned(), message: d.message.clone() }).collect()
}

/// The result of a render.
fn prompt(session: &Session, is_kept: bool, rendered: Rendered) -> PromptRenderResult {
    let Rendered { prompt, model, window, estimator, breakpoints, made, revision, diagnostics: said } =
        rendered;
    let marks: Vec<usize> = if breakpoints { convert::breakpoints(&prompt) } else { Vec::new() };
    let summaries: Vec<Persisted> = made.iter().map(|(_, metadata)| metadata.clone()).collect();
    let obeyed = session
        .transcript()
        .compactions()
        .iter()
        .find(|record| Some(&record.id) == prompt.compaction.as_ref());
    PromptRenderResult {
        session_id: is_kept.then(|| session.id().as_str().to_owned()),
        messages: convert::fit(convert::prompt_messages(&prompt.items, &marks), &model),
        tools: prompt.tools.iter().map(convert::tool).collect(),
        plan: convert::plan(&prompt.plan, breakpoints),
        tokens: prompt.tokens,
        limit: prompt.limit,
        window,
        estimator,
        cuts: convert::cuts(session, &prompt.cuts),
        metadata: convert::turn_metadata(&summaries),
        compaction_id: prompt.compaction.as_ref().map(|id| id.as_str().to_owned()),
        mode: obeyed.map(|record| record.mode),
        strength: obeyed.map(|record| record.strength),
        diagnostics: diagnostics(&said),
        revision: revision.map(|revision| revision.as_str().to_owned()),
    }
}

fn inspected(session: &Session, layers: &Layers, inspection: Inspection) -> ContextInspectResult {
    let own = own_settings(&session.head().settings);
    let settings: &Settings = session.settings();
    let sections = inspection.sections.into_iter();
    ContextInspectResult {
        tokens: inspection.tokens,
        limit: inspection.limit,
        window: inspection.window,
        window_source: convert::window_source(settings.model.window_source),
        estimator: inspection.estimator,
        estimate: convert::estimate(inspection.estimate),
        sections: sections.map(|(channel, name, tokens)| SectionTokens { channel, name, tokens }).collect(),
        tokens_until_compaction: inspection.until_compaction,
        compactions: inspection.compactions.iter().map(|record| view(session.transcript(), record)).collect(),
        earlier_compactions: u32::try_from(inspection.earlier_compactions)
            .ok()
            .filter(|earlier| *earlier > 0),
        coverage: convert::coverage(&inspection.coverage),
        cuts: convert::cuts(session, &inspection.cuts),
        pins: pins(session, session.pins()),
        triggers: inspection.triggers.iter().map(convert::trigger_state).collect(),
        usage: inspection.usage,
        spent: inspection.spent.map(convert::spending),
        learned_limit: inspection.learned_limit.map(convert::learned_limit),
        learned_answer_limit: inspection.learned_answer,
        settings: layers.sources(&session.head().workspace, &own, settings),
    }
}

/// The result for a page of sessions.
pub(in crate::server) fn page(page: &Page) -> Result<Json, ProtocolError> {
    to_json(&SessionListResult {
        sessions: page.sessions.iter().map(listed::row).collect(),
        next_cursor: page.next.as_ref().map(ToString::to_string),
    })
}

/// A page of a session's revisions.
pub(in crate::server) fn history(id: &SessionId, page: Option<RevisionPage>) -> Result<Json, ProtocolError> {
    let Some(page) = page else { return Err(unknown(id)) };
    to_json(&SessionHistoryResult {
        revisions: page.revisions.iter().map(listed::revision).collect(),
        next_cursor: page.next.map(|before| before.to_string()),
    })
}

/// The error for a session that the store does not have.
pub(super) fn unknown(id: &SessionId) -> ProtocolError {
    let data = ErrorData::UnknownSession { session_id: id.as_str().to_owned() };
    ProtocolError::new(data, format!("unknown session \"{id}\""))
}

/// The result of a deletion.
pub(in crate::server) fn deleted(deleted: &Deleted) -> Result<Json, ProtocolError> {
    to_json(&SessionDeleteResult {
        deleted_messages: deleted.messages,
        deleted_compactions: deleted.compactions,
        deleted_blobs: deleted.blobs,
        deleted_blob_bytes: deleted.blob_bytes,
        deleted_revisions: u32::try_from(deleted.revisions.len()).unwrap_or(u32::MAX),
        scrubbed: deleted.scrubbed,
        forks: deleted.branches.iter().map(|id| id.as_str().to_owned()).collect(),
    })
}

/// The hits of a search, each with its state in the prompt.
pub(in crate::server) fn searched(
    session: &Session,
    found: Result<SearchPage, ProtocolError>,
) -> Result<Json, ProtocolError> {
    let found = found?;
    let of: Vec<Ordinal> = found.hits.iter().map(|hit| hit.ord).collect();
    let statuses = session.message_statuses(&of);
    let statuses = statuses.map_err(|error| ProtocolError::invalid("settings", error.to_string()))?;
    let hit = |hit: Hit| {
        // A message that left the session meanwhile is no hit.
        let status = *statuses.get(&hit.ord)?;
        Some(convert::search_hit(hit, status))
    };
    to_json(&ContextSearchResult {
        next_cursor: found.next.map(|next| next.to_string()),
        hits: found.hits.into_iter().filter_map(hit).collect(),
    })
}
