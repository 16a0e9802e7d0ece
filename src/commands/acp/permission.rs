//! The user's decision about a tool call: what the editor is asked, and what the sidecar is told.

use super::editor::Editor;
use super::row;
use super::runner::{Call, Runner};
use crate::commands::tools::Change;
use crate::commands::visible::visible;
use agent_client_protocol_schema::v1::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, ToolCall, ToolCallContent, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use protocol::snapshot::HeldBy;
use protocol::tool::{Decision, PauseReason, Verdict};
use serde_json::{Map, Value, json};

/// The outcome of a question.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The user decided. The change is the one that was shown, if any.
    Decided(Decision, Option<Change>),
    /// The user ended the turn instead.
    Cancelled,
}

/// The user's choice about a session that another process writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    TakeOver,
    Leave,
    Cancel,
}

/// The user's choice about a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlanChoice {
    Accept,
    Keep,
    Cancel,
}

/// Asks about a call.
pub(super) async fn ask(runner: Runner, call: Call, reason: PauseReason) -> Outcome {
    let mut row = row::called(&call.folder, &call.id, &call.name, &call.arguments);
    let change = match runner.planned(&call).await {
        Some(Ok(change)) => {
            row = row.content(vec![row::difference(&call.folder, &change)]);
            Some(change)
        }
        Some(Err(error)) => {
            row = row.content(vec![format!("It would fail: {error}").into()]);
            None
        }
        None => None,
    };
    let request = RequestPermissionRequest::new(call.shown_in, shown(row, &reason), options(&reason));
    let answer = runner.editor.ask::<RequestPermissionResponse>("session/request_permission", &request).await;
    let (verdict, note) = match answer.map(|answer| answer.outcome) {
        Ok(RequestPermissionOutcome::Selected(selected)) => match verdict(&selected.option_id.0) {
            Some(verdict) => (verdict, None),
            None => (Verdict::RejectOnce, Some("The editor answered with an unknown option.".to_owned())),
        },
        Ok(_) => return Outcome::Cancelled,
        Err(error) => (Verdict::RejectOnce, Some(format!("The editor could not ask the user: {error}."))),
    };
    let pattern = reason.pattern.filter(|_| verdict == Verdict::AllowAlways);
    let decision =
        Decision { tool_call_id: reason.tool_call_id, decision: verdict, note, arguments: None, pattern };
    Outcome::Decided(decision, change)
}

/// The decision about a call that no open session of the editor shows.
pub(super) fn unseen(reason: PauseReason) -> Outcome {
    let note = Some("No session of the editor shows this call.".to_owned());
    let decision = Verdict::RejectOnce;
    Outcome::Decided(
        Decision { tool_call_id: reason.tool_call_id, decision, note, arguments: None, pattern: None },
        None,
    )
}

/// Asks whether to take over a session that another process writes.
pub(super) async fn ask_to_take_over(runner: Runner, session: String, held: &HeldBy) -> Choice {
    let fields = ToolCallUpdateFields::new()
        .title(format!("Continue here? The session is open in another process ({held}), whose work stops."))
        .kind(ToolKind::Other);
    let options = vec![
        PermissionOption::new(ALLOW_ONCE, "Continue Here", PermissionOptionKind::AllowOnce),
        PermissionOption::new(REJECT_ONCE, "Leave It There", PermissionOptionKind::RejectOnce),
    ];
    let row = ToolCallUpdate::new(format!("{session}/takeOver"), fields);
    let request = RequestPermissionRequest::new(session, row, options);
    let answer = runner.editor.ask::<RequestPermissionResponse>("session/request_permission", &request).await;
    match answer.map(|answer| answer.outcome) {
        Ok(RequestPermissionOutcome::Selected(selected)) if &*selected.option_id.0 == ALLOW_ONCE => {
            Choice::TakeOver
        }
        Ok(RequestPermissionOutcome::Cancelled) => Choice::Cancel,
        _ => Choice::Leave,
    }
}

