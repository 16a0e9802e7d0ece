//! Refusals of a session as errors of the protocol: the kind with its data, and a message that says what was
//! kept and what can be done.

use crate::convert;
use crate::server::stores;
use engine::id::SessionId;
use engine::prompt::BudgetExceeded;
use protocol::error::{ErrorData, ProtocolError, StorageCause};
use session::Session;
use session::acceptance;
use session::effect::Refusal;
use session::state::StateName;

/// The error for an id that is no revision of this session.
pub(in crate::server) fn unknown_revision(session: &SessionId, revision: &SessionId) -> ProtocolError {
    let data = ErrorData::StaleReference { field: "revisionId".into(), id: revision.as_str().to_owned() };
    let message = format!("\"{revision}\" is no revision of session \"{session}\"; nothing was restored");
    ProtocolError::new(data, message)
}

/// The error for a revision of which not all can be read: restored, the rest would stand in the place of good messages.
pub(in crate::server) fn damaged_revision(revision: &SessionId, unreadable: &[String]) -> ProtocolError {
    let data = ErrorData::StorageError { cause: StorageCause::Corrupt, path: None };
    let rows = unreadable.join("; ");
    let message = format!(
        "revision \"{revision}\" cannot be restored, since not all of it can be read ({rows}); the session is as it was; \
         session/messages shows what is left of the revision"
    );
    ProtocolError::new(data, message)
}

/// Converts a refusal.
pub(in crate::server) fn refused(session: &Session, refusal: &Refusal) -> ProtocolError {
    // Methods for sessions of the other driver are of no use here.
    let accepts = |now: StateName| -> Vec<String> {
        acceptance::accepts(now, session.head().driver).into_iter().map(str::to_owned).collect()
    };
    let taken = |now: StateName| ErrorData::InvalidState { state: now, accepts: accepts(now) };
    let data = match refusal {
        Refusal::InvalidState { state: now, accepts } => ErrorData::InvalidState {
            state: *now,
            accepts: accepts.iter().map(|&method| method.to_owned()).collect(),
        },
        Refusal::TurnOpen { .. } => {
            let accepts = acceptance::accepts_in_editors_turn(session.state().is_resting())
                .into_iter()
                .map(str::to_owned)
                .collect();
            ErrorData::InvalidState { state: session.state().name(), accepts }
        }
        Refusal::OtherDriver(_) => taken(session.state().name()),
        Refusal::Empty(_) => {
            return ProtocolError::new(
                ErrorData::InvalidParams { field: String::new(), reason: refusal.to_string() },
                format!("{refusal}; nothing was done"),
            );
        }
        Refusal::QueueFull { limit } => ErrorData::QueueFull { limit: *limit },
        Refusal::NotEmpty => {
            let state = session.state().name();
            let accepts = accepts(state).into_iter().filter(|method| method != "session/import").collect();
            ErrorData::InvalidState { state, accepts }
        }
        Refusal::Unknown { what, id } | Refusal::NotKept { what, id } | Refusal::Settled { what, id } => {
            let field = if *what == "tool call" { "toolCallId" } else { what };
            ErrorData::StaleReference { field: field.to_owned(), id: id.clone() }
        }
        Refusal::Unusable { field, why } => {
            ErrorData::InvalidParams { field: (*field).to_owned(), reason: (*why).to_owned() }
        }
        Refusal::NoRoom { limit, needed, sections, .. } => {
            let (limit, needed, sections) = (*limit, *needed, sections.clone());
            (&BudgetExceeded { limit, needed, sections }).into()
        }
        Refusal::TokensUsed { used, limit } => {
            let tokens = |tokens: u64| u32::try_from(tokens).unwrap_or(u32::MAX);
            ErrorData::BudgetExceeded { limit: tokens(*limit), needed: tokens(*used), sections: Vec::new() }
        }
        Refusal::CannotUndo(why) => convert::cannot_undo(why),
        Refusal::BudgetExceeded(exceeded) => exceeded.into(),
        Refusal::CannotFit(sizes) => sizes.into(),
        Refusal::Settings(error) => {
            ErrorData::InvalidParams { field: "settings".into(), reason: error.to_string() }
        }
        Refusal::Cancelled => ErrorData::Cancelled {},
        Refusal::NotStored { cause, .. } => stores::refused(cause),
        Refusal::Provider { cause, .. } => ErrorData::ProviderError {
            provider: provider(session),
            status: cause.status,
            cause: cause.word.to_owned(),
            retry_after_ms: cause.retry_after_ms,
            excerpt: cause.said.clone(),
        },
    };
    let message = match refusal {
        Refusal::InvalidState { state: now, accepts } => {
            let particular = acceptance::particular(*now, session.head().driver).into_iter();
            let particular: Vec<&str> = particular.filter(|method| accepts.contains(method)).collect();
            let particular = particular.join(", ");
            format!(
                "the session is {}; besides the methods of every state, it accepts {particular} now",
                now.name()
            )
        }
        Refusal::BudgetExceeded(exceeded) => format!(
            "{exceeded}; nothing was sent and nothing is lost; allow summarize, or choose a model with a larger window"
        ),
        Refusal::CannotFit(sizes) => format!(
            "{sizes}; nothing was sent and nothing is lost; offer fewer tools, shorten the system text or the request, \
             or choose a model with a larger window"
        ),
        Refusal::Unusable { .. } | Refusal::NoRoom { .. } => format!("{refusal}; nothing was done"),
        Refusal::CannotUndo(why) if why.needed > 0 => format!(
            "{why}; without it the prompt would need {} tokens and the limit is {}; compact again with redo, pin what \
             you miss, or choose a model with a larger window",
            why.needed, why.limit
        ),
        Refusal::CannotUndo(why) => format!("{why}; a newer one hides it; undo that one first"),
        other => other.to_string(),
    };
    ProtocolError::new(data, message)
}

/// Name of the provider: the wire's, or the editor.
fn provider(session: &Session) -> String {
    let endpoint = session.settings().model.endpoint.as_ref();
    endpoint.map_or("editor", |endpoint| endpoint.wire.name()).to_owned()
}

/// The error for an unknown id.
pub(in crate::server) fn unknown_session(id: &SessionId, message: String) -> ProtocolError {
    ProtocolError::new(ErrorData::UnknownSession { session_id: id.as_str().to_owned() }, message)
}

/// The error for a request that needs an open session.
pub(in crate::server) fn not_open(id: &SessionId) -> ProtocolError {
    unknown_session(id, format!("session \"{id}\" is not open here; nothing was done; open it first"))
}

/// The error for a session that panicked.
pub(in crate::server) fn defect() -> ProtocolError {
    let message = "internal error; the session was closed and acknowledged changes are stored; open it again";
    ProtocolError::new(ErrorData::InternalError {}, message)
}
