//! The end of a turn in the mode `plan`: the user accepts the plan, which the agent then carries out, or keeps planning.

use super::agent::{Agent, Done, Work};
use super::editor::Editor;
use super::option::Mode;
use super::session::Prompt;
use agent_client_protocol_schema::v1::{
    CurrentModeUpdate, PermissionOption, PermissionOptionKind, RequestPermissionOutcome,
    RequestPermissionRequest, RequestPermissionResponse, SessionUpdate, StopReason, ToolCallContent,
    ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use protocol::message::Content;
use protocol::turn::TurnStatus;

/// The request that carries an accepted plan out.
const CARRY_OUT: &str = "I accept the plan. Carry it out.";

const ACCEPT: &str = "acceptPlan";
const KEEP: &str = "keepPlanning";

/// A prompt whose turn ended with a plan.
#[derive(Debug)]
pub(super) struct Planned {
    prompt: Prompt,
    turn: String,
    choice: Choice,
}

/// The user's choice about a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Accept,
    Keep,
    Cancel,
}

/// Plans that wait for the user.
pub(super) struct Planning<'a> {
    pub agent: &'a mut Agent,
}

impl Planning<'_> {
    /// Asks about the plan with which a turn ended, instead of answering its prompt. Gives the prompts back if there is
    /// nothing to ask.
    pub fn ask(
        &mut self,
        session: &str,
        turn: &str,
        status: TurnStatus,
        mut prompts: Vec<Prompt>,
    ) -> Vec<Prompt> {
        let Some(open) = self.agent.sessions.get(session) else { return prompts };
        let ends_well = status == TurnStatus::Completed && open.reason(status) == Some(StopReason::EndTurn);
        let plan = open.view.answer();
        // A prompt that waits is the user's answer to the plan.
        if open.mode != Mode::Plan || !ends_well || !open.prompts.is_empty() || !is_plan(plan) {
            return prompts;
        }
        let Some(prompt) = prompts.pop() else { return prompts };
        let (editor, of, turn, plan) =
            (self.agent.editor.clone(), session.to_owned(), turn.to_owned(), plan.to_owned());
        self.agent.work.begin(Work::Plan(of.clone(), prompt.request.clone()), async move {
            let choice = choice(&editor, &of, &turn, &plan).await;
            Done::Planned(Planned { prompt, turn, choice })
        });
        prompts
    }

    /// Goes on with the plan, or answers its prompt.
    pub async fn chosen(&mut self, session: String, planned: Planned) {
        let Planned { prompt, turn, choice } = planned;
        let reason = match choice {
            Choice::Accept => {
                if let Some(open) = self.agent.sessions.get_mut(&session) {
                    open.choose_mode(Mode::Agent);
                }
                let update = CurrentModeUpdate::new(Mode::Agent.id());
                self.agent.update(&session, [SessionUpdate::CurrentModeUpdate(update)]);
                return self.agent.start(prompt.request, session, Content::text(CARRY_OUT)).await;
            }
            Choice::Keep => StopReason::EndTurn,
            Choice::Cancel => StopReason::Cancelled,
        };
        self.agent.end(vec![prompt], &Ok(reason), Some(&turn));
    }
}

async fn choice(editor: &Editor, session: &str, turn: &str, plan: &str) -> Choice {
    let fields = ToolCallUpdateFields::new()
        .title("Accept the plan and carry it out?".to_owned())
        .kind(ToolKind::SwitchMode)
        .content(vec![ToolCallContent::from(plan.to_owned())]);
    let options = vec![
        PermissionOption::new(ACCEPT, "Accept and Switch to Agent", PermissionOptionKind::AllowOnce),
        PermissionOption::new(KEEP, "Keep Planning", PermissionOptionKind::RejectOnce),
    ];
    let row = ToolCallUpdate::new(format!("{turn}/plan"), fields);
    let request = RequestPermissionRequest::new(session.to_owned(), row, options);
    let answer = editor.ask::<RequestPermissionResponse>("session/request_permission", &request).await;
    match answer.map(|answer| answer.outcome) {
        Ok(RequestPermissionOutcome::Selected(selected)) if &*selected.option_id.0 == ACCEPT => {
            Choice::Accept
        }
        Ok(RequestPermissionOutcome::Cancelled) => Choice::Cancel,
        _ => Choice::Keep,
    }
}

/// `true` for a text with numbered steps, as the mode asks for.
fn is_plan(text: &str) -> bool {
    let begins = |line: &str, number: &str| {
        // Steps may be headings or bold.
        let line = line.trim_start_matches(|c: char| c.is_whitespace() || "#*-".contains(c));
        let rest = line.strip_prefix("Step ").unwrap_or(line).strip_prefix(number);
        rest.is_some_and(|rest| rest.starts_with(['.', ')', ':']))
    };
    ["1", "2"].iter().all(|number| text.lines().any(|line| begins(line, number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_steps_are_a_plan() {
        for plan in [
            "So:\n\n1. Read a.rs\n2. Change it",
            "1) a\n  2) b",
            "## Step 1: a\n## Step 2: b",
            "**1.** a\n**2.** b",
        ] {
            assert!(is_plan(plan), "{plan}");
        }
        for other in ["", "A plan.", "Version 1.2 is out", "1. Only this", "10. a\n20. b"] {
            assert!(!is_plan(other), "{other}");
        }
    }
}
