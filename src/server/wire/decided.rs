//! The user's decisions about calls, as clients send them.

use crate::convert;
use engine::approval;
use engine::id::CallId;
use engine::text::json;
use protocol::error::ProtocolError;
use protocol::message::Arguments;
use protocol::scope::ToolApprovalsParams;
use protocol::tool::{Decision, Verdict as Decided};
use serde_json::Value;
use session::input;
use session::stored::Always;

/// Parses the user's decisions.
pub(in crate::server) fn decisions(decisions: &[Decision]) -> Result<Vec<input::Decision>, ProtocolError> {
    let each = decisions.iter().enumerate().map(|(at, decision)| {
        if let Some(reason) = decision.pattern.as_deref().and_then(wrong_pattern) {
            return Err(ProtocolError::invalid(format!("decisions[{at}].pattern"), reason));
        }
        let approved = decision.decision.is_allowed();
        if let Some(reason) = decision.arguments.as_ref().and_then(|given| wrong_arguments(approved, given)) {
            return Err(ProtocolError::invalid(format!("decisions[{at}].arguments"), reason));
        }
        Ok(input::Decision {
            call: CallId::new(&decision.tool_call_id),
            approved,
            note: decision.note.clone(),
            arguments: decision.arguments.as_ref().map(|arguments| (&*arguments.0).into()),
            // The session fills in the tool.
            always: (!matches!(decision.decision, Decided::AllowOnce | Decided::RejectOnce)).then(|| {
                Always { tool: String::new(), pattern: decision.pattern.clone(), rejected: !approved }
            }),
            is_for_session: decision.decision == Decided::AllowForSession,
        })
    });
    each.collect()
}

/// Changes to standing approvals and rejections.
pub(in crate::server) struct ApprovalsChange {
    pub added: Vec<Always>,
    pub revoked: Vec<Always>,
}

/// Parses changes to the approvals of a folder or a session. Several beginnings become an approval each.
pub(in crate::server) fn approvals(params: &ToolApprovalsParams) -> Result<ApprovalsChange, ProtocolError> {
    let revoked = params.revoke.iter().flatten().map(convert::always).collect();
    let mut added = Vec::new();
    for (at, standing) in params.add.iter().flatten().enumerate() {
        let wrong = |field: &str, reason| ProtocolError::invalid(format!("add[{at}].{field}"), reason);
        if standing.tool.is_empty() {
            return Err(wrong("tool", "must not be empty"));
        }
        if params.session_id.is_some() && standing.rejected == Some(true) {
            return Err(wrong("rejected", "must be false for a session"));
        }
        let Some(pattern) = &standing.pattern else {
            added.push(convert::always(standing));
            continue;
        };
        // Arguments as JSON are written by the sidecar, and say exactly which calls they match.
        if let Some(reason) = wrong_pattern(pattern).filter(|_| !pattern.starts_with("={")) {
            return Err(wrong("pattern", reason));
        }
        let patterns = approval::each_beginning(pattern).into_iter();
        added.extend(patterns.map(|pattern| Always { pattern: Some(pattern), ..convert::always(standing) }));
    }
    Ok(ApprovalsChange { added, revoked })
}

/// Reason why arguments cannot be given with a decision, if there is one.
fn wrong_arguments(approved: bool, arguments: &Arguments) -> Option<&'static str> {
    if !approved {
        return Some("only a call that may run can have other arguments");
    }
    let is_object = json::read::<serde_json::Map<String, Value>>(&arguments.0).is_ok();
    (!is_object).then_some("must be the text of a JSON object")
}

/// Reason why a pattern cannot be given, if there is one.
fn wrong_pattern(pattern: &str) -> Option<&'static str> {
    let name = pattern.split_once('=').map_or("", |(name, _)| name);
    if name.is_empty() || name == "^" {
        return Some("must name its argument, such as `command=git *`");
    }
    let is_unsafe = name.ends_with('^') && approval::beginnings(pattern).is_none();
    is_unsafe.then_some(
        "must be plain words with which commands begin, such as `command^=cargo test`, of a program that runs no other",
    )
}