/// Asks whether to carry the plan of a turn out.
pub(super) async fn ask_about_plan(editor: &Editor, session: String, turn: &str, plan: String) -> PlanChoice {
    let fields = ToolCallUpdateFields::new()
        .title("Accept the plan and carry it out?".to_owned())
        .kind(ToolKind::SwitchMode)
        .content(vec![ToolCallContent::from(plan)]);
    let options = vec![
        PermissionOption::new(ACCEPT_PLAN, "Accept and Switch to Agent", PermissionOptionKind::AllowOnce),
        PermissionOption::new(KEEP_PLANNING, "Keep Planning", PermissionOptionKind::RejectOnce),
    ];
    let row = ToolCallUpdate::new(format!("{turn}/plan"), fields);
    let request = RequestPermissionRequest::new(session, row, options);
    let answer = editor.ask::<RequestPermissionResponse>("session/request_permission", &request).await;
    match answer.map(|answer| answer.outcome) {
        Ok(RequestPermissionOutcome::Selected(selected)) if &*selected.option_id.0 == ACCEPT_PLAN => {
            PlanChoice::Accept
        }
        Ok(RequestPermissionOutcome::Cancelled) => PlanChoice::Cancel,
        _ => PlanChoice::Keep,
    }
}

/// The call with the reason why it waits, which only editors that know us can show.
fn shown(row: ToolCall, reason: &PauseReason) -> ToolCallUpdate {
    let ours = json!({ "reason": reason.reason });
    ToolCallUpdate::from(row).meta(Map::from_iter([("threadhold".to_owned(), ours)]))
}

const ACCEPT_PLAN: &str = "acceptPlan";
const KEEP_PLANNING: &str = "keepPlanning";
const ALLOW_ONCE: &str = "allowOnce";
const ALLOW_ALWAYS: &str = "allowAlways";
const REJECT_ONCE: &str = "rejectOnce";
const REJECT_ALWAYS: &str = "rejectAlways";

/// The choices about a call. A command's beginning is named whole, since it is what will be allowed.
fn options(reason: &PauseReason) -> Vec<PermissionOption> {
    let name = visible(&reason.name);
    let arguments = serde_json::from_str::<Value>(&reason.arguments.0).unwrap_or_default();
    let is_command = arguments.get("command").is_some();
    let always = match &reason.pattern {
        Some(pattern) => {
            let beginning = pattern.split_once("^=").map_or(pattern.as_str(), |(_, words)| words);
            format!("Always allow `{}` in this folder", visible(beginning))
        }
        None if is_command => "Always allow exactly this command in this folder".to_owned(),
        None => format!("Always allow {name} in this folder"),
    };
    let never = if is_command {
        "Always reject exactly this command in this folder".to_owned()
    } else {
        format!("Always reject {name} in this folder")
    };
    vec![
        PermissionOption::new(ALLOW_ONCE, "Allow", PermissionOptionKind::AllowOnce),
        PermissionOption::new(ALLOW_ALWAYS, always, PermissionOptionKind::AllowAlways),
        PermissionOption::new(REJECT_ONCE, "Reject", PermissionOptionKind::RejectOnce),
        PermissionOption::new(REJECT_ALWAYS, never, PermissionOptionKind::RejectAlways),
    ]
}

fn verdict(option: &str) -> Option<Verdict> {
    Some(match option {
        ALLOW_ONCE => Verdict::AllowOnce,
        ALLOW_ALWAYS => Verdict::AllowAlways,
        REJECT_ONCE => Verdict::RejectOnce,
        REJECT_ALWAYS => Verdict::RejectAlways,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::message::Arguments;
    use protocol::tool::PauseCause;

    #[test]
    fn options_name_what_they_allow() {
        let names = |name: &str, arguments: Value, pattern: Option<&str>| {
            let reason = PauseReason {
                tool_call_id: "c".into(),
                name: name.into(),
                arguments: Arguments(arguments.to_string()),
                cause: PauseCause::Tool,
                reason: "the tool asks first".into(),
                pattern: pattern.map(str::to_owned),
            };
            options(&reason).into_iter().map(|option| option.name).collect::<Vec<_>>()
        };
        let command = json!({ "command": "cargo test -p a" });
        assert_eq!(
            names("run_command", command.clone(), Some("command^=cargo test")),
            [
                "Allow",
                "Always allow `cargo test` in this folder",
                "Reject",
                "Always reject exactly this command in this folder"
            ]
        );
        assert_eq!(
            names("run_command", command, None)[1],
            "Always allow exactly this command in this folder"
        );
        assert_eq!(names("edit_file", json!({}), None)[3], "Always reject edit_file in this folder");
    }
}
